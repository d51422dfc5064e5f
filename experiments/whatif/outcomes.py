"""One simulation of a what-if question, in any process: what it did to each job, and how the machine was used."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from holdfast.experiments.whatif.machines import FittedJobs
from holdfast.experiments.whatif.operation import Operation
from holdfast.policies.mechanism import BASELINE
from holdfast.simulator.plain_starts import obstacle
from holdfast.simulator.results.metrics import summarize
from holdfast.simulator.results.recording import Recording
from holdfast.simulator.simulation import simulate
from holdfast.workloads.ground.units import SECOND
from holdfast.workloads.machines.machine import Limit, Machine, NodeKind, Partition
from holdfast.workloads.machines.machine_workload import MachineWorkload
from holdfast.workloads.machines.request import ResourceRequest
from holdfast.workloads.table.jobs import Jobs

__all__ = ["ScheduleOutcome", "Task", "carry_out", "use_by_period"]

Floats = NDArray[np.float64]
_HOUR = 3600 * SECOND


@dataclass(frozen=True)
class Task:
    """A simulation.

    Attributes
    ----------
    jobs
        The jobs; those that are wider than the machine, or than a limit, are left out.
    operation
        How the machine is operated.
    periods
        Ends of the periods of use, the begin of the first one in front, on the clock of the jobs [ticks].
    fitted
        Those of the jobs that the machine of the operation can run, where it has partitions; None: one pool.
    """

    jobs: Jobs
    operation: Operation
    periods: tuple[int, ...]
    fitted: FittedJobs | None = None

    @property
    def quick(self) -> bool:
        """Whether a compiled loop replays the jobs, in less time than another process needs to start."""
        operation = self.operation
        plain = operation.mechanism == BASELINE and not operation.outages and operation.per_user is None
        return plain and self.fitted is None and not obstacle(operation.options)


@dataclass(frozen=True)
class ScheduleOutcome:
    """What a schedule did to each job, and how the machine was used.

    Attributes
    ----------
    wait_h, turnaround_h, bounded_slowdown
        Of each job; NaN where it did not run, shape (n,).
    summary
        Metrics by name.
    use
        Utilisation in each period, shape (periods,).
    """

    wait_h: Floats
    turnaround_h: Floats
    bounded_slowdown: Floats
    summary: Mapping[str, Any]
    use: Floats

    @property
    def ran(self) -> NDArray[np.bool_]:
        """Mask of the jobs that ran, shape (n,)."""
        return np.isfinite(self.wait_h)


def carry_out(task: Task) -> ScheduleOutcome:
    """Carry out a simulation.

    Raises
    ------
    InputError
        If an outage or an option does not fit the jobs.
    """
    jobs, operation = task.jobs, task.operation
    on_machine: MachineWorkload | None = None
    if task.fitted is not None:
        served, on_machine = task.fitted
    else:
        fits = jobs.column("nodes") <= _widest(operation)
        served = jobs if fits.all() else jobs.select(fits)
        if operation.per_user is not None:
            on_machine = _machine_with_limit(served, operation)
    result = simulate(
        served,
        operation.nodes,
        operation.mechanism,
        order=operation.order,
        backfilling=operation.backfilling,
        outages=operation.outages,
        events=False,
        on_machine=on_machine,
    )
    records = result.records
    ids = jobs.column("job_id")
    rising = np.argsort(ids, kind="stable")
    places = rising[np.searchsorted(ids[rising], records.columns["job_id"])]
    ran = records.ran

    def of_jobs(values: NDArray[Any]) -> Floats:
        found = np.full(len(jobs), np.nan)
        found[places[ran]] = values[ran]
        return found

    return ScheduleOutcome(
        of_jobs(records.wait / _HOUR),
        of_jobs(records.turnaround / _HOUR),
        of_jobs(records.bounded_slowdown),
        summarize(result),
        _use(result, task.periods, operation.nodes),
    )


def _widest(operation: Operation) -> int:
    """Size of the widest job that may run."""
    limit = None if operation.per_user is None else operation.per_user.nodes
    return operation.nodes if limit is None else min(limit, operation.nodes)


def _machine_with_limit(jobs: Jobs, operation: Operation) -> MachineWorkload:
    """A machine of equal nodes, each for one job at a time, with the limit of each user."""
    assert operation.per_user is not None
    names = tuple(f"n{number}" for number in range(1, operation.nodes + 1))
    partition = Partition("all", names, exclusive=True)
    limit = Limit("partition", partition.name, per_user=operation.per_user)
    machine = Machine((NodeKind(names, cores=1),), (partition,), limits=(limit,))
    return MachineWorkload(machine, tuple(ResourceRequest(nodes=int(size)) for size in jobs.column("nodes")))


def _use(result: Recording, periods: tuple[int, ...], nodes: int) -> Floats:
    """Share of the nodes that are busy in each period."""
    times, busy = result.samples.column(0), result.samples.column(1)
    return use_by_period(times + result.origin, busy, np.array(periods), nodes)


def use_by_period(times: NDArray[np.int64], busy: NDArray[np.int64], periods: NDArray[np.int64], nodes: int) -> Floats:
    """Share of the nodes that are busy in each period.

    Parameters
    ----------
    times, busy
        Nodes that are busy from each time on, shape (n,); the last time ends the record.
    periods
        Ends of the periods, the begin of the first one in front, shape (k + 1,) [the unit of ``times``].
    nodes
        Size of the machine.

    Returns
    -------
    numpy.ndarray
        Shape (k,).

    Examples
    --------
    >>> use_by_period(np.array([0, 10, 30]), np.array([4, 2, 0]), np.array([0, 20, 40]), 4).tolist()
    [0.75, 0.25]
    """
    done = np.concatenate(([0.0], np.cumsum(busy[:-1] * np.diff(times).astype(np.float64))))
    between: Floats = np.diff(np.interp(periods.astype(np.float64), times.astype(np.float64), done))
    return between / (nodes * np.diff(periods).astype(np.float64))
