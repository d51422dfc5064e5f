"""Random machines of shared nodes with job tables that have on-demand, malleable and rigid jobs."""

from __future__ import annotations

from dataclasses import dataclass, replace
from random import Random

from holdfast.workloads.machines.fitted_requests import NodeTable, needs_of_jobs
from holdfast.workloads.machines.machine import Machine
from holdfast.workloads.machines.machine_workload import MachineWorkload, size_on_machine
from holdfast.workloads.machines.request import ResourceRequest
from holdfast.workloads.table.job import Job
from holdfast.workloads.table.jobs import Jobs
from tests.strategies.machines import random_jobs, random_machine
from tests.strategies.tables import HYBRID, random_job_table

__all__ = ["DEPTHS", "SharedCase", "random_shared_case"]

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
    requests = [replace(job.request, begin=None) for job in random_jobs(random, machine, len(table.jobs))]
    nodes = NodeTable.for_requests(machine, requests)
    jobs, kept = [], []
    for job, request in zip(table.jobs, requests, strict=True):
        (options,), _ = needs_of_jobs(nodes, [request], [job.walltime])
        if options is not None:
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
