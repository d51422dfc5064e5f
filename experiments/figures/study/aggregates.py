"""Figure of a sweep: mean and interval of each configuration, or differences from a reference, in facets by key."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Unpack

from holdfast.experiments.figures.canvas import PAGE, CanvasOptions, new_figure, plot, subplots
from holdfast.experiments.figures.style import (
    FONT,
    INK,
    dress,
    legend_above,
    mechanism_color,
    mechanism_label,
    mechanism_marker,
)
from holdfast.simulator.results.catalogue import metric
from holdfast.workloads.ground.columns import Better, Metric
from holdfast.workloads.ground.errors import InputError, UnknownNameError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["plot_aggregates", "plot_differences", "undrawn"]

#: Metrics that are drawn unless others are named, as far as there are any.
_SHOWN = ("wait_h", "bounded_slowdown", "instant_start_ratio", "utilization")
_FIXED = ("against", "metric", "n", "mean", "difference", "low", "high", "verdict")
#: Differences up to this size are rounding errors, in the units of figures.
_ROUNDING = 1e-9
#: Most values beside an axis, series of a panel, and rows of panels.
_PLACES, _SERIES, _FACETS = 24, 6, 6
#: Parameters that are durations.
_SECONDS = ("warning", "timeout", "node_mtbf")
#: Fewest numbers that make an axis of their own.
_NUMBERS = 3

Row = Mapping[str, Any]


@dataclass(frozen=True)
class _Layout:
    """Which key is shown how.

    Attributes
    ----------
    axis
        Key along the axis of configurations; empty: there is a single configuration.
    numeric
        Whether its values are numbers on a scale.
    places
        Values along the axis that are drawn, unless they are numbers.
    series, series_values
        Key shown by colour and marker (empty: none), and its values.
    facets, facet_values
        Keys with a row of panels for each combination of values, and the combinations that are drawn.
    left_out
        What is not drawn, in a sentence; empty: all is.
    """

    axis: str
    numeric: bool
    places: list[Any]
    series: str
    series_values: list[Any]
    facets: tuple[str, ...]
    facet_values: list[tuple[Any, ...]]
    left_out: str

    def facet(self, row: Row) -> tuple[Any, ...]:
        """The row of panels that shows a configuration."""
        return tuple(row[key] for key in self.facets)

    @property
    def height(self) -> float:
        """Height of a row of panels [in]."""
        if self.numeric:
            return 1.55
        return max(0.5 + max(0.17, 0.11 * len(self.series_values)) * max(1, len(self.places)), 0.9)


def _keys(rows: Sequence[Row]) -> list[str]:
    return [name for name in rows[0] if name not in _FIXED]


def _values(rows: Sequence[Row], key: str) -> list[Any]:
    return list(dict.fromkeys(row[key] for row in rows))


def _layout(rows: Sequence[Row]) -> _Layout:
    keys = _keys(rows)
    sizes = {key: len(_values(rows, key)) for key in keys}
    numbers = [key for key in keys if sizes[key] >= _NUMBERS and _is_scale(_values(rows, key))]
    # The longest of the numbers is a scale; without numbers the longest list is the axis.
    axis = max(numbers or keys, key=lambda key: sizes[key], default="")
    rest = [key for key in keys if key != axis and sizes[key] > 1]
    series = next((key for key in rest if key == "mechanism" and sizes[key] <= _SERIES + 1), "")
    series = series or next((key for key in rest if sizes[key] <= _SERIES), "")
    facets = tuple(key for key in rest if key != series)
    combined = list(dict.fromkeys(tuple(row[key] for key in facets) for row in rows))
    left_out = ""
    if len(combined) > _FACETS:
        names = " x ".join(facets)
        left_out = f"{len(combined)} combinations of {names}, of which the first {_FACETS} are drawn"
    if axis not in numbers and sizes.get(axis, 0) > _PLACES:
        more = f"{sizes[axis]} values of {axis}, of which the first {_PLACES} are drawn"
        left_out = f"{left_out}; {more}" if left_out else more
    numeric = axis in numbers
    return _Layout(
        axis,
        numeric,
        [] if numeric or not axis else _values(rows, axis)[:_PLACES],
        series,
        _values(rows, series) if series else [None],
        facets,
        combined[:_FACETS],
        left_out,
    )


def _is_scale(values: Sequence[Any]) -> bool:
    return all(isinstance(value, int | float) and math.isfinite(value) for value in values)


def undrawn(rows: Sequence[Row]) -> str:
    """What of these rows a figure does not show, in a sentence; empty: it shows all."""
    return _layout(rows).left_out if rows else ""


@plot
def plot_aggregates(rows: Sequence[Row], metrics: Sequence[str] = (), **canvas: Unpack[CanvasOptions]) -> Figure:
    """Mean and 95 % interval of each configuration.

    Parameters
    ----------
    rows
        Rows of :func:`holdfast.experiments.sweeps.aggregates.aggregate_rows`, or read back.
    metrics
        Their names; by default wait, bounded slowdown, instant starts and utilisation, as far as there are any.
    **canvas
        Width, style and axes (:class:`~holdfast.experiments.figures.canvas.CanvasOptions`).

    Returns
    -------
    Figure
        A column of panels for each metric. A parameter with three or more numbers is the horizontal axis; otherwise
        the one with most values is the vertical one. Another parameter is shown by colour and marker, and each
        combination of the rest has a row of panels.

    Raises
    ------
    InputError
        If there is nothing to draw, or no metric of a name.
    """
    return _plot(rows, metrics, "mean")


@plot
def plot_differences(rows: Sequence[Row], metrics: Sequence[str] = (), **canvas: Unpack[CanvasOptions]) -> Figure:
    """Differences from the reference, with their 95 % intervals; as :func:`plot_aggregates`.

    Parameters
    ----------
    rows
        Rows of :func:`holdfast.experiments.sweeps.aggregates.difference_rows`, or read back.
    metrics
        Their names.
    **canvas
        Width, style and axes (:class:`~holdfast.experiments.figures.canvas.CanvasOptions`).
    """
    return _plot(rows, metrics, "difference")


def _plot(rows: Sequence[Row], names: Sequence[str], value: str) -> Figure:
    metrics = _metrics(rows, names)
    rows = [row for row in rows if row["metric"] in {item.name for item in metrics}]
    if not rows:
        raise InputError("there are no configurations to draw")
    layout = _layout(rows)
    lines = len(layout.facet_values)
    figure = new_figure(PAGE, 0.7 + layout.height * lines)
    grid = subplots(figure, lines, len(metrics), squeeze=False, sharex="col" if not layout.numeric else "all",
                           sharey="col" if layout.numeric else "all")  # fmt: skip
    for line, (panels, facet) in enumerate(zip(grid, layout.facet_values, strict=True)):
        for axes, shown in zip(panels, metrics, strict=True):
            own = [row for row in rows if layout.facet(row) == facet and row["metric"] == shown.name]
            _panel(axes, layout, shown, value, own)
            _name(axes, layout, shown, value, last=line == lines - 1, top=line == 0)
        if layout.facets:
            words = ", ".join(_words(key, part) for key, part in zip(layout.facets, facet, strict=True))
            _write_heading(panels[0], words, 16 if line == 0 else 4)
    if value == "mean":
        # A limit ends the scaling of a whole column, which must have all of its values by then.
        for axes, shown in zip(grid[0], metrics, strict=True):
            _within_the_possible(axes, shown, horizontal=not layout.numeric)
    figure.supxlabel(_caption(rows, value), fontsize=FONT["label"], color=INK)
    if len(layout.series_values) > 1:
        handles, labels = grid[0][0].get_legend_handles_labels()
        by_label = dict(zip(labels, handles, strict=True))
        legend_above(figure, list(by_label.values()), list(by_label), columns=min(len(by_label), 4))
    return figure


def _write_heading(axes: Axes, words: str, height: float) -> None:
    """Write the heading of a row of panels above its first one."""
    look: dict[str, Any] = {"fontsize": FONT["label"], "fontweight": "bold", "color": INK}
    look |= {"xycoords": "axes fraction", "textcoords": "offset points"}
    axes.annotate(words, (0, 1), (0, height), **look).set_in_layout(False)
    # The layout takes the height of a heading from this letter, but not its width, which would narrow the panels.
    axes.annotate(words[:1], (0, 1), (0, height), **look, alpha=0)


def _metrics(rows: Sequence[Row], names: Sequence[str]) -> list[Metric]:
    """The named metrics, by default the usual ones, as far as there are any."""
    there = {row["metric"] for row in rows}
    for name in names:
        if name not in there:
            raise UnknownNameError("metric", name, sorted(there))
    return [metric(name) for name in names or [name for name in _SHOWN if name in there]]


def _caption(rows: Sequence[Row], value: str) -> str:
    """What a dot and its line are."""
    numbers = sorted({row["n"] for row in rows})
    of = "pairs of runs" if value == "difference" else "runs"
    many = f"{numbers[0]}" if len(numbers) == 1 else f"{numbers[0]} to {numbers[-1]}"
    first = f"Difference from {rows[0]['against']}" if value == "difference" else "Mean"
    if numbers[-1] == 1:
        return first if value == "difference" else "One run each"
    return f"{first} over {many} {of}, with its 95 % interval"


def _words(key: str, value: Any) -> str:
    if isinstance(value, float):
        value = f"{value:g}"
    return str(value) if key in ("order", "backfilling", "mechanism", "notice_mix") else f"{_plain(key)} {value}"


def _axis(key: str) -> str:
    name = _plain(key).capitalize()
    return f"{name} (s)" if key in _SECONDS else name


def _plain(key: str) -> str:
    return key.replace("_", " ")


def _panel(axes: Axes, layout: _Layout, shown: Metric, value: str, rows: Sequence[Row]) -> None:
    """Draw the values of a metric with their intervals."""
    for number, one in enumerate(layout.series_values):
        own = [row for row in rows if not layout.series or row[layout.series] == one]
        if layout.axis and not layout.numeric:
            own = [row for row in own if row[layout.axis] in layout.places]
        if not own:
            continue
        means = [_clear_rounding_error(row[value] * shown.scale) for row in own]
        ends = [[_margin(row, value, end) * shown.scale for row in own] for end in ("low", "high")]
        color = mechanism_color(str(one), number) if layout.series else INK
        marker = mechanism_marker(str(one), number) if layout.series else "o"
        style: dict[str, Any] = {
            "color": color, "marker": marker, "markersize": 3.6, "markeredgewidth": 0, "elinewidth": 0.9,
            "capsize": 1.8, "capthick": 0.9, "label": "" if one is None else _words(layout.series, one),
        }  # fmt: skip
        # Series stand beside each other, so that no interval hides another one.
        beside = number - (len(layout.series_values) - 1) / 2
        if layout.numeric:
            order = sorted(range(len(own)), key=lambda place: own[place][layout.axis])
            values = [row[layout.axis] for row in rows]
            apart = 0.018 * (max(values) - min(values)) * beside
            at = [own[place][layout.axis] + apart for place in order]
            axes.errorbar(at, [means[place] for place in order], [[side[place] for place in order] for side in ends],
                          linewidth=0.9, **style)  # fmt: skip
        else:
            shift = min(0.22, 0.66 / len(layout.series_values)) * beside
            at = [(layout.places.index(row[layout.axis]) if layout.axis else 0) + shift for row in own]
            axes.errorbar(means, at, xerr=ends, linestyle="none", **style)
    if not layout.numeric:
        _label_places(axes, layout, rows)
    if value == "difference":
        (axes.axhline if layout.numeric else axes.axvline)(0.0, color="#888888", linewidth=0.7, zorder=0.8)


def _label_places(axes: Axes, layout: _Layout, rows: Sequence[Row]) -> None:
    """Name the configurations along the vertical axis, with lines between them."""
    labels = [mechanism_label(_words(layout.axis, place)) for place in layout.places] or [""]
    if len(labels) == 1 and rows and not layout.series:
        # A single configuration is named by all its keys, as the reference is in the line below.
        labels = [mechanism_label(", ".join(_words(key, rows[0][key]) for key in _keys(rows)))]
    axes.set_yticks(range(len(labels)), labels)
    axes.set_ylim(len(labels) - 0.5, -0.5)
    for place in range(1, len(labels)):
        axes.axhline(place - 0.5, color="#E4E4E4", linewidth=0.6, zorder=0.7)


def _clear_rounding_error(value: float) -> float:
    """Zero for the rounding error of a difference of equal numbers, which would set the scale of its axis."""
    return 0.0 if abs(value) < _ROUNDING else value


def _margin(row: Row, value: str, end: str) -> float:
    if row[end] is None or math.isnan(row[end]):
        return 0.0
    return abs(float(row[end]) - float(row[value]))


def _name(axes: Axes, layout: _Layout, shown: Metric, value: str, *, last: bool, top: bool) -> None:
    """Axes with their labels; what a panel shows is its title."""
    unit = shown.difference if value == "difference" else shown.unit
    title = f"{shown.heading} ({unit})" if unit else shown.heading
    better = {Better.LESS: "less is better", Better.MORE: "more is better"}.get(shown.better, "")
    if layout.numeric:
        dress(axes, x=_axis(layout.axis) if last else "", title=title if top else "")
        axes.locator_params(axis="both", nbins=5)
    else:
        dress(axes, x=better if last else "", title=title if top else "", grid="x")
        axes.tick_params(axis="y", length=0)
        axes.locator_params(axis="x", nbins=4)


def _within_the_possible(axes: Axes, shown: Metric, *, horizontal: bool) -> None:
    low, high = axes.get_xlim() if horizontal else axes.get_ylim()
    limits = (max(low, 0.0) if low >= 0 or shown.percent else 0.0, min(high, shown.most))
    (axes.set_xlim if horizontal else axes.set_ylim)(*limits)
