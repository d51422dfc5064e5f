"""The pool of the corrected forecast and the simulation: its scores, its weight, and its quantiles."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.experiments.forecast.baselines import PastWaits
from holdfast.experiments.forecast.experts import LEVELS
from holdfast.experiments.forecast.linear_pool import PoolTerms, at_steps, pool, pool_terms, simulation_weight
from holdfast.experiments.forecast.log_cursor import Past
from holdfast.experiments.forecast.track_record import BackTest, TrackRecord, correct_past
from holdfast.experiments.forecast.wait_quantiles import STEPS, WaitQuantiles, from_scale, to_scale
from tests.experiments.forecast.test_forecasts import NODES, random_jobs, schedule_trace


def crps(samples: np.ndarray, masses: np.ndarray, actual: float) -> float:
    """Integral of the squared distance between the distribution functions of samples and of what happened."""
    ends = np.unique(np.append(samples, actual))
    shares = np.array([masses[samples <= place].sum() - (actual <= place) for place in ends[:-1]])
    return float(np.sum(shares**2 * np.diff(ends)))


@given(st.integers(0, 10**6), st.sampled_from([0.0, 0.2, 0.7, 1.0]))
def test_the_crps_of_a_pool_is_quadratic_in_its_weight(seed: int, weight: float) -> None:
    rng = np.random.default_rng(seed)
    corrected, simulated = np.sort(rng.integers(0, 9, (2, 1, len(STEPS))).astype(float))
    actual = rng.integers(0, 9, 1).astype(float)
    terms = pool_terms(corrected, simulated, actual, actual)
    masses = np.repeat(((1 - weight) / len(STEPS), weight / len(STEPS)), len(STEPS))
    mixed = crps(np.append(corrected, simulated), masses, float(actual[0]))
    alone = crps(corrected[0], np.full(len(STEPS), 1 / len(STEPS)), float(actual[0]))
    assert mixed == pytest.approx(alone - weight * terms.gains[0] + weight**2 * terms.distances[0] / 2)


@given(st.integers(0, 10**6))
def test_the_weight_has_the_least_loss_of_the_known_tests(seed: int) -> None:
    rng = np.random.default_rng(seed)
    count = int(rng.integers(1, 300))
    past = PoolTerms(rng.normal(0.5, 1.0, count), rng.exponential(1.0, count), 10.0 * rng.random(count))
    known = [place for place in range(max(0, count - 160), count) if past.starts[place] <= 5.0]
    weights = np.linspace(0.0, 1.0, 1001)
    # Ten further tests of the mean distance gain nothing.
    distance = sum(past.distances[place] for place in known)
    distance += 10 * distance / max(1, len(known))
    losses = -weights * sum(past.gains[place] for place in known) + weights**2 * distance / 2
    assert simulation_weight(past, 5.0) == pytest.approx(weights[np.argmin(losses)], abs=1e-3)
    assert simulation_weight(past, -1.0) == 0.0


def test_the_last_tests_that_are_known_decide() -> None:
    one = PoolTerms(np.ones(1), np.ones(1), np.array([5.0]))
    # Ten further tests gain nothing.
    assert simulation_weight(one, 5.0) == pytest.approx(1 / 11)
    assert simulation_weight(one, 4.9) == 0.0
    first = PoolTerms(np.eye(1, 160)[0], np.ones(160), np.zeros(160))
    assert simulation_weight(first, 0.0) == pytest.approx(1 / 170)
    forgotten = PoolTerms(*(np.append(column, 0.0) for column in first))
    assert simulation_weight(forgotten, 0.0) == 0.0


@given(st.integers(0, 10**6), st.sampled_from([0.0, 0.3, 1.0]))
def test_quantiles_of_a_pool_are_those_of_the_mixed_distribution_functions(seed: int, weight: float) -> None:
    rng = np.random.default_rng(seed)
    # Some quantiles are equal, as where many jobs start at once.
    corrected, simulated = np.sort(5.0 + np.maximum(0.0, rng.normal(0.5, 1.0, (2, len(STEPS)))))
    mixed = pool(corrected, simulated, weight)
    assert np.all(np.diff(mixed) >= 0)
    assert weight > 0.0 or np.array_equal(mixed, corrected)
    functions = [WaitQuantiles(STEPS, from_scale(quantiles).tolist()) for quantiles in (corrected, simulated)]
    for level, quantile in zip(STEPS, mixed.tolist(), strict=True):
        low, high = (
            (1 - weight) * functions[0].share(time) + weight * functions[1].share(time)
            for time in from_scale(np.array([quantile - 1e-6, quantile + 1e-6])).tolist()
        )
        assert low - 1e-4 <= level <= high + 1e-4


def test_a_simulation_has_quantiles_at_all_steps() -> None:
    found = at_steps(np.array([[[0.0, 4.0, 5.0, 5.0, 9.0]]]))
    assert found.shape == (1, 1, len(STEPS))
    assert [found[0, 0, STEPS.index(level)] for level in LEVELS] == [0.0, 4.0, 5.0, 5.0, 9.0]
    assert found[0, 0, STEPS.index(0.1)] == pytest.approx(1.0)


def simulated_tests(count: int, error: float, seed: int) -> list[BackTest]:
    """Back-tests of a simulation whose spread differs from job to job, and which is too low by up to an error."""
    rng = np.random.default_rng(seed)
    normal = np.array([-1.645, -0.674, 0.0, 0.674, 1.645])
    found = []
    for number in range(count):
        middle, spread = rng.normal(9.0, 1.0), rng.choice([0.02, 1.5])
        quantiles = tuple(from_scale(middle + spread * normal).tolist())
        wait = float(from_scale(middle + rng.normal(0.0, spread) + error * rng.random()))
        experts = {"simulation": quantiles, "nearest": (1e3, 5e3, 9e3, 2e4, 9e4), "bounds": (1e3, 5e3, 9e3, 2e4, 9e4)}
        found.append(BackTest(1e6 * number, 0.0, wait, experts, 4, 3))
    return found


def scaled_intervals(error: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Corrected and simulated 90 % intervals, and the waits, on the scale, of jobs that the simulation knows well."""
    tests = simulated_tests(400, error, 4)
    places, quantiles = correct_past(tests)
    waits = to_scale([tests[place].wait for place in places])
    corrected = to_scale([found.report_quantiles() for found in quantiles])[:, [0, -1]]
    simulated = to_scale([tests[place].quantiles["simulation"] for place in places])[:, [0, -1]]
    certain = np.ptp(simulated, axis=1) < 1.0
    return corrected[certain], simulated[certain], waits[certain]


