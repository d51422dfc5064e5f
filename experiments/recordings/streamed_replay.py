"""Streamed replays: a long log whose jobs are written as they end."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path
from typing import Any

from experiments.output.locks import writing
from experiments.recordings.measurement import Measurement
from experiments.recordings.replay import make_directory, write_replay
from experiments.recordings.streamed_jobs import EndedJobs
from experiments.recordings.table_files import Format
from simulator.options import Options
from simulator.plain_replay import rigid_records
from simulator.results.result import Result
from simulator.streaming import TOLD, stream
from workloads.ground.errors import InputError
from workloads.ground.files import sha256_of
from workloads.hybrid.assignment import as_rigid
from workloads.logs.swf import read_long_swf
from workloads.logs.trace import Trace
from workloads.table.jobs import Jobs

__all__ = ["identity_of", "stream_log", "streamed_replay"]


def streamed_replay(
    jobs: Jobs,
    nodes: int,
    options: Options,
    ended: EndedJobs,
    *,
    told: int = TOLD,
    progress: Callable[[int], None] | None = None,
) -> Result:
    """Replay jobs and write them as they end.

    Parameters
    ----------
    jobs, nodes, options, told, progress
        As of :func:`simulator.streaming.stream`.
    ended
        Where they are written.
    """

    def tell(rows: Any, start: Any, end: Any) -> None:
        ended.tell(rigid_records(jobs.select(rows), start, end))

    return stream(jobs, nodes, tell, told=told, progress=progress, **asdict(options))


def stream_log(
    log: str | Path | Trace,
    directory: str | Path,
    nodes: int | None = None,
    *,
    format: Format = "csv",
    force: bool = False,
    told: int = TOLD,
    progress: Callable[[int], None] | None = None,
    **options: Any,
) -> Result:
    """Replay a log of any length under the baseline; its jobs are written as they end.

    Parameters
    ----------
    log
        An SWF file, or a trace.
    directory
        Where ``jobs-baseline.csv`` (or ``.parquet``), ``summary.csv``, ``types.csv`` and ``accounting.csv`` come to.
        Until then the jobs that have ended are in ``ended`` there, a table for each ``told`` of them. After a kill the
        same call goes on with those.
    nodes
        Size of the machine; by default the one that the log names.
    format
        ``csv`` or ``parquet``.
    force
        Whether to replace jobs that another call has left in ``ended``.
    told
        How many jobs are written at a time.
    progress
        Told now and then how many jobs have ended.
    **options
        Fields of :class:`Options`.

    Returns
    -------
    Result
        Without an event log; ``table``, ``records`` and ``samples`` are sequences over columns.

    Raises
    ------
    InputError
        If the log cannot be read, an option is not legal, or jobs of another call are in ``ended``.
    """
    trace = log if isinstance(log, Trace) else read_long_swf(log)
    size = trace.nodes if nodes is None else nodes
    if size is None:
        raise InputError("give nodes: this log does not name the size of its machine")
    settings = Options.of(**options)
    of = {"log": trace.source if isinstance(log, Trace) else sha256_of(log), "jobs": len(trace.jobs)}
    place = make_directory(Path(directory))
    with writing(place):
        ended = EndedJobs(place, identity_of(of, size, settings, told, format), format, force=force)
        jobs = as_rigid(trace.on_machine(size))
        result = streamed_replay(jobs, size, settings, ended, told=told, progress=progress)
        write_replay(place, [result], Measurement(), jobs_as=format)
        ended.remove()
    return result


def identity_of(log: Mapping[str, Any], nodes: int, options: Options, told: int, format: Format) -> dict[str, Any]:
    """What decides the parts of a streamed replay."""
    return {
        "log": dict(log), "nodes": nodes, "options": asdict(options), "told": told, "format": format,
        "holdfast": version("holdfast"),
    }  # fmt: skip
