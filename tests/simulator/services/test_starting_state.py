"""Replays that begin with jobs that run and wait, worked out by hand."""

from __future__ import annotations

import math

import pytest

from holdfast.simulator import Result, simulate
from holdfast.simulator.results.measured_simulation import MeasuredWindow
from holdfast.simulator.results.metrics import summarize
from holdfast.workloads.ground.units import SECOND
from holdfast.workloads.table.job import Job
from tests.simulator.services.test_cancellations import events, job_outcomes, node_seconds, run
from tests.support.jobs import malleable, on_demand, rigid


def account_totals(result: Result) -> tuple[float, ...]:
    spent = node_seconds(result)
    return tuple(spent[name] for name in ("setup", "compute", "checkpoint", "lost"))


def test_jobs_run_on_and_wait_on() -> None:
    # The replay begins at 60, the latest start: job 1 has 40 s to go, job 3 waits since 20 and job 2 since 30.
    jobs = [
        rigid(1, 0, 3, 100, 120, running_since=0),
        rigid(2, 30, 4, 10),
        rigid(3, 20, 2, 40),
        rigid(4, 50, 1, 80, running_since=60),
        rigid(5, 70, 4, 5),
    ]
    result = run(jobs, 4)
    assert job_outcomes(result) == {
        1: (0, 100, "completed"),
        4: (60, 140, "completed"),
        3: (100, 140, "completed"),
        2: (140, 150, "completed"),
        5: (150, 155, "completed"),
    }
    assert (result.begin, events(result, 1)[0], events(result, 3)[0]) == (
        60 * SECOND,
        (60, "start", 0, 3),
        (60, "submit", 0, 0),
    )
    # From 60 on: 3 x 40 + 80 + 2 x 40 + 4 x 10 + 4 x 5 node-seconds of 4 x 95.
    assert sum(node_seconds(result).values()) == 380
    assert node_seconds(result)["idle"] == 380 - 340


def test_the_remaining_walltime_is_what_the_shadow_time_counts_on() -> None:
    # At 60 job 1 is expected to end at 120: a job of 60 s may pass the head, one of 61 s not.
    state = [rigid(1, 0, 3, 100, 120, running_since=0), rigid(4, 60, 0 + 1, 1, running_since=60), rigid(2, 50, 4, 10)]
    assert job_outcomes(run([*state, rigid(3, 55, 1, 59)], 4))[3] == (61, 120, "completed")
    assert job_outcomes(run([*state, rigid(3, 55, 1, 60)], 4))[3] == (110, 170, "completed")


@pytest.mark.parametrize(
    ("arrival", "spent"),
    [
        # Job 1 has 10 s of setup, then slices of 20 s with a dump of 5 s. By 40, when the replay begins, it has
        # computed 20 + 5 and dumped 5. A preemption at 60 finds the second dump just done: 15 + 5 since, and nothing is
        # lost but the setup, which was before.
        (60.0, (0.0, 15.0, 5.0, 0.0)),
        (70.0, (0.0, 15.0, 5.0, 10.0)),
        # At 50 the second dump is not done: all since 40 is lost.
        (50.0, (0.0, 0.0, 0.0, 10.0)),
    ],
)
def test_a_preemption_books_what_was_lost_since_the_beginning(arrival: float, spent: tuple[float, ...]) -> None:
    jobs = [
        rigid(1, 0, 4, 200, setup=10, interval=20, cost=5, running_since=0),
        rigid(2, 30, 1, 10, running_since=40),
        on_demand(3, arrival, 4, 1000, cancelled_at=arrival),
    ]
    # The on-demand job is gone at once, so that job 1 begins anew; what it does then is the same in any replay.
    result = run(jobs, 5, "N-PAA", passes="event")
    record = result.records[0]
    assert (record.preemptions, record.lost / SECOND) == (1, 4 * spent[3])
    dumps = 2 if arrival >= 60 else 1
    rest = [10.0, 200 - 10 - 7 * 5 - 20.0 * dumps, (7 - dumps) * 5.0, 0.0]
    again = [4 * (one + other) for one, other in zip(spent, rest, strict=True)]
    assert list(account_totals(result)) == [again[0], again[1] + 10, again[2], again[3]]
    assert record.end is not None
    assert record.end / SECOND == arrival + sum(rest)


@pytest.mark.parametrize(("end", "compute", "checkpoint"), [(60, 25, 3), (50, 15, 3), (34, 0, 2)])
def test_one_that_completes_or_is_ended_books_what_it_does_from_the_beginning(
    end: int, compute: int, checkpoint: int
) -> None:
    # 60 s are 10 of setup, a slice of 20, a dump of 5, and a slice of 25; at 32 there are 3 of the dump to go.
    whole = rigid(1, 0, 4, 60, setup=10, interval=20, cost=5, running_since=0, cancelled_at=end)
    result = run([whole, rigid(2, 30, 1, 20, running_since=32)], 5, "N-PAA")
    assert account_totals(result) == (0, 4 * compute + 20, 4 * checkpoint, 0)
    assert result.withdrawn == (0 if end == 60 else 4 * (end - 32) * SECOND)


