"""Placement of the parts of a job on nodes with given free amounts."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np
import numpy.typing as npt

from holdfast.simulator.shared_nodes.demand import Amounts
from holdfast.workloads.machines.fitted_requests import Need, NodeTable

__all__ = ["Placer"]

Ints = npt.NDArray[np.int64]


class Placer:
    """Chooses nodes by ``pack`` or ``spread``.

    Parameters
    ----------
    table
        The nodes.
    placement
        ``pack``: lowest weight, then fewest free cores, then order; ``spread``: lowest weight, then most free cores.
    """

    def __init__(self, table: NodeTable, placement: str) -> None:
        self._capacities = table.capacities
        self._cores = np.array([vector[0] for vector in table.capacities], np.int64)
        self._weights = np.array(table.weights, np.int64)
        self._sign = 1 if placement == "pack" else -1
        self._eligible: dict[int, tuple[tuple[int, ...], Ints]] = {}

    def sort(self, nodes: Sequence[int], free: Ints) -> list[int]:
        """Nodes in the order in which they are taken."""
        return self._sort(np.array(nodes, np.int64), free)

    def _sort(self, nodes: Ints, free: Ints) -> list[int]:
        order = np.lexsort((nodes, self._sign * free[nodes, 0], self._weights[nodes]))
        found: list[int] = nodes[order].tolist()
        return found

    def place(self, need: Need, free: Ints, first: Collection[int] = ()) -> dict[int, Amounts] | None:
        """Place a job.

        Parameters
        ----------
        need
            What it needs.
        free
            Free amounts of all nodes, shape (nodes, resources).
        first
            Nodes that are taken before all others.

        Returns
        -------
        dict or None
            What it takes of each node; None: it cannot be placed.
        """
        nodes = self._nodes(need)
        own = free[nodes]
        smallest = need.base if need.tasks else need.last
        fits = (own >= smallest).all(axis=1)
        if need.exclusive:
            fits &= own[:, 0] == self._cores[nodes]
        if not need.tasks and np.count_nonzero(fits) < need.nodes:
            return None
        chosen = self._sort(nodes[fits], free)
        if first:
            chosen.sort(key=lambda node: node not in first)
        return self.fill(need, chosen, free)

    def total(self, need: Need, free: Ints) -> Amounts:
        """Sum of the free amounts of the nodes that may have a part."""
        return tuple(free[self._nodes(need)].sum(axis=0).tolist())

    def fill(self, need: Need, order: Sequence[int], free: Ints) -> dict[int, Amounts] | None:
        """Place a job on nodes in the given order; a node that has no room for a part is left out."""
        if need.tasks:
            return self._fill_tasks(need, order, free)
        taken: dict[int, Amounts] = {}
        full = need.nodes - 1
        for node in order:
            if len(taken) == full:
                break
            if self._has(need, node, need.vector, free):
                taken[node] = self._capacities[node] if need.exclusive else need.vector
        if len(taken) < full:
            return None
        for node in order:
            if node not in taken and self._has(need, node, need.last, free):
                taken[node] = self._capacities[node] if need.exclusive else need.last
                return taken
        return None

    def _nodes(self, need: Need) -> Ints:
        # By identity, because hashing the nodes of a large machine took longer than a placement; they are kept beside.
        found = self._eligible.get(id(need.eligible))
        if found is None:
            found = self._eligible[id(need.eligible)] = need.eligible, np.array(need.eligible, np.int64)
        return found[1]

    def _has(self, need: Need, node: int, part: Amounts, free: Ints) -> bool:
        have = tuple(free[node].tolist())
        if need.exclusive and have != self._capacities[node]:
            return False
        return all(own >= amount for own, amount in zip(have, part, strict=True))

    def _fill_tasks(self, need: Need, order: Sequence[int], free: Ints) -> dict[int, Amounts] | None:
        taken: dict[int, Amounts] = {}
        left = need.tasks
        for node in order:
            room = free[node].tolist()
            if any(have < base for have, base in zip(room, need.base, strict=True)):
                continue
            if need.exclusive and tuple(room) != self._capacities[node]:
                continue
            fitting = min(
                [
                    left,
                    *(
                        (have - base) // one
                        for have, base, one in zip(room, need.base, need.vector, strict=True)
                        if one
                    ),
                ]
            )
            if fitting:
                part = tuple(fitting * one + base for one, base in zip(need.vector, need.base, strict=True))
                taken[node] = self._capacities[node] if need.exclusive else part
                left -= fitting
                if not left:
                    return taken
        return None
