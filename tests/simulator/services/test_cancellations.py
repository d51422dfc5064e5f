"""Cancelled jobs, computed by hand: which jobs leave, where their nodes go, and what is accounted."""

from __future__ import annotations

import math
from typing import Any

import pytest

from holdfast.policies.planning.costs import CostModel
from holdfast.policies.planning.plan import ReservationPlan
from holdfast.simulator import Result, simulate
from holdfast.simulator.results.metrics import summarize, summarize_types
from holdfast.simulator.results.reservations import stochastic_rows
from holdfast.simulator.results.schema import JOBS
from holdfast.workloads.ground.units import SECOND
from holdfast.workloads.table.job import Job
from tests.support.jobs import malleable, on_demand, rigid, stochastic


def job_outcomes(result: Result) -> dict[int, tuple[float | None, float | None, str]]:
    """First start and end [s], and status of each job."""

    def seconds(ticks: int | None) -> float | None:
        return None if ticks is None else ticks / SECOND

    return {record.job_id: (seconds(record.start), seconds(record.end), record.status) for record in result.records}


def run(jobs: list[Job], nodes: int, mechanism: str = "baseline", **options: Any) -> Result:
    return simulate(jobs, nodes, mechanism, **options)


def events(result: Result, job_id: int) -> list[tuple[float, str, int, int]]:
    return [
        (entry.time / SECOND, entry.event, entry.before, entry.after)
        for entry in result.entries
        if entry.job_id == job_id
    ]


def node_seconds(result: Result) -> dict[str, float]:
    return {name: value / SECOND for name, value in result.accounting._asdict().items()}


def test_a_waiting_job_leaves_the_queue() -> None:
    jobs = [rigid(1, 0, 4, 100), rigid(2, 10, 4, 50, cancelled_at=50), rigid(3, 20, 4, 60)]
    result = run(jobs, 4)
    assert job_outcomes(result) == {1: (0, 100, "completed"), 2: (None, 50, "cancelled"), 3: (100, 160, "completed")}
    assert events(result, 2) == [(10, "submit", 0, 0), (50, "cancel", 0, 0)]


def test_behind_a_head_that_is_withdrawn_others_start_at_once() -> None:
    # Until 40 job 3 would delay job 2, which could start at 100.
    jobs = [rigid(1, 0, 3, 100), rigid(2, 10, 4, 50, cancelled_at=40), rigid(3, 20, 1, 200)]
    assert job_outcomes(run(jobs, 4))[3] == (40, 240, "completed")


def test_a_running_job_is_ended_and_its_nodes_are_free() -> None:
    # Setup 10, then 20 of computation and a dump of 5, twice, and 3 of a third slice; on two nodes.
    job = rigid(1, 0, 2, 200, setup=10, interval=20, cost=5, cancelled_at=63)
    result = run([job, rigid(2, 5, 2, 10)], 2, "N-PAA")
    assert job_outcomes(result) == {1: (0, 63, "cancelled"), 2: (63, 73, "completed")}
    # All of it is what it was, nothing is lost; job 2 computes 10 s on 2 nodes.
    assert node_seconds(result) == {
        "compute": 2 * 43 + 20,
        "setup": 20,
        "checkpoint": 20,
        "lost": 0,
        "warning": 0,
        "held": 0,
        "idle": 0,
        "down": 0,
    }
    assert result.withdrawn == 126 * SECOND


@pytest.mark.parametrize(("at", "compute", "checkpoint"), [(5, 0, 0), (25, 15, 0), (33, 20, 3), (60, 40, 10)])
def test_the_time_of_an_ended_run_is_what_it_was(at: float, compute: float, checkpoint: float) -> None:
    # 10 of setup; up to 70 there are two slices of 20 with a dump after each; the last slice has none.
    job = rigid(1, 0, 1, 80, setup=10, interval=20, cost=5, cancelled_at=at)
    spent = node_seconds(run([job], 1, "N-PAA"))
    assert (spent["setup"], spent["compute"], spent["checkpoint"]) == (min(10, at), compute, checkpoint)


