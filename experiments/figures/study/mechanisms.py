"""Figure of results side by side: the metrics of hybrid-workload-scheduling, Fig. 6, or differences from the first."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Unpack

from holdfast.experiments.figures.canvas import PAGE, CanvasOptions, new_figure, plot, subplots
from holdfast.experiments.figures.style import (
    FONT,
    INK,
    dress,
    mechanism_color,
    mechanism_marker,
    name_mechanisms,
    panel_letters,
)
from holdfast.policies.mechanism import MECHANISMS
from holdfast.simulator.results.catalogue import metric
from holdfast.workloads.ground.columns import Better, Metric
from holdfast.workloads.ground.errors import InputError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["METRICS", "draw_contrasts", "plot_mechanisms"]


#: The eight metrics of Fig. 6.
METRICS = tuple(
    metric(name)
    for name in (
        *("turnaround_h", "turnaround_rigid_h", "turnaround_malleable_h", "turnaround_on_demand_h"),
        *("instant_start_ratio", "preemption_ratio_rigid", "preemption_ratio_malleable", "utilization"),
    )
)


_MEANINGS = {
    "N": "no action at a notice",
    "CUA": "collect nodes until the arrival",
    "CUP": "collect until the predicted arrival",
    "PAA": "preempt at the arrival",
    "SPAA": "shrink, then preempt",
}


@plot
def plot_mechanisms(summaries: Sequence[Mapping[str, Any]], **canvas: Unpack[CanvasOptions]) -> Figure:
    """The eight metrics, a dot for each mechanism.

    Parameters
    ----------
    summaries
        Rows as :func:`holdfast.simulator.results.metrics.summarize` returns, or read back; shown from top to bottom.
    **canvas
        Width, style and axes (:class:`~holdfast.experiments.figures.canvas.CanvasOptions`).

    Returns
    -------
    Figure
        A panel for each metric that is defined in any of them. A metric that is not defined (NaN) has a note.

    Raises
    ------
    InputError
        If there is nothing to show.
    """
    if not summaries:
        raise InputError("there are no summaries to draw")
    names = [str(row["mechanism"]) for row in summaries]
    values = {shown: [_number(shown, row.get(shown.name)) for row in summaries] for shown in METRICS}
    shown_metrics = [shown for shown, found in values.items() if any(map(math.isfinite, found))]
    figure, panels = _panels(len(shown_metrics), len(names))
    for axes, shown in zip(panels, shown_metrics, strict=True):
        dress(axes, title=shown.panel, grid="x")
        for place, (name, value) in enumerate(zip(names, values[shown], strict=True)):
            if math.isfinite(value):
                _dot(axes, name, place, value)
                _say(axes, value, place, _label(value))
            else:
                axes.text(0.02, place, "no such job", transform=axes.get_yaxis_transform(), va="center",
                          fontsize=FONT["note"], color=INK)  # fmt: skip
        known = [value for value in values[shown] if math.isfinite(value)]
        _limit(axes, shown, min(known), max(known))
        _name_rows(axes, names)
    panel_letters(panels)
    _explain(figure, names)
    return figure


def draw_contrasts(rows: Sequence[Mapping[str, Any]]) -> Figure:
    """How several results differ from the first, metric by metric: differences with their 95 % intervals.

    Parameters
    ----------
    rows
        Rows of :func:`holdfast.experiments.timelines.paired_contrasts.contrast_rows`.

    Returns
    -------
    Figure
        A panel for each metric that differs between the results; beside each dot the metric itself. The first result
        is the line at zero.

    Raises
    ------
    InputError
        If there is nothing to show.
    """
    if not rows:
        raise InputError("there are no results to draw")
    names = list(dict.fromkeys(str(row["mechanism"]) for row in rows))
    if len(names) == 1 or all(row["difference"] is None for row in rows):
        return plot_mechanisms(_summaries(rows, names))
    metrics = [
        metric(name)
        for name in dict.fromkeys(row["metric"] for row in rows)
        if any(row["difference"] for row in rows if row["metric"] == name) and not _is_redundant(rows, name)
    ]
    if not metrics:
        # Equal results: there is no difference to draw, and what they have in common is worth a look.
        return plot_mechanisms(_summaries(rows, names))
    figure, panels = _panels(len(metrics), len(names))
    for axes, shown in zip(panels, metrics, strict=True):
        title = replace(shown, unit=shown.difference).panel
        dress(axes, title=title, grid="x")
        own = {str(row["mechanism"]): row for row in rows if row["metric"] == shown.name}
        reach = [0.0]
        for place, name in enumerate(names):
            row = own.get(name, {})
            apart, low, high = (_number(shown, row.get(key)) for key in ("difference", "low", "high"))
            if not math.isfinite(apart) and place == 0:
                apart = 0.0
            if math.isfinite(apart):
                if math.isfinite(low):
                    axes.plot([low, high], [place, place], color=mechanism_color(name, place), linewidth=1.3,
                              solid_capstyle="butt", zorder=2)  # fmt: skip
                    reach += [low, high]
                _dot(axes, name, place, apart)
                reach.append(apart)
            value = _number(shown, row.get("value"))
            if math.isfinite(value):
                axes.annotate(
                    _label(value), (1.0, place), (2, 0), xycoords=axes.get_yaxis_transform(),
                    textcoords="offset points", va="center", fontsize=FONT["note"], color=INK,
                )  # fmt: skip
        axes.axvline(0, color=INK, linewidth=0.7, zorder=1)
        room = 0.08 * (max(reach) - min(reach))
        axes.set_xlim(min(reach) - room, max(reach) + room)
        axes.locator_params(axis="x", nbins=4)
        _name_rows(axes, names)
    panel_letters(panels)
    words = f"Difference from {names[0]}, with its 95 % interval; beside it, the value itself"
    _explain(figure, names, words)
    return figure


def _explain(figure: Figure, names: Sequence[str], words: str = "") -> None:
    """A line below, and what the abbreviations of the paper's mechanisms mean if there are any."""
    own = {mechanism.name for mechanism in MECHANISMS}
    parts = {part for name in names if name in own for part in name.split("-")}
    explanations = [f"{part}: {meaning}" for part, meaning in _MEANINGS.items() if part in parts]
    text = "\n".join(line for line in (words, "; ".join(explanations[:3]), "; ".join(explanations[3:])) if line)
    if text:
        figure.supxlabel(text, fontsize=FONT["note"], color=INK)


