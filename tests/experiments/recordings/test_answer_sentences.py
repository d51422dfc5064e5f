"""Sentences that answer comparisons: each verdict, harm, groups, and runs without differences."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from holdfast.experiments.recordings.answer_sentences import best_run_sentence, gains_sentence


def row(group: str = "all jobs", verdict: str = "gains", difference: float = -1.0, **others: Any) -> dict[str, Any]:
    values: Mapping[str, Any] = {
        "metric": "wait_h", "jobs": 10, "low": difference - 0.5, "high": difference + 0.5,
        "first_p99": 10.0, "second_p99": 10.0, "first_longest": 20.0, "second_longest": 20.0,
    }  # fmt: skip
    return {"group": group, "verdict": verdict, "difference": difference, **values, **others}


def sentence(*rows: Mapping[str, Any], by: str = "", unit: str = "h", scale: float = 1.0) -> str:
    return gains_sentence("fcfs", "sjf", rows, by, unit, scale, "week").replace("\n", " ")


@pytest.mark.parametrize(
    ("own", "expected"),
    [
        (row(), "The mean wait is shorter with sjf than with fcfs, by 1.00 [0.50, 1.50] h."),
        (
            row(second_longest=30.0),
            "The mean wait is shorter with sjf than with fcfs, by 1.00 [0.50, 1.50] h, but the longest wait is 30.0 in "
            "place of 20.0 h.",
        ),
        # A tenth more is no harm yet.
        (row(second_longest=22.0), "The mean wait is shorter with sjf than with fcfs, by 1.00 [0.50, 1.50] h."),
        (
            row(verdict="loses", difference=2.0),
            "The mean wait is longer with sjf than with fcfs, by 2.00 [1.50, 2.50] h.",
        ),
        (row(verdict="equal", difference=0.0), "The mean wait of each job is the same with sjf as with fcfs."),
        (
            row(verdict="undecided", difference=0.1, low=None, high=None),
            "It is undecided whether the mean wait differs between fcfs and sjf (+0.10 h): the weeks of this log "
            "differ too much.",
        ),
    ],
)
def test_each_verdict_on_all_jobs(own: Mapping[str, Any], expected: str) -> None:
    assert sentence(own) == expected


def test_times_below_an_hour_are_in_minutes() -> None:
    assert "by 60.0 [30.0, 90.0] min" in sentence(row(), unit="min", scale=60.0).replace(".00", ".0")


def test_a_ratio_is_smaller_and_not_shorter() -> None:
    assert sentence(row(metric="bounded_slowdown"), unit="") == (
        "The bounded slowdown is smaller with sjf than with fcfs, by 1.00 [0.50, 1.50]."
    )


def test_groups_with_the_largest_losses_and_gains_are_named_first() -> None:
    groups = [
        row("a", "loses", 3.0),
        *(row(name, "undecided", 0.1) for name in "bcd"),
        *(row(f"g{number}", "gains", -float(number)) for number in range(1, 6)),
    ]
    assert sentence(row(), *groups, by="user").endswith(
        "Of 9 users, 1 loses (a), 5 gain (g5, g4, g3, ...) and 3 are undecided or equal."
    )


def test_groups_in_another_order_are_named_by_their_losses() -> None:
    groups = [
        row(f"{size} nodes", "loses", loss, jobs=jobs) for size, loss, jobs in ((1, 1.0, 9), (2, 5.0, 1), (4, 2.0, 7))
    ]
    assert "3 lose (4 nodes, 1 nodes, 2 nodes)." in sentence(row(), *groups, by="size")


def test_the_first_run_stands_beside_the_best_one() -> None:
    rows = [
        {"mechanism": "baseline", "label": name, "wait_h": wait, "wait_max_h": longest}
        for name, wait, longest in (("fcfs", 2.0, 10.0), ("sjf", 1.5, 30.0))
    ]
    assert best_run_sentence(rows) == (
        "sjf has the shortest mean wait, 1.5 h (longest 30.0 h); fcfs has 2.0 h (longest 10.0 h)."
    )
    assert best_run_sentence(rows[::-1]) == "sjf has the shortest mean wait, 1.5 h (longest 30.0 h)."
    assert best_run_sentence(rows[:1]) == best_run_sentence([rows[0], rows[0]]) == ""


def test_the_waits_of_two_runs_have_one_unit() -> None:
    rows = [
        {"mechanism": name, "wait_h": wait, "wait_max_h": longest}
        for name, wait, longest in (("fcfs", 1.1, 29.5), ("sjf", 0.6, 0.9))
    ]
    assert best_run_sentence(rows) == (
        "sjf has the shortest mean wait, 0.6 h (longest 0.9 h); fcfs has 1.1 h (longest 29.5 h)."
    )
    assert best_run_sentence([{**row, "wait_h": 0.1 * row["wait_h"]} for row in rows]) == (
        "sjf has the shortest mean wait, 3.6 min (longest 0.9 h); fcfs has 6.6 min (longest 29.5 h)."
    )


def test_most_instant_starts_name_few_runs_or_count_them() -> None:
    rows = [
        {"mechanism": name, "wait_h": 1.0, "wait_max_h": 2.0, "instant_start_ratio": share}
        for name, share in (("baseline", 0.2), ("N-PAA", 0.98), ("CUA-PAA", 0.98))
    ]
    assert best_run_sentence(rows) == "Most on-demand jobs start instantly under N-PAA and CUA-PAA, 98.0 %."
    more = [{**rows[1], "mechanism": name} for name in ("a", "b", "c", "d")]
    assert best_run_sentence([rows[0], *more]) == "Most on-demand jobs start instantly under 4 of 5 runs, 98.0 %."
