"""Gantt chart of any window of a recording: the nodes of each job over time."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Unpack

from holdfast.experiments.figures.canvas import (
    PAGE,
    CanvasOptions,
    new_figure,
    plot,
    set_resolution,
    subplots,
    width_inches,
)
from holdfast.experiments.figures.recording.job_colors import Tones, ink_on, job_colors
from holdfast.experiments.figures.recording.time_axis import TimeAxis
from holdfast.experiments.figures.style import FONT, INK, STATE_COLORS, TYPE_COLORS, dress, legend_above
from holdfast.experiments.placement.rectangles import Rectangle, cut_rectangles
from holdfast.experiments.placement.spans import DOWN, HELD, RUN, WARNED, place_nodes
from holdfast.experiments.recordings.time_windows import Window
from holdfast.simulator.results.recording import Recording
from holdfast.workloads.ground.errors import InputError
from holdfast.workloads.ground.job_ids import job_id_text
from holdfast.workloads.table.job import JobType

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["plot_gantt"]

#: A larger machine gets a taller chart.
_LARGE = 64
#: Numbers of rectangles above which edges get thin, and above which only large ones have edges and the PDF file is
#: rasterised.
_THIN, _MANY = 400, 4000
#: Size of a large rectangle, as shares of the window and of the machine.
_WIDE, _TALL = 0.006, 0.012
#: Width of a character on the chart of a page [share of the window].
_LETTER = 0.009
#: Names shorter than this leave room for all in one line of the legend.
_SHORT = 10
#: Largest number of notices and arrivals with markers.
_CALLS = 30


@plot
def plot_gantt(
    result: Recording,
    window: Window | None = None,
    *,
    labels: Mapping[int, str] | None = None,
    color: str = "type",
    **canvas: Unpack[CanvasOptions],
) -> Figure:
    """Draw the runs in a window of time; warnings are hatched, preemptions end in a dark edge.

    Parameters
    ----------
    result
        With its event log.
    window
        Time window; default everything.
    labels
        Labels of jobs, by default their ids; they are drawn where they fit.
    color
        Property shown by colour: ``type``, ``user``, ``project`` or ``size``.
    **canvas
        Width, style and axes (:class:`~holdfast.experiments.figures.canvas.CanvasOptions`).

    Returns
    -------
    Figure
        Nodes over time. Where there are few, triangles above mark notices and arrivals of on-demand jobs. What is
        neither a run nor held nor down is idle.

    Raises
    ------
    InputError
        If the result has no event log, nothing runs in the window, or colours cannot show that.
    """
    spans = place_nodes(result)
    axis = TimeAxis.of(result, window)
    shown = [item for item in cut_rectangles(spans) if item.end > axis.opens and item.start < axis.closes]
    if not any(item.kind == RUN for item in shown):
        raise InputError("no job runs in this window")
    types = {record.job_id: record.type for record in result.records}
    tones = job_colors(result, color)
    names = {job_id: (labels or {}).get(job_id, job_id_text(job_id)) for job_id in types}

    figure = new_figure(PAGE, 2.7 if result.nodes <= _LARGE else 4.2)
    # Pixels in a PDF file are as fine as those of the PNG file.
    set_resolution(figure, 150 if len(shown) <= _MANY else 300)
    axes = subplots(figure)
    handles, texts = _draw(axes, shown, tones, axis, result.nodes)
    axes.set_ylim(0, result.nodes)
    dress(axes, y="Node (number)", grid="none")
    axis.dress(axes)
    axes.locator_params(axis="y", integer=True)
    _name(axes, shown, names, tones, axis, result.nodes)
    marked = _mark_calls(axes, result, types, names, axis)
    axes.text(
        0, 1.17 if marked else 1.03, result.name, transform=axes.transAxes,
        fontsize=FONT["title"], color=INK,
    )  # fmt: skip
    # Names may be numbers, as those of the jobs on the chart are: the title tells them apart.
    title = f"by {color}; numbers on the chart are jobs" if color in ("user", "project") else ""
    most = 12 if max(map(len, texts)) < _SHORT else 7
    legend_above(figure, handles, texts, columns=min(len(texts), most), title=title)
    return figure


def _draw(
    axes: Axes, shown: Sequence[Rectangle], tones: Tones, axis: TimeAxis, nodes: int
) -> tuple[list[Any], list[str]]:
    """Draw all rectangles, grouped by style; returns the legend entries."""
    from matplotlib.patches import Patch

    edge = 0.5 if len(shown) <= _THIN else 0.2
    many = len(shown) > _MANY
    handles: list[Any] = []
    texts: list[str] = []

    def add(items: Sequence[Rectangle], **look: Any) -> None:
        if items:
            axes.add_collection(_collection(items, axis, rasterized=many, **look))

    held = [item for item in shown if item.kind == HELD]
    add(held, facecolor=STATE_COLORS["held"], alpha=0.35, linewidth=0)
    for kind, color in tones.colors.items():
        own = [item for item in shown if item.kind == RUN and tones.of[item.job_id] == kind]
        warned = [item for item in shown if item.kind == WARNED and tones.of[item.job_id] == kind]
        small = [item for item in own if many and not _is_large(item, axis, nodes)]
        add(small, facecolor=color, linewidth=0)
        large = own if not small else [item for item in own if _is_large(item, axis, nodes)]
        add(large, facecolor=color, edgecolor="white", linewidth=edge)
        if own:
            handles.append(Patch(facecolor=color))
            texts.append(kind)
        add(warned, facecolor=color, edgecolor="white", linewidth=edge, hatch="/////")
    if any(item.kind == WARNED for item in shown):
        handles.append(Patch(facecolor="white", edgecolor=INK, hatch="/////", linewidth=0.5))
        texts.append("under warning")
    ends = [item for item in shown if item.ending == "preempt" and item.end <= axis.closes]
    if ends:
        width = 0.35 if many else 1.6 if edge == 0.5 else 0.9
        axes.vlines(
            axis([item.end for item in ends]), [item.low for item in ends], [item.high for item in ends], color="black",
            linewidth=width, zorder=3,
        )  # fmt: skip
        handles.append(Patch(facecolor="black"))
        texts.append("preempted here")
    if held:
        handles.append(Patch(facecolor=STATE_COLORS["held"], alpha=0.35))
        texts.append("held")
    down = [item for item in shown if item.kind == DOWN]
    if down:
        add(down, facecolor="#D0D0D0", edgecolor="#808080", linewidth=0, hatch="xxxx")
        handles.append(Patch(facecolor="#D0D0D0", edgecolor="#808080", hatch="xxxx", linewidth=0))
        texts.append("down")
    return handles, texts


def _is_large(item: Rectangle, axis: TimeAxis, nodes: int) -> bool:
    """Whether a rectangle is large enough for an edge."""
    return item.end - item.start > _WIDE * (axis.closes - axis.opens) and item.high - item.low > _TALL * nodes


def _collection(items: Sequence[Rectangle], axis: TimeAxis, **look: Any) -> Any:
    from matplotlib.collections import PolyCollection

    left, right = axis([item.start for item in items]), axis([item.end for item in items])
    corners = [
        ((start, item.low), (start, item.high), (end, item.high), (end, item.low))
        for item, start, end in zip(items, left.tolist(), right.tolist(), strict=True)
    ]
    return PolyCollection(corners, **look)


def _letter(axes: Axes) -> float:
    """Width of a character [share of the window]."""
    figure: Any = axes.figure  # or a part of one, which has the same methods
    return _LETTER * max(1.0, PAGE / width_inches(figure))


def _name(
    axes: Axes, shown: Sequence[Rectangle], names: Mapping[int, str], tones: Tones, axis: TimeAxis, nodes: int
) -> None:
    """Write the job's label on each rectangle where it fits."""
    span = axis.closes - axis.opens
    for item in shown:
        start, end = max(axis.opens, item.start), min(axis.closes, item.end)
        name = names[item.job_id] if item.kind == RUN else ""
        tall = item.high - item.low > (0.055 if nodes <= _LARGE else 0.035) * nodes
        if name and tall and end - start >= (0.002 + _letter(axes)) * len(name) * span:
            axes.text(
                float(axis((start + end) / 2)), (item.low + item.high) / 2, name, ha="center", va="center",
                fontsize=FONT["note"], color=ink_on(tones.colors[tones.of[item.job_id]]),
            )  # fmt: skip


