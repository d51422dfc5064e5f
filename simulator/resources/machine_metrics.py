"""Metrics of a replay on a machine with resources: waits by partition, and used and stranded capacity by resource."""

from __future__ import annotations

from typing import Any

from simulator.resources.machine_replay import MachineReplay
from workloads.ground.units import SECOND

__all__ = ["partition_rows", "resource_rows"]


def resource_rows(replay: MachineReplay) -> list[dict[str, Any]]:
    """A row for each resource of the machine.

    Parameters
    ----------
    replay
        The replay.

    Returns
    -------
    list of dict
        ``resource`` (nodes, cores, memory, gpus and kinds of GPUs), ``capacity`` [amount], ``used``, ``stranded`` and
        ``free``, shares of the machine's capacity from the first submit to the last end that make up 1 (free is neither
        used nor stranded). Nothing can be stranded of nodes; resources that the machine does not have are left out.
    """
    rows = []
    for name, total in replay.capacity.items():
        if total:
            used = replay.used[name] / total
            stranded = replay.stranded_time.get(name, 0) / total
            rows.append(
                {
                    "resource": name,
                    "capacity": total // replay.span,
                    "used": used,
                    "stranded": stranded,
                    "free": (total - replay.used[name] - replay.stranded_time.get(name, 0)) / total,
                }
            )
    return rows


def partition_rows(replay: MachineReplay) -> list[dict[str, Any]]:
    """A row for each partition in which a job ran.

    Parameters
    ----------
    replay
        The replay.

    Returns
    -------
    list of dict
        ``partition``, ``jobs``, ``mean_wait`` and ``longest_wait`` [s] from submit, or from its begin, ``stopped`` (how
        many jobs a limit stopped at least once), and ``cores`` and ``gpus``, the shares of the partition's own that its
        jobs used from the first submit to the last end (None: it has none).
    """
    machine = replay.table.machine
    rows = []
    for partition in machine.partitions:
        waits, cores, gpus, stopped = [], 0, 0, 0
        for came, place in zip(replay.queued, replay.starts, strict=True):
            if place is None or place.partition != partition.name:
                continue
            waits.append(place.start - came)
            stopped += place.limit is not None
            cores += sum(vector[0] for vector in place.taken) * (place.end - place.start)
            gpus += sum(vector[2] for vector in place.taken) * (place.end - place.start)
        if not waits:
            continue
        row: dict[str, Any] = {
            "partition": partition.name,
            "jobs": len(waits),
            "mean_wait": sum(waits) / len(waits) / SECOND,
            "longest_wait": max(waits) / SECOND,
            "stopped": stopped,
        }
        for name, used in (("cores", cores), ("gpus", gpus)):
            total = machine.total(name, partition.nodes) * replay.span
            row[name] = used / total if total else None
        rows.append(row)
    return rows
