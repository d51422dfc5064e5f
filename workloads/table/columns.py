"""Columns of the job table, with the parser and the writer of each column.

docs/commands.md, "holdfast prepare", has the same list for users.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from holdfast.workloads.ground.errors import TraceError, UnknownNameError, format_value
from holdfast.workloads.ground.job_ids import parse_job_id
from holdfast.workloads.ground.text_cells import number, whole
from holdfast.workloads.ground.ticks import in_ticks
from holdfast.workloads.ground.units import SECOND, format_seconds
from holdfast.workloads.table.job import JobType
from holdfast.workloads.table.jobs import Jobs

__all__ = [
    "ALL_COLUMNS",
    "COLUMNS",
    "DEFAULTS",
    "LIFE_COLUMNS",
    "NEEDED_COLUMNS",
    "STOCHASTIC_COLUMNS",
    "csv_lines",
    "parse_cells",
    "table_columns",
]

#: Columns of the table, in the order of the file.
COLUMNS = (
    *("job_id", "type", "submit", "nodes", "min_nodes", "runtime", "walltime", "setup"),
    *("checkpoint_interval", "checkpoint_cost", "notice", "estimated_arrival"),
    *("trace_runtime", "trace_walltime", "user", "project", "killed"),
)
#: Further columns, written if any job is stochastic.
STOCHASTIC_COLUMNS = ("application", "true_runtime", "plan", "restart_cost", "memory_profile")
#: Further columns, each written if a job uses it: cancellations, dependencies, running jobs and holds.
LIFE_COLUMNS = ("cancelled_at", "preceding", "think_time", "running_since", "eligible")
#: Further columns of texts, each written if a job has such a text.
PARTITION = "partition"
CARRIED = (PARTITION, "qos")
ALL_COLUMNS = (*COLUMNS, *STOCHASTIC_COLUMNS, *LIFE_COLUMNS, *CARRIED)
#: Required columns, and required columns without empty cells.
NEEDED_COLUMNS = ("job_id", "type", "submit", "nodes", "runtime", "walltime")
_VALUED = ("job_id", "type", "nodes", "runtime", "walltime")
_TEXTS = ("user", "project", "application", "plan", "memory_profile", *CARRIED)
_TYPES = {kind.value: kind for kind in JobType}


def table_columns(jobs: Jobs) -> tuple[str, ...]:
    """Columns that a table of these jobs needs."""
    stochastic = STOCHASTIC_COLUMNS if jobs.are(JobType.STOCHASTIC).any() else ()
    return (*COLUMNS, *stochastic, *filter(jobs.has, (*LIFE_COLUMNS, *CARRIED)))


def csv_lines(jobs: Jobs, columns: Sequence[str]) -> str:
    """Format jobs as lines of CSV with some of the columns of :func:`table_columns`."""
    cells = [_cells(jobs, name) for name in columns]
    return "".join(map("%s\n".__mod__, map(",".join, zip(*cells, strict=True))))


def _cells(jobs: Jobs, name: str) -> Iterable[str]:
    """The cells of a column."""
    kind, column = jobs.kinds[name], jobs.column(name)
    if kind == "time":
        return _times(column)
    if kind == "text":
        return map(list(map(_quote, jobs.names)).__getitem__, column.tolist())
    if kind == "number":
        return ["" if value is None else str(value) for value in column.tolist()]
    if kind == "flag":
        return map("01".__getitem__, column.tolist())
    if kind == "whole":
        return map(str, column.tolist())
    return map([member.value for member in JobType].__getitem__, column.tolist())


def _times(seconds: NDArray[np.float64]) -> list[str]:
    missing = np.isnan(seconds)
    ticks = in_ticks(np.where(missing, 0.0, seconds))
    cells = list(map(str, (ticks // SECOND).tolist()))
    for place in np.flatnonzero(ticks % SECOND).tolist():
        cells[place] = format_seconds(int(ticks[place]))
    for place in np.flatnonzero(missing).tolist():
        cells[place] = ""
    return cells


def _quote(text: str) -> str:
    # csv.writer with line ends of \n does not quote a lone \r, which csv.reader reads as a line end.
    return '"' + text.replace('"', '""') + '"' if set(text) & set(',"\r\n') else text


def parse_cells(name: str, cells: Sequence[str], refuse: Callable[[int, str], TraceError]) -> Sequence[Any]:
    """Parse the cells of a column: all at once if possible, else one by one to find the fault."""
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
        raise ValueError(f"{name} must be 0 or 1, not {format_value(cell)}")
    return flag


DEFAULTS: dict[str, Any] = {
    **dict.fromkeys(("setup", "checkpoint_cost", "restart_cost"), 0.0),
    **dict.fromkeys(_TEXTS, ""),
    "killed": False,
}
#: For each column the parser of a cell, and a fast parser for legal cells (None: there is none).
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
