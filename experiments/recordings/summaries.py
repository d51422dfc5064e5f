"""Text tables that compare the metrics of several simulations, for a terminal."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from holdfast.experiments.tables import columns_with_values, is_known, render
from holdfast.experiments.terminal import escape, fill
from holdfast.simulator.results.catalogue import metric
from holdfast.workloads.ground.columns import Quantity
from holdfast.workloads.ground.wording import count_text

__all__ = [
    "by_label",
    "cancellation_comparison",
    "comparison",
    "is_metric",
    "metric_column",
    "starvation",
    "stochastic_comparison",
]

_MECHANISM = Quantity("mechanism")


def metric_column(name: str, head: str, group: str = "", **changes: Any) -> Quantity:
    """Column of a metric under a short heading, with unit, scale and digits of the catalogue unless changed."""
    return replace(metric(name), head=head, group=group, **changes)


def _thousands(name: str, head: str, group: str = "") -> Quantity:
    """Column of thousands of node-hours."""
    return metric_column(name, head, group, unit="kNh", scale=1e-3, digits=1)


#: Columns of wall-clock times, which differ from run to run.
_CLOCKED = (
    metric_column("decision_ms_p99", "decision", unit="ms p99"),
    metric_column("engine_seconds", "engine"),
)
_COMPARISON = (
    _MECHANISM,
    metric_column("wait_h", "mean", "wait"),
    metric_column("wait_p99_h", "p99", "wait"),
    metric_column("wait_max_h", "longest", "wait"),
    metric_column("bounded_slowdown", "slowdown", "bounded"),
    metric_column("turnaround_h", "all", "turnaround"),
    metric_column("turnaround_rigid_h", "rigid", "turnaround"),
    metric_column("turnaround_malleable_h", "mall.", "turnaround"),
    metric_column("turnaround_on_demand_h", "on-dem.", "turnaround"),
    metric_column("instant_start_ratio", "start", "instant"),
    metric_column("preemption_ratio_rigid", "rigid", "preempted"),
    metric_column("preemption_ratio_malleable", "mall.", "preempted"),
    # What runs after the last submission says how long the last jobs are, not how well the machine is used.
    metric_column("utilization_to_last_submit", "last submit", "util. until"),
    _thousands("lost_node_hours", "lost"),
)
_STOCHASTIC = (
    _MECHANISM,
    metric_column("turnaround_stochastic_h", "turnaround", "stochastic jobs"),
    metric_column("preemption_ratio_stochastic", "preempted", "stochastic jobs"),
    metric_column("reservations_per_job", "reservations", "stochastic jobs", unit="a job"),
    metric_column("stretch", "response", "stretch", unit="/ runtime"),
    metric_column("execution_stretch", "execution", "stretch", unit="/ runtime"),
    metric_column("expected_cost_h", "expected", "cost of a job"),
    metric_column("planned_cost_h", "planned", "cost of a job"),
    metric_column("paid_cost_h", "paid", "cost of a job"),
    _thousands("wasted_node_hours", "wasted"),
    metric_column("work_utilization", "work", unit="% of nodes"),
)
_CANCELLATIONS = (
    _MECHANISM,
    metric_column("cancelled_jobs", "jobs", "cancelled"),
    metric_column("cancelled_started", "had started", "cancelled"),
    _thousands("cancelled_node_hours", "their runs", "cancelled"),
)


def comparison(summaries: Sequence[Mapping[str, Any]], *, unit: str = "nodes", verbose: bool = False) -> str:
    """Compare mechanisms in a table; a group of times below an hour is in minutes.

    Parameters
    ----------
    summaries
        Rows as :func:`holdfast.simulator.results.metrics.summarize` returns.
    unit
        Unit of sizes: ``nodes`` or ``processors``.
    verbose
        Whether to include wall-clock times.
    """
    columns = [column for column in _COMPARISON if not _repeats(column.name, summaries)]
    table = _render(summaries, [*columns, *(_CLOCKED if verbose else ())], unit)
    return "\n".join(filter(None, [table, starvation(summaries)]))


def starvation(summaries: Sequence[Mapping[str, Any]]) -> str:
    """Sentence that names the simulations in which jobs starved; empty if there are none.

    >>> starvation([{"mechanism": "fcfs", "starved": 0}, {"mechanism": "sjf", "starved": 12}])
    'starved: 12 jobs of sjf started more than a week after the first start of a later job'
    """
    counts = [(row["mechanism"], int(row["starved"])) for row in by_label(summaries) if is_known(row.get("starved"))]
    found = [f"{count_text(count, 'jobs')} of {escape(name)}" for name, count in counts if count]
    if not found:
        return ""
    return fill(f"starved: {', '.join(found)} started more than a week after the first start of a later job", rest="  ")


def stochastic_comparison(summaries: Sequence[Mapping[str, Any]], *, unit: str = "nodes", verbose: bool = False) -> str:
    """Compare the stochastic jobs under each mechanism; parameters as for :func:`comparison`."""
    return _render(
        summaries, [*_STOCHASTIC, *([metric_column("planning_seconds", "planning")] if verbose else [])], unit
    )


def cancellation_comparison(summaries: Sequence[Mapping[str, Any]], *, unit: str = "nodes") -> str:
    """Compare the cancelled jobs under each mechanism; parameters as for :func:`comparison`."""
    return _render(summaries, _CANCELLATIONS, unit)


def by_label(rows: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Replace the mechanism of each row by the label of its run, if it has one.

    >>> by_label([{"label": "sjf / easy", "mechanism": "baseline", "wait_h": 1.0}, {"mechanism": "CUA-SPAA"}])
    [{'label': 'sjf / easy', 'mechanism': 'sjf / easy', 'wait_h': 1.0}, {'mechanism': 'CUA-SPAA'}]
    """
    return [{**row, "mechanism": row["label"]} if row.get("label") else row for row in rows]


def is_metric(name: str) -> bool:
    """Whether a column of a summary is a metric; other columns identify the run.

    >>> is_metric("wait_h"), is_metric("order")
    (True, False)
    """
    try:
        metric(name)
    except KeyError:
        return False
    return True


def _repeats(name: str, rows: Iterable[Mapping[str, Any]]) -> bool:
    """Whether a column repeats the overall turnaround, because all jobs are of its type."""
    return (
        name.startswith("turnaround_")
        and name != "turnaround_h"
        and all(row[name] == row["turnaround_h"] for row in rows)
    )


def _render(rows: Sequence[Mapping[str, Any]], columns: Iterable[Quantity], unit: str) -> str:
    if any(row.get("label") for row in rows):
        rows, columns = by_label(rows), [Quantity("mechanism", "run") if c is _MECHANISM else c for c in columns]
    shown = columns_with_values(rows, columns)
    for group in {column.group for column in shown if column.unit == "h"}:
        places = [place for place, column in enumerate(shown) if column.group == group and column.unit == "h"]
        values = [abs(row[shown[place].name]) for row in rows for place in places if is_known(row[shown[place].name])]
        if max(values) < 1:
            for place in places:
                shown[place] = replace(shown[place], unit="min", scale=60.0 * shown[place].scale)
    return render(rows, shown, unit)
