"""The protocol of runtime distributions, the base class of continuous ones, and the discrete distribution.

A distribution has the time unit of its parameters, and plans keep this unit.
Use ``sf`` and ``isf`` for the survival function, never ``1 - cdf``: the difference is 0 below 1e-16 and loses precision
well before that.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Protocol, TypeAlias, runtime_checkable

import numpy as np
import numpy.typing as npt

from holdfast.workloads.distributions.checks import runtimes
from holdfast.workloads.ground.errors import ParameterError

__all__ = [
    "SLACK",
    "Array",
    "ContinuousDistribution",
    "DiscreteDistribution",
    "Distribution",
    "SmoothDistribution",
    "integrate_mean",
]

#: Array of runtimes or probabilities in double precision.
Array: TypeAlias = npt.NDArray[np.float64]

#: Tolerance for comparisons of quantile levels, so that the third of ten equal steps is the quantile 0.3.
SLACK = 1e-13


@runtime_checkable
class Distribution(Protocol):
    """A distribution of runtimes on [lower, upper]; ``upper`` may be infinite.

    All methods take numbers or arrays and work elementwise, in the shape of the argument.
    """

    @property
    def name(self) -> str:
        """Name for users, e.g. ``"weibull"``."""

    @property
    def lower(self) -> float:
        """Lower end of the support."""

    @property
    def upper(self) -> float:
        """Upper end of the support, perhaps infinite."""

    def cdf(self, x: npt.ArrayLike, /) -> Array:
        """P(X <= x)."""

    def sf(self, x: npt.ArrayLike, /) -> Array:
        """P(X > x), accurate in the far tail."""

    def ppf(self, q: npt.ArrayLike, /) -> Array:
        """The least x with P(X <= x) >= q."""

    def isf(self, q: npt.ArrayLike, /) -> Array:
        """The least x with P(X > x) <= q, accurate for tiny q."""

    def mean(self) -> float:
        """E[X], perhaps infinite."""

    def sample(self, rng: np.random.Generator, size: int | tuple[int, ...]) -> Array:
        """Independent runtimes."""


class ContinuousDistribution(ABC):
    """Base of continuous distributions: subclasses define values inside the support, this class those outside.

    A subclass defines ``name``, ``lower``, ``upper``, ``_cdf``, ``_sf``, ``_ppf`` and ``_isf``. It defines ``mean`` if
    there is a formula, and ``atoms`` if it knows where its distribution function jumps; otherwise
    :func:`holdfast.workloads.distributions.atoms.find_atoms` searches for jumps.
    """

    name: str
    lower: float
    upper: float

    @abstractmethod
    def _cdf(self, x: Array) -> Array:
        """P(X <= x) inside the support."""

    @abstractmethod
    def _sf(self, x: Array) -> Array:
        """P(X > x) inside the support."""

    @abstractmethod
    def _ppf(self, q: Array) -> Array:
        """Quantile of a level in [0, 1]."""

    @abstractmethod
    def _isf(self, q: Array) -> Array:
        """Quantile of a survival in [0, 1]."""

    def cdf(self, x: npt.ArrayLike, /) -> Array:
        """P(X <= x)."""
        points = np.asarray(x, dtype=float)
        with np.errstate(all="ignore"):
            inside = self._cdf(np.clip(points, self.lower, self.upper))
        value: Array = np.where(points < self.lower, 0.0, np.where(points >= self.upper, 1.0, inside))[()]
        return value

    def sf(self, x: npt.ArrayLike, /) -> Array:
        """P(X > x)."""
        points = np.asarray(x, dtype=float)
        with np.errstate(all="ignore"):
            inside = self._sf(np.clip(points, self.lower, self.upper))
        value: Array = np.where(points < self.lower, 1.0, np.where(points >= self.upper, 0.0, inside))[()]
        return value

    def ppf(self, q: npt.ArrayLike, /) -> Array:
        """The quantile: the x with P(X <= x) = q; NaN unless 0 <= q <= 1."""
        levels = np.asarray(q, dtype=float)
        with np.errstate(all="ignore"):
            inside = np.clip(self._ppf(np.clip(levels, 0.0, 1.0)), self.lower, self.upper)
        return self._ends(levels, inside, at_zero=self.lower, at_one=self.upper)

    def isf(self, q: npt.ArrayLike, /) -> Array:
        """The x with P(X > x) = q; NaN unless 0 <= q <= 1."""
        levels = np.asarray(q, dtype=float)
        with np.errstate(all="ignore"):
            inside = np.clip(self._isf(np.clip(levels, 0.0, 1.0)), self.lower, self.upper)
        return self._ends(levels, inside, at_zero=self.upper, at_one=self.lower)

    @staticmethod
    def _ends(levels: Array, inside: Array, *, at_zero: float, at_one: float) -> Array:
        ended = np.where(levels == 0.0, at_zero, np.where(levels == 1.0, at_one, inside))
        legal: Array = np.where((levels >= 0.0) & (levels <= 1.0), ended, np.nan)[()]
        return legal

    def mean(self) -> float:
        """E[X]."""
        return integrate_mean(self)

    def sample(self, rng: np.random.Generator, size: int | tuple[int, ...]) -> Array:
        """Draw independent runtimes by inversion: equal seeds give comparable samples of different distributions."""
        return self.ppf(rng.random(size))


class SmoothDistribution(ContinuousDistribution):
    """Base of continuous distributions without atoms."""

    atoms: ClassVar[tuple[float, ...]] = ()


def integrate_mean(distribution: Distribution, deepest: int = 60) -> float:
    """The mean of a distribution as the integral of its survival function, for distributions without a formula.

    The integral uses Gauss-Legendre panels between the quantiles 2^-k of both tails. Within a panel, even near the ends
    of the support, survival varies by a factor of at most two.

    Parameters
    ----------
    distribution
        A distribution with a finite mean.
    deepest
        The last panel of a tail ends at the quantile 2^-deepest, or at the end of the support if that is finite.

    Returns
    -------
    float
        E[X], with a relative error of about 1e-12 for distributions that are smooth between those quantiles.
    """
    levels = 0.5 ** np.arange(1.0, deepest + 1.0)
    # An infinite tail is integrated until the remaining probability is below the smallest double.
    far = levels if np.isfinite(distribution.upper) else 0.5 ** np.arange(1.0, 1001.0)
    middle = float(distribution.isf(0.5))
    right = _panels(np.concatenate(([middle], distribution.isf(far), [distribution.upper])))
    left = _panels(np.concatenate(([middle], distribution.ppf(levels), [distribution.lower])))
    nodes, weights = np.polynomial.legendre.leggauss(16)

    def integral(ends: Array, function: Any) -> float:
        half = np.diff(ends)[:, None] / 2.0
        points = ends[:-1, None] + half * (nodes + 1.0)
        return float(np.sum(function(points) * half * weights))

    return middle + integral(right, distribution.sf) - integral(left, distribution.cdf)


def _panels(ends: Array) -> Array:
    return np.unique(ends[np.isfinite(ends)])


@dataclass(frozen=True, eq=False)
class DiscreteDistribution:
    """A distribution on finitely many runtimes.

    Parameters
    ----------
    values
        The runtimes v_1 < ... < v_n, all above 0, shape (n,).
    probabilities
        P(Y = v_i) >= 0, shape (n,); normalised if their sum differs from 1 by rounding.
    name
        Name for users.

    Raises
    ------
    ParameterError
        If shapes differ, values do not ascend, or probabilities are negative or do not sum to 1 within 1e-9.

    Examples
    --------
    >>> distribution = DiscreteDistribution([2.0, 5.0], [0.75, 0.25])
    >>> distribution.survival, distribution.mean(), float(distribution.ppf(0.8))
    (array([0.25, 0.  ]), 2.75, 5.0)
    """

    values: Array
    probabilities: Array
    name: str = "discrete"

    def __post_init__(self) -> None:
        values = runtimes("values", self.values).copy()
        probabilities = np.array(self.probabilities, dtype=float)
        if probabilities.shape != values.shape:
            raise ParameterError("probabilities", f"as many as the {values.size} values", probabilities.size)
        if np.any(np.diff(values) <= 0.0):
            raise ParameterError("values", "ascending, each one once", values.tolist()[:10])
        if not np.all(probabilities >= 0.0):
            raise ParameterError("probabilities", "0 or more", float(np.min(probabilities)))
        total = float(probabilities.sum())
        if not abs(total - 1.0) <= 1e-9:
            raise ParameterError("the sum of the probabilities", "1", total)
        probabilities /= total
        for array in (values, probabilities):
            array.flags.writeable = False
        object.__setattr__(self, "values", values)
        object.__setattr__(self, "probabilities", probabilities)

    def __len__(self) -> int:
        return int(self.values.size)

    @property
    def lower(self) -> float:
        """The least value."""
        return float(self.values[0])

    @property
    def upper(self) -> float:
        """The largest value."""
        return float(self.values[-1])

    @property
    def atoms(self) -> Array:
        """The values with positive probability."""
        return self.values[self.probabilities > 0.0]

    @cached_property
    def survival(self) -> Array:
        """P(Y > v_i), shape (n,), summed from the tail, so that small probabilities are exact; the last one is 0."""
        tail = np.zeros(self.values.size)
        tail[:-1] = np.cumsum(self.probabilities[:0:-1])[::-1]
        # Rounding must not give a probability above 1.
        np.minimum(tail, 1.0, out=tail)
        tail.flags.writeable = False
        return tail

    @cached_property
    def _cumulated(self) -> Array:
        below = np.minimum(np.cumsum(self.probabilities), 1.0)
        below[int(np.flatnonzero(self.probabilities)[-1]) :] = 1.0
        return below

    def cdf(self, x: npt.ArrayLike, /) -> Array:
        """P(Y <= x)."""
        places = np.searchsorted(self.values, np.asarray(x, dtype=float), side="right")
        value: Array = np.concatenate(([0.0], self._cumulated))[places]
        return value

    def sf(self, x: npt.ArrayLike, /) -> Array:
        """P(Y > x)."""
        places = np.searchsorted(self.values, np.asarray(x, dtype=float), side="right")
        value: Array = np.concatenate(([1.0], self.survival))[places]
        return value

    def ppf(self, q: npt.ArrayLike, /) -> Array:
        """The least value v with P(Y <= v) >= q; NaN unless 0 <= q <= 1."""
        levels = np.asarray(q, dtype=float)
        places = np.searchsorted(self._cumulated, levels - SLACK, side="left")
        # The quantile of level 1 is the last value with positive probability.
        places = np.where(levels == 1.0, np.flatnonzero(self.probabilities)[-1], places)
        return self._pick(levels, places)

    def isf(self, q: npt.ArrayLike, /) -> Array:
        """The least value v with P(Y > v) <= q; NaN unless 0 <= q <= 1."""
        levels = np.asarray(q, dtype=float)
        places = np.searchsorted(-self.survival, -levels * (1.0 + SLACK), side="left")
        return self._pick(levels, places)

    def _pick(self, levels: Array, places: Any) -> Array:
        picked = self.values[np.minimum(places, self.values.size - 1)]
        legal: Array = np.where((levels >= 0.0) & (levels <= 1.0), picked, np.nan)[()]
        return legal

    def mean(self) -> float:
        """E[Y]."""
        return float(self.values @ self.probabilities)

    def sample(self, rng: np.random.Generator, size: int | tuple[int, ...]) -> Array:
        """Independent runtimes, by inversion."""
        return self.ppf(rng.random(size))
