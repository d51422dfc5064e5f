"""Figure of waits and slowdowns of one or several results: distributions over all jobs, and means by size."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from holdfast.experiments.figures.canvas import PAGE, new_figure, subplots
from holdfast.experiments.figures.style import (
    FONT,
    INK,
    dress,
    legend_above,
    mechanism_color,
    mechanism_marker,
    panel_letters,
)
from holdfast.workloads.ground.errors import InputError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    Floats = np.ndarray[Any, np.dtype[np.float64]]

__all__ = ["draw_distributions"]

Rows = Sequence[Mapping[str, Any]]

_WAIT, _SLOWDOWN = "wait_h", "bounded_slowdown"
#: Results that leave room for two lines each, at most.
_FEW = 3
#: Ticks of the waits [h].
_WAITS = ((0.0, "0"), (1 / 60, "1 min"), (1 / 6, "10 min"), (1.0, "1 h"), (6.0, "6 h"), (24.0, "1 d"),
          (168.0, "1 week"), (1008.0, "6 weeks"))  # fmt: skip
_DASHES = ("-", (0, (5, 1.5)), (0, (1, 1)), (0, (4, 1, 1, 1)))


def draw_distributions(rows: Rows) -> Figure:
    """Waits and bounded slowdowns: above as cumulative distributions, below by size.

    Parameters
    ----------
    rows
        Rows of :func:`holdfast.experiments.timelines.distributions.distribution_rows`.

    Returns
    -------
    Figure
        2 x 2 panels. Of more than three results, whose curves would coincide: jobs up to each value less those of the
        first. By size: dots are medians, thick lines the middle half of the jobs, and for few results thin
        lines 90 % of them.

    Raises
    ------
    InputError
        If there is nothing to show.
    """
    if not rows:
        raise InputError("no job ran; there are no waits to draw")
    names = list(dict.fromkeys(str(row["mechanism"]) for row in rows))
    sizes = [words for words in dict.fromkeys(str(row["sizes"]) for row in rows) if words != "all"]
    height = 0.6 + 0.045 * len(sizes) * min(len(names), 8)
    figure = new_figure(PAGE, 1.9 + 1.5 * height)
    panels = subplots(figure, 2, 2, sharex="col", sharey="row", height_ratios=(1, height))
    handles: dict[str, Any] = {}
    apart = len(names) > _FEW
    for column, (metric, title) in enumerate(((_WAIT, "Waits"), (_SLOWDOWN, "Bounded slowdowns"))):
        own = [row for row in rows if row["metric"] == metric]
        above, below = panels[0, column], panels[1, column]
        first = _curve(own, names[0])
        for place, name in enumerate(names):
            mine = [row for row in own if row["mechanism"] == name]
            values, shares = _curve(mine, name)
            if apart:
                values, shares = _difference(values, shares, *first)
            (handles[name],) = above.plot(
                values, shares,
                color=mechanism_color(name, place), linestyle=_DASHES[place % len(_DASHES)], linewidth=1.2,
            )  # fmt: skip
            _draw_sizes(below, mine, sizes, name, place, len(names))
        if not apart:
            above.set_ylim(0, 100)
            above.set_yticks([0, 25, 50, 75, 100])
        below.set_yticks(range(len(sizes)), sizes)
        below.set_ylim(len(sizes) - 0.5, -0.5)
        label = "Jobs (points)" if apart else "Jobs (%)"
        words = f"{title}, less {names[0]}" if apart else title
        dress(above, y=label if metric == _WAIT else "", title=words)
        label = "Wait" if metric == _WAIT else "Turnaround / runtime, at least 1"
        dress(below, x=label, y="Size (nodes)" if metric == _WAIT else "", title=f"{title} by size", grid="x")
        below.tick_params(axis="y", length=0)
        _scale(below, metric, max(row["value"] for row in own))
    panel_letters(list(panels.flat))
    if len(names) > 1:
        legend_above(figure, list(handles.values()), names, columns=min(len(names), 7))
    words = "By size: dots are medians, lines the middle half of the jobs"
    if apart:
        words = f"Above: share of the jobs up to each value, less that under {names[0]}\n{words}"
    else:
        words = "By size: dots are medians, thick lines the middle half of the jobs, thin ones 90 % of them"
    figure.supxlabel(words, fontsize=FONT["note"], color=INK)
    return figure


def _curve(rows: Rows, name: str) -> tuple[Floats, Floats]:
    """Values, and the share of the jobs up to each [%]."""
    own = [row for row in rows if row["mechanism"] == name and row["sizes"] == "all"]
    return (np.array([row["value"] for row in own]), np.array([100.0 * row["quantile"] for row in own]))


def _difference(values: Floats, shares: Floats, others: Floats, their: Floats) -> tuple[Floats, Floats]:
    """Share of the jobs up to each value, less the share in another result."""
    at = np.union1d(values, others)
    return at, _shares_at(at, values, shares) - _shares_at(at, others, their)


def _shares_at(at: Floats, values: Floats, shares: Floats) -> Floats:
    """Share of the jobs up to each value; of equal quantiles the last counts."""
    unique, counts = np.unique(values, return_counts=True)
    found: Floats = np.interp(at, unique, shares[np.cumsum(counts) - 1], left=0.0, right=100.0)
    return found


def _draw_sizes(axes: Axes, rows: Rows, sizes: Sequence[str], name: str, place: int, of: int) -> None:
    """A dot with its two lines for each class of sizes, those of several results below each other."""
    color = mechanism_color(name, place)
    step = 0.8 / of
    for line, words in enumerate(sizes):
        found = {row["quantile"]: row["value"] for row in rows if str(row["sizes"]) == words}
        if not found:
            continue
        at = line + (place - (of - 1) / 2) * step
        few = of <= _FEW
        if few:
            axes.plot([found[0.05], found[0.95]], [at, at], color=color, linewidth=0.7, solid_capstyle="butt")
        axes.plot([found[0.25], found[0.75]], [at, at], color=color, linewidth=3.0 if few else 0.9,
                  solid_capstyle="butt", alpha=0.55 if few else 1.0)  # fmt: skip
        axes.plot([found[0.5]], [at], mechanism_marker(name, place), color=color, markersize=4.5 if few else 3.2,
                  markeredgecolor="white" if few else color, markeredgewidth=0.4, zorder=3)  # fmt: skip


def _scale(axes: Axes, metric: str, most: float) -> None:
    """Waits on a scale that shows minutes and days, from 0; slowdowns on a logarithmic one, from 1."""
    if metric == _WAIT:
        axes.set_xscale("symlog", linthresh=1 / 60, linscale=0.5)
        marks = [mark for mark in _WAITS if mark[0] <= 1.4 * max(most, 1 / 6)]
        axes.set_xlim(0, max(1.15 * most, 1 / 6))
        axes.set_xticks([at for at, _ in marks], [text for _, text in marks])
        axes.minorticks_off()
    else:
        axes.set_xscale("log")
        axes.set_xlim(1, max(1.3 * most, 10))
