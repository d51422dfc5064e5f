"""Figures of the workload of hybrid-workload-scheduling: job sizes, types by trace, and on-demand jobs by week."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from holdfast.experiments.figures.canvas import PAGE, is_narrow, new_figure, subplots
from holdfast.experiments.figures.style import FONT, INK, TYPE_COLORS, dress, legend_above
from holdfast.experiments.statistics import interval
from holdfast.workloads.table.job import JobType

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["plot_sizes", "plot_types", "plot_weeks"]

Rows = Sequence[Mapping[str, Any]]
_LINES = (("#0072B2", "-"), ("#E69F00", "-"), ("#009E73", "-"), ("#CC79A7", "--"), ("#56B4E9", "--"))
_SHARES = (0.0, 100.0)
_ORDER = (JobType.RIGID, JobType.MALLEABLE, JobType.ON_DEMAND)


def plot_sizes(rows: Rows) -> Figure:
    """Shares of jobs and of core hours by range of sizes: means over the traces, whiskers their 95 % intervals."""
    ranges = list(dict.fromkeys((row["smallest"], row["largest"]) for row in rows))
    figure = new_figure(PAGE * 0.75, 2.6)
    axes = subplots(figure)
    narrow = is_narrow(figure)
    handles = {}
    looks = (("share_of_jobs", "jobs", "#7DBCE8", -0.2), ("share_of_node_hours", "core hours", "#0A62A0", 0.2))
    for column, label, color, shift in looks:
        found = [
            interval([100 * row[column] for row in rows if (row["smallest"], row["largest"]) == sizes], bounds=_SHARES)
            for sizes in ranges
        ]
        places = [place + shift for place in range(len(ranges))]
        means = [one.mean for one in found]
        handles[label] = axes.bar(places, means, width=0.38, color=color)
        lengths = [[one.mean - one.low for one in found], [one.high - one.mean for one in found]]
        axes.errorbar(places, means, yerr=lengths, color=INK, linewidth=0.7, linestyle="none")
        for place, one in zip(places, found, strict=True):
            share = f"{one.mean:.0f}" if one.mean >= 1 else f"{one.mean:.1f}"
            axes.annotate(
                share if narrow else f"{share} %", (place, one.high), (0, 1.5),
                textcoords="offset points", ha="center", fontsize=FONT["note"], color=INK,
            )  # fmt: skip
    dash = "\N{EN DASH}\n" if narrow else "\N{EN DASH}"
    texts = [f"{low}{dash}{high}" if high > low else str(low) for low, high in ranges]
    axes.set_xticks(range(len(ranges)), texts)
    axes.margins(y=0.1)
    dress(axes, x="Size of the job (nodes)", y="Share (%)", grid="y")
    axes.tick_params(axis="x", length=0)
    legend_above(figure, list(handles.values()), list(handles))
    return figure


def plot_types(rows: Rows) -> Figure:
    """Shares of the three types in each trace, of the jobs and of the node-hours."""
    traces = sorted({row["trace"] for row in rows})
    figure = new_figure(PAGE, 2.5)
    panels = subplots(figure, 1, 2, sharey=True)
    handles: dict[str, Any] = {}
    for axes, column, title in zip(
        panels, ("share_of_jobs", "share_of_node_hours"), ("(a) Of the jobs", "(b) Of the node-hours"), strict=True
    ):
        base = np.zeros(len(traces))
        for kind in _ORDER:
            shares = {row["trace"]: 100 * row[column] for row in rows if row["type"] == kind}
            values = np.array([shares.get(trace, 0.0) for trace in traces])
            handles[str(kind)] = axes.bar(range(len(traces)), values, bottom=base, width=0.8, color=TYPE_COLORS[kind])
            for place, (low, value) in enumerate(zip(base, values, strict=True)):
                if value >= 5:
                    axes.text(
                        place, low + value / 2, f"{value:.0f}", ha="center", va="center", fontsize=FONT["note"],
                        color="white",
                    )  # fmt: skip
            base = base + values
        axes.set_ylim(0, 100)
        axes.set_xticks(range(len(traces)), [str(trace) for trace in traces])
        dress(axes, x="Trace (seed)", y="Share (%)" if axes is panels[0] else "", title=title, grid="none")
        axes.tick_params(axis="x", length=0)
    legend_above(figure, list(handles.values()), list(handles))
    return figure


def plot_weeks(rows: Rows) -> Figure:
    """On-demand jobs that come in each week, a line for each trace."""
    figure = new_figure(PAGE, 2.2)
    axes = subplots(figure)
    handles = {}
    traces = list(dict.fromkeys(row["trace"] for row in rows))
    for number, trace in enumerate(traces):
        color, dashes = _LINES[number % len(_LINES)]
        own = [row for row in rows if row["trace"] == trace]
        (handles[f"trace {trace}"],) = axes.plot(
            [row["week"] for row in own], [row["jobs"] for row in own], color=color, linestyle=dashes, linewidth=1.1
        )
    axes.set_ylim(bottom=0)
    axes.margins(x=0.01)
    dress(axes, x="Week of the year", y="On-demand jobs", grid="y")
    legend_above(figure, list(handles.values()), list(handles))
    return figure