def test_a_completion_wins() -> None:
    assert job_outcomes(run([rigid(1, 0, 4, 100, cancelled_at=100)], 4)) == {1: (0, 100, "completed")}
    assert job_outcomes(run([rigid(1, 0, 4, 100, cancelled_at=99.999999)], 4)) == {1: (0, 99.999999, "cancelled")}


def test_what_is_done_cannot_be_withdrawn() -> None:
    jobs = [rigid(1, 0, 4, 100, cancelled_at=150), rigid(2, 0, 4, 100)]
    result = run(jobs, 4)
    assert job_outcomes(result) == {1: (0, 100, "completed"), 2: (100, 200, "completed")}
    assert [entry.event for entry in result.entries if entry.job_id == 1] == ["submit", "start", "complete"]


def test_withdrawn_as_soon_as_submitted() -> None:
    jobs = [rigid(1, 0, 4, 100), rigid(2, 10, 1, 50, cancelled_at=10)]
    assert job_outcomes(run(jobs, 8))[2] == (None, 10, "cancelled")
    # With a pass after every event it is there for one.
    assert job_outcomes(run(jobs, 8, passes="event"))[2] == (10, 10, "cancelled")


def test_under_warning_the_promised_nodes_come_at_once() -> None:
    # Warned at 100, job 1 would vacate at 220.
    jobs = [malleable(1, 0, 4, 400, min_nodes=4, setup=10, cancelled_at=150), on_demand(2, 100, 3, 50)]
    result = run(jobs, 4, "N-PAA")
    assert job_outcomes(result) == {1: (0, 150, "cancelled"), 2: (150, 200, "completed")}
    assert [entry.event for entry in result.entries if entry.job_id == 1] == ["submit", "start", "warn", "cancel"]
    spent = node_seconds(result)
    assert (spent["lost"], spent["warning"], spent["compute"]) == (4 * 10, 4 * 50, 4 * 90 + 3 * 50)
    assert result.withdrawn == 0, "it had been stopped by the warning, not by its user"


def test_an_arrived_job_that_waits_for_warned_ones_is_withdrawn() -> None:
    jobs = [malleable(1, 0, 4, 400, min_nodes=4), on_demand(2, 100, 3, 50, cancelled_at=150)]
    result = run(jobs, 4, "N-PAA")
    # The warning is not taken back: job 1 vacates, and has 300 s to go.
    assert job_outcomes(result) == {1: (0, 520, "completed"), 2: (None, 150, "cancelled")}
    assert events(result, 2) == [(100, "submit", 0, 0), (100, "gather", 0, 0), (150, "cancel", 0, 0)]
    assert events(result, 1)[2:] == [
        (100, "warn", 4, 4),
        (220, "preempt", 4, 0),
        (220, "requeue", 0, 0),
        (220, "start", 0, 4),
        (520, "complete", 4, 0),
    ]


def test_what_was_gathered_goes_back_to_the_lenders() -> None:
    # Rigid job 1 is preempted at 100 and gives 4 nodes at once; malleable job 2 vacates at 220.
    jobs = [
        rigid(1, 0, 4, 200),
        malleable(2, 0, 4, 200, min_nodes=4),
        on_demand(3, 100, 8, 50, cancelled_at=130),
    ]
    result = run(jobs, 8, "N-PAA")
    assert job_outcomes(result)[3] == (None, 130, "cancelled")
    # At 130 job 1 begins anew, on what it lent.
    starts = [
        (entry.time / SECOND, entry.cause) for entry in result.entries if (entry.job_id, entry.event) == (1, "start")
    ]
    assert starts == [(0, "in order"), (130, "returned by 3")]
    assert job_outcomes(result)[1] == (0, 330, "completed")
    assert node_seconds(result)["held"] == 4 * 30


