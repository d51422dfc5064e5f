"""Starting states: a log cut at a given time, with the jobs that were running or waiting then.

A replay of one week of a year need not begin on an empty machine: the log records the running and the waiting jobs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from holdfast.workloads.ground.errors import InputError, ParameterError
from holdfast.workloads.logs.trace import Trace, TraceJob, TraceJobs

__all__ = ["StartingState", "cut_until", "find_starting_state", "is_cut", "starting_state"]

_ENDED = "ended before the starting state"
_UNKNOWN = "submitted before the starting state, wait not recorded"
_AFTER = "submitted after the end"
#: What is over within this time is over [s]: a job table wants more than a tick.
_MOMENT = 3e-6


@dataclass(frozen=True)
class StartingState:
    """The state at the beginning of a replay.

    Attributes
    ----------
    begin
        Time, on the clock of the log [s].
    running, nodes
        Number of running jobs, and of their nodes.
    waiting
        Number of waiting jobs, without those that are not eligible yet.
    """

    begin: float
    running: int
    nodes: int
    waiting: int


def starting_state(trace: Trace, after: float) -> Trace:
    """Cut a trace at a time, including the jobs that were running or waiting then.

    Parameters
    ----------
    trace
        A log with recorded waits, on a machine of known size.
    after
        How long after the first submit [s]. The replay begins at the last recorded start up to then, so that it
        follows from the jobs alone: it is the latest ``running_since``.

    Returns
    -------
    Trace
        Without the jobs that had ended by then, which are its ``ended``. Those that ran have their ``running_since``,
        those that waited keep their submit.

    Raises
    ------
    InputError
        If no job had started by then, or the running jobs need more nodes than the machine has.
    """
    submits = [job.submit for job in trace.jobs]
    latest = min(submits, default=0.0) + after
    starts = [start for job in trace.jobs if (start := job.start) is not None and start <= latest]
    if not starts:
        raise InputError(
            f"{trace.source}: no job has a recorded start within {after:g} s of the first submit, so that there is no "
            "starting state"
        )
    begin = max(starts)
    excluded = dict(trace.excluded)
    kept, ended = [], []
    for job in trace.jobs:
        start = job.start
        reason = ""
        if job.cancelled_at is not None:
            reason = _ENDED if job.cancelled_at <= begin else ""
        elif start is not None and start <= begin:
            reason = _ENDED if start + job.runtime <= begin + _MOMENT else ""
            job = replace(job, running_since=start)
        elif start is None and job.submit < begin:
            reason = _UNKNOWN
        if reason:
            excluded[reason] = excluded.get(reason, 0) + 1
            if start is not None:
                ended.append(job)
        else:
            kept.append(job)
    state = find_starting_state(kept)
    if state is not None and trace.nodes is not None and state.nodes > trace.nodes:
        raise InputError(
            f"{trace.source}: the {state.running:,} jobs that run at the starting state of {after:g} s need "
            f"{state.nodes:,} {trace.unit}, and must need at most the {trace.nodes:,} {trace.unit} of the machine"
        )
    return replace(trace, jobs=TraceJobs(kept), excluded=excluded, withdrawn=(), ended=tuple(ended))


def cut_until(trace: Trace, first: float, after: float) -> Trace:
    """The trace without the jobs submitted ``after`` seconds or more after the time ``first`` [s].

    Raises
    ------
    ParameterError
        If none is left.
    """
    kept = trace.jobs.select(trace.jobs.column("submit") < first + after)
    if not kept:
        raise ParameterError("until", "later than the first submit", after)
    excluded = dict(trace.excluded)
    if len(kept) < len(trace.jobs):
        excluded[_AFTER] = len(trace.jobs) - len(kept)
    return replace(trace, jobs=kept, excluded=excluded, withdrawn=())


def is_cut(trace: Trace) -> bool:
    """Whether jobs of a trace were left out because of a starting state or an end."""
    return any(trace.excluded.get(reason) for reason in (_ENDED, _UNKNOWN, _AFTER))


def find_starting_state(jobs: Sequence[TraceJob]) -> StartingState | None:
    """The starting state of jobs that were cut out of a log; None: they begin on an empty machine."""
    table = TraceJobs.of(jobs)
    if not table.has("running_since"):
        return None
    since = table.column("running_since")
    running = ~np.isnan(since)
    begin = float(since[running].max())
    waiting = int(np.count_nonzero(~running & (table.queued < begin)))
    return StartingState(begin, int(np.count_nonzero(running)), int(table.column("nodes")[running].sum()), waiting)
