"""With maintenance, failures and advance reservations all laws still hold; and what each does, worked by hand."""

from __future__ import annotations

import math
from collections import defaultdict
from itertools import islice
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from holdfast.simulator import Result, simulate
from holdfast.workloads.ground.errors import InputError
from holdfast.workloads.ground.units import SECOND, to_ticks
from holdfast.workloads.hybrid.checkpointing import daly_interval
from holdfast.workloads.outages.failures import FailureRate
from holdfast.workloads.outages.outage import Outage, OutageKind
from holdfast.workloads.table.job import Job, JobType
from tests.reference.hybrid import MECHANISMS
from tests.strategies.lives import lively_mixes, random_lively_mix
from tests.strategies.mixes import mixes
from tests.strategies.outages import outages_for, random_outages
from tests.support.jobs import malleable, on_demand, rigid

MAINTENANCE, FAILURE, RESERVATION = OutageKind.MAINTENANCE, OutageKind.FAILURE, OutageKind.RESERVATION
#: Events that change how many nodes a job occupies, or are down.
CHANGES = ("start", "shrink", "expand", "warn", "preempt", "expire", "complete", "kill", "cancel", "down", "up")
ENDS = ("preempt", "expire", "complete", "kill", "cancel")

every_mechanism = pytest.mark.parametrize("mechanism", ["baseline", *MECHANISMS])
operated = st.fixed_dictionaries(
    {
        "tenants": st.sampled_from(["any", "any", "fits", "none"]),
        "backfill_length": st.sampled_from(["walltime", "walltime", "runtime"]),
        "passes": st.sampled_from(["instant", "instant", "event"]),
        "expansion": st.sampled_from(["none", "none", "greedy", "even"]),
        "backfilling": st.sampled_from(["easy", "easy", "easy depth=3"]),
    }
)


def event_log(result: Result, *events: str) -> list[tuple[float, str, int, int, int]]:
    """The log of some events: seconds, event, id, nodes before and after."""
    return [
        (entry.time / SECOND, entry.event, entry.job_id, entry.before, entry.after)
        for entry in result.entries
        if entry.event in events
    ]


