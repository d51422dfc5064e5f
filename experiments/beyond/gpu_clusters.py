"""GPU clusters as machines of two partitions: whole servers, and single GPUs for the jobs that need less than a server.

Mechanisms work in partitions of whole nodes. A job of eight GPUs or more gets whole servers of eight GPUs. Smaller jobs
share servers, so that their unit is a GPU: in their partition each node has one GPU. Both sizes then fit, and no job
takes GPUs that it did not ask for, except to fill its last server. Not modelled are the placement of small jobs on
servers, and that large and small jobs may use the same servers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from holdfast.simulator.results.result import Result
from holdfast.workloads.ground.errors import InputError, ParameterError
from holdfast.workloads.ground.random_streams import stream
from holdfast.workloads.logs.trace import Trace, TraceJob
from holdfast.workloads.machines.machine import Machine
from holdfast.workloads.machines.machine_file import make_machine
from holdfast.workloads.machines.machine_workload import MachineWorkload
from holdfast.workloads.machines.request import ResourceRequest
from holdfast.workloads.requests.log_requests import read_requests

__all__ = ["SERVER", "GpuCluster", "GpuJob", "build_cluster", "generate_gpu_jobs", "gpu_hours", "read_gpu_jobs"]

#: GPUs of a server.
SERVER = 8
_SERVERS, _GPUS = "servers", "gpus"
_DAY = 86400.0
#: Limits that users choose from [h], because logs of GPU clusters record no walltimes.
_LIMITS = (1, 4, 12, 24, 72, 168, 336, 720, 2160)

#: Requested GPUs of the users of a generated cluster, their probabilities, and the median of the runtimes [s]. The
#: shape is that of published clusters (Jeon et al., ATC 2019; Hu et al., SC 2021): most jobs use one GPU for minutes,
#: and few large and long ones take most of the GPU time.
_SIZES = (1, 2, 4, 8, 16, 32, 64)
_SHARES = (0.58, 0.08, 0.10, 0.15, 0.05, 0.03, 0.01)
_MEDIANS = (300.0, 300.0, 600.0, 900.0, 1200.0, 1800.0, 1800.0)
#: Spread of log(runtime), and the longest runtime [s].
_SPREAD, _LONGEST = 2.2, 14 * _DAY
#: Number of users, jobs submitted together on average, and share of a user's jobs that have the user's own size.
_USERS, _BATCH, _FAITHFUL = 100, 3.0, 0.7


class GpuJob(NamedTuple):
    """A job of a GPU cluster; times in seconds."""

    job_id: int
    submit: float
    gpus: int
    runtime: float
    user: str


class GpuCluster(NamedTuple):
    """A trace with sizes in nodes of the partition of each job, and the machine with the requests of the jobs."""

    trace: Trace
    workload: MachineWorkload


def read_gpu_jobs(path: str, most: int = 0) -> list[GpuJob]:
    """The jobs of a log that use GPUs, by submit.

    Parameters
    ----------
    path
        A table of a known layout (:mod:`holdfast.workloads.logs.request_layouts`).
    most
        Number of jobs taken from the beginning; 0: all.

    Raises
    ------
    InputError
        If the log cannot be read, or no job uses a GPU.
    """
    jobs = [
        GpuJob(number, job.submit, gpus, job.runtime, job.user)
        for number, job in enumerate(read_requests(path).jobs, 1)
        if (gpus := (job.request.nodes or 1) * sum(job.request.gpus.values()))
    ]
    if not jobs:
        raise InputError(f"{path}: no job requests a GPU")
    jobs.sort(key=lambda job: (job.submit, job.job_id))
    return jobs[:most] if most else jobs


def generate_gpu_jobs(count: int, days: float, seed: int) -> list[GpuJob]:
    """Jobs of a generated GPU cluster, by submit.

    Parameters
    ----------
    count
        Number of jobs.
    days
        Time from the first submit to the last, about.
    seed
        Seed of the random choices, >= 0.

    Raises
    ------
    ParameterError
        If there are no jobs.
    """
    if count < 1:
        raise ParameterError("jobs", "at least 1", count)
    draws = {name: stream(seed, "gpu-cluster", name) for name in ("users", "batches", "sizes", "times", "runtimes")}
    sizes = draws["users"].choice(len(_SIZES), _USERS, p=_SHARES)
    activity = draws["users"].lognormal(0.0, 1.0, _USERS)
    lengths = draws["batches"].geometric(1.0 / _BATCH, count)
    lengths = lengths[: int(np.searchsorted(np.cumsum(lengths), count)) + 1]
    users = draws["batches"].choice(_USERS, len(lengths), p=activity / activity.sum())
    own = draws["sizes"].random(len(lengths)) < _FAITHFUL
    kinds = np.where(own, sizes[users], draws["sizes"].choice(len(_SIZES), len(lengths), p=_SHARES))
    # More is submitted by day than at night.
    starts = draws["times"].random((len(lengths), 8)) * days
    by_day = 0.5 + 0.5 * np.sin(2.0 * np.pi * starts)
    taken = np.argmax(draws["times"].random(starts.shape) < 0.2 + 0.8 * by_day, axis=1)
    first = starts[np.arange(len(lengths)), taken] * _DAY
    batch = np.repeat(np.arange(len(lengths)), lengths)[:count]
    steps = draws["times"].exponential(60.0, count)
    submits = first[batch] + np.cumsum(steps) - np.cumsum(steps)[np.searchsorted(batch, batch)]
    medians = np.array(_MEDIANS)[kinds[batch]]
    runtimes = np.clip(medians * np.exp(_SPREAD * draws["runtimes"].standard_normal(count)), 1.0, _LONGEST)
    order = np.argsort(submits, kind="stable")
    rows = zip(submits[order], kinds[batch][order], runtimes[order], users[batch][order], strict=True)
    return [
        GpuJob(number, round(float(submit), 6), _SIZES[kind], round(float(runtime), 6), f"user{user}")
        for number, (submit, kind, runtime, user) in enumerate(rows, 1)
    ]


def build_cluster(jobs: Sequence[GpuJob], scarce: float, *, shared: bool = False) -> GpuCluster:
    """A cluster for jobs. Its size follows from them, because the logs do not record it.

    Parameters
    ----------
    jobs
        The jobs, by submit.
    scarce
        Share of the time from the first submit to the last in which the jobs of a partition would use more than it has,
        if each started at its submit. A partition has at least what its largest job needs.
    shared
        Whether all jobs share one pool of single GPUs; a job then may get GPUs of any servers.

    Raises
    ------
    ParameterError
        If the share is not legal, or all jobs are submitted at once.
    """
    if not 0.0 <= scarce < 1.0:
        raise ParameterError("scarce", "at least 0 and below 1", scarce)
    if len({job.submit for job in jobs}) < 2:
        raise ParameterError("jobs", "at least two, submitted at different times", len(jobs))
    units = [(1, _GPUS) if shared or job.gpus < SERVER else (SERVER, _SERVERS) for job in jobs]
    sizes = [-(-job.gpus // unit) for job, (unit, _) in zip(jobs, units, strict=True)]
    nodes, partitions, largest = [], [], 0
    for unit, name in sorted(set(units), reverse=True):
        own = [
            (job.submit, job.runtime, size)
            for job, size, used in zip(jobs, sizes, units, strict=True)
            if used == (unit, name)
        ]
        count = _enough(own, scarce, jobs[-1].submit)
        names = f"{name[0]}[1-{count}]"
        nodes.append({"names": names, "cores": 1, "gpus": unit})
        partitions.append({"name": name, "nodes": names, "exclusive": True})
        # The partition of servers limits on-demand jobs: small jobs are no large part of theirs.
        largest = largest or count
    rows = [
        TraceJob(job.job_id, job.submit, size, job.runtime, _walltime(job.runtime), user=job.user, partition=name)
        for job, size, (_, name) in zip(jobs, sizes, units, strict=True)
    ]
    requests = tuple(ResourceRequest(nodes=row.nodes, partitions=(row.partition,)) for row in rows)
    machine = make_machine(nodes=nodes, partitions=partitions)
    trace = Trace(rows, source="a GPU cluster", format="columns", nodes=largest, unit="nodes")
    return GpuCluster(trace, MachineWorkload(machine, requests))


def _enough(jobs: Sequence[tuple[float, float, int]], scarce: float, last: float) -> int:
    """Nodes that jobs (submit, runtime, size) exceed for a share of the time until the last submit."""
    submits, runtimes, sizes = map(np.array, zip(*jobs, strict=True))
    times = np.concatenate([submits, submits + runtimes])
    order = np.argsort(times, kind="stable")
    used = np.cumsum(np.concatenate([sizes, -sizes])[order])
    times = np.minimum(times[order], last)
    lasting = np.diff(times, append=last)
    by_use = np.argsort(used, kind="stable")
    place = int(np.searchsorted(np.cumsum(lasting[by_use]), (1.0 - scarce) * lasting.sum()))
    return max(int(used[by_use][min(place, len(used) - 1)]), int(sizes.max()))


def _walltime(runtime: float) -> float:
    """The smallest limit that is long enough [s]."""
    return next((limit * 3600.0 for limit in _LIMITS if limit * 3600.0 >= runtime), runtime)


def gpu_hours(result: Result, machine: Machine) -> dict[str, float]:
    """GPU-hours of a simulation: ``used``, ``lost`` of these (with warnings), and ``held`` idle for on-demand jobs.

    Parameters
    ----------
    result
        Of a simulation of a :class:`GpuCluster` with a mechanism.
    machine
        The machine of the cluster.
    """
    total = {"used": 0.0, "lost": 0.0, "held": 0.0}
    for name, pool in result.pools.items():
        account = pool.accounting
        gpus = machine.total("gpus", machine.partition(name).nodes) / pool.nodes
        lost = account.lost + account.warning
        for state, ticks in (
            ("used", account.compute + account.setup + account.checkpoint + lost),
            ("lost", lost),
            ("held", account.held),
        ):
            total[state] += gpus * ticks / 3600e6
    return total
