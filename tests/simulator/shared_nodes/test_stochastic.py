"""Stochastic jobs on machines: their reservations as rigid jobs in the plain reference, and as on one pool."""

from __future__ import annotations

from dataclasses import replace
from random import Random
from typing import Any

import pytest

from holdfast.policies.mechanism import parse_mechanism
from holdfast.policies.planning.plan import ReservationPlan
from holdfast.simulator.results.result import Result
from holdfast.simulator.simulation import simulate
from holdfast.workloads.ground.errors import InputError
from holdfast.workloads.ground.units import SECOND
from holdfast.workloads.machines.machine_file import make_machine
from holdfast.workloads.machines.machine_workload import MachineWorkload, machine_size
from holdfast.workloads.machines.request import ResourceRequest
from holdfast.workloads.table.job import Job, JobType
from tests.reference.hybrid import MECHANISMS
from tests.reference.shared_mechanisms import replay_shared_nodes
from tests.reference.stochastic import Numbers, follow
from tests.simulator.test_stochastic import assert_course, attempts, courses
from tests.strategies.mixes import ONLY_RIGID, build_mix, random_mix
from tests.strategies.shared import DEPTHS, SharedCase, random_shared_case, with_limits
from tests.strategies.tables import Table
from tests.support.jobs import on_demand, rigid, stochastic
from tests.support.seeds import in_parts

EVERY = ("baseline", *MECHANISMS)


def random_stochastic_case(seed: int) -> tuple[SharedCase, dict[str, Numbers], dict[str, ReservationPlan]]:
    """A machine with GPUs, memory and partitions; some of its rigid jobs are stochastic."""
    case = random_shared_case(seed, most_jobs=20)
    random = Random(seed)
    mix = build_mix(random.randint, Table(case.jobs, machine_size(case.machine)))
    case = replace(case, jobs=mix.jobs)
    return with_limits(case, seed) if seed % 3 == 0 else case, mix.numbers, mix.plans


def as_rigid_jobs(case: SharedCase, result: Result, numbers: dict[str, Numbers]) -> SharedCase:
    """The case with each reservation as a rigid job of its own, which a preempted one begins again."""
    of_job, jobs, requests = courses(result), [], []
    ends = {record.job_id: record.end for record in result.records}
    for job, request in zip(case.jobs, case.requests, strict=True):
        if job.type is not JobType.STOCHASTIC:
            jobs.append(replace(job, job_id=1000 * job.job_id))
            requests.append(request)
            continue
        for number, items in enumerate(attempts(of_job.get(job.job_id, ()))):
            first, last = items[0], items[-1]
            used, length = (last.end - last.start) / SECOND, first.length / SECOND
            one = rigid(1000 * job.job_id + number, first.submit / SECOND, job.nodes, used, length)
            jobs.append(replace(one, user=job.user, project=job.project))
            requests.append(request)
        if ends[job.job_id] is None:
            # A limit never lets its first reservation start.
            step = next(follow(numbers[job.plan], job.true_runtime or job.runtime))
            one = rigid(1000 * job.job_id, job.submit, job.nodes, step.used / SECOND, step.length / SECOND)
            jobs.append(replace(one, user=job.user, project=job.project))
            requests.append(request)
    return replace(case, jobs=jobs, requests=requests)


def assert_agrees(seed: int, mechanism: str) -> tuple[int, int]:
    """The plain reference gives each reservation the same times; how many there were, and how many were preempted."""
    case, numbers, plans = random_stochastic_case(seed)
    if not case.jobs:
        return 0, 0
    result = simulate(
        case.jobs, machine_size(case.machine), mechanism, events=False, plans=plans, on_machine=case.workload,
        backfilling=case.backfilling, tenants=case.tenants,
    )  # fmt: skip
    if not any(job.type is JobType.STOCHASTIC for job in case.jobs):
        return 0, 0
    for job in case.jobs:
        if job.type is JobType.STOCHASTIC and job.job_id in courses(result):
            # In another of its partitions it may take more cores, or whole nodes.
            items = [item._replace(nodes=job.nodes) for item in courses(result)[job.job_id]]
            assert_course(job, numbers[job.plan], items)
    expanded = as_rigid_jobs(case, result, numbers)
    expected = replay_shared_nodes(
        case.machine, expanded.jobs, expanded.requests, mechanism,
        placement=case.placement, depth=DEPTHS[case.backfilling], tenants=case.tenants,
    )  # fmt: skip
    for record in result.records:
        if record.type is not JobType.STOCHASTIC:
            outcome = expected[1000 * record.job_id]
            assert (record.start, record.end, record.lost) == (outcome.start, outcome.end, outcome.lost), seed
            assert (record.preemptions, record.shrinks) == (outcome.preemptions, outcome.shrinks), seed
    assert result.summary()["jobs"] == sum(record.end is not None for record in result.records)
    count = preempted = 0
    for job_id, items in courses(result).items():
        for number, same in enumerate(attempts(items)):
            outcome = expected[1000 * job_id + number]
            assert (same[0].start, same[-1].end) == (outcome.start, outcome.end), (seed, job_id, number)
            assert len(same) - 1 == outcome.preemptions
            count += len(same)
            preempted += outcome.preemptions
    for name in ("warning", "held", "idle"):
        assert getattr(result.accounting, name) == expected.totals[name], (seed, name)
    return count, preempted


