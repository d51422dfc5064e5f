"""On nodes of one core, mechanisms for shared nodes do the same as the model of one pool, which counts nodes."""

from __future__ import annotations

from typing import Any

import pytest

from holdfast.policies.mechanism import parse_mechanism
from holdfast.simulator.options import Options
from holdfast.simulator.results.recording import clock_origin
from holdfast.simulator.shared_simulation import simulate_shared_nodes
from holdfast.workloads.ground.units import to_ticks
from holdfast.workloads.machines.machine_file import make_machine
from holdfast.workloads.machines.machine_workload import MachineWorkload
from holdfast.workloads.machines.request import ResourceRequest
from holdfast.workloads.table.jobs import Jobs
from tests.reference.hybrid import MECHANISMS, replay
from tests.strategies.tables import Table, busy_job_table, crowded_job_table, random_job_table

EVERY = ("baseline", *MECHANISMS)


def assert_equals_one_pool(table: Table, mechanism: str, **chosen: Any) -> None:
    jobs = Jobs.of(table.jobs)
    machine = make_machine(
        nodes=[{"names": f"n[1-{table.nodes}]", "cores": 1}], partitions=[{"name": "p", "nodes": "ALL"}]
    )
    workload = MachineWorkload(machine, tuple(ResourceRequest(nodes=job.nodes) for job in table.jobs), "pack")
    result = simulate_shared_nodes(jobs, workload, parse_mechanism(mechanism), Options(**chosen), clock_origin(jobs))
    expected = replay(table.jobs, table.nodes, mechanism, **chosen)
    for record in result.records:
        seen = expected[record.job_id]
        ours = (record.start, record.end, record.preemptions, record.shrinks, record.lost)
        theirs = (
            None if seen.start is None else to_ticks(seen.start),
            None if seen.end is None else to_ticks(seen.end),
            seen.preemptions,
            seen.shrinks,
            to_ticks(seen.lost_node_seconds),
        )
        assert ours == theirs, f"job {record.job_id}"
    if mechanism != "baseline":
        ours = {name: getattr(result.accounting, name) for name in ("compute", "lost", "warning", "held", "idle")}
        assert ours == {name: getattr(expected.totals, name) for name in ours}


@pytest.mark.parametrize("mechanism", EVERY)
def test_one_core_nodes_equal_one_pool(mechanism: str) -> None:
    for seed in range(12):
        tenants = ("any", "fits", "none")[seed % 3]
        assert_equals_one_pool(random_job_table(seed, max_jobs=30, max_nodes=16), mechanism, tenants=tenants)


@pytest.mark.parametrize("seed", [32, 36, 52])
@pytest.mark.parametrize("mechanism", ["CUP-PAA", "CUP-SPAA"])
def test_planned_victims_that_an_arrival_finds_under_warning_equal_one_pool(seed: int, mechanism: str) -> None:
    # Tables in which an arrived job takes several nodes of one victim: this lends them together.
    assert_equals_one_pool(busy_job_table(seed), mechanism)


@pytest.mark.slow
@pytest.mark.parametrize("mechanism", EVERY)
def test_crowded_one_core_nodes_equal_one_pool(mechanism: str) -> None:
    for seed in range(40):
        chosen = {"warning": (120, 0, 600)[seed % 3], "tenants": ("any", "none")[seed % 2]}
        assert_equals_one_pool(crowded_job_table(seed), mechanism, **chosen)
    for seed in range(200):
        assert_equals_one_pool(busy_job_table(seed), mechanism)
