"""Fits: known distributions come back, bad fits are refused with a reason, and the choice uses the samples alone."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from holdfast.experiments.papers.incomplete.estimators import Setting, measure_losses
from holdfast.workloads import distributions
from holdfast.workloads.distributions import Array, Distribution
from holdfast.workloads.fits import (
    METHODS,
    USUAL,
    Fit,
    Samples,
    choose,
    fit_all,
    fit_discrete,
    fit_interpolation,
    fit_kernel,
    fit_polynomial,
    fit_usual,
    make_fits,
    parametric,
    selection,
)
from holdfast.workloads.fits.fit import check_fit, quiet
from holdfast.workloads.ground.errors import ParameterError, UnknownNameError

SMOOTH = [fit_polynomial, fit_interpolation, fit_kernel]


def draw_samples(distribution: Any, n: int, seed: int = 1) -> Array:
    """Samples at evenly spread levels, jittered, which describe the distribution better than independent ones."""
    rng = np.random.default_rng(seed)
    return np.asarray(distribution.ppf((np.arange(n) + rng.random(n)) / n))


# -- usual distributions ---------------------------------------------------------------------------------------

#: Standardised members of the families; location and scale are added so that all of it lies above 0.
MEMBERS: dict[str, Any] = {
    "beta": stats.beta(2.0, 3.0, 5.0, 10.0),
    "cosine": stats.cosine(20.0, 3.0),
    "dgamma": stats.dgamma(2.0, 20.0, 1.0),
    "dweibull": stats.dweibull(2.0, 20.0, 4.0),
    "exponnorm": stats.exponnorm(2.0, 20.0, 1.0),
    "exponweib": stats.exponweib(2.0, 1.5, 0.0, 5.0),
    "exponpow": stats.exponpow(1.5, 2.0, 5.0),
    "genpareto": stats.genpareto(0.2, 2.0, 5.0),
    "gamma": stats.gamma(3.0, 2.0, 2.0),
    "halfnorm": stats.halfnorm(3.0, 5.0),
    "invgauss": stats.invgauss(0.5, 2.0, 9.0),
    "invweibull": stats.invweibull(3.0, 1.0, 4.0),
    "laplace": stats.laplace(40.0, 2.0),
    "loggamma": stats.loggamma(2.0, 30.0, 3.0),
    "lognorm": stats.lognorm(0.8, 0.0, 15.0),
    "lomax": stats.lomax(3.0, 2.0, 8.0),
    "maxwell": stats.maxwell(1.0, 4.0),
    "norm": stats.norm(20.0, 3.0),
    "pareto": stats.pareto(3.0, 0.0, 2.0),
    "pearson3": stats.pearson3(1.0, 20.0, 4.0),
    "rayleigh": stats.rayleigh(1.0, 4.0),
    "rice": stats.rice(2.0, 1.0, 4.0),
    "truncexpon": stats.truncexpon(3.0, 1.0, 4.0),
    "truncnorm": stats.truncnorm(-2.0, 1.0, 10.0, 3.0),
    "uniform": stats.uniform(2.0, 9.0),
    "weibull": stats.weibull_min(1.5, 1.0, 6.0),
}


def test_the_27_of_the_paper() -> None:
    assert len(USUAL) == 27
    assert set(USUAL) == set(MEMBERS) | {"alpha"}


@pytest.mark.system
@pytest.mark.parametrize(
    ("name", "estimator"),
    [*((name, "likelihood") for name in sorted(MEMBERS)), ("truncnorm", "least-squares"), ("lomax", "least-squares")],
)
def test_a_family_finds_its_own_distribution(name: str, estimator: str) -> None:
    distribution = MEMBERS[name]
    samples = Samples.of(draw_samples(distribution, 300))
    (fit,) = fit_usual(samples, [name], estimator)
    assert fit.reason_refused is None
    levels = np.linspace(0.02, 0.98, 49)
    # Likelihood looks at the tails, least squares at the CDF.
    assert np.max(np.abs(fit.good().cdf(distribution.ppf(levels)) - levels)) < (
        0.02 if estimator == "likelihood" else 0.01
    )
    assert fit.error < (2e-4 if estimator == "likelihood" else 1e-5)
    assert fit.error == pytest.approx(np.mean((fit.good().cdf(samples.values) - (np.arange(300) + 0.5) / 300) ** 2))
    if estimator == "likelihood":
        runs, dist = samples.values, distribution.dist
        with quiet():
            points = (fit.parameters.values(), dist.fit(runs))
            likelihoods = [float(np.sum(dist.logpdf(runs, *point))) for point in points]
        # Hardly less likely than what scipy finds from its own start.
        assert likelihoods[0] >= likelihoods[1] - 0.5


@pytest.mark.parametrize("limited", [False, True])
@pytest.mark.parametrize("size", [10, 60, 510])
@pytest.mark.parametrize(
    ("name", "distribution", "least"),
    [
        ("truncnorm", stats.norm(8.0, 2.0), 0.0),
        ("truncnorm", stats.norm(8.0, 4.0), 0.0),
        ("truncexpon", stats.expon(0.0, 2.0), 1.0),
    ],
)
def test_no_distribution_between_the_ends_is_likelier(
    name: str, distribution: Any, least: float, size: int, limited: bool
) -> None:
    for seed in range(3):
        levels = np.random.default_rng(seed).random(size)
        start, end = distribution.cdf(least), distribution.cdf(20.0)
        samples = Samples.of(distribution.ppf(start + levels * (end - start)), 20.0 if limited else None)
        (found,) = fit_usual(samples, [name])
        fitted = getattr(stats, name).logpdf(samples.values, *found.parameters.values())
        # The distribution of the samples, cut where the fitted one is, is one of those that were searched.
        _, last = getattr(stats, name).support(*found.parameters.values())
        within = distribution.cdf(last) - distribution.cdf(samples.lower)
        assert np.sum(fitted) >= np.sum(distribution.logpdf(samples.values)) - size * math.log(within) - 1e-3


@pytest.mark.slow
@pytest.mark.parametrize(("size", "most"), [(110, 0.009), (510, 0.001)])
def test_plans_from_usual_distributions_lose_little(size: int, most: float) -> None:
    # Expected cost of plans from samples of the normal distribution (8, 2) on [0, 20], over that of the best plan.
    setting = Setting(sizes=(size,), repetitions=40, chosen_repetitions=0)
    losses = [row["loss"] for row in measure_losses(("normal",), setting, 0, ("usual",))]
    assert len(losses) == 40
    assert np.mean(losses) <= most


def test_alpha_has_no_mean_unless_a_limit_is_known() -> None:
    runs = draw_samples(stats.alpha(3.0, 0.0, 20.0), 100)
    (open_end,) = fit_usual(Samples.of(runs), ["alpha"])
    assert open_end.reason_refused == "its mean is infinite"
    with pytest.raises(ParameterError, match="one that is not refused"):
        open_end.good()
    (limited,) = fit_usual(Samples.of(runs, upper=float(runs[-1]) + 1.0), ["alpha"])
    assert limited.reason_refused is None
    assert limited.good().upper == runs[-1] + 1.0
    assert math.isfinite(limited.good().mean())


def test_parameters_are_those_of_scipy() -> None:
    (fit,) = fit_usual(Samples.of(draw_samples(stats.norm(50.0, 3.0), 200)), ["norm"])
    assert fit.parameters["loc"] == pytest.approx(50.0, abs=0.1)
    assert fit.parameters["scale"] == pytest.approx(3.0, abs=0.1)


@lru_cache
def all_usual() -> list[Fit]:
    return fit_usual(Samples.of(draw_samples(stats.lognorm(0.8, 0.0, 15.0), 100)))


@pytest.mark.system
def test_good_fits_come_first_and_the_best_one_is_near() -> None:
    fits = all_usual()
    refused = [fit.reason_refused is not None for fit in fits]
    assert refused == sorted(refused)
    errors = [fit.error for fit in fits if fit.reason_refused is None]
    assert errors == sorted(errors)
    assert len(fits) == 27
    assert "lognorm" in [fit.name for fit in fits[:8]]


def test_a_distribution_whose_density_disagrees_with_its_cdf_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(USUAL["rice"].distribution, "pdf", lambda x, *args, **kwargs: 0.5 * stats.norm.pdf(x))
    (fit,) = fit_usual(Samples.of(draw_samples(MEMBERS["rice"], 100)), ["rice"])
    assert fit.reason_refused == "its CDF does not agree with its PDF"


@pytest.mark.parametrize("found", [(4e6, 7.7, 12.7, 1e-17), (2.0, 3.0, -50.0, 1.0)])
def test_parameters_that_make_no_distribution_are_refused(
    monkeypatch: pytest.MonkeyPatch, found: tuple[float, ...]
) -> None:
    """A support without any length (scipy answers NaN), and one without any runtime."""
    monkeypatch.setattr(parametric, "ESTIMATORS", {"likelihood": lambda *_: found})
    [fit] = fit_usual(Samples.of([1.0, 2.0, 3.0, 5.0, 8.0, 12.5]), ["beta"])
    assert fit.distribution is None
    assert fit.reason_refused == "the parameters found make no distribution of a runtime"


def test_unknown_names() -> None:
    with pytest.raises(UnknownNameError, match="did you mean weibull"):
        fit_usual(Samples.of([1.0, 2.0]), ["weibul"])
    with pytest.raises(UnknownNameError, match="unknown estimator 'moments': known are likelihood, least-squares"):
        fit_usual(Samples.of([1.0, 2.0]), ["weibull"], "moments")
    with pytest.raises(UnknownNameError, match="did you mean polynomial"):
        make_fits("polynom", [1.0, 2.0])


# -- polynomials, interpolated and kernel CDFs -----------------------------------------------------------------


def test_a_polynomial_distribution_is_found_exactly() -> None:
    n = 50
    levels = (np.arange(n) + 0.5) / n
    # F(x) = (x / 10)^2 on [0, 10]: its quantiles at the middles of the steps.
    fit = fit_polynomial(Samples.of(10.0 * np.sqrt(levels), upper=10.0), degree=3)
    distribution = fit.good()
    x = np.linspace(distribution.lower, 10.0, 20)
    # The lower end is estimated, and that is all that is.
    assert np.max(np.abs(distribution.cdf(x) - (x / 10.0) ** 2)) < 0.01
    assert fit.error < 1e-5
    assert distribution.mean() == pytest.approx(20.0 / 3.0, rel=0.01)


def test_more_degrees_never_fit_worse() -> None:
    samples = Samples.of(draw_samples(stats.gamma(4.0, 0.0, 2.0), 40))
    errors = [fit_polynomial(samples, degree).error for degree in (1, 2, 3, 5, 7, 10, 15)]
    assert all(more <= less + 1e-8 for less, more in pairwise(errors))
    assert errors[-1] < errors[0] / 10
    for wrong in (0, 31, 2.5, True):
        with pytest.raises(ParameterError, match="degree must be"):
            fit_polynomial(samples, wrong)  # type: ignore[arg-type]


def test_the_interpolation_runs_through_the_samples() -> None:
    fit = fit_interpolation(Samples.of([1.0, 2.0, 2.0, 5.0]))
    distribution = fit.good()
    assert fit.error < 1e-25
    np.testing.assert_allclose(distribution.cdf([1.0, 2.0, 5.0]), [0.125, 0.5, 0.875], rtol=1e-12)
    assert (distribution.lower, distribution.upper) == (0.0, 5.0 + 4.0 / 3.0)


def test_the_kernel_distribution_is_a_mixture() -> None:
    distribution = fit_kernel(Samples.of([2.0, 8.0])).good()
    width = distribution.bandwidth  # type: ignore[attr-defined]
    peers = [stats.lognorm(width, scale=scale) for scale in (2.0, 8.0)]
    x = np.array([0.5, 2.0, 4.0, 9.0, 50.0])
    np.testing.assert_allclose(distribution.sf(x), np.mean([peer.sf(x) for peer in peers], axis=0), rtol=1e-10)
    assert distribution.mean() == pytest.approx(np.mean([peer.mean() for peer in peers]))
    np.testing.assert_allclose(distribution.sf(distribution.isf([1e-7, 0.2, 0.9])), [1e-7, 0.2, 0.9], rtol=1e-6)


runs = st.lists(st.one_of(st.floats(0.01, 1e4), st.integers(1, 5).map(float)), min_size=5, max_size=40)


@settings(max_examples=30, deadline=None)
@given(runs, st.booleans())
def test_smooth_distributions_are_distributions(values: list[float], limited: bool) -> None:
    samples = Samples.of(values, upper=2.0 * max(values) if limited else None)
    for method in SMOOTH:
        fit = method(samples)
        if samples.spread == 0.0:
            assert fit.reason_refused == "all samples are equal"
            continue
        if fit.reason_refused is not None:
            continue
        distribution = fit.good()
        cut = distributions.bound_support(distribution)
        x = np.linspace(cut.lower, cut.upper, 301)
        heights = distribution.cdf(x)
        assert np.all(np.diff(heights) >= -1e-12)
        assert 0.0 <= heights[0] <= 1e-9
        np.testing.assert_allclose(heights + distribution.sf(x), 1.0, atol=1e-9)
        assert cut.upper >= max(values)
        assert distributions.discretise(distribution, 30).upper >= max(values)
        assert math.isfinite(distribution.mean())
        levels = np.array([0.0, 0.05, 0.5, 0.95, 1.0])
        assert np.all(np.diff(distribution.ppf(levels)) >= 0.0)


@pytest.mark.system
@settings(max_examples=5, deadline=None)
@given(runs)
def test_usual_distributions_are_distributions(values: list[float]) -> None:
    samples = Samples.of(values)
    for fit in fit_usual(samples, ["gamma", "truncnorm", "uniform", "lomax"]):
        if fit.reason_refused is None:
            cut = distributions.bound_support(fit.good())
            assert cut.upper >= max(values)
            assert np.all(np.diff(fit.good().cdf(np.linspace(0.0, cut.upper, 201))) >= -1e-9)
            assert np.isfinite(fit.error)
        else:
            assert fit.reason_refused


@pytest.mark.usefixtures("few_families")
@pytest.mark.parametrize("method", [name for name in METHODS if name != "usual-least-squares"])
def test_a_known_limit_is_where_every_distribution_ends(method: str) -> None:
    report = make_fits(method, draw_samples(stats.uniform(2.0, 5.0), 30), upper=12.0)
    good = [candidate.fit.good() for candidate in report.candidates if candidate.fit.reason_refused is None]
    assert good
    for distribution in good:
        assert distribution.upper == 12.0
        assert distributions.discretise(distribution, 20).upper == 12.0
        assert distribution.sf(12.0) == 0.0


@pytest.mark.usefixtures("few_families")
@pytest.mark.parametrize("method", [name for name in METHODS if name != "usual-least-squares"])
def test_means_are_those_of_the_samples_roughly(method: str) -> None:
    values = draw_samples(stats.gamma(4.0, 0.0, 2.0), 60)
    assert make_fits(method, values).chosen.good().mean() == pytest.approx(8.0, rel=0.03)


# -- what is refused -------------------------------------------------------------------------------------------


@dataclass
class Shaped(distributions.ContinuousDistribution):
    """A distribution on [0, 10] with any heights at 0, 5 and 10, legal or not."""

    heights: tuple[float, float, float]
    name: str = "shaped"
    lower: float = 0.0
    upper: float = 10.0

    def _cdf(self, x: Array) -> Array:
        return np.interp(x, [0.0, 5.0, 10.0], self.heights)

    def _sf(self, x: Array) -> Array:
        return 1.0 - self._cdf(x)

    def _ppf(self, q: Array) -> Array:
        return np.interp(q, self.heights, [0.0, 5.0, 10.0])

    def _isf(self, q: Array) -> Array:
        return self._ppf(1.0 - q)


@pytest.mark.parametrize(
    ("distribution", "reason"),
    [
        (None, "no parameters fit"),
        (distributions.pareto(1.0, 1.0), "its mean is infinite"),
        (distributions.uniform(0.0, 5.0), "it ends at 5, before the largest sample, 9"),
        # Infinite, but cut at Q(1 - 1e-7): no plan from it reaches the sample.
        (distributions.truncate(distributions.normal(3.0, 0.1), lower=0.0), "before the largest sample"),
        (Shaped((0.0, math.nan, 1.0)), "its CDF is not a number"),
        (Shaped((0.0, 1.2, 1.0)), "its CDF falls"),
        (Shaped((0.0, 0.5, 1.0)), None),
    ],
)
def test_why_a_distribution_is_refused(distribution: Distribution | None, reason: str | None) -> None:
    fit = check_fit(Fit("candidate", distribution, 0.0), Samples.of([1.0, 2.0, 9.0]))
    if reason is None:
        assert fit.reason_refused is None
        assert fit.good() is distribution
    else:
        assert reason in str(fit.reason_refused)


def test_equal_samples_leave_the_discrete_distribution() -> None:
    report = make_fits("usual", [3.0] * 6)
    assert report.chosen.name == "discrete"
    assert report.chosen.good().values.tolist() == [3.0]  # type: ignore[attr-defined]
    assert {row["reason"] for row in report.rows()[1:]} == {"all samples are equal"}


def test_too_few_samples_for_so_many_parameters() -> None:
    (fit,) = fit_usual(Samples.of([1.0, 2.0, 3.0]), ["truncnorm"])
    assert fit.reason_refused == "3 distinct samples are too few for 4 parameters"


@pytest.mark.parametrize(
    ("values", "upper", "message"),
    [
        ([], None, "at least one runtime"),
        ([1.0, math.inf], None, "samples, value 2, must be a finite runtime"),
        ([1.0, 5.0], 4.0, "upper must be at least the largest sample, 5"),
        ([1.0, 5.0], math.nan, "upper must be"),
    ],
)
def test_wrong_samples(values: list[float], upper: float | None, message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        Samples.of(values, upper)


# -- few samples, and the choice -------------------------------------------------------------------------------


@dataclass
class Stairs:
    """A planner of its own: reservations at the quantiles 1/2, 7/8 and the end of a distribution, each paid in full."""

    distribution: Distribution
    costs: float

    def paid_cost(self, runtimes: Any) -> Array:
        ends = distributions.bound_support(self.distribution).ppf([0.5, 0.875, 1.0])
        ends = np.concatenate((ends, ends[-1] * 1.5 ** np.arange(1, 60)))
        return self.costs * np.cumsum(ends)[np.searchsorted(ends, runtimes)]


@pytest.fixture
def few_families(monkeypatch: pytest.MonkeyPatch) -> None:
    """The choice is the same among 27 families, and takes longer."""
    monkeypatch.setattr(selection, "METHODS", {**METHODS, "usual": lambda samples: fit_usual(samples, FEW)})


FEW = ("alpha", "gamma", "norm", "uniform", "weibull")


def choose_fit(values: Any, **options: Any) -> Any:
    return choose(values, 1.0, Stairs, rng=np.random.default_rng(7), **options)


@pytest.mark.system
@pytest.mark.usefixtures("few_families")
@pytest.mark.parametrize("size", [1, 2, 3, 5, 10])
def test_few_samples_give_a_usable_distribution(size: int) -> None:
    values = np.random.default_rng(size).normal(8.0, 2.0, size)
    report = choose_fit(values)
    cut = distributions.bound_support(report.chosen.good())
    assert values.max() <= cut.upper < 100.0
    assert 4.0 < cut.mean() < 14.0
    if size > 1:
        # The cheapest one, or a usual distribution that costs about the same.
        assert any(candidate.fit is report.chosen for candidate in report.candidates if candidate.cost is not None)
        costs = [candidate.cost for candidate in report.candidates if candidate.cost is not None]
        assert costs == sorted(costs)
        assert len(costs) >= 3 or size < 5
    else:
        assert report.chosen.name == "discrete"


@pytest.mark.system
@pytest.mark.usefixtures("few_families")
def test_the_choice_reports_everything() -> None:
    report = choose_fit(draw_samples(stats.gamma(4.0, 0.0, 2.0), 20), finalists=2)
    rows = report.rows()
    assert len(rows) == len(FEW) + 4
    assert sum(bool(row["chosen"]) for row in rows) == 1
    assert sum(row["cost"] is not None and row["method"] == "usual" for row in rows) <= 2
    assert [row["name"] for row in rows if row["reason"] == "its mean is infinite"] == ["alpha"]
    assert all(row["reason"] is None for row in rows if row["cost"] is not None)


@pytest.mark.system
@pytest.mark.usefixtures("few_families")
def test_the_cost_is_the_mean_over_runs_not_seen() -> None:
    values = [2.0, 3.0, 5.0, 9.0]
    report = choose_fit(values, folds=4)
    (discrete,) = [candidate for candidate in report.candidates if candidate.fit.name == "discrete"]
    by_hand = [
        Stairs(distributions.from_samples([v for v in values if v != left]), 1.0).paid_cost([left]).item()
        for left in values
    ]
    assert discrete.cost == pytest.approx(np.mean(by_hand))


@pytest.mark.system
@pytest.mark.usefixtures("few_families")
def test_the_choice_depends_on_samples_and_seed_alone() -> None:
    values = np.random.default_rng(3).gamma(4.0, 2.0, 12)
    first, again = choose_fit(values), choose_fit(values[::-1])
    assert first.rows() == again.rows()


@pytest.mark.usefixtures("few_families")
def test_a_planner_that_refuses_is_no_candidate() -> None:
    def planner(distribution: Distribution, costs: float) -> Stairs:
        if distribution.name != "discrete":
            raise ParameterError("distribution", "discrete", distribution.name)
        return Stairs(distribution, costs)

    report = choose([2.0, 3.0, 5.0, 9.0, 4.0], 1.0, planner, rng=np.random.default_rng(1))
    assert report.chosen.name == "discrete"
    assert any("no plan: distribution must be discrete" in str(row["reason"]) for row in report.rows())


@pytest.mark.parametrize("wrong", [{"folds": 1}, {"folds": 2.5}, {"finalists": 0}])
def test_wrong_options_of_the_choice(wrong: dict[str, Any]) -> None:
    with pytest.raises(ParameterError, match=f"{next(iter(wrong))} must be"):
        choose_fit([1.0, 2.0], **wrong)


@pytest.mark.system
def test_warnings_are_silenced_only_within() -> None:
    before = list(warnings.filters)
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        fit_all(Samples.of([1.0, 1.0, 2.0, 3.0, 4.0, 1e6]))
        assert np.geterr()["divide"] == "warn"
    assert not seen
    assert warnings.filters == before


@pytest.mark.system
def test_many_samples_are_no_burden() -> None:
    values = draw_samples(stats.lognorm(0.5, 0.0, 20.0), 20_000)
    samples = Samples.of(values)
    for fit in (fit_discrete(samples), *(method(samples) for method in SMOOTH), *fit_usual(samples, ["lognorm"])):
        assert fit.reason_refused is None
        # One polynomial of degree 10 cannot follow a long tail; the others can.
        assert fit.error < (1e-2 if fit.method == "polynomial" else 1e-4)


def test_the_families_are_read_only() -> None:
    with pytest.raises(TypeError):
        parametric.USUAL["mine"] = parametric.Family("norm")  # type: ignore[index]


# -- ends that no sample supports ---------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["truncnorm", "truncexpon"])
def test_a_distribution_ends_at_the_samples_only_where_they_show_it(name: str) -> None:
    levels = (np.arange(400) + 0.5) / 400
    distribution = stats.norm(8.0, 2.0) if name == "truncnorm" else stats.expon(1.0, 3.0)
    (whole,) = fit_usual(Samples.of(distribution.ppf(levels)), [name])
    cut = distribution.ppf(levels * distribution.cdf(9.0))
    (part,) = fit_usual(Samples.of(cut), [name])
    # A plan from the one reaches as many deviations as that of an open distribution, one from the other the samples.
    assert distributions.bound_support(whole.good()).upper == pytest.approx(distribution.isf(1e-7), rel=0.1)
    assert part.good().upper == pytest.approx(cut.max(), rel=0.01)


def test_an_end_beyond_all_samples_is_refused_or_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    samples = Samples.of(stats.gamma(16.0, scale=0.5).ppf((np.arange(200) + 0.5) / 200))

    def fit(scale: float, limit: float | None = None) -> Fit:
        # Near the gamma distribution above, which is the limit for an infinite scale.
        point = (16.0, 2.0 * scale, 0.0, scale)
        monkeypatch.setattr("holdfast.workloads.fits.parametric.ESTIMATORS", {"likelihood": lambda *given: point})
        (found,) = fit_usual(Samples.of(samples.values, limit), ["beta"])
        return found

    assert fit(1e10).reason_refused == "its support ends at 1e+10, over 100 times the largest sample, 14.7616"
    far = fit(1000.0).good()
    assert far.upper == pytest.approx(stats.beta(16.0, 2000.0, 0.0, 1000.0).isf(1e-7))
    assert fit(20.0).good().upper == 20.0
    # A limit that the user knows is where the plan ends, however far it is.
    assert fit(1e10, 5e9).good().upper == 5e9


@pytest.mark.parametrize("seed", [pytest.param(seed, marks=pytest.mark.system) for seed in range(3)])
def test_the_chosen_distribution_of_a_degenerate_family_covers_every_sample(seed: int) -> None:
    runs = np.random.default_rng(seed).normal(8.0, 2.0, 60)
    report = make_fits("usual", runs)
    distribution = report.chosen.good()
    assert runs.max() <= distributions.bound_support(distribution).upper < 10 * runs.max()
    for candidate in report.candidates:
        if candidate.fit.reason_refused is None:
            assert candidate.fit.good().upper == math.inf or candidate.fit.good().upper <= 100 * runs.max()


@pytest.mark.parametrize(
    ("excess", "error", "chosen"),
    [
        (0.015, 1e-4, "norm"),  # dearer within the noise of 100 runs
        (1.0, 1e-4, "kernel"),  # dearer beyond it
        (0.001, 2e-3, "kernel"),  # a test tells it from the samples
        (-1.0, 2e-3, "norm"),  # the cheapest needs no excuse
    ],
)
def test_a_usual_distribution_that_fits_is_preferred_within_two_standard_errors(
    excess: float, error: float, chosen: str
) -> None:
    noise = np.random.default_rng(0).normal(0.0, 0.1, 100)
    least = np.full(100, 10.0)
    paid = {"kernel": least, "norm": least + noise - noise.mean() + excess}
    fits = [
        Fit("kernel", distributions.exponential(1.0), 1e-5, method="kernel"),
        Fit("norm", distributions.uniform(1.0, 2.0), error, method="usual"),
    ]
    candidates = sorted(
        (selection.Candidate(fit, float(paid[fit.name].mean())) for fit in fits), key=lambda item: item.cost or 0.0
    )
    assert selection._choose(candidates, paid, 100).name == chosen


@pytest.mark.slow
def test_plans_without_a_known_limit_lose_little() -> None:
    setting = Setting(sizes=(510,), repetitions=40, chosen_repetitions=0, ends="samples")
    losses = [row["loss"] for row in measure_losses(("normal",), setting, 0, ("usual",))]
    assert np.mean(losses) <= 0.001
