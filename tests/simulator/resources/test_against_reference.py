"""Replays on machines against a plain reference: every start, partition, node and amount."""

from __future__ import annotations

from random import Random

import pytest

from policies.port import TOLERANCE
from simulator.resources.machine_replay import MachineJob, MachineReplay, replay_on_machine
from tests.reference.resources import PlainJob, replay_resources
from tests.strategies.machines import random_jobs, random_machine
from workloads.ground.errors import InputError
from workloads.ground.units import SECOND
from workloads.machines.machine import Machine

_RULES = {"none": 0, "easy": 1, "conservative": None}


def agree(machine: Machine, jobs: list[MachineJob], backfilling: str, depth: int | None, placement: str) -> None:
    plain = [
        PlainJob(
            round(job.submit * SECOND),
            round(job.walltime * SECOND),
            round(job.runtime * SECOND),
            job.request,
            job.user,
        )
        for job in jobs
    ]
    lost: dict[float, dict[str, int]] = {}

    def watch(now: float, heads: list[tuple[int, float]], stranded: dict[str, int]) -> None:
        lost[now] = stranded

    expected = replay_resources(
        in_ticks(machine), [job._replace(request=begin_in_ticks(job.request)) for job in plain], placement=placement,
        depth=_RULES[backfilling] if depth is None else depth, tolerance=TOLERANCE, watch=watch,
    )  # fmt: skip
    try:
        replay: MachineReplay | None = replay_on_machine(
            machine, jobs, backfilling=backfilling, depth=depth, placement=placement
        )
    except InputError:
        replay = None
    if replay is not None:
        # Memory that is not counted has another stand-in there.
        kinds = [place for place, name in enumerate(replay.table.resources) if name != "memory"]
        for instant, amounts in zip(replay.instants.tolist(), replay.stranded.tolist(), strict=True):
            found_lost = {replay.table.resources[place]: amounts[place] for place in kinds if amounts[place]}
            plain_lost = {name: amount for name, amount in lost[instant].items() if amount and name != "memory"}
            assert found_lost == plain_lost, instant
        assert len(lost) == len(replay.instants)
    found = [None] * len(jobs) if replay is None else replay.starts
    for job, place, other in zip(jobs, found, expected, strict=True):
        assert (place is None) == (other is None), job
        if replay is not None and place is not None and other is not None:
            taken = {
                node: {name: amount for name, amount in zip(replay.table.resources, vector, strict=True) if amount}
                for node, vector in zip(place.nodes, place.taken, strict=True)
            }
            plain_taken = {
                node: {
                    name: amount
                    for name, amount in amounts.items()
                    if amount and name in replay.table.resources and not (name == "memory" and amount >= 10**15)
                }
                for node, amounts in other.taken.items()
            }
            for node, amounts in taken.items():
                if not replay.table.counts_memory[node] and "memory" not in plain_taken[node]:
                    amounts.pop("memory", None)
            assert (place.start, place.partition, taken) == (other.start, other.partition, plain_taken), job


def begin_in_ticks(request):  # type: ignore[no-untyped-def]
    from dataclasses import replace

    return request if request.begin is None else replace(request, begin=round(request.begin * SECOND))


def in_ticks(machine: Machine) -> Machine:
    from dataclasses import replace

    partitions = tuple(
        replace(p, max_time=None if p.max_time is None else p.max_time * SECOND) for p in machine.partitions
    )
    return replace(machine, partitions=partitions)


def _agree_at(seed: int) -> None:
    random = Random(seed)
    machine = random_machine(random)
    jobs = random_jobs(random, machine, random.randint(5, 25))
    backfilling = random.choice(("easy", "easy", "easy", "conservative", "none"))
    depth = None if random.random() < 0.8 else random.randint(1, 4)
    placement = random.choice(("pack", "spread", "slurm"))
    try:
        agree(machine, jobs, backfilling, depth, placement)
    except AssertionError as error:
        raise AssertionError(f"seed {seed}, {backfilling}, depth {depth}, {placement}: {error}") from None


@pytest.mark.parametrize("seed", range(30))
def test_random_machines(seed: int) -> None:
    _agree_at(seed)


@pytest.mark.slow
@pytest.mark.parametrize("block", range(10))
def test_a_thousand_random_machines(block: int) -> None:
    for seed in range(1000 + 100 * block, 1100 + 100 * block):
        _agree_at(seed)
