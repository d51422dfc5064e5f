"""Means with confidence intervals: bars by group, and lines with bands."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from experiments.figures.style import INK
from experiments.statistics import Interval

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["draw_band", "draw_bars"]


def draw_bars(
    axes: Axes,
    groups: Sequence[str],
    series: Mapping[str, Sequence[Interval | None]],
    colors: Mapping[str, str],
    *,
    scale: float = 1.0,
) -> None:
    """Bars side by side in each group, each with its interval.

    Parameters
    ----------
    axes
        Where to.
    groups
        Labels below the axis.
    series
        By label, a mean for each group; None: no bar.
    colors
        By label.
    scale
        Means are multiplied by it.
    """
    width = 0.82 / len(series)
    for number, (label, means) in enumerate(series.items()):
        places = [
            place + (number - (len(series) - 1) / 2) * width for place, mean in enumerate(means) if mean is not None
        ]
        known = [mean for mean in means if mean is not None]
        heights = [mean.mean * scale for mean in known]
        # A white bar needs an edge to be seen.
        edge = INK if colors[label].upper() == "#FFFFFF" else "none"
        axes.bar(places, heights, 0.94 * width, color=colors[label], edgecolor=edge, linewidth=0.6, label=label)
        # What does not vary has no interval to show.
        wide = [(place, mean) for place, mean in zip(places, known, strict=True) if mean.low < mean.high]
        # Rounding may put a mean a little beyond the possible, where its interval is cut.
        below = [max(0.0, mean.mean - mean.low) * scale for _, mean in wide]
        above = [max(0.0, mean.high - mean.mean) * scale for _, mean in wide]
        axes.errorbar(
            [place for place, _ in wide], [mean.mean * scale for _, mean in wide], [below, above],
            fmt="none", ecolor=INK, elinewidth=0.8, capsize=1.6, capthick=0.8,
        )  # fmt: skip
    axes.set_xticks(range(len(groups)), groups)
    axes.tick_params(axis="x", length=0)


def draw_band(
    axes: Axes,
    x: Sequence[float],
    means: Sequence[Interval],
    *,
    color: str,
    label: str,
    scale: float = 1.0,
    style: str = "-",
    marker: str = "",
) -> None:
    """A line through means, in the band of their intervals.

    Parameters
    ----------
    axes
        Where to.
    x, means
        Coordinates of the points.
    color, label, style, marker
        Style of the line.
    scale
        Means are multiplied by it.
    """
    low, mean, high = (scale * np.array([getattr(item, part) for item in means]) for part in ("low", "mean", "high"))
    axes.fill_between(x, low, high, color=color, alpha=0.15, linewidth=0)
    axes.plot(x, mean, color=color, linestyle=style, marker=marker, markersize=3, linewidth=1.1, label=label)
