"""Execution of runs under a plan with memory requests, including checkpoints that are too small and exceeded memory."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from holdfast.policies.planning.plan import ReservationPlan
from holdfast.policies.planning.plan_progress import Course, Schedule
from holdfast.workloads.chains.checkpoint_device import CheckpointDevice
from holdfast.workloads.chains.runs import TaskRuns
from holdfast.workloads.ground.errors import InvariantError, ParameterError

__all__ = ["Execution", "execute"]

Floats = npt.NDArray[np.float64]

#: Tolerance for rounding errors [s and GB].
_SLACK = 1e-6
#: Maximum number of reservations of a job; memory requests and milestones grow by half each time.
_MOST = 1000


@dataclass(frozen=True, eq=False)
class Execution:
    """Results of the execution of runs; each array has shape (runs,).

    Attributes
    ----------
    walltime
        Runtimes of the runs.
    reserved
        Total length of all requested reservations, including the last one ([P],
        section 4.2.2).
    memory_time
        Requested memory times length, summed over the reservations.
    reservations
        Number of reservations.
    short_checkpoints
        Number of reservations with a checkpoint that took longer than planned, so that their work was lost.
    memory_failures
        Number of reservations that ended because their memory was exceeded, so that their work was lost.
    """

    walltime: Floats
    reserved: Floats
    memory_time: Floats
    reservations: npt.NDArray[np.int64]
    short_checkpoints: npt.NDArray[np.int64]
    memory_failures: npt.NDArray[np.int64]

    @property
    def utilization(self) -> Floats:
        """Walltime over reservation time, shape (runs,)."""
        part: Floats = self.walltime / self.reserved
        return part

    @property
    def memory(self) -> Floats:
        """Requested memory averaged over the reservation time, shape (runs,) [GB]."""
        average: Floats = self.memory_time / self.reserved
        return average


def execute(plan: ReservationPlan, runs: TaskRuns, device: CheckpointDevice, *, stopping: int = 0) -> Execution:
    """Execute runs under a plan.

    Parameters
    ----------
    plan
        A plan with memory requests, in the time unit of the runs and the device.
    runs
        Actual durations and memory peaks of the tasks.
    device
        Device that writes checkpoints of the memory in use.
    stopping
        Number of first reservations in which a job stops before a task that needs more memory: it writes its
        checkpoint there and waits for the end. 1 for Mem-All-Ckpt V2 ([P], section 4.2.3).

    Returns
    -------
    Execution
        Results for each run.

    Raises
    ------
    ParameterError
        If the plan has no memory requests.

    Notes
    -----
    A reservation requests the time from the last good checkpoint to its milestone, a restart (none before the first
    checkpoint) and its checkpoint, and the largest memory in the plan for that part of the run. A reservation ends in
    one of four ways:

    * the job completes;
    * the job reaches the milestone and its checkpoint fits: the next reservation begins there;
    * the checkpoint takes longer than planned: the next reservation begins at the last good checkpoint (section 4.1);
    * the memory is exceeded: the same milestone is tried again from the last good checkpoint, with the largest memory
      in the plan, and 1.5 times as much after each further failure.

    Beyond the last milestone, the plan is extended by its factor, with the memory of its last request.
    """
    if plan.memory is None:
        raise ParameterError("plan", "one with memory requests", plan.strategy or "a plan without")
    rows = [
        _carry_out(plan, np.cumsum(durations), peaks, device, stopping)
        for durations, peaks in zip(runs.durations, runs.peaks, strict=True)
    ]
    columns = list(zip(*rows, strict=True))
    return Execution(*(np.array(column) for column, _ in zip(columns, fields(Execution), strict=True)))


def _carry_out(
    plan: ReservationPlan, ends: Floats, peaks: Floats, device: CheckpointDevice, stopping: int
) -> tuple[float, float, float, int, int, int]:
    """Execute one run; returns its values of the first six fields of :class:`Execution`."""
    walltime = float(ends[-1])
    course = Course(Schedule(plan))
    reserved = memory_time = 0.0
    count = short = exceeded = 0
    while count < _MOST:
        asked = course.request()
        saved, milestone = asked.saved, asked.milestone
        limit = math.inf if asked.memory is None else asked.memory
        stops = count < stopping
        count += 1
        reserved += asked.length
        memory_time += asked.length * limit
        barrier = _barrier(ends, peaks, saved, min(milestone, walltime), limit)
        if barrier is not None and stops and barrier > saved:
            # The job writes the checkpoint of the task that has just ended, and may use the time planned for the
            # checkpoint of the heavy task.
            volume = float(peaks[max(int(np.searchsorted(ends, barrier, side="left")), 0)])
            if device.checkpoint(volume) <= asked.checkpoint + milestone - barrier + _SLACK:
                course.save(barrier)
            else:
                short += 1
                course.miss()
        elif barrier is not None:
            exceeded += 1
            course.exceed(limit)
        elif walltime <= milestone:
            return walltime, reserved, memory_time, count, short, exceeded
        elif not asked.checkpointed:
            course.miss()
        elif device.checkpoint(float(peaks[int(np.searchsorted(ends, milestone, side="left"))])) <= (
            asked.checkpoint + _SLACK
        ):
            course.save(milestone)
        else:
            short += 1
            course.miss()
    raise InvariantError(f"a run of {walltime:g} did not end within {_MOST} reservations")


def _barrier(ends: Floats, peaks: Floats, start: float, reach: float, limit: float) -> float | None:
    """The first time between ``start`` and ``reach`` at which the job exceeds the limit; None: never."""
    for (begin, end), peak in zip(pairwise((0.0, *ends)), peaks, strict=True):
        if peak > limit + _SLACK and end > start and begin < reach and end > begin:
            return max(float(begin), start)
    return None
