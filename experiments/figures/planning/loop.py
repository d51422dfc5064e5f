"""Figure of the closed loop by round: waits assumed by the plans, and the resulting waits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from holdfast.experiments.figures.canvas import PAGE, new_figure, subplots
from holdfast.experiments.figures.style import FONT, INK, dress, panel_letters

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["plot_loop"]

#: Colour and marker of each line.
_PLANNED, _FITTED, _ALL = ("#0A62A0", "o"), ("#D55E00", "s"), ("#1F1F1F", "D")


def plot_loop(rows: Sequence[Mapping[str, Any]]) -> Figure:
    """Prices, turnaround and reservations by round.

    Parameters
    ----------
    rows
        Rows of :meth:`holdfast.experiments.planning.closed_loop.Round.row`, in their order.
    """
    figure = new_figure(PAGE, 2.4)
    prices, times, counts = subplots(figure, 1, 3)
    at = [row["round"] for row in rows]

    def line(axes: Axes, name: str, label: str, look: tuple[str, str]) -> None:
        color, marker = look
        values = [row[name] for row in rows]
        axes.plot(at, values, marker=marker, markersize=3.5, linewidth=1.2, color=color, label=label)

    line(prices, "alpha", "price in the plan", _PLANNED)
    line(prices, "fitted_alpha", "price in the queue", _FITTED)
    line(times, "turnaround_stochastic_h", "stochastic jobs", _PLANNED)
    line(times, "turnaround_h", "all jobs", _ALL)
    line(counts, "reservations_per_job", "", _PLANNED)
    dress(prices, x="Round", y="Hours of wait (h per h asked)", title="Price of an hour asked for")
    dress(times, x="Round", y="Turnaround (h)", title="Average turnaround")
    dress(counts, x="Round", y="Reservations (number)", title="Reservations of a job")
    for axes in (prices, times, counts):
        axes.set_ylim(0, 1.12 * axes.dataLim.y1 or 1.0)
        axes.set_xticks(at)
    for axes in (prices, times):
        axes.legend(frameon=False, fontsize=FONT["legend"], labelcolor=INK)
    panel_letters([prices, times, counts])
    return figure