def share_inside(ends: np.ndarray, waits: np.ndarray) -> float:
    return float(np.mean((ends[:, 0] <= waits) & (waits <= ends[:, 1])))


def test_intervals_are_about_as_narrow_as_those_of_a_right_simulation() -> None:
    corrected, simulated, waits = scaled_intervals(0.0)
    assert 0.85 <= share_inside(simulated, waits) <= share_inside(corrected, waits)
    # By the misses of all jobs they would be fifty times as wide: in half of them their deviation is 1.5, not 0.02.
    assert np.median(np.ptp(corrected, axis=1)) < 5 * np.median(np.ptp(simulated, axis=1))


def test_intervals_of_a_wrong_simulation_are_those_of_its_misses() -> None:
    corrected, simulated, waits = scaled_intervals(4.0)
    assert share_inside(simulated, waits) < 0.05
    assert share_inside(corrected, waits) > 0.85


@pytest.mark.parametrize("starts_known", [True, False])
def test_an_answer_is_pooled_by_the_starts_known_by_then(starts_known: bool) -> None:
    trace = schedule_trace(random_jobs(1, 150, exact=False))
    past = Past(trace, NODES)
    state = past.state(float(past.queued[100]), 100)
    job = next(job for job in state.waiting if job.submit == state.at)
    shift = state.at + (-1e9 if starts_known else 1.0)
    tests = [replace(test, at=test.at + shift) for test in simulated_tests(200, 0.0, 2)]
    corrected = TrackRecord(tests, PastWaits(past)).correct(state, job, [3000.0, 3010.0, 3020.0, 3030.0, 3040.0])
    assert corrected is not None
    low, *_, high = corrected.report_quantiles()
    assert (2900.0 < low < high < 3200.0) == starts_known
