"""A pool that is replayed as one node gives the same starts, nodes and waits as node by node."""

from __future__ import annotations

import pickle
import random
from unittest.mock import patch

import pytest

from holdfast.simulator.resources import loop_call
from holdfast.simulator.resources.machine_jobs import MachineJob
from holdfast.simulator.resources.machine_replay import MachineReplay, replay_on_machine
from holdfast.simulator.resources.node_pools import NodePools, pool_nodes
from holdfast.simulator.resources.replay_columns import ReplayColumns
from holdfast.workloads.machines.machine import Machine
from holdfast.workloads.machines.machine_file import make_machine
from holdfast.workloads.machines.request import ResourceRequest
from tests.support.seeds import in_parts

SHARED = {"name": "shared", "nodes": "s[1-2]"}


def random_machine(draw: random.Random) -> Machine:
    """Pools of one to seven nodes, beside two nodes that jobs share; names are not in the order of the nodes."""
    nodes = [{"names": "s[1-2]", "cores": 4, "memory": "64"}]
    partitions: list[dict[str, object]] = [{**SHARED, "priority": draw.randint(1, 2)}]
    for name in "abc"[: draw.randint(1, 3)]:
        count = draw.randint(1, 7)
        kind: dict[str, object] = {"names": f"{name}[1-{count}]", "cores": draw.choice((1, 4))}
        if draw.random() < 0.5:
            kind |= {"memory": "100", "gpus": 2}
        nodes.insert(draw.randint(0, len(nodes)), kind)
        partitions.append(
            {"name": name, "nodes": f"{name}[1-{count}]", "exclusive": True, "priority": draw.randint(1, 2)}
        )
    return make_machine(nodes=nodes, partitions=partitions)


def random_jobs(draw: random.Random, machine: Machine, count: int = 40) -> list[MachineJob]:
    """Jobs of one or two partitions, by nodes or by tasks; some are cancelled, held, or depend on others."""
    names = [partition.name for partition in machine.partitions]
    jobs = []
    for number in range(1, count + 1):
        partitions = tuple(draw.sample(names, min(len(names), draw.choice((1, 1, 1, 2)))))
        request = (
            ResourceRequest(nodes=draw.randint(1, 5), partitions=partitions)
            if draw.random() < 0.6
            else ResourceRequest(tasks=draw.randint(1, 9), cores=draw.randint(1, 2), partitions=partitions)
        )
        submit, walltime = draw.randint(0, 60), draw.randint(1, 30)
        jobs.append(
            MachineJob(
                number,
                submit,
                walltime,
                draw.choice((walltime, draw.randint(1, walltime))),
                request,
                draw.choice("uv"),
                cancelled_at=submit + draw.randint(0, 30) if draw.random() < 0.2 else None,
                preceding=draw.randint(1, number - 1) if number > 1 and draw.random() < 0.1 else None,
            )
        )
    return jobs


def node_by_node(machine: Machine, jobs: list[MachineJob], **rules: str) -> MachineReplay:
    """The replay without pools."""
    with patch.object(loop_call, "pool_nodes", lambda columns, depth, placement: (columns, NodePools({}, {}))):
        return replay_on_machine(machine, jobs, **rules)  # type: ignore[arg-type]


@pytest.mark.parametrize("seeds", in_parts(range(20), 7))
@pytest.mark.parametrize("order", ["fcfs", "sjf", "wfp3"])
@pytest.mark.parametrize("backfilling", ["easy", "none"])
def test_pools_are_as_node_by_node(backfilling: str, order: str, seeds: range) -> None:
    for seed in seeds:
        draw = random.Random(seed)
        machine = random_machine(draw)
        jobs = random_jobs(draw, machine)
        rules = {"backfilling": backfilling, "order": order, "placement": draw.choice(("pack", "spread"))}
        pooled, plain = replay_on_machine(machine, jobs, **rules), node_by_node(machine, jobs, **rules)  # type: ignore[arg-type]
        assert pooled.starts == plain.starts, seed
        assert (pooled.gone, pooled.submits, pooled.queued) == (plain.gone, plain.submits, plain.queued), seed
        assert pooled.instants.tolist() == plain.instants.tolist(), seed
        assert pooled.stranded.tolist() == plain.stranded.tolist(), seed
        assert pooled.used == plain.used, seed


