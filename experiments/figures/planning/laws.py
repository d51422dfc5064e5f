"""Fitted laws against samples: CDFs over the steps of the data, and what each fit is worth."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from experiments.figures.style import FONT, INK, PAGE, STATE_COLORS, dress, legend_above, new_figure, panel_letters
from experiments.timelines.steps import choose_unit
from workloads.fits import Fit, Samples
from workloads.ground.errors import ParameterError
from workloads.laws import Array, DiscreteLaw, Law, bounded

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["plot_fit"]

#: One look for each method, and more shades where several fits are of the same one.
_COLORS = (
    STATE_COLORS["compute"],
    STATE_COLORS["lost"],
    STATE_COLORS["checkpoint"],
    STATE_COLORS["held"],
    STATE_COLORS["warning"],
)
_STYLES = ("-", "--", "-.", ":")
#: More curves than this are no longer told apart.
_MOST = 5
_POINTS = 400


def plot_fit(samples: npt.ArrayLike, fits: Sequence[Fit], *, unit: str | None = None) -> Figure:
    """CDFs of fits over the empirical CDF, and how far each one is from it.

    Parameters
    ----------
    samples
        Runtimes, shape (n,); in seconds unless a unit is given.
    fits
        The best one first; refused ones are left out, and so is what comes after the first five.
    unit
        The unit of samples and laws as the axis shall say it, e.g. ``"h"``; None: seconds, shown in a unit that suits
        their span.

    Returns
    -------
    Figure
        Two panels: (a) CDFs, the samples as steps; (b) fitted minus empirical CDF.

    Raises
    ------
    ParameterError
        If there is no fit that is not refused, or the samples are not legal.
    """
    shown = [fit for fit in fits if fit.reason_refused is None and fit.law is not None][:_MOST]
    if not shown:
        raise ParameterError("fits", "at least one that is not refused", [fit.name for fit in fits])
    data = Samples.of(samples)
    name, scale = _unit_of(data, unit)
    figure = new_figure(PAGE, 2.75)
    curves, rests = figure.subplots(1, 2, width_ratios=(1.25, 1.0))
    # A little to either side: where no sample fell the fits differ most.
    margin = 0.15 * data.spread or 0.15 * float(data.values[-1])
    low, high = max(0.0, float(data.values[0]) - margin), float(data.values[-1]) + margin
    x = np.linspace(low, high, _POINTS)
    above = np.cumsum(data.counts) / data.size
    curves.step(
        np.concatenate(([low], data.values, [high])) / scale,
        np.concatenate(([0.0], above, [1.0])),
        where="post",
        color=INK,
        linewidth=1.1,
        label=f"samples (n = {data.size})",
    )
    if data.size <= 200:
        curves.plot(data.values / scale, np.zeros(data.values.size), "|", color=INK, markersize=5, clip_on=False)
    rests.axhline(0.0, color=INK, linewidth=0.8)
    for number, fit in enumerate(shown):
        law, look = fit.good(), {"color": _COLORS[number], "linestyle": _STYLES[number % len(_STYLES)]}
        where = "steps-post" if isinstance(law, DiscreteLaw) else "default"
        curves.plot(x / scale, law.cdf(x), linewidth=1.3, drawstyle=where, label=_label(fit), **look)
        rests.plot(data.values / scale, _differences(law, data), linewidth=1.1, marker="o", markersize=1.8, **look)
    dress(curves, x=f"runtime [{name}]", y="P(runtime <= x)", title="Cumulative distribution")
    dress(rests, x=f"runtime [{name}]", y="fitted - empirical", title="Difference at the samples")
    curves.set_ylim(0.0, 1.02)
    for axes in (curves, rests):
        axes.set_xlim(low / scale, high / scale)
    _note(curves, shown[0], scale, name)
    panel_letters([curves, rests])
    handles, labels = curves.get_legend_handles_labels()
    legend_above(figure, handles, labels, columns=min(len(labels), 3))
    return figure


def _unit_of(data: Samples, unit: str | None) -> tuple[str, float]:
    if unit is not None:
        return unit, 1.0
    suited = choose_unit(float(data.values[-1]))
    return suited.symbol, suited.seconds


def _label(fit: Fit) -> str:
    return f"{fit.name} (error {math.sqrt(fit.error):.2g})"


def _differences(law: Law, data: Samples) -> Array:
    """Fitted minus empirical CDF half-way up its steps: what the fit made small; shape (m,)."""
    if isinstance(law, DiscreteLaw):
        heights: Array = 0.5 * (law.cdf(data.values) + law.cdf(np.nextafter(data.values, 0.0)))
        return heights - data.levels
    return law.cdf(data.values) - data.levels


def _note(axes: Axes, best: Fit, scale: float, name: str) -> None:
    """Where the first law ends, which a plot of the samples cannot show."""
    end = bounded(best.good()).upper / scale
    axes.text(
        0.99,
        0.06,
        f"error: root mean square\n{best.name} is planned for up to {end:.4g} {name}",
        transform=axes.transAxes,
        ha="right",
        va="bottom",
        fontsize=FONT["note"],
        color=INK,
    )
