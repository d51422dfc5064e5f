"""Confidence intervals: against printed tables, scipy, and how often they hold the truth."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from holdfast.experiments.statistics import (
    Interval,
    binomial,
    clustered_interval,
    geometric_ratio,
    interval,
    median_gap,
    paired_interval,
    ratio,
)
from holdfast.workloads.ground.errors import ParameterError


def test_the_quantiles_are_those_of_printed_tables() -> None:
    # Student's t, two-sided: any table of a statistics book.
    for n, level, quantile in ((2, 0.95, 12.706), (10, 0.95, 2.262), (20, 0.95, 2.093), (6, 0.99, 4.032)):
        values = np.arange(n, dtype=float)
        found = interval(values, level)
        assert found.mean == values.mean()
        assert found.high - found.mean == pytest.approx(found.mean - found.low)
        assert (found.high - found.mean) * math.sqrt(n) / values.std(ddof=1) == pytest.approx(quantile, abs=6e-4)


def test_a_paired_difference_is_the_t_test_of_scipy() -> None:
    rng = np.random.default_rng(1)
    hardness = rng.normal(100.0, 30.0, 15)
    a, b = hardness + rng.normal(2.0, 1.0, 15), hardness + rng.normal(0.0, 1.0, 15)
    expected = stats.ttest_rel(a, b).confidence_interval(0.95)
    found = paired_interval(a, b)
    assert (found.low, found.high) == pytest.approx((expected.low, expected.high))
    assert found.positive
    assert paired_interval(b, a).negative
    # Taken apart, the difference drowns in what makes instances hard.
    assert interval(b).low < interval(a).low < interval(b).high
    assert ratio(1.1 * b, b).text(".3f") == "0.100 [0.100, 0.100]"


def test_a_geometric_mean_treats_twice_and_half_alike() -> None:
    b = np.array([1.0, 10.0, 100.0, 3.0])
    found = geometric_ratio(b * [2.0, 0.5, 8.0, 0.5], b)
    assert found.mean == pytest.approx(math.sqrt(2.0) - 1.0)
    back = geometric_ratio(b, b * [2.0, 0.5, 8.0, 0.5])
    # The other way round it is the same interval.
    assert (1 + found.low) * (1 + back.high) == pytest.approx(1.0)
    expected = stats.ttest_1samp(np.log([2.0, 0.5, 8.0, 0.5]), 0.0).confidence_interval(0.95)
    assert (math.log1p(found.low), math.log1p(found.high)) == pytest.approx((expected.low, expected.high))
    with pytest.raises(ParameterError, match="positive numbers"):
        geometric_ratio([1.0, 0.0], [1.0, 1.0])


def test_intervals_hold_the_mean_as_often_as_they_say() -> None:
    rng = np.random.default_rng(2)
    found = [interval(rng.normal(3.0, 2.0, 5), 0.9) for _ in range(2000)]
    held = sum(item.low <= 3.0 <= item.high for item in found)
    assert abs(held - 1800) < 4 * math.sqrt(2000 * 0.9 * 0.1)


def test_signs() -> None:
    assert Interval(1.0, 0.5, 1.5).decided
    assert not Interval(1.0, -0.5, 2.5).decided
    assert not Interval(1.0, 0.0, 2.0).positive
    same = interval([0.1] * 7)
    assert same == Interval(0.1, 0.1, 0.1)
    none = paired_interval([0.3, 0.4], [0.3, 0.4])
    assert none.decided
    assert not none.positive
    assert not none.negative


def test_values_without_variation_decide_by_themselves() -> None:
    same = interval([1.0, 1.0])
    assert [same.p_above(value) for value in (0.5, 1.0, 1.5)] == [0.0, 1.0, 1.0]
    assert [same.p_below(value) for value in (0.5, 1.0, 1.5)] == [1.0, 1.0, 0.0]
    assert (same.at(0.5).low, same.at(0.5).high) == (1.0, 1.0)
    # A ratio of positive numbers is above - 1.
    factors = geometric_ratio([2.0, 1.0], [1.0, 2.0])
    assert [factors.p_above(value) for value in (-2.0, -1.0, 0.0)] == [0.0, 0.0, 0.5]


def test_bounds_alone_have_no_other_level_and_no_test() -> None:
    bounds = Interval(1.0, 0.0, 2.0)
    assert math.isnan(bounds.p_above(0.0))
    assert math.isnan(bounds.p_below(0.0))
    with pytest.raises(ParameterError, match="one of measured values"):
        bounds.at(0.9)


def test_a_shift_moves_everything() -> None:
    found = interval([0.2, 0.9, 0.7], bounds=(0.0, 1.0))
    moved = found.shift(2.0)
    assert (moved.mean, moved.low, moved.high) == (found.mean + 2.0, found.low + 2.0, found.high + 2.0)
    assert (moved.at(0.999).low, moved.at(0.999).high) == (2.0, 3.0)


def test_jobs_of_one_cluster_count_together() -> None:
    values = np.array([1.0, 3.0, 2.0, 4.0, 9.0, 5.0])
    assert clustered_interval(values, np.arange(6)).text(".6f") == interval(values).text(".6f")
    twice = clustered_interval(np.repeat(values, 3), np.repeat(np.arange(6), 3))
    assert twice.text(".6f") == interval(values).text(".6f")
    # Clusters of two sizes: the variance of the ratio of sums, by hand.
    mean = clustered_interval([0.0, 0.0, 3.0], ["a", "a", "b"])
    assert (mean.mean, mean.error) == (1.0, pytest.approx(np.sqrt(2 * ((-2.0) ** 2 + 2.0**2) / 9)))
    with pytest.raises(ParameterError, match="clusters must be two or more different ones"):
        clustered_interval([1.0, 2.0], [0, 0])


def test_medians_of_resampled_clusters() -> None:
    # Of two clusters both are drawn half of the time, and each twice a quarter: gaps of 1, 0 and 2.
    found = median_gap([0.0, 2.0], [0.0, 0.0], ["a", "b"], seed=1, resamples=2000)
    assert (found.mean, found.freedom) == (1.0, 1)
    assert found.error == pytest.approx(math.sqrt(0.5), rel=0.05)
    assert found.high - 1.0 == pytest.approx(12.706 * found.error, rel=1e-4)
    assert median_gap([1.0, 2.0], [0.0, 1.0], [0, 1]) == Interval(1.0, 1.0, 1.0)
    for clusters in ([0, 0], [0, 1, 2]):
        with pytest.raises(ParameterError, match="two or more different ones"):
            median_gap([1.0, 2.0], [0.0, 1.0], clusters)


@pytest.mark.parametrize("values", [[], [1.0], [1.0, math.nan], [1.0, math.inf], [[1.0, 2.0]]])
def test_wrong_values_are_refused(values: list[float]) -> None:
    with pytest.raises(ParameterError, match="two or more finite numbers"):
        interval(values)


def test_wrong_pairs_and_levels_are_refused() -> None:
    with pytest.raises(ParameterError, match="one for each of the 2 values"):
        paired_interval([1.0, 2.0], [1.0])
    with pytest.raises(ParameterError, match="without a 0"):
        ratio([1.0, 2.0], [1.0, 0.0])
    for level in (0.0, 1.0, 95.0, math.nan):
        with pytest.raises(ParameterError, match=r"within \(0, 1\)"):
            interval([1.0, 2.0], level)


@pytest.mark.parametrize(("count", "trials"), [(0, 88), (5, 88), (44, 88), (88, 88), (1, 1)])
def test_a_binomial_share_has_the_exact_interval_and_tests(count: int, trials: int) -> None:
    from scipy.stats import binomtest

    found = binomial(count, trials)
    for level in (0.9, 0.95):
        known = binomtest(count, trials).proportion_ci(level)
        assert (found.at(level).low, found.at(level).high) == pytest.approx((known.low, known.high))
    for value in (0.03, 0.5):
        above, below = (binomtest(count, trials, value, alternative=side).pvalue for side in ("greater", "less"))
        assert (found.p_above(value), found.p_below(value)) == pytest.approx((above, below))
    assert found.error > 0


@pytest.mark.parametrize(("count", "trials"), [(-1, 5), (6, 5), (0, 0)])
def test_more_successes_than_trials_are_refused(count: int, trials: int) -> None:
    with pytest.raises(ParameterError, match="count must be from 0"):
        binomial(count, trials)
