"""What is kept of the records of a log, record by record: docs/guides/logs says what is left out and clipped."""

from __future__ import annotations

from typing import Any

from holdfast.workloads.logs.trace import TraceJob

__all__ = ["clean_records"]


def clean_records(records: list[dict[str, Any]]) -> list[TraceJob]:
    """The jobs of these records, in their order."""
    jobs = []
    for record in records:
        # What is shorter than half a microsecond is no time.
        runs, asked = record["runtime"] > 5e-7, record["walltime"] > 5e-7
        if record["nodes"] < 1 or not runs or record["submit"] < 0:
            continue
        walltime = record["walltime"] if asked else record["runtime"]
        jobs.append(
            TraceJob(
                record["job_id"], record["submit"], record["nodes"], min(record["runtime"], walltime), walltime,
                asked and (record["runtime"] > walltime or (record["stopped"] and record["runtime"] == walltime)),
                record["wait"] if record["wait"] >= 0 else None, record["user"], record["project"],
                record["preceding"] or None, record["think_time"] if record["think_time"] >= 0 else None,
                partition=record["partition"],
            )
        )  # fmt: skip
    return jobs
