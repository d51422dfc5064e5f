"""The correction of forecasts: what it knows, how it weighs, and how often its intervals hold."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.experiments.forecast import correction
from holdfast.experiments.forecast.correction import Evidence, correct_forecast, replay, weigh_experts
from holdfast.experiments.forecast.experts import LEVELS
from holdfast.experiments.forecast.wait_quantiles import STEPS, WaitQuantiles, from_scale, to_scale


def test_what_was_known_at_a_time() -> None:
    forecasts, features = np.arange(25.0).reshape(5, 1, 5), np.arange(5.0)[:, None]
    waits, started = np.array([50.0, 200.0, 201.0, 100.0, 500.0]), np.array([True, True, True, False, True])
    evidence = Evidence(forecasts, waits, started, np.array([0.0, 100.0, 100.0, 250.0, 310.0]), features)
    known = evidence.until(300.0, 5)
    # The second starts just then, the third a second later, the fourth waits still, and the last is not submitted.
    assert known.started.tolist() == [True, True, False, False, False]
    assert known.waits.tolist() == [50.0, 200.0, 200.0, 50.0, 0.0]
    assert evidence.until(900.0, 4).waits.tolist() == [50.0, 200.0, 201.0, 100.0]
    many = Evidence(*(np.concatenate([column] * 40) for column in evidence)).until(300.0, 163)
    assert [len(column) for column in many] == [160] * 5
    # The first three are forgotten.
    assert (many.forecasts[0, 0, 0], many.features[0, 0], many.times[-1]) == (15.0, 3.0, 100.0)


@given(st.integers(0, 10**6))
def test_an_expert_weighs_by_the_spread_of_its_misses(seed: int) -> None:
    rng = np.random.default_rng(seed)
    forecasts, waits = rng.normal(8.0, 1.0, (30, 2, 5)), rng.lognormal(8.0, 1.0, 30)
    evidence = Evidence(forecasts, waits, np.ones(30, bool), np.arange(30.0), np.zeros((30, 1)))
    powers = []
    for expert in range(2):
        missed = [math.log(wait + 60.0) - row[expert][2] for wait, row in zip(waits.tolist(), forecasts, strict=True)]
        # Ranks level x (n + 1) are Weibull's.
        quantiles = zip(LEVELS, np.quantile(missed, LEVELS, method="weibull").tolist(), strict=True)
        losses = [abs(miss - at) * (level if miss > at else 1.0 - level) for level, at in quantiles for miss in missed]
        powers.append((np.mean(losses) + 0.001) ** -4.0)
    assert weigh_experts(evidence) == pytest.approx(np.array(powers) / sum(powers))


@given(st.integers(0, 10**6), st.floats(4.2, 9.0))
def test_each_back_test_is_one_possible_outcome(seed: int, expected: float) -> None:
    rng = np.random.default_rng(seed)
    forecasts = np.repeat(rng.normal(6.0, 1.0, (25, 1, 1)), 5, axis=2)
    waits = rng.choice([0.0, 59.0, 60.0, 61.0, 300.0, 4000.0], 25)
    evidence = Evidence(forecasts, waits, np.ones(25, bool), np.arange(25.0), np.zeros((25, 1)))
    outcomes = []
    for wait, median in zip(waits.tolist(), forecasts[:, 0, 0].tolist(), strict=True):
        moved = expected + math.log(wait + 60.0) - median
        outcomes.append(math.log(wait + 60.0) if wait <= 60.0 else max(moved, min(expected, math.log(120.0))))
    quantiles = np.maximum(np.quantile(outcomes, STEPS, method="weibull"), math.log(60.0))
    assert correct_forecast(evidence, np.full((1, 5), expected), np.zeros(1)) == pytest.approx(quantiles)


def test_near_back_tests_weigh_more() -> None:
    # The deviations are 1.5 and 0.1, of which no less than 0.5 counts; the distances are in units of 1.5 of them.
    known = np.array([[0.0, 0.0], [3.0, 0.2]])
    expected = [1.01, math.exp(-0.5 * ((2.0 / 1.5) ** 2 + (0.4 / 1.5) ** 2)) + 0.01]
    assert correction._nearness(known, known[0]) == pytest.approx(expected)


def test_quantiles_of_weighted_and_of_waiting_jobs() -> None:
    level = np.array([0.5])
    # Three and one count as 16 / 10, so that the rank is 0.5 x 2.6 / 1.6; the steps are 0.75 and 1.
    two = np.array([0.0, 10.0]), np.ones(2, bool), np.array([3.0, 1.0])
    assert correction._quantiles(*two, level) == pytest.approx([2.5])
    # One of three starts at 1, when another still waits; the rank is 2 / 3, the steps are 1 / 3 and 1.
    tied = np.array([1.0, 5.0, 1.0]), np.array([False, True, True]), np.ones(3)
    assert correction._quantiles(*tied, level) == pytest.approx([3.0])


def drifting_evidence(count: int, seed: int) -> Evidence:
    """Back-tests of three experts: one twenty times too low, one right, one useless."""
    rng = np.random.default_rng(seed)
    centre, noise = rng.normal(8.0, 1.0, count), rng.normal(0.0, 0.5, count)
    normal = np.array([-1.645, -0.674, 0.0, 0.674, 1.645])
    right = centre[:, None] + 0.5 * normal
    useless = np.full((count, 5), 8.0) + 3.0 * normal
    forecasts = np.stack([right - 3.0, right, useless], axis=1)
    waits = from_scale(centre + noise)
    return Evidence(forecasts, waits, np.ones(count, bool), 1e6 * np.arange(count), np.zeros((count, 2)))


def share_inside(quantiles: np.ndarray, truth: np.ndarray, percent: int = 90) -> float:
    """Share of the starts inside the central interval."""
    low, high = (STEPS.index(level) for level in ((0.05, 0.95) if percent == 90 else (0.25, 0.75)))
    return float(np.mean((quantiles[:, low] <= truth) & (truth <= quantiles[:, high])))


def test_a_correction_finds_the_good_experts_and_the_shift() -> None:
    evidence = drifting_evidence(600, 1)
    low, right, useless = weigh_experts(evidence)
    assert low + right + useless == pytest.approx(1.0)
    # A shift mends the expert that is too low.
    assert low == pytest.approx(right, rel=1e-6)
    assert useless < right / 5
    places, quantiles = replay(evidence)
    assert places == list(range(20, 600))
    truth = to_scale(evidence.waits)[places]
    assert abs(share_inside(quantiles, truth) - 0.9) < 0.06
    assert abs(share_inside(quantiles, truth, 50) - 0.5) < 0.06
    assert np.all(np.diff(quantiles, axis=1) >= 0)
    # Only the last 160 back-tests count.
    last = Evidence(*(column[-160:] for column in evidence))
    same = (correct_forecast(known, evidence.forecasts[0], np.zeros(2)) for known in (evidence, last))
    assert np.array_equal(*same)


def test_starts_at_once_are_as_frequent_as_in_like_back_tests() -> None:
    """Four of ten jobs start at once, and no expert says so; in long queues one of ten."""
    rng = np.random.default_rng(5)
    is_long = rng.random(900) < 0.5
    at_once = rng.random(900) < np.where(is_long, 0.1, 0.4)
    actual = np.where(at_once, to_scale(rng.integers(0, 2, 900) * 60.0), 8.0 + rng.normal(0.0, 0.5, 900))
    features = np.column_stack((np.zeros(900), np.where(is_long, 7.0, 1.0)))
    forecasts = np.full((900, 3, 5), 8.0)
    evidence = Evidence(forecasts, from_scale(actual), np.ones(900, bool), 1e6 * np.arange(900), features)
    places, quantiles = replay(evidence)
    shares = np.array([WaitQuantiles(STEPS, from_scale(row).tolist()).share(61.0) for row in quantiles])
    # The queues are two deviations apart; tests at the distance 1.5 count exp(-1/2), and all 0.01 more.
    other = (np.exp(-0.5 * (2.0 / 1.5) ** 2) + 0.01) / 1.01
    for chosen, own, rest in ((is_long[places], 0.1, 0.4), (~is_long[places], 0.4, 0.1)):
        # Between two of the twenty steps it is that of the lower one.
        assert shares[chosen].mean() == pytest.approx((own + other * rest) / (1 + other) - 0.025, abs=0.03)
    # Whoever waits does so for more than a minute, even if another job waited far less than was expected.
    early = correct_forecast(evidence, np.full((3, 5), 5.0), features[0])
    assert np.all((early <= to_scale(60.0) + 1e-6) | (early > to_scale(60.0)))
    assert early[-1] > to_scale(60.0)


def test_a_correction_uses_only_starts_that_were_known() -> None:
    evidence = drifting_evidence(60, 2)
    _, before = replay(evidence)
    changed = evidence.waits.copy()
    changed[40:] *= 9.0
    _, after = replay(evidence._replace(waits=changed))
    # The 41st test is corrected by those before it; the next one knows its start.
    assert np.array_equal(before[:21], after[:21])
    assert not np.array_equal(before[21], after[21])
    places, _ = replay(evidence._replace(times=np.arange(60.0)))
    assert places == []


@given(st.integers(0, 10**6))
def test_quantiles_are_those_of_the_kaplan_meier_estimate(seed: int) -> None:
    rng = np.random.default_rng(seed)
    values = rng.integers(0, 9, 12).astype(float)
    started, weights = rng.random(12) < 0.7, rng.integers(1, 4, 12).astype(float)
    started[0] = True
    levels = np.array([0.2, 0.5, 0.8])
    found = correction._quantiles(values, started, weights, levels)
    # Each time of a start by itself: the share left falls by the weight that starts there over that at risk.
    count, left, curve = weights.sum() ** 2 / (weights**2).sum(), 1.0, []
    for value in sorted(set(values[started].tolist())):
        left *= 1 - weights[started & (values == value)].sum() / weights[values >= value].sum()
        curve.append((1 - left, value))
    for level, quantile in zip(levels.tolist(), found.tolist(), strict=True):
        at = level * (count + 1) / count
        reached = [time for share, time in curve if share >= at - 1e-9]
        passed = [time for share, time in curve if share < at]
        # Between two steps it is interpolated.
        least, most = passed[-1] if passed else curve[0][1], reached[0] if reached else curve[-1][1]
        assert least - 1e-9 <= quantile <= most + 1e-9


def test_jobs_that_still_wait_count() -> None:
    """Waits of many days, tested every hour: of the last tests only the short waits have ended."""
    rng = np.random.default_rng(7)
    truth = rng.lognormal(12.0, 0.7, 400)
    forecasts = np.full((400, 3, 5), 12.0)
    evidence = Evidence(forecasts, truth, np.ones(400, bool), 3600.0 * np.arange(400), np.zeros((400, 2)))
    places, quantiles = replay(evidence)
    late = np.array(places) >= 200
    actual = to_scale(truth)[places]
    assert 0.84 <= share_inside(quantiles[late], actual[late]) <= 0.96
    known = evidence.until(3600.0 * 400, 400)
    assert not known.started.all()
    ended = Evidence(*(column[known.started] for column in known))
    full, short = (correct_forecast(one, forecasts[0], np.zeros(2)) for one in (known, ended))
    exact = np.quantile(np.log(truth + 60.0), STEPS)
    assert abs(full - exact).max() < 0.35
    assert short[-1] < full[-1]


def test_intervals_hold_for_each_length_of_the_queue() -> None:
    """Half of the forecasts are of short queues and exact, half of long ones and wide."""
    rng = np.random.default_rng(3)
    is_long = rng.random(900) < 0.5
    actual = 8.0 + rng.normal(0.0, np.where(is_long, 1.5, 0.2))
    features = np.column_stack((np.zeros(900), np.where(is_long, 7.0, 1.0)))
    forecasts = np.full((900, 3, 5), 8.0)
    evidence = Evidence(forecasts, from_scale(actual), np.ones(900, bool), 1e6 * np.arange(900), features)

    def coverage(of: Evidence) -> list[float]:
        places, quantiles = replay(of)
        return [
            share_inside(quantiles[chosen], actual[places][chosen]) for chosen in (~is_long[places], is_long[places])
        ]

    short, long = coverage(evidence)
    assert short >= 0.87  # it is wider than needed, since long queues count a little
    assert 0.85 <= long <= 0.95
    widths = [
        np.diff(correct_forecast(evidence, forecasts[0], np.array((0.0, queue)))[[0, -1]]) for queue in (1.0, 7.0)
    ]
    assert widths[0] < widths[1] / 1.3
    assert min(coverage(evidence._replace(features=np.zeros((900, 2))))) < 0.84
