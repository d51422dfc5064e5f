"""A machine together with the resource requests of the jobs of a table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from holdfast.workloads.machines.fitted_requests import Need, NodeTable
from holdfast.workloads.machines.machine import Machine
from holdfast.workloads.machines.request import ResourceRequest

__all__ = ["MachineWorkload", "least_use", "machine_size", "machine_unit", "size_on_machine"]


@dataclass(frozen=True)
class MachineWorkload:
    """Requests of the jobs of a table, and the machine that serves them.

    Attributes
    ----------
    machine
        The machine.
    requests
        Request of each job, in the order of the table.
    placement
        Rule for the choice among nodes that fit: ``pack``, ``spread`` or ``slurm``.
    """

    machine: Machine
    requests: tuple[ResourceRequest, ...] = field(repr=False)
    placement: str = "pack"

    @cached_property
    def table(self) -> NodeTable:
        """Table of the nodes, with a component for each kind of GPUs that the requests name."""
        return NodeTable.for_requests(self.machine, self.requests)

    def with_accounts(self, projects: Sequence[str]) -> MachineWorkload:
        """The same, where a job without an account has its project as account, for limits and past usage."""
        requests = tuple(
            request if request.account or not project else request.with_account(project)
            for request, project in zip(self.requests, projects, strict=True)
        )
        return replace(self, requests=requests)


def machine_unit(machine: Machine) -> str:
    """Unit of job sizes: ``nodes`` if every job gets whole nodes, else ``processors``, which are cores.

    >>> from holdfast.workloads.machines.machine_file import one_pool
    >>> machine_unit(one_pool(4))
    'nodes'
    """
    return "nodes" if all(partition.exclusive for partition in machine.partitions) else "processors"


def machine_size(machine: Machine) -> int:
    """The size of a machine in its unit."""
    return machine.size if machine_unit(machine) == "nodes" else machine.total("cores")


def least_use(table: NodeTable, need: Need) -> tuple[int, int, int, int, int]:
    """Smallest amounts that a job counts towards limits: 1 running job, nodes, cores, memory [MiB] and GPUs."""
    amounts = list(need.total[:3])
    if need.exclusive:
        # A job that asks for GPUs has none of the nodes without them.
        gpus = need.last[2] + need.base[2]
        nodes = [node for node in need.eligible if table.capacities[node][2] >= gpus]
        for place in range(3):
            smallest = sorted(
                0 if place == 1 and not table.counts_memory[node] else table.capacities[node][place] for node in nodes
            )
            amounts[place] = max(amounts[place], sum(smallest[: need.least_nodes]))
    return (1, need.least_nodes, amounts[0], amounts[1], amounts[2])


def size_on_machine(table: NodeTable, need: Need) -> int:
    """The size of a request in the unit of the machine: nodes or cores; an exclusive job counts all cores of nodes."""
    return least_use(table, need)[1 if machine_unit(table.machine) == "nodes" else 2]
