"""Panel of dot plots: one line of marks for each name above a common scale."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from holdfast.experiments.figures.style import dress

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["finish", "marks"]


def marks(
    axes: Axes, values: Sequence[Sequence[float]], factor: float, color: str, mark: str, shift: float, *,
    hollow: bool = False,
) -> Any:  # fmt: skip
    """A mark for the mean of each name, and a line from the smallest to the largest trace where there are several."""
    for place, own in enumerate(values):
        if len(own) > 1:
            ends = [factor * min(own), factor * max(own)]
            axes.plot(ends, [place + shift] * 2, color=color, linewidth=0.8, alpha=0.55, solid_capstyle="butt")
    known = [(factor * float(np.mean(own)), place + shift) for place, own in enumerate(values) if own]
    (line,) = axes.plot(
        [x for x, _ in known], [y for _, y in known], mark, color=color, markersize=3.2, linestyle="none",
        markerfacecolor="white" if hollow else color, markeredgewidth=0.8,
    )  # fmt: skip
    return line


def finish(axes: Axes, names: Sequence[str], title: str, unit: str, *, log: bool) -> None:
    """Names down the left, shaded in turns, and a scale below."""
    from matplotlib.ticker import LogLocator

    if log:
        axes.set_xscale("log")
        axes.xaxis.set_major_locator(LogLocator(subs=_multiples(*axes.get_xlim()), numticks=5))
        axes.xaxis.set_major_formatter("{x:,g}")
        axes.xaxis.set_minor_formatter("")
    dress(axes, x=unit, title=title, grid="x")
    for place in range(0, len(names), 2):
        axes.axhspan(place - 0.5, place + 0.5, color="#F4F4F4", linewidth=0, zorder=-2)
    axes.set_ylim(len(names) - 0.5, -0.5)
    axes.set_yticks(range(len(names)), names)
    axes.tick_params(axis="y", length=0)


def _multiples(low: float, high: float) -> tuple[float, ...]:
    """The multiples of powers of ten with a label, such that a scale has at least three labels and room for all."""
    if high / low > 1000:
        return (1.0,)
    return (1.0, 3.0) if high / low > 50 else (1.0, 2.0, 5.0)
