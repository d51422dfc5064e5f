"""State of a machine at one time: running and waiting jobs, and announced changes of the machine.

A state contains only what a user of the machine can see at that time: the start of a running job, but not its runtime.
Source: docs/forecast.md.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from holdfast.experiments.forecast.oversized_jobs import describe_excluded_jobs, fit_machine
from holdfast.experiments.forecast.prior_usage import node_names, past_usage, usage_by_runs
from holdfast.experiments.forecast.seen_job import SeenJob
from holdfast.simulator.machine.prior_state import PastUsage, PriorState
from holdfast.workloads.ground.errors import InputError
from holdfast.workloads.ground.job_ids import job_id_text, job_number
from holdfast.workloads.ground.wording import count_text
from holdfast.workloads.logs.cancellations import keep_cancelled_jobs
from holdfast.workloads.logs.clock import LogClock
from holdfast.workloads.logs.node_names import NamedNodes, NodeNumbers
from holdfast.workloads.logs.squeue import QueueRow
from holdfast.workloads.logs.trace import Trace, TraceJob
from holdfast.workloads.outages.outage import Outage, OutageKind

__all__ = ["MachineState", "state_at", "state_of_queue"]


@dataclass(frozen=True)
class MachineState:
    """State of a machine at one time.

    Parameters
    ----------
    at
        The time, on the clock of the log [s].
    nodes
        Size of the machine.
    jobs
        The running and the waiting jobs.
    outages
        Maintenance windows announced by then.
    origin
        First submit of the log [s]; some orders (``f1``) depend on the time since then. None: that of the jobs.
    source
        Origin of the state, for messages.
    prior
        Past usage by account, and the nodes of the running jobs, as far as known.
    unit
        Unit of sizes, for messages: ``nodes`` or ``processors``.
    left_out
        Jobs of the source that the machine cannot hold (:mod:`holdfast.experiments.forecast.oversized_jobs`).

    Raises
    ------
    InputError
        If two jobs have one id, a job is larger than the machine, or the running jobs are.
    """

    at: float
    nodes: int
    jobs: tuple[SeenJob, ...]
    outages: tuple[Outage, ...] = ()
    origin: float | None = None
    source: str = field(default="the state", compare=False)
    prior: PriorState = field(default=PriorState(), compare=False)
    unit: str = field(default="nodes", compare=False)
    left_out: tuple[SeenJob, ...] = ()

    def __post_init__(self) -> None:
        ids = [job.job_id for job in self.jobs]
        if len(set(ids)) < len(ids):
            twice = next(job_id for job_id in ids if ids.count(job_id) > 1)
            raise InputError(
                f"{self.source}: job ids must be unique, and {job_id_text(twice)} occurs twice in the state"
            )
        for job in self.jobs:
            if job.nodes > self.nodes:
                raise InputError(
                    f"{self.source}: job {job_id_text(job.job_id)} requests {count_text(job.nodes, self.unit)}, but "
                    f"the machine has only {count_text(self.nodes, self.unit)}"
                )
        used = sum(job.nodes for job in self.running)
        if used > self.nodes:
            raise InputError(
                f"{self.source}: the {count_text(len(self.running), 'running jobs', 'use')} "
                f"{count_text(used, self.unit)}, but the machine has only {count_text(self.nodes, self.unit)}"
            )

    @classmethod
    def fit(cls, at: float, nodes: int, jobs: Sequence[SeenJob], *others: Any) -> MachineState:
        """The state without the jobs that the machine cannot hold; further parameters as of the class."""
        kept, left_out = fit_machine(jobs, nodes)
        return replace(cls(at, nodes, kept, *others), left_out=left_out)

    @property
    def running(self) -> tuple[SeenJob, ...]:
        """Running jobs."""
        return tuple(job for job in self.jobs if job.start is not None)

    @property
    def waiting(self) -> tuple[SeenJob, ...]:
        """Waiting jobs."""
        return tuple(job for job in self.jobs if job.start is None)

    def describe_excluded_jobs(self) -> str:
        """A sentence that names the jobs that are left out."""
        return describe_excluded_jobs(self.left_out, self.nodes, self.unit)

    def waiting_job(self, job_id: int) -> SeenJob:
        """A waiting job.

        Raises
        ------
        InputError
            If it does not wait, or is left out.
        """
        if any(job.job_id == job_id for job in self.left_out):
            raise InputError(
                f"{self.source}: job {job_id_text(job_id)} must fit on the machine; {self.describe_excluded_jobs()}"
            )
        job = next((job for job in self.jobs if job.job_id == job_id), None)
        if job is None or job.start is not None:
            raise InputError(
                f"{self.source}: job {job_id_text(job_id)} must be a waiting one, and "
                f"{'is neither waiting nor running' if job is None else 'runs already'} at that time"
            )
        return job

    def with_job(self, nodes: int, walltime: float, user: str = "", project: str = "") -> tuple[MachineState, int]:
        """The state with one more job, submitted now.

        Returns
        -------
        tuple
            The state, and the id of the job, which is one above the largest id.
        """
        job_id = max((job_number(job.job_id) for job in (*self.jobs, *self.left_out)), default=0) + 1
        job = SeenJob(job_id, self.at, nodes, walltime, user, project)
        return replace(self, jobs=(*self.jobs, job)), job_id


def state_at(trace: Trace, at: float, nodes: int, outages: Sequence[Outage] = ()) -> MachineState:
    """The state of a log's machine at a time, from data known at that time.

    Parameters
    ----------
    trace
        A log with recorded waits.
    at
        The time, on the log's own clock [s].
    nodes
        Size of the machine.
    outages
        Windows; failures and those announced after ``at`` are left out.

    Returns
    -------
    MachineState
        Jobs submitted by then that had not ended: those that ran with their start, and those that waited, later
        withdrawn ones included. A job that was not eligible yet did not wait, and is left out, like jobs that the
        machine cannot hold. Nothing that the log records after ``at`` changes it. Its past usage is that of the runs
        that had started by then; the nodes of running jobs are known where the log names them.

    Raises
    ------
    InputError
        If the log records no waits, or the time lies outside it.
    """
    jobs = keep_cancelled_jobs(trace).jobs
    submits = jobs.column("submit")
    if not len(jobs) or not submits.min() <= at <= submits.max():
        clock = LogClock.of_trace(trace)

        def show_time(time: float) -> str:
            return f"{time:,.0f} s" if clock.epoch is None else clock.show(time, seconds=True)

        span = f"from {show_time(submits.min())} to {show_time(submits.max())}" if len(jobs) else "(it has no jobs)"
        raise InputError(f"{clock.source}: the time must lie within the log, {span}, not at {show_time(at)}")
    if np.isnan(jobs.column("wait")).all():
        raise InputError(
            f"{trace.source or 'the log'}: records no waits, so that running and waiting jobs cannot be distinguished"
        )
    jobs = jobs.select(jobs.queued <= at)
    starts, cancelled = jobs.starts, jobs.column("cancelled_at")
    ids = jobs.column("job_id")
    if len(np.unique(ids)) < len(ids):
        ids = np.arange(1, len(ids) + 1)
    # A start that is not recorded may be long ago.
    ended = (cancelled <= at) | (np.isnan(starts) & np.isnan(cancelled)) | (starts + jobs.column("runtime") <= at)
    started = jobs.select(starts <= at)
    # Nodes that only later jobs name are not known.
    numbers = NodeNumbers(node_names(started), nodes)
    there = np.flatnonzero(~ended)
    seen: list[SeenJob] = []
    places: dict[int, int] = {}
    for job_id, job in zip(ids[there].tolist(), jobs.select(there).rows(), strict=True):
        start = None if job.start is None or job.start > at else job.start
        seen.append(SeenJob(job_id, job.submit, job.nodes, job.walltime, job.user, job.project, start, job.eligible))
        if start is not None and (bits := numbers.bits(job.node_list, job.nodes)):
            places[job_id] = bits
    announced = tuple(outage for outage in outages if _is_announced(outage, at))
    prior = PriorState(past_usage(started).until(at), places)
    source = trace.source or "the state"
    return MachineState.fit(at, nodes, seen, announced, float(submits.min()), source, prior, trace.unit)


def state_of_queue(
    rows: Sequence[QueueRow],
    at: float,
    nodes: int,
    outages: Sequence[Outage] = (),
    *,
    past: Sequence[TraceJob] = (),
    totals: Mapping[str, float] | None = None,
    names: Iterable[str] = (),
) -> MachineState:
    """The state of a Slurm machine, from its queue.

    Parameters
    ----------
    rows
        Running and waiting jobs (:func:`holdfast.workloads.logs.squeue.read_queue`).
    at
        When the queue was read [s since 1970]; what is submitted, eligible or started later is left out.
    nodes
        Size of the machine.
    outages
        Windows, as of :func:`state_at`.
    past
        Jobs of a log on the same clock: those that had ended by then give the past usage, beside the running jobs.
    totals
        Decayed usage by account at that time, including running jobs [node-seconds], as reported by Slurm's ``sshare``;
        None: computed from ``past``.
    names
        Names of the nodes of the machine; those on which jobs run need not be named.

    Returns
    -------
    MachineState
        With accounts as projects.
    """
    seen = tuple(
        SeenJob(row.job_id, row.submit, row.nodes, row.walltime, row.user, row.account, row.start, row.eligible)
        for row in rows
        if row.queued <= at and (row.start is None or row.start <= at)
    )
    announced = tuple(outage for outage in outages if _is_announced(outage, at))
    named = NamedNodes()
    for row in rows:
        if row.node_list:
            named.add(row.node_list)
    numbers = NodeNumbers((*names, *named.names), nodes)
    places = {
        row.job_id: bits for row in rows if row.start is not None and (bits := numbers.bits(row.node_list, row.nodes))
    }
    prior = PriorState(_usage_beside(seen, past, at) if totals is None else PastUsage(totals=totals), places)
    return MachineState.fit(at, nodes, seen, announced, None, "the queue", prior)


def _usage_beside(seen: Sequence[SeenJob], past: Sequence[TraceJob], at: float) -> PastUsage | None:
    """Usage of ended and running jobs; None: unknown."""
    ended = [
        (job, start, start + job.runtime)
        for job in past
        if (start := job.start) is not None and start + job.runtime <= at
    ]
    running = [(job, start, math.inf) for job in seen if (start := job.start) is not None]
    return usage_by_runs([*ended, *running]) if ended else None


def _is_announced(outage: Outage, at: float) -> bool:
    """Whether a window is announced and not over; repair times of failed nodes are unknown."""
    since = -math.inf if outage.announced is None else outage.announced
    return outage.kind is not OutageKind.FAILURE and since <= at < outage.end
