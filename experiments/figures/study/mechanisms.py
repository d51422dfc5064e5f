"""The mechanisms side by side: the eight metrics of hybrid-workload-scheduling, Fig. 6, for one workload."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from experiments.figures.style import (
    FONT,
    INK,
    PAGE,
    dress,
    mechanism_color,
    name_mechanisms,
    new_figure,
    panel_letters,
)
from policies.mechanism import BASELINE
from workloads.ground.errors import InputError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["METRICS", "Metric", "plot_mechanisms"]


class Metric(NamedTuple):
    """One panel.

    Attributes
    ----------
    column
        One of :data:`simulator.results.metrics.SUMMARY_COLUMNS`.
    title, axis
        What it is, and the label of its axis with the unit.
    percent
        Whether it is a ratio, shown in per cent.
    whole
        Whether the axis ends at 100 %.
    """

    column: str
    title: str
    axis: str
    percent: bool = False
    whole: bool = False


METRICS = (
    Metric("turnaround_h", "All jobs", "Average turnaround (h)"),
    Metric("turnaround_rigid_h", "Rigid jobs", "Average turnaround (h)"),
    Metric("turnaround_malleable_h", "Malleable jobs", "Average turnaround (h)"),
    Metric("turnaround_on_demand_h", "On-demand jobs", "Average turnaround (h)"),
    Metric("instant_start_ratio", "On-demand jobs", "Started instantly (%)", percent=True, whole=True),
    Metric("preemption_ratio_rigid", "Rigid jobs", "Preempted (%)", percent=True),
    Metric("preemption_ratio_malleable", "Malleable jobs", "Preempted (%)", percent=True),
    Metric("utilization", "Machine", "Utilisation (%)", percent=True, whole=True),
)


def plot_mechanisms(summaries: Sequence[Mapping[str, Any]]) -> Figure:
    """Bars of the eight metrics, a bar for each mechanism; the baseline is also a dashed line.

    Parameters
    ----------
    summaries
        Rows as :func:`simulator.results.metrics.summarize` returns, in the order in which they are shown from top to
        bottom.

    Returns
    -------
    Figure
        2 x 4 panels. A metric that is not defined (NaN) has no bar but a note.

    Raises
    ------
    InputError
        If there is nothing to show.
    """
    if not summaries:
        raise InputError("there are no summaries to draw")
    names = [str(row["mechanism"]) for row in summaries]
    figure = new_figure(PAGE, 1.5 + 0.32 * len(names))
    panels = figure.subplots(2, 4, sharey=True)
    for axes, metric in zip(panels.flat, METRICS, strict=True):
        scale = 100.0 if metric.percent else 1.0
        values = [scale * float(row[metric.column]) for row in summaries]
        _bars(axes, metric, names, values)
    panel_letters(list(panels.flat))
    return figure


def _bars(axes: Axes, metric: Metric, names: Sequence[str], values: Sequence[float]) -> None:
    dress(axes, x=metric.axis, title=metric.title, grid="x")
    known = [value for value in values if math.isfinite(value)]
    top = 100.0 if metric.whole else max(known, default=0.0) or 1.0
    places = list(range(len(names)))
    colors = [mechanism_color(name, place) for place, name in enumerate(names)]
    axes.barh(places, [value if math.isfinite(value) else 0.0 for value in values], height=0.72, color=colors)
    for place, value in enumerate(values):
        text = _label(value) if math.isfinite(value) else "no such job"
        axes.annotate(
            text, (value if math.isfinite(value) else 0.0, place), (2, 0), textcoords="offset points", va="center",
            fontsize=FONT["note"], color=INK, zorder=4, bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.4},
        )  # fmt: skip
    # Behind the labels, so that no digit is struck through.
    for name, value in zip(names, values, strict=True):
        if name == BASELINE and value > 0 and len(names) > 1:
            axes.axvline(value, color=INK, linewidth=0.8, linestyle=(0, (3, 2)), zorder=0.9)
    # Room for the digits behind the longest bar.
    axes.set_xlim(0, 1.27 * top)
    axes.set_ylim(len(names) - 0.45, -0.55)
    name_mechanisms(axes, names)
    if metric.whole:
        axes.set_xticks([0, 50, 100])
    else:
        axes.locator_params(axis="x", nbins=4)


def _label(value: float) -> str:
    """Three significant digits, without an exponent.

    >>> _label(0.0), _label(0.1234), _label(23.25), _label(1234.5)
    ('0', '0.123', '23.2', '1234')
    """
    if value == 0:
        return "0"
    digits = max(0, 2 - math.floor(math.log10(abs(value))))
    return f"{value:.{min(digits, 3)}f}"