def _is_redundant(rows: Sequence[Mapping[str, Any]], name: str) -> bool:
    """Whether a metric of one type of jobs says what that of all jobs says: there is no other type."""
    if name == "turnaround_h" or not name.startswith("turnaround_"):
        return False
    all_jobs, own = ([row["value"] for row in rows if row["metric"] == key] for key in ("turnaround_h", name))
    return all_jobs == own


def _summaries(rows: Sequence[Mapping[str, Any]], names: Sequence[str]) -> list[dict[str, Any]]:
    """The values alone, a row for each result."""
    found: dict[str, dict[str, Any]] = {name: {"mechanism": name} for name in names}
    for row in rows:
        found[str(row["mechanism"])][row["metric"]] = row["value"]
    return list(found.values())


def _panels(number: int, rows: int) -> tuple[Figure, list[Axes]]:
    """A figure with ``count`` panels of ``rows`` rows, four beside each other."""
    if not number:
        raise InputError("there are no metrics to draw")
    lines = -(-number // 4)
    figure = new_figure(PAGE, 0.25 + lines * (0.75 + 0.16 * rows))
    grid = subplots(figure, lines, -(-number // lines), sharey=True, squeeze=False)
    for axes in grid.flat[number:]:
        axes.set_visible(False)
    return figure, list(grid.flat[:number])


def _number(shown: Metric, value: Any) -> float:
    """A metric as it is shown; an empty cell of a table read back is not defined."""
    return math.nan if value is None else float(shown.scale_value(float(value)))


def _dot(axes: Axes, name: str, place: int, value: float) -> None:
    axes.plot([value], [place], mechanism_marker(name, place), color=mechanism_color(name, place), markersize=4.5,
              zorder=3)  # fmt: skip


def _say(axes: Axes, value: float, place: int, text: str) -> None:
    axes.annotate(text, (value, place), (4, 0), textcoords="offset points", va="center", fontsize=FONT["note"],
                  color=INK)  # fmt: skip


def _limit(axes: Axes, shown: Metric, low: float, high: float) -> None:
    """Room about the dots for their numbers, within what the metric can be; a share is shown in 0 to 100 %."""
    if shown.percent and shown.better is Better.MORE:
        axes.set_xlim(0, 100)
        axes.set_xticks([0, 50, 100])
        return
    room = max(high - low, 0.2 * high, 0.01)
    axes.set_xlim(max(0.0, low - 0.15 * room), min(shown.most, high + 0.55 * room))
    axes.locator_params(axis="x", nbins=4)


def _name_rows(axes: Axes, names: Sequence[str]) -> None:
    name_mechanisms(axes, names)
    axes.set_ylim(len(names) - 0.45, -0.55)


def _label(value: float) -> str:
    """Three significant digits, without an exponent.

    >>> _label(0.0), _label(0.1234), _label(23.25), _label(1234.5)
    ('0', '0.123', '23.2', '1234')
    """
    if value == 0:
        return "0"
    digits = max(0, 2 - math.floor(math.log10(abs(value))))
    return f"{value:.{min(digits, 3)}f}"
