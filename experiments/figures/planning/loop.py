"""The closed loop round by round: what plans were made for, what came of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from experiments.figures.style import PAGE, dress, new_figure, panel_letters

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["plot_loop"]

_PLANNED, _FITTED, _ALL = "#0072B2", "#D55E00", "#7F7F7F"


def plot_loop(rows: Sequence[Mapping[str, Any]]) -> Figure:
    """Prices, turnaround and reservations by round.

    Parameters
    ----------
    rows
        Rows of :meth:`experiments.planning.loop.Round.row`, in their order.
    """
    figure = new_figure(PAGE, 2.3)
    prices, times, counts = figure.subplots(1, 3)
    at = [row["round"] for row in rows]

    def line(axes: Any, name: str, label: str, color: str) -> None:
        axes.plot(at, [row[name] for row in rows], marker="o", markersize=3.5, linewidth=1.2, color=color, label=label)

    line(prices, "alpha", "planned for", _PLANNED)
    line(prices, "fitted_alpha", "waits were", _FITTED)
    line(times, "turnaround_stochastic_h", "stochastic jobs", _PLANNED)
    line(times, "turnaround_h", "all jobs", _ALL)
    line(counts, "reservations_per_job", "reservations a job", _PLANNED)
    dress(prices, x="round", y="alpha")
    dress(times, x="round", y="turnaround [h]")
    dress(counts, x="round", y="reservations a job")
    for axes in (prices, times, counts):
        axes.set_ylim(bottom=0)
        axes.set_xticks(at)
    for axes in (prices, times):
        axes.legend(frameon=False, fontsize=7)
    panel_letters([prices, times, counts])
    return figure
