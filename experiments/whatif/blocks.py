"""Blocks of time: periods in which use is shown, and a bootstrap of percentiles over blocks of dependent jobs."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from holdfast.experiments.statistics import Interval
from holdfast.workloads.ground.random_streams import stream
from holdfast.workloads.ground.units import SECOND

__all__ = ["percentile_gap", "periods"]

#: Lengths of periods by name [s], the longest first, and how many of them are enough.
_LENGTHS = {"week": 7 * 86_400, "day": 86_400, "hour": 3600, "minute": 60}
_ENOUGH = 6
#: Largest number of periods, so that each has its place in a figure.
_MOST = 120
_RESAMPLES = 400


def periods(first: int, last: int) -> tuple[str, tuple[int, ...]]:
    """Divide the time of the submissions into weeks, days, hours or minutes.

    Parameters
    ----------
    first, last
        First and last submission [ticks].

    Returns
    -------
    tuple
        Name of the periods; their ends with the begin of the first one in front [ticks], the last period perhaps
        shorter. Of many periods several are one.

    Examples
    --------
    >>> name, ends = periods(0, 8 * 7 * 86_400 * SECOND)
    >>> name, len(ends)
    ('week', 9)
    """
    span = max(last - first, SECOND)
    name = next((one for one, seconds in _LENGTHS.items() if span >= _ENOUGH * seconds * SECOND), "minute")
    length = _LENGTHS[name] * SECOND
    length *= max(1, math.ceil(span / length / _MOST))
    ends = [*range(first, first + span, length), first + span]
    # A short rest would be a number of its own: it belongs to the period before it.
    if len(ends) > 2 and 2 * (ends[-1] - ends[-2]) < length:
        del ends[-2]
    return name, tuple(ends)


def percentile_gap(
    first: NDArray[np.float64], second: NDArray[np.float64], clusters: NDArray[np.int64], share: float = 0.99
) -> Interval:
    """A percentile of the second values minus that of the first, with its 95 % interval by a bootstrap of whole blocks.

    Parameters
    ----------
    first, second
        Values of the same jobs, shape (n,).
    clusters
        Block of each job, shape (n,).
    share
        Which percentile.

    Returns
    -------
    Interval
        With NaN bounds if there is one block alone.

    References
    ----------
    B. Efron, R. J. Tibshirani, "An Introduction to the Bootstrap" (1993), chapter 8: units are resampled whole.
    """
    gap = float(np.quantile(second, share) - np.quantile(first, share))
    blocks = np.unique(clusters, return_inverse=True)[1]
    count = int(blocks.max()) + 1
    if count < 2:
        return Interval(gap, math.nan, math.nan)
    weights = stream(0, "whatif", "percentiles").multinomial(count, np.full(count, 1 / count), size=_RESAMPLES)
    found = [_percentiles(values, blocks, weights, share) for values in (first, second)]
    low, high = np.quantile(found[1] - found[0], (0.025, 0.975))
    return Interval(gap, float(low), float(high))


def _percentiles(
    values: NDArray[np.float64], blocks: NDArray[np.int64], weights: NDArray[np.int64], share: float
) -> NDArray[np.float64]:
    """The percentile in each resample, in which each block occurs as often as its weight says."""
    rising = np.argsort(values, kind="stable")
    ordered, own = values[rising], blocks[rising]
    found = np.empty(len(weights))
    for number, weight in enumerate(weights):
        passed = np.cumsum(weight[own])
        found[number] = ordered[min(int(np.searchsorted(passed, share * passed[-1])), len(ordered) - 1)]
    return found
