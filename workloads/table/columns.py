"""Columns of the job table: which there are, and how a cell of each is read and written.

The same list, for users: docs/commands.md, "holdfast prepare".
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from workloads.ground.errors import TraceError, UnknownNameError, shown
from workloads.ground.fields import number, whole
from workloads.ground.jobids import parse_job_id
from workloads.ground.units import format_seconds, to_ticks
from workloads.table.job import Job, JobType

__all__ = [
    "ALL_COLUMNS",
    "COLUMNS",
    "DEFAULTS",
    "LIFE_COLUMNS",
    "NEEDED_COLUMNS",
    "STOCHASTIC_COLUMNS",
    "columns_of",
    "line_writer",
    "values_of",
]

#: Columns of the table, in the order of the file.
COLUMNS = (
    *("job_id", "type", "submit", "nodes", "min_nodes", "runtime", "walltime", "setup"),
    *("checkpoint_interval", "checkpoint_cost", "notice", "estimated_arrival"),
    *("trace_runtime", "trace_walltime", "user", "project", "killed"),
)
#: Further columns, which are written where any job is stochastic.
STOCHASTIC_COLUMNS = ("application", "true_runtime", "plan", "restart_cost", "memory_profile")
#: Further columns, each of which is written where any job is withdrawn, depends on another, runs already, or is held.
LIFE_COLUMNS = ("cancelled_at", "preceding", "think_time", "running_since", "eligible")
#: Further columns of texts, each of which is written where any job has one.
PARTITION = "partition"
CARRIED = (PARTITION, "qos")
ALL_COLUMNS = (*COLUMNS, *STOCHASTIC_COLUMNS, *LIFE_COLUMNS, *CARRIED)
#: Columns that there must be, and those of them without empty cells.
NEEDED_COLUMNS = ("job_id", "type", "submit", "nodes", "runtime", "walltime")
_VALUED = ("job_id", "type", "nodes", "runtime", "walltime")
_TEXTS = ("user", "project", "application", "plan", "memory_profile", *CARRIED)
_TYPES = {kind.value: kind for kind in JobType}


def columns_of(jobs: Sequence[Job]) -> tuple[str, ...]:
    """The columns that a table of these jobs has."""
    stochastic = STOCHASTIC_COLUMNS if any(job.type is JobType.STOCHASTIC for job in jobs) else ()
    life = [name for name in LIFE_COLUMNS if any(getattr(job, name) is not None for job in jobs)]
    carried = [name for name in CARRIED if any(getattr(job, name) for job in jobs)]
    return (*COLUMNS, *stochastic, *life, *carried)


def line_writer(columns: Sequence[str]) -> Callable[[Job], str]:
    """What writes a job as a line of CSV with these columns (of :func:`columns_of`)."""
    further = [(name, _WRITERS.get(name, _time)) for name in columns[len(COLUMNS) :]]
    if not further:
        return _csv_line
    return lambda job: ",".join([_csv_line(job)[:-1], *(write(getattr(job, name)) for name, write in further)]) + "\n"


def _csv_line(job: Job) -> str:
    smallest = "" if job.min_nodes is None else job.min_nodes
    return (
        f"{job.job_id},{job.type.value},{_time(job.submit)},{job.nodes},{smallest},{_time(job.runtime)},"
        f"{_time(job.walltime)},{_time(job.setup)},{_time(job.checkpoint_interval)},{_time(job.checkpoint_cost)},"
        f"{_time(job.notice)},{_time(job.estimated_arrival)},{_time(job.trace_runtime)},{_time(job.trace_walltime)},"
        f"{_quoted(job.user)},{_quoted(job.project)},{job.killed:d}\n"
    )


def _time(seconds: float | None) -> str:
    return "" if seconds is None else format_seconds(to_ticks(seconds))


def _quoted(text: str) -> str:
    # Not csv.writer: with a line end of \n it leaves a lone \r unquoted, which csv.reader takes for a line end.
    return '"' + text.replace('"', '""') + '"' if set(text) & set(',"\r\n') else text


def _whole_or_empty(value: int | None) -> str:
    return "" if value is None else str(value)


#: How a cell of a further column is written; else it is a time.
_WRITERS: dict[str, Callable[[Any], str]] = {**dict.fromkeys(_TEXTS, _quoted), "preceding": _whole_or_empty}


def values_of(name: str, cells: Sequence[str], refuse: Callable[[int, str], TraceError]) -> Sequence[Any]:
    """The cells of a column as values; a whole column at once, and one by one only to find a fault."""
    convert, at_once = _KINDS[name]
    if at_once is not None:
        needed, default = name in _VALUED, DEFAULTS.get(name)
        try:
            values = [at_once(cell) if cell or needed else default for cell in cells]
            if math.isfinite(sum(filter(None, values))) and "_" not in "".join(cells):
                return values
        except (ValueError, OverflowError):
            pass
    values = []
    for index, cell in enumerate(cells):
        try:
            values.append(convert(cell, name))
        except ValueError as error:
            raise refuse(index, str(error)) from None
    return values


def _optional_number(cell: str, name: str) -> float | None:
    return number(cell, name) if cell.strip() else None


def _number_or_zero(cell: str, name: str) -> float:
    return number(cell, name) if cell.strip() else 0.0


def _optional_whole(cell: str, name: str) -> int | None:
    return whole(cell, name) if cell.strip() else None


def _optional_job_id(cell: str, name: str) -> int | None:
    return parse_job_id(cell, name) if cell.strip() else None


def _type(cell: str, name: str) -> JobType:
    kind = _TYPES.get(cell.strip())
    if kind is None:
        raise UnknownNameError(name, cell, _TYPES)
    return kind


def _text(cell: str, name: str) -> str:
    return cell


def _flag(cell: str, name: str) -> bool:
    flag = {"": False, "0": False, "1": True, "false": False, "true": True}.get(cell.strip().lower())
    if flag is None:
        raise ValueError(f"{name} must be 0 or 1, not {shown(cell)}")
    return flag


DEFAULTS: dict[str, Any] = {
    **dict.fromkeys(("setup", "checkpoint_cost", "restart_cost"), 0.0),
    **dict.fromkeys(_TEXTS, ""),
    "killed": False,
}
#: For each column how to read a cell, and how to read one of which nothing is wrong, fast.
_KINDS: dict[str, tuple[Callable[[str, str], Any], Callable[[str], float] | None]] = {
    **dict.fromkeys(ALL_COLUMNS, (_optional_number, float)),
    "nodes": (whole, int),
    "job_id": (parse_job_id, int),
    **dict.fromkeys(("runtime", "walltime"), (number, float)),
    **dict.fromkeys(("setup", "checkpoint_cost", "restart_cost"), (_number_or_zero, float)),
    **dict.fromkeys(_TEXTS, (_text, None)),
    "min_nodes": (_optional_whole, int),
    "preceding": (_optional_job_id, int),
    "type": (_type, None),
    "killed": (_flag, None),
}
