"""Figure of the queue over time: waiting jobs, nodes and node-hours, and the wait of its head."""

from __future__ import annotations

from typing import TYPE_CHECKING, Unpack

import numpy as np

from holdfast.experiments.figures.canvas import PAGE, CanvasOptions, new_figure, plot, subplots
from holdfast.experiments.figures.recording.time_axis import TimeAxis
from holdfast.experiments.figures.style import INK, TYPE_COLORS, dress, panel_letters
from holdfast.experiments.recordings.time_windows import Window
from holdfast.experiments.timelines.waiting import Stay, heads, levels, stays
from holdfast.simulator.results.recording import Recording
from holdfast.workloads.ground.units import SECOND
from holdfast.workloads.table.job import JobType

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from holdfast.experiments.timelines.steps import Floats

__all__ = ["plot_queue"]

_HOUR = 3600 * SECOND


@plot
def plot_queue(recording: Recording, window: Window | None = None, **canvas: Unpack[CanvasOptions]) -> Figure:
    """Draw the queue over time.

    Parameters
    ----------
    recording
        With its event log.
    window
        What is shown; default everything. Curves with too many steps to be seen are averaged over bins.
    **canvas
        Width, style and axes (:class:`~holdfast.experiments.figures.canvas.CanvasOptions`).

    Returns
    -------
    Figure
        Four panels: waiting jobs, the nodes that they ask for [% of the machine], these times what is left of their
        walltimes [node-hours], and how long the head of the queue has waited since it was submitted or preempted.
        Under another order than first come, first served, the job that was submitted first stands for the head.

    Raises
    ------
    InputError
        If there is no event log, or the window is empty.
    """
    axis = TimeAxis.of(recording, window)
    found = stays(recording)
    times, jobs, nodes, work = levels(found)
    inside = int(np.count_nonzero((times > axis.opens) & (times < axis.closes)))
    edges, over = axis.bins(inside)

    figure = new_figure(PAGE, 5.2)
    panels = subplots(figure, 4, 1, sharex=True)
    scale, unit = _node_hours(float(work.max()) / _HOUR)
    courses = ((jobs, 1.0), (nodes, 100.0 / recording.nodes), (work, 1.0 / _HOUR / scale))
    for axes, (course, factor) in zip(panels, courses, strict=False):
        _draw(axes, *axis.steps(times, factor * course.astype(np.float64), edges))
    _draw_head(panels[3], found, axis, edges)
    first = "head of the queue" if recording.options.order == "fcfs" else "first submitted"
    name = recording.name
    dress(panels[0], y="Jobs", title=f"Waiting jobs under {name}")
    dress(panels[1], y="Nodes (%)", title="Nodes that they ask for, of the machine")
    dress(panels[2], y=f"Work ({unit})", title="Nodes times what is left of the walltimes")
    dress(panels[3], y="Time (h)", title=f"How long the {first} has waited")
    for axes in panels:
        axes.set_ylim(0, None)
        axes.locator_params(axis="y", nbins=4)
        axis.dress(axes, over, labels=axes is panels[3])
    panel_letters(list(panels))
    figure.align_ylabels()
    return figure


def _node_hours(most: float) -> tuple[float, str]:
    """The unit in which a number of node-hours has few digits."""
    for scale, unit in ((1e6, "M node-h"), (1e3, "k node-h")):
        if most >= 2 * scale:
            return scale, unit
    return 1.0, "node-h"


def _draw(axes: Axes, edges: Floats, values: Floats) -> None:
    axes.stairs(values, edges, fill=True, color=INK, alpha=0.35, linewidth=0)
    axes.stairs(values, edges, color=INK, linewidth=0.6, baseline=None)


def _draw_head(axes: Axes, found: Sequence[Stay], axis: TimeAxis, edges: npt.NDArray[np.int64]) -> None:
    """Draw the wait of the head, a sawtooth that falls when the head starts; with too many teeth, means over bins."""
    color = TYPE_COLORS[JobType.RIGID]
    parts: list[tuple[int, int, int]] = []
    for start, end, stay in heads(found):
        if end > axis.opens and start < axis.closes:
            if parts and parts[-1][1] == start and parts[-1][2] == stay.start:
                start = parts.pop()[0]
            parts.append((max(start, axis.opens), min(end, axis.closes), stay.start))
    if not len(edges):
        for start, end, since in parts:
            waited = [(start - since) / _HOUR, (end - since) / _HOUR]
            axes.fill_between(axis([start, end]), waited, color=color, alpha=0.35, linewidth=0)
            axes.plot(axis([start, end]), waited, color=color, linewidth=0.8)
        return
    total = np.zeros(len(edges) - 1)
    for start, end, since in parts:
        first = int(np.searchsorted(edges, start, side="right")) - 1
        while first < len(total) and start < end:
            stop = min(end, int(edges[first + 1]))
            total[first] += (stop - start) * ((start + stop) / 2 - since)
            start, first = stop, first + 1
    values = total / np.diff(edges) / _HOUR
    axes.stairs(values, axis(edges), fill=True, color=color, alpha=0.35, linewidth=0)
    axes.stairs(values, axis(edges), color=color, linewidth=0.6, baseline=None)
