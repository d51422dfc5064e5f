"""Figure of corrected forecasts: reliability diagrams, and coverage by queue length."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from holdfast.experiments.figures.canvas import PAGE, new_figure, subplots
from holdfast.experiments.figures.style import dress, legend_above, panel_letters
from holdfast.workloads.ground.errors import InputError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["plot_corrected_reliability"]

Rows = Sequence[Mapping[str, Any]]

#: Colour, dashes and mark of the logs.
_STYLES = (
    ("#0072B2", "-", "o"),
    ("#D55E00", "--", "s"),
    ("#009E73", "-.", "v"),
    ("#332288", ":", "D"),
    ("#CC79A7", "-", "^"),
    ("#E69F00", "--", "P"),
    ("#666666", "-", "X"),
)
_KINDS = ("recorded", "simulated")
_JOBS = ("submitted", "waiting")
#: A log with fewer forecasts has no line.
_FEWEST = 10


def plot_corrected_reliability(rows: Rows, logs: Mapping[str, str]) -> Figure:
    """Recorded schedules above, simulated ones below.

    Parameters
    ----------
    rows
        One for each corrected forecast, with ``log``, ``schedule``, ``jobs``, ``queue`` and ``rank``.
    logs
        Names of the logs, by those in the rows.

    Raises
    ------
    InputError
        If there is nothing to show.
    """
    kinds = [kind for kind in _KINDS if any(row["schedule"] == kind for row in rows)]
    if not kinds:
        raise InputError("there are no corrected forecasts to draw")
    figure = new_figure(PAGE, 0.45 + 2.25 * len(kinds))
    panels = subplots(figure, len(kinds), 3, squeeze=False)
    handles: dict[str, Any] = {}
    for line, kind in zip(panels, kinds, strict=True):
        own = [row for row in rows if row["schedule"] == kind]
        last = kind == kinds[-1]
        for axes, jobs in zip(line[:2], _JOBS, strict=True):
            _reliability(axes, [row for row in own if row["jobs"] == jobs], logs)
            dress(
                axes,
                x="level of the quantile (%)" if last else "",
                y="starts before it (%)" if jobs == _JOBS[0] else "",
                title=f"{kind.capitalize()}, {jobs} jobs",
            )
        handles |= _coverage(line[2], own, logs)
        dress(line[2], x="third of queue lengths" if last else "", y="inside the 90 % interval (%)", title="By queue")
    panel_letters(list(panels.flat))
    legend_above(figure, list(handles.values()), list(handles))
    return figure


def _reliability(axes: Axes, rows: Rows, logs: Mapping[str, str]) -> None:
    """Share of the starts before each quantile of their forecast; on the diagonal it is the level."""
    axes.plot([0, 100], [0, 100], color="#AAAAAA", linewidth=0.8)
    levels = np.linspace(0, 100, 101)
    for name, (color, dashes, _) in zip(logs, _STYLES, strict=False):
        ranks = np.array([row["rank"] for row in rows if row["log"] == name], dtype=float)
        if len(ranks) >= _FEWEST:
            below = np.searchsorted(np.sort(100 * ranks), levels, side="right") / len(ranks)
            axes.plot(levels, 100 * below, color=color, linestyle=dashes, linewidth=1.1)
    for set_limits, set_ticks in ((axes.set_xlim, axes.set_xticks), (axes.set_ylim, axes.set_yticks)):
        set_limits(0, 100)
        set_ticks([0, 25, 50, 75, 100])


def _coverage(axes: Axes, rows: Rows, logs: Mapping[str, str]) -> dict[str, Any]:
    """Coverage in thirds of queue lengths, first of submitted and then of waiting jobs."""
    handles = {}
    axes.axhspan(85, 95, color="#EEEEEE", linewidth=0)
    for (name, words), (color, dashes, mark) in zip(logs.items(), _STYLES, strict=False):
        for place, jobs in enumerate(_JOBS):
            own = [row for row in rows if row["log"] == name and row["jobs"] == jobs]
            if len(own) < _FEWEST:
                continue
            order = np.argsort([row["queue"] for row in own], kind="stable")
            shares = [
                100 * float(np.mean([abs(own[index]["rank"] - 0.5) <= 0.45 for index in part.tolist()]))
                for part in np.array_split(order, 3)
            ]
            places = 4 * place + np.arange(3)
            (handles[words],) = axes.plot(
                places, shares, color=color, linestyle=dashes, marker=mark, markersize=3.2, linewidth=0.9
            )
    axes.set_xticks([0, 1, 2, 4, 5, 6], ["short", f"\n{_JOBS[0]}", "long", "short", f"\n{_JOBS[1]}", "long"])
    axes.set_xlim(-0.5, 6.5)
    axes.set_ylim(min(50.0, axes.get_ylim()[0]), 101)
    return handles
