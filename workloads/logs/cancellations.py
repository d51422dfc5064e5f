"""Jobs of a log that were cancelled before they started, added to the trace."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np

from holdfast.workloads.ground.errors import TraceError
from holdfast.workloads.logs.trace import Trace, TraceJobs

__all__ = ["keep_cancelled_jobs"]

#: Maximum number of cancelled jobs; one line of a log may represent millions.
_MOST = 5_000_000


def keep_cancelled_jobs(trace: Trace) -> Trace:
    """Add the jobs that were cancelled while waiting to a trace, each at its place in the file.

    Parameters
    ----------
    trace
        As read; such jobs are among the excluded.

    Returns
    -------
    Trace
        Their ``cancelled_at`` is the recorded end of their wait (SWF 2.2: status 5 with a run time of 0). Their
        runtimes are unknown and set to the walltime, so a job that starts in the simulation runs until it is
        cancelled, or until the end of its walltime.

    Raises
    ------
    TraceError
        If there are more than five million of them.

    Examples
    --------
    >>> from holdfast.workloads.logs.swf import parse_swf
    >>> log = "1 0 5 60 4 -1 -1 4 90 -1 1 7 3 -1 -1 -1 -1 -1\\n2 10 30 0 4 -1 -1 4 90 -1 5 7 3 -1 -1 -1 -1 -1"
    >>> [(job.job_id, job.cancelled_at) for job in keep_cancelled_jobs(parse_swf(log, "a.swf")).jobs]
    [(1, None), (2, 40.0)]
    """
    if not trace.withdrawn:
        return trace
    count = sum(item.size for item in trace.withdrawn)
    if count > _MOST:
        raise TraceError(trace.source, None, f"has {count:,} cancelled jobs, more than the {_MOST:,} that can be kept")
    withdrawn = TraceJobs(job for item in trace.withdrawn for job in item.jobs())
    sizes = [item.size for item in trace.withdrawn]
    jobs = trace.jobs.insert(np.repeat([item.place for item in trace.withdrawn], sizes), withdrawn)
    left = Counter(trace.excluded)
    for item in trace.withdrawn:
        left[item.reason] -= item.size
    return replace(trace, jobs=jobs, excluded=dict(+left), withdrawn=())
