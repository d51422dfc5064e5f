"""Distributions of sums of independent durations: the time at which the first i tasks of a chain have finished."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from holdfast.workloads.chains.task_fits import Normal
from holdfast.workloads.distributions import ContinuousDistribution, Distribution

__all__ = ["GridDistribution", "partial_sums"]

Floats = npt.NDArray[np.float64]

#: Cells over the range of the whole sum; the error of a CDF is about the slope times half a cell.
_CELLS = 8192
_TAIL = 1e-9


@dataclass(frozen=True, eq=False)
class GridDistribution(ContinuousDistribution):
    """A distribution defined by its CDF on a grid, linear between the points.

    Attributes
    ----------
    points
        Points of the grid, ascending, shape (n,) [s].
    below, above
        P(X <= point) and P(X > point), each summed from its own tail for precision, shape (n,).
    """

    points: Floats
    below: Floats
    above: Floats
    name: str = "sum"
    lower: float = field(init=False)
    upper: float = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "lower", float(self.points[0]))
        object.__setattr__(self, "upper", float(self.points[-1]))

    def _cdf(self, x: Floats) -> Floats:
        return np.interp(x, self.points, self.below)

    def _sf(self, x: Floats) -> Floats:
        return np.interp(x, self.points, self.above)

    def _ppf(self, q: Floats) -> Floats:
        return np.interp(q, self.below, self.points)

    def _isf(self, q: Floats) -> Floats:
        return np.interp(q, self.above[::-1], self.points[::-1])

    def mean(self) -> float:
        """E[X]."""
        cells = -np.diff(self.above)
        return float(cells @ ((self.points[1:] + self.points[:-1]) / 2) / cells.sum())


def partial_sums(distributions: Sequence[Distribution], cells: int = _CELLS) -> tuple[Distribution, ...]:
    """The distributions of X_1, X_1 + X_2, ..., for independent durations.

    Parameters
    ----------
    distributions
        Distributions of the durations, in order.
    cells
        Number of cells of the grid, if one is needed.

    Returns
    -------
    tuple
        Normal distributions while all summands are normal ([P], section 3.2.1), else convolutions on a grid.

    Examples
    --------
    >>> partial_sums([Normal(100.0, 3.0), Normal(50.0, 4.0)])[1].sigma
    5.0
    """
    sums: list[Distribution] = []
    normal = [distribution for distribution in distributions if isinstance(distribution, Normal)]
    if len(normal) == len(distributions):
        for last in range(1, len(normal) + 1):
            sigma = math.sqrt(math.fsum(distribution.sigma**2 for distribution in normal[:last]))
            sums.append(Normal(math.fsum(distribution.mu for distribution in normal[:last]), sigma))
        return tuple(sums)
    lows = [float(distribution.ppf(_TAIL)) for distribution in distributions]
    highs = [float(distribution.isf(_TAIL)) for distribution in distributions]
    step = (math.fsum(highs) - math.fsum(lows)) / cells
    masses = np.ones(1)
    start = 0.0
    for distribution, low, high in zip(distributions, lows, highs, strict=True):
        count = max(2, math.ceil((high - low) / step) + 1)
        # The mass of a cell is placed at its middle, so that the mean of a sum is the sum of the means.
        edges: Floats = np.arange(-0.5, count) * step + low
        masses = _convolve(masses, _cell_masses(distribution, edges))
        start += low
        points: Floats = np.arange(-0.5, masses.size) * step + start
        total = masses.sum()
        below = np.concatenate(([0.0], np.cumsum(masses))) / total
        above = np.concatenate((np.cumsum(masses[::-1])[::-1], [0.0])) / total
        sums.append(GridDistribution(points, np.minimum(below, 1.0), np.minimum(above, 1.0)))
    return tuple(sums)


def _cell_masses(distribution: Distribution, edges: Floats) -> Floats:
    """Probability of each cell, from the CDF below the median and from the survival function above it."""
    rising = np.diff(distribution.cdf(edges))
    falling = -np.diff(distribution.sf(edges))
    masses: Floats = np.where(distribution.cdf(edges[1:]) < 0.5, rising, falling)
    return np.maximum(masses, 0.0)


def _convolve(left: Floats, right: Floats) -> Floats:
    size = left.size + right.size - 1
    fast = 1 << (size - 1).bit_length()
    product: Floats = np.fft.irfft(np.fft.rfft(left, fast) * np.fft.rfft(right, fast), fast)[:size]
    # Rounding errors of the transform, about 1e-17, would make the CDF decrease in a tail.
    return np.maximum(product, 0.0)
