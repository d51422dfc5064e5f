"""Estimators of the initial transient of a simulation that starts with an empty machine.

MSER-5 (White, Cobb and Spratt, *A comparison of five steady-state truncation heuristics for simulation*, WSC 2000)
truncates a series where the standard error of the mean of the rest is least. Welch's curve is the smoothed mean over
replications.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from holdfast.simulator.results.records import JobRecord
from holdfast.workloads.ground.units import SECOND

__all__ = ["DAY", "SERIES", "daily", "mser", "smooth"]

Floats = NDArray[np.float64]
#: A day [ticks].
DAY = 86_400 * SECOND
#: Series that are analysed.
SERIES = ("wait", "utilisation", "queue")
#: Largest share of a replication that is truncated: with fewer remaining values the standard error is unreliable.
_MOST = 0.5


def daily(records: Sequence[JobRecord], nodes: int) -> dict[str, Floats]:
    """Wait of the jobs submitted on each day [h], utilisation [%] and waiting jobs, from the first submit to the last.

    Parameters
    ----------
    records
        Records of jobs that have all run, each once.
    nodes
        Size of the machine.

    Returns
    -------
    dict of str to ndarray
        For each of :data:`SERIES`, a value for each whole day; NaN for the wait on a day without jobs.
    """
    submit, start, end, size = (
        np.array([getattr(record, name) for record in records], dtype=np.int64)
        for name in ("submit", "start", "end", "nodes")
    )
    first = int(submit.min())
    # Relative to the first submit, because sums of times since 1970 would lose digits.
    submit, start, end = submit - first, start - first, end - first
    days = int(submit.max() // DAY)
    edges = DAY * np.arange(days + 1, dtype=np.int64)
    day = submit // DAY
    within = day < days
    count = np.bincount(day[within], minlength=days)
    waited = np.bincount(day[within], weights=(start - submit)[within].astype(float), minlength=days)
    with np.errstate(invalid="ignore", divide="ignore"):
        wait = waited / count / (3600 * SECOND)
    return {
        "wait": wait,
        "utilisation": 100.0 * _present(start, end, size, edges) / (nodes * DAY),
        "queue": _present(submit, start, np.ones_like(size), edges) / DAY,
    }


def _present(begin: NDArray[np.int64], end: NDArray[np.int64], weight: NDArray[np.int64],
             edges: NDArray[np.int64]) -> Floats:  # fmt: skip
    """Integral of the weights present between consecutive edges."""
    # The integral up to an edge: that of all items begun before, minus that of all items ended before.
    grown = _integral(begin, weight, edges) - _integral(end, weight, edges)
    found: Floats = np.diff(grown)
    return found


def _integral(since: NDArray[np.int64], weight: NDArray[np.int64], edges: NDArray[np.int64]) -> Floats:
    order = np.argsort(since, kind="stable")
    times, weights = since[order].astype(float), weight[order].astype(float)
    place = np.searchsorted(since[order], edges)
    total = np.concatenate(([0.0], np.cumsum(weights)))
    moment = np.concatenate(([0.0], np.cumsum(weights * times)))
    found: Floats = edges.astype(float) * total[place] - moment[place]
    return found


def mser(values: Floats) -> int:
    """Number of values at the beginning that MSER truncates, up to half of them.

    Parameters
    ----------
    values
        Batch means; NaN values are ignored.

    Examples
    --------
    >>> mser(np.array([0.0, 5.0, 9.0, 10.0, 11.0, 10.0, 9.0, 10.0, 11.0, 10.0]))
    3
    """
    known = np.flatnonzero(np.isfinite(values))
    kept = values[known]
    most = int(len(kept) * _MOST)
    if most < 1:
        return 0
    errors = [float(kept[cut:].var()) / (len(kept) - cut) for cut in range(most + 1)]
    best = int(np.argmin(errors))
    return int(known[best])


def smooth(values: Floats, window: int) -> Floats:
    """Moving means of up to ``window`` values on each side, fewer at the ends, as in Welch's method."""
    found = np.empty(len(values))
    for place in range(len(values)):
        reach = min(window, place, len(values) - 1 - place)
        own = values[place - reach : place + reach + 1]
        found[place] = np.nanmean(own) if np.isfinite(own).any() else np.nan
    return found
