"""Outages on shared nodes: timelines by hand, one pool and replays as witnesses, and laws."""

from __future__ import annotations

from dataclasses import replace
from itertools import takewhile
from typing import Any

import pytest

from holdfast.policies.mechanism import parse_mechanism
from holdfast.simulator.machine_simulation import simulate_on_machine
from holdfast.simulator.options import Options
from holdfast.simulator.results.recording import clock_origin
from holdfast.simulator.results.result import Result
from holdfast.simulator.shared_simulation import simulate_shared_nodes
from holdfast.simulator.simulation import simulate as simulate_pool
from holdfast.workloads.ground.units import SECOND, to_ticks
from holdfast.workloads.machines.machine_file import make_machine
from holdfast.workloads.machines.request import ResourceRequest
from holdfast.workloads.outages.failures import FailureRate
from holdfast.workloads.outages.outage import Outage, OutageKind
from holdfast.workloads.outages.places import outage_places
from holdfast.workloads.table.job import JobType
from holdfast.workloads.table.job_lifecycle import replay_start
from holdfast.workloads.table.jobs import Jobs
from tests.reference.hybrid import MECHANISMS
from tests.simulator.shared_nodes.test_one_core_nodes import EVERY, one_core_nodes, outcomes
from tests.simulator.shared_nodes.test_timelines import malleable, runs, shared_machine, simulate, times
from tests.strategies.mixes import random_mix
from tests.strategies.outages import named_outages, whole_machine_outages
from tests.strategies.shared import SharedCase, random_shared_case, running_job_table, with_limits, with_shared_lives
from tests.strategies.tables import Table, busy_job_table, random_job_table
from tests.support.jobs import on_demand, rigid
from tests.support.seeds import in_parts

MAINTENANCE, FAILURE, RESERVATION = OutageKind.MAINTENANCE, OutageKind.FAILURE, OutageKind.RESERVATION


def closure(kind: OutageKind, start: float, end: float, on: str, **more: object) -> Outage:
    place = 0.0 if kind is FAILURE else None
    return Outage(kind, start, end, 1, on=on, place=place, **more)  # type: ignore[arg-type]


def test_jobs_avoid_a_known_window_and_others_are_preempted_as_it_begins() -> None:
    # Job 1 takes n1, which closes at 100: an arriving job may start there before, and loses all at 100.
    jobs = [
        (on_demand(1, 0, 4, 200, 200), ResourceRequest(cores=4)),
        (rigid(2, 10, 3, 100, 100), ResourceRequest(cores=3)),
        (rigid(3, 10, 1, 300, 300), ResourceRequest(cores=1)),
    ]
    result = simulate(shared_machine(2), jobs, "N-PAA", outages=[closure(MAINTENANCE, 100, 150, "n1")])
    # At 100 job 1 waits in front of the queue; n2 is free at 310, but n1 opens at 150.
    assert runs(result, 1) == [(0, 100, (0,)), (150, 350, (0,))]
    assert times(result)[2] == (10, 110)
    assert times(result)[3] == (10, 310)
    assert [record.preemptions for record in result.records] == [1, 0, 0]
    assert result.accounting.lost == 4 * 100 * SECOND
    assert result.accounting.down == 4 * 50 * SECOND


def test_a_malleable_job_has_its_warning_and_a_window_that_waits_lets_jobs_end() -> None:
    jobs = [
        (malleable(1, 0, 4, 1000, 4), ResourceRequest(cores=4)),
        (rigid(2, 0, 4, 400, 400), ResourceRequest(cores=4)),
    ]
    outages = [
        closure(MAINTENANCE, 100, 300, "n1", announced=50),
        closure(MAINTENANCE, 100, 500, "n2", announced=50, running="wait"),
    ]
    result = simulate(shared_machine(2), jobs, "N-PAA", outages=outages)
    # Two minutes of warning, which count as such: n1 is down from 220 to 300. Work of 900 s is left.
    assert runs(result, 1) == [(0, 220, (0,)), (300, 1200, (0,))]
    assert times(result)[2] == (0, 400)
    assert result.accounting.warning == 4 * 120 * SECOND
    assert result.accounting.down == (4 * 80 + 4 * 100) * SECOND


