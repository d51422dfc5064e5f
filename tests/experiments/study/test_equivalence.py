"""Equivalence: the 90 % interval decides that a mean is near, the 95 % interval that it is not."""

from __future__ import annotations

import pytest
from scipy import stats

from holdfast.experiments.statistics import interval
from holdfast.experiments.study.rules import Near, Outcome

#: Twenty values, and what one has to add to their mean for 90 % and for 95 % of chance.
VALUES = [float(place % 5) for place in range(20)]
HALVES = {level: float(stats.sem(VALUES) * stats.t.ppf(0.5 + level / 2, len(VALUES) - 1)) for level in (0.90, 0.95)}


@pytest.mark.parametrize(
    ("margin", "outcome"),
    [
        (0.99 * HALVES[0.90], Outcome.UNDECIDED),
        (1.01 * HALVES[0.90], Outcome.HOLDS),  # the 95 % interval is wider than the margin
        (0.99 * HALVES[0.95], Outcome.HOLDS),
        (1.01 * HALVES[0.95], Outcome.HOLDS),
    ],
)
def test_two_one_sided_tests_at_five_per_cent_are_the_90_per_cent_interval(margin: float, outcome: Outcome) -> None:
    decision = Near(2.0, margin).decide(interval(VALUES))
    assert decision.outcome is outcome
    # The p-value is that of the test which is passed less clearly.
    t = margin / stats.sem(VALUES)
    if outcome is Outcome.HOLDS:
        assert decision.p_value == pytest.approx(stats.t.sf(t, len(VALUES) - 1))
        assert decision.p_value < 0.05


@pytest.mark.parametrize("side", [-1, 1])
@pytest.mark.parametrize(
    ("beyond", "outcome"),
    [
        (0.99 * HALVES[0.90], Outcome.UNDECIDED),
        (0.99 * HALVES[0.95], Outcome.UNDECIDED),  # the 90 % interval lies outside
        (1.01 * HALVES[0.95], Outcome.FAILS),
    ],
)
def test_a_mean_is_far_when_the_95_per_cent_interval_lies_outside(side: int, beyond: float, outcome: Outcome) -> None:
    margin = 0.1
    assert Near(2.0 + side * (margin + beyond), margin).decide(interval(VALUES)).outcome is outcome
