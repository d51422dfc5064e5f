"""Even shares against their definition: one node at a time from the job that has given least."""

from __future__ import annotations

from itertools import product

from holdfast.policies.arrival import even_shares


def one_by_one(spare: dict[int, int], missing: int) -> dict[int, int]:
    """A node at a time, from the job that has given least of those that can give more; of equals the least id."""
    given = dict.fromkeys(spare, 0)
    for _ in range(missing):
        able = [job for job in spare if given[job] < spare[job]]
        given[min(able, key=lambda job: (given[job], job))] += 1
    return {job: count for job, count in given.items() if count}


def test_no_job_gives_more_than_it_can() -> None:
    assert even_shares({1: 2, 2: 5, 3: 5}, 7) == {1: 2, 2: 3, 3: 2}


def test_all_small_cases() -> None:
    for caps in product(range(1, 5), repeat=3):
        spare = dict(zip((7, 3, 5), caps, strict=True))
        for missing in range(1, sum(caps) + 1):
            assert even_shares(spare, missing) == one_by_one(spare, missing)


def test_nothing_is_missing() -> None:
    assert even_shares({1: 2, 2: 5}, 0) == {}
