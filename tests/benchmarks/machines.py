"""What replays on machines with partitions, shared nodes and GPUs cost: whole processes, reading included.

Run ``python -m tests.benchmarks.machines [--cases NAME ...]``. Each figure is the processor time of a process of its
own; the first run on a machine compiles the loop, which takes about 20 s, and is not counted. Logs are looked for as
those of the tests are.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from time import process_time

from holdfast.simulator import simulate
from holdfast.simulator.resources.machine_jobs import MachineJob
from holdfast.simulator.resources.machine_replay import MachineReplay, replay_on_machine
from holdfast.workloads.hybrid.assignment import as_rigid
from holdfast.workloads.machines.machine import Machine
from holdfast.workloads.machines.machine_file import make_machine
from holdfast.workloads.machines.machine_workload import MachineWorkload
from holdfast.workloads.machines.request import ResourceRequest
from holdfast.workloads.machines.sources import machine_from_files
from holdfast.workloads.requests.log_requests import LogRequests, read_requests
from holdfast.workloads.requests.machine_estimate import estimated_machine
from holdfast.workloads.theta.generator import generate
from holdfast.workloads.theta.year import ThetaYear
from tests.shared_data import shared_file

__all__ = ["CASES", "main"]


def _wagap() -> tuple[Machine, LogRequests]:
    machine = machine_from_files([shared_file("traces", "wagap-2013.swf.machines")]).machine
    return machine, read_requests(shared_file("traces", "wagap-2013.swf.gz"))


def _metacentrum() -> tuple[Machine, LogRequests]:
    log = read_requests(shared_file("traces", "METACENTRUM-2009-2.swf.gz"))
    return estimated_machine(log).machine, log


def _gpus() -> tuple[Machine, LogRequests]:
    log = read_requests(shared_file("gpu", "helios_data_training.csv"))
    # The sample is of a larger machine: ten times as fast, its jobs queue on 1,024 GPUs.
    jobs = tuple(job._replace(submit=job.submit / 10) for job in log.jobs[:10_000])
    machine = make_machine(nodes=[{"names": "g[1-128]", "cores": 64, "gpus": 8}])
    return machine, LogRequests(jobs, log.remarks, log.title, log.excluded)


#: Machine and jobs, and the most that a process may take by the specification [s].
CASES: dict[str, tuple[Callable[[], tuple[Machine, LogRequests]], float]] = {
    "wagap-2013": (_wagap, 10),
    "METACENTRUM-2009": (_metacentrum, 60),
    "10,000 GPU jobs": (_gpus, 10),
}


def _replay_loop(name: str) -> MachineReplay:
    machine, log = CASES[name][0]()
    jobs = [MachineJob(job.job_id, job.submit, job.walltime, job.runtime, job.request, job.user) for job in log.jobs]
    return replay_on_machine(machine, jobs)


def pools_over_one_pool(count: int = 20_000, pools: int = 4, repeat: int = 3) -> float:
    """Cost of a simulation on pools with named nodes, over that of one pool of as many nodes by the event engine."""
    trace = generate(ThetaYear(jobs=count))
    size = (trace.nodes or 0) // pools
    jobs = [replace(job, nodes=min(job.nodes, size)) for job in as_rigid(trace)]
    names = [f"p{number}" for number in range(pools)]
    machine = make_machine(
        nodes=[{"names": f"{name}-[1-{size}]", "cores": 1} for name in names],
        partitions=[{"name": name, "nodes": f"{name}-[1-{size}]", "exclusive": True} for name in names],
    )
    requests = tuple(
        ResourceRequest(nodes=job.nodes, partitions=(names[number % pools],)) for number, job in enumerate(jobs)
    )
    costs: dict[bool, list[float]] = {False: [], True: []}
    for _ in range(repeat + 1):
        for on_machine in (False, True):
            workload = MachineWorkload(machine, requests) if on_machine else None
            began = process_time()
            simulate(jobs, size * pools, events=False, on_machine=workload, engine="auto" if on_machine else "simpy")
            costs[on_machine].append(process_time() - began)
    # The first run on a machine compiles the loop.
    return min(costs[True][1:]) / min(costs[False][1:])


def main(words: Sequence[str] | None = None) -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", nargs="+", default=list(CASES), choices=list(CASES))
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--only", help=argparse.SUPPRESS)
    arguments = parser.parse_args(words)
    if arguments.only:
        replay = _replay_loop(arguments.only)
        print(sum(place is not None for place in replay.starts))
        return
    for name in arguments.cases:
        command = [sys.executable, "-m", "tests.benchmarks.machines", "--only", name]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        costs = []
        for _ in range(arguments.repeat):
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            costs.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
        print(f"{name}: {min(costs):.1f} s of processor time (at most {CASES[name][1]:g})")
    print(f"20,000 jobs on four pools over one pool: {pools_over_one_pool():.2f} (at most 1.3)")


if __name__ == "__main__":
    main()
