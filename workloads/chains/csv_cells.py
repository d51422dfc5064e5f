"""Reading of small CSV tables with a header row; errors name the file and the line."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from holdfast.workloads.ground.errors import TraceError
from holdfast.workloads.ground.files import read_text
from holdfast.workloads.ground.text_cells import Columns, number, whole

__all__ = ["Cells", "read_cells"]


@dataclass(frozen=True)
class Cells:
    """One line of a table.

    Attributes
    ----------
    path, line
        File, and number of the line.
    columns
        Columns of the table.
    cells
        Texts of the cells.
    """

    path: str | Path
    line: int
    columns: Columns
    cells: Sequence[str]

    def text(self, name: str) -> str:
        """The cell of a column, without blanks around it; empty if the table has no such column."""
        place = self.columns.find(name)
        return "" if place is None else self.cells[place].strip()

    def amount(self, name: str) -> float:
        """A number >= 0.

        Raises
        ------
        TraceError
            If the cell is not such a number.
        """
        try:
            value = number(self.text(name), name)
        except ValueError as error:
            raise self.error(str(error)) from None
        if value < 0:
            raise self.error(f"{name} must be >= 0, not {self.text(name)!r}")
        return value

    def count(self, name: str) -> int:
        """A whole number; see :meth:`amount`."""
        try:
            return whole(self.text(name), name)
        except ValueError as error:
            raise self.error(str(error)) from None

    def error(self, message: str) -> TraceError:
        """An error that names this line."""
        return TraceError(self.path, self.line, message)


def read_cells(path: str | Path, needed: Sequence[str]) -> list[Cells]:
    """The lines of a CSV file below its header row.

    Parameters
    ----------
    path
        A plain or gzip file.
    needed
        Names of required columns; others are allowed.

    Raises
    ------
    TraceError
        If the file cannot be read, lacks a column, has a line of another length, or no line at all.
    """
    reader = csv.reader(read_text(path).splitlines())
    columns = Columns(next(reader, []))
    for name in needed:
        if columns.find(name) is None:
            raise TraceError(path, 1, f"the header row must have the columns {', '.join(needed)}; {name} is missing")
    rows = []
    for cells in reader:
        if not any(cell.strip() for cell in cells):
            continue
        if len(cells) != len(columns.names):
            raise TraceError(path, reader.line_num, f"has {len(cells)} cells, the header row {len(columns.names)}")
        rows.append(Cells(path, reader.line_num, columns, cells))
    if not rows:
        raise TraceError(path, None, "has no line below its header row")
    return rows
