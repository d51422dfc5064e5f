"""Truncated distributions: the runtime conditional on given bounds."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from holdfast.workloads.distributions.atoms import find_atoms
from holdfast.workloads.distributions.distribution import (
    Array,
    ContinuousDistribution,
    DiscreteDistribution,
    Distribution,
    integrate_mean,
)
from holdfast.workloads.ground.errors import ParameterError

__all__ = ["TAIL", "Truncated", "bound_support", "has_mean", "truncate"]

#: Infinite supports end at the quantile 1 - TAIL ([R] section 4.2, nu).
TAIL = 1e-7


@dataclass(frozen=True)
class Truncated(ContinuousDistribution):
    """A distribution conditional on lower < X <= upper; made by :func:`truncate`.

    Parameters
    ----------
    distribution
        The distribution to truncate.
    lower, upper
        The bounds, within the support of the distribution.
    name
        Name for users.
    """

    distribution: Distribution
    lower: float
    upper: float
    name: str

    @cached_property
    def _ends_of_distribution(self) -> tuple[float, float, float, float]:
        """P(X <= lower), P(X > lower), P(X <= upper) and P(X > upper) before truncation."""
        distribution = self.distribution
        return (
            float(distribution.cdf(self.lower)),
            float(distribution.sf(self.lower)),
            float(distribution.cdf(self.upper)),
            float(distribution.sf(self.upper)),
        )

    @cached_property
    def mass(self) -> float:
        """P(lower < X <= upper) before truncation."""
        below_lower, above_lower, below_upper, above_upper = self._ends_of_distribution
        # The difference of smaller numbers has a smaller rounding error.
        return below_upper - below_lower if below_upper < above_lower else above_lower - above_upper

    @property
    def atoms(self) -> Array:
        """Atoms of the distribution within the bounds."""
        found = find_atoms(self.distribution)
        return found[(found > self.lower) & (found <= self.upper)]

    def _cdf(self, x: Array) -> Array:
        below_lower, above_lower, _, _ = self._ends_of_distribution
        cdf, sf = self.distribution.cdf(x), self.distribution.sf(x)
        return np.clip(np.where(cdf < above_lower, cdf - below_lower, above_lower - sf) / self.mass, 0.0, 1.0)

    def _sf(self, x: Array) -> Array:
        _, _, below_upper, above_upper = self._ends_of_distribution
        cdf, sf = self.distribution.cdf(x), self.distribution.sf(x)
        return np.clip(np.where(sf < below_upper, sf - above_upper, below_upper - cdf) / self.mass, 0.0, 1.0)

    def _ppf(self, q: Array) -> Array:
        below_lower, _, _, above_upper = self._ends_of_distribution
        below = below_lower + q * self.mass
        return np.where(
            below <= 0.5, self.distribution.ppf(below), self.distribution.isf(above_upper + (1.0 - q) * self.mass)
        )

    def _isf(self, q: Array) -> Array:
        below_lower, _, _, above_upper = self._ends_of_distribution
        above = above_upper + q * self.mass
        return np.where(
            above <= 0.5, self.distribution.isf(above), self.distribution.ppf(below_lower + (1.0 - q) * self.mass)
        )

    @cached_property
    def _mean(self) -> float:
        return math.inf if math.isinf(self.upper) and math.isinf(self.distribution.mean()) else integrate_mean(self)

    def mean(self) -> float:
        """E[X | lower < X <= upper]; infinite if the mean before truncation is and the upper bound is infinite."""
        return self._mean


def has_mean(distribution: Distribution) -> bool:
    """Whether the mean of a distribution is finite, decided without computing it if the untruncated mean is finite.

    >>> from holdfast.workloads.distributions.named import pareto
    >>> has_mean(truncate(pareto(1.0, 0.5), 2.0)), has_mean(truncate(pareto(1.0, 0.5), 2.0, 8.0))
    (False, True)
    """
    if math.isfinite(distribution.upper):
        return True
    if not isinstance(distribution, Truncated):
        return math.isfinite(distribution.mean())
    whole = distribution.distribution.mean()
    # Scipy's formulas overflow for some parameters; the integral does not.
    return math.isfinite(integrate_mean(distribution) if math.isnan(whole) else whole)


def truncate(
    distribution: Distribution, lower: float | None = None, upper: float | None = None, name: str | None = None
) -> Distribution:
    """A distribution conditional on a runtime in [lower, upper].

    Parameters
    ----------
    distribution
        The distribution to truncate.
    lower, upper
        Bounds; None leaves an end unchanged.
    name
        Name of the result; by default that of the distribution.

    Returns
    -------
    Distribution
        The distribution itself if the bounds do not change it; a
        :class:`~holdfast.workloads.distributions.distribution.DiscreteDistribution` if it is discrete.

    Raises
    ------
    ParameterError
        If a bound is not a number, the upper bound is not above the lower one, or there is no probability between them.

    Examples
    --------
    >>> from holdfast.workloads.distributions.named import uniform
    >>> half = truncate(uniform(0.0, 4.0), upper=2.0)
    >>> half.upper, float(half.cdf(1.0)), half.mean()
    (2.0, 0.5, 1.0)
    """
    low = distribution.lower if lower is None else float(lower)
    high = distribution.upper if upper is None else float(upper)
    for parameter, bound in (("minimum", low), ("maximum", high)):
        if math.isnan(bound):
            raise ParameterError(parameter, "a number", bound)
    if isinstance(distribution, DiscreteDistribution):
        return _truncate_discrete(distribution, low, high, name)
    if not low < high:
        raise ParameterError("maximum", f"above the minimum, {low:g}", high)
    low, high = max(low, distribution.lower), min(high, distribution.upper)
    if low == distribution.lower and high == distribution.upper and name in (None, distribution.name):
        return distribution
    inner = distribution
    if isinstance(distribution, Truncated):
        # Two truncations are merged into one, which saves a subtraction in every value.
        inner = distribution.distribution
    cut = Truncated(inner, low, high, name or distribution.name) if low < high else None
    if cut is None or not cut.mass > 0.0:
        raise ParameterError(
            "minimum and maximum", f"bounds between which {distribution.name} has any probability", (low, high)
        )
    return cut


def _truncate_discrete(
    distribution: DiscreteDistribution, low: float, high: float, name: str | None
) -> DiscreteDistribution:
    kept = (distribution.values >= low) & (distribution.values <= high)
    mass = float(distribution.probabilities[kept].sum())
    if not mass > 0.0:
        raise ParameterError(
            "minimum and maximum", f"bounds between which {distribution.name} has any probability", (low, high)
        )
    return replace(
        distribution,
        values=distribution.values[kept],
        probabilities=distribution.probabilities[kept] / mass,
        name=name or distribution.name,
    )


def bound_support(distribution: Distribution, tail: float = TAIL) -> Distribution:
    """Truncate a distribution to a finite support of runtimes: at 0, and an infinite tail at Q(1 - tail).

    Parameters
    ----------
    distribution
        The distribution to bound.
    tail
        Probability of the part that is cut off; the rest is renormalised ([R] section 4.2: 1e-7).

    Returns
    -------
    Distribution
        The distribution itself if its support is finite and has no negative values.

    Raises
    ------
    ParameterError
        If ``tail`` is not in (0, 1).

    Examples
    --------
    >>> from holdfast.workloads.distributions.named import exponential
    >>> round(bound_support(exponential(1.0)).upper, 3)
    16.118
    """
    if not 0.0 < tail < 1.0:
        raise ParameterError("tail", "a probability above 0 and below 1", tail)
    lower = 0.0 if distribution.lower < 0.0 else None
    upper = float(distribution.isf(tail)) if math.isinf(distribution.upper) else None
    return distribution if lower is None and upper is None else truncate(distribution, lower, upper)
