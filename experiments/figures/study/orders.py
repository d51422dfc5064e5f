"""Figure of queue orders and backfilling rules: orders under EASY, other rules against it, and waits by size."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from holdfast.experiments.figures.canvas import PAGE, new_figure, subfigures, subplots
from holdfast.experiments.figures.study.dot_lines import finish, marks
from holdfast.experiments.figures.style import INK, legend_above, panel_letters
from holdfast.simulator.results.catalogue import metric
from holdfast.workloads.ground.errors import InputError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from holdfast.workloads.ground.columns import Metric

__all__ = ["plot_orders"]

Rows = Sequence[Mapping[str, Any]]

_METRICS = tuple(map(metric, ("wait_h", "wait_p95_h", "bounded_slowdown", "utilization")))
#: Units in words of a narrow axis.
_UNITS = {"h": "Hours", "": "Mean"}
#: Colour and mark of the rules, in the order in which they come.
_RULES = (("#0072B2", "o"), ("#D55E00", "s"), ("#999999", "v"), ("#009E73", "D"), ("#CC79A7", "^"), ("#332288", "P"))
_ALL = "all"
_MAIN = "easy"


def plot_orders(rows: Rows, sizes: Sequence[str], first: str) -> Figure:
    """Each order a line of marks: above under EASY, then the other rules against EASY, below EASY by size.

    The rules are compared within each trace: as levels their marks would cover each other, because orders and traces
    differ far more than rules.

    Parameters
    ----------
    rows
        With ``dataset``, ``order``, ``rule``, ``sizes`` and the metrics.
    sizes
        The classes.
    first
        The dataset of which there are several traces: marks are means, lines reach from the smallest to the largest.
        Marks of another dataset are hollow.

    Raises
    ------
    InputError
        If there is nothing to show.
    """
    if not rows:
        raise InputError("there are no simulations to draw")
    rules = list(dict.fromkeys(str(row["rule"]) for row in rows))
    main = _MAIN if _MAIN in rules else rules[0]
    orders = _rank_orders(rows, main, first)
    others = [name for name in dict.fromkeys(row["dataset"] for row in rows) if name != first]
    against = [rule for rule in rules if rule != main]
    figure = new_figure(PAGE, 1.6 + (0.5 if against else 0.33) * len(orders))
    above, *between, below = subfigures(figure, (1.0, 1.3, 1.1) if against else (1.12, 1.0))
    handles: dict[str, Any] = {}
    top = subplots(above, 1, len(_METRICS), sharey=True)
    for axes, shown in zip(top, _METRICS, strict=True):
        color, mark = _RULES[rules.index(main)]
        values = _values(rows, first, main, _ALL, shown.name, orders)
        handles[main] = marks(axes, values, shown.scale, color, mark, 0.0)
        unit = _UNITS.get(shown.unit, shown.unit)
        finish(axes, orders, shown.heading, f"{unit}, {main}", log=not shown.percent)
    middle: list[Axes] = list(subplots(between[0], 1, len(_METRICS), sharey=True)) if between else []
    for axes, shown in zip(middle, _METRICS, strict=False):
        for number, rule in enumerate(against):
            color, mark = _RULES[rules.index(rule) % len(_RULES)]
            shift = 0.2 * (number - (len(against) - 1) / 2)
            values = _relative(rows, first, (rule, main), shown, orders)
            handles[rule] = marks(axes, values, 1.0, color, mark, shift)
        finish(axes, orders, shown.heading, f"Points more than {main}" if shown.percent else f"Times that of {main}",
               log=not shown.percent)  # fmt: skip
        axes.axvline(0.0 if shown.percent else 1.0, color=INK, linewidth=0.7, zorder=1)
    bottom = subplots(below, 1, len(sizes), sharey=True, squeeze=False)[0]
    for axes, name in zip(bottom, sizes, strict=True):
        color, mark = _RULES[rules.index(main)]
        marks(axes, _values(rows, first, main, name, "wait_h", orders), 1.0, color, mark, -0.12 if others else 0.0)
        for other in others:
            hollow = marks(
                axes, _values(rows, other, main, name, "wait_h", orders), 1.0, color, mark, 0.18, hollow=True
            )
            handles[f"{main}, {other}"] = hollow
        finish(axes, orders, f"Mean wait, {name}", f"Hours, {main}", log=True)
    panel_letters([*top, *middle, *bottom])
    legend_above(figure, list(handles.values()), list(handles))
    return figure


def _rank_orders(rows: Rows, rule: str, dataset: str) -> list[str]:
    """The orders, the one with the shortest mean wait first."""
    waits: dict[str, list[float]] = {}
    for row in rows:
        if (row["dataset"], row["rule"], row["sizes"]) == (dataset, rule, _ALL):
            waits.setdefault(str(row["order"]), []).append(row["wait_h"])
    return sorted(waits, key=lambda order: float(np.mean(waits[order])))


def _relative(
    rows: Rows, dataset: str, rules: tuple[str, str], shown: Metric, orders: Sequence[str]
) -> list[list[float]]:
    """The first rule against the second in each trace, order by order: ratios, or points of a share."""
    found: dict[tuple[str, str], dict[Any, float]] = {}
    for row in rows:
        if row["dataset"] == dataset and row["sizes"] == _ALL and row[shown.name] is not None:
            found.setdefault((str(row["order"]), str(row["rule"])), {})[row["trace"]] = float(row[shown.name])
    pairs = [(found.get((order, rules[0]), {}), found.get((order, rules[1]), {})) for order in orders]
    if shown.percent:
        return [[shown.scale * (own[trace] - other[trace]) for trace in own if trace in other] for own, other in pairs]
    return [[own[trace] / other[trace] for trace in own if other.get(trace)] for own, other in pairs]


def _values(rows: Rows, dataset: str, rule: str, sizes: str, column: str, orders: Sequence[str]) -> list[list[float]]:
    """The metric of each order in each trace."""
    cells: dict[str, list[float]] = {order: [] for order in orders}
    for row in rows:
        if (row["dataset"], row["rule"], row["sizes"]) == (dataset, rule, sizes) and row[column] is not None:
            cells[str(row["order"])].append(float(row[column]))
    return list(cells.values())
