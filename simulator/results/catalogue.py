"""The catalogue of metrics: all groups, and each metric by the name of its column.

A metric of a simulation is declared with its function, in :mod:`~holdfast.simulator.results.job_metrics`,
:mod:`~holdfast.simulator.results.metrics` or :mod:`~holdfast.simulator.results.reservations`. Metrics that sweeps and
loops measure about their runs are declared here, because figures read them from tables and do not import what has
measured them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from holdfast.simulator.results.job_metrics import JOB_METRICS
from holdfast.simulator.results.metric_groups import (
    ALL_JOBS,
    COST,
    FAN,
    LESS,
    MILLISECONDS,
    MODEL,
    MORE,
    NEITHER,
    NODE_HOURS,
    SECONDS,
    SHARE,
    Group,
)
from holdfast.simulator.results.metrics import CANCELLATION_METRICS, OUTAGE_METRICS, SUMMARY_METRICS
from holdfast.simulator.results.reservations import STOCHASTIC_METRICS
from holdfast.workloads.ground.columns import Better, Metric

__all__ = [
    "CATALOGUE",
    "SUMMARY_COLUMNS",
    "WALL_CLOCK",
    "Group",
    "columns",
    "metric",
]


def _entry(name: str, title: str, of: str, better: Better, definition: str, source: str, **shown: Any) -> Metric:
    return Metric(name, title=title, of=of, better=better, definition=definition, source=source, **shown)


_GROUPS: Mapping[Group, Iterable[Metric]] = {
    Group.SUMMARY: SUMMARY_METRICS,
    Group.OUTAGES: OUTAGE_METRICS,
    Group.STOCHASTIC: STOCHASTIC_METRICS,
    Group.CANCELLATIONS: CANCELLATION_METRICS,
    Group.TYPES: JOB_METRICS,
    Group.ACCOUNTING: tuple(
        _entry(f"{name}_node_hours", name, "machine", better, definition, MODEL, **NODE_HOURS)
        for name, better, definition in (
            ("compute", MORE, "Node-hours of work that lasted."),
            ("setup", LESS, "Node-hours of setups of runs that were not preempted in them."),
            ("checkpoint", LESS, "Node-hours of checkpoints that were completed."),
            ("lost", LESS, "Node-hours of preempted setups, unsaved compute, partial checkpoints, wasted time."),
            ("warning", LESS, "Node-hours between warning and preemption."),
            ("held", LESS, "Node-hours of nodes that were reserved, or gathered for an on-demand job."),
            ("idle", LESS, "Node-hours of free nodes."),
            ("down", LESS, "Node-hours of nodes that were down."),
        )
    ),
    Group.SWEEPS: (
        _entry("delayed_on_demand", "delayed", "on-demand jobs", LESS,
               "On-demand jobs that did not start instantly.", "Hybrid workloads, V-A, observation 9"),
        _entry("crowded_on_demand", "crowded out", "on-demand jobs", LESS,
               "Delayed on-demand jobs that exceed the machine together with the on-demand jobs that run or gather "
               "nodes at their arrival.",
               "Hybrid workloads, V-A, observation 9"),
        _entry("node_hours", "undisturbed work", ALL_JOBS, NEITHER,
               "Nodes times undisturbed runtime of the jobs of one type submitted in one week.", MODEL, **NODE_HOURS),
        _entry("decision_ms_p50", "median decision", "scheduler", LESS,
               "Median of the wall-clock time of a decision with its scheduling pass.", FAN, **MILLISECONDS),
        _entry("prepare_seconds", "preparation", "simulator", LESS, "Wall-clock time of making the job table.",
               "sweeps.md", **SECONDS),
        _entry("run_seconds", "run", "simulator", LESS, "Wall-clock time of the run with its preparation.",
               "sweeps.md", **SECONDS),
        _entry("worker_peak_mib", "memory of the worker", "simulator", LESS,
               "Most memory that the worker process has had so far.", "sweeps.md", unit="MiB", digits=0),
    ),
    Group.LOOP: (
        _entry("regret", "regret", "plans", LESS,
               "By how much the plans cost more than plans made for the fitted waits, as a share.", "planner.md",
               **SHARE),
        _entry("alpha", "price of a reserved second", "plans", NEITHER,
               "The alpha that the plans of the round are made for.", "planner.md", digits=3),
        _entry("beta", "price of a used second", "plans", NEITHER,
               "The beta that the plans of the round are made for.", "planner.md", digits=3),
        _entry("gamma_h", "price of a reservation", "plans", NEITHER,
               "The gamma that the plans of the round are made for.", "planner.md", **COST),
        _entry("fitted_alpha", "fitted price of a reserved second", "waits", NEITHER,
               "The alpha fitted to the waits of the round.", "planner.md", digits=3),
        _entry("fitted_gamma_h", "fitted price of a reservation", "waits", NEITHER,
               "The gamma fitted to the waits of the round.", "planner.md", **COST),
    ),
}  # fmt: skip

#: Each group's metrics by name, in the order of the columns.
CATALOGUE: Mapping[Group, Mapping[str, Metric]] = {
    group: {item.name: replace(item, where=group) for item in entries} for group, entries in _GROUPS.items()
}
_BY_NAME = {name: found for group in reversed([*CATALOGUE.values()]) for name, found in group.items()}

#: Columns of a table of summaries.
SUMMARY_COLUMNS = ("mechanism", *CATALOGUE[Group.SUMMARY])
#: Columns of a summary that a clock on the wall measures.
WALL_CLOCK = tuple(item.name for item in (*SUMMARY_METRICS, *STOCHASTIC_METRICS) if item.wall_clock)


def metric(name: str) -> Metric:
    """The metric of a column; of one that several groups have, that of the first.

    Raises
    ------
    KeyError
        If no metric has that name.
    """
    return _BY_NAME[name]


def columns(group: Group) -> tuple[str, ...]:
    """The columns of a group, in their order."""
    return tuple(CATALOGUE[group])
