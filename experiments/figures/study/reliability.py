"""Figure of forecast quality: reliability diagrams, and errors by job size and queue length."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from holdfast.experiments.figures.canvas import PAGE, new_figure, subplots
from holdfast.experiments.figures.style import INK, dress, legend_above, panel_letters
from holdfast.workloads.ground.errors import InputError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["plot_reliability"]

Rows = Sequence[Mapping[str, Any]]

#: Colour and mark of the methods, in the order in which they come, and of the logs.
_METHODS = (("#0072B2", "o"), ("#D55E00", "s"), ("#999999", "v"), ("#CC79A7", "D"), ("#009E73", "^"))
_LOGS = (("#0072B2", "-"), ("#D55E00", "--"), ("#009E73", "-."), ("#332288", ":"))
#: Upper ends of the classes of sizes, as shares of the machine, and of queue lengths.
_SIZES = {"≤ 1/32": 1 / 32, "≤ 1/8": 1 / 8, "≤ 1/4": 1 / 4, "≤ 1/2": 1 / 2, "more": np.inf}
_QUEUES = {"0-4": 4, "5-14": 14, "15-39": 39, "40-99": 99, "100+": np.inf}
#: A class with fewer moments has no mark.
_FEWEST = 10
_TITLES = {"simulated": "simulated schedules", "recorded": "recorded schedules"}


def plot_reliability(rows: Rows, methods: Mapping[str, str], logs: Mapping[str, str]) -> Figure:
    """Simulated schedules above, recorded ones below: reliability, and median errors by size and by queue.

    Parameters
    ----------
    rows
        One for each moment and method, with ``log``, ``schedule``, ``method``, ``share``, ``queue``, ``log_error`` and,
        of the first method, ``rank``.
    methods, logs
        Names for people, by those in the rows; the first method is the forecast.

    Raises
    ------
    InputError
        If there is nothing to show.
    """
    kinds = [kind for kind in _TITLES if any(row["schedule"] == kind for row in rows)]
    if not kinds:
        raise InputError("there are no forecasts to draw")
    figure = new_figure(PAGE, 0.45 + 2.25 * len(kinds))
    panels = subplots(figure, len(kinds), 3, squeeze=False)
    handles: dict[str, Any] = {}
    for line, kind in zip(panels, kinds, strict=True):
        own = [row for row in rows if row["schedule"] == kind]
        _reliability(line[0], own, next(iter(methods)), logs)
        for axes, column, classes in ((line[1], "share", _SIZES), (line[2], "queue", _QUEUES)):
            handles |= _errors(axes, own, column, classes, methods)
        last = kind == kinds[-1]
        dress(
            line[0],
            x="level of the quantile (%)" if last else "",
            y="starts before it (%)",
            title=f"Reliability, {kind}",
        )
        dress(line[1], x="share of the machine" if last else "", y="median error (factor)", title="Error by size")
        dress(line[2], x="other waiting jobs" if last else "", title="Error by queue")
    for line in panels:
        top = max(axes.get_ylim()[1] for axes in line[1:])
        for axes in line[1:]:
            axes.set_ylim(1, top)
    panel_letters(list(panels.flat))
    legend_above(figure, list(handles.values()), list(handles))
    return figure


def _reliability(axes: Axes, rows: Rows, method: str, logs: Mapping[str, str]) -> None:
    """How many starts lie before each quantile of their forecast; on the diagonal as many as there should."""
    axes.plot([0, 100], [0, 100], color="#AAAAAA", linewidth=0.8)
    levels = np.linspace(0, 100, 101)
    for (name, words), (color, dashes) in zip(logs.items(), _LOGS, strict=False):
        ranks = np.array([row["rank"] for row in rows if row["method"] == method and row["log"] == name], dtype=float)
        if len(ranks) >= _FEWEST:
            below = np.searchsorted(np.sort(100 * ranks), levels, side="right") / len(ranks)
            axes.plot(levels, 100 * below, color=color, linestyle=dashes, linewidth=1.2, label=words)
    axes.set_xlim(0, 100)
    axes.set_ylim(0, 100)
    axes.set_xticks([0, 25, 50, 75, 100])
    axes.set_yticks([0, 25, 50, 75, 100])
    if len(axes.lines) > 1:
        axes.legend(loc="lower right", frameon=False, fontsize=6, labelcolor=INK, handlelength=1.8, borderaxespad=0.1)


def _errors(
    axes: Axes, rows: Rows, column: str, classes: Mapping[str, float], methods: Mapping[str, str]
) -> dict[str, Any]:
    """The median factor between wait and answer, both plus a minute, in each class."""
    handles = {}
    for (name, words), (color, mark) in zip(methods.items(), _METHODS, strict=True):
        own = [row for row in rows if row["method"] == name]
        values = np.array([row[column] for row in own], dtype=float)
        errors = np.array([row["log_error"] for row in own], dtype=float)
        places, found, least = [], [], -np.inf
        for place, most in enumerate(classes.values()):
            chosen = (values > least) & (values <= most)
            least = most
            if chosen.sum() >= _FEWEST:
                places.append(place)
                found.append(10 ** float(np.median(errors[chosen])))
        (handles[words],) = axes.plot(places, found, color=color, marker=mark, markersize=3.4, linewidth=1.0)
    axes.set_yscale("log")
    axes.set_xticks(range(len(classes)), list(classes))
    axes.set_xlim(-0.4, len(classes) - 0.6)
    _plain(axes)
    return handles


def _plain(axes: Axes) -> None:
    from matplotlib.ticker import LogLocator, NullFormatter

    axes.yaxis.set_major_locator(LogLocator(subs=(1.0, 1.5, 2.0, 3.0, 5.0)))
    axes.yaxis.set_major_formatter("{x:g}")
    axes.yaxis.set_minor_formatter(NullFormatter())
