"""Fits of a task's duration to few runs: normal as in [P], or the distribution with the best leave-one-out score."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from holdfast.workloads.distributions import Array, ContinuousDistribution, Distribution, gamma, lognormal_from_moments
from holdfast.workloads.ground.errors import ParameterError, UnknownNameError

__all__ = ["FITS", "Kernel", "Normal", "choose_fit", "fit_distribution", "leave_one_out_score"]

#: Smallest standard deviation as a share of the mean: some measured durations are all equal (to the two seconds of the
#: clock), and a distribution needs a positive width.
_LEAST_SPREAD = 1e-6
#: Width of the window around a held-out run, as a share of the mean; the probability of the window is the score.
_WINDOW = 0.005
#: Least probability of a window in the score, so that one outlier cannot decide alone.
_FLOOR = 1e-6


@dataclass(frozen=True)
class Normal(ContinuousDistribution):
    """A normal distribution on all numbers; its parameters are public, because sums of normal durations need them.

    Attributes
    ----------
    mu, sigma
        Mean and standard deviation, ``sigma > 0`` [s].

    Notes
    -----
    Source: [P], section 3.2. Negative durations have a positive probability (2 % for the last task of SLANT);
    :func:`choose_fit` prefers other distributions where the runs support them.

    Examples
    --------
    >>> distribution = Normal(100.0, 10.0)
    >>> float(distribution.cdf(100.0)), distribution.mean()
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

    def _cdf(self, x: Array) -> Array:
        from scipy.special import ndtr

        value: Array = ndtr((x - self.mu) / self.sigma)
        return value

    def _sf(self, x: Array) -> Array:
        from scipy.special import ndtr

        value: Array = ndtr((self.mu - x) / self.sigma)
        return value

    def _ppf(self, q: Array) -> Array:
        from scipy.special import ndtri

        value: Array = self.mu + self.sigma * ndtri(q)
        return value

    def _isf(self, q: Array) -> Array:
        from scipy.special import ndtri

        value: Array = self.mu - self.sigma * ndtri(q)
        return value

    def mean(self) -> float:
        """E[X]."""
        return self.mu


@dataclass(frozen=True, eq=False)
class Kernel(ContinuousDistribution):
    """A kernel density estimate from the runs with normal kernels of one width, for tasks with several peaks.

    Attributes
    ----------
    samples
        Durations of the runs, shape (n,) [s].
    width
        Standard deviation of each kernel, > 0 [s].

    Examples
    --------
    >>> distribution = Kernel(np.array([10.0, 30.0]), 1.0)
    >>> distribution.mean(), round(float(distribution.cdf(20.0)), 6)
    (20.0, 0.5)
    """

    samples: Array
    width: float
    name: str = "kernel"
    lower: float = -math.inf
    upper: float = math.inf
    _sorted: Array = field(init=False, repr=False)

    def __post_init__(self) -> None:
        if not (0 < self.width < math.inf) or np.size(self.samples) == 0:
            raise ParameterError("samples, width", "some samples and a finite width > 0", (self.samples, self.width))
        object.__setattr__(self, "_sorted", np.sort(np.asarray(self.samples, dtype=float)))

    def _cdf(self, x: Array) -> Array:
        from scipy.special import ndtr

        value: Array = ndtr((x[..., None] - self._sorted) / self.width).mean(axis=-1)
        return value

    def _sf(self, x: Array) -> Array:
        from scipy.special import ndtr

        value: Array = ndtr((self._sorted - x[..., None]) / self.width).mean(axis=-1)
        return value

    def _ppf(self, q: Array) -> Array:
        return self._bisect(q, lambda x: self._cdf(x) < q)

    def _isf(self, q: Array) -> Array:
        return self._bisect(q, lambda x: self._sf(x) > q)

    def _bisect(self, q: Array, below: Callable[[Array], npt.NDArray[np.bool_]]) -> Array:
        low = np.full(q.shape, self._sorted[0] - 40 * self.width)
        high = np.full(q.shape, self._sorted[-1] + 40 * self.width)
        for _ in range(80):
            middle = (low + high) / 2
            less = below(middle)
            low, high = np.where(less, middle, low), np.where(less, high, middle)
        return high

    def mean(self) -> float:
        """E[X]."""
        return float(self._sorted.mean())


