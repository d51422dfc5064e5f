"""Means with confidence intervals: bars or dots by group, and lines with bands."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from holdfast.experiments.figures.style import INK
from holdfast.experiments.statistics import Interval

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["draw_band", "draw_bars", "draw_dots"]

#: Markers of series side by side.
_MARKERS = ("o", "s", "^", "D", "v", "P")


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
    for label, width, places, known in _places(series):
        heights = [mean.mean * scale for mean in known]
        # A white bar needs an edge to be seen.
        edge = INK if colors[label].upper() == "#FFFFFF" else "none"
        axes.bar(places, heights, 0.94 * width, color=colors[label], edgecolor=edge, linewidth=0.6, label=label)
        _draw_intervals(axes, places, known, INK, scale)
    _name_groups(axes, groups)


def draw_dots(
    axes: Axes,
    groups: Sequence[str],
    series: Mapping[str, Sequence[Interval | None]],
    colors: Mapping[str, str],
    *,
    scale: float = 1.0,
) -> None:
    """Dots side by side in each group, each with its interval: for scales that do not begin at zero.

    Parameters
    ----------
    axes, groups, series, colors, scale
        As in :func:`draw_bars`.
    """
    for number, (label, _, places, known) in enumerate(_places(series)):
        white = colors[label].upper() == "#FFFFFF"
        _draw_intervals(axes, places, known, INK if white else colors[label], scale)
        axes.plot(
            places, [mean.mean * scale for mean in known], _MARKERS[number % len(_MARKERS)], color=colors[label],
            markeredgecolor=INK, markeredgewidth=0.5, markersize=4.2, linestyle="none", label=label,
        )  # fmt: skip
    axes.set_xlim(-0.5, len(groups) - 0.5)
    _name_groups(axes, groups)


def _places(
    series: Mapping[str, Sequence[Interval | None]],
) -> Iterator[tuple[str, float, list[float], list[Interval]]]:
    """Label, width, places and means of each series; series stand side by side around the place of their group."""
    width = 0.82 / len(series)
    for number, (label, means) in enumerate(series.items()):
        shift = (number - (len(series) - 1) / 2) * width
        known = [(place + shift, mean) for place, mean in enumerate(means) if mean is not None]
        yield label, width, [place for place, _ in known], [mean for _, mean in known]


def _draw_intervals(axes: Axes, places: Sequence[float], means: Sequence[Interval], color: str, scale: float) -> None:
    # What does not vary has no interval to show.
    wide = [(place, mean) for place, mean in zip(places, means, strict=True) if mean.low < mean.high]
    # Rounding may put a mean a little beyond the possible, where its interval is cut.
    below = [max(0.0, mean.mean - mean.low) * scale for _, mean in wide]
    above = [max(0.0, mean.high - mean.mean) * scale for _, mean in wide]
    axes.errorbar(
        [place for place, _ in wide], [mean.mean * scale for _, mean in wide], [below, above],
        fmt="none", ecolor=color, elinewidth=0.8, capsize=1.6, capthick=0.8,
    )  # fmt: skip


def _name_groups(axes: Axes, groups: Sequence[str]) -> None:
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
