"""Capacity that outages take from a machine of named nodes: closed resources that no job uses."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
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


class Closed(NamedTuple):
    """Changes of closed capacity by tick: for maintenance and by failures, and for advance reservations."""

    down: Mapping[int, int]
    held: Mapping[int, int]


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
    spans: dict[int, list[tuple[int, int, bool]]] = defaultdict(list)
    for item in replay.windows:
        first, last = max(begin, to_ticks(item.outage.start)), min(end, item.end)
        if first < last:
            for node in item.nodes:
                spans[node].append((first, last, item.outage.kind is OutageKind.RESERVATION))
    own: dict[int, list[Use]] = defaultdict(list)
    for use in uses:
        if use.node in spans:
            own[use.node].append(use)
    down: dict[int, int] = defaultdict(int)
    held: dict[int, int] = defaultdict(int)
    for node, windows in spans.items():
        changes: dict[int, list[int]] = defaultdict(lambda: [0, 0, 0])  # taken, closed to all, reserved
        for first, last, reserved in windows:
            changes[first][1 + reserved] += 1
            changes[last][1 + reserved] -= 1
        for use in own[node]:
            changes[use.start][0] += use.amount
            changes[use.end][0] -= use.amount
        now = [0, 0, 0]
        before = [0, 0]
        for time in sorted(changes):
            now = [amount + change for amount, change in zip(now, changes[time], strict=True)]
            left = capacities[node] - min(capacities[node], now[0])
            level = [left if now[1] else 0, left if now[2] and not now[1] else 0]
            for into, new, old in zip((down, held), level, before, strict=True):
                if new != old:
                    into[time] += new - old
            before = level
    return Closed(down, held)


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
