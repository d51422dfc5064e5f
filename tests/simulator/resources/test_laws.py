"""Laws of replays on random machines, checked from starts and nodes alone; and one pool beside the plain EASY rule."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.policies.slurm_backfill import SlurmBackfill
from holdfast.simulator.resources import resource_loop
from holdfast.simulator.resources.machine_jobs import MachineJob
from holdfast.simulator.resources.machine_replay import MachineReplay, replay_on_machine
from holdfast.workloads.ground.errors import InputError
from holdfast.workloads.ground.units import SECOND
from holdfast.workloads.machines.machine import Machine
from holdfast.workloads.machines.machine_file import one_pool
from holdfast.workloads.machines.request import ResourceRequest
from tests.reference.easy import replay_easy
from tests.reference.resources import PlainJob, replay_resources
from tests.strategies.machines import random_jobs, random_machine
from tests.support.jobs import rigid


def replays(seed: int) -> tuple[Machine, list[MachineJob], MachineReplay] | None:
    random = Random(seed)
    machine = random_machine(random)
    jobs = random_jobs(random, machine, random.randint(5, 40))
    options = {
        "backfilling": random.choice(("easy", "easy", "none")),
        "placement": random.choice(("pack", "spread", "slurm")),
    }
    try:
        return machine, jobs, replay_on_machine(machine, jobs, **options)
    except InputError:
        return None


@settings(deadline=None)
@given(st.integers(0, 10**9))
def test_no_node_is_overfull_and_exclusive_nodes_hold_one_job(seed: int) -> None:
    made = replays(seed)
    if made is None:
        return
    machine, jobs, found = made
    exclusive = {partition.name for partition in machine.partitions if partition.exclusive}
    placed = [(job, place) for job, place in zip(jobs, found.starts, strict=True) if place is not None]
    for _, place in placed:
        at = place.start
        running = [(other, held) for other, held in placed if held.start <= at < held.end]
        for node in place.nodes:
            there = [(other, held) for other, held in running if node in held.nodes]
            taken = [held.taken[held.nodes.index(node)] for _, held in there]
            for kind, capacity in enumerate(found.table.capacities[node]):
                assert all(vector[kind] >= 0 for vector in taken)
                assert sum(vector[kind] for vector in taken) <= capacity
            if any(other.request.exclusive or held.partition in exclusive for other, held in there):
                assert len(there) == 1


@settings(deadline=None)
@given(st.integers(0, 10**9))
def test_accounts_close_and_no_job_starts_early(seed: int) -> None:
    made = replays(seed)
    if made is None:
        return
    machine, jobs, found = made
    placed = [(job, place) for job, place in zip(jobs, found.starts, strict=True) if place is not None]
    assert len(placed) + sum(found.left_out.values()) == len(jobs)
    for job, place in placed:
        assert place.start >= max(job.submit, job.request.begin or 0) * SECOND
        assert place.end - place.start == min(job.walltime, job.runtime) * SECOND
        assert set(place.nodes) <= set(machine.places(machine.partition(place.partition)))
    # By instants instead of by jobs: what is used and what is free make up the machine in every interval.
    times = sorted({time for _, place in placed for time in (place.start, place.end)} | {int(found.instants[0])})
    used = dict.fromkeys(found.table.resources, 0)
    busy = 0
    for begin, end in pairwise(times):
        running = [place for _, place in placed if place.start <= begin < place.end]
        busy += (end - begin) * len({node for place in running for node in place.nodes})
        for kind, name in enumerate(found.table.resources):
            amounts = [
                vector[kind]
                for place in running
                for node, vector in zip(place.nodes, place.taken, strict=True)
                if name != "memory" or found.table.counts_memory[node]
            ]
            used[name] += (end - begin) * sum(amounts)
    assert found.used == {"nodes": busy, **used}
    assert found.span == times[-1] - times[0]
    for name, amount in found.used.items():
        assert 0 <= amount + found.stranded_time.get(name, 0) <= found.capacity[name]


@settings(deadline=None)
@given(st.integers(0, 10**9))
def test_causes_make_up_each_wait(seed: int) -> None:
    made = replays(seed)
    if made is None:
        return
    _, jobs, found = made
    order = sorted((place.place, place.start) for place in found.starts if place is not None)
    assert [start for _, start in order] == sorted(start for _, start in order)
    for queued, place in zip(found.queued, found.starts, strict=True):
        if place is None:
            continue
        wait = place.wait
        assert min(wait.limit, wait.nodes, wait.reservation) >= 0
        assert wait.limit + wait.nodes + wait.reservation == place.start - queued
        assert (wait.limited_until is None) == (wait.limit == 0)
        if wait.limited_until is not None:
            assert place.limit is not None
            assert queued < wait.limited_until <= place.start
        if wait.reservation:
            assert wait.other in {job.job_id for job in jobs}


@settings(deadline=None)
@given(st.integers(0, 10**9), st.sampled_from(("none", "easy", "conservative", "slurm")))
def test_a_backfilled_job_passes_one_that_waits_for_its_partition(seed: int, backfilling: str) -> None:
    random = Random(seed)
    machine = replace(random_machine(random), limits=())
    jobs = random_jobs(random, machine, random.randint(5, 30))
    rule = SlurmBackfill() if backfilling == "slurm" else backfilling
    placement = "slurm" if backfilling == "slurm" else "pack"
    try:
        found = replay_on_machine(machine, jobs, backfilling=rule, placement=placement)
    except InputError:
        return
    tiers = {partition.name: partition.priority for partition in machine.partitions}
    names = [partition.name for partition in machine.partitions]
    open_to = [
        {names[need.partition] for need in found.table.needs(job.request, job.walltime)} if place is not None else set()
        for job, place in zip(jobs, found.starts, strict=True)
    ]
    rank = [
        (-max((tiers[name] for name in some), default=0), job.submit) for job, some in zip(jobs, open_to, strict=True)
    ]
    for row, place in enumerate(found.starts):
        if place is None:
            continue
        passed = [
            other
            for other, later in enumerate(found.starts)
            if later is not None
            and found.queued[other] <= place.start < later.start
            and place.partition in open_to[other]
            and (rank[other], other) < (rank[row], row)
        ]
        assert place.backfilled == bool(passed)
        if backfilling == "none":
            assert not passed


@settings(deadline=None)
@given(st.integers(0, 10**9))
def test_no_limit_is_exceeded(seed: int) -> None:
    made = replays(seed)
    if made is None:
        return
    machine, jobs, found = made
    placed = [(job, place) for job, place in zip(jobs, found.starts, strict=True) if place is not None]
    for limit in machine.limits:
        members = [
            (job, place)
            for job, place in placed
            if limit.name
            == {"qos": job.request.qos, "account": job.request.account, "user": job.user, "partition": place.partition}[
                limit.scope
            ]
        ]
        for _, now in members:
            running = [(job, place) for job, place in members if place.start <= now.start < place.end]
            for quota, users in ((limit.together, [None]), (limit.per_user, sorted({job.user for job, _ in running}))):
                for user in users:
                    own = [place for job, place in running if user in (None, job.user)]
                    held = {
                        "running": len(own),
                        "nodes": sum(len(place.nodes) for place in own),
                        "cores": sum(vector[0] for place in own for vector in place.taken),
                        "memory": sum(
                            vector[1]
                            for place in own
                            for node, vector in zip(place.nodes, place.taken, strict=True)
                            if found.table.counts_memory[node]
                        ),
                        "gpus": sum(vector[2] for place in own for vector in place.taken),
                    }
                    assert all(held[name] <= most for name, most in quota.amounts().items())


@settings(deadline=None)
@given(st.integers(0, 10**9))
def test_a_head_never_starts_later_than_first_promised_under_exact_walltimes(seed: int) -> None:
    # In one partition, without tiers and limits: no job that comes later goes before the head.
    random = Random(seed)
    machine = random_machine(random)
    machine = Machine(machine.kinds, machine.partitions[:1])
    jobs = [
        job._replace(runtime=job.walltime)
        for job in random_jobs(random, machine, random.randint(5, 25))
        if job.request.begin is None
    ]
    promises: dict[int, float] = {}

    def watch(now: float, heads: list[tuple[int, float]], _: dict[str, int]) -> None:
        for number, time in heads:
            promises.setdefault(number, time)

    plain = [PlainJob(*job[1:4], job.request, job.user) for job in jobs]
    replay_resources(machine, plain, watch=watch)
    try:
        found = replay_on_machine(machine, jobs)
    except InputError:
        return
    for number, time in promises.items():
        place = found.starts[number]
        assert place is not None
        assert place.start <= time * SECOND


@settings(deadline=None)
@given(st.integers(0, 10**9))
def test_one_pool_of_exclusive_nodes_is_the_plain_easy_rule(seed: int) -> None:
    random = Random(seed)
    nodes = random.randint(1, 12)
    submit = 0
    jobs = []
    for number in range(random.randint(1, 60)):
        submit += random.choice((0, 0, 1, 5, 20))
        walltime = random.choice((1, 5, 10, 40, 80))
        request = ResourceRequest(nodes=random.randint(1, nodes))
        jobs.append(MachineJob(number, submit, walltime, random.randint(1, 100), request))
    expected = replay_easy(
        [job.submit for job in jobs],
        [job.request.nodes or 1 for job in jobs],
        [job.walltime for job in jobs],
        [job.runtime for job in jobs],
        nodes,
    )
    for placement in ("pack", "spread", "slurm"):
        found = replay_on_machine(one_pool(nodes), jobs, placement=placement)
        assert [place.start / SECOND for place in found.starts if place is not None] == expected


def test_one_pool_starts_as_the_simulator_does_to_the_tick() -> None:
    from holdfast.simulator import simulate

    random = Random(7)
    submit = 0.0
    table, jobs = [], []
    for number in range(80):
        submit += random.expovariate(1 / 50)
        walltime = random.uniform(1, 3000)
        runtime = random.uniform(0.5, 1) * walltime
        nodes = random.randint(1, 16)
        table.append(rigid(number, submit, nodes, runtime, walltime))
        jobs.append(MachineJob(number, submit, walltime, runtime, ResourceRequest(nodes=nodes)))
    for backfilling in ("easy", "none"):
        for order in ("fcfs", "sjf", "largest", "f4", "wfp3", "fairshare", "multifactor age=9 size=5 fairshare=7"):
            expected = simulate(table, nodes=16, mechanism="baseline", backfilling=backfilling, order=order)
            found = replay_on_machine(one_pool(16), jobs, backfilling=backfilling, order=order)
            assert [place.start for place in found.starts if place is not None] == [r.start for r in expected.records]


@pytest.mark.parametrize("seed", range(5))
def test_compiled_and_plain_loops_agree(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    made = replays(seed)
    assert made is not None
    machine, jobs, found = made
    ran = []

    def plain(function, steps):  # type: ignore[no-untyped-def]
        ran.append(function)

    monkeypatch.setattr("holdfast.simulator.resources.loop_call.compiled_loop", plain)
    random = Random(seed)
    random_jobs(random, random_machine(random), random.randint(5, 40))
    options = {
        "backfilling": random.choice(("easy", "easy", "none")),
        "placement": random.choice(("pack", "spread", "slurm")),
    }
    assert replay_on_machine(machine, jobs, **options).starts == found.starts
    assert ran == [resource_loop.replay_resources]
    aged = replay_on_machine(machine, jobs, **options, order="wfp3").starts
    monkeypatch.undo()
    assert replay_on_machine(machine, jobs, **options, order="wfp3").starts == aged
