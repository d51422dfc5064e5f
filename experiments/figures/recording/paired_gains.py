"""Figure of two results of the same jobs: metrics by group, and their differences."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Unpack

from holdfast.experiments.figures.canvas import PAGE, CanvasOptions, new_figure, plot, subplots
from holdfast.experiments.figures.style import FONT, INK, dress, legend_above
from holdfast.experiments.recordings.gain_rows import JOINT
from holdfast.experiments.recordings.job_groups import ORDERED
from holdfast.experiments.recordings.paired_comparison import Gains, shown_unit
from holdfast.simulator.results.catalogue import metric

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["plot_gains"]

Row = Mapping[str, Any]

#: Number of largest losses, and of largest gains, that are drawn.
_EACH = 14
#: Colour and marker of a difference, by verdict; they differ in lightness and shape.
_MARKS = {
    "gains": ("#56C2A0", "<"),
    "loses": ("#A83C00", ">"),
    "undecided": ("#7F7F7F", "o"),
    "equal": ("#7F7F7F", "|"),
}


@plot
def plot_gains(found: Gains, name: str = "wait_h", **canvas: Unpack[CanvasOptions]) -> Figure:
    """Draw means of both results and their difference with its interval, one line for each group.

    Parameters
    ----------
    found
        Result of :func:`holdfast.experiments.recordings.paired_comparison.gains`.
    name
        The metric.
    **canvas
        Width, style and axes (:class:`~holdfast.experiments.figures.canvas.CanvasOptions`).

    Returns
    -------
    Figure
        Two panels. All jobs come first, then the groups in the order of ``found.of(name)``; of many by losses only the
        extremes.
    """
    rows, shown = found.of(name), metric(name)
    left_out = 0
    if len(rows) > 2 * _EACH + 1 and found.by not in ORDERED:
        left_out = len(rows) - 2 * _EACH - 1
        rows = [*rows[: 1 + _EACH], *rows[-_EACH:]]
    unit, scale = shown_unit(shown, rows)
    figure = new_figure(PAGE, 1.15 + 0.17 * len(rows))
    left, right = subplots(figure, 1, 2, sharey=True)
    _draw_results(left, rows, scale)
    _draw_differences(right, rows, scale)
    label = f"{shown.heading} ({unit})" if unit else shown.heading
    dress(left, x=label, title="Both results", grid="x")
    dress(right, x=f"Difference ({unit})" if unit else "Difference", title=f"{found.second} minus {found.first}",
          grid="x")  # fmt: skip
    left.set_xlim(left=0)
    # The interval of a small group may be far wider than all differences.
    wide = max(abs(float(row[end] or 0.0)) for row in rows for end in JOINT) * scale
    most = 2.5 * max(abs(row["difference"]) for row in rows) * scale
    cuts = wide > most > 0
    if cuts:
        right.set_xlim(-most, most)
    left.set_yticks(range(len(rows)), [f"{row['group']} ({row['jobs']:,})" for row in rows])
    left.set_ylim(len(rows) - 0.4, -0.6)
    for axes in (left, right):
        axes.tick_params(axis="y", length=0)
        if len(rows) > 1:
            axes.axhline(0.5, color="#BBBBBB", linewidth=0.6)
    figure.supxlabel(_caption(found.cluster, len(rows), left_out, cuts=cuts), fontsize=FONT["note"], color=INK)
    _add_legend(figure, found, rows)
    return figure


def _draw_results(axes: Axes, rows: Sequence[Row], scale: float) -> None:
    places = range(len(rows))
    first, second = ([row[side] * scale for row in rows] for side in ("first", "second"))
    axes.hlines(places, first, second, color="#B0B0B0", linewidth=1.2, zorder=1)
    axes.plot(first, places, linestyle="none", marker="o", markersize=4, markerfacecolor="white", color=INK, zorder=2)
    axes.plot(second, places, linestyle="none", marker="o", markersize=4, color=INK, zorder=3)


def _draw_differences(axes: Axes, rows: Sequence[Row], scale: float) -> None:
    for place, row in enumerate(rows):
        color, marker = _MARKS[row["verdict"]]
        if row["low"] is not None:
            axes.hlines(place, row["low"] * scale, row["high"] * scale, color=color, linewidth=2.2)
            # The thin line excludes 0 where the verdict does.
            axes.hlines(place, *(row[end] * scale for end in JOINT), color=color, linewidth=0.7)
        axes.plot([row["difference"] * scale], [place], marker=marker, color=color, markersize=4.5, linestyle="none")
    axes.axvline(0.0, color="#888888", linewidth=0.7, zorder=0.8)


def _caption(cluster: str, lines: int, left_out: int, *, cuts: bool) -> str:
    """What the figure shows; ``cuts`` where intervals are wider than it."""
    more = f"; {left_out:,} groups between are not drawn" if left_out else ""
    caption = f"Number of jobs in brackets; 95 % intervals, jobs of one {cluster} taken together{more}"
    if lines > 2:
        caption += "\nThin lines: intervals after Holm's correction for all groups, by which the verdicts are"
    if cuts:
        caption += "; wider intervals are cut at the frame"
    return caption


def _add_legend(figure: Figure, found: Gains, rows: Sequence[Row]) -> None:
    from matplotlib.lines import Line2D

    handles = [
        Line2D([], [], linestyle="none", marker="o", markersize=4, markerfacecolor="white", color=INK),
        Line2D([], [], linestyle="none", marker="o", markersize=4, color=INK),
    ]
    texts = [found.first, found.second]
    for verdict in dict.fromkeys(row["verdict"] for row in rows):
        color, marker = _MARKS[verdict]
        handles.append(Line2D([], [], linestyle="none", marker=marker, markersize=4.5, color=color))
        texts.append(verdict)
    legend_above(figure, handles, texts)
