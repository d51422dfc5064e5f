"""Replays of rigid jobs on a machine with partitions, shared nodes, GPUs, memory, features and limits."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from policies.kernels.compiled_or_plain import compiled_loop
from policies.order import ORDERS
from policies.port import TOLERANCE
from simulator.resources import resource_loop
from simulator.resources.node_choice import PACK, SLURM, SPREAD
from simulator.resources.queue_keys import MachineQueue, WaitingRequest
from workloads.ground.errors import InputError, InvariantError, ParameterError, UnknownNameError
from workloads.ground.units import to_ticks
from workloads.machines.fitted_requests import Need, NodeTable, needs_of_jobs
from workloads.machines.machine import Limit, Machine
from workloads.machines.request import ResourceRequest

__all__ = [
    "BACKFILLING_DEPTHS",
    "PLACEMENTS",
    "JobStart",
    "MachineJob",
    "MachineReplay",
    "replay_on_machine",
]

Ints = npt.NDArray[np.int64]

#: Ways to choose among the nodes that fit, by name.
PLACEMENTS = {"pack": PACK, "spread": SPREAD, "slurm": SLURM}
#: Reservations for each partition, by the name of a backfilling rule.
BACKFILLING_DEPTHS = {"none": 0, "easy": 1, "conservative": resource_loop.ALL}
#: Reservations at once for which there is room at first; doubled where there is not.
_HEADS = 256
#: Why a job is left out that fits the machine.
NEVER_ALLOWED = "more than a limit ever allows"
#: Amounts of an account.
_AMOUNTS = ("running", "nodes", "cores", "memory", "gpus")
_LATEST = 1 << 61


class MachineJob(NamedTuple):
    """A rigid job.

    Attributes
    ----------
    job_id
        Its id.
    submit, walltime, runtime
        [s]; it runs for the smaller of the two.
    request
        What it asks for.
    user
        Its user; empty: not known.
    """

    job_id: int
    submit: float
    walltime: float
    runtime: float
    request: ResourceRequest
    user: str = ""


class JobStart(NamedTuple):
    """Where and when a job ran.

    Attributes
    ----------
    start, end
        Ticks of the clock of submits.
    partition
        Name of the partition.
    nodes
        Places of its nodes on the machine.
    taken
        What it took of each, in the order of :attr:`~workloads.machines.fitted_requests.NodeTable.resources`.
    limit
        The last limit that stopped it; None: none did.
    """

    start: int
    end: int
    partition: str
    nodes: tuple[int, ...]
    taken: tuple[tuple[int, ...], ...]
    limit: Limit | None


@dataclass
class MachineReplay:
    """What became of jobs on a machine.

    Attributes
    ----------
    table
        The nodes as vectors.
    jobs
        All jobs, in the order given.
    starts
        For each job where and when it ran; None: it was left out.
    left_out
        How many jobs were left out by the reason: they do not fit the empty machine.
    instants
        Ticks of each scheduling pass.
    stranded
        From each pass to the next, free amounts that would in all have sufficed for the first waiting job that could
        not be placed, shape (passes, resources).
    """

    table: NodeTable
    jobs: Sequence[MachineJob]
    starts: list[JobStart | None]
    left_out: Counter[str]
    instants: Ints = field(repr=False)
    stranded: Ints = field(repr=False)

    @cached_property
    def queued(self) -> list[int]:
        """When each job begins to wait [ticks]: its submit, or its begin."""
        return [_queue_time(job) for job in self.jobs]

    @cached_property
    def span(self) -> int:
        """Ticks from the first pass to the last end."""
        ends = [place.end for place in self.starts if place is not None]
        return max(ends) - int(self.instants[0]) if ends else 0

    @cached_property
    def used(self) -> dict[str, int]:
        """Amount-ticks that jobs took: of nodes (with at least one job), cores, memory [MiB] and GPUs."""
        totals = dict.fromkeys(self.table.resources, 0)
        spans: dict[int, list[tuple[int, int]]] = {}
        for place in self.starts:
            if place is not None:
                length = place.end - place.start
                for node, vector in zip(place.nodes, place.taken, strict=True):
                    spans.setdefault(node, []).append((place.start, place.end))
                    for name, amount in zip(self.table.resources, vector, strict=True):
                        if name != "memory" or self.table.counts_memory[node]:
                            totals[name] += amount * length
        return {"nodes": sum(map(_length, spans.values())), **totals}

    @cached_property
    def capacity(self) -> dict[str, int]:
        """Amount-ticks of the machine from the first pass to the last end."""
        totals = dict.fromkeys(self.table.resources, 0)
        for vector, counted in zip(self.table.capacities, self.table.counts_memory, strict=True):
            for name, amount in zip(self.table.resources, vector, strict=True):
                totals[name] += amount if name != "memory" or counted else 0
        return {name: amount * self.span for name, amount in {"nodes": self.table.machine.size, **totals}.items()}

    @cached_property
    def stranded_time(self) -> dict[str, int]:
        """Amount-ticks that were stranded, of each resource; memory where it is not counted is left out."""
        lengths = np.diff(np.append(self.instants, self.instants[-1])) if len(self.instants) else self.instants
        counted = all(self.table.counts_memory)
        return {
            name: sum(
                int(amount) * int(length) for amount, length in zip(self.stranded[:, place], lengths, strict=True)
            )
            for place, name in enumerate(self.table.resources)
            if name != "memory" or counted
        }


def replay_on_machine(
    machine: Machine,
    jobs: Sequence[MachineJob],
    *,
    backfilling: str = "easy",
    depth: int | None = None,
    placement: str = "pack",
    order: str = "fcfs",
) -> MachineReplay:
    """Replay rigid jobs.

    Parameters
    ----------
    machine
        The machine.
    jobs
        In the order of the table, which decides between equals.
    backfilling
        ``easy``, ``conservative`` or ``none``.
    depth
        How many waiting jobs of each partition hold reservations; None: as ``backfilling`` says.
    placement
        ``pack``, ``spread`` or ``slurm``.
    order
        Order of the queue within a tier; orders that depend on the time sort the queue at each pass.

    Returns
    -------
    MachineReplay
        Starts, and what was used and stranded.

    Raises
    ------
    InputError
        If a name or a value is not legal, or no job fits.
    """
    if backfilling not in BACKFILLING_DEPTHS:
        raise UnknownNameError("backfilling rule on a machine", backfilling, BACKFILLING_DEPTHS)
    if placement not in PLACEMENTS:
        raise UnknownNameError("placement", placement, PLACEMENTS)
    if depth is not None and (not isinstance(depth, int) or isinstance(depth, bool) or depth < 1):
        raise ParameterError("depth", "a whole number of at least 1", depth)
    table = NodeTable.for_requests(machine, [job.request for job in jobs])
    needs, left_out = needs_of_jobs(table, [job.request for job in jobs], [job.walltime for job in jobs])
    kept = [place for place, need in enumerate(needs) if need is not None]
    if not kept:
        reasons = ", ".join(f"{count:,} ask for {reason}" for reason, count in left_out.most_common(3))
        raise InputError(f"no job fits the machine: {reasons or 'there are no jobs'}")
    columns = _Columns(table, [jobs[place] for place in kept], [needs[place] or () for place in kept], order)
    found, instants, stranded = columns.run(
        BACKFILLING_DEPTHS[backfilling] if depth is None else depth, PLACEMENTS[placement]
    )
    starts: list[JobStart | None] = [None] * len(jobs)
    for place, start in zip(kept, found, strict=True):
        starts[place] = start
        if start is None:
            left_out[NEVER_ALLOWED] += 1
    return MachineReplay(table, jobs, starts, left_out, instants, stranded)


class _Columns:
    """Jobs and nodes as columns of whole numbers, as the loop takes them."""

    def __init__(
        self, table: NodeTable, jobs: Sequence[MachineJob], needs: Sequence[tuple[Need, ...]], order: str
    ) -> None:
        self.table = table
        self.jobs = jobs
        self.needs = needs
        submits = [to_ticks(job.submit) for job in jobs]
        begins = [_queue_time(job) for job in jobs]
        self.arrival = np.argsort(np.array(begins, np.int64), kind="stable")
        self.walltimes = [max(1, to_ticks(job.walltime)) for job in jobs]
        self.runtimes = [
            max(1, min(to_ticks(job.runtime), walltime)) for job, walltime in zip(jobs, self.walltimes, strict=True)
        ]
        if max(begins) - min(begins) + sum(self.walltimes) >= _LATEST:
            raise InputError("the walltimes of all jobs in a row must end within 70,000 years")
        self.begins = begins
        self.submits = submits
        self.origin = min(submits)
        self.queue = self._queue(order)
        # The first sort is the order for good if no key changes; otherwise any will do, and each pass has its own.
        places = self.queue.sort(range(len(jobs)), 0) if self.queue.static else range(len(jobs))
        self.ranks = [0] * len(jobs)
        for place, job in enumerate(places):
            self.ranks[job] = place
        self._number_needs()
        self._number_accounts()

    def _queue(self, order: str) -> MachineQueue:
        """The waiting jobs as their order sees them; times count from the first submit."""
        tiers = [
            max(self.table.machine.partitions[need.partition].priority for need in options) for options in self.needs
        ]
        requests = [
            WaitingRequest(
                job.job_id,
                submit - self.origin,
                begin - self.origin,
                self._size(options[0]),
                walltime,
                job.user,
                job.request.account,
            )
            for job, submit, begin, options, walltime in zip(
                self.jobs, self.submits, self.begins, self.needs, self.walltimes, strict=True
            )
        ]
        return MachineQueue(ORDERS[order], requests, tiers, self.table.machine.size)

    def _size(self, need: Need) -> float:
        """Nodes of an exclusive job; of another the nodes that the largest share of a resource makes up."""
        if need.exclusive:
            return need.least_nodes
        largest = [max(column) for column in zip(*(self.table.capacities[node] for node in need.eligible), strict=True)]
        return (
            need.least_nodes
            if not largest[0]
            else max(total / most for total, most in zip(need.total, largest, strict=True) if most)
        )

    def _number_needs(self) -> None:
        """Equal needs are one, and nodes that several may have stand once."""
        numbers: dict[int, int] = {}
        self.distinct: list[Need] = []
        self.options: list[tuple[int, int]] = []  # need, job
        self.first: list[int] = []
        for job, options in enumerate(self.needs):
            self.first.append(len(self.options))
            for need in options:
                if id(need) not in numbers:
                    numbers[id(need)] = len(self.distinct)
                    self.distinct.append(need)
                self.options.append((numbers[id(need)], job))
        places: dict[tuple[int, ...], int] = {}
        self.eligible: list[int] = []
        self.eligible_first: list[int] = []
        for need in self.distinct:
            if need.eligible not in places:
                places[need.eligible] = len(self.eligible)
                self.eligible.extend(need.eligible)
            self.eligible_first.append(places[need.eligible])

    def _number_accounts(self) -> None:
        """The accounts of limits that count for each option, in the order QOS, account, user, partition."""
        machine = self.table.machine
        by_scope: dict[tuple[str, str], Limit] = {(limit.scope, limit.name): limit for limit in machine.limits}
        self.limits: list[Limit] = []
        self.most: list[int] = []
        accounts: dict[tuple[str, str, str | None], int] = {}
        self.account_first = [0]
        self.accounts: list[int] = []
        for number, job_number in self.options:
            job = self.jobs[job_number]
            partition = machine.partitions[self.distinct[number].partition].name
            scopes = (
                ("qos", job.request.qos),
                ("account", job.request.account),
                ("user", job.user),
                ("partition", partition),
            )
            for scope in scopes:
                limit = by_scope.get(scope)
                if limit is None:
                    continue
                for quota, user in ((limit.per_user, job.user), (limit.together, None)):
                    amounts = quota.amounts()
                    if not set(amounts) & set(_AMOUNTS):
                        continue
                    if (*scope, user) not in accounts:
                        accounts[*scope, user] = len(self.limits)
                        self.limits.append(limit)
                        self.most += [amounts.get(name, -1) for name in _AMOUNTS]
                    self.accounts.append(accounts[*scope, user])
            self.account_first.append(len(self.accounts))

    def run(self, depth: int, placement: int) -> tuple[list[JobStart | None], Ints, Ints]:
        """Starts of the jobs, times of passes, and what was stranded from each on."""
        count, partitions = len(self.jobs), len(self.table.machine.partitions)
        heads = min(count, partitions * depth, max(_HEADS, partitions)) if depth else 1
        while True:
            found = self._run(depth, placement, heads)
            if found is not None:
                return found
            heads = min(count, 2 * heads)

    def _run(self, depth: int, placement: int, heads: int) -> tuple[list[JobStart | None], Ints, Ints] | None:
        table, count, order = self.table, len(self.jobs), self.arrival.tolist()
        nodes, resources = table.machine.size, len(table.resources)
        width = nodes * resources
        entries = sum(
            max(need.nodes or min(need.tasks, len(need.eligible)) for need in options) for options in self.needs
        )
        # Of wagap-2013, 1.4 million: 25 s in Python, 0.5 s compiled, and 18 s to compile.
        # With reservations for many jobs ten times as many.
        steps = count * (nodes + 10) * (10 if depth > 10 else 1)
        code = compiled_loop(resource_loop.replay_resources, resource_loop.KINDS, steps)
        run: Any = resource_loop.replay_resources if code is None else code

        def sequence(array: Ints) -> Any:
            # Python reads lists in half the time that it takes for arrays.
            return array.tolist() if code is None else array

        def column(values: Sequence[int]) -> Any:
            return sequence(np.array(values, np.int64))

        def room(size: int) -> Any:
            return sequence(np.zeros(max(size, 1), np.int64))

        def flat(vectors: Sequence[Sequence[int]]) -> Any:
            return column([amount for vector in vectors for amount in vector])

        options = [len(self.needs[job]) for job in order]
        starts, option_of, taken_first, taken_count = (room(count) for _ in range(4))
        taken_node, taken_amount, stopped = (
            room(entries + nodes),
            room((entries + nodes) * resources),
            column([-1] * count),
        )
        instants, stranded, state = room(2 * count), room(2 * count * resources), room(resource_loop.STATES)
        after, before = room(count + 1), room(count + 1)
        times = self.begins, self.walltimes, self.runtimes, self.ranks
        needs = self.distinct
        ceiling = max(options)
        arguments = (
            count, nodes, resources, len(table.machine.partitions), len(needs), depth, placement, TOLERANCE, heads,
            int(not self.queue.static),
            *(column([values[job] for job in order]) for values in times),
            column([self.first[job] for job in order]), column(options),
            column([need for need, _ in self.options]), column(self.account_first), column([*self.accounts, 0]),
            column([need.partition for need in needs]), column(self.eligible_first),
            column([len(need.eligible) for need in needs]), column([need.nodes for need in needs]),
            column([need.tasks for need in needs]), column([int(need.exclusive) for need in needs]),
            flat([need.vector for need in needs]), flat([need.last for need in needs]),
            flat([need.base for need in needs]), flat([(1, need.least_nodes, *need.total[:3]) for need in needs]),
            column(self.eligible),
            flat(table.capacities), column(table.weights), column(_natural_places(table.machine.names)),
            column(list(map(int, table.counts_memory))),
            column([*self.most, 0]), room(len(self.most) + 1),
            starts, option_of, taken_first, taken_count, taken_node, taken_amount, stopped, instants, stranded,
            after, before, room(count + 1), room(count + 1), room(count), room(count),
            room((heads + 2) * width), room(heads + 1), room(heads + 1), room(2 * heads + 1), room(2 * heads + 1),
            room(2 * heads * nodes + nodes), room((2 * heads * nodes + nodes) * resources), room(heads + 1),
            room(heads + 1), room(len(table.machine.partitions)), room(len(needs)), room(len(needs)),
            room(len(needs)), room(width), room(width), room(nodes), room(nodes + ceiling), room(nodes * resources),
            room((2 * heads + 1) * width), room(heads + 1), room(3 * len(needs)), room(2 * len(needs)), state,
        )  # fmt: skip
        run(*arguments)
        if state[0] == resource_loop.PAUSED:
            self._sort_at_each_pass(lambda: run(*arguments), order, after, before, taken_count, state)
        if state[0] == resource_loop.FULL:
            return None
        if state[0] != resource_loop.DONE:
            raise InvariantError(f"job {self.jobs[order[state[1]]].job_id} can never start")
        passes = int(state[1])
        moments = np.asarray(instants, np.int64)[:passes]
        amounts = np.asarray(stranded, np.int64)[: passes * resources].reshape(passes, resources)
        found: list[JobStart | None] = [None] * count
        machine = table.machine
        starts, option_of, taken_first, taken_count, stopped = (
            np.asarray(values).tolist() for values in (starts, option_of, taken_first, taken_count, stopped)
        )
        taken = np.asarray(taken_amount, np.int64).reshape(-1, resources)
        holders = np.asarray(taken_node, np.int64)
        for place, job in enumerate(order):
            if not taken_count[place]:
                continue
            first, last = taken_first[place], taken_first[place] + taken_count[place]
            found[job] = JobStart(
                starts[place],
                starts[place] + self.runtimes[job],
                machine.partitions[needs[self.options[option_of[place]][0]].partition].name,
                tuple(holders[first:last].tolist()),
                tuple(map(tuple, taken[first:last].tolist())),
                None if stopped[place] < 0 else self.limits[stopped[place]],
            )
        return found, moments, amounts

    def _sort_at_each_pass(
        self, proceed: Callable[[], None], order: list[int], after: Any, before: Any, taken_count: Any, state: Any
    ) -> None:
        """Take the loop from pass to pass, and put the waiting jobs into the order of each."""
        # A replay that found no room begins again.
        queue = self.queue.fresh()
        top, came = len(order), 0
        waiting: list[int] = []  # rows of the table
        places = {job: place for place, job in enumerate(order)}
        past = 0
        while state[0] == resource_loop.PAUSED:
            now, coming = int(state[resource_loop.NOW]) - self.origin, int(state[resource_loop.COMING])
            still = []
            for job in waiting:
                if taken_count[places[job]]:
                    queue.start(job, past, past + self.runtimes[job])
                else:
                    still.append(job)
            waiting = queue.sort([*still, *order[came:coming]], now)
            came, past = coming, now
            last = top
            for job in waiting:
                after[last] = places[job]
                before[places[job]] = last
                last = places[job]
            after[last] = top
            before[top] = last
            state[0] = 0
            proceed()


def _queue_time(job: MachineJob) -> int:
    submit = to_ticks(job.submit)
    return submit if job.request.begin is None else max(submit, to_ticks(job.request.begin))


def _natural_places(names: Sequence[str]) -> list[int]:
    """The place of each name where Slurm sorts them: ``n2`` stands before ``n10``."""

    def key(name: str) -> list[tuple[int, str]]:
        return [(int(part), "") if part.isdecimal() else (-1, part) for part in re.split("([0-9]+)", name)]

    places = [0] * len(names)
    for place, node in enumerate(sorted(range(len(names)), key=lambda node: key(names[node]))):
        places[node] = place
    return places


def _length(spans: list[tuple[int, int]]) -> int:
    """Length of the union of intervals."""
    total, reached = 0, None
    for begin, end in sorted(spans):
        if reached is None or begin > reached:
            total += end - begin
            reached = end
        elif end > reached:
            total += end - reached
            reached = end
    return total
