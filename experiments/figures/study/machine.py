"""Figures of the machine: nodes and queue over time, and node-hours by use."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias, Unpack

import numpy as np

from holdfast.experiments.figures.canvas import PAGE, CanvasOptions, is_narrow, new_figure, plot, subplots
from holdfast.experiments.figures.recording.time_axis import date_axis
from holdfast.experiments.figures.style import (
    FONT,
    INK,
    STATE_COLORS,
    dress,
    legend_above,
    mechanism_label,
    name_mechanisms,
    panel_letters,
)
from holdfast.experiments.recordings.replay import accounting_rows
from holdfast.experiments.recordings.summaries import by_label
from holdfast.experiments.timelines.machine_table import machine_rows
from holdfast.experiments.timelines.steps import Floats, choose_unit
from holdfast.simulator.results.records import Accounting
from holdfast.simulator.results.result import Result
from holdfast.workloads.ground.errors import InputError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["draw_accounting", "draw_machine", "plot_accounting", "plot_machine"]

_BUSY, _HELD, _QUEUE = STATE_COLORS["compute"], STATE_COLORS["held"], INK
_APART = STATE_COLORS["lost"]
#: What is too small to be seen beside compute and idle.
_OVERHEADS = ("setup", "checkpoint", "lost", "warning", "held")
#: Segments narrower than this share of the axis get no number.
_NARROW = 0.075


#: Labels of an axis of dates at most: of one that is as wide as the page, and of one half as wide.
_DATES = (9, 5)
#: Dates an axis that shows times, and gives the words for it to a function that writes them.
_TimeNamer: TypeAlias = "Callable[[Axes, Callable[[str], object]], None]"


class _Course(NamedTuple):
    """A machine over time: step functions, the last value of which ends at ``times[-1]``."""

    name: str
    times: Floats  # since the first submit, in the unit of the axis, shape (m + 1,)
    busy: Floats  # per cent of the nodes, shape (m,)
    held: Floats
    jobs: Floats  # waiting
    nodes: Floats  # that they ask for, per cent of the machine


@plot
def plot_machine(results: Result | Sequence[Result], **canvas: Unpack[CanvasOptions]) -> Figure:
    """Busy and held nodes and the queue over time.

    Parameters
    ----------
    results
        One result, drawn large, or several over the same jobs: the first, and how each other differs from it. Courses
        with too many steps to be seen are averaged over bins of a length that suits the span.
    **canvas
        Width, style and axes (:class:`~holdfast.experiments.figures.canvas.CanvasOptions`).

    Returns
    -------
    Figure
        For one result three panels: nodes, waiting jobs, and their nodes. For several the nodes and the waiting jobs of
        the first, and a row of differences for each other.

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
        Rows of :func:`holdfast.experiments.timelines.machine_table.machine_rows`.
    """
    if not rows:
        raise InputError("there are no results to draw")
    unit = choose_unit(max(row["end_s"] for row in rows))
    names = dict.fromkeys(row["mechanism"] for row in rows)
    courses = [_course(name, [row for row in rows if row["mechanism"] == name], unit.seconds) for name in names]
    over = rows[0]["averaged_over"]
    last = float(max(course.times[-1] for course in courses))
    # Tables of former versions have no dates.
    began, zone = rows[0].get("began"), str(rows[0].get("zone"))

    def name_times(axes: Axes, label: Callable[[str], object]) -> None:
        words = f"Time since the first submit ({unit.symbol})"
        if began is not None:
            words = date_axis(axes, began, last * unit.seconds, unit, zone, most=_DATES[len(courses) > 1])
        label(words + (f", averages over {over}" if over else ""))

    figure = _one(courses[0], name_times) if len(courses) == 1 else _many(courses, name_times)
    handles: list[object] = list(figure.axes[0].patches[:2])
    if max(courses[0].held) > 0:
        # One colour needs no legend.
        legend_above(figure, handles, ["busy", "held (reserved, or waiting for nodes under warning)"])
    return figure


def _one(course: _Course, name_times: _TimeNamer) -> Figure:
    figure = new_figure(PAGE, 4.6)
    panels = subplots(figure, 3, 1, sharex=True, height_ratios=(1.3, 1, 1))
    _draw_nodes(panels[0], course)
    _draw_queue(panels[1], course.times, course.jobs, max(course.jobs))
    _draw_queue(panels[2], course.times, course.nodes, max(course.nodes))
    dress(panels[0], y="Nodes (%)", title=f"Machine under {course.name}")
    dress(panels[1], y="Jobs", title="Waiting jobs")
    dress(panels[2], y="Nodes (%)", title="Nodes that waiting jobs ask for")
    panels[0].set_xlim(0, course.times[-1])
    name_times(panels[2], partial(panels[2].set_xlabel, fontsize=FONT["label"], color=INK, labelpad=2))
    panel_letters(list(panels))
    figure.align_ylabels()
    return figure


def _many(courses: Sequence[_Course], name_times: _TimeNamer) -> Figure:
    """The first result above; below, a thin row for each other with its difference from the first."""
    first, others = courses[0], courses[1:]
    figure = new_figure(PAGE, 2.0 + 0.36 * len(others))
    narrow = is_narrow(figure)
    panels = subplots(
        figure,
        1 + len(others),
        2,
        sharex=True,
        squeeze=False,
        height_ratios=(1.0, *(0.36 for _ in others)),
        by_columns=True,
    )
    _draw_nodes(panels[0, 0], first)
    _draw_queue(panels[0, 1], first.times, first.jobs, max(first.jobs))
    dress(panels[0, 0], y="Nodes (%)", title=f"(a) Nodes under {first.name}")
    dress(panels[0, 1], y="Jobs", title=f"(b) Waiting jobs under {first.name}")
    for column, (level, unit, title) in enumerate(
        ((_nodes_in_use, "points", "(c) Nodes: difference"), (_waiting_jobs, "jobs", "(d) Waiting jobs: difference"))
    ):
        apart = [_apart(level(course), course.times, level(first), first.times) for course in others]
        most = max((float(np.abs(values).max()) for _, values in apart), default=0.0) or 1.0
        mark = _round_mark(most)
        for axes, course, (edges, values) in zip(panels[1:, column], others, apart, strict=True):
            axes.stairs(values, edges, fill=True, color=_APART, linewidth=0)
            axes.axhline(0, color=INK, linewidth=0.5)
            axes.set_ylim(-1.05 * most, 1.05 * most)
            dress(axes, grid="x")
            # One row shows the scale of all.
            top = course is others[0]
            axes.set_yticks([-mark, 0.0, mark], [f"\N{MINUS SIGN}{mark:g}", "", f"+{mark:g}"] if top else ["", "", ""])
            axes.tick_params(axis="y", labelright=top, labelleft=False, length=0)
            axes.spines["left"].set_visible(False)
            axes.spines["bottom"].set_visible(course is others[-1])
            last = course is others[-1]
            axes.tick_params(axis="x", which="both", length=2.5 if last else 0, labelbottom=last)
            if not column or narrow:
                label = mechanism_label(course.name)
                axes.set_ylabel(label, rotation=0, ha="right", va="center", fontsize=FONT["tick"], color=INK)
        if others:
            axes = panels[1, column]
            axes.set_title(f"{title} ({unit})", fontsize=FONT["title"], color=INK,
                          loc="left", pad=4)  # fmt: skip
    panels[0, 0].set_xlim(0, max(course.times[-1] for course in courses))
    name_times(panels[-1, 0], partial(figure.supxlabel, fontsize=FONT["label"], color=INK))
    return figure


def _round_mark(most: float) -> float:
    """The largest of 1, 2 and 5 times a power of ten up to a value.

    >>> _round_mark(91.6), _round_mark(157.0), _round_mark(0.3)
    (50.0, 100.0, 0.2)
    """
    power = 10.0 ** math.floor(math.log10(most))
    return max(factor * power for factor in (1, 2, 5) if factor * power <= most)


def _nodes_in_use(course: _Course) -> Floats:
    return course.busy + course.held


def _waiting_jobs(course: _Course) -> Floats:
    return course.jobs


def _apart(one: Floats, one_edges: Floats, other: Floats, other_edges: Floats) -> tuple[Floats, Floats]:
    """The difference of two step functions: edges (m + 1,) and values (m,); beyond its end a function is 0."""
    edges = np.union1d(one_edges, other_edges)
    middles = (edges[:-1] + edges[1:]) / 2

    def at(values: Floats, bounds: Floats) -> Floats:
        place = np.searchsorted(bounds, middles, side="right") - 1
        inside = (place >= 0) & (place < len(values))
        return np.where(inside, values[np.clip(place, 0, len(values) - 1)], 0.0)

    return edges, at(one, one_edges) - at(other, other_edges)


def _draw_nodes(axes: Axes, course: _Course) -> None:
    top = course.busy + course.held
    axes.stairs(course.busy, course.times, fill=True, color=_BUSY, linewidth=0)
    axes.stairs(top, course.times, baseline=course.busy, fill=True, color=_HELD, linewidth=0)
    axes.set_ylim(0, 100)
    axes.set_yticks([0, 50, 100])


def _draw_queue(axes: Axes, times: Floats, values: Floats, longest: float) -> None:
    axes.stairs(values, times, fill=True, color=_QUEUE, alpha=0.4, linewidth=0)
    axes.stairs(values, times, color=_QUEUE, linewidth=0.6)
    axes.set_ylim(0, 1.05 * longest or 1.0)
    axes.locator_params(axis="y", nbins=4)


def _course(name: str, rows: Sequence[Mapping[str, Any]], unit: float) -> _Course:
    def values(key: str) -> Floats:
        return np.array([row[key] for row in rows], dtype=float)

    times = np.append(values("start_s")[0], values("end_s")) / unit
    levels = [values(key) for key in ("busy_percent", "held_percent", "waiting_jobs", "waiting_nodes_percent")]
    return _Course(str(name), times, *levels)


@plot
def plot_accounting(results: Result | Sequence[Result], **canvas: Unpack[CanvasOptions]) -> Figure:
    """Where all node-hours went, in per cent of nodes x elapsed time, stacked, a bar for each result.

    Parameters
    ----------
    results
        One or several.
    **canvas
        Width, style and axes (:class:`~holdfast.experiments.figures.canvas.CanvasOptions`).

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
        Rows of :func:`holdfast.experiments.recordings.replay.accounting_rows`.
    """
    if not rows:
        raise InputError("there are no results to draw")
    states = tuple(state for state in Accounting._fields if f"{state}_node_hours" in rows[0])
    shares = np.array([[row[f"{state}_node_hours"] for state in states] for row in rows], dtype=float)
    total = shares.sum(axis=1, keepdims=True)
    shares = 100.0 * np.divide(shares, total, out=np.zeros_like(shares), where=total > 0)
    names = [str(row["mechanism"]) for row in rows]
    overheads = [state for state in _OVERHEADS if shares[:, Accounting._fields.index(state)].any()]
    shown = [state for state in states if shares[:, Accounting._fields.index(state)].any()]
    figure = new_figure(PAGE, 1.05 + 0.23 * len(rows))
    # Without overheads there is nothing to enlarge.
    panels = subplots(figure, 1, 2 if overheads else 1, sharey=True, squeeze=False)[0]
    handles = _stack(panels[0], shares, shown, 100.0)
    dress(panels[0], x="Share of node-hours (%)", title="Everything", grid="x")
    if overheads:
        top = max(sum(row[Accounting._fields.index(state)] for state in overheads) for row in shares)
        _stack(panels[1], shares, overheads, min(100.0, 1.08 * top))
        dress(panels[1], x="Share of node-hours (%)", title="Neither compute nor idle", grid="x")
        panel_letters(list(panels))
    name_mechanisms(panels[0], names)
    panels[0].set_ylim(len(rows) - 0.45, -0.55)
    for axes in panels:
        axes.tick_params(axis="y", length=0)
    legend_above(figure, handles, shown)
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
