"""Marginal distributions of a trace, and distances between a generated year and a real one.

The functions depend only on a :class:`~holdfast.workloads.logs.trace.Trace`; the figure is in
:mod:`holdfast.experiments.figures.study.marginals`.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from holdfast.workloads.logs.trace import Trace

__all__ = [
    "SIZE_EDGES",
    "Comparison",
    "by_size",
    "compare",
    "daily_counts",
    "format_comparison",
    "hourly_share",
    "interarrivals",
    "project_shares",
    "requests",
    "runtime_ratios",
    "summary",
    "weekday_share",
]

Floats = NDArray[np.float64]

_DAY = 86_400.0
#: Lower bounds of the size classes [nodes]; the last class has no upper bound.
SIZE_EDGES: tuple[int, ...] = (1, 129, 256, 257, 384, 640, 802, 1025, 2049)


def _column(trace: Trace, name: str) -> Floats:
    return trace.jobs.column(name).astype(np.float64)


def _submits(trace: Trace) -> Floats:
    return np.sort(_column(trace, "submit"))


def by_size(trace: Trace, edges: Sequence[int] = SIZE_EDGES) -> list[tuple[str, float, float]]:
    """Jobs and work by size.

    Parameters
    ----------
    trace
        Any trace with a job.
    edges
        Lower bounds of the classes [nodes], ascending.

    Returns
    -------
    list of (str, float, float)
        For each class its name, its share of the jobs and its share of the node-hours.
    """
    nodes = _column(trace, "nodes")
    work = nodes * _column(trace, "runtime")
    place = np.searchsorted(np.array(edges), nodes, side="right") - 1
    jobs = np.bincount(place, minlength=len(edges)) / len(nodes)
    hours = np.bincount(place, weights=work, minlength=len(edges)) / work.sum()
    names = [str(low) if high == low + 1 else f"{low}-{high - 1}" for low, high in pairwise(edges)] + [
        f">= {edges[-1]}"
    ]
    return list(zip(names, jobs.tolist(), hours.tolist(), strict=True))


def requests(trace: Trace) -> Floats:
    """Walltime requests [h], ascending, shape (n,)."""
    return np.sort(_column(trace, "walltime")) / 3600


def runtime_ratios(trace: Trace) -> Floats:
    """Runtime / request, ascending, shape (n,)."""
    return np.sort(_column(trace, "runtime") / _column(trace, "walltime"))


def interarrivals(trace: Trace) -> Floats:
    """Times between consecutive submissions [s], in submit order, shape (n - 1,)."""
    return np.diff(_submits(trace))


def daily_counts(trace: Trace) -> NDArray[np.int64]:
    """Jobs on each whole day since the first submit, shape (days,); the incomplete last day is left out."""
    days = (_submits(trace) - _submits(trace)[0]) // _DAY
    counts = np.bincount(days.astype(np.int64))
    return counts[:-1] if len(counts) > 1 else counts


def _epoch(trace: Trace, shift: float) -> Floats:
    return _submits(trace) + float(trace.header.get("UnixStartTime", 0) or 0) + shift


def hourly_share(trace: Trace, shift: float = -6 * 3600.0) -> Floats:
    """Share of the submissions in each hour of the day, shape (24,).

    Parameters
    ----------
    trace
        Any trace.
    shift
        Local time minus the trace's clock [s]: -6 h for Chicago on a clock in UTC. The public trace of 2022 is
        another 18 h off (its quiet hours lie at 16-18 h UTC), which is +12 h.

    Returns
    -------
    ndarray, shape (24,)
        Shares of sum 1.
    """
    hours = (_epoch(trace, shift) % _DAY // 3600).astype(np.int64)
    return np.bincount(hours, minlength=24) / len(hours)


def weekday_share(trace: Trace, shift: float = -6 * 3600.0) -> Floats:
    """Share of the submissions on each weekday from Monday, shape (7,); ``shift`` as in :func:`hourly_share`."""
    # 1 January 1970 was a Thursday.
    days = ((_epoch(trace, shift) // _DAY + 3) % 7).astype(np.int64)
    return np.bincount(days, minlength=7) / len(days)


def project_shares(trace: Trace, tops: Sequence[int] = (1, 5, 10), period: float = 365 * _DAY / 12) -> Floats:
    """Share of the jobs in the most active projects of a period, averaged over the periods.

    Parameters
    ----------
    trace
        A trace with projects; NaN for one without.
    tops
        Numbers of projects.
    period
        Length of a period [s]; a month.

    Returns
    -------
    ndarray, shape (len(tops),)
        Shares.
    """
    submits = _column(trace, "submit")
    numbers = ((submits - submits.min(initial=math.inf)) // period).astype(int).tolist()
    periods: dict[int, Counter[str]] = {}
    for number, project in zip(numbers, trace.jobs.texts("project"), strict=True):
        if project:
            periods.setdefault(number, Counter())[project] += 1
    if not periods:
        return np.full(len(tops), np.nan)
    rows = []
    for counter in periods.values():
        ranked = np.sort(np.array(list(counter.values()), dtype=np.float64))[::-1]
        rows.append([ranked[:top].sum() / ranked.sum() for top in tops])
    return np.asarray(np.mean(rows, axis=0))


def _in_batches(trace: Trace, least: int, within: float) -> float:
    """Share of the jobs in sequences of ``least`` or more equal jobs, each within ``gap`` seconds of the last."""
    submit, nodes, walltime = (_column(trace, name) for name in ("submit", "nodes", "walltime"))
    order = np.argsort(submit, kind="stable")
    changes = [np.diff(values[order]) for values in (submit, nodes, walltime)]
    begins = np.concatenate(([True], (changes[1] != 0) | (changes[2] != 0) | (changes[0] > within)))
    lengths = np.bincount(np.cumsum(begins) - 1)
    return float(lengths[lengths >= least].sum()) / len(order)


#: Origin of each quantity: an input of the generator (built in), a consequence that agrees (emerges), or a known
#: difference; with a reason. The keys are those of :func:`summary`.
_ORIGIN: dict[str, tuple[str, str]] = {
    "jobs per day, mean": ("built in", "Table I: 37,298 jobs in 2019, 23,911 in 2022"),
    "jobs per day, standard deviation / mean": ("emerges", ""),
    "jobs per day, variance / mean": ("emerges", "grows with the mean"),
    "jobs per week, standard deviation / mean": ("emerges", ""),
    "work per job": ("built in", "Table II: 83.93 % of a year of the machine"),
    "jobs of 128 nodes": ("built in", ""),
    "jobs of 256 nodes": ("built in", ""),
    "jobs of 257 to 801 nodes": ("built in", ""),
    "jobs of >= 802 nodes": ("built in", "fewer, because a job of 2019 is smaller"),
    "jobs of > 1,024 nodes": ("built in", "fewer, because a job of 2019 is smaller"),
    "node-hours in jobs of >= 802 nodes": ("differs", "small jobs run as long as in 2022, large ones are fewer"),
    "requests of 3 h": ("built in", ""),
    "requests of 1 h": ("built in", ""),
    "requests of 6 h": ("built in", ""),
    "requests of 24 h": ("differs", "half as many, because a job of 2019 is smaller"),
    "requests that are multiples of 1,800 s": ("emerges", ""),
    "mean request": ("emerges", ""),
    "mean runtime / request": ("emerges", "the work of the year decides"),
    "runtime / request below 0.1": ("emerges", "early failures are built in"),
    "runtime / request in 0.9 .. 0.99": ("built in", ""),
    "jobs at their limit": ("built in", "the logs of other years say 30 %"),
    "jobs under 300 s": ("emerges", "early failures are built in"),
    "interarrival, standard deviation / mean": ("differs", "the longest outages of 2022 are missing"),
    "interarrival of at most 60 s": ("emerges", "lengths of batches are built in"),
    "jobs in batches of >= 5 equal ones": ("emerges", "lengths of batches are built in"),
    "busiest hour": ("built in", ""),
    "quietest hour": ("built in", ""),
    "quietest / busiest weekday": ("built in", ""),
    "most active project of a month": ("built in", "2018 sample"),
    "5 most active projects of a month": ("built in", "2018 sample"),
    "10 most active projects of a month": ("built in", "2018 sample"),
}


def summary(trace: Trace, shift: float = -6 * 3600.0) -> dict[str, tuple[float, str]]:
    """One number for each marginal.

    Parameters
    ----------
    trace
        A trace of some weeks at least.
    shift
        As in :func:`hourly_share`.

    Returns
    -------
    dict
        Value and unit of each quantity; NaN if the trace lacks the data.
    """
    nodes, run, limit = (_column(trace, name) for name in ("nodes", "runtime", "walltime"))
    work = nodes * run
    ratio = run / limit
    gaps, days = interarrivals(trace), daily_counts(trace)
    weeks = np.add.reduceat(days, np.arange(0, len(days), 7))
    weeks = weeks[:-1] if len(days) % 7 and len(weeks) > 1 else weeks
    hour, weekday = hourly_share(trace, shift), weekday_share(trace, shift)
    top = project_shares(trace)

    def share(mask: NDArray[np.bool_]) -> tuple[float, str]:
        return float(100 * np.mean(mask)), "%"

    def variation(values: NDArray[np.int64] | Floats) -> tuple[float, str]:
        return float(np.std(values) / np.mean(values)), ""

    return {
        "jobs per day, mean": (float(days.mean()), "jobs"),
        "jobs per day, standard deviation / mean": variation(days),
        "jobs per day, variance / mean": (float(days.var() / days.mean()), "jobs"),
        "jobs per week, standard deviation / mean": variation(weeks),
        "work per job": (float(work.mean() / 3600), "node-h"),
        "jobs of 128 nodes": share(nodes == 128),
        "jobs of 256 nodes": share(nodes == 256),
        "jobs of 257 to 801 nodes": share((nodes > 256) & (nodes < 802)),
        "jobs of >= 802 nodes": share(nodes >= 802),
        "jobs of > 1,024 nodes": share(nodes > 1024),
        "node-hours in jobs of >= 802 nodes": (float(100 * work[nodes >= 802].sum() / work.sum()), "%"),
        "requests of 3 h": share(limit == 3 * 3600),
        "requests of 1 h": share(limit == 3600),
        "requests of 6 h": share(limit == 6 * 3600),
        "requests of 24 h": share(limit == _DAY),
        "requests that are multiples of 1,800 s": share(limit % 1800 == 0),
        "mean request": (float(limit.mean() / 3600), "h"),
        "mean runtime / request": (float(ratio.mean()), ""),
        "runtime / request below 0.1": share(ratio < 0.1),
        "runtime / request in 0.9 .. 0.99": share((ratio >= 0.9) & (ratio < 0.99)),
        "jobs at their limit": share(ratio > 0.999),
        "jobs under 300 s": share(run < 300),
        "interarrival, standard deviation / mean": variation(gaps),
        "interarrival of at most 60 s": share(gaps <= 60),
        "jobs in batches of >= 5 equal ones": (100 * _in_batches(trace, 5, 60.0), "%"),
        "busiest hour": (float(100 * hour.max()), "%"),
        "quietest hour": (float(100 * hour.min()), "%"),
        "quietest / busiest weekday": (float(weekday.min() / weekday.max()), ""),
        "most active project of a month": (float(100 * top[0]), "%"),
        "5 most active projects of a month": (float(100 * top[1]), "%"),
        "10 most active projects of a month": (float(100 * top[2]), "%"),
    }


@dataclass(frozen=True)
class Comparison:
    """Comparison of one quantity between two traces.

    Attributes
    ----------
    quantity, unit
        Name of the quantity, and its unit (empty: dimensionless).
    generated, real
        The two values; NaN where unknown.
    origin
        ``built in``, ``emerges`` or ``differs``.
    reason
        Reason of a difference, or source of the number.
    """

    quantity: str
    unit: str
    generated: float
    real: float
    origin: str
    reason: str


def compare(
    generated: Trace, real: Trace, projects: Trace | None = None, real_shift: float = 12 * 3600.0
) -> list[Comparison]:
    """Generated and real marginals side by side.

    Parameters
    ----------
    generated, real
        The traces.
    projects
        A real trace with projects, for the three rows on projects, if ``real`` has none.
    real_shift
        As in :func:`hourly_share`, of the real trace; the default fits the public trace of 2022.

    Returns
    -------
    list of Comparison
        One row for each quantity of :func:`summary`.
    """
    ours, theirs = summary(generated), summary(real, real_shift)
    if projects is not None:
        concentration = summary(projects, real_shift)
        theirs |= {name: value for name, value in concentration.items() if "of a month" in name}
    return [Comparison(name, unit, value, theirs[name][0], *_ORIGIN[name]) for name, (value, unit) in ours.items()]


def format_comparison(rows: Sequence[Comparison]) -> str:
    """The comparison as a Markdown table."""
    lines = ["| quantity | generated | real | unit | origin | remark |", "|---|---:|---:|---|---|---|"]
    for row in rows:
        real = "" if np.isnan(row.real) else f"{row.real:.4g}"
        lines.append(f"| {row.quantity} | {row.generated:.4g} | {real} | {row.unit} | {row.origin} | {row.reason} |")
    return "\n".join(lines)
