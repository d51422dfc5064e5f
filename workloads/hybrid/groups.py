"""Groups of jobs that share one type: projects, users, or campaigns.

Source: Fan et al., IPDPS 2022, section IV-A, groups by project; docs/model.md, parameter ``group_by``, says what stands
in for it.
"""

from __future__ import annotations

from workloads.ground.errors import ParameterError
from workloads.logs.trace import Trace, TraceJob

__all__ = ["GROUPINGS", "campaigns", "group_jobs", "group_names", "grouping_of"]

#: Kind of a group, and which of that kind.
_Key = tuple[str, str | int]

#: What jobs may be grouped by; ``auto`` is the first of the others that tells jobs of the trace apart.
GROUPINGS = ("auto", "project", "user", "campaign")


def campaigns(trace: Trace) -> list[int]:
    """Campaign of each job: consecutive submissions of equal size and walltime.

    Parameters
    ----------
    trace
        Any trace; "consecutive" is by submit time, ties in file order, not by line.

    Returns
    -------
    list of int
        For each job in file order the number of its campaign, counted from 0 in submit order.
    """
    jobs = trace.jobs
    number = [0] * len(jobs)
    current, last = -1, None
    for index in sorted(range(len(jobs)), key=lambda i: jobs[i].submit):
        shape = (jobs[index].nodes, jobs[index].walltime)
        if shape != last:
            current, last = current + 1, shape
        number[index] = current
    return number


def group_jobs(trace: Trace, group_by: str = "auto") -> list[int]:
    """Group of each job.

    A job without a name in a trace that has names is grouped by the next key (project, user, campaign): jobs
    without a name are not one large project.

    Parameters
    ----------
    trace
        Any trace.
    group_by
        ``project``, ``user``, ``campaign`` or ``auto``: project where the trace has any, else user, else campaign. A
        column with one value on every line groups nothing, and counts as none.

    Returns
    -------
    list of int
        For each job in file order the number of its group, counted from 0 by first appearance.

    Raises
    ------
    ParameterError
        If ``group_by`` is none of these, or if the trace has no project, or no user, to group by.
    """
    groups: dict[_Key, int] = {}
    return [groups.setdefault(key, len(groups)) for key in _keys(trace, group_by)]


def group_names(trace: Trace, group_by: str = "auto") -> list[str]:
    """Name of each job's group: that of its project or user, or ``group-`` with its number; no two groups share one.

    Parameters, order and errors are those of :func:`group_jobs`.
    """
    names: dict[_Key, str] = {}
    taken: set[str] = set()
    keys = _keys(trace, group_by)
    for key in keys:
        if key in names:
            continue
        kind, shown = key
        name = f"group-{len(names)}" if kind == "campaign" else str(shown)
        # A user may be called like a project.
        while name in taken:
            name = f"{kind} {name}"
        names[key] = name
        taken.add(name)
    return [names[key] for key in keys]


def grouping_of(trace: Trace, group_by: str = "auto") -> str:
    """What jobs are grouped by, ``auto`` resolved: ``project``, ``user`` or ``campaign``; see :func:`group_jobs`."""
    if group_by not in GROUPINGS:
        raise ParameterError("group_by", f"one of {', '.join(GROUPINGS)}", group_by)
    if group_by == "auto":
        return next((key for key in ("project", "user") if _tells_apart(trace, key)), "campaign")
    if group_by != "campaign" and trace.jobs and not any(getattr(job, group_by) for job in trace.jobs):
        known = ", ".join(
            key for key in GROUPINGS[1:] if key == "campaign" or any(getattr(job, key) for job in trace.jobs)
        )
        raise ParameterError("group_by", f"auto or one of {known} (this trace names no {group_by})", group_by)
    return group_by


def _tells_apart(trace: Trace, key: str) -> bool:
    """Whether not all lines have the same project, or user, or none."""
    return len({getattr(job, key) for job in trace.jobs}) > 1


def _keys(trace: Trace, group_by: str) -> list[_Key]:
    """What tells the group of each job from the others."""
    group_by = grouping_of(trace, group_by)
    by_user = group_by == "user" or (group_by == "project" and _tells_apart(trace, "user"))

    def named(job: TraceJob) -> _Key | None:
        if group_by == "project" and job.project:
            return "project", job.project
        if by_user and job.user:
            return "user", job.user
        return None

    keys = [named(job) for job in trace.jobs]
    # Most traces name the group of each job, and campaigns need them in order.
    number = campaigns(trace) if None in keys else []
    return [key or ("campaign", number[index]) for index, key in enumerate(keys)]
