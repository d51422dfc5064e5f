"""What holds by construction is shown with its reason, and takes part in no count, correction or belief."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from holdfast.experiments.study.experiment import Tables, all_experiments, judge_experiment
from holdfast.experiments.study.report import verdict_pages
from holdfast.experiments.study.report.answers import Judgement
from holdfast.experiments.study.report.content import Tally
from holdfast.experiments.study.report.importance import belief, groups
from holdfast.experiments.study.reproduction import Done
from holdfast.experiments.study.rules import Decision, Outcome
from holdfast.experiments.study.verdicts import (
    COLUMNS,
    Statement,
    Verdict,
    correct_p_values,
    remaining_decisions,
    text,
    verdict_row,
)
from tests.support.alterations import never_flips

REASON = "the law is written down from this formula"
#: Claims that hold by construction, how many of each experiment; profiles-fig12 has one with measured data.
CONSTRUCTED = {
    "checkpoint-intro": 1,
    "checkpoint-table1": 9,
    "checkpoint-table3": 3,
    "checkpoint-fig3": 3,
    "checkpoint-fig4": 2,
    "hybrid-fig1": 4,
    "hybrid-fig2": 4,
    "hybrid-table1": 5,
    "hybrid-table3": 5,
    "incomplete-fig3": 1,
    "incomplete-fig4": 3,
}
#: Experiments that take long.
SIZES = {
    "checkpoint-table1": pytest.mark.system,
    "incomplete-fig3": pytest.mark.system,
    "incomplete-fig4": pytest.mark.slow,
}


def verdict(outcome: Outcome, construction: str = REASON, p_value: float | None = 0.04) -> Verdict:
    statement = Statement(f"{outcome} {bool(construction)}", "f(t)", text("1"), construction)
    return statement.verdict(Decision(outcome, p_value), "holds if it is so", "so")


def entry(*verdicts: Verdict) -> Done:
    return Done("checkpoint-table1", {}, correct_p_values(verdicts))


def test_it_counts_nowhere() -> None:
    built, plain = verdict(Outcome.HOLDS), verdict(Outcome.HOLDS, "", 0.001)
    both = entry(built, plain, plain)
    assert (Tally.of([both]).holds, Tally.of([both]).construction) == (2, 1)
    assert Tally.of([both]).words == "2 statements hold; 1 more holds by construction"
    # The family of Holm's correction has two members, not three.
    assert both.verdicts[0].adjusted is None
    assert [item.adjusted for item in both.verdicts[1:]] == [0.002, 0.002]
    assert remaining_decisions(both.verdicts).startswith("Of 2 tests")
    assert belief([entry(built)]).words == "Nothing can be compared."
    assert [(group.title, len(group.found)) for group in groups([entry(built, plain)])] == [
        ("A paper says it, and it holds", 1),
        ("Holds by construction", 1),
    ]


@pytest.mark.parametrize("outcome", [Outcome.FAILS, Outcome.UNDECIDED])
def test_what_does_not_hold_counts_whatever_was_expected(outcome: Outcome) -> None:
    """Then the code is wrong, or the reason is."""
    broken = verdict(outcome)
    assert not broken.by_construction and broken.counted_as == outcome
    tally = Tally.of([entry(broken)])
    assert (tally.fails + tally.undecided, tally.construction) == (1, 0)


def test_pages_and_files_show_the_reason() -> None:
    own, other = (Judgement.from_verdict(verdict(outcome)) for outcome in (Outcome.HOLDS, Outcome.FAILS))
    assert (own.outcome, own.construction) == ("holds by construction", REASON)
    assert (other.outcome, other.construction) == ("does not hold", "")
    assert f"| **holds by construction**; {REASON}; holds if it is so" in verdict_pages._row(own, with_printed=True)
    assert verdict_row(verdict(Outcome.HOLDS))["construction"] == REASON and "construction" in COLUMNS


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=SIZES.get(name, ())) for name in sorted(CONSTRUCTED)],
)
def test_these_hold_by_construction(name: str, quick_tables: Callable[[str], Tables]) -> None:
    """And tables of a wrong code, or altered ones, still refute them."""
    item, tables = all_experiments()[name], quick_tables(name)
    built = {found.claim for found in judge_experiment(item, tables) if found.construction}
    assert len(built) == CONSTRUCTED[name]
    assert never_flips(item, tables, lambda claim: claim not in built) == []
