"""Medians joined by their past errors, worked out by hand."""

from __future__ import annotations

import numpy as np
import pytest

from holdfast.experiments.forecast import corrector
from holdfast.experiments.forecast.correction import replay
from holdfast.experiments.forecast.experts import EXPERTS, LEVELS
from holdfast.experiments.forecast.median_errors import MedianErrors, join_medians
from holdfast.experiments.forecast.track_record import BackTest, _evidence, correct_past
from holdfast.experiments.forecast.wait_quantiles import STEPS, to_scale

#: Corrected quantiles, 2, 3 and 6 at the levels 0.25, 0.5 and 0.75, and medians of three experts.
QUANTILES = np.interp(STEPS, (0.05, 0.25, 0.5, 0.75, 0.95), (1.0, 2.0, 3.0, 6.0, 8.0))
MEDIANS = np.array([5.0, 4.0, 90.0])


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
        (past(1e9, 0.0, 0.0, 1e9, starts=50.0), 4.5),
        # The last ones count.
        (MedianErrors(np.repeat([[1e9, 0, 0, 1e9], [1e9, 1e9, 0, 1e9]], [300, 160], axis=0), np.zeros(460)), 4.0),
        # The median of the last 160 errors of the first expert is between 0 and 1e9; with one more it would be 1e9.
        (MedianErrors(np.repeat([[5e8, 1e9, 1e20, 1e20], [5e8, 0, 1e20, 1e20]], [81, 80], axis=0), np.zeros(161)), 4.0),
    ],
)
def test_near_medians_weigh_more(known: MedianErrors, median: float) -> None:
    joined = join_medians(QUANTILES, MEDIANS, known, 50.0)
    middle = STEPS.index(0.5)
    assert joined[middle] == pytest.approx(median)
    # Quantiles that the median passes move with it.
    assert joined[:middle] == pytest.approx(np.minimum(QUANTILES[:middle], median))
    assert joined[middle + 1 :] == pytest.approx(np.maximum(QUANTILES[middle + 1 :], median))


def test_medians_move_and_intervals_do_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(corrector, "simulation_weight", lambda *_: 0.0)
    monkeypatch.setattr(corrector, "calibrate_intervals", lambda quantiles, *_: quantiles)
    rng = np.random.default_rng(0)
    tests = []
    for number in range(120):
        expert_quantiles = {name: tuple(np.sort(rng.lognormal(8.0, 1.0, len(LEVELS))).tolist()) for name in EXPERTS}
        tests.append(BackTest(1e6 * number, 0.0, float(rng.lognormal(8.0, 1.0)), expert_quantiles))
    places, corrected = correct_past(tests)
    same, before = replay(_evidence(tests))
    assert same == places
    quantiles = to_scale([found.seconds for found in corrected])
    outer = [place for place, level in enumerate(STEPS) if abs(level - 0.5) >= 0.25]
    assert np.allclose(quantiles[:, outer], before[:, outer])
    middle = STEPS.index(0.5)
    moved = np.abs(quantiles[:, middle] - before[:, middle]) > 1e-9
    # The first ten have too few before them.
    assert not moved[:10].any()
    assert moved[10:].mean() > 0.9
    assert (np.diff(quantiles, axis=1) >= -1e-9).all()
    assert [found.report_quantiles() for found in corrected] == [
        [row[STEPS.index(level)] for level in LEVELS] for row in (found.seconds for found in corrected)
    ]
