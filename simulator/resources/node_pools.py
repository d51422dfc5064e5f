"""Pools of equal nodes, each of which a replay takes as one node.

A pool is a partition of equal nodes that belong to no other partition and go to jobs as a whole. While at most one
waiting job of a partition has a reservation, starts depend on the number of its free nodes alone. So the loop replays
the pool as one node with the resources of all, and the nodes of each job are chosen afterwards. Without this, 20,000
jobs on four pools of 1,098 nodes took 40 s in the compiled loop; they take 0.4 s
(``python -m tests.benchmarks.machines``).
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from copy import copy
from dataclasses import replace
from functools import cached_property
from typing import NamedTuple, overload

import numpy as np

from holdfast.simulator.resources.node_choice import SLURM
from holdfast.simulator.resources.replay_columns import NodeColumns, ReplayColumns
from holdfast.workloads.machines.fitted_requests import Need

__all__ = ["NodePools", "PoolRun", "pool_nodes"]

#: The amounts that a job takes of each of its nodes.
Vector = tuple[int, ...]


class PoolRun(NamedTuple):
    """A run in a pool: when it starts and ends [ticks], the pool's partition, and the cores that it takes there."""

    start: int
    end: int
    partition: int
    cores: int


class NodePools:
    """The nodes of each pool.

    Parameters
    ----------
    nodes
        Places of the nodes of each pool on the machine, ascending, by the number of the partition.
    vectors
        The resources of a node of each pool.
    """

    def __init__(self, nodes: dict[int, tuple[int, ...]], vectors: dict[int, Vector]) -> None:
        self._nodes = nodes
        self._vectors = vectors
        self._amounts: dict[tuple[int, int], tuple[Vector, ...]] = {}

    def __contains__(self, partition: int) -> bool:
        return partition in self._nodes

    def amounts(self, run: PoolRun) -> tuple[Vector, ...]:
        """What a run takes of each of its nodes."""
        # Runs of equal size share it.
        key = run.partition, run.cores
        if key not in self._amounts:
            vector = self._vectors[run.partition]
            self._amounts[key] = (vector,) * (run.cores // vector[0])
        return self._amounts[key]

    def nodes(self, runs: Sequence[PoolRun]) -> list[Sequence[int]]:
        """The nodes of each run: the first free nodes, as ``pack`` and ``spread`` choose.

        They are chosen when the nodes of a run are first read, since starts and metrics need only how many they are.
        Without that, a simulation of 20,000 jobs on four pools of 1,098 nodes takes 1.3 s in place of 0.8 s.

        Parameters
        ----------
        runs
            In the order of their starts.
        """
        chosen = _ChosenNodes(self, runs)
        return [
            _RunNodes(chosen, number, run.cores // self._vectors[run.partition][0]) for number, run in enumerate(runs)
        ]

    def place(self, runs: Iterable[PoolRun]) -> list[tuple[int, ...]]:
        """Choose the nodes of each run, as :meth:`nodes` describes."""
        # Arrays of objects share the numbers of nodes, which millions of places would else each have as an own object.
        places = {partition: np.array(nodes, object) for partition, nodes in self._nodes.items()}
        free = {partition: np.ones(len(nodes), bool) for partition, nodes in self._nodes.items()}
        held: list[tuple[int, int, int]] = []
        taken: list[np.ndarray] = []
        found = []
        for run in runs:
            while held and held[0][0] <= run.start:
                _, partition, other = heapq.heappop(held)
                free[partition][taken[other]] = True
            own = free[run.partition].nonzero()[0][: run.cores // self._vectors[run.partition][0]]
            free[run.partition][own] = False
            heapq.heappush(held, (run.end, run.partition, len(taken)))
            taken.append(own)
            found.append(tuple(places[run.partition][own].tolist()))
        return found


class _ChosenNodes:
    """The nodes of all runs, chosen at the first question."""

    def __init__(self, pools: NodePools, runs: Sequence[PoolRun]) -> None:
        self._pools, self._runs = pools, runs

    @cached_property
    def by_run(self) -> list[tuple[int, ...]]:
        return self._pools.place(self._runs)


class _RunNodes(Sequence[int]):
    """The nodes of one run; it equals the tuple of them."""

    __slots__ = ("_chosen", "_count", "_number")

    def __init__(self, chosen: _ChosenNodes, number: int, count: int) -> None:
        self._chosen, self._number, self._count = chosen, number, count

    @property
    def _nodes(self) -> tuple[int, ...]:
        return self._chosen.by_run[self._number]

    def __len__(self) -> int:
        return self._count

    @overload
    def __getitem__(self, place: int) -> int: ...

    @overload
    def __getitem__(self, place: slice) -> tuple[int, ...]: ...

    def __getitem__(self, place: int | slice) -> int | tuple[int, ...]:
        return self._nodes[place]

    def __iter__(self) -> Iterator[int]:
        return iter(self._nodes)

    def __eq__(self, other: object) -> bool:
        return self._nodes == (other._nodes if isinstance(other, _RunNodes) else other)

    def __hash__(self) -> int:
        return hash(self._nodes)

    def __repr__(self) -> str:
        return repr(self._nodes)


def pool_nodes(columns: ReplayColumns, depth: int, placement: int) -> tuple[ReplayColumns, NodePools]:
    """The columns of a replay with each pool as one node, and the pools; there may be none.

    Parameters
    ----------
    columns
        Jobs and their needs.
    depth, placement
        Reservations for each partition, and number of the placement.
    """
    table, machine = columns.table, columns.table.machine
    nodes: dict[int, tuple[int, ...]] = {}
    if depth <= 1 and placement != SLURM and not columns.windows:
        uses = Counter(node for partition in machine.partitions for node in partition.nodes)
        refused = _unequal_needs(columns)
        for number, partition in enumerate(machine.partitions):
            if partition.exclusive and number not in refused and max(map(uses.__getitem__, partition.nodes)) == 1:
                places = machine.places(partition)
                if len({machine.kind_of_nodes[node] for node in places}) == 1:
                    nodes[number] = places
    pools = NodePools(
        nodes, {number: table.known_amounts(places[0], table.capacities[places[0]]) for number, places in nodes.items()}
    )
    return (_with_pools(columns, nodes) if nodes else columns), pools


def _unequal_needs(columns: ReplayColumns) -> set[int]:
    """Partitions with jobs that only some of the nodes suit, or that a limit counts."""
    machine = columns.table.machine
    found = {
        need.partition
        for need in columns.distinct
        if len(need.eligible) < len(machine.partitions[need.partition].nodes)
    }
    accounts = columns.limits.first
    for option, (need, _) in enumerate(columns.options):
        if accounts[option] < accounts[option + 1]:
            found.add(columns.distinct[need].partition)
    return found


def _with_pools(columns: ReplayColumns, pools: dict[int, tuple[int, ...]]) -> ReplayColumns:
    """The columns with each pool as its first node, which has the resources of all."""
    firsts = {places[0]: len(places) for places in pools.values()}
    others = {node for places in pools.values() for node in places[1:]}
    kept = [node for node in range(len(columns.nodes.names)) if node not in others]
    numbers = {node: number for number, node in enumerate(kept)}
    _, capacities, weights, names, counts_memory = columns.nodes
    changed = copy(columns)
    changed.nodes = NodeColumns(
        tuple(kept),
        tuple(_times(firsts.get(node, 1), capacities[node]) for node in kept),
        tuple(weights[node] for node in kept),
        tuple(names[node] for node in kept),
        tuple(counts_memory[node] for node in kept),
    )
    changed.distinct = [
        _whole_nodes(need, numbers[pools[need.partition][0]], capacities[pools[need.partition][0]])
        if need.partition in pools
        else replace(need, eligible=tuple(map(numbers.__getitem__, need.eligible)))
        for need in columns.distinct
    ]
    changed.number_eligible()
    return changed


def _whole_nodes(need: Need, pool: int, vector: Vector) -> Need:
    """What a job needs of a pool."""
    amounts = _times(need.least_nodes, vector)
    return Need(need.partition, (pool,), 1, amounts, amounts, (0,) * len(vector), 0, False, need.least_nodes)


def _times(count: int, vector: Sequence[int]) -> Vector:
    return tuple(count * amount for amount in vector)
