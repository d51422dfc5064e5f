"""Stacked area chart of node use over time: compute, setup, checkpoints, losses, held and idle nodes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Unpack

import numpy as np

from holdfast.experiments.figures.canvas import PAGE, CanvasOptions, new_figure, plot, subplots
from holdfast.experiments.figures.recording.time_axis import TimeAxis
from holdfast.experiments.figures.style import STATE_COLORS, dress, legend_above, panel_letters
from holdfast.experiments.recordings.time_windows import Window, accounting_start
from holdfast.experiments.timelines.phases import use_of_time
from holdfast.simulator.results.integrals import integral
from holdfast.simulator.results.recording import Recording

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from holdfast.experiments.timelines.steps import Floats

__all__ = ["plot_use"]

#: The two dominant uses; the others are too small to be seen beside them.
_LARGE = ("compute", "idle")


@plot
def plot_use(recording: Recording, window: Window | None = None, **canvas: Unpack[CanvasOptions]) -> Figure:
    """Draw the use of the nodes over time.

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
        Two panels, stacked in per cent of the nodes: everything, and, enlarged, what is neither compute nor idle. The
        legend gives the shares of the time that is shown; of everything they are those of ``accounting.csv``.

    Raises
    ------
    InputError
        If there is no event log, or the window is empty.
    """
    axis = TimeAxis.of(recording, window)
    use = use_of_time(recording)
    times = use.times + accounting_start(recording)
    inside = int(np.count_nonzero((times > axis.opens) & (times < axis.closes)))
    edges, over = axis.bins(inside)
    # Nothing is drawn after the last completion.
    courses = {
        name: axis.steps(times, np.append(level, 0) * (100.0 / recording.nodes), edges)
        for name, level in use.nodes.items()
    }
    spans = np.diff(np.clip(times, axis.opens, axis.closes))
    whole = recording.nodes * int(spans.sum())
    shares = {name: 100.0 * integral(level, spans) / whole if whole else 0.0 for name, level in use.nodes.items()}
    shown = [name for name in use.nodes if shares[name] > 0]

    figure = new_figure(PAGE, 4.0)
    top, bottom = subplots(figure, 2, 1, sharex=True, height_ratios=(1.25, 1))
    handles = _stack(top, courses, shown)
    small = [name for name in shown if name not in _LARGE]
    _stack(bottom, courses, small)
    most = max((float(np.max(sum(courses[name][1] for name in small)))) if small else 0.0, 1e-9)
    dress(top, y="Nodes (%)", title=f"Use of the nodes under {recording.name}")
    dress(bottom, y="Nodes (%)", title="Neither compute nor idle")
    top.set_ylim(0, 100)
    bottom.set_ylim(0, min(100.0, 1.06 * most))
    axis.dress(top, labels=False)
    axis.dress(bottom, over)
    panel_letters([top, bottom])
    figure.align_ylabels()
    legend_above(figure, handles, [f"{name} {_percent(shares[name])}" for name in shown], columns=min(4, len(shown)))
    return figure


def _stack(axes: Axes, courses: dict[str, tuple[Floats, Floats]], names: list[str]) -> list[object]:
    base: Floats | None = None
    handles: list[object] = []
    for name in names:
        edges, values = courses[name]
        floor = np.zeros_like(values) if base is None else base
        base = floor + values
        handles.append(
            axes.stairs(base, edges, baseline=floor, fill=True, color=STATE_COLORS[name], linewidth=0, label=name)
        )
    return handles


def _percent(share: float) -> str:
    """Format a percentage with two or three significant digits.

    >>> _percent(78.94), _percent(0.42), _percent(0.003)
    ('78.9 %', '0.42 %', '<0.01 %')
    """
    if share < 0.01:
        return "<0.01 %"
    return f"{share:.1f} %" if share >= 1 else f"{share:.2f} %"
