"""One-page figure of a trace: sizes, times, estimates, arrivals, and simulated against recorded waits."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Literal, NamedTuple, Unpack

import numpy as np

from holdfast.experiments.figures.canvas import PAGE, CanvasOptions, new_figure, plot, subplots
from holdfast.experiments.figures.recording.time_axis import date_axis
from holdfast.experiments.figures.style import FONT, INK, STATE_COLORS, TYPE_COLORS, dress, panel_letters
from holdfast.experiments.recordings.run_file import LOCAL
from holdfast.experiments.timelines.steps import Floats, TimeUnit, choose_bin, choose_unit
from holdfast.simulator.results.result import Result
from holdfast.workloads.ground.errors import InputError
from holdfast.workloads.ground.units import SECOND
from holdfast.workloads.logs.readers import records_local_time
from holdfast.workloads.logs.trace import Trace, trace_epoch
from holdfast.workloads.table.job import JobType

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["plot_trace"]

_FIRST, _SECOND = TYPE_COLORS[JobType.RIGID], STATE_COLORS["warning"]
_RECORDED, _SIMULATED = INK, STATE_COLORS["lost"]
#: Lower limit of drawn waits [h], because a logarithmic axis cannot show 0.
_SHORTEST = 10 / 3600
#: Ticks [h] and their labels on an axis from seconds to months.
_MARKS = {1 / 3600: "1 s", 1 / 60: "1 min", 1.0: "1 h", 24.0: "1 d", 24.0 * 30: "30 d"}
_FINE_MARKS = {10 / 3600: "10 s", 1 / 6: "10 min", 6.0: "6 h", 24.0 * 7: "7 d"} | _MARKS


class _Waits(NamedTuple):
    """Waits of some jobs."""

    name: str
    color: str
    submits: Floats  # since the trace's first submit [s], shape (n,)
    hours: Floats  # shape (n,)


@plot
def plot_trace(trace: Trace, result: Result | None = None, **canvas: Unpack[CanvasOptions]) -> Figure:
    """Draw a summary of a trace on one page.

    Parameters
    ----------
    trace
        With at least one job.
    result
        A simulation of the same jobs; its waits are drawn with the recorded ones.
    **canvas
        Width, style and axes (:class:`~holdfast.experiments.figures.canvas.CanvasOptions`).

    Returns
    -------
    Figure
        2 x 3 panels: sizes, walltimes and runtimes, runtime by walltime; load over time, distribution of the waits,
        mean wait over time.

    Raises
    ------
    InputError
        If the trace has no jobs.
    """
    if not trace.jobs:
        raise InputError("the trace has no jobs to draw")
    submits = np.array([job.submit for job in trace.jobs])
    nodes = np.array([job.nodes for job in trace.jobs], dtype=float)
    runtimes = np.array([job.runtime for job in trace.jobs])
    walltimes = np.array([job.walltime for job in trace.jobs])
    since = submits - submits.min()
    waits = _waits(trace, result, float(submits.min()))

    figure = new_figure(PAGE, 4.4)
    panels = subplots(figure, 2, 3)
    _draw_sizes(panels[0, 0], nodes, nodes * runtimes, trace.unit)
    _draw_times(panels[0, 1], walltimes, runtimes)
    _draw_accuracy(panels[0, 2], runtimes / walltimes)
    _draw_load(panels[1, 0], since, nodes * runtimes, trace)
    _draw_distribution(panels[1, 1], waits)
    _draw_mean_waits(panels[1, 2], waits, float(since.max()))
    epoch = trace_epoch(trace.header, float(submits.min()))
    if epoch is not None:
        # Ticks are at midnight UTC, because local times without a zone are read as UTC.
        zone = LOCAL if records_local_time(trace.format, trace.header) else "UTC"
        _, unit, _ = _bins(float(since.max()))
        for axes in (panels[1, 0], panels[1, 2]):
            label = date_axis(axes, epoch + float(submits.min()), float(since.max()), unit, zone)
            axes.set_xlabel(label, fontsize=FONT["label"], color=INK, labelpad=2)
    panel_letters(list(panels.flat))
    return figure


def _waits(trace: Trace, result: Result | None, origin: float) -> list[_Waits]:
    waits = []
    known = [(job.submit - origin, job.wait / 3600) for job in trace.jobs if job.wait is not None]
    if known:
        waits.append(_Waits("recorded", _RECORDED, *np.array(known).T))
    if result is not None:
        pairs = [
            (record.submit / SECOND - origin, record.wait / SECOND / 3600)
            for record in result.records
            if record.submit is not None and record.start is not None
        ]
        if pairs:
            waits.append(_Waits("simulated", _SIMULATED, *np.array(pairs).T))
    return waits


def _shares(values: Floats, edges: Floats, weights: Floats | None = None) -> Floats:
    """Percentage of the jobs, or of their weights, in each bin."""
    counts, _ = np.histogram(values, edges, weights=weights)
    total = counts.sum()
    shares: Floats = 100.0 * counts / total if total else counts.astype(float)
    return shares


def _draw_sizes(axes: Axes, nodes: Floats, work: Floats, unit: str) -> None:
    """Bins are (2^(k-1), 2^k]: most requests are powers of two, and these end a range."""
    last = np.maximum(np.ceil(np.log2(nodes)), 0).astype(int)
    powers = np.arange(last.min(), last.max() + 1)
    edges = np.append(powers, powers[-1] + 1) - 0.5
    for shift, name, color, weights in (
        (-0.2, "jobs", _FIRST, None),
        (0.2, f"{unit.removesuffix('s')}-hours", _SECOND, work),
    ):
        axes.bar(powers + shift, _shares(last, edges, weights), width=0.4, color=color, label=name)
    names = [f"{2**power}" for power in powers.tolist()]
    step = -(-sum(map(len, names)) // 14)  # as many digits as fit
    axes.set_xticks(powers[::step], names[::step])
    dress(axes, x=f"Size, at most ({unit})", y="Share (%)", title="Sizes", grid="y")
    _legend(axes)


def _draw_times(axes: Axes, walltimes: Floats, runtimes: Floats) -> None:
    low, high = min(runtimes.min(), walltimes.min()) / 3600, walltimes.max() / 3600
    edges = np.geomspace(low / 1.001, max(high, 2 * low) * 1.001, 31)
    axes.stairs(_shares(walltimes / 3600, edges), edges, fill=True, color=_SECOND, alpha=0.75, label="walltime")
    axes.stairs(_shares(runtimes / 3600, edges), edges, color=_FIRST, linewidth=1.2, label="runtime")
    _log_time(axes, edges[0], edges[-1])
    dress(axes, x="Time", y="Jobs (%)", title="Walltimes and runtimes")
    _legend(axes)


def _draw_accuracy(axes: Axes, ratio: Floats) -> None:
    edges = np.linspace(0, 100, 21)
    axes.stairs(_shares(np.clip(100 * ratio, 0, 100), edges), edges, fill=True, color=_FIRST)
    axes.set_xlim(0, 100)
    dress(axes, x="Runtime (% of walltime)", y="Jobs (%)", title="Use of the walltime")


def _draw_load(axes: Axes, since: Floats, work: Floats, trace: Trace) -> None:
    """Draw the work submitted in each bin relative to capacity; without a machine size, in node-hours per day."""
    edges, unit, name = _bins(float(since.max()))
    submitted, _ = np.histogram(since, edges, weights=work)
    widths = np.diff(edges)
    nodes = trace.nodes
    rate = 100 * submitted / (widths * nodes) if nodes else submitted / 3600 / (widths / 86400)
    axes.stairs(rate, edges / unit.seconds, fill=True, color=_FIRST, alpha=0.9)
    mean = float(work.sum() / (edges[-1] * nodes)) if nodes else 0.0
    if mean:
        axes.axhline(100 * mean, color=INK, linewidth=0.8, linestyle=(0, (3, 2)), label=f"mean {100 * mean:.0f} %")
        _legend(axes)
    axes.set_xlim(0, edges[-1] / unit.seconds)
    if not mean:
        axes.set_ylim(0, 1.05 * float(rate.max()) or 1.0)
    label = "Submitted (% of machine)" if nodes else f"Submitted ({trace.unit.removesuffix('s')}-h/d)"
    dress(
        axes,
        x=f"Time since the first submit ({unit.symbol})",
        y=label,
        title=f"Offered load by {name.removeprefix('1 ')}",
    )


def _draw_distribution(axes: Axes, waits: list[_Waits]) -> None:
    dress(axes, x=f"Wait (shorter ones at {_SHORTEST * 3600:.0f} s)", y="Jobs (%)", title="Waits, cumulative")
    axes.set_ylim(0, 100)
    if not waits:
        _say(axes, "no waits recorded")
        return
    high = _SHORTEST * 100
    for name, color, _, hours in waits:
        ordered = np.sort(np.maximum(hours, _SHORTEST))
        high = max(high, float(ordered[-1]))
        # From 0 at the first value upwards; a step for each job.
        at = np.concatenate((ordered[:1], ordered))
        axes.step(at, np.linspace(0, 100, len(at)), where="post", color=color, linewidth=1.2, label=name)
    _log_time(axes, _SHORTEST, 1.3 * high)
    _legend(axes, loc="lower right")


def _draw_mean_waits(axes: Axes, waits: list[_Waits], span: float) -> None:
    edges, unit, name = _bins(span)
    title = f"Mean wait by {name.removeprefix('1 ')}"
    dress(axes, x=f"Time since the first submit ({unit.symbol})", y="Mean wait (h)", title=title)
    axes.set_xlim(0, edges[-1] / unit.seconds)
    if not waits:
        _say(axes, "no waits recorded")
        return
    for label, color, submits, hours in waits:
        counts, _ = np.histogram(submits, edges)
        sums, _ = np.histogram(submits, edges, weights=hours)
        # A bin without submissions has no mean, so the line skips it.
        some = counts > 0
        middles = (edges[:-1] + edges[1:])[some] / 2 / unit.seconds
        marker = "." if some.sum() < 40 else None
        axes.plot(middles, sums[some] / counts[some], color=color, linewidth=0.8, label=label, marker=marker)
    axes.set_ylim(0, 1.2 * axes.dataLim.y1 or 1.0)
    _legend(axes)


def _bins(span: float) -> tuple[Floats, TimeUnit, str]:
    """Edges [s] of bins over the submits, the unit of the axis, and the name of a bin."""
    span = max(span, 1.0)
    # A panel has a third of the page's width, hence fewer bins.
    width, name = choose_bin(3 * span, points=sys.maxsize)
    edges = np.append(np.arange(0.0, span, width), span)
    if len(edges) > 2 and edges[-1] - edges[-2] < width / 2:
        # An incomplete last bin would show the mean of few jobs.
        edges = np.delete(edges, -2)
    return edges, choose_unit(span), name


def _log_time(axes: Axes, low: float, high: float) -> None:
    """Logarithmic axis of hours, labelled from seconds to months."""
    known = _MARKS if high > 1e4 * low else _FINE_MARKS
    while sum(low <= at <= high for at in known) < 2:
        low, high = low / 1.5, high * 1.5
    marks = {at: text for at, text in known.items() if low <= at <= high}
    axes.set_xscale("log")
    axes.set_xlim(low, high)
    axes.set_xticks(list(marks), list(marks.values()))
    axes.minorticks_off()


def _legend(axes: Axes, loc: Literal["upper right", "lower right"] = "upper right") -> None:
    """A legend in one line above the data, or in the corner below a rising curve."""
    above = loc == "upper right"
    if above:
        axes.set_ylim(0, 1.22 * axes.dataLim.y1 or 1.0)
    axes.legend(
        fontsize=FONT["legend"], labelcolor=INK, loc=loc, handlelength=1.2, borderpad=0.3, labelspacing=0.3,
        framealpha=0.85, edgecolor="none", ncols=2 if above else 1, columnspacing=1.0,
    )  # fmt: skip


def _say(axes: Axes, text: str) -> None:
    axes.text(
        0.5, 0.5, text, transform=axes.transAxes, ha="center", va="center", fontsize=FONT["label"], color=INK
    )  # fmt: skip
