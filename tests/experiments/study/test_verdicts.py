"""Rules: each outcome can come out, as often as the level says; Holm's correction is the printed example."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from holdfast.experiments.statistics import Interval, binomial, geometric_ratio, holm, interval
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
    either,
    together,
)
from holdfast.experiments.study.verdicts import (
    HYPOTHESIS,
    Source,
    Statement,
    Verdict,
    correct_p_values,
    format_p,
    reference,
    remaining_decisions,
    table,
    verdict_row,
)

HOLDS, FAILS, UNDECIDED = Outcome.HOLDS, Outcome.FAILS, Outcome.UNDECIDED
NOT_COMPARABLE = Decision(Outcome.NOT_COMPARABLE)
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


@pytest.mark.parametrize(
    ("rule", "at_low", "at_high"),
    [(Above, UNDECIDED, FAILS), (Below, FAILS, UNDECIDED), (AtLeast, HOLDS, UNDECIDED), (AtMost, UNDECIDED, HOLDS)],
)
def test_an_end_of_an_interval_at_the_level(rule: type[Above], at_low: Outcome, at_high: Outcome) -> None:
    # Bounds without a standard error have no test.
    assert [rule(level).decide(Interval(2.0, 1.0, 3.0)) for level in (1.0, 3.0)] == [
        Decision(at_low),
        Decision(at_high),
    ]


def test_an_end_of_an_interval_at_the_margin() -> None:
    found = interval([-1.0, 1.0, -2.0, 2.0])
    assert Near(0.0, found.at(0.9).high).decide(found).outcome is HOLDS
    # An interval that touches what it should avoid is not outside.
    assert [Near(end, 0.0).decide(found).outcome for end in (found.low, found.high)] == [UNDECIDED, UNDECIDED]
    same = interval([1.0, 1.0, 1.0])
    assert [Near(value, 0.5).decide(same) for value in (0.5, 1.5)] == [Decision(HOLDS)] * 2
    assert [Near(value, 0.5).decide(same) for value in (0.25, 1.75)] == [Decision(FAILS)] * 2


def test_rules_say_their_level_in_its_unit_and_how_far_means_are() -> None:
    means = np.array([0.25, 0.625])
    for rule, words, slack in (
        (Above(0.5, "it", "%", 100.0), "lies above 50 %, does not hold if it lies below", [-0.25, 0.125]),
        (Below(0.5, "it", "%", 100.0), "lies below 50 %, does not hold if it lies above", [0.25, -0.125]),
        (
            AtLeast(0.5, "it", "%", 100.0),
            "lies at or above 50 %, does not hold if it lies wholly below",
            [-0.25, 0.125],
        ),
        (AtMost(0.5, "it", "%", 100.0), "lies at or below 50 %, does not hold if it lies wholly above", [0.25, -0.125]),
    ):
        assert rule.words == f"holds if the 95 % interval of it {words}"
        assert rule.slack(means).tolist() == slack
    assert Near(0.5, 0.125, "it", "%", 100.0).words.startswith(
        "holds if the 90 % interval of it lies within 50 +- 12.5 % "
    )
    assert Near(0.5, 0.125).slack(means).tolist() == [-0.125, 0.0]
    assert Digits("0.5").slack(means) == pytest.approx([-0.2, -0.075])


def test_p_values_are_those_of_scipy() -> None:
    rng = np.random.default_rng(5)
    values = rng.normal(1.0, 2.0, 12)
    found = interval(values)
    assert Above().decide(found).p_value == pytest.approx(stats.ttest_1samp(values, 0.0).pvalue)
    one_sided = [
        stats.ttest_1samp(values, level, alternative=way).pvalue for level, way in ((-4, "greater"), (4, "less"))
    ]
    assert Near(0.0, 4.0).decide(found).p_value == pytest.approx(max(one_sided))
    # A refutation is two-sided, and what is undecided has the smaller of both p-values.
    for wide, value, margin, tests in (
        (SURE, 20.0, 2.0, ((18.0, "less", 2.0),)),
        (SURE, 0.0, 2.0, ((2.0, "greater", 2.0),)),
        (SURE, 11.3, 2.0, ((9.3, "greater", 1.0),)),
        (UNSURE, 40.0, 1.0, ((39.0, "less", 2.0),)),
    ):
        (least,) = (factor * stats.ttest_1samp(wide, level, alternative=way).pvalue for level, way, factor in tests)
        assert Near(value, margin).decide(interval(wide)).p_value == pytest.approx(least)
    assert Near(11.0, 10.0).decide(interval(UNSURE)).p_value == pytest.approx(
        stats.ttest_1samp(UNSURE, 1.0, alternative="greater").pvalue
    )
    # One of two: no less probable on either side is 3 / 4, and twice as much is no probability.
    assert Above(0.5).decide(binomial(1, 2)) == Decision(UNDECIDED, 1.0)
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
    # As a number of the machine the difference is more than a half of the last digit.
    assert Digits("0.7").equal(0.75)
    assert not Digits("0.7").equal(0.7501)
    assert not Digits("0.7").equal(0.6499)
    assert Digits("1,234.5").equal(1234.54)
    assert [Digits("0.7").decide(Interval(value, 0.0, 1.0)) for value in (0.7, 0.8)] == [
        Decision(HOLDS),
        Decision(FAILS),
    ]


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
    # The numbers of statements are those of Holm, and 5 % is not below 5 %.
    assert together([Decision(FAILS, 0.02), good]) == Decision(FAILS, 0.04)
    assert together([Decision(FAILS, 0.02), good, good]) == Decision(UNDECIDED, 0.06)
    assert together([Decision(FAILS, 0.025), good]) == Decision(UNDECIDED, 0.05)
    assert together([Decision(FAILS, 0.7), good]) == Decision(UNDECIDED, 1.0)
    assert together([open_, Decision(UNDECIDED, 0.2), Decision(UNDECIDED), weak]) == Decision(UNDECIDED, 0.4)
    assert together([Decision(HOLDS), Decision(HOLDS)]) == Decision(HOLDS)
    assert together([good, NOT_COMPARABLE, bad]) == NOT_COMPARABLE
    with pytest.raises(ValueError, match="one or more"):
        together([])


def test_either_needs_one_and_all_refute() -> None:
    held, weak, failed, worse = (
        Decision(*how) for how in ((HOLDS, 0.001), (HOLDS, 0.04), (FAILS, 0.01), (FAILS, 0.02))
    )
    assert either([held, failed]) == Decision(HOLDS, 0.002)
    assert either([weak, failed]) == Decision(UNDECIDED, 0.08)
    assert either([Decision(HOLDS, 0.025), failed]) == Decision(UNDECIDED, 0.05)  # 5 % is not below 5 %
    assert either([Decision(HOLDS, 0.7), Decision(HOLDS, 0.8)]) == Decision(UNDECIDED, 1.0)
    assert either([Decision(HOLDS), failed]) == Decision(HOLDS)
    assert either([failed, worse]) == Decision(FAILS, 0.02)
    assert either([Decision(UNDECIDED, 0.4), failed]) == Decision(UNDECIDED, 0.4)
    assert either([NOT_COMPARABLE, held]) == NOT_COMPARABLE


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
    assert "Of 4 tests, 2 decide" in remaining_decisions(verdicts)
    assert "leaves 2 (1 holds, 1 does not hold)" in remaining_decisions(verdicts)
    assert verdict_row(verdicts[0])["source"] == "hypothesis"


def test_no_verdict_is_without_a_rule() -> None:
    statement = Statement("it is above", "more", HYPOTHESIS)
    for rule in ("", "it is so"):
        with pytest.raises(ValueError, match='begins with "holds if "'):
            statement.exact_verdict(True, rule, "1")


def test_a_source_names_its_place() -> None:
    assert str(table("II")) == "Table II"
    assert str(reference("the recursion")) == "own reference: the recursion"
    assert str(Source("abstract", how="counted")) == "abstract, counted"


def test_a_statement_is_judged_in_its_own_words() -> None:
    statement = Statement("it is above", "41.50", HYPOTHESIS)
    one, two = ({str(place): interval(SURE) for place in range(count)} for count in (1, 2))
    words = Above(5.0).words
    assert statement.each(Above(5.0), one, "10").rule == words
    both = statement.each(Above(5.0), two, "10", "twice")
    assert (both.rule, both.remark) == (f"{words}; each of 2, refuted by one after Holm", "twice")
    assert both.p_value == pytest.approx(stats.ttest_1samp(SURE, 5.0).pvalue)
    assert [statement.exact(value).outcome for value in (41.504, 41.52)] == [HOLDS, FAILS]
    assert [statement.exact(1234.5678, text).measured for text in ("", "12")] == ["1,234.57", "12"]


def test_what_holds_by_construction_is_no_test() -> None:
    statement = Statement("it is above", "more", HYPOTHESIS, "nothing else can be")
    holds, fails = (statement.verdict(Decision(outcome, 0.01), "holds if so", "1") for outcome in (HOLDS, FAILS))
    assert holds.outcome_words == "holds by construction: nothing else can be"
    assert fails.outcome_words == "does not hold"
    assert statement.open("nothing was measured").outcome_words == "not comparable"
    weak = Statement("it is wide", "more", HYPOTHESIS).verdict(Decision(HOLDS, 0.03), "holds if so", "1")
    verdicts = correct_p_values([holds, fails, weak])
    assert [verdict.adjusted for verdict in verdicts] == [None, pytest.approx(0.02), pytest.approx(0.03)]
    assert remaining_decisions(verdicts) == (
        "Of 2 tests, 2 decide at 5 % each; Holm's correction for their number leaves 2 (1 holds, 1 does not hold)."
    )
    assert remaining_decisions(verdicts[:2]) == ""


def test_p_values_have_two_digits_and_survive_below_five_per_cent() -> None:
    statement = Statement("it is above", "more", HYPOTHESIS)

    def verdict(outcome: Outcome, p_value: float | None, adjusted: float | None) -> Verdict:
        return replace(statement.verdict(Decision(outcome, p_value), "holds if so", "1"), adjusted=adjusted)

    assert format_p(verdict(HOLDS, None, None)) == ""
    assert format_p(verdict(HOLDS, 0.0001, None)) == "p = 0.0001"
    assert format_p(verdict(HOLDS, 0.00009, 0.0123)) == "p < 0.0001, 0.012 after Holm"
    assert [verdict(HOLDS, 0.01, adjusted).survives for adjusted in (0.049, 0.05, None)] == [True, False, True]
    assert not verdict(UNDECIDED, 0.01, 0.01).survives
    open_ = verdict(UNDECIDED, 0.4, None)
    assert remaining_decisions([verdict(FAILS, 0.01, 0.02), open_]) == (
        "Of 2 tests, 1 decides at 5 % each; Holm's correction for their number leaves 1 (0 hold, 1 does not hold)."
    )
    refuted = [verdict(FAILS, 0.001, 0.002)] * 2
    assert remaining_decisions(refuted).endswith("leaves 2 (0 hold, 2 do not hold).")
    assert remaining_decisions([open_, open_]).startswith("Of 2 tests, 0 decide at 5 % each;")
