"""Metrics of a set of jobs: waits, turnarounds, slowdowns, and the shares that were preempted or shrunk."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np

from holdfast.simulator.results.metric_groups import (
    ALL_JOBS,
    FAN,
    HOUR,
    HOURS,
    LESS,
    MODEL,
    NEITHER,
    RATIO,
    SHARE,
    evaluate,
    preemption_metric,
    turnaround_metric,
)
from holdfast.simulator.results.order_statistics import Ranked
from holdfast.simulator.results.records import Records
from holdfast.workloads.ground.columns import Metric

__all__ = ["JOB_METRICS", "NO_JOBS", "JobArrays", "mean", "share"]


class JobArrays:
    """Columns of jobs that came, computed once for all metrics of these jobs.

    Parameters
    ----------
    turnaround, wait
        Times, shape (count,), or (runs, count) of the same jobs in several runs [ticks].
    slowdown
        Bounded slowdowns, of the same shape.
    preempted, shrunk
        Whether it happened at least once, shape (count,) or that of the others.
    """

    def __init__(self, turnaround: np.ndarray, wait: np.ndarray, slowdown: np.ndarray, preempted: np.ndarray,
                 shrunk: np.ndarray) -> None:  # fmt: skip
        self.count = turnaround.shape[-1]
        self.turnaround, self.wait, self.slowdown = turnaround, wait, slowdown
        self.preempted, self.shrunk = preempted, shrunk

    @classmethod
    def of(cls, records: Records) -> JobArrays:
        """The arrays of these records."""
        counts = (records.columns[name] > 0 for name in ("preemptions", "shrinks"))
        return cls(records.turnaround, records.wait, records.bounded_slowdown, *counts)

    def part(self, chosen: np.ndarray) -> JobArrays:
        """The arrays of some of the jobs."""
        # Rows stay contiguous, and so their sums are those of single runs to the bit.
        return JobArrays(*(array.take(chosen, axis=-1) for array in self._arrays))

    def by_run(self) -> list[JobArrays]:
        """The arrays of each of several runs, with their metrics."""
        found = [
            JobArrays(*(array if array.ndim == 1 else array[run] for array in self._arrays))
            for run in range(len(self.wait))
        ]
        columns = [value if isinstance(value, list) else [value] * len(found) for value in self.metrics.values()]
        for arrays, values in zip(found, zip(*columns, strict=True), strict=True):
            arrays.metrics = dict(zip(self.metrics, values, strict=True))
        return found

    @property
    def _arrays(self) -> tuple[np.ndarray, ...]:
        return self.turnaround, self.wait, self.slowdown, self.preempted, self.shrunk

    @cached_property
    def ranked_waits(self) -> Ranked:
        """The waits in ascending order."""
        return Ranked(self.wait)

    @cached_property
    def metrics(self) -> dict[str, Any]:
        """The values of :data:`JOB_METRICS` by name, lists of several runs; means and shares over no jobs are NaN."""
        return evaluate(JOB_METRICS, self)


_NONE = np.zeros(0, np.int64)
#: Arrays over no jobs.
NO_JOBS = JobArrays(_NONE, _NONE, np.zeros(0), _NONE > 0, _NONE > 0)


def mean(values: np.ndarray) -> Any:
    """As ``numpy.mean`` over the last axis, without its dispatch, which takes longer than a few hundred values."""
    return np.add.reduce(values, axis=-1, dtype=np.float64) / values.shape[-1] if values.shape[-1] else math.nan


def share(flags: np.ndarray) -> Any:
    """The share that is true over the last axis; NaN of no flags."""
    return np.add.reduce(flags, axis=-1, dtype=np.int64) / flags.shape[-1] if flags.shape[-1] else math.nan


def _metric(name: str, title: str, definition: str, measure: Callable[[JobArrays], float], **changes: object) -> Metric:
    described = {"of": ALL_JOBS, "better": LESS, "source": MODEL, **changes}
    return Metric(name, title=title, definition=definition, measure=measure, **described)  # type: ignore[arg-type]


#: Metrics of any set of jobs, in the order of the columns of a table by types; functions of :class:`JobArrays`.
JOB_METRICS = (
    _metric("jobs", "jobs", "Jobs that are measured: no no-shows, none that was cancelled.", lambda jobs: jobs.count,
            better=NEITHER),
    turnaround_metric("turnaround_h", ALL_JOBS, lambda jobs: mean(jobs.turnaround) / HOUR),
    _metric("wait_h", "mean wait",
            "Mean time from first submit, or from eligibility where that is later, to first start.",
            lambda jobs: mean(jobs.wait) / HOUR, **HOURS),
    _metric("wait_median_h", "median wait", "Median of the waits.", lambda jobs: jobs.ranked_waits.median / HOUR,
            **HOURS),
    _metric("wait_p95_h", "p95 wait", "95th percentile of the waits.",
            lambda jobs: jobs.ranked_waits.quantile(0.95) / HOUR, **HOURS),
    _metric("wait_p99_h", "p99 wait", "99th percentile of the waits.",
            lambda jobs: jobs.ranked_waits.quantile(0.99) / HOUR, **HOURS),
    _metric("wait_max_h", "longest wait", "Longest wait.", lambda jobs: jobs.ranked_waits.most / HOUR, **HOURS),
    _metric("bounded_slowdown", "bounded slowdown", "Mean of max(1, turnaround / max(undisturbed runtime, 10 s)).",
            lambda jobs: mean(jobs.slowdown), **RATIO),
    preemption_metric("preemption_ratio", "jobs", lambda jobs: share(jobs.preempted)),
    _metric("shrink_ratio", "shrunk", "Share of the malleable jobs that were shrunk at least once.",
            lambda jobs: share(jobs.shrunk), of="malleable jobs", source=FAN, **SHARE),
)  # fmt: skip
