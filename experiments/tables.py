"""Tables as aligned text for a terminal, and as CSV files."""

from __future__ import annotations

import csv
import io
import math
import numbers
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

from holdfast.experiments.terminal import WIDTH, escape
from holdfast.workloads.ground.columns import Quantity
from holdfast.workloads.ground.errors import TraceError
from holdfast.workloads.ground.files import atomic_open, read_text
from holdfast.workloads.ground.wording import in_unit

__all__ = [
    "cell_text",
    "columns_with_values",
    "csv_lines",
    "is_known",
    "read_csv",
    "render",
    "render_parts",
    "write_csv",
    "write_lines",
]

_GAP = "  "
_UNKNOWN = "-"
#: Units that few readers know; a line below the table explains them.
_EXPLANATIONS = {"kNh": "1,000 node-hours"}
#: Marks a cell that a row of a file lacks; it cannot occur in a file.
_MISSING = "\0"


def render(rows: Iterable[Mapping[str, Any]], columns: Sequence[Quantity | str], unit: str = "nodes") -> str:
    """Format a table as aligned text.

    Parameters
    ----------
    rows
        Rows; a value that is missing, None or NaN is shown as ``-``.
    columns
        Columns, or plain keys.
    unit
        Unit of sizes, ``nodes`` or ``processors``, for the headers; names of columns do not change.

    Returns
    -------
    str
        Header, rule and rows, without a line end after the last. Text is aligned left, numbers right. Control
        characters are escaped. Below stands what kNh means, if a header has it.

    Examples
    --------
    >>> jobs = [{"type": "rigid", "jobs": 12345, "wait": 2.0}, {"type": "malleable", "jobs": 7, "wait": float("nan")}]
    >>> print(render(jobs, ["type", "jobs", Quantity("wait", unit="h", digits=1)]))
    type         jobs  wait
                          h
    ---------  ------  ----
    rigid      12,345   2.0
    malleable       7     -
    """
    table = list(rows)
    chosen = [Quantity(column) if isinstance(column, str) else column for column in columns]
    cells = [[_text(row.get(column.name), column) for column in chosen] for row in table]
    # A column is text if any of its values is.
    left = [any(isinstance(row.get(column.name), str) for row in table) for column in chosen]
    names = [escape(in_unit(column.head or column.name, unit)) for column in chosen]
    heads = [names, [in_unit(column.unit, unit) for column in chosen]]
    widths = [max(map(len, column)) for column in zip(*heads, *cells, strict=True)]
    lines = [_group_line(chosen, widths)]
    lines += [_line(line, widths, left) for line in heads]
    rule = _GAP.join("-" * width for width in widths)
    body = [_line(line, widths, left) for line in cells]
    units = dict.fromkeys(column.unit for column in chosen)
    notes = [in_unit(f"{name}: {_EXPLANATIONS[name]}", unit) for name in units if name in _EXPLANATIONS]
    return "\n".join([*(line for line in lines if line), rule, *body, *notes])


def render_parts(
    rows: Iterable[Mapping[str, Any]],
    keys: Sequence[Quantity | str],
    columns: Sequence[Quantity | str],
    unit: str = "nodes",
) -> str:
    """Format a table as :func:`render`, in as many parts below each other as the width of a terminal demands.

    Parameters
    ----------
    rows, unit
        As for :func:`render`.
    keys
        Columns that identify a row; they stand in each part.
    columns
        All other columns. Each part has at least one of them.
    """
    table, parts = list(rows), [list[Quantity | str]()]
    for column in columns:
        wider = render(table, [*keys, *parts[-1], column], unit)
        if parts[-1] and max(map(len, wider.splitlines())) > WIDTH:
            parts.append([])
        parts[-1].append(column)
    return "\n\n".join(render(table, [*keys, *part], unit) for part in parts)


def is_known(value: Any) -> bool:
    """Whether :func:`render` shows a value rather than ``-``."""
    return value is not None and value == value


def columns_with_values(rows: Iterable[Mapping[str, Any]], columns: Iterable[Quantity]) -> list[Quantity]:
    """Select the columns in which at least one row has a value; without rows, all columns.

    Examples
    --------
    >>> rows = [{"type": "rigid", "wait": 2.0, "cost": None}, {"type": "malleable", "cost": float("nan")}]
    >>> [column.name for column in columns_with_values(rows, map(Quantity, ("type", "wait", "cost")))]
    ['type', 'wait']
    """
    table = list(rows)
    return [column for column in columns if not table or any(is_known(row.get(column.name)) for row in table)]


