"""Mixtures of distributions, for an application with several modes of operation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from holdfast.workloads.distributions.atoms import find_atoms
from holdfast.workloads.distributions.distribution import Array, ContinuousDistribution, Distribution
from holdfast.workloads.ground.errors import ParameterError

__all__ = ["Mixture", "mixture"]

#: Number of bisection steps for a quantile: the interval becomes smaller than the spacing of doubles.
_HALVINGS = 80


@dataclass(frozen=True)
class Mixture(ContinuousDistribution):
    """A distribution with weighted averages of the probabilities of its parts; made by :func:`mixture`."""

    parts: tuple[Distribution, ...]
    weights: tuple[float, ...]
    name: str
    lower: float
    upper: float

    @property
    def atoms(self) -> Array:
        """Atoms of all parts."""
        return np.unique(np.concatenate([find_atoms(part) for part in self.parts]))

    def _cdf(self, x: Array) -> Array:
        return self._weighted_sum("cdf", x)

    def _sf(self, x: Array) -> Array:
        return self._weighted_sum("sf", x)

    def _weighted_sum(self, method: str, x: Array) -> Array:
        total: Any = 0.0
        for part, weight in zip(self.parts, self.weights, strict=True):
            total = total + weight * getattr(part, method)(x)
        return np.asarray(total)

    def _ppf(self, q: Array) -> Array:
        # A quantile of a mixture lies between those of its parts.
        return self._between([part.ppf(q) for part in self.parts], lambda x: self._cdf(x) < q)

    def _isf(self, q: Array) -> Array:
        return self._between([part.isf(q) for part in self.parts], lambda x: self._sf(x) > q)

    @staticmethod
    def _between(quantiles: Sequence[Array], too_small: Any) -> Array:
        low, high = np.min(quantiles, axis=0), np.max(quantiles, axis=0)
        for _ in range(_HALVINGS):
            middle = low + (high - low) / 2.0
            right = too_small(middle)
            low, high = np.where(right, middle, low), np.where(right, high, middle)
        return np.asarray(high)

    def mean(self) -> float:
        return float(sum(weight * part.mean() for part, weight in zip(self.parts, self.weights, strict=True)))


def mixture(parts: Sequence[Distribution], weights: npt.ArrayLike | None = None, name: str = "mixture") -> Distribution:
    """The distribution of a runtime that follows one of several distributions, chosen at random.

    Parameters
    ----------
    parts
        At least one distribution.
    weights
        Probability of each part, shape (parts,), divided by their sum; equal by default.
    name
        Name for users.

    Raises
    ------
    ParameterError
        If there are no distributions, or the weights are not one positive number for each.

    Examples
    --------
    >>> from holdfast.workloads.distributions.named import uniform
    >>> distribution = mixture([uniform(0.0, 1.0), uniform(2.0, 3.0)])
    >>> float(distribution.cdf(1.5)), distribution.mean(), round(float(distribution.ppf(0.75)), 9)
    (0.5, 1.5, 2.5)
    """
    if not parts:
        raise ParameterError("parts", "at least one distribution", list(parts))
    shares = np.ones(len(parts)) if weights is None else np.asarray(weights, dtype=float)
    if shares.shape != (len(parts),) or not np.all(np.isfinite(shares) & (shares > 0.0)):
        raise ParameterError("weights", f"{len(parts)} positive numbers", weights)
    shares = shares / shares.sum()
    lower, upper = min(part.lower for part in parts), max(part.upper for part in parts)
    return Mixture(tuple(parts), tuple(shares.tolist()), name, float(lower), float(upper))
