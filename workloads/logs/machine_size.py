"""An estimate of the machine size from the jobs of a log that does not record it."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from holdfast.workloads.ground.wording import count_text
from holdfast.workloads.logs.trace import Trace

__all__ = ["ASSUMED", "NODES_NAMED", "named_nodes", "occupancy", "peak_use", "with_assumed_size"]

#: Key of a trace's header: how its size was found.
ASSUMED = "Assumed"
#: Key of a trace's header: the number of nodes that Slurm's NodeList names.
NODES_NAMED = "NodesNamed"
_MOST_OF_THE_TIME = 0.99


def peak_use(trace: Trace) -> int:
    """Number of nodes (or processors) in use at once, by the recorded starts of the jobs.

    Parameters
    ----------
    trace
        A log. Jobs without a recorded wait are skipped.

    Returns
    -------
    int
        The smallest number that was enough in 99 % of the time, and at least the size of the largest job: the rest is
        left to errors of the log, which may say that a job ended later than the next one on its nodes began. 0 if no
        wait is recorded.

    Examples
    --------
    >>> from holdfast.workloads.logs.trace import TraceJob
    >>> peak_use(Trace((TraceJob(1, 0.0, 8, 60.0, 60.0, wait=5.0), TraceJob(2, 0.0, 4, 9.0, 9.0, wait=20.0))))
    12
    """
    held, lengths = occupancy(trace)
    if not len(held):
        return 0
    rising = np.argsort(held, kind="stable")
    passed = np.cumsum(lengths[rising])
    enough = held[rising][np.searchsorted(passed, _MOST_OF_THE_TIME * passed[-1])]
    return max(int(enough), int(trace.jobs.column("nodes").max()))


def occupancy(trace: Trace) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Numbers of nodes (or processors) in use over time, with durations.

    Parameters
    ----------
    trace
        A log. Jobs without a recorded wait are skipped.

    Returns
    -------
    held
        Shape (k,).
    lengths
        [s], shape (k,); both are empty if no wait is recorded.
    """
    jobs = trace.jobs
    known = ~np.isnan(jobs.column("wait"))
    start = (jobs.queued + jobs.column("wait"))[known]
    size = jobs.column("nodes")[known]
    end = start + jobs.column("runtime")[known]
    times, change = np.concatenate((start, end)), np.concatenate((size, -size))
    # What ends at an instant makes room for what starts then.
    order = np.lexsort((change, times))
    return np.cumsum(change[order])[:-1], np.diff(times[order])


def named_nodes(trace: Trace) -> int:
    """Number of nodes that Slurm's NodeList names in a log; 0: not known."""
    # A header of SWF may say anything.
    text = trace.header.get(NODES_NAMED, "")
    return int(text) if re.fullmatch("[0-9]{1,9}", text) else 0


def with_assumed_size(trace: Trace) -> Trace:
    """A trace with the size of its machine, assumed where the log does not record it.

    Parameters
    ----------
    trace
        A log.

    Returns
    -------
    Trace
        Unchanged if the size is known, or nothing shows it. Otherwise its size is the number of nodes that Slurm's
        NodeList names in it, or what :func:`peak_use` finds, and ``header`` notes that under ``Assumed``.
    """
    if trace.nodes is not None:
        return trace
    size, how = named_nodes(trace), "all that the column NodeList names"
    if size < int(trace.jobs.column("nodes").max(initial=0)):
        size, how = peak_use(trace), "enough for what the jobs held at once in 99 % of the time"
    if not size:
        return trace
    assumption = f"a machine of {count_text(size, trace.unit)}, {how} (--nodes sets the size)"
    return replace(trace, nodes=size, header={**trace.header, ASSUMED: assumption})
