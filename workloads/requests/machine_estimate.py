"""An estimated machine, large enough for the concurrent jobs of a log that has no machine description."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from holdfast.workloads.ground.errors import InputError
from holdfast.workloads.machines.amounts import ANY_GPU
from holdfast.workloads.machines.host_list import MOST_NODES, expand
from holdfast.workloads.machines.machine import Machine, NodeKind, Partition
from holdfast.workloads.machines.sources import FoundMachine
from holdfast.workloads.requests.log_requests import LogRequests, RecordedJob

__all__ = ["estimated_machine"]

_DEFAULT = "all"


def estimated_machine(log: LogRequests) -> FoundMachine:
    """The machine of a log, from the largest concurrent use of each of its partitions.

    Parameters
    ----------
    log
        Jobs with recorded starts; others are skipped.

    Returns
    -------
    FoundMachine
        Marked as an estimate. A partition with jobs that request nodes has equal nodes, each as large as the largest
        request, and as many as the cores and GPUs in use at once fill. Where jobs ask for processors alone the log
        does not show the nodes: the partition is one node with all of them, on which nothing is ever stranded.

    Raises
    ------
    InputError
        If no start is recorded.
    """
    groups: dict[str, list[RecordedJob]] = {}
    for job in log.jobs:
        if job.start is not None:
            for name in job.request.partitions[:1] or (_DEFAULT,):
                groups.setdefault(name, []).append(job)
    if not groups:
        raise InputError(f"{log.title}: no start is recorded, so that nothing shows how large the machine was")
    kinds, partitions, counted = [], [], []
    largest = max(groups, key=lambda name: len(groups[name]))
    for name, jobs in sorted(groups.items()):
        # A name that ends with a number would run into that of the node.
        prefix = name if name[-1:].isalpha() else f"{name}n" if name[:1].isalpha() else f"p{name}n"
        kind, by_nodes = _kind(jobs, prefix)
        if not by_nodes:
            counted.append(name)
        kinds.append(kind)
        partitions.append(Partition(name, kind.names, default=name == largest))
    remarks = ["nodes are as large as the largest request, and as many as were in use at once"]
    if counted:
        which = f"{len(counted):,} of {len(groups):,} partitions ask"
        remarks = [f"{which} for processors alone: each is one node with all that were in use at once"]
    machine = Machine(tuple(kinds), tuple(partitions), origin=log.title, estimated=True)
    return FoundMachine(machine, remarks)


def _kind(jobs: Sequence[RecordedJob], prefix: str) -> tuple[NodeKind, bool]:
    """Nodes for these jobs, and whether they ask for nodes."""
    requests = [job.request for job in jobs]
    alone = [
        request.tasks is not None and request.nodes is None and request.tasks_per_node is None for request in requests
    ]
    cores = np.array([(request.tasks or request.nodes or 1) * request.cores for request in requests], np.int64)
    used = _most_at_once(jobs, cores)
    if all(alone):
        return NodeKind((f"{prefix}1",), used), False
    each = max(
        request.cores * (request.tasks_per_node or 1)
        for request, single in zip(requests, alone, strict=True)
        if not single
    )
    kinds = sorted({kind for request in requests for kind in request.gpus})
    gpus = {kind: max(request.gpus.get(kind, 0) for request in requests) for kind in kinds}
    if len(kinds) > 1:
        gpus = {ANY_GPU: max(sum(request.gpus.values()) for request in requests)}
    nodes = [-(-used // each), max(request.nodes or 1 for request in requests)]
    if gpus:
        asked = np.array([(r.nodes or 1) * sum(r.gpus.values()) for r in requests], np.int64)
        nodes.append(-(-_most_at_once(jobs, asked) // max(gpus.values())))
    count = max(nodes)
    if count > MOST_NODES:
        raise InputError(
            f"partition {prefix}: its jobs held {count:,} nodes at once, and a machine has at most {MOST_NODES:,}"
        )
    return NodeKind(expand(f"{prefix}[1-{count}]"), each, gpus=gpus), True


def _most_at_once(jobs: Sequence[RecordedJob], amounts: np.ndarray) -> int:
    """The largest sum of amounts in use at once; what ends at an instant makes room for what starts then."""
    starts = np.array([job.start for job in jobs])
    ends = starts + np.array([job.runtime for job in jobs])
    times, change = np.concatenate((starts, ends)), np.concatenate((amounts, -amounts))
    return max(int(np.cumsum(change[np.lexsort((change, times))]).max()), int(amounts.max()))