def test_a_malleable_job_runs_on() -> None:
    # 20 s of setup and 400 node-seconds; at 10, when the replay begins, half of the setup is done.
    jobs = [
        malleable(1, 0, 4, 120, min_nodes=2, setup=20, running_since=0),
        rigid(2, 0, 1, 5, running_since=10),
        on_demand(3, 40, 3, 30),
    ]
    result = run(jobs, 5, "N-SPAA")
    # By 40 it has done 80 of 400; it gives 2 nodes until 70 (60 more), and has 260 to do on 4.
    assert events(result, 1) == [
        (10, "start", 0, 4),
        (40, "shrink", 4, 2),
        (70, "expand", 2, 4),
        (135, "complete", 4, 0),
    ]
    assert account_totals(result) == (4 * 10, 400 + 5 + 90, 0, 0)


def test_a_warned_malleable_job_loses_its_setup_since_the_beginning() -> None:
    jobs = [
        malleable(1, 0, 4, 120, min_nodes=4, setup=20, running_since=0),
        rigid(2, 0, 1, 5, running_since=10),
        on_demand(3, 40, 4, 30),
    ]
    result = run(jobs, 5, "N-PAA")
    assert node_seconds(result)["lost"] == 4 * 10
    assert node_seconds(result)["warning"] == 4 * 120


def test_a_job_of_the_state_may_be_withdrawn_and_depended_on() -> None:
    jobs = [
        rigid(1, 0, 4, 100, running_since=10, cancelled_at=50),
        rigid(2, 20, 4, 10, preceding=1, think_time=7),
        rigid(3, 5, 4, 10, cancelled_at=30),
    ]
    result = run(jobs, 4)
    assert job_outcomes(result) == {1: (10, 50, "cancelled"), 2: (57, 67, "completed"), 3: (None, 30, "cancelled")}
    assert account_totals(result)[1] == 4 * 40 + 4 * 10


NOTICED = {
    "given before, expected after": (on_demand(3, 200, 4, 10, notice=20, estimated=200), True),
    "expected before": (on_demand(3, 200, 4, 10, notice=20, estimated=39), False),
    "arrived before": (on_demand(3, 35, 4, 10, notice=20, estimated=200), False),
    "withdrawn before": (on_demand(3, None, 4, 10, notice=20, estimated=200, cancelled_at=30), False),
    "withdrawn after": (on_demand(3, None, 4, 10, notice=20, estimated=200, cancelled_at=60), True),
    "given after": (on_demand(3, 200, 4, 10, notice=41, estimated=200), True),
}


@pytest.mark.parametrize("case", NOTICED)
@pytest.mark.parametrize("mechanism", ["CUA-PAA", "CUP-SPAA"])
def test_notices_around_the_beginning(case: str, mechanism: str) -> None:
    job, comes = NOTICED[case]
    result = run([rigid(1, 0, 1, 100, running_since=40), job], 5, mechanism)
    noticed = [entry.time / SECOND for entry in result.entries if entry.event == "notice"]
    assert noticed == ([max(40.0, job.notice or 0.0)] if comes else [])
    assert result.begin == 40 * SECOND


def test_only_jobs_submitted_after_the_beginning_are_measured() -> None:
    jobs: list[Job] = [
        rigid(1, 0, 4, 7200, running_since=3600),
        rigid(2, 1800, 4, 3600),
        rigid(3, 5400, 4, 3600),
        rigid(4, 9000, 4, 3600),
    ]
    result = run(jobs, 4)
    summary = summarize(result)
    # Job 3 waits from 1.5 h to 4 h, job 4 from 2.5 h to 5 h.
    assert (summary["jobs"], summary["wait_h"], summary["turnaround_h"]) == (2, 2.5, 3.5)
    # Elapsed time and utilisation are those since the beginning, at 1 h.
    assert (summary["makespan_h"], summary["utilization"]) == (5, 1)
    assert summarize(result, window=MeasuredWindow(warmup=5000))["jobs"] == 1
    assert [row["wait"] for row in result.jobs.to_dict("records")] == [3600, 9000, 9000, 9000]


def test_a_state_alone_is_a_replay() -> None:
    result = simulate([rigid(1, 0, 4, 7200, running_since=3600), rigid(2, 0, 4, 10)], 4)
    assert job_outcomes(result) == {1: (3600, 10800, "completed"), 2: (10800, 10810, "completed")}
    summary = summarize(result)
    assert summary["jobs"] == 0
    assert math.isnan(float(summary["wait_h"]))
