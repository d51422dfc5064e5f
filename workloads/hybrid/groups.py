"""Groups of jobs that share one type: projects, users, or campaigns.

Source: Fan et al., IPDPS 2022, section IV-A, groups by project; docs/model.md, parameter ``group_by``, lists the
alternatives for traces without projects.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from holdfast.workloads.ground.errors import ParameterError
from holdfast.workloads.ground.parameters import choices
from holdfast.workloads.hybrid.type_mix import Assignment
from holdfast.workloads.logs.trace import Trace

__all__ = ["GROUPINGS", "campaigns", "group_jobs", "group_names", "job_groups", "resolve_grouping"]

#: Legal groupings; ``auto`` is the first of the others that divides the jobs of the trace into several groups.
GROUPINGS = choices(Assignment)["group_by"]


def campaigns(trace: Trace) -> list[int]:
    """Campaign of each job: consecutive submissions of equal size and walltime.

    Parameters
    ----------
    trace
        Any trace. The order of submissions is by submit time, with ties in file order.

    Returns
    -------
    list of int
        For each job in file order the number of its campaign, counted from 0 in submit order.
    """
    jobs = trace.jobs
    order = np.argsort(jobs.column("submit"), kind="stable")
    nodes, walltime = jobs.column("nodes")[order], jobs.column("walltime")[order]
    number = np.zeros(len(order), np.int64)
    number[order[1:]] = np.cumsum((nodes[1:] != nodes[:-1]) | (walltime[1:] != walltime[:-1]))
    found: list[int] = number.tolist()
    return found


def group_jobs(trace: Trace, group_by: str = "auto") -> list[int]:
    """Group of each job.

    A job without a name in a trace that has names is grouped by the next key (project, user, campaign): jobs
    without a name are not one large project.

    Parameters
    ----------
    trace
        Any trace.
    group_by
        ``project``, ``user``, ``campaign`` or ``auto``: project if the trace has any, else user, else campaign. A
        column with only one distinct value is ignored.

    Returns
    -------
    list of int
        For each job in file order the number of its group, counted from 0 by first appearance.

    Raises
    ------
    ParameterError
        If ``group_by`` is not one of these, or if the trace has no projects, or no users, to group by.
    """
    numbers: list[int] = job_groups(trace, group_by)[1].tolist()
    return numbers


def group_names(trace: Trace, group_by: str = "auto") -> list[str]:
    """Unique name of each job's group: that of its project or user, or ``group-`` with a number.

    Parameters, order and errors are those of :func:`group_jobs`.
    """
    names, numbers = job_groups(trace, group_by)
    return [names[number] for number in numbers.tolist()]


def resolve_grouping(trace: Trace, group_by: str = "auto") -> str:
    """Resolve ``auto`` to ``project``, ``user`` or ``campaign``; see :func:`group_jobs`."""
    if group_by not in GROUPINGS:
        raise ParameterError("group_by", f"one of {', '.join(GROUPINGS)}", group_by)
    if group_by == "auto":
        return next((key for key in ("project", "user") if _has_several_values(trace, key)), "campaign")
    if group_by != "campaign" and trace.jobs and not trace.jobs.has(group_by):
        known = ", ".join(key for key in GROUPINGS[1:] if key == "campaign" or trace.jobs.has(key))
        raise ParameterError("group_by", f"auto or one of {known} (this trace names no {group_by})", group_by)
    return group_by


def _has_several_values(trace: Trace, key: str) -> bool:
    """Whether a column has at least two distinct values."""
    codes = trace.jobs.columns.get(key)
    return codes is not None and len(codes) > 0 and bool((codes != codes[0]).any())


def job_groups(trace: Trace, group_by: str = "auto") -> tuple[list[str], NDArray[np.int64]]:
    """The name of each group, and the group of each job, shape (n,); see :func:`group_jobs`."""
    group_by = resolve_grouping(trace, group_by)
    by_user = group_by == "user" or (group_by == "project" and _has_several_values(trace, "user"))
    jobs = trace.jobs
    empty = np.array([not name for name in jobs.names] or [True])
    keys = np.full(len(jobs), -1)
    for number, (kind, used) in enumerate((("project", group_by == "project"), ("user", by_user))):
        codes = jobs.columns.get(kind) if used else None
        if codes is not None:
            named = (keys < 0) & ~empty[codes]
            keys[named] = 3 * codes[named].astype(np.int64) + number
    unnamed = keys < 0
    # Most traces name the group of each job, and campaigns need them in order.
    if unnamed.any():
        keys[unnamed] = 3 * np.array(campaigns(trace))[unnamed] + 2
    found, first, places = np.unique(keys, return_index=True, return_inverse=True)
    order = np.argsort(first)
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order))
    names: list[str] = []
    taken: set[str] = set()
    for key in found[order].tolist():
        kind = GROUPINGS[1 + key % 3]
        name = f"group-{len(names)}" if kind == "campaign" else jobs.names[key // 3]
        # A user and a project may have the same name.
        while name in taken:
            name = f"{kind} {name}"
        names.append(name)
        taken.add(name)
    return names, rank[places]
