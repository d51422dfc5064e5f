"""Writer of result tables by columns, as CSV or Parquet.

CSV can be opened by any spreadsheet, pandas, a pager, and the commands of Holdfast. Parquet serves long streamed
replays, in which writing the jobs as CSV takes longer than the simulation.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import IO, Any, Literal

import numpy as np

from holdfast.simulator.results.recording import Recording
from holdfast.simulator.results.records import Records
from holdfast.simulator.results.schema import Kind, Schema
from holdfast.workloads.ground.errors import OutputError, installation
from holdfast.workloads.ground.files import atomic_open

__all__ = ["FORMATS", "Format", "arrow_table", "write_rows", "write_table"]

Format = Literal["csv", "parquet"]
FORMATS: tuple[Format, ...] = ("csv", "parquet")
#: Number of jobs written at a time.
_BLOCK = 1 << 16
#: Arrow names of the kinds of columns.
_ARROW: dict[Kind, str] = {
    "whole": "int64",
    "text": "string",
    "number": "float64",
    "ticks": "float64",
    "clock": "float64",
}
#: Characters for which the csv module quotes a cell.
_SPECIAL = frozenset(',"\r\n')


def write_table(path: Path, schema: Schema, recording: Recording, format: Format = "csv") -> None:
    """Write a table of a result atomically.

    Raises
    ------
    OutputError
        If it cannot be written.
    """
    with atomic_open(path, "wb") as file:
        write_rows(file, schema, recording, schema.of(recording), format)


def write_rows(file: IO[bytes], schema: Schema, recording: Recording, rows: Any, format: Format = "csv") -> None:
    """Write rows of a table of a result, with the header."""
    if format == "parquet":
        _write_parquet(file, schema, recording, rows)
        return
    file.write((",".join(schema.names) + "\n").encode())
    for block in _blocks(rows):
        formats, values = [], []
        for item in schema.fields:
            text, cells = item.cells(recording, block)
            formats.append(text)
            if cells is not None:
                values.append(_quote(cells) if item.kind == "text" else cells)
        line = ",".join(formats) + "\n"
        lines = map(line.__mod__, zip(*values, strict=True)) if values else [line % ()] * len(block)
        file.write("".join(lines).encode())


def _blocks(rows: Any) -> Iterator[Any]:
    """Split the rows of a long table into blocks."""
    if not isinstance(rows, Records) or len(rows) <= _BLOCK:
        yield rows
        return
    for begin in range(0, len(rows), _BLOCK):
        yield rows.part(slice(begin, begin + _BLOCK))


def _quote(texts: list[str]) -> list[str]:
    """Quote texts as the csv module does."""
    special = [text for text in set(texts) if not _SPECIAL.isdisjoint(text)]
    if not special:
        return texts
    written: list[str] = []
    writer: Any = csv.writer(SimpleNamespace(write=written.append), lineterminator="\n")
    writer.writerows((text, "") for text in special)
    cells = dict(zip(special, (line[: -len(",\n")] for line in written), strict=True))
    return [cells.get(text, text) for text in texts]


def arrow_table(schema: Schema, recording: Recording, rows: Any = None) -> Any:
    """A table of a result, or some of its rows, as a pyarrow table."""
    import pyarrow as pa

    rows = schema.of(recording) if rows is None else rows
    kinds = pa.schema([(item.name, _ARROW[item.kind]) for item in schema.fields])
    columns = [_arrow(item.values(recording, rows), kind.type) for item, kind in zip(schema.fields, kinds, strict=True)]
    return pa.table(columns, schema=kinds)


def _arrow(values: Any, kind: Any) -> Any:
    """Make an Arrow column from its bytes, because ``pyarrow.array`` imports pandas, which takes half a second."""
    import pyarrow as pa

    count = len(values)
    if pa.types.is_string(kind):
        known = np.array([value is not None for value in values], np.bool_)
        # Few distinct texts: encoded as a dictionary.
        encoded = {value: (value or "").encode() for value in set(values)}
        texts = list(map(encoded.__getitem__, values))
        ends = np.cumsum([0, *map(len, texts)], dtype=np.int32)
        buffers = [pa.py_buffer(ends), pa.py_buffer(b"".join(texts))]
    else:
        if not isinstance(values, np.ndarray):
            known = np.array([value is not None for value in values], np.bool_)
            values = [value or 0 for value in values]
        else:
            known = values == values
        buffers = [pa.py_buffer(np.ascontiguousarray(values, kind.to_pandas_dtype()))]
    bits = None if known.all() else pa.py_buffer(np.packbits(known, bitorder="little"))
    return pa.Array.from_buffers(kind, count, [bits, *buffers])


def _write_parquet(file: IO[bytes], schema: Schema, recording: Recording, rows: Any) -> None:
    try:
        import pyarrow.parquet as pq
    except ImportError:
        raise OutputError(
            f"Parquet files can only be written where pyarrow is installed ({installation('parquet')})"
        ) from None
    tables = (arrow_table(schema, recording, block) for block in _blocks(rows))
    first = next(tables)
    with pq.ParquetWriter(file, first.schema) as writer:
        writer.write_table(first)
        for table in tables:
            writer.write_table(table)
