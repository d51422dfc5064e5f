"""Which nodes of a partition had room for a job at a time, and which resource the others lacked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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
        self._columns = {name: column for column, name in enumerate(self._table.resources)}

    def room(self, job: Allocation, time: int) -> Room:
        """Nodes with room for a job at a time [ticks], after all ends and the starts before its own."""
        partition = self._allocations.machine.partition(job.partition)
        taken = {name: job.taken[name] for name in self._columns if name in job.taken}
        needs_idle_nodes = partition.exclusive or self._fills_its_nodes(job)
        if needs_idle_nodes:
            # The job got all of each node, whatever it asked for. Its smallest node shows how many cores suffice.
            wanted = {name: min(amounts) for name, amounts in taken.items() if name == "cores"}
        else:
            wanted = {name: max(amounts) for name, amounts in taken.items()}
        full = {node: {name: self._capacity(node, name) for name in taken} for node in self._featured_nodes(job)}
        full = {node: amounts for node, amounts in full.items() if _suffices(amounts, wanted)}
        free = self._free_amounts(job, time, full)
        closed = self._closed_nodes(job, time)
        available = [node for node in full if node not in closed]
        if needs_idle_nodes:
            with_room = [node for node in available if free[node] == full[node]]
            lacking = {"other jobs": len(available) - len(with_room)}
        else:
            with_room = [node for node in available if _suffices(free[node], wanted)]
            lacking = _scarcity([free[node] for node in available], wanted)
        return Room(
            job.partition, len(job.nodes), len(full), len(with_room), lacking, closed=len(full) - len(available)
        )

    def _capacity(self, node: int, resource: str) -> int:
        return self._table.capacities[node][self._columns[resource]]

    def _fills_its_nodes(self, job: Allocation) -> bool:
        """Whether a job took all of its nodes, apart from memory."""
        return all(
            amounts == tuple(self._capacity(node, name) for node in job.nodes)
            for name, amounts in job.taken.items()
            if name in self._columns and name != "memory"
        )

    def _featured_nodes(self, job: Allocation) -> list[int]:
        """Nodes of the partition of a job with the features that it asked for."""
        machine = self._allocations.machine
        nodes = machine.places(machine.partition(job.partition))
        if not job.features:
            return list(nodes)
        asked = parse_features(job.features)
        return [node for node in nodes if satisfies(asked, machine.kinds[machine.kind_of_nodes[node]].features)]

    def _free_amounts(
        self, job: Allocation, time: int, full: Mapping[int, Mapping[str, int]]
    ) -> dict[int, dict[str, int]]:
        """What is free on each node in ``full``, which has its amounts when it is idle."""
        free = {node: dict(amounts) for node, amounts in full.items()}
        for other, start, end in self._allocations.runs(self._records):
            if not start <= time < end or other.place >= job.place:
                continue
            for entry, node in enumerate(other.nodes):
                for name in free.get(node, ()):
                    free[node][name] -= other.taken[name][entry]
        return free

    def _closed_nodes(self, job: Allocation, time: int) -> set[int]:
        """Nodes that an outage closed to a job."""
        closed: set[int] = set()
        for outage, nodes in self._allocations.outages:
            if to_ticks(outage.start) <= time < to_ticks(outage.end):
                # A job that ran on nodes of an advance reservation may use them.
                allowed = job.nodes if outage.kind is OutageKind.RESERVATION else ()
                closed.update(set(nodes).difference(allowed))
        return closed


def _suffices(amounts: Mapping[str, int], wanted: Mapping[str, int]) -> bool:
    return all(amounts[name] >= amount for name, amount in wanted.items())


def _scarcity(free: Sequence[Mapping[str, int]], wanted: Mapping[str, int]) -> dict[str, int]:
    """By resource, in words, the number of nodes that have too little of it free, the scarcest first."""
    short = {name: sum(amounts[name] < amount for amounts in free) for name, amount in wanted.items()}
    scarcest_first = sorted((name for name in short if short[name]), key=lambda name: -short[name])
    return {_WORDS.get(name) or f"{name.partition('.')[2]} GPUs": short[name] for name in scarcest_first}
