"""Assignment of job types, overheads and notices to the jobs of a trace that does not record them.

Source: Fan et al., IPDPS 2022, sections IV-A and IV-B; docs/model.md, "The model, and the choices it makes", gives our
reading of them. Every random choice has its own stream with one draw per group or job, also for those that do not need
it. Workloads with the same seed that differ in one parameter thus differ only in what that parameter decides.
"""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from holdfast.workloads.ground.errors import ParameterError
from holdfast.workloads.ground.random_streams import stream
from holdfast.workloads.ground.units import to_ticks
from holdfast.workloads.hybrid.groups import job_groups
from holdfast.workloads.hybrid.job_types import TypedJobs
from holdfast.workloads.hybrid.notices import notice_shares, notice_times
from holdfast.workloads.hybrid.recorded_types import TypeRule, has_recorded_types, parse_type_rule, recorded_types
from holdfast.workloads.hybrid.type_mix import Assignment
from holdfast.workloads.logs.trace import Trace
from holdfast.workloads.table.job import RIGID, JobType
from holdfast.workloads.table.jobs import Jobs

__all__ = ["Assignment", "as_rigid", "assign"]

#: Shares of the notices if no job has one.
NO_NOTICES = (1.0, 0.0, 0.0, 0.0)
#: Indices of the types in :class:`~holdfast.workloads.table.job.JobType`.
_RIGID, _ON_DEMAND, _MALLEABLE, _STOCHASTIC = range(len(JobType))


def assign(trace: Trace, parameters: Assignment | None = None, *, seed: int = 0, **changes: Any) -> Jobs:
    """Assign a type, overheads and a notice to each job of a trace.

    Parameters
    ----------
    trace
        A trace with a known machine size.
    parameters
        Parameters of the assignment; by default those of the paper.
    seed
        Seed of the random choices, >= 0.
    **changes
        Fields of :class:`~holdfast.workloads.hybrid.type_mix.Assignment` that differ from ``parameters``.

    Returns
    -------
    Jobs
        Jobs in the order of the trace. Times are multiples of a tick. Job ids are those of the trace if they are
        unique, else 1, 2, ... for all jobs. A job that arrives at the start of the trace has a notice before the first
        submit. :func:`holdfast.workloads.hybrid.type_balance.imbalance` detects a group with most of the jobs, and
        types without jobs.

    Raises
    ------
    ParameterError
        If a parameter is not legal or the machine size is unknown.

    Examples
    --------
    >>> from holdfast.workloads.logs.trace import TraceJob
    >>> trace = Trace((TraceJob(1, 0.0, 128, 3600.0, 7200.0, project="a"),), nodes=4392)
    >>> [(job.job_id, job.type.value, job.runtime) for job in assign(trace, seed=4)]
    [(1, 'rigid', 3600.0)]
    """
    how = _replace_parameters(parameters or Assignment(), changes)
    if not isinstance(trace, Trace):
        raise ParameterError("trace", "a trace, as read_trace and generate return it", trace)
    if trace.nodes is None:
        raise ParameterError("nodes", "given, because this trace does not record the size of its machine", None)
    if not isinstance(seed, int) or seed < 0:
        raise ParameterError("seed", "an integer >= 0", seed)
    count = len(trace.jobs)
    names, groups = job_groups(trace, how.group_by)
    recorded = bool(how.types) or has_recorded_types(trace)
    if recorded:
        types, anew = recorded_types(trace, parse_type_rule(how.types) if how.types else TypeRule())
    else:
        types, anew = _types(trace, trace.nodes, groups, how, seed), np.zeros(count, np.bool_)
    setups = stream(seed, "overheads").random(count)
    # Each use has its own column, and categories their own stream: another mix changes categories but no times.
    categories = stream(seed, "notices").random(count)
    moments = stream(seed, "notices", "times").random((count, 3))
    # Notices would move recorded arrivals: only another mix than the default asks for them.
    shares = notice_shares(NO_NOTICES if recorded and how.notice_mix == Assignment.notice_mix else how.notice_mix)
    lead, lateness = (to_ticks(how.notice_lead[0]), to_ticks(how.notice_lead[1])), to_ticks(how.lateness)

    made = TypedJobs(trace.jobs)
    made.kinds = types
    running = ~np.isnan(trace.jobs.column("running_since"))
    # The past reservations of a stochastic job that already runs are unknown, so that it continues as a rigid job.
    made.be(running & (types == _STOCHASTIC), RIGID)
    rigid, urgent, malleable, unknown = (made.kinds == place for place in range(len(JobType)))
    if urgent.any():
        # An on-demand job arrives when it is eligible: a hold before that is not part of an urgent request.
        made.come_when_eligible(urgent)
        new = urgent & ~running
        notice, arrival, noticed, comes = notice_times(
            made.submit[new], categories[new], moments[new], shares, lead, lateness, how.no_show_share
        )
        made.arrive(new, notice, arrival, noticed, comes)
    if unknown.any():
        made.plan(unknown, groups[unknown], names, how.plan)
    if malleable.any():
        setup = made.set_up(malleable, how.malleable_setup, setups)
        made.shrink(malleable, how.min_share)
        if how.overheads == "added":
            made.longer[malleable] = setup
    if (rigid & ~anew).any():
        made.checkpoint(rigid & ~anew, made.set_up(rigid & ~anew, how.rigid_setup, setups), how)
    return made.jobs(how.walltimes)


def as_rigid(trace: Trace) -> Jobs:
    """Convert a trace to rigid jobs with recorded submit, runtime and walltime, without overheads.

    Parameters
    ----------
    trace
        Any trace.

    Returns
    -------
    Jobs
        Jobs in the order of the trace; job ids as in :func:`assign`.
    """
    return TypedJobs(trace.jobs).jobs()


def _replace_parameters(parameters: Assignment, changes: dict[str, Any]) -> Assignment:
    legal = [field.name for field in fields(Assignment)]
    for name, value in changes.items():
        if name not in legal:
            raise ParameterError(name, f"one of the parameters {', '.join(legal)}", value)
    return replace(parameters, **changes)


def _types(trace: Trace, nodes: int, groups: NDArray[np.int64], how: Assignment, seed: int) -> NDArray[np.int8]:
    """The type of each job as its index in JobType, shape (n,)."""
    draws = stream(seed, "types").random(int(groups.max(initial=-1)) + 1)
    unknown = stream(seed, "types", "stochastic").random(len(draws))
    on_demand, rigid, malleable = how.shares
    of_group = np.where(draws < on_demand, _ON_DEMAND, np.where(draws < on_demand + rigid, _RIGID, _MALLEABLE))
    # A separate stream: another share leaves the types of other groups unchanged, and a larger share includes the
    # groups of a smaller one.
    of_group = np.where(unknown < how.stochastic_share, _STOCHASTIC, of_group)
    # Large jobs of on-demand projects get another type job by job (the paper: "randomly reassign"). If both other
    # shares are 0, such jobs are rigid.
    rigid_share = rigid / (rigid + malleable) if rigid + malleable > 0 else 1.0
    large = stream(seed, "types", "large").random(len(trace.jobs))
    types = of_group[groups]
    split = (types == _ON_DEMAND) & (trace.jobs.column("nodes") > how.largest_on_demand * nodes)
    return np.where(split, np.where(large < rigid_share, _RIGID, _MALLEABLE), types).astype(np.int8)
