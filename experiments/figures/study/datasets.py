"""Figure of mechanisms on several datasets: metric levels side by side, and rank correlations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from textwrap import wrap
from typing import TYPE_CHECKING, Any

import numpy as np

from holdfast.experiments.figures.canvas import PAGE, new_figure, subfigures, subplots
from holdfast.experiments.figures.style import FONT, INK, dress, legend_above, mechanism_color, panel_letters
from holdfast.simulator.results.catalogue import metric
from holdfast.workloads.ground.errors import InputError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["plot_datasets"]

Rows = Sequence[Mapping[str, Any]]

_SHOWN = (
    *("turnaround_h", "turnaround_rigid_h", "turnaround_malleable_h"),
    *("instant_start_ratio", "utilization", "instant_start_ratio_strict"),
)
_CARRIED = (("same", "the same", "#0072B2"), ("open", "open", "#D9D9D9"), ("reversed", "reversed", "#D55E00"))


def plot_datasets(
    rows: Rows, carried: Rows, datasets: Mapping[str, str], metrics: Mapping[str, str], stand_ins: Sequence[str]
) -> Figure:
    """Means of the mechanisms on each dataset; below, how many decided pairs are in the same order on another.

    Parameters
    ----------
    rows
        One for each simulation, with its ``dataset``.
    carried
        Rows of :func:`holdfast.experiments.beyond.real_traces.ranking_rows`.
    datasets, metrics
        What they are called.
    stand_ins
        Datasets that stand in for a real trace or are made like one that does.

    Raises
    ------
    InputError
        If there is nothing to show.
    """
    if not rows:
        raise InputError("there are no simulations to draw")
    figure = new_figure(PAGE, 5.9)
    upper, lower = subfigures(figure, (1.75, 1))
    _levels(upper, rows, datasets, stand_ins)
    _orders(lower, carried, metrics)
    if stand_ins:
        figure.supxlabel("generated traces stand in for real ones that were not given", x=0.995, ha="right",
                         fontsize=5.5, color="#777777")  # fmt: skip
    return figure


def _levels(figure: Figure, rows: Rows, datasets: Mapping[str, str], stand_ins: Sequence[str]) -> None:
    names = list(dict.fromkeys(row["mechanism"] for row in rows))
    panels = subplots(figure, 2, 3, sharey=True)
    handles: dict[str, Any] = {}
    for axes, shown in zip(panels.flat, map(metric, _SHOWN), strict=True):
        for place, dataset in enumerate(datasets):
            for number, name in enumerate(names):
                values = [
                    row[shown.name]
                    for row in rows
                    if row["dataset"] == dataset and row["mechanism"] == name and row[shown.name] is not None
                ]
                if not values:
                    continue
                middle = shown.scale_value(float(np.mean(values)))
                # One above the other, so that no mark hides another.
                at = place + 0.1 * (number - (len(names) - 1) / 2)
                (handles[name],) = axes.plot(
                    [middle], [at], "D" if name == "baseline" else "o", color=mechanism_color(name, number),
                    markersize=3.2, linestyle="none",
                )  # fmt: skip
        dress(axes, title=shown.panel, grid="x")
        for place in range(0, len(datasets), 2):
            axes.axhspan(place - 0.5, place + 0.5, color="#F4F4F4", linewidth=0, zorder=-2)
        axes.set_ylim(len(datasets) - 0.5, -0.5)
        axes.set_yticks(range(len(datasets)), [_title(name, datasets, stand_ins) for name in datasets])
        axes.tick_params(axis="y", length=0, labelsize=FONT["note"])
    panel_letters(list(panels.flat))
    legend_above(figure, list(handles.values()), list(handles))


def _title(name: str, datasets: Mapping[str, str], stand_ins: Sequence[str]) -> str:
    kind = "" if "generated" in name else "stand-in for the " if name in stand_ins else "real "
    return f"{kind}{datasets[name]}"


def _orders(figure: Figure, rows: Rows, metrics: Mapping[str, str]) -> None:
    carriers = list(dict.fromkeys(row["carried"] for row in rows))
    if not carriers:
        return
    panels = subplots(figure, 1, len(carriers), sharey=True, squeeze=False)[0]
    for axes, part in zip(panels, carriers, strict=True):
        _stack(axes, [row for row in rows if row["carried"] == part], metrics)
        dress(axes, x="Decided pairs; number: tau", grid="x")
        axes.set_title("\n".join(wrap(part, 30)), fontsize=FONT["note"], color=INK, loc="left")
        axes.tick_params(axis="y", length=0, labelsize=FONT["note"])
    from matplotlib.patches import Patch

    patches = [Patch(facecolor=color) for _, _, color in _CARRIED]
    legend_above(figure, patches, [f"order {words}" for _, words, _ in _CARRIED])


def _stack(axes: Axes, rows: Rows, metrics: Mapping[str, str]) -> None:
    """A bar for each metric: the pairs that the first dataset decides, by what the second says."""
    for place, row in enumerate(rows):
        left = 0
        for column, _, color in _CARRIED:
            axes.barh([place], [row[column]], left=left, height=0.7, color=color)
            left += row[column]
        tau = "none" if not row["decided"] else "" if row["tau"] is None else f"{row['tau']:+.2f}"
        axes.annotate(tau, (left, place), (2, 0), textcoords="offset points", va="center", fontsize=FONT["note"],
                      color=INK)  # fmt: skip
    axes.set_xlim(0, 20)
    axes.set_xticks([0, 5, 10, 15])
    axes.set_yticks(range(len(rows)), [metrics[row["metric"]] for row in rows])
    axes.set_ylim(len(rows) - 0.5, -0.5)
