"""A log as it was known at one time: what it records later is removed or replaced by a constant.

Whatever is computed from such a log is the same for every future of it.
"""

from __future__ import annotations

import hashlib
from dataclasses import replace

from workloads.logs.cancellations import keep_cancelled_jobs
from workloads.logs.trace import Trace, TraceJob, TraceJobs

__all__ = ["known_at", "past_digest"]

#: Start, end or cancellation that is not known yet is set this long after the time [s].
_LATER = 1.0


def known_at(trace: Trace, at: float) -> Trace:
    """The log as it was known at a time.

    Parameters
    ----------
    trace
        A log with recorded waits.
    at
        The time, on the clock of the log [s].

    Returns
    -------
    Trace
        The jobs that were in the queue by then. One that still waited is cancelled a second later; one that still ran
        ends a second later.

    Examples
    --------
    >>> jobs = (TraceJob(1, 0.0, 4, 50.0, 90.0, wait=5.0), TraceJob(2, 9.0, 4, 50.0, 90.0, wait=46.0))
    >>> [(job.runtime, job.start, job.cancelled_at) for job in known_at(Trace(jobs), 20.0).jobs]
    [(16.0, 5.0, None), (90.0, None, 21.0)]
    """
    jobs = (_seen(job, at) for job in keep_cancelled_jobs(trace).jobs.rows() if job.queued <= at)
    return replace(trace, jobs=TraceJobs(jobs), excluded={}, withdrawn=())


def _seen(job: TraceJob, at: float) -> TraceJob:
    start = job.start
    waits = start > at if start is not None else job.cancelled_at is not None and job.cancelled_at > at
    if waits:
        left = at + _LATER
        return replace(
            job, runtime=job.walltime, killed=False, wait=left - job.queued, cancelled_at=left, node_list=""
        )  # fmt: skip
    if start is not None and start + job.runtime > at:
        return replace(job, runtime=at - start + _LATER, killed=False)
    return job


def past_digest(trace: Trace) -> str:
    """SHA-256 of the jobs of a log, in hexadecimal digits."""
    digest = hashlib.sha256(f"{trace.nodes} {trace.unit}\n".encode())
    for job in trace.jobs:
        digest.update(f"{job!r}\n".encode())
    return digest.hexdigest()
