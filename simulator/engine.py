"""The engine: the system in simulated time, on SimPy.

One process feeds arrivals and one notices, and one process lives for each *running* job: it sleeps until the run's end
and is interrupted when an action changes that. Waiting jobs are data. Everything else that is due at a known time
(time-outs, planned preemptions, requeues) is a plain event. The scheduler is not a process: one coalesced event per
instant, after all others of that instant, runs one pass; none where nothing could start.

The clock counts integer ticks, so that an instant is exact; within it events are ordered by SimPy's priority, which is
(class, rank of the job id). Completions stand first: at the same instant a completion wins over a preemption.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from functools import partial
from time import perf_counter
from typing import TYPE_CHECKING, Any

import simpy

from policies.backfilling import backfilling
from policies.mechanism import Mechanism
from policies.port import Start
from policies.tenancy import TENANCIES
from simulator.answers import listed, refused, start_problem, tenant_problem
from simulator.cluster import Kind
from simulator.decisions import Decisions
from simulator.eventlog import EventLog
from simulator.growth import Growth
from simulator.holders import Lender, Reservation, Run
from simulator.jobstate import FixedJob, JobState
from simulator.ondemand import OnDemandService
from simulator.options import Options
from simulator.outages import OutageService
from simulator.stochastic import StochasticJob
from simulator.system import System
from workloads.errors import InvariantError
from workloads.job import JobType
from workloads.units import SECOND, to_ticks

if TYPE_CHECKING:
    from policies.planning.planbook import PlanBook
    from simulator.closures import Closures

__all__ = ["Engine", "Sample"]

#: (time, busy nodes, held nodes, waiting jobs, nodes they ask for), at the end of an instant.
Sample = tuple[int, int, int, int, int]


#: Jobs between two reports of progress.
_REPORT_EVERY = 200

#: The order within an instant (hybrid-workloads.md, section 3). Plain integers, because each event multiplies one.
#: In each turn of an outage what ends comes before what begins.
RELEASE, REQUEUE, OUTAGE, PLAN, NOTICE, ARRIVAL, PASS = range(1, 8)


class Moment(simpy.Event):
    """An event at an exact tick, with its place in the order of that instant."""

    def __init__(self, env: simpy.Environment, at: int, priority: int) -> None:
        # As in simpy.Timeout, which would do but for its fixed priority: the fields are set here, because this is the
        # constructor that a replay calls most.
        self.env = env
        self.callbacks: list[Callable[[Any], None]] = []
        self._ok = True
        self._value = None
        env.schedule(self, priority, at - env.now)  # type: ignore[arg-type]  # SimPy's annotation knows only its own two


class Engine:
    """Runs a workload to its end.

    Parameters
    ----------
    jobs
        Their states, in the order of the input.
    nodes
        Size of the machine.
    mechanism
        How on-demand jobs are served; None: the baseline.
    options
        How the machine is operated.
    log
        Where events go.
    progress
        Told now and then how many jobs have ended.
    book
        Who plans the stochastic jobs; None: there are none.
    closures
        Outages; None: there are none.
    decisions
        Where the reasons go; None: nobody wants them.

    Attributes
    ----------
    outages
        Who carries them out.
    latencies
        Wall-clock seconds of each decision with its scheduling pass.
    planning_seconds
        Wall-clock seconds of planning, which is no part of a decision of the scheduler.
    """

    def __init__(
        self,
        jobs: Sequence[JobState],
        nodes: int,
        mechanism: Mechanism | None,
        options: Options,
        log: EventLog,
        progress: Callable[[int], None] | None = None,
        book: PlanBook | None = None,
        closures: Closures | None = None,
        decisions: Decisions | None = None,
    ) -> None:
        self._env = simpy.Environment()
        self._log = log
        self.system = System(nodes, options, log, self, decisions)
        self._decisions = self.system.decisions
        self._service = OnDemandService(self.system, mechanism, self) if mechanism is not None else None
        self.outages = OutageService(self.system, self._service, closures) if closures is not None else None
        self._backfill = backfilling(options.backfilling, options.backfill_length)
        self._decisions.ask(self._backfill)
        self._tenants = TENANCIES[options.tenants]
        # What they are called where they fail.
        self._rule, self._tenancy = f"backfilling rule {options.backfilling}", f"tenants rule {options.tenants}"
        self._growth = Growth(options.expansion, self._backfill) if options.expansion != "none" else None
        self._timeout = to_ticks(options.timeout)
        self._pass_per_event = options.passes == "event"
        # Ranks are below this, so that a turn and a rank make one priority. At least 2: SimPy's own priorities.
        self._ranks = max(2, len(jobs))
        self._arrivals = sorted((job for job in jobs if job.submit >= 0), key=lambda job: (job.submit, job.rank))
        self._notices = sorted(
            (job for job in jobs if isinstance(job, FixedJob) and job.notice >= 0 and job.type is JobType.ON_DEMAND),
            key=lambda job: (job.notice, job.rank),
        )
        self._by_id = {job.job_id: job for job in jobs}
        self._left = len(self._arrivals)
        self._done = self._env.event()
        self._progress = progress
        self._book = book
        self._pass_due = False
        self._spent = 0.0
        self.latencies: list[float] = []
        self.planning_seconds = 0.0
        self.samples: list[Sample] = []

    def run(self) -> None:
        """Run until every job that arrives has ended."""
        if not self._left:
            return
        self._env.process(self._feed_arrivals())
        if self._service is not None and self._notices:
            self._env.process(self._feed_notices(self._service))
        if self.outages is not None:
            self._env.process(self._feed_outages(self.outages))
        self._env.run(until=self._done)
        self._sample()

    # Processes.

    def _feed_arrivals(self) -> Generator[simpy.Event, None, None]:
        system, service = self.system, self._service
        first = self._arrivals[0].submit
        for job in self._arrivals:
            yield self._moment(job.submit, ARRIVAL, job.rank)
            began = self._enter()
            if job.submit == first:
                # Elapsed time is counted from the first submit, whatever a notice has reserved before.
                system.cluster.restart_accounting(first)
            self._log(job.submit, "submit", job.job_id, 0, 0)
            if isinstance(job, StochasticJob):
                began += self._plan(job)
            if service is not None and isinstance(job, FixedJob) and job.type is JobType.ON_DEMAND:
                service.arrive(job)
            else:
                system.submit(job)
            self._leave(began)

    def _feed_notices(self, service: OnDemandService) -> Generator[simpy.Event, None, None]:
        for job in self._notices:
            yield self._moment(job.notice, NOTICE, job.rank)
            began = self._enter()
            self._leave(began, passing=service.notice(job))

    def _feed_outages(self, outages: OutageService) -> Generator[simpy.Event, None, None]:
        for closure in outages.closures.windows:
            # One that is announced when it begins was not announced.
            if 0 < closure.announced < closure.start:
                self._at(closure.announced, OUTAGE, 1, partial(outages.announce, closure))
        for closure in outages.closures:
            yield self._moment(closure.start, OUTAGE, 1)
            began = self._enter()
            follows = outages.begin(closure)
            if follows:
                self._at(closure.end, OUTAGE, 0, partial(outages.end, closure))
            self._leave(began, passing=follows)

    def _live(self, run: Run) -> Generator[simpy.Event, None, None]:
        """The life of a run: to its end, unless it is preempted; a change of its end wakes it."""
        while True:
            try:
                yield self._moment(run.end, RELEASE, run.job.rank)
                break
            except simpy.Interrupt:
                if run.over:
                    return
        began = self._enter()
        if run.warned:
            for gathering in self.system.vacate(run):
                self._known_service().launch(gathering)
        else:
            done = self.system.complete(run)
            if run.type is JobType.ON_DEMAND:
                self._known_service().complete(run)
            else:
                self.system.give_away(run)
            if isinstance(run.job, StochasticJob):
                self._go_on(run.job, done)
            self._left -= done
            if done and self._progress is not None and self._left % _REPORT_EVERY == 0:
                self._progress(len(self._arrivals) - self._left)
            if done and not self._left:
                self._done.succeed()
        self._leave(began)

    def _plan(self, job: StochasticJob) -> float:
        """Plan a job that is submitted; returns how long it took."""
        if self._book is None:
            raise InvariantError(f"job {job.job_id} is stochastic, and there is nobody to plan it")
        began = perf_counter()
        job.plan(self._book)
        spent = perf_counter() - began
        self.planning_seconds += spent
        return spent

    def _go_on(self, job: StochasticJob, done: bool) -> None:
        """After a reservation: the application has one more known runtime, or the next reservation is submitted."""
        if not done:
            # A submission like others (hybrid-workloads.md, section 3): who is submitted in this instant with a smaller
            # id comes first, which shows where there is a pass after every event.
            self._at(self.system.now, ARRIVAL, job.rank, lambda: self._resubmit(job))
        elif self._book is not None:
            self._book.completed(job.application, job.truth.runtime / SECOND)

    def _resubmit(self, job: StochasticJob) -> bool:
        self.system.resubmit(job)
        return True

    # What the system and the service ask for.

    def began(self, run: Run) -> None:
        run.process = self._env.process(self._live(run))

    def changed(self, run: Run) -> None:
        if run.process is not None:
            run.process.interrupt()

    def vacated(self, job: JobState) -> None:
        self._at(self.system.now, REQUEUE, job.rank, lambda: self._requeue(job))

    def plan(self, at: int, run: Run, reservation: Reservation) -> None:
        service = self._known_service()
        self._at(at, PLAN, run.job.rank, lambda: service.carry_out(run, reservation))

    def time_out(self, reservation: Reservation) -> None:
        service = self._known_service()
        at = reservation.estimated_arrival + self._timeout
        self._at(at, REQUEUE, reservation.job.rank, lambda: service.time_out(reservation))

    def _requeue(self, job: JobState) -> bool:
        self.system.requeue(job)
        return True

    def _known_service(self) -> OnDemandService:
        if self._service is None:
            raise RuntimeError("the baseline has no on-demand service")
        return self._service

    # Instants and passes.

    def _moment(self, at: int, turn: int, rank: int) -> Moment:
        return Moment(self._env, at, turn * self._ranks + rank)

    def _at(self, at: int, turn: int, rank: int, happen: Callable[[], bool]) -> None:
        """Let something happen at that time; if it says that it was void, it causes no pass."""

        def occur(_: simpy.Event) -> None:
            began = self._enter()
            self._leave(began, passing=happen())

        self._moment(at, turn, rank).callbacks.append(occur)

    def _enter(self) -> float:
        """An event happens: the instant before, if there was one, is complete."""
        now: int = self._env.now  # type: ignore[assignment]  # all delays are integers, so it is one too
        if now != self.system.now:
            self._sample()
            self.system.now = now
        return perf_counter()

    def _leave(self, began: float, *, passing: bool = True) -> None:
        """An event has happened; unless it was void, a pass follows where anything could start."""
        if not passing:
            return
        if self.outages is not None:
            self.outages.collect()
        spent = perf_counter() - began
        if self._pass_due:
            self._spent += spent
        elif not self._may_start():
            self.latencies.append(spent)
        else:
            self._spent = spent
            if self._pass_per_event:
                self._pass(None)
            else:
                self._pass_due = True
                self._moment(self.system.now, PASS, 0).callbacks.append(self._pass)

    def _may_start(self) -> bool:
        """Whether a job waits, and free or held nodes (which may be idle reserved ones) would do for the smallest.

        Most instants end here: no rule need look at the queue then. Where running jobs may be expanded, free nodes are
        reason enough.
        """
        waiting = self.system.waiting
        if self._growth is not None and self.system.free:
            return True
        if not waiting.jobs:
            return False
        free, held, _, _ = self.system.cluster.totals
        return free + held >= waiting.smallest()

    def _pass(self, _: Any) -> None:
        """One scheduling pass."""
        began = perf_counter()
        system = self.system
        self._pass_due = False
        if self.outages is not None:
            self.outages.start_booked()
        if system.free >= system.waiting.smallest():
            pool = system.cluster.pool
            for start in listed(self._rule, self._backfill(system)):
                job = self._known(start, pool.nodes, self._rule)
                system.start(job, ((pool, start.nodes),), start.cause)
                if start.reason:
                    self._decisions.reason(system.now, start.job_id, start)
        # Without held nodes no reservation has any to lend.
        if system.reservations and system.cluster.totals[Kind.HELD] and system.waiting.jobs:
            for start in listed(self._tenancy, self._tenants(system)):
                self._start_tenant(start)
        if self._growth is not None and system.free:
            self._growth(system)
        self.latencies.append(self._spent + perf_counter() - began)

    def _sample(self) -> None:
        """Note the machine as the instant has left it."""
        system = self.system
        waiting = system.waiting
        _, held, busy, _ = system.cluster.totals
        self.samples.append((system.now, busy, held, waiting.jobs, waiting.nodes))
        if self._decisions.enabled:
            self._decisions.instant_over(system, lambda job_id: self._by_id[job_id].waiting)

    def _start_tenant(self, start: Start) -> None:
        system = self.system
        job = self._known(start, system.nodes, self._tenancy)
        problem = tenant_problem(start, {item.job_id: item.nodes for item in system.reservations})
        if problem:
            raise refused(self._tenancy, start, problem)
        draws = start.draws or {}
        lenders: dict[Lender, int] = {item: draws[item.job_id] for item in system.reservations if item.job_id in draws}
        system.start(job, lenders.items(), start.cause, lenders)
        self._decisions.drawn(system.now, start, draws)

    def _known(self, start: Start, free: int, policy: str) -> JobState:
        """The job that a policy starts, if it can be started on so many free nodes."""
        job = self._by_id.get(start.job_id) if isinstance(start, Start) else None
        if job is not None and job.waiting and job.min_nodes <= start.nodes <= job.nodes and start.nodes <= free:
            return job
        raise refused(policy, start, start_problem(start, job, job is not None and job.waiting, free))
