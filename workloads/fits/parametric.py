"""Parametric fits: the 27 distributions of scipy.stats in [S], and their distances from samples ([S] section IV)."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any

import numpy as np

from holdfast.workloads.distributions import TAIL, Distribution, from_scipy, truncate
from holdfast.workloads.fits.estimation import ESTIMATORS, EXPONENTIALS, NORMALS, Family, Point
from holdfast.workloads.fits.fit import FARTHEST, Fit, Samples, check_fit, quiet
from holdfast.workloads.ground.errors import ParameterError, UnknownNameError

__all__ = ["ESTIMATORS", "USUAL", "Family", "fit_usual"]

#: The families, by name in [S].
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
        "truncexpon": Family("truncexpon", ((1.0, 3.0, 8.0),), between=EXPONENTIALS),
        "truncnorm": Family("truncnorm", ((-3.0, -1.0, 0.2), (1.5, 3.0)), signed=True, between=NORMALS),
        "uniform": Family("uniform"),
        "weibull": Family("weibull_min", ((0.6, 1.0, 2.0, 4.0),)),
    }
)


def fit_usual(
    samples: Samples, names: Iterable[str] = tuple(USUAL), estimator: str = "likelihood", refined: int = 2
) -> list[Fit]:
    """Fit parametric distributions, each truncated to the range of runtimes, [0, limit].

    Parameters
    ----------
    samples
        Samples.
    names
        Families, by name in [S].
    estimator
        Estimator of the parameters: ``"likelihood"`` (scipy's maximum likelihood), or ``"least-squares"`` on the CDF.
    refined
        Number of starts for the search of least squares.

    Returns
    -------
    list of Fit
        One fit for each name: good fits by increasing error of the CDF (for both estimators), then refused fits with
        their reasons.

    Raises
    ------
    UnknownNameError
        If a name is not in :data:`USUAL`, or the estimator not in
        :data:`~holdfast.workloads.fits.estimation.ESTIMATORS`.

    Notes
    -----
    Source: [S] section IV. Maximum likelihood gives cheaper plans: with 110 samples of the normal distribution (8, 2)
    on [0, 20], plans cost 0.5 % more than the optimum, and 0.9 % more with least squares; with 510 samples, plans from
    maximum likelihood cost 0.07 % more.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> best = fit_usual(Samples.of(rng.gamma(4.0, 2.0, 200)), ["uniform", "gamma", "norm"])[0]
    >>> best.name, sorted(best.parameters)
    ('gamma', ['a', 'loc', 'scale'])
    """
    if estimator not in ESTIMATORS:
        raise UnknownNameError("estimator", estimator, ESTIMATORS)
    fits = [_fit(name, samples, estimator, refined) for name in names]
    return sorted(fits, key=lambda fit: (fit.reason_refused is not None, fit.error))


def _fit(name: str, samples: Samples, estimator: str, refined: int) -> Fit:
    if name not in USUAL:
        raise UnknownNameError("usual distribution", name, USUAL)
    family, method = USUAL[name], "usual" if estimator == "likelihood" else f"usual-{estimator}"

    def refusal(reason: str) -> Fit:
        return Fit(name, None, math.inf, reason_refused=reason, method=method)

    if samples.spread == 0.0:
        return refusal("all samples are equal")
    if samples.values.size < len(family.starts) + 2:
        return refusal(f"{samples.values.size} distinct samples are too few for {len(family.starts) + 2} parameters")
    with quiet():
        found = ESTIMATORS[estimator](family, samples, refined)
        if found is None:
            return refusal("no parameters fit")
        try:
            distribution = _distribution(family, found, samples, name)
        except ParameterError:
            # The scale is negligible against the location, so that there is no support; or no runtime is possible.
            return refusal("the parameters found make no distribution of a runtime")
        fit = Fit(name, distribution, math.inf, _name_parameters(family, found), method=method)
        if family.verified and not _density_agrees(family, found, samples):
            fit = replace(fit, reason_refused="its CDF does not agree with its PDF")
    return check_fit(fit, samples)


def _name_parameters(family: Family, point: Point) -> Mapping[str, float]:
    shapes = family.distribution.shapes
    names = [*(shapes.split(", ") if shapes else []), "loc", "scale"]
    return MappingProxyType(dict(zip(names, point, strict=True)))


def _distribution(family: Family, point: Point, samples: Samples, name: str) -> Distribution | None:
    distribution = from_scipy(family.distribution(*point), name)
    lower = 0.0 if distribution.lower < 0.0 else None
    limit = samples.limit
    if math.isinf(limit):
        runtime = truncate(distribution, lower)
        # A fitted end in the far tail is not a known limit, so it is truncated like an infinite tail. If the end is
        # farther than FARTHEST, the parameters have diverged; the support stays, and the fit is refused.
        quantile = float(runtime.isf(TAIL))
        far = 2.0 * quantile < runtime.upper <= FARTHEST * samples.values[-1]
        return truncate(runtime, upper=quantile) if far else runtime
    cut = truncate(distribution, lower, limit if distribution.upper > limit else None)
    # The plan must end at a known limit, even if this distribution ends before it.
    return replace(cut, upper=limit) if cut.upper < limit else cut  # type: ignore[type-var]


def _density_agrees(family: Family, point: Point, samples: Samples) -> bool:
    """Whether the integral of the PDF agrees with the CDF between the extremes of the samples (Figure 9 of [S])."""
    at = np.linspace(samples.values[0], samples.values[-1], 801)
    density: Callable[..., Any] = family.distribution.pdf
    heights = np.asarray(family.distribution.cdf(at, *point))
    middle = np.asarray(density(0.5 * (at[1:] + at[:-1]), *point))
    added = np.cumsum(middle * np.diff(at))
    return bool(np.max(np.abs(heights[1:] - heights[0] - added)) < 5e-3)
