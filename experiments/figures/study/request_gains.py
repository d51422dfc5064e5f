"""Figure of response-time gains by requests other than the user's: means with intervals, and by job."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from holdfast.experiments.figures.canvas import PAGE, new_figure, subplots
from holdfast.experiments.figures.style import dress, legend_above, panel_letters
from holdfast.experiments.statistics import clustered_interval
from holdfast.workloads.ground.errors import InputError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["plot_request_gains"]

_STYLES = (("#0072B2", "o"), ("#D55E00", "s"), ("#CC79A7", "D"), ("#999999", "v"))


def plot_request_gains(
    rows: Sequence[Mapping[str, Any]], requests: Mapping[str, str], logs: Mapping[str, str]
) -> Figure:
    """The gain over the own request: means with 95 % intervals by log, and the shares of jobs that gain and lose.

    Parameters
    ----------
    rows
        One for each job, with ``log``, ``week``, and the response times ``own_h``, ``advice_h``, ...
    requests, logs
        Names for people, by those in the rows; the first request is the own one.

    Raises
    ------
    InputError
        If there is nothing to show.
    """
    shown = [log for log in logs if len({row["week"] for row in rows if row["log"] == log}) > 1]
    if not shown:
        raise InputError("there are no jobs of two or more weeks to draw")
    own, *others = requests
    figure = new_figure(PAGE, 1.6 + 0.55 * len(shown))
    left, right = subplots(figure, 1, 2, width_ratios=(1.15, 1))
    handles = {}
    for number, name in enumerate(others):
        color, mark = _STYLES[number % len(_STYLES)]
        shift = 0.17 * (number - (len(others) - 1) / 2)
        for place, log in enumerate(shown):
            mine = [row for row in rows if row["log"] == log]
            gain = clustered_interval(
                [row[f"{own}_h"] - row[f"{name}_h"] for row in mine], [row["week"] for row in mine]
            )
            left.plot([gain.low, gain.high], [place + shift] * 2, color=color, linewidth=1.0)
            (handles[requests[name]],) = left.plot(
                gain.mean, place + shift, mark, color=color, markersize=4, linestyle="none"
            )
        ratios = np.sort([row[f"{name}_h"] / row[f"{own}_h"] for row in rows if row["log"] in shown])
        right.plot(ratios, 100 * (np.arange(len(ratios)) + 1) / len(ratios), color=color, linewidth=1.2)
    left.axvline(0, color="#888888", linewidth=0.8)
    left.set_yticks(range(len(shown)), [logs[log] for log in shown])
    left.set_ylim(len(shown) - 0.5, -0.5)
    dress(left, x="hours sooner than with the own request", title="Gain in response time", grid="x")
    left.tick_params(axis="y", length=0)
    right.axvline(1, color="#888888", linewidth=0.8)
    right.set_xscale("log")
    right.set_xlim(0.03, 10)
    right.set_xticks([0.1, 0.3, 1, 3, 10], ["0.1", "0.3", "1", "3", "10"])
    right.minorticks_off()
    right.set_ylim(0, 100)
    dress(right, x="response / that of the own request", y="jobs up to it (%)", title="Job by job")
    panel_letters([left, right])
    legend_above(figure, list(handles.values()), list(handles))
    return figure
