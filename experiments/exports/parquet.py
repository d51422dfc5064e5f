"""Export to Parquet tables, for pandas, Polars, DuckDB and other column readers."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from holdfast.experiments.placement.ranges import format_ranges, size
from holdfast.experiments.placement.spans import place_nodes
from holdfast.experiments.recordings.table_files import arrow_table
from holdfast.simulator.results.recording import Recording, require_events
from holdfast.simulator.results.schema import EVENTS, STUDIED_JOBS, Field, Schema, jobs_schema, timeline_schema
from holdfast.workloads.ground.errors import OutputError, installation
from holdfast.workloads.ground.files import atomic_open

__all__ = ["export_parquet"]

#: The table of jobs, with their requests.
_JOBS = STUDIED_JOBS.extend(
    (
        Field("user", "text", "", lambda recording, _: [job.user or None for job in recording.table]),
        Field("project", "text", "", lambda recording, _: [job.project or None for job in recording.table]),
    ),
    *("job_id", "type", "submit", "start", "end", "nodes", "min_nodes", "runtime", "walltime", "wait", "turnaround"),
    *("preemptions", "shrinks", "status", "lost_node_seconds", "user", "project"),
)
#: Nodes of each job over time.
_NODES = Schema(
    (
        Field("kind", "text", "", "kind"),
        Field("job_id", "whole", "", "job_id"),
        Field("number", "whole", "", "number"),
        Field("start", "clock", "s", "start"),
        Field("end", "clock", "s", "end"),
        Field("nodes", "whole", "nodes", lambda _, spans: [size(span.nodes) for span in spans]),
        Field("ranges", "text", "", lambda _, spans: [format_ranges(span.nodes) for span in spans]),
        Field("ending", "text", "", "ending"),
    ),
    place_nodes,
)
#: Meaning of a row of each table.
_ROWS = ("jobs", "events", "instants", "stays on nodes")


def export_parquet(recording: Recording, path: Path) -> str:
    """Write jobs, events, timeline and nodes as files of a directory; returns a description of their content."""
    try:
        import pyarrow.parquet as pq  # checked before a directory is made
    except ImportError:
        raise OutputError(
            f"{path}: Parquet files can only be written where pyarrow is installed ({installation('parquet')})"
        ) from None
    require_events(recording)
    if path.suffix == ".parquet" or path.is_file():
        raise OutputError(f"{path}: must be a directory, in which jobs, events, timeline and nodes become a file each")
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OutputError(f"{path}: cannot be made: {error.strerror}") from None
    schemas = {
        "jobs": jobs_schema(recording, _JOBS),
        "events": EVENTS,
        "timeline": timeline_schema(recording),
        "nodes": _NODES,
    }
    about = {"mechanism": recording.name, "nodes": recording.nodes}
    # All tables are made before the first is written, so that an error leaves no files behind.
    made = {name: _table(schema, recording, about) for name, schema in schemas.items()}
    for name, table in made.items():
        with atomic_open(path / f"{name}.parquet", "wb") as file:
            pq.write_table(table, file)
    return ", ".join(f"{len(table):,} {what}" for table, what in zip(made.values(), _ROWS, strict=True))


def _table(schema: Schema, recording: Recording, about: Mapping[str, Any]) -> Any:
    return arrow_table(schema, recording).replace_schema_metadata({"holdfast": json.dumps(about)})
