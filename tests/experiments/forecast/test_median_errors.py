"""Medians joined by their past errors, worked out by hand."""

from __future__ import annotations

import numpy as np
import pytest

from holdfast.experiments.forecast.correction import Evidence, replay, to_scale
from holdfast.experiments.forecast.experts import EXPERTS, LEVELS
from holdfast.experiments.forecast.median_errors import MedianErrors, join_medians
from holdfast.experiments.forecast.track_record import BackTest, correct_past

#: Corrected quantiles, and medians of three experts.
QUANTILES = np.array([1.0, 2.0, 3.0, 6.0, 8.0])
FORECASTS = np.column_stack([np.zeros(3), np.zeros(3), [5.0, 4.0, 90.0], np.zeros(3), np.zeros(3)])


def past(*errors: float, count: int = 10, starts: float = 0.0) -> MedianErrors:
    return MedianErrors(np.tile(errors, (count, 1)), np.full(count, starts))


@pytest.mark.parametrize(
    ("known", "median"),
    [
        # With a minute more these errors are 1, 2, 3 minutes and very many.
        (past(0.0, 60.0, 120.0, 1e9), (3.0 + 5.0 / 4 + 4.0 / 9) / (1 + 1 / 4 + 1 / 9)),
        (past(1e9, 1e9, 0.0, 1e9), 4.0),
        (past(1e9, 0.0, 0.0, 1e9), 4.5),
        # The mean of 4 and 90 is beyond the interval around it.
        (past(1e9, 1e9, 0.0, 0.0), 6.0),
        # Too few are known at the time.
        (past(1e9, 0.0, 0.0, 1e9, count=9), 3.0),
        (past(1e9, 0.0, 0.0, 1e9, starts=51.0), 3.0),
        # The last ones count.
        (MedianErrors(np.repeat([[1e9, 0, 0, 1e9], [1e9, 1e9, 0, 1e9]], [300, 160], axis=0), np.zeros(460)), 4.0),
    ],
)
def test_near_medians_weigh_more(known: MedianErrors, median: float) -> None:
    joined = join_medians(QUANTILES, FORECASTS, LEVELS, known, 50.0)
    assert joined == pytest.approx([1.0, 2.0, median, 6.0, 8.0])


def test_only_medians_move_and_stay_between_their_neighbours() -> None:
    rng = np.random.default_rng(0)
    tests = []
    for number in range(120):
        told = {name: tuple(np.sort(rng.lognormal(8.0, 1.0, len(LEVELS))).tolist()) for name in EXPERTS}
        tests.append(BackTest(1e6 * number, 0.0, float(rng.lognormal(8.0, 1.0)), told))
    places, quantiles = correct_past(tests)
    forecasts = to_scale([[test.quantiles[name] for name in EXPERTS] for test in tests])
    waits, every = np.array([test.wait for test in tests]), np.ones(len(tests), dtype=bool)
    evidence = Evidence(forecasts, waits, every, 1e6 * np.arange(120.0), np.zeros((120, 2)))
    same, before, _ = replay(evidence, LEVELS)
    assert same == places
    assert np.allclose(to_scale(quantiles)[:, [0, 1, 3, 4]], before[:, [0, 1, 3, 4]])
    moved = np.abs(to_scale(quantiles)[:, 2] - before[:, 2]) > 1e-9
    # The first ten have too few before them.
    assert not moved[:10].any()
    assert moved[10:].mean() > 0.9
    assert (np.diff(quantiles, axis=1) >= -1e-9).all()
