"""An advice: the expected response time of each request, and its distribution for those that are compared."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from experiments.figures.style import FONT, INK, PAGE, dress, legend_above, new_figure, panel_letters

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from experiments.forecast.advice import Advice
    from experiments.forecast.requests import Request

__all__ = ["plot_advice"]

#: The requests that are compared: names, colours, marks and lines.
_COMPARED = {
    "best": ("advice", "#0072B2", "o", "-"),
    "own": ("own request", "#D55E00", "s", "-"),
    "planner": ("planner", "#009E73", "^", "--"),
}
#: Greys of the sizes, the smallest first.
_SIZES = ("#333333", "#777777", "#A6A6A6", "#C8C8C8")


def plot_advice(advice: Advice) -> Figure:
    """Draw the expected response time over the walltime, and the distribution of the response times that are compared.

    Parameters
    ----------
    advice
        The advice.
    """
    figure = new_figure(PAGE, 3.2)
    left, right = figure.subplots(1, 2)
    compared = _compared(advice)
    _draw_requests(left, advice, compared)
    _draw_distributions(right, advice, compared)
    handles, labels = right.get_legend_handles_labels()
    legend_above(figure, handles, labels)
    panel_letters([left, right])
    return figure


def _compared(advice: Advice) -> dict[str, Request]:
    """The requests that are compared; where one stands for several, under its first name."""
    found: dict[str, Request] = {"best": advice.best}
    for name in ("own", "planner"):
        request = advice.named(name)
        if request is not None and request not in found.values():
            found[name] = request
    return found


def _draw_requests(axes: Axes, advice: Advice, compared: dict[str, Request]) -> None:
    """Expected response time and mean wait over the walltime, a line for each size."""
    expected, waits = advice.expected / 3600, advice.waits.mean(axis=0) / 3600
    sizes = sorted({request.nodes for request in advice.requests})
    for number, size in enumerate(sizes):
        places = [place for place, request in enumerate(advice.requests) if request.nodes == size]
        walltimes = [advice.requests[place].walltime / 3600 for place in places]
        color = _SIZES[min(number, len(_SIZES) - 1)]
        axes.plot(walltimes, expected[places], "-", color=color, linewidth=1.1, marker=".", markersize=3)
        axes.plot(walltimes, waits[places], ":", color=color, linewidth=1.0)
        _name(axes, walltimes[-1], float(expected[places[-1]]), f"{size:,} nodes" if len(sizes) > 1 else "response")
        if len(sizes) == 1:
            _name(axes, walltimes[-1], float(waits[places[-1]]), "wait")
    for name, request in compared.items():
        place = advice.requests.index(request)
        _, color, mark, _ = _COMPARED[name]
        axes.plot([request.walltime / 3600], [expected[place]], mark, color=color, markersize=5, zorder=3)
    axes.set_xscale("log")
    axes.set_ylim(bottom=0)
    axes.margins(x=0.18)
    title = "Mean response" if len(sizes) == 1 else "Mean response (dotted: wait)"
    dress(axes, x="walltime asked for [h]", y="time from now [h]", title=title)
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:g}")


def _name(axes: Axes, x: float, y: float, text: str) -> None:
    axes.annotate(
        text, (x, y), xytext=(4, 0), textcoords="offset points", va="center", fontsize=FONT["note"], color=INK
    )


def _draw_distributions(axes: Axes, advice: Advice, compared: dict[str, Request]) -> None:
    """The share of the draws in which the job has completed, over time."""
    shares = 100 * np.arange(1, len(advice.responses) + 1) / len(advice.responses)
    last = 0.0
    for name, request in compared.items():
        title, color, _, line = _COMPARED[name]
        times = np.sort(advice.responses[:, advice.requests.index(request)]) / 3600
        last = max(last, float(times[-1]))
        label = f"{title}: {request.nodes:,} nodes, {request.walltime / 3600:.3g} h"
        steps = np.concatenate(([0.0], times)), np.concatenate(([0.0], shares))
        axes.step(*steps, where="post", color=color, linewidth=1.2, linestyle=line, label=label)
    axes.set_ylim(0, 100)
    axes.set_xlim(0, max(1.02 * last, 0.1))
    dress(axes, x="time from now [h]", y="draws in which the job is done [%]", title="Response time")
