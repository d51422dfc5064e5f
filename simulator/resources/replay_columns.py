"""The jobs of a replay, what they need and the limits that count for them, as columns of whole numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from holdfast.policies.order import ORDERS
from holdfast.simulator.machine.prior_state import PastUsage
from holdfast.simulator.resources.limit_columns import LimitColumns, Owner
from holdfast.simulator.resources.machine_jobs import MachineJob, queue_time
from holdfast.simulator.resources.outage_windows import node_windows
from holdfast.simulator.resources.queue_keys import MachineQueue, WaitingRequest
from holdfast.workloads.ground.errors import InputError
from holdfast.workloads.ground.units import to_ticks
from holdfast.workloads.machines.fitted_requests import Need, NodeTable
from holdfast.workloads.outages.outage import Outage, OutageKind

__all__ = ["NodeColumns", "ReplayColumns", "node_equivalents"]

_LATEST = 1 << 61


class NodeColumns(NamedTuple):
    """The place on the machine, the vector, weight and name of each node, and whether its memory is counted."""

    places: tuple[int, ...]
    capacities: tuple[tuple[int, ...], ...]
    weights: tuple[int, ...]
    names: tuple[str, ...]
    counts_memory: tuple[bool, ...]


class ReplayColumns:
    """Jobs, their needs and the accounts of limits, numbered.

    Parameters
    ----------
    table
        The nodes as vectors.
    jobs
        Jobs that fit.
    needs
        For each job what it needs in each of its partitions.
    order
        Order of the queue within a tier.
    outages
        Outages of its nodes.
    ended
        Runs that ended before any job waits, in node equivalents.

    Attributes
    ----------
    arrival
        Jobs in the order in which they come, if none depends on another.
    patiences
        For each job how long after its submit it is cancelled [ticks]; -1: never.
    earliest
        For each job the begin that it asks for [ticks]; 0: none.
    preceding, thinks
        For each job the number of the one that it depends on (-1: none), and the time between [ticks] (-1: none).
    begins, walltimes, runtimes
        For each job when it begins to wait, and for how long it may run and runs [ticks].
    ranks
        For each job its place among all in an order that never changes.
    begin
        When the first job begins to wait [ticks].
    queue
        The waiting jobs in their order.
    nodes
        The nodes, which the needs number.
    distinct, eligible, eligible_first
        Needs that differ; the nodes that each may have begin in ``eligible`` at ``eligible_first``.
    wanted
        The resources that each of these needs asks for in all.
    options, first
        For each partition of each job the number of its need and of the job; those of a job begin at ``first``.
    windows
        Outages that last beyond the begin of the replay, in the order in which they begin.
    admits
        For each distinct need the advance reservations among them that it may use, by their order.
    limits
        The limits that count for each option.

    Raises
    ------
    InputError
        If the walltimes in a row would not end within 70,000 years.
    """

    def __init__(
        self,
        table: NodeTable,
        jobs: Sequence[MachineJob],
        needs: Sequence[tuple[Need, ...]],
        order: str,
        outages: Sequence[Outage] = (),
        ended: PastUsage | None = None,
    ) -> None:
        self.table = table
        self.jobs = jobs
        self.needs = needs
        submits = [to_ticks(job.submit) for job in jobs]
        begins = [queue_time(job) for job in jobs]
        self.arrival = np.argsort(np.array(begins, np.int64), kind="stable")
        self.walltimes = [max(1, to_ticks(job.walltime)) for job in jobs]
        self.runtimes = [
            max(1, min(to_ticks(job.runtime), walltime)) for job, walltime in zip(jobs, self.walltimes, strict=True)
        ]
        self.patiences = [
            -1 if job.cancelled_at is None else max(0, to_ticks(job.cancelled_at) - submit)
            for job, submit in zip(jobs, submits, strict=True)
        ]
        self.earliest = [0 if job.request.begin is None else to_ticks(job.request.begin) for job in jobs]
        self.thinks = [-1 if job.think_time is None else to_ticks(job.think_time) for job in jobs]
        numbers = {job.job_id: place for place, job in enumerate(jobs)}
        self.preceding = [-1 if job.preceding is None else numbers.get(job.preceding, -1) for job in jobs]
        if max(begins) - min(begins) + sum(self.walltimes) + sum(self.thinks) >= _LATEST:
            raise InputError("the walltimes of all jobs in a row must end within 70,000 years")
        self.begins = begins
        self.submits = submits
        self.origin = min(submits)
        self.queue = self._queue(order, ended)
        # The first sort is the order for good if no key changes; otherwise any will do, and each pass has its own.
        places = self.queue.sort(range(len(jobs)), 0) if self.queue.static else range(len(jobs))
        self.ranks = [0] * len(jobs)
        for place, job in enumerate(places):
            self.ranks[job] = place
        self.begin = min(begins)
        self.windows = node_windows(outages, table.machine, self.begin)
        self.nodes = NodeColumns(
            tuple(range(table.machine.size)), table.capacities, table.weights, table.machine.names, table.counts_memory
        )
        self._number_needs()
        self.wanted = [need.total for need in self.distinct]
        self.number_eligible()
        self.limits = self._number_accounts()

    def _queue(self, order: str, ended: PastUsage | None) -> MachineQueue:
        """The waiting jobs as their order sees them; times count from the first submit."""
        tiers = [
            max(self.table.machine.partitions[need.partition].priority for need in options) for options in self.needs
        ]
        # Jobs with equal requests share a need. With one sum for each job, the baseline of 7,255 jobs on 1,213
        # nodes took 5.2 s in place of 2.8 s as a whole process.
        first = {id(options[0]): options[0] for options in self.needs}
        sizes = {own: node_equivalents(self.table, need) for own, need in first.items()}
        requests = [
            WaitingRequest(
                job.job_id,
                submit - self.origin,
                begin - self.origin,
                sizes[id(options[0])],
                walltime,
                job.user,
                job.request.account,
            )
            for job, submit, begin, options, walltime in zip(
                self.jobs, self.submits, self.begins, self.needs, self.walltimes, strict=True
            )
        ]
        return MachineQueue(ORDERS[order], requests, tiers, self.table.machine.size, ended, self.origin)

    def _number_needs(self) -> None:
        """Equal needs of jobs with the same reservations are one."""
        numbers: dict[tuple[int, tuple[int, ...]], int] = {}
        tickets = [item for item in self.windows if item.outage.kind is OutageKind.RESERVATION]
        self.admits: list[tuple[int, ...]] = []
        self.distinct: list[Need] = []
        self.options: list[tuple[int, int]] = []  # need, job
        self.first: list[int] = []
        for job, options in enumerate(self.needs):
            self.first.append(len(self.options))
            admitted = tuple(place for place, item in enumerate(tickets) if item.admits(self.jobs[job]))
            for need in options:
                if (id(need), admitted) not in numbers:
                    numbers[id(need), admitted] = len(self.distinct)
                    self.distinct.append(need)
                    self.admits.append(admitted)
                self.options.append((numbers[id(need), admitted], job))

    def number_eligible(self) -> None:
        """Write down the nodes of each need; those that several needs may have stand once."""
        places: dict[tuple[int, ...], int] = {}
        self.eligible: list[int] = []
        self.eligible_first: list[int] = []
        for need in self.distinct:
            if need.eligible not in places:
                places[need.eligible] = len(self.eligible)
                self.eligible.extend(need.eligible)
            self.eligible_first.append(places[need.eligible])

    def _number_accounts(self) -> LimitColumns:
        """The accounts of limits that count for each option."""
        machine = self.table.machine
        owners = (
            Owner(
                self.jobs[job].request.qos,
                self.jobs[job].request.account,
                self.jobs[job].user,
                machine.partitions[self.distinct[number].partition].name,
            )
            for number, job in self.options
        )
        return LimitColumns(machine.limits, owners)


def node_equivalents(table: NodeTable, need: Need) -> float:
    """Nodes of an exclusive job; of another the nodes that the largest share of a resource makes up."""
    if need.exclusive:
        return need.least_nodes
    largest = [max(column) for column in zip(*(table.capacities[node] for node in need.eligible), strict=True)]
    return (
        need.least_nodes
        if not largest[0]
        else max(total / most for total, most in zip(need.total, largest, strict=True) if most)
    )
