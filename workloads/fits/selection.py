"""Cross-validated selection of a distribution, scored by the cost of its plan on held-out runs."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType
from typing import Protocol, TypeVar

import numpy as np
import numpy.typing as npt

from holdfast.workloads.distributions import Array, DiscreteDistribution, Distribution
from holdfast.workloads.distributions.checks import runtimes
from holdfast.workloads.fits.fit import Fit, Samples
from holdfast.workloads.fits.kernel_density import fit_interpolation, fit_kernel, fit_polynomial
from holdfast.workloads.fits.parametric import fit_usual
from holdfast.workloads.ground.errors import InputError, ParameterError, UnknownNameError

__all__ = ["METHODS", "Candidate", "FitReport", "Priced", "choose", "fit_all", "fit_discrete", "make_fits"]

#: Number of parametric distributions that are cross-validated.
FINALISTS = 5
#: Up to _FEW samples, the folds are drawn _REPEATS times, because few held-out runs give a noisy score.
_FEW, _REPEATS = 30, 2
#: Largest Cramer-von Mises statistic (n times the squared error of the CDF) of a distribution that agrees with the
#: samples: approximately the critical value at 10 % for fitted parameters.
_FITS = 0.1
_LEAST_SQUARES = "usual-least-squares"

CostsT = TypeVar("CostsT", contravariant=True)


class Priced(Protocol):
    """A plan that can compute the cost of given runtimes."""

    def paid_cost(self, runtimes: npt.ArrayLike, /) -> Array:
        """Cost of each runtime, including those beyond the last reservation."""


class _Planner(Protocol[CostsT]):
    def __call__(self, distribution: Distribution, costs: CostsT, /) -> Priced: ...


@dataclass(frozen=True)
class Candidate:
    """A fit, and the cost of plans from such fits on held-out runs.

    Parameters
    ----------
    fit
        The fit to all samples.
    cost
        Mean cost of a job in cross-validation; None if the fit was not cross-validated.
    reason
        Reason why there is no cost; None if there is one.
    """

    fit: Fit
    cost: float | None = None
    reason: str | None = None


@dataclass(frozen=True)
class FitReport:
    """Fits to the same samples, and the chosen one for planning.

    Parameters
    ----------
    chosen
        Chosen fit; never a refused one.
    candidates
        All fits: by increasing cost, then those without cost by increasing error, then refused ones.
    """

    chosen: Fit
    candidates: tuple[Candidate, ...]

    def rows(self) -> list[dict[str, object]]:
        """A row for each candidate: name, method, error, cost (None if not tried), chosen, reason, parameters."""
        return [
            {
                "name": candidate.fit.name,
                "method": candidate.fit.method,
                "error": candidate.fit.error if math.isfinite(candidate.fit.error) else None,
                "cost": candidate.cost,
                "chosen": candidate.fit is self.chosen,
                "reason": candidate.fit.reason_refused or candidate.reason,
                "parameters": ", ".join(f"{name} {value:.5g}" for name, value in candidate.fit.parameters.items()),
            }
            for candidate in self.candidates
        ]


def fit_discrete(samples: Samples) -> Fit:
    """The samples themselves as a distribution ([S] section IV, the discrete method); never refused.

    >>> fit_discrete(Samples.of([2.0, 2.0])).distribution.values
    array([2.])
    """
    values, probabilities = samples.values, samples.counts / samples.size
    if values[-1] < samples.limit < math.inf:
        # The plan must end at a known limit, even if no sample is near it.
        values, probabilities = np.append(values, samples.limit), np.append(probabilities, 0.0)
    distribution = DiscreteDistribution(values, probabilities)
    parameters = MappingProxyType({"values": float(samples.values.size)})
    return Fit("discrete", distribution, 0.0, parameters, method="discrete")


#: Methods by name; each returns its fits, the preferred one first. ``usual-least-squares`` estimates parameters by
#: least squares on the CDF, all other parametric methods by maximum likelihood.
METHODS: Mapping[str, Callable[[Samples], list[Fit]]] = MappingProxyType(
    {
        "discrete": lambda samples: [fit_discrete(samples)],
        "usual": fit_usual,
        _LEAST_SQUARES: lambda samples: fit_usual(samples, estimator="least-squares"),
        "polynomial": lambda samples: [fit_polynomial(samples)],
        "interpolated": lambda samples: [fit_interpolation(samples)],
        "kernel": lambda samples: [fit_kernel(samples)],
    }
)


def make_fits(method: str, samples: npt.ArrayLike, upper: float | None = None) -> FitReport:
    """Fit by one method and choose the fit that is nearest to the samples, without planning.

    Parameters
    ----------
    method
        One of :data:`METHODS`.
    samples
        Runtimes, shape (n,).
    upper
        An upper limit of all runtimes, where one is known.

    Returns
    -------
    FitReport
        Fits without costs; the discrete distribution is chosen if the method gives no good fit.

    Raises
    ------
    UnknownNameError
        If there is no such method.
    ParameterError
        If the samples or the limit are not legal.

    Examples
    --------
    >>> make_fits("polynomial", [1.0, 2.0, 4.0, 5.0, 9.0]).chosen.name
    'polynomial-10'
    """
    if method not in METHODS:
        raise UnknownNameError("kind of fit", method, METHODS)
    prepared = Samples.of(samples, upper)
    fits = METHODS[method](prepared)
    good = [fit for fit in fits if fit.reason_refused is None]
    if not good:
        good = [fit_discrete(prepared)]
        fits = [*good, *fits]
    return FitReport(good[0], tuple(Candidate(fit) for fit in fits))


def fit_all(samples: Samples) -> list[Fit]:
    """The fits of all methods, including rejected ones; parametric distributions only by maximum likelihood."""
    return [fit for name, method in METHODS.items() if name != _LEAST_SQUARES for fit in method(samples)]


def choose(
    samples: npt.ArrayLike,
    costs: CostsT,
    planner: _Planner[CostsT],
    *,
    rng: np.random.Generator,
    folds: int = 5,
    upper: float | None = None,
    finalists: int = FINALISTS,
) -> FitReport:
    """Choose a distribution by the cost of its plans on held-out runs.

    The samples are divided into folds. For each fold, every candidate is fitted to the other folds, a plan is made from
    it, and the cost of the plan on the runs of the fold is computed, including runs beyond the last reservation. The
    cheapest distribution is chosen. The nearest parametric distribution with a Cramer-von Mises statistic of at most
    0.1 is preferred if it costs at most two standard errors of the difference more. The choice uses only the samples,
    so that users can make it; the "continuous" series of [S] uses the fit that is cheapest under the true distribution.

    Parameters
    ----------
    samples
        Runtimes, shape (n,); at least 5 are advisable.
    costs
        Second argument of the planner.
    planner
        Function ``planner(distribution, costs)`` that returns a plan, e.g. a strategy of
        ``holdfast.policies.planning.strategies``. It is called some hundred times; a coarse grid (200 cubic cells)
        suffices to rank the distributions.
    rng
        Generator that divides the samples into folds.
    folds
        Number of folds, >= 2; with fewer samples, every sample is one fold.
    upper
        An upper limit of all runtimes, where one is known.
    finalists
        Number of parametric distributions to cross-validate, nearest to the samples first; fewer parameters win ties.

    Returns
    -------
    FitReport
        All candidates with their errors, and with their costs if they were cross-validated.

    Raises
    ------
    ParameterError
        If samples, folds, finalists or the limit are not legal.

    Examples
    --------
    >>> class Once:
    ...     def __init__(self, distribution, costs):
    ...         self.length = float(distribution.isf(0.0 if np.isfinite(distribution.upper) else 1e-3))
    ...     def paid_cost(self, runtimes):
    ...         return np.where(np.asarray(runtimes) <= self.length, self.length, 3 * self.length)
    >>> report = choose([3.0, 3.0, 3.0, 3.0, 3.0], None, Once, rng=np.random.default_rng(1))
    >>> report.chosen.name, report.candidates[0].cost
    ('discrete', 3.0)
    """
    times = runtimes("samples", samples)
    if isinstance(folds, bool) or folds != int(folds) or folds < 2:
        raise ParameterError("folds", "a whole number, 2 or more", folds)
    if isinstance(finalists, bool) or finalists != int(finalists) or finalists < 1:
        raise ParameterError("finalists", "a whole number, 1 or more", finalists)
    prepared = Samples.of(times, upper)
    fits = fit_all(prepared)
    tried = _select_finalists(fits, int(finalists))
    splits = _splits(times.size, int(folds), rng)
    # The result must not depend on the order of the samples.
    ordered = np.sort(times)
    paid = {
        fit.name: _cross_validate(fit, ordered, splits, partial(planner), costs, upper)
        for fit in fits
        if fit.name in tried
    }
    found = [_candidate(fit, paid[fit.name]) if fit.name in tried else Candidate(fit) for fit in fits]
    candidates = tuple(sorted(found, key=_rank))
    return FitReport(_choose(candidates, paid, times.size), candidates)


def _candidate(fit: Fit, paid: Array | str) -> Candidate:
    return Candidate(fit, reason=paid) if isinstance(paid, str) else Candidate(fit, cost=float(np.mean(paid)))


def _choose(candidates: Sequence[Candidate], paid: Mapping[str, Array | str], size: int) -> Fit:
    """The nearest parametric distribution within two standard errors of the least cost; else the cheapest one.

    Among many distributions of nearly equal cost, the cheapest in cross-validation is often so by chance, and may
    overfit the samples.
    """
    cheapest = candidates[0].fit
    least = paid.get(cheapest.name)
    if not isinstance(least, np.ndarray) or least.size < 2:
        return cheapest
    fitting = [
        item.fit
        for item in candidates
        if item.cost is not None and item.fit.method == "usual" and size * item.fit.error <= _FITS
    ]
    for fit in sorted(fitting, key=lambda fit: fit.error):
        # Costs are compared run by run, because the differences have less spread than the costs.
        excess = np.asarray(paid[fit.name]) - least
        if float(excess.mean()) <= 2.0 * float(excess.std(ddof=1)) / math.sqrt(excess.size):
            return fit
    return cheapest


def _rank(candidate: Candidate) -> tuple[bool, bool, float, float]:
    refused = candidate.fit.reason_refused is not None
    cost = math.inf if candidate.cost is None else candidate.cost
    return refused, candidate.cost is None, cost, candidate.fit.error


def _select_finalists(fits: Sequence[Fit], finalists: int) -> set[str]:
    good = [fit for fit in fits if fit.reason_refused is None]
    usual = [fit for fit in good if fit.method == "usual"]
    usual.sort(key=lambda fit: fit.error)
    return {*(fit.name for fit in usual[:finalists]), *(fit.name for fit in good if fit.method != "usual")}


def _splits(size: int, folds: int, rng: np.random.Generator) -> list[npt.NDArray[np.intp]]:
    """Indices of the held-out samples, one array for each fold of each repetition."""
    if size < 2:
        return []
    alone = size <= folds
    dealings = 1 if alone or size > _FEW else _REPEATS
    return [np.sort(part) for _ in range(dealings) for part in np.array_split(rng.permutation(size), min(folds, size))]


def _refit(fit: Fit, samples: Samples) -> Fit:
    if fit.method == "usual":
        return fit_usual(samples, [fit.name])[0]
    return METHODS[fit.method](samples)[0]


def _cross_validate(
    fit: Fit,
    times: Array,
    splits: Sequence[npt.NDArray[np.intp]],
    planner: Callable[[Distribution, CostsT], Priced],
    costs: CostsT,
    upper: float | None,
) -> Array | str:
    """Cost of the held-out runs in each fold, or the reason why it is unknown."""
    paid = []
    for held in splits:
        rest = np.delete(times, held)
        again = _refit(fit, Samples.of(rest, upper))
        if again.distribution is None or again.reason_refused is not None:
            return f"refused without {held.size} of the samples: {again.reason_refused}"
        try:
            fold = np.asarray(planner(again.distribution, costs).paid_cost(times[held]), float)
        except InputError as error:
            return f"no plan: {error}"
        if not np.all(np.isfinite(fold)):
            return "its plan has no finite cost"
        paid.append(fold)
    return np.concatenate(paid) if paid else "one sample leaves none to fit to"
