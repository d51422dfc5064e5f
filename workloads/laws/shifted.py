"""Shifted distributions, for runtimes with a constant part."""

from __future__ import annotations

from dataclasses import dataclass

from workloads.ground.errors import ParameterError
from workloads.laws.atoms import find_atoms
from workloads.laws.checks import nonnegative
from workloads.laws.distribution import Array, ContinuousLaw, DiscreteLaw, Law

__all__ = ["Shifted", "shift"]


@dataclass(frozen=True)
class Shifted(ContinuousLaw):
    """A distribution of X + location; made by :func:`shift`."""

    law: Law
    location: float
    name: str
    lower: float
    upper: float

    @property
    def atoms(self) -> Array:
        """Atoms of the distribution, shifted."""
        return find_atoms(self.law) + self.location

    def _cdf(self, x: Array) -> Array:
        return self.law.cdf(x - self.location)

    def _sf(self, x: Array) -> Array:
        return self.law.sf(x - self.location)

    def _ppf(self, q: Array) -> Array:
        return self.law.ppf(q) + self.location

    def _isf(self, q: Array) -> Array:
        return self.law.isf(q) + self.location

    def mean(self) -> float:
        return self.law.mean() + self.location


def shift(law: Law, location: float) -> Law:
    """The distribution of X + location, X of the given distribution.

    Parameters
    ----------
    law
        A continuous distribution.
    location
        >= 0, in the unit of the distribution.

    Raises
    ------
    ParameterError
        If the location is negative, or the distribution is discrete.

    Examples
    --------
    >>> from workloads.laws.named import exponential
    >>> law = shift(exponential(2.0), 1.0)
    >>> law.mean(), law.lower, float(law.sf(1.0))
    (3.0, 1.0, 1.0)
    """
    location = nonnegative("location", location)
    if isinstance(law, DiscreteLaw):
        raise ParameterError("law", "a continuous distribution", law.name)
    return Shifted(law, location, law.name, law.lower + location, law.upper + location)
