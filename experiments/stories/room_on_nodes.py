"""Which nodes of a partition had room for a job at a time, and which resource the others lacked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from holdfast.experiments.recordings.allocations import Allocation, Allocations
from holdfast.simulator.results.records import JobRecord
from holdfast.workloads.ground.units import to_ticks
from holdfast.workloads.machines.features import parse_features, satisfies
from holdfast.workloads.machines.fitted_requests import NodeTable
from holdfast.workloads.machines.request import ResourceRequest
from holdfast.workloads.outages.outage import OutageKind

__all__ = ["Room", "RoomFinder"]

_WORDS = {"cores": "cores", "memory": "memory", "gpus": "GPUs"}


@dataclass(frozen=True)
class Room:
    """Nodes with room for a job.

    Attributes
    ----------
    partition
        The partition.
    needed
        Nodes that the job took.
    nodes
        Nodes of the partition that have what the job asks for when they are idle.
    room
        Those that had it free.
    lacking
        By resource the nodes that had too little of it free, the scarcest first; ``other jobs`` where the job needs
        idle nodes.
    closed
        Those that an outage closed.
    """

    partition: str
    needed: int
    nodes: int
    room: int
    lacking: dict[str, int]
    closed: int = 0

    def sentence(self) -> str:
        """What was free, as part of a sentence."""
        text = f"{self.room:,} of the {self.nodes:,} nodes of {self.partition} that suit it had room for it"
        if self.room >= self.nodes:
            return text if self.nodes > 1 else f"the only node of {self.partition} that suits it had room for it"
        named = [f"{name} on {count:,}" for name, count in self.lacking.items()]
        reasons = [f"an outage closed {self.closed:,}"] if self.closed else []
        if "other jobs" in self.lacking:
            reasons.append(f"other jobs ran on {self.lacking['other jobs']:,}")
        elif named or not self.closed:
            reasons.append(f"not enough free {', '.join(named)}")
        return f"{text} ({'; '.join(reasons)})"


class RoomFinder:
    """The free amounts of nodes over the course of a replay.

    Parameters
    ----------
    allocations
        Nodes of each job.
    records
        Times of each job.
    """

    def __init__(self, allocations: Allocations, records: Mapping[int, JobRecord]) -> None:
        self._allocations = allocations
        self._records = records
        resources = {name for job in allocations.jobs.values() for name in job.taken}
        kinds = tuple(name.partition(".")[2] for name in sorted(resources) if "." in name)
        self._table = NodeTable.for_requests(allocations.machine, [ResourceRequest(gpus=dict.fromkeys(kinds, 1))])

    def room(self, job: Allocation, time: int) -> Room:
        """Nodes with room for a job at a time [ticks], after all ends and the starts before its own."""
        machine, table = self._allocations.machine, self._table
        partition = machine.partition(job.partition)
        names = [name for name in table.resources if name in job.taken]
        columns = [table.resources.index(name) for name in names]
        wanted = [max(job.taken[name]) for name in names]
        suits = [
            node
            for node in machine.places(partition)
            if _has_features(machine.kinds[machine.kind_of_nodes[node]].features, job.features)
        ]
        full = {node: [table.capacities[node][column] for column in columns] for node in suits}
        whole = partition.exclusive or all(
            job.taken[name][entry] == table.capacities[node][column]
            for entry, node in enumerate(job.nodes)
            for name, column in zip(names, columns, strict=True)
            if name != "memory"
        )
        own = [job.taken[name] for name in names]
        if whole:
            # All of a node was taken, whatever was asked for.
            wanted = [min(amounts) if name == "cores" else 0 for name, amounts in zip(names, own, strict=True)]
        suits = [node for node in suits if all(map(int.__ge__, full[node], wanted))]
        free = {node: list(full[node]) for node in suits}
        shut = {
            node
            for outage, nodes in self._allocations.outages
            if to_ticks(outage.start) <= time < to_ticks(outage.end)
            for node in nodes
            # A job that ran on nodes of an advance reservation may use them.
            if outage.kind is not OutageKind.RESERVATION or node not in job.nodes
        }
        for other, start, end in self._allocations.runs(self._records):
            if not start <= time < end or other.place >= job.place:
                continue
            for entry, node in enumerate(other.nodes):
                if node in free:
                    for spot, name in enumerate(names):
                        free[node][spot] -= other.taken[name][entry]
        up = [node for node in suits if node not in shut]
        if whole:
            room = [node for node in up if free[node] == full[node]]
            lacking = {"other jobs": len(up) - len(room)}
        else:
            room = [node for node in up if all(map(int.__ge__, free[node], wanted))]
            short = {
                _WORDS.get(name, name.partition(".")[2] + " GPUs"): sum(free[node][spot] < wanted[spot] for node in up)
                for spot, name in enumerate(names)
            }
            lacking = dict(sorted(((name, count) for name, count in short.items() if count), key=lambda item: -item[1]))
        return Room(job.partition, len(job.nodes), len(suits), len(room), lacking, len(suits) - len(up))


def _has_features(features: tuple[str, ...], asked: str) -> bool:
    return not asked or satisfies(parse_features(asked), features)
