"""Typed jobs: what a job of a trace becomes, given its type and the random numbers that are drawn for it.

Source: Fan et al., IPDPS 2022, sections IV-A and IV-B; docs/model.md, parameter ``overheads``.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any, NamedTuple, Protocol

from workloads.ground.errors import ParameterError
from workloads.ground.ticks import list_in_ticks
from workloads.ground.units import LARGEST_TIME, SECOND, to_seconds, to_ticks
from workloads.hybrid.checkpointing import (
    checkpoint_cost,
    checkpoint_interval,
    checkpoints_of_compute,
    checkpoints_of_run,
)
from workloads.hybrid.notices import Notice
from workloads.logs.trace import TraceJob
from workloads.table.job import MALLEABLE, ON_DEMAND, RIGID, STOCHASTIC, Job, JobType

__all__ = ["Overheads", "Times", "malleable", "on_demand", "plain", "rigid", "stochastic", "times_of"]


class Overheads(Protocol):
    """The parameters that decide; those of :class:`workloads.hybrid.assignment.Assignment`."""

    @property
    def rigid_setup(self) -> tuple[float, float]: ...
    @property
    def malleable_setup(self) -> tuple[float, float]: ...
    @property
    def min_share(self) -> float: ...
    @property
    def overheads(self) -> str: ...
    @property
    def node_mtbf(self) -> float: ...
    @property
    def checkpoint_factor(self) -> float: ...
    @property
    def extra_dumps(self) -> str: ...
    @property
    def walltimes(self) -> str: ...
    @property
    def plan(self) -> str: ...


class Times(NamedTuple):
    """Times of a job [ticks]: runtime and walltime are at least a tick, the runtime is not above the walltime."""

    submit: int
    runtime: int
    walltime: int


def times_of(jobs: Sequence[TraceJob]) -> list[Times]:
    """The times of each job, rounded to ticks all at once."""
    submits, runtimes, walltimes = (
        list_in_ticks([getattr(job, name) for job in jobs]) for name in ("submit", "runtime", "walltime")
    )
    return [
        Times(submit, min(max(1, runtime), max(1, walltime)), max(1, walltime))
        for submit, runtime, walltime in zip(submits, runtimes, walltimes, strict=True)
    ]


def plain(job: TraceJob, job_id: int, times: Times, kind: JobType, **others: Any) -> Job:
    """The job as the trace has it, at these times, with these fields besides."""
    if job.cancelled_at is not None or job.running_since is not None:
        life = {"cancelled_at": _to_tick(job.cancelled_at), "running_since": _to_tick(job.running_since)}
        others = {**life, **others}
    if job.eligible is not None and kind is not ON_DEMAND:
        others = {"eligible": _to_tick(job.eligible), **others}
    return Job(
        job_id=job_id,
        type=kind,
        submit=to_seconds(times.submit),
        nodes=job.nodes,
        runtime=to_seconds(times.runtime),
        walltime=to_seconds(times.walltime),
        user=job.user,
        project=job.project,
        killed=job.killed,
        partition=job.partition,
        qos=job.qos,
        **others,
    )


def _to_tick(seconds: float | None) -> float | None:
    return None if seconds is None else to_seconds(to_ticks(seconds))


def on_demand(job: TraceJob, job_id: int, times: Times, notice: Notice) -> Job:
    """An on-demand job with that notice and arrival; one that runs already has arrived.

    The log's job arrived when it became eligible: ``times`` has that for its submit.
    """

    def seconds(ticks: int | None) -> float | None:
        return None if ticks is None else to_seconds(ticks)

    if job.running_since is not None:
        return plain(job, job_id, times, ON_DEMAND)
    withdrawn = None
    if job.cancelled_at is not None and notice.arrival is not None:
        # Its user waits as long, whenever it arrives; a job that does not come need not be withdrawn.
        withdrawn = to_seconds(notice.arrival + to_ticks(job.cancelled_at) - times.submit)
    made = plain(
        job,
        job_id,
        times if notice.arrival is None else times._replace(submit=notice.arrival),
        ON_DEMAND,
        notice=seconds(notice.notice),
        estimated_arrival=seconds(notice.estimated),
        cancelled_at=withdrawn,
    )
    return made if notice.arrival is not None else replace(made, submit=None)


def _setup(runtime: int, bounds: tuple[float, float], draw: float) -> int:
    return round(runtime * (bounds[0] + draw * (bounds[1] - bounds[0])))


def _moved(job: Job, ticks: int, how: Overheads) -> Job:
    """The job longer by these ticks in runtime and walltime, its trace's own times kept for the baseline."""
    if ticks == 0:
        return job
    if how.walltimes == "trace":
        runtime = to_ticks(job.runtime) + ticks
        killed = runtime > to_ticks(job.walltime)
        return replace(
            job,
            runtime=job.walltime if killed else to_seconds(runtime),
            killed=job.killed or killed,
            trace_runtime=job.runtime,
            trace_walltime=job.walltime,
        )
    walltime = to_seconds(to_ticks(job.walltime) + ticks)
    if walltime > LARGEST_TIME:
        raise ParameterError(
            f"walltime of job {job.job_id} with its overheads",
            f"at most {LARGEST_TIME:,.0f} s (a larger checkpoint_factor makes fewer checkpoints)",
            walltime,
        )
    return replace(
        job,
        runtime=to_seconds(to_ticks(job.runtime) + ticks),
        walltime=walltime,
        trace_runtime=job.runtime,
        trace_walltime=job.walltime,
    )


