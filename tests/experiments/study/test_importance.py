"""The findings of the report: which come first, and what is said to believe."""

from __future__ import annotations

import pytest

from holdfast.experiments.study.experiment import all_experiments
from holdfast.experiments.study.publications import PUBLICATIONS, paper_key
from holdfast.experiments.study.report.importance import belief, groups
from holdfast.experiments.study.reproduction import Done
from holdfast.experiments.study.rules import Decision, Outcome
from holdfast.experiments.study.verdicts import HYPOTHESIS, Source, Statement, Verdict, correct_p_values, text

PAPER = text("V")


def told(claim: str, outcome: Outcome, p_value: float | None = None, source: Source = PAPER) -> Verdict:
    return Statement(claim, "more", source).verdict(Decision(outcome, p_value), "holds if it is", "1")


def done(name: str, *verdicts: Verdict) -> Done:
    return Done(name, {}, correct_p_values(verdicts))


DONE = [
    done("beyond-min-size", told("own wrong", Outcome.FAILS, 0.001, HYPOTHESIS), told("open", Outcome.NOT_COMPARABLE)),
    done("checkpoint-fig3", told("minor wrong", Outcome.FAILS), told("right", Outcome.HOLDS)),
    done("checkpoint-fig8", told("surest wrong", Outcome.FAILS, 1e-9), told("wrong", Outcome.FAILS, 1e-4)),
    done("hybrid-fig6", told("shared", Outcome.FAILS, 0.001)),
    done("hybrid-obs", told("shared", Outcome.FAILS, 0.001), told("weak", Outcome.HOLDS, 0.04),
         told("?", Outcome.UNDECIDED, 0.4)),
]  # fmt: skip


def test_what_contradicts_a_paper_comes_first_and_papers_take_turns() -> None:
    found = {group.title: [item.verdict.claim for item in group.found] for group in groups(DONE)}
    assert list(found.items()) == [
        ("A paper says it, and it does not hold", ["shared", "surest wrong", "wrong", "minor wrong"]),
        ("A paper says it, and it holds", ["right"]),
        ("We expected it, and it does not hold", ["own wrong"]),
        ("Decided alone, but not after Holm's correction", ["weak"]),
        ("Undecided", ["?"]),
        ("Not comparable", ["open"]),
    ]


def test_a_statement_of_several_experiments_is_one_finding() -> None:
    shared = groups(DONE)[0].found[0]
    assert shared.names == ("hybrid-obs", "hybrid-fig6")
    assert sum(len(group.found) for group in groups(DONE)) == sum(len(item.verdicts) for item in DONE) - 1
    # Two outcomes are two findings.
    other = [*DONE, done("hybrid-fig7", told("shared", Outcome.HOLDS))]
    assert sum(item.verdict.claim == "shared" for group in groups(other) for item in group.found) == 2


def test_only_the_first_decided_ones_are_shown_at_once() -> None:
    found = groups(DONE)
    assert [len(group.first) for group in found] == [3, 1, 1, 0, 0, 0]
    assert all([*group.first, *group.rest] == list(group.found) for group in found)


@pytest.mark.parametrize(
    ("names", "words", "holds", "fails"),
    [
        (("hybrid-fig6", "hybrid-obs"), "Nothing of what is decided holds: 0 of 1 statements. 2 of 3 are open.", None,
         "shared"),
        (("checkpoint-fig3", "checkpoint-fig8"), "Less than half of what is decided holds: 1 of 4 statements.",
         "right", "surest wrong"),
    ],
)  # fmt: skip
def test_what_to_believe_is_counted(names: tuple[str, ...], words: str, holds: str | None, fails: str) -> None:
    found = belief([item for item in DONE if item.id in names])
    assert found.words == words
    assert (found.holds.verdict.claim if found.holds else None) == holds
    assert found.fails is not None
    assert found.fails.verdict.claim == fails


def test_nothing_is_believed_of_nothing() -> None:
    assert belief([done("hybrid-fig1", told("open", Outcome.NOT_COMPARABLE))]).words == "Nothing can be compared."
    assert belief([done("hybrid-fig1", told("?", Outcome.UNDECIDED))]).words == "Nothing is decided: 1 of 1 is open."


def test_the_main_experiments_are_known() -> None:
    main = [name for paper in PUBLICATIONS.values() for name in paper.main]
    assert set(main) <= set(all_experiments())
    assert all(paper_key(name) == paper.key for paper in PUBLICATIONS.values() for name in paper.main)
