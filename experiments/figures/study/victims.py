"""Figure of rigid jobs that PAA and SPAA preempt, by whether shrinking would have sufficed, and under other rules."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from holdfast.experiments.figures.canvas import PAGE, new_figure, subplots
from holdfast.experiments.figures.style import FONT, INK, dress, panel_letters
from holdfast.workloads.ground.errors import InputError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["plot_victims"]

Rows = Sequence[Mapping[str, Any]]
_CAUSES = ("#0A62A0", "#9CC8E8")
_NOTICES = ("#333333", "#D55E00", "#56C2A0")


def plot_victims(causes: Rows, effects: Rows) -> Figure:
    """Preempted rigid jobs by mechanism and cause; beside it SPAA less PAA under each rule, with intervals.

    Parameters
    ----------
    causes
        Rows of ``mechanism``, ``cause`` and ``share`` (in 100 rigid jobs).
    effects
        Rows of ``rule``, ``notice``, ``effect``, ``low`` and ``high`` (points).

    Raises
    ------
    InputError
        If there is nothing to show.
    """
    if not causes or not effects:
        raise InputError("there are no simulations to draw")
    figure = new_figure(PAGE, 4.3)
    left, right = subplots(figure, 1, 2, width_ratios=(1.0, 1.15))
    mechanisms, kinds = (list(dict.fromkeys(row[name] for row in causes)) for name in ("mechanism", "cause"))
    bottoms = dict.fromkeys(mechanisms, 0.0)
    for kind, color in zip(kinds, _CAUSES, strict=True):
        own = {row["mechanism"]: row["share"] for row in causes if row["cause"] == kind}
        left.bar(mechanisms, [own[name] for name in mechanisms], bottom=list(bottoms.values()), color=color, label=kind,
                 width=0.7)  # fmt: skip
        bottoms = {name: bottoms[name] + own[name] for name in mechanisms}
    left.tick_params(axis="x", rotation=40)
    dress(left, y="Preemptions at arrivals in 100 rigid jobs", grid="y")
    _legend(left, 1)
    rules, notices = (list(dict.fromkeys(row[name] for row in effects)) for name in ("rule", "notice"))
    for row in effects:
        place = rules.index(row["rule"]) + 0.22 * (notices.index(row["notice"]) - 1)
        color = _NOTICES[notices.index(row["notice"]) % len(_NOTICES)]
        first = row["rule"] == rules[0]
        right.plot([row["low"], row["high"]], [place, place], color=color, linewidth=1.2)
        right.plot([row["effect"]], [place], "o", color=color, markersize=3.5, label=row["notice"] if first else None)
    right.axvline(0, color=INK, linewidth=0.7)
    right.set_yticks(range(len(rules)), [_lines(rule) for rule in rules])
    right.set_ylim(len(rules) - 0.5, -0.5)
    dress(right, x="Preempted rigid jobs, SPAA less PAA (points)", grid="x")
    _legend(right, 3)
    panel_letters([left, right])
    return figure


def _legend(axes: Axes, columns: int) -> None:
    axes.legend(
        loc="lower left",
        bbox_to_anchor=(0.06, 0.99),
        ncols=columns,
        fontsize=FONT["legend"],
        frameon=False,
        labelcolor=INK,
        handlelength=1.3,
    )


def _lines(words: str, width: int = 30) -> str:
    """A long label in lines."""
    from textwrap import fill

    return fill(words, width, break_on_hyphens=False)
