"""The schedule that a log records, as an outcome beside those of simulations."""

from __future__ import annotations

import numpy as np

from holdfast.experiments.whatif.outcomes import ScheduleOutcome, use_by_period
from holdfast.simulator.results.order_statistics import Ranked
from holdfast.simulator.results.overtaking import STARVED_AFTER, overtaken_for
from holdfast.simulator.results.records import SLOWDOWN_BOUND
from holdfast.workloads.ground.ticks import in_ticks
from holdfast.workloads.ground.units import SECOND
from holdfast.workloads.logs.trace import Trace

__all__ = ["outcome_in_log"]

_HOUR = 3600 * SECOND
#: Smallest share of the jobs with a recorded start of which the use of the machine is shown.
_NEARLY_ALL = 0.99


def outcome_in_log(trace: Trace, periods: tuple[int, ...]) -> ScheduleOutcome | None:
    """What the log records of its jobs; None if it records no start.

    Parameters
    ----------
    trace
        The log, with the size of its machine.
    periods
        As in :class:`holdfast.experiments.whatif.outcomes.Task`.

    Returns
    -------
    ScheduleOutcome or None
        NaN for jobs without a recorded start. The use of the machine is NaN if more than 1 % of the jobs have none.
    """
    jobs = trace.jobs
    waits = jobs.column("wait").astype(np.float64)
    known = np.isfinite(waits)
    if not known.any():
        return None
    submit, queued = in_ticks(jobs.column("submit")), in_ticks(jobs.queued)
    runtime, nodes = in_ticks(jobs.column("runtime")), jobs.column("nodes").astype(np.int64)
    wait = np.where(known, in_ticks(np.where(known, waits, 0.0)), 0)
    start = queued + wait
    end = start + runtime
    turnaround = end - submit
    slowdown = np.maximum(1.0, turnaround / np.maximum(runtime, SLOWDOWN_BOUND))
    use, until_last = np.full(len(periods) - 1, np.nan), np.nan
    if known.mean() >= _NEARLY_ALL:
        times = np.concatenate((start[known], end[known]))
        rising = np.argsort(times, kind="stable")
        busy = np.cumsum(np.concatenate((nodes[known], -nodes[known]))[rising])
        size = trace.nodes or 1
        use = use_by_period(times[rising], busy, np.array(periods), size)
        (until_last,) = use_by_period(times[rising], busy, np.array([periods[0], periods[-1]]), size)
    hours = wait[known] / _HOUR
    summary = {
        "jobs": int(known.sum()),
        "wait_h": float(hours.mean()),
        "wait_p99_h": Ranked(hours).quantile(0.99),
        "wait_max_h": float(hours.max()),
        "bounded_slowdown": float(slowdown[known].mean()),
        "turnaround_h": float(turnaround[known].mean() / _HOUR),
        "starved": int(np.count_nonzero(overtaken_for(queued[known], start[known]) > STARVED_AFTER)),
        "utilization_to_last_submit": float(until_last),
    }
    return ScheduleOutcome(
        np.where(known, wait / _HOUR, np.nan),
        np.where(known, turnaround / _HOUR, np.nan),
        np.where(known, slowdown, np.nan),
        summary,
        use,
    )
