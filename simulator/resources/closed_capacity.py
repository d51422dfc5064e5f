"""Capacity that outages take from a machine of named nodes: closed resources that no job uses."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from holdfast.simulator.resources.machine_replay import MachineReplay
from holdfast.workloads.ground.units import to_ticks
from holdfast.workloads.outages.outage import OutageKind

__all__ = ["Closed", "Use", "amount_time", "closed_changes", "levels", "resource_uses"]


class Use(NamedTuple):
    """What a run takes of a node, from one tick to another."""

    node: int
    start: int
    end: int
    amount: int


class _Closure(NamedTuple):
    """The time [ticks] for which an outage closes a node, to all jobs or to those that a reservation is not for."""

    start: int
    end: int
    is_reservation: bool


class Closed(NamedTuple):
    """Changes of closed capacity by tick: for maintenance and by failures, and for advance reservations."""

    down: dict[int, int]
    held: dict[int, int]


def resource_uses(replay: MachineReplay, resource: str) -> list[Use]:
    """What all runs take of a resource, or of ``nodes`` (1 of each that they are on)."""
    kind = None if resource == "nodes" else replay.table.resources.index(resource)
    return [
        Use(node, run.start, run.end, 1 if kind is None else vector[kind])
        for run in replay.runs
        for node, vector in zip(run.nodes, run.taken, strict=True)
    ]


def closed_changes(
    replay: MachineReplay, capacities: Sequence[int], uses: Iterable[Use], begin: int, end: int
) -> Closed:
    """Changes of the closed capacity from ``begin`` to ``end`` [ticks].

    Parameters
    ----------
    replay
        The replay with its outages.
    capacities
        Capacity of each node.
    uses
        What runs take of it; more than all of a node counts as all.
    begin, end
        The span; changes at its end lead back to 0.
    """
    closures_of: dict[int, list[_Closure]] = defaultdict(list)
    for item in replay.windows:
        closure = _Closure(
            max(begin, to_ticks(item.outage.start)), min(end, item.end), item.outage.kind is OutageKind.RESERVATION
        )
        if closure.start < closure.end:
            for node in item.nodes:
                closures_of[node].append(closure)
    uses_of: dict[int, list[Use]] = defaultdict(list)
    for use in uses:
        if use.node in closures_of:
            uses_of[use.node].append(use)
    closed = Closed(defaultdict(int), defaultdict(int))
    for node, closures in closures_of.items():
        down_before = held_before = 0
        for time, down, held in _closed_levels(capacities[node], closures, uses_of[node]):
            if down != down_before:
                closed.down[time] += down - down_before
            if held != held_before:
                closed.held[time] += held - held_before
            down_before, held_before = down, held
    return closed


def _closed_levels(capacity: int, closures: Iterable[_Closure], uses: Iterable[Use]) -> Iterator[tuple[int, int, int]]:
    """(Tick, amount that is down, amount that is held) of a node at each change of its closures and uses."""
    outages, reservations, taken = Counter[int](), Counter[int](), Counter[int]()
    for closure in closures:
        changes = reservations if closure.is_reservation else outages
        changes[closure.start] += 1
        changes[closure.end] -= 1
    for use in uses:
        taken[use.start] += use.amount
        taken[use.end] -= use.amount
    open_outages = open_reservations = in_use = 0
    for time in sorted({*outages, *reservations, *taken}):
        open_outages += outages[time]
        open_reservations += reservations[time]
        in_use += taken[time]
        unused = max(0, capacity - in_use)
        down = unused if open_outages else 0
        # A node that is down is not held by a reservation as well.
        held = unused if open_reservations and not open_outages else 0
        yield time, down, held


def levels(changes: Mapping[int, int]) -> list[tuple[int, int]]:
    """(Tick, level) from each change on."""
    found, level = [], 0
    for time in sorted(changes):
        level += changes[time]
        if changes[time]:
            found.append((time, level))
    return found


def amount_time(changes: Mapping[int, int]) -> int:
    """Amount-ticks of a level that ends at 0."""
    return -sum(time * change for time, change in changes.items())
