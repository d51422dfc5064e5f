"""Panels of metrics over a parameter of the workload or the machine, with a line for each mechanism."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from holdfast.experiments.figures.canvas import PAGE, new_figure, subfigures, subplots
from holdfast.experiments.figures.style import FONT, INK, dress, legend_above, mechanism_color
from holdfast.experiments.statistics import interval
from holdfast.workloads.ground.columns import Metric
from holdfast.workloads.ground.errors import InputError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["Ruler", "draw_course", "plot_panels"]

Rows = Sequence[Mapping[str, Any]]
#: By value of the parameter and mechanism, by trace.
_Cells = dict[tuple[Any, str], dict[Any, float]]


class Ruler(NamedTuple):
    """The horizontal axis.

    Attributes
    ----------
    column
        Column of the parameter.
    label
        With the unit.
    even
        Whether the values stand at equal distances instead of at their own places.
    scale
        Factor from the values to those shown.
    """

    column: str
    label: str
    even: bool = False
    scale: float = 1.0


def _cells(rows: Rows, metric: Metric, ruler: Ruler) -> _Cells:
    cells: _Cells = {}
    for row in rows:
        if row[metric.name] is not None:
            cells.setdefault((row[ruler.column], row["mechanism"]), {})[row["trace"]] = metric.scale_value(
                row[metric.name]
            )
    return cells


def _margins(cells: _Cells, within: bool) -> dict[tuple[Any, str], float]:
    """Half of the 95 % interval of each mean; ``within``: after each trace's own level is taken out."""
    traces: dict[Any, list[float]] = {}
    for values in cells.values():
        for trace, value in values.items():
            traces.setdefault(trace, []).append(value)
    level = {trace: float(np.mean(values)) if within else 0.0 for trace, values in traces.items()}
    margins = {}
    for name, values in cells.items():
        apart = [value - level[trace] for trace, value in values.items()]
        # What is the same in all traces has no spread, whatever the level of the others.
        equal = len(set(values.values())) == 1
        margins[name] = 0.0 if equal else interval(apart).high - float(np.mean(apart))
    return margins


def draw_course(axes: Axes, rows: Rows, metric: Metric, ruler: Ruler, *, within: bool = True) -> dict[str, Any]:
    """One panel: means over the traces with 95 % whiskers; PAA in dashes, SPAA in full lines.

    Parameters
    ----------
    axes
        Where.
    rows
        One for each simulation, with ``trace``, ``mechanism``, the parameter and the metric.
    metric, ruler
        What is shown over what.
    within
        Whether whiskers leave out what traces differ by in all simulations alike.

    Returns
    -------
    dict
        Handles for a legend, by name.
    """
    cells = _cells(rows, metric, ruler)
    margins = _margins(cells, within)
    mechanisms = list(dict.fromkeys(row["mechanism"] for row in rows))
    ticks = sorted({row[ruler.column] for row in rows})
    place = {value: spot if ruler.even else ruler.scale * value for spot, value in enumerate(ticks)}
    span = (place[ticks[-1]] - place[ticks[0]]) or 1
    handles = {}
    for number, name in enumerate(mechanisms):
        own = [value for value in ticks if (value, name) in cells]
        # Side by side, so that no whisker hides another.
        shift = 0.006 * span * (number - (len(mechanisms) - 1) / 2)
        x = [place[value] + shift for value in own]
        means = [float(np.mean([*cells[value, name].values()])) for value in own]
        # No metric is below 0, no share above 100 %.
        down, up = (
            [
                max(0.0, min(metric.most, mean + side * margins[value, name]))
                for value, mean in zip(own, means, strict=True)
            ]
            for side in (-1, 1)
        )
        color = mechanism_color(name, number)
        axes.vlines(x, down, up, color=color, linewidth=0.7, alpha=0.55)
        (handles[name],) = axes.plot(
            x, means, color=color, linewidth=1.1, linestyle="-" if name.endswith("-SPAA") else (0, (4, 1.5)),
            marker="o", markersize=2.4,
        )  # fmt: skip
    if ruler.even:
        axes.set_xticks([*place.values()], [f"{ruler.scale * value:g}" for value in ticks])
    dress(axes, title=metric.panel)
    axes.locator_params(axis="y", nbins=6)
    return handles


def plot_panels(
    rows: Rows,
    ruler: Ruler,
    metrics: Sequence[Metric],
    columns: int,
    by: str = "",
    parts: Mapping[Any, str] | None = None,
) -> Figure:
    """A panel for each metric, ``columns`` side by side; again for each value of another column.

    Parameters
    ----------
    rows, ruler, metrics
        As in :func:`draw_course`.
    columns
        Panels side by side.
    by, parts
        The other column, and its values with a title each; none: all rows belong together.

    Raises
    ------
    InputError
        If there is nothing to show.
    """
    if not rows:
        raise InputError("there are no simulations to draw")
    chosen = parts or {None: ""}
    lines = -(-len(metrics) // columns)
    height = 1.75 * lines + (0.25 if by else 0)
    figure = new_figure(PAGE, 0.35 + height * len(chosen))
    handles: dict[str, Any] = {}
    boxes = subfigures(figure, [1.0] * len(chosen))
    for box, (value, words) in zip(boxes, chosen.items(), strict=True):
        own = [row for row in rows if not by or row[by] == value]
        if words:
            box.suptitle(words, fontsize=FONT["title"], color=INK, fontweight="bold")
        for number, (axes, metric) in enumerate(
            zip(subplots(box, lines, columns, squeeze=False).flat, metrics, strict=True)
        ):
            handles |= draw_course(axes, own, metric, ruler)
            axes.set_xlabel(ruler.label if number >= len(metrics) - columns else "", fontsize=FONT["label"], color=INK)
    legend_above(figure, list(handles.values()), list(handles))
    return figure
