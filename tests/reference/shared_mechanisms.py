"""Mechanisms on shared nodes (rule 7 of the machine's rules) as a list of nodes, for comparison only.

Everything is looked up anew whenever it is needed. It follows tests/reference/hybrid.py with named nodes instead of
counts, and tests/reference/resources.py in its passes; this is what the rules leave open:

* A job has equal *parts*, one for each node. Tasks alone are divided into the fewest equal parts that fit every node
  which holds a task (if the machine does not hold these, into the fewest that it holds); an on-demand job for which
  there are none waits at the front of the queue, a malleable one keeps its size. The mechanism acts in the first
  partition that the job fits.
* A *hold* keeps a part of a node for a reservation or an arrived job. Tenants, and jobs under warning that the hold
  waits for, run inside of it: it takes the larger of its part and of what they take.
* A reservation takes nodes that cover its part when it is made (in the order of placement), then those on which
  something is released and that cover it then (in the order of the file).
* An idle held part is lent as a whole to one tenant, which must fit into it.
* The overhead of a run counts what it takes in the unit of the machine: nodes, or cores.
* Nodes that several sets make equally cheap: the set of the smaller ids, then the order of the file.
* A malleable job gives a node if its own part there and what is free suffice; of several such jobs, the one with the
  smallest id gives it.
* Jobs that run at the beginning are placed anew, exclusive ones first, then by GPUs, cores and starts.
* Reservations collect, for the shadow times, what is released later and then covers their part; jobs that start now do
  not respect this.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import partial
from itertools import combinations, pairwise
from typing import Any

from holdfast.workloads.ground.units import to_ticks
from holdfast.workloads.table.job import Job, JobType
from tests.reference.hybrid import Reading, Task, work_time
from tests.reference.resources import PlainJob, _Busy, _Site

__all__ = ["NoRoomError", "Outcome", "SharedReplay", "replay_shared_nodes"]

TOLERANCE = 1
COMPLETION, REQUEUE, CANCELLATION, OUTAGE, PLANNED, NOTICE, ARRIVAL = range(7)
Amounts = dict[str, int]


@dataclass
class Outcome:
    """What became of a job: ticks, and each stretch of time with its nodes."""

    start: int | None = None
    end: int | None = None
    preemptions: int = 0
    shrinks: int = 0
    lost: int = 0
    cancelled: bool = False
    submit: int | None = None
    segments: list[tuple[int, int, tuple[int, ...]]] = field(default_factory=list)


class SharedReplay(dict[int, Outcome]):
    """Outcomes by job id, amounts of time by purpose, and what happened: (tick, what, job id, nodes)."""

    def __init__(self) -> None:
        super().__init__()
        self.totals = dict.fromkeys(("compute", "setup", "checkpoint", "lost", "warning", "held", "down", "idle"), 0)
        self.log: list[tuple[int, str, int, tuple[int, ...]]] = []
        self.levels: list[tuple[int, int, int, int]] = []  # tick, busy, held, down


class NoRoomError(Exception):
    """A job that runs at the beginning has no room."""


class Run:
    """One run of a job."""

    def __init__(self, model: Model, task: Task, partition: str, taken: dict[int, Amounts], size: int) -> None:
        self.model, self.task, self.partition, self.taken, self.size = model, task, partition, taken, size
        self.number = task.runs
        self.start = self.since = self.shown = model.now
        self.opened = model.now  # its time is accounted for from then on
        self.ended = False
        self.warned_until: int | None = None
        self.for_reservation: Reservation | None = None
        self.setup_units = self.work_units = 0
        self.end = self.start + task.runtime_at(size)
        self.expected_end = self.start + task.walltime_at(size)

    @property
    def id(self) -> int:
        return self.task.id

    @property
    def running(self) -> bool:
        return not self.ended and self.warned_until is None

    @property
    def units(self) -> int:
        return self.model.units(self.taken)

    def ran_since(self, start: int) -> None:
        """It has run since an earlier time, at the size that it has now."""
        task, now = self.task, self.model.now
        self.start = self.shown = start
        self.end, self.expected_end = start + task.runtime_at(self.size), start + task.walltime_at(self.size)
        worked = max(0, now - start - task.setup) * self.size
        task.work, task.work_est = max(0, task.work - worked), max(0, task.work_est - worked)

    def ticks_by_use(self, at: int) -> tuple[int, int, int]:
        """Setup, compute and checkpoints of a rigid run by a time."""
        task, elapsed, cycles = self.task, at - self.start, self.cycles(at)
        setup = min(elapsed, task.setup)
        rest = elapsed - setup - cycles * ((task.tau or 0) + task.delta)
        computed = min(rest, task.tau or 0) if cycles < task.dumps else rest
        return setup, cycles * (task.tau or 0) + computed, cycles * task.delta + rest - computed

    def cycles(self, at: int) -> int:
        task = self.task
        if task.tau is None:
            return 0
        return max(0, min((at - self.start - task.setup) // (task.tau + task.delta), task.dumps))

    def overhead(self, at: int) -> int:
        task = self.task
        if task.malleable:
            return self.units * task.setup
        return self.units * (at - self.start - self.cycles(at) * ((task.tau or 0) + task.delta))


@dataclass(eq=False)
class Hold:
    """A part of a node that is kept for an on-demand job."""

    owner: int
    node: int
    need: Amounts
    guests: list[Run] = field(default_factory=list)


@dataclass(eq=False)
class Loan:
    run: Run
    nodes: list[int]
    parts: dict[int, Amounts] | None = None  # of a run that was shrunk
    moved: bool = False  # an outage took nodes of the borrower, which returns as many others


@dataclass(eq=False)
class Reservation:
    task: Task
    notice: int
    estimated: int
    plan: list[Run] = field(default_factory=list)
    loans: list[Loan] = field(default_factory=list)

    @property
    def id(self) -> int:
        return self.task.id


@dataclass(eq=False)
class Arrived:
    task: Task
    loans: list[Loan]
    ready: int


class Model:
    """The whole state, and one method for each kind of event."""

    def __init__(
        self,
        machine: Any,
        jobs: Sequence[Job],
        requests: Sequence[Any],
        mechanism: str,
        *,
        placement: str,
        depth: int | None,
        reading: Reading,
    ) -> None:
        self.site = _Site(machine, placement, TOLERANCE)
        self.placement, self.depth, self.reading = placement, depth, reading
        self.whole = all(partition.exclusive for partition in machine.partitions)
        self.warning, self.timeout = to_ticks(reading.warning), to_ticks(reading.timeout)
        self.notice_strategy, _, self.arrival_strategy = mechanism.partition("-")
        baseline = mechanism == "baseline"
        self.now = 0
        self.live: list[Run] = []
        self.holds: list[Hold] = []
        self.reservations: dict[int, Reservation] = {}
        self.arrived: dict[int, Arrived] = {}
        self.loans: dict[int, list[Loan]] = {}
        self.result = SharedReplay()
        self.events: list[tuple[int, int, int, int, Callable[[], bool]]] = []
        self.pushed = 0
        self.tasks: list[Task] = []
        self.request: dict[int, Any] = {}
        self.options: dict[int, list[str]] = {}
        self.served: dict[int, bool] = {}
        self.plain: dict[int, PlainJob] = {}
        self.patience: dict[int, int | None] = {}  # from the submit on
        self.think: dict[int, int | None] = {}
        self.followers: dict[int, list[Task]] = {}
        self.withheld: dict[int, Amounts] = {}  # what an on-demand job gives back just now
        since = [to_ticks(job.running_since) for job in jobs if job.running_since is not None]
        self.begin_at = max(since) if since else None
        running: list[tuple[int, Task]] = []
        early: list[Task] = []
        noticed: list[Task] = []
        for row, (job, given) in enumerate(zip(jobs, requests, strict=True)):
            request, equal = given, self.site.layout(given) is not None
            seconds = job.trace_walltime if baseline and job.trace_walltime is not None else job.walltime
            if not equal and not baseline and job.type in (JobType.ON_DEMAND, JobType.MALLEABLE):
                for each in self.part_sizes(given, seconds):
                    other = given._replace(tasks_per_node=each)
                    if self.site.options(PlainJob(0, seconds, 1, other)):
                        request, equal = other, True
                        break
            options = self.site.options(PlainJob(0, seconds, 1, request))
            assert options, f"job {job.job_id} does not fit"
            parts = self.site.requested_amounts(PlainJob(0, seconds, 1, request), options[0])["nodes"]
            least = parts
            if equal and job.min_nodes is not None:
                least = max(1, -(-job.min_nodes * parts // job.nodes))
            own = replace(job, nodes=parts, min_nodes=least if job.min_nodes is not None else None)
            task = Task(own, row, baseline, reading)
            self.tasks.append(task)
            self.request[task.id], self.options[task.id] = request, options
            self.served[task.id] = equal
            self.plain[task.id] = PlainJob(0, 0, 0, request, job.user)
            self.result[task.id] = Outcome()
            self.patience[task.id] = None
            since = task.submit if task.submit is not None else task.notice
            if job.cancelled_at is not None and since is not None:
                self.patience[task.id] = max(0, to_ticks(job.cancelled_at) - since)
            self.think[task.id] = None if job.think_time is None else to_ticks(job.think_time)
            if job.preceding is not None:
                self.followers.setdefault(job.preceding, []).append(task)
            elif job.running_since is not None:
                running.append((to_ticks(job.running_since), task))
            elif task.submit is not None:
                if self.begin_at is not None and task.submit < self.begin_at and task.arrival == task.submit:
                    early.append(task)
                else:
                    self.push(max(task.submit, self.begin_at or 0), ARRIVAL, task.id, partial(self.submit, task))
            if self.notice_strategy in ("CUA", "CUP") and task.notice is not None and equal:
                noticed.append(task)
        self.expect(early, noticed)
        self.place_running_jobs(running)

    def expect(self, early: list[Task], noticed: list[Task]) -> None:
        """Jobs and notices from before the begin come then, the earliest first, before all others."""
        begin = self.begin_at
        for task in sorted(early, key=lambda task: (task.submit, task.id)):
            assert begin is not None
            self.push(begin, ARRIVAL, -1, partial(self.submit, task))
        for task in sorted(noticed, key=lambda task: (task.notice, task.id)):
            assert task.notice is not None and task.estimated is not None
            if begin is None or task.notice >= begin:
                self.push(task.notice, NOTICE, task.id, partial(self.advance_notice, task))
                continue
            patience = self.patience[task.id]
            withdrawn = task.submit is None and patience is not None and task.notice + patience < begin
            arrived = task.submit is not None and task.submit < begin
            if not withdrawn and not arrived and task.estimated >= begin:
                self.push(begin, NOTICE, -1, partial(self.advance_notice, task))

    def place_running_jobs(self, running: list[tuple[int, Task]]) -> None:
        """Exclusive jobs first, then by GPUs, by cores, and by their starts."""
        if self.begin_at is None:
            return
        self.now = self.begin_at
        self.push(self.now, ARRIVAL, -1, lambda: True)

        def turn(item: tuple[int, Task]) -> tuple[bool, int, int, int, int]:
            since, task = item
            request, partition = self.request[task.id], self.options[task.id][0]
            asked = self.site.requested_amounts(self.plain[task.id], partition)
            alone = request.exclusive or self.site.partition[partition].exclusive
            return not alone, -asked["gpus"], -asked["cores"], since, task.id

        for since, task in sorted(running, key=turn):
            assert task.submit is not None
            self.result[task.id].submit = task.submit
            for partition in self.options[task.id]:
                free = {node: self.free(node) for node in self.eligible(task, partition)}
                taken = self.fill(task, partition, task.nodes, free, ())
                if taken is not None:
                    self.begin(task, partition, taken, task.nodes, since)
                    break
            else:
                raise NoRoomError(task.id)
            patience = self.patience[task.id]
            if patience is not None:
                self.push(task.submit + patience, CANCELLATION, task.id, partial(self.cancel, task))

    def part_sizes(self, request: Any, walltime: float) -> list[int]:
        """Tasks of a part: at first those that fit every node which holds a task, the largest first."""
        job = PlainJob(0, walltime, 1, request)
        name = self.site.options(job)[0]
        most = [
            self.site.most(
                request.tasks,
                lambda n, node=node: covers(
                    self.site.nodes[node], self.site.amounts(request, self.site.partition[name], n)
                ),
            )
            for node in self.site.members[name]
            if self.site._is_suitable(job, name, node)
        ]
        smallest = min(count for count in most if count)
        sizes = {-(-request.tasks // count) for count in range(1, request.tasks + 1)}
        return sorted(sizes, key=lambda size: (size > smallest, -size))

    # --- the clock ---

    def push(self, time: int, kind: int, job_id: int, handler: Callable[[], bool]) -> None:
        self.pushed += 1
        heapq.heappush(self.events, (time, kind, job_id, self.pushed, handler))

    def replay(self) -> SharedReplay:
        while self.events:
            self.now = self.events[0][0]
            changed = False
            while self.events and self.events[0][0] == self.now:
                changed = heapq.heappop(self.events)[-1]() or changed
                self.check()
            if changed:
                self.schedule()
                self.check()
            self.result.levels.append((self.now, *self.level()))
        self.account()
        return self.result

    def log(self, what: str, job_id: int, nodes: Iterable[int] = ()) -> None:
        self.result.log.append((self.now, what, job_id, tuple(sorted(nodes))))

    def check(self) -> None:
        """No node is overfull, and exclusive jobs are alone."""
        for node in range(len(self.site.nodes)):
            assert min(self.free(node).values()) >= 0, (self.now, node, self.free(node))

    # --- limits ---

    def is_stopped(self, task: Task, partition: str, amounts: Amounts) -> bool:
        """Whether a limit forbids a start; runs under warning and arrived jobs that wait for these count."""
        users = [(self.plain[run.id], run.partition, self.site.taken_amounts(run.taken)) for run in self.live]
        for arrived in self.arrived.values():
            own = {hold.node: hold.need for hold in self.of(arrived.task.id)}
            users.append((self.plain[arrived.task.id], self.options[arrived.task.id][0], self.site.taken_amounts(own)))
        return self.site.is_stopped(self.plain[task.id], partition, amounts, users)

    def requested_amounts(self, task: Task, partition: str, size: int) -> Amounts:
        """What a job asks for in all, at a size."""
        counts = self.site.layout(self.request[task.id])
        if counts is None or size == len(counts):
            return self.site.requested_amounts(self.plain[task.id], partition)
        part = self.site.amounts(self.request[task.id], self.site.partition[partition], counts[0])
        return {"running": 1, "nodes": size} | {name: size * part[name] for name in ("cores", "memory", "gpus")}

    # --- amounts ---

    def units(self, taken: dict[int, Amounts]) -> int:
        return len(taken) if self.whole else sum(part["cores"] for part in taken.values())

    def level(self) -> tuple[int, int, int]:
        """Busy, held and down, in the unit of the machine."""
        busy = sum(run.units for run in self.live)
        held = 0
        for hold in self.holds:
            inside = sum(guest.taken[hold.node]["cores"] for guest in hold.guests)
            if self.whole:
                held += not hold.guests
            else:
                held += max(0, hold.need["cores"] - inside)
        down, reserved = self.unavailable_amounts()
        return busy, held + reserved, down

    def part(self, task: Task, partition: str, count: int, node: int) -> Amounts:
        """What tasks (or a part without tasks) take of a node."""
        request, site = self.request[task.id], self.site.partition[partition]
        if request.exclusive or site.exclusive:
            return dict(self.site.nodes[node])
        return self.site.amounts(request, site, count)

    def eligible(self, task: Task, partition: str) -> list[int]:
        job = PlainJob(0, 0, 0, self.request[task.id])
        return sorted(node for node in self.site.members[partition] if self.site._is_suitable(job, partition, node))

    def need(self, task: Task, node: int) -> Amounts:
        """The part of an on-demand job on a node, which need not have so much."""
        counts = self.site.layout(self.request[task.id])
        assert counts is not None
        return self.part(task, self.options[task.id][0], counts[0], node)

    # --- outages: tests/reference/shared_outages.py has them ---

    def is_open(self, task: Task, node: int, begin: int, end: int) -> bool:
        """Whether no outage that is known closes a node to a job from one time to another."""
        return True

    def is_open_at(self, task: Task, node: int, time: int) -> bool:
        """Whether no outage that is known closes a node to a job at a time."""
        return True

    def openings(self) -> dict[int, set[int]]:
        """The ends of the outages that are known, with their nodes."""
        return {}

    def unavailable_amounts(self) -> tuple[int, int]:
        """What is down, and what is free in advance reservations, in the unit of the machine."""
        return 0, 0

    def nodes_for(self, task: Task) -> list[int]:
        """Nodes that can have a part of an on-demand job now."""
        return [node for node in self.suitable(task) if self.is_open_at(task, node, self.now)]

    def suitable(self, task: Task) -> list[int]:
        """Nodes that can have a part of an on-demand job when they are open."""
        partition, request = self.options[task.id][0], self.request[task.id]
        counts = self.site.layout(request)
        assert counts is not None
        asked = self.site.amounts(request, self.site.partition[partition], counts[0])
        return [node for node in self.eligible(task, partition) if covers(self.site.nodes[node], asked)]

    def inside(self, run: Run, node: int) -> Hold | None:
        return next((hold for hold in self.holds if hold.node == node and run in hold.guests), None)

    def ordinary(self, run: Run, node: int) -> bool:
        return node in run.taken and self.inside(run, node) is None

    def borrows(self, run: Run) -> bool:
        return any(run in hold.guests and hold.owner in self.reservations for hold in self.holds)

    def free(self, node: int) -> Amounts:
        left = dict(self.site.nodes[node])
        for hold in self.holds:
            if hold.node == node:
                for name in left:
                    inside = sum(guest.taken[node].get(name, 0) for guest in hold.guests)
                    left[name] -= max(hold.need.get(name, 0), inside)
        for run in self.live:
            if self.ordinary(run, node):
                left = less(left, run.taken[node])
        return less(left, self.withheld.get(node, {}))

    def of(self, owner: int) -> list[Hold]:
        return [hold for hold in self.holds if hold.owner == owner]

    def has(self, owner: int, node: int) -> bool:
        return any(hold.node == node for hold in self.of(owner))

    # --- runs ---

    def begin(self, task: Task, partition: str, taken: dict[int, Amounts], size: int, since: int | None = None) -> Run:
        task.waiting = False
        task.runs += 1
        run = Run(self, task, partition, taken, size)
        if since is not None:
            run.ran_since(since)
        self.live.append(run)
        if self.result[task.id].start is None:
            self.result[task.id].start = run.start
        self.log("start", task.id, taken)
        self.push(run.end, COMPLETION, run.id, partial(self.complete, run, run.end))
        return run

    def progress(self, run: Run) -> None:
        stretch, task = self.now - run.since, run.task
        if run.shown < self.now:
            self.result[task.id].segments.append((run.shown, self.now, tuple(sorted(run.taken))))
            run.shown = self.now
        if task.malleable and run.warned_until is None:
            in_setup = max(0, min(self.now, run.start + task.setup) - run.since)
            run.setup_units += in_setup * run.units
            run.work_units += (stretch - in_setup) * run.units
            task.work = max(0, task.work - (stretch - in_setup) * run.size)
            task.work_est = max(0, task.work_est - (stretch - in_setup) * run.size)
        run.since = self.now

    def resize(self, run: Run, taken: dict[int, Amounts]) -> None:
        self.progress(run)
        run.size += len(taken) - len(run.taken)
        run.taken = taken
        ready = max(self.now, run.start + run.task.setup)
        run.end = max(self.now, ready + work_time(run.task.work, run.size))
        run.expected_end = max(self.now, ready + work_time(run.task.work_est, run.size))
        self.log("resize", run.id, taken)
        self.push(run.end, COMPLETION, run.id, partial(self.complete, run, run.end))

    def leave(self, run: Run) -> None:
        run.ended = True
        self.live.remove(run)
        for hold in self.holds:
            if run in hold.guests:
                hold.guests.remove(run)

    def stop(self, run: Run) -> None:
        """Preempt a rigid run."""
        task, totals, outcome = run.task, self.result.totals, self.result[run.id]
        self.progress(run)
        cycles = run.cycles(self.now)
        secured, dumped = cycles * (task.tau or 0), cycles * task.delta
        _, computed, checkpoints = run.ticks_by_use(run.opened)
        own, written = secured - min(secured, computed), dumped - min(dumped, checkpoints)
        lost = run.units * (self.now - run.opened - own - written)
        totals["compute"] += run.units * own
        totals["checkpoint"] += run.units * written
        totals["lost"] += lost
        outcome.lost += lost
        task.compute -= secured
        task.dumps -= cycles
        task.walltime -= secured
        outcome.preemptions += 1
        self.log("preempt", task.id, run.taken)
        self.leave(run)
        task.waiting = True

    def warn(self, run: Run) -> None:
        task, totals, outcome = run.task, self.result.totals, self.result[run.id]
        self.progress(run)
        run.warned_until = self.now + self.warning
        task.former = run.size
        totals["compute"] += run.work_units
        totals["lost"] += run.setup_units
        outcome.lost += run.setup_units
        outcome.preemptions += 1
        self.log("warn", task.id, run.taken)
        self.push(run.warned_until, COMPLETION, run.id, partial(self.vacate, run))

    # --- reservations ---

    def by_notice(self) -> list[Reservation]:
        return sorted(self.reservations.values(), key=lambda item: (item.notice, item.id))

    def missing_nodes(self, reservation: Reservation) -> int:
        return reservation.task.nodes - len(self.of(reservation.id))

    def on_demand_waits(self) -> bool:
        return any(task.waiting and task.type == JobType.ON_DEMAND for task in self.tasks)

    def keep(self, task: Task, node: int, guests: Iterable[Run] = ()) -> None:
        self.holds.append(Hold(task.id, node, self.need(task, node), list(guests)))

    def coverable(self, task: Task, node: int, more: Iterable[Amounts] = ()) -> bool:
        """Whether a node without a part of the job covers one, with what others give up."""
        if node not in self.nodes_for(task) or self.has(task.id, node):
            return False
        free = self.free(node)
        for part in more:
            free = plus(free, part)
        return covers(free, self.need(task, node))

    def release(self, nodes: Iterable[int]) -> None:
        """Something was released on nodes: open reservations collect those that cover their parts."""
        if self.on_demand_waits():
            return
        for reservation in self.by_notice():
            for node in sorted(nodes):
                if self.missing_nodes(reservation) > 0 and self.coverable(reservation.task, node):
                    self.keep(reservation.task, node)

    def close(self, reservation: Reservation) -> list[int]:
        nodes = [hold.node for hold in self.of(reservation.id)]
        del self.reservations[reservation.id]
        self.holds = [hold for hold in self.holds if hold.owner != reservation.id]
        for run in self.live:
            if run.for_reservation is reservation:
                run.for_reservation = None
        return nodes

    def under_warning(self, reservation: Reservation) -> list[int]:
        """Nodes that the planned victims under warning will make available to their reservation."""
        runs = [run for run in self.live if run.for_reservation is reservation]
        nodes = sorted({node for run in runs for node in run.taken})
        return [
            node
            for node in nodes
            if self.coverable(
                reservation.task, node, [run.taken[node] for run in runs if self.ordinary(run, node)]
            )
        ]  # fmt: skip

    def take(self, reservation: Reservation, run: Run) -> None:
        """A planned victim has left: its nodes go to its reservation first."""
        taken = []
        for node in sorted(run.taken):
            if self.missing_nodes(reservation) > 0 and self.coverable(reservation.task, node):
                self.keep(reservation.task, node)
                taken.append(node)
        if taken:
            reservation.loans.append(Loan(run, taken))

    # --- completions and vacated nodes ---

    def complete(self, run: Run, end: int) -> bool:
        if not run.running or run.end != end:
            return False
        task, totals = run.task, self.result.totals
        self.progress(run)
        if task.malleable:
            totals["setup"] += run.setup_units
            totals["compute"] += run.work_units
        elif run.opened > run.start:
            self.book(run)
        else:
            totals["setup"] += run.units * task.setup
            totals["checkpoint"] += run.units * task.dumps * task.delta
            totals["compute"] += run.units * (self.now - run.start - task.setup - task.dumps * task.delta)
        self.log("complete", task.id, run.taken)
        self.result[task.id].end = self.now
        self.leave(run)
        if task.type == JobType.ON_DEMAND:
            self.return_loans(task.id, dict(run.taken), self.loans.pop(task.id, []))
        else:
            self.release(run.taken)
        self.follow(task)
        return True

    def return_loans(self, job_id: int, left: dict[int, Amounts], loans: list[Loan]) -> None:
        """What an on-demand job gives up goes to its lenders."""
        nodes = sorted(left)
        self.withheld = left
        for loan in loans:
            lent = sorted(node for node in loan.nodes if node in left)
            if loan.moved:
                lent = sorted(left, key=lambda node: (node not in loan.nodes, node))[: len(loan.nodes)]
            task = loan.run.task
            if loan.parts is not None:
                if loan.run.running:
                    back = {}
                    for node in lent:
                        part = loan.parts.get(node) or self.further_part(loan.run, node)
                        if part is None or not self.is_open(task, node, self.now, loan.run.expected_end):
                            continue
                        room = plus(self.free(node), left[node])
                        if loan.run.size + len(back) < task.nodes and covers(room, part):
                            back[node] = part
                    for node in back:
                        del left[node]
                    if back:
                        self.resize(loan.run, loan.run.taken | back)
            elif task.waiting and task.runs == loan.run.number:
                found = None
                for partition in self.options[task.id]:
                    free = {node: self.free(node) for node in self.eligible(task, partition)}
                    for node in lent:
                        if node in free:
                            free[node] = plus(free[node], left[node])
                    found = found or self.largest(task, partition, free, lent)
                if found is not None:
                    partition, taken, size = found
                    for node in lent:
                        if node in taken:
                            del left[node]
                    self.begin(task, partition, taken, size)
        self.withheld = {}
        self.release(nodes)

    def further_part(self, run: Run, node: int) -> Amounts | None:
        """What a malleable run takes of a node that it has not had; None: it cannot have it."""
        if node in run.taken or node not in self.eligible(run.task, run.partition):
            return None
        counts = self.site.layout(self.request[run.id])
        assert counts is not None
        return self.part(run.task, run.partition, counts[0], node)

    def largest(
        self, task: Task, partition: str, free: dict[int, Amounts], first: Sequence[int]
    ) -> tuple[str, dict[int, Amounts], int] | None:
        """The job on as many nodes as it can have, some of them before all others."""
        least, most = task.sizes
        for size in range(most, least - 1, -1):
            end = self.now + task.walltime_at(size)
            open_ones = {node: have for node, have in free.items() if self.is_open(task, node, self.now, end)}
            taken = self.fill(task, partition, size, open_ones, first)
            if taken is not None and not self.is_stopped(task, partition, self.site.taken_amounts(taken)):
                return partition, taken, size
        return None

    def vacate(self, run: Run) -> bool:
        if run.ended:
            return False
        self.give_up(run)
        self.push(self.now, REQUEUE, run.id, partial(self.requeue, run.task))
        return True

    def give_up(self, run: Run) -> None:
        """A run under warning leaves its nodes to those that wait for them."""
        self.progress(run)
        assert run.warned_until is not None
        warned = run.units * (self.now - (run.warned_until - self.warning))
        self.result.totals["warning"] += warned
        self.result[run.id].lost += warned
        self.log("vacate", run.id, run.taken)
        reservation = run.for_reservation
        self.leave(run)
        if reservation is not None:
            self.take(reservation, run)
        self.release(run.taken)
        for arrived in list(self.arrived.values()):
            if not any(hold.guests for hold in self.of(arrived.task.id)):
                del self.arrived[arrived.task.id]
                self.launch(arrived)

    def launch(self, arrived: Arrived) -> None:
        """An arrived job that has all its nodes starts."""
        task = arrived.task
        counts = self.site.layout(self.request[task.id])
        assert counts is not None
        nodes = sorted(hold.node for hold in self.of(task.id))
        assert len(nodes) == len(counts)
        partition = self.options[task.id][0]
        self.holds = [hold for hold in self.holds if hold.owner != task.id]
        self.loans[task.id] = arrived.loans
        taken = {node: self.part(task, partition, count, node) for node, count in zip(nodes, counts, strict=True)}
        self.begin(task, partition, taken, len(nodes))
        self.release(nodes)

    # --- requeues, time-outs, plans ---

    def requeue(self, task: Task) -> bool:
        if self.result[task.id].end is not None:
            return False
        task.waiting = True
        return True

    def time_out(self, reservation: Reservation) -> bool:
        if self.reservations.get(reservation.id) is not reservation:
            return False
        self.log("time-out", reservation.id)
        self.release(self.close(reservation))
        return True

    def planned_preemption(self, reservation: Reservation, run: Run) -> bool:
        if self.reservations.get(reservation.id) is not reservation or not run.running:
            return False
        reservation.plan.remove(run)
        if self.missing_nodes(reservation) - len(self.under_warning(reservation)) <= 0:
            self.log("drop", run.id)
            return True
        if run.task.malleable:
            self.warn(run)
            run.for_reservation = reservation
        else:
            self.stop(run)
            self.take(reservation, run)
            self.release(run.taken)
        return True

    def advance_notice(self, task: Task) -> bool:
        assert task.notice is not None and task.estimated is not None
        if task.submit is not None and task.submit < self.now:
            return False
        reservation = Reservation(task, task.notice, task.estimated)
        self.reservations[task.id] = reservation
        if not self.on_demand_waits():
            for node in self.in_order(task, [node for node in self.nodes_for(task) if self.coverable(task, node)]):
                if self.missing_nodes(reservation) > 0:
                    self.keep(task, node)
        self.log("notice", task.id, [hold.node for hold in self.of(task.id)])
        patience = self.patience[task.id]
        if task.submit is None and patience is not None:
            self.push(task.notice + patience, CANCELLATION, task.id, partial(self.cancel, task))
        self.push(max(self.now, task.estimated + self.timeout), REQUEUE, task.id, partial(self.time_out, reservation))
        if self.notice_strategy == "CUP":
            self.plan(reservation)
        return True

    def in_order(self, task: Task, nodes: Iterable[int]) -> list[int]:
        sign = 1 if self.placement == "pack" else -1
        return sorted(nodes, key=lambda node: (self.site.weight[node], sign * self.free(node)["cores"], node))

    def plan(self, reservation: Reservation) -> None:
        task, gap = reservation.task, self.missing_nodes(reservation)
        estimated = max(self.now, reservation.estimated)
        planned = [run for other in self.reservations.values() for run in other.plan]
        known = [run for run in self.live if run.running and run not in planned and not self.borrows(run)]
        open_nodes = [node for node in self.nodes_for(task) if not self.has(task.id, node)]
        gone: dict[int, list[Amounts]] = {node: [] for node in open_nodes}
        counted: list[int] = []

        def leaves(runs: Iterable[Run]) -> None:
            nonlocal gap
            for run in runs:
                reservation.plan.append(run)
                for node in run.taken:
                    if node in gone:
                        gone[node].append(run.taken[node])
            for node in sorted({node for run in runs for node in run.taken}):
                if node in gone and node not in counted and gap > 0 and self.coverable(task, node, gone[node]):
                    counted.append(node)
                    gap -= 1

        for run in sorted(known, key=lambda run: (run.expected_end, run.id)):
            useful = any(node in gone and node not in counted for node in run.taken)
            if gap > 0 and run.expected_end <= estimated + TOLERANCE and useful:
                leaves([run])
        while gap > 0:
            choices = []
            for node in open_nodes:
                if node in counted or self.coverable(task, node, gone[node]):
                    continue
                free = self.free(node)
                for part in gone[node]:
                    free = plus(free, part)
                runs = [
                    (self.planned_overhead(run, estimated)[0], run.id, run.taken[node])
                    for run in known
                    if node in run.taken and run.task.preemptible and run.expected_end > estimated + TOLERANCE
                    and run not in reservation.plan
                ]  # fmt: skip
                found = cheapest(runs, less(self.need(task, node), free))
                if found is not None:
                    choices.append((*found, node))
            if not choices:
                break
            _, ids, _ = min(choices)
            victims = [run for run in known if run.id in ids]
            leaves(victims)
            for run in victims:
                _, time = self.planned_overhead(run, estimated)
                self.log("plan", run.id, run.taken)
                self.push(time, PLANNED, run.id, partial(self.planned_preemption, reservation, run))

    def planned_overhead(self, run: Run, estimated: int) -> tuple[int, int]:
        task = run.task
        if task.malleable:
            return run.units * task.setup, max(self.now, estimated - self.warning)
        if task.tau is not None:
            period = task.tau + task.delta
            number = (estimated - run.start - task.setup) // period
            last = run.start + task.setup + number * period
            if number >= 1 and last >= self.now:
                return run.units * task.setup, last
        return run.overhead(estimated), estimated

    # --- lives ---

    def submit(self, task: Task) -> bool:
        """A job is submitted; it is in the queue when it is eligible."""
        patience = self.patience[task.id]
        self.result[task.id].submit = task.submit
        if patience is not None:
            assert task.submit is not None
            self.push(max(self.now, task.submit + patience), CANCELLATION, task.id, partial(self.cancel, task))
        assert task.arrival is not None
        if task.arrival > self.now:
            self.push(task.arrival, ARRIVAL, task.id, partial(self.arrive, task))
            return False
        return self.arrive(task)

    def follow(self, task: Task) -> None:
        """Submit the jobs that depend on one that has ended."""
        for other in self.followers.get(task.id, []):
            think = self.think[other.id]
            assert other.submit is not None and other.arrival is not None
            at = max(self.now, other.submit) if think is None else self.now + think
            other.arrival = max(at, other.arrival) if other.arrival > other.submit else at
            other.submit = at
            self.push(at, ARRIVAL, other.id, partial(self.submit, other))

    def cancel(self, task: Task) -> bool:
        outcome = self.result[task.id]
        if task.submit is None:
            reservation = self.reservations.get(task.id)
            if reservation is not None:
                self.release(self.close(reservation))
            return reservation is not None
        if outcome.end is not None:
            return False
        outcome.end, outcome.cancelled = self.now, True
        run = next((run for run in self.live if run.task is task), None)
        if run is not None and run.warned_until is not None:
            self.give_up(run)
        elif run is not None:
            self.progress(run)
            self.book(run)
            self.leave(run)
            if task.type == JobType.ON_DEMAND:
                self.return_loans(task.id, dict(run.taken), self.loans.pop(task.id, []))
            else:
                self.release(run.taken)
        elif task.id in self.arrived:
            arrived = self.arrived.pop(task.id)
            left = {hold.node: hold.need for hold in self.of(task.id) if not hold.guests}
            self.holds = [hold for hold in self.holds if hold.owner != task.id]
            self.return_loans(task.id, left, arrived.loans)
        task.waiting = False
        self.follow(task)
        return True

    def book(self, run: Run) -> None:
        """What a cancelled run has spent, by purpose."""
        task, totals = run.task, self.result.totals
        if task.malleable:
            totals["setup"] += run.setup_units
            totals["compute"] += run.work_units
            return
        for name, before, now in zip(
            ("setup", "compute", "checkpoint"), run.ticks_by_use(run.opened), run.ticks_by_use(self.now), strict=True
        ):
            totals[name] += run.units * (now - before)

    # --- arrivals ---

    def arrive(self, task: Task) -> bool:
        if self.result[task.id].end is not None:
            return False
        self.log("arrive", task.id)
        if task.type != JobType.ON_DEMAND:
            task.waiting = True
            return True
        own = self.reservations.get(task.id)
        limited = self.is_stopped(
            task, self.options[task.id][0], self.requested_amounts(task, self.options[task.id][0], task.nodes)
        )
        if limited or not self.served[task.id] or self.attainable(task, own) < task.nodes:
            task.waiting = True
            if own is not None:
                self.close(own)
            self.log("wait", task.id)
            return True
        loans = [] if own is None else own.loans
        hosted: list[Run] = []
        planned: list[Run] = []
        released: set[int] = set()  # others get what is left when the job has all its nodes
        if own is not None:
            hosted = sorted(
                (run for run in self.live if any(run in hold.guests for hold in self.of(own.id))),
                key=lambda run: run.id,
            )
            planned = [run for run in self.live if run.for_reservation is own]
            del self.reservations[own.id]
            for run in planned:
                run.for_reservation = None
        for run in hosted:
            if run.task.malleable:
                if run.running:
                    self.warn(run)
            else:
                self.stop(run)
                for node in sorted(run.taken):
                    if self.lacks(task) > 0 and self.coverable(task, node):
                        self.keep(task, node)
                released |= set(run.taken)
        self.collect(task, loans, [run for run in hosted if not run.ended], planned, released)
        return True

    def collect(
        self, task: Task, loans: list[Loan], tenants: list[Run], planned: list[Run], released: set[int]
    ) -> None:
        """An arrived job that will get its nodes takes them; its tenants and planned victims are under warning."""
        going = sorted([*tenants, *planned], key=until)
        # Parts that malleable tenants occupy are the job's only if it needs them.
        lent = [hold for hold in self.of(task.id) if hold.guests]
        available = [node for node in self.nodes_for(task) if self.coverable(task, node)]
        wanted: list[Hold] = []
        missing = self.lacks(task)
        if missing > len(available):
            choices: list[tuple[int, int, int, list[Run]]] = []
            for node in self.nodes_for(task):
                hold = next((hold for hold in lent if hold.node == node), None)
                if hold is not None:
                    last = max(hold.guests, key=until)
                    choices.append((*until(last), node, []))
                elif node not in available:
                    prefix = self.prefix(task, node, going, [])
                    if prefix:
                        choices.append((*until(prefix[-1]), node, prefix))
            for _, _, node, prefix in sorted(choices, key=lambda choice: choice[:3]):
                if missing <= 0:
                    break
                missing -= 1
                if not prefix:
                    wanted.append(next(hold for hold in lent if hold.node == node))
                    continue
                self.keep(task, node, prefix)
                wanted.append(self.holds[-1])
                loans = with_loans(loans, [run for run in prefix if run in planned], node)
        unwanted = [hold for hold in lent if hold not in wanted]
        for node in self.in_order(task, available):
            if missing > 0:
                self.keep(task, node)
                missing -= 1
        self.holds = [hold for hold in self.holds if hold not in unwanted]
        if missing > 0 and self.arrival_strategy == "SPAA":
            shrunk = self.shrink(task, missing)
            missing -= sum(len(loan.nodes) for loan in shrunk)
            loans = [*loans, *shrunk]
            released |= {node for loan in shrunk for node in loan.nodes}
        while missing > 0:
            choices2 = []
            for node in self.nodes_for(task):
                if self.has(task.id, node):
                    continue
                free = self.free(node)
                for run in going:
                    if self.ordinary(run, node):
                        free = plus(free, run.taken[node])
                runs = [
                    (run.overhead(self.now), run.id, run.taken[node])
                    for run in self.live
                    if run.running and run.task.preemptible and self.ordinary(run, node)
                ]
                found = cheapest(runs, less(self.need(task, node), free))
                if found is not None:
                    choices2.append((*found, node))
            _, ids, chosen = min(choices2)
            victims = sorted((run for run in self.live if run.id in ids), key=lambda run: run.id)
            lenders = [run for run in victims if not self.borrows(run)]
            given: dict[int, list[int]] = {run.id: [] for run in victims}
            ordinary = {run.id: [node for node in run.taken if self.ordinary(run, node)] for run in victims}
            for run in victims:
                if run.task.malleable:
                    self.warn(run)
                else:
                    self.stop(run)
            leaving = [run for run in victims if run.task.malleable]
            for node in [chosen, *sorted({node for nodes in ordinary.values() for node in nodes} - {chosen})]:
                if missing <= 0:
                    break
                also = [run for run in leaving if self.ordinary(run, node)]
                prefix2 = self.prefix(task, node, going if node == chosen else [], also)
                if prefix2 is None:
                    continue
                self.keep(task, node, [*prefix2, *also])
                missing -= 1
                loans = with_loans(loans, [run for run in prefix2 if run in planned], node)
                for run in victims:
                    if node in ordinary[run.id]:
                        given[run.id].append(node)
            loans = [*loans, *(Loan(run, given[run.id]) for run in lenders if given[run.id])]
            # What they leave on further nodes counts for these, too.
            going = sorted([*going, *leaving], key=until)
            planned = [*planned, *(run for run in leaving if run in lenders)]
            for run in victims:
                if not run.task.malleable:
                    released |= set(run.taken)
        self.release(released | {hold.node for hold in unwanted})
        guests = [guest for hold in self.of(task.id) for guest in hold.guests]
        arrived = Arrived(task, loans, max((until(guest)[0] for guest in guests), default=self.now))
        if guests:
            self.arrived[task.id] = arrived
            self.log("hold", task.id, [hold.node for hold in self.of(task.id)])
        else:
            self.launch(arrived)

    def lacks(self, task: Task) -> int:
        """Nodes that an arrived job still misses; those on which malleable tenants run do not count."""
        return task.nodes - sum(not any(guest.task.malleable for guest in hold.guests) for hold in self.of(task.id))

    def prefix(self, task: Task, node: int, going: Sequence[Run], also: Sequence[Run]) -> list[Run] | None:
        """The first of the jobs under warning that must have left before a node covers the part; None: all do not."""
        there = [run for run in going if self.ordinary(run, node)]
        for count in range(len(there) + 1):
            if self.coverable(task, node, [run.taken[node] for run in [*there[:count], *also]]):
                return there[:count]
        return None

    def attainable(self, task: Task, own: Reservation | None) -> int:
        """Nodes that the job could have in all."""
        count = len(self.of(task.id))
        for node in self.nodes_for(task):
            if self.has(task.id, node):
                continue
            parts = []
            for run in self.live:
                if not self.ordinary(run, node):
                    continue
                mine = own is not None and (
                    run.for_reservation is own or any(run in hold.guests for hold in self.of(own.id))
                )
                preemptible = run.running and run.task.preemptible and self.arrival_strategy != "WAIT"
                if mine or preemptible:
                    parts.append(run.taken[node])
            count += self.coverable(task, node, parts)
        return count

    def shrink(self, task: Task, missing: int) -> list[Loan]:
        """Shrink malleable jobs evenly; nothing if that does not suffice."""
        useful: dict[int, list[int]] = {}
        seen: set[int] = set()
        runs = {
            run.id: run
            for run in sorted(self.live, key=lambda run: run.id)
            if run.running and run.task.malleable and not self.borrows(run)
        }
        for run in runs.values():
            useful[run.id] = [
                node
                for node in sorted(run.taken)
                if self.ordinary(run, node) and node not in seen and self.coverable(task, node, [run.taken[node]])
            ]
            seen |= set(useful[run.id])
        caps = {
            run.id: min(run.size - run.task.min_nodes, len(useful[run.id])) if self.served[run.id] else 0
            for run in runs.values()
        }
        if sum(caps.values()) < missing:
            return []
        shares = dict.fromkeys(caps, 0)
        while missing > 0:
            # One node after the other from all that still can: the remainder comes from the smallest ids.
            for job_id, cap in caps.items():
                if missing > 0 and shares[job_id] < cap:
                    shares[job_id] += 1
                    missing -= 1
        loans = []
        for job_id, share in shares.items():
            if share:
                run, nodes = runs[job_id], useful[job_id][:share]
                loans.append(Loan(run, nodes, {node: run.taken[node] for node in nodes}))
                self.result[job_id].shrinks += 1
                self.resize(run, {node: part for node, part in run.taken.items() if node not in nodes})
                for node in nodes:
                    self.keep(task, node)
        return loans

    # --- the pass ---

    def queue(self) -> list[Task]:
        waiting = [task for task in self.tasks if task.waiting]
        return sorted(
            waiting,
            key=lambda task: (
                (0, task.arrival, 0, task.row)
                if task.type == JobType.ON_DEMAND
                else (1, -max(self.site.tier[name] for name in self.options[task.id]), task.submit, task.row)
            ),
        )

    def place(
        self, task: Task, partition: str, size: int, begin: int, busy: list[_Busy], slack: int
    ) -> dict[int, Amounts] | None:
        end = begin + task.walltime_at(size)
        nodes = [node for node in self.eligible(task, partition) if self.is_open(task, node, begin, end)]
        free = {node: self.site.free(node, begin, end, busy, slack) for node in nodes}
        return self.fill(task, partition, size, free, ())

    def fill(
        self, task: Task, partition: str, size: int, free: dict[int, Amounts], first: Sequence[int], sort: bool = True
    ) -> dict[int, Amounts] | None:
        """Parts on nodes that cover them: the given ones first, then in the order of placement."""
        sign = 1 if self.placement == "pack" else -1
        order = list(free)
        if sort:
            order.sort(key=lambda n: (n not in first, self.site.weight[n], sign * free[n]["cores"], n))
        request = self.request[task.id]
        counts = self.site.layout(request)
        taken: dict[int, Amounts] = {}

        def holds(node: int, count: int) -> bool:
            asked = self.site.amounts(request, self.site.partition[partition], count)
            return covers(free[node], asked) and covers(free[node], self.part(task, partition, count, node))

        if counts is None:
            left = request.tasks
            for node in order:
                most = max((count for count in range(1, left + 1) if holds(node, count)), default=0)
                if most:
                    taken[node] = self.part(task, partition, most, node)
                    left -= most
                if not left:
                    return taken
            return None
        if size < len(counts):
            counts = [counts[0]] * size
        for count in counts:
            node = next((node for node in order if node not in taken and holds(node, count)), None)
            if node is None:
                return None
            taken[node] = self.part(task, partition, count, node)
        return taken

    def busy(self) -> list[_Busy]:
        """What is occupied until when, as far as it is known."""
        found = []
        for run in self.live:
            end = run.expected_end if run.warned_until is None else run.warned_until
            own = {node: part for node, part in run.taken.items() if self.ordinary(run, node)}
            # One that ends in this instant has its nodes until the next pass.
            found.append(_Busy(self.now, max(end, self.now + 1), own))
        for hold in self.holds:
            if hold.owner in self.reservations:
                reservation = self.reservations[hold.owner]
                end = max(reservation.estimated, self.now) + reservation.task.walltime
            else:
                arrived = self.arrived[hold.owner]
                end = arrived.ready + arrived.task.walltime
            found.append(_Busy(self.now, end, {hold.node: hold.need}))
            begin = self.now
            staying = sorted(hold.guests, key=until) if hold.owner not in self.reservations else []
            while staying:
                inside: Amounts = {}
                for guest in staying:
                    inside = plus(guest.taken[hold.node], inside)
                beyond = {name: max(0, amount - hold.need.get(name, 0)) for name, amount in inside.items()}
                leaves = until(staying[0])[0]
                found.append(_Busy(begin, leaves, {hold.node: beyond}))
                begin = leaves
                staying = staying[1:]
        return [item for item in found if item.begin < item.end]

    def collections(self, busy: list[_Busy]) -> list[_Busy]:
        """What open reservations will collect of what is released later."""
        found: list[_Busy] = []
        if self.on_demand_waits():
            return found
        left = {item.id: self.missing_nodes(item) for item in self.by_notice()}
        releases: dict[int, set[int]] = {}
        for run in self.live:
            end = run.expected_end if run.warned_until is None else run.warned_until
            own = {node for node in run.taken if self.ordinary(run, node)}
            releases.setdefault(max(end, self.now + 1), set()).update(own)
        for arrived in self.arrived.values():
            end = arrived.ready + arrived.task.walltime
            releases.setdefault(end, set()).update(hold.node for hold in self.of(arrived.task.id))
        for end, nodes in self.openings().items():
            releases.setdefault(end, set()).update(nodes)
        for time in sorted(releases):
            for reservation in self.by_notice():
                task = reservation.task
                horizon = max(reservation.estimated, self.now) + task.walltime
                for node in sorted(releases[time]):
                    mine = [item for item in found if item.taken.get(node) is self.memo(reservation, node)]
                    if left[reservation.id] <= 0 or horizon <= time or mine or self.has(task.id, node):
                        continue
                    if node not in self.suitable(task) or not self.is_open_at(task, node, time):
                        continue
                    free = self.site.free(node, time, time, [*busy, *found], 0)
                    if covers(free, self.need(task, node)):
                        found.append(_Busy(time, horizon, {node: self.memo(reservation, node)}))
                        left[reservation.id] -= 1
        return found

    def memo(self, reservation: Reservation, node: int) -> Amounts:
        """The part of a reservation on a node as one and the same object."""
        if not hasattr(self, "memos"):
            self.memos: dict[tuple[int, int, int], Amounts] = {}
        return self.memos.setdefault((self.now, reservation.id, node), self.need(reservation.task, node))

    def schedule(self) -> None:
        heads: list[tuple[Task, str, int]] = []
        plans: list[_Busy] = []
        waiting_heads = dict.fromkeys(self.site.partition, 0)
        collected: list[_Busy] | None = None

        def plan_again(more: list[_Busy]) -> list[_Busy] | None:
            found: list[_Busy] = []
            for task, partition, time in heads:
                busy = [*self.busy(), *(collected or ()), *more, *found]
                taken = self.place(task, partition, task.sizes[0], time, busy, TOLERANCE)
                if taken is None:
                    return None
                found.append(_Busy(time, time + task.walltime_at(task.sizes[0]), taken))
            return found

        for task in self.queue():
            least, most = task.sizes
            waits_in = []
            for partition in self.options[task.id]:
                if self.is_stopped(task, partition, self.requested_amounts(task, partition, least)):
                    continue
                if self.depth == 0 and waiting_heads[partition]:
                    continue
                limited = blocked = False
                for size in range(most, least - 1, -1):
                    taken = self.place(task, partition, size, self.now, self.busy(), 0)
                    if taken is None:
                        continue
                    if self.is_stopped(task, partition, self.site.taken_amounts(taken)):
                        limited = True
                        continue
                    again = plan_again([_Busy(self.now, self.now + task.walltime_at(size), taken)])
                    if again is not None:
                        plans = again
                        self.begin(task, partition, taken, size)
                        break
                    blocked = True
                if not task.waiting:
                    break
                if limited and not blocked:
                    continue
                waits_in.append(partition)
            if not task.waiting:
                continue
            waits_in = [name for name in waits_in if self.depth is None or waiting_heads[name] < max(self.depth, 1)]
            best: tuple[int, str] | None = None
            for partition in waits_in:
                if self.depth == 0:
                    break
                if collected is None:
                    collected = self.collections(self.busy())
                occupied = [*self.busy(), *collected, *plans]
                ends = {item.end for item in occupied} | self.openings().keys()
                times = sorted({self.now, *(end for end in ends if end > self.now)})
                time = next(at for at in times if self.place(task, partition, least, at, occupied, 0) is not None)
                if best is None or time < best[0]:
                    best = time, partition
            if best is not None:
                time, partition = best
                assert collected is not None
                slack = TOLERANCE if time > self.now else 0
                taken = self.place(task, partition, least, time, [*self.busy(), *collected, *plans], slack)
                assert taken is not None
                length = task.walltime_at(least)
                if time == self.now:
                    if self.is_stopped(task, partition, self.site.taken_amounts(taken)):
                        continue
                    again = plan_again([_Busy(self.now, self.now + length, taken)])
                    if again is not None:
                        plans = again
                        self.begin(task, partition, taken, least)
                        continue
                heads.append((task, partition, time))
                plans.append(_Busy(time, time + length, taken))
            for name in waits_in:
                waiting_heads[name] += 1
        self.start_tenants()

    def start_tenants(self) -> None:
        if self.reading.tenants == "none":
            return
        for task in self.queue():
            if task.type == JobType.ON_DEMAND:
                continue
            self.start_tenant(task)

    def start_tenant(self, task: Task) -> None:
        least, most = task.sizes
        for partition in self.options[task.id]:
            for size in range(most, least - 1, -1):
                room: dict[int, Hold] = {}
                end = self.now + task.walltime_at(size)
                for host in sorted(self.reservations.values(), key=lambda host: (-host.notice, host.id)):
                    if self.reading.tenants == "fits" and end > host.estimated + TOLERANCE:
                        continue
                    for hold in sorted(self.of(host.id), key=lambda hold: hold.node):
                        possible = hold.node in self.eligible(task, partition)
                        if not hold.guests and possible and self.is_open(task, hold.node, self.now, end):
                            room.setdefault(hold.node, hold)
                free = {node: {**dict.fromkeys(self.site.nodes[node], 0), **hold.need} for node, hold in room.items()}
                taken = self.fill(task, partition, size, free, (), sort=False)
                if taken is not None and not self.is_stopped(task, partition, self.site.taken_amounts(taken)):
                    run = self.begin(task, partition, taken, size)
                    for node in taken:
                        room[node].guests.append(run)
                    return

    # --- accounting ---

    def account(self) -> None:
        for outcome in self.result.values():
            # A job that a limit keeps from running again leaves the queue with its last run.
            if outcome.end is None and outcome.segments:
                outcome.end, outcome.cancelled = max(end for _, end, _ in outcome.segments), True
        ends = [outcome.end for outcome in self.result.values() if outcome.end is not None]
        if not ends:
            # If no job ran, there is no span to account for.
            self.result.totals = dict.fromkeys(self.result.totals, 0)
            return
        submits = [
            outcome.submit for outcome in self.result.values() if outcome.submit is not None and outcome.end is not None
        ]
        first, last = min(submits), max(ends)
        if self.begin_at is not None:
            first = self.begin_at
        total = len(self.site.nodes) if self.whole else sum(node["cores"] for node in self.site.nodes)
        levels = [(first, 0, 0, 0), *self.result.levels, (last, 0, 0, 0)]
        for (time, busy, held, down), (then, *_) in pairwise(levels):
            stretch = max(0, min(then, last) - max(time, first))
            self.result.totals["held"] += held * stretch
            self.result.totals["down"] += down * stretch
            self.result.totals["idle"] += (total - busy - held - down) * stretch
        assert sum(self.result.totals.values()) == total * (last - first)


def with_loans(loans: Sequence[Loan], runs: Iterable[Run], node: int) -> list[Loan]:
    """Loans with a further node of preempted runs: what one of them lends in all decides whether it resumes."""
    found = list(loans)
    for run in runs:
        place = next((n for n, loan in enumerate(found) if loan.run is run and loan.parts is None), None)
        if place is None:
            found.append(Loan(run, [node]))
        else:
            found[place] = replace(found[place], nodes=[*found[place].nodes, node])
    return found


def until(run: Run) -> tuple[int, int]:
    assert run.warned_until is not None
    return run.warned_until, run.id


def plus(left: Amounts, right: Amounts) -> Amounts:
    return {name: left.get(name, 0) + right.get(name, 0) for name in {**left, **right}}


def less(left: Amounts, right: Amounts) -> Amounts:
    return {name: amount - right.get(name, 0) for name, amount in left.items()}


def covers(have: Amounts, need: Amounts) -> bool:
    return all(have.get(name, 0) >= amount for name, amount in need.items())


def cheapest(runs: list[tuple[int, int, Amounts]], lacking: Amounts) -> tuple[int, tuple[int, ...]] | None:
    """Cost and ids of the cheapest set of runs (cost, id, part) that gives up what is lacking; None: all do not."""
    lacking = {name: amount for name, amount in lacking.items() if amount > 0}

    def suffices(chosen: Iterable[tuple[int, int, Amounts]]) -> bool:
        return all(sum(part.get(name, 0) for _, _, part in chosen) >= amount for name, amount in lacking.items())

    if not suffices(runs):
        return None
    if len(runs) <= 12:
        sets = [chosen for count in range(len(runs) + 1) for chosen in combinations(runs, count) if suffices(chosen)]
        return min((sum(cost for cost, _, _ in chosen), tuple(sorted(i for _, i, _ in chosen))) for chosen in sets)
    chosen: list[tuple[int, int, Amounts]] = []
    while not suffices(chosen):
        left = {
            name: amount - sum(part.get(name, 0) for _, _, part in chosen)
            for name, amount in lacking.items()
        }  # fmt: skip
        left = {name: amount for name, amount in left.items() if amount > 0}

        def rate(run: tuple[int, int, Amounts], left: Amounts = left) -> Fraction | float:
            share = sum(Fraction(min(run[2].get(name, 0), amount), amount) for name, amount in left.items())
            return run[0] / share if share else float("inf")

        chosen.append(min((run for run in runs if run not in chosen), key=lambda run: (rate(run), run[1])))
    for run in sorted(chosen, key=lambda run: (-run[0], run[1])):
        if suffices([other for other in chosen if other is not run]):
            chosen.remove(run)
    return sum(cost for cost, _, _ in chosen), tuple(sorted(i for _, i, _ in chosen))


def replay_shared_nodes(
    machine: Any,
    jobs: Sequence[Job],
    requests: Sequence[Any],
    mechanism: str,
    *,
    placement: str = "pack",
    depth: int | None = 1,
    **reading: Any,
) -> SharedReplay:
    """Simulate a job table on a machine.

    Parameters
    ----------
    machine
        Kinds of nodes and partitions.
    jobs, requests
        The job table with sizes in the unit of the machine, and what each job asks for.
    mechanism
        ``baseline`` or one of the six.
    placement, depth
        As in :func:`tests.reference.resources.replay_resources`.
    **reading
        ``tenants``, ``warning``, ``timeout``, ``malleable_start`` and ``malleable_resume``.
    """
    return Model(
        machine, jobs, requests, mechanism, placement=placement, depth=depth, reading=Reading(**reading)
    ).replay()
