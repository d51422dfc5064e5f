"""Free resources of nodes that are numbered by name, for plans on sets of nodes.

A set of nodes is an integer with one bit for each node.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from holdfast.simulator.resources.slurm_choice import Room, room_on
from holdfast.workloads.machines.fitted_requests import Need

__all__ = ["NodeState", "PlannedRun", "node_set", "numbers"]


class PlannedRun(NamedTuple):
    """A running job, or one that starts: expected end [ticks], nodes by name, what it takes of each, and its number.

    Numbers of jobs are in the order of their submission. An ``exclusive`` job has its nodes for itself. Limits count
    the run for the owner of its ``option``.
    """

    end: int
    nodes: tuple[int, ...]
    taken: tuple[Sequence[int], ...]
    job: int
    exclusive: bool = False
    option: int = 0


class NodeState:
    """Free resources of nodes that are numbered by name.

    Parameters
    ----------
    capacities, weights
        Of each node.
    """

    def __init__(self, capacities: Sequence[Sequence[int]], weights: Sequence[int]) -> None:
        self.capacities = capacities
        self.weights = weights
        self.free = [list(vector) for vector in capacities]
        self.jobs = [0] * len(capacities)

    def start(self, run: PlannedRun) -> None:
        """Take the resources of a run."""
        self._add(run, -1)

    def end(self, run: PlannedRun) -> None:
        """Give the resources of a run back."""
        self._add(run, 1)

    def _add(self, run: PlannedRun, sign: int) -> None:
        for node, vector in zip(run.nodes, run.taken, strict=True):
            self.free[node] = [have + sign * amount for have, amount in zip(self.free[node], vector, strict=True)]
            self.jobs[node] -= sign

    def rooms(self, need: Need, nodes: int) -> dict[int, Room]:
        """Room of each node of a set (bits) for a job."""
        found = {}
        for node in numbers(nodes):
            room = room_on(need, self.free[node], self.capacities[node])
            if room is not None:
                found[node] = room
        return found


def node_set(nodes: Sequence[int]) -> int:
    """The set of these nodes, as bits."""
    return sum(1 << node for node in nodes)


def numbers(nodes: int) -> list[int]:
    """The numbers of the nodes of a set, ascending."""
    found = []
    while nodes:
        low = nodes & -nodes
        found.append(low.bit_length() - 1)
        nodes ^= low
    return found
