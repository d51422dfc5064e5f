"""The nine distributions of Table 1 of [R], on :mod:`scipy.special` alone: importing scipy.stats takes seconds."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np
import scipy

from holdfast.workloads.distributions.checks import above, finite, nonnegative, positive
from holdfast.workloads.distributions.distribution import Array, Distribution, SmoothDistribution
from holdfast.workloads.distributions.truncated import Truncated, truncate
from holdfast.workloads.ground.errors import ParameterError

__all__ = [
    "TABLE_1",
    "beta",
    "bounded_pareto",
    "exponential",
    "gamma",
    "lognormal",
    "lognormal_from_moments",
    "normal",
    "pareto",
    "truncated_normal",
    "uniform",
    "weibull",
]


@dataclass(frozen=True)
class _Weibull(SmoothDistribution):
    scale: float
    shape: float
    name: str
    lower: float = 0.0
    upper: float = math.inf

    def _cdf(self, x: Array) -> Array:
        return -np.expm1(-((x / self.scale) ** self.shape))

    def _sf(self, x: Array) -> Array:
        return np.exp(-((x / self.scale) ** self.shape))

    def _ppf(self, q: Array) -> Array:
        return self.scale * (-np.log1p(-q)) ** (1.0 / self.shape)

    def _isf(self, q: Array) -> Array:
        return self.scale * (-np.log(q)) ** (1.0 / self.shape)

    def mean(self) -> float:
        return self.scale * float(scipy.special.gamma(1.0 + 1.0 / self.shape))


@dataclass(frozen=True)
class _Gamma(SmoothDistribution):
    shape: float
    scale: float
    name: str = "gamma"
    lower: float = 0.0
    upper: float = math.inf

    def _cdf(self, x: Array) -> Array:
        return np.asarray(scipy.special.gammainc(self.shape, x / self.scale))

    def _sf(self, x: Array) -> Array:
        return np.asarray(scipy.special.gammaincc(self.shape, x / self.scale))

    def _ppf(self, q: Array) -> Array:
        return self.scale * np.asarray(scipy.special.gammaincinv(self.shape, q))

    def _isf(self, q: Array) -> Array:
        return self.scale * np.asarray(scipy.special.gammainccinv(self.shape, q))

    def mean(self) -> float:
        return self.shape * self.scale


@dataclass(frozen=True)
class _LogNormal(SmoothDistribution):
    mu: float
    sigma: float
    name: str = "lognormal"
    lower: float = 0.0
    upper: float = math.inf

    def _cdf(self, x: Array) -> Array:
        return np.asarray(scipy.special.ndtr((np.log(x) - self.mu) / self.sigma))

    def _sf(self, x: Array) -> Array:
        return np.asarray(scipy.special.ndtr((self.mu - np.log(x)) / self.sigma))

    def _ppf(self, q: Array) -> Array:
        return np.asarray(np.exp(self.mu + self.sigma * scipy.special.ndtri(q)))

    def _isf(self, q: Array) -> Array:
        return np.asarray(np.exp(self.mu - self.sigma * scipy.special.ndtri(q)))

    def mean(self) -> float:
        exponent = self.mu + self.sigma**2 / 2.0
        # The result overflows above 709.
        return math.exp(exponent) if exponent < 709.0 else math.inf


@dataclass(frozen=True)
class _Pareto(SmoothDistribution):
    lower: float
    shape: float
    name: str = "pareto"
    upper: float = math.inf

    def _cdf(self, x: Array) -> Array:
        return -np.expm1(-self.shape * np.log(x / self.lower))

    def _sf(self, x: Array) -> Array:
        return (self.lower / x) ** self.shape

    def _ppf(self, q: Array) -> Array:
        return self.lower * np.exp(-np.log1p(-q) / self.shape)

    def _isf(self, q: Array) -> Array:
        return self.lower * q ** (-1.0 / self.shape)

    def mean(self) -> float:
        return self.shape * self.lower / (self.shape - 1.0) if self.shape > 1.0 else math.inf


@dataclass(frozen=True)
class _Normal(SmoothDistribution):
    location: float
    scale: float
    name: str = "normal"
    lower: float = -math.inf
    upper: float = math.inf

    def _cdf(self, x: Array) -> Array:
        return np.asarray(scipy.special.ndtr((x - self.location) / self.scale))

    def _sf(self, x: Array) -> Array:
        return np.asarray(scipy.special.ndtr((self.location - x) / self.scale))

    def _ppf(self, q: Array) -> Array:
        return self.location + self.scale * np.asarray(scipy.special.ndtri(q))

    def _isf(self, q: Array) -> Array:
        return self.location - self.scale * np.asarray(scipy.special.ndtri(q))

    def mean(self) -> float:
        return self.location


@dataclass(frozen=True)
class _Uniform(SmoothDistribution):
    lower: float
    upper: float
    name: str = "uniform"

    def _cdf(self, x: Array) -> Array:
        return (x - self.lower) / (self.upper - self.lower)

    def _sf(self, x: Array) -> Array:
        return (self.upper - x) / (self.upper - self.lower)

    def _ppf(self, q: Array) -> Array:
        return self.lower + q * (self.upper - self.lower)

    def _isf(self, q: Array) -> Array:
        return self.upper - q * (self.upper - self.lower)

    def mean(self) -> float:
        return (self.lower + self.upper) / 2.0


@dataclass(frozen=True)
class _Beta(SmoothDistribution):
    shape: float
    shape2: float
    upper: float
    name: str = "beta"
    lower: float = 0.0

    def _cdf(self, x: Array) -> Array:
        return np.asarray(scipy.special.betainc(self.shape, self.shape2, x / self.upper))

    def _sf(self, x: Array) -> Array:
        return np.asarray(scipy.special.betaincc(self.shape, self.shape2, x / self.upper))

    def _ppf(self, q: Array) -> Array:
        return self.upper * np.asarray(scipy.special.betaincinv(self.shape, self.shape2, q))

    def _isf(self, q: Array) -> Array:
        return self.upper * np.asarray(scipy.special.betainccinv(self.shape, self.shape2, q))

    def mean(self) -> float:
        return self.upper * self.shape / (self.shape + self.shape2)


def exponential(mean: float) -> Distribution:
    """The exponential distribution with this mean, on [0, inf).

    >>> exponential(2.0).mean()
    2.0
    """
    # A Weibull distribution of shape 1 gives the same bits, because a power of 1 is exact.
    return _Weibull(positive("mean", mean), 1.0, "exponential")


def weibull(scale: float, shape: float) -> Distribution:
    """The Weibull distribution: P(X > x) = exp(-(x / scale)^shape), on [0, inf)."""
    return _Weibull(positive("scale", scale), positive("shape", shape), "weibull")


def gamma(shape: float, scale: float) -> Distribution:
    """The gamma distribution of mean shape x scale, on [0, inf). The rate of [R] is 1 / scale."""
    return _Gamma(positive("shape", shape), positive("scale", scale))


def lognormal(mu: float, sigma: float) -> Distribution:
    """The distribution of exp(Z), Z normal of mean mu and standard deviation sigma, on (0, inf)."""
    return _LogNormal(finite("mu", mu), positive("sigma", sigma))


def lognormal_from_moments(mean: float, std: float) -> Distribution:
    """The lognormal distribution with this mean and standard deviation (before any truncation).

    >>> distribution = lognormal_from_moments(21.0, 20.0)
    >>> round(distribution.mu, 4), round(distribution.sigma, 4)
    (2.7217, 0.8035)
    """
    mean, std = positive("mean", mean), positive("std", std)
    ratio = std / mean
    if not 0.0 < ratio < 1e100:
        raise ParameterError("std", "within a factor of 1e100 of the mean", std)
    variance = math.log1p(ratio**2)
    return lognormal(math.log(mean) - variance / 2.0, math.sqrt(variance))


def pareto(minimum: float, shape: float) -> Distribution:
    """The Pareto distribution: P(X > x) = (minimum / x)^shape, on [minimum, inf); infinite mean for shape <= 1."""
    return _Pareto(positive("minimum", minimum), positive("shape", shape))


def normal(mean: float, std: float) -> Distribution:
    """The normal distribution; truncate it for runtimes (:mod:`holdfast.workloads.distributions.truncated`)."""
    return _Normal(finite("mean", mean), positive("std", std))


def truncated_normal(mean: float, std: float, minimum: float, maximum: float) -> Distribution:
    """The normal distribution on condition that minimum <= X <= maximum; mean and std are those before truncation."""
    minimum = nonnegative("minimum", minimum)
    return truncate(normal(mean, std), minimum, above("maximum", maximum, minimum), "truncated-normal")


def uniform(minimum: float, maximum: float) -> Distribution:
    """The uniform distribution on [minimum, maximum]."""
    minimum = nonnegative("minimum", minimum)
    return _Uniform(minimum, above("maximum", maximum, minimum))


def beta(shape: float, shape2: float, maximum: float) -> Distribution:
    """The beta distribution, stretched to [0, maximum]."""
    return _Beta(positive("shape", shape), positive("shape2", shape2), positive("maximum", maximum))


def bounded_pareto(minimum: float, maximum: float, shape: float) -> Distribution:
    """The Pareto distribution on condition that X <= maximum."""
    distribution = pareto(minimum, shape)
    return truncate(distribution, upper=above("maximum", maximum, distribution.lower), name="bounded-pareto")


#: The distributions of Table 1 of [R] as Table 2 used them, by name [hours].
TABLE_1: Mapping[str, Distribution] = MappingProxyType(
    {
        "exponential": exponential(1.0),
        "weibull": weibull(1.0, 0.5),
        "gamma": gamma(2.0, 0.5),
        "lognormal": lognormal(3.0, 0.5),
        "pareto": pareto(1.5, 3.0),
        # truncated_normal() would check its bounds and thus import scipy.special whenever this module is imported.
        "truncated-normal": Truncated(normal(8.0, math.sqrt(2.0)), 1.0, 20.0, "truncated-normal"),
        "uniform": uniform(1.0, 20.0),
        "beta": beta(2.0, 2.0, 1.0),
        "bounded-pareto": bounded_pareto(1.0, 20.0, 2.1),
    }
)
