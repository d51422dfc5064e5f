"""Jobs that the machine cannot hold: which are left out of a state, and what an answer says of them."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.experiments import cli
from holdfast.experiments.forecast.forecasts import forecast
from holdfast.experiments.forecast.log_cursor import Past
from holdfast.experiments.forecast.machine_state import state_at, state_of_queue
from holdfast.experiments.forecast.oversized_jobs import fit_machine
from holdfast.experiments.forecast.seen_job import SeenJob
from holdfast.workloads.ground.errors import InputError
from holdfast.workloads.logs.squeue import QueueRow
from holdfast.workloads.logs.trace import Trace, TraceJob

#: A past job, three running ones on 4 + 4 + 3 of 10 nodes, of which the second is first over its walltime, one that is
#: larger than the machine, and two that wait.
JOBS = (
    TraceJob(1, 0.0, 2, 20.0, 100.0, wait=0.0),
    TraceJob(2, 0.0, 4, 500.0, 600.0, wait=50.0),
    TraceJob(3, 10.0, 4, 500.0, 500.0, wait=40.0),
    TraceJob(4, 20.0, 3, 500.0, 900.0, wait=40.0),
    TraceJob(5, 30.0, 11, 500.0, 900.0, wait=40.0),
    TraceJob(6, 80.0, 5, 100.0, 100.0, wait=900.0),
    TraceJob(7, 90.0, 12, 100.0, 100.0, wait=900.0),
    TraceJob(8, 200.0, 1, 100.0, 100.0, wait=900.0),
)


@given(
    st.lists(
        st.tuples(st.integers(1, 12), st.integers(1, 50), st.none() | st.integers(0, 50)).map(
            lambda drawn: SeenJob(0, 0.0, drawn[0], float(drawn[1]), start=None if drawn[2] is None else drawn[2])
        ),
        max_size=8,
    ),
    st.integers(1, 20),
)
def test_as_few_running_jobs_as_possible_are_left_out_by_the_ends_of_their_walltimes(
    jobs: list[SeenJob], nodes: int
) -> None:
    kept, left_out = fit_machine(jobs, nodes)
    small = [place for place, job in enumerate(jobs) if job.nodes <= nodes]
    running = sorted(
        (place for place in small if jobs[place].start is not None),
        key=lambda place: (jobs[place].start or 0.0) + jobs[place].walltime,
    )
    fits = [first for first in range(len(running) + 1) if sum(jobs[place].nodes for place in running[first:]) <= nodes]
    expected = [place for place in small if place not in running[: fits[0]]]
    assert list(kept) == [jobs[place] for place in expected]
    assert list(left_out) == [job for place, job in enumerate(jobs) if place not in expected]


def test_states_of_a_log_its_past_and_a_queue_leave_out_the_same_jobs() -> None:
    trace = Trace(JOBS, 10)
    state = state_at(trace, 100.0, 10)
    assert [job.job_id for job in state.running] == [2, 4]
    assert [job.job_id for job in state.waiting] == [6]
    assert [job.job_id for job in state.left_out] == [3, 5, 7]
    assert Past(trace, 10).state(100.0) == state
    rows = [
        QueueRow(job.job_id, job.submit, None if job.job_id in (6, 7) else job.start, job.nodes, job.walltime, "", "")
        for job in JOBS[1:7]
    ]
    assert state_of_queue(rows, 100.0, 10).jobs == state.jobs
    assert state_of_queue(rows, 100.0, 10).left_out == state.left_out
    _, added = state.with_job(1, 60.0)
    assert added == 8
    with pytest.raises(InputError, match="job 7 must fit on the machine; 3 jobs are left out"):
        forecast(state, None, jobs=[7], draws=1)
    alone = state_at(trace, 100.0, 2)
    with pytest.raises(InputError, match=r"no job waits at 100 s; 6 jobs are left out.*2 \(4 nodes\).* and 1 more"):
        forecast(alone, None, draws=1)


def test_one_line_names_them(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = tmp_path / "a.swf"
    rows = [
        f"{job.job_id} {job.submit:.0f} {job.wait:.0f} {job.runtime:.0f} {job.nodes} -1 -1 {job.nodes} "
        f"{job.walltime:.0f} -1 1 7 3 -1 -1 -1 -1 -1"
        for job in JOBS
    ]
    log.write_text("\n".join(rows) + "\n")
    words = [
        "forecast",
        str(log),
        "--unit",
        "nodes",
        "--at",
        "100",
        "--machine",
        "10",
        "--backtests",
        "0",
        "--draws",
        "1",
    ]
    assert cli.main(words) == 0
    printed = capsys.readouterr()
    assert "2 jobs run on 7 of 10 nodes, 1 waits" in printed.out
    sentence = state_at(Trace(JOBS, 10), 100.0, 10).describe_excluded_jobs()
    assert sentence == (
        "3 jobs are left out, because the jobs of this time need more than the 10 nodes of the machine: 3 (4 nodes), "
        "5 (11 nodes), 7 (12 nodes)"
    )
    assert sum(sentence in line for line in printed.err.splitlines()) == 1
    assert "more than the 1 node of the machine" in state_at(Trace(JOBS, 10), 100.0, 1).describe_excluded_jobs()
    assert cli.main([*words, "--machine", "2"]) == 2
    assert "no job remains; 6 jobs are left out" in capsys.readouterr().err
