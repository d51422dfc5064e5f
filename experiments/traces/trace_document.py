"""A trace in numbers: the JSON document of ``holdfast info``."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import accumulate
from typing import Any

import numpy as np

from holdfast.experiments.traces.description import Description
from holdfast.simulator import Result
from holdfast.workloads.ground.units import SECOND
from holdfast.workloads.logs.clock import LogClock
from holdfast.workloads.logs.machine_size import ASSUMED
from holdfast.workloads.logs.trace import Trace

__all__ = ["dependent_jobs", "median_cancelled_wait", "trace_document"]

_HOUR = 3600.0
_QUANTILES = ("p05", "p25", "p50", "p75", "p95")


def trace_document(
    trace: Trace, nodes: int, about: Description, result: Result | None, caveats: Sequence[str]
) -> dict[str, Any]:
    """Describe a trace for ``--json``.

    Parameters
    ----------
    trace
        The jobs on the machine; at least one.
    nodes
        Size of the machine, in the unit of the trace.
    about
        Its description.
    result
        Its simulation under FCFS and EASY backfilling; None: it was left out.
    caveats
        What the log has and a simulation does not model, a sentence each.

    Returns
    -------
    dict
        Keys name the unit: hours (``_h``), days, shares from 0 to 1 (``_share``); sizes count ``unit``. Values that are
        not known are None.
    """
    submits = trace.jobs.column("submit")
    clock = LogClock.of_trace(trace)
    recorded = trace.jobs.column("wait") / _HOUR
    known = ~np.isnan(recorded)
    waits: dict[str, Any] = {"recorded": _waits(recorded[known])}
    if result is not None:
        ran, simulated = result.records.started, result.records.wait / (SECOND * _HOUR)
        waits |= {"simulated": _waits(simulated[ran]), "simulated_where_recorded": _waits(simulated[known & ran])}
    withdrawn = median_cancelled_wait(trace)
    return {
        "source": trace.source or None,
        "format": trace.format,
        "unit": trace.unit,
        "machine_size": nodes,
        "assumed": trace.header.get(ASSUMED),
        "jobs": len(trace.jobs),
        "left_out": {reason: count for reason, count in trace.excluded.items() if count},
        "noted": {remark: count for remark, count in trace.remarks.items() if count},
        "not_modelled": list(caveats),
        "first_submit": None if clock.epoch is None else clock.show(float(submits.min()), seconds=True),
        "last_submit": None if clock.epoch is None else clock.show(float(submits.max()), seconds=True),
        "submits_days": about.days,
        "offered_load_share": None if math.isnan(about.load) else about.load,
        "users": about.users or None,
        "projects": about.projects or None,
        "size": _spread(about.nodes),
        "walltime_h": _spread([value / _HOUR for value in about.walltime]),
        "runtime_h": _spread([value / _HOUR for value in about.runtime]),
        "runtime_per_walltime": {"mean": about.used[0], **_spread(about.used[1:])},
        "killed_share": about.at_limit,
        "most_frequent_sizes": [
            {"size": size, "jobs_share": share, "work_share": work} for size, share, work in about.sizes
        ],
        "most_frequent_walltimes": [
            {"walltime_h": walltime / _HOUR, "jobs_share": share} for walltime, share in about.requests
        ],
        "cancelled": None if withdrawn is None else {"jobs": withdrawn[0], "median_wait_h": withdrawn[1] / _HOUR},
        "dependent_jobs": dependent_jobs(trace),
        "wait_h": waits,
    }


def dependent_jobs(trace: Trace) -> int:
    """Number of jobs that are submitted after another one."""
    return sum(job_id is not None for job_id in trace.jobs.column("preceding").tolist())


def median_cancelled_wait(trace: Trace) -> tuple[int, float] | None:
    """Number of jobs cancelled before their start, and the median of their waits [s]; None if there are none."""
    if not trace.withdrawn:
        return None
    waits = sorted((item.job.wait or 0.0, item.size) for item in trace.withdrawn)
    count = sum(several for _, several in waits)
    before = accumulate(several for _, several in waits)
    return count, next(wait for (wait, _), reached in zip(waits, before, strict=True) if 2 * reached > count)


def _spread(values: Sequence[float]) -> dict[str, float]:
    return dict(zip(_QUANTILES, map(float, values), strict=True))


def _waits(hours: np.ndarray) -> dict[str, float] | None:
    if not len(hours):
        return None
    median, high = np.percentile(hours, (50, 95))
    return {"jobs": len(hours), "mean": float(hours.mean()), "p50": float(median), "p95": float(high)}
