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

from workloads.ground.errors import ParameterError
from workloads.ground.streams import stream

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
        Standard error of the mean; NaN where the bounds were read back from a table. Of a geometric ratio, that of the
        mean logarithm.
    freedom
        Degrees of freedom of Student's t.
    geometric
        Whether the mean is that of logarithms (:func:`geometric_ratio`).
    bounds
        Smallest and largest possible mean: the interval is cut there. The true mean lies within them, so that cutting
        costs no confidence.
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
        """Whether all of it lies above 0: the mean is positive beyond doubt, to the level of the interval."""
        return self.low > 0

    @property
    def negative(self) -> bool:
        """Whether all of it lies below 0."""
        return self.high < 0

    @property
    def decided(self) -> bool:
        """Whether its sign is known; an interval that is 0 throughout says that there is no difference."""
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
        """The interval of the values, each of them that much larger."""
        bounds = (self.bounds[0] + by, self.bounds[1] + by)
        return replace(self, mean=self.mean + by, low=self.low + by, high=self.high + by, bounds=bounds)

    def p_above(self, value: float) -> float:
        """One-sided p-value of the mean being above a value: small where it is. NaN if the error is not known.

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
        """The same of the mean being below a value."""
        gap = self._inner(self.mean) - self._inner(value)
        if self.error == 0:
            return 0.0 if gap < 0 else 1.0
        return 1.0 - self.p_above(value)

    def _inner(self, value: float) -> float:
        if not self.geometric:
            return value
        return math.log1p(value) if value > -1 else -math.inf

    def text(self, pattern: str = ".3g", scale: float = 1.0) -> str:
        """For a reader, e.g. ``1.20 [1.10, 1.30]``.

        Parameters
        ----------
        pattern
            Format of each number.
        scale
            They are multiplied by it, e.g. 100 for per cent.

        Examples
        --------
        >>> Interval(0.1, 0.05, 0.15).text("+.0f", 100)
        '+10 [+5, +15]'
        """
        return f"{self.mean * scale:{pattern}} [{self.low * scale:{pattern}}, {self.high * scale:{pattern}}]"


@dataclass(frozen=True)
class Share(Interval):
    """A probability, from how often something came in independent trials; its intervals and tests are exact.

    Attributes
    ----------
    count, trials
        How often it came, and in how many trials.

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
        """One-sided p-value of the probability being above a value: of at least that count if it were that value."""
        from scipy.special import bdtrc

        inside = min(max(value, 0.0), 1.0)
        return float(bdtrc(self.count - 1, self.trials, inside)) if self.count else 1.0

    def p_below(self, value: float) -> float:
        """One-sided p-value of the probability being below a value."""
        from scipy.special import bdtr

        return float(bdtr(self.count, self.trials, min(max(value, 0.0), 1.0)))


def binomial(count: int, trials: int) -> Share:
    """The probability of an event from its count in independent trials, with its exact 95 % interval.

    Raises
    ------
    ParameterError
        If there are no trials, or it came more often.

    Examples
    --------
    >>> binomial(5, 88).text(".3f")
    '0.057 [0.019, 0.128]'
    """
    if not 0 <= count <= trials or trials < 1:
        raise ParameterError("count", f"from 0 to {trials} trials, of which there are some", count)
    mean = count / trials
    # Of no or all trials the plain error would be 0, as if nothing were left to chance.
    error = math.sqrt((count + 0.5) * (trials - count + 0.5) / (trials + 1) ** 3)
    found = Share(mean, mean, mean, error, trials - 1, bounds=(0.0, 1.0), count=count, trials=trials).at(0.95)
    return cast(Share, found)


def interval(values: ArrayLike, level: float = 0.95, bounds: tuple[float, float] = (-math.inf, math.inf)) -> Interval:
    """The mean and its confidence interval by Student's t.

    Parameters
    ----------
    values
        One for each repetition, two or more, shape (n,).
    level
        Level of confidence, within (0, 1).
    bounds
        Smallest and largest possible mean, e.g. (0, 1) of a ratio: the interval is cut there.

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
    """The mean and its confidence interval where values of one cluster depend on each other.

    Jobs of one week wait in one queue: their waits are no independent draws, but those of different weeks nearly are.
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
    """The median of a less the median of b, with its 95 % interval by a bootstrap of whole clusters.

    Parameters
    ----------
    a, b
        Values on the same instances in the same order, shape (n,).
    clusters
        The cluster of each instance; two or more different ones, shape (n,).
    seed
        Seed of the resamples.
    resamples
        How many.

    Returns
    -------
    Interval
        By Student's t with the standard error of the resamples, and a degree of freedom less than clusters.

    Raises
    ------
    ParameterError
        If there are fewer than two clusters, or not a value of each for each instance.

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
    """The mean of a - b, instance by instance, with its confidence interval.

    Parameters
    ----------
    a, b
        Values on the same instances in the same order, shape (n,).
    level
        Level of confidence.

    Raises
    ------
    ParameterError
        If they are not as many, or not legal for :func:`interval`.

    Examples
    --------
    >>> paired_interval([11.0, 22.0, 33.0], [10.0, 21.0, 32.0]).text()
    '1 [1, 1]'
    """
    left, right = _pair(a, b)
    return interval(left - right, level)


def ratio(a: ArrayLike, b: ArrayLike, level: float = 0.95) -> Interval:
    """The mean of a / b - 1, instance by instance: by how much a is more than b; parameters as :func:`paired_interval`.

    Raises
    ------
    ParameterError
        Also where b is 0.
    """
    left, right = _pair(a, b)
    if not right.all():
        raise ParameterError("b", "without a 0", b)
    return interval(left / right - 1.0, level)


def geometric_ratio(a: ArrayLike, b: ArrayLike, level: float = 0.95) -> Interval:
    """The geometric mean of a / b, less 1; its interval is that of the mean of the logarithms.

    For values that range over orders of magnitude: twice as much and half as much cancel out.

    Raises
    ------
    ParameterError
        As :func:`paired_interval`, and if a value is not positive.

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
    """p-values adjusted for their number by Holm's method: what stays below 0.05 errs with 5 % all together.

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
    """Quantile of Student's t with this share between it and its opposite."""
    from scipy.special import stdtrit

    return float(stdtrit(freedom, 0.5 + level / 2))
