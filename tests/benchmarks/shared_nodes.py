"""What mechanisms on shared nodes cost, beside the same simulation without a mechanism.

Run ``python -m tests.benchmarks.shared_nodes [--jobs N] [--load X]``. The jobs are those of a generated month of a GPU
cluster; each takes GPUs of servers with eight, and eight cores for each GPU. ``--load`` determines the number of
servers.
"""

from __future__ import annotations

import argparse
import hashlib
from collections.abc import Sequence
from time import process_time
from typing import NamedTuple

from holdfast.experiments.beyond.gpu_clusters import generate_gpu_jobs
from holdfast.policies.mechanism import BASELINE, parse_mechanism
from holdfast.simulator.options import Options
from holdfast.simulator.results.recording import clock_origin
from holdfast.simulator.results.result import Result
from holdfast.simulator.shared_simulation import simulate_shared_nodes
from holdfast.workloads.hybrid.assignment import assign
from holdfast.workloads.logs.trace import Trace, TraceJob
from holdfast.workloads.machines.machine_file import make_machine
from holdfast.workloads.machines.machine_workload import MachineWorkload, machine_size
from holdfast.workloads.machines.request import ResourceRequest
from holdfast.workloads.table.jobs import Jobs
from tests.benchmarks.figures import print_figure

__all__ = ["gpu_month", "main"]

_SERVER, _CORES = 8, 8
#: Jobs of a month, and its length [days].
_JOBS, _DAYS = 12_000, 28.0
_MECHANISMS = (BASELINE, "N-PAA", "N-SPAA", "CUA-PAA", "CUA-SPAA", "CUP-PAA", "CUP-SPAA")


class Month(NamedTuple):
    """A job table with its machine."""

    table: Jobs
    workload: MachineWorkload


def gpu_month(jobs: int = _JOBS, load: float = 0.9, seed: int = 0) -> Month:
    """A generated month, or as many ``jobs`` of it, on servers which they load so much."""
    drawn = generate_gpu_jobs(jobs, _DAYS * jobs / _JOBS, seed)
    used = sum(job.gpus * job.runtime for job in drawn)
    length = drawn[-1].submit - drawn[0].submit
    servers = max(round(used / (load * length * _SERVER)), -(-max(job.gpus for job in drawn) // _SERVER))
    machine = make_machine(nodes=[{"names": f"s[1-{servers}]", "cores": _SERVER * _CORES, "gpus": _SERVER}])
    rows = [
        TraceJob(job.job_id, job.submit, job.gpus * _CORES, job.runtime, 2 * job.runtime, user=job.user)
        for job in drawn
    ]
    requests = tuple(_request(job.gpus) for job in drawn)
    workload = MachineWorkload(machine, requests)
    trace = Trace(rows, source="a GPU cluster", format="columns", nodes=machine_size(machine), unit="cores")
    return Month(Jobs.of(assign(trace, seed=seed, group_by="user", notice_mix="W5")), workload)


def _request(gpus: int) -> ResourceRequest:
    if gpus < _SERVER:
        return ResourceRequest(cores=gpus * _CORES, gpus={"gpu": gpus})
    return ResourceRequest(nodes=-(-gpus // _SERVER), cores=_SERVER * _CORES, gpus={"gpu": _SERVER})


def _digest(result: Result) -> str:
    outcomes = repr([(record.start, record.end, record.preemptions, record.lost) for record in result.records])
    return hashlib.sha256(outcomes.encode()).hexdigest()[:12]


def main(words: Sequence[str] | None = None) -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jobs", type=int, default=3000)
    parser.add_argument("--load", type=float, default=0.9)
    parser.add_argument("--mechanisms", nargs="+", default=list(_MECHANISMS), choices=_MECHANISMS)
    arguments = parser.parse_args(words)
    table, workload = gpu_month(arguments.jobs, arguments.load)
    print(f"{len(table):,} jobs on {workload.machine.size:,} servers of {_SERVER} GPUs")
    seconds: dict[str, float] = {}
    for name in arguments.mechanisms:
        began = process_time()
        result = simulate_shared_nodes(table, workload, parse_mechanism(name), Options(), clock_origin(table))
        seconds[name] = process_time() - began
        longest = max(sample[3] for sample in result.samples)
        print(f"{name:<10}{seconds[name]:8.2f} s  longest queue {longest:6,}  outcomes {_digest(result)}", flush=True)
    if BASELINE in seconds:
        for name in seconds.keys() - {BASELINE}:
            print_figure(f"shared nodes, {name} over the baseline", seconds[name] / seconds[BASELINE], "x")


if __name__ == "__main__":
    main()
