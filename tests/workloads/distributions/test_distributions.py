"""Distributions of runtimes, against scipy.stats, which the distributions themselves never import."""

from __future__ import annotations

import math
import subprocess
import sys
import warnings
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from holdfast.workloads import distributions
from holdfast.workloads.distributions import DiscreteDistribution, Distribution
from holdfast.workloads.distributions.batch import DistributionBatch
from holdfast.workloads.ground.errors import ParameterError, UnknownNameError
from tests.places import ROOT

SD = math.sqrt(2.0)
PEERS: dict[str, Any] = {
    "exponential": stats.expon(),
    "weibull": stats.weibull_min(0.5),
    "gamma": stats.gamma(2.0, scale=0.5),
    "lognormal": stats.lognorm(0.5, scale=math.exp(3.0)),
    "pareto": stats.pareto(3.0, scale=1.5),
    "truncated-normal": stats.truncnorm(-7.0 / SD, 12.0 / SD, loc=8.0, scale=SD),
    "uniform": stats.uniform(1.0, 19.0),
    "beta": stats.beta(2.0, 2.0),
    "bounded-pareto": stats.truncpareto(2.1, 20.0),
}
NAMES = sorted(PEERS)
LEVELS = np.array([1e-12, 1e-7, 1e-3, 0.1, 0.3, 0.5, 0.8, 0.999, 1 - 1e-7])


def test_table_1_is_complete_and_named() -> None:
    assert set(distributions.TABLE_1) == set(PEERS)
    for name, distribution in distributions.TABLE_1.items():
        assert distribution.name == name
        assert isinstance(distribution, Distribution)


@pytest.mark.parametrize("name", NAMES)
def test_a_named_distribution_is_scipys(name: str) -> None:
    distribution, peer = distributions.TABLE_1[name], PEERS[name]
    assert (distribution.lower, distribution.upper) == pytest.approx(peer.support())
    x = peer.ppf(np.linspace(0.0, 0.999, 41))
    close = {"rtol": 1e-10, "atol": 1e-14}
    np.testing.assert_allclose(distribution.cdf(x), peer.cdf(x), **close)
    np.testing.assert_allclose(distribution.sf(x), peer.sf(x), **close)
    np.testing.assert_allclose(distribution.ppf(LEVELS), peer.ppf(LEVELS), rtol=1e-9)
    # Far out scipy's truncated normal is the coarser one: sf(isf(q)) = q holds for ours, below, not for it.
    np.testing.assert_allclose(
        distribution.isf(LEVELS), peer.isf(LEVELS), rtol=1e-6 if name == "truncated-normal" else 1e-9
    )
    np.testing.assert_allclose(distribution.sf(distribution.isf(LEVELS)), LEVELS, rtol=1e-9, atol=1e-15)
    assert distribution.mean() == pytest.approx(float(peer.mean()), rel=1e-11)


@pytest.mark.parametrize("name", NAMES)
def test_the_far_tail_has_relative_accuracy(name: str) -> None:
    distribution, peer = distributions.TABLE_1[name], PEERS[name]
    # Of a finite support the tail ends where doubles next to b end.
    levels, rtol = ([1e-7, 1e-15, 1e-100], 1e-9) if math.isinf(distribution.upper) else ([1e-7, 1e-11], 1e-4)
    far = peer.isf(levels)
    np.testing.assert_allclose(distribution.sf(far), peer.sf(far), rtol=rtol)


@pytest.mark.parametrize("name", NAMES)
def test_outside_the_support(name: str) -> None:
    distribution = distributions.TABLE_1[name]
    assert distribution.cdf(distribution.lower - 1.0) == 0.0
    assert distribution.sf(distribution.lower - 1.0) == 1.0
    assert distribution.sf(distribution.lower) == 1.0
    assert distribution.cdf(distribution.upper) == 1.0
    assert distribution.sf(distribution.upper) == 0.0
    assert [distribution.ppf(0.0), distribution.ppf(1.0), distribution.isf(0.0), distribution.isf(1.0)] == [
        distribution.lower,
        distribution.upper,
        distribution.upper,
        distribution.lower,
    ]
    assert np.isnan(distribution.ppf([-0.1, 1.1, math.nan])).all()
    assert np.isnan(distribution.cdf(math.nan))
    assert distribution.cdf(np.zeros((2, 3))).shape == (2, 3)


