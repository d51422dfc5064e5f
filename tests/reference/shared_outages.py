"""Mechanisms on shared nodes that meet outages (rules 7 and 10 of docs/reference/machines.md), for comparison only.

This adds outages to tests/reference/shared_mechanisms.py, as plainly: what is closed is looked up anew each time.

* An outage closes named nodes. It is known from its announcement on, a failure from its begin on; one without an
  announcement is known from the beginning. Jobs of an advance reservation do not notice it.
* In an instant outages come after completions, requeues and cancellations, and before all else: announcements and ends
  first, then begins, each in the order of their begins.
* A job starts (from the queue, as a tenant, as a lender that resumes) only on nodes that no known outage closes within
  its walltime; its shadow time may be the end of a known outage. A lender that was shrunk gets nodes that are open
  until the end of its walltime at its present size. Arriving jobs and reservations look at the present alone.
* The begin takes the parts of reservations on the nodes, and their tenants there become ordinary. If the outage waits,
  this is all. Otherwise arrived jobs that have not started lose their parts there.
* Maintenance and advance reservations then preempt what runs there beyond this instant by its walltime: in ascending
  overhead, on-demand jobs last. Malleable jobs have their warning. Arrived jobs that lack a part wait with none.
* Of a failure, jobs have no warning: a malleable job goes on with its other nodes, if these are enough for it; a job
  under warning leaves at once; an on-demand job keeps its other nodes. All on-demand jobs that lack nodes then get
  others as if they arrived now, or wait with none.
* An on-demand job that has lost a node returns to each lender as many nodes as it lent: those that it lent first.
* The end releases the nodes.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

from holdfast.workloads.ground.units import to_ticks
from holdfast.workloads.outages.outage import Outage, OutageKind
from holdfast.workloads.table.job import Job, JobType
from tests.reference.hybrid import Reading, Task
from tests.reference.shared_mechanisms import OUTAGE, TOLERANCE, Model, Run, SharedReplay

__all__ = ["replay_with_outages"]


class Closed(NamedTuple):
    """An outage with its nodes; ticks."""

    outage: Outage
    nodes: frozenset[int]
    begin: int
    end: int
    known: int


def nodes_by_outage(outages: Sequence[Outage], machine: Any) -> list[frozenset[int]]:
    """The nodes of each outage.

    A failure takes nodes from its place on, and begins again at the first. Others take the last ones that no other
    outage before them in the list, which is no failure, has at the same time; if they take all of them, these alone.
    """
    names = list(machine.names)
    members = {partition.name: {names.index(name) for name in partition.nodes} for partition in machine.partitions}
    found: list[frozenset[int]] = []
    for number, outage in enumerate(outages):
        if not outage.on:
            among = set(range(len(names)))
        elif outage.on in members:
            among = members[outage.on]
        else:
            among = {names.index(name) for name in outage.on.split(",")}
        nodes = sorted(among)
        if outage.kind is OutageKind.FAILURE:
            assert outage.place is not None
            first = int(outage.place * len(nodes))
            found.append(frozenset((nodes * 2)[first : first + outage.nodes]))
            continue
        if outage.nodes < len(nodes):
            for other, taken in zip(outages[:number], found, strict=True):
                together = other.start < outage.end and outage.start < other.end
                if together and other.kind is not OutageKind.FAILURE:
                    nodes = [node for node in nodes if node not in taken]
        found.append(frozenset(nodes[-outage.nodes :]))
    return found


class OutageModel(Model):
    """The state with its outages."""

    def __init__(
        self, machine: Any, jobs: Sequence[Job], requests: Sequence[Any], mechanism: str, outages: Sequence[Outage],
        **rules: Any,
    ) -> None:  # fmt: skip
        #: Outages that are known and have not ended, and those that have begun.
        self.known: list[Closed] = []
        self.active: list[Closed] = []
        self.user = {job.job_id: job.user for job in jobs}
        super().__init__(machine, jobs, requests, mechanism, **rules)
        times = [to_ticks(time) for job in jobs for time in (job.submit, job.notice) if time is not None]
        first = min(times, default=0) if self.begin_at is None else self.begin_at
        closed = []
        for outage, nodes in zip(outages, nodes_by_outage(outages, machine), strict=True):
            begin, end = max(first, to_ticks(outage.start)), to_ticks(outage.end)
            known = first if outage.announced is None else max(first, to_ticks(outage.announced))
            if end > first:
                failure = outage.kind is OutageKind.FAILURE
                closed.append(Closed(outage, nodes, begin, end, begin if failure else known))
        for window in sorted(closed, key=lambda window: window.begin):
            if window.known == first and window.outage.kind is not OutageKind.FAILURE:
                self.known.append(window)
            elif window.known < window.begin:
                self.push(window.known, OUTAGE, 0, partial(self.announce, window))
            self.push(window.end, OUTAGE, 0, partial(self.end_outage, window))
            self.push(window.begin, OUTAGE, 1, partial(self.begin_outage, window))

    # --- what is closed ---

    def admits(self, window: Closed, task: Task) -> bool:
        user, account = self.user[task.id], self.request[task.id].account
        outage = window.outage
        return task.id in outage.jobs or user in set(outage.users) - {""} or account in set(outage.projects) - {""}

    def is_open(self, task: Task, node: int, begin: int, end: int) -> bool:
        return not any(
            node in window.nodes and window.begin + TOLERANCE < end and begin < window.end
            for window in self.known
            if not self.admits(window, task)
        )

    def is_open_at(self, task: Task, node: int, time: int) -> bool:
        windows = [window for window in self.known if window.begin <= time + TOLERANCE and time < window.end]
        if time == self.now:
            windows = self.active
        return not any(node in window.nodes and not self.admits(window, task) for window in windows)

    def openings(self) -> dict[int, set[int]]:
        found: dict[int, set[int]] = {}
        for window in self.known:
            found.setdefault(window.end, set()).update(window.nodes)
        return found

    def unavailable_amounts(self) -> tuple[int, int]:
        booked: set[int] = set()
        down: set[int] = set()
        for window in self.active:
            (booked if window.outage.kind is OutageKind.RESERVATION else down).update(window.nodes)

        def idle(node: int) -> int:
            free, all_of_it = self.free(node)["cores"], self.site.nodes[node]["cores"]
            return int(free == all_of_it) if self.whole else free

        return sum(map(idle, down)), sum(map(idle, booked - down))

    # --- begins and ends ---

    def announce(self, window: Closed) -> bool:
        self.known.append(window)
        return True

    def end_outage(self, window: Closed) -> bool:
        self.known.remove(window)
        self.active.remove(window)
        self.release(window.nodes)
        return True

    def begin_outage(self, window: Closed) -> bool:
        self.active.append(window)
        if window not in self.known:
            self.known.append(window)
        kept, emptied = [], set()
        for hold in self.holds:
            task = next(task for task in self.tasks if task.id == hold.owner)
            reserved = hold.owner in self.reservations
            if reserved and hold.node in window.nodes and not self.admits(window, task):
                emptied.add(hold.node)
            else:
                kept.append(hold)
        self.holds = kept
        self.release(emptied)
        if window.outage.running == "wait":
            return True
        short = self.take_parts_of_arrivals(window)
        if window.outage.kind is OutageKind.FAILURE:
            self.fail(window, short)
        else:
            self.preempt(window)
            for task in sorted(short, key=lambda task: task.id):
                self.give_up_parts(task)
        return True

    def take_parts_of_arrivals(self, window: Closed) -> list[Task]:
        """Arrived jobs that have not started, and have lost a part."""
        short = []
        for arrived in list(self.arrived.values()):
            task = arrived.task
            lost = [hold for hold in self.of(task.id) if hold.node in window.nodes]
            if lost and not self.admits(window, task):
                self.holds = [hold for hold in self.holds if hold not in lost]
                del self.arrived[task.id]
                self.loans[task.id] = arrived.loans
                self.move_loans(task)
                short.append(task)
        return short

    def move_loans(self, task: Task) -> None:
        for loan in self.loans.get(task.id, []):
            loan.moved = True

    def on_nodes(self, window: Closed) -> list[Run]:
        return [run for run in self.live if window.nodes & set(run.taken) and not self.admits(window, run.task)]

    def preempt(self, window: Closed) -> None:
        victims = [run for run in self.on_nodes(window) if run.running and run.expected_end > self.now + TOLERANCE]
        victims.sort(key=lambda run: (run.task.type == JobType.ON_DEMAND, run.overhead(self.now), run.id))
        for run in victims:
            if run.task.malleable:
                self.warn(run)
                continue
            self.stop(run)
            self.move_loans(run.task)
            self.release(run.taken)

    def fail(self, window: Closed, short: list[Task]) -> None:
        for run in sorted(self.on_nodes(window), key=lambda run: run.id):
            task = run.task
            rest = {node: part for node, part in run.taken.items() if node not in window.nodes}
            if run.ended:
                continue
            if run.warned_until is not None:
                self.vacate(run)
            elif task.malleable and self.served[task.id] and len(rest) >= task.min_nodes:
                self.result[task.id].shrinks += 1
                self.resize(run, rest)
            elif task.malleable:
                self.lose(run)
                self.release(run.taken)
            elif task.type == JobType.ON_DEMAND:
                self.stop(run)
                task.waiting = False
                self.move_loans(task)
                for node in sorted(rest) if self.served[task.id] else ():
                    if self.coverable(task, node):
                        self.keep(task, node)
                short.append(task)
            else:
                self.stop(run)
                self.release(run.taken)
        for task in sorted(short, key=lambda task: task.id):
            if self.served[task.id] and self.attainable(task, None) >= task.nodes:
                self.collect(task, self.loans.pop(task.id, []), [], [], set())
            else:
                self.give_up_parts(task)

    def lose(self, run: Run) -> None:
        """Preempt a malleable run without a warning."""
        self.warn(run)
        run.warned_until = None
        self.leave(run)
        run.task.waiting = True

    def give_up_parts(self, task: Task) -> None:
        """An arrived job waits without nodes; as long as it waits, reservations do not collect them."""
        self.holds = [hold for hold in self.holds if hold.owner != task.id]
        task.waiting = True


def replay_with_outages(
    machine: Any,
    jobs: Sequence[Job],
    requests: Sequence[Any],
    mechanism: str,
    outages: Sequence[Outage],
    *,
    placement: str = "pack",
    depth: int | None = 1,
    **reading: Any,
) -> SharedReplay:
    """Simulate a job table on a machine with outages.

    Parameters
    ----------
    outages
        Outages of a partition, of nodes the names of which are separated by commas, or of any nodes.
    machine, jobs, requests, mechanism, placement, depth, **reading
        As of :func:`tests.reference.shared_mechanisms.replay_shared_nodes`.
    """
    rules = {"placement": placement, "depth": depth, "reading": Reading(**reading)}
    return OutageModel(machine, jobs, requests, mechanism, outages, **rules).replay()
