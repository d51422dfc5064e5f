"""A simulation in which failures never let a job end is refused before it begins, or soon.

One that is only slow is not.
"""

from __future__ import annotations

from itertools import count

import numpy as np
import pytest

from holdfast.simulator import simulate
from holdfast.simulator.machine.job_factory import job_states
from holdfast.simulator.options import Options
from holdfast.simulator.services.completion_checks import mean_starts
from holdfast.simulator.start_times import first_starts
from holdfast.workloads.ground.errors import InputError
from holdfast.workloads.outages.failures import FailureRate
from holdfast.workloads.table.job import Job
from tests.support.jobs import malleable, on_demand, rigid, stochastic

#: Failures that a refusal may take: a pass each, which takes a millisecond with a slow order and many jobs.
FEW = 4000


def failure_count(jobs: list[Job], nodes: int, rate: FailureRate, mechanism: str = "baseline") -> int:
    with pytest.raises(InputError, match="nodes fail too often for the remaining jobs") as error:
        simulate(jobs, nodes, mechanism, failures=rate)
    return int(str(error.value).partition("during ")[2].partition(" ")[0].replace(",", ""))


@pytest.mark.parametrize(
    ("jobs", "mechanism"),
    [
        ([rigid(1, 0, 2, 85)], "baseline"),
        # A job that has a chance waits behind one that has none and starts again and again.
        ([rigid(1, 0, 4, 43), rigid(2, 10, 3, 1)], "baseline"),
        # A checkpoint does not come in time either.
        ([rigid(1, 0, 4, 4000, setup=10, interval=33, cost=10)], "N-PAA"),
    ],
)
def test_a_hopeless_job_is_refused_soon(jobs: list[Job], mechanism: str) -> None:
    # e^(-2 * 85 / 20) is 1 / 4915: one that a table may hold before it is simulated.
    assert failure_count(jobs, 4, FailureRate(mtbf=20.0, repair=1.0), mechanism) <= FEW


def test_a_wide_job_that_never_finds_its_nodes_is_refused_soon() -> None:
    assert failure_count([rigid(1, 5000, 90, 10)], 100, FailureRate(mtbf=100.0, repair=900.0)) <= FEW


def test_an_on_demand_job_without_a_chance_is_refused_soon() -> None:
    assert failure_count([on_demand(1, 0, 2, 85)], 2, FailureRate(mtbf=20.0, repair=1.0), "N-PAA") <= FEW


@pytest.mark.parametrize(
    ("jobs", "rate"),
    [
        # 1,600 failures in all: nothing is lost but the time since the last checkpoint.
        ([rigid(1, 0, 4, 4000, setup=1, interval=2, cost=1)], FailureRate(mtbf=10.0, repair=0.1)),
        # e^-5: some 150 starts.
        ([rigid(1, 0, 2, 50)], FailureRate(mtbf=20.0, repair=0.1)),
    ],
)
def test_a_job_that_only_needs_many_starts_ends(jobs: list[Job], rate: FailureRate) -> None:
    result = simulate(jobs, 4, "N-PAA", failures=rate)
    assert result.records[0].end is not None
    assert result.records[0].preemptions > 20


def starts(job: Job, rate: FailureRate, rng: np.random.Generator) -> int:
    """Starts of a job until failures let it end: each of its nodes fails after an exponential time."""
    for start in count(1):
        if rng.exponential(rate.mtbf, job.nodes).min() > job.runtime:
            return start
    raise AssertionError


def test_a_table_with_one_hopeless_job_is_refused_before_it_is_simulated(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two jobs end between any two failures of the others, and the hopeless one comes last."""
    jobs = [rigid(number, 10 * number, 1, 1) for number in range(1, 500)] + [rigid(500, 5000, 2, 1000)]
    began: list[int] = []
    monkeypatch.setattr(
        "holdfast.simulator.machine.system.System.start", lambda system, job, *_: began.append(job.job_id)
    )
    with pytest.raises(InputError, match=r"each every 36 s on average.* job 500 must be started 10\^24 times"):
        simulate(jobs, 4, failures=FailureRate(mtbf=36.0, repair=1.0))
    assert not began


@pytest.mark.parametrize("order", ["fcfs", "sjf", "wfp3", "fairshare"])
def test_the_order_has_no_part_in_it(order: str) -> None:
    jobs = [rigid(1, 0, 2, 1000), rigid(2, 0, 1, 1)]
    with pytest.raises(InputError, match="job 1 must be started"):
        simulate(jobs, 4, order=order, failures=FailureRate(mtbf=20.0, repair=1.0))


def test_many_jobs_that_each_need_many_starts_are_refused() -> None:
    # e^6 = 403 starts each
    jobs = [rigid(number, 0, 2, 60) for number in range(1, 101)]
    with pytest.raises(InputError, match=r"must be started 403 times .* and all jobs together 40,343 times"):
        simulate(jobs, 4, failures=FailureRate(mtbf=20.0, repair=1.0))


def test_the_mean_number_of_starts_is_that_of_drawn_failures() -> None:
    """The bound of a rigid job is exact: failures are drawn node by node."""
    job, rate = rigid(1, 0, 3, 40), FailureRate(mtbf=40.0, repair=1.0)
    rng = np.random.default_rng(28)
    drawn = [starts(job, rate, rng) for _ in range(4000)]
    mean, error = np.mean(drawn), np.std(drawn) / np.sqrt(len(drawn))
    state = job_states([job], 0, Options(), baseline=True)[0]
    assert abs(mean_starts(state, rate) - mean) < 4 * error


@pytest.mark.parametrize(
    "other",
    [
        rigid(2, 5, 2, 1000, cancelled_at=6.0),  # it leaves the queue
        on_demand(2, None, 2, 1000, notice=1, estimated=10),  # it never arrives
        malleable(2, 5, 2, 1000, min_nodes=1),  # what it has computed stays
        rigid(2, 5, 2, 1000, interval=2, cost=1),
    ],
)
def test_jobs_that_need_not_run_undisturbed_are_not_refused(other: Job) -> None:
    result = simulate([rigid(1, 0, 1, 5), other], 4, "N-PAA", failures=FailureRate(mtbf=20.0, repair=0.1))
    assert result.records[0].end is not None


def test_a_forecast_asks_for_starts_and_not_for_ends() -> None:
    jobs = [rigid(1, 0, 2, 1000), rigid(2, 0, 1, 1)]
    assert first_starts(jobs, 4, 0, [1, 2], failures=FailureRate(mtbf=20.0, repair=1.0)) == {1: 0, 2: 0}


def test_a_reservation_that_is_always_struck_is_refused_while_others_end() -> None:
    """Its plan is made at its submit, and short jobs end between all failures."""
    long = stochastic(1, 0, 2, 1000, "maximum")
    others = [rigid(number, 10 * number, 1, 1) for number in range(2, 2000)]
    with pytest.raises(InputError, match=r"job 1 must be started 10\^43 times"):
        simulate([long, *others], 4, failures=FailureRate(mtbf=20.0, repair=1.0))
