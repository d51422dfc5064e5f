"""Figure of turnaround against instant starts: all choices, with the Pareto front highlighted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from holdfast.experiments.figures.canvas import PAGE, new_figure, subplots
from holdfast.experiments.figures.style import FONT, INK, dress, legend_above, mechanism_color, panel_letters
from holdfast.workloads.ground.errors import InputError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["plot_front"]

Rows = Sequence[Mapping[str, Any]]

_MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<", ">", "p", "h", "*", "d")
_FAINT = {"open": 0.75, "beaten": 0.45, "oracle": 0.9}


def plot_front(rows: Rows, meanings: Mapping[str, str], default: str) -> Figure:
    """A panel for each meaning of instant: better is to the left and up; the front is joined by steps.

    Intervals are drawn of the front alone: those of all choices would hide the points. The table has all.

    Parameters
    ----------
    rows
        One for each meaning of instant and each choice.
    meanings
        Column of the instant starts, and how late is instant.
    default
        What the option is called where all are at their defaults.

    Raises
    ------
    InputError
        If there is nothing to show.
    """
    if not rows:
        raise InputError("there are no choices to draw")
    options = [default, *sorted({row["option"] for row in rows} - {default})]
    marker = {option: _MARKERS[place % len(_MARKERS)] for place, option in enumerate(options)}
    figure = new_figure(PAGE, 4.4)
    panels = subplots(figure, 1, len(meanings), squeeze=False)[0]
    for axes, (metric, words) in zip(panels, meanings.items(), strict=True):
        own = [row for row in rows if row["instant"] == metric]
        _draw_panel(axes, own, marker, default)
        dress(axes, x="Average turnaround of all jobs (h), bars: 95 %", y="On-demand jobs started instantly (%)",
              title=f"Instant: within {words}" if words != "0 s" else "Instant: at once (0 s)")  # fmt: skip
    panel_letters(list(panels))
    legend_above(figure, *_legend(rows, marker), columns=6)
    return figure


def _legend(rows: Rows, marker: Mapping[str, str]) -> tuple[list[Any], list[str]]:
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    names = list(dict.fromkeys(row["mechanism"] for row in rows))
    # Colours are mechanisms, signs are options.
    handles: list[Any] = [Patch(color=mechanism_color(name, place)) for place, name in enumerate(names)]
    oracles = {row["option"] for row in rows if row["standing"] == "oracle"}
    handles += [
        Line2D([], [], linestyle="none", marker=sign, color=INK, markersize=4,
               markerfacecolor="none" if option in oracles else INK)
        for option, sign in marker.items()
    ]  # fmt: skip
    return handles, [*names, *marker]


def _draw_panel(axes: Axes, rows: Rows, marker: Mapping[str, str], default: str) -> None:
    names = list(dict.fromkeys(row["mechanism"] for row in rows))
    shown = [row for row in rows if row["mechanism"] != "baseline"]
    for row in rows:
        color = mechanism_color(row["mechanism"], names.index(row["mechanism"]))
        front = row["standing"] == "front"
        faint = _FAINT.get(row["standing"], 1.0)
        x, y = row["turnaround"], row["instant_start"]
        if front:
            bars: dict[str, Any] = {"color": color, "linewidth": 0.9, "alpha": 0.6, "zorder": 2}
            axes.hlines(y, row["turnaround_low"], row["turnaround_high"], **bars)
            axes.vlines(x, max(0.0, row["instant_start_low"]), min(100.0, row["instant_start_high"]), **bars)
        axes.plot(
            [x], [y], marker[row["option"]], color=color, alpha=faint, zorder=5 if front else 3,
            markersize=5.5 if front else 4, markeredgecolor=INK if front else color, markeredgewidth=0.8,
            markerfacecolor="none" if row["standing"] == "oracle" else color,
        )  # fmt: skip
    _steps(axes, rows)
    _fit(axes, shown, rows)


def _steps(axes: Axes, rows: Rows) -> None:
    """The front from left to right."""
    front = sorted((row for row in rows if row["standing"] == "front"), key=lambda row: row["turnaround"])
    x, y = [row["turnaround"] for row in front], [row["instant_start"] for row in front]
    axes.step(x, y, where="post", color=INK, linewidth=0.8, zorder=2)


def _fit(axes: Axes, shown: Rows, rows: Rows) -> None:
    """Limits by what can be chosen; labels at the edge name the baseline and oracles that lie far outside."""
    possible = [row for row in rows if row["standing"] != "oracle"]
    x, y = [row["turnaround"] for row in possible], [row["instant_start"] for row in shown]
    wide, high = max(max(x) - min(x), 0.1), max(max(y) - min(y), 1.0)
    left, low = min(x) - 0.2 * wide, min(y) - 0.25 * high
    axes.set_xlim(left, max(x) + 0.12 * wide)
    axes.set_ylim(max(0.0, low), min(100.0, max(y) + 0.15 * high))
    arrow = {"arrowstyle": "->", "color": INK, "linewidth": 0.7}
    beyond = [row["turnaround"] for row in rows if row["standing"] == "oracle" and row["turnaround"] < left]
    if beyond:
        axes.annotate(
            f"true runtimes: {min(beyond):.1f} h", (left, low), (16, 8), textcoords="offset points", va="center",
            fontsize=FONT["note"], color=INK, arrowprops=arrow,
        )  # fmt: skip
    below = [row for row in rows if row["instant_start"] < low]
    for number, row in enumerate(below):
        axes.annotate(  # one above the other, and above the label of the oracles
            f"{row['mechanism']}: {row['instant_start']:.0f} %", (row["turnaround"], low), (-6, 26 + 10 * number),
            textcoords="offset points", ha="right", va="center", fontsize=FONT["note"], color=INK, arrowprops=arrow,
        )  # fmt: skip
