"""Tables: aligned text for a terminal, and CSV files, written and read back."""

from __future__ import annotations

import csv
import io
import math
import numbers
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from workloads.ground.errors import TraceError
from workloads.ground.files import atomic_open, read_text

__all__ = [
    "COMPARISON",
    "STOCHASTIC",
    "Column",
    "cancellation_comparison",
    "cell_text",
    "comparison",
    "loop_table",
    "read_csv",
    "render",
    "stochastic_comparison",
    "write_csv",
]

_GAP = "  "
_UNKNOWN = "-"
#: Stands for a cell that a row of a file does not have; no file can hold it.
_MISSING = "\0"


@dataclass(frozen=True)
class Column:
    """A column of a table in a terminal.

    Attributes
    ----------
    key
        Key of the rows.
    head
        What stands above it; the key by default.
    unit
        Below the head; empty: none.
    group
        Neighbours of the same group share one head above their own.
    scale
        Numbers are multiplied by it.
    digits
        Decimals of numbers; None: integers without, others with three significant digits.
    """

    key: str
    head: str = ""
    unit: str = ""
    group: str = ""
    scale: float = 1.0
    digits: int | None = None


#: What is compared between mechanisms, of :data:`simulator.results.metrics.SUMMARY_COLUMNS`.
COMPARISON = (
    Column("mechanism"),
    Column("turnaround_h", "all", "h", "turnaround", digits=1),
    Column("turnaround_rigid_h", "rigid", "h", "turnaround", digits=1),
    Column("turnaround_malleable_h", "malleable", "h", "turnaround", digits=1),
    Column("turnaround_on_demand_h", "on-dem.", "h", "turnaround", digits=1),
    Column("instant_start_ratio", "start", "%", "instant", 100, 1),
    Column("instant_start_ratio_strict", "strict", "%", "instant", 100, 1),
    Column("preemption_ratio_rigid", "rigid", "%", "preempted", 100, 1),
    Column("preemption_ratio_malleable", "malleable", "%", "preempted", 100, 1),
    Column("shrink_ratio", "shrunk", "%", "", 100, 1),
    Column("utilization", "util.", "%", "", 100, 1),
    Column("lost_node_hours", "lost", "kNh", "", 1e-3, 1),
    Column("decision_ms_p99", "decision", "ms p99", digits=2),
    Column("engine_seconds", "engine", "s", digits=1),
)


#: What is compared of stochastic jobs, of :data:`simulator.results.reservations.SUMMARY_COLUMNS`.
STOCHASTIC = (
    Column("mechanism"),
    Column("turnaround_stochastic_h", "turnaround", "h", "stochastic jobs", digits=1),
    Column("preemption_ratio_stochastic", "preempted", "%", "stochastic jobs", 100, 1),
    Column("reservations_per_job", "reservations", "a job", "stochastic jobs", digits=2),
    Column("stretch", "response", "/ runtime", "stretch", digits=2),
    Column("execution_stretch", "execution", "/ runtime", "stretch", digits=2),
    Column("expected_cost_h", "expected", "h", "cost of a job", digits=2),
    Column("planned_cost_h", "planned", "h", "cost of a job", digits=2),
    Column("paid_cost_h", "paid", "h", "cost of a job", digits=2),
    Column("wasted_node_hours", "wasted", "kNh", "", 1e-3, 1),
    Column("work_utilization", "work", "% of nodes", "", 100, 1),
    Column("planning_seconds", "planning", "s", digits=1),
)


#: What is compared of jobs that their users withdrew, of :data:`simulator.results.metrics.CANCELLATION_COLUMNS`.
CANCELLATIONS = (
    Column("mechanism"),
    Column("cancelled_jobs", "jobs", "", "cancelled"),
    Column("cancelled_started", "had started", "", "cancelled"),
    Column("cancelled_node_hours", "their runs", "kNh", "cancelled", 1e-3, 1),
)


