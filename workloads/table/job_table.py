"""Reading and writing of the job table, one explicit workload file in which every random choice is already made.

The columns are listed in docs/commands.md, "holdfast prepare".

The file is CSV, or Parquet if pyarrow is installed. The file name decides the format of output, the content that of
input.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from workloads.ground.errors import TraceError, UnknownNameError
from workloads.ground.files import atomic_open, csv_rows, decode_text, read_bytes
from workloads.ground.lines import numbered_lines
from workloads.ground.row_views import Codes, as_column
from workloads.ground.trust import admit
from workloads.table.columns import ALL_COLUMNS, DEFAULTS, NEEDED_COLUMNS, csv_lines, parse_cells, table_columns
from workloads.table.job import Job
from workloads.table.jobs import Jobs, composition
from workloads.table.validation import first_fault

__all__ = [
    "PARQUET_MAGIC",
    "JobTable",
    "build_table",
    "looks_like_job_table",
    "parse_job_table",
    "read_job_table",
    "write_job_table",
]

#: Rows that are converted together: column by column is fast, and not all cells are in memory at once.
_BLOCK = 4096
#: First bytes of a Parquet file.
PARQUET_MAGIC = b"PAR1"


@dataclass(frozen=True, repr=False)
class JobTable:
    """A workload with all random choices made.

    Attributes
    ----------
    jobs
        In file order. Any jobs may be given.
    source
        Origin of the table.
    """

    jobs: Jobs
    source: str = ""

    if TYPE_CHECKING:

        def __init__(self, jobs: Iterable[Job], source: str = "") -> None: ...

    def __post_init__(self) -> None:
        object.__setattr__(self, "jobs", Jobs.of(self.jobs))

    def __repr__(self) -> str:
        return f"JobTable({composition(self.jobs)}{f'; {self.source}' if self.source else ''})"


def read_job_table(path: str | Path, *, nodes: int | None = None) -> JobTable:
    """Read a job table.

    Parameters
    ----------
    path
        CSV (plain or gzip) or Parquet.
    nodes
        Size of the machine; a larger job is an error. None: not checked.

    Returns
    -------
    JobTable
        Columns that may be missing or empty: min_nodes (unless malleable), setup, checkpoint_cost, restart_cost and
        killed (0), all others but job_id, type, nodes, runtime and walltime (none).

    Raises
    ------
    TraceError
        With file and line (CSV) or row (Parquet), if the file cannot be read, has a column that a job table has not, a
        row breaks a rule of the table, or names code as its plan and is not trusted
        (:func:`workloads.ground.trust.trust`).
    """
    return parse_job_table(read_bytes(path), path, nodes=nodes)


def parse_job_table(data: bytes, path: str | Path, *, nodes: int | None = None) -> JobTable:
    """Read a table from the content of its file; see :func:`read_job_table`. ``path`` is for messages."""
    if data.startswith(PARQUET_MAGIC):
        # Only a run with such a file pays for the import.
        from workloads.table.parquet import parquet_blocks

        names, blocks = parquet_blocks(data, path, _BLOCK)
    else:
        names, blocks = _csv_blocks(decode_text(data, path), path)
    return build_table(names, blocks, path, nodes=nodes)


def build_table(
    names: Sequence[str],
    blocks: Iterable[tuple[Sequence[Sequence[str]], list[int]]],
    path: str | Path,
    *,
    nodes: int | None = None,
) -> JobTable:
    """Build a table from text cells; see :func:`read_job_table`.

    Parameters
    ----------
    names
        Of the columns.
    blocks
        Rows, column by column, each block with the lines of its rows, which a table without lines leaves out.
    path, nodes
        As in :func:`parse_job_table`.
    """
    places = _places(names, path)
    parts: dict[str, list[Any]] = {name: [] for name in ALL_COLUMNS if name in places}
    codes, read = Codes(), 0
    lines: list[int] = []
    for block, block_lines in blocks:
        lines += block_lines
        refuse = partial(_refusal, path, lines, read)
        for name, part in parts.items():
            values = parse_cells(name, block[places[name]], refuse)
            if name == "plan":
                _admit_plans(values, path, lines, read)
            part.append(as_column(values, Jobs.kinds[name], codes))
        read += len(block[0])
    columns = {name: np.concatenate(part) for name, part in parts.items()} if read else {}
    jobs = Jobs((), columns, codes.names)
    # Columns without values take no memory.
    jobs = jobs.with_columns(**{name: None for name in columns if name not in NEEDED_COLUMNS and _is_empty(jobs, name)})
    fault = first_fault(jobs, nodes)
    if fault is not None:
        raise _refusal(path, lines, 0, fault.index, fault.sentence)
    return JobTable(jobs, str(path))


def looks_like_job_table(text: str) -> bool:
    """Whether the first line of a text is the header row of a job table."""
    return {"job_id", "type", "nodes", "runtime"} <= set(_names(text.partition("\n")[0].split(",")))


def write_job_table(jobs: Iterable[Job], path: str | Path) -> None:
    """Write a job table with all its columns; those of stochastic jobs and of the life of jobs where any uses them.

    Parameters
    ----------
    jobs
        A workload. Times are written as the shortest decimals that are exact to a tick (one microsecond).
    path
        Parquet if the name ends in ``.parquet``, else CSV, compressed if it ends in ``.gz``. Equal jobs make equal
        bytes.

    Raises
    ------
    OutputError
        If it cannot be written, or pyarrow is missing for Parquet.
    """
    table = Jobs.of(jobs)
    columns = table_columns(table)
    if Path(path).suffix == ".parquet":
        from workloads.table.parquet import write_parquet

        write_parquet(table, path, columns)
        return
    with atomic_open(path) as file:
        file.write(",".join(columns) + "\n")
        file.writelines(csv_lines(table[begin : begin + _BLOCK], columns) for begin in range(0, len(table), _BLOCK))


def _csv_blocks(text: str, path: str | Path) -> tuple[list[str], Iterator[tuple[Sequence[Sequence[str]], list[int]]]]:
    """Names of the columns; blocks of rows, column by column, with the line of each row."""
    if '"' not in text and "\r" not in text:
        return _plain_blocks(text, path)
    rows = csv_rows(text, path)
    first = next(rows, None)
    names = [] if first is None else _names(first[1])

    def blocks() -> Iterator[tuple[Sequence[Sequence[str]], list[int]]]:
        while block := list(islice(rows, _BLOCK)):
            for line, row in block:
                if len(row) != len(names):
                    raise TraceError(path, line, f"a row must have {len(names)} cells like the header, not {len(row)}")
            yield list(zip(*(row for _, row in block), strict=True)), [line for line, _ in block]

    return names, blocks()


def _plain_blocks(text: str, path: str | Path) -> tuple[list[str], Iterator[tuple[Sequence[Sequence[str]], list[int]]]]:
    """The same of a text without quotation marks, of which a line is a row."""
    rows = ((line, row) for line, row in numbered_lines(text) if row)
    _, first = next(rows, (1, ""))
    names = _names(first.split(",")) if first else []

    def blocks() -> Iterator[tuple[Sequence[Sequence[str]], list[int]]]:
        while block := list(islice(rows, _BLOCK)):
            split = [row.split(",") for _, row in block]
            for (line, _), row in zip(block, split, strict=True):
                if len(row) != len(names):
                    raise TraceError(path, line, f"a row must have {len(names)} cells like the header, not {len(row)}")
            yield list(zip(*split, strict=True)), [line for line, _ in block]

    return names, blocks()


def _is_empty(jobs: Jobs, name: str) -> bool:
    return DEFAULTS.get(name) in (None, "") and not jobs.has(name)


def _admit_plans(plans: Sequence[Any], path: str | Path, lines: Sequence[int], before: int) -> None:
    """Reject a plan that would import code."""
    for plan in dict.fromkeys(plans):
        if ":" in plan:
            place = before + plans.index(plan)
            line, key = (lines[place], "plan") if lines else (None, f"row {place + 1}: plan")
            admit("planning strategy", plan, path, line, key=key)


def _refusal(path: str | Path, lines: Sequence[int], before: int, index: int, sentence: str) -> TraceError:
    index += before
    # Parquet has rows without lines.
    if not lines:
        return TraceError(path, None, f"row {index + 1}: {sentence}")
    return TraceError(path, lines[index], sentence)


def _names(row: Sequence[str]) -> list[str]:
    return [name.strip().lower() for name in row]


def _places(names: Sequence[str], path: str | Path) -> dict[str, int]:
    """Where the columns of the table are."""
    for name in names:
        # A misspelt column would silently leave the jobs without what it says.
        if name not in ALL_COLUMNS:
            raise TraceError(path, 1, str(UnknownNameError("column", name, ALL_COLUMNS)))
        if names.count(name) > 1:
            raise TraceError(path, 1, f"a job table must have one column {name}, not {names.count(name)}")
    for name in NEEDED_COLUMNS:
        if name not in names:
            raise TraceError(
                path, 1, f"a job table must have a column {name}, and this one has only {', '.join(names)[:200]}"
            )
    return {name: place for place, name in enumerate(names)}
