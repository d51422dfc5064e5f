"""Selection of jobs that are read already: the part of a trace or a job table that is wanted.

Some readers select by the columns of their file while they read. For all others the jobs themselves are looked at, so
that a reader needs no code for it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import accumulate
from pathlib import Path
from typing import TypeVar

from workloads.ground.errors import InputError, TraceError
from workloads.ground.jobids import job_id_text
from workloads.logs.choice import Choice, Condition
from workloads.logs.trace import Trace, TraceJob
from workloads.table.job import Job
from workloads.table.jobtable import JobTable

__all__ = ["select"]

_Row = TypeVar("_Row", TraceJob, Job)
#: What a condition may be on, and the texts of a job that fulfil it.
_OF_BOTH: Mapping[str, Callable[[TraceJob | Job], tuple[str, ...]]] = {
    "user": lambda job: (job.user,),
    "project": lambda job: (job.project,),
    "partition": lambda job: (job.partition,),
    "qos": lambda job: (job.qos,),
    "queue": lambda job: (job.partition,),
    "nodes": lambda job: (str(job.nodes),),
    "job_id": lambda job: (str(job.job_id), job_id_text(job.job_id)),
}
_OF_TABLES: Mapping[str, Callable[[Job], tuple[str, ...]]] = {
    **_OF_BOTH,
    "type": lambda job: (job.type.value,),
    "application": lambda job: (job.application,),
}
#: Values of a column that a message names.
_SHOWN = 10


def select(workload: Trace | JobTable, choice: Choice, path: str | Path) -> Trace | JobTable:
    """The wanted part of a workload.

    Parameters
    ----------
    workload
        As read.
    choice
        Conditions on user, project (or account), partition (or queue), qos, nodes and job_id, of a job table also on
        type and application; and perhaps a unit.
    path
        For messages.

    Raises
    ------
    InputError
        If sizes do not count the wanted unit.
    TraceError
        If a condition is on anything else, or no job is left.
    """
    unit = workload.unit if isinstance(workload, Trace) else "nodes"
    if choice.unit not in (None, unit):
        raise InputError(f"{path}: sizes count {unit} in this format: leave out the unit {choice.unit}")
    if not choice.conditions:
        return workload
    excluded: Counter[str] = Counter()
    if isinstance(workload, JobTable):
        wanted = _wanted(workload.jobs, choice.conditions, _OF_TABLES, excluded, path)
        kept = [job for job, chosen in zip(workload.jobs, wanted, strict=True) if chosen]
        there = {job.job_id for job in kept}
        return replace(
            workload,
            jobs=tuple(
                job
                if job.preceding is None or job.preceding in there
                else replace(job, preceding=None, think_time=None)
                for job in kept
            ),
        )
    wanted = _wanted(workload.jobs, choice.conditions, _OF_BOTH, excluded, path)
    places = [0, *accumulate(wanted)]
    withdrawn = tuple(
        item._replace(place=places[item.place])
        for item in workload.withdrawn
        if all(_holds(condition, item.job, _OF_BOTH) for condition in choice.conditions)
    )
    return replace(
        workload,
        jobs=tuple(job for job, chosen in zip(workload.jobs, wanted, strict=True) if chosen),
        # The size of the machine is not that of one of its partitions.
        nodes=None if choice.asks_for("partition", "queue") else workload.nodes,
        header={**workload.header, "Where": choice.told},
        excluded={**workload.excluded, **excluded},
        withdrawn=withdrawn,
    )


def _wanted(
    jobs: Sequence[_Row],
    conditions: Sequence[Condition],
    columns: Mapping[str, Callable[[_Row], tuple[str, ...]]],
    excluded: Counter[str],
    path: str | Path,
) -> list[bool]:
    """For each job whether it fulfils all conditions; the others are counted under the first that they do not."""
    for condition in conditions:
        if condition.kind not in columns:
            raise TraceError(
                path, None, f"has no column {condition.name} to select by: choose from {', '.join(columns)}"
            )
    wanted = []
    others: dict[str, dict[str, None]] = {}
    for job in jobs:
        broken = next((condition for condition in conditions if not _holds(condition, job, columns)), None)
        wanted.append(broken is None)
        if broken is not None:
            excluded[broken.reason] += 1
            others.setdefault(broken.name, {})[columns[broken.kind](job)[-1]] = None
    if not any(wanted):
        counted = ", ".join(f"{count:,} {reason}" for reason, count in excluded.most_common())
        advice = "; ".join(f"{name} is {_listed(list(values))}" for name, values in others.items())
        raise TraceError(path, None, f"no job is left ({counted})", advice)
    return wanted


def _holds(condition: Condition, job: _Row, columns: Mapping[str, Callable[[_Row], tuple[str, ...]]]) -> bool:
    return condition.holds(*columns[condition.kind](job))


def _listed(values: Sequence[str]) -> str:
    names = [value or "empty" for value in values[:_SHOWN]]
    return " or ".join([*names, "something else"] if len(values) > _SHOWN else names)
