"""Paired differences of metrics between the first and each further result over the same jobs, with confidence
intervals.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from holdfast.experiments.recordings.week_blocks import assign_clusters
from holdfast.experiments.statistics import clustered_interval
from holdfast.simulator.results.metrics import summarize
from holdfast.simulator.results.records import SLOWDOWN_BOUND, JobRecord
from holdfast.simulator.results.result import Result
from holdfast.simulator.results.schema import instant_ticks
from holdfast.workloads.ground.units import SECOND
from holdfast.workloads.table.job import JobType

__all__ = ["contrast_rows"]

_HOUR = 3600 * SECOND

Measure = Callable[[JobRecord, int], float]

#: Columns of the summary that are means over jobs of a type (None: all), with the function of a job.
_MEANS: Mapping[str, tuple[JobType | None, Measure]] = {
    "wait_h": (None, lambda record, _: record.wait / _HOUR),
    "bounded_slowdown": (
        None, lambda record, _: max(1.0, record.turnaround / max(record.runtime, SLOWDOWN_BOUND)),
    ),
    "turnaround_h": (None, lambda record, _: record.turnaround / _HOUR),
    "turnaround_rigid_h": (JobType.RIGID, lambda record, _: record.turnaround / _HOUR),
    "turnaround_malleable_h": (JobType.MALLEABLE, lambda record, _: record.turnaround / _HOUR),
    "turnaround_on_demand_h": (JobType.ON_DEMAND, lambda record, _: record.turnaround / _HOUR),
    "turnaround_stochastic_h": (JobType.STOCHASTIC, lambda record, _: record.turnaround / _HOUR),
    "instant_start_ratio": (JobType.ON_DEMAND, lambda record, tolerance: float(record.wait <= tolerance)),
    "preemption_ratio_rigid": (JobType.RIGID, lambda record, _: float(record.preemptions > 0)),
    "preemption_ratio_malleable": (JobType.MALLEABLE, lambda record, _: float(record.preemptions > 0)),
}  # fmt: skip
#: Columns with a single number per result: their difference has no interval.
_WHOLE = ("utilization",)


def contrast_rows(results: Sequence[Result], instant_tolerance: float | None = None) -> list[dict[str, Any]]:
    """The metrics of each result, and their paired differences from the first.

    A difference is that of the means over the jobs that both results completed. Its 95 % interval resamples the jobs of
    one week (or of one day or hour, if there are fewer than ten weeks or days) together, as
    :mod:`holdfast.experiments.recordings.paired_comparison` does.

    Parameters
    ----------
    results
        Results, normally over the same jobs; a result over other jobs has no differences.
    instant_tolerance
        As in :func:`holdfast.simulator.results.metrics.summarize`.

    Returns
    -------
    list of dict
        A row for each result and ``metric``: ``value``, as in the summary, and the ``difference`` with its bounds
        ``low`` and ``high``, or None if unknown. Metrics that no result has are left out.
    """
    rows = []
    first = results[0]
    known = _jobs(first)
    summaries = [summarize(result, instant_tolerance=instant_tolerance) for result in results]
    for result, summary in zip(results, summaries, strict=True):
        own = _jobs(result)
        both = [(own[name], known[name]) for name in known if name in own and _alike(own[name], known[name])]
        # Ids of different jobs may agree by chance.
        same = len(both) > len(known) / 2
        for metric in (*_MEANS, *_WHOLE):
            value = float(summary.get(metric, math.nan))
            if all(math.isnan(float(one.get(metric, math.nan))) for one in summaries):
                continue
            bounds: tuple[float | None, float | None, float | None] = (None, None, None)
            if same and result is not first and not math.isnan(value):
                if metric in _WHOLE:
                    bounds = (value - float(summaries[0][metric]), None, None)
                else:
                    kind, measure = _MEANS[metric]
                    here, there = (instant_ticks(one, instant_tolerance) for one in (result, first))
                    pairs = [pair for pair in both if kind in (None, pair[0].type)]
                    apart = [measure(one, here) - measure(other, there) for one, other in pairs]
                    bounds = _difference(apart, [one.submit or 0 for one, _ in pairs])
            names = ("difference", "low", "high")
            mean = None if math.isnan(value) else value
            rows.append({**result.identity, "metric": metric, "value": mean, **dict(zip(names, bounds, strict=True))})
    return rows


def _jobs(result: Result) -> dict[int, JobRecord]:
    """Jobs that arrived, ran and were not cancelled, in the order of their submits."""
    found = [record for record in result.records if record.start is not None and record.status != "cancelled"]
    return {record.job_id: record for record in sorted(found, key=lambda record: (record.submit, record.job_id))}


def _alike(one: JobRecord, other: JobRecord) -> bool:
    return (one.submit, one.nodes, one.runtime) == (other.submit, other.nodes, other.runtime)


def _difference(values: Sequence[float], submits: Sequence[int]) -> tuple[float | None, float | None, float | None]:
    """The mean, and its bounds if there are at least two blocks of jobs; ``submits`` are in ticks."""
    if not values:
        return None, None, None
    apart: NDArray[np.float64] = np.asarray(values)
    clusters = assign_clusters(np.asarray(submits) / SECOND)[1]
    if len(np.unique(clusters)) < 2:
        return float(apart.mean()), None, None
    found = clustered_interval(apart, clusters)
    return found.mean, found.low, found.high
