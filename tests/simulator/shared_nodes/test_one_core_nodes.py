"""On nodes of one core, mechanisms for shared nodes do the same as the model of one pool, which counts nodes."""

from __future__ import annotations

from dataclasses import replace
from random import Random
from typing import Any

import pytest

from holdfast.policies.mechanism import parse_mechanism
from holdfast.simulator.machine.prior_state import PastUsage, PriorState
from holdfast.simulator.options import Options
from holdfast.simulator.results.catalogue import WALL_CLOCK
from holdfast.simulator.results.measured_simulation import WHOLE, MeasuredWindow
from holdfast.simulator.results.metrics import summarize
from holdfast.simulator.results.recording import clock_origin
from holdfast.simulator.results.result import Result
from holdfast.simulator.shared_simulation import simulate_shared_nodes
from holdfast.simulator.simulation import simulate
from holdfast.workloads.ground.units import SECOND
from holdfast.workloads.machines.machine_file import make_machine
from holdfast.workloads.machines.machine_workload import MachineWorkload
from holdfast.workloads.machines.request import ResourceRequest
from holdfast.workloads.table.jobs import Jobs
from tests.reference.hybrid import MECHANISMS, replay
from tests.simulator.test_differential import assert_same_jobs
from tests.strategies.shared import running_job_table
from tests.strategies.tables import Table, busy_job_table, crowded_job_table, random_job_table
from tests.support.jobs import malleable, on_demand, rigid
from tests.support.seeds import in_parts

EVERY = ("baseline", *MECHANISMS)


def outcomes(result: Result) -> list[tuple[object, ...]]:
    return [(row.start, row.end, row.preemptions, row.shrinks, row.lost) for row in result.records]


def metrics(result: Result, window: MeasuredWindow) -> dict[str, object]:
    found = summarize(result, window=window)
    return {name: value for name, value in found.items() if name not in WALL_CLOCK and name != "mechanism"}


def one_core_nodes(table: Table) -> MachineWorkload:
    machine = make_machine(
        nodes=[{"names": f"n[1-{table.nodes}]", "cores": 1}], partitions=[{"name": "p", "nodes": "ALL"}]
    )
    return MachineWorkload(machine, tuple(ResourceRequest(nodes=job.nodes) for job in table.jobs), "pack")


def on_one_core_nodes(table: Table, mechanism: str, **chosen: Any) -> Result:
    jobs, workload = Jobs.of(table.jobs), one_core_nodes(table)
    return simulate_shared_nodes(jobs, workload, parse_mechanism(mechanism), Options(**chosen), clock_origin(jobs))


def assert_equals_one_pool(table: Table, mechanism: str, **chosen: Any) -> None:
    result = on_one_core_nodes(table, mechanism, **chosen)
    expected = replay(table.jobs, table.nodes, mechanism, **chosen)
    assert_same_jobs(result, expected)
    if mechanism != "baseline":
        ours = {name: getattr(result.accounting, name) for name in ("compute", "lost", "warning", "held", "idle")}
        assert ours == {name: getattr(expected.totals, name) for name in ours}


@pytest.mark.parametrize("seeds", in_parts(range(12), 3))
@pytest.mark.parametrize("mechanism", EVERY)
def test_one_core_nodes_equal_one_pool(mechanism: str, seeds: range) -> None:
    for seed in seeds:
        tenants = ("any", "fits", "none")[seed % 3]
        assert_equals_one_pool(random_job_table(seed, max_jobs=30, max_nodes=16), mechanism, tenants=tenants)


@pytest.mark.parametrize("seed", [32, 36, 52])
@pytest.mark.parametrize("mechanism", ["CUP-PAA", "CUP-SPAA"])
def test_planned_victims_that_an_arrival_finds_under_warning_equal_one_pool(seed: int, mechanism: str) -> None:
    # Tables in which an arrived job takes several nodes of one victim: this lends them together.
    assert_equals_one_pool(busy_job_table(seed), mechanism)


@pytest.mark.parametrize("seeds", in_parts(range(16), 4))
@pytest.mark.parametrize("mechanism", EVERY)
def test_jobs_that_run_at_the_beginning_equal_one_pool(mechanism: str, seeds: range) -> None:
    # The reference of one pool has no such jobs; the simulation of one pool has tests of its own.
    for seed in seeds:
        table = running_job_table(seed)
        result, pool = on_one_core_nodes(table, mechanism), simulate(table.jobs, table.nodes, mechanism)
        assert outcomes(result) == outcomes(pool), seed
        assert result.accounting == pool.accounting
        for window in (WHOLE, MeasuredWindow(warmup=1.0)):
            ours, theirs = (metrics(one, window) for one in (result, pool))
            assert ours == pytest.approx(theirs, nan_ok=True), (seed, window)


