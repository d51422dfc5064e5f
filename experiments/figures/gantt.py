"""A Gantt chart of the runs of a small scenario: which nodes each job had, and when."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from experiments.figures.steps import choose_unit
from experiments.figures.style import (
    FONT,
    INK,
    PAGE,
    STATE_COLORS,
    TYPE_COLORS,
    dress,
    legend_above,
    mechanism_name,
    new_figure,
)
from experiments.placement import HELD, WARNED, Span, place_nodes
from simulator.result import Result
from workloads.errors import InputError
from workloads.job import JobType
from workloads.units import SECOND, to_ticks

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["plot_gantt"]


def plot_gantt(
    result: Result, *, start: float | None = None, end: float | None = None, labels: Mapping[int, str] | None = None
) -> Figure:
    """Draw the runs in a window of time, coloured by type; warnings are hatched, preemptions end in a dark edge.

    Parameters
    ----------
    result
        With its event log. Meant for a few dozen jobs.
    start, end
        The window, after the first submit [s]; all of the simulation by default.
    labels
        Texts of jobs; their ids by default.

    Returns
    -------
    Figure
        Nodes over time; triangles above mark notices and arrivals of on-demand jobs.

    Raises
    ------
    InputError
        If the result has no event log or nothing runs in the window.
    """
    from matplotlib.patches import Patch

    spans = place_nodes(result)
    first = (result.opened or 0) - result.origin
    opens = first + to_ticks(start) if start is not None else min(entry.time for entry in result.entries)
    closes = first + to_ticks(end) if end is not None else max(entry.time for entry in result.entries)
    shown = [span for span in spans if span.end > opens and span.start < closes and span.kind != HELD]
    held = [span for span in spans if span.end > opens and span.start < closes and span.kind == HELD]
    if not shown:
        raise InputError("no job runs in this window")
    unit = choose_unit((closes - opens) / SECOND)
    tick = SECOND * unit.seconds
    types = {record.job_id: record.type for record in result.records}
    names = {job_id: (labels or {}).get(job_id, str(job_id)) for job_id in types}

    figure = new_figure(PAGE, 2.7)
    axes = figure.subplots()
    for span in held:
        _draw_held(axes, span, first, tick)
    for span in shown:
        _draw_run(axes, span, types[span.job_id], first, tick)
    axes.set_xlim((opens - first) / tick, (closes - first) / tick)
    axes.set_ylim(0, result.nodes)
    for span in shown:
        _name_run(axes, names[span.job_id], span, first, tick, result.nodes)
    _mark_calls(axes, result, types, names, first, tick)
    dress(axes, x=f"Time since the first submit ({unit.symbol})", y="Node (number)", grid="none")
    axes.locator_params(axis="y", integer=True)
    axes.text(
        0, 1.17, mechanism_name(result.mechanism), transform=axes.transAxes, fontsize=FONT["title"], color=INK
    )  # fmt: skip
    here = {types[span.job_id] for span in shown}
    handles = [Patch(facecolor=TYPE_COLORS[kind]) for kind in JobType if kind in here]
    texts = [str(kind) for kind in JobType if kind in here]
    if any(span.kind == WARNED for span in shown):
        handles.append(Patch(facecolor="white", edgecolor=INK, hatch="/////", linewidth=0.5))
        texts.append("under warning")
    if any(span.ending == "preempt" for span in shown):
        handles.append(Patch(facecolor="black"))
        texts.append("preempted here")
    if held:
        handles.append(Patch(facecolor=STATE_COLORS["held"], alpha=0.35))
        texts.append("held")
    legend_above(figure, handles, texts)
    return figure


def _draw_run(axes: Axes, span: Span, kind: JobType, first: int, tick: float) -> None:
    hatch = "/////" if span.kind == WARNED else None
    for low, high in span.nodes:
        axes.broken_barh(
            [((span.start - first) / tick, (span.end - span.start) / tick)], (low, high - low),
            facecolor=TYPE_COLORS[kind], edgecolor="white", linewidth=0.5, hatch=hatch,
        )  # fmt: skip
        if span.ending == "preempt":
            axes.vlines((span.end - first) / tick, low, high, color="black", linewidth=1.6, zorder=3)


def _draw_held(axes: Axes, span: Span, first: int, tick: float) -> None:
    for low, high in span.nodes:
        axes.broken_barh(
            [((span.start - first) / tick, (span.end - span.start) / tick)], (low, high - low),
            facecolor=STATE_COLORS["held"], alpha=0.35, linewidth=0,
        )  # fmt: skip


def _name_run(axes: Axes, name: str, span: Span, first: int, tick: float, nodes: int) -> None:
    """Write the job's name on each part that has room for it."""
    low, high = axes.get_xlim()
    start, end = max(low, (span.start - first) / tick), min(high, (span.end - first) / tick)
    if span.kind == WARNED or end - start < 0.011 * len(name) * (high - low):
        return
    for bottom, top in span.nodes:
        if top - bottom > 0.055 * nodes:
            axes.text(
                (start + end) / 2, (bottom + top) / 2, name, ha="center", va="center", fontsize=FONT["note"],
                color="white",
            )  # fmt: skip


def _mark_calls(
    axes: Axes, result: Result, types: Mapping[int, JobType], names: Mapping[int, str], first: int, tick: float
) -> None:
    """Triangles over the machine: open for a notice, full for an arrival."""
    low, high = axes.get_xlim()
    for entry in result.entries:
        at = (entry.time - first) / tick
        arrival = entry.event == "submit"
        if types[entry.job_id] is not JobType.ON_DEMAND or not (arrival or entry.event == "notice"):
            continue
        if low <= at <= high:
            color = TYPE_COLORS[JobType.ON_DEMAND]
            axes.plot(
                [at], [1.025], marker="v", markersize=4, color=color, markerfacecolor=color if arrival else "white",
                markeredgewidth=0.8, clip_on=False, transform=axes.get_xaxis_transform(),
            )  # fmt: skip
            axes.annotate(
                names[entry.job_id] if arrival else f"notice {names[entry.job_id]}", (at, 1.05),
                xycoords=axes.get_xaxis_transform(), ha="center", va="bottom", fontsize=FONT["note"], color=color,
            )  # fmt: skip
