"""What a job demands of a machine under a mechanism: equal parts, one for each node, in its partitions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

from holdfast.simulator.resources.replay_columns import node_equivalents
from holdfast.workloads.machines.fitted_requests import Need, NodeTable, UnfitError
from holdfast.workloads.machines.request import ResourceRequest
from holdfast.workloads.table.job import MALLEABLE, ON_DEMAND, Job

__all__ = ["Amounts", "Demand", "job_demand"]

#: Amounts of the resources of a node, in the order of the node table.
Amounts = tuple[int, ...]
Ints = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Demand:
    """What a job demands in each partition in which it fits.

    Attributes
    ----------
    table
        The nodes.
    options
        What it needs in each of its partitions.
    divided
        Whether it has one part on each node; otherwise its tasks fill nodes.
    """

    table: NodeTable
    options: tuple[Need, ...]
    divided: bool

    @property
    def parts(self) -> int:
        """Number of its parts; if tasks fill nodes, the smallest number of nodes."""
        return self.options[0].least_nodes

    @cached_property
    def equivalents(self) -> float:
        """Its size for queue orders: its nodes if it is exclusive, otherwise its node equivalents."""
        return node_equivalents(self.table, self.options[0])

    @cached_property
    def eligible(self) -> tuple[frozenset[int], ...]:
        """For each partition the nodes that have the requested features."""
        return tuple(frozenset(need.eligible) for need in self.options)

    @cached_property
    def suitable(self) -> tuple[int, ...]:
        """Nodes that can have a part of it, in the partition in which a mechanism serves it."""
        need = self.options[0]
        capacities = self.table.capacities
        return tuple(
            node
            for node in need.eligible
            if all(have >= amount for have, amount in zip(capacities[node], need.vector, strict=True))
        )

    @cached_property
    def suitable_places(self) -> Ints:
        """:attr:`suitable` as an array."""
        return np.array(self.suitable, np.int64)

    @cached_property
    def _suitable(self) -> frozenset[int]:
        return frozenset(self.suitable)

    def suits(self, node: int) -> bool:
        """Whether a node is one of :attr:`suitable`."""
        return node in self._suitable

    def part(self, node: int, *, last: bool = False) -> Amounts:
        """What a part takes of a node there; the ``last`` one may be smaller."""
        need = self.options[0]
        return self.table.capacities[node] if need.exclusive else need.last if last else need.vector

    @cached_property
    def _needs_by_size(self) -> dict[tuple[int, int], Need]:
        return {}

    def resize(self, need: Need, size: int) -> Need:
        """The need for a number of parts; the smaller last part is there only at the full size."""
        if not self.divided or size == need.nodes:
            return need
        # Each pass asks again: making it anew took 8 % of a simulation.
        found = self._needs_by_size.get((need.partition, size))
        if found is None:
            found = self._needs_by_size[need.partition, size] = replace(need, nodes=size, last=need.vector)
        return found


def job_demand(table: NodeTable, request: ResourceRequest, walltime: float, job: Job, *, baseline: bool) -> Demand:
    """The demand of a job.

    Parameters
    ----------
    table
        The nodes.
    request
        What the job asks for.
    walltime
        Its walltime [s].
    job
        The job.
    baseline
        Whether all jobs are rigid.

    Raises
    ------
    UnfitError
        If the job does not fit the empty machine.

    Notes
    -----
    An on-demand or malleable job that asks for tasks alone is divided into the fewest equal parts that fit each node
    which holds a task at all; if the machine does not hold these, into the fewest that it holds.
    """
    options = table.needs(request, walltime)
    if not options[0].tasks:
        return Demand(table, options, divided=True)
    if baseline or job.type not in (ON_DEMAND, MALLEABLE) or request.tasks is None:
        return Demand(table, options, divided=False)
    need = options[0]
    smallest = min(filter(None, (_tasks_on(table.capacities[node], need) for node in need.eligible)))
    sizes = _part_sizes(request.tasks)
    for per_node in sorted(sizes, key=lambda size: (size > smallest, -size)):
        try:
            return Demand(table, table.needs(request._replace(tasks_per_node=per_node), walltime), divided=True)
        except UnfitError:
            continue
    return Demand(table, options, divided=False)


def _tasks_on(capacity: Amounts, need: Need) -> int:
    """Number of tasks that an empty node holds."""
    left = [have - base for have, base in zip(capacity, need.base, strict=True)]
    return 0 if min(left) < 0 else min(have // one for have, one in zip(left, need.vector, strict=True) if one)


def _part_sizes(tasks: int) -> Sequence[int]:
    """Tasks of a part if there are 1, 2, ... parts, without repetitions."""
    return list(dict.fromkeys(-(-tasks // parts) for parts in range(1, tasks + 1)))
