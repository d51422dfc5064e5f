"""Means with confidence intervals and paired comparisons, for repetitions of an experiment.

Repetitions are independent draws of an instance. Two treatments of the same instances are compared by the differences
within each instance, so that the difficulty of an instance does not count as noise.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import cast

import numpy as np
from numpy.typing import ArrayLike

from holdfast.workloads.ground.errors import ParameterError
from holdfast.workloads.ground.random_streams import stream

__all__ = [
    "Interval",
    "Share",
    "binomial",
    "clustered_interval",
    "geometric_ratio",
    "holm",
    "interval",
    "median_gap",
    "paired_interval",
    "ratio",
]


@dataclass(frozen=True)
class Interval:
    """A mean between the bounds of its confidence interval.

    Attributes
    ----------
    mean, low, high
        In the unit of the values.
    error
        Standard error of the mean; NaN if the bounds were read from a table. For a geometric ratio, standard error of
        the mean logarithm.
    freedom
        Degrees of freedom of Student's t.
    geometric
        Whether the mean is that of logarithms (:func:`geometric_ratio`).
    bounds
        Smallest and largest possible mean, at which the interval is cut. The true mean lies within them, so that
        cutting does not reduce the confidence.
    """

    mean: float
    low: float
    high: float
    error: float = field(default=math.nan, compare=False, repr=False)
    freedom: int = field(default=0, compare=False, repr=False)
    geometric: bool = field(default=False, compare=False, repr=False)
    bounds: tuple[float, float] = field(default=(-math.inf, math.inf), compare=False, repr=False)

    @property
    def positive(self) -> bool:
        """Whether the interval lies above 0: the mean is positive at the level of the interval."""
        return self.low > 0

    @property
    def negative(self) -> bool:
        """Whether the interval lies below 0."""
        return self.high < 0

    @property
    def decided(self) -> bool:
        """Whether the interval determines the sign; an interval of exactly 0 means no difference."""
        return self.positive or self.negative or self.low == self.high == 0

    def at(self, level: float) -> Interval:
        """The interval at another level of confidence.

        Raises
        ------
        ParameterError
            If the standard error is not known.
        """
        if math.isnan(self.error):
            raise ParameterError("interval", "one of measured values, not of bounds alone", self)
        margin = _quantile(self.freedom, level) * self.error if self.error else 0.0
        middle = self._inner(self.mean)
        low, high = middle - margin, middle + margin
        if self.geometric:
            low, high = math.expm1(low), math.expm1(high)
        return replace(self, low=max(low, self.bounds[0]), high=min(high, self.bounds[1]))

    def shift(self, by: float) -> Interval:
        """The interval of the values plus a constant."""
        bounds = (self.bounds[0] + by, self.bounds[1] + by)
        return replace(self, mean=self.mean + by, low=self.low + by, high=self.high + by, bounds=bounds)

    def p_above(self, value: float) -> float:
        """One-sided p-value, small if the mean is above a value; NaN if the error is unknown.

        Examples
        --------
        >>> round(interval([1.0, 2.0, 3.0]).p_above(0.0), 3)
        0.037
        """
        gap = self._inner(self.mean) - self._inner(value)
        if math.isnan(self.error):
            return math.nan
        if self.error == 0:
            return 0.0 if gap > 0 else 1.0
        from scipy.special import stdtr

        return float(stdtr(self.freedom, -gap / self.error))

    def p_below(self, value: float) -> float:
        """One-sided p-value, small if the mean is below a value."""
        gap = self._inner(self.mean) - self._inner(value)
        if self.error == 0:
            return 0.0 if gap < 0 else 1.0
        return 1.0 - self.p_above(value)

    def _inner(self, value: float) -> float:
        if not self.geometric:
            return value
        return math.log1p(value) if value > -1 else -math.inf

    def text(self, pattern: str = ".3g", scale: float = 1.0) -> str:
        """Format the interval, e.g. ``1.20 [1.10, 1.30]``.

        Parameters
        ----------
        pattern
            Format of each number.
        scale
            Factor of the numbers, e.g. 100 for per cent.

        Examples
        --------
        >>> Interval(0.1, 0.05, 0.15).text("+.0f", 100)
        '+10 [+5, +15]'
        """
        return f"{self.mean * scale:{pattern}} [{self.low * scale:{pattern}}, {self.high * scale:{pattern}}]"


@dataclass(frozen=True)
class Share(Interval):
    """A probability estimated from counts of independent trials, with exact intervals and tests.

    Attributes
    ----------
    count, trials
        Number of successes, and number of trials.

    References
    ----------
    C. J. Clopper, E. S. Pearson, "The use of confidence or fiducial limits illustrated in the case of the binomial"
    (1934).
    """

    count: int = field(default=0, compare=False, repr=False)
    trials: int = field(default=0, compare=False, repr=False)

    def at(self, level: float) -> Interval:
        """The interval of Clopper and Pearson."""
        from scipy.special import betaincinv

        tail, misses = (1 - level) / 2, self.trials - self.count
        low = float(betaincinv(self.count, misses + 1, tail)) if self.count else 0.0
        high = float(betaincinv(self.count + 1, misses, 1 - tail)) if misses else 1.0
        return replace(self, low=low, high=high)

    def p_above(self, value: float) -> float:
        """One-sided p-value, small if the probability is above a value: that of at least this count at the value."""
        from scipy.special import bdtrc

        inside = min(max(value, 0.0), 1.0)
        return float(bdtrc(self.count - 1, self.trials, inside)) if self.count else 1.0

    def p_below(self, value: float) -> float:
        """One-sided p-value, small if the probability is below a value."""
        from scipy.special import bdtr

        return float(bdtr(self.count, self.trials, min(max(value, 0.0), 1.0)))


def binomial(count: int, trials: int) -> Share:
    """Estimate a probability from a count in independent trials, with its exact 95 % interval.

    Raises
    ------
    ParameterError
        If there are no trials, or the count exceeds their number.

    Examples
    --------
    >>> binomial(5, 88).text(".3f")
    '0.057 [0.019, 0.128]'
    """
    if not 0 <= count <= trials or trials < 1:
        raise ParameterError("count", f"from 0 to {trials} trials, of which there are some", count)
    mean = count / trials
    # With no or only successes, the plain standard error would be 0.
    error = math.sqrt((count + 0.5) * (trials - count + 0.5) / (trials + 1) ** 3)
    found = Share(mean, mean, mean, error, trials - 1, bounds=(0.0, 1.0), count=count, trials=trials).at(0.95)
    return cast(Share, found)


def interval(values: ArrayLike, level: float = 0.95, bounds: tuple[float, float] = (-math.inf, math.inf)) -> Interval:
    """The mean and its confidence interval by Student's t.

    Parameters
    ----------
    values
        Two or more values, one per repetition, shape (n,).
    level
        Level of confidence, within (0, 1).
    bounds
        Smallest and largest possible mean, e.g. (0, 1) for a ratio, at which the interval is cut.

    Returns
    -------
    Interval
        In the unit of the values.

    Raises
    ------
    ParameterError
        If there are fewer than two values, one of them is not finite, or the level is not legal.

    Examples
    --------
    >>> interval([1.0, 2.0, 3.0]).text(".2f")
    '2.00 [-0.48, 4.48]'
    """
    data = np.asarray(values, dtype=float)
    if data.ndim != 1 or data.size < 2 or not np.isfinite(data).all():
        raise ParameterError("values", "two or more finite numbers", values)
    if not 0 < level < 1:
        raise ParameterError("level", "within (0, 1)", level)
    # Equal values may have a mean that differs from them in its last digit.
    same = data.min() == data.max()
    mean = float(data[0] if same else data.mean())
    error = 0.0 if same else float(data.std(ddof=1)) / math.sqrt(data.size)
    return Interval(mean, mean, mean, error, data.size - 1, bounds=bounds).at(level)


def clustered_interval(values: ArrayLike, clusters: ArrayLike, level: float = 0.95) -> Interval:
    """The mean and its confidence interval if values of one cluster depend on each other.

    Jobs of one week wait in one queue: their waits are not independent, but those of different weeks nearly are.
    The standard error is that of the ratio of two sums over clusters; with one value in each cluster it is
    :func:`interval`.

    Parameters
    ----------
    values
        Shape (n,).
    clusters
        The cluster of each value; two or more different ones, shape (n,).
    level
        Level of confidence, within (0, 1).

    Raises
    ------
    ParameterError
        If there are fewer than two clusters, a value is not finite, or the level is not legal.

    References
    ----------
    W. G. Cochran, "Sampling Techniques", 3rd edition (1977), section 6.4 (ratio estimate) and chapter 9A.

    Examples
    --------
    >>> clustered_interval([1.0, 2.0, 3.0], [0, 1, 2]).text(".2f")
    '2.00 [-0.48, 4.48]'
    >>> clustered_interval([1.0, 1.0, 2.0, 2.0, 3.0, 3.0], [0, 0, 1, 1, 2, 2]).text(".2f")
    '2.00 [-0.48, 4.48]'
    """
    data, names = np.asarray(values, dtype=float), np.asarray(clusters)
    if data.ndim != 1 or names.shape != data.shape or not np.isfinite(data).all():
        raise ParameterError("values", "finite numbers, each with its cluster", values)
    if not 0 < level < 1:
        raise ParameterError("level", "within (0, 1)", level)
    places = np.unique(names, return_inverse=True)[1]
    count = int(places.max(initial=-1)) + 1
    if count < 2:
        raise ParameterError("clusters", "two or more different ones", clusters)
    mean = float(data[0] if data.min() == data.max() else data.mean())
    residuals = np.bincount(places, weights=data - mean)
    variance = count / (count - 1) * float(np.sum(residuals**2)) / data.size**2
    return Interval(mean, mean, mean, math.sqrt(variance), count - 1).at(level)


def median_gap(a: ArrayLike, b: ArrayLike, clusters: ArrayLike, seed: int = 0, resamples: int = 400) -> Interval:
    """The median of a minus the median of b, with its 95 % interval from a bootstrap of whole clusters.

    Parameters
    ----------
    a, b
        Values on the same instances in the same order, shape (n,).
    clusters
        The cluster of each instance; two or more different ones, shape (n,).
    seed
        Seed of the resamples.
    resamples
        Number of resamples.

    Returns
    -------
    Interval
        From Student's t with the standard error of the resamples, and one degree of freedom less than clusters.

    Raises
    ------
    ParameterError
        If there are fewer than two clusters, or the lengths differ.

    References
    ----------
    A. C. Davison, D. V. Hinkley, "Bootstrap Methods and their Application" (1997), section 3.8.

    Examples
    --------
    >>> median_gap([1.0, 2.0, 3.0], [0.0, 1.0, 2.0], [0, 1, 2]).text()
    '1 [1, 1]'
    """
    left, right = _pair(a, b)
    groups = np.unique(np.asarray(clusters), return_inverse=True)[1]
    count = int(groups.max(initial=-1)) + 1
    if count < 2 or groups.shape != left.shape:
        raise ParameterError("clusters", "two or more different ones, one for each value", clusters)
    members = [np.flatnonzero(groups == number) for number in range(count)]
    rng = stream(seed, "bootstrap")
    gaps = np.empty(resamples)
    for number in range(resamples):
        chosen = np.concatenate([members[place] for place in rng.integers(0, count, count).tolist()])
        gaps[number] = np.median(left[chosen]) - np.median(right[chosen])
    mean = float(np.median(left) - np.median(right))
    error = 0.0 if gaps.min() == gaps.max() else float(gaps.std(ddof=1))
    return Interval(mean, mean, mean, error, count - 1).at(0.95)


def paired_interval(a: ArrayLike, b: ArrayLike, level: float = 0.95) -> Interval:
    """The mean of the paired differences a - b, with its confidence interval.

    Parameters
    ----------
    a, b
        Values on the same instances in the same order, shape (n,).
    level
        Level of confidence.

    Raises
    ------
    ParameterError
        If their lengths differ, or they are not legal for :func:`interval`.

    Examples
    --------
    >>> paired_interval([11.0, 22.0, 33.0], [10.0, 21.0, 32.0]).text()
    '1 [1, 1]'
    """
    left, right = _pair(a, b)
    return interval(left - right, level)


def ratio(a: ArrayLike, b: ArrayLike, level: float = 0.95) -> Interval:
    """The mean of the paired relative differences a / b - 1; parameters as for :func:`paired_interval`.

    Raises
    ------
    ParameterError
        As for :func:`paired_interval`, and if b is 0.
    """
    left, right = _pair(a, b)
    if not right.all():
        raise ParameterError("b", "without a 0", b)
    return interval(left / right - 1.0, level)


def geometric_ratio(a: ArrayLike, b: ArrayLike, level: float = 0.95) -> Interval:
    """The geometric mean of a / b, minus 1; its interval is that of the mean logarithm.

    For values that range over orders of magnitude: a factor of two and one of a half cancel out.

    Raises
    ------
    ParameterError
        As for :func:`paired_interval`, and if a value is not positive.

    Examples
    --------
    >>> geometric_ratio([2.0, 1.0], [1.0, 2.0]).mean
    0.0
    """
    left, right = _pair(a, b)
    if not ((left > 0) & (right > 0)).all():
        raise ParameterError("a and b", "positive numbers", (a, b))
    found = interval(np.log(left) - np.log(right), level)
    mean = math.expm1(found.mean)
    return Interval(mean, mean, mean, found.error, found.freedom, geometric=True).at(level)


def holm(p_values: Sequence[float]) -> list[float]:
    """Adjust p-values by Holm's method: rejecting those below 0.05 has a family-wise error rate of 5 %.

    Parameters
    ----------
    p_values
        p-values of one family of tests.

    Examples
    --------
    >>> holm([0.01, 0.04, 0.03])
    [0.03, 0.06, 0.06]
    """
    adjusted = [0.0] * len(p_values)
    so_far = 0.0
    for rank, place in enumerate(sorted(range(len(p_values)), key=lambda place: p_values[place])):
        so_far = max(so_far, min(1.0, (len(p_values) - rank) * p_values[place]))
        adjusted[place] = so_far
    return adjusted


def _pair(a: ArrayLike, b: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
    left, right = np.asarray(a, dtype=float), np.asarray(b, dtype=float)
    if left.shape != right.shape:
        raise ParameterError("b", f"one for each of the {left.size} values of a", b)
    return left, right


@cache
def _quantile(freedom: int, level: float) -> float:
    """Two-sided quantile of Student's t: the share of the distribution between its negative and itself."""
    from scipy.special import stdtrit

    return float(stdtrit(freedom, 0.5 + level / 2))