def test_a_window_takes_the_idle_nodes_of_a_reservation_which_collects_others() -> None:
    # Job 2 gives notice at 10: its reservation holds n2 until the window begins at 50, and n1 from 100 on. The walltime
    # of job 3 keeps it off n2 until 520.
    jobs = [
        (rigid(1, 0, 4, 100, 100), ResourceRequest(nodes=1, cores=4)),
        (on_demand(2, 500, 4, 60, 60, notice=10, estimated=500), ResourceRequest(cores=4)),
        (rigid(3, 60, 4, 450, 450), ResourceRequest(cores=4)),
    ]
    outages = [closure(MAINTENANCE, 50, 520, "n2", announced=50)]
    result = simulate(shared_machine(2), jobs, "CUA-PAA", outages=outages, tenants="none")
    assert runs(result, 1) == [(0, 100, (0,))]
    assert runs(result, 2) == [(500, 560, (0,))]
    assert runs(result, 3) == [(520, 970, (1,))]
    # From 10 to 50 n2 is held, from 100 to 500 n1.
    assert result.accounting.held == 4 * (40 + 400) * SECOND


def test_a_failure_shrinks_a_malleable_job_and_replaces_nodes_of_an_on_demand_job() -> None:
    jobs = [
        (malleable(1, 0, 8, 100, 4), ResourceRequest(nodes=2, cores=4)),
        (on_demand(2, 0, 8, 200, 200), ResourceRequest(nodes=2, cores=4)),
        (rigid(3, 0, 4, 1000, 1000), ResourceRequest(cores=4)),
    ]
    # Job 2 arrives first: n1 and n2. Job 1 runs on n3 and n4, job 3 on n5.
    outages = [closure(FAILURE, 50, 5000, "n3"), closure(FAILURE, 60, 5000, "n1")]
    result = simulate(shared_machine(5), jobs, "N-PAA", outages=outages)
    taken = {record.job_id: (record.preemptions, record.shrinks) for record in result.records}
    # Half of the work of job 1 is left at 50, on n4 alone. At 60 job 2 loses n1, and takes n4 or n5: the smaller
    # overhead is that of malleable job 1, which has no setup, but two minutes of warning.
    assert taken == {1: (1, 1), 2: (1, 0), 3: (0, 0)}
    assert runs(result, 1)[:2] == [(0, 50, (2, 3)), (50, 180, (3,))]
    assert runs(result, 2) == [(0, 60, (0, 1)), (180, 380, (1, 3))]
    assert times(result)[3] == (0, 1000)


def test_an_on_demand_job_without_replacements_waits_and_an_advance_reservation_is_open_to_its_jobs() -> None:
    jobs = [
        (on_demand(1, 0, 8, 100, 100), ResourceRequest(nodes=2, cores=4)),
        (rigid(2, 10, 4, 80, 80), ResourceRequest(cores=4)),
        (rigid(3, 10, 4, 80, 80), ResourceRequest(cores=4)),
    ]
    outages = [closure(FAILURE, 50, 70, "n1"), closure(RESERVATION, 0, 400, "n3", jobs=(3,))]
    result = simulate(shared_machine(3), jobs, "N-PAA", outages=outages)
    assert runs(result, 1) == [(0, 50, (0, 1)), (70, 170, (0, 1))]
    assert times(result)[2] == (170, 250)
    assert times(result)[3] == (10, 90)


def test_a_window_preempts_on_demand_jobs_last() -> None:
    # Job 1 has n1, job 2 n2 and n3, job 4 n4. As n1 and n2 close at 100, job 2 is preempted first, and the reservation
    # of job 3 collects n3: job 1 waits until that job has ended.
    jobs = [
        (on_demand(1, 0, 4, 500, 500), ResourceRequest(cores=4)),
        (rigid(2, 0, 8, 500, 500), ResourceRequest(nodes=2, cores=4)),
        (on_demand(3, 1000, 4, 60, 60, notice=10, estimated=1000), ResourceRequest(cores=4)),
        (rigid(4, 0, 4, 2000, 2000), ResourceRequest(cores=4)),
    ]
    outages = [replace(closure(MAINTENANCE, 100, 3000, "n[1-2]", announced=100), nodes=2)]
    result = simulate(shared_machine(4), jobs, "CUA-PAA", outages=outages, tenants="none")
    assert runs(result, 3) == [(1000, 1060, (2,))]
    assert runs(result, 1) == [(0, 100, (0,)), (1060, 1560, (2,))]


