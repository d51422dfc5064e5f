"""Usual distributions: the 27 of scipy.stats that [S] names, fitted by least squares on the CDF ([S] section IV)."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import product
from types import MappingProxyType
from typing import Any

import numpy as np

from workloads.errors import UnknownNameError
from workloads.fits.fit import Fit, Samples, checked, quiet
from workloads.laws import Array, Law, from_scipy, truncate

__all__ = ["USUAL", "Family", "fit_usual"]

# More points than these move no parameter visibly, and only cost time.
_POINTS = 150
# Of the starts of all shapes only the most promising are refined.
_REFINED = 2
_EVALUATIONS = 40
# Penalty on a support that misses a sample, against differences of the CDF of at most 1.
_OUTSIDE = 10.0


@dataclass(frozen=True)
class Family:
    """A family of distributions of scipy.

    Parameters
    ----------
    scipy_name
        Its name in scipy.stats.
    starts
        For each shape parameter the values that the search starts from.
    signed
        Whether shapes are any number; otherwise they are positive.
    verified
        Whether the CDF is held against the PDF before use (Figure 9 of [S]).
    """

    scipy_name: str
    starts: tuple[tuple[float, ...], ...] = ()
    signed: bool = False
    verified: bool = False


#: The families by the names of [S].
USUAL: Mapping[str, Family] = MappingProxyType(
    {
        "alpha": Family("alpha", ((1.0, 3.0, 8.0),)),
        "beta": Family("beta", ((0.7, 2.0, 5.0), (0.7, 2.0, 5.0))),
        "cosine": Family("cosine"),
        "dgamma": Family("dgamma", ((0.7, 1.5, 4.0),)),
        "dweibull": Family("dweibull", ((0.8, 1.5, 3.0),)),
        "exponnorm": Family("exponnorm", ((0.3, 1.5, 6.0),)),
        "exponweib": Family("exponweib", ((0.7, 2.0), (0.7, 1.5, 3.0))),
        "exponpow": Family("exponpow", ((0.6, 1.2, 3.0),)),
        "genpareto": Family("genpareto", ((-0.6, -0.2, 0.1, 0.4),), signed=True),
        "gamma": Family("gamma", ((0.7, 2.0, 8.0, 30.0),)),
        "halfnorm": Family("halfnorm"),
        "invgauss": Family("invgauss", ((0.1, 0.5, 2.0),)),
        "invweibull": Family("invweibull", ((1.5, 3.0, 8.0),)),
        "laplace": Family("laplace"),
        "loggamma": Family("loggamma", ((0.5, 2.0, 10.0),)),
        "lognorm": Family("lognorm", ((0.1, 0.4, 0.8, 1.5),)),
        "lomax": Family("lomax", ((1.5, 4.0, 20.0),)),
        "maxwell": Family("maxwell"),
        "norm": Family("norm"),
        "pareto": Family("pareto", ((1.5, 3.0, 10.0),)),
        "pearson3": Family("pearson3", ((-0.8, 0.3, 1.0, 2.0),), signed=True, verified=True),
        "rayleigh": Family("rayleigh"),
        "rice": Family("rice", ((0.5, 2.0, 5.0),), verified=True),
        "truncexpon": Family("truncexpon", ((1.0, 3.0, 8.0),)),
        "truncnorm": Family("truncnorm", ((-3.0, -1.0, 0.2), (1.5, 3.0)), signed=True),
        "uniform": Family("uniform"),
        "weibull": Family("weibull_min", ((0.6, 1.0, 2.0, 4.0),)),
    }
)


def fit_usual(samples: Samples, names: Iterable[str] = tuple(USUAL), refined: int = _REFINED) -> list[Fit]:
    """Fit usual distributions, each in the part of its support that a runtime can have: [0, limit].

    Parameters
    ----------
    samples
        What to fit to.
    names
        Which families, by the names of [S].
    refined
        From how many starts the search goes on.

    Returns
    -------
    list of Fit
        The good ones by rising error, then the refused ones with their reasons; one for each name.

    Raises
    ------
    UnknownNameError
        If a name is none of :data:`USUAL`.

    Notes
    -----
    [S] section IV; its published code instead takes scipy's maximum-likelihood fits and keeps the one whose density is
    nearest to a histogram.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> best = fit_usual(Samples.of(rng.gamma(4.0, 2.0, 200)), ["uniform", "gamma", "norm"])[0]
    >>> best.name, sorted(best.parameters)
    ('gamma', ['a', 'loc', 'scale'])
    """
    fits = [_fit(name, samples, refined) for name in names]
    return sorted(fits, key=lambda fit: (fit.reason_refused is not None, fit.error))


def _fit(name: str, samples: Samples, refined: int) -> Fit:
    if name not in USUAL:
        raise UnknownNameError("usual distribution", name, USUAL)
    family = USUAL[name]
    if samples.spread == 0.0:
        return Fit(name, None, math.inf, reason_refused="all samples are equal", method="usual")
    if samples.values.size < len(family.starts) + 2:
        reason = f"{samples.values.size} distinct samples are too few for {len(family.starts) + 2} parameters"
        return Fit(name, None, math.inf, reason_refused=reason, method="usual")
    with quiet():
        search = _Search(family, samples)
        best = search.best(refined)
        if best is None:
            return Fit(name, None, math.inf, reason_refused="no parameters fit", method="usual")
        fit = Fit(name, search.law(best, name), math.inf, search.named(best), method="usual")
        if family.verified and not search.density_agrees(best):
            fit = Fit(name, fit.law, math.inf, fit.parameters, "its CDF does not agree with its PDF", "usual")
    return checked(fit, samples)


class _Search:
    """Least squares on the truncated CDF over (shapes, location, scale) of one family.

    The search knows its parameters as (log shapes or shapes, location in units of the spread, log scale).
    """

    def __init__(self, family: Family, samples: Samples) -> None:
        from scipy import stats

        self.family = family
        self.samples = samples
        self.dist: Any = getattr(stats, family.scipy_name)
        self.values, self.levels = samples.thinned(_POINTS)

    def decoded(self, point: Array) -> tuple[Array, float, float]:
        shapes, (location, scale) = point[:-2], point[-2:]
        if not self.family.signed:
            shapes = np.exp(np.clip(shapes, -5.0, 9.0))
        spread = self.samples.spread
        return shapes, float(self.values[0] + location * spread), float(math.exp(min(max(scale, -30), 30)) * spread)

    def residuals(self, point: Array) -> Array:
        shapes, location, scale = self.decoded(point)
        at = np.concatenate(([0.0], self.values, [self.samples.limit]))
        heights = np.asarray(self.dist.cdf(at, *shapes, loc=location, scale=scale))
        below, mass = heights[0], heights[-1] - heights[0]
        start, end = self.dist.support(*shapes, loc=location, scale=scale)
        if not (mass > 0.0 and start < end and np.all(np.isfinite(heights))):
            return np.full(self.values.size + 2, 1e3)
        short = max(0.0, float(self.values[-1] - end)), max(0.0, float(start - self.values[0]))
        return np.concatenate(((heights[1:-1] - below) / mass - self.levels, np.array(short) * self.outside))

    @property
    def outside(self) -> float:
        return _OUTSIDE / self.samples.spread

    def starts(self) -> list[tuple[float, Array]]:
        """For each choice of shapes, location and scale from the line through the quantiles (a probability plot)."""
        inner = np.linspace(0.1, 0.9, 9)
        quantiles = np.interp(inner, self.levels, self.values)
        found = []
        for shapes in product(*self.family.starts):
            standard = np.asarray(self.dist.ppf(inner, *shapes))
            if not np.all(np.isfinite(standard)):
                continue
            slope, offset = np.polyfit(standard, quantiles, 1)
            coded = shapes if self.family.signed else tuple(math.log(shape) for shape in shapes)
            slope = max(float(slope) / self.samples.spread, 1e-6)
            location = (float(offset) - self.values[0]) / self.samples.spread
            point = np.array([*coded, location, math.log(slope)])
            found.append((float(np.sum(self.residuals(point) ** 2)), point))
        return sorted(found, key=lambda item: item[0])

    def best(self, refined: int) -> Array | None:
        from scipy import optimize

        best, least = None, math.inf
        for error, start in self.starts()[:refined]:
            point, *_ = optimize.leastsq(self.residuals, start, maxfev=_EVALUATIONS * start.size, ftol=1e-6, xtol=1e-6)
            reached = float(np.sum(self.residuals(point) ** 2))
            for value, candidate in ((error, start), (reached, point)):
                if value < least:
                    best, least = candidate, value
        return None if best is None else self.stretched(best)

    def stretched(self, point: Array) -> Array:
        """The penalty leaves a support a little short of the largest sample: the scale makes up for it."""
        shapes, location, scale = self.decoded(point)
        start, end = self.dist.support(*shapes, loc=location, scale=scale)
        missing = float(self.values[-1] - end)
        # More than a little is a bad fit, which is refused with that reason.
        if not 0.0 < missing < 0.05 * self.samples.spread or not math.isfinite(start):
            return point
        longer = (float(self.values[-1]) - location) / (float(end) - location) * (1.0 + 1e-9)
        return np.array([*point[:-1], point[-1] + math.log(longer)]) if longer > 0.0 else point

    def named(self, point: Array) -> Mapping[str, float]:
        shapes, location, scale = self.decoded(point)
        names = self.dist.shapes.split(", ") if self.dist.shapes else []
        numbers = (float(shape) for shape in shapes)
        return MappingProxyType({**dict(zip(names, numbers, strict=True)), "loc": location, "scale": scale})

    def law(self, point: Array, name: str) -> Law | None:
        shapes, location, scale = self.decoded(point)
        law = from_scipy(self.dist(*shapes, loc=location, scale=scale), name)
        lower = 0.0 if law.lower < 0.0 else None
        limit = self.samples.limit
        cut = truncate(law, lower, limit if law.upper > limit else None)
        # A known limit is where the plan must end, even if this law ends before.
        return replace(cut, upper=limit) if cut.upper < limit < math.inf else cut  # type: ignore[type-var]

    def density_agrees(self, point: Array) -> bool:
        """Whether the PDF adds up to the CDF between the extremes of the samples (Figure 9 of [S])."""
        shapes, location, scale = self.decoded(point)
        at = np.linspace(self.values[0], self.values[-1], 801)
        arguments: dict[str, Any] = {"loc": location, "scale": scale}
        density: Callable[..., Any] = self.dist.pdf
        heights = np.asarray(self.dist.cdf(at, *shapes, **arguments))
        middle = np.asarray(density(0.5 * (at[1:] + at[:-1]), *shapes, **arguments))
        added = np.cumsum(middle * np.diff(at))
        return bool(np.max(np.abs(heights[1:] - heights[0] - added)) < 5e-3)
