"""Figure of transients: the first months of replays, and the effect of truncation on averages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from holdfast.experiments.figures.canvas import PAGE, new_figure, subfigures, subplots
from holdfast.experiments.figures.style import FONT, INK, dress, legend_above

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["plot_warmup"]

Rows = Sequence[Mapping[str, Any]]
_COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7")
_MARKS = ("o", "s", "^", "D")


def plot_warmup(
    curves: Rows, truncations: Rows, moves: Rows, series: Sequence[str], metrics: Mapping[str, str]
) -> Figure:
    """Above Welch's curves with the days that MSER-5 cuts, below how far cuts move the averages.

    Parameters
    ----------
    curves
        Rows of ``dataset``, ``series``, ``day``, ``mean`` and ``level``.
    truncations
        Rows of ``dataset``, ``series`` and ``truncation_days``.
    moves
        Rows of ``dataset``, ``mechanism``, ``metric``, ``cut_days``, ``moved``, ``low`` and ``high``, in margins.
    series
        Names of the series.
    metrics
        Names of the averages, and what they are called.
    """
    datasets = list(dict.fromkeys(row["dataset"] for row in curves))
    color = dict(zip(datasets, _COLORS, strict=False))
    figure = new_figure(PAGE, 5.2)
    top, bottom = subfigures(figure, (1.15, 1))
    handles: dict[str, Any] = {}
    for number, (axes, name) in enumerate(zip(subplots(top, 1, len(series)), series, strict=True)):
        for dataset in datasets:
            own = [row for row in curves if (row["dataset"], row["series"]) == (dataset, name) and row["level"]]
            shares = [float("nan") if row["mean"] is None else 100 * row["mean"] / row["level"] for row in own]
            (handles[dataset],) = axes.plot([row["day"] for row in own], shares, color=color[dataset], linewidth=1)
            cut = [row for row in truncations if (row["dataset"], row["series"]) == (dataset, name)]
            # Below the curves: where MSER-5 cuts each replay.
            axes.plot(
                [row["truncation_days"] for row in cut], [0.03 + 0.04 * datasets.index(dataset)] * len(cut), "|",
                color=color[dataset], markersize=6, transform=axes.get_xaxis_transform(),
            )  # fmt: skip
        axes.axhline(100, color=INK, linewidth=0.6)
        axes.set_xlim(left=0, right=max(row["day"] for row in curves) + 1)
        axes.set_ylim(bottom=0)
        dress(axes, x="Day", y="% of the later level" if not number else "",
              title=f"({chr(ord('a') + number)}) {name}", grid="y")  # fmt: skip
    panels = subplots(bottom, 1, len(metrics), sharey=True)
    lines = list(dict.fromkeys((row["dataset"], row["mechanism"]) for row in moves))
    places = sorted({row["cut_days"] for row in moves})
    for number, (axes, (metric, words)) in enumerate(zip(panels, metrics.items(), strict=True)):
        axes.axhspan(-1, 1, color="#EEEEEE", linewidth=0, zorder=-2)
        for order, (dataset, mechanism) in enumerate(lines):
            own = [row for row in moves if (row["dataset"], row["mechanism"], row["metric"])
                   == (dataset, mechanism, metric)]  # fmt: skip
            shift = 0.12 * (order - (len(lines) - 1) / 2)
            spots = [places.index(row["cut_days"]) + shift for row in own]
            same = [other for other, _ in lines[:order]].count(dataset)
            label = f"{dataset}, {mechanism}"
            (handles[label],) = axes.plot(
                spots, [row["moved"] for row in own], _MARKS[same % len(_MARKS)], color=color[dataset], markersize=3.2
            )
            for spot, row in zip(spots, own, strict=True):
                if row["low"] is not None:
                    axes.plot([spot, spot], [row["low"], row["high"]], color=color[dataset], linewidth=0.8)
        axes.axhline(0, color=INK, linewidth=0.6)
        axes.set_xticks(range(len(places)), [f"{place:g}" for place in places])
        head = words.removeprefix("share of ").removeprefix("bounded ")
        dress(axes, x="Days cut", y="Change (margins)" if not number else "",
              title=f"({chr(ord('d') + number)}) {head}", grid="y")  # fmt: skip
        axes.title.set_fontsize(FONT["legend"])
    shown = [name for name in handles if ", " in name]
    legend_above(figure, [handles[name] for name in shown], shown, columns=2)
    return figure
