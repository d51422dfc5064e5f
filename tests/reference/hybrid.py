"""The hybrid model read aloud (docs/model.md, Fan et al., IPDPS 2022): a second implementation, for comparison only.

A heap of events, dictionaries and lists; everything is looked up and sorted anew whenever it is needed. Each block
quotes the rule that it carries out; where the rules leave a choice the place is marked ``# reading:``. Times are
integer ticks (microseconds) and work is integer node-ticks, so that "the same instant" is exact; walltimes are compared
with the tolerance of one tick.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from fractions import Fraction
from functools import partial
from itertools import pairwise
from typing import Any

from holdfast.workloads.ground.units import to_seconds, to_ticks
from holdfast.workloads.table.job import Job, JobType
from tests.reference.knapsack import Offer, least_loss

__all__ = ["LEAST_LOSS", "MECHANISMS", "Outcome", "Replay", "Totals", "replay"]

MECHANISMS = ("N-PAA", "N-SPAA", "CUA-PAA", "CUA-SPAA", "CUP-PAA", "CUP-SPAA")

#: Beyond the page: docs/model.md, "Strategies beyond the paper".
LEAST_LOSS = ("KNAPSACK", "SKNAPSACK")

#: "Times within 1 microsecond are one instant [...], and walltime comparisons have that tolerance."
TOLERANCE = 1

# "Order within an instant: (0) completions and nodes vacated after a warning, (1) requeues and reservation time-outs,
# (2) planned preemptions, (3) advance notices, (4) arrivals and submissions, then the pass"
COMPLETION, REQUEUE, PLANNED, NOTICE, ARRIVAL = range(5)


@dataclass(frozen=True)
class Reading:
    """How open sentences of the paper are read (docs/model.md, the table); the defaults are the page's.

    Attributes
    ----------
    tenants, backfill_length, passes, warning, timeout
        As in :func:`replay`.
    malleable_start
        ``free``: "A malleable job [...] starts at min(n, free)"; ``requested``: always at its requested size.
    malleable_resume
        After a preemption: ``start``, as before; ``former``, at the size that it had when it was preempted.
    malleable_head
        ``minimum``: "A malleable head needs its minimum"; ``requested``: the size that it asks for.
    arrival_takes
        ``own``, or all ``reserved`` idle nodes.
    shrunk_lenders
        ``expand``, or ``stay`` as small as they are.
    preempted_lenders
        ``resume`` at once or never; ``hold``: what is returned to them until they can.
    """

    tenants: str = "any"
    backfill_length: str = "walltime"
    passes: str = "instant"
    warning: float = 120.0
    timeout: float = 600.0
    malleable_start: str = "free"
    malleable_resume: str = "start"
    malleable_head: str = "minimum"
    arrival_takes: str = "own"
    shrunk_lenders: str = "expand"
    preempted_lenders: str = "resume"


@dataclass
class Outcome:
    """What became of one job.

    Attributes
    ----------
    start, end
        First start and completion [s]; None for a no-show.
    preemptions, shrinks
        How often.
    lost_node_seconds
        Setup of preempted runs, unsecured compute, partial dumps and warnings.
    segments
        Each stretch of time [s] on a constant number of nodes, warnings included: (from, to, nodes).
    """

    start: float | None = None
    end: float | None = None
    preemptions: int = 0
    shrinks: int = 0
    lost_node_seconds: float = 0.0
    segments: list[tuple[float, float, int]] = field(default_factory=list)


@dataclass
class Totals:
    """Section 7's accounting from the first submit to the last completion, in exact node-ticks (node-microseconds)."""

    compute: int = 0
    setup: int = 0
    checkpoint: int = 0
    lost: int = 0  # without the warning
    warning: int = 0
    held: int = 0
    idle: int = 0
    elapsed: int = 0  # ticks

    @property
    def accounted(self) -> int:
        """Sum of all shares; N x elapsed."""
        return self.compute + self.setup + self.checkpoint + self.lost + self.warning + self.held + self.idle


class Replay(dict[int, Outcome]):
    """Outcome of each job by job id, and the totals.

    Attributes
    ----------
    totals
        Accounting of node-ticks.
    levels
        After each event: (tick, free nodes, held nodes, occupied nodes).
    log
        What happened: (tick, what, job id, nodes).
    """

    def __init__(self) -> None:
        super().__init__()
        self.totals = Totals()
        self.levels: list[tuple[int, int, int, int]] = []
        self.log: list[tuple[int, str, int, int]] = []


