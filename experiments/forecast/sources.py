"""Sources of a state: a log with recorded waits, or a result of ``holdfast run`` read as a log."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from holdfast.experiments.recordings.archive import read_recording
from holdfast.simulator import Result
from holdfast.simulator.results.run_table import runs_by_job
from holdfast.workloads.ground.job_ids import LARGEST_JOB, task_id
from holdfast.workloads.ground.units import SECOND, to_seconds
from holdfast.workloads.logs.clock import LOCAL
from holdfast.workloads.logs.node_names import node_list
from holdfast.workloads.logs.one_pool import RESULT
from holdfast.workloads.logs.readers import read_trace
from holdfast.workloads.logs.trace import Trace, TraceJob
from holdfast.workloads.table.job import JobType

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
    if not Path(path).is_dir():
        return read_trace(path, **how)
    result = read_recording(path, mechanism, events=False)
    if _has_preempted_jobs(result):
        result = read_recording(path, mechanism)
    return result_trace(result, str(path))


def result_trace(result: Result, source: str = "the result") -> Trace:
    """Convert a simulated schedule to a log with the simulated waits.

    Parameters
    ----------
    result
        Any result; with preempted jobs it needs its event log.
    source
        Name for messages.

    Returns
    -------
    Trace
        A job for each run. The second run of the preempted job 7 is 7_2: it is eligible when the first run ends, keeps
        the submit of the job, and its runtime is its own. A stochastic job is one run from its first start to its end.

    Raises
    ------
    InputError
        If jobs were preempted and there is no event log.
    """
    logged = runs_by_job(result) if _has_preempted_jobs(result) else {}
    free = max((job.job_id for job in result.table), default=0)
    jobs, placements = [], result.placements or {}
    for job, record in zip(result.table, result.records, strict=True):
        if record.submit is None or record.start is None or record.end is None:
            continue
        submit, queued = record.submit, record.queued
        nodes = node_list(placements.get(job.job_id, 0))
        runs = [(record.start, record.end, job.nodes)]
        if record.preemptions and job.type is not JobType.STOCHASTIC:
            origin = result.origin
            runs = [(run.start + origin, run.end + origin, run.nodes) for run in logged[job.job_id]]
        for number, (start, end, size) in enumerate(runs, 1):
            is_last, job_id = number == len(runs), job.job_id
            if number > 1:
                free += 1
                job_id = task_id(job.job_id, number) if 1 <= job.job_id <= LARGEST_JOB else free
            if end > start:
                runtime = (end - start) / SECOND
                jobs.append(
                    TraceJob(
                        job_id, to_seconds(submit), size, runtime, max(job.walltime, runtime), job.killed and is_last,
                        (start - queued) / SECOND, job.user, job.project,
                        eligible=to_seconds(queued) if queued > submit else None, node_list=nodes if is_last else "",
                    )
                )  # fmt: skip
            queued = end
    jobs.sort(key=lambda job: (job.submit, job.job_id))
    header = {} if result.epoch is None else {"UnixStartTime": f"{result.epoch:.0f}"}
    if result.zone == LOCAL:
        header["Clock"] = "local"
    return Trace(tuple(jobs), result.nodes, source, RESULT, header, unit=result.unit)


def _has_preempted_jobs(result: Result) -> bool:
    """Whether runs of jobs other than stochastic ones were preempted."""
    counts = zip(result.table, result.records.columns["preemptions"].tolist(), strict=True)
    return any(count and job.type is not JobType.STOCHASTIC for job, count in counts)
