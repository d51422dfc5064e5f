"""Random logs with requests, for labs with partitions, shared nodes and GPUs.

The stored replays come from ``python -m tests.experiments.slurm.machine_tables MACHINE SEED JOBS LOG``, a lab started
with ``--machine MACHINE``, and ``holdfast slurm replay LOG --machine MACHINE --columns ROLES`` on it; ``ROLES`` is
:data:`ROLES`.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from holdfast.experiments.tables import write_csv
from holdfast.workloads.machines.fitted_requests import NodeTable, UnfitError
from holdfast.workloads.machines.machine import Machine
from holdfast.workloads.machines.machine_file import read_machine
from holdfast.workloads.machines.request import ResourceRequest

__all__ = ["ROLES", "random_machine_log"]

_COLUMNS = (
    *("id", "submit", "runtime", "walltime", "processors", "tasks", "tasks_per_node", "cores", "memory"),
    *("gpus", "features", "partition", "exclusive"),
)
#: What ``--columns`` takes for such a log.
ROLES = ",".join(f"{name}={name}" for name in _COLUMNS)
_LIMITS = (10, 15, 20, 30, 45, 60)
_GAPS = (1, 3, 10, 30)


def random_machine_log(machine: Machine, seed: int, count: int) -> list[dict[str, Any]]:
    """Draw jobs that the machine has room for, with a load well above what it can do."""
    random = np.random.default_rng([seed, 12])
    rows: list[dict[str, Any]] = []
    at = 0.0
    while len(rows) < count:
        minutes = int(random.choice(_LIMITS))
        request = random_request(machine, random)
        try:
            NodeTable.for_requests(machine, [request]).needs(request, 60.0 * minutes)
        except UnfitError:
            continue
        at += float(random.choice(_GAPS))
        memory = "" if request.memory is None else f"{request.memory}M{'c' if request.memory_per_core else ''}"
        rows.append(
            {
                "id": len(rows) + 1,
                "submit": at,
                "runtime": float(round(60 * minutes * random.uniform(0.1, 0.97))),
                "walltime": 60 * minutes,
                "processors": (request.tasks or 1) * request.cores,
                "tasks": request.tasks or "",
                "tasks_per_node": request.tasks_per_node or "",
                "cores": request.cores,
                "memory": memory,
                "gpus": ",".join(f"{kind}:{number}" for kind, number in request.gpus.items()),
                "features": request.features,
                "partition": ",".join(request.partitions),
                "exclusive": "yes" if request.exclusive else "",
            }
        )
    return rows


def random_request(machine: Machine, random: np.random.Generator) -> ResourceRequest:
    """Draw what a job asks for, which the machine may not have room for."""
    names = [partition.name for partition in machine.partitions]
    # Slurm 22.05 gives whole nodes in all partitions of a job once it has tried one that gives whole nodes.
    several = random.random() < 0.15 and not any(partition.exclusive for partition in machine.partitions)
    chosen = random.permutation(names)[: 2 if several else 1]
    each = int(random.choice((1, 2, 4, 4, 8, 8)))
    nodes = int(random.choice((1, 1, 1, 2, 2, 3)))
    request = ResourceRequest(partitions=tuple(map(str, chosen)))
    form = random.random()
    if form < 0.6:
        request = request._replace(tasks=nodes * each, tasks_per_node=each)
    elif form < 0.8:
        request = request._replace(tasks=nodes, tasks_per_node=1, cores=each)
    else:
        request = request._replace(tasks=int(random.choice((1, 3, 6, 10, 14))), cores=int(random.choice((1, 1, 2))))
    kind = random.random()
    if kind < 0.2:
        request = request._replace(memory=int(random.choice((4000, 8000, 20000, 30000))))
    elif kind < 0.3:
        request = request._replace(memory=int(random.choice((1000, 3000, 5000))), memory_per_core=True)
    elif kind < 0.5:
        kinds = sorted({"gpu", *(name for each_kind in machine.kinds for name in each_kind.gpus)})
        shape = {"tasks": int(random.choice((1, 1, 1, 2))), "tasks_per_node": 1, "cores": 2}
        request = ResourceRequest(
            **shape,
            partitions=request.partitions,
            gpus={str(random.choice(kinds)): int(random.choice((1, 1, 1, 2)))},
        )
    elif kind < 0.6:
        features = sorted({feature for each_kind in machine.kinds for feature in each_kind.features})
        request = request._replace(features=str(random.choice(features)))
    return request._replace(exclusive=True) if random.random() < 0.05 else request


if __name__ == "__main__":
    machine, seed, jobs, log = sys.argv[1:]
    write_csv(log, random_machine_log(read_machine(machine), int(seed), int(jobs)), _COLUMNS)
