"""Figure of a plan: expected end of a job, parts of each reservation, and the probability that it is needed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np

from holdfast.experiments.figures.canvas import PAGE, CanvasOptions, new_figure, plot
from holdfast.experiments.figures.style import FONT, INK, STATE_COLORS, dress, legend_above, panel_letters
from holdfast.experiments.timelines.steps import choose_unit

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from holdfast.workloads.distributions.distribution import Distribution

__all__ = ["PARTS", "plot_plan"]

#: Parts of a reservation in the order of time, and their colours.
PARTS = {
    "restart": STATE_COLORS["setup"],
    "work": STATE_COLORS["compute"],
    "checkpoint": STATE_COLORS["checkpoint"],
}
#: Largest number of reservations; more would be bars too thin to see.
_MOST = 24
#: Probability below which a reservation gets no line, except the first ones.
_UNLIKELY = 1e-4


@plot
def plot_plan(
    document: Mapping[str, Any],
    distribution: Distribution,
    title: str = "",
    runs: np.ndarray | None = None,
    **canvas: Unpack[CanvasOptions],
) -> Figure:
    """Draw a plan.

    Parameters
    ----------
    document
        The plan as ``holdfast plan --json`` writes it [s].
    distribution
        Distribution of the runtime [s].
    title
        Title of the figure; empty: the strategy.
    runs
        Past runs [s] that the distribution was fitted to, shape (runs,).
    **canvas
        Width, style and axes (:class:`~holdfast.experiments.figures.canvas.CanvasOptions`).

    Returns
    -------
    Figure
        The survival function with the milestones on it; each reservation as a bar of restart, work and checkpoint; the
        probability that it is needed.
    """
    rows = document["reservations"]
    likely = [row for row in rows if row["probability"] >= _UNLIKELY]
    shown = rows[: min(_MOST, max(len(likely), min(3, len(rows))))]
    unit = choose_unit(max(row["length"] for row in shown))
    figure = new_figure(PAGE, 2.3 + 1.4 + 0.13 * len(shown))
    # The survival function is on top, as wide as the bars below.
    grid = figure.add_gridspec(2, 2, height_ratios=[1.5, 1.4 + 0.13 * len(shown)], width_ratios=[2.6, 1])
    top = figure.add_subplot(grid[0, :])
    bars = figure.add_subplot(grid[1, 0])
    needed = figure.add_subplot(grid[1, 1], sharey=bars)
    long = choose_unit(shown[-1]["milestone"] / 3)
    if runs is not None:
        _past(top, runs, long.seconds)
    _survival(top, rows, shown, distribution, long.seconds)
    dress(top, x=f"runtime ({long.symbol})", y="P(still running)", title=title or f"{document['strategy']} plan")
    _anatomy(bars, shown, unit.seconds)
    heading = "what to ask for"
    if len(rows) > len(shown):
        chance = 100 * rows[len(shown)]["probability"]
        heading += f" (the last {len(rows) - len(shown)}, needed with at most {chance:.2g} %, are left out)"
    dress(bars, x=f"length of the reservation ({unit.symbol})", y="reservation", title=heading, grid="x")
    chances = [100 * row["probability"] for row in shown]
    needed.barh(range(1, len(shown) + 1), chances, height=0.7, color="#9A9A9A")
    for number, chance in enumerate(chances, 1):
        # Beside a short bar, inside a long one.
        inside = chance > 60
        needed.text(
            chance - 2 if inside else chance + 2,
            number,
            f"{chance:.3g}",
            va="center",
            ha="right" if inside else "left",
            fontsize=FONT["note"],
            color="white" if inside else INK,
        )
    dress(needed, x="probability of being needed (%)", title="how often", grid="x")
    needed.set_xlim(0, 105)
    needed.tick_params(labelleft=False)
    panel_letters([top, bars, needed])
    handles, labels = bars.get_legend_handles_labels()
    more, names = top.get_legend_handles_labels()
    legend_above(figure, [*handles, *more], [*labels, *names])
    return figure


def _past(axes: Axes, runs: np.ndarray, seconds: float) -> None:
    ordered = np.sort(runs)
    left = 1.0 - np.arange(1, ordered.size + 1) / ordered.size
    axes.step(
        np.concatenate(([0.0], ordered)) / seconds,
        np.concatenate(([1.0], left)),
        where="post",
        color=STATE_COLORS["lost"],
        linewidth=0.9,
        label="past runs",
    )


def _survival(
    axes: Axes,
    rows: list[Mapping[str, Any]],
    shown: list[Mapping[str, Any]],
    distribution: Distribution,
    seconds: float,
) -> None:
    last = shown[-1]["milestone"]
    times = np.linspace(0.0, last, 600)
    axes.plot(times / seconds, distribution.sf(times), color=INK, linewidth=1.2)
    ends = np.array([row["milestone"] for row in rows])
    saved = np.array([row["checkpointed"] for row in rows], dtype=bool)
    inside = ends <= last
    for mask, face, label in (
        (inside & saved, PARTS["checkpoint"], "milestone with checkpoint"),
        (inside & ~saved, "white", "milestone without"),
    ):
        if not mask.any():
            continue
        axes.plot(
            ends[mask] / seconds,
            distribution.sf(ends[mask]),
            linestyle="none",
            marker="o",
            markersize=4.5,
            markerfacecolor=face,
            markeredgecolor=INK,
            markeredgewidth=0.7,
            label=label,
            # Otherwise half of the first and the last marker would be cut off.
            clip_on=False,
            zorder=3,
        )
    axes.set_xlim(0, last / seconds)
    axes.set_ylim(0, 1.02)


def _anatomy(axes: Axes, shown: list[Mapping[str, Any]], seconds: float) -> None:
    places = np.arange(1, len(shown) + 1)
    begins = np.zeros(len(shown))
    for part, color in PARTS.items():
        lengths = np.array([row[part] for row in shown]) / seconds
        if lengths.any():
            axes.barh(places, lengths, left=begins, height=0.7, color=color, label=part)
        begins += lengths
    axes.set_ylim(len(shown) + 0.6, 0.4)
    # Integer ticks, few enough not to touch.
    step = 1 if len(shown) <= 12 else 2
    axes.set_yticks(places[::step])
    axes.set_xlim(0, begins.max() * 1.02)
