"""Replay of a long log that writes its jobs as they end."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from holdfast.experiments.output.output_directory import output_directory
from holdfast.experiments.recordings.measurement import Measurement
from holdfast.experiments.recordings.replay import write_replay
from holdfast.experiments.recordings.streamed_jobs import EndedJobs
from holdfast.experiments.recordings.table_files import Format
from holdfast.simulator.clock.stream import BATCH_SIZE
from holdfast.simulator.options import Options
from holdfast.simulator.plain_replay import rigid_records
from holdfast.simulator.results.result import Result
from holdfast.simulator.simulation import checked_table, simulate_table
from holdfast.workloads.ground.errors import InputError
from holdfast.workloads.ground.files import file_sha256
from holdfast.workloads.ground.release import VERSION
from holdfast.workloads.hybrid.assignment import as_rigid
from holdfast.workloads.logs.swf import read_long_swf
from holdfast.workloads.logs.trace import Trace
from holdfast.workloads.table.jobs import Jobs

__all__ = ["stream_identity", "stream_log", "streamed_replay"]


def streamed_replay(
    jobs: Jobs,
    nodes: int,
    options: Options,
    ended: EndedJobs,
    *,
    batch_size: int = BATCH_SIZE,
    progress: Callable[[int], None] | None = None,
) -> Result:
    """Replay jobs and write them as they end.

    Parameters
    ----------
    jobs, nodes, options, batch_size, progress
        As for :func:`holdfast.simulator.simulation.simulate_table`; the replay must be plain.
    ended
        Writer of the ended jobs.
    """

    def write(rows: Any, start: Any, end: Any) -> None:
        ended.write(rigid_records(jobs.select(rows), start, end))

    table = checked_table(jobs, nodes)
    return simulate_table(
        table, nodes, events=False, settings=options, consume=write, batch_size=batch_size, progress=progress
    )


def stream_log(
    log: str | Path | Trace,
    directory: str | Path,
    nodes: int | None = None,
    *,
    format: Format = "csv",
    force: bool = False,
    batch_size: int = BATCH_SIZE,
    progress: Callable[[int], None] | None = None,
    **options: Any,
) -> Result:
    """Replay a log of any length under the baseline; its jobs are written as they end.

    Parameters
    ----------
    log
        An SWF file, or a trace.
    directory
        Receives ``jobs-baseline.csv`` (or ``.parquet``), ``summary.csv``, ``types.csv`` and ``accounting.csv``. Until
        the replay is complete, ended jobs are kept in its folder ``ended``, one table per batch; after a kill the same
        call resumes from these.
    nodes
        Size of the machine; by default from the log.
    format
        ``csv`` or ``parquet``.
    force
        Whether to replace the jobs of another replay in ``ended``.
    batch_size
        Number of ended jobs per table in ``ended``.
    progress
        Called from time to time with the number of ended jobs.
    **options
        Fields of :class:`Options`.

    Returns
    -------
    Result
        Without an event log; ``table``, ``records`` and ``samples`` are sequences over columns.

    Raises
    ------
    InputError
        If the log cannot be read, an option is not legal, or ``ended`` holds jobs of another replay.
    """
    trace = log if isinstance(log, Trace) else read_long_swf(log)
    size = trace.nodes if nodes is None else nodes
    if size is None:
        raise InputError("give nodes: this log does not record the size of its machine")
    settings = Options.of(**options)
    of = {"log": trace.source if isinstance(log, Trace) else file_sha256(log), "jobs": len(trace.jobs)}
    with output_directory(directory) as place:
        ended = EndedJobs(place, stream_identity(of, size, settings, batch_size, format), format, force=force)
        jobs = as_rigid(trace.on_machine(size))
        result = streamed_replay(jobs, size, settings, ended, batch_size=batch_size, progress=progress)
        write_replay(place, [result], Measurement(), jobs_as=format)
        ended.remove()
    return result


def stream_identity(
    log: Mapping[str, Any], nodes: int, options: Options, batch_size: int, format: Format
) -> dict[str, Any]:
    """Everything that determines the tables of a streamed replay; a resumed one must have the same."""
    return {
        "log": dict(log), "nodes": nodes, "options": asdict(options), "batch_size": batch_size, "format": format,
        "holdfast": VERSION,
    }  # fmt: skip
