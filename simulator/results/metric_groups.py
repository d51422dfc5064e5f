"""Declaration of metrics: groups, common units, and the evaluation of a group.

A metric is one :class:`~holdfast.workloads.ground.columns.Metric` with its function. To add one, put it into the tuple
of its group, in :mod:`~holdfast.simulator.results.job_metrics`, :mod:`~holdfast.simulator.results.metrics` or
:mod:`~holdfast.simulator.results.reservations`: the tables, the catalogue and the reference page take it from there.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import Any

import numpy as np

from holdfast.workloads.ground.columns import Better, Metric
from holdfast.workloads.ground.units import SECOND

__all__ = [
    "ALL_JOBS",
    "COST",
    "FAN",
    "HOUR",
    "HOURS",
    "LESS",
    "MILLISECONDS",
    "MODEL",
    "MORE",
    "NEITHER",
    "NODE_HOURS",
    "RATIO",
    "SECONDS",
    "SHARE",
    "Group",
    "evaluate",
    "preemption_metric",
    "turnaround_metric",
]


class Group(StrEnum):
    """Where a metric is measured."""

    SUMMARY = "every simulation"
    OUTAGES = "simulations with outages"
    STOCHASTIC = "simulations with stochastic jobs"
    CANCELLATIONS = "simulations with cancelled jobs"
    TYPES = "jobs of one type"
    ACCOUNTING = "node-hours of a simulation by use"
    SWEEPS = "runs of a sweep"
    LOOP = "rounds of a loop"
    STUDY = "experiments"


_ARRAYS = (np.generic, np.ndarray)
#: Ticks of an hour.
HOUR = 3600 * SECOND

MODEL = "model.md, Metrics"
FAN = "Hybrid workloads, IV-D"
LESS, MORE, NEITHER = Better.LESS, Better.MORE, Better.NEITHER
ALL_JOBS = "all jobs"

# Units, as keywords of Metric.
SHARE: Mapping[str, Any] = {"unit": "%", "scale": 100.0, "digits": 1}
HOURS: Mapping[str, Any] = {"unit": "h", "digits": 1}
COST: Mapping[str, Any] = {"unit": "h", "digits": 2}
NODE_HOURS: Mapping[str, Any] = {"unit": "node-hours", "digits": 0}
MILLISECONDS: Mapping[str, Any] = {"unit": "ms", "digits": 2, "wall_clock": True}
SECONDS: Mapping[str, Any] = {"unit": "s", "digits": 1, "wall_clock": True}
RATIO: Mapping[str, Any] = {"digits": 2}


def turnaround_metric(name: str, jobs: str, measure: Any) -> Metric:
    """An average turnaround in hours; ``jobs`` names the jobs in the definition."""
    definition = f"Mean time from first submit (on-demand jobs: arrival) to completion, over {jobs}."
    return Metric(name, title="average turnaround", of=jobs, better=LESS, definition=definition, source=FAN,
                  measure=measure, **HOURS)  # fmt: skip


def preemption_metric(name: str, jobs: str, measure: Any) -> Metric:
    """A share of jobs that were preempted; ``jobs`` names the jobs in the definition."""
    definition = f"Share of the {jobs} that were preempted at least once; a preemption counts when its warning begins."
    return Metric(name, title="preempted", of=jobs, better=LESS, definition=definition, source=FAN, measure=measure,
                  **SHARE)  # fmt: skip


def evaluate(metrics: Iterable[Metric], context: object) -> dict[str, Any]:
    """The values of metrics by name, lists of arrays; ``context`` is the argument of their functions."""
    return {item.name: _plain(item.measure(context)) for item in metrics if item.measure is not None}


def _plain(value: Any) -> Any:
    return value.tolist() if isinstance(value, _ARRAYS) else value
