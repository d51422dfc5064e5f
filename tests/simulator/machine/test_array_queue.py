"""Queues of many jobs: the same order, and the same starts, as where each job is looked at."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.policies.mechanism import BASELINE, MECHANISMS
from holdfast.policies.order import ORDERS, Order
from holdfast.simulator import simulate
from holdfast.simulator.machine import wait_queue
from holdfast.simulator.machine.array_queue import ArrayQueue, Fitting
from holdfast.simulator.machine.job_state import JobState
from holdfast.simulator.machine.wait_queue import Queue
from holdfast.simulator.start_times import starts_by_walltime
from holdfast.workloads.ground.errors import InvariantError
from holdfast.workloads.ground.units import SECOND
from holdfast.workloads.table.job import Job, JobType
from tests.policies.test_policies import View
from tests.strategies.tables import Table, crowded_job_table, job_tables
from tests.support.jobs import rigid, waiting_state

#: Every order, those with parameters that change what they compute, and powers that differ in their last digits.
NAMES = (
    *(item.name for item in ORDERS.entries() if item.origin == "built in"),
    *("wfp3 exponent=2.7", "wfp3 exponent=1", "fairshare patience=50", "fairshare half_life=100"),
    "multifactor age=100 max_age=500 fairshare=900 size=50 half_life=100 accounts=3",
    "alcf shortest=1 longest=2 fifo_factor=3600 backfill_factor=10 backfill_max=7",
)


@contextmanager
def columns_from(count: float) -> Iterator[None]:
    """Columns are kept from so many waiting jobs on."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(wait_queue, "DEEP", count)
        patch.setattr(wait_queue, "DEEP_SORTED", count)
        yield


class Seen(View):
    """A view with usage of groups, of which some have used the same."""

    def group_usage(self, group: str | None) -> float:
        return 7.0 if group is None else float(len(group) % 3)


def states(data: st.DataObject, count: int) -> list[JobState]:
    """Jobs of few sizes, times and groups, some a tick apart, in the order of their submits."""
    submits = sorted(data.draw(st.lists(st.integers(0, 9), min_size=count, max_size=count)))
    found = []
    for row, submit in enumerate(submits):
        nodes = data.draw(st.integers(1, 4))
        walltime = data.draw(st.sampled_from([1.0, 2.0, 4.0, 4.000001, 8.0, 3.0]))
        project = "x" * data.draw(st.integers(0, 4))
        job = Job(row + 1, JobType.RIGID, float(submit), nodes, walltime, walltime, project=project)
        found.append(waiting_state(job, row))
    return found


@settings(max_examples=300)
@given(name=st.sampled_from(NAMES), data=st.data())
def test_the_order_is_that_of_the_short_queue(name: str, data: st.DataObject) -> None:
    order = ORDERS[name]
    jobs = states(data, data.draw(st.integers(1, 14)))
    with columns_from(0):
        long = Queue(order, name)
    with columns_from(float("inf")):
        short = Queue(order, name)
    for number, job in enumerate(jobs):
        for queue in (long, short):
            job.waiting = False
            queue.add(job, job.submit, urgent=number % 7 == 6)
    gone = data.draw(st.sets(st.sampled_from(jobs), max_size=len(jobs) - 1))
    for job in gone:
        for queue in (long, short):
            job.waiting = True
            queue.remove(job)
    view: Any = Seen(9, now=9 * SECOND + data.draw(st.integers(0, 5)))
    expected, found = list(short.in_order(view)), long.in_order(view)
    skipped, free = data.draw(st.integers(0, len(expected))), data.draw(st.integers(0, 5))
    latest, extra = data.draw(st.integers(1, 6)) * SECOND, data.draw(st.integers(0, 5))
    assert isinstance(found, ArrayQueue)
    # As a pass asks: the first few, then those behind them that fit, then those that do not delay the first.
    assert [job for job, _ in zip(found, range(skipped), strict=False)] == expected[:skipped]
    candidates = found.candidates(skipped, free)
    behind = [job for job in expected[skipped:] if job.min_nodes <= free]
    assert bool(candidates) is bool(behind)
    assert isinstance(candidates, Fitting)
    if behind and data.draw(st.booleans()):
        assert next(candidates) is behind.pop(0)
        free -= 1
    candidates.narrow(free, latest, extra)
    assert list(candidates) == [
        job for job in behind if job.min_nodes <= free and (job.walltime <= latest or job.min_nodes <= extra)
    ]
    assert list(found) == expected == found[:]
    assert [*found.candidates(0, 99)] == expected
    assert len(found) == len(expected)
    assert [found[place] for place in range(-1, len(expected))] == [expected[-1], *expected]
    assert (found.least, short.in_order(view).least) == (min(job.min_nodes for job in expected),) * 2
    numbers = found.numbers()
    assert numbers is not None
    assert numbers[0].T[numbers[1]].tolist() == [[job.min_nodes, job.nodes, job.walltime, 0, 0] for job in expected]


