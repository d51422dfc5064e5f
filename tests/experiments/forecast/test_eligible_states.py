"""A job that is not eligible yet does not wait: in states of a log, of its pasts, and of a queue."""

from __future__ import annotations

import pytest

from holdfast.experiments.forecast.history import read_history
from holdfast.experiments.forecast.log_cursor import Past
from holdfast.experiments.forecast.machine_state import state_at, state_of_queue
from holdfast.workloads.logs.squeue import QueueRow
from holdfast.workloads.logs.trace import Trace, TraceJob

JOBS = (
    TraceJob(1, 0.0, 4, 100.0, 100.0, wait=0.0),
    TraceJob(2, 10.0, 4, 50.0, 100.0, wait=5.0, eligible=300.0),  # starts at 305 s
    TraceJob(3, 20.0, 2, 50.0, 100.0, wait=380.0),
    TraceJob(4, 500.0, 2, 50.0, 100.0, wait=0.0),
)


@pytest.mark.parametrize(
    ("at", "waiting", "running"),
    [(50.0, [3], [1]), (299.0, [3], []), (300.0, [2, 3], []), (310.0, [3], [2]), (500.0, [], [4])],
)
def test_states_of_a_log(at: float, waiting: list[int], running: list[int]) -> None:
    trace = Trace(JOBS, 8)
    state = state_at(trace, at, 8)
    assert [job.job_id for job in state.waiting] == waiting
    assert [job.job_id for job in state.running] == running
    assert Past(trace, 8).state(at) == state
    assert all(job.eligible == 300.0 and job.submit == 10.0 for job in state.jobs if job.job_id == 2)


def test_histories_count_jobs_from_when_they_were_eligible() -> None:
    trace = Trace(JOBS, 8)
    for at, count in ((200.0, 2), (320.0, 3)):
        known = read_history(trace, at).submitted
        assert [job.submit for job in known] == sorted({0.0, 20.0, 300.0})[:count]
        assert list(Past(trace, 8).history(at).submitted) == list(known)


def test_a_queue_leaves_out_what_is_not_eligible() -> None:
    rows = [QueueRow(n, 10.0, None, 2, 60.0, "u", "a", eligible) for n, eligible in ((1, None), (2, 40.0), (3, 90.0))]
    assert [(job.job_id, job.eligible) for job in state_of_queue(rows, 50.0, 8).waiting] == [(1, None), (2, 40.0)]