@pytest.mark.parametrize("name", NAMES)
def test_samples_follow_the_distribution_and_the_seed(name: str) -> None:
    distribution = distributions.TABLE_1[name]
    sample = distribution.sample(np.random.default_rng(1), 400)
    assert stats.kstest(sample, lambda x: distribution.cdf(x)).pvalue > 1e-3
    assert np.array_equal(sample, distribution.sample(np.random.default_rng(1), 400))


def test_lognormal_of_has_that_mean_and_deviation() -> None:
    distribution = distributions.lognormal_from_moments(21.0, 20.0)
    peer = stats.lognorm(distribution.sigma, scale=math.exp(distribution.mu))  # type: ignore[attr-defined]
    assert (peer.mean(), peer.std()) == pytest.approx((21.0, 20.0))


# -- truncation ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["exponential", "weibull", "gamma", "lognormal", "pareto"])
def test_bounded_ends_at_the_quantile_and_is_renormalised(name: str) -> None:
    distribution, peer = distributions.bound_support(distributions.TABLE_1[name]), PEERS[name]
    assert distribution.upper == pytest.approx(float(peer.isf(1e-7)))
    assert distribution.sf(distribution.upper) == 0.0
    x = peer.isf([0.9, 0.5, 1e-3, 1e-6])
    np.testing.assert_allclose(distribution.sf(x), (peer.sf(x) - 1e-7) / (1 - 1e-7), rtol=1e-9)
    np.testing.assert_allclose(distribution.cdf(x), peer.cdf(x) / (1 - 1e-7), rtol=1e-12)
    np.testing.assert_allclose(distribution.sf(distribution.isf(LEVELS)), LEVELS, rtol=1e-4)
    np.testing.assert_allclose(distribution.cdf(distribution.ppf(LEVELS)), LEVELS, rtol=1e-8, atol=1e-15)
    # E[X | X <= b] from scipy's own conditional expectation.
    expected = peer.expect(lambda x: x, lb=peer.ppf(0), ub=distribution.upper, conditional=True, limit=400)
    assert distribution.mean() == pytest.approx(expected, rel=1e-6)


def test_closed_forms_of_truncated_means() -> None:
    b = 3.0
    assert distributions.truncate(distributions.exponential(1.0), upper=b).mean() == pytest.approx(
        (1 - (1 + b) * math.exp(-b)) / -math.expm1(-b), rel=1e-13
    )
    # Memoryless; and a truncated Pareto distribution is a Pareto distribution.
    assert distributions.truncate(distributions.exponential(2.0), lower=5.0).mean() == pytest.approx(7.0, rel=1e-12)
    assert distributions.truncate(distributions.pareto(1.0, 3.0), lower=4.0).mean() == pytest.approx(6.0, rel=1e-12)
    assert distributions.truncate(distributions.pareto(1.0, 0.9), lower=4.0).mean() == math.inf
    assert distributions.pareto(1.0, 1.0).mean() == math.inf


def test_truncation_far_out_keeps_its_accuracy() -> None:
    distribution = distributions.truncated_normal(8.0, 1.0, 28.0, 40.0)  # from 20 standard deviations on
    x = np.array([28.01, 28.05, 28.2])
    np.testing.assert_allclose(distribution.sf(x), stats.norm.sf(x - 8.0) / stats.norm.sf(20.0), rtol=1e-12)
    np.testing.assert_allclose(distribution.isf(distribution.sf(x)), x, rtol=1e-12)
    left = distributions.truncate(distributions.normal(40.0, 1.0), 1.0, 20.0)
    np.testing.assert_allclose(left.cdf(19.9), stats.norm.cdf(-20.1) / stats.norm.cdf(-20.0), rtol=1e-12)


