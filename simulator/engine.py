"""The engine: the system in simulated time, on SimPy.

One process feeds arrivals and one notices, and one process lives for each *running* job: it sleeps until the run's end
and is interrupted when an action changes that. Waiting jobs are data. Everything else that is due at a known time
(time-outs, planned preemptions, requeues) is a plain event. The scheduler is not a process: one coalesced event per
instant, after all others of that instant, runs one pass; none where nothing could start.

The clock counts integer ticks, so that an instant is exact; within it events are ordered by SimPy's priority, which is
(class, rank of the job id). Completions stand first: at the same instant a completion wins over a preemption, and over
a cancellation.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Generator, Sequence
from functools import partial
from time import perf_counter
from typing import TYPE_CHECKING

import simpy

from policies.mechanism import Mechanism
from simulator.decisions import Decisions
from simulator.eventlog import EventLog
from simulator.holders import Reservation, Run
from simulator.instants import ARRIVAL, CANCELLATION, NOTICE, OUTAGE, PLAN, RELEASE, REQUEUE, Instants, Sample
from simulator.jobstate import FixedJob, JobState
from simulator.ondemand import OnDemandService
from simulator.options import Options
from simulator.outages import OutageService
from simulator.scheduling import Scheduler
from simulator.startingstate import StartingState
from simulator.stochastic import StochasticJob
from simulator.successors import move_submit, successors_of
from simulator.system import System
from simulator.withdrawals import Withdrawals
from workloads.errors import InputError, InvariantError
from workloads.job import JobType
from workloads.units import SECOND, to_ticks

if TYPE_CHECKING:
    from policies.planning.planbook import PlanBook
    from simulator.closures import Closures

__all__ = ["Engine"]

#: Jobs between two reports of progress.
_REPORT_EVERY = 200

#: Failures at a rate during which some job must end.
_MOST_FAILURES = 100_000


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
    state
        Who runs already; None: nobody.
    lively
        Whether any job may be withdrawn, depends on another, or runs already.
    closures
        Outages; None: there are none.
    decisions
        Where the reasons go; None: nobody wants them.

    Attributes
    ----------
    outages
        Who carries them out.
    opened
        From when on time and nodes are accounted for.
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
        state: StartingState | None = None,
        closures: Closures | None = None,
        decisions: Decisions | None = None,
        *,
        lively: bool = False,
    ) -> None:
        self._log = log
        self.system = System(nodes, options, log, self, decisions)
        self._service = OnDemandService(self.system, mechanism, self) if mechanism is not None else None
        self.outages = OutageService(self.system, self._service, closures) if closures is not None else None
        # Ranks are below that number, so that a turn and a rank make one priority. At least 2: SimPy's own priorities.
        self._instants = Instants(
            self.system,
            Scheduler(self.system, options, jobs, self.outages),
            begin=0 if state is None else state.begin,
            ranks=max(2, len(jobs)),
            pass_per_event=options.passes == "event",
        )
        self._env = self._instants.env
        # At hand, because a replay calls little else.
        self._moment, self._enter, self._leave = self._instants.moment, self._instants.enter, self._instants.leave
        self._rule = options.backfilling
        self._timeout = to_ticks(options.timeout)
        # Who waits for another job, or runs already, does not arrive by the clock.
        running = state.jobs if state is not None else frozenset()
        self._successors = successors_of(jobs) if lively else {}
        others = {job.job_id for after in self._successors.values() for job in after} | running
        self._arrivals = sorted(
            (job for job in jobs if job.submit >= 0 and job.job_id not in others),
            key=lambda job: (job.submit, job.rank),
        )
        self._notices = sorted(
            (
                job
                for job in jobs
                if isinstance(job, FixedJob)
                and job.notice >= 0
                and job.type is JobType.ON_DEMAND
                and (state is None or state.comes(job))
            ),
            key=lambda job: (job.notice, job.rank),
        )
        self._state = state
        self._withdrawals: Withdrawals | None = None
        if lively and any(job.job.cancelled_at is not None for job in jobs):
            self._withdrawals = Withdrawals(jobs, self.system, self._service, self)
        self._coming = len(self._arrivals) + len(others)
        self._left = self._coming
        self._done = self._env.event()
        self._progress = progress
        self._book = book
        self.opened = -1
        self.planning_seconds = 0.0

    @property
    def latencies(self) -> list[float]:
        """Wall-clock seconds of each decision with its scheduling pass."""
        return self._instants.latencies

    @property
    def samples(self) -> list[Sample]:
        """The machine at the end of each instant."""
        return self._instants.samples

    @property
    def withdrawn(self) -> int | None:
        """Node-ticks of the runs that their users ended; None: nobody may withdraw a job."""
        return None if self._withdrawals is None else self.system.usage.withdrawn

    def run(self) -> None:
        """Run until every job that arrives has ended."""
        if not self._left:
            return
        if self._state is not None:
            self._begin(self._state)
        self._env.process(self._feed_arrivals())
        if self._service is not None and self._notices:
            self._env.process(self._feed_notices(self._service))
        if self.outages is not None:
            self._env.process(self._feed_outages(self.outages))
        try:
            self._env.run(until=self._done)
        except RuntimeError:
            left = self.system.waiting.jobs
            if self._done.triggered or self._env.peek() != math.inf or not left:
                raise
            raise InvariantError(
                f"the backfilling rule {self._rule} leaves {left} jobs in the queue of an idle machine for ever"
            ) from None
        self._instants.sample()

    def _begin(self, state: StartingState) -> None:
        """Begin with the jobs that run already."""
        self._open(state.begin)
        for job in state.enter(self.system):
            if self._withdrawals is not None:
                self._withdrawals.expect(job)

    def _open(self, now: int) -> None:
        """Time and nodes are accounted for from now on, whatever a notice has reserved before."""
        self.opened = self.system.now = now
        self.system.cluster.restart_accounting(now)

    # Processes.

    def _feed_arrivals(self) -> Generator[simpy.Event, None, None]:
        begin = self._env.now
        for job in self._arrivals:
            if job.submit < begin:
                yield self._moment(int(begin), ARRIVAL, job.rank)
                self._arrive(job, "waits already")
            else:
                yield self._moment(job.submit, ARRIVAL, job.rank)
                self._arrive(job)

    def _feed_notices(self, service: OnDemandService) -> Generator[simpy.Event, None, None]:
        begin = int(self._env.now)
        for job in self._notices:
            yield self._moment(max(job.notice, begin), NOTICE, job.rank)
            began = self._enter()
            self._leave(began, passing=service.notice(job))
            if self._withdrawals is not None and job.job.submit is None:
                self._withdrawals.expect(job)

    def _feed_outages(self, outages: OutageService) -> Generator[simpy.Event, None, None]:
        instants = self._instants
        for closure in outages.closures.windows:
            # One that is announced when it begins was not announced.
            if outages.closures.begin < closure.announced < closure.start:
                instants.at(closure.announced, OUTAGE, 1, partial(outages.announce, closure))
        struck, left = 0, self._left
        for closure in outages.closures:
            # Failures at a rate do not end: one that never lets anybody come to an end would go on for ever.
            struck, left = (0, self._left) if self._left != left else (struck + closure.drawn, left)
            if struck > _MOST_FAILURES:
                raise InputError(
                    f"no job has ended during {_MOST_FAILURES:,} failures: nodes fail too often for those left"
                )
            yield instants.moment(closure.start, OUTAGE, 1)
            began = instants.enter()
            follows = outages.begin(closure)
            if follows:
                instants.at(closure.end, OUTAGE, 0, partial(outages.end, closure))
            instants.leave(began, passing=follows)

    def _arrive(self, job: JobState, cause: str = "") -> None:
        """A job is submitted."""
        system, service = self.system, self._service
        began = self._enter()
        if self.opened < 0:
            self._open(system.now)
        self._log(system.now, "submit", job.job_id, 0, 0, cause)
        if isinstance(job, StochasticJob):
            began += self._plan(job)
        if self._withdrawals is not None:
            self._withdrawals.expect(job)
        if service is not None and isinstance(job, FixedJob) and job.type is JobType.ON_DEMAND:
            service.arrive(job)
        else:
            system.submit(job)
        self._leave(began)

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
            if done:
                self._terminated(run.job)
        self._leave(began)

    def _terminated(self, job: JobState) -> None:
        """A job is done or withdrawn: who depends on it is submitted."""
        self._left -= 1
        if self._progress is not None and self._left % _REPORT_EVERY == 0:
            self._progress(self._coming - self._left)
        if self._successors:
            for successor in self._successors.get(job.job_id, ()):
                self._follow(successor, f"after {job.job_id}")
        if not self._left:
            self._done.succeed()

    def _follow(self, job: JobState, cause: str) -> None:
        moment = self._moment(move_submit(job, self.system.now), ARRIVAL, job.rank)
        moment.callbacks.append(lambda _: self._arrive(job, cause))

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
            self._instants.at(self.system.now, ARRIVAL, job.rank, lambda: self._resubmit(job))
        elif self._book is not None:
            self._book.completed(job.application, job.truth.runtime / SECOND)

    def _resubmit(self, job: StochasticJob) -> bool:
        if job.withdrawn:
            return False
        self.system.resubmit(job)
        return True

    # What the system and the service ask for.

    def began(self, run: Run) -> None:
        run.process = self._env.process(self._live(run))
        if self._withdrawals is not None:
            self._withdrawals.began(run)

    def changed(self, run: Run) -> None:
        if run.process is not None:
            run.process.interrupt()

    def vacated(self, job: JobState) -> None:
        self._instants.at(self.system.now, REQUEUE, job.rank, lambda: self._requeue(job))

    def plan(self, at: int, run: Run, reservation: Reservation) -> None:
        service = self._known_service()
        self._instants.at(at, PLAN, run.job.rank, lambda: service.carry_out(run, reservation))

    def time_out(self, reservation: Reservation) -> None:
        service = self._known_service()
        at = reservation.estimated_arrival + self._timeout
        self._instants.at(at, REQUEUE, reservation.job.rank, lambda: service.time_out(reservation))

    def withdrawal(self, at: int, job: JobState) -> None:
        self._instants.at(at, CANCELLATION, job.rank, lambda: self._withdraw(job))

    def _withdraw(self, job: JobState) -> bool:
        if self._withdrawals is None or not self._withdrawals.withdraw(job):
            return False
        if job.withdrawn:
            self._terminated(job)
        return True

    def _requeue(self, job: JobState) -> bool:
        self.system.requeue(job)
        return True

    def _known_service(self) -> OnDemandService:
        if self._service is None:
            raise RuntimeError("the baseline has no on-demand service")
        return self._service
