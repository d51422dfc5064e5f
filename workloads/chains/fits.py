"""Laws of one task's duration fitted to few runs: normal as in [P], or what predicts held-out runs best."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from workloads.errors import ParameterError, UnknownNameError

__all__ = ["FITS", "Kernel", "Moments", "Normal", "choose_fit", "fit_law", "held_out_score"]

Floats = npt.NDArray[np.float64]

#: A spread below this part of the mean is measurement: clocks of such runs tick every two seconds.
_LEAST_SPREAD = 1e-6
_SQRT_TAU = math.sqrt(2 * math.pi)


@dataclass(frozen=True)
class Normal:
    """A normal law, on the whole line.

    Attributes
    ----------
    mu, sigma
        Mean and standard deviation, ``sigma > 0`` [s].

    Notes
    -----
    [P], section 3.2: simple to add up. It gives negative durations some probability (2 % for the last task of SLANT),
    which :func:`choose_fit` avoids where the runs allow it.

    Examples
    --------
    >>> law = Normal(100.0, 10.0)
    >>> float(law.cdf(100.0)), law.mean()
    (0.5, 100.0)
    """

    mu: float
    sigma: float
    name: str = "normal"
    lower: float = -math.inf
    upper: float = math.inf

    def __post_init__(self) -> None:
        if not (math.isfinite(self.mu) and math.isfinite(self.sigma) and self.sigma > 0):
            raise ParameterError("mu, sigma", "finite with sigma > 0", (self.mu, self.sigma))

    def cdf(self, x: npt.ArrayLike) -> Any:
        """P(X <= x)."""
        from scipy.special import ndtr

        return ndtr((np.asarray(x, dtype=float) - self.mu) / self.sigma)

    def sf(self, x: npt.ArrayLike) -> Any:
        """P(X > x), exact in the upper tail."""
        from scipy.special import ndtr

        return ndtr((self.mu - np.asarray(x, dtype=float)) / self.sigma)

    def ppf(self, q: npt.ArrayLike) -> Any:
        """Quantile."""
        from scipy.special import ndtri

        return self.mu + self.sigma * ndtri(np.asarray(q, dtype=float))

    def isf(self, q: npt.ArrayLike) -> Any:
        """What is exceeded with probability q."""
        from scipy.special import ndtri

        return self.mu - self.sigma * ndtri(np.asarray(q, dtype=float))

    def pdf(self, x: npt.ArrayLike) -> Any:
        """Density."""
        z = (np.asarray(x, dtype=float) - self.mu) / self.sigma
        return np.exp(-0.5 * z * z) / (_SQRT_TAU * self.sigma)

    def mean(self) -> float:
        """Expectation."""
        return self.mu

    def sample(self, rng: np.random.Generator, size: int) -> Floats:
        """Independent draws, shape (size,)."""
        return rng.normal(self.mu, self.sigma, size)


@dataclass(frozen=True)
class Moments:
    """A gamma or log-normal law of given mean and standard deviation: no negative durations.

    Attributes
    ----------
    name
        ``"gamma"`` or ``"lognormal"``.
    mu, sigma
        Mean and standard deviation of the duration itself, both > 0 [s].

    Examples
    --------
    >>> law = Moments("gamma", 100.0, 10.0)
    >>> law.mean(), float(law.cdf(0.0))
    (100.0, 0.0)
    """

    name: str
    mu: float
    sigma: float
    lower: float = 0.0
    upper: float = math.inf

    def __post_init__(self) -> None:
        if self.name not in ("gamma", "lognormal"):
            raise UnknownNameError("law by moments", self.name, ("gamma", "lognormal"))
        if not (0 < self.mu < math.inf and 0 < self.sigma < math.inf):
            raise ParameterError("mu, sigma", "finite and > 0", (self.mu, self.sigma))

    @property
    def _shape(self) -> float:
        return (self.mu / self.sigma) ** 2

    @property
    def _logs(self) -> tuple[float, float]:
        variance = math.log1p((self.sigma / self.mu) ** 2)
        return math.log(self.mu) - variance / 2, math.sqrt(variance)

    def cdf(self, x: npt.ArrayLike) -> Any:
        """P(X <= x)."""
        from scipy.special import gammainc, ndtr

        at = np.maximum(np.asarray(x, dtype=float), 0.0)
        if self.name == "gamma":
            return gammainc(self._shape, at * self._shape / self.mu)
        mean, std = self._logs
        with np.errstate(divide="ignore"):
            return ndtr((np.log(at) - mean) / std)

    def sf(self, x: npt.ArrayLike) -> Any:
        """P(X > x), exact in the upper tail."""
        from scipy.special import gammaincc, ndtr

        at = np.maximum(np.asarray(x, dtype=float), 0.0)
        if self.name == "gamma":
            return gammaincc(self._shape, at * self._shape / self.mu)
        mean, std = self._logs
        with np.errstate(divide="ignore"):
            return ndtr((mean - np.log(at)) / std)

    def ppf(self, q: npt.ArrayLike) -> Any:
        """Quantile."""
        from scipy.special import gammaincinv, ndtri

        at = np.asarray(q, dtype=float)
        if self.name == "gamma":
            return gammaincinv(self._shape, at) * self.mu / self._shape
        mean, std = self._logs
        return np.exp(mean + std * ndtri(at))

    def isf(self, q: npt.ArrayLike) -> Any:
        """What is exceeded with probability q."""
        from scipy.special import gammainccinv, ndtri

        at = np.asarray(q, dtype=float)
        if self.name == "gamma":
            return gammainccinv(self._shape, at) * self.mu / self._shape
        mean, std = self._logs
        return np.exp(mean - std * ndtri(at))

    def pdf(self, x: npt.ArrayLike) -> Any:
        """Density; 0 for what is not positive."""
        from scipy.special import gammaln

        value = np.asarray(x, dtype=float)
        at = np.where(value > 0, value, 1.0)
        if self.name == "gamma":
            rate = self._shape / self.mu
            log_density = self._shape * math.log(rate) + (self._shape - 1) * np.log(at) - rate * at
            log_density = log_density - gammaln(self._shape)
        else:
            mean, std = self._logs
            log_density = -0.5 * ((np.log(at) - mean) / std) ** 2 - np.log(at * std * _SQRT_TAU)
        return np.where(value > 0, np.exp(log_density), 0.0)

    def mean(self) -> float:
        """Expectation."""
        return self.mu

    def sample(self, rng: np.random.Generator, size: int) -> Floats:
        """Independent draws, shape (size,)."""
        if self.name == "gamma":
            return rng.gamma(self._shape, self.mu / self._shape, size)
        return rng.lognormal(*self._logs, size)


@dataclass(frozen=True, eq=False)
class Kernel:
    """The runs themselves, each smoothed by a normal of one width: for tasks with several peaks.

    Attributes
    ----------
    samples
        Durations of the runs, shape (n,) [s].
    width
        Standard deviation of each kernel, > 0 [s].

    Examples
    --------
    >>> law = Kernel(np.array([10.0, 30.0]), 1.0)
    >>> law.mean(), round(float(law.cdf(20.0)), 6)
    (20.0, 0.5)
    """

    samples: Floats
    width: float
    name: str = "kernel"
    lower: float = -math.inf
    upper: float = math.inf
    _sorted: Floats = field(init=False, repr=False)

    def __post_init__(self) -> None:
        if not (0 < self.width < math.inf) or np.size(self.samples) == 0:
            raise ParameterError("samples, width", "some samples and a finite width > 0", (self.samples, self.width))
        object.__setattr__(self, "_sorted", np.sort(np.asarray(self.samples, dtype=float)))

    def _z(self, x: npt.ArrayLike) -> Floats:
        z: Floats = (np.asarray(x, dtype=float)[..., None] - self._sorted) / self.width
        return z

    def cdf(self, x: npt.ArrayLike) -> Any:
        """P(X <= x)."""
        from scipy.special import ndtr

        return ndtr(self._z(x)).mean(axis=-1)

    def sf(self, x: npt.ArrayLike) -> Any:
        """P(X > x), exact in the upper tail."""
        from scipy.special import ndtr

        return ndtr(-self._z(x)).mean(axis=-1)

    def pdf(self, x: npt.ArrayLike) -> Any:
        """Density."""
        return np.exp(-0.5 * self._z(x) ** 2).mean(axis=-1) / (_SQRT_TAU * self.width)

    def ppf(self, q: npt.ArrayLike) -> Any:
        """Quantile, by bisection."""
        return self._bisect(q, lambda x, at: self.cdf(x) < at)

    def isf(self, q: npt.ArrayLike) -> Any:
        """What is exceeded with probability q, by bisection."""
        return self._bisect(q, lambda x, at: self.sf(x) > at)

    def _bisect(self, q: npt.ArrayLike, below: Callable[[Floats, Floats], Any]) -> Floats:
        at = np.asarray(q, dtype=float)
        low = np.full(at.shape, self._sorted[0] - 40 * self.width)
        high = np.full(at.shape, self._sorted[-1] + 40 * self.width)
        for _ in range(80):
            middle = (low + high) / 2
            less = below(middle, at)
            low, high = np.where(less, middle, low), np.where(less, high, middle)
        return high

    def mean(self) -> float:
        """Expectation."""
        return float(self._sorted.mean())

    def sample(self, rng: np.random.Generator, size: int) -> Floats:
        """Independent draws, shape (size,)."""
        return rng.choice(self._sorted, size) + rng.normal(0.0, self.width, size)


FittedLaw = Normal | Moments | Kernel


def _normal(samples: Floats) -> FittedLaw:
    return Normal(*_mean_and_std(samples))


def _gamma(samples: Floats) -> FittedLaw:
    return Moments("gamma", *_mean_and_std(samples))


def _lognormal(samples: Floats) -> FittedLaw:
    return Moments("lognormal", *_mean_and_std(samples))


def _kernel(samples: Floats) -> FittedLaw:
    # Silverman's rule with the smaller of two spreads: the plain one smears two peaks into one.
    _, std = _mean_and_std(samples)
    quartiles = np.quantile(samples, [0.25, 0.75])
    spread = min(std, float(quartiles[1] - quartiles[0]) / 1.349) or std
    return Kernel(samples, 0.9 * spread * samples.size**-0.2)


#: Ways to fit a law to durations, by name.
FITS: dict[str, Callable[[Floats], FittedLaw]] = {
    "normal": _normal,
    "gamma": _gamma,
    "lognormal": _lognormal,
    "kernel": _kernel,
}


def fit_law(samples: npt.ArrayLike, fit: str = "normal") -> FittedLaw:
    """A law fitted to durations.

    Parameters
    ----------
    samples
        Durations of past runs, all >= 0, at least two, shape (n,) [s].
    fit
        One of :data:`FITS`, or ``"auto"``: :func:`choose_fit`.

    Raises
    ------
    ParameterError
        If there are fewer than two durations, or illegal ones.
    UnknownNameError
        If there is no such fit.

    Examples
    --------
    >>> fit_law([90.0, 110.0])
    Normal(mu=100.0, sigma=14.142135623730951, name='normal', lower=-inf, upper=inf)
    """
    values = np.asarray(samples, dtype=float)
    if values.ndim != 1 or values.size < 2 or not np.all(np.isfinite(values)) or np.any(values < 0):
        raise ParameterError("samples", "at least two finite durations >= 0", samples)
    if fit == "auto":
        fit = choose_fit(values)
    if fit not in FITS:
        raise UnknownNameError("fit", fit, [*FITS, "auto"])
    return FITS[fit](values)


def held_out_score(samples: npt.ArrayLike, fit: str) -> float:
    """Mean log density that a fit to the other runs gives to each run: what is better predicts better.

    Notes
    -----
    A likelihood on the runs themselves would always prefer the kernel. The density is floored, so that one outlier
    far out of a thin tail counts much, but does not decide alone.
    """
    values = np.asarray(samples, dtype=float)
    floor = 1e-4 / max(float(np.ptp(values)), _LEAST_SPREAD)
    scores = []
    for place in range(values.size):
        law = fit_law(np.delete(values, place), fit)
        scores.append(math.log(max(float(law.pdf(values[place])), floor)))
    return float(np.mean(scores))


def choose_fit(samples: npt.ArrayLike) -> str:
    """The fit that predicts held-out runs best; the normal one while there are too few to tell (less than 10).

    Examples
    --------
    >>> choose_fit([9, 10, 10, 11, 10, 9, 30, 31, 30, 29, 30, 31])
    'kernel'
    """
    values = np.asarray(samples, dtype=float)
    if values.size < 10:
        return "normal"
    usable = [fit for fit in FITS if np.all(values > 0) or fit in ("normal", "kernel")]
    return max(usable, key=lambda fit: held_out_score(values, fit))


def _mean_and_std(samples: Floats) -> tuple[float, float]:
    mean = float(samples.mean())
    # Equal durations are a law too, a very narrow one.
    return mean, max(float(samples.std(ddof=1)), _LEAST_SPREAD * max(mean, 1.0))
