"""Metrics of a replay on a machine with resources: waits by partition, and used and stranded capacity by resource."""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from typing import Any

from holdfast.simulator.resources.closed_capacity import amount_time, closed_changes, resource_uses
from holdfast.simulator.resources.machine_replay import MachineReplay
from holdfast.workloads.ground.units import SECOND

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
        With outages also ``closed``, the share that they closed and no job used.
    """
    rows: list[dict[str, Any]] = []
    for name, total in replay.capacity.items():
        if total:
            used = replay.used[name] / total
            stranded = replay.stranded_time.get(name, 0) / total
            closed = _closed_amount(replay, name)
            rows.append(
                {
                    "resource": name,
                    "capacity": total // replay.span,
                    "used": used,
                    "stranded": stranded,
                    **({"closed": closed / total} if replay.windows else {}),
                    "free": (total - replay.used[name] - replay.stranded_time.get(name, 0) - closed) / total,
                }
            )
    return rows


def _closed_amount(replay: MachineReplay, name: str) -> int:
    """Amount-ticks that outages kept free."""
    if not replay.windows:
        return 0
    place = None if name == "nodes" else replay.table.resources.index(name)
    counted = replay.table.counts_memory
    capacities = [
        1 if place is None else vector[place] if name != "memory" or counts else 0
        for vector, counts in zip(replay.table.capacities, counted, strict=True)
    ]
    begin = int(replay.instants[0])
    changes = closed_changes(replay, capacities, resource_uses(replay, name), begin, begin + replay.span)
    return sum(map(amount_time, changes))


def partition_rows(replay: MachineReplay, measured: AbstractSet[int] | None = None) -> list[dict[str, Any]]:
    """A row for each partition in which a measured job ran.

    Parameters
    ----------
    replay
        The replay.
    measured
        Ids of the jobs that count in waits; None: all.

    Returns
    -------
    list of dict
        ``partition``, ``jobs``, ``mean_wait`` and ``longest_wait`` [s] from submit, or from its begin, to the first
        start, ``stopped`` (how many jobs a limit stopped at least once), and ``cores`` and ``gpus``, the shares of the
        partition's own that its jobs used from the first submit to the last end (None: it has none).
    """
    machine = replay.table.machine
    firsts = list(replay.starts)
    for row, run in reversed(replay.past):
        firsts[row] = run
    rows = []
    for partition in machine.partitions:
        waits, cores, gpus, stopped = [], 0, 0, 0
        for job, came, place in zip(replay.jobs, replay.queued, firsts, strict=True):
            counts = measured is None or job.job_id in measured
            if counts and place is not None and place.partition == partition.name:
                waits.append(place.start - came)
                stopped += place.limit is not None
        for place in replay.runs:
            if place.partition != partition.name:
                continue
            length = place.end - max(place.start, int(replay.instants[0]))
            taken = place.total
            cores += taken[0] * length
            gpus += taken[2] * length
        if not waits:
            continue
        found: dict[str, Any] = {
            "partition": partition.name,
            "jobs": len(waits),
            "mean_wait": sum(waits) / len(waits) / SECOND,
            "longest_wait": max(waits) / SECOND,
            "stopped": stopped,
        }
        for name, used in (("cores", cores), ("gpus", gpus)):
            total = machine.total(name, partition.nodes) * replay.span
            found[name] = used / total if total else None
        rows.append(found)
    return rows