def test_an_on_demand_job_keeps_the_nodes_that_have_not_failed() -> None:
    # Job 1 has n1 and n2. On n3 and n4 two cores are free, and it would otherwise get both of these nodes.
    machine = make_machine(
        nodes=[{"names": "n[1-2]", "cores": 4}, {"names": "n[3-4]", "cores": 4, "features": ["b"]}],
        partitions=[{"name": "p", "nodes": "ALL"}],
    )
    jobs = [
        (on_demand(1, 0, 4, 200, 200), ResourceRequest(nodes=2, cores=2)),
        (rigid(2, 0, 4, 900, 900), ResourceRequest(nodes=2, cores=2, features="b")),
    ]
    result = simulate(machine, jobs, "N-PAA", outages=[closure(FAILURE, 50, 5000, "n1")])
    assert runs(result, 1) == [(0, 50, (0, 1)), (50, 250, (1, 2))]
    assert [record.preemptions for record in result.records] == [1, 0]


def test_a_job_that_has_lost_a_borrowed_node_returns_another_one_to_the_first_lender() -> None:
    # Job 3 waits for n1, which job 1 leaves at 220. It fails at 150: job 3 gets n2 from job 2, and returns it to job 1,
    # which has lent first and has 900 s left.
    jobs = [
        (malleable(1, 0, 4, 1000, 4), ResourceRequest(cores=4)),
        (rigid(2, 0, 4, 2000, 2000), ResourceRequest(cores=4)),
        (on_demand(3, 100, 4, 200, 200), ResourceRequest(cores=4)),
    ]
    result = simulate(shared_machine(2), jobs, "N-PAA", outages=[closure(FAILURE, 150, 5000, "n1")])
    assert runs(result, 3) == [(150, 350, (1,))]
    assert runs(result, 1) == [(0, 150, (0,)), (350, 1250, (1,))]
    assert runs(result, 2) == [(0, 150, (1,)), (1250, 3250, (1,))]


def test_a_plan_leaves_out_nodes_that_are_closed() -> None:
    # Job 1, which costs nothing, may go on on n1, which is closed to job 3 from 5 on: job 2 makes room on n2.
    jobs = [
        (malleable(1, 0, 4, 900, 4), ResourceRequest(cores=4)),
        (rigid(2, 0, 4, 2000, 2000), ResourceRequest(cores=4)),
        (on_demand(3, 500, 4, 60, 60, notice=10, estimated=500), ResourceRequest(cores=4)),
    ]
    outages = [closure(MAINTENANCE, 5, 1000, "n1", announced=5, running="wait")]
    result = simulate(shared_machine(2), jobs, "CUP-PAA", outages=outages)
    assert runs(result, 1) == [(0, 900, (0,))]
    assert runs(result, 3) == [(500, 560, (1,))]
    assert [record.preemptions for record in result.records] == [0, 1, 0]


def test_a_reservation_collects_what_others_give_up_in_an_advance_reservation_of_its_job() -> None:
    # The reservation of job 1 has n1 until the advance reservation begins at 100. Then that of job 2 takes n1, on which
    # job 4 would otherwise start, and be preempted at 500.
    jobs = [
        (on_demand(1, 1000, 4, 60, 60, notice=0, estimated=1000), ResourceRequest(cores=4)),
        (on_demand(2, 500, 4, 60, 60, notice=10, estimated=500), ResourceRequest(cores=4)),
        (rigid(3, 0, 4, 2000, 2000), ResourceRequest(cores=4)),
        (rigid(4, 50, 4, 300, 300), ResourceRequest(cores=4)),
    ]
    outages = [closure(RESERVATION, 100, 900, "n1", jobs=(2, 4))]
    result = simulate(shared_machine(2), jobs, "CUA-PAA", outages=outages, tenants="none")
    assert runs(result, 2) == [(500, 560, (0,))]
    assert runs(result, 4) == [(560, 860, (0,))]
    assert runs(result, 1) == [(1000, 1060, (0,))]
    # Of n1: for job 1 until 100, for job 2 until 500, in the advance reservation from 860 on, for job 1 from 900 on.
    assert result.accounting.held == 4 * (100 + 400 + 40 + 100) * SECOND


