"""Equivalence: the 90 % interval decides that a mean is near, the 95 % interval that it is not; verdicts on bounds."""

from __future__ import annotations

import pytest
from scipy import stats

from holdfast.experiments.statistics import interval
from holdfast.experiments.study.equivalence import POINTS, ROUNDING, SHARE, close, count, most, reaches
from holdfast.experiments.study.rules import Near, Outcome
from holdfast.experiments.study.verdicts import HYPOTHESIS, Statement

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


STATEMENT = Statement("it is so", "5 %", HYPOTHESIS)
HOLDS, FAILS, UNDECIDED = Outcome.HOLDS, Outcome.FAILS, Outcome.UNDECIDED


@pytest.mark.parametrize(
    ("value", "outcome"), [(0.95, HOLDS), (1.0, HOLDS), (1.05, HOLDS), (0.9499, FAILS), (1.0501, FAILS)]
)
def test_a_computed_value_is_within_its_margin(value: float, outcome: Outcome) -> None:
    # As numbers of the machine 1.05 - 1 is more than 0.05.
    verdict = close(STATEMENT, value, 1.0, 0.05, "it", "a remark", unit="%", scale=100.0)
    assert (verdict.outcome, verdict.remark) == (outcome, "a remark")
    assert verdict.rule == "holds if the computed value is within 100 +- 5 %"


def test_margins_of_printed_values() -> None:
    # 5 % of a level, 3 points of a percentage, and half of the last digit of whole per cents.
    assert [close(STATEMENT, value, 20.0, SHARE * 20.0, "").outcome for value in (20.9, 21.1)] == [HOLDS, FAILS]
    assert [close(STATEMENT, value, 0.5, POINTS, "").outcome for value in (0.529, 0.531)] == [HOLDS, FAILS]
    assert [most(STATEMENT, value, 0.05 + ROUNDING, "it", "").outcome for value in (0.054, 0.056)] == [HOLDS, FAILS]
    assert close(STATEMENT, 1.0, 2.0, 0.5, "").rule == "holds if the computed value is within 2 +- 0.5"


def test_bounds_and_counts_hold_at_their_ends() -> None:
    assert [most(STATEMENT, value, 0.5, "it", "").outcome for value in (0.4, 0.5, 0.6)] == [HOLDS, HOLDS, FAILS]
    assert [reaches(STATEMENT, value, 0.5, "it", "").outcome for value in (0.4, 0.5, 0.6)] == [FAILS, HOLDS, HOLDS]
    counts = {(3, 3): HOLDS, (1, 1): HOLDS, (2, 3): FAILS, (4, 3): FAILS, (0, 0): FAILS}
    assert [count(STATEMENT, *numbers, "it is so").outcome for numbers in counts] == list(counts.values())
    verdict = count(STATEMENT, 2, 3, "it is so", "the others wait")
    assert (verdict.rule, verdict.measured) == ("holds if it is so for all 3", "2 of 3 (the others wait)")
