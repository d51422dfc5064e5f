"""A log as it was known at one time: what it records later is removed or replaced by a constant.

Whatever is computed from such a log is the same for every future of it.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from holdfast.experiments.forecast.prior_usage import node_names
from holdfast.workloads.logs.cancellations import keep_cancelled_jobs
from holdfast.workloads.logs.machine_size import NODES_NAMED
from holdfast.workloads.logs.trace import Trace, TraceJobs

__all__ = ["past_digest", "past_log", "started_jobs"]

#: Start, end or cancellation that is not known yet is set this long after the time [s].
_LATER = 1.0


def past_log(trace: Trace, at: float) -> Trace:
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
    >>> from holdfast.workloads.logs.trace import TraceJob
    >>> jobs = (TraceJob(1, 0.0, 4, 50.0, 90.0, wait=5.0), TraceJob(2, 9.0, 4, 50.0, 90.0, wait=46.0))
    >>> [(job.runtime, job.start, job.cancelled_at) for job in past_log(Trace(jobs), 20.0).jobs]
    [(16.0, 5.0, None), (90.0, None, 21.0)]
    """
    jobs = keep_cancelled_jobs(trace).jobs
    jobs = jobs.select(jobs.queued <= at)
    starts, runtime, killed = jobs.starts, jobs.column("runtime"), jobs.column("killed")
    cancelled = jobs.column("cancelled_at")
    waits = (starts > at) | (np.isnan(starts) & (cancelled > at))
    runs = starts + runtime > at
    left = at + _LATER
    columns = {
        "runtime": np.where(waits, jobs.column("walltime"), np.where(runs, left - starts, runtime)),
        "killed": killed & ~(waits | runs),
        "wait": np.where(waits, left - jobs.queued, jobs.column("wait")),
        "cancelled_at": np.where(waits, left, cancelled),
    }
    if "node_list" in jobs.columns:
        columns["node_list"] = np.where(waits, jobs.code(""), jobs.column("node_list"))
    known = jobs.with_columns(**columns)
    return replace(trace, jobs=known, header=_known_header(trace, known), excluded={}, withdrawn=())


def started_jobs(trace: Trace, at: float) -> Trace:
    """The jobs of a log that had started by a time [s], as known then, to describe the log.

    What a reader has counted of all jobs is counted in proportion.
    """
    known = past_log(trace, at)
    jobs = known.jobs.select(np.isfinite(known.jobs.starts))
    share = len(jobs) / max(1, len(trace.jobs))
    remarks = {name: math.ceil(share * count) for name, count in trace.remarks.items()}
    return replace(known, jobs=jobs, remarks=remarks)


def _known_header(trace: Trace, known: TraceJobs) -> Mapping[str, str]:
    """The header, with the number of nodes that the known jobs name."""
    if NODES_NAMED not in trace.header:
        return trace.header
    return {**trace.header, NODES_NAMED: str(len(node_names(known)))}


def past_digest(trace: Trace) -> str:
    """SHA-256 of the jobs of a log, in hexadecimal digits."""
    jobs = trace.jobs
    digest = hashlib.sha256(f"{trace.nodes} {trace.unit} {len(jobs)}\n".encode())
    for name, kind in jobs.kinds.items():
        column = jobs.column(name)
        if kind == "text":
            # Numbers of texts depend on all texts of the file: they are counted as they come.
            numbers, first, column = np.unique(column, return_index=True, return_inverse=True)
            order = np.argsort(first)
            digest.update(json.dumps([jobs.names[number] for number in numbers[order].tolist()]).encode())
            column = np.argsort(order)[column]
        elif kind == "time":
            column = np.where(np.isnan(column), np.nan, column)  # one pattern of bits for all that are unknown
        digest.update(name.encode())
        digest.update(repr(column.tolist()).encode() if column.dtype == np.object_ else column.tobytes())
    return digest.hexdigest()
