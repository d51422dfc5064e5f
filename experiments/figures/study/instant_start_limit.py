"""Figure of instant starts over the share of on-demand projects, with the share at which they fall below 95 %."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from holdfast.experiments.figures.canvas import PAGE, new_figure, subplots
from holdfast.experiments.figures.study.line_panels import Ruler, draw_course
from holdfast.experiments.figures.style import FONT, INK, dress, legend_above, mechanism_color, panel_letters
from holdfast.simulator.results.catalogue import metric
from holdfast.workloads.ground.errors import InputError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["plot_instant_start_limit"]

Rows = Sequence[Mapping[str, Any]]

_PANELS = tuple(map(metric, ("instant_start_ratio", "turnaround_h", "utilization")))
_RULER = Ruler("share", "On-demand projects (%)", scale=100.0)


def plot_instant_start_limit(rows: Rows, bearable: Rows) -> Figure:
    """Instant starts over the share of on-demand projects, the share that is bearable, and what others pay.

    Parameters
    ----------
    rows
        One for each simulation.
    bearable
        One for each mechanism: where the level is crossed, and the bounds.

    Raises
    ------
    InputError
        If there is nothing to show.
    """
    if not rows:
        raise InputError("there are no simulations to draw")
    figure = new_figure(PAGE, 4.3)
    panels = subplots(figure, 2, 2)
    starts, shares, others, machine = panels.flat
    handles = draw_course(starts, rows, _PANELS[0], _RULER, within=False)
    _draw_bearable(starts, shares, bearable)
    for axes, shown in ((others, _PANELS[1]), (machine, _PANELS[2])):
        draw_course(axes, rows, shown, _RULER)
    for axes in panels.flat:
        axes.set_xlabel(_RULER.label, fontsize=FONT["label"], color=INK, labelpad=2)
    panel_letters(list(panels.flat))
    legend_above(figure, list(handles.values()), list(handles))
    return figure


def _draw_bearable(starts: Axes, shares: Axes, bearable: Rows) -> None:
    """The level in the first panel, and a line with its interval for each mechanism in the second."""
    names = [row["mechanism"] for row in bearable]
    title = "Bearable share"
    for place, row in enumerate(bearable):
        color = mechanism_color(row["mechanism"], place)
        low, middle, high = (100 * row[name] for name in ("low", "share", "high"))
        shares.plot([low, high], [place, place], color=color, linewidth=1.6, solid_capstyle="butt")
        for name, at in (("low", low), ("high", high)):
            # An open end: the crossing lies beyond the shares that were simulated.
            mark = {"<": "<", ">": ">"}.get(row[f"{name}_open"] or "", "|")
            shares.plot([at], [place], mark, color=color, markersize=5)
        shares.plot([middle], [place], "o", color=color, markersize=5, markeredgecolor="white")
        label = f"{row['share_open'] or ''}{middle:.0f} %"
        shares.annotate(label, (middle, place), (0, 4), textcoords="offset points", ha="center", fontsize=FONT["note"],
                        color=INK)  # fmt: skip
        title = f"Share at which {100 * row['level']:g} % are crossed"
    if bearable:
        level = 100 * bearable[0]["level"]
        starts.axhline(level, color=INK, linewidth=0.8, linestyle=(0, (1, 1.5)))
        starts.annotate(f"{level:g} %", (1.0, level), xycoords=("axes fraction", "data"), xytext=(0, 2), ha="right",
                        textcoords="offset points", fontsize=FONT["note"], color=INK)  # fmt: skip
        shares.set_xlim(starts.get_xlim())
        shares.set_ylim(len(names) - 0.5, -0.7)
    dress(shares, title=title, grid="x")
    shares.set_yticks(range(len(names)), names)
    shares.tick_params(axis="y", length=0)
