"""Summaries side by side: the metrics of several simulations as text for a terminal of 120 characters."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from experiments.tables import is_known, render, telling
from simulator.results.catalogue import metric
from workloads.ground.columns import Quantity

__all__ = ["by_label", "cancellation_comparison", "comparison", "headed", "is_metric", "stochastic_comparison"]

_MECHANISM = Quantity("mechanism")


def headed(name: str, head: str, group: str = "", **changes: Any) -> Quantity:
    """The column of a metric under a short heading; unit, scale and digits are the catalogue's unless changed."""
    return replace(metric(name), head=head, group=group, **changes)


def _thousands(name: str, head: str, group: str = "") -> Quantity:
    """Thousands of node-hours."""
    return headed(name, head, group, unit="kNh", scale=1e-3, digits=1)


#: Columns of wall-clock times, which differ from run to run.
_CLOCKED = (
    headed("decision_ms_p99", "decision", unit="ms p99"),
    headed("engine_seconds", "engine"),
)
_COMPARISON = (
    _MECHANISM,
    headed("wait_h", "mean", "wait"),
    headed("wait_p95_h", "p95", "wait"),
    headed("bounded_slowdown", "slowdown", "bounded"),
    headed("turnaround_h", "all", "turnaround"),
    headed("turnaround_rigid_h", "rigid", "turnaround"),
    headed("turnaround_malleable_h", "mall.", "turnaround"),
    headed("turnaround_on_demand_h", "on-dem.", "turnaround"),
    headed("instant_start_ratio", "start", "instant"),
    headed("instant_start_ratio_strict", "strict", "instant"),
    headed("preemption_ratio_rigid", "rigid", "preempted"),
    headed("preemption_ratio_malleable", "mall.", "preempted"),
    headed("shrink_ratio", "shrunk"),
    headed("utilization", "util."),
    _thousands("lost_node_hours", "lost"),
)
_STOCHASTIC = (
    _MECHANISM,
    headed("turnaround_stochastic_h", "turnaround", "stochastic jobs"),
    headed("preemption_ratio_stochastic", "preempted", "stochastic jobs"),
    headed("reservations_per_job", "reservations", "stochastic jobs", unit="a job"),
    headed("stretch", "response", "stretch", unit="/ runtime"),
    headed("execution_stretch", "execution", "stretch", unit="/ runtime"),
    headed("expected_cost_h", "expected", "cost of a job"),
    headed("planned_cost_h", "planned", "cost of a job"),
    headed("paid_cost_h", "paid", "cost of a job"),
    _thousands("wasted_node_hours", "wasted"),
    headed("work_utilization", "work", unit="% of nodes"),
)
_CANCELLATIONS = (
    _MECHANISM,
    headed("cancelled_jobs", "jobs", "cancelled"),
    headed("cancelled_started", "had started", "cancelled"),
    _thousands("cancelled_node_hours", "their runs", "cancelled"),
)


def comparison(summaries: Sequence[Mapping[str, Any]], *, unit: str = "nodes", verbose: bool = False) -> str:
    """The mechanisms side by side; a group of times below an hour is in minutes.

    Parameters
    ----------
    summaries
        Rows as :func:`simulator.results.metrics.summarize` returns.
    unit
        What sizes count: ``nodes`` or ``processors``.
    verbose
        Whether to show wall-clock times, too.
    """
    columns = [column for column in _COMPARISON if not _repeats(column.name, summaries)]
    return _rendered(summaries, [*columns, *(_CLOCKED if verbose else ())], unit)


def stochastic_comparison(summaries: Sequence[Mapping[str, Any]], *, unit: str = "nodes", verbose: bool = False) -> str:
    """The stochastic jobs under each mechanism; parameters of :func:`comparison`."""
    return _rendered(summaries, [*_STOCHASTIC, *([headed("planning_seconds", "planning")] if verbose else [])], unit)


def cancellation_comparison(summaries: Sequence[Mapping[str, Any]], *, unit: str = "nodes") -> str:
    """The cancelled jobs under each mechanism; parameters of :func:`comparison`."""
    return _rendered(summaries, _CANCELLATIONS, unit)


def by_label(rows: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Rows under the labels of their runs, where they have any: the labels stand where the mechanisms stood.

    >>> by_label([{"label": "sjf / easy", "mechanism": "baseline", "wait_h": 1.0}, {"mechanism": "CUA-SPAA"}])
    [{'label': 'sjf / easy', 'mechanism': 'sjf / easy', 'wait_h': 1.0}, {'mechanism': 'CUA-SPAA'}]
    """
    return [{**row, "mechanism": row["label"]} if row.get("label") else row for row in rows]


def is_metric(name: str) -> bool:
    """Whether a column of a summary is a metric; others tell which run it is.

    >>> is_metric("wait_h"), is_metric("order")
    (True, False)
    """
    try:
        metric(name)
    except KeyError:
        return False
    return True


def _repeats(name: str, rows: Iterable[Mapping[str, Any]]) -> bool:
    """Whether a column shows the turnaround of one type, and all jobs are of that type."""
    return (
        name.startswith("turnaround_")
        and name != "turnaround_h"
        and all(row[name] == row["turnaround_h"] for row in rows)
    )


def _rendered(rows: Sequence[Mapping[str, Any]], columns: Iterable[Quantity], unit: str) -> str:
    if any(row.get("label") for row in rows):
        rows, columns = by_label(rows), [Quantity("mechanism", "run") if c is _MECHANISM else c for c in columns]
    shown = telling(rows, columns)
    for group in {column.group for column in shown if column.unit == "h"}:
        places = [place for place, column in enumerate(shown) if column.group == group and column.unit == "h"]
        values = [abs(row[shown[place].name]) for row in rows for place in places if is_known(row[shown[place].name])]
        if max(values) < 1:
            for place in places:
                shown[place] = replace(shown[place], unit="min", scale=60.0 * shown[place].scale)
    return render(rows, shown, unit)
