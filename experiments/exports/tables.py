"""The result of a simulation as Parquet tables, for pandas, Polars, DuckDB and whoever else reads columns."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from experiments.placement.ranges import size, text_of
from experiments.placement.spans import place_nodes
from simulator.results.recording import Recording
from workloads.ground.errors import OutputError
from workloads.ground.files import atomic_open
from workloads.ground.units import SECOND

__all__ = ["export_parquet"]

#: Columns of a table: what they hold, in the words of Arrow, and their values.
Columns = Mapping[str, tuple[str, Sequence[Any]]]


#: What a row of each table is.
_ROWS = ("jobs", "events", "instants", "stays on nodes")


def export_parquet(recording: Recording, path: Path) -> str:
    """Write jobs, events, timeline and nodes, each to a file in a directory; returns what they hold, in words."""
    try:
        import pyarrow.parquet as pq  # before a directory is made
    except ImportError:
        raise OutputError(
            f"{path}: Parquet files can only be written where pyarrow is installed (pip install 'holdfast[parquet]')"
        ) from None
    recording.with_events()
    if path.suffix == ".parquet" or path.is_file():
        raise OutputError(f"{path}: must be a directory, in which jobs, events, timeline and nodes become a file each")
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OutputError(f"{path}: cannot be made: {error.strerror}") from None
    tables = {
        "jobs": _jobs(recording),
        "events": _events(recording),
        "timeline": _timeline(recording),
        "nodes": _nodes(recording),
    }
    about = {"mechanism": recording.mechanism, "nodes": recording.nodes}
    # All before the first is written, so that what cannot be had leaves nothing behind.
    made = {name: _table(columns, about) for name, columns in tables.items()}
    for name, table in made.items():
        with atomic_open(path / f"{name}.parquet", "wb") as file:
            pq.write_table(table, file)
    rows = [len(next(iter(columns.values()))[1]) for columns in tables.values()]
    return ", ".join(f"{count:,} {what}" for count, what in zip(rows, _ROWS, strict=True))


def _jobs(recording: Recording) -> Columns:
    """The rows of the result file, with what was asked for."""
    records, jobs = recording.records, recording.table
    waits = [_between(record.submit, record.start) for record in records]
    responses = [_between(record.submit, record.end) for record in records]
    return {
        "job_id": ("int64", [record.job_id for record in records]),
        "type": ("string", [str(record.type) for record in records]),
        "submit": ("float64", [_seconds(record.submit) for record in records]),
        "start": ("float64", [_seconds(record.start) for record in records]),
        "end": ("float64", [_seconds(record.end) for record in records]),
        "nodes": ("int64", [record.nodes for record in records]),
        "min_nodes": ("int64", [job.min_nodes for job in jobs]),
        "runtime": ("float64", [_seconds(record.runtime) for record in records]),
        "walltime": ("float64", [_seconds(recording.walltime(job)) for job in jobs]),
        "wait": ("float64", waits),
        "turnaround": ("float64", responses),
        "preemptions": ("int64", [record.preemptions for record in records]),
        "shrinks": ("int64", [record.shrinks for record in records]),
        "status": ("string", [record.status for record in records]),
        "lost_node_seconds": ("float64", [_seconds(record.lost) for record in records]),
        "user": ("string", [job.user or None for job in jobs]),
        "project": ("string", [job.project or None for job in jobs]),
    }


def _events(recording: Recording) -> Columns:
    entries = recording.entries
    return {
        "time": ("float64", [_seconds(entry.time + recording.origin) for entry in entries]),
        "event": ("string", [entry.event for entry in entries]),
        "job_id": ("int64", [entry.job_id for entry in entries]),
        "before": ("int64", [entry.before for entry in entries]),
        "after": ("int64", [entry.after for entry in entries]),
        "cause": ("string", [entry.cause for entry in entries]),
    }


def _timeline(recording: Recording) -> Columns:
    samples = recording.samples
    changes = dict(recording.down)
    down: list[int] = []
    for sample in samples:
        down.append(changes.get(sample[0], down[-1] if down else 0))
    columns: dict[str, tuple[str, Sequence[Any]]] = {
        "time": ("float64", [_seconds(sample[0] + recording.origin) for sample in samples]),
        "busy": ("int64", [sample[1] for sample in samples]),
        "held": ("int64", [sample[2] for sample in samples]),
        "idle": (
            "int64",
            [recording.nodes - sample[1] - sample[2] - out for sample, out in zip(samples, down, strict=True)],
        ),
    }
    if changes:
        columns["down"] = ("int64", down)
    return {
        **columns,
        "waiting_jobs": ("int64", [sample[3] for sample in samples]),
        "waiting_nodes": ("int64", [sample[4] for sample in samples]),
    }


def _nodes(recording: Recording) -> Columns:
    """Who had which nodes, and when."""
    spans = place_nodes(recording)
    return {
        "kind": ("string", [span.kind for span in spans]),
        "job_id": ("int64", [span.job_id for span in spans]),
        "number": ("int64", [span.number for span in spans]),
        "start": ("float64", [_seconds(span.start + recording.origin) for span in spans]),
        "end": ("float64", [_seconds(span.end + recording.origin) for span in spans]),
        "nodes": ("int64", [size(span.nodes) for span in spans]),
        "ranges": ("string", [text_of(span.nodes) for span in spans]),
        "ending": ("string", [span.ending for span in spans]),
    }


def _table(columns: Columns, about: Mapping[str, Any]) -> Any:
    import pyarrow as pa

    arrays = [pa.array(values, kind) for kind, values in columns.values()]
    return pa.table(arrays, list(columns)).replace_schema_metadata({"holdfast": json.dumps(about)})


def _seconds(ticks: int | None) -> float | None:
    return None if ticks is None else ticks / SECOND


def _between(begin: int | None, end: int | None) -> float | None:
    return None if begin is None or end is None else (end - begin) / SECOND