def test_truncating_twice_is_truncating_once() -> None:
    once = distributions.truncate(distributions.exponential(1.0), 1.0, 2.0)
    twice = distributions.truncate(distributions.truncate(distributions.exponential(1.0), 0.5, 3.0), 1.0, 2.0)
    assert once == twice
    assert distributions.truncate(once, 0.0, 5.0) is once
    assert distributions.bound_support(once) is once


def test_truncating_a_discrete_distribution() -> None:
    distribution = distributions.truncate(
        DiscreteDistribution(np.array([1.0, 2.0, 4.0]), np.array([0.2, 0.3, 0.5])), 1.5, 4.0
    )
    assert isinstance(distribution, DiscreteDistribution)
    np.testing.assert_allclose(distribution.probabilities, [0.375, 0.625])


# -- discrete distributions
# ---------------------------------------------------------------------------------------------


def test_discrete_quantiles_are_those_of_the_definition() -> None:
    distribution = distributions.from_samples(np.arange(1.0, 11.0))
    tenths = np.arange(1, 11) / 10.0
    assert np.array_equal(distribution.ppf(tenths), distribution.values)
    assert np.array_equal(distribution.isf(tenths), [*distribution.values[8::-1], 1.0])
    assert np.array_equal(distribution.ppf(tenths - 0.05), distribution.values)
    np.testing.assert_allclose(distribution.cdf([0.5, 1.0, 1.5, 10.0, 11.0]), [0.0, 0.1, 0.1, 1.0, 1.0])
    np.testing.assert_allclose(distribution.sf([0.5, 1.0, 1.5, 10.0, 11.0]), [1.0, 0.9, 0.9, 0.0, 0.0])
    assert distribution.survival[-1] == 0.0
    assert np.isnan(distribution.ppf(1.5))


def test_discrete_survival_is_exact_in_the_tail() -> None:
    distribution = DiscreteDistribution(np.arange(1.0, 5.0), np.array([1.0 - 1e-9, 1e-9 - 1e-18, 1e-18, 0.0]))
    np.testing.assert_allclose(distribution.survival, [1e-9, 1e-18, 0.0, 0.0], rtol=1e-14)
    assert distribution.isf(1e-18) == 2.0
    assert distribution.isf(0.0) == 3.0
    assert distribution.ppf(1.0) == 3.0


def test_a_discrete_distribution_cannot_be_changed() -> None:
    values = np.array([1.0, 2.0])
    distribution = DiscreteDistribution(values, np.array([0.5, 0.5]))
    values[0] = 9.0
    assert distribution.lower == 1.0
    with pytest.raises(ValueError, match="read-only"):
        distribution.values[0] = 3.0


# -- grids -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("grid", list(distributions.GRIDS))
@pytest.mark.parametrize("name", NAMES)
def test_grids(name: str, grid: str) -> None:
    n = 60
    distribution = distributions.bound_support(distributions.TABLE_1[name])
    cells = distributions.discretise(distributions.TABLE_1[name], n, grid)
    a, b = distribution.lower, distribution.upper
    step = np.arange(1, n + 1) / n
    ends = {
        "equal-time": a + (b - a) * step,
        "equal-probability": distribution.ppf(step),
        "cubic": a + (b - a) * step**3,
    }[grid]
    # Cells may be missing, where their probability is 0; those that are there lie on the grid.
    assert np.min(np.abs(cells.values[:, None] - ends), axis=1) == pytest.approx(0.0, abs=1e-9 * b)
    assert cells.values[-1] == b
    assert cells.probabilities.sum() == pytest.approx(1.0, abs=1e-14)
    assert cells.survival[-1] == 0.0
    assert np.all(cells.probabilities[:-1] > 0.0)
    np.testing.assert_allclose(cells.survival, distribution.sf(cells.values), rtol=1e-6, atol=1e-15)
    if grid == "equal-probability":
        np.testing.assert_allclose(cells.probabilities, 1.0 / n, rtol=1e-6)


