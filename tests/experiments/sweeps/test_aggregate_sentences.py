"""Sentences that answer comparisons over seeds."""

from __future__ import annotations

from typing import Any

from holdfast.experiments.sweeps.aggregate_sentences import (
    best_configuration_sentence,
    decided_differences_sentence,
    starvation_sentence,
)


def means(metric: str, *values: float | None) -> list[dict[str, Any]]:
    return [
        {"order": name, "metric": metric, "n": 3, "mean": value, "low": None, "high": None}
        for name, value in zip("abc", values, strict=False)
    ]


def differences(*verdicts: str | None) -> list[dict[str, Any]]:
    return [
        {"order": name, "against": "fcfs", "metric": "wait_h", "n": 3, "difference": 1.0, "verdict": verdict}
        for name, verdict in zip("abc", verdicts, strict=False)
    ]


def test_the_best_is_the_least_wait_and_the_largest_share() -> None:
    assert best_configuration_sentence(means("wait_h", 2.0, 1.0, 3.0)) == (
        "Best by mean wait: 1.0 h with b; worst: 3.0 h with c."
    )
    assert best_configuration_sentence(means("instant_start_ratio", 0.5, 0.9), ["instant_start_ratio"]) == (
        "Best by share of on-demand jobs started instantly: 90.0 % with b; worst: 50.0 % with a."
    )


def test_no_sentence_without_a_difference_or_a_direction() -> None:
    assert best_configuration_sentence(means("wait_h", 1.0, 1.0)) == ""
    assert best_configuration_sentence(means("wait_h", 1.0, None)) == ""
    assert best_configuration_sentence(means("jobs", 1.0, 2.0), ["jobs"]) == ""
    assert decided_differences_sentence(differences(None, None)) == ""


def test_differences_are_listed_by_verdict() -> None:
    assert decided_differences_sentence(differences("worse", "undecided", "better")) == (
        "Compared with fcfs, the mean wait is better with c; worse with a; undecided with b."
    )


def test_starvation_is_named_for_each_configuration_that_has_it_the_worst_first() -> None:
    rows = [*means("wait_h", 9.0, 9.0, 9.0), *means("starved", 0.5, 0.0, 12.0)]
    assert starvation_sentence(rows).replace("\n", " ") == (
        "starved, mean over the runs: 12 jobs with c and 0.5 jobs with a started more than a week after the first "
        "start of a later job"
    )
    assert starvation_sentence(means("starved", 0.0, 0.0, None)) == ""
    assert starvation_sentence(means("wait_h", 9.0)) == ""
