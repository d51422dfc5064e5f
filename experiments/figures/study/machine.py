"""The machine: nodes and queue over time, and where all node-hours went."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from experiments.figures.style import (
    FONT,
    INK,
    PAGE,
    STATE_COLORS,
    dress,
    legend_above,
    name_mechanisms,
    new_figure,
    panel_letters,
)
from experiments.recordings.replay import accounting_rows
from experiments.recordings.summaries import by_label
from experiments.timelines.machinetable import machine_rows
from experiments.timelines.steps import Floats, choose_unit
from simulator.results.records import Accounting
from simulator.results.result import Result
from workloads.ground.errors import InputError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["draw_accounting", "draw_machine", "plot_accounting", "plot_machine"]

_BUSY, _HELD, _QUEUE = STATE_COLORS["compute"], STATE_COLORS["held"], INK
_COMPARED = STATE_COLORS["lost"]
#: What is too small to be seen beside compute and idle.
_OVERHEADS = ("setup", "checkpoint", "lost", "warning", "held")
#: Segments narrower than this share of the axis get no number.
_NARROW = 0.075


class _Course(NamedTuple):
    """A machine over time: step functions, the last value of which ends at ``times[-1]``."""

    name: str
    times: Floats  # since the first submit, in the unit of the axis, shape (m + 1,)
    busy: Floats  # per cent of the nodes, shape (m,)
    held: Floats
    jobs: Floats  # waiting
    nodes: Floats  # that they ask for, per cent of the machine


def plot_machine(results: Result | Sequence[Result]) -> Figure:
    """Busy and held nodes and the queue over time.

    Parameters
    ----------
    results
        One result, drawn large, or several over the same jobs, drawn below each other on common scales. Courses with
        more steps than can be told apart are averaged over bins of a length that suits the span.

    Returns
    -------
    Figure
        For one result three panels: nodes, waiting jobs, and their nodes. For several one row each: nodes, waiting
        jobs.

    Raises
    ------
    InputError
        If no job of a result ever ran.
    """
    return draw_machine(by_label(machine_rows([results] if isinstance(results, Result) else results)))


def draw_machine(rows: Sequence[Mapping[str, Any]]) -> Figure:
    """The same, from the table that a run writes.

    Parameters
    ----------
    rows
        Rows of :func:`experiments.timelines.machinetable.machine_rows`.
    """
    from matplotlib.lines import Line2D

    if not rows:
        raise InputError("there are no results to draw")
    unit = choose_unit(max(row["end_s"] for row in rows))
    names = dict.fromkeys(row["mechanism"] for row in rows)
    courses = [_course(name, [row for row in rows if row["mechanism"] == name], unit.seconds) for name in names]
    over = rows[0]["averaged_over"]
    time = f"Time since the first submit ({unit.symbol})" + (f", averages over {over}" if over else "")
    figure = _one(courses[0], time) if len(courses) == 1 else _many(courses, time)
    handles: list[object] = list(figure.axes[0].patches[:2])
    texts = ["busy", "held (reserved, or waiting for nodes under warning)"]
    if len(courses) > 1:
        handles.append(Line2D([], [], color=_COMPARED, linewidth=1.0))
        texts.append(f"waiting under {courses[0].name}")
    legend_above(figure, handles, texts)
    return figure


def _one(course: _Course, time: str) -> Figure:
    figure = new_figure(PAGE, 4.6)
    panels = figure.subplots(3, 1, sharex=True, height_ratios=(1.3, 1, 1))
    _draw_nodes(panels[0], course)
    _draw_queue(panels[1], course.times, course.jobs, max(course.jobs))
    _draw_queue(panels[2], course.times, course.nodes, max(course.nodes))
    dress(panels[0], y="Nodes (%)", title=f"Machine under {course.name}")
    dress(panels[1], y="Jobs", title="Waiting jobs")
    dress(panels[2], y="Nodes (%)", title="Nodes that waiting jobs ask for", x=time)
    panels[0].set_xlim(0, course.times[-1])
    panel_letters(list(panels))
    figure.align_ylabels()
    return figure


def _many(courses: Sequence[_Course], time: str) -> Figure:
    figure = new_figure(PAGE, 0.7 + 0.98 * len(courses))
    panels = figure.subplots(len(courses), 2, sharex=True, sharey="col", squeeze=False)
    first = courses[0]
    longest_queue = max(max(course.jobs) for course in courses)
    for (left, right), course in zip(panels, courses, strict=True):
        _draw_nodes(left, course)
        _draw_queue(right, course.times, course.jobs, longest_queue, outlined=course is first)
        dress(left, y="Nodes (%)", title=course.name)
        dress(right, y="Waiting jobs")
        if course is not first:
            # The first is the baseline as a rule: what the others are compared with.
            right.stairs(first.jobs, first.times, color=_COMPARED, linewidth=0.6, baseline=None)
    panels[0, 0].set_xlim(0, max(course.times[-1] for course in courses))
    figure.supxlabel(time, fontsize=FONT["label"], color=INK)
    figure.align_ylabels()
    return figure


def _draw_nodes(axes: Axes, course: _Course) -> None:
    top = course.busy + course.held
    axes.stairs(course.busy, course.times, fill=True, color=_BUSY, linewidth=0)
    axes.stairs(top, course.times, baseline=course.busy, fill=True, color=_HELD, linewidth=0)
    axes.set_ylim(0, 100)
    axes.set_yticks([0, 50, 100])


def _draw_queue(axes: Axes, times: Floats, values: Floats, longest: float, *, outlined: bool = True) -> None:
    axes.stairs(values, times, fill=True, color=_QUEUE, alpha=0.4, linewidth=0)
    if outlined:
        axes.stairs(values, times, color=_QUEUE, linewidth=0.6)
    axes.set_ylim(0, 1.05 * longest or 1.0)
    axes.locator_params(axis="y", nbins=4)


def _course(name: str, rows: Sequence[Mapping[str, Any]], unit: float) -> _Course:
    def values(key: str) -> Floats:
        return np.array([row[key] for row in rows], dtype=float)

    times = np.append(values("start_s")[0], values("end_s")) / unit
    levels = [values(key) for key in ("busy_percent", "held_percent", "waiting_jobs", "waiting_nodes_percent")]
    return _Course(str(name), times, *levels)


def plot_accounting(results: Result | Sequence[Result]) -> Figure:
    """Where all node-hours went, in per cent of nodes x elapsed time, stacked, a bar for each result.

    Parameters
    ----------
    results
        One or several.

    Returns
    -------
    Figure
        Left everything; right, enlarged, what is neither compute nor idle.

    Raises
    ------
    InputError
        If there is nothing to show.
    """
    return draw_accounting(by_label(accounting_rows([results] if isinstance(results, Result) else results)))


def draw_accounting(rows: Sequence[Mapping[str, Any]]) -> Figure:
    """The same, from the table that a run writes.

    Parameters
    ----------
    rows
        Rows of :func:`experiments.recordings.replay.accounting_rows`.
    """
    if not rows:
        raise InputError("there are no results to draw")
    states = tuple(state for state in Accounting._fields if f"{state}_node_hours" in rows[0])
    shares = np.array([[row[f"{state}_node_hours"] for state in states] for row in rows], dtype=float)
    total = shares.sum(axis=1, keepdims=True)
    shares = 100.0 * np.divide(shares, total, out=np.zeros_like(shares), where=total > 0)
    figure = new_figure(PAGE, 1.05 + 0.23 * len(rows))
    left, right = figure.subplots(1, 2, sharey=True, width_ratios=(1.25, 1))
    handles = _stack(left, shares, states, 100.0)
    top = max(sum(row[Accounting._fields.index(state)] for state in _OVERHEADS) for row in shares)
    _stack(right, shares, _OVERHEADS, 1.08 * top or 1.0)
    dress(left, x="Share of node-hours (%)", title="Everything", grid="x")
    dress(right, x="Share of node-hours (%)", title="Neither compute nor idle", grid="x")
    name_mechanisms(left, [str(row["mechanism"]) for row in rows])
    left.set_ylim(len(rows) - 0.45, -0.55)
    for axes in (left, right):
        axes.tick_params(axis="y", length=0)
    panel_letters([left, right])
    legend_above(figure, handles, states)
    return figure


def _stack(axes: Axes, shares: Floats, states: Sequence[str], top: float) -> list[object]:
    places = np.arange(len(shares))
    base = np.zeros(len(shares))
    handles: list[object] = []
    for state in states:
        part = shares[:, Accounting._fields.index(state)]
        handles.append(axes.barh(places, part, left=base, height=0.74, color=STATE_COLORS[state]))
        for place, (start, share) in enumerate(zip(base, part, strict=True)):
            if share > _NARROW * top:
                ink = "white" if state in ("compute", "lost", "checkpoint") else INK
                axes.text(
                    start + share / 2, place, f"{share:.1f}" if share >= 1 else f"{share:.2f}", ha="center",
                    va="center", fontsize=FONT["note"], color=ink,
                )  # fmt: skip
        base = base + part
    axes.set_xlim(0, top)
    return handles