class Gap(distributions.ContinuousDistribution):
    """Uniform on [0, 1] and [3, 4], nothing between; nothing in (4, 5] either, which is part of its support."""

    name, lower, upper = "gap", 0.0, 5.0

    def _cdf(self, x: np.ndarray) -> np.ndarray:
        return np.asarray(np.clip(x, 0, 1) / 2 + np.clip(x - 3, 0, 1) / 2)

    def _sf(self, x: np.ndarray) -> np.ndarray:
        return 1 - self._cdf(x)

    def _ppf(self, q: np.ndarray) -> np.ndarray:
        return np.where(q <= 0.5, 2 * q, 2 + 2 * q)

    def _isf(self, q: np.ndarray) -> np.ndarray:
        return self._ppf(1 - q)


def test_cells_of_no_probability_are_left_out_and_the_end_stays() -> None:
    cells = distributions.discretise(Gap(), 10, "equal-time")
    assert cells.values.tolist() == [0.5, 1.0, 3.5, 4.0, 5.0]
    np.testing.assert_allclose(cells.probabilities, [0.25, 0.25, 0.25, 0.25, 0.0])
    assert cells.survival[-2:].tolist() == [0.0, 0.0]
    assert cells.isf(0.0) == 4.0


def test_a_grid_of_one_cell_is_the_end() -> None:
    cells = distributions.discretise(distributions.uniform(1.0, 3.0), 1)
    assert (cells.values.tolist(), cells.probabilities.tolist()) == ([3.0], [1.0])


def test_a_discrete_distribution_is_its_own_grid() -> None:
    distribution = distributions.from_samples([2.0, 1.0])
    assert distributions.discretise(distribution, 500) is distribution
    # Also one of scipy's, atoms and all: every cell has what lies in it.
    die = distributions.discretise(distributions.from_scipy(stats.randint(1, 7)), 6, "equal-probability")
    np.testing.assert_allclose(die.probabilities, 1 / 6)
    assert die.values.tolist() == [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]


@settings(max_examples=50, deadline=None)
@given(st.lists(st.integers(1, 20), min_size=1, max_size=30))
def test_distributions_of_samples(samples: list[int]) -> None:
    distribution = distributions.from_samples(samples)
    assert distribution.mean() == pytest.approx(np.mean(samples))
    for x in (0.5, 3.0, 7.5, 20.0):
        assert distribution.cdf(x) == pytest.approx(np.mean(np.asarray(samples) <= x))
        assert distribution.sf(x) == pytest.approx(np.mean(np.asarray(samples) > x))


# -- Algorithm 1 -----------------------------------------------------------------------------------------------


def test_the_size_of_algorithm_1() -> None:
    distribution = distributions.uniform(1.0, 20.0)
    costs = {"alpha": 1.0, "gamma": 0.1, "checkpoint": 0.1, "restart": 0.1}
    assert distributions.algorithm_1_size(distribution, 1.0, **costs) == math.ceil(3 * 19 * 10)
    assert distributions.algorithm_1_size(distribution, 0.1, **costs) == math.ceil(3 * 19 * 10 / 0.1)
    # gamma = 0 leaves the first branch, where min(max(a, eps E[X] / 3), R, C) = 1 = a.
    assert distributions.algorithm_1_size(distribution, 0.1, checkpoint=2.0, restart=3.0) == 570
    # C = 0 leaves the second.
    assert distributions.algorithm_1_size(distribution, 0.5, beta=1.0, gamma=4.0) == math.ceil(3 * 19 * 0.5 / 0.5)
    assert distributions.algorithm_1_size(distribution, 1e9, **costs) == 1


@pytest.mark.parametrize("costs", [{}, {"checkpoint": 1.0}, {"restart": 1.0}])
def test_algorithm_1_refuses_an_infinite_size(costs: dict[str, float]) -> None:
    with pytest.raises(ParameterError, match="give an explicit n"):
        distributions.algorithm_1_size(distributions.uniform(1.0, 20.0), 1.0, **costs)


