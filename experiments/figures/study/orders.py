"""Figure of queue orders under backfilling rules: waits, slowdowns and utilisation, and waits by size."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from experiments.figures.canvas import PAGE, new_figure, subfigures, subplots
from experiments.figures.study.dot_lines import finish, marks
from experiments.figures.style import FONT, INK, panel_letters
from simulator.results.catalogue import metric
from workloads.ground.errors import InputError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

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
    """Each order a line of marks: above a mark for each rule, below those under EASY for each class of sizes.

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
    figure = new_figure(PAGE, 1.3 + 0.33 * len(orders))
    above, below = subfigures(figure, (1.12, 1))
    handles: dict[str, Any] = {}
    top = subplots(above, 1, len(_METRICS), sharey=True)
    for axes, shown in zip(top, _METRICS, strict=True):
        for number, rule in enumerate(rules):
            color, mark = _RULES[number % len(_RULES)]
            shift = 0.17 * (number - (len(rules) - 1) / 2)
            values = _values(rows, first, rule, _ALL, shown.name, orders)
            handles[rule] = marks(axes, values, shown.scale, color, mark, shift)
        finish(axes, orders, shown.heading, _UNITS.get(shown.unit, shown.unit), log=not shown.percent)
    bottom = subplots(below, 1, len(sizes), sharey=True)
    for axes, name in zip(bottom, sizes, strict=True):
        color, mark = _RULES[rules.index(main)]
        marks(axes, _values(rows, first, main, name, "wait_h", orders), 1.0, color, mark, -0.12 if others else 0.0)
        for other in others:
            hollow = marks(
                axes, _values(rows, other, main, name, "wait_h", orders), 1.0, color, mark, 0.18, hollow=True
            )
            handles[f"{main}, {other}"] = hollow
        finish(axes, orders, f"Mean wait, {name}", f"Hours, {main}", log=True)
    panel_letters([*top, *bottom])
    figure.legend(
        list(handles.values()), list(handles), loc="outside upper center", ncols=len(handles), frameon=False,
        fontsize=FONT["legend"], labelcolor=INK, handletextpad=0.2, columnspacing=1.4, borderaxespad=0.0,
    )  # fmt: skip
    return figure


def _rank_orders(rows: Rows, rule: str, dataset: str) -> list[str]:
    """The orders, the one with the shortest mean wait first."""
    waits: dict[str, list[float]] = {}
    for row in rows:
        if (row["dataset"], row["rule"], row["sizes"]) == (dataset, rule, _ALL):
            waits.setdefault(str(row["order"]), []).append(row["wait_h"])
    return sorted(waits, key=lambda order: float(np.mean(waits[order])))


def _values(rows: Rows, dataset: str, rule: str, sizes: str, column: str, orders: Sequence[str]) -> list[list[float]]:
    """The metric of each order in each trace."""
    cells: dict[str, list[float]] = {order: [] for order in orders}
    for row in rows:
        if (row["dataset"], row["rule"], row["sizes"]) == (dataset, rule, sizes) and row[column] is not None:
            cells[str(row["order"])].append(float(row[column]))
    return list(cells.values())
