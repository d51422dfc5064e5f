"""Figure of orders and mechanisms on several machines: the distance of each from the first, by machine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from holdfast.experiments.figures.canvas import PAGE, new_figure, subfigures, subplots
from holdfast.experiments.figures.study.dot_lines import finish, marks
from holdfast.experiments.figures.style import INK, legend_above, panel_letters
from holdfast.policies.mechanism import BASELINE
from holdfast.workloads.ground.errors import InputError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["plot_rankings"]

Rows = Sequence[Mapping[str, Any]]

_FIRST = "fcfs"
_COLORS = (("#999999", "o"), ("#0072B2", "s"), ("#D55E00", "D"), ("#009E73", "^"))


def plot_rankings(orders: Rows, mechanisms: Rows, datasets: Mapping[str, str]) -> Figure:
    """Above waits and slowdowns of the orders over those of FCFS; below what the mechanisms are ranked by.

    Parameters
    ----------
    orders
        With ``dataset``, ``trace``, ``order``, ``wait_h`` and ``bounded_slowdown``.
    mechanisms
        With ``dataset``, ``trace``, ``mechanism``, ``turnaround_h``, ``instant_start_ratio_strict`` and
        ``preemption_ratio_malleable``.
    datasets
        By name: what they are called. Marks are means; lines reach from the smallest to the largest repetition.

    Raises
    ------
    InputError
        If there is nothing to show.
    """
    if not orders or not mechanisms:
        raise InputError("there are no simulations to draw")
    shown = [name for name in datasets if any(row["dataset"] == name for row in orders)]
    names = _rank_orders(orders)
    kinds = list(dict.fromkeys(str(row["mechanism"]) for row in mechanisms))
    figure = new_figure(PAGE, 1.5 + 0.26 * (len(names) + len(kinds)))
    above, below = subfigures(figure, (len(names), len(kinds) + 2.5))
    top, bottom = subplots(above, 1, 2, sharey=True), subplots(below, 1, 3, sharey=True)
    base = _FIRST if _FIRST in names else names[0]
    panels = (
        (top[0], orders, "order", names, "wait_h", base, "Mean wait", f"Ratio to {base}"),
        (top[1], orders, "order", names, "bounded_slowdown", base, "Mean bounded slowdown", f"Ratio to {base}"),
        (bottom[0], mechanisms, "mechanism", kinds, "turnaround_h", BASELINE, "Turnaround", "Ratio to the baseline"),
        (bottom[1], mechanisms, "mechanism", kinds, "instant_start_ratio_strict", "", "Instant starts (0 s)", "%"),
        (bottom[2], mechanisms, "mechanism", kinds, "preemption_ratio_malleable", "", "Preempted malleable jobs", "%"),
    )
    handles: dict[str, Any] = {}
    for axes, rows, column, own, metric, first, title, unit in panels:
        for number, dataset in enumerate(shown):
            color, mark = _COLORS[number % len(_COLORS)]
            values = _values([row for row in rows if row["dataset"] == dataset], column, own, metric, first)
            shift = 0.18 * (number - (len(shown) - 1) / 2)
            handles[datasets[dataset]] = marks(axes, values, 1.0 if first else 100.0, color, mark, shift)
        finish(axes, own, title, unit, log=column == "order")
        if first:
            axes.axvline(1.0, color=INK, linewidth=0.7, zorder=-1)
    panel_letters([*top, *bottom])
    legend_above(figure, list(handles.values()), list(handles))
    return figure


def _rank_orders(rows: Rows) -> list[str]:
    """The orders, the one with the shortest mean wait on the first dataset first."""
    waits: dict[str, list[float]] = {}
    for row in rows:
        if row["dataset"] == rows[0]["dataset"]:
            waits.setdefault(str(row["order"]), []).append(row["wait_h"])
    return sorted(waits, key=lambda order: float(np.mean(waits[order])))


def _values(rows: Rows, column: str, names: Sequence[str], metric: str, first: str) -> list[list[float]]:
    """The metric of each name in each repetition, over that of ``first`` if there is one."""
    known = {(row["trace"], row[column]): row[metric] for row in rows if row[metric] is not None}
    over = {trace: value for (trace, name), value in known.items() if name == first}
    return [
        [value / (over[trace] if first else 1.0) for (trace, own), value in known.items()
         if own == name and (not first or over.get(trace))]
        for name in names
    ]  # fmt: skip
