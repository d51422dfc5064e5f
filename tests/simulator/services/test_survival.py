"""A simulation in which failures never let a job end is refused after few of them; one that is only slow is not."""

from __future__ import annotations

import pytest

from simulator import simulate
from tests.support.jobs import malleable, on_demand, rigid
from workloads.ground.errors import InputError
from workloads.outages.failures import FailureRate
from workloads.table.job import Job

#: Failures that a refusal may take: a pass each, which takes a millisecond with a slow order and many jobs.
FEW = 4000


def refused_after(jobs: list[Job], nodes: int, rate: FailureRate, mechanism: str = "baseline") -> int:
    with pytest.raises(InputError, match="nodes fail too often for the remaining jobs") as error:
        simulate(jobs, nodes, mechanism, failures=rate)
    return int(str(error.value).partition("during ")[2].partition(" ")[0].replace(",", ""))


@pytest.mark.parametrize(
    "jobs",
    [
        [rigid(1, 0, 2, 1000)],
        # A job that has a chance waits behind one that has none and starts again and again.
        [rigid(1, 0, 4, 1000), rigid(2, 10, 3, 1)],
        # A checkpoint does not come in time either.
        [rigid(1, 0, 4, 4000, setup=10, interval=500, cost=10)],
    ],
)
def test_a_hopeless_job_is_refused_soon(jobs: list[Job]) -> None:
    # e^(-2 * 1000 / 20) and less
    assert refused_after(jobs, 4, FailureRate(mtbf=20.0, repair=1.0)) <= FEW


def test_a_wide_job_that_never_finds_its_nodes_is_refused_soon() -> None:
    assert refused_after([rigid(1, 5000, 90, 10)], 100, FailureRate(mtbf=100.0, repair=900.0)) <= FEW


def test_an_on_demand_job_without_a_chance_is_refused_soon() -> None:
    jobs = [on_demand(1, 0, 2, 1000), malleable(2, 0, 2, 1000, min_nodes=1)]
    assert refused_after(jobs[:1], 2, FailureRate(mtbf=20.0, repair=1.0), "N-PAA") <= FEW


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