# -- what is refused -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: distributions.exponential(-1.0), "mean must be a finite number above 0, not -1.0"),
        (lambda: distributions.exponential(math.nan), "mean must be a finite number above 0, not nan"),
        (lambda: distributions.exponential("soon"), "mean must be a finite number above 0, not 'soon'"),
        (lambda: distributions.weibull(1.0, 0.0), "shape must be"),
        (lambda: distributions.gamma(math.inf, 1.0), "shape must be"),
        (lambda: distributions.lognormal(math.nan, 1.0), "mu must be a finite number, not nan"),
        (lambda: distributions.lognormal_from_moments(21.0, -20.0), "std must be"),
        (lambda: distributions.pareto(0.0, 3.0), "minimum must be"),
        (
            lambda: distributions.truncated_normal(8.0, 2.0, 20.0, 1.0),
            "maximum must be a finite number above the minimum, 20",
        ),
        (lambda: distributions.truncated_normal(8.0, 2.0, 200.0, 210.0), "between which normal has any probability"),
        (lambda: distributions.uniform(-1.0, 2.0), "minimum must be a finite number, 0 or more, not -1.0"),
        (lambda: distributions.uniform(2.0, 2.0), "maximum must be"),
        (lambda: distributions.bounded_pareto(2.0, 1.0, 2.1), "maximum must be"),
        (
            lambda: distributions.truncate(distributions.exponential(1.0), 3.0, 2.0),
            "maximum must be above the minimum, 3",
        ),
        (lambda: distributions.truncate(distributions.uniform(1.0, 2.0), 3.0), "has any probability|above the minimum"),
        (lambda: distributions.truncate(distributions.exponential(1.0), math.nan), "minimum must be a number"),
        (lambda: distributions.truncate(distributions.from_samples([1.0]), 2.0, 3.0), "has any probability"),
        (lambda: distributions.bound_support(distributions.exponential(1.0), 0.0), "tail must be"),
        (lambda: distributions.discretise(distributions.exponential(1.0), 0), "n must be a whole number"),
        (lambda: distributions.discretise(distributions.exponential(1.0), 2.5), "n must be a whole number"),
        (lambda: distributions.discretise(distributions.exponential(1.0), math.nan), "n must be a whole number"),
        (lambda: distributions.from_samples([]), "samples must be at least one runtime"),
        (
            lambda: distributions.from_samples([1.0, math.nan]),
            "samples, value 2, must be a finite runtime above 0, not nan",
        ),
        (lambda: distributions.from_samples([1.0, -2.0]), "samples, value 2, must be"),
        (lambda: distributions.from_samples(["a"]), "samples must be a list of numbers"),
        (lambda: DiscreteDistribution([2.0, 1.0], [0.5, 0.5]), "values must be ascending"),
        (lambda: DiscreteDistribution([1.0, 2.0], [1.0]), "probabilities must be as many as"),
        (lambda: DiscreteDistribution([1.0, 2.0], [1.5, -0.5]), "probabilities must be 0 or more"),
        (lambda: DiscreteDistribution([1.0, 2.0], [0.5, math.nan]), "probabilities must be 0 or more"),
        (lambda: DiscreteDistribution([1.0, 2.0], [0.5, 0.4]), "the sum of the probabilities must be 1"),
        (lambda: distributions.from_scipy(stats.norm(scale=-1.0)), "the parameters of norm must be legal"),
        (lambda: distributions.from_scipy(3), "frozen must be a frozen distribution"),
        (lambda: distributions.algorithm_1_size(distributions.uniform(1, 2), 0.0, gamma=1.0), "epsilon must be"),
        (
            lambda: distributions.algorithm_1_size(distributions.uniform(1, 2), 1.0, checkpoint=-1.0),
            "checkpoint must be",
        ),
    ],
)
def test_wrong_parameters_are_one_sentence(make: Any, message: str) -> None:
    with pytest.raises(ParameterError, match=message) as caught:
        make()
    assert "\n" not in str(caught.value)


def test_an_unknown_grid_offers_the_known_ones() -> None:
    with pytest.raises(UnknownNameError, match="did you mean cubic"):
        distributions.discretise(distributions.exponential(1.0), 10, "cubik")