def _mark_calls(
    axes: Axes, result: Recording, types: Mapping[int, JobType], names: Mapping[int, str], axis: TimeAxis
) -> bool:
    """Draw triangles above the machine, open for a notice, filled for an arrival. Returns whether there are any."""
    found = [
        (entry.time, entry.job_id, entry.event == "submit")
        for entry in result.entries
        if types.get(entry.job_id) is JobType.ON_DEMAND
        and entry.event in ("submit", "notice")
        and axis.opens <= entry.time <= axis.closes
    ]
    if len(found) > _CALLS:
        return False
    color = TYPE_COLORS[JobType.ON_DEMAND]
    free = -math.inf  # where the last name ends
    for time, job_id, arrival in found:
        at = float(axis(time))
        axes.plot(
            [at], [1.025], marker="v", markersize=4, color=color, markerfacecolor=color if arrival else "white",
            markeredgewidth=0.8, clip_on=False, transform=axes.get_xaxis_transform(),
        )  # fmt: skip
        name = names[job_id] if arrival else f"notice {names[job_id]}"
        half = _letter(axes) / 2 * len(name) * (axis.closes - axis.opens)
        if time - half > free:
            free = time + half
            axes.annotate(
                name, (at, 1.05), xycoords=axes.get_xaxis_transform(), ha="center", va="bottom", fontsize=FONT["note"],
                color=color,
            )  # fmt: skip
    return bool(found)