@pytest.mark.parametrize("seeds", in_parts(range(20), 6))
@pytest.mark.parametrize("mechanism", EVERY)
def test_reservations_are_scheduled_as_rigid_jobs(mechanism: str, seeds: range) -> None:
    counts = [assert_agrees(seed, mechanism) for seed in seeds]
    assert sum(count for count, _ in counts) > len(seeds)


@pytest.mark.slow
@pytest.mark.parametrize("mechanism", EVERY)
def test_reservations_are_scheduled_as_rigid_jobs_in_bulk(mechanism: str) -> None:
    counts = [assert_agrees(seed, mechanism) for seed in range(100, 500)]
    assert mechanism == "baseline" or sum(preempted for _, preempted in counts) > 10


def on_gpu_nodes(jobs: list[Job], nodes: int, mechanism: str, **chosen: Any) -> Result:
    """Jobs on shared nodes of one GPU each, of which each job asks for its nodes."""
    machine = make_machine(
        nodes=[{"names": f"g[1-{nodes}]", "cores": 1, "gpus": 1}], partitions=[{"name": "p", "nodes": "ALL"}]
    )
    requests = tuple(ResourceRequest(nodes=job.nodes, gpus={"gpu": 1}) for job in jobs)
    return simulate(
        jobs, nodes, mechanism, events=False, on_machine=MachineWorkload(machine, requests, "pack"), **chosen
    )


@pytest.mark.parametrize("seeds", in_parts(range(10), 4))
@pytest.mark.parametrize("mechanism", EVERY)
def test_nodes_of_one_gpu_equal_one_pool(mechanism: str, seeds: range) -> None:
    for seed in seeds:
        mix = random_mix(seed, max_jobs=14, types=ONLY_RIGID) if mechanism == "baseline" else random_mix(seed)
        order = ("fcfs", "sjf")[seed % 2]
        chosen: dict[str, Any] = {"order": order, "checkpoint_variation": (0.0, 0.3)[seed % 2], "plans": mix.plans}
        result, pool = (
            on_gpu_nodes(mix.jobs, mix.nodes, mechanism, **chosen),
            simulate(mix.jobs, mix.nodes, mechanism, **chosen),
        )
        assert courses(result) == courses(pool), seed
        assert result.accounting == pool.accounting
        assert parse_mechanism(mechanism) is None or result.mechanism == mechanism


def test_a_stochastic_job_on_gpus_is_preempted_and_begins_its_reservation_again() -> None:
    # Reservations of 20 s and 40 s, without checkpoints; the first starts again when job 2 has left the GPU.
    jobs = [stochastic(1, 0, 1, 30, "p"), on_demand(2, 10, 1, 5)]
    result = on_gpu_nodes(jobs, 1, "N-PAA", plans={"p": ReservationPlan([20, 40], False)})
    assert [(item.start / SECOND, item.end / SECOND, item.ending) for item in courses(result)[1]] == [
        (0, 10, "preempted"), (15, 35, "expired"), (35, 65, "completed"),
    ]  # fmt: skip
    replayed = result.on_machine
    assert replayed is not None
    assert [run.ending for _, run in replayed.past if run.ending.startswith("its")] == [
        "its reservation was over (expired)"
    ]


def test_a_request_above_the_longest_walltime_of_a_partition_is_refused() -> None:
    machine = make_machine(
        nodes=[{"names": "g1", "cores": 1}], partitions=[{"name": "p", "nodes": "g1", "max_time": "30s"}]
    )
    workload = MachineWorkload(machine, (ResourceRequest(nodes=1),), "pack")
    job = stochastic(1, 0, 1, 30, "p", walltime=30)
    with pytest.raises(
        InputError, match="job 1 must ask for at most 30s, the longest walltime of partition p, and its"
    ):
        simulate([job], 1, plans={"p": ReservationPlan([20, 40], False)}, on_machine=workload)
