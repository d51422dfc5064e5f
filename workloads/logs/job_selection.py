"""Filters for jobs that have been read: the same conditions, applied to a trace or a job table.

Some readers filter by the columns of their file while they read. For all other formats the jobs are filtered here, so
their readers need no code for it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from holdfast.workloads.ground.errors import InputError, TraceError
from holdfast.workloads.ground.job_ids import job_id_text
from holdfast.workloads.logs.cleaning import Tally
from holdfast.workloads.logs.filters import Choice, Condition
from holdfast.workloads.logs.trace import Trace, TraceJobs, place_withdrawn_jobs
from holdfast.workloads.table.job import JobType
from holdfast.workloads.table.job_table import JobTable
from holdfast.workloads.table.jobs import Jobs

__all__ = ["JOB_COLUMNS", "TABLE_COLUMNS", "select"]

#: What a condition may be on: the column, and of what is not text the texts that fulfil it.
_OF_BOTH: Mapping[str, tuple[str, Callable[[Any], tuple[str, ...]] | None]] = {
    **{name: (name, None) for name in ("user", "project", "partition", "qos")},
    "queue": ("partition", None),
    "nodes": ("nodes", lambda value: (str(value),)),
    "job_id": ("job_id", lambda value: (str(value), job_id_text(value))),
}
_OF_TABLES: Mapping[str, tuple[str, Callable[[Any], tuple[str, ...]] | None]] = {
    **_OF_BOTH,
    "type": ("type", lambda value: (list(JobType)[value].value,)),
    "application": ("application", None),
}
#: Values of a column that a message names.
_SHOWN = 10
#: Columns of a log, and of a job table, by the names that conditions may use.
JOB_COLUMNS: Mapping[str, Sequence[str]] = {name: (column,) for name, (column, _) in _OF_BOTH.items()}
TABLE_COLUMNS: Mapping[str, Sequence[str]] = {name: (column,) for name, (column, _) in _OF_TABLES.items()}


def select(workload: Trace | JobTable, choice: Choice, path: str | Path) -> Trace | JobTable:
    """Select the jobs of a workload that fulfil the conditions.

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
        kept = workload.jobs.select(_selection_mask(workload.jobs, choice.conditions, _OF_TABLES, excluded, path))
        if kept.has("preceding"):
            there = set(kept.column("job_id").tolist())
            before = [None if number not in there else number for number in kept.column("preceding").tolist()]
            without = np.array([number is None for number in before])
            preceding = np.array(before, np.object_)
            kept = kept.with_columns(
                preceding=preceding, think_time=np.where(without, np.nan, kept.column("think_time"))
            )
        return replace(workload, jobs=kept)
    wanted = _selection_mask(workload.jobs, choice.conditions, _OF_BOTH, excluded, path)
    gone = TraceJobs(item.job for item in workload.withdrawn)
    holding = np.ones(len(gone), np.bool_)
    for condition in choice.conditions:
        holding &= _condition_mask(condition, gone, _OF_BOTH)
    withdrawn = tuple(item for item, holds in zip(workload.withdrawn, holding, strict=True) if holds)
    return replace(
        workload,
        jobs=workload.jobs.select(wanted),
        # The size of the machine is not that of one of its partitions.
        nodes=None if choice.asks_for("partition", "queue") else workload.nodes,
        header={**workload.header, "Where": choice.text},
        excluded={**workload.excluded, **excluded},
        withdrawn=place_withdrawn_jobs(withdrawn, wanted),
    )


def _selection_mask(
    jobs: TraceJobs | Jobs,
    conditions: Sequence[Condition],
    columns: Mapping[str, tuple[str, Callable[[Any], tuple[str, ...]] | None]],
    excluded: Counter[str],
    path: str | Path,
) -> NDArray[np.bool_]:
    """For each job whether it fulfils all conditions; the others are counted under the first that they do not."""
    for condition in conditions:
        if condition.kind not in columns:
            raise TraceError(
                path, None, f"has no column {condition.name} to select by: choose from {', '.join(columns)}"
            )
    wanted = np.ones(len(jobs), np.bool_)
    tally, others = Tally(), list[tuple[int, str, list[str]]]()
    for condition in conditions:
        broken = wanted & ~_condition_mask(condition, jobs, columns)
        if broken.any():
            tally.note(excluded, condition.reason, broken)
            texts, places = _texts(jobs, *columns[condition.kind])
            names = [texts[place][-1] for place in dict.fromkeys(places[broken].tolist())]
            others.append((int(broken.argmax()), condition.name, names))
        wanted &= ~broken
    tally.count()
    if not wanted.any():
        counted = ", ".join(f"{count:,} {reason}" for reason, count in excluded.most_common())
        advice = "; ".join(f"{name} is {_list_values(values)}" for _, name, values in sorted(others))
        raise TraceError(path, None, f"no job is left ({counted})", advice)
    return wanted


def _condition_mask(
    condition: Condition,
    jobs: TraceJobs | Jobs,
    columns: Mapping[str, tuple[str, Callable[[Any], tuple[str, ...]] | None]],
) -> NDArray[np.bool_]:
    """Which jobs fulfil a condition, shape (n,)."""
    texts, places = _texts(jobs, *columns[condition.kind])
    holds: NDArray[np.bool_] = np.array([condition.holds(*cells) for cells in texts], np.bool_)[places]
    return holds


def _texts(
    jobs: TraceJobs | Jobs, name: str, texts: Callable[[Any], tuple[str, ...]] | None
) -> tuple[list[tuple[str, ...]], NDArray[np.intp]]:
    """The texts of each value of a column, and which of them each job has."""
    found, places = np.unique(jobs.column(name), return_inverse=True)
    names = jobs.names
    return [(names[value],) if texts is None else texts(value) for value in found.tolist()], places


def _list_values(values: Sequence[str]) -> str:
    names = [value or "empty" for value in values[:_SHOWN]]
    return " or ".join([*names, "something else"] if len(values) > _SHOWN else names)
