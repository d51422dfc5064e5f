"""Figure of marginal distributions: a generated year beside a real one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

import numpy as np

from holdfast.experiments.traces.marginals import (
    by_size,
    daily_counts,
    hourly_share,
    interarrivals,
    requests,
    runtime_ratios,
)
from holdfast.workloads.ground.errors import ParameterError
from holdfast.workloads.logs.trace import Trace

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["plot_marginals"]

#: Okabe and Ito's colours with a line style each, so that the curves differ without colour, too.
_STYLES = (("#0072B2", "-"), ("#D55E00", "--"), ("#009E73", ":"), ("#CC79A7", "-."))


def plot_marginals(traces: Mapping[str, Trace], shifts: Mapping[str, float] | None = None) -> Figure:
    """Draw the marginals of up to four traces.

    Parameters
    ----------
    traces
        Label and trace.
    shifts
        For a label, local time minus the clock of its trace [s]
        (:func:`~holdfast.experiments.traces.marginals.hourly_share`).

    Returns
    -------
    Figure
        Six panels: jobs by size, node-hours by size, requests, runtime / request, interarrival times, jobs per hour of
        the day with the jobs per day in the legend.

    Raises
    ------
    ParameterError
        If there are no traces, or more than four.
    """
    if not 1 <= len(traces) <= len(_STYLES):
        raise ParameterError("traces", f"1 to {len(_STYLES)} traces", len(traces))
    # pyplot takes a second to import and is not needed to make a figure.
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11, 6.5), layout="constrained")
    axes = figure.subplots(2, 3)
    _bars(axes[0, 0], traces, 1, "jobs (%)")
    _bars(axes[0, 1], traces, 2, "node-hours (%)")
    _curve(axes[0, 2], traces, requests, "walltime request (h)", "jobs with at most this (%)")
    axes[0, 2].set_xscale("log")
    axes[0, 2].set_xticks([0.5, 1, 2, 3, 6, 12, 24], ["0.5", "1", "2", "3", "6", "12", "24"])
    axes[0, 2].minorticks_off()
    _curve(axes[1, 0], traces, runtime_ratios, "runtime / request", "jobs with at most this (%)")
    # Times of 0 s have no place on a logarithmic axis; a second is what the clock resolves.
    _curve(
        axes[1, 1],
        traces,
        lambda trace: np.maximum(np.sort(interarrivals(trace)), 1.0),
        "time since the submission before (s)",
        "submissions within this (%)",
    )
    axes[1, 1].set_xscale("log")
    for (label, trace), (colour, line) in zip(traces.items(), _STYLES, strict=False):
        share = hourly_share(trace, *([shifts[label]] if shifts and label in shifts else []))
        days = daily_counts(trace)
        text = f"{days.mean():.0f} ± {days.std():.0f} jobs per day"
        axes[1, 2].step(np.arange(25), 100 * np.append(share, share[-1]), line, where="post", color=colour, label=text)
    axes[1, 2].set(xlabel="hour of the day (local)", ylabel="submissions (%)", xlim=(0, 24), ylim=(0, None))
    axes[1, 2].set_xticks(range(0, 25, 4))
    axes[1, 2].legend(frameon=False, loc="lower right")
    for panel in axes.flat:
        panel.spines[["top", "right"]].set_visible(False)
    axes[0, 0].legend(frameon=False)
    return figure


def _bars(panel: Axes, traces: Mapping[str, Trace], column: int, label: str) -> None:
    width = 0.8 / len(traces)
    for number, ((name, trace), (colour, _)) in enumerate(zip(traces.items(), _STYLES, strict=False)):
        rows = by_size(trace)
        places = np.arange(len(rows)) + (number - (len(traces) - 1) / 2) * width
        panel.bar(places, [100 * float(row[column]) for row in rows], width, color=colour, label=name)
        panel.set_xticks(range(len(rows)), [row[0] for row in rows], rotation=45, ha="right", rotation_mode="anchor")
    panel.set(xlabel="size (nodes)", ylabel=label)


def _curve(
    panel: Axes, traces: Mapping[str, Trace], values: Callable[[Trace], np.ndarray], label: str, unit: str
) -> None:
    for (name, trace), (colour, line) in zip(traces.items(), _STYLES, strict=False):
        x = values(trace)
        panel.step(x, 100 * np.arange(1, len(x) + 1) / len(x), line, where="post", color=colour, label=name)
    panel.set(xlabel=label, ylabel=unit, ylim=(0, 100))
