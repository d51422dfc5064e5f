"""The jobs of a log on today's machine with partitions, and the same jobs on another one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from holdfast.workloads.ground.errors import InputError
from holdfast.workloads.hybrid.assignment import as_rigid
from holdfast.workloads.logs.trace import Trace, TraceJobs
from holdfast.workloads.machines.machine_file import read_machine
from holdfast.workloads.machines.machine_workload import MachineWorkload
from holdfast.workloads.machines.request import ResourceRequest
from holdfast.workloads.requests.fitted_trace import fit_log_to_machine
from holdfast.workloads.requests.log_requests import LogRequests, RecordedJob, read_requests
from holdfast.workloads.table.jobs import Jobs

__all__ = ["FittedJobs", "fit_other_machine", "fit_today"]


class FittedJobs(NamedTuple):
    """The jobs that a machine can run.

    Attributes
    ----------
    jobs
        Job table, with sizes in the unit of the machine.
    workload
        The machine, and the request of each job.
    """

    jobs: Jobs
    workload: MachineWorkload


def fit_today(log: str | Path | Trace | LogRequests, path: str | Path) -> tuple[Trace, FittedJobs]:
    """The jobs of a log that today's machine can run.

    Parameters
    ----------
    log
        The file of the log, or its jobs with their requests.
    path
        File of today's machine.

    Returns
    -------
    Trace
        These jobs; the others are counted by the reason.
    FittedJobs
        The same jobs, in the same order.

    Raises
    ------
    InputError
        If a file cannot be read, or ``log`` has no requests.
    """
    if isinstance(log, Trace):
        raise InputError("today's machine needs the file of the log: a trace has no requests for partitions and memory")
    requests = log if isinstance(log, LogRequests) else read_requests(log)
    trace, workload = fit_log_to_machine(requests, read_machine(path))
    return trace, FittedJobs(as_rigid(trace), workload)


def fit_other_machine(trace: Trace, jobs: Jobs, requests: Sequence[ResourceRequest], path: str | Path) -> FittedJobs:
    """The jobs of today's machine that another machine can run.

    Parameters
    ----------
    trace, jobs, requests
        The jobs of today's machine, in the same order.
    path
        File of the other machine.

    Returns
    -------
    FittedJobs
        They keep the ids that they have in ``jobs``.

    Raises
    ------
    InputError
        If the file cannot be read, or no job fits.
    """
    named = [
        replace(job, job_id=int(number)) for job, number in zip(trace.jobs, jobs.column("job_id").tolist(), strict=True)
    ]
    recorded = tuple(
        RecordedJob(job.job_id, job.submit, job.walltime, job.runtime, None, job.user, request)
        for job, request in zip(named, requests, strict=True)
    )
    same = LogRequests(recorded, Counter(), "", Counter(), replace(trace, jobs=TraceJobs(named)))
    fitted, workload = fit_log_to_machine(same, read_machine(path))
    if not len(fitted.jobs):
        raise InputError(f"{path}: no job of the log fits this machine")
    return FittedJobs(as_rigid(fitted), workload)
