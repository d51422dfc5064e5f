"""Colours of jobs by user, project and size, by hand."""

from __future__ import annotations

from dataclasses import replace

import pytest

from holdfast.experiments.figures.recording.job_colors import ink_on, job_colors
from holdfast.simulator import Result, simulate
from holdfast.workloads.ground.errors import UnknownNameError
from tests.support.jobs import rigid


def replay(nodes: int, sizes: list[int], users: list[str]) -> Result:
    jobs = [
        replace(rigid(number, 0, size, 60), user=user)
        for number, (size, user) in enumerate(zip(sizes, users, strict=True), 1)
    ]
    return simulate(jobs, nodes)


def test_the_users_with_most_node_time_have_colours_and_the_others_share_one() -> None:
    # User u0 has 1 node, u1 has 2, ..., u9 has 10, in two jobs each; job 21 has no user, and 40 nodes.
    users = [f"u{number % 10}" for number in range(20)] + [""]
    tones = job_colors(replay(40, [1 + number % 10 for number in range(20)] + [40], users), "user")
    assert list(tones.colors) == ["(none)", "u9", "u8", "u7", "u6", "u5", "u4", "u3", "3 others"]
    assert len(set(tones.colors.values())) == 9
    assert [tones.of[job_id] for job_id in (1, 3, 4, 13, 20, 21)] == [
        "3 others",
        "3 others",
        "u3",
        "3 others",
        "u9",
        "(none)",
    ]
    few = job_colors(replay(4, [1, 2], ["a", "b"]), "user")
    assert (list(few.colors), dict(few.of)) == (["b", "a"], {1: "a", 2: "b"})


def test_sizes_are_halves_of_the_machine() -> None:
    whole = job_colors(replay(64, [1, 2, 3, 16, 17, 33, 64], [""] * 7), "size")
    words = ["to 2 nodes", "to 2 nodes", "to 4 nodes", "to 16 nodes", "to 32 nodes", "to 64 nodes", "to 64 nodes"]
    assert [whole.of[job_id] for job_id in range(1, 8)] == words
    assert list(whole.colors) == list(dict.fromkeys(words))
    # Of the smallest sizes to the largest the colours become darker: letters on them turn from black to white.
    assert [ink_on(color) for color in whole.colors.values()] == ["#111111", "#111111", "white", "white", "white"]
    small = job_colors(replay(5, [1, 2, 5], [""] * 3), "size")
    assert list(small.colors) == ["1 node", "to 2 nodes", "to 5 nodes"]


def test_another_colour_is_refused() -> None:
    with pytest.raises(UnknownNameError, match=r"unknown colour 'hue'.* known are type, user"):
        job_colors(replay(4, [1], ["a"]), "hue")
