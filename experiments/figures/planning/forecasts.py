"""Figure of a forecast: start times of one job or of all waiting jobs, and the expected queue over time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np

from holdfast.experiments.figures.canvas import CanvasOptions, new_figure, plot, subplots
from holdfast.experiments.figures.style import FONT, INK, dress
from holdfast.workloads.ground.wording import count_text

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    Floats = np.ndarray[Any, np.dtype[np.float64]]

__all__ = ["plot_forecast"]

_COLOR, _MARK = "#0072B2", "#D55E00"
#: Largest number of jobs in a figure; more are thinned out.
_MOST = 40
#: Pairs of levels of the fan, the widest first, with the opacity of the area between them.
_FAN = ((0.05, 0.95, 0.18), (0.25, 0.75, 0.35))


@plot
def plot_forecast(
    jobs: Sequence[Mapping[str, Any]], waits: Floats, queue: Floats, **canvas: Unpack[CanvasOptions]
) -> Figure:
    """Draw start times of jobs, and the number of presently waiting jobs over time.

    Parameters
    ----------
    jobs
        A row for each job: ``job_id``, ``nodes`` and ``walltime`` [s]; the distribution of one job is drawn, or medians
        and intervals of several.
    waits
        Time from now to the start of each of them in each draw [s], shape (draws, jobs).
    queue
        The same for all waiting jobs, shape (draws, waiting).
    **canvas
        Width, style and axes (:class:`~holdfast.experiments.figures.canvas.CanvasOptions`).
    """
    figure = new_figure(7.0, 3.0 if len(jobs) == 1 else 3.4)
    left, right = subplots(figure, 1, 2)
    if len(jobs) == 1:
        _draw_job(left, jobs[0], waits[:, 0])
    else:
        _draw_jobs(left, [row["job_id"] for row in jobs], waits)
    _draw_queue(right, queue)
    return figure


def _draw_job(axes: Axes, job: Mapping[str, Any], seconds: Floats) -> None:
    """Draw the share of draws in which the job has started, over time."""
    waits = np.sort(seconds) / 3600
    shares = 100 * np.arange(1, len(waits) + 1) / len(waits)
    axes.step(
        np.concatenate(([0.0], waits)), np.concatenate(([0.0], shares)), where="post", color=_COLOR, linewidth=1.2
    )
    low, middle, high = np.quantile(waits, (0.05, 0.5, 0.95), method="inverted_cdf")
    axes.axvspan(low, high, color=_COLOR, alpha=0.12, linewidth=0)
    axes.axvline(middle, color=_MARK, linewidth=1.0, linestyle="--")
    beyond = middle > 0.6 * waits[-1]
    axes.annotate(
        f"median {middle:.1f} h",
        (middle, 4),
        xytext=(-3 if beyond else 3, 0),
        textcoords="offset points",
        ha="right" if beyond else "left",
        fontsize=FONT["note"],
        color=INK,
    )
    axes.set_ylim(0, 100)
    axes.set_xlim(0, max(1.02 * waits[-1], 0.1))
    title = f"Start of job {job['job_id']}: {count_text(job['nodes'], 'nodes')}, {job['walltime'] / 3600:.3g} h"
    dress(axes, x="time from now (h)", y="draws in which it has started (%)", title=title)


def _draw_jobs(axes: Axes, ids: Sequence[int], waits: Floats) -> None:
    """Draw median and intervals of each job, ordered by median."""
    levels = np.quantile(waits / 3600, (0.05, 0.25, 0.5, 0.75, 0.95), axis=0, method="inverted_cdf")
    order = np.argsort(levels[2], kind="stable")
    if len(order) > _MOST:
        order = order[np.linspace(0, len(order) - 1, _MOST).round().astype(int)]
    rows = np.arange(len(order))
    axes.hlines(rows, levels[0, order], levels[4, order], color=_COLOR, alpha=0.45, linewidth=1.0)
    axes.hlines(rows, levels[1, order], levels[3, order], color=_COLOR, linewidth=2.2)
    axes.plot(levels[2, order], rows, "o", color=_MARK, markersize=2.6)
    axes.set_yticks(rows[:: max(1, len(rows) // 20)])
    axes.set_yticklabels([str(ids[place]) for place in order[:: max(1, len(rows) // 20)]])
    axes.invert_yaxis()
    axes.set_xlim(left=0)
    shown = "" if len(order) == len(ids) else f" ({len(order)} of {len(ids):,})"
    dress(axes, x="time from now (h)", y="job", title=f"Starts: median, 50 and 90 %{shown}", grid="x")


def _draw_queue(axes: Axes, waits: Floats) -> None:
    """Draw the number of presently waiting jobs over time as a fan chart of the draws."""
    ends = np.max(waits, axis=1)
    times = np.linspace(0.0, max(float(np.quantile(ends, 0.95)), 60.0), 200)
    counts = np.sum(waits[:, None, :] > times[None, :, None], axis=2)
    for low, high, alpha in _FAN:
        bounds = np.quantile(counts, (low, high), axis=0, method="inverted_cdf")
        axes.fill_between(times / 3600, bounds[0], bounds[1], color=_COLOR, alpha=alpha, linewidth=0)
    axes.plot(times / 3600, np.quantile(counts, 0.5, axis=0, method="inverted_cdf"), color=_COLOR, linewidth=1.2)
    axes.set_ylim(0, 1.05 * max(waits.shape[1], 1))
    axes.set_xlim(0, times[-1] / 3600)
    dress(axes, x="time from now (h)", y="jobs of now that still wait", title="The queue: median, 50 and 90 %")
