"""The tail of a distribution with a distant upper bound: its start, and a grid for it."""

from __future__ import annotations

import math

import numpy as np

from holdfast.workloads.distributions.distribution import Array, Distribution
from holdfast.workloads.distributions.truncated import TAIL

__all__ = ["body_end", "tail_grid"]

#: Factor by which the support must be longer than its body for the upper bound to count as distant.
_DISTANT = 2.0
#: Largest end of the body as a multiple of the median; up to it, cubic cells resolve runtimes around the median.
_HEAVY = 1000.0
#: The last reservation begins where it adds at most this share of the median to the cost.
_NEGLIGIBLE = 1e-6
#: Points at which the density of the grid is integrated.
_POINTS = 257
#: The number of tail cells is a multiple of n / _PARTS, so that doubling n refines the grid.
_PARTS = 50


def body_end(distribution: Distribution) -> float:
    """The end of the part of the support that cubic cells resolve.

    Parameters
    ----------
    distribution
        A distribution with a finite support.

    Returns
    -------
    float
        The smaller of Q(1 - 1e-7) and 1,000 times the median if the upper bound is more than twice as far from the
        lower bound; else the upper bound.

    Examples
    --------
    >>> from holdfast.workloads.distributions.named import exponential
    >>> from holdfast.workloads.distributions.truncated import truncate
    >>> body_end(truncate(exponential(1.0), upper=20.0)), round(body_end(truncate(exponential(1.0), upper=1e6)), 3)
    (20.0, 16.118)
    """
    quantile = min(float(distribution.isf(TAIL)), _HEAVY * float(distribution.isf(0.5)))
    distant = distribution.upper - distribution.lower > _DISTANT * (quantile - distribution.lower)
    # Comparisons with NaN are false: the upper bound is returned, and the grid refuses the distribution with a reason.
    return quantile if distant and quantile > 0.0 else float(distribution.upper)


def tail_grid(distribution: Distribution, start: float, n: int) -> Array:
    """Ends of the cells from the end of the body to the upper bound of a distribution.

    A cell of width delta around x increases the cost of a plan by about S(x) (delta / x)^2 dx. For a given number of
    cells, the sum is minimal with a density of (x S(x))^(1/3) on the logarithmic scale: a light tail has few cells, a
    tail that contributes to the mean has a proportionate number. The last cell begins where one reservation up to the
    bound adds at most a millionth of the median to the cost.

    Parameters
    ----------
    distribution
        A distribution with a finite support.
    start
        End of the body, > 0.
    n
        Number of cells of the body.

    Returns
    -------
    numpy.ndarray
        Ends in ascending order, above ``start``; the last one is the upper bound. Shape (m,), 1 <= m <= n + 1.
    """
    bound, median = float(distribution.upper), float(distribution.isf(0.5))
    rare = max(_NEGLIGIBLE * median / bound, np.finfo(float).tiny)
    end = min(float(distribution.isf(rare)), bound)
    if not start < end:
        return np.array([bound])
    times, below = _density(distribution, start, end, start)
    _, body = _density(distribution, min(max(median, start * 1e-9), start), start, start)
    share = min(below[-1] / body[-1], 1.0) if body[-1] > 0.0 else 1.0
    cells = max(1, n * math.ceil(_PARTS * share) // _PARTS)
    logarithms = np.interp(np.arange(1, cells + 1) / cells * below[-1], below, times)
    return np.unique(np.append(np.minimum(np.exp(logarithms), end), bound))


def _density(distribution: Distribution, start: float, end: float, unit: float) -> tuple[Array, Array]:
    """Logarithms of times from start to end, and the integral of the density of cells up to each; shape (_POINTS,)."""
    times = np.linspace(math.log(start), math.log(end), _POINTS)
    at = np.exp(times)
    density = np.cbrt(at / unit * np.asarray(distribution.sf(at)))
    steps = 0.5 * (density[1:] + density[:-1]) * np.diff(times)
    integral: Array = np.concatenate(([0.0], np.cumsum(steps)))
    return times, integral