def test_no_reservation_is_expected_to_collect_a_node_that_closes_just_then() -> None:
    # Job 1 leaves n1 at 100, when it closes. Job 3's reservation will therefore take n2 when job 2 leaves it at 200,
    # and job 4, which needs a whole node, waits for the end of job 3 by its walltime at 1100. Job 5 delays nobody.
    jobs = [
        (rigid(1, 0, 4, 100, 100), ResourceRequest(cores=4)),
        (rigid(2, 0, 2, 200, 200), ResourceRequest(cores=2)),
        (on_demand(3, 1000, 4, 100, 100, notice=10, estimated=1000), ResourceRequest(cores=4)),
        (rigid(4, 20, 4, 50, 50), ResourceRequest(cores=4)),
        (rigid(5, 30, 2, 500, 500), ResourceRequest(cores=2)),
    ]
    result = simulate(
        shared_machine(2), jobs, "CUA-PAA", outages=[closure(MAINTENANCE, 100, 5000, "n1")], tenants="none"
    )
    assert times(result)[5] == (30, 530)
    assert times(result)[3] == (1000, 1100)
    assert times(result)[4] == (1100, 1150)


def test_a_job_that_was_shrunk_and_then_preempted_for_the_same_job_resumes() -> None:
    # Job 1 gives n1 to job 2 at 100, and n2 at 150, when n1 fails, after its warning of 120 s. At 470 it gets n2 back
    # before job 3 of the higher tier. Of its 2,000 node-seconds 200 + 50 are done: 1,750 are left.
    machine = make_machine(
        nodes=[{"names": "n[1-2]", "cores": 4}],
        partitions=[
            {"name": "p", "nodes": "ALL", "priority": 1, "default": True},
            {"name": "high", "nodes": "ALL", "priority": 2},
        ],
    )
    jobs = [
        (malleable(1, 0, 8, 1000, 4), ResourceRequest(nodes=2, cores=4)),
        (on_demand(2, 100, 4, 200, 200), ResourceRequest(cores=4)),
        (rigid(3, 200, 4, 50, 50), ResourceRequest(cores=4, partitions=("high",))),
    ]
    result = simulate(machine, jobs, "N-SPAA", outages=[closure(FAILURE, 150, 5000, "n1")])
    assert runs(result, 1) == [(0, 100, (0, 1)), (100, 270, (1,)), (470, 2220, (1,))]
    assert runs(result, 2) == [(100, 150, (0,)), (270, 470, (1,))]
    assert times(result)[3] == (2220, 2270)


@pytest.mark.parametrize("seeds", in_parts(range(14, 26), 4))
@pytest.mark.parametrize("mechanism", EVERY)
def test_outages_of_all_one_core_nodes_equal_one_pool(mechanism: str, seeds: range) -> None:
    for seed in seeds:
        table = random_job_table(seed, max_jobs=30, max_nodes=16) if seed % 2 else busy_job_table(seed)
        jobs, outages = Jobs.of(table.jobs), whole_machine_outages(seed, table.jobs, table.nodes)
        result = simulate_shared_nodes(
            jobs, one_core_nodes(table), parse_mechanism(mechanism), Options(), clock_origin(jobs), outages=outages
        )
        pool = simulate_pool(table.jobs, table.nodes, mechanism, outages=outages)
        assert outcomes(result) == outcomes(pool), seed
        assert result.accounting == pool.accounting, seed


@pytest.mark.parametrize("seeds", in_parts(range(6), 2))
@pytest.mark.parametrize("mechanism", EVERY)
def test_jobs_that_run_at_the_beginning_and_stochastic_jobs_meet_outages_as_on_one_pool(
    mechanism: str, seeds: range
) -> None:
    for seed in seeds:
        table, mix = running_job_table(seed), random_mix(seed)
        for jobs, nodes, plans in ((table.jobs, table.nodes, None), (mix.jobs, mix.nodes, mix.plans)):
            chosen: dict[str, Any] = {"plans": plans, "outages": whole_machine_outages(seed, jobs, nodes)}
            machine = one_core_nodes(Table(jobs, nodes))
            result = simulate_pool(jobs, nodes, mechanism, on_machine=machine, **chosen)
            pool = simulate_pool(jobs, nodes, mechanism, **chosen)
            assert outcomes(result) == outcomes(pool), seed
            assert result.accounting == pool.accounting, seed


