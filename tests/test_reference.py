"""The oracles themselves: do the fast and the naive one agree, and do they keep the laws of the model?"""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.reference.easy import replay_easy, replay_easy_naive

# (submit, nodes, walltime, runtime) on a coarse grid, so that ties and events at one instant are the rule.
easy_jobs = st.lists(
    st.tuples(st.integers(0, 12), st.integers(1, 8), st.integers(1, 8), st.integers(1, 8)), min_size=1, max_size=14
)


@pytest.mark.parametrize("passes", ["instant", "event"])
@pytest.mark.parametrize("backfill_length", ["walltime", "runtime"])
@given(jobs=easy_jobs, machine=st.integers(8, 12))
def test_fast_and_naive_easy_agree(
    jobs: list[tuple[int, int, int, int]], machine: int, backfill_length: str, passes: str
) -> None:
    submit, nodes, walltime, runtime = (list(column) for column in zip(*jobs, strict=True))
    options = {"backfill_length": backfill_length, "passes": passes}
    fast = replay_easy(submit, nodes, walltime, runtime, machine, **options)
    assert fast == replay_easy_naive(submit, nodes, walltime, runtime, machine, **options)


@given(jobs=easy_jobs, machine=st.integers(8, 12), offset=st.integers(1, 1000))
def test_easy_does_not_know_the_date(jobs: list[tuple[int, int, int, int]], machine: int, offset: int) -> None:
    submit, nodes, walltime, runtime = (list(column) for column in zip(*jobs, strict=True))
    start = replay_easy(submit, nodes, walltime, runtime, machine)
    later = replay_easy([time + offset for time in submit], nodes, walltime, runtime, machine)
    assert later == [time + offset for time in start]


def test_easy_by_hand() -> None:
    """Rule 4 on ten nodes.

    ::

        A 6 nodes  0..10
        B 8 nodes  head, shadow time 10, extra 2
        C 4 nodes  walltime 10: ends at the shadow time, starts at 0
        D 2 nodes  walltime 50: would be extra, but nothing is free
    """
    assert replay_easy([0, 0, 0, 0], [6, 8, 4, 2], [10, 5, 10, 50], [10, 5, 10, 50], 10) == [0, 10, 0, 10]
