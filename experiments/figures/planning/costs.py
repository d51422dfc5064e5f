"""Figure of waits against requested walltimes by job size, with the fitted lines that give a plan's costs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, Unpack

import numpy as np

from holdfast.experiments.figures.canvas import PAGE, CanvasOptions, new_figure, plot, subplots
from holdfast.experiments.figures.style import FONT, INK, STATE_COLORS, dress, panel_letters
from holdfast.experiments.timelines.steps import Floats, TimeUnit, choose_unit
from holdfast.policies.planning.waits.fitting import bin_pairs
from holdfast.workloads.ground.wording import count_text, sizes_in_words

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from holdfast.policies.planning.waits.model import WaitFit, WaitModel

__all__ = ["plot_costs"]

_MEAN, _HALF, _LINE = STATE_COLORS["compute"], STATE_COLORS["setup"], STATE_COLORS["lost"]
_COLUMNS = 3


@plot
def plot_costs(
    walltimes: Floats,
    waits: Floats,
    nodes: np.ndarray,
    model: WaitModel,
    title: str = "",
    **canvas: Unpack[CanvasOptions],
) -> Figure:
    """Draw the fits and the waits that they were fitted to.

    Parameters
    ----------
    walltimes, waits, nodes
        The pairs [s] and the sizes of their jobs, shape (n,), n >= 1.
    model
        Fitted to them.
    title
        Origin of the waits.
    **canvas
        Width, style and axes (:class:`~holdfast.experiments.figures.canvas.CanvasOptions`).

    Returns
    -------
    Figure
        A panel for all sizes and one for each class: means and quartiles of the waits of groups of equally many jobs of
        similar walltime, and the line.
    """
    parts = [_Part("all sizes", model.all, False, walltimes, waits)]
    for each in model.classes:
        inside = (nodes >= each.nodes_from) & (nodes <= (np.inf if each.nodes_to is None else each.nodes_to))
        name = sizes_in_words(each.nodes_from, each.nodes_to)
        parts.append(_Part(name, each.fit, each.fallback, walltimes[inside], waits[inside]))
    columns = min(_COLUMNS, len(parts))
    rows = -(-len(parts) // columns)
    figure = new_figure(PAGE, 0.6 + 1.95 * rows)
    figure.suptitle(title, fontsize=FONT["title"], color=INK)
    panels = list(subplots(figure, rows, columns, squeeze=False).flat)
    unit = choose_unit(max(part.end for part in parts))
    entries: dict[str, Any] = {}
    for place, (axes, part) in enumerate(zip(panels, parts, strict=False)):
        dress(
            axes,
            x=f"requested walltime ({unit.symbol})" if place + columns >= len(parts) else "",
            y=f"wait ({unit.symbol})" if place % columns == 0 else "",
            title=f"{part.name}: {count_text(len(part.waits), 'pairs')}",
        )
        _draw(axes, part, unit)
        handles, labels = axes.get_legend_handles_labels()
        entries |= dict(zip(labels, handles, strict=True))
    for axes in panels[len(parts) :]:
        axes.remove()
    panel_letters(panels[: len(parts)])
    figure.legend(
        list(entries.values()), list(entries), loc="outside lower center", ncols=len(entries), fontsize=FONT["legend"],
        frameon=False, labelcolor=INK, handlelength=1.5, columnspacing=1.4, borderaxespad=0.0,
    )  # fmt: skip
    return figure


class _Part(NamedTuple):
    """Content of a panel."""

    name: str
    fit: WaitFit
    fallback: bool
    walltimes: Floats
    waits: Floats

    @property
    def end(self) -> float:
        """End of the abscissa [s], just beyond the last group, because few requests are much longer."""
        return 1.1 * float(bin_pairs(self.walltimes, self.waits).walltime[-1]) if len(self.waits) else 0.0


def _draw(axes: Axes, part: _Part, unit: TimeUnit) -> None:
    if not len(part.waits):
        axes.text(0.5, 0.5, "no pairs", transform=axes.transAxes, ha="center", fontsize=FONT["label"], color=INK)
        axes.set_xticks([])
        axes.set_yticks([])
        return
    fit, bins = part.fit, bin_pairs(part.walltimes, part.waits)
    at, low, high, mean = (values / unit.seconds for values in (bins.walltime, bins.lower, bins.upper, bins.wait))
    axes.vlines(
        at, low, high, color=_HALF, linewidth=2.4, label="middle half of the waits of a group of similar walltimes"
    )
    axes.plot(at, mean, linestyle="none", marker="o", markersize=3, color=_MEAN, label="their mean")
    ends = np.array([0.0, part.end])
    line = (fit.alpha * ends + fit.gamma) / unit.seconds
    name, style = ("fit of all sizes", (0, (1, 1.5))) if part.fallback else ("fit", "-")
    axes.plot(ends / unit.seconds, line, color=_LINE, linewidth=1.2, linestyle=style, label=name)
    free = fit.unconstrained
    if free is not None and None in (fit.alpha_error, fit.gamma_error):
        height = free.at(ends) / unit.seconds
        style = (0, (3, 2))
        axes.plot(ends / unit.seconds, height, color=INK, linewidth=0.8, linestyle=style, label="fit without bounds")
    # Leave room for the text above the data.
    axes.set_ylim(0, 1.4 * max(float(high.max()), float(mean.max()), float(line.max())))
    axes.set_xlim(0, ends[1] / unit.seconds)
    axes.text(
        0.03, 0.97, _fit_summary(fit, part.fallback, unit), transform=axes.transAxes, ha="left", va="top",
        fontsize=FONT["note"], color=INK, linespacing=1.25,
    )  # fmt: skip


def _fit_summary(fit: WaitFit, fallback: bool, unit: TimeUnit) -> str:
    prices = f"alpha = {fit.alpha:.3g}, gamma = {fit.gamma / unit.seconds:.3g} {unit.symbol}"
    if fallback:
        return f"{prices}\ntoo few pairs: as all sizes"
    # Write a rounded -0 as 0.
    worth = [
        f"{round(value, 2) + 0.0:.2f} ({of})"
        for value, of in ((fit.r_squared, "pairs"), (fit.r_squared_means, "means"))
        if value is not None
    ]
    return f"{prices}\nR$^2$ = {', '.join(worth)}" if worth else prices
