"""Figure of the agreement between Slurm and the simulator: shares of equal decisions and starts, and both waits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from holdfast.experiments.figures.canvas import PAGE, new_figure, subplots
from holdfast.experiments.figures.style import FONT, INK, dress, legend_above, panel_letters

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["plot_agreement"]

_DECISIONS, _STARTS = "#0A62A0", "#D55E00"
_HOUR = 3600.0


def plot_agreement(rows: Sequence[Mapping[str, Any]], waits: Sequence[Mapping[str, Any]], best: str) -> Figure:
    """Draw the agreement under each rule, and the waits under the rule that agrees best.

    Parameters
    ----------
    rows
        A row for each replay and rule: ``replay``, ``rule``, ``equal`` of ``decisions``, ``same_start`` of ``jobs``.
    waits
        A row for each job: ``slurm_wait_s``, and ``wait_s`` under the rule that agrees best.
    best
        That rule.

    Returns
    -------
    Figure
        Two panels: a mark for each replay and rule; a point for each job.
    """
    from matplotlib.lines import Line2D

    rules = list(dict.fromkeys(row["rule"] for row in rows))
    figure = new_figure(PAGE, 2.7)
    left, right = subplots(figure, 1, 2)
    for place, rule in enumerate(rules):
        own = [row for row in rows if row["rule"] == rule]
        for height, (color, marker, shares) in zip(
            (-0.14, 0.14),
            (
                (_DECISIONS, "o", [100 * row["equal"] / row["decisions"] for row in own if row["decisions"]]),
                (_STARTS, "s", [100 * row["same_start"] / row["jobs"] for row in own]),
            ),
            strict=True,
        ):
            left.plot(
                shares, [place + height] * len(shares), linestyle="none", marker=marker, markersize=4,
                color=color, alpha=0.8, markeredgewidth=0,
            )  # fmt: skip
    left.set_yticks(range(len(rules)), rules)
    left.set_ylim(len(rules) - 0.5, -0.5)
    left.set_xlim(0, 102)
    dress(left, x="Equal to Slurm (%)", title="Decisions and starts", grid="x")
    recorded, simulated = ([row[name] / _HOUR for row in waits] for name in ("slurm_wait_s", "wait_s"))
    right.plot(recorded, simulated, linestyle="none", marker="o", markersize=3, color=INK, alpha=0.5, markeredgewidth=0)
    longest = 1.03 * max((0.0, *recorded, *simulated)) or 1.0
    right.plot([0, longest], [0, longest], color="#888888", linewidth=0.7, zorder=0.8)
    right.set_xlim(-0.02 * longest, longest)
    right.set_ylim(-0.02 * longest, longest)
    dress(right, x="Wait on Slurm (h)", y="Wait in the simulation (h)", title=f"Waits of the jobs, {best}")
    panel_letters([left, right])
    handles = [
        Line2D([], [], linestyle="none", marker="o", markersize=4, color=_DECISIONS),
        Line2D([], [], linestyle="none", marker="s", markersize=4, color=_STARTS),
    ]
    legend_above(figure, handles, ["decisions, each in the state of Slurm", "starts"])
    replays = list(dict.fromkeys(row["replay"] for row in rows))
    more = f" and {len(replays) - 8:,} others" if len(replays) > 8 else ""
    figure.supxlabel(f"A mark for each replay: {', '.join(replays[:8])}{more}", fontsize=FONT["note"], color=INK)
    return figure