class Task:
    """A job with what it keeps from run to run, in ticks."""

    def __init__(self, job: Job, row: int, baseline: bool, reading: Reading) -> None:
        self.reading = reading
        self.id = job.job_id
        self.row = row
        self.type = job.type
        self.submit = None if job.submit is None else to_ticks(job.submit)
        # docs/model.md, "Life of jobs": a job is in the queue from when it is eligible, which is not before its submit.
        self.arrival = self.submit
        if self.submit is not None and job.eligible is not None:
            self.arrival = max(self.submit, to_ticks(job.eligible))
        self.nodes = job.nodes
        self.min_nodes = job.nodes
        self.runtime = to_ticks(job.runtime)
        self.walltime = to_ticks(job.walltime)
        self.setup = to_ticks(job.setup)
        self.tau: int | None = None
        self.delta = 0
        self.notice = None if job.notice is None else to_ticks(job.notice)
        self.estimated = None if job.estimated_arrival is None else to_ticks(job.estimated_arrival)
        if baseline:
            # "the same jobs, every one rigid at its trace runtime and trace walltime whatever the overheads option, no
            # notice, no preemption"
            # reading: in the baseline's accounting all occupied node-seconds are compute.
            self.type = JobType.RIGID
            if job.trace_runtime is not None:
                self.runtime = to_ticks(job.trace_runtime)
            if job.trace_walltime is not None:
                self.walltime = to_ticks(job.trace_walltime)
            self.setup = 0
            self.notice = None
        elif self.type == JobType.RIGID and job.checkpoint_interval is not None:
            # reading: interval and cost are rounded to ticks first, dumps are counted with the rounded ones.
            self.tau, self.delta = to_ticks(job.checkpoint_interval), to_ticks(job.checkpoint_cost)
        elif self.type == JobType.MALLEABLE and job.min_nodes is not None:
            self.min_nodes = job.min_nodes

        # "dumps k = ceil((runtime - setup) / (tau + delta)) - 1 (at least 0), compute = runtime - setup - k delta"
        self.dumps = 0
        if self.tau is not None:
            self.dumps = max(0, -(-(self.runtime - self.setup) // (self.tau + self.delta)) - 1)
        self.compute = self.runtime - self.setup - self.dumps * self.delta
        # "W = (t_act - t_setup) x n", "W_est = (t_est - t_setup) x n"
        self.work = (self.runtime - self.setup) * self.nodes
        self.work_est = (self.walltime - self.setup) * self.nodes

        self.waiting = False
        self.runs = 0  # runs begun so far
        self.former: int | None = None  # size of the last run, if it was preempted
        self.lost = 0  # node-ticks
        self.outcome = Outcome()

    @property
    def preemptible(self) -> bool:
        return self.type != JobType.ON_DEMAND

    @property
    def malleable(self) -> bool:
        return self.type == JobType.MALLEABLE

    @property
    def sizes(self) -> tuple[int, int]:
        """Least and most nodes on which its next run may begin."""
        if self.malleable and self.former is not None and self.reading.malleable_resume == "former":
            return self.former, self.former
        if self.malleable and self.reading.malleable_start == "requested":
            return self.nodes, self.nodes
        return self.min_nodes, self.nodes

    def walltime_at(self, size: int) -> int:
        """What is requested for the next run, at a size."""
        # "its walltime limit at size k = t_setup + W_est / k"
        return self.setup + work_time(self.work_est, size) if self.malleable else self.walltime

    def runtime_at(self, size: int) -> int:
        """What the next run takes, at a size."""
        # "wall time at size k = t_setup + W / k"; "The next run: setup, the compute not secured, k - c dumps"
        if self.malleable:
            return self.setup + work_time(self.work, size)
        return self.setup + self.compute + self.dumps * self.delta


class Run:
    """One run of a job: from a start to its end or its preemption."""

    def __init__(self, task: Task, size: int, now: int, borrowed: dict[int, int]) -> None:
        self.task = task
        self.number = task.runs
        self.start = now
        self.size = size
        self.since = now  # when it got this size
        self.setup_done = 0  # node-ticks, of a malleable run
        self.work_done = 0
        #: nodes lent to it by open reservations; a tenant is a run that has any
        self.borrowed = borrowed
        self.ended = False
        self.warned_until: int | None = None
        #: of a planned victim under warning: its reservation
        self.for_reservation: int | None = None
        #: of a run under warning: nodes that go to an arrived on-demand job
        self.promised: dict[int, int] = {}
        self.end = now + task.runtime_at(size)
        self.expected_end = now + task.walltime_at(size)

    @property
    def id(self) -> int:
        return self.task.id

    @property
    def running(self) -> bool:
        # reading: a run under warning no longer counts as running.
        return not self.ended and self.warned_until is None

    @property
    def ordinary(self) -> int:
        """Those of its nodes that belong to no open reservation."""
        return self.size - sum(self.borrowed.values())

    @property
    def unpromised(self) -> int:
        """Those of its ordinary nodes that no arrived job waits for."""
        return self.ordinary - sum(self.promised.values())

    def cycles(self, now: int) -> int:
        """Complete cycles of a rigid run after the time elapsed."""
        # "c = min(floor((e - setup) / (tau + delta)), dumps left) cycles are complete (0 before the setup ends)"
        task = self.task
        if task.tau is None:
            return 0
        elapsed = now - self.start
        return max(0, min((elapsed - task.setup) // (task.tau + task.delta), task.dumps))

    def overhead(self, now: int) -> int:
        """Preemption overhead as section 5.3 orders by it."""
        task = self.task
        if task.malleable:
            return self.size * task.setup  # "malleable: size x setup"
        # "rigid: n x (elapsed - completed cycles), which includes its setup"
        return self.size * (now - self.start - self.cycles(now) * ((task.tau or 0) + task.delta))


@dataclass
class Loan:
    """What an on-demand job or a reservation owes: nodes of a run that was shrunk or preempted."""

    run: Run
    nodes: int
    shrunk: bool


@dataclass(eq=False)
class Reservation:
    """An open reservation."""

    id: int
    notice: int
    estimated: int
    requested: int
    walltime: int
    idle: int = 0
    plan: list[Run] = field(default_factory=list)
    loans: list[Loan] = field(default_factory=list)


@dataclass(eq=False)
class Arrived:
    """An on-demand job that has its nodes, or will when nodes under warning are vacated."""

    task: Task
    held: int
    awaited: int
    ready: int
    loans: list[Loan]


def work_time(work: int, size: int) -> int:
    """Time for an amount of work, rounded to a tick."""
    # "round all input and event times to it"
    # reading: halves of a microsecond go to the even one, as round() does everywhere else.
    return round(Fraction(work, size))


class Model:
    """The whole state, and one method for each kind of event."""

    def __init__(self, jobs: list[Job], nodes: int, mechanism: str, reading: Reading) -> None:
        self.reading = reading
        baseline = mechanism == "baseline"
        # "two-minute warning (120 s; **one** parameter `warning` that the machine, CUP's plan, the overheads of
        # KNAPSACK and WEIGH and the metrics share)"
        self.warning = to_ticks(reading.warning)
        # "the reservation times out 10 min after the estimated arrival"
        self.timeout = to_ticks(reading.timeout)
        self.notice_strategy, _, arrival = mechanism.partition("-")
        self.arrival_strategy, *words = arrival.split() or [""]
        # Parameters of PAA and SPAA: "ascending order of their preemption overheads", in what unit, and of whom first;
        # "shrink their sizes evenly", or to the minimum.
        own = dict(word.split("=") for word in words)
        self.victims = own.get("victims", "least-loss")
        self.overhead_unit = own.get("overhead", "node-seconds")
        self.shrink_to = own.get("shrink", "even")
        self.pass_per_event = reading.passes == "event"
        self.nodes = nodes
        self.free = nodes
        self.now = 0
        self.tasks = [Task(job, row, baseline, reading) for row, job in enumerate(jobs)]
        self.live: list[Run] = []  # running or under warning
        self.reservations: dict[int, Reservation] = {}  # the open ones, by job id
        self.arrived: dict[int, Arrived] = {}  # on-demand jobs that wait for nodes under warning, by job id
        self.loans: dict[int, list[Loan]] = {}  # of running on-demand jobs
        self.kept: dict[int, int] = {}  # nodes held for preempted lenders, by job id, the first held first
        self.result = Replay()
        self.events: list[tuple[int, int, int, int, Callable[[], bool]]] = []
        self.pushed = 0
        for task in self.tasks:
            if task.arrival is not None:
                self.push(task.arrival, ARRIVAL, task.id, partial(self.arrive, task))
            # "N: ignored." - not even an event.
            if self.notice_strategy in ("CUA", "CUP") and task.notice is not None:
                self.push(task.notice, NOTICE, task.id, partial(self.advance_notice, task))

    # --- the clock -----------------------------------------------------------------------------------------------

    def push(self, time: int, kind: int, job_id: int, handler: Callable[[], bool]) -> None:
        self.pushed += 1
        heapq.heappush(self.events, (time, kind, job_id, self.pushed, handler))

    def replay(self) -> Replay:
        while self.events:
            self.now = self.events[0][0]
            changed = False
            # "Order within an instant: ...; within a class by job id". An event that another one of this instant gives
            # rise to takes its own place in this order.
            # reading: also a planned preemption that is due at the very instant of its notice: it comes next.
            while self.events and self.events[0][0] == self.now:
                handler = heapq.heappop(self.events)[-1]
                valid = handler()
                changed = changed or valid
                if valid and self.pass_per_event:
                    self.schedule()
                self.record()
            # "One pass after all events of an instant; an event that turns out void (a reservation that is gone, a run
            # that has ended) causes no pass."
            if changed and not self.pass_per_event:
                self.schedule()
                self.record()
        self.account()
        return self.result

    def log(self, what: str, job_id: int, nodes: int = 0) -> None:
        self.result.log.append((self.now, what, job_id, nodes))

    def record(self) -> None:
        """Note where the nodes are, and that none is lost or used twice."""
        held = sum(r.idle for r in self.reservations.values()) + sum(a.held for a in self.arrived.values())
        held += sum(self.kept.values())
        occupied = sum(run.size for run in self.live)
        assert self.free >= 0 and all(r.idle >= 0 for r in self.reservations.values())
        assert self.free + held + occupied == self.nodes
        assert all(self.missing_nodes(r) >= 0 for r in self.reservations.values())
        self.result.levels.append((self.now, self.free, held, occupied))

    # --- runs ----------------------------------------------------------------------------------------------------

    def begin(self, task: Task, size: int, borrowed: dict[int, int] | None = None) -> Run:
        """Start a run on nodes that the caller has taken from where they were."""
        task.waiting = False
        task.runs += 1
        run = Run(task, size, self.now, borrowed or {})
        self.live.append(run)
        if task.outcome.start is None:
            task.outcome.start = to_seconds(self.now)
        self.log("start", task.id, size)
        self.expect_completion(run)
        return run

    def expect_completion(self, run: Run) -> None:
        end = run.end
        self.push(end, COMPLETION, run.id, partial(self.complete, run, end))

    def progress(self, run: Run) -> None:
        """Bring a run's segments, and a malleable run's work, up to now."""
        stretch = self.now - run.since
        if stretch:
            run.task.outcome.segments.append((to_seconds(run.since), to_seconds(self.now), run.size))
        if run.task.malleable and run.warned_until is None:
            # "setup [...] constant in time whatever the size; linear speed-up after it"
            setup_end = run.start + run.task.setup
            in_setup = max(0, min(self.now, setup_end) - run.since)
            worked = (stretch - in_setup) * run.size
            run.setup_done += in_setup * run.size
            run.work_done += worked
            # "W and W_est fall together as work is done"
            run.task.work -= worked
            run.task.work_est -= worked
        run.since = self.now

    def resize(self, run: Run, size: int) -> None:
        """Shrink or expand a run."""
        # "Shrinking and expanding are instantaneous and free."
        self.progress(run)
        run.size = size
        ready = max(self.now, run.start + run.task.setup)
        run.end = max(self.now, ready + work_time(run.task.work, size))
        run.expected_end = max(self.now, ready + work_time(run.task.work_est, size))
        self.log("resize", run.id, size)
        self.expect_completion(run)

    def stop(self, run: Run) -> int:
        """Preempt a rigid run at once; its borrowed nodes go back; returns how many others it leaves."""
        task, totals = run.task, self.result.totals
        self.progress(run)
        # "c tau of compute is secured, c dumps are done; setup, the rest of the compute and a partial dump are lost.
        # The next run: setup, the compute not secured, k - c dumps; its walltime is the old one minus the compute
        # secured."
        cycles = run.cycles(self.now)
        secured = cycles * (task.tau or 0)
        dumped = cycles * task.delta
        lost = run.size * (self.now - run.start - secured - dumped)
        totals.compute += run.size * secured
        totals.checkpoint += run.size * dumped
        totals.lost += lost
        task.lost += lost
        task.compute -= secured
        task.dumps -= cycles
        task.walltime -= secured
        task.outcome.preemptions += 1
        self.log("preempt", task.id, run.size)
        self.leave(run)
        # "A preempted rigid job is in the queue at once"
        task.waiting = True
        return self.give_back(run)

    def warn(self, run: Run) -> None:
        """Preempt a malleable run: it stays for 120 s."""
        task, totals = run.task, self.result.totals
        # "it checkpoints, its nodes stay occupied for these 120 s, no progress is made in them; its work is kept
        # exactly, the setup of that run is lost."
        self.progress(run)
        run.warned_until = self.now + self.warning
        task.former = run.size
        totals.compute += run.work_done
        totals.lost += run.setup_done
        totals.warning += run.size * self.warning
        task.lost += run.setup_done + run.size * self.warning
        # "A preemption counts when it begins (the warning)."
        task.outcome.preemptions += 1
        self.log("warn", task.id, run.size)
        self.push(run.warned_until, COMPLETION, run.id, partial(self.vacate, run))

    def leave(self, run: Run) -> None:
        run.ended = True
        self.live.remove(run)

    def give_back(self, run: Run) -> int:
        """Return the borrowed nodes of a run that has ended; how many others it leaves."""
        # "gives each node back to the reservation that it came from while that one is open"
        for reservation_id, nodes in run.borrowed.items():
            self.reservations[reservation_id].idle += nodes
        return run.ordinary

    # --- reservations --------------------------------------------------------------------------------------------

    def by_notice(self) -> list[Reservation]:
        """Open reservations, earliest notice first."""
        return sorted(self.reservations.values(), key=lambda r: (r.notice, r.id))

    def lent(self, reservation_id: int) -> int:
        """Nodes of a reservation on which tenants run, those under warning included."""
        return sum(run.borrowed.get(reservation_id, 0) for run in self.live)

    def missing_nodes(self, reservation: Reservation) -> int:
        return reservation.requested - reservation.idle - self.lent(reservation.id)

    def under_warning_for(self, reservation_id: int) -> int:
        """Nodes of planned victims of a reservation that are still under warning."""
        return sum(run.size for run in self.live if run.for_reservation == reservation_id)

    def is_planned(self, run: Run) -> bool:
        return any(run in reservation.plan for reservation in self.reservations.values())

    def on_demand_waits(self) -> bool:
        # reading: an arrived job that only waits for the end of warnings is not in the queue.
        return any(task.waiting and task.type == JobType.ON_DEMAND for task in self.tasks)

    def release(self, nodes: int) -> None:
        """Hand out nodes that nobody in particular is to get: open reservations, then free."""
        # "While an on-demand job waits in the queue, open reservations neither reserve free nodes nor collect released
        # ones."
        if not self.on_demand_waits():
            for reservation in self.by_notice():
                collected = min(nodes, self.missing_nodes(reservation))
                reservation.idle += collected
                nodes -= collected
        self.free += nodes

    def close(self, reservation: Reservation) -> int:
        """End a reservation: "tenants become ordinary jobs, loans are void"; returns its idle nodes."""
        del self.reservations[reservation.id]
        for run in self.live:
            run.borrowed.pop(reservation.id, None)
            if run.for_reservation == reservation.id:
                run.for_reservation = None
        return reservation.idle

    # --- class 0 -------------------------------------------------------------------------------------------------

    def complete(self, run: Run, end: int) -> bool:
        if not run.running or run.end != end:
            return False
        task, totals = run.task, self.result.totals
        self.progress(run)
        occupied = run.size * (self.now - run.start)
        if task.malleable:
            totals.setup += run.setup_done
            totals.compute += run.work_done
        else:
            setup, dumps = run.size * task.setup, run.size * task.dumps * task.delta
            totals.setup += setup
            totals.checkpoint += dumps
            totals.compute += occupied - setup - dumps
        self.log("complete", task.id, run.size)
        self.leave(run)
        task.outcome.end = to_seconds(self.now)
        if task.type == JobType.ON_DEMAND:
            self.return_loans(run)
        else:
            # "A tenant that ends or vacates gives each node back to the reservation that it came from"; "nodes
            # released by any finishing job go to open reservations"
            self.release(self.give_back(run))
        return True

    def return_loans(self, ended: Run) -> None:
        """Section 6."""
        pool = ended.size
        # "Its nodes go back to the lenders in the order of lending (SPAA: by id; PAA: as preempted; ...)"
        for loan in self.loans.pop(ended.id, []):
            task = loan.run.task
            # reading: no more than those before it have left. The reservation may have taken nodes from a victim and
            # lent them to a tenant; the arrived job may then have taken others, whose warning ends sooner.
            lent = min(loan.nodes, pool)
            if loan.shrunk:
                # docs/model.md, `shrunk_lenders = stay`: "a shrunk job stays as small as it is"
                if self.reading.shrunk_lenders == "stay":
                    continue
                # "a shrunk job expands by what it lent, up to its maximum, if the same run of it still goes on"
                # reading: a run under warning does not go on.
                if loan.run.running:
                    grow = min(lent, task.nodes - loan.run.size)
                    if grow:
                        pool -= grow
                        self.resize(loan.run, loan.run.size + grow)
            elif task.waiting and task.runs == loan.run.number:
                # "a preempted job that has not run since and waits in the queue resumes at once if the nodes it lent
                # plus free nodes suffice (malleable: at least its minimum, at min(n, lent + free)); otherwise it gets
                # nothing."
                least, most = task.sizes
                size = min(most, lent + self.free)
                if size >= least:
                    from_pool = min(lent, size)
                    pool -= from_pool
                    self.free -= size - from_pool
                    self.begin(task, size)
                elif lent and self.reading.preempted_lenders == "hold":
                    # "what it lent is held for it until it can resume"
                    self.kept[task.id] = self.kept.get(task.id, 0) + lent
                    pool -= lent
        assert pool >= 0
        # "What remains is released: open reservations, then free."
        self.release(pool)

    def vacate(self, run: Run) -> bool:
        """The end of a warning."""
        self.progress(run)
        self.log("vacate", run.id, run.size)
        self.leave(run)
        nodes = self.give_back(run)
        ready = []
        for job_id, promised in run.promised.items():
            arrived = self.arrived[job_id]
            arrived.held += promised
            arrived.awaited -= promised
            nodes -= promised
            if not arrived.awaited:
                ready.append(arrived)
        # "A planned victim's nodes go to its own reservation first."
        if run.for_reservation is not None:
            nodes -= self.take(self.reservations[run.for_reservation], run, nodes)
        # "Surplus nodes of the last victim are released like any others."
        self.release(nodes)
        # "It starts [...], when it needs nodes under warning, when the last of these are vacated"
        for arrived in ready:
            del self.arrived[arrived.task.id]
            self.loans[arrived.task.id] = arrived.loans
            self.begin(arrived.task, arrived.task.nodes)
        # "a warned malleable one [is in the queue] after its 120 s"
        self.push(self.now, REQUEUE, run.id, partial(self.requeue, run.task))
        return True

    # --- class 1 -------------------------------------------------------------------------------------------------

    def requeue(self, task: Task) -> bool:
        task.waiting = True
        return True

    def time_out(self, reservation: Reservation) -> bool:
        if self.reservations.get(reservation.id) is not reservation:
            return False
        # "Time-out: idle nodes are released, tenants become ordinary jobs, loans are void; the job is later treated as
        # one without notice."
        self.log("time-out", reservation.id, reservation.idle)
        self.release(self.close(reservation))
        return True

    # --- class 2 -------------------------------------------------------------------------------------------------

    def planned_preemption(self, reservation: Reservation, run: Run) -> bool:
        # "A plan entry names a *run*; it is void when that run has ended." "The arrival, early or not, ends the plan."
        # reading: a run that is already under warning has ended for the plan.
        if self.reservations.get(reservation.id) is not reservation or not run.running:
            return False
        reservation.plan.remove(run)
        # "At its time a planned preemption is dropped if the reservation misses nothing any more, nodes under warning
        # for it counted."
        missing = self.missing_nodes(reservation) - self.under_warning_for(reservation.id)
        if missing <= 0:
            # reading: dropped is not void: the event took place, and a pass follows.
            self.log("drop", run.id)
            return True
        if run.task.malleable:
            self.warn(run)
            run.for_reservation = reservation.id
        else:
            # "A planned victim's nodes go to its own reservation first."
            nodes = self.stop(run)
            self.release(nodes - self.take(reservation, run, nodes))
        return True

    def take(self, reservation: Reservation, run: Run, nodes: int) -> int:
        """Give nodes of a planned victim to its reservation; returns how many it takes."""
        taken = min(nodes, self.missing_nodes(reservation))
        reservation.idle += taken
        # Section 6: "a CUP victim lends the nodes that its reservation, or the arrived job, takes from it, counted when
        # it takes them"
        if taken:
            reservation.loans.append(Loan(run, taken, shrunk=False))
        return taken

    # --- class 3 -------------------------------------------------------------------------------------------------

    def advance_notice(self, task: Task) -> bool:
        """Section 4."""
        assert task.notice is not None and task.estimated is not None
        if task.submit is not None and task.submit < self.now:
            return False  # reading: a notice after the arrival is no notice.
        reservation = Reservation(task.id, self.now, task.estimated, task.nodes, task.walltime)
        self.reservations[task.id] = reservation
        # "reserve free nodes up to the request"; "While an on-demand job waits in the queue, open reservations neither
        # reserve free nodes nor collect released ones."
        if not self.on_demand_waits():
            reservation.idle = min(self.free, task.nodes)
            self.free -= reservation.idle
        self.log("notice", task.id, reservation.idle)
        # "the reservation times out 10 min after the estimated arrival"
        self.push(max(self.now, task.estimated + self.timeout), REQUEUE, task.id, partial(self.time_out, reservation))
        if self.notice_strategy == "CUP":
            self.plan(reservation)
        return True

    def plan(self, reservation: Reservation) -> None:
        """Make the plan of CUP."""
        # "for the nodes still missing, make a plan, once, from what is known now (walltimes, not runtimes)"
        gap = self.missing_nodes(reservation)
        estimated = max(self.now, reservation.estimated)
        # "(1) running jobs that are in no plan and no tenants and whose walltime ends by the estimated arrival, by
        # (expected end, id), until the gap is covered: expected releases"
        # reading: running jobs of all types; not those under warning; jobs named as expected releases are in a plan.
        known = [run for run in self.live if run.running and not self.is_planned(run) and not run.borrowed]
        for run in sorted(known, key=lambda run: (run.expected_end, run.id)):
            if gap > 0 and run.expected_end <= estimated + TOLERANCE:
                reservation.plan.append(run)
                gap -= run.size
        # "(2) for the rest, running rigid and malleable jobs, in no plan and no tenants, in ascending *planned*
        # preemption overhead (ties by id)"
        options = []
        for run in known:
            if run.task.preemptible and run not in reservation.plan:
                cost, time = self.planned_overhead(run, estimated)
                options.append((cost, run.id, time, run))
        for _, _, time, run in sorted(options, key=lambda option: option[:2]):
            # reading: here, too, "until the gap is covered".
            if gap > 0:
                reservation.plan.append(run)
                gap -= run.size
                self.log("plan", run.id, run.size)
                self.push(time, PLANNED, run.id, partial(self.planned_preemption, reservation, run))

    def planned_overhead(self, run: Run, estimated: int) -> tuple[int, int]:
        """Planned overhead of a run, and when it would be preempted."""
        task = run.task
        if task.malleable:
            # "malleable = warned max(now, estimated arrival - 120 s) (cost size x setup)"
            return run.size * task.setup, max(self.now, estimated - self.warning)
        if task.tau is not None:
            # "rigid = right after its last checkpoint that completes in [now, estimated arrival], counted by its period
            # (cost size x setup)"
            # reading: by its period alone, whether or not the run has so many dumps left: that would need its runtime.
            period = task.tau + task.delta
            number = (estimated - run.start - task.setup) // period
            last = run.start + task.setup + number * period
            if number >= 1 and last >= self.now:
                return run.size * task.setup, last
        # "or, if there is none, at the estimated arrival (cost as in section 5, taken then)"
        return run.overhead(estimated), estimated

    # --- class 4 -------------------------------------------------------------------------------------------------

    def arrive(self, task: Task) -> bool:
        self.log("arrive", task.id, task.nodes)
        if task.type != JobType.ON_DEMAND:
            task.waiting = True
            return True

        # 5.1 "First the sum, before anything moves: free nodes + own reservation (idle, lent to tenants, on their way
        # by a plan) + what the arrival strategy could get (SPAA: shrinkable nodes; PAA: nodes of running rigid and
        # malleable jobs that are not its tenants)." SPAA falls back to PAA, so it could get what PAA can.
        own = self.reservations.get(task.id)
        total = self.free + sum(other.idle for other in self.takeable(task))
        if own is not None:
            total += own.idle + self.lent(own.id) + self.under_warning_for(own.id)
            # 5.2 "nodes that they give up and that belong to no other open reservation are its own first (the sum of
            # step 1 counts them)"
            # reading: a tenant that is under warning already gives up those that are promised to nobody.
            total += sum(run.unpromised for run in self.live if own.id in run.borrowed)
        # docs/model.md: "WAIT preempts nothing: a job whose reservation and the free nodes do not suffice waits"
        if self.arrival_strategy != "WAIT":
            total += sum(run.ordinary for run in self.preemptible() if task.id not in run.borrowed)
        if total < task.nodes:
            # "nothing is preempted, its reservation closes (idle nodes become free, tenants ordinary jobs, loans void),
            # and it waits at the front of the queue like any head of EASY."
            task.waiting = True
            if own is not None:
                self.free += self.close(own)
            self.log("wait", task.id, task.nodes)
            return True

        # 5.2 "Otherwise its tenants are preempted"
        held = 0
        loans: list[Loan] = []
        under_warning: list[tuple[int, int, Run, int]] = []
        if own is not None:
            loans = own.loans
            victims = [run for run in self.live if run.for_reservation == own.id]
            hosted = sorted((run for run in self.live if own.id in run.borrowed), key=lambda run: run.id)
            held = self.close(own)
            for run in hosted:
                if run.running and not run.task.malleable:
                    # "nodes that they give up and that belong to no other open reservation are its own first"
                    # reading: as many as it can use; the rest is released.
                    given = self.stop(run)
                    taken = min(given, task.nodes - held)
                    held += taken
                    self.release(given - taken)
                    continue
                if run.running:
                    self.warn(run)
                assert run.warned_until is not None
                under_warning.append((run.warned_until, run.id, run, run.unpromised))
            for run in victims:
                assert run.warned_until is not None
                under_warning.append((run.warned_until, run.id, run, run.size))
        # "it takes idle reserved nodes, and if these with the free ones do not suffice, its nodes under warning, in the
        # order in which the warnings end, ties by id; then free nodes."
        missing = task.nodes - held
        awaited = 0
        ready = self.now
        if missing > self.free + sum(other.idle for other in self.takeable(task)):
            for until, _, run, nodes in sorted(under_warning, key=lambda entry: entry[:2]):
                taken = min(nodes, missing)
                if taken:
                    run.promised[task.id] = run.promised.get(task.id, 0) + taken
                    awaited += taken
                    missing -= taken
                    ready = max(ready, until)
                    # Section 6: "a CUP victim lends the nodes that [...] the arrived job takes from it"; "A tenant
                    # [...] is no lender".
                    if run in victims:
                        loans = [*loans, Loan(run, taken, shrunk=False)]
        taken = min(self.free, missing)
        self.free -= taken
        held += taken
        missing -= taken
        # docs/model.md, `arrival_takes = reserved`: "after the free nodes, those of the latest notice first"
        # reading: ties by id.
        for other in sorted(self.takeable(task), key=lambda other: (-other.notice, other.id)):
            taken = min(other.idle, missing)
            other.idle -= taken
            held += taken
            missing -= taken

        # 5.4 "SPAA: if the malleable jobs' shrinkable nodes (size - minimum, no tenants) cover what is missing, shrink
        # them evenly [...]. Otherwise PAA."
        surplus = 0
        if missing and self.arrival_strategy == "SPAA" and self.shrinkable() >= missing:
            surplus = self.shrinkable() - missing if self.shrink_to == "minimum" else 0
            shrunk = self.shrink_evenly(missing)
            loans = loans + shrunk
            held += sum(loan.nodes for loan in shrunk)
            missing -= sum(loan.nodes for loan in shrunk)
        # 5.3 "PAA, for what is missing: running rigid and malleable jobs in ascending preemption overhead [...], ties
        # by id, are preempted from the front until satisfied."
        if missing:
            victims = sorted(self.preemptible(), key=self.victim_order)
            if self.arrival_strategy in LEAST_LOSS:
                victims = self.least_loss(missing)
            for run in victims:
                if not missing:
                    break
                taken = min(run.ordinary, missing)
                missing -= taken
                # "A tenant [...] is no lender". PAA: it lent what was taken of it.
                # reading: a job that is another reservation's tenant is no lender either.
                if not run.borrowed:
                    loans = [*loans, Loan(run, taken, shrunk=False)]
                if run.task.malleable:
                    self.warn(run)
                    assert run.warned_until is not None
                    run.promised[task.id] = taken
                    awaited += taken
                    ready = max(ready, run.warned_until)
                else:
                    held += taken
                    # "Surplus nodes of the last victim are released like any others."
                    self.release(self.stop(run) - taken)
        # docs/model.md, SKNAPSACK: "what is then still missing is shrunk evenly, as under SPAA"
        if missing:
            shrunk = self.shrink_evenly(missing)
            loans = loans + shrunk
            held += sum(loan.nodes for loan in shrunk)
            missing -= sum(loan.nodes for loan in shrunk)
        assert not missing and held + awaited == task.nodes
        # "surplus nodes [...] are released like any others"
        self.release(surplus)

        # "It starts at its arrival, or, when it needs nodes under warning, when the last of these are vacated (at most
        # 120 s later); its other nodes are its own from the arrival on."
        if awaited:
            self.arrived[task.id] = Arrived(task, held, awaited, ready, loans)
            self.log("hold", task.id, held)
        else:
            self.loans[task.id] = loans
            self.begin(task, task.nodes)
        return True

    def takeable(self, task: Task) -> list[Reservation]:
        """Open reservations of others whose idle nodes an arriving job may use."""
        if self.reading.arrival_takes == "own":
            return []
        return [other for other in self.reservations.values() if other.id != task.id]

    def victim_order(self, run: Run) -> tuple[bool, Fraction, int]:
        """PAA: the smallest goes first."""
        # docs/model.md: "`youngest` and `oldest` go by the start of the run, `lowest-priority` takes the latest submit"
        at = {"youngest": -run.start, "oldest": run.start, "lowest-priority": -run.task.submit}.get(self.victims)
        if at is not None:
            return False, Fraction(at), run.id
        overhead = Fraction(run.overhead(self.now))
        if self.overhead_unit == "seconds":
            overhead /= run.size
        return self.victims == "malleable-first" and not run.task.malleable, overhead, run.id

    def preemptible(self) -> Iterable[Run]:
        """Runs that PAA may preempt."""
        # "A tenant [...] counts with those of its nodes that belong to no reservation, and not at all if there are
        # none."
        return [run for run in self.live if run.running and run.task.preemptible and run.ordinary > 0]

    def least_loss(self, missing: int) -> list[Run]:
        """docs/model.md on KNAPSACK and SKNAPSACK: whom to preempt, in the order in which that is done."""
        # "whoever is not preempted gives what it can above its minimum, so that a preempted job brings only what
        # shrinking it would not"
        spare = {run.id: run.size - run.task.min_nodes for run in self.shrinkable_runs()}
        if self.arrival_strategy == "KNAPSACK":
            spare = {}
        runs = {run.id: run for run in self.preemptible()}
        # "What a job loses is what the accounting will book: for a rigid one its overhead as under PAA, for a malleable
        # one its setup and the [...] warning"
        offers = [
            Offer(run.overhead(self.now) + run.task.malleable * run.size * self.warning, run.id, nodes)
            for run in runs.values()
            if (nodes := run.ordinary - spare.get(run.id, 0)) > 0
        ]
        # reading: preempted in ascending loss, ties by id.
        return [runs[offer.id] for offer in sorted(least_loss(offers, missing - sum(spare.values())))]

    def shrinkable_runs(self) -> list[Run]:
        """Runs that SPAA may shrink, by id."""
        return [
            run
            for run in sorted(self.live, key=lambda run: run.id)
            if run.running and run.task.malleable and not run.borrowed
        ]

    def shrinkable(self) -> int:
        return sum(run.size - run.task.min_nodes for run in self.shrinkable_runs())

    def shrink_evenly(self, missing: int) -> list[Loan]:
        """Shrink malleable jobs by what is missing in total."""
        can = {run.id: (run, run.size - run.task.min_nodes) for run in self.shrinkable_runs()}
        # "equal numbers of nodes, capped by what each can give, the remainder by id"
        level = 0
        while sum(min(cap, level + 1) for _, cap in can.values()) <= missing and level < missing:
            level += 1
        remainder = missing - sum(min(cap, level) for _, cap in can.values())
        loans = []
        for run, cap in can.values():  # "SPAA: by id"
            gives = min(cap, level)
            if remainder and cap > level:
                gives += 1
                remainder -= 1
            if gives:
                loans.append(Loan(run, gives, shrunk=True))
            # docs/model.md, `shrink=minimum`: "each shrinks to its minimum, and lends its even share"
            if self.shrink_to == "minimum" and self.arrival_strategy == "SPAA":
                gives = cap
            if gives:
                run.task.outcome.shrinks += 1
                self.resize(run, run.size - gives)
        return loans

    # --- the pass ------------------------------------------------------------------------------------------------

    def queue(self) -> list[Task]:
        # "on-demand jobs that could not start come first (by arrival), then the queue policy's order; FCFS = by first
        # submit time, ties by row order of the input"
        # reading: on-demand jobs that arrived at one instant by row order, too.
        waiting = [task for task in self.tasks if task.waiting]
        return sorted(
            waiting,
            key=lambda task: (
                (False, task.arrival, task.row) if task.type == JobType.ON_DEMAND else (True, task.submit, task.row)
            ),
        )

    def schedule(self) -> None:
        """One scheduling pass: EASY, then tenants."""
        self.resume_lenders()
        queue = self.queue()
        # The EASY rule, 4a: "start queue heads while they fit in the free nodes"; "A malleable job fits from its
        # minimum size on and starts at min(n, free)."
        while queue and self.needed_first(queue[0]) <= self.free:
            self.start_free(queue[0], min(queue[0].sizes[1], self.free))
            queue.pop(0)
        if queue:
            # 4b, "A malleable head needs its minimum; shadow time and extra nodes are computed for that."
            # "The head needs as many nodes less as are held for it"
            shadow, extra = self.shadow(self.needed_first(queue[0]) - self.kept.get(queue[0].id, 0))
            # 4c
            for task in queue[1:]:
                least, most = task.sizes
                size = min(most, self.free)
                if size < least:
                    continue
                length = task.walltime_at if self.reading.backfill_length == "walltime" else task.runtime_at
                if self.now + length(size) <= shadow + TOLERANCE:
                    self.start_free(task, size)
                    continue
                # "A malleable candidate is tried at min(n, free); if it would then end after the shadow time, at
                # min(n, free, extra), at least its minimum."
                size = min(size, extra)
                if size >= least:
                    extra -= size
                    self.start_free(task, size)
        self.start_tenants()

    def resume_lenders(self) -> None:
        """Let lenders resume for which nodes are held."""
        # docs/model.md, `preempted_lenders = hold`: "before each pass jobs resume, the first held first, for which
        # these and the free nodes suffice, or with nodes held for later ones, the last first, up to its smallest size"
        for job_id in [*self.kept]:
            if job_id not in self.kept:
                continue
            task = next(task for task in self.tasks if task.id == job_id)
            least, most = task.sizes
            place = [*self.kept].index(job_id)
            behind = [*self.kept][place + 1 :]
            available = self.kept[job_id] + self.free
            size = min(most, available)
            if size < least and available + sum(self.kept[other] for other in behind) >= least:
                for other in reversed(behind):
                    taken = min(self.kept[other], least - available)
                    self.kept[other] -= taken
                    available += taken
                    if not self.kept[other]:
                        del self.kept[other]
                size = least
            if size >= least:
                # reading: its own nodes are all used, because no more were held than it may have.
                del self.kept[job_id]
                self.free = available - size
                self.begin(task, size)

    def needed_first(self, task: Task) -> int:
        """Nodes that a job needs while no other waits before it."""
        # docs/model.md, `malleable_head = requested`: "a job in its turn needs its requested size"
        least, most = task.sizes
        return most if self.reading.malleable_head == "requested" else least

    def start_free(self, task: Task, size: int) -> None:
        self.free -= size
        self.begin(task, size)

    def shadow(self, needed: int) -> tuple[float, int]:
        """Shadow time and extra nodes of a head that needs so many nodes."""
        # Releases by (time, reservations first, earliest notice): "from the nodes that running jobs release before" is
        # strict.
        releases: list[tuple[int, int, int, int, int]] = []
        to_fill: dict[int, int] = {}
        collecting = not self.on_demand_waits()
        for reservation in self.by_notice():
            # "each collects what it misses from the nodes that running jobs release before max(estimated arrival, now)
            # + walltime (earliest notice first), and then releases what it has by then, never more"; "While an
            # on-demand job waits, reservations collect nothing, and count with the nodes that they have."
            time = max(reservation.estimated, self.now) + reservation.walltime
            to_fill[reservation.id] = self.missing_nodes(reservation) if collecting else 0
            nodes = reservation.idle + self.lent(reservation.id)
            releases.append((time, 0, reservation.notice, reservation.id, nodes))
        for run in self.live:
            # "a tenant's borrowed nodes are not counted as released by it; nodes under warning are released when the
            # 120 s end"
            # reading: nodes under warning that an arrived job waits for are released by that job, below.
            time = run.expected_end if run.warned_until is None else run.warned_until
            releases.append((time, 1, 0, run.id, run.unpromised))
        # reading: an arrived job that waits for nodes under warning releases all its nodes a walltime after these are
        # vacated.
        releases += [
            (arrived.ready + arrived.task.walltime, 1, 0, job, arrived.task.nodes)
            for job, arrived in self.arrived.items()
        ]

        # "at no time are more than N nodes promised"
        # "nodes held for lenders are counted as released at no time"
        assert self.free + sum(release[-1] for release in releases) + sum(self.kept.values()) == self.nodes
        available = self.free
        collected = dict.fromkeys(to_fill, 0)
        shadow: int | None = None
        for time, kind, _, job_id, nodes in sorted(releases):
            if shadow is not None and time > shadow + TOLERANCE:
                break
            if kind == 0:
                del to_fill[job_id]
                available += nodes + collected[job_id]
            else:
                for reservation_id in to_fill:  # in order of notice
                    filled = min(nodes, to_fill[reservation_id] - collected[reservation_id])
                    collected[reservation_id] += filled
                    nodes -= filled
                available += nodes
            if available >= needed and shadow is None:
                shadow = time
        if shadow is None:
            assert self.kept
            return -math.inf, 0
        # "extra = that sum at the shadow time, all jobs that end exactly then included, minus nodes(H)"
        return shadow, available - needed

    def start_tenants(self) -> None:
        """Let queued jobs run on idle reserved nodes."""
        if self.reading.tenants == "none":
            return
        released = 0
        # "After the EASY pass, queued jobs (on-demand ones excepted, the head included) are looked at in queue order,
        # misfits skipped"
        for task in self.queue():
            if task.type == JobType.ON_DEMAND:
                continue
            # "one that fits *entirely* on idle reserved nodes (malleable: at least its minimum, at most the idle ones)
            # starts there"
            # reading: with `fits` a malleable job takes the largest size at which the reservations that admit it at
            # that size have as many idle nodes.
            idle = sum(host.idle for host in self.reservations.values())
            least, most = task.sizes
            for size in range(min(most, idle), least - 1, -1):
                hosts = [host for host in self.reservations.values() if self.admits(host, task, size)]
                if sum(host.idle for host in hosts) >= size:
                    # "drawing from the reservation with the latest notice first"
                    # reading: ties by id.
                    borrowed = {}
                    left = size
                    for host in sorted(hosts, key=lambda host: (-host.notice, host.id)):
                        drawn = min(host.idle, left)
                        if drawn:
                            borrowed[host.id] = drawn
                            host.idle -= drawn
                            left -= drawn
                    self.begin(task, size, borrowed)
                    released += self.kept.pop(task.id, 0)
                    break
        # docs/model.md, `preempted_lenders = hold`: "If it starts as a tenant, they are released"
        # reading: the tenants of this pass do not find them.
        self.release(released)

    def admits(self, host: Reservation, task: Task, size: int) -> bool:
        # "`fits` admits a job only on nodes of reservations whose estimated arrival its walltime does not pass"
        return self.reading.tenants == "any" or self.now + task.walltime_at(size) <= host.estimated + TOLERANCE

    # --- section 7 -----------------------------------------------------------------------------------------------

    def account(self) -> None:
        totals = self.result.totals
        for task in self.tasks:
            outcome = task.outcome
            assert (outcome.end is None) == (task.submit is None), f"job {task.id} did not end"
            outcome.lost_node_seconds = to_seconds(task.lost)
            self.result[task.id] = outcome
        # "elapsed = first submit to last completion"
        submits = [task.submit for task in self.tasks if task.submit is not None]
        ends = [to_ticks(outcome.end) for outcome in self.result.values() if outcome.end is not None]
        if not submits:
            return
        first, last = min(submits), max(ends)
        totals.elapsed = last - first
        # "held (reserved or waiting for a warned victim) + idle"
        levels = [*self.result.levels, (last, 0, 0, 0)]
        idle_from = first  # before the first event all nodes are free
        if levels[0][0] > first:  # the first job was held
            levels = [(first, self.nodes, 0, 0), *levels]
        assert levels[0][0] <= idle_from
        for (time, free, held, _), (until, *_) in pairwise(levels):
            stretch = max(0, min(until, last) - max(time, first))
            totals.idle += free * stretch
            totals.held += held * stretch


def replay(jobs: list[Job], nodes: int, mechanism: str, **options: Any) -> Replay:
    """Simulate a job table.

    Parameters
    ----------
    jobs
        In table order.
    nodes
        Nodes of the machine; no job is larger.
    mechanism
        ``"baseline"``, one of :data:`MECHANISMS`, or a notice strategy of these with one of :data:`LEAST_LOSS` or
        ``WAIT``.
    **options
        Fields of :class:`Reading`: ``tenants`` is ``"any"``, ``"fits"`` or ``"none"``; ``backfill_length`` and
        ``passes`` as in :func:`tests.reference.easy.replay_easy`; ``warning`` and ``timeout`` [s] as in section 1 and
        section 4.

    Returns
    -------
    Replay
        Outcome by job id, with the totals.
    """
    return Model(jobs, nodes, mechanism, Reading(**options)).replay()
