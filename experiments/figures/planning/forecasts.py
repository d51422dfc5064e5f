"""A forecast: when a job starts, or all waiting jobs do, and how the queue goes on."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from experiments.figures.style import FONT, INK, dress, new_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from experiments.forecast.forecasts import Forecast

__all__ = ["plot_forecast"]

_COLOR, _MARK = "#0072B2", "#D55E00"
#: Rows of jobs that one picture shows; more are thinned out.
_MOST = 40
#: Pairs of levels of the fan, the widest first, with the opacity of the area between them.
_FAN = ((0.05, 0.95, 0.18), (0.25, 0.75, 0.35))


def plot_forecast(forecast: Forecast) -> Figure:
    """When the jobs of a forecast start, and how many of those that wait now still wait.

    Parameters
    ----------
    forecast
        The forecast; of one job its distribution is drawn, of several their medians and intervals.
    """
    figure = new_figure(7.0, 3.0 if len(forecast.ids) == 1 else 3.4)
    left, right = figure.subplots(1, 2)
    _draw_job(left, forecast) if len(forecast.ids) == 1 else _draw_jobs(left, forecast)
    _draw_queue(right, forecast)
    return figure


def _draw_job(axes: Axes, forecast: Forecast) -> None:
    """The share of the draws in which the job has started, over time."""
    job = forecast.job(forecast.ids[0])
    waits = np.sort(forecast.waits[:, 0]) / 3600
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
    title = f"Start of job {job.job_id}: {job.nodes:,} nodes, {job.walltime / 3600:.3g} h"
    dress(axes, x="time from now (h)", y="draws in which it has started (%)", title=title)


def _draw_jobs(axes: Axes, forecast: Forecast) -> None:
    """Median and intervals of each job, by median."""
    waits = forecast.waits / 3600
    levels = np.quantile(waits, (0.05, 0.25, 0.5, 0.75, 0.95), axis=0, method="inverted_cdf")
    order = np.argsort(levels[2], kind="stable")
    if len(order) > _MOST:
        order = order[np.linspace(0, len(order) - 1, _MOST).round().astype(int)]
    rows = np.arange(len(order))
    axes.hlines(rows, levels[0, order], levels[4, order], color=_COLOR, alpha=0.45, linewidth=1.0)
    axes.hlines(rows, levels[1, order], levels[3, order], color=_COLOR, linewidth=2.2)
    axes.plot(levels[2, order], rows, "o", color=_MARK, markersize=2.6)
    axes.set_yticks(rows[:: max(1, len(rows) // 20)])
    axes.set_yticklabels([str(forecast.ids[place]) for place in order[:: max(1, len(rows) // 20)]])
    axes.invert_yaxis()
    axes.set_xlim(left=0)
    shown = "" if len(order) == len(forecast.ids) else f" ({len(order)} of {len(forecast.ids):,})"
    dress(axes, x="time from now (h)", y="job", title=f"Starts: median, 50 and 90 %{shown}", grid="x")


def _draw_queue(axes: Axes, forecast: Forecast) -> None:
    """How many of the jobs that wait now still wait: a fan of the draws."""
    ends = np.max(forecast.others, axis=1) - forecast.state.at
    times = np.linspace(0.0, max(float(np.quantile(ends, 0.95)), 60.0), 200)
    counts = forecast.queue(times)
    for low, high, alpha in _FAN:
        bounds = np.quantile(counts, (low, high), axis=0, method="inverted_cdf")
        axes.fill_between(times / 3600, bounds[0], bounds[1], color=_COLOR, alpha=alpha, linewidth=0)
    axes.plot(times / 3600, np.quantile(counts, 0.5, axis=0, method="inverted_cdf"), color=_COLOR, linewidth=1.2)
    axes.set_ylim(0, 1.05 * max(len(forecast.waiting), 1))
    axes.set_xlim(0, times[-1] / 3600)
    dress(axes, x="time from now (h)", y="jobs of now that still wait", title="The queue: median, 50 and 90 %")
