"""Random machines of shared nodes with job tables that have on-demand, malleable and rigid jobs."""

from __future__ import annotations

from dataclasses import dataclass, replace
from random import Random

from holdfast.workloads.machines.fitted_requests import NodeTable, needs_of_jobs
from holdfast.workloads.machines.machine import Machine
from holdfast.workloads.machines.machine_workload import MachineWorkload, machine_size, size_on_machine
from holdfast.workloads.machines.request import ResourceRequest
from holdfast.workloads.table.job import Job
from holdfast.workloads.table.jobs import Jobs
from tests.strategies.machines import random_jobs, random_machine
from tests.strategies.tables import HYBRID, Table, busy_job_table, random_job_table

__all__ = [
    "DEPTHS",
    "SharedCase",
    "random_shared_case",
    "running_job_table",
    "with_limits",
    "with_running_jobs",
    "with_shared_lives",
]

#: Requests that are drawn for a job until one fits the machine.
_DRAWS = 8

#: Reservations of waiting jobs, by backfilling rule; None: all.
DEPTHS = {"easy": 1, "conservative": None, "none": 0, "easy depth=2": 2}


@dataclass(frozen=True)
class SharedCase:
    """A machine, jobs with sizes in its unit, their requests, and how it is operated."""

    machine: Machine
    jobs: list[Job]
    requests: list[ResourceRequest]
    placement: str
    backfilling: str
    tenants: str

    @property
    def table(self) -> Jobs:
        return Jobs.of(self.jobs)

    @property
    def workload(self) -> MachineWorkload:
        return MachineWorkload(self.machine, tuple(self.requests), self.placement)


def with_limits(case: SharedCase, seed: int) -> SharedCase:
    """The case with limits for QOS, accounts, users and partitions."""
    random = Random(seed)
    limits = random_machine(random).limits or random_machine(random).limits
    known = {partition.name for partition in case.machine.partitions}
    kept = tuple(limit for limit in limits if limit.scope != "partition" or limit.name in known)
    jobs = [replace(job, user=random.choice("uvw")) for job in case.jobs]
    return replace(case, machine=replace(case.machine, limits=kept), jobs=jobs)


def with_shared_lives(case: SharedCase, seed: int) -> SharedCase:
    """The case with jobs that are cancelled, held, or depend on an earlier one."""
    random = Random(seed)
    jobs: list[Job] = []
    for job in case.jobs:
        since = job.submit if job.submit is not None else job.notice
        if since is not None and random.random() < 0.3:
            job = replace(job, cancelled_at=since + random.choice((0, 30, 300, 1800)))
        earlier = [other.job_id for other in jobs if other.submit is not None]
        if job.submit is not None and job.notice is None and earlier and random.random() < 0.3:
            job = replace(job, preceding=random.choice(earlier), think_time=random.choice((None, 0.0, 60.0)))
        if job.submit is not None and job.notice is None and random.random() < 0.2:
            job = replace(job, eligible=job.submit + random.choice((0, 100)))
        jobs.append(job)
    return replace(case, jobs=jobs)


def with_running_jobs(case: SharedCase, seed: int) -> SharedCase:
    """The case from a submit on, at which earlier jobs run already; the others wait. Some may have no room."""
    return replace(case, jobs=running_already(case.jobs, seed, 2 * machine_size(case.machine) // 3))


def running_job_table(seed: int) -> Table:
    """A table of one pool from a submit on, at which earlier jobs run already."""
    table = busy_job_table(seed)
    return table._replace(jobs=running_already(table.jobs, seed, table.nodes))


def running_already(jobs: list[Job], seed: int, most: int) -> list[Job]:
    """The jobs from a submit on, at which earlier jobs run already, of at most ``most`` nodes or cores together."""
    random = Random(seed)
    submits = sorted(job.submit for job in jobs if job.submit is not None)
    begin = submits[len(submits) // 2] if submits else 0.0
    found, last = [], None
    for job in jobs:
        runtime = min(job.runtime, job.trace_runtime or job.runtime)
        early = job.submit is not None and job.submit <= begin
        alone = job.notice is None and job.preceding is None and job.eligible is None
        if early and alone and random.random() < 0.6 and job.nodes <= most:
            assert job.submit is not None
            most -= job.nodes
            since = max(job.submit, begin - random.choice((0.0, 0.25, 0.5, 0.75)) * runtime)
            job, last = replace(job, running_since=since), since if last is None else max(since, last)
        found.append(job)
    if last is None:
        return jobs
    return [
        job if job.cancelled_at is None else replace(job, cancelled_at=max(job.cancelled_at, begin)) for job in found
    ]


def random_shared_case(seed: int, *, most_jobs: int = 14) -> SharedCase:
    """A case from a seed: overlapping partitions, tiers, GPUs, memory, features, all shapes of requests."""
    random = Random(seed)
    drawn = random_machine(random)
    exclusive = all(partition.exclusive for partition in drawn.partitions) and random.random() < 0.5
    partitions = tuple(
        replace(partition, max_time=None, exclusive=partition.exclusive and not exclusive)
        for partition in drawn.partitions
    )
    machine = replace(drawn, limits=(), partitions=partitions)
    table = random_job_table(seed, max_jobs=most_jobs, max_nodes=9, types=HYBRID)
    drawn_requests = [
        [job.request._replace(begin=None) for job in random_jobs(random, machine, _DRAWS)] for _ in table.jobs
    ]
    nodes = NodeTable.for_requests(machine, [request for requests in drawn_requests for request in requests])
    jobs, kept = [], []
    for job, requests in zip(table.jobs, drawn_requests, strict=True):
        fitting, _ = needs_of_jobs(nodes, requests, [job.walltime] * _DRAWS)
        found = next((found for found in zip(requests, fitting, strict=True) if found[1] is not None), None)
        if found is not None:
            request, options = found
            assert options is not None
            size = size_on_machine(nodes, options[0])
            jobs.append(replace(job, nodes=size, min_nodes=None if job.min_nodes is None else random.randint(1, size)))
            kept.append(request)
    return SharedCase(
        machine,
        jobs,
        kept,
        random.choice(["pack", "pack", "spread"]),
        random.choice(["easy", "easy", "easy", *DEPTHS]),
        random.choice(["any", "any", "fits", "none"]),
    )
