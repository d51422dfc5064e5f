"""Parameter estimation for scipy distributions: maximum likelihood, or least squares on the CDF."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from contextlib import suppress
from copy import copy
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import product
from types import MappingProxyType
from typing import Any

import numpy as np

from holdfast.workloads.distributions import Array
from holdfast.workloads.fits.fit import Samples

__all__ = ["ESTIMATORS", "EXPONENTIALS", "NORMALS", "Between", "Family", "Point"]

#: Parameters in scipy's order: shapes, location, scale.
Point = tuple[float, ...]

# Maximum number of points for least squares, and of samples for the likelihood. More of them cost time and do not
# change the parameters visibly.
_POINTS, _MOST_SAMPLES = 150, 1000
_EVALUATIONS = 40
# Number of starts that are compared by their likelihood; scipy searches from the best.
_COMPARED = 3
# Levels of the quantiles to which a start is fitted.
_INNER = np.linspace(0.1, 0.9, 9)
# Size of the first simplex, in the units of the free parameters.
_STEP = 0.25
# The support ends just beyond the largest sample if, without an end, so small a maximum is less probable than this.
_ENDS = 0.01
# Penalty on a support that does not contain a sample; differences of the CDF are at most 1.
_OUTSIDE = 10.0


@dataclass(frozen=True)
class Between:
    """The parameters of a family truncated at two given ends.

    Parameters
    ----------
    free
        Number of free parameters.
    points
        Function of the runs, shape (n,), and the two ends, of which the upper may be infinite. It returns a function
        from the free parameters, shape (free,), to scipy's parameters. Free parameters are dimensionless, and 0 at the
        start of the search.
    """

    free: int
    points: Callable[[Array, float, float], Callable[[Array], Point]]


def _normals(runs: Array, lower: float, upper: float) -> Callable[[Array], Point]:
    centre, spread = float(np.mean(runs)), float(np.std(runs))

    def point(free: Array) -> Point:
        mean, deviation = centre + float(free[0]) * spread, math.exp(free[1]) * spread
        return (lower - mean) / deviation, (upper - mean) / deviation, mean, deviation

    return point


def _exponentials(runs: Array, lower: float, upper: float) -> Callable[[Array], Point]:
    excess = float(np.mean(runs)) - lower

    def point(free: Array) -> Point:
        mean = math.exp(free[0]) * excess
        # Scipy has no moments without an end; 50 means is so far that a double shows no difference.
        return min((upper - lower) / mean, 50.0), lower, mean

    return point


#: Normal and exponential distributions, with the moments before truncation as parameters.
NORMALS, EXPONENTIALS = Between(2, _normals), Between(1, _exponentials)


@dataclass(frozen=True)
class Family:
    """A family of distributions of scipy.

    Parameters
    ----------
    scipy_name
        Name of the family in scipy.stats.
    starts
        Initial values of each shape parameter.
    signed
        Whether shapes may be any number; otherwise they are positive.
    verified
        Whether the CDF is compared with the PDF before use (Figure 9 of [S]).
    between
        Parameters of a truncated family when the ends are given; None for other families. Scipy would also optimise the
        ends, but the likelihood rises as they approach the samples, so that its search stops far from any maximum.
    """

    scipy_name: str
    starts: tuple[tuple[float, ...], ...] = ()
    signed: bool = False
    verified: bool = False
    between: Between | None = None

    @property
    def distribution(self) -> Any:
        """The distribution of scipy.stats."""
        return _distribution(self.scipy_name)


@cache
def _distribution(name: str) -> Any:
    """A distribution of scipy.stats that caches its moments by shape.

    Scipy's start for a fit needs the moments for shapes of 1. For exponweib and exponpow, scipy would integrate them
    each time, which takes longer than the fit.
    """
    from scipy import stats

    own = copy(getattr(stats, name))
    own.stats = lru_cache(maxsize=8)(own.stats)
    return own


@cache
def _standards(family: Family) -> list[tuple[tuple[float, ...], Array]]:
    """Each combination of initial shapes with the quantiles of its standard distribution, if these are finite."""
    quantiles = [(shapes, np.asarray(family.distribution.ppf(_INNER, *shapes))) for shapes in product(*family.starts)]
    return [(shapes, standard) for shapes, standard in quantiles if np.all(np.isfinite(standard))]


def _likelihood(family: Family, samples: Samples, refined: int) -> Point | None:
    """Scipy's maximum likelihood from the best of a few starts: scipy's own, and lines through the quantiles.

    From its own start alone, scipy ends in a lower local maximum for a tenth of the families.
    """
    dist = family.distribution
    runs = samples.evenly(_MOST_SAMPLES)
    if family.between is not None:
        return _likelihood_between(dist, family.between, runs, samples)
    search = _Search(family, samples)
    starts = [search.point(start) for _, start in search.starts()[:_COMPARED]]
    # Scipy has no start for some families; then the lines through the quantiles remain.
    with suppress(ArithmeticError, ValueError, RuntimeError, AttributeError):
        starts.append(tuple(float(value) for value in dist._fitstart(runs)))
    ranked = sorted(starts, key=lambda point: _surprise(dist, point, runs))
    for start in ranked[:2]:
        try:
            found = dist.fit(runs, *start[:-2], loc=start[-2], scale=start[-1])
        except (ArithmeticError, ValueError, RuntimeError):  # also scipy's FitError: no maximum from there
            continue
        point = tuple(float(value) for value in found)
        if all(map(math.isfinite, point)) and point[-1] > 0.0:
            return search.stretch(point)
    return None


def _likelihood_between(dist: Any, between: Between, runs: Array, samples: Samples) -> Point | None:
    """The maximum-likelihood distribution with its end at the known limit, or with an end that the samples imply.

    For every distribution, the likelihood rises as the end approaches the largest sample. Without a known limit the
    distribution therefore has no end, unless so small a largest sample would then be improbable.
    """
    if math.isfinite(samples.limit):
        return _likelihood_up_to(samples.upper, dist, between, runs, samples)
    found = _likelihood_up_to(math.inf, dist, between, runs, samples)
    if found is not None and samples.size * float(dist.logcdf(samples.values[-1], *found)) >= math.log(_ENDS):
        return found
    return _likelihood_up_to(samples.upper, dist, between, runs, samples)


def _likelihood_up_to(upper: float, dist: Any, between: Between, runs: Array, samples: Samples) -> Point | None:
    from scipy import optimize

    point = between.points(runs, samples.lower, upper)
    start = np.zeros(between.free)
    with suppress(ArithmeticError, ValueError):
        simplex = np.vstack([start, _STEP * np.eye(between.free)])
        found = optimize.minimize(
            lambda free: _surprise(dist, point(free), runs),
            start,
            method="Nelder-Mead",
            options={"initial_simplex": simplex},
        )
        if math.isfinite(found.fun):
            return point(found.x)
    return None


def _surprise(dist: Any, point: Point, runs: Array) -> float:
    """Minus the logarithm of the likelihood; infinite where it is not a number."""
    surprise = -float(np.sum(dist.logpdf(runs, *point)))
    return surprise if math.isfinite(surprise) else math.inf


def _least_squares(family: Family, samples: Samples, refined: int) -> Point | None:
    """Least squares on the truncated CDF, with searches from the few starts that are nearest to the samples."""
    search = _Search(family, samples)
    best = search.best(refined)
    return None if best is None else search.stretch(search.point(best))


#: Estimators of parameters, by name: functions of a family, samples, and the number of starts to search from.
ESTIMATORS: Mapping[str, Callable[[Family, Samples, int], Point | None]] = MappingProxyType(
    {"likelihood": _likelihood, "least-squares": _least_squares}
)


class _Search:
    """Least squares on the truncated CDF over (shapes, location, scale) of one family.

    The coordinates of the search are (log shapes or shapes, location in units of the spread, log scale).
    """

    def __init__(self, family: Family, samples: Samples) -> None:
        self.family = family
        self.samples = samples
        self.dist = family.distribution
        self.values, self.levels = samples.thin(_POINTS)

    def decode(self, point: Array) -> tuple[Array, float, float]:
        shapes, (location, scale) = point[:-2], point[-2:]
        if not self.family.signed:
            shapes = np.exp(np.clip(shapes, -5.0, 9.0))
        spread = self.samples.spread
        return shapes, float(self.values[0] + location * spread), float(math.exp(min(max(scale, -30), 30)) * spread)

    def point(self, coded: Array) -> Point:
        """The parameters in scipy's order."""
        shapes, location, scale = self.decode(coded)
        return (*(float(shape) for shape in shapes), location, scale)

    def residuals(self, point: Array) -> Array:
        shapes, location, scale = self.decode(point)
        at = np.concatenate(([0.0], self.values, [self.samples.limit]))
        heights = np.asarray(self.dist.cdf(at, *shapes, loc=location, scale=scale))
        below, mass = heights[0], heights[-1] - heights[0]
        start, end = self.dist.support(*shapes, loc=location, scale=scale)
        if not (mass > 0.0 and start < end and np.all(np.isfinite(heights))):
            return np.full(self.values.size + 2, 1e3)
        short = max(0.0, float(self.values[-1] - end)), max(0.0, float(start - self.values[0]))
        return np.concatenate(((heights[1:-1] - below) / mass - self.levels, np.array(short) * self.outside))

    @property
    def outside(self) -> float:
        return _OUTSIDE / self.samples.spread

    def starts(self) -> list[tuple[float, Array]]:
        """Starts for all initial shapes; location and scale follow from a line through the quantiles (a Q-Q plot)."""
        quantiles = np.interp(_INNER, self.levels, self.values)
        found = []
        for shapes, standard in _standards(self.family):
            slope, offset = np.polyfit(standard, quantiles, 1)
            coded = shapes if self.family.signed else tuple(math.log(shape) for shape in shapes)
            slope = max(float(slope) / self.samples.spread, 1e-6)
            location = (float(offset) - self.values[0]) / self.samples.spread
            point = np.array([*coded, location, math.log(slope)])
            found.append((float(np.sum(self.residuals(point) ** 2)), point))
        return sorted(found, key=lambda item: item[0])

    def best(self, refined: int) -> Array | None:
        from scipy import optimize

        best, least = None, math.inf
        for error, start in self.starts()[:refined]:
            point, *_ = optimize.leastsq(self.residuals, start, maxfev=_EVALUATIONS * start.size, ftol=1e-6, xtol=1e-6)
            reached = float(np.sum(self.residuals(point) ** 2))
            for value, candidate in ((error, start), (reached, point)):
                if value < least:
                    best, least = candidate, value
        return best

    def stretch(self, point: Point) -> Point:
        """Increase the scale if the support ends slightly below the largest sample (by the penalty or by rounding)."""
        start, end = self.dist.support(*point)
        missing = float(self.values[-1] - end)
        # A larger gap is a bad fit, which is refused with that reason.
        if not 0.0 < missing < 0.05 * self.samples.spread or not math.isfinite(start):
            return point
        location = point[-2]
        longer = (float(self.values[-1]) - location) / (float(end) - location) * (1.0 + 1e-9)
        return (*point[:-1], point[-1] * longer) if longer > 0.0 else point
