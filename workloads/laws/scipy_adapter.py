"""Any frozen distribution of scipy as a law."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from workloads.errors import ParameterError
from workloads.laws.law import Array

__all__ = ["ScipyLaw", "from_scipy"]


@dataclass(frozen=True)
class ScipyLaw:
    """A frozen scipy distribution, with what the protocol asks for; made by :func:`from_scipy`."""

    frozen: Any
    lower: float
    upper: float
    name: str

    def cdf(self, x: npt.ArrayLike, /) -> Array:
        """P(X <= x)."""
        return np.asarray(self.frozen.cdf(x), dtype=float)[()]

    def sf(self, x: npt.ArrayLike, /) -> Array:
        """P(X > x)."""
        return np.asarray(self.frozen.sf(x), dtype=float)[()]

    def ppf(self, q: npt.ArrayLike, /) -> Array:
        """The quantile of q."""
        return np.asarray(self.frozen.ppf(q), dtype=float)[()]

    def isf(self, q: npt.ArrayLike, /) -> Array:
        """The x with P(X > x) = q."""
        return np.asarray(self.frozen.isf(q), dtype=float)[()]

    def mean(self) -> float:
        """E[X], as scipy has it."""
        return float(self.frozen.mean())

    def sample(self, rng: np.random.Generator, size: int | tuple[int, ...]) -> Array:
        """Independent runtimes, by inversion."""
        return self.ppf(rng.random(size))


def from_scipy(frozen: Any, name: str | None = None) -> ScipyLaw:
    """A frozen distribution of scipy.stats as a law; this module itself does not import scipy.stats.

    Parameters
    ----------
    frozen
        E.g. ``scipy.stats.lognorm(0.5, scale=20)``.
    name
        What people call it; by default scipy's name.

    Raises
    ------
    ParameterError
        If it is no frozen distribution, or its parameters are illegal (scipy answers NaN then).

    Examples
    --------
    >>> from scipy import stats
    >>> law = from_scipy(stats.expon(scale=2.0))
    >>> law.name, law.lower, law.upper, law.mean()
    ('expon', 0.0, inf, 2.0)
    """
    if not all(callable(getattr(frozen, method, None)) for method in ("support", "cdf", "sf", "ppf", "isf", "mean")):
        raise ParameterError("frozen", "a frozen distribution of scipy.stats, such as stats.expon(scale=2.0)", frozen)
    lower, upper = (float(end) for end in frozen.support())
    title = name or getattr(getattr(frozen, "dist", None), "name", None) or type(frozen).__name__
    if not lower < upper:
        raise ParameterError(f"the parameters of {title}", "legal ones", (frozen.args, frozen.kwds))
    return ScipyLaw(frozen, lower, upper, title)
