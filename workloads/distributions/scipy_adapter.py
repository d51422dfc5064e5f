"""An adapter for frozen distributions of scipy."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from holdfast.workloads.distributions.distribution import Array
from holdfast.workloads.ground.errors import ParameterError

__all__ = ["ScipyDistribution", "from_scipy"]


@dataclass(frozen=True)
class ScipyDistribution:
    """A frozen scipy distribution with the methods of the protocol; made by :func:`from_scipy`."""

    frozen: Any
    lower: float
    upper: float
    name: str

    @property
    def atoms(self) -> tuple[float, ...] | None:
        """An empty tuple for a continuous distribution; None for others, so that atoms are searched for."""
        return () if hasattr(getattr(self.frozen, "dist", None), "pdf") else None

    def cdf(self, x: npt.ArrayLike, /) -> Array:
        """P(X <= x)."""
        return self._quietly(self.frozen.cdf, x)

    def sf(self, x: npt.ArrayLike, /) -> Array:
        """P(X > x)."""
        return self._quietly(self.frozen.sf, x)

    def ppf(self, q: npt.ArrayLike, /) -> Array:
        """The quantile of q."""
        return self._quietly(self.frozen.ppf, q)

    def isf(self, q: npt.ArrayLike, /) -> Array:
        """The x with P(X > x) = q."""
        return self._quietly(self.frozen.isf, q)

    @staticmethod
    def _quietly(method: Any, at: npt.ArrayLike) -> Array:
        # Far outside the support, scipy's formulas overflow and return the right limit. Its compiled functions report
        # that as warnings of Python.
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)
            value: Array = np.asarray(method(at), dtype=float)[()]
        return value

    def mean(self) -> float:
        """E[X], computed by scipy."""
        return float(self.frozen.mean())

    def sample(self, rng: np.random.Generator, size: int | tuple[int, ...]) -> Array:
        """Independent runtimes, by inversion."""
        return self.ppf(rng.random(size))


def from_scipy(frozen: Any, name: str | None = None) -> ScipyDistribution:
    """A frozen distribution of scipy.stats as a distribution; this module itself does not import scipy.stats.

    Parameters
    ----------
    frozen
        Frozen distribution, e.g. ``scipy.stats.lognorm(0.5, scale=20)``.
    name
        Name for users; by default scipy's name.

    Raises
    ------
    ParameterError
        If it is not a frozen distribution, or its parameters are illegal (scipy then returns NaN).

    Examples
    --------
    >>> from scipy import stats
    >>> distribution = from_scipy(stats.expon(scale=2.0))
    >>> distribution.name, distribution.lower, distribution.upper, distribution.mean()
    ('expon', 0.0, inf, 2.0)
    """
    if not all(callable(getattr(frozen, method, None)) for method in ("support", "cdf", "sf", "ppf", "isf", "mean")):
        raise ParameterError("frozen", "a frozen distribution of scipy.stats, such as stats.expon(scale=2.0)", frozen)
    lower, upper = (float(end) for end in frozen.support())
    title = name or getattr(getattr(frozen, "dist", None), "name", None) or type(frozen).__name__
    if not lower < upper:
        raise ParameterError(f"the parameters of {title}", "legal ones", (frozen.args, frozen.kwds))
    return ScipyDistribution(frozen, lower, upper, title)