def compute_ticks(job: Job, *, baseline: bool) -> tuple[int, int]:
    """Compute node-ticks of a job that is not stochastic, and how far rounding may take them."""
    runtime = job.runtime if not baseline or job.trace_runtime is None else job.trace_runtime
    ticks = to_ticks(runtime)
    if baseline or job.type is JobType.ON_DEMAND:
        return ticks * job.nodes, 0
    setup = to_ticks(job.setup)
    if job.type is JobType.RIGID and job.checkpoint_interval is not None:
        cost = to_ticks(job.checkpoint_cost)
        dumps = max(0, -(-(ticks - setup) // (to_ticks(job.checkpoint_interval) + cost)) - 1)
        ticks -= dumps * cost
    return (ticks - setup) * job.nodes, job.nodes if job.type is JobType.MALLEABLE else 0


def assert_accounting(result: Result, nodes: int, first: int, last: int) -> dict[int, list[str]]:
    """Nodes and node-time by the event log alone, from ``first`` to ``last``; returns the changes of each holder."""
    size: dict[int, int] = defaultdict(int)
    since: dict[int, int] = defaultdict(int)
    spent = {"busy": 0, "down": 0}
    runs: dict[int, list[str]] = defaultdict(list)
    for entry in result.entries:
        if entry.event not in CHANGES:
            continue
        holder, count = entry.job_id, entry.before
        assert count == size[holder], "nodes appear or vanish between two events"
        spent["down" if holder < 0 else "busy"] += count * (max(first, entry.time) - max(first, since[holder]))
        size[holder], since[holder] = entry.after, entry.time
        assert min(size.values()) >= 0
        assert sum(size.values()) <= nodes
        runs[holder].append(entry.event)
    for holder, count in size.items():
        assert holder < 0 or count == 0, "every job gives its nodes back"
        spent["down" if holder < 0 else "busy"] += count * (last - max(first, since[holder]))
    accounting = result.accounting
    assert spent["down"] == accounting.down
    assert spent["busy"] == sum(accounting) - accounting.idle - accounting.held - accounting.down
    assert sum(accounting) == nodes * (last - first)
    lost = accounting.lost + accounting.warning
    assert sum(record.lost for record in result.records) == sum(ticks for _, ticks in result.losses) == lost
    return runs


@every_mechanism
@settings(max_examples=40)
@given(data=st.data(), mix=mixes(), chosen=operated)
def test_laws(mechanism: str, data: st.DataObject, mix: Any, chosen: dict[str, str]) -> None:
    outages = data.draw(outages_for(mix.jobs, mix.nodes))
    result = simulate(mix.jobs, mix.nodes, mechanism, plans=mix.plans, outages=outages, **chosen)
    by_id = {job.job_id: job for job in mix.jobs}
    came = [record for record in result.records if record.submit is not None]
    first = min((record.submit or 0 for record in came), default=0) - result.origin
    last = max((record.end or 0 for record in came), default=0) - result.origin

    runs = assert_accounting(result, mix.nodes, first, last)
    accounting = result.accounting

    # Every job that came is done once, whatever became of it before.
    for record in result.records:
        job, steps = by_id[record.job_id], runs[record.job_id]
        if job.submit is None:
            assert record.status == "no_show"
            assert not steps
            continue
        assert [event in ("complete", "kill") for event in steps] == [False] * (len(steps) - 1) + [True]
        assert steps.count("start") == sum(event in ENDS for event in steps)
        assert steps.count("preempt") == record.preemptions
        assert record.start is not None
        assert record.end is not None
        assert to_ticks(job.submit) <= record.start < record.end

    # Work is done once.
    plain = [job for job in mix.jobs if job.submit is not None and job.type is not JobType.STOCHASTIC]
    amounts = [compute_ticks(job, baseline=mechanism == "baseline") for job in plain]
    stochastic = sum(course.runtime * by_id[course.job_id].nodes for course in result.stochastic)
    short = accounting.compute - sum(work for work, _ in amounts)
    slack = sum(rounding for _, rounding in amounts)
    # Of stochastic jobs what was done beyond the last good checkpoint is lost: what counts is their runtime.
    assert abs(short - stochastic) <= slack

    # What an outage has, it has from its begin to its end.
    for entry in result.entries:
        if entry.job_id < 0 and entry.event != "announce":
            outage = result.outages[-entry.job_id - 1]
            at = (entry.time + result.origin, to_ticks(outage.start), to_ticks(outage.end))
            assert max(at[1], result.origin) <= at[0] <= at[2]
            assert max(entry.before, entry.after) <= outage.nodes
            # The jobs of a reservation may still give their nodes back to it at its very end.
            assert at[0] == at[2] if entry.event in ("up", "close") else entry.event == "reserve" or at[0] < at[2]
            assert (entry.event in ("reserve", "close")) == (outage.kind is RESERVATION)


@every_mechanism
@settings(max_examples=15)
@given(data=st.data(), mix=mixes())
def test_the_same_outages_give_the_same_result(mechanism: str, data: st.DataObject, mix: Any) -> None:
    outages = data.draw(outages_for(mix.jobs, mix.nodes))
    first, second = (simulate(mix.jobs, mix.nodes, mechanism, plans=mix.plans, outages=outages) for _ in range(2))
    assert first.entries == second.entries
    assert first.records == second.records
    assert first.down == second.down


@every_mechanism
@settings(max_examples=15)
@given(data=st.data(), mix=mixes(), nodes=st.integers(1, 30))
def test_while_the_whole_machine_is_away_nobody_runs(mechanism: str, data: st.DataObject, mix: Any, nodes: int) -> None:
    """From the begin, or the end of the warnings that it causes, to the end of a window over all nodes."""
    at = data.draw(st.sampled_from(sorted({job.submit for job in mix.jobs if job.submit is not None} or {0.0})))
    at += 60.0 * data.draw(st.integers(0, 20))
    window = Outage(MAINTENANCE, at, at + 6000.0, mix.nodes)
    failures = data.draw(outages_for(mix.jobs, mix.nodes, [FAILURE]))
    result = simulate(mix.jobs, mix.nodes, mechanism, plans=mix.plans, outages=[window, *failures])
    begin, end = (to_ticks(time) - result.origin for time in (at, at + 6000.0))
    busy = [sample for sample in result.samples if begin + 120 * SECOND <= sample[0] < end]
    assert not any(sample[1] or sample[2] for sample in busy)
    for entry in result.entries:
        # In the very instant of its begin a warning may be over first: who then starts is preempted at once.
        assert not (begin < entry.time < end and entry.event == "start")


@settings(max_examples=60)
@given(data=st.data(), mix=mixes())
def test_the_baseline_preempts_nobody_for_what_was_announced(data: st.DataObject, mix: Any) -> None:
    """All walltimes hold there, so that a window that is known from the beginning finds its nodes."""
    outages = data.draw(outages_for(mix.jobs, mix.nodes, [MAINTENANCE, RESERVATION]))
    known = [Outage(item.kind, item.start, item.end, item.nodes, jobs=item.jobs) for item in outages]
    result = simulate(mix.jobs, mix.nodes, plans=mix.plans, outages=known)
    assert not any(record.preemptions for record in result.records)
    for closure in range(1, len(known) + 1):
        events = [entry for entry in result.entries if entry.job_id == -closure]
        # It has all of its nodes at once, or a tick later. (One that began before the first event finds them free.)
        soon = [entry for entry in events if entry.time <= events[0].time + 1]
        assert not events or soon[-1].after == known[closure - 1].nodes


# By hand.


def test_who_ends_just_in_time_is_not_preempted_for_a_tick() -> None:
    """Thirds of seconds: by ticks job 1 ends one after the window begins for which it was let start."""
    jobs = [rigid(1, 3200 / 3, 4, 500 / 3), rigid(2, 0, 1, 10)]
    result = simulate(jobs, 5, outages=[Outage(MAINTENANCE, 3700 / 3, 5000, 4)])
    assert result.records[0].preemptions == 0
    assert (result.records[0].start, result.records[0].end) == (1066666667, 1233333334)
    assert [(entry.time, entry.before, entry.after) for entry in result.entries if entry.job_id == -1] == [
        (1233333333, 0, 1), (1233333334, 1, 4),
    ]  # fmt: skip


def test_a_rigid_job_goes_back_to_its_last_checkpoint() -> None:
    """Setup 10, then 100 of compute and 5 for a checkpoint: two are there at 220, and 30 s of compute are lost at 250.

    The job of eight nodes stands behind a free node; place 0.5 of ten nodes is its own.
    """
    job = rigid(1, 0, 8, 400, setup=10, interval=100, cost=5)
    result = simulate([job], 10, "N-PAA", outages=[Outage(FAILURE, 250, 1000, 1, place=0.5)])
    # Nine nodes are left, so that it starts again at once: setup, and what is left of 375 s of compute less 200.
    assert event_log(result, "down", "preempt", "start", "complete") == [
        (0, "start", 1, 0, 8),
        (250, "preempt", 1, 8, 0),
        (250, "down", -1, 0, 1),
        (250, "start", 1, 0, 8),
        (440, "complete", 1, 8, 0),
    ]
    assert result.records[0].lost == 8 * (10 + 30) * SECOND
    assert result.accounting.down == 190 * SECOND
    assert [entry.cause for entry in result.entries if entry.event == "preempt"] == ["failure 1"]


@pytest.mark.parametrize("place", [0.0, 0.15, 0.999])
def test_a_free_node_or_one_that_is_down_fails_for_nobody(place: float) -> None:
    """In the order: two free nodes, eight of the job. Of ten nodes the last two are down since before."""
    job = rigid(1, 0, 6, 400)
    earlier = Outage(FAILURE, 0, 1000, 2, place=0.0)
    result = simulate([job], 10, outages=[earlier, Outage(FAILURE, 100, 200, 1, place=place)])
    assert not result.records[0].preemptions
    assert [event for event in event_log(result, "down", "up") if event[2] == -2] == (
        [] if place > 0.9 else [(100, "down", -2, 0, 1), (200, "up", -2, 1, 0)]
    )


def test_several_nodes_are_those_that_stand_beside_each_other() -> None:
    """Ten nodes: three free, jobs of two, three and two. Four nodes from the last on: its last, then the free ones."""
    jobs = [rigid(1, 0, 2, 400), rigid(2, 0, 3, 400), rigid(3, 0, 2, 400)]
    result = simulate(jobs, 10, outages=[Outage(FAILURE, 100, 500, 4, place=0.9)])
    assert [record.preemptions for record in result.records] == [0, 0, 1]
    assert (100, "down", -1, 0, 4) in event_log(result, "down")
    result = simulate(jobs, 10, outages=[Outage(FAILURE, 100, 500, 4, place=0.4)])
    assert [record.preemptions for record in result.records] == [1, 1, 0]


def test_a_malleable_job_goes_on_without_the_node_while_it_may() -> None:
    """8 nodes, 100 s of setup, 800 s of work on 8; after 500 s 400 x 8 are done, and the rest takes 7 nodes 457 s."""
    job = malleable(1, 0, 8, 900, min_nodes=7, setup=100)
    outages = [Outage(FAILURE, 500, 2000, 1, place=0.5), Outage(FAILURE, 600, 2000, 1, place=0.5)]
    result = simulate([job], 8, "N-PAA", outages=outages[:1])
    assert event_log(result, "shrink") == [(500, "shrink", 1, 8, 7)]
    assert result.records[0].end == 500 * SECOND + round(400 * 8 / 7 * SECOND)
    assert result.records[0].lost == 0
    # Below its minimum it is preempted at once: the work is kept, the setup is lost, and it waits for seven nodes.
    result = simulate([job], 8, "N-PAA", outages=outages)
    assert event_log(result, "preempt") == [(600, "preempt", 1, 7, 0)]
    assert not event_log(result, "warn")
    assert result.records[0].lost == 8 * 100 * SECOND
    left = 800 * 8 - 400 * 8 - 100 * 7
    assert result.records[0].end == 2100 * SECOND + left * SECOND // 8


def test_an_on_demand_job_begins_anew_and_takes_what_it_misses() -> None:
    """Its own nodes stay with it; the missing one is that of a rigid job, which goes back to the queue."""
    jobs = [rigid(1, 0, 4, 1000), on_demand(2, 100, 4, 300)]
    result = simulate(jobs, 8, "N-PAA", outages=[Outage(FAILURE, 200, 10_000, 1, place=0.9)])
    assert event_log(result, "start", "preempt", "complete") == [
        (0, "start", 1, 0, 4),
        (100, "start", 2, 0, 4),
        (200, "preempt", 2, 4, 0),
        (200, "preempt", 1, 4, 0),
        (200, "start", 2, 0, 4),
        (500, "complete", 2, 4, 0),
        (500, "start", 1, 0, 4),
        (1500, "complete", 1, 4, 0),
    ]
    assert [record.lost for record in result.records] == [4 * 200 * SECOND, 4 * 100 * SECOND]


def test_an_on_demand_job_that_finds_no_nodes_waits_at_the_front() -> None:
    jobs = [on_demand(1, 0, 4, 300), rigid(2, 10, 4, 100), rigid(3, 10, 2, 1000)]
    result = simulate(jobs, 4, "N-PAA", outages=[Outage(FAILURE, 100, 600, 1, place=0)])
    assert event_log(result, "wait") == [(100, "wait", 1, 0, 0)]
    # Job 3 would be in its way at 600.
    assert [record.start for record in result.records] == [0, 900 * SECOND, 1000 * SECOND]
    assert result.records[0].end == 900 * SECOND


def test_a_node_promised_by_a_job_under_warning_fails() -> None:
    """Job 3 waits until 220 for six nodes of the malleable job; at 150 one of them fails, and job 2 gives one, too."""
    jobs = [malleable(1, 0, 6, 1000, min_nodes=4, setup=0), rigid(2, 0, 2, 1000), on_demand(3, 100, 6, 50)]
    result = simulate(jobs, 8, "N-PAA", outages=[Outage(FAILURE, 150, 10_000, 1, place=0.0)])
    assert event_log(result, "warn", "gather", "preempt", "start", "shrink", "down")[2:] == [
        (100, "warn", 1, 6, 6),
        (100, "gather", 3, 0, 0),
        (150, "shrink", 1, 6, 5),
        (150, "down", -1, 0, 1),
        (150, "preempt", 2, 2, 0),
        (150, "gather", 3, 0, 1),
        (220, "preempt", 1, 5, 0),
        (220, "start", 3, 0, 6),
        (270, "start", 1, 0, 6),
        (1170, "start", 2, 0, 2),
    ]
    # Six nodes under warning for 50 s and five for 70 s; one held for job 3 meanwhile.
    assert result.accounting.warning == (6 * 50 + 5 * 70) * SECOND
    assert result.accounting.held == 70 * SECOND


def test_the_only_promised_node_fails_and_another_comes_at_once() -> None:
    """Job 2 has one node and awaits that of job 1; when this one fails, job 3 gives one, and nobody is waited for."""
    jobs = [malleable(1, 0, 1, 1000, min_nodes=1), rigid(3, 0, 1, 1000), on_demand(2, 50, 2, 10)]
    # In order: one held node, that of job 1, that of job 3.
    result = simulate(jobs, 3, "N-PAA", outages=[Outage(FAILURE, 100, 5000, 1, place=0.5)])
    assert event_log(result, "gather", "shrink", "preempt", "start", "complete")[2:10] == [
        (50, "gather", 2, 0, 1),
        (100, "shrink", 1, 1, 0),
        (100, "preempt", 1, 0, 0),
        (100, "preempt", 3, 1, 0),
        (100, "start", 2, 0, 2),
        (110, "complete", 2, 2, 0),
        (110, "start", 1, 0, 1),
        (110, "start", 3, 0, 1),
    ]


def test_who_has_no_node_left_under_warning_is_queued_again() -> None:
    """Job 2 takes one of two nodes under warning until 220; at 150 both fail, and are there again at 160."""
    jobs = [malleable(1, 0, 2, 1000, min_nodes=2), on_demand(2, 100, 1, 30)]
    result = simulate(jobs, 2, "N-PAA", outages=[Outage(FAILURE, 150, 160, 2, place=0.0)])
    assert event_log(result, "preempt", "requeue", "start")[1:] == [
        (150, "preempt", 1, 0, 0), (150, "requeue", 1, 0, 0), (160, "start", 2, 0, 1), (190, "start", 1, 0, 2),
    ]  # fmt: skip
    assert result.accounting.warning == 2 * 50 * SECOND


def test_a_borrowed_node_fails_under_warning() -> None:
    """Job 2 runs on the nodes that are kept for job 1, and is warned for a window at 100; at 150 one of them fails.

    Three come back to the reservation at 220, and the window takes them; the fourth is not there until 500.
    """
    jobs = [on_demand(1, 5000, 4, 10, notice=0, estimated=5000), malleable(2, 10, 4, 1000, min_nodes=1)]
    outages = [Outage(MAINTENANCE, 100, 400, 4, announced=99), Outage(FAILURE, 150, 500, 1, place=0.5)]
    result = simulate(jobs, 4, "CUA-PAA", outages=outages)
    assert [
        step for step in event_log(result, "warn", "shrink", "preempt", "reserve", "down", "up") if step[0] <= 500
    ] == [
        (0, "reserve", 1, 0, 4),
        (100, "warn", 2, 4, 4),
        (150, "shrink", 2, 4, 3),
        (150, "down", -2, 0, 1),
        (220, "preempt", 2, 3, 0),
        (220, "reserve", 1, 0, 3),
        (220, "reserve", 1, 3, 0),
        (220, "down", -1, 0, 3),
        (400, "up", -1, 3, 0),
        (400, "reserve", 1, 0, 3),
        (500, "up", -2, 1, 0),
        (500, "reserve", 1, 3, 4),
    ]
    assert result.accounting.warning == (50 * 4 + 70 * 3) * SECOND


def test_a_reserved_node_fails_and_another_is_collected() -> None:
    """CUA has reserved four idle nodes; job 1 gives up two later, and one of them replaces the failed one."""
    jobs = [rigid(1, 0, 2, 300), on_demand(2, 600, 4, 100, notice=100, estimated=600)]
    result = simulate(jobs, 6, "CUA-PAA", outages=[Outage(FAILURE, 200, 10_000, 1, place=0.0)])
    assert event_log(result, "reserve", "down") == [
        (100, "reserve", 2, 0, 4),
        (200, "reserve", 2, 4, 3),
        (200, "down", -1, 0, 1),
        (300, "reserve", 2, 3, 4),
    ]
    assert result.records[1].start == 600 * SECOND


def test_tenants_leave_windows_enough_nodes() -> None:
    """Eight nodes are kept for job 1; four of them go from 50 to 60. Of three tenants one is too much for that."""
    reserved = on_demand(1, 5000, 8, 10, notice=0, estimated=5000)
    window = Outage(MAINTENANCE, 50, 60, 4)
    jobs = [reserved, rigid(2, 10, 2, 100), rigid(3, 10, 2, 100), rigid(4, 10, 4, 100)]
    result = simulate(jobs, 8, "CUA-PAA", outages=[window])
    assert [(record.start or 0) // SECOND for record in result.records[1:]] == [10, 10, 60]
    # One after the other it is the same; and one that ends in time may run on all of them.
    jobs = [reserved, rigid(2, 10, 4, 100), rigid(3, 20, 4, 100), rigid(4, 20, 4, 30)]
    result = simulate(jobs, 8, "CUA-PAA", outages=[window])
    assert [(record.start or 0) // SECOND for record in result.records[1:]] == [10, 60, 20]
    assert not any(record.preemptions for record in result.records)


def test_a_preempted_job_resumes_when_the_windows_let_it() -> None:
    """Job 1 loses 10 s for job 2, and on the nodes that this returns at 30 it would run until 130."""
    jobs = [rigid(1, 0, 4, 100), on_demand(2, 10, 4, 20)]
    result = simulate(jobs, 4, "N-PAA", outages=[Outage(MAINTENANCE, 100, 200, 4)])
    assert event_log(result, "start", "preempt") == [
        (0, "start", 1, 0, 4),
        (10, "preempt", 1, 4, 0),
        (10, "start", 2, 0, 4),
        (200, "start", 1, 0, 4),
    ]
    # Two jobs of which the window leaves one.
    jobs = [rigid(1, 0, 2, 100), rigid(2, 0, 2, 100), on_demand(3, 10, 4, 20)]
    result = simulate(jobs, 4, "N-PAA", outages=[Outage(MAINTENANCE, 100, 200, 2)])
    assert event_log(result, "start")[3:] == [(30, "start", 1, 0, 2), (130, "start", 2, 0, 2)]


def test_a_shrunk_job_gets_back_what_the_windows_can_spare() -> None:
    """Job 1 has lent two of four nodes until 30, and then runs until 170, through the window."""
    jobs = [malleable(1, 0, 4, 90, min_nodes=1), on_demand(2, 10, 2, 20)]
    for nodes, events in ((2, []), (1, [(30, "expand", 1, 2, 3)])):
        result = simulate(jobs, 4, "N-SPAA", outages=[Outage(MAINTENANCE, 100, 200, nodes)])
        assert event_log(result, "shrink", "expand") == [(10, "shrink", 1, 4, 2), *events]


def test_jobs_that_still_run_are_preempted_in_the_order_of_what_they_lose() -> None:
    """Announced at 90, for 100: job 2 would lose 2 x 10, job 1 4 x 100; four of eight nodes are to go, two are free."""
    jobs = [rigid(1, 0, 4, 500), rigid(2, 90, 2, 500)]
    window = Outage(MAINTENANCE, 100, 200, 4, announced=95, name="pump")
    result = simulate(jobs, 8, outages=[window])
    assert event_log(result, "announce", "down", "preempt", "start", "up") == [
        (0, "start", 1, 0, 4),
        (90, "start", 2, 0, 2),
        (95, "announce", -1, 0, 4),
        (100, "down", -1, 0, 2),
        (100, "preempt", 2, 2, 0),
        (100, "down", -1, 2, 4),
        (200, "up", -1, 4, 0),
        (200, "start", 2, 0, 2),
    ]
    assert {entry.cause for entry in result.entries if entry.event == "preempt"} == {"maintenance 1 (pump)"}


def test_a_window_may_wait_for_jobs_and_nobody_starts_in_between() -> None:
    jobs = [rigid(1, 0, 4, 150), rigid(2, 0, 2, 120), rigid(3, 110, 1, 10)]
    window = Outage(MAINTENANCE, 100, 300, 8, announced=99, running="wait")
    result = simulate(jobs, 8, outages=[window])
    assert event_log(result, "down", "up") == [
        (100, "down", -1, 0, 2),
        (120, "down", -1, 2, 4),
        (150, "down", -1, 4, 8),
        (300, "up", -1, 8, 0),
    ]
    assert [record.start for record in result.records] == [0, 0, 300 * SECOND]
    assert not any(record.preemptions for record in result.records)


def test_on_demand_jobs_go_last_and_malleable_ones_with_their_warning() -> None:
    """All of nine nodes go at 100. The malleable job keeps its three until 220."""
    jobs = [malleable(1, 0, 3, 1000, min_nodes=1, setup=10), on_demand(2, 50, 3, 100), rigid(3, 0, 3, 60, 1000)]
    late = Outage(MAINTENANCE, 100, 400, 9, announced=99)
    result = simulate(jobs, 9, "N-PAA", outages=[late])
    assert event_log(result, "warn", "preempt", "down", "wait")[:5] == [
        (100, "down", -1, 0, 3),
        (100, "warn", 1, 3, 3),
        (100, "preempt", 2, 3, 0),
        (100, "down", -1, 3, 6),
        (220, "preempt", 1, 3, 0),
    ]
    assert event_log(result, "down")[-1] == (220, "down", -1, 6, 9)
    assert event_log(result, "start")[3:] == [(400, "start", 2, 0, 3), (400, "start", 1, 0, 3)]


def test_an_arrived_job_that_gathers_gives_way_to_a_window() -> None:
    """Job 2 waits for nodes under warning until 170, and has two; at 100 all four nodes are to go."""
    jobs = [malleable(1, 0, 2, 1000, min_nodes=1), on_demand(2, 50, 4, 30), rigid(3, 0, 2, 1000)]
    result = simulate(jobs, 4, "N-PAA", outages=[Outage(MAINTENANCE, 100, 400, 4, announced=99)])
    assert event_log(result, "gather", "wait", "down", "start")[2:] == [
        (50, "gather", 2, 0, 2),
        (100, "wait", 2, 0, 0),
        (100, "down", -1, 0, 2),
        (170, "down", -1, 2, 4),
        (400, "start", 2, 0, 4),
        (430, "start", 1, 0, 2),
        (430, "start", 3, 0, 2),
    ]
    # Where a rigid job has what the window needs, it is the one that goes.
    jobs = [malleable(1, 0, 2, 1000, min_nodes=1), on_demand(2, 50, 4, 30), rigid(3, 0, 2, 1000)]
    result = simulate(jobs, 6, "N-PAA", outages=[Outage(MAINTENANCE, 100, 400, 2, announced=99)])
    assert event_log(result, "gather", "wait", "preempt") == [
        (50, "gather", 2, 0, 2),
        (100, "preempt", 3, 2, 0),
        (170, "preempt", 1, 2, 0),
    ]


def test_an_arrived_job_that_gathers_gives_way_before_one_that_runs() -> None:
    jobs = [on_demand(4, 0, 2, 1000), malleable(1, 0, 2, 1000, min_nodes=1), on_demand(2, 50, 4, 30)]
    result = simulate(jobs, 6, "N-PAA", outages=[Outage(MAINTENANCE, 100, 400, 2, announced=99)])
    assert event_log(result, "wait") == [(100, "wait", 2, 0, 0)]
    assert result.records[0].preemptions == 0


def test_an_on_demand_job_that_was_hit_waits_for_warnings_and_for_nothing_else() -> None:
    """Job 2 keeps one node and awaits that of job 1 until 220, whatever becomes free before."""
    jobs = [malleable(1, 0, 1, 1000, min_nodes=1), rigid(3, 0, 2, 150), on_demand(2, 50, 2, 100)]
    result = simulate(jobs, 5, "N-PAA", outages=[Outage(FAILURE, 100, 5000, 1, place=0.3)])
    assert event_log(result, "start", "preempt", "gather")[3:] == [
        (100, "preempt", 2, 2, 0),
        (100, "gather", 2, 0, 1),
        (220, "preempt", 1, 1, 0),
        (220, "start", 2, 0, 2),
        (220, "start", 1, 0, 1),
    ]


def test_failures_that_let_nobody_end_are_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("holdfast.simulator.services.completion_checks.MOST_FAILURES", 199)
    with pytest.raises(InputError, match="no job has ended during 200 failures: nodes fail too often"):
        simulate([rigid(1, 0, 2, 85)], 2, failures=FailureRate(mtbf=20.0, repair=1.0))


def test_of_two_jobs_the_on_demand_job_stays_though_it_loses_less() -> None:
    jobs = [rigid(1, 0, 4, 1000), on_demand(2, 90, 4, 1000)]
    result = simulate(jobs, 8, "N-PAA", outages=[Outage(MAINTENANCE, 100, 200, 4, announced=99)])
    assert [record.preemptions for record in result.records] == [1, 0]


def test_a_window_leaves_jobs_in_an_advance_reservation_alone() -> None:
    """Job 1 would lose less than job 2, but its nodes are not for the window."""
    jobs = [rigid(1, 50, 2, 200), rigid(2, 0, 2, 1000)]
    outages = [Outage(RESERVATION, 50, 300, 2, jobs=(1,)), Outage(MAINTENANCE, 100, 200, 2, announced=99)]
    result = simulate(jobs, 4, outages=outages)
    assert [(record.preemptions, (record.start or 0) // SECOND) for record in result.records] == [(0, 50), (1, 0)]


def test_of_reserved_nodes_those_of_the_latest_notice_go_first() -> None:
    jobs = [on_demand(job_id, 5000, 2, 10, notice=notice, estimated=5000) for job_id, notice in ((2, 0), (1, 10))]
    result = simulate(jobs, 4, "CUA-PAA", outages=[Outage(MAINTENANCE, 50, 60, 2)])
    assert event_log(result, "reserve") == [
        (0, "reserve", 2, 0, 2),
        (10, "reserve", 1, 0, 2),
        (50, "reserve", 1, 2, 0),
        (60, "reserve", 1, 0, 2),
    ]


def test_nobody_resumes_on_nodes_that_a_window_waits_for() -> None:
    """Job 2 runs into the window, which waits for it; its nodes do not go back to job 1, which lent them."""
    jobs = [rigid(1, 0, 4, 200), on_demand(2, 90, 4, 40)]
    window = Outage(MAINTENANCE, 100, 300, 4, announced=99, running="wait")
    result = simulate(jobs, 4, "N-PAA", outages=[window])
    assert event_log(result, "start", "down") == [
        (0, "start", 1, 0, 4),
        (90, "start", 2, 0, 4),
        (130, "down", -1, 0, 4),
        (300, "start", 1, 0, 4),
    ]


def test_nodes_that_are_repaired_during_a_whole_window_stay_away() -> None:
    jobs = [rigid(1, 0, 1, 10, 10), rigid(2, 90, 1, 10, 20)]
    outages = [Outage(FAILURE, 20, 150, 1, place=0), Outage(MAINTENANCE, 100, 300, 4)]
    result = simulate(jobs, 4, outages=outages)
    assert event_log(result, "down", "up") == [
        (20, "down", -1, 0, 1),
        (100, "down", -2, 0, 3),
        (150, "up", -1, 1, 0),
        (150, "down", -2, 3, 4),
        (300, "up", -2, 4, 0),
    ]
    assert result.records[1].start == 300 * SECOND


def test_a_window_that_ends_makes_room_for_one_that_begins() -> None:
    """Four of eight nodes from 100 to 200, and again until 300: the job on the other four need not go."""
    outages = [Outage(MAINTENANCE, 200, 300, 4), Outage(MAINTENANCE, 100, 200, 4)]
    result = simulate([rigid(1, 0, 4, 1000)], 8, outages=outages)
    assert not result.records[0].preemptions
    assert event_log(result, "down", "up") == [
        (100, "down", -2, 0, 4),
        (200, "up", -2, 4, 0),
        (200, "down", -1, 0, 4),
        (300, "up", -1, 4, 0),
    ]


def test_what_ends_in_an_instant_takes_nothing_in_it() -> None:
    """The repair and the window end at 200: the node that comes back is not taken away for no time."""
    outages = [Outage(FAILURE, 50, 200, 1, place=0), Outage(MAINTENANCE, 100, 200, 2)]
    result = simulate([rigid(1, 0, 1, 10), rigid(2, 150, 2, 10)], 2, outages=outages)
    assert event_log(result, "down", "up", "start")[1:] == [
        (50, "down", -1, 0, 1),
        (100, "down", -2, 0, 1),
        (200, "up", -1, 1, 0),
        (200, "up", -2, 1, 0),
        (200, "start", 2, 0, 2),
    ]


def test_an_advance_reservation_is_for_its_jobs_alone() -> None:
    """Four of six nodes from 100 to 200 for project p, whose job 3 is long, and user u, whose job 4 is too long."""
    jobs = [
        rigid(1, 0, 3, 150),  # would leave only three
        rigid(2, 0, 6, 50),
        rigid(3, 120, 3, 60, 80, project="p"),
        rigid(4, 120, 1, 10, 90, user="u"),
        rigid(5, 130, 1, 30, user="u"),
        rigid(6, 130, 2, 70),
    ]
    booked = Outage(RESERVATION, 100, 200, 4, users=("u",), projects=("p",), name="demo")
    result = simulate(jobs, 6, outages=[booked])
    found = {record.job_id: (record.start or 0) // SECOND for record in result.records}
    # Job 1 stands first and cannot run through before 200. Jobs 4 and 6 are ordinary: job 6 ends when job 1 may start.
    assert found == {1: 200, 2: 0, 3: 120, 4: 120, 5: 130, 6: 130}
    assert [entry.cause for entry in result.entries if entry.event == "start" and entry.job_id in (3, 5)] == [
        "in reservation 1 (demo)"
    ] * 2
    assert event_log(result, "reserve", "close") == [
        (100, "reserve", -1, 0, 4),
        (160, "reserve", -1, 3, 4),
        (180, "reserve", -1, 1, 4),
        (200, "close", -1, 4, 0),
    ]


def test_an_advance_reservation_is_not_for_others_nor_for_on_demand_jobs() -> None:
    """Two of four nodes are set aside for user u and stay idle; the other two have an on-demand job until 150."""
    jobs = [
        on_demand(1, 0, 2, 150),
        on_demand(2, 100, 2, 10, user="u"),
        rigid(3, 100, 1, 10),
        rigid(4, 100, 1, 10, user="u"),
    ]
    result = simulate(jobs, 4, "N-PAA", outages=[Outage(RESERVATION, 50, 300, 2, users=("u",))])
    assert [(record.start or 0) // SECOND for record in result.records] == [0, 150, 160, 100]


def test_who_outlasts_an_advance_reservation_goes_on() -> None:
    """Job 1 loses one of its two nodes at 150, and so runs until 230 instead of 190; the node is back at 220."""
    jobs = [malleable(1, 100, 2, 90, min_nodes=1), rigid(2, 210, 3, 10)]
    outages = [Outage(RESERVATION, 100, 200, 2, jobs=(1,)), Outage(FAILURE, 150, 220, 1, place=0.5)]
    result = simulate(jobs, 3, "N-PAA", outages=outages)
    assert event_log(result, "reserve", "shrink", "close", "start", "complete") == [
        (0, "reserve", -1, 0, 2),
        (0, "start", 1, 0, 2),
        (50, "shrink", 1, 2, 1),
        (50, "reserve", -1, 1, 2),
        (100, "close", -1, 2, 0),
        (130, "complete", 1, 1, 0),
        (130, "start", 2, 0, 3),
        (140, "complete", 2, 3, 0),
    ]


def test_nobody_preempts_jobs_in_an_advance_reservation() -> None:
    """An on-demand job takes the nodes of job 2, though that loses far more than job 1."""
    jobs = [rigid(1, 100, 4, 60), rigid(2, 0, 4, 500), on_demand(3, 110, 4, 20)]
    booked = Outage(RESERVATION, 100, 200, 4, jobs=(1,))
    result = simulate(jobs, 8, "N-PAA", outages=[booked])
    assert [record.preemptions for record in result.records] == [0, 1, 0]
    assert result.records[2].start == 110 * SECOND


def test_what_began_before_the_first_event_begins_with_it() -> None:
    outages = [Outage(MAINTENANCE, 0, 400, 3), Outage(MAINTENANCE, 100, 200, 4), Outage(FAILURE, -50, 450, 1, place=0)]
    result = simulate([rigid(1, 300, 4, 10)], 7, outages=outages)
    assert [(300 + at, *rest) for at, *rest in event_log(result, "down", "up", "start")] == [
        (300, "down", -1, 0, 3),
        (300, "down", -3, 0, 1),
        (400, "up", -1, 3, 0),
        (400, "start", 1, 0, 4),
    ]


def test_failures_at_a_rate_are_the_same_under_every_mechanism_and_from_their_list() -> None:
    jobs = [rigid(number, 10 * number, 1 + number % 4, 500, 700) for number in range(1, 30)]
    rate = FailureRate(mtbf=4000, repair=100, variation=1, seed=3)
    results = [simulate(jobs, 8, mechanism, failures=rate) for mechanism in ("baseline", "CUA-SPAA")]
    shorter, longer = sorted(results, key=lambda result: len(result.outages))
    assert len(shorter.outages) > 3
    assert longer.outages[: len(shorter.outages)] == shorter.outages
    again = simulate(jobs, 8, outages=longer.outages)
    assert again.entries == results[0].entries
    assert again.accounting == results[0].accounting
    other = simulate(jobs, 8, failures=FailureRate(mtbf=4000, repair=100, variation=1, seed=4))
    assert other.outages[:3] != shorter.outages[:3]


def test_a_reservation_for_a_job_that_is_not_there_is_refused() -> None:
    with pytest.raises(InputError, match="jobs of outage 1 must be in the job table, and there is no job 9"):
        simulate([rigid(1, 0, 1, 10)], 4, outages=[Outage(RESERVATION, 5, 10, 1, jobs=(1, 9))])


@every_mechanism
@settings(max_examples=25)
@given(data=st.data(), mix=lively_mixes(), chosen=operated)
def test_laws_with_withdrawals_dependencies_and_a_starting_state(
    mechanism: str, data: st.DataObject, mix: Any, chosen: dict[str, str]
) -> None:
    outages = data.draw(outages_for(mix.jobs, mix.nodes))
    result = simulate(mix.jobs, mix.nodes, mechanism, plans=mix.plans, outages=outages, **chosen)
    came = [record for record in result.records if record.submit is not None]
    first = result.opened - result.origin if result.opened is not None else 0
    last = max((record.end or 0 for record in came), default=first + result.origin) - result.origin
    runs = assert_accounting(result, mix.nodes, first, last)
    for record in came:
        steps = runs[record.job_id]
        if record.status == "cancelled":
            assert not {"complete", "kill"} & set(steps)
        else:
            assert [event in ("complete", "kill") for event in steps] == [False] * (len(steps) - 1) + [True]


@pytest.mark.slow
@every_mechanism
def test_laws_in_bulk(mechanism: str) -> None:
    for seed in range(400):
        mix = random_lively_mix(seed, max_jobs=24)
        outages = random_outages(seed, mix.jobs, mix.nodes)
        result = simulate(mix.jobs, mix.nodes, mechanism, plans=mix.plans, outages=outages)
        if result.opened is not None:
            last = max(record.end or 0 for record in result.records) - result.origin
            assert_accounting(result, mix.nodes, result.opened - result.origin, last)


# Against theory.


@pytest.mark.slow
@pytest.mark.parametrize("factor", [0.5, 1.0, 2.0])
def test_a_rigid_job_takes_as_long_as_daly_expects(factor: float) -> None:
    """Daly 2006, eq. 20, exact for exponential failures: e^(R/M) M (e^(L/M) - 1) for each segment of length L.

    One job of four of eight nodes, which always finds others, under failures of single nodes; its segments are as long
    as its interval says, and the setup of its first run is one more. Mean over 40 machines, within four of its errors.
    """
    node_mtbf, setup, cost = 400_000.0, 600.0, 1200.0
    mtbf = node_mtbf / 4
    interval = factor * daly_interval(cost, mtbf)
    segments = 200
    compute = segments * interval
    job = rigid(1, 0, 4, setup + compute + (segments - 1) * cost, setup=setup, interval=interval, cost=cost)
    took, lost = [], []
    for seed in range(40):
        rate = FailureRate(node_mtbf, repair=60.0, seed=seed)
        result = simulate([job], 8, "N-PAA", failures=rate, events=False)
        assert result.records[0].preemptions > 3
        took.append((result.records[0].end or 0) / SECOND)
        lost.append(result.accounting.lost / 4 / SECOND)
        # All of the job's time is compute, checkpoints, one setup, and what was lost.
        assert took[-1] == pytest.approx(job.runtime + lost[-1])
    lengths = [interval + cost] * (segments - 1) + [interval]
    expected = mtbf * math.expm1(setup / mtbf)
    expected += sum(math.exp(setup / mtbf) * mtbf * math.expm1(length / mtbf) for length in lengths)
    error = np.std(took, ddof=1) / math.sqrt(len(took))
    assert abs(np.mean(took) - expected) < 4 * error
    # The error is small against what is lost, so that the test can fail.
    assert 4 * error < 0.35 * (expected - job.runtime)


@pytest.mark.slow
def test_jobs_are_hit_in_proportion_to_their_nodes() -> None:
    """Of 3,000 failures on a machine of 20 nodes that holds jobs of one, three, five and seven nodes: chi-square."""
    sizes = [1, 3, 5, 7]
    jobs = [rigid(number, 0, nodes, 1e9) for number, nodes in enumerate(sizes, start=1)]
    rate = FailureRate(mtbf=2000.0, repair=1.0, seed=11)
    hits = [0, 0, 0, 0, 0]
    for outage in islice(rate.draw(20, 0.0), 3000):
        struck = simulate(jobs, 20, outages=[Outage(FAILURE, 10.0, 11.0, 1, place=outage.place)], events=False)
        places = [place for place, record in enumerate(struck.records) if record.preemptions]
        hits[places[0] if places else 4] += 1
    assert stats.chisquare(hits, [3000 * nodes / 20 for nodes in (*sizes, 4)]).pvalue > 0.01
