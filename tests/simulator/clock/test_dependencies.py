"""Jobs that are submitted after others, worked out by hand (SWF 2.2, fields 17 and 18)."""

from __future__ import annotations

from holdfast.simulator import simulate
from holdfast.workloads.ground.units import SECOND
from tests.simulator.services.test_cancellations import PLANS, job_outcomes, run
from tests.support.jobs import malleable, on_demand, rigid, stochastic


def test_a_think_time_moves_the_submit_both_ways() -> None:
    jobs = [
        rigid(1, 0, 4, 100),
        rigid(2, 500, 4, 10, preceding=1, think_time=20),  # recorded later
        rigid(3, 5, 4, 10, preceding=2, think_time=0),  # recorded earlier
    ]
    result = run(jobs, 4)
    assert job_outcomes(result) == {1: (0, 100, "completed"), 2: (120, 130, "completed"), 3: (130, 140, "completed")}
    assert [record.submit for record in result.records] == [0, 120 * SECOND, 130 * SECOND]
    assert [(entry.time / SECOND, entry.cause) for entry in result.entries if entry.event == "submit"] == [
        (0, ""),
        (120, "after 1"),
        (130, "after 2"),
    ]
    # No job may be withdrawn: nothing is counted of those that were.
    assert "cancelled_jobs" not in result.summary()


def test_without_a_think_time_a_job_is_submitted_no_earlier_than_recorded() -> None:
    jobs = [rigid(1, 0, 4, 100), rigid(2, 500, 4, 10, preceding=1), rigid(3, 5, 4, 10, preceding=1)]
    result = run(jobs, 4)
    assert [record.submit for record in result.records] == [0, 500 * SECOND, 100 * SECOND]


def test_a_moved_submit_decides_the_place_in_the_queue_and_the_wait() -> None:
    jobs = [
        rigid(1, 0, 4, 100),
        rigid(2, 1, 4, 10, preceding=1, think_time=5),
        rigid(3, 103, 4, 50),
        rigid(4, 99, 4, 20),
    ]
    result = run(jobs, 4)
    # 4 from 100 to 120, then 3, which was submitted at 103, then 2, submitted at 105.
    assert {job: start for job, (start, _, _) in job_outcomes(result).items()} == {1: 0, 4: 100, 3: 120, 2: 170}
    assert float(result.jobs.set_index("job_id").wait[2]) == 65


def test_who_depends_on_a_withdrawn_job_is_submitted_then() -> None:
    jobs = [
        rigid(1, 0, 4, 100),
        rigid(2, 10, 4, 50, cancelled_at=30),
        rigid(3, 10, 1, 5, preceding=2, think_time=10),
        rigid(4, 0, 4, 90, cancelled_at=110),
        rigid(5, 0, 1, 5, preceding=4, think_time=0),
    ]
    result = run(jobs, 5)
    assert job_outcomes(result)[3] == (40, 45, "completed")
    assert job_outcomes(result)[4] == (100, 110, "cancelled")
    assert job_outcomes(result)[5] == (110, 115, "completed")


def test_patience_counts_from_the_moved_submit() -> None:
    jobs = [rigid(1, 0, 4, 100), rigid(2, 10, 4, 50, preceding=1, think_time=10, cancelled_at=30)]
    # Recorded as withdrawn 20 s after its submit, which is now at 110.
    assert job_outcomes(run(jobs, 4))[2] == (110, 130, "cancelled")


def test_a_killed_job_and_a_stochastic_one_have_terminated() -> None:
    jobs = [
        rigid(1, 0, 2, 100, killed=True),
        rigid(2, 0, 1, 5, preceding=1, think_time=1),
        stochastic(3, 0, 2, 25, "p"),
        rigid(4, 0, 1, 5, preceding=3, think_time=1),
    ]
    result = run(jobs, 8, plans=PLANS)
    # The stochastic job: 10 and a checkpoint of 2, then a restart of 1 and the other 15.
    assert job_outcomes(result)[3] == (0, 28, "completed")
    assert (job_outcomes(result)[2][0], job_outcomes(result)[4][0]) == (101, 29)


def test_an_on_demand_job_without_notice_may_depend() -> None:
    jobs = [
        rigid(1, 0, 2, 100),
        malleable(2, 0, 2, 1000, min_nodes=1),
        on_demand(3, 0, 3, 10, preceding=1, think_time=50),
    ]
    result = run(jobs, 4, "N-SPAA")
    # At 150 two nodes are free, and job 2 gives the third.
    assert job_outcomes(result)[3] == (150, 160, "completed")


def test_stochastic_jobs_depend_too() -> None:
    jobs = [rigid(1, 0, 2, 100), stochastic(2, 0, 2, 5, "p", preceding=1, think_time=3)]
    assert job_outcomes(simulate(jobs, 2, plans=PLANS))[2] == (103, 108, "completed")