@lru_cache(maxsize=1024)
def _interval(nodes: int, factor: float, node_mtbf: float) -> int:
    """Compute time between two checkpoints [ticks], at least a tick, at most what a table holds: that is never."""
    # Jobs have few sizes: most have been asked for before.
    return to_ticks(min(max(checkpoint_interval(nodes, factor, node_mtbf), 1 / SECOND), LARGEST_TIME))


def rigid(job: TraceJob, job_id: int, times: Times, draw: float, how: Overheads) -> Job:
    """A rigid job, its setup by ``draw`` in [0, 1), with checkpoints after Daly."""
    runtime = times.runtime
    setup = _setup(runtime, how.rigid_setup, draw)
    cost = to_ticks(checkpoint_cost(job.nodes))
    daly = _interval(job.nodes, 1.0, how.node_mtbf)
    interval = _interval(job.nodes, how.checkpoint_factor, how.node_mtbf)
    if how.overheads == "added":
        compute, dumps, booked = runtime, checkpoints_of_compute(runtime, daly), 0
        longer = setup
    else:
        # What the trace's run computes is what it computes at Daly's interval; that stays, the number of dumps moves.
        dumps = checkpoints_of_run(runtime, setup, daly, cost)
        compute, booked = runtime - setup - dumps * cost, dumps * cost
        longer = 0
    number = dumps if interval == daly else checkpoints_of_compute(compute, interval)
    if number > dumps and how.extra_dumps == "free":
        # Rounded down to ticks: the job is no longer than at Daly's interval, and shorter by less than a tick a dump.
        cost = dumps * cost // number
    longer += number * cost - booked
    made = plain(
        job,
        job_id,
        times,
        RIGID,
        setup=to_seconds(setup),
        checkpoint_interval=to_seconds(interval),
        checkpoint_cost=to_seconds(cost),
    )
    return _moved(made, longer, how)


def stochastic(job: TraceJob, job_id: int, times: Times, group: str, how: Overheads) -> Job:
    """A stochastic job of the application ``group``."""
    cost = checkpoint_cost(job.nodes)
    return plain(
        # A run that was killed has no known end: what it ran is the least that it would have taken.
        replace(job, killed=False),
        job_id,
        times,
        STOCHASTIC,
        application=group,
        plan=how.plan,
        checkpoint_cost=cost,
        restart_cost=cost,
    )


def malleable(job: TraceJob, job_id: int, times: Times, draw: float, how: Overheads) -> Job:
    """A malleable job, its setup by ``draw`` in [0, 1)."""
    setup = _setup(times.runtime, how.malleable_setup, draw)
    made = plain(
        job,
        job_id,
        times,
        MALLEABLE,
        # In binary 0.07 x 100 is 7.000000000000001: the ceiling is taken of what was meant.
        min_nodes=max(1, math.ceil(round(how.min_share * job.nodes, 9))),
        setup=to_seconds(setup),
    )
    return _moved(made, setup if how.overheads == "added" else 0, how)
