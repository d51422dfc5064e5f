"""Sources of a state: a log with recorded waits, or a result of ``holdfast run`` read as a log."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from holdfast.experiments.recordings.archive import read_recording
from holdfast.simulator import Result
from holdfast.workloads.ground.units import SECOND, to_seconds
from holdfast.workloads.logs.clock import LOCAL
from holdfast.workloads.logs.node_names import node_list
from holdfast.workloads.logs.one_pool import RESULT
from holdfast.workloads.logs.readers import read_trace
from holdfast.workloads.logs.trace import Trace, TraceJob

__all__ = ["read_log", "result_trace"]


def read_log(path: str | Path, mechanism: str | None = None, **how: Any) -> Trace:
    """Read a log, or a directory of results.

    Parameters
    ----------
    path
        SWF, ALCF or sacct file, or a directory of ``holdfast run``.
    mechanism
        The result to take from a directory with several mechanisms.
    **how
        For a log, parameters of :func:`holdfast.workloads.logs.readers.read_trace`.

    Returns
    -------
    Trace
        With recorded or simulated waits.
    """
    if Path(path).is_dir():
        return result_trace(read_recording(path, mechanism, events=False), str(path))
    return read_trace(path, **how)


def result_trace(result: Result, source: str = "the result") -> Trace:
    """Convert a simulated schedule to a log with the simulated waits.

    Parameters
    ----------
    result
        Any result; the time from the first start to the end of a job counts as its runtime, even if it was preempted.
    source
        Name for messages.
    """
    jobs, placements = [], result.placements or {}
    for job, record in zip(result.table, result.records, strict=True):
        if record.submit is None or record.start is None or record.end is None or record.end <= record.start:
            continue
        submit, runtime = to_seconds(record.submit), (record.end - record.start) / SECOND
        walltime = max(job.walltime, runtime)
        eligible = None if record.eligible is None else to_seconds(record.eligible)
        jobs.append(
            TraceJob(
                job.job_id, submit, job.nodes, runtime, walltime, job.killed, record.wait / SECOND, job.user,
                job.project, eligible=eligible, node_list=node_list(placements.get(job.job_id, 0)),
            )
        )  # fmt: skip
    jobs.sort(key=lambda job: (job.submit, job.job_id))
    header = {} if result.epoch is None else {"UnixStartTime": f"{result.epoch:.0f}"}
    if result.zone == LOCAL:
        header["Clock"] = "local"
    return Trace(tuple(jobs), result.nodes, source, RESULT, header, unit=result.unit)