@pytest.mark.system
def test_distributions_import_of_scipy_what_they_need_and_not_before() -> None:
    code = "import sys, holdfast.workloads.distributions as d; print('scipy.special' in sys.modules)"
    code += "; d.discretise(d.TABLE_1['gamma'], 9)"
    code += "; print('scipy.stats' in sys.modules)"
    root = ROOT
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=root, check=True).stdout
    assert shown.split() == ["False", "False"]
    assert distributions.TABLE_1["truncated-normal"] == distributions.truncated_normal(8.0, math.sqrt(2.0), 1.0, 20.0)


def test_a_bundle_answers_as_each_of_its_distributions() -> None:
    rng = np.random.default_rng(0)
    batch, alone = DistributionBatch(), []
    for size in (1, 2, 7, 50):
        alone.append(DiscreteDistribution(np.sort(rng.random(size)) + 1.0, np.full(size, 1.0 / size)))
        assert batch.add(alone[-1]) == len(batch) - 1
        which = rng.integers(0, len(batch), 300)
        # Steps of the survival themselves are among the levels.
        levels = np.where(rng.random(300) < 0.5, rng.random(300), rng.integers(0, 51, 300) / 50)
        expected = [float(alone[place].isf(level)) for place, level in zip(which, levels, strict=True)]
        assert batch.isf(which, levels).tolist() == expected
    assert batch.isf(np.empty(0, dtype=np.int64), np.empty(0)).size == 0


# -- distant bounds ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("bound", [168.0, 20_000.0, 2e6, 3e9, 1e200])
def test_a_distant_bound_changes_no_grid_but_its_end(bound: float) -> None:
    whole, near = (
        distributions.truncate(distributions.normal(8.0, 2.0), 0.0),
        distributions.truncate(distributions.normal(8.0, 2.0), 0.0, bound),
    )
    fine, grid = distributions.discretise(whole, 500), distributions.discretise(near, 500)
    assert grid.upper == bound
    # The body is the grid of the distribution without a bound, the tail adds some cells.
    body = grid.values <= fine.upper * (1.0 + 1e-9)
    np.testing.assert_allclose(grid.values[body], fine.values, rtol=1e-9)
    assert 1 <= np.sum(~body) <= 50
    # Survival is that of the distribution, and the last cell adds nothing to any cost.
    np.testing.assert_allclose(grid.survival[:-1], near.sf(grid.values[:-1]), rtol=1e-6, atol=1e-16)
    assert bound * grid.survival[-2] <= 1e-5


def test_a_heavy_tail_has_cells_up_to_the_bound() -> None:
    distribution = distributions.bounded_pareto(1.0, 3e9, 1.05)
    coarse, fine = (distributions.discretise(distribution, n) for n in (500, 1000))
    ratios = coarse.values[-300:-1] / coarse.values[-301:-2]
    assert np.max(ratios) < 1.12
    assert len(coarse) <= 1001
    # Twice as many cells refine the grid, so that a plan for them never costs more.
    at = np.searchsorted(fine.values, coarse.values * (1.0 - 1e-9))
    np.testing.assert_allclose(fine.values[at], coarse.values, rtol=1e-9)


def test_a_near_bound_leaves_the_cubic_grid() -> None:
    grid = distributions.discretise(distributions.truncated_normal(8.0, 2.0, 0.0, 20.0), 200)
    values = 20.0 * (np.arange(1, 201) / 200) ** 3
    assert np.all(np.isin(grid.values, values))


def test_a_distribution_that_ends_before_a_known_limit_has_one_cell_more() -> None:
    far = replace(distributions.from_scipy(stats.uniform(1.0, 19.0)), upper=1e6)
    grid = distributions.discretise(far, 100)
    assert grid.upper == 1e6
    assert 1e6 * grid.survival[-2] <= 1e-6 * 10.5


def test_quantiles_far_outside_print_no_warning_of_scipy() -> None:
    # Later versions of scipy than 1.12 report an overflow there.
    frozen = stats.invgauss(0.02639)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert distributions.from_scipy(frozen).isf(1e-100) > frozen.isf(1e-30)
