"""Reading and writing of the job table as Parquet, if pyarrow is installed."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np

from holdfast.workloads.ground.errors import InputError, OutputError, TraceError, installation
from holdfast.workloads.ground.files import atomic_open
from holdfast.workloads.ground.ticks import in_ticks
from holdfast.workloads.ground.units import SECOND
from holdfast.workloads.table.job import JobType
from holdfast.workloads.table.jobs import Jobs

__all__ = ["parquet_blocks", "write_parquet"]

_WHOLE = ("job_id", "nodes", "min_nodes", "killed", "preceding")
#: Number of rows that is accepted for any file size. A larger number in a small file is implausible, because each job
#: has its own id, which limits compression.
_HARMLESS = 1_000_000
_TEXT = ("type", "user", "project", "application", "plan", "memory_profile", "partition", "qos")


def parquet_blocks(
    data: bytes, path: str | Path, rows: int, used: Sequence[int] | None = None
) -> tuple[list[str], Iterator[tuple[Sequence[Sequence[str]], list[int]]]]:
    """Column names, and blocks of rows as lists of columns of text, so that both formats have the same parser.

    Floats become the shortest text that parses to the same float, timestamps ISO dates, durations seconds, and nulls
    empty cells.

    Parameters
    ----------
    data, path
        Content of the file, and its name in messages.
    rows
        Number of rows of a block.
    used
        Indices of the columns to read; None: all.

    Raises
    ------
    TraceError
        If pyarrow is missing or the file is damaged.
    """
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError:
        fault = f"a Parquet file can only be read where pyarrow is installed ({installation('parquet')})"
        raise TraceError(path, None, fault) from None

    # pyarrow raises various errors for damaged bytes.
    unreadable = (pa.ArrowException, OSError, ValueError, TypeError, LookupError, OverflowError)
    try:
        file = pq.ParquetFile(io.BytesIO(data))
        names = [name.strip().lower() for name in file.schema_arrow.names]
        held = file.metadata.num_rows
    except unreadable:
        raise TraceError(path, None, "is a damaged Parquet file") from None
    if held > max(_HARMLESS, len(data)):
        raise TraceError(path, None, f"declares {held:,} rows in {len(data):,} bytes, which is not possible")

    def blocks() -> Iterator[tuple[Sequence[Sequence[str]], list[int]]]:
        wanted = None if used is None else [file.schema_arrow.names[place] for place in used]
        batches = file.iter_batches(batch_size=rows, columns=wanted)
        while True:
            try:
                batch = next(batches, None)
                found = [] if batch is None else batch.columns if wanted is None else [batch[name] for name in wanted]
                columns = [_texts(_in_microseconds(column)) for column in found]
            except unreadable:
                raise TraceError(path, None, "is a damaged Parquet file") from None
            if batch is None:
                return
            yield columns, []

    return names, blocks()


def write_parquet(jobs: Jobs, path: str | Path, columns: Sequence[str]) -> None:
    """Write jobs; see :func:`holdfast.workloads.table.job_table.write_job_table`.

    Raises
    ------
    OutputError
        If pyarrow is missing or the file cannot be written.
    """
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError:
        fault = f"a Parquet file can only be written where pyarrow is installed ({installation('parquet')})"
        raise OutputError(f"{path}: {fault}") from None
    types = {name: pa.int64() for name in _WHOLE} | {name: pa.string() for name in _TEXT}
    try:
        arrays = [_array(jobs, name, types.get(name, pa.float64())) for name in columns]
    except (pa.ArrowException, OverflowError) as error:
        raise InputError(f"{path}: a job does not fit into a Parquet table: {error}") from None
    with atomic_open(path, "wb") as file:
        pq.write_table(pa.table(arrays, list(columns)), file)


def _in_microseconds(column: Any) -> Any:
    """Truncate times to microseconds, the resolution of Python's times."""
    import pyarrow as pa

    kind = column.type
    if pa.types.is_timestamp(kind) and kind.unit == "ns":
        return column.cast(pa.timestamp("us", kind.tz), safe=False)
    return column.cast(pa.duration("us"), safe=False) if pa.types.is_duration(kind) and kind.unit == "ns" else column


def _texts(column: Any) -> list[str]:
    """Cells of a column as text; arrow formats integers and times as Python parses them, much faster than Python."""
    import pyarrow as pa

    kind = column.type
    if pa.types.is_integer(kind) or (pa.types.is_timestamp(kind) and kind.tz in (None, "UTC")):
        return [cell or "" for cell in column.cast(pa.string()).to_pylist()]
    return list(map(_cell, column.to_pylist()))


def _cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, timedelta):
        return repr(value.total_seconds())
    if isinstance(value, bool):
        return str(int(value))
    return repr(value) if isinstance(value, float) else str(value)


def _array(jobs: Jobs, name: str, kind: Any) -> Any:
    """Convert a column to an array of arrow."""
    import pyarrow as pa

    column = jobs.column(name)
    if name == "type":
        return pa.array([member.value for member in JobType], kind).take(pa.array(column))
    if name in _TEXT:
        return pa.array(jobs.texts(name), kind)
    if name in _WHOLE:
        return pa.array(column.tolist() if column.dtype == object else column.astype(np.int64), kind)
    # Times are rounded to ticks as in CSV files, so that both formats give the same simulation.
    missing = np.isnan(column)
    return pa.array(in_ticks(np.where(missing, 0.0, column)) / SECOND, kind, mask=missing)
