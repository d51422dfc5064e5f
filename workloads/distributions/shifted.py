"""Shifted distributions, for runtimes with a constant part."""

from __future__ import annotations

from dataclasses import dataclass

from holdfast.workloads.distributions.atoms import find_atoms
from holdfast.workloads.distributions.checks import nonnegative
from holdfast.workloads.distributions.distribution import (
    Array,
    ContinuousDistribution,
    DiscreteDistribution,
    Distribution,
)
from holdfast.workloads.ground.errors import ParameterError

__all__ = ["Shifted", "shift"]


@dataclass(frozen=True)
class Shifted(ContinuousDistribution):
    """A distribution of X + location; made by :func:`shift`."""

    distribution: Distribution
    location: float
    name: str
    lower: float
    upper: float

    @property
    def atoms(self) -> Array:
        """Atoms of the distribution, shifted."""
        return find_atoms(self.distribution) + self.location

    def _cdf(self, x: Array) -> Array:
        return self.distribution.cdf(x - self.location)

    def _sf(self, x: Array) -> Array:
        return self.distribution.sf(x - self.location)

    def _ppf(self, q: Array) -> Array:
        return self.distribution.ppf(q) + self.location

    def _isf(self, q: Array) -> Array:
        return self.distribution.isf(q) + self.location

    def mean(self) -> float:
        return self.distribution.mean() + self.location


def shift(distribution: Distribution, location: float) -> Distribution:
    """The distribution of X + location, where X has the given distribution.

    Parameters
    ----------
    distribution
        A continuous distribution.
    location
        Shift >= 0, in the unit of the distribution.

    Raises
    ------
    ParameterError
        If the location is negative, or the distribution is discrete.

    Examples
    --------
    >>> from holdfast.workloads.distributions.named import exponential
    >>> distribution = shift(exponential(2.0), 1.0)
    >>> distribution.mean(), distribution.lower, float(distribution.sf(1.0))
    (3.0, 1.0, 1.0)
    """
    location = nonnegative("location", location)
    if isinstance(distribution, DiscreteDistribution):
        raise ParameterError("distribution", "a continuous distribution", distribution.name)
    return Shifted(
        distribution, location, distribution.name, distribution.lower + location, distribution.upper + location
    )
