"""Job types, overheads and notices for a trace that says nothing of them.

Source: Fan et al., IPDPS 2022, sections IV-A and IV-B; docs/model.md, "The model, and the choices it makes", says how
they are read. Every random choice has a stream of its own with one draw for each group or job, needed or not: workloads
of one seed that differ in one parameter differ in nothing but what that parameter decides.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from workloads.ground.errors import ParameterError
from workloads.ground.streams import stream
from workloads.ground.ticks import in_ticks
from workloads.ground.units import to_ticks
from workloads.hybrid.checkpointing import NODE_MTBF
from workloads.hybrid.groups import GROUPINGS, group_jobs, group_names
from workloads.hybrid.notices import NoticeDraws, notice_shares, notice_times
from workloads.hybrid.typedjobs import malleable, on_demand, plain, rigid, stochastic, times_of
from workloads.logs.trace import Trace
from workloads.logs.tracecolumns import TraceColumns
from workloads.table.job import MALLEABLE, ON_DEMAND, RIGID, STOCHASTIC, Job, JobType
from workloads.table.jobs import Jobs
from workloads.table.rigidcolumns import RigidColumns

__all__ = ["EXTRA_DUMPS", "OVERHEADS", "WALLTIMES", "Assignment", "as_rigid", "as_rigid_columns", "assign"]

#: Whether setup and checkpoints are part of the trace's runtime or come on top of it.
OVERHEADS = ("inside", "added")
#: Whether dumps beyond those at Daly's interval make a job longer.
EXTRA_DUMPS = ("charged", "free")
#: Whether the walltime moves with the overheads, or kills the job at the trace's.
WALLTIMES = ("extended", "trace")


@dataclass(frozen=True, kw_only=True)
class Assignment:
    """Parameters of :func:`assign`.

    Attributes
    ----------
    shares
        Probabilities of a group to be on-demand, rigid, malleable.
    group_by
        ``project``, ``user``, ``campaign``, or ``auto``: the first of these that tells jobs of the trace apart.
    notice_mix
        ``W1`` .. ``W5`` of Table III, or shares of none, accurate, early, late.
    notice_lead
        Shortest and longest time from notice to estimated arrival [s].
    lateness
        Longest delay of a late job after its estimated arrival [s].
    no_show_share
        Share of the jobs with notice that never arrive.
    largest_on_demand
        Share of the machine above which an on-demand job becomes rigid or malleable.
    rigid_setup, malleable_setup
        Smallest and largest setup as a share of the trace's runtime.
    min_share
        Smallest size of a malleable job as a share of its requested size.
    overheads
        ``inside``: an undisturbed job takes its trace runtime; ``added``: setup and checkpoints come on top.
    node_mtbf
        Mean time between failures of one node [s].
    checkpoint_factor
        Checkpoint interval as a multiple of Daly's optimum.
    extra_dumps
        What dumps beyond those at Daly's interval cost: ``charged``: they make the job longer; ``free``: the job takes
        as long as at Daly's interval, and all its dumps together what they take there.
    walltimes
        ``extended``: the walltime moves with the runtime where overheads do; ``trace``: it stays the trace's, and ends
        a job that its overheads make longer.
    stochastic_share
        Probability of a group to be a stochastic application, whatever it would be else.
    plan
        How its jobs are planned: a planning strategy with its parameters, e.g. ``masi k=10``, or the name of a plan.

    Raises
    ------
    ParameterError
        If a value is not legal.
    """

    shares: tuple[float, float, float] = (0.10, 0.60, 0.30)
    group_by: str = "auto"
    notice_mix: str | Sequence[float] = "W5"
    notice_lead: tuple[float, float] = (900.0, 1800.0)
    lateness: float = 1800.0
    no_show_share: float = 0.0
    largest_on_demand: float = 0.5
    rigid_setup: tuple[float, float] = (0.05, 0.10)
    malleable_setup: tuple[float, float] = (0.0, 0.05)
    min_share: float = 0.2
    overheads: str = "inside"
    node_mtbf: float = NODE_MTBF
    checkpoint_factor: float = 1.0
    extra_dumps: str = "charged"
    walltimes: str = "extended"
    stochastic_share: float = 0.0
    plan: str = "optimal"

    def __post_init__(self) -> None:
        shares = self.shares
        if len(shares) != 3 or not all(share >= 0 for share in shares) or not math.isclose(sum(shares), 1):
            raise ParameterError("shares", "three shares (on-demand, rigid, malleable) of sum 1", shares)
        notice_shares(self.notice_mix)
        for name, legal in (
            ("group_by", GROUPINGS),
            ("overheads", OVERHEADS),
            ("extra_dumps", EXTRA_DUMPS),
            ("walltimes", WALLTIMES),
        ):
            if getattr(self, name) not in legal:
                raise ParameterError(name, f"one of {', '.join(legal)}", getattr(self, name))
        if not self.plan.strip():
            raise ParameterError("plan", "a planning strategy or the name of a plan", self.plan)
        for name in ("no_show_share", "largest_on_demand", "min_share", "stochastic_share"):
            if not 0 <= getattr(self, name) <= 1:
                raise ParameterError(name, "a share from 0 to 1", getattr(self, name))
        for name in ("node_mtbf", "checkpoint_factor"):
            if not (math.isfinite(getattr(self, name)) and getattr(self, name) > 0):
                raise ParameterError(name, "positive and finite", getattr(self, name))
        for name, most in (("rigid_setup", 1.0), ("malleable_setup", 1.0), ("notice_lead", math.inf)):
            bounds = getattr(self, name)
            if len(bounds) != 2 or not 0 <= bounds[0] <= bounds[1] < most:
                raise ParameterError(name, f"two bounds with 0 <= lower <= upper < {most:g}", bounds)
        if not 0 <= self.lateness < math.inf:
            raise ParameterError("lateness", "not negative and finite", self.lateness)


def assign(trace: Trace, parameters: Assignment | None = None, *, seed: int = 0, **changes: Any) -> list[Job]:
    """Give each job of a trace its type, its overheads and its notice.

    Parameters
    ----------
    trace
        Any trace whose machine size is known.
    parameters
        How; the paper's by default.
    seed
        Seed of the random choices, >= 0.
    **changes
        Fields of :class:`Assignment` that differ from ``parameters``.

    Returns
    -------
    list of Job
        In the order of the trace. Times are multiples of a tick. Job ids are the trace's if they are unique, else
        1, 2, ... for all. The notice of a job that arrives at the start of the trace lies before its first submit.
        :func:`workloads.hybrid.imbalance.imbalance` says where one group has most of the jobs, or a type has none.

    Raises
    ------
    ParameterError
        If a parameter is not legal or the machine size is unknown.

    Examples
    --------
    >>> from workloads.logs.trace import TraceJob
    >>> trace = Trace((TraceJob(1, 0.0, 128, 3600.0, 7200.0, project="a"),), nodes=4392)
    >>> [(job.job_id, job.type.value, job.runtime) for job in assign(trace, seed=4)]
    [(1, 'rigid', 3600.0)]
    """
    how = _changed(parameters or Assignment(), changes)
    if trace.nodes is None:
        raise ParameterError("nodes", "given, because this trace does not record the size of its machine", None)
    if not isinstance(seed, int) or seed < 0:
        raise ParameterError("seed", "an integer >= 0", seed)
    count = len(trace.jobs)
    groups = group_jobs(trace, how.group_by)
    types = _types(trace, trace.nodes, groups, how, seed)
    names = group_names(trace, how.group_by) if STOCHASTIC in types else []
    setups = stream(seed, "overheads").random(count).tolist()
    # One column for each use, and the category apart: a mix never moves the times of another category.
    categories = stream(seed, "notices").random(count).tolist()
    moments = stream(seed, "notices", "times").random((count, 3)).tolist()
    shares = notice_shares(how.notice_mix)
    lead, lateness = (to_ticks(how.notice_lead[0]), to_ticks(how.notice_lead[1])), to_ticks(how.lateness)
    jobs = []
    whole = zip(trace.jobs, _job_ids(trace), times_of(trace.jobs), types, strict=True)
    for index, (job, job_id, times, kind) in enumerate(whole):
        if kind is ON_DEMAND:
            if job.eligible is not None:
                # Such a job is there when it can start: what held it back is no part of an urgent request.
                times = times._replace(submit=to_ticks(job.eligible))
            draws = NoticeDraws(categories[index], *moments[index])
            notice = notice_times(times.submit, draws, shares, lead, lateness, how.no_show_share)
            jobs.append(on_demand(job, job_id, times, notice))
        elif kind is MALLEABLE:
            jobs.append(malleable(job, job_id, times, setups[index], how))
        elif kind is STOCHASTIC and job.running_since is None:
            jobs.append(stochastic(job, job_id, times, names[index], how))
        else:
            # The reservations so far of a stochastic job that runs already are not known: it runs on as a rigid one.
            jobs.append(rigid(job, job_id, times, setups[index], how))
    return Jobs(jobs)


def as_rigid(trace: Trace) -> list[Job]:
    """The trace as it is: every job rigid at its submit, runtime and walltime, without overheads.

    Parameters
    ----------
    trace
        Any trace.

    Returns
    -------
    list of Job
        In the order of the trace; job ids as in :func:`assign`.
    """
    whole = zip(trace.jobs, _job_ids(trace), times_of(trace.jobs), strict=True)
    return Jobs(plain(job, job_id, times, RIGID) for job, job_id, times in whole)


def as_rigid_columns(trace: Trace) -> RigidColumns:
    """The same of a long trace, in columns.

    Parameters
    ----------
    trace
        A trace whose jobs are :class:`~workloads.logs.tracecolumns.TraceColumns`.

    Raises
    ------
    TypeError
        If they are not.
    """
    jobs = trace.jobs
    if not isinstance(jobs, TraceColumns):
        raise TypeError("the jobs of this trace do not stand in columns")
    walltime = np.maximum(1, in_ticks(jobs.walltime))
    ids = jobs.job_id
    return RigidColumns(
        jobs.names.texts,
        job_id=ids if len(np.unique(ids)) == len(ids) else np.arange(1, len(ids) + 1),
        submit=in_ticks(jobs.submit),
        nodes=jobs.nodes,
        runtime=np.minimum(np.maximum(1, in_ticks(jobs.runtime)), walltime),
        walltime=walltime,
        killed=jobs.killed,
        user=jobs.user,
        project=jobs.project,
        partition=jobs.partition,
    )


def _changed(parameters: Assignment, changes: dict[str, Any]) -> Assignment:
    legal = [field.name for field in fields(Assignment)]
    for name, value in changes.items():
        if name not in legal:
            raise ParameterError(name, f"one of the parameters {', '.join(legal)}", value)
    return replace(parameters, **changes)


def _job_ids(trace: Trace) -> Sequence[int]:
    """The trace's ids where they name one job each, else the place in the file."""
    ids = [job.job_id for job in trace.jobs]
    return ids if len(set(ids)) == len(ids) else range(1, len(ids) + 1)


def _types(trace: Trace, nodes: int, groups: Sequence[int], how: Assignment, seed: int) -> list[JobType]:
    draws = stream(seed, "types").random(max(groups, default=-1) + 1)
    unknown = stream(seed, "types", "stochastic").random(len(draws))
    on_demand, rigid, malleable = how.shares
    of_group = [ON_DEMAND if u < on_demand else RIGID if u < on_demand + rigid else MALLEABLE for u in draws]
    # A stream of its own: the other groups stay what they are when the share changes, and the same groups come first.
    of_group = [STOCHASTIC if u < how.stochastic_share else kind for kind, u in zip(of_group, unknown, strict=True)]
    # A project of large on-demand jobs is split job by job, as the paper's "randomly reassign" says. Where both other
    # shares are 0 there is no proportion to keep, and the job is rigid.
    rigid_share = rigid / (rigid + malleable) if rigid + malleable > 0 else 1.0
    large = stream(seed, "types", "large").random(len(trace.jobs))
    return [
        (RIGID if u < rigid_share else MALLEABLE)
        if of_group[group] is ON_DEMAND and job.nodes > how.largest_on_demand * nodes
        else of_group[group]
        for job, group, u in zip(trace.jobs, groups, large, strict=True)
    ]