@pytest.mark.parametrize("seeds", in_parts(range(4), 2))
@pytest.mark.parametrize("mechanism", ["baseline", "CUA-SPAA"])
def test_failures_at_a_rate_are_outages_that_are_drawn_until_the_last_end(mechanism: str, seeds: range) -> None:
    struck = 0
    for seed in seeds:
        table, mix = running_job_table(seed), random_mix(seed)
        for jobs, nodes, plans in ((table.jobs, table.nodes, None), (mix.jobs, mix.nodes, mix.plans)):
            failures = FailureRate(mtbf=400.0 * nodes, repair=20.0, seed=seed)
            machine = one_core_nodes(Table(jobs, nodes))
            found = simulate_pool(jobs, nodes, mechanism, on_machine=machine, plans=plans, failures=failures)
            begin = replay_start(Jobs.of(jobs))
            start = clock_origin(Jobs.of(jobs)) / SECOND if begin is None else begin
            last = (found.origin + found.samples[-1][0]) / SECOND
            drawn = list(takewhile(lambda failure, last=last: failure.start < last, failures.draw(nodes, start)))
            given = simulate_pool(jobs, nodes, mechanism, on_machine=machine, plans=plans, outages=drawn)
            assert list(found.outages) == drawn
            struck += len(drawn)
            assert outcomes(found) == outcomes(given), seed
            assert found.accounting == given.accounting, seed
    assert struck > 4


def random_case(seed: int) -> SharedCase:
    case = random_shared_case(seed)
    case = with_shared_lives(case, seed) if seed % 2 else case
    return with_limits(case, seed) if seed % 3 == 0 else case


def closed_simulation(case: SharedCase, mechanism: str, outages: list[Outage]) -> Result:
    options = Options(backfilling=case.backfilling, tenants=case.tenants)
    return simulate_shared_nodes(
        case.table, case.workload, parse_mechanism(mechanism), options, clock_origin(case.table), outages=outages
    )


@pytest.mark.parametrize("block", range(4))
def test_without_a_mechanism_outages_are_those_of_a_replay(block: int) -> None:
    for seed in range(15 * block, 15 * block + 15):
        case = random_case(seed)
        if not case.jobs or any(job.submit is None for job in case.jobs):
            continue
        outages = named_outages(seed, case.jobs, case.machine)
        found = closed_simulation(case, "baseline", outages)
        expected = simulate_on_machine(
            case.table, case.workload, Options(backfilling=case.backfilling), clock_origin(case.table), outages
        )
        ours, theirs = (
            [(row.start, row.end, row.preemptions) for row in records] for records in (found.records, expected.records)
        )
        assert ours == theirs, seed
        assert found.on_machine is not None
        for one, other in zip(found.on_machine.starts, expected.replay.starts, strict=True):
            assert (one is None) == (other is None), seed
            if one is not None and other is not None:
                assert (one.start, one.end, set(one.nodes)) == (other.start, other.end, set(other.nodes)), seed


@pytest.mark.parametrize("seed", range(400, 430))
def test_no_job_starts_on_a_node_that_is_down_and_accounts_close(seed: int) -> None:
    case = random_case(seed)
    if not case.jobs:
        return
    outages = named_outages(seed, case.jobs, case.machine)
    result = closed_simulation(case, MECHANISMS[seed % len(MECHANISMS)], outages)
    replay, warning = result.on_machine, to_ticks(Options().warning)
    assert replay is not None
    every = [*replay.past, *((row, run) for row, run in enumerate(replay.starts) if run is not None)]
    for outage, nodes in zip(outages, outage_places(outages, case.machine), strict=True):
        begin, end = to_ticks(outage.start), to_ticks(outage.end)
        for row, run in every:
            job = case.jobs[row]
            if not set(nodes) & set(run.nodes) or job.job_id in outage.jobs or run.start == run.end:
                continue
            resized = any(other == row and earlier.end == run.start for other, earlier in every)
            assert resized or not begin <= run.start < end, (seed, job.job_id)
            if outage.kind is FAILURE:
                assert run.start >= end or run.end <= max(begin, run.start), (seed, job.job_id)
            elif outage.running == "preempt" and job.type is not JobType.MALLEABLE:
                assert run.start >= end or run.end <= begin + 1, (seed, job.job_id)
            elif outage.running == "preempt":
                assert run.start >= end or run.end <= max(begin, run.start) + warning, (seed, job.job_id)
    ends = [record.end for record in result.records if record.end is not None]
    assert min(result.accounting) >= 0
    if ends:
        opened = min(record.submit for record in result.records if record.submit is not None and record.end is not None)
        assert sum(result.accounting) == result.nodes * (max(ends) - opened)