def write_csv(
    path: str | Path, rows: Iterable[Mapping[str, Any]], columns: Sequence[str], *, follow: bool = True
) -> None:
    """Write rows as CSV, atomically, and reproducibly to the byte.

    Parameters
    ----------
    path
        Output file; compressed if it ends in ``.gz``.
    rows
        Rows with all of the columns; other keys are ignored.
    columns
        Header of the file.
    follow
        Whether a file that is a link stays one, as in :func:`holdfast.workloads.ground.files.atomic_open`.

    Raises
    ------
    OutputError
        If it cannot be written.

    Notes
    -----
    A number is written with the fewest digits that reproduce it, None and NaN as empty cells, and text unchanged, even
    if it begins with ``=``, so that reading returns what was written. Import untrusted tables into a spreadsheet as
    text. A summary contains measured times, which differ from run to run.
    """
    with atomic_open(path, follow=follow) as file:
        writer = _writer(file)
        writer.writerow(columns)
        writer.writerows(_cells(rows, columns))


def csv_lines(rows: Iterable[Mapping[str, Any]], columns: Sequence[str]) -> list[str]:
    """Format each row as a line of :func:`write_csv`, with its line end.

    >>> csv_lines([{"a": 1, "b": "x,y"}], ["a", "b"])
    ['1,"x,y"\\n']
    """
    lines: list[str] = []
    _writer(SimpleNamespace(write=lines.append)).writerows(_cells(rows, columns))
    return lines


def write_lines(path: str | Path, columns: Sequence[str], lines: Iterable[str]) -> None:
    """Write a header and lines of :func:`csv_lines`, atomically.

    Raises
    ------
    OutputError
        If it cannot be written.
    """
    with atomic_open(path) as file:
        _writer(file).writerow(columns)
        file.writelines(lines)


def _writer(file: Any) -> Any:
    return csv.writer(file, lineterminator="\n")


def _cells(rows: Iterable[Mapping[str, Any]], columns: Sequence[str]) -> Iterator[list[Any]]:
    return ([_field(row[column]) for column in columns] for row in rows)


def read_csv(path: str | Path) -> list[dict[str, Any]]:
    """Read rows written by :func:`write_csv`; numbers are converted, empty cells are None.

    Raises
    ------
    TraceError
        If there is no such file, or a row and the header differ in the number of cells.
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
    """Convert a value for the csv module."""
    # In the order of frequency.
    if type(value) is float:
        return "" if value != value else value
    if value is None or type(value) in (str, int):
        return value
    if isinstance(value, bool):
        return int(value)
    if isinstance(value, np.generic):
        # The csv module would write numpy's representation.
        return _field(value.item())
    return str(value)


def cell_text(value: Any) -> str:
    """Format a value for :func:`render`: integers in full, other numbers with three significant digits.

    >>> cell_text(12345), cell_text(0.012345), cell_text(None), cell_text("rigid")
    ('12,345', '0.0123', '-', 'rigid')
    """
    return _text(value, Quantity(""))


def _text(value: Any, column: Quantity) -> str:
    if value is None:
        return _UNKNOWN
    if isinstance(value, str) or not isinstance(value, numbers.Real):
        return escape(str(value))
    if not math.isfinite(value):
        return _UNKNOWN if math.isnan(value) else str(float(value))
    number = float(value) * column.scale
    if column.digits is not None:
        return f"{number:,.{column.digits}f}"
    if isinstance(value, numbers.Integral) and column.scale == 1:
        return f"{int(value):,}"
    return _significant(number)


def _significant(number: float) -> str:
    """Format with three significant digits, but with all digits before the point.

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


def _group_line(columns: Sequence[Quantity], widths: list[int]) -> str:
    """Headers of groups, between dashes over their columns; a column is widened if its group is too narrow."""
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
        parts.append(f" {group} ".center(span, "-") if group and span > len(group) + 3 else group.ljust(span))
        at = last + 1
    return _GAP.join(parts).rstrip()