@pytest.mark.parametrize("seeds", in_parts(range(8), 2))
@pytest.mark.parametrize("mechanism", EVERY)
def test_orders_by_past_usage_equal_one_pool(mechanism: str, seeds: range) -> None:
    for seed in seeds:
        random, table = Random(seed), busy_job_table(seed)
        jobs = [replace(job, user=random.choice("uvw"), project=random.choice(("a", "b", ""))) for job in table.jobs]
        for order in ("fairshare half_life=600", "multifactor age=1 fairshare=1000 half_life=600"):
            result = on_one_core_nodes(table._replace(jobs=jobs), mechanism, order=order)
            assert outcomes(result) == outcomes(simulate(jobs, table.nodes, mechanism, order=order)), (seed, order)


@pytest.mark.parametrize("seeds", in_parts(range(12), 3))
@pytest.mark.parametrize("mechanism", EVERY)
def test_past_usage_before_running_jobs_equals_one_pool(mechanism: str, seeds: range) -> None:
    for seed in seeds:
        random, table = Random(seed), running_job_table(seed)
        jobs = [replace(job, user=random.choice("uvw"), project=random.choice(("a", "b", ""))) for job in table.jobs]
        begin = max((job.running_since for job in jobs if job.running_since is not None), default=None)
        if begin is None:
            continue
        # A run of each account that ended before the replay, or that goes on.
        starts = [begin - random.randint(1, 3000) for _ in "uvab"]
        ends = [start + random.randint(1, 3000) for start in starts]
        past = PastUsage.from_runs("uvab", [random.randint(1, 9) for _ in "uvab"], starts, ends).until(begin)
        prior = PriorState(past, origin=begin - 5000)
        for order in ("fairshare half_life=600", "multifactor age=1 fairshare=1000 half_life=600"):
            machine = one_core_nodes(table._replace(jobs=jobs))
            result = simulate(jobs, table.nodes, mechanism, events=False, order=order, prior=prior, on_machine=machine)
            pool = simulate(jobs, table.nodes, mechanism, order=order, prior=prior)
            assert outcomes(result) == outcomes(pool), (seed, order)
            assert result.accounting == pool.accounting


def test_a_lent_node_that_an_arrival_leaves_to_a_tenant_is_not_returned() -> None:
    # Job 4 is on n1 until 58, job 1 beside it on n2 and n3; job 5, which comes before it in the queue, needs all three.
    # The plan for job 2 preempts job 1 after its checkpoint at 50, and n2 and n3 are reserved. Job 3 is the tenant of
    # n2 when job 2 arrives at 60; job 2 leaves it there under warning, and takes n3 and n1, which is free.
    jobs = [
        rigid(4, 0, 1, 58, 90),
        rigid(5, 0, 3, 100),
        rigid(1, 0, 2, 90, interval=50, cost=0),
        on_demand(2, 60, 2, 30, notice=40, estimated=80),
        malleable(3, 55, 1, 25, min_nodes=1),
    ]
    chosen: dict[str, Any] = {"tenants": "fits", "warning": 10}
    pool = {record.job_id: record for record in simulate(jobs, 3, "CUP-PAA", **chosen).records}
    result = {record.job_id: record for record in on_one_core_nodes(Table(jobs, 3), "CUP-PAA", **chosen).records}
    assert result[2].end == pool[2].end == 90 * SECOND
    # One pool returns two nodes to job 1, which resumes before job 5.
    assert (pool[1].end, pool[5].start) == (130 * SECOND, 130 * SECOND)
    # Of the lent nodes job 2 has n3 alone: job 1 waits for its turn.
    assert (result[5].start, result[1].end) == (90 * SECOND, 230 * SECOND)


@pytest.mark.slow
@pytest.mark.parametrize("mechanism", EVERY)
def test_crowded_one_core_nodes_equal_one_pool(mechanism: str) -> None:
    for seed in range(40):
        chosen = {"warning": (120, 0, 600)[seed % 3], "tenants": ("any", "none")[seed % 2]}
        assert_equals_one_pool(crowded_job_table(seed), mechanism, **chosen)
    for seed in range(200):
        assert_equals_one_pool(busy_job_table(seed), mechanism)
