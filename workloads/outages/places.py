"""The nodes of outages on a machine of named nodes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from holdfast.workloads.ground.errors import InputError, format_value
from holdfast.workloads.ground.units import to_ticks
from holdfast.workloads.machines.host_list import expand
from holdfast.workloads.machines.machine import Machine
from holdfast.workloads.outages.outage import Outage, OutageKind

__all__ = ["nodes_of_place", "outage_places", "partition_failures", "partition_outages"]


def nodes_of_place(on: str, machine: Machine) -> tuple[int, ...]:
    """Places of the nodes that the word ``on`` of an outage names, in the order of the machine's file.

    Parameters
    ----------
    on
        Name of a partition, or nodes in Slurm's syntax; empty: all nodes.
    machine
        The machine.

    Raises
    ------
    ValueError
        If it is neither.
    """
    if not on:
        return tuple(range(machine.size))
    for partition in machine.partitions:
        if partition.name == on:
            return tuple(sorted(machine.places(partition)))
    numbers = {name: place for place, name in enumerate(machine.names)}
    try:
        names = expand(on)
    except ValueError:
        names = (on,)
    for name in names:
        if name not in numbers:
            raise ValueError(
                f"on must be a partition or nodes of the machine, and there is no {format_value(name)} among them"
            )
    return tuple(sorted({numbers[name] for name in names}))


def outage_places(outages: Sequence[Outage], machine: Machine) -> list[tuple[int, ...]]:
    """Places of the nodes of each outage.

    A window of fewer nodes than its word ``on`` names takes the last of them, in the order of the machine's file, that
    no window before it in the list has at the same time. A failure takes the nodes from its place on.

    Parameters
    ----------
    outages
        Valid outages.
    machine
        The machine.

    Raises
    ------
    InputError
        If an outage names nodes that there are not, or more than there are.
    """
    found: list[tuple[int, ...]] = []
    for number, outage in enumerate(outages, start=1):
        try:
            nodes = nodes_of_place(outage.on, machine)
        except ValueError as error:
            raise InputError(f"outage {number}: {error}") from None
        if outage.nodes > len(nodes):
            where = f"nodes of {outage.on}" if outage.on else "nodes of the machine"
            raise InputError(f"nodes of outage {number} must be at most the {len(nodes):,} {where}, not {outage.nodes}")
        if outage.kind is OutageKind.FAILURE:
            first = int((outage.place or 0.0) * len(nodes))
            chosen = sorted(nodes[(first + step) % len(nodes)] for step in range(outage.nodes))
        else:
            held = set[int]()
            if outage.nodes < len(nodes):
                for other, places in zip(outages, found, strict=False):
                    if other.kind is not OutageKind.FAILURE and _overlap(outage, other):
                        held.update(places)
            free = [node for node in nodes if node not in held]
            if len(free) < outage.nodes:
                raise InputError(
                    f"nodes of outage {number} must leave room for the windows that it overlaps: they leave "
                    f"{len(free):,} of {len(nodes):,} nodes, not {outage.nodes:,}"
                )
            chosen = free[len(free) - outage.nodes :]
        found.append(tuple(chosen))
    return found


def partition_outages(outages: Sequence[Outage], machine: Machine, partition: str) -> list[Outage]:
    """The outages of a partition that is a pool of nodes without names.

    Parameters
    ----------
    outages
        Valid outages, each of a partition or of the whole machine.
    machine
        The machine.
    partition
        Name of the partition.

    Raises
    ------
    InputError
        If an outage is of other nodes.
    """
    names = [known.name for known in machine.partitions]
    found = []
    for number, outage in enumerate(outages, start=1):
        if outage.on not in names and (outage.on or outage.nodes != machine.size):
            raise InputError(
                f"on of outage {number} must be a partition with mechanisms and job types on a machine (--machine), "
                f"or empty for all {machine.size:,} nodes, not {format_value(outage.on)}: pools count nodes"
            )
        if outage.on == partition:
            found.append(replace(outage, on=""))
        elif not outage.on:
            found.append(replace(outage, nodes=len(machine.partition(partition).nodes)))
    return found


def partition_failures(failures: Sequence[Outage], machine: Machine) -> list[Outage]:
    """Failures of single nodes, each in the partition of its node.

    Parameters
    ----------
    failures
        Failures with a place on the whole machine.
    machine
        The machine; its partitions share no nodes. A failure of a node without a partition is left out.
    """
    owners: dict[int, tuple[str, float]] = {}
    for partition in machine.partitions:
        places = sorted(machine.places(partition))
        # The middle of a node, so that rounding does not change which it is.
        owners |= {node: (partition.name, (number + 0.5) / len(places)) for number, node in enumerate(places)}
    nodes = [int((failure.place or 0.0) * machine.size) for failure in failures]
    return [
        replace(failure, on=owners[node][0], place=owners[node][1])
        for failure, node in zip(failures, nodes, strict=True)
        if node in owners
    ]


def _overlap(one: Outage, other: Outage) -> bool:
    return to_ticks(one.start) < to_ticks(other.end) and to_ticks(other.start) < to_ticks(one.end)
