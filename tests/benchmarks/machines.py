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

from holdfast.simulator.resources.machine_jobs import MachineJob
from holdfast.simulator.resources.machine_replay import MachineReplay, replay_on_machine
from holdfast.workloads.machines.machine import Machine
from holdfast.workloads.machines.machine_file import make_machine
from holdfast.workloads.machines.sources import machine_from_files
from holdfast.workloads.requests.estimate import estimated_machine
from holdfast.workloads.requests.log_requests import LogRequests, read_requests
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


if __name__ == "__main__":
    main()
