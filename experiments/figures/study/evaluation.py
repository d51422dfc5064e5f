"""Figures of the evaluation of hybrid-workload-scheduling: dots by group, lines over a parameter, decision times."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from holdfast.experiments.figures.canvas import PAGE, new_figure, subfigures, subplots
from holdfast.experiments.figures.study.mechanisms import METRICS
from holdfast.experiments.figures.style import (
    FONT,
    INK,
    dress,
    legend_above,
    mechanism_color,
    mechanism_marker,
    panel_letters,
)
from holdfast.experiments.statistics import interval
from holdfast.policies.mechanism import BASELINE, MECHANISMS
from holdfast.workloads.ground.columns import Metric
from holdfast.workloads.ground.errors import InputError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["plot_courses", "plot_groups", "plot_times"]

Rows = Sequence[Mapping[str, Any]]
Floats = NDArray[np.float64]

_SIX = tuple(mechanism.name for mechanism in MECHANISMS)
_WIDTH = 0.86
#: Values that differ by more than this factor are shown on a logarithmic scale.
_WIDE = 4.0


def _cells(rows: Rows, metric: Metric, group: str) -> dict[tuple[str, Any], dict[Any, float]]:
    """The metric of each mechanism and group, by trace, without those that are not defined."""
    cells: dict[tuple[str, Any], dict[Any, float]] = {}
    for row in rows:
        if row[metric.name] is not None:
            cells.setdefault((row["mechanism"], row[group]), {})[row["trace"]] = metric.scale_value(row[metric.name])
    return cells


def _margins(cells: Mapping[tuple[str, Any], Mapping[Any, float]]) -> dict[tuple[str, Any], float]:
    """Half of the 95 % interval of each cell's mean, after each trace's own level is taken out.

    What differs between mechanisms within a trace is a fraction of what differs between traces.
    """
    of_trace: dict[Any, list[float]] = {}
    for name, values in cells.items():
        if name[0] != BASELINE:
            for trace, value in values.items():
                of_trace.setdefault(trace, []).append(value)
    level = {trace: float(np.mean(values)) for trace, values in of_trace.items()}
    margins = {}
    for name, values in cells.items():
        apart = [value - level[trace] for trace, value in values.items() if trace in level]
        found = interval(apart) if len(apart) > 1 else None
        margins[name] = found.high - found.mean if found else 0.0
    return margins


def plot_groups(rows: Rows, group: str, names: Sequence[Any], axis: str) -> Figure:
    """The eight metrics: groups along the axis, in each a dot for each mechanism; dashes are the baseline.

    Parameters
    ----------
    rows
        One for each simulation, with ``trace``, ``mechanism``, the group and the metrics.
    group, names
        Column of the groups, and its values in the order in which they are shown.
    axis
        Label of the axis.

    Returns
    -------
    Figure
        2 x 4 panels: means over the traces, intervals as in :func:`_margins`.

    Raises
    ------
    InputError
        If there is nothing to show.
    """
    if not rows:
        raise InputError("there are no simulations to draw")
    figure = new_figure(PAGE, 4.1)
    panels = subplots(figure, 2, 4)
    handles: dict[str, Any] = {}
    for number, (axes, metric) in enumerate(zip(panels.flat, METRICS, strict=True)):
        cells = _cells(rows, metric, group)
        margins = _margins(cells)
        dress(axes, x=axis if number >= 4 else "", title=metric.panel, grid="y")
        drawn: list[tuple[float, float]] = []
        step = _WIDTH / len(_SIX)
        for place, name in enumerate(_SIX):
            at = [spot for spot, value in enumerate(names) if (name, value) in cells]
            means = [float(np.mean([*cells[name, names[spot]].values()])) for spot in at]
            spread = [margins[name, names[spot]] for spot in at]
            x = [spot + (place - (len(_SIX) - 1) / 2) * step for spot in at]
            down, up = _lengths(means, spread, metric)
            handles[name] = axes.errorbar(
                x, means, yerr=(down, up), fmt=mechanism_marker(name), color=mechanism_color(name), markersize=3.2,
                elinewidth=0.9,
            )  # fmt: skip
            drawn += [(mean - low, mean + high) for mean, low, high in zip(means, down, up, strict=True)]
        drawn += _baseline(axes, metric, cells, names, handles)
        axes.set_xticks(range(len(names)), [str(name) for name in names])
        axes.tick_params(axis="x", length=0)
        _fit(axes, metric, drawn)
    panel_letters(list(panels.flat))
    legend_above(figure, list(handles.values()), list(handles))
    return figure


def _baseline(
    axes: Axes,
    metric: Metric,
    cells: Mapping[tuple[str, Any], Mapping[Any, float]],
    names: Sequence[Any],
    handles: dict[str, Any],
) -> list[tuple[float, float]]:
    """A dashed line over each group, where the baseline has the metric."""
    if "preemption" in metric.name:
        return []
    drawn = []
    for spot, value in enumerate(names):
        if (BASELINE, value) not in cells:
            continue
        level = float(np.mean([*cells[BASELINE, value].values()]))
        (line,) = axes.plot(
            [spot - 0.5, spot + 0.5], [level, level], color=INK, linewidth=0.9, linestyle=(0, (3, 1.5)), zorder=3
        )
        handles[BASELINE] = line
        drawn.append((level, level))
    return drawn


def _lengths(means: Sequence[float], spread: Sequence[float], metric: Metric) -> tuple[list[float], list[float]]:
    """How far whiskers reach down and up: no metric is below 0, no share above 100 %."""
    down = [min(half, max(mean, 0.0)) for mean, half in zip(means, spread, strict=True)]
    return down, [min(half, max(metric.most - mean, 0.0)) for mean, half in zip(means, spread, strict=True)]


def _fit(axes: Axes, metric: Metric, drawn: Sequence[tuple[float, float]]) -> None:
    """Limits about the dots, as far as the metric goes; differences of less than a hundredth are not blown up."""
    if not drawn:
        return
    low, high = min(bounds[0] for bounds in drawn), max(bounds[1] for bounds in drawn)
    room = 0.12 * max(high - low, 0.05 * high, 0.01)
    axes.set_ylim(max(0.0, low - room), min(metric.most, high + room))


def plot_courses(
    rows: Rows, column: str, axis: str, lines: Sequence[tuple[str, str]], metrics: Sequence[Metric]
) -> Figure:
    """Metrics over a parameter, a line for each mechanism; a row of panels for each value of another column.

    Parameters
    ----------
    rows
        One for each simulation.
    column, axis
        What runs along the axis, as a number, and its label.
    lines
        Title of each row of panels, and the value of the column ``line`` that belongs to it.
    metrics
        Panels of a row.
    """
    figure = new_figure(PAGE, 0.5 + 1.7 * len(lines))
    boxes = subfigures(figure, [1.0] * len(lines))
    handles: dict[str, Any] = {}
    for part, (title, value) in zip(boxes, lines, strict=True):
        part.suptitle(title, fontsize=FONT["legend"], color=INK, x=0.01, ha="left")
        own = [row for row in rows if str(row["line"]) == value]
        for axes, metric in zip(subplots(part, 1, len(metrics), squeeze=False)[0], metrics, strict=True):
            handles |= _courses(axes, _cells(own, metric, column), metric)
            last = part is boxes[-1]
            dress(axes, x=axis if last else "", title=metric.panel if part is boxes[0] else "")
    legend_above(figure, list(handles.values()), list(handles))
    return figure


def _courses(axes: Axes, cells: Mapping[tuple[str, Any], Mapping[Any, float]], metric: Metric) -> dict[str, Any]:
    """A line for each mechanism, with whiskers, over what is doubled from tick to tick."""
    from matplotlib.ticker import LogLocator

    margins = _margins(cells)
    handles = {}
    for place, name in enumerate(_SIX):
        x = sorted(at for mechanism, at in cells if mechanism == name)
        means = [float(np.mean([*cells[name, at].values()])) for at in x]
        lengths = _lengths(means, [margins[name, at] for at in x], metric)
        # Side by side, so that no whisker hides another.
        shifted = [at * 2 ** (0.05 * (place - 2.5)) for at in x]
        handles[name] = axes.errorbar(
            shifted, means, yerr=lengths, color=mechanism_color(name), linewidth=1.0, elinewidth=0.5,
            marker=mechanism_marker(name), markersize=3.0,
        )  # fmt: skip
    shown = [float(np.mean([*values.values()])) for values in cells.values()]
    if not metric.percent and min(shown, default=0.0) * _WIDE < max(shown, default=0.0):
        # Differences between mechanisms would vanish beside those between values of the parameter.
        axes.set_yscale("log")
        axes.set_ylim(0.5 * min(shown), 2.0 * max(shown))
        axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        axes.yaxis.set_major_formatter("{x:,g}")
        axes.yaxis.set_minor_formatter("")
    ticks = sorted({at for _, at in cells})
    axes.set_xscale("log")
    axes.set_xticks(ticks, [f"{100 * at:g}" for at in ticks])
    axes.tick_params(axis="x", which="minor", length=0)
    axes.xaxis.set_minor_formatter("")
    return handles


def plot_times(rows: Rows, limit: float) -> Figure:
    """Median, 99th percentile and longest decision of each simulation, by mechanism, against the limit [ms]."""
    names = list(dict.fromkeys(row["mechanism"] for row in rows))
    figure = new_figure(PAGE, 2.4)
    axes = subplots(figure)
    marks = (("decision_ms_p50", "median", "o"), ("decision_ms_p99", "99th percentile", "s"),
             ("decision_ms_max", "longest", "^"))  # fmt: skip
    handles: dict[str, Any] = {}
    for place, name in enumerate(names):
        own = [row for row in rows if row["mechanism"] == name]
        spread = np.linspace(-0.3, 0.3, len(own)) if len(own) > 1 else np.zeros(1)
        for column, label, marker in marks:
            # Light marks are white inside, so that what lies behind is seen.
            (handles[label],) = axes.plot(
                place + spread, [row[column] for row in own], marker, color=mechanism_color(name), markersize=2.6,
                markerfacecolor="white" if marker == "o" else None, markeredgewidth=0.6,
            )  # fmt: skip
    bound = axes.axhline(limit, color=INK, linewidth=0.9, linestyle=(0, (3, 1.5)))
    axes.set_yscale("log")
    axes.set_xlim(-0.5, len(names) - 0.5)
    axes.set_xticks(range(len(names)), names)
    dress(axes, y="Time of a decision (ms)", grid="y")
    axes.tick_params(axis="x", length=0)
    legend_above(figure, [*_grey(handles), bound], [*handles, f"{limit:g} ms, the paper's bound"])
    return figure


def _grey(handles: Mapping[str, Any]) -> list[Any]:
    """The marks without the colour of the mechanism that happened to come last."""
    from matplotlib.lines import Line2D

    return [
        Line2D([], [], linestyle="none", marker=line.get_marker(), color=INK, markersize=4,
               markerfacecolor="white" if line.get_marker() == "o" else INK)
        for line in handles.values()
    ]  # fmt: skip
