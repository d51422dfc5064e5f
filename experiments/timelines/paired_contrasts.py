"""Paired differences of metrics between the first and each further result over the same jobs, with confidence
intervals.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from holdfast.experiments.recordings.week_blocks import assign_clusters
from holdfast.experiments.statistics import clustered_interval
from holdfast.simulator.results.measured_simulation import WHOLE, MeasuredWindow, records_in_window
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


def contrast_rows(
    results: Sequence[Result], instant_tolerance: float | None = None, window: MeasuredWindow = WHOLE
) -> list[dict[str, Any]]:
    """The metrics of each result, and their paired differences from the first.

    A difference is that of the means over the jobs that both results completed. Its 95 % interval resamples the jobs of
    one week (or of one day or hour, if there are fewer than ten weeks or days) together, as
    :mod:`holdfast.experiments.recordings.paired_comparison` does.

    Parameters
    ----------
    results
        Results, normally over the same jobs; a result over other jobs has no differences.
    instant_tolerance, window
        As in :func:`holdfast.simulator.results.metrics.summarize`.

    Returns
    -------
    list of dict
        A row for each result and ``metric``: ``value``, as in the summary, and the ``difference`` with its bounds
        ``low`` and ``high``, or None if unknown. Metrics that no result has are left out.
    """
    first = results[0]
    first_jobs = _jobs(first, window)
    summaries = [summarize(result, instant_tolerance=instant_tolerance, window=window) for result in results]
    values = [{name: float(summary.get(name, math.nan)) for name in (*_MEANS, *_WHOLE)} for summary in summaries]
    shown = [name for name in (*_MEANS, *_WHOLE) if not all(math.isnan(own[name]) for own in values)]
    rows = []
    for result, own in zip(results, values, strict=True):
        jobs = _jobs(result, window)
        pairs = [(jobs[job_id], job) for job_id, job in first_jobs.items() if job_id in jobs]
        pairs = [(one, other) for one, other in pairs if _alike(one, other)]
        # Ids of different jobs may agree by chance.
        is_comparable = result is not first and len(pairs) > len(first_jobs) / 2
        for name in shown:
            difference = _UNKNOWN
            if is_comparable and not math.isnan(own[name]):
                if name in _WHOLE:
                    difference = _Difference(own[name] - values[0][name])
                else:
                    tolerances = instant_ticks(result, instant_tolerance), instant_ticks(first, instant_tolerance)
                    difference = _mean_difference(name, pairs, tolerances)
            value = None if math.isnan(own[name]) else own[name]
            rows.append({**result.identity, "metric": name, "value": value, **difference._asdict()})
    return rows


class _Difference(NamedTuple):
    """A difference with the bounds of its interval; None: unknown."""

    difference: float | None
    low: float | None = None
    high: float | None = None


_UNKNOWN = _Difference(None)


def _jobs(result: Result, window: MeasuredWindow) -> dict[int, JobRecord]:
    """Measured jobs that arrived, ran and were not cancelled, in the order of their submits."""
    measured = records_in_window(result, window)
    found = [record for record in measured if record.start is not None and record.status != "cancelled"]
    return {record.job_id: record for record in sorted(found, key=lambda record: (record.submit, record.job_id))}


def _alike(one: JobRecord, other: JobRecord) -> bool:
    return (one.submit, one.nodes, one.runtime) == (other.submit, other.nodes, other.runtime)


def _mean_difference(
    name: str, pairs: Sequence[tuple[JobRecord, JobRecord]], tolerances: tuple[int, int]
) -> _Difference:
    """The mean difference of a metric over pairs of records, with bounds if there are at least two blocks of jobs."""
    kind, measure = _MEANS[name]
    chosen = [(one, other) for one, other in pairs if kind in (None, one.type)]
    if not chosen:
        return _UNKNOWN
    here, there = tolerances
    differences: NDArray[np.float64] = np.array([measure(one, here) - measure(other, there) for one, other in chosen])
    submits = np.array([one.submit or 0 for one, _ in chosen])
    clusters = assign_clusters(submits / SECOND)[1]
    if len(np.unique(clusters)) < 2:
        return _Difference(float(differences.mean()))
    found = clustered_interval(differences, clusters)
    return _Difference(found.mean, found.low, found.high)
