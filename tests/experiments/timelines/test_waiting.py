"""The queue over time, from the event log: it must be the simulator's own, and its head that of a plain search."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.experiments.timelines.waiting import Stay, heads, levels, stays
from holdfast.simulator import simulate
from holdfast.workloads.ground.units import SECOND
from holdfast.workloads.table.job_lifecycle import has_life
from tests.reference.hybrid import MECHANISMS
from tests.strategies.lives import lively_mixes
from tests.strategies.mixes import mixes
from tests.strategies.outages import outages_for, random_outages
from tests.strategies.tables import random_job_table
from tests.support.jobs import malleable, on_demand, rigid

every_mechanism = pytest.mark.parametrize("mechanism", ["baseline", *MECHANISMS])


def stays_in_seconds(found: list[Stay]) -> list[tuple[int, float, float, float]]:
    return [(stay.job_id, stay.start / SECOND, stay.end / SECOND, stay.node_ticks / SECOND) for stay in found]


def test_what_is_left_of_the_walltime_waits() -> None:
    # Job 1 has secured 40 s of compute on 2 nodes when it is preempted; job 3 is behind it.
    jobs = [
        rigid(1, 0, 2, 100, 120, setup=10, interval=20, cost=5), on_demand(2, 70, 2, 30), rigid(3, 80, 1, 50),
    ]  # fmt: skip
    found = stays(simulate(jobs, 2, "N-PAA"))
    assert stays_in_seconds(found) == [(1, 70, 100, 2 * (120 - 40)), (3, 80, 150, 50)]
    times, waiting, nodes, work = levels(found)
    assert (times / SECOND).tolist() == [70, 80, 100, 150]
    assert (waiting.tolist(), nodes.tolist()) == ([1, 2, 1, 0], [2, 3, 1, 0])
    assert (work / SECOND).tolist() == [160, 210, 50, 0]
    assert [(start / SECOND, end / SECOND, stay.job_id) for start, end, stay in heads(found)] == [
        (70, 80, 1), (80, 100, 1), (100, 150, 3),
    ]  # fmt: skip


def test_work_of_a_malleable_job_counts_as_done() -> None:
    jobs = [malleable(1, 0, 4, 100, 200, min_nodes=4, setup=20), on_demand(2, 50, 4, 10)]
    # 30 s of work on 4 nodes before the warning; it waits once its nodes are given up.
    assert stays_in_seconds(stays(simulate(jobs, 4, "N-PAA"))) == [(1, 170, 180, 4 * 200 - 4 * 30)]


def test_an_on_demand_job_that_waits_stands_first() -> None:
    jobs = [on_demand(1, 0, 2, 100), rigid(2, 10, 2, 50), on_demand(3, 20, 2, 50)]
    found = stays(simulate(jobs, 2, "N-PAA"))
    assert [(start / SECOND, end / SECOND, stay.job_id) for start, end, stay in heads(found)] == [
        (10, 20, 2), (20, 100, 3), (100, 150, 2),
    ]  # fmt: skip


@every_mechanism
@settings(max_examples=20)
@given(data=st.data(), mix=st.one_of(mixes(), lively_mixes()))
def test_the_queue_is_that_of_the_simulator(mechanism: str, data: st.DataObject, mix: Any) -> None:
    lively = any(has_life(job) for job in mix.jobs)
    outages = [] if lively else data.draw(st.one_of(st.just([]), outages_for(mix.jobs, mix.nodes)))
    result = simulate(mix.jobs, mix.nodes, mechanism, plans=mix.plans, outages=outages)
    if not result.entries:
        return
    found = stays(result)
    times, waiting, nodes, work = levels(found)
    assert (work >= 0).all()
    for now, _, _, jobs, asked in result.samples:
        place = int(np.searchsorted(times, now, side="right")) - 1
        assert (jobs, asked) == ((waiting[place], nodes[place]) if place >= 0 else (0, 0))


def test_who_gathers_nodes_after_a_failure_waits_no_more() -> None:
    table = random_job_table(10)
    result = simulate(table.jobs, table.nodes, "N-PAA", outages=random_outages(10, table.jobs, table.nodes))
    gathered = [entry for entry in result.entries if entry.event == "gather"]
    queued = [entry for entry in result.entries if entry.event == "requeue"]
    assert {(entry.time, entry.job_id) for entry in gathered} & {(entry.time, entry.job_id) for entry in queued}
    times, waiting, _, _ = levels(stays(result))
    for now, _, _, jobs, _ in result.samples:
        place = int(np.searchsorted(times, now, side="right")) - 1
        assert jobs == (waiting[place] if place >= 0 else 0)


@settings(max_examples=100)
@given(
    st.lists(
        st.tuples(st.integers(0, 20), st.integers(1, 10), st.booleans(), st.integers(0, 5)), min_size=1, max_size=12
    )
)
def test_the_head_is_the_least_of_all_that_wait(rows: list[tuple[int, int, bool, int]]) -> None:
    found = sorted(
        (
            Stay(row, start, start + length, 1, 1, urgent, max(0, start - earlier), row)
            for row, (start, length, urgent, earlier) in enumerate(rows)
        ),
        key=lambda stay: (stay.start, stay.row),
    )
    seen = {tick: head.row for start, end, head in heads(found) for tick in range(start, end)}
    for tick in range(35):
        waiting = [stay for stay in found if stay.start <= tick < stay.end]
        least = min(waiting, key=lambda stay: (not stay.urgent, stay.submit, stay.row), default=None)
        assert seen.get(tick) == (None if least is None else least.row)
