"""Nonparametric distributions: polynomial, interpolated and kernel CDFs, all monotone by construction."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt

from holdfast.workloads.distributions import Array, truncate
from holdfast.workloads.distributions.distribution import SmoothDistribution
from holdfast.workloads.fits.fit import Fit, Samples, check_fit, quiet
from holdfast.workloads.ground.errors import ParameterError

__all__ = [
    "MAX_DEGREE",
    "InterpolatedDistribution",
    "KernelDistribution",
    "PolynomialDistribution",
    "fit_interpolation",
    "fit_kernel",
    "fit_polynomial",
]

#: Default degree of polynomials ([S] section IV: leniency, while not overfitting the data).
MAX_DEGREE = 10
# Maximum number of knots; with more, the interpolation follows the noise of the samples.
_KNOTS = 100
_CENTRES = 500
_HALVINGS = 60


class _Inverted(SmoothDistribution):
    """Base of distributions with formulas for CDF and survival function; bisection finds the quantiles."""

    def _inverse(self, reached: Callable[[Array], npt.NDArray[np.bool_]], q: Array, low: float, high: float) -> Array:
        """The least x in [low, high] at which ``reached`` is true, elementwise; it must be false below x."""
        left, right = np.full(np.shape(q), low), np.full(np.shape(q), high)
        for _ in range(_HALVINGS):
            middle = 0.5 * (left + right)
            there = reached(middle)
            left, right = np.where(there, left, middle), np.where(there, middle, right)
        return right

    def _ppf(self, q: Array) -> Array:
        return self._inverse(lambda x: self._cdf(x) >= q, q, self.lower, self.upper)

    def _isf(self, q: Array) -> Array:
        return self._inverse(lambda x: self._sf(x) <= q, q, self.lower, self.upper)


@dataclass(frozen=True, eq=False)
class PolynomialDistribution(_Inverted):
    """A distribution with a polynomial CDF on [lower, upper], in Bernstein coefficients 0 = c_0 <= ... <= c_d = 1.

    The polynomial increases because its coefficients do. Survival is a sum of terms >= 0, accurate in the tail.
    """

    coefficients: Array
    lower: float
    upper: float
    name: str = "polynomial"

    def _sum(self, x: Array, coefficients: Array) -> Array:
        total: Array = np.tensordot(self._basis(x), coefficients, axes=1)
        return total

    def _basis(self, x: Array) -> Array:
        return bernstein((np.asarray(x) - self.lower) / (self.upper - self.lower), self.coefficients.size - 1)

    def _cdf(self, x: Array) -> Array:
        return self._sum(x, self.coefficients)

    def _sf(self, x: Array) -> Array:
        return self._sum(x, 1.0 - self.coefficients)

    def mean(self) -> float:
        """E[X]: every Bernstein polynomial of degree d has the integral 1 / (d + 1)."""
        return self.lower + (self.upper - self.lower) * float(np.mean(1.0 - self.coefficients))


def bernstein(t: Array, degree: int) -> Array:
    """The Bernstein polynomials of a degree at t in [0, 1]; shape (*t.shape, degree + 1)."""
    numbers = np.arange(degree + 1)
    choices = np.array([math.comb(degree, int(j)) for j in numbers], dtype=float)
    t = np.asarray(t, dtype=float)[..., None]
    basis: Array = choices * t**numbers * (1.0 - t) ** (degree - numbers)
    return basis


def fit_polynomial(samples: Samples, degree: int = MAX_DEGREE) -> Fit:
    """Fit the increasing polynomial, of at most a given degree, that is nearest to the empirical CDF ([S] section IV).

    The steps between coefficients are >= 0 and sum to 1; non-negative least squares finds the exact optimum.

    Parameters
    ----------
    samples
        Samples; the polynomial rises from 0 to 1 over their [lower, upper].
    degree
        The largest degree, 1 to 30.

    Raises
    ------
    ParameterError
        If the degree is not a whole number in that range.

    Examples
    --------
    >>> fit = fit_polynomial(Samples.of([1.0, 2.0, 3.0, 4.0]), degree=1)
    >>> fit.distribution.lower, fit.distribution.upper, fit.error < 1e-12
    (0.0, 5.0, False)
    """
    from scipy import optimize

    if isinstance(degree, bool) or degree not in range(1, 31):
        raise ParameterError("degree", "a whole number from 1 to 30", degree)
    name = f"polynomial-{degree}"
    if samples.spread == 0.0:
        return Fit(name, None, math.inf, reason_refused="all samples are equal", method="polynomial")
    values, levels = samples.values, samples.levels
    basis = bernstein((values - samples.lower) / (samples.upper - samples.lower), degree)
    # F = sum_j c_j B_j = sum_j s_j (B_j + ... + B_d) with the steps s_j = c_j - c_{j-1}.
    tails = np.cumsum(basis[:, ::-1], axis=1)[:, ::-1][:, 1:]
    weights = np.sqrt(samples.counts / samples.size)[:, None]
    heavy = 1e4
    matrix = np.vstack((tails * weights, np.full((1, degree), heavy)))
    with quiet():
        try:
            steps, _ = optimize.nnls(matrix, np.append(levels * weights[:, 0], heavy), maxiter=100 * degree)
        except RuntimeError:  # it did not converge
            return Fit(name, None, math.inf, reason_refused="no coefficients fit", method="polynomial")
    coefficients = np.concatenate(([0.0], np.cumsum(steps / steps.sum())))
    coefficients[-1] = 1.0
    # Rounding must not make the coefficients decrease.
    coefficients = np.minimum(np.maximum.accumulate(coefficients), 1.0)
    distribution = PolynomialDistribution(coefficients, samples.lower, samples.upper, name)
    parameters = {f"c{number}": float(value) for number, value in enumerate(coefficients)}
    return check_fit(Fit(name, distribution, math.inf, MappingProxyType(parameters), method="polynomial"), samples)


@dataclass(frozen=True, eq=False)
class InterpolatedDistribution(_Inverted):
    """A distribution with a CDF through given points, by monotone cubics (PCHIP)."""

    curve: Any
    survival: Any
    lower: float
    upper: float
    name: str = "interpolated"

    def _cdf(self, x: Array) -> Array:
        return np.asarray(np.clip(self.curve(x), 0.0, 1.0))

    def _sf(self, x: Array) -> Array:
        return np.asarray(np.clip(self.survival(x), 0.0, 1.0))

    def mean(self) -> float:
        """E[X]: the integral of the survival function, which is piecewise cubic."""
        return self.lower + float(self.survival.integrate(self.lower, self.upper))


def fit_interpolation(samples: Samples) -> Fit:
    """Interpolate the middles of the steps of the empirical CDF by monotone cubics ([S] Figure 3).

    Examples
    --------
    >>> fit = fit_interpolation(Samples.of([1.0, 2.0, 4.0]))
    >>> fit.error < 1e-20, fit.distribution.upper
    (True, 5.5)
    """
    from scipy.interpolate import PchipInterpolator

    if samples.spread == 0.0:
        return Fit("interpolated", None, math.inf, reason_refused="all samples are equal", method="interpolated")
    values, levels = samples.thin(_KNOTS)
    at, heights = list(values), list(levels)
    if samples.lower < values[0]:
        at, heights = [samples.lower, *at], [0.0, *heights]
    else:
        heights[0] = 0.0
    if samples.upper > values[-1]:
        at, heights = [*at, samples.upper], [*heights, 1.0]
    else:
        heights[-1] = 1.0
    knots = np.array(heights)
    distribution = InterpolatedDistribution(
        PchipInterpolator(at, knots), PchipInterpolator(at, 1.0 - knots), float(at[0]), float(at[-1])
    )
    fit = Fit(
        "interpolated", distribution, math.inf, MappingProxyType({"knots": float(len(at))}), method="interpolated"
    )
    return check_fit(fit, samples)


@dataclass(frozen=True, eq=False, repr=False)
class KernelDistribution(_Inverted):
    """A mixture of lognormal distributions around the samples: positive, with a tail that scales with the data."""

    centres: Array
    weights: Array
    bandwidth: float
    name: str = "kernel"
    lower: float = 0.0
    upper: float = math.inf

    def __repr__(self) -> str:
        return f"KernelDistribution({len(self.centres):,} centres, bandwidth {self.bandwidth:.4g})"

    def _mixture(self, x: Array, sign: float) -> Array:
        from scipy import special

        distances = sign * (np.log(np.asarray(x, dtype=float))[..., None] - self.centres) / self.bandwidth
        mixed: Array = special.ndtr(distances) @ self.weights
        return mixed

    def _cdf(self, x: Array) -> Array:
        return self._mixture(x, 1.0)

    def _sf(self, x: Array) -> Array:
        return self._mixture(x, -1.0)

    # The probability beyond 40 standard deviations from the outermost centres is below the smallest double.

    def _ppf(self, q: Array) -> Array:
        return np.exp(self._inverse(lambda y: self._cdf(np.exp(y)) >= q, q, *self._range))

    def _isf(self, q: Array) -> Array:
        return np.exp(self._inverse(lambda y: self._sf(np.exp(y)) <= q, q, *self._range))

    @property
    def _range(self) -> tuple[float, float]:
        wide = 40.0 * self.bandwidth
        return float(self.centres[0] - wide), float(self.centres[-1] + wide)

    def mean(self) -> float:
        """E[X], from the means of the lognormal distributions."""
        return float(np.exp(self.centres + self.bandwidth**2 / 2.0) @ self.weights)


def fit_kernel(samples: Samples) -> Fit:
    """Fit a kernel estimate to the logarithms, with Silverman's bandwidth made narrower for a CDF (n^(-1/3)).

    Examples
    --------
    >>> fit = fit_kernel(Samples.of([1.0, 2.0, 4.0]))
    >>> 1.0 < float(fit.distribution.ppf(0.5)) < 4.0
    True
    """
    if samples.spread == 0.0:
        return Fit("kernel", None, math.inf, reason_refused="all samples are equal", method="kernel")
    values, levels = samples.values, samples.levels
    logarithms, weights = np.log(values), samples.counts / samples.size
    quarter, three = np.interp([0.25, 0.75], levels, logarithms)
    centre = float(logarithms @ weights)
    deviation = math.sqrt(float((logarithms - centre) ** 2 @ weights))
    # If the quartiles coincide, the standard deviation is used; it is above 0 unless all samples are equal.
    narrow = min(deviation, (three - quarter) / 1.349) or deviation
    bandwidth = 0.9 * narrow * samples.size ** (-1.0 / 3.0)
    if values.size > _CENTRES:
        # Equally spaced quantiles replace the samples; the extremes keep their weight, so that the tail includes them.
        ends, share = logarithms[[0, -1]], 1.0 / samples.size
        inner = np.interp((np.arange(_CENTRES) + 0.5) / _CENTRES, levels, logarithms)
        logarithms = np.concatenate((ends[:1], inner, ends[1:]))
        weights = np.concatenate(([share], np.full(_CENTRES, (1.0 - 2.0 * share) / _CENTRES), [share]))
    distribution = KernelDistribution(logarithms, weights, float(bandwidth))
    limited = truncate(distribution, upper=samples.limit) if math.isfinite(samples.limit) else distribution
    fit = Fit("kernel", limited, math.inf, MappingProxyType({"bandwidth": float(bandwidth)}), method="kernel")
    return check_fit(fit, samples)
