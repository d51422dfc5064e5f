"""Resource requests as options of sbatch, and as columns of the table of a replay."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from holdfast.workloads.machines.amounts import ANY_GPU, gres_gpus
from holdfast.workloads.machines.request import ResourceRequest

__all__ = ["REQUEST_COLUMNS", "request_columns", "request_of_columns", "sbatch_options"]

#: Columns of a request; memory [MiB] and GPUs are those of a node, cores those of a task.
REQUEST_COLUMNS = (
    *("tasks", "tasks_per_node", "cores", "memory_mb", "memory_per_core_mb"),
    *("gpus", "features", "partition", "exclusive"),
)


def sbatch_options(request: ResourceRequest) -> list[str]:
    """Options of sbatch for a request; ``begin`` is none of them, since it decides when the job is submitted.

    Examples
    --------
    >>> sbatch_options(ResourceRequest(nodes=2, cores=4, gpus={"v100": 1}, partitions=("work", "long")))
    ['--nodes=2', '--ntasks-per-node=1', '--cpus-per-task=4', '--gres=gpu:v100:1', '--partition=work,long']
    """
    tasks, per_node = _tasks(request)
    words = []
    if request.tasks is None:
        words += [f"--nodes={-(-tasks // (per_node or 1))}"]
    else:
        words += [f"--ntasks={tasks}"]
    words += [] if per_node is None else [f"--ntasks-per-node={per_node}"]
    words += [] if request.cores == 1 else [f"--cpus-per-task={request.cores}"]
    if request.memory is not None:
        words += [f"--{'mem-per-cpu' if request.memory_per_core else 'mem'}={request.memory}M"]
    if request.gpus:
        kinds = [f"gpu:{count}" if kind == ANY_GPU else f"gpu:{kind}:{count}" for kind, count in request.gpus.items()]
        words += [f"--gres={','.join(kinds)}"]
    words += [f"--constraint={request.features}"] if request.features else []
    words += [f"--partition={','.join(request.partitions)}"] if request.partitions else []
    return [*words, "--exclusive"] if request.exclusive else words


def request_columns(request: ResourceRequest) -> dict[str, Any]:
    """Values of :data:`REQUEST_COLUMNS`; empty: not requested."""
    tasks, per_node = _tasks(request)
    kinds = [str(count) if kind == ANY_GPU else f"{kind}:{count}" for kind, count in request.gpus.items()]
    return {
        "tasks": tasks,
        "tasks_per_node": "" if per_node is None else per_node,
        "cores": request.cores,
        "memory_mb": "" if request.memory_per_core else request.memory or "",
        "memory_per_core_mb": request.memory or "" if request.memory_per_core else "",
        "gpus": ",".join(kinds),
        "features": request.features,
        "partition": ",".join(request.partitions),
        "exclusive": "yes" if request.exclusive else "",
    }


def request_of_columns(row: Mapping[str, Any]) -> ResourceRequest:
    """The request of a row with :data:`REQUEST_COLUMNS`, of which all but ``tasks`` may be missing or empty.

    Raises
    ------
    ValueError
        If a value is illegal; the text is a sentence about it.
    """
    gpus = row.get("gpus") or 0
    if isinstance(gpus, str):
        gpus = gres_gpus(",".join(f"gpu:{word}" for word in gpus.split(",")))
    else:
        gpus = {ANY_GPU: _whole(row, "gpus")} if gpus else {}
    each, per_core = _whole(row, "memory_mb"), _whole(row, "memory_per_core_mb")
    if each and per_core:
        raise ValueError("a job must have memory_mb or memory_per_core_mb, not both")
    return ResourceRequest(
        tasks=_whole(row, "tasks", least=1),
        tasks_per_node=_whole(row, "tasks_per_node") or None,
        cores=_whole(row, "cores") or 1,
        memory=each or per_core or None,
        memory_per_core=bool(per_core),
        gpus=gpus,
        features=str(row.get("features") or ""),
        partitions=tuple(str(row.get("partition") or "").split(",")) if row.get("partition") else (),
        exclusive=str(row.get("exclusive") or "") == "yes",
    )


def _tasks(request: ResourceRequest) -> tuple[int, int | None]:
    """Tasks of a job, and of each node; a job with nodes alone has one task on each."""
    tasks, per_node, nodes = request.tasks, request.tasks_per_node, request.nodes
    if tasks is None:
        per_node = per_node or 1
        return (nodes or 1) * per_node, per_node
    if nodes is not None and per_node is None:
        per_node = -(-tasks // nodes)
    return tasks, per_node


def _whole(row: Mapping[str, Any], name: str, least: int = 0) -> int:
    """A whole number of a row; 0 if it is missing or empty."""
    value = row.get(name) or 0
    if not isinstance(value, int | float) or value != int(value) or not least <= value <= 1e12:
        raise ValueError(f"{name} must be a whole number of at least {least}, not {value}")
    return int(value)
