"""Quantiles of waits, their scale, and the distribution function through them, by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest

from holdfast.experiments.forecast.experts import LEVELS
from holdfast.experiments.forecast.wait_quantiles import (
    SHORTEST,
    STEPS,
    WaitQuantiles,
    cdf_knots,
    from_scale,
    to_scale,
)


def test_the_scale_is_the_logarithm_of_a_minute_more() -> None:
    times = [0.0, 60.0, 3540.0]
    assert to_scale(times) == pytest.approx([math.log(60.0), math.log(120.0), math.log(3600.0)])
    assert from_scale(to_scale(times)) == pytest.approx(times)
    # No wait is less than none.
    assert (to_scale(-5.0), from_scale(np.array(3.0))) == (SHORTEST, 0.0)
    assert pytest.approx(math.log(60.0)) == SHORTEST


def test_steps_are_twentieths_and_hold_the_levels_of_reports() -> None:
    assert pytest.approx([0.05 * number for number in range(1, 20)]) == STEPS
    found = WaitQuantiles(STEPS, [float(number) for number in range(1, 20)])
    assert dict(zip(LEVELS, found.report_quantiles(), strict=True)) == {
        0.05: 1.0,
        0.25: 5.0,
        0.5: 10.0,
        0.75: 15.0,
        0.95: 19.0,
    }


def test_the_function_goes_on_with_the_slope_inside() -> None:
    # To 0 by a quarter of the first distance, and to 1 by two thirds of the last.
    levels, one, other = (0.1, 0.5, 0.8), [5.0, 7.0, 10.0], [6.0, 6.0, 7.5]
    knots = cdf_knots(np.array(one), levels)
    assert knots.places == pytest.approx([4.5, 5.0, 7.0, 10.0, 12.0])
    assert knots.shares.tolist() == [0.0, 0.1, 0.5, 0.8, 1.0]
    both = cdf_knots(np.array([one, other]).T, levels)
    assert pytest.approx(np.array([[4.5, 5.0, 7.0, 10.0, 12.0], [6.0, 6.0, 6.0, 7.5, 8.5]])) == both.places.T
    assert (np.diff(both.places, axis=0) > 0).all()


def test_the_share_of_starts_within_a_time() -> None:
    found = WaitQuantiles((0.1, 0.5, 0.8), from_scale(np.array([5.0, 7.0, 10.0])).tolist())
    shares = [found.share(float(from_scale(np.array(place)))) for place in (4.4, 4.75, 6.0, 11.0, 13.0)]
    assert shares == pytest.approx([0.0, 0.05, 0.3, 0.9, 1.0])
    # Half of the jobs start at once, and none before.
    at_once = WaitQuantiles((0.25, 0.5, 0.75), (0.0, 0.0, 600.0))
    assert (at_once.share(-1e-6), at_once.share(0.0), at_once.share(1e-6)) == (0.0, *[pytest.approx(0.5)] * 2)
    in_an_hour = WaitQuantiles((0.2, 0.4, 0.6, 0.8), (600.0, 3600.0, 3600.0, 7200.0))
    assert in_an_hour.share(3600.0) == pytest.approx(0.6)


def test_the_share_of_starts_before_a_time() -> None:
    at_once = WaitQuantiles((0.25, 0.5, 0.75), (0.0, 0.0, 600.0))
    assert at_once.share_before(0.0) == 0.0
    assert at_once.share_before(1e-6) == pytest.approx(0.5)
    in_an_hour = WaitQuantiles((0.2, 0.4, 0.6, 0.8), (600.0, 3600.0, 3600.0, 7200.0))
    assert in_an_hour.share_before(3600.0) == pytest.approx(0.4)
    assert in_an_hour.share_before(5000.0) == pytest.approx(in_an_hour.share(5000.0))
