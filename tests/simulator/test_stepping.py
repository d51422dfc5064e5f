"""A simulation that is stepped through is the simulation."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.simulator import simulate
from holdfast.simulator.stepping.jobs import SteppedSimulation
from holdfast.workloads.ground.errors import InputError, InvariantError
from holdfast.workloads.table.job import Job, JobType

NODES = 16


def crowd(seed: int, count: int = 40) -> list[Job]:
    """More work than the machine can do at once; many events fall into one instant."""
    rng = np.random.default_rng(seed)
    jobs = []
    for number in range(1, count + 1):
        walltime = 60.0 * float(rng.integers(1, 40))
        runtime = max(1.0, 60.0 * float(rng.integers(0, walltime // 60 + 1)))
        submit = 300.0 * float(rng.integers(0, 12))
        jobs.append(Job(number, JobType.RIGID, submit, int(rng.choice([1, 2, 3, 5, 8, 16])), runtime, walltime))
    return jobs


@given(st.integers(0, 10**6), st.sampled_from(["easy", "none"]), st.sampled_from(["fcfs", "sjf", "wfp3"]))
@settings(max_examples=60, deadline=None)
def test_always_the_first_job_gives_the_schedule_of_the_order(seed: int, backfilling: str, order: str) -> None:
    jobs = crowd(seed)
    stepped = SteppedSimulation(jobs, NODES, backfilling=backfilling, order=order)
    while stepped.asks:
        stepped.choose(0)
    expected = simulate(jobs, NODES, backfilling=backfilling, order=order)
    assert stepped.result().entries == expected.entries
    assert stepped.result().records == expected.records
    assert stepped.result().accounting == expected.accounting


@given(st.integers(0, 10**6), st.randoms(use_true_random=False), st.sampled_from(["easy", "none"]))
@settings(max_examples=60, deadline=None)
def test_whatever_is_chosen_every_job_runs_and_the_chosen_one_is_not_delayed(
    seed: int, random: st.DrawFn, backfilling: str
) -> None:
    jobs = {job.job_id: job for job in crowd(seed)}
    stepped = SteppedSimulation(jobs.values(), NODES, backfilling=backfilling)
    while stepped.asks:
        queue, free = list(stepped.queue), stepped.view.free
        assert len(queue) > 1 and min(job.nodes for job in queue) <= free
        place = random.randrange(len(queue))  # type: ignore[attr-defined]
        chosen, waiting, now = queue[place], len(queue), stepped.view.now
        stepped.choose(place)
        if chosen.nodes <= free and stepped.asks and stepped.view.now == now:
            assert len(stepped.queue) == waiting - 1
    result = stepped.result()
    assert {record.job_id for record in result.records if record.end is not None} == set(jobs)
    busy = sum(job.nodes * job.runtime for job in jobs.values())
    assert result.accounting.compute == round(busy * 1e6)


def test_without_backfilling_a_chosen_job_that_does_not_fit_is_waited_for() -> None:
    running = Job(1, JobType.RIGID, 0.0, 12, 100.0, 100.0)
    large, small = Job(2, JobType.RIGID, 1.0, 16, 10.0, 10.0), Job(3, JobType.RIGID, 1.0, 1, 10.0, 10.0)
    starts = {}
    for rule, place in (("none", 0), ("none", 1), ("easy", 0)):
        stepped = SteppedSimulation([running, large, small], NODES, backfilling=rule)
        while stepped.asks:
            stepped.choose(place)
        starts[rule, place] = stepped.result().jobs["start"].tolist()
    assert starts["none", 0] == [0.0, 100.0, 110.0]
    assert starts["none", 1] == starts["easy", 0] == [0.0, 100.0, 1.0]


def test_what_cannot_be_stepped_is_refused() -> None:
    jobs = crowd(1)
    with pytest.raises(InputError, match="easy or none if jobs are chosen one by one"):
        SteppedSimulation(jobs, NODES, backfilling="conservative")
    with pytest.raises(InputError, match="must be rigid"):
        SteppedSimulation([Job(1, JobType.ON_DEMAND, 0.0, 1, 1.0, 1.0)], NODES)
    stepped = SteppedSimulation(jobs, NODES)
    with pytest.raises(InvariantError, match="not over"):
        stepped.result()
    with pytest.raises(InputError, match="place"):
        stepped.choose(10_000)
    while stepped.asks:
        stepped.choose(0)
    with pytest.raises(InvariantError, match="over"):
        stepped.choose(0)