#: What is told of the rounds of a loop, of :data:`experiments.planning.loop.COLUMNS`.
LOOP = (
    Column("round"),
    Column("alpha", group="planned for", digits=3),
    Column("gamma_h", "gamma", "h", "planned for", digits=2),
    Column("fitted_alpha", "alpha", "", "waits were", digits=3),
    Column("fitted_gamma_h", "gamma", "h", "waits were", digits=2),
    Column("regret", "regret", "%", "", 100, 1),
    Column("turnaround_stochastic_h", "stoch.", "h", "turnaround", digits=2),
    Column("turnaround_h", "all", "h", "turnaround", digits=2),
    Column("reservations_per_job", "reserv.", "a job", digits=2),
    Column("wasted_node_hours", "wasted", "kNh", "", 1e-3, 1),
    Column("utilization", "util.", "%", "", 100, 1),
    Column("work_utilization", "work", "%", "", 100, 1),
)


def render(rows: Iterable[Mapping[str, Any]], columns: Sequence[Column | str]) -> str:
    """A table as aligned text.

    Parameters
    ----------
    rows
        What is shown; a value that is missing, None or NaN is shown as ``-``.
    columns
        Columns, or plain keys.

    Returns
    -------
    str
        Head, rule and rows, without a line end after the last. Texts are aligned left, numbers right.

    Examples
    --------
    >>> jobs = [{"type": "rigid", "jobs": 12345, "wait": 2.0}, {"type": "malleable", "jobs": 7, "wait": float("nan")}]
    >>> print(render(jobs, ["type", "jobs", Column("wait", unit="h", digits=1)]))
    type         jobs  wait
                          h
    ---------  ------  ----
    rigid      12,345   2.0
    malleable       7     -
    """
    table = list(rows)
    chosen = [Column(column) if isinstance(column, str) else column for column in columns]
    cells = [[_text(row.get(column.key), column) for column in chosen] for row in table]
    # A column is of texts if any of its values is one.
    left = [any(isinstance(row.get(column.key), str) for row in table) for column in chosen]
    heads = [[column.head or column.key for column in chosen], [column.unit for column in chosen]]
    widths = [max(map(len, column)) for column in zip(*heads, *cells, strict=True)]
    lines = [_group_line(chosen, widths)]
    lines += [_line(line, widths, left) for line in heads]
    rule = _GAP.join("-" * width for width in widths)
    body = [_line(line, widths, left) for line in cells]
    return "\n".join([*(line for line in lines if line), rule, *body])


def comparison(summaries: Iterable[Mapping[str, Any]]) -> str:
    """The mechanisms side by side, for a terminal of 120 characters.

    Parameters
    ----------
    summaries
        Rows as :func:`simulator.results.metrics.summarize` returns.
    """
    return render(summaries, COMPARISON)


def stochastic_comparison(summaries: Iterable[Mapping[str, Any]]) -> str:
    """The stochastic jobs under each mechanism, for a terminal of 120 characters; parameters of :func:`comparison`."""
    return render(summaries, STOCHASTIC)


def cancellation_comparison(summaries: Iterable[Mapping[str, Any]]) -> str:
    """The jobs of several summaries that their users withdrew, as a table for a terminal."""
    return render(summaries, CANCELLATIONS)


def loop_table(rows: Iterable[Mapping[str, Any]]) -> str:
    """The rounds of a loop, for a terminal of 120 characters."""
    return render(rows, LOOP)


def write_csv(
    path: str | Path, rows: Iterable[Mapping[str, Any]], columns: Sequence[str], *, follow: bool = True
) -> None:
    """Write rows as CSV: complete or not at all, and equal rows as equal bytes.

    Parameters
    ----------
    path
        Where to; compressed if it ends in ``.gz``.
    rows
        Each has all of the columns; what else it has is not written.
    columns
        Head of the file.
    follow
        Whether a file that is a link stays one, as in :func:`workloads.ground.files.atomic_open`.

    Raises
    ------
    OutputError
        If it cannot be written.

    Notes
    -----
    A number is written with the fewest digits that give it back, None and NaN as nothing, and a text as it is, also one
    that begins with ``=``: a table must give back what was written. Where it comes from other people, let a
    spreadsheet take its cells as text. A summary holds measured times, which differ from run to run.
    """
    with atomic_open(path, follow=follow) as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(columns)
        writer.writerows([_field(row[column]) for column in columns] for row in rows)


