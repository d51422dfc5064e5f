"""Figure of an advice: expected response time of each request, and response-time distributions of the compared ones."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np

from holdfast.experiments.figures.canvas import PAGE, CanvasOptions, new_figure, plot, subplots
from holdfast.experiments.figures.style import FONT, INK, dress, legend_above, panel_letters
from holdfast.workloads.ground.wording import count_text

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    Floats = np.ndarray[Any, np.dtype[np.float64]]

__all__ = ["plot_advice"]

#: Compared requests: names, colours, markers and lines.
_COMPARED = {
    "best": ("advice", "#0072B2", "o", "-"),
    "own": ("own request", "#D55E00", "s", "-"),
    "planner": ("planner", "#009E73", "^", "--"),
}
#: Smallest distance of the names of two lines [share of the height].
_APART = 0.065
#: Greys of the sizes, the smallest first.
_SIZES = ("#333333", "#777777", "#A6A6A6", "#C8C8C8")


@plot
def plot_advice(requests: Sequence[Mapping[str, Any]], responses: Floats, **canvas: Unpack[CanvasOptions]) -> Figure:
    """Draw expected response times over the walltime, and response-time distributions of the compared requests.

    Parameters
    ----------
    requests
        A row for each request, by size and walltime: ``nodes``, ``walltime``, mean ``wait`` and ``response`` [s],
        whether it is the ``best``, and the ``names`` of its roles (``own``, ``planner``).
    responses
        Time from now to the completion of the job in each draw [s], shape (draws, requests).
    **canvas
        Width, style and axes (:class:`~holdfast.experiments.figures.canvas.CanvasOptions`).
    """
    figure = new_figure(PAGE, 3.2)
    left, right = subplots(figure, 1, 2)
    compared = _compared_requests(requests)
    _draw_requests(left, requests, compared)
    _draw_distributions(right, requests, responses, compared)
    handles, labels = right.get_legend_handles_labels()
    legend_above(figure, handles, labels)
    panel_letters([left, right])
    return figure


def _compared_requests(requests: Sequence[Mapping[str, Any]]) -> dict[str, int]:
    """Indices of the compared requests; a request with several roles appears under its first name."""
    found = {"best": next(place for place, row in enumerate(requests) if row["best"])}
    for name in ("own", "planner"):
        place = next((place for place, row in enumerate(requests) if name in row["names"]), None)
        if place is not None and place not in found.values():
            found[name] = place
    return found


def _draw_requests(axes: Axes, requests: Sequence[Mapping[str, Any]], compared: dict[str, int]) -> None:
    """Expected response time and mean wait over the walltime, a line for each size."""
    walltime, wait, response = (
        np.array([row[name] for row in requests]) / 3600 for name in ("walltime", "wait", "response")
    )
    sizes = sorted({row["nodes"] for row in requests})
    names: list[tuple[float, float, str]] = []
    for number, size in enumerate(sizes):
        places = [place for place, row in enumerate(requests) if row["nodes"] == size]
        color = _SIZES[min(number, len(_SIZES) - 1)]
        axes.plot(walltime[places], response[places], "-", color=color, linewidth=1.1, marker=".", markersize=3)
        axes.plot(walltime[places], wait[places], ":", color=color, linewidth=1.0)
        last = places[-1]
        name = count_text(size, "nodes") if len(sizes) > 1 else "response"
        names.append((float(walltime[last]), float(response[last]), name))
        if len(sizes) == 1:
            names.append((float(walltime[last]), float(wait[last]), "wait"))
    for name, place in compared.items():
        _, color, mark, _ = _COMPARED[name]
        axes.plot([walltime[place]], [response[place]], mark, color=color, markersize=5, zorder=3)
    axes.set_xscale("log")
    _name_lines(axes, names, 1.05 * float(max(response.max(), wait.max(), 0.1)))
    low, high = float(walltime.min()), float(walltime.max())
    # Room for the names, which are about a quarter as wide as the panel.
    axes.set_xlim(low / 1.1, high * max(high / low, 2.0) ** 0.45)
    title = "Mean response" if len(sizes) == 1 else "Mean response (dotted: wait)"
    dress(axes, x="walltime asked for [h]", y="time from now [h]", title=title)
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:g}")


def _name_lines(axes: Axes, names: Sequence[tuple[float, float, str]], top: float) -> None:
    """Name lines at their ends; where ends lie close together, the names stand one above the other."""
    below = -math.inf
    right = 1.15 * max(x for x, _, _ in names)
    for x, y, text in sorted(names, key=lambda name: name[1]):
        below = max(y, below + _APART * top)
        axes.plot([x, right], [y, below], color=INK, linewidth=0.4)
        axes.text(1.03 * right, below, text, va="center", fontsize=FONT["note"], color=INK)
    axes.set_ylim(0, max(top, below + _APART * top))


def _draw_distributions(
    axes: Axes, requests: Sequence[Mapping[str, Any]], responses: Floats, compared: dict[str, int]
) -> None:
    """Draw the share of draws in which the job has completed, over time."""
    shares = 100 * np.arange(1, len(responses) + 1) / len(responses)
    last = 0.0
    for name, place in compared.items():
        title, color, _, line = _COMPARED[name]
        times = np.sort(responses[:, place]) / 3600
        last = max(last, float(times[-1]))
        label = f"{title}: {count_text(requests[place]['nodes'], 'nodes')}, {requests[place]['walltime'] / 3600:.3g} h"
        steps = np.concatenate(([0.0], times)), np.concatenate(([0.0], shares))
        axes.step(*steps, where="post", color=color, linewidth=1.2, linestyle=line, label=label)
    axes.set_ylim(0, 100)
    axes.set_xlim(0, max(1.02 * last, 0.1))
    dress(axes, x="time from now [h]", y="draws in which the job is done [%]", title="Response time")