def pooled_partitions(machine: Machine, jobs: list[MachineJob], depth: int = 1, placement: int = 0) -> list[int]:
    """Partitions that are replayed as one node."""
    found: list[int] = []

    def watch(columns: ReplayColumns, _depth: int, _placement: int) -> tuple[ReplayColumns, NodePools]:
        changed, pools = pool_nodes(columns, depth, placement)
        found.extend(number for number in range(len(machine.partitions)) if number in pools)
        assert len(changed.nodes.names) == machine.size - sum(
            len(machine.partitions[number].nodes) - 1 for number in found
        )
        return columns, NodePools({}, {})

    with patch.object(loop_call, "pool_nodes", watch):
        replay_on_machine(machine, jobs)
    return found


def test_which_partitions_are_pools() -> None:
    nodes = [{"names": "n[1-4]", "cores": 2, "features": ["fast"]}, {"names": "s[1-2]", "cores": 4}]
    pool = {"name": "pool", "nodes": "n[1-4]", "exclusive": True}
    jobs = [MachineJob(1, 0, 10, 10, ResourceRequest(nodes=2, partitions=("pool",)))]

    def of(*partitions: dict[str, object], **more: object) -> Machine:
        return make_machine(nodes=nodes, partitions=[*partitions], **more)  # type: ignore[arg-type]

    assert pooled_partitions(of(pool, SHARED), jobs) == [0]
    assert pooled_partitions(of(pool, SHARED), jobs, depth=0) == [0]
    assert pooled_partitions(of(pool, SHARED), jobs, depth=2) == []
    assert pooled_partitions(of(pool, SHARED), jobs, placement=2) == []
    assert pooled_partitions(of({**pool, "exclusive": False}, SHARED), jobs) == []
    assert pooled_partitions(of(pool, {"name": "all", "nodes": "ALL"}), jobs) == []
    assert pooled_partitions(of({**pool, "nodes": "ALL"}), jobs) == []
    limit = {"partition": "pool", "together": {"running": 1}}
    assert pooled_partitions(of(pool, SHARED, limits=[limit]), jobs) == []


def test_a_partition_with_jobs_for_some_of_its_nodes_is_no_pool() -> None:
    nodes = [{"names": "n[1-4]", "cores": 2, "features": ["fast"]}]
    machine = make_machine(nodes=nodes, partitions=[{"name": "pool", "nodes": "ALL", "exclusive": True}])
    job = MachineJob(1, 0, 10, 10, ResourceRequest(nodes=2, features="fast"))
    assert pooled_partitions(machine, [job]) == [0]
    two = make_machine(
        nodes=[*nodes, {"names": "m[1-2]", "cores": 2}],
        partitions=[{"name": "pool", "nodes": "ALL", "exclusive": True}],
    )
    assert pooled_partitions(two, [job]) == []


def test_nodes_are_chosen_when_they_are_read() -> None:
    machine = make_machine(
        nodes=[{"names": "a[1-3]", "cores": 1}], partitions=[{"name": "a", "nodes": "a[1-3]", "exclusive": True}]
    )
    jobs = [
        MachineJob(number, 0, 10, 10, ResourceRequest(nodes=size, partitions=("a",)), "u")
        for number, size in ((1, 2), (2, 1), (3, 3))
    ]
    with patch.object(NodePools, "place", side_effect=AssertionError("nobody has read a node")):
        starts = [run for run in replay_on_machine(machine, jobs).starts if run is not None]
        assert [len(run.nodes) for run in starts] == [2, 1, 3]
        assert [run.total for run in starts] == [(2, 0, 0), (1, 0, 0), (3, 0, 0)]
    first, second, third = (run.nodes for run in starts)
    assert (first, second, third) == ((0, 1), (2,), (0, 1, 2))
    assert first[1] == 1 and third[1:] == (1, 2) and hash(first) == hash((0, 1)) and repr(second) == "(2,)"
    assert pickle.loads(pickle.dumps(first)) == first != second
