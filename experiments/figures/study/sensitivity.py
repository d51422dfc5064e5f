"""Figure of Morris' screening: the effect of each parameter on differences between mechanisms and on their order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from holdfast.experiments.figures.canvas import PAGE, new_figure, subplots
from holdfast.experiments.figures.style import FONT, dress
from holdfast.workloads.ground.columns import Metric

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["plot_sensitivity"]


def plot_sensitivity(
    rows: Sequence[Mapping[str, Any]], factors: Mapping[str, str], metrics: Sequence[Metric]
) -> Figure:
    """Above the effects on the advantages, below the pairs reordered; a column for each metric.

    Parameters
    ----------
    rows
        Rows of ``metric``, ``factor``, ``kind`` (``size`` or ``swaps``), ``mean``, ``low`` and ``high``.
    factors
        Names for people, by those in the rows.
    metrics
        The columns.
    """
    figure = new_figure(PAGE, 1.5 + 0.42 * len(factors))
    panels = subplots(figure, 2, len(metrics), sharey=True, squeeze=False)
    words = {"size": "Change", "swaps": "Pairs reordered"}
    for line, (kind, color) in enumerate((("size", "#0072B2"), ("swaps", "#D55E00"))):
        for place, metric in enumerate(metrics):
            axes = panels[line, place]
            own = {row["factor"]: row for row in rows if row["metric"] == metric.name and row["kind"] == kind}
            for number, factor in enumerate(factors):
                row = own[factor]
                axes.plot([row["low"], row["high"]], [number, number], color="#9A9A9A", linewidth=2.2)
                axes.plot([row["mean"]], [number], "o", color=color, markersize=4)
            axes.set_yticks(range(len(factors)), list(factors.values()), fontsize=FONT["note"])
            axes.set_ylim(len(factors) - 0.5, -0.5)
            axes.set_xlim(left=0)
            unit = "% of 15" if kind == "swaps" else metric.difference
            letter = chr(ord("a") + line * len(metrics) + place)
            dress(axes, x=f"{words[kind]} ({unit})", title=f"({letter}) {metric.title}", grid="x")
            axes.title.set_fontsize(FONT["legend"])
            axes.locator_params(axis="x", nbins=4)
    return figure
