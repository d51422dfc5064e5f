"""Figure of the expected loss of strategies against the number of samples they are made from."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from holdfast.experiments.figures.canvas import COLUMN, PAGE, new_figure, subplots
from holdfast.experiments.figures.style import INK, dress, legend_above, panel_letters

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["plot_losses"]

#: Colour, line and marker of each estimator.
_LOOKS = {
    "discrete": ("#7F7F7F", "-", "s"),
    "polynomial": ("#E69F00", "-", "^"),
    "usual": ("#0072B2", "-", "o"),
    "semi-clairvoyant": ("#009E73", "--", "v"),
    "nearest": ("#56B4E9", "-", "P"),
    "chosen": ("#D55E00", "-", "D"),
    "continuous, as published": (INK, ":", "x"),
}


def plot_losses(found: Mapping[tuple[str, str, int], Any], titles: Mapping[str, str]) -> Figure:
    """A panel for each application, three in a row.

    Parameters
    ----------
    found
        Summaries (mean, low, high) by application, estimator and number of samples.
    titles
        Titles of the applications, in the order of the panels.
    """
    columns = min(len(titles), 3)
    lines = math.ceil(len(titles) / columns)
    figure = new_figure(PAGE if len(titles) > 1 else COLUMN * 1.3, 0.6 + 2.1 * lines)
    panels = subplots(figure, lines, columns, sharey=True, squeeze=False).ravel()
    for axes in panels[len(titles) :]:
        axes.set_visible(False)
    panels = panels[: len(titles)]
    highest = 1.0
    for place, (axes, (name, title)) in enumerate(zip(panels, titles.items(), strict=True)):
        for estimator, (color, line, marker) in _LOOKS.items():
            points = sorted((n, item) for (other, kind, n), item in found.items() if (other, kind) == (name, estimator))
            if not points:
                continue
            sizes = [n for n, _ in points]
            look = {"color": color, "linestyle": line, "marker": marker, "markersize": 3.2, "linewidth": 1.1}
            means = [item.mean for _, item in points]
            highest = max(highest, 1.1 * max(means))
            axes.plot(sizes, means, label=estimator, **look)
            if estimator in ("discrete", "usual"):
                axes.fill_between(
                    sizes, [i.low for _, i in points], [i.high for _, i in points], color=color, alpha=0.13, linewidth=0
                )
        # Losses span two orders of magnitude, and some are 0 up to rounding.
        axes.set_yscale("symlog", linthresh=1e-3)
        axes.set_yticks([0, 1e-3, 1e-2, 1e-1, 1], ["0", "0.001", "0.01", "0.1", "1"])
        axes.minorticks_off()
        x = "past runs (number)" if place + columns >= len(panels) else ""
        dress(axes, x=x, y="" if place % columns else "expected loss (ratio)", title=title)
    for axes in panels:
        axes.set_ylim(0, highest)
    if len(panels) > 1:
        panel_letters(list(panels))
    handles, labels = panels[0].get_legend_handles_labels()
    legend_above(figure, handles, labels, columns=6 if len(panels) > 1 else 3)
    return figure