def test_a_shrunk_lender_gets_its_nodes_back() -> None:
    jobs = [malleable(1, 0, 4, 400, min_nodes=2), on_demand(2, 100, 2, 500, cancelled_at=130)]
    result = run(jobs, 4, "N-SPAA")
    assert events(result, 1)[2:4] == [(100, "shrink", 4, 2), (130, "expand", 2, 4)]
    # 400 of 1,600 node-seconds by 100, 60 more by 130, and 1,140 on 4 nodes.
    assert job_outcomes(result) == {1: (0, 415, "completed"), 2: (100, 130, "cancelled")}


def test_a_preempted_lender_resumes() -> None:
    jobs = [rigid(1, 0, 4, 200), on_demand(2, 100, 4, 500, cancelled_at=130), rigid(3, 50, 4, 10)]
    result = run(jobs, 4, "N-PAA")
    assert job_outcomes(result) == {1: (0, 330, "completed"), 2: (100, 130, "cancelled"), 3: (330, 340, "completed")}


def test_a_lender_that_is_withdrawn_gets_nothing() -> None:
    jobs = [rigid(1, 0, 4, 200, cancelled_at=120), on_demand(2, 100, 4, 50), rigid(3, 50, 4, 10)]
    result = run(jobs, 4, "N-PAA")
    assert job_outcomes(result) == {1: (0, 120, "cancelled"), 2: (100, 150, "completed"), 3: (150, 160, "completed")}
    # What it had computed was lost to the preemption, not to its user.
    assert (node_seconds(result)["lost"], result.withdrawn) == (400, 0)


def test_an_on_demand_job_leaves_the_front_of_the_queue() -> None:
    # Job 1 is on-demand, too, and cannot be preempted; while job 2 waits, it is the head.
    jobs = [on_demand(1, 0, 3, 100), on_demand(2, 10, 4, 50, cancelled_at=30), rigid(3, 20, 1, 500)]
    result = run(jobs, 4, "N-PAA")
    assert job_outcomes(result) == {1: (0, 100, "completed"), 2: (None, 30, "cancelled"), 3: (30, 530, "completed")}


@pytest.mark.parametrize(("cancelled", "start"), [(None, 1600.0), (100.0, 100.0), (0.0, 10.0)])
def test_a_notice_is_withdrawn(cancelled: float | None, start: float) -> None:
    # Without a word its reservation stands until 600 s after its estimated arrival at 1,000.
    jobs = [on_demand(1, None, 4, 50, notice=0, estimated=1000, cancelled_at=cancelled), rigid(2, 10, 4, 60)]
    result = run(jobs, 4, "CUA-PAA", tenants="none")
    assert job_outcomes(result)[2] == (start, start + 60, "completed")
    assert job_outcomes(result)[1] == (None, None, "no_show" if cancelled is None else "cancelled")
    # The baseline knows nothing of notices.
    assert job_outcomes(run(jobs, 4))[2] == (10, 70, "completed")


def test_a_tenant_gives_back_what_it_borrowed() -> None:
    # The reservation of job 1 holds 4 nodes from 0 on; job 2 runs on them until 30.
    jobs = [on_demand(1, 100, 4, 50, notice=0, estimated=100), rigid(2, 10, 4, 500, cancelled_at=30)]
    result = run(jobs, 4, "CUA-PAA")
    assert job_outcomes(result) == {1: (100, 150, "completed"), 2: (10, 30, "cancelled")}
    assert events(result, 1)[:3] == [(0, "notice", 0, 0), (0, "reserve", 0, 4), (30, "reserve", 0, 4)]
    assert node_seconds(result)["lost"] == 0


def test_a_planned_victim_is_withdrawn() -> None:
    # Job 2 stands in the plan of job 1, to be preempted at its estimated arrival.
    jobs = [rigid(2, 0, 4, 900, cancelled_at=50), on_demand(1, 200, 4, 50, notice=10, estimated=200)]
    result = run(jobs, 4, "CUP-PAA")
    assert job_outcomes(result) == {2: (0, 50, "cancelled"), 1: (200, 250, "completed")}
    assert node_seconds(result)["held"] == 4 * 150


