"""The job table: one explicit workload file in which every random choice is already made.

The columns are listed in docs/commands.md, "holdfast prepare".

CSV, or Parquet where pyarrow is installed. The format follows the name when writing and the content when reading.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, fields
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

from workloads.ground.errors import TraceError, UnknownNameError
from workloads.ground.files import atomic_open, csv_rows, decode_text, read_bytes
from workloads.ground.trust import admit
from workloads.table.columns import ALL_COLUMNS, DEFAULTS, NEEDED_COLUMNS, columns_of, line_writer, values_of
from workloads.table.job import Job
from workloads.table.jobs import composition
from workloads.table.validation import first_fault

__all__ = ["JobTable", "looks_like_job_table", "parse_job_table", "read_job_table", "table_of", "write_job_table"]

#: Rows that are converted together: column by column is fast, and not all cells are in memory at once.
_BLOCK = 4096
#: First bytes of a Parquet file.
PARQUET_MAGIC = b"PAR1"


@dataclass(frozen=True, repr=False)
class JobTable:
    """A workload in which everything is decided.

    Attributes
    ----------
    jobs
        In file order.
    source
        Where it came from.
    """

    jobs: tuple[Job, ...]
    source: str = ""

    def __repr__(self) -> str:
        return f"JobTable({composition(self.jobs)}{f'; {self.source}' if self.source else ''})"


def read_job_table(path: str | Path, *, nodes: int | None = None) -> JobTable:
    """Read a job table.

    Parameters
    ----------
    path
        CSV (plain or gzip) or Parquet.
    nodes
        Size of the machine; a larger job is an error. None: not looked at.

    Returns
    -------
    JobTable
        Columns that may be missing or empty: min_nodes (unless malleable), setup, checkpoint_cost, restart_cost and
        killed (0), all others but job_id, type, nodes, runtime and walltime (none).

    Raises
    ------
    TraceError
        With file and line (CSV) or row (Parquet), if the file cannot be read, has a column that a job table has not, a
        row breaks a law of the table, or names code as its plan and is not trusted
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
    return table_of(names, blocks, path, nodes=nodes)


def table_of(
    names: Sequence[str],
    blocks: Iterable[tuple[Sequence[Sequence[str]], list[int]]],
    path: str | Path,
    *,
    nodes: int | None = None,
) -> JobTable:
    """The table of cells that are text; see :func:`read_job_table`.

    Parameters
    ----------
    names
        Of the columns.
    blocks
        Rows, column by column, each block with the lines of its rows, which a table without lines leaves out.
    path, nodes
        As of :func:`parse_job_table`.
    """
    places = _places(names, path)
    jobs: list[Job] = []
    lines: list[int] = []
    for block, block_lines in blocks:
        lines += block_lines
        refuse = partial(_refusal, path, lines, len(jobs))
        count = len(block[0])
        values = {
            name: values_of(name, block[places[name]], refuse) if name in places else [DEFAULTS.get(name)] * count
            for name in ALL_COLUMNS
        }
        if "plan" in places:
            _admit_plans(values["plan"], path, lines, len(jobs))
        jobs += map(Job, *(values[field.name] for field in fields(Job)))
    fault = first_fault(jobs, nodes)
    if fault is not None:
        raise _refusal(path, lines, 0, fault.index, fault.sentence)
    return JobTable(tuple(jobs), str(path))


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
    table = list(jobs)
    columns = columns_of(table)
    if Path(path).suffix == ".parquet":
        from workloads.table.parquet import write_parquet

        write_parquet(table, path, columns)
        return
    with atomic_open(path) as file:
        file.write(",".join(columns) + "\n")
        file.writelines(map(line_writer(columns), table))


def _csv_blocks(text: str, path: str | Path) -> tuple[list[str], Iterator[tuple[Sequence[Sequence[str]], list[int]]]]:
    """Names of the columns; blocks of rows, column by column, with the line of each row."""
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


def _admit_plans(plans: Sequence[Any], path: str | Path, lines: Sequence[int], before: int) -> None:
    """Refuse a plan that would import code."""
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
