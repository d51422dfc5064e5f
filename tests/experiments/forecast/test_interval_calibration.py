"""Intervals calibrated by the ranks of past starts, against loops, hand-made cases and forecasts of known spread."""

from __future__ import annotations

from dataclasses import replace
from statistics import NormalDist

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.experiments.forecast.interval_calibration import calibrate_intervals, rank_bounds
from holdfast.experiments.forecast.linear_pool import pool
from holdfast.experiments.forecast.track_record import correct_past
from holdfast.experiments.forecast.wait_quantiles import STEPS, WaitQuantiles, from_scale, to_scale
from tests.experiments.forecast.test_linear_pool import simulated_tests

#: A standard normal distribution at the steps.
NORMAL = np.array([NormalDist().inv_cdf(level) for level in STEPS])
#: Levels at the steps as quantiles: those of a uniform distribution, so that calibrated quantiles are levels.
UNIFORM = np.array(STEPS)
MIDDLE = STEPS.index(0.5)


@given(st.integers(0, 10**6))
def test_ranks_lie_between_the_shares_just_before_and_after_a_start(seed: int) -> None:
    rng = np.random.default_rng(seed)
    # Some quantiles are equal, as where many jobs start at once; some waits are 0, some beyond all quantiles.
    forecasts = np.sort(to_scale(np.maximum(0.0, rng.normal(600.0, 900.0, (30, len(STEPS))))), axis=1)
    waits = np.maximum(0.0, rng.normal(500.0, 1500.0, 30)).round()
    started = rng.random(30) < 0.7
    # A job that has waited for 0 s may still start at once, so that equal quantiles of 0 s say nothing of its rank.
    waits = np.where(started, waits, np.maximum(waits, 1.0))
    lower, upper = rank_bounds(forecasts, waits, started)
    for row, (wait, has_started) in enumerate(zip(waits.tolist(), started.tolist(), strict=True)):
        share = WaitQuantiles(STEPS, from_scale(forecasts[row]).tolist()).share
        expected = (share(wait - 1.0), share(wait + 1.0)) if has_started else (share(wait), 1.0)
        assert (lower[row], upper[row]) == pytest.approx(expected, abs=1e-6)


@given(st.integers(0, 10**6))
def test_calibrated_intervals_held_their_levels(seed: int) -> None:
    """The share of the ranks inside each new interval, uniform between their bounds, and of ten uniform ones."""
    rng = np.random.default_rng(seed)
    count = int(rng.integers(0, 50))
    lower, upper = np.sort(rng.choice([0.0, 0.2, 0.5, 0.9, 1.0, *rng.random(4)], (2, count)), axis=0)
    levels = calibrate_intervals(UNIFORM, lower, upper)
    assert levels[MIDDLE] == pytest.approx(0.5)
    for low, high, first, last in zip(levels, levels[::-1], STEPS[:MIDDLE], STEPS[::-1], strict=False):
        held = 10 * (high - low)
        touched = 0.0
        for start, end in zip(lower.tolist(), upper.tolist(), strict=True):
            if end > start:
                held += max(0.0, min(high, end) - max(low, start)) / (end - start)
            else:
                held += low + 1e-6 < start < high - 1e-6
                touched += min(abs(start - low), abs(start - high)) <= 1e-6
        promised = (last - first) * (count + 10)
        assert held - 1e-3 <= promised <= held + touched + 1e-3


def test_without_tests_a_forecast_stays() -> None:
    assert calibrate_intervals(NORMAL, np.empty(0), np.empty(0)) == pytest.approx(NORMAL, abs=1e-9)
    # Nor does it change if the ranks are those that it promised: one in each part of equal share.
    ranks = (np.arange(160) + 0.5) / 160
    assert calibrate_intervals(NORMAL, ranks, ranks) == pytest.approx(NORMAL, abs=0.02)


def test_the_pool_of_two_calibrated_forecasts_is_too_wide_and_calibrated() -> None:
    """Each forecaster knows one of two parts of the wait (Gneiting and Ranjan 2013, section 3)."""
    rng = np.random.default_rng(8)
    known = rng.normal(0.0, 1.0, (700, 2))
    actual = 8.0 + known.sum(axis=1) + rng.normal(0.0, 0.3, 700)
    spread = np.hypot(1.0, 0.3)
    pools = np.array([pool(*(8.0 + part + spread * NORMAL for part in row), weight=0.5) for row in known])
    lower, upper = rank_bounds(pools, from_scale(actual), np.ones(700, bool))
    calibrated = np.array(
        [
            calibrate_intervals(pools[row], lower[max(0, row - 160) : row], upper[max(0, row - 160) : row])
            for row in range(700)
        ]
    )

    def coverage(quantiles: np.ndarray, first: int) -> float:
        ends = quantiles[160:, first], quantiles[160:, -1 - first]
        return float(np.mean((ends[0] <= actual[160:]) & (actual[160:] <= ends[1])))

    fifty = STEPS.index(0.25)
    assert coverage(pools, 0) > 0.94
    assert coverage(pools, fifty) > 0.58
    assert coverage(calibrated, 0) == pytest.approx(0.9, abs=0.03)
    assert coverage(calibrated, fifty) == pytest.approx(0.5, abs=0.05)


def test_jobs_that_still_wait_widen_intervals() -> None:
    """All starts were near the median, but as many jobs have waited for long since."""
    near = np.linspace(0.4, 0.6, 40)
    narrow = calibrate_intervals(NORMAL, near, near)
    still = calibrate_intervals(NORMAL, np.append(near, np.full(40, 0.9)), np.append(near, np.ones(40)))
    assert narrow[-1] < NORMAL[STEPS.index(0.8)]
    assert still[-1] > NORMAL[-2]
    assert narrow[MIDDLE] == pytest.approx(0.0, abs=1e-9)
    assert still[MIDDLE] == pytest.approx(0.0, abs=1e-9)


def test_back_tests_are_calibrated_by_those_before_them() -> None:
    tests = simulated_tests(120, 0.0, 6)
    changed = [*tests[:80], *(replace(test, wait=9.0 * test.wait) for test in tests[80:])]
    (places, before), (same, after) = map(correct_past, (tests, changed))
    assert places == same
    known = places.index(80) + 1
    assert before[:known] == after[:known]
    assert before[known] != after[known]


def test_of_jobs_that_never_started_only_their_waiting_counts() -> None:
    tests = simulated_tests(120, 0.0, 6)
    never = [number % 4 == 3 for number in range(len(tests))]

    def correct_with_wait(wait: float) -> tuple[list[int], list[WaitQuantiles]]:
        own = [replace(test, wait=wait, started=False) if no else test for test, no in zip(tests, never, strict=True)]
        return correct_past(own)

    places, quantiles = correct_with_wait(1e9)
    assert not any(never[place] for place in places)
    assert correct_with_wait(2e9) == (places, quantiles)
    _, without = correct_past([test for test, no in zip(tests, never, strict=True) if not no])
    assert without[-1].seconds[-1] < quantiles[-1].seconds[-1]


def test_with_few_back_tests_none_is_corrected() -> None:
    assert correct_past([]) == ([], [])
    assert correct_past(simulated_tests(20, 0.0, 1)) == ([], [])
    places, quantiles = correct_past(simulated_tests(21, 0.0, 1))
    assert (places, len(quantiles)) == ([20], 1)
