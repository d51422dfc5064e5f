"""Reading and writing of the job table, one explicit workload file in which every random choice is already made.

The columns are listed in docs/commands.md, "holdfast prepare".

The file is CSV, or Parquet if pyarrow is installed. The format of an output depends on its name, that of an input on
its content.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from holdfast.workloads.ground.errors import TraceError, UnknownNameError
from holdfast.workloads.ground.files import atomic_open, csv_rows, decode_text, read_bytes
from holdfast.workloads.ground.lines import numbered_lines
from holdfast.workloads.ground.row_views import Codes, as_column
from holdfast.workloads.ground.trust import admit
from holdfast.workloads.table.columns import (
    ALL_COLUMNS,
    DEFAULTS,
    NEEDED_COLUMNS,
    csv_lines,
    parse_cells,
    table_columns,
)
from holdfast.workloads.table.job import Job
from holdfast.workloads.table.jobs import Jobs, composition
from holdfast.workloads.table.validation import first_fault

__all__ = [
    "PARQUET_MAGIC",
    "JobTable",
    "build_table",
    "looks_like_job_table",
    "parse_job_table",
    "read_job_table",
    "write_job_table",
]

#: Rows of a block. Conversion by columns is fast, and blocks limit the number of cells in memory.
_BLOCK = 4096
#: First bytes of a Parquet file.
PARQUET_MAGIC = b"PAR1"


@dataclass(frozen=True, repr=False)
class JobTable:
    """A workload with all random choices made.

    Attributes
    ----------
    jobs
        Jobs in file order; the constructor accepts any iterable.
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
        CSV file (plain or gzip) or Parquet file.
    nodes
        Number of nodes of the machine, which no job may exceed; None: not checked.

    Returns
    -------
    JobTable
        The workload. The columns job_id, type, nodes, runtime and walltime are required, and min_nodes for malleable
        jobs. Others may be missing or empty: setup, checkpoint_cost, restart_cost and killed are then 0, the rest None.

    Raises
    ------
    TraceError
        If the file cannot be read, has an unknown column, has a row that breaks a rule of the table, or names code as a
        plan without trust (:func:`holdfast.workloads.ground.trust.trust`). Names the file, and the line (CSV) or row
        (Parquet).
    """
    return parse_job_table(read_bytes(path), path, nodes=nodes)


def parse_job_table(data: bytes, path: str | Path, *, nodes: int | None = None) -> JobTable:
    """Parse the content of a job table; see :func:`read_job_table`. ``path`` appears in messages."""
    if data.startswith(PARQUET_MAGIC):
        # The import is slow, and needed only for Parquet files.
        from holdfast.workloads.table.parquet import parquet_blocks

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
        Names of the columns.
    blocks
        Blocks of rows, each as a list of columns with the line number of each row (empty if the table has no lines).
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
    """Write a job table; columns of stochastic jobs and of the life cycle only if a job uses them.

    Parameters
    ----------
    jobs
        A workload. Times are written as the shortest decimals that are exact to a tick (one microsecond).
    path
        File to write: Parquet if the name ends in ``.parquet``, else CSV, compressed if it ends in ``.gz``. Equal jobs
        give equal bytes.

    Raises
    ------
    OutputError
        If the file cannot be written, or it is Parquet and pyarrow is missing.
    """
    table = Jobs.of(jobs)
    columns = table_columns(table)
    if Path(path).suffix == ".parquet":
        from holdfast.workloads.table.parquet import write_parquet

        write_parquet(table, path, columns)
        return
    with atomic_open(path) as file:
        file.write(",".join(columns) + "\n")
        file.writelines(csv_lines(table[begin : begin + _BLOCK], columns) for begin in range(0, len(table), _BLOCK))


def _csv_blocks(text: str, path: str | Path) -> tuple[list[str], Iterator[tuple[Sequence[Sequence[str]], list[int]]]]:
    """Names of the columns, and blocks of rows as lists of columns with the line number of each row."""
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
    """Like :func:`_csv_blocks`, for a text without quotation marks, in which each line is a row."""
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
    # Parquet files have no lines.
    if not lines:
        return TraceError(path, None, f"row {index + 1}: {sentence}")
    return TraceError(path, lines[index], sentence)


def _names(row: Sequence[str]) -> list[str]:
    return [name.strip().lower() for name in row]


def _places(names: Sequence[str], path: str | Path) -> dict[str, int]:
    """Index of each column of the table."""
    for name in names:
        # The values of a misspelt column would be ignored without notice.
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
