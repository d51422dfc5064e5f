"""Means with confidence intervals, and paired comparisons: what repetitions of an experiment say.

Repetitions are independent draws of an instance. Two treatments of the *same* instances are compared by the differences
instance by instance, so that what makes an instance easy or hard for both is not taken for noise.
"""

from __future__ import annotations

import math
from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from workloads.errors import ParameterError

__all__ = ["Interval", "geometric_ratio", "interval", "paired", "ratio"]


class Interval(NamedTuple):
    """A mean between the bounds of its confidence interval.

    Attributes
    ----------
    mean, low, high
        In the unit of the values.
    """

    mean: float
    low: float
    high: float

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


def interval(values: ArrayLike, level: float = 0.95) -> Interval:
    """The mean and its confidence interval by Student's t.

    Parameters
    ----------
    values
        One for each repetition, two or more, shape (n,).
    level
        Of confidence, within (0, 1).

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
    mean = float(data.mean())
    # Equal values may have a mean that differs from them in its last digit.
    if data.min() == data.max():
        return Interval(float(data[0]), float(data[0]), float(data[0]))
    margin = _quantile(data.size - 1, level) * float(data.std(ddof=1)) / math.sqrt(data.size)
    return Interval(mean, mean - margin, mean + margin)


def paired(a: ArrayLike, b: ArrayLike, level: float = 0.95) -> Interval:
    """The mean of a - b, instance by instance, with its confidence interval.

    Parameters
    ----------
    a, b
        Of the same instances in the same order, shape (n,).
    level
        Of confidence.

    Raises
    ------
    ParameterError
        If they are not as many, or not legal for :func:`interval`.

    Examples
    --------
    >>> paired([11.0, 22.0, 33.0], [10.0, 21.0, 32.0]).text()
    '1 [1, 1]'
    """
    left, right = _pair(a, b)
    return interval(left - right, level)


def ratio(a: ArrayLike, b: ArrayLike, level: float = 0.95) -> Interval:
    """The mean of a / b - 1, instance by instance: by how much a is more than b; parameters as :func:`paired`.

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
        As :func:`paired`, and if a value is not positive.

    Examples
    --------
    >>> geometric_ratio([2.0, 1.0], [1.0, 2.0]).mean
    0.0
    """
    left, right = _pair(a, b)
    if not ((left > 0) & (right > 0)).all():
        raise ParameterError("a and b", "positive numbers", (a, b))
    return Interval(*(math.expm1(bound) for bound in interval(np.log(left) - np.log(right), level)))


def _pair(a: ArrayLike, b: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
    left, right = np.asarray(a, dtype=float), np.asarray(b, dtype=float)
    if left.shape != right.shape:
        raise ParameterError("b", f"one for each of the {left.size} values of a", b)
    return left, right


@cache
def _quantile(freedom: int, level: float) -> float:
    """Of Student's t, so that so much lies between it and its opposite."""
    from scipy.special import stdtrit

    return float(stdtrit(freedom, 0.5 + level / 2))
