"""The scheduler of windows: worked out by hand, and by what must be true of every plan."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.experiments.papers.incomplete.kept_starts import replay_windows
from holdfast.experiments.planning.reservation_series import Reservation, replay_series
from holdfast.workloads.ground.errors import ParameterError


def _job(*lengths: float, used: float | None = None) -> list[Reservation]:
    """A series whose last reservation is used for less than it asks for."""
    found = [Reservation(length, length) for length in lengths]
    return [*found[:-1], Reservation(lengths[-1], lengths[-1] if used is None else used)]


@pytest.mark.parametrize(
    ("submits", "jobs", "batch", "expected"),
    [
        # Window 0-16: the first job until 10, then the second, which keeps its start.
        ([0, 0], [_job(10, used=4), _job(6)], 100, [4, 16]),
        # The longest request is planned first, whatever was submitted first.
        ([0, 0], [_job(6), _job(10, used=4)], 100, [16, 4]),
        # A later job fits into the gap from 4 to 10.
        ([0, 0, 1], [_job(10, used=4), _job(6), _job(5)], 100, [4, 16, 9]),
        # It does not: it waits for the next window.
        ([0, 0, 1], [_job(10, used=4), _job(6), _job(7, used=5)], 100, [4, 16, 21]),
        # The first job outlives its request at 10; the next one does not fit into the window, and is planned at 16.
        ([0, 0], [_job(10, 20, used=12), _job(6)], 100, [28, 16]),
        # A batch of one: the jobs in the order of their submission.
        ([0, 0], [_job(2), _job(9)], 1, [2, 11]),
        # Two jobs wait for the gap from 4 to 14: the longer goes first, the other one behind it.
        ([0, 0, 1, 2], [_job(14, used=4), _job(2), _job(3), _job(6)], 100, [4, 16, 13, 10]),
    ],
)
def test_windows_by_hand(
    submits: list[float], jobs: list[list[Reservation]], batch: int, expected: list[float]
) -> None:
    assert replay_windows(submits, jobs, 1, batch).completions.tolist() == expected


def test_two_nodes_by_hand() -> None:
    # 8 on node 0, 5 on node 1, then 4 on node 1 from 5 to 9; the job of 1 that comes at 6 has node 0 from 8 to 9.
    jobs = [_job(4), _job(8, used=7), _job(5), _job(1), _job(2)]
    # What is left of node 0 from 7 to 8 is too short for the job of 2, which begins the next window.
    assert replay_windows([0, 0, 0, 6, 6], jobs, 2).completions.tolist() == [9, 7, 5, 9, 11]


_REQUESTS = st.lists(st.integers(1, 30), min_size=1, max_size=3, unique=True).map(sorted)


@given(
    drawn=st.lists(st.tuples(st.integers(0, 40), _REQUESTS, st.integers(0, 29)), min_size=1, max_size=12),
    nodes=st.integers(1, 4),
    batch=st.integers(1, 5),
)
def test_no_job_is_lost_and_none_is_early(drawn: list[tuple[int, list[int], int]], nodes: int, batch: int) -> None:
    submits = [float(submit) for submit, _, _ in drawn]
    jobs = [_job(*map(float, asked), used=float(max(1, asked[-1] - saved))) for _, asked, saved in drawn]
    found = replay_windows(submits, jobs, nodes, batch)
    work = [sum(item.used for item in own) for own in jobs]
    assert found.occupied == sum(work)
    assert (found.completions >= np.array(submits) + work).all()
    # Until the last completion a machine does no more than it can.
    assert sum(work) <= nodes * (found.completions.max() - min(submits)) * (1 + 1e-12)
    # One that never has a queue: no job waits, in neither scheduler, but for a window that is too short for it.
    exact = [_job(*(item.length for item in own)) for own in jobs]
    alone = [replay_windows([0.0], [own], 1).completions[0] for own in exact]
    assert alone == [replay_series([0.0], [own], 1).completions[0] for own in exact]


@pytest.mark.parametrize("numbers", [(0, 5), (2, 0)])
def test_wrong_numbers_are_refused(numbers: tuple[int, int]) -> None:
    with pytest.raises(ParameterError):
        replay_windows([0.0], [_job(2)], *numbers)
    with pytest.raises(ParameterError, match="jobs"):
        replay_windows([], [], 1)
