"""Summaries side by side: the metrics of several simulations as text for a terminal of 120 characters."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from experiments.tables import render
from simulator.results.catalogue import metric
from workloads.ground.quantities import Quantity

__all__ = ["cancellation_comparison", "comparison", "headed", "stochastic_comparison"]

_MECHANISM = Quantity("mechanism")


def headed(name: str, head: str, group: str = "", **changes: Any) -> Quantity:
    """The column of a metric under a short heading; unit, scale and digits are the catalogue's unless changed."""
    return replace(metric(name), head=head, group=group, **changes)


def _thousands(name: str, head: str, group: str = "") -> Quantity:
    """Thousands of node-hours."""
    return headed(name, head, group, unit="kNh", scale=1e-3, digits=1)


_COMPARISON = (
    _MECHANISM,
    headed("turnaround_h", "all", "turnaround"),
    headed("turnaround_rigid_h", "rigid", "turnaround"),
    headed("turnaround_malleable_h", "malleable", "turnaround"),
    headed("turnaround_on_demand_h", "on-dem.", "turnaround"),
    headed("instant_start_ratio", "start", "instant"),
    headed("instant_start_ratio_strict", "strict", "instant"),
    headed("preemption_ratio_rigid", "rigid", "preempted"),
    headed("preemption_ratio_malleable", "malleable", "preempted"),
    headed("shrink_ratio", "shrunk"),
    headed("utilization", "util."),
    _thousands("lost_node_hours", "lost"),
    headed("decision_ms_p99", "decision", unit="ms p99"),
    headed("engine_seconds", "engine"),
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
    headed("planning_seconds", "planning"),
)
_CANCELLATIONS = (
    _MECHANISM,
    headed("cancelled_jobs", "jobs", "cancelled"),
    headed("cancelled_started", "had started", "cancelled"),
    _thousands("cancelled_node_hours", "their runs", "cancelled"),
)


def comparison(summaries: Iterable[Mapping[str, Any]]) -> str:
    """The mechanisms side by side.

    Parameters
    ----------
    summaries
        Rows as :func:`simulator.results.metrics.summarize` returns.
    """
    return render(summaries, _COMPARISON)


def stochastic_comparison(summaries: Iterable[Mapping[str, Any]]) -> str:
    """The stochastic jobs under each mechanism; parameters of :func:`comparison`."""
    return render(summaries, _STOCHASTIC)


def cancellation_comparison(summaries: Iterable[Mapping[str, Any]]) -> str:
    """The cancelled jobs under each mechanism; parameters of :func:`comparison`."""
    return render(summaries, _CANCELLATIONS)
