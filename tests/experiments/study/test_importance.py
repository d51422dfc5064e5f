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


def verdict(claim: str, outcome: Outcome, p_value: float | None = None, source: Source = PAPER) -> Verdict:
    return Statement(claim, "more", source).verdict(Decision(outcome, p_value), "holds if it is", "1")


def entry(name: str, *verdicts: Verdict) -> Done:
    return Done(name, {}, correct_p_values(verdicts))


DONE = [
    entry("beyond-min-size", verdict("own wrong", Outcome.FAILS, 0.001, HYPOTHESIS),
         verdict("open", Outcome.NOT_COMPARABLE)),
    entry("checkpoint-fig3", verdict("minor wrong", Outcome.FAILS), verdict("right", Outcome.HOLDS)),
    entry("checkpoint-fig8", verdict("surest wrong", Outcome.FAILS, 1e-9), verdict("wrong", Outcome.FAILS, 1e-4)),
    entry("hybrid-fig6", verdict("shared", Outcome.FAILS, 0.001)),
    entry("hybrid-obs", verdict("shared", Outcome.FAILS, 0.001), verdict("weak", Outcome.HOLDS, 0.04),
         verdict("?", Outcome.UNDECIDED, 0.4)),
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
    other = [*DONE, entry("hybrid-fig7", verdict("shared", Outcome.HOLDS))]
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
    assert belief([entry("hybrid-fig1", verdict("open", Outcome.NOT_COMPARABLE))]).words == "Nothing can be compared."
    assert (
        belief([entry("hybrid-fig1", verdict("?", Outcome.UNDECIDED))]).words == "Nothing is decided: 1 of 1 is open."
    )


def test_the_main_experiments_are_known() -> None:
    main = [name for paper in PUBLICATIONS.values() for name in paper.main]
    assert set(main) <= set(all_experiments())
    assert all(paper_key(name) == paper.key for paper in PUBLICATIONS.values() for name in paper.main)
