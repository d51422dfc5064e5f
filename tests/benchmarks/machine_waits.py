"""Mean waits of real logs: recorded, on one pool of processors, and on a machine with partitions and nodes.

Run ``python -m tests.benchmarks.machine_waits [--cases NAME ...]``; it prints the table of docs/reference/machines.md.
The pool has all processors and GPUs of the machine, on one node. Logs are looked for as those of the tests are.

The samples of Helios and Philly record neither starts nor a machine: servers of eight GPUs serve the jobs with GPUs,
and these would use more than there are for 5 % of the time until the last submit, if none waited.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from functools import partial

from holdfast.experiments.beyond.gpu_clusters import SERVER, build_cluster, read_gpu_jobs
from holdfast.simulator.resources.machine_jobs import MachineJob
from holdfast.simulator.resources.machine_replay import MachineReplay, replay_on_machine
from holdfast.workloads.ground.units import SECOND
from holdfast.workloads.machines.machine import Machine
from holdfast.workloads.machines.machine_file import make_machine
from holdfast.workloads.machines.request import ResourceRequest
from holdfast.workloads.requests.log_requests import LogRequests, read_requests
from tests.benchmarks.machines import CASES
from tests.shared_data import shared_file

__all__ = ["main", "mean_wait", "on_one_pool"]


def _gpu_sample(name: str) -> tuple[Machine, LogRequests]:
    path = shared_file("gpu", f"{name}_data_training.csv")
    log = read_requests(path)
    jobs = tuple(job for job in log.jobs if job.request.gpus)
    pool = build_cluster(read_gpu_jobs(str(path)), 0.05, shared=True).workload.machine
    servers = -(-pool.size // SERVER)
    machine = make_machine(nodes=[{"names": f"s[1-{servers}]", "cores": 1000, "gpus": SERVER}])
    return machine, LogRequests(jobs, log.remarks, log.title, log.excluded)


_LOGS: dict[str, Callable[[], tuple[Machine, LogRequests]]] = {
    **{name: CASES[name][0] for name in ("METACENTRUM-2009", "wagap-2013")},
    "Helios sample": partial(_gpu_sample, "helios"),
    "Philly sample": partial(_gpu_sample, "philly"),
}


def on_one_pool(machine: Machine, log: LogRequests) -> tuple[Machine, LogRequests]:
    """The same log on one node that has everything; what a pool does not model is left out of the requests."""
    gpus = machine.total("gpus")
    pool = make_machine(nodes=[{"names": "pool", "cores": machine.total("cores"), **({"gpus": gpus} if gpus else {})}])
    jobs = []
    for job in log.jobs:
        asked = job.request
        if asked.gpus:
            count = (asked.nodes or 1) * sum(asked.gpus.values())
            jobs.append(job._replace(request=ResourceRequest(gpus={"gpu": count}, begin=asked.begin)))
            continue
        tasks = asked.tasks or asked.tasks_per_node or 1
        if asked.tasks is None:
            tasks *= asked.nodes or 1
        jobs.append(job._replace(request=ResourceRequest(tasks=tasks, cores=asked.cores, begin=asked.begin)))
    return pool, LogRequests(tuple(jobs), log.remarks, log.title, log.excluded)


def mean_wait(machine: Machine, log: LogRequests) -> tuple[LogRequests, float]:
    """The jobs that start, and their mean wait [h]."""
    jobs = [MachineJob(job.job_id, job.submit, job.walltime, job.runtime, job.request, job.user) for job in log.jobs]
    replay: MachineReplay = replay_on_machine(machine, jobs)
    waits = [
        place.start - queued for place, queued in zip(replay.starts, replay.queued, strict=True) if place is not None
    ]
    started = tuple(job for job, place in zip(log.jobs, replay.starts, strict=True) if place is not None)
    return LogRequests(started, log.remarks, log.title, log.excluded), sum(waits) / len(waits) / SECOND / 3600


def _recorded_mean(log: LogRequests) -> str:
    waits = [job.wait for job in log.trace.jobs if job.wait is not None]
    return f"{sum(waits) / len(waits) / 3600:.2f}" if waits else "-"


def main(words: Sequence[str] | None = None) -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", nargs="+", default=list(_LOGS), choices=list(_LOGS))
    arguments = parser.parse_args(words)
    print("| log | jobs | recorded | one pool | machine |\n|---|---|---|---|---|")
    for name in arguments.cases:
        machine, log = _LOGS[name]()
        started, there = mean_wait(machine, log)
        _, pool = mean_wait(*on_one_pool(machine, started))
        print(
            f"| {name}, {machine.size:,} nodes | {len(started.jobs):,} | {_recorded_mean(log)} | {pool:.2f} "
            f"| {there:.2f} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