@pytest.mark.parametrize("name", [name for name in NAMES if not ORDERS[name].static])
def test_keys_in_arrays_are_those_of_the_order(name: str) -> None:
    """Within their slack; to the bit where they claim to have none."""
    order = ORDERS[name]
    assert order.ranking is not None
    ranking = order.ranking()
    rng = np.random.default_rng(5)
    jobs = [
        waiting_state(
            Job(i + 1, JobType.RIGID, float(rng.uniform(0, 1e7)), int(rng.integers(1, 5000)), 1.0,
                float(np.exp(rng.uniform(0, 12))), project=f"p{i % 9}"),
            i,
        )
        for i in range(400)
    ]  # fmt: skip
    view: Any = Seen(9, now=10**13 + 12345, nodes=4392)
    keys = ranking.keys(view, np.array([ranking.traits(job) for job in jobs]).T)
    plain = [order.at(view)(job) if order.at is not None else order.key(job, view.now) for job in jobs]
    for place, array in enumerate(keys):
        exact = [key[place] if isinstance(key, tuple) else key for key in plain]
        if ranking.slack:
            assert array == pytest.approx(exact, rel=ranking.slack / 100, abs=0)
        else:
            assert array.tolist() == exact


def simulation_outcome(table: Table, mechanism: str, **options: Any) -> list[tuple[int | None, int | None, int]]:
    result = simulate(table.jobs, table.nodes, mechanism, events=False, engine="simpy", **options)
    return [(record.start, record.end, record.preemptions) for record in result.records]


def check(table: Table, mechanism: str, **options: Any) -> None:
    with columns_from(float("inf")):
        expected = simulation_outcome(table, mechanism, **options)
    with columns_from(2):
        assert simulation_outcome(table, mechanism, **options) == expected


RULES = ("easy", "easy", "none", "easy depth=3", "conservative")


@settings(max_examples=200)
@given(
    table=job_tables(max_jobs=25),
    mechanism=st.sampled_from([BASELINE, *(mechanism.name for mechanism in MECHANISMS)]),
    order=st.sampled_from(NAMES),
    rule=st.sampled_from(RULES),
    passes=st.sampled_from(["instant", "event"]),
    tenants=st.sampled_from(["any", "fits"]),
)
def test_the_same_starts(table: Table, mechanism: str, order: str, rule: str, passes: str, tenants: str) -> None:
    check(table, mechanism, order=order, backfilling=rule, passes=passes, tenants=tenants)


@settings(max_examples=60)
@given(
    table=job_tables(max_jobs=25, types=(JobType.RIGID,)),
    order=st.sampled_from(["fcfs", "smallest", "sjf", "wfp3"]),
    rule=st.sampled_from(["easy", "conservative"]),
    walltimes=st.sets(st.integers(1, 3000), min_size=1, max_size=4),
)
def test_a_job_that_is_tried_with_several_walltimes(table: Table, order: str, rule: str, walltimes: set[int]) -> None:
    """What a waiting job asks for changes while it waits."""
    *others, asked = sorted(table.jobs, key=lambda job: job.submit or 0.0)
    asked = replace(asked, setup=0.0, checkpoint_interval=None, checkpoint_cost=0.0)
    tried = [float(walltime) for walltime in sorted(walltimes)]
    found = []
    for count in (2, float("inf")):
        with columns_from(count):
            found.append(starts_by_walltime(others, table.nodes, 0.0, asked, tried, order=order, backfilling=rule))
    assert found[0] == found[1]


def test_what_a_waiting_job_asks_for_may_be_renewed() -> None:
    jobs = [waiting_state(rigid(row + 1, row, 1, 10.0), row) for row in range(4)]
    with columns_from(0):
        queue = Queue(ORDERS["fcfs"])
    for job in jobs:
        queue.add(job, job.submit)
    jobs[1].walltime = 99 * SECOND
    queue.renew(jobs[1], 5 * SECOND)
    view: Any = Seen(9, now=5 * SECOND)
    found = queue.in_order(view)
    assert isinstance(found, ArrayQueue)
    assert list(found) == jobs
    candidates = found.candidates(0, 9)
    candidates.narrow(9, 20 * SECOND, 0)
    assert list(candidates) == [jobs[0], *jobs[2:]]


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_the_same_starts_on_crowded_machines(name: str) -> None:
    for seed in range(12):
        table = crowded_job_table(seed)
        for mechanism in (BASELINE, "N-PAA", "CUA-SPAA", "CUP-SPAA"):
            check(table, mechanism, order=name, backfilling=RULES[seed % len(RULES)])
            check(table, mechanism, order=name, backfill_length="runtime")


def test_keys_that_are_no_numbers_are_found_out_there_too() -> None:
    class Broken:
        width, slack = 1, 0.0

        def traits(self, job: Any) -> tuple[float, ...]:
            return (job.submit,)

        def keys(self, view: Any, traits: Any) -> Any:
            return (traits[0] * float("nan"),)

    order = Order(lambda job, now: float("nan"), ranking=Broken)
    ORDERS.add("broken", order)
    try:
        jobs = [Job(number, JobType.RIGID, 0.0, 2, 10.0, 10.0) for number in (1, 2, 3)]
        with columns_from(0), pytest.raises(InvariantError, match=r"the order broken cannot sort the queue: .*NaN"):
            simulate(jobs, 2, order="broken")
    finally:
        ORDERS.forget("broken")