def _normal(samples: Array) -> Distribution:
    return Normal(*_mean_and_std(samples))


def _gamma(samples: Array) -> Distribution:
    mean, std = _mean_and_std(samples)
    return gamma((mean / std) ** 2, std**2 / mean)


def _lognormal(samples: Array) -> Distribution:
    return lognormal_from_moments(*_mean_and_std(samples))


def _kernel(samples: Array) -> Distribution:
    # Silverman's rule with the smaller of two measures of spread; the standard deviation alone would merge two peaks.
    _, std = _mean_and_std(samples)
    quartiles = np.quantile(samples, [0.25, 0.75])
    spread = min(std, float(quartiles[1] - quartiles[0]) / 1.349) or std
    return Kernel(samples, 0.9 * spread * samples.size**-0.2)


#: Functions that fit a distribution to durations, by name; all except the kernel match mean and standard deviation.
FITS: dict[str, Callable[[Array], Distribution]] = {
    "normal": _normal,
    "gamma": _gamma,
    "lognormal": _lognormal,
    "kernel": _kernel,
}


def fit_distribution(samples: npt.ArrayLike, fit: str = "normal") -> Distribution:
    """Fit a distribution to durations.

    Parameters
    ----------
    samples
        Durations of past runs, all >= 0, at least two, shape (n,) [s].
    fit
        Name in :data:`FITS`, or ``"auto"``: the choice of :func:`choose_fit`.

    Raises
    ------
    ParameterError
        If there are fewer than two durations, or illegal ones.
    UnknownNameError
        If there is no such fit.

    Examples
    --------
    >>> distribution = fit_distribution([90.0, 110.0])
    >>> distribution.name, distribution.mean()
    ('normal', 100.0)
    """
    values = np.asarray(samples, dtype=float)
    if values.ndim != 1 or values.size < 2 or not np.all(np.isfinite(values)) or np.any(values < 0):
        raise ParameterError("samples", "at least two finite durations >= 0", samples)
    if fit == "auto":
        fit = choose_fit(values)
    if fit not in FITS:
        raise UnknownNameError("fit", fit, [*FITS, "auto"])
    return FITS[fit](values)


def leave_one_out_score(samples: npt.ArrayLike, fit: str) -> float:
    """Mean log probability that a fit to the other runs gives to a narrow window around each run.

    Notes
    -----
    The likelihood of the fitted runs themselves would always prefer the kernel.
    """
    values = np.asarray(samples, dtype=float)
    half = _WINDOW * max(float(values.mean()), _LEAST_SPREAD) / 2
    distributions = [fit_distribution(np.delete(values, place), fit) for place in range(values.size)]
    chances = [
        float(distribution.cdf(at + half) - distribution.cdf(at - half))
        for distribution, at in zip(distributions, values, strict=True)
    ]
    return float(np.mean(np.log(np.maximum(chances, _FLOOR))))


def choose_fit(samples: npt.ArrayLike) -> str:
    """Name of the fit that predicts held-out runs best; ``"normal"`` for fewer than 10 runs, too few to decide.

    Examples
    --------
    >>> choose_fit([9, 10, 10, 11, 10, 9, 30, 31, 30, 29, 30, 31])
    'kernel'
    """
    values = np.asarray(samples, dtype=float)
    if values.size < 10:
        return "normal"
    usable = [fit for fit in FITS if np.all(values > 0) or fit in ("normal", "kernel")]
    return max(usable, key=lambda fit: leave_one_out_score(values, fit))


def _mean_and_std(samples: Array) -> tuple[float, float]:
    mean = float(samples.mean())
    # Equal durations give a very narrow distribution.
    return mean, max(float(samples.std(ddof=1)), _LEAST_SPREAD * max(mean, 1.0))
