"""Actual outcomes of the reservations of stochastic jobs, known to their runs only and hidden from all policies.

Source: docs/model.md, "Stochastic jobs"; "Reservation and Checkpointing Strategies", section 5.2.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate
from typing import TYPE_CHECKING, Any, NamedTuple

from holdfast.simulator.options import Options
from holdfast.workloads.ground.random_streams import stream
from holdfast.workloads.ground.units import to_ticks
from holdfast.workloads.table.job import Job
from holdfast.workloads.table.memory_profile import memory_profile

if TYPE_CHECKING:
    from holdfast.policies.planning.plan_progress import ReservationRequest

__all__ = [
    "CANCELLED",
    "COMPLETED",
    "EXPIRED",
    "OVER_MEMORY",
    "PREEMPTED",
    "SAVED",
    "UNSAVED",
    "Ending",
    "Truth",
]

#: Ways in which a reservation can end.
COMPLETED, SAVED, EXPIRED, UNSAVED, OVER_MEMORY, PREEMPTED, CANCELLED = (
    "completed",
    "saved",
    "expired",
    "checkpoint lost",
    "memory exceeded",
    "preempted",
    "cancelled",
)


class Ending(NamedTuple):
    """Undisturbed course of a reservation from its start.

    Attributes
    ----------
    ending
        Way in which it ends, as in :class:`.ReservationRecord`.
    restart, work, checkpoint
        Durations of its phases [ticks]; their sum is its duration.
    """

    ending: str
    restart: int
    work: int
    checkpoint: int

    def times_until(self, elapsed: int) -> tuple[int, int, int]:
        """Restart, work and checkpoint of the first ``elapsed`` ticks."""
        restart = min(self.restart, elapsed)
        work = min(self.work, elapsed - restart)
        return restart, work, elapsed - restart - work


class Truth:
    """Actual outcomes of a job's reservations; only its runs may read them."""

    __slots__ = ("_draws", "_ends", "_peaks", "_spread", "_strict", "runtime")

    def __init__(self, job: Job, options: Options) -> None:
        self.runtime = to_ticks(job.runtime if job.true_runtime is None else job.true_runtime)
        self._strict = options.checkpoint_mode == "strict"
        self._spread = options.checkpoint_variation
        self._draws: Any = None
        if self._spread:
            self._draws = stream(options.seed, "checkpoint variation", job.job_id)
        self._ends: Sequence[int] = ()
        self._peaks: Sequence[float] = ()
        if job.memory_profile:
            durations, self._peaks = zip(*memory_profile(job.memory_profile), strict=True)
            self._ends = [to_ticks(seconds) for seconds in accumulate(durations)]

    def ending(self, request: ReservationRequest, length: int) -> Ending:
        """Compute the outcome of a reservation of ``length`` ticks for a request."""
        restart, checkpoint = self._vary(int(request.restart)), self._vary(int(request.checkpoint))
        saved = int(request.saved)
        left, planned = self.runtime - saved, int(request.milestone) - saved
        # Work that it reaches. With a checkpoint to write it stops at the milestone; without one it computes until
        # its walltime, possibly beyond the plan. `absorbed`: a longer restart does not reduce this work.
        in_time = length - restart
        reach = min(planned, in_time) if request.checkpointed else in_time
        if not self._strict:
            reach = max(planned, reach)
        barrier = self._barrier(saved, request.memory, min(left, reach))
        if barrier is not None:
            return _ending_after_work(length, OVER_MEMORY, restart, barrier, 0)
        if left <= reach:
            return _ending_after_work(length, COMPLETED, restart, left, 0)
        if not request.checkpointed:
            return _cut(length, EXPIRED, restart, left, 0)
        if self._strict and restart + planned + checkpoint > length:
            return _cut(length, UNSAVED, restart, planned, length)
        return _ending_after_work(length, SAVED, restart, planned, checkpoint)

    def _vary(self, planned: int) -> int:
        if not self._spread:
            return planned
        return round(planned * float(self._draws.uniform(1.0 - self._spread, 1.0 + self._spread)))

    def _barrier(self, saved: int, memory: float | None, reach: int) -> int | None:
        """Work at which the reservation exceeds its memory; None: it does not."""
        if not self._ends or memory is None:
            return None
        for task in range(bisect_right(self._ends, saved), len(self._ends)):
            start = self._ends[task - 1] if task else 0
            begin = max(start, saved) - saved
            if begin >= reach:
                return None
            # Requests are in GB, and a profile may be rounded in its last digits. A task of zero duration needs no
            # memory.
            if self._peaks[task] > memory + 1e-6 and start < self._ends[task]:
                return begin
        return None


def _ending_after_work(length: int, ending: str, restart: int, work: int, checkpoint: int) -> Ending:
    """Outcome after the work was done: absorbed variations use the rest of the walltime."""
    restart = min(restart, length - work)
    return Ending(ending, restart, work, min(checkpoint, length - restart - work))


def _cut(length: int, ending: str, restart: int, work: int, checkpoint: int) -> Ending:
    """Outcome cut at the walltime: later phases are shortened to fit."""
    restart = min(restart, length)
    work = min(work, length - restart)
    return Ending(ending, restart, work, min(checkpoint, length - restart - work))
