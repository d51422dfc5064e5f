"""Rules: each outcome can come out, as often as the level says; Holm's correction is the printed example."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from scipy import stats

from holdfast.experiments.statistics import geometric_ratio, holm, interval
from holdfast.experiments.study.rules import (
    Above,
    AtLeast,
    AtMost,
    Below,
    Decision,
    Digits,
    Near,
    Outcome,
    Rule,
    together,
)
from holdfast.experiments.study.verdicts import HYPOTHESIS, Statement, correct_p_values, remaining, verdict_row

HOLDS, FAILS, UNDECIDED = Outcome.HOLDS, Outcome.FAILS, Outcome.UNDECIDED
SURE, UNSURE = np.array([9.0, 10.0, 11.0, 10.0]), np.array([-20.0, 10.0, 40.0, 10.0])


@pytest.mark.parametrize(
    ("rule", "level", "expected"),
    [
        (Above(5.0), 0.0, (HOLDS, UNDECIDED)),
        (Above(15.0), 0.0, (FAILS, UNDECIDED)),
        (Below(15.0), 0.0, (HOLDS, UNDECIDED)),
        (Below(5.0), 0.0, (FAILS, UNDECIDED)),
        (AtLeast(5.0), 0.0, (HOLDS, UNDECIDED)),
        (AtLeast(15.0), 0.0, (FAILS, UNDECIDED)),
        (AtMost(15.0), 0.0, (HOLDS, UNDECIDED)),
        (AtMost(5.0), 0.0, (FAILS, UNDECIDED)),
        (Near(10.5, 2.0), 0.0, (HOLDS, UNDECIDED)),
        (Near(20.0, 2.0), 0.0, (FAILS, UNDECIDED)),
        # The printed value in a wide interval is no confirmation, outside a narrow one no refutation.
        (Near(11.3, 2.0), 0.0, (UNDECIDED, UNDECIDED)),
    ],
)
def test_rules_on_a_narrow_and_a_wide_interval(rule: Rule, level: float, expected: tuple[Outcome, Outcome]) -> None:
    found = [rule.decide(interval(values)) for values in (SURE, UNSURE)]
    assert tuple(item.outcome for item in found) == expected
    assert all((item.p_value < 0.05) == (item.outcome is not UNDECIDED) for item in found)  # type: ignore[operator]


def test_no_difference_at_all_is_no_direction_and_reaches_its_level() -> None:
    none = interval([0.0, 0.0, 0.0])
    assert Above().decide(none) == Below().decide(none) == Decision(FAILS)
    assert AtLeast().decide(none) == AtMost().decide(none) == Near(0.0, 0.1).decide(none) == Decision(HOLDS)


def test_p_values_are_those_of_scipy() -> None:
    rng = np.random.default_rng(5)
    values = rng.normal(1.0, 2.0, 12)
    found = interval(values)
    assert Above().decide(found).p_value == pytest.approx(stats.ttest_1samp(values, 0.0).pvalue)
    one_sided = [
        stats.ttest_1samp(values, level, alternative=way).pvalue for level, way in ((-4, "greater"), (4, "less"))
    ]
    assert Near(0.0, 4.0).decide(found).p_value == pytest.approx(max(one_sided))
    ratio = geometric_ratio(np.exp(values), np.ones(12))
    assert Above().decide(ratio).p_value == pytest.approx(stats.ttest_1samp(values, 0.0).pvalue)
    assert ratio.at(0.9).low == pytest.approx(np.expm1(interval(values, 0.9).low))


@pytest.mark.parametrize(("mean", "wrong"), [(1.0, HOLDS), (0.0, FAILS)])
def test_rules_err_as_seldom_as_they_say(mean: float, wrong: Outcome) -> None:
    rng = np.random.default_rng(6)
    # At the edge of the margin equivalence errs with 5 %; in its middle nothing is refuted.
    outcomes = Counter(Near(0.0, 1.0).decide(interval(rng.normal(mean, 1.0, 12))).outcome for _ in range(1000))
    assert outcomes[wrong] <= 50 + 4 * np.sqrt(1000 * 0.05 * 0.95)
    assert outcomes[wrong] >= (20 if wrong is HOLDS else 0)


def test_an_interval_is_cut_at_what_is_possible() -> None:
    found = interval([1.0, 0.9, 1.0, 0.8], bounds=(0.0, 1.0))
    assert found.high == 1.0
    assert found.low == interval([1.0, 0.9, 1.0, 0.8]).low
    assert found.at(0.999).high == 1.0


def test_digits_are_equal_as_far_as_they_are_printed() -> None:
    assert Digits("41.54").equal(41.5355)
    assert not Digits("41.54").equal(41.546)
    assert Digits("80").equal(80.4)
    assert not Digits("80.0").equal(80.4)


def test_each_needs_all_and_one_refutes() -> None:
    good, bad, weak, open_ = (
        Decision(*how) for how in ((HOLDS, 0.01), (FAILS, 0.001), (FAILS, 0.04), (UNDECIDED, 0.4))
    )
    assert together([good, Decision(HOLDS, 0.03)]) == Decision(HOLDS, 0.03)
    assert together([good, open_]).outcome is UNDECIDED
    assert together([good, bad]) == Decision(FAILS, 0.002)
    # One of two that is refuted at 4 % only may be so by chance.
    assert together([good, weak]).outcome is UNDECIDED
    assert together([good, Decision(FAILS)]) == Decision(FAILS)


def test_holm_is_the_textbook_and_tells_what_remains() -> None:
    # S. Holm's procedure on the p-values 0.01, 0.04, 0.03, 0.005 (e.g. R's p.adjust(method = "holm")).
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    statement = Statement("it is above", "more", HYPOTHESIS)
    verdicts = correct_p_values(
        [
            statement.judge(Above(), interval(SURE), "10"),
            statement.judge(Above(), interval(-SURE), "-10"),
            statement.judge(Above(), interval([0.1, 0.2, 3.0, 4.0, 2.1]), "2"),
            statement.judge(Above(), interval(UNSURE), "10"),
            statement.exact_verdict(True, "holds if it is so", "1"),
            statement.open("nothing was measured"),
        ]
    )
    assert [verdict.survives for verdict in verdicts] == [True, True, False, False, True, False]
    assert "Of 4 tests, 2 decide" in remaining(verdicts)
    assert "leaves 2 (1 holds, 1 does not hold)" in remaining(verdicts)
    assert verdict_row(verdicts[0])["source"] == "hypothesis"


def test_no_verdict_is_without_a_rule() -> None:
    statement = Statement("it is above", "more", HYPOTHESIS)
    for rule in ("", "it is so"):
        with pytest.raises(ValueError, match='begins with "holds if "'):
            statement.exact_verdict(True, rule, "1")
