"""Timeline of on-demand jobs: notice, expected arrival, arrival and start, and the jobs that made room."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np

from holdfast.experiments.figures.canvas import PAGE, CanvasOptions, new_figure, plot, set_resolution, subplots
from holdfast.experiments.figures.recording.on_demand_groups import SOURCES, plot_groups
from holdfast.experiments.figures.style import FONT, INK, STATE_COLORS, TYPE_COLORS, dress, legend_above, panel_letters
from holdfast.experiments.recordings.time_windows import Window, unix_origin
from holdfast.experiments.timelines.on_demand_calls import ROOM, Call, calls
from holdfast.simulator.results.recording import Recording
from holdfast.workloads.ground.errors import InputError
from holdfast.workloads.ground.job_ids import job_id_text
from holdfast.workloads.ground.units import SECOND
from holdfast.workloads.table.job import JobType

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["plot_on_demand"]

_MINUTE = 60 * SECOND
#: Largest number of jobs with a row each.
_NAMED = 48
#: Limit of the time axis [min]; a later start is drawn at the edge.
_LATEST = 60.0
_COLOR = TYPE_COLORS[JobType.ON_DEMAND]


@plot
def plot_on_demand(recording: Recording, window: Window | None = None, **canvas: Unpack[CanvasOptions]) -> Figure:
    """Draw the on-demand jobs expected in a window: one row each, or groups of more than 48.

    Parameters
    ----------
    recording
        With its event log.
    window
        What is shown; default everything.
    **canvas
        Width, style and axes (:class:`~holdfast.experiments.figures.canvas.CanvasOptions`).

    Returns
    -------
    Figure
        Left, in minutes around the expected arrival: notice, arrival, start, time-out, and how long nodes were held.
        Right, as percentages of its request: nodes that others gave up for it. The rest to 100 % was free. Of many
        jobs, shares by whether they came when their notice said
        (:func:`holdfast.experiments.figures.recording.on_demand_groups.plot_groups`).

    Raises
    ------
    InputError
        If there is no event log, or no on-demand job is expected in the window.
    """
    opens, closes = (window or Window()).bounds(recording)
    rows = [call for call in calls(recording) if opens <= call.expected <= closes]
    if not rows:
        raise InputError("no on-demand job is expected in this window")
    if len(rows) > _NAMED:
        return plot_groups(rows, recording.name)
    figure = new_figure(PAGE, 1.5 + 0.135 * len(rows))
    # Use the resolution of the saved file, at which long names are wider than at a coarser one.
    set_resolution(figure, 150)
    left, right = subplots(figure, 1, 2, sharey=True, width_ratios=(1.5, 1))
    handles, texts = _draw_times(left, rows, 3.4)
    more, names = _draw_room(right, rows)
    served = recording.name
    dress(left, x="Time since the expected arrival (min)", title=f"On-demand jobs under {served}", grid="x")
    dress(right, x="Nodes (% of what it asks for)", title="Nodes given up by", grid="x")
    left.set_ylim(len(rows) - 0.4, -0.6)
    left.set_yticks(range(len(rows)), [_name(call, recording) for call in rows])
    for axes in (left, right):
        axes.tick_params(axis="y", length=0)
    panel_letters([left, right])
    legend_above(figure, [*handles, *more], [*texts, *names], columns=5)
    return figure


def _name(call: Call, recording: Recording) -> str:
    origin = unix_origin(recording)
    if origin is None:
        return job_id_text(call.job_id)
    at = datetime.fromtimestamp((call.expected + origin) // SECOND, UTC)
    return f"{job_id_text(call.job_id)}  ({at.day} {at:%b %H:%M})"


def _draw_times(axes: Axes, rows: Sequence[Call], size: float) -> tuple[list[object], list[str]]:
    axes.axvline(0, color="#999999", linewidth=0.8)
    marks = partial(_draw_marks, axes, rows, clip_on=False)
    drawn = {
        "nodes held": _draw_bars(axes, rows, lambda call: call.held, STATE_COLORS["held"], 0.5),
        "waits": _draw_bars(axes, rows, _wait_interval, _COLOR, 0.3),
        "notice": marks(lambda call: call.notice, "v", color=_COLOR, markerfacecolor="white", markersize=size),
        "arrival": marks(lambda call: call.arrival, "v", color=_COLOR, markersize=size, markeredgewidth=0.4),
        "start": marks(lambda call: call.start, "|", color="black", markersize=1.5 * size),
        "reservation given up": marks(lambda call: call.timed_out, "x", color="black", markersize=0.9 * size),
        "never came": _draw_marks(axes, rows, _no_show, "o", markersize=size, color="black", markerfacecolor="white"),
    }
    _limit_time_axis(axes, rows)
    shown = {text: artist for text, artist in drawn.items() if artist is not None}
    return list(shown.values()), list(shown)


def _minutes(call: Call, at: int | None) -> float:
    """Minutes since the expected arrival, up to the limit of the axis; NaN: never."""
    return np.nan if at is None else min((at - call.expected) / _MINUTE, _LATEST)


def _wait_interval(call: Call) -> tuple[int, int] | None:
    if call.arrival is None or call.start is None or call.start == call.arrival:
        return None
    return call.arrival, call.start


def _no_show(call: Call) -> int | None:
    """When a job that never came was expected."""
    return call.expected if call.arrival is None else None


def _draw_bars(
    axes: Axes, rows: Sequence[Call], span: Callable[[Call], tuple[int, int] | None], color: str, height: float
) -> object | None:
    """Draw a span of each job that has one; None: no job has."""
    spans = [(place, call, ends) for place, call in enumerate(rows) if (ends := span(call))]
    if not spans:
        return None
    places = np.array([place for place, _, _ in spans])
    start, end = (np.array([_minutes(call, ends[side]) for _, call, ends in spans]) for side in (0, 1))
    return axes.barh(places, end - start, left=start, height=height, color=color, linewidth=0)


def _draw_marks(
    axes: Axes, rows: Sequence[Call], at: Callable[[Call], int | None], marker: str, **style: Any
) -> object | None:
    """Draw a time of each job that has one; None: no job has."""
    times = np.array([_minutes(call, at(call)) for call in rows])
    if np.isnan(times).all():
        return None
    return axes.plot(times, np.arange(len(rows)), linestyle="none", marker=marker, **style)[0]


def _limit_time_axis(axes: Axes, rows: Sequence[Call]) -> None:
    earliest = min((_minutes(call, call.notice) for call in rows if call.notice is not None), default=-5.0)
    latest = max(
        (_minutes(call, at) for call in rows for at in (call.arrival, call.start, call.timed_out) if at is not None),
        default=5.0,
    )
    axes.set_xlim(min(earliest, -5.0) - 1.5, max(latest, 5.0) + 1.5)
    if latest >= _LATEST:
        axes.set_xticks([*range(-30, 60, 15), 60], [*map(str, range(-30, 60, 15)), "\N{GREATER-THAN OR EQUAL TO}60"])


def _draw_room(axes: Axes, rows: Sequence[Call]) -> tuple[list[object], list[str]]:
    places, base = np.arange(len(rows)), np.zeros(len(rows))
    handles: list[object] = []
    names: list[str] = []
    for source in ROOM:
        share = np.array([100.0 * call.room[source] / call.nodes for call in rows])
        if share.any():
            text, color = SOURCES[source]
            handles.append(axes.barh(places, share, left=base, height=0.72, color=color, linewidth=0))
            names.append(text)
        base = base + share
    axes.axvline(100, color="#999999", linewidth=0.8)
    axes.set_xlim(0, max(110.0, min(200.0, 1.05 * float(base.max()))))
    if not handles:
        axes.text(50, (len(rows) - 1) / 2, "no job", ha="center", va="center", fontsize=FONT["label"], color=INK)
    return handles, names
