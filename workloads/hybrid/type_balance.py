"""A warning for workloads with so few groups that the drawn types depend mostly on the seed."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from holdfast.workloads.hybrid.assignment import Assignment
from holdfast.workloads.hybrid.groups import job_groups, resolve_grouping
from holdfast.workloads.hybrid.recorded_types import has_recorded_types
from holdfast.workloads.logs.trace import Trace
from holdfast.workloads.table.job import Job, JobType
from holdfast.workloads.table.jobs import Jobs

__all__ = ["imbalance"]

#: Share of the jobs above which the type of one group, a single draw, dominates the workload.
_MOST = 0.5


def imbalance(trace: Trace, jobs: Sequence[Job], parameters: Assignment | None = None) -> str:
    """Return a warning if few draws decide the types of most jobs; empty if there is no problem.

    Parameters
    ----------
    trace, parameters
        Arguments of :func:`holdfast.workloads.hybrid.assignment.assign`.
    jobs
        Result of :func:`holdfast.workloads.hybrid.assignment.assign`.

    Returns
    -------
    str
        Warning that names a group with more than half of the jobs, and types with a positive share and no job; if there
        are no on-demand jobs, with advice. Of recorded types: whether no job is on-demand.

    Examples
    --------
    >>> from holdfast.workloads.hybrid.assignment import assign
    >>> from holdfast.workloads.logs.trace import TraceJob
    >>> trace = Trace(tuple(TraceJob(i, float(i), 8, 60.0, 90.0, user="aab"[i]) for i in range(3)), nodes=16)
    >>> print(imbalance(trace, assign(trace, seed=1)))
    types are drawn for each user: 'a' has 67 % of the jobs, and none is malleable; another seed may draw others
    """
    how = parameters or Assignment()
    if not jobs:
        return ""
    table = jobs if isinstance(jobs, Jobs) else Jobs(jobs)
    if how.types or has_recorded_types(trace):
        none = "the log records no on-demand job: the mechanisms have nothing to decide"
        return "" if table.are(JobType.ON_DEMAND).any() else none
    kind = resolve_grouping(trace, how.group_by)
    names, groups = job_groups(trace, how.group_by)
    counts = np.bincount(groups)
    largest = int(counts.argmax())
    name, most = names[largest], int(counts[largest])
    findings = []
    if most > _MOST * len(jobs):
        findings.append(f"{name!r} has {most / len(jobs):.0%} of the jobs".replace("%", " %"))
    on_demand, rigid, malleable = ((1 - how.stochastic_share) * share for share in how.shares)
    shares = {
        JobType.ON_DEMAND: on_demand,
        JobType.RIGID: rigid,
        JobType.MALLEABLE: malleable,
        JobType.STOCHASTIC: how.stochastic_share,
    }
    missing = [kind for kind, share in shares.items() if share > 0 and not table.are(kind).any()]
    if missing:
        findings.append(f"{'none' if findings else 'no job'} is {' or '.join(kind.value for kind in missing)}")
    if not findings:
        return ""
    warning = f"types are drawn for each {kind}: {', and '.join(findings)}"
    if JobType.ON_DEMAND not in missing:
        return f"{warning}; another seed may draw others"
    return (
        f"{warning}; another seed, a larger on-demand share (shares) or smaller groups (group_by) may draw some, and "
        "without any the mechanisms have nothing to decide"
    )
