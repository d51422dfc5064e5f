"""The mechanisms side by side: the eight metrics of hybrid-workload-scheduling, Fig. 6, for one workload."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

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
from simulator.results.catalogue import metric
from workloads.ground.errors import InputError
from workloads.ground.quantities import Better, Metric

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["METRICS", "plot_mechanisms"]


#: The eight metrics of Fig. 6.
METRICS = tuple(
    metric(name)
    for name in (
        *("turnaround_h", "turnaround_rigid_h", "turnaround_malleable_h", "turnaround_on_demand_h"),
        *("instant_start_ratio", "preemption_ratio_rigid", "preemption_ratio_malleable", "utilization"),
    )
)


def plot_mechanisms(summaries: Sequence[Mapping[str, Any]]) -> Figure:
    """Bars of the eight metrics, a bar for each mechanism; the baseline is also a dashed line.

    Parameters
    ----------
    summaries
        Rows as :func:`simulator.results.metrics.summarize` returns, or read back; shown from top to bottom.

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
    for axes, shown in zip(panels.flat, METRICS, strict=True):
        _bars(axes, shown, names, [_number(shown, row) for row in summaries])
    panel_letters(list(panels.flat))
    return figure


def _number(metric: Metric, row: Mapping[str, Any]) -> float:
    """A metric as it is shown; an empty cell of a table read back is not defined."""
    value = row[metric.name]
    return math.nan if value is None else float(metric.scaled(float(value)))


def _bars(axes: Axes, shown: Metric, names: Sequence[str], values: Sequence[float]) -> None:
    dress(axes, x=shown.axis, title=shown.panel, grid="x")
    known = [value for value in values if math.isfinite(value)]
    # A share that should be large is shown against the whole.
    whole = shown.percent and shown.better is Better.MORE
    top = shown.most if whole else max(known, default=0.0) or 1.0
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
    if whole:
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
