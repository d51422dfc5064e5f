"""Tables of replays on a machine with partitions: waits by partition, use by resource, and the nodes of each job."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from holdfast.experiments.output.filenames import table_name
from holdfast.experiments.recordings.allocation_table import allocation_rows
from holdfast.experiments.tables import columns_with_values, render, write_csv
from holdfast.simulator import Result
from holdfast.simulator.resources.machine_metrics import partition_rows, resource_rows
from holdfast.simulator.results.measured_simulation import MeasuredWindow, records_in_window
from holdfast.simulator.results.pool import pool_rows
from holdfast.workloads.ground.columns import Quantity
from holdfast.workloads.ground.wording import count_text

__all__ = ["blocked_jobs_warning", "machine_text", "write_machine_tables"]

_RUN = Quantity("run")
_PARTITIONS = (
    Quantity("partition"),
    Quantity("jobs"),
    Quantity("mean_wait", "mean", "h", "wait", scale=1 / 3600, digits=1),
    Quantity("longest_wait", "longest", "h", "wait", scale=1 / 3600, digits=1),
    Quantity("cores", "cores", "%", "used", scale=100.0, digits=1),
    Quantity("gpus", "GPUs", "%", "used", scale=100.0, digits=1),
    Quantity("stopped", "by a limit", "jobs", "stopped"),
)
_RESOURCES = (
    Quantity("resource"),
    Quantity("capacity"),
    Quantity("used", "used", "%", "until last end", scale=100.0, digits=1),
    Quantity("stranded", "stranded", "%", "until last end", scale=100.0, digits=1),
    Quantity("closed", "closed", "%", "until last end", scale=100.0, digits=1),
    Quantity("free", "free", "%", "until last end", scale=100.0, digits=1),
)
#: Runs of which a terminal shows the tables.
_SHOWN = 8


def write_machine_tables(directory: Path, results: Sequence[Result], window: MeasuredWindow) -> None:
    """Write ``partitions.csv``, ``resources.csv``, and ``allocations-*.csv`` of each run; nothing on one pool.

    Waits are those of the jobs in the window.
    """
    for name, rows in (("partitions", _partitions(results, window)), ("resources", _resources(results))):
        if rows:
            columns = dict.fromkeys(column for row in rows for column in row)
            write_csv(directory / f"{name}.csv", [{**dict.fromkeys(columns), **row} for row in rows], tuple(columns))
    for result in results:
        if result.on_machine is not None:
            rows = list(allocation_rows(result))
            write_csv(directory / table_name("allocations", result.name), rows, tuple(rows[0]))


def machine_text(results: Sequence[Result], window: MeasuredWindow) -> str:
    """The same tables for a terminal; empty on one pool, and for more runs than it shows."""
    partitions, resources = _partitions(results, window), _with_units(_resources(results))
    if not partitions or len(results) > _SHOWN:
        return ""
    several = [_RUN] if len(results) > 1 else []
    shown = [row for row in partitions if row["stopped"]]
    columns = columns_with_values(partitions, _PARTITIONS if shown else _PARTITIONS[:-1])
    if max(row["longest_wait"] for row in partitions) < 3600:
        columns = [replace(column, unit="min", scale=1 / 60) if column.unit == "h" else column for column in columns]
    texts = [
        render([{**row, "run": _name(row)} for row in rows], [*several, *chosen])
        for rows, chosen in ((partitions, columns), (resources, columns_with_values(resources, _RESOURCES)))
        if rows
    ]
    if any(row["stranded"] for row in resources):
        texts.append("stranded: free, enough in all for the first waiting job, but on nodes where the job does not fit")
    return "\n\n".join(texts)


def blocked_jobs_warning(result: Result) -> str:
    """How many jobs a limit of the machine never lets start, or run again after a preemption; empty: none."""
    replay = result.on_machine
    if replay is None:
        return ""
    lives = list(zip(replay.jobs, replay.starts, replay.gone, strict=True))
    never = sum(start is None and gone is None for _, start, gone in lives)
    again = sum(start is None and gone is not None and job.cancelled_at is None for job, start, gone in lives)
    counts = [count_text(never, "jobs", "never start")] * (never > 0)
    counts += [f"{again:,} never run{'s' * (again == 1)} again"] * (again > 0)
    depends = ", or such a job must end first" if any(job.preceding is not None for job in replay.jobs) else ""
    reason = f"a limit never allows the nodes that the placement chooses{depends}"
    return f"{result.name}: {' and '.join(counts)}: {reason}" if counts else ""


def _name(row: dict[str, Any]) -> str:
    return str(row.get("label") or row["mechanism"])


def _with_units(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The rows with memory in the unit in which people read it."""
    texts = [
        f"{row['capacity'] / 1024:,.0f} GiB" if row["resource"] == "memory" else f"{row['capacity']:,}" for row in rows
    ]
    width = max(map(len, texts), default=0)
    return [{**row, "capacity": text.rjust(width)} for row, text in zip(rows, texts, strict=True)]


def _partitions(results: Sequence[Result], window: MeasuredWindow) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    for result in results:
        measured = frozenset(records_in_window(result, window).columns["job_id"].tolist())
        replay = result.on_machine
        rows = pool_rows(result.records, result.pools, measured) if replay is None else partition_rows(replay, measured)
        found += [{**result.identity, **row} for row in rows]
    return found


def _resources(results: Sequence[Result]) -> list[dict[str, Any]]:
    replays = [(result, result.on_machine) for result in results if result.on_machine is not None]
    return [{**result.identity, **row} for result, replay in replays for row in resource_rows(replay)]
