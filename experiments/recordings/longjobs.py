"""The job rows of a streamed replay: in parts while it goes on, and as one table when it is over.

A part appears under its name when it is whole, so that a process that is killed leaves all that it has told, readable.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Literal

import numpy as np

from policies.mechanism import BASELINE
from simulator.options import Options
from simulator.results.longrecords import LongRecords
from simulator.results.recording import Recording
from simulator.results.schema import JOBS
from workloads.ground.errors import InputError, OutputError, installation
from workloads.ground.files import atomic_open, read_bytes
from workloads.ground.units import SECOND

__all__ = ["ENDED", "FORMATS", "EndedJobs", "Format", "write_long_jobs"]

Format = Literal["csv", "parquet"]
FORMATS: tuple[Format, ...] = ("csv", "parquet")
#: Directory of the parts.
ENDED = "ended"
#: What the parts are of.
_MANIFEST = "stream.json"
#: Jobs that are written at a time.
_BLOCK = 1 << 16
#: Times up to here are written by the fast way: whole seconds whose float has no exponent.
_PLAIN = 2**33 * SECOND


class EndedJobs:
    """Writes the jobs of a streamed replay as they end, a part at a time.

    Parameters
    ----------
    directory
        Of the results; the parts come to ``ended`` in it.
    identity
        What decides the rows. Parts of a replay with the same identity that did not come to its end are kept.
    format
        Of the parts.

    Attributes
    ----------
    kept
        How many parts of an earlier attempt there were.

    Raises
    ------
    InputError
        If the parts of another replay are there.
    """

    def __init__(self, directory: Path, identity: Mapping[str, Any], format: Format, *, force: bool = False) -> None:
        self.place = directory / ENDED
        self._format: Format = format
        self._number = 0
        told = json.dumps(identity, indent=2, sort_keys=True) + "\n"
        manifest = self.place / _MANIFEST
        if manifest.is_file() and manifest.read_text(encoding="utf-8") != told:
            if not force:
                raise InputError(
                    f"{self.place}: holds jobs of another streamed run, which did not come to its end; "
                    "take another directory, or replace them with --force"
                )
            self.remove()
        try:
            self.place.mkdir(exist_ok=True)
        except OSError as error:
            raise OutputError(f"{self.place}: cannot be made: {error.strerror}") from None
        with atomic_open(manifest) as file:
            file.write(told)
        self.kept = len(list(self.place.glob(f"jobs-*.{format}")))

    def tell(self, records: LongRecords) -> None:
        """Write a part, unless it is there already.

        Raises
        ------
        OutputError
            If it cannot be written.
        """
        self._number += 1
        path = self.place / f"jobs-{self._number:06d}.{self._format}"
        if self._format == "csv":
            content = "".join((_HEAD, *lines_of(records))).encode()
        else:
            buffer = io.BytesIO()
            _write_parquet(records, buffer)
            content = buffer.getvalue()
        # The same replay tells the same; what differs was damaged.
        if self._number <= self.kept and path.is_file() and read_bytes(path) == content:
            return
        with atomic_open(path, "wb") as file:
            file.write(content)

    def remove(self) -> None:
        """Remove the parts, which the table of all jobs replaces."""
        if not self.place.is_dir() or self.place.is_symlink():
            return
        for path in sorted(self.place.iterdir(), key=lambda path: path.name == _MANIFEST):
            if path.name == _MANIFEST or (path.name.startswith("jobs-") and path.suffix[1:] in FORMATS):
                path.unlink()
        try:
            self.place.rmdir()
        except OSError:
            return  # something of the user's is in it


_HEAD = ",".join(JOBS.names) + "\n"


def write_long_jobs(records: LongRecords, path: Path, format: Format = "csv") -> None:
    """Write the rows of all jobs in the order of the trace; as CSV the bytes of ``jobs-*.csv`` of an ordinary replay.

    Raises
    ------
    OutputError
        If it cannot be written.
    """
    with atomic_open(path, "wb") as file:
        if format == "parquet":
            _write_parquet(records, file)
            return
        file.write(_HEAD.encode())
        for block in _blocks(records):
            file.write("".join(lines_of(block)).encode())


def _blocks(records: LongRecords) -> Iterator[LongRecords]:
    for begin in range(0, len(records), _BLOCK):
        yield records.of(slice(begin, begin + _BLOCK))


def lines_of(records: LongRecords) -> list[str]:
    """The lines of some jobs in ``jobs-*.csv``."""
    times = records.submit, records.start, records.end
    if any((column % SECOND).any() or (abs(column) >= _PLAIN).any() for column in times):
        return _any_lines(records)
    submit, start, end = (column // SECOND for column in times)
    status = np.where(records.jobs.killed, "killed", "completed")
    columns = records.jobs.job_id, submit, start, end, records.jobs.nodes, end - submit, start - submit, status
    return [
        f"{job_id},rigid,{submit}.0,{start}.0,{end}.0,{nodes},{turnaround}.0,{wait}.0,,0,0,{status},0.0\n"
        for job_id, submit, start, end, nodes, turnaround, wait, status in zip(
            *(column.tolist() for column in columns), strict=True
        )
    ]


def _any_lines(records: LongRecords) -> list[str]:
    """The same, by the definitions of the columns."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    recording = Recording(BASELINE, 1, Options(), (), records)
    writer.writerows(row.values() for row in JOBS.rows(recording))
    return [text.getvalue()]


def _write_parquet(records: LongRecords, file: Any) -> None:
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError:
        raise OutputError(
            f"Parquet files can only be written where pyarrow is installed ({installation('parquet')})"
        ) from None
    kinds = {"whole": pa.int64(), "text": pa.string(), "ticks": pa.float64()}
    schema = pa.schema([(item.name, kinds[item.kind]) for item in JOBS.fields])
    with pq.ParquetWriter(file, schema) as writer:
        for block in _blocks(records):
            zeros = np.zeros(len(block), np.int64)
            columns = {
                "job_id": block.jobs.job_id,
                "type": ["rigid"] * len(block),
                "submit": block.submit / SECOND,
                "start": block.start / SECOND,
                "end": block.end / SECOND,
                "nodes": block.jobs.nodes,
                "turnaround": (block.end - block.submit) / SECOND,
                "wait": (block.start - block.submit) / SECOND,
                "instant": [None] * len(block),
                "preemptions": zeros,
                "shrinks": zeros,
                "status": np.where(block.jobs.killed, "killed", "completed"),
                "lost_node_seconds": zeros / SECOND,
            }
            writer.write_table(pa.table([pa.array(columns[item.name], item.type) for item in schema], schema=schema))
