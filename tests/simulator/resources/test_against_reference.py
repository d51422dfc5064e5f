"""Replays on machines against a plain reference: every start, partition, node and amount."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from random import Random
from typing import Any

import pytest

from holdfast.policies.kernels import compiled_or_plain
from holdfast.policies.port import TOLERANCE
from holdfast.policies.slurm_backfill import SlurmBackfill
from holdfast.simulator.resources import resource_loop
from holdfast.simulator.resources.machine_jobs import MachineJob
from holdfast.simulator.resources.machine_replay import MachineReplay, replay_on_machine
from holdfast.workloads.ground.errors import InputError
from holdfast.workloads.ground.units import SECOND
from holdfast.workloads.machines.machine import Machine
from holdfast.workloads.outages.outage import Outage, OutageKind
from tests.reference.resources import Placed, PlainJob, Shut, _Site, replay_resources
from tests.reference.slurm_resources import SlurmSite
from tests.strategies.machines import random_jobs, random_machine, random_outages, with_lives

_RULES = {"none": 0, "easy": 1, "conservative": None, "slurm": None}


def order_key(
    order: str,
    machine: Machine,
    jobs: list[PlainJob],
    submitted: dict[int, float],
    former: list[tuple[int, Placed, float]],
) -> Callable[[int, float, dict[int, Placed]], Any]:
    """The keys of orders once more, from their definitions: times in ticks, sizes in node equivalents."""
    site = _Site(machine, "pack", 0)
    every = sum(len(kind.names) for kind in machine.kinds)
    first = min((job.submit for job in jobs if site.options(job)), default=0)
    sizes: dict[int, float] = {}

    def size(number: int) -> float:
        if number not in sizes:
            job = jobs[number]
            partition = site.options(job)[0]
            asked = site.requested_amounts(job, partition)
            mine = [site.nodes[node] for node in site.members[partition] if site._has_features(job, node)]
            wanted = {name: asked[name] for name in ("cores", "memory", "gpus")}
            wanted |= {f"gpus.{kind}": asked["nodes"] * n for kind, n in job.request.gpus.items() if kind != "gpu"}
            whole = job.request.exclusive or site.partition[partition].exclusive
            parts = [amount / max(node.get(name, 0) for node in mine) for name, amount in wanted.items() if amount]
            sizes[number] = asked["nodes"] if whole else max(parts)
        return sizes[number]

    def shares(number: int, now: float, placed: dict[int, Placed], half_life: float) -> float:
        """The share of its account in the usage, of which half is left after a half-life."""
        used: dict[str, float] = {}
        runs = [(other, place, min(jobs[other].walltime, jobs[other].runtime)) for other, place in placed.items()]
        runs += [(other, place, over - place.start) for other, place, over in former]
        for other, place, length in runs:
            end = min(now, place.start + length)
            left = sum(sign * 2.0 ** (-(now - time) / half_life) for sign, time in ((1, end), (-1, place.start)))
            used[jobs[other].request.account] = used.get(jobs[other].request.account, 0) + size(other) * left
        return round(used.get(jobs[number].request.account, 0) / (sum(used.values()) or 1), 9)

    def key(number: int, now: float, placed: dict[int, Placed]) -> Any:
        job = jobs[number]._replace(submit=submitted[number])
        wait = now - max(job.submit, job.request.begin or 0)
        if order == "sjf":
            return job.walltime, job.submit
        if order == "laf":
            return -size(number) * job.walltime, job.submit
        if order == "f4":
            seconds, came = job.walltime / SECOND, max(1, (job.submit - first) / SECOND)
            return seconds * size(number) ** 0.5 + 5.3e5 * math.log10(came)
        if order == "wfp3":
            return -((wait / job.walltime) ** 3) * size(number)
        if order == "unicep":
            return -wait / (job.walltime * (math.log2(size(number)) if size(number) > 2 else 1))
        if order == "alcf":
            return -wait * wait * size(number) / every / 21600**3
        if order.startswith("fairshare"):
            return shares(number, now, placed, 30 * SECOND), job.submit
        if order.startswith("multifactor"):
            factor = 2.0 ** -(2 * shares(number, now, placed, 30 * SECOND))
            aged = min(1, wait / (60 * SECOND))
            return -math.floor(1000 * aged + 500 * factor + 300 * size(number) / every), job.submit
        return job.submit

    return key


ORDERS = (
    "sjf", "laf", "f4", "wfp3", "unicep", "alcf", "fairshare half_life=30",
    "multifactor age=1000 max_age=60 fairshare=500 half_life=30 accounts=2 size=300",
)  # fmt: skip


def agree(
    machine: Machine,
    jobs: list[MachineJob],
    backfilling: str,
    depth: int | None,
    placement: str,
    order: str = "fcfs",
    outages: Sequence[Outage] = (),
) -> int:
    """Compare both, and return the number of runs that outages ended."""
    places = {job.job_id: place for place, job in enumerate(jobs)}
    plain = [
        PlainJob(
            round(job.submit * SECOND),
            round(job.walltime * SECOND),
            round(job.runtime * SECOND),
            job.request,
            job.user,
            None if job.cancelled_at is None else round(job.cancelled_at * SECOND) - round(job.submit * SECOND),
            places.get(job.preceding),
            None if job.think_time is None else round(job.think_time * SECOND),
            frozenset(place for place, outage in enumerate(outages) if admits(outage, job)),
        )
        for job in jobs
    ]
    submitted: dict[int, float] = {}
    left: dict[int, float] = {}
    former: list[tuple[int, Placed, float]] = []
    lost: dict[float, dict[str, int]] = {}

    def watch(now: float, heads: list[tuple[int, float]], stranded: dict[str, int]) -> None:
        lost[now] = stranded

    plain = [job._replace(request=begin_in_ticks(job.request)) for job in plain]
    expected = replay_resources(
        in_ticks(machine), plain, placement=placement, depth=_RULES[backfilling] if depth is None else depth,
        tolerance=TOLERANCE, watch=watch, key=order_key(order, in_ticks(machine), plain, submitted, former),
        submitted=submitted, left=left, windows=[shut(outage, machine) for outage in outages], former=former,
        site_class=SlurmSite if backfilling == "slurm" else None,
    )  # fmt: skip
    try:
        replay: MachineReplay | None = replay_on_machine(
            machine,
            jobs,
            backfilling=SlurmBackfill() if backfilling == "slurm" else backfilling,
            depth=depth,
            placement=placement,
            order=order,
            outages=outages,
        )
    except InputError:
        replay = None
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
                    if amount
                    and name in replay.table.resources
                    and (name != "memory" or replay.table.counts_memory[node])
                }
                for node, amounts in other.taken.items()
            }
            assert (place.start, place.partition, taken) == (other.start, other.partition, plain_taken), job
    if replay is not None:
        # Memory that is not counted has another stand-in there.
        kinds = [place for place, name in enumerate(replay.table.resources) if name != "memory"]
        assert replay.instants.tolist() == sorted(lost)
        for instant, amounts in zip(replay.instants.tolist(), replay.stranded.tolist(), strict=True):
            found_lost = {replay.table.resources[place]: amounts[place] for place in kinds if amounts[place]}
            plain_lost = {name: amount for name, amount in lost[instant].items() if amount and name != "memory"}
            assert found_lost == plain_lost, instant
        assert {place: time for place, time in enumerate(replay.gone) if time is not None} == left
        assert all(replay.submits[place] == time for place, time in submitted.items())
        ended = [(place, run.start, run.end, run.partition, set(run.nodes)) for place, run in replay.past]
        plain_ended = [(number, run.start, end, run.partition, set(run.taken)) for number, run, end in former]
        assert sorted(ended, key=lambda run: run[:2]) == sorted(plain_ended, key=lambda run: run[:2])
    return len(former)


def admits(outage: Outage, job: MachineJob) -> bool:
    if outage.kind is not OutageKind.RESERVATION:
        return False
    return job.job_id in outage.jobs or job.user in outage.users or job.request.account in outage.projects


def shut(outage: Outage, machine: Machine) -> Shut:
    """The window of an outage that takes all nodes that it names."""
    names = [name for kind in machine.kinds for name in kind.names]
    partitions = {partition.name: partition.nodes for partition in machine.partitions}
    chosen = partitions.get(outage.on, outage.on.split(","))
    start, end = round(outage.start * SECOND), round(outage.end * SECOND)
    known = -math.inf if outage.announced is None else round(outage.announced * SECOND)
    failure = outage.kind is OutageKind.FAILURE
    return Shut(
        start,
        end,
        start if failure else known,
        frozenset(map(names.index, chosen)),
        "failure" if failure else outage.running,
    )


def begin_in_ticks(request):  # type: ignore[no-untyped-def]

    return request if request.begin is None else request._replace(begin=round(request.begin * SECOND))


def in_ticks(machine: Machine) -> Machine:
    from dataclasses import replace

    partitions = tuple(
        replace(p, max_time=None if p.max_time is None else p.max_time * SECOND) for p in machine.partitions
    )
    return replace(machine, partitions=partitions)


def _agree_at(seed: int, order: str = "fcfs") -> None:
    random = Random(seed)
    machine = random_machine(random)
    jobs = random_jobs(random, machine, random.randint(5, 25))
    backfilling = random.choice(("easy", "easy", "easy", "conservative", "none"))
    depth = None if random.random() < 0.8 else random.randint(1, 4)
    placement = random.choice(("pack", "spread", "slurm"))
    try:
        agree(machine, jobs, backfilling, depth, placement, order)
    except AssertionError as error:
        raise AssertionError(f"seed {seed}, {backfilling}, depth {depth}, {placement}, {order}: {error}") from None


@pytest.mark.parametrize("seed", range(30))
def test_random_machines(seed: int) -> None:
    _agree_at(seed)


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("seed", range(300, 304))
def test_random_machines_in_every_order(seed: int, order: str) -> None:
    _agree_at(seed, order)


@pytest.mark.system
def test_machine_code_agrees(monkeypatch: pytest.MonkeyPatch) -> None:
    """Compiling the loop takes half a minute: the other tests run it in Python, or as it was compiled before."""
    pytest.importorskip("numba")
    monkeypatch.setattr(compiled_or_plain, "LOAD_FROM", 0)
    monkeypatch.setattr(compiled_or_plain, "COMPILE_FROM", 0)
    assert compiled_or_plain.compiled_loop(resource_loop.replay_resources, 0) is not None
    for seed in range(30):
        _agree_at(seed, ORDERS[seed % len(ORDERS)])
        _agree_with_outages(4000 + seed, ("fcfs", "wfp3")[seed % 2])


def _agree_with_lives(seed: int, order: str) -> None:
    random = Random(seed)
    machine = random_machine(random)
    jobs = with_lives(random, random_jobs(random, machine, random.randint(5, 25)))
    backfilling = random.choice(("easy", "easy", "conservative", "none"))
    placement = random.choice(("pack", "spread", "slurm"))
    try:
        agree(machine, jobs, backfilling, None, placement, order)
    except AssertionError as error:
        raise AssertionError(f"seed {seed}, {backfilling}, {placement}, {order}: {error}") from None


@pytest.mark.parametrize("order", ["fcfs", "sjf", "wfp3"])
@pytest.mark.parametrize("seed", range(15))
def test_cancelled_and_dependent_jobs_on_random_machines(seed: int, order: str) -> None:
    _agree_with_lives(seed, order)


def _agree_with_slurm(seed: int, order: str = "fcfs", *, lives: bool = False) -> None:
    random = Random(seed)
    machine = random_machine(random)
    jobs = random_jobs(random, machine, random.randint(5, 25))
    jobs = with_lives(random, jobs) if lives else jobs
    try:
        agree(machine, jobs, "slurm", None, "slurm", order)
    except AssertionError as error:
        raise AssertionError(f"seed {seed}, slurm, {order}: {error}") from None


# In seeds 5076 and 5099 the idle node that is reserved in addition decides about a start; in 5120 (with lives) and 5229
# (without) a limit that forbids a plan; in 5137, 5591 and 6031 the nodes on which a job with GPUs was tested; in 5683
# (without) a job that has its nodes for itself keeps the next ones waiting.
@pytest.mark.parametrize("lives", [False, True])
@pytest.mark.parametrize("seed", [*range(15), 5076, 5099, 5120, 5137, 5229, 5591, 5683, 6031])
def test_slurm_on_random_machines(seed: int, lives: bool) -> None:
    _agree_with_slurm(seed, lives=lives)


@pytest.mark.parametrize("order", ["sjf", "wfp3"])
@pytest.mark.parametrize("seed", range(300, 304))
def test_slurm_on_random_machines_in_other_orders(seed: int, order: str) -> None:
    _agree_with_slurm(seed, order)


@pytest.mark.slow
@pytest.mark.parametrize("block", range(5))
def test_slurm_on_five_hundred_random_machines(block: int) -> None:
    for seed in range(5000 + 100 * block, 5100 + 100 * block):
        _agree_with_slurm(seed, lives=seed % 2 == 0)


def _agree_with_outages(seed: int, order: str) -> int:
    random = Random(seed)
    machine = random_machine(random)
    jobs = random_jobs(random, machine, random.randint(5, 25))
    if random.random() < 0.5 and order in ("fcfs", "sjf", "wfp3"):
        jobs = with_lives(random, jobs)
    outages = random_outages(random, machine, jobs)
    backfilling = random.choice(("easy", "easy", "conservative", "none"))
    placement = random.choice(("pack", "spread", "slurm"))
    try:
        return agree(machine, jobs, backfilling, None, placement, order, outages)
    except AssertionError as error:
        raise AssertionError(f"seed {seed}, {backfilling}, {placement}, {order}: {error}") from None


@pytest.mark.parametrize("order", ["fcfs", "wfp3", "fairshare half_life=30"])
@pytest.mark.parametrize("block", range(4))
def test_outages_of_random_machines(block: int, order: str) -> None:
    for seed in range(4000 + 4 * block, 4004 + 4 * block):
        _agree_with_outages(seed, order)


@pytest.mark.slow
@pytest.mark.parametrize("order", ["fcfs", "sjf", "wfp3", "unicep", "fairshare half_life=30"])
def test_two_hundred_random_machines_with_outages(order: str) -> None:
    assert sum(_agree_with_outages(seed, order) for seed in range(5000, 5200)) > 50


@pytest.mark.slow
@pytest.mark.parametrize("order", ["fcfs", "sjf", "wfp3", "unicep"])
def test_two_hundred_random_machines_with_cancelled_and_dependent_jobs(order: str) -> None:
    for seed in range(3000, 3200):
        _agree_with_lives(seed, order)


@pytest.mark.slow
@pytest.mark.parametrize("order", ORDERS)
def test_two_hundred_random_machines_in_every_order(order: str) -> None:
    for seed in range(2000, 2200):
        _agree_at(seed, order)


@pytest.mark.slow
@pytest.mark.parametrize("block", range(10))
def test_a_thousand_random_machines(block: int) -> None:
    for seed in range(1000 + 100 * block, 1100 + 100 * block):
        _agree_at(seed)