PLANS = {"p": ReservationPlan([10, 30], [True, False], CostModel(checkpoint=2, restart=1))}


@pytest.mark.parametrize(
    ("at", "endings"),
    [
        (4, ["cancelled"]),  # in its first reservation
        (12, ["saved"]),  # between the two: the first is over, and the second not yet submitted
        (20, ["saved", "cancelled"]),
    ],
)
def test_a_stochastic_job_submits_no_further_reservation(at: float, endings: list[str]) -> None:
    jobs = [stochastic(1, 0, 2, 25, "p", cancelled_at=at), rigid(2, 1, 2, 5)]
    result = run(jobs, 2, plans=PLANS)
    assert [item.ending for item in result.stochastic[0].reservations] == endings
    assert job_outcomes(result)[1] == (0, at, "cancelled")
    assert [entry.event for entry in result.entries if entry.job_id == 1][-1] == "cancel"
    spent = node_seconds(result)
    # Its first reservation works for 10 s and saves for 2 s; the second, on its nodes after job 2, restarts for 1 s.
    expected = {4: (4, 0, 0), 12: (10, 2, 0), 20: (12, 2, 1)}[int(at)]
    assert (spent["compute"], spent["checkpoint"], spent["setup"]) == (
        2 * (expected[0] + 5),
        2 * expected[1],
        2 * expected[2],
    )
    row = next(stochastic_rows(result))
    assert (row["stretch"], row["wasted"]) == (None, 0)


def test_cancelled_jobs_are_counted_apart() -> None:
    jobs = [
        rigid(1, 0, 4, 3600),
        rigid(2, 0, 4, 3600, cancelled_at=1800),
        rigid(3, 0, 4, 3600, cancelled_at=5400),
        on_demand(4, 7200, 4, 3600, cancelled_at=9000),
    ]
    result = run(jobs, 4, "N-PAA")
    assert job_outcomes(result) == {
        1: (0, 3600, "completed"),
        2: (None, 1800, "cancelled"),
        3: (3600, 5400, "cancelled"),
        4: (7200, 9000, "cancelled"),
    }
    summary = summarize(result)
    assert (summary["jobs"], summary["turnaround_h"], summary["wait_h"], summary["bounded_slowdown"]) == (1, 1, 0, 1)
    assert math.isnan(float(summary["instant_start_ratio"]))
    assert (summary["cancelled_jobs"], summary["cancelled_started"], summary["cancelled_node_hours"]) == (3, 2, 4)
    # The machine was occupied all the same: 8 node-hours in 2.5 hours.
    assert summary["utilization"] == pytest.approx(0.8)
    assert [row["jobs"] for row in summarize_types(result)] == [1, 1, 0, 0]
    rows = {row["job_id"]: row for row in JOBS.rows(result)}
    assert [rows[3][name] for name in ("start", "end", "turnaround", "wait", "instant")] == [
        3600,
        5400,
        None,
        None,
        None,
    ]
    assert rows[4]["instant"] is None


def test_columns_are_there_where_the_table_withdraws_anybody() -> None:
    done = run([rigid(1, 0, 4, 100, cancelled_at=500)], 4)
    assert [summarize(done)[name] for name in ("jobs", "cancelled_jobs", "cancelled_node_hours")] == [1, 0, 0]
    assert "cancelled_jobs" not in summarize(run([rigid(1, 0, 4, 100)], 4))


def test_only_cancelled_jobs_make_an_empty_summary() -> None:
    summary = summarize(run([rigid(1, 0, 4, 100, cancelled_at=50)], 4))
    assert (summary["jobs"], summary["cancelled_jobs"]) == (0, 1)
    assert math.isnan(float(summary["turnaround_h"]))
