"""Figure of the gain or loss of projects that declare malleable jobs as rigid: each project, and means."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from holdfast.experiments.figures.canvas import PAGE, new_figure
from holdfast.experiments.figures.style import FONT, INK, dress, legend_above, panel_letters
from holdfast.experiments.statistics import interval
from holdfast.workloads.ground.errors import InputError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["plot_honesty"]

Rows = Sequence[Mapping[str, Any]]

_VARIANTS = {
    "daly": ("setup and checkpoints of a rigid job", "#0072B2", "o"),
    "bare": ("own setup, no checkpoints", "#D55E00", "s"),
}
_MEANS = (
    ("longer_share", "Projects that lose", "Projects (%)", 100.0, 50.0),
    ("preempted_more_share", "Own jobs", "More preempted (points)", 100.0, 0.0),
    ("others_lost_minutes", "All others", "Lost (minutes a job)", 1.0, 0.0),
)


def plot_honesty(rows: Rows) -> Figure:
    """The turnaround that each project loses, by mechanism and variant; means over the traces below.

    Raises
    ------
    InputError
        If there is nothing to show.
    """
    if not rows:
        raise InputError("there are no projects to draw")
    mechanisms = list(dict.fromkeys(row["mechanism"] for row in rows))
    figure = new_figure(PAGE, 4.6)
    grid = figure.add_gridspec(2, len(_MEANS), height_ratios=(1.35, 1))
    top = figure.add_subplot(grid[0, :])
    _projects(top, rows, mechanisms)
    panels = [top]
    handles: dict[str, Any] = {}
    for number, (column, title, label, scale, level) in enumerate(_MEANS):
        axes = figure.add_subplot(grid[1, number])
        panels.append(axes)
        for place, name, variant, offset in _places(mechanisms):
            words, color, marker = _VARIANTS[variant]
            own = _traces(rows, column, name, variant, scale)
            handles[words] = _mean(axes, place + offset, own, color, marker, column == "longer_share")
        axes.axhline(level, color=INK, linewidth=0.7)
        dress(axes, y=label, title=title, grid="y")
        axes.set_xticks(range(len(mechanisms)), mechanisms, rotation=35, ha="right",
                        rotation_mode="anchor")  # fmt: skip
        axes.set_xlim(-0.5, len(mechanisms) - 0.5)
    panel_letters(panels)
    legend_above(figure, list(handles.values()), list(handles))
    return figure


def _places(mechanisms: Sequence[str]) -> list[tuple[int, str, str, float]]:
    """Where the variants of each mechanism stand."""
    return [
        (place, name, variant, offset)
        for place, name in enumerate(mechanisms)
        for variant, offset in zip(_VARIANTS, (-0.2, 0.2), strict=True)
    ]


def _traces(rows: Rows, column: str, name: str, variant: str, scale: float) -> list[float]:
    """The mean over the projects of each trace."""
    found: dict[Any, list[float]] = {}
    for row in rows:
        if row["mechanism"] == name and row["variant"] == variant:
            found.setdefault(row["trace"], []).append(scale * row[column])
    return [float(np.mean(values)) for values in found.values()]


def _mean(axes: Axes, place: float, values: Sequence[float], color: str, marker: str, share: bool = False) -> Any:
    """The mean over the traces with its interval; no share lies outside of 0 to 100 %."""
    middle = float(np.mean(values))
    spread = interval(values) if len(values) > 1 else None
    half = spread.high - spread.mean if spread else 0.0
    down, up = middle - half, middle + half
    if share:
        down, up = max(0.0, down), min(100.0, up)
    axes.vlines([place], down, up, color=color, linewidth=1.2)
    (handle,) = axes.plot([place], [middle], marker, color=color, markersize=4.5, markeredgecolor="white",
                          linestyle="none", zorder=4)  # fmt: skip
    return handle


def _projects(axes: Axes, rows: Rows, mechanisms: Sequence[str]) -> None:
    """Every project as a point, the mean over the traces with its interval beside them."""
    for place, name, variant, offset in _places(mechanisms):
        _, color, marker = _VARIANTS[variant]
        lost = sorted(row["lost_h"] for row in rows if row["mechanism"] == name and row["variant"] == variant)
        # In order of their values: the cloud is the distribution.
        spread = np.linspace(-0.13, 0.13, len(lost)) if len(lost) > 1 else np.zeros(1)
        axes.plot(place + offset + spread, lost, marker, color=color, markersize=2.6, alpha=0.45, markeredgewidth=0,
                  linestyle="none")  # fmt: skip
        _mean(axes, place + offset + 0.175, _traces(rows, "lost_h", name, variant, 1.0), color, marker)
    axes.axhline(0, color=INK, linewidth=0.7)
    axes.set_yscale("symlog", linthresh=5.0, linscale=1.0)
    most = max(1.0, max(abs(row["lost_h"]) for row in rows))
    ticks = [tick for tick in (1, 2, 3, 5, 10, 20, 50, 100, 200) if tick <= 1.3 * most]
    axes.set_yticks([*(-tick for tick in reversed(ticks)), 0, *ticks])
    axes.set_yticklabels([*(f"\N{MINUS SIGN}{tick}" for tick in reversed(ticks)), "0", *(f"+{tick}" for tick in ticks)])
    axes.set_ylim(-1.3 * most, 1.3 * most)
    axes.minorticks_off()
    dress(axes, y="Own turnaround lost (h a job)", grid="y",
          title="A project that declares rigid: each point a project, above 0 it loses")  # fmt: skip
    axes.set_xticks(range(len(mechanisms)), mechanisms, fontsize=FONT["label"])
    axes.tick_params(axis="x", length=0)
    axes.set_xlim(-0.5, len(mechanisms) - 0.5)