def read_csv(path: str | Path) -> list[dict[str, Any]]:
    """Rows as :func:`write_csv` wrote them: numbers are numbers again, empty cells None.

    Raises
    ------
    TraceError
        If there is no such file, or a row has not as many cells as the head.
    """
    with suppress(OSError):
        if Path(path).read_bytes() == b"\n":
            return []  # a table without rows, and so without columns
    reader = csv.DictReader(io.StringIO(read_text(path), newline=""), restval=_MISSING)
    rows = []
    for row in reader:
        if None in row or _MISSING in row.values():
            raise TraceError(path, reader.line_num, f"the row has not as many cells as the head, {len(row)}")
        rows.append({key: _read(text) for key, text in row.items()})
    return rows


def _read(text: str) -> Any:
    if text == "":
        return None
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def _field(value: Any) -> Any:
    """A value as the csv module should see it."""
    # In the order of how often they come.
    if type(value) is float:
        return "" if value != value else value
    if value is None or type(value) in (str, int):
        return value
    if isinstance(value, bool):
        return int(value)
    if isinstance(value, np.generic):
        # The csv module would write what numpy prints.
        return _field(value.item())
    return str(value)


def cell_text(value: Any) -> str:
    """A value as :func:`render` shows it: integers as they are, other numbers with three significant digits.

    >>> cell_text(12345), cell_text(0.012345), cell_text(None), cell_text("rigid")
    ('12,345', '0.0123', '-', 'rigid')
    """
    return _text(value, Column(""))


def _text(value: Any, column: Column) -> str:
    if value is None:
        return _UNKNOWN
    if isinstance(value, str) or not isinstance(value, numbers.Real):
        return str(value)
    if not math.isfinite(value):
        return _UNKNOWN if math.isnan(value) else str(float(value))
    number = float(value) * column.scale
    if column.digits is not None:
        return f"{number:,.{column.digits}f}"
    if isinstance(value, numbers.Integral) and column.scale == 1:
        return f"{int(value):,}"
    return _significant(number)


def _significant(number: float) -> str:
    """Three significant digits, all digits of what is larger.

    >>> _significant(0.012345), _significant(3.0), _significant(12345.6), _significant(1.2e-7)
    ('0.0123', '3.00', '12,346', '1.2e-07')
    """
    if number == 0:
        return "0"
    exponent = math.floor(math.log10(abs(number)))
    return f"{number:.3g}" if exponent < -4 else f"{number:,.{max(0, 2 - exponent)}f}"


def _line(cells: Sequence[str], widths: Sequence[int], left: Sequence[bool]) -> str:
    padded = [
        cell.ljust(width) if to_left else cell.rjust(width)
        for cell, width, to_left in zip(cells, widths, left, strict=True)
    ]
    return _GAP.join(padded).rstrip()


def _group_line(columns: Sequence[Column], widths: list[int]) -> str:
    """The heads of groups, each between dashes over its columns; a group that is too narrow gets a wider column."""
    parts: list[str] = []
    at = 0
    while at < len(columns):
        last = at
        while last + 1 < len(columns) and columns[at].group and columns[last + 1].group == columns[at].group:
            last += 1
        span = sum(widths[at : last + 1]) + len(_GAP) * (last - at)
        group = columns[at].group
        if len(group) > span:
            widths[last] += len(group) - span
            span = len(group)
        parts.append(f" {group} ".center(span, "-") if group and span > len(group) + 1 else group.ljust(span))
        at = last + 1
    return _GAP.join(parts).rstrip()
