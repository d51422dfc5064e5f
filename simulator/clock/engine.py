"""The simulation engine, which runs a machine in simulated time on SimPy.

Notices and outages come from a generator each; arrivals are merged with SimPy's queue. Everything else with a known
time (ends of runs, time-outs, planned preemptions, requeues) is a plain event; when an action changes the end of a run,
the old event is cancelled. Waiting jobs are plain data. When no event of an instant is left, one scheduling pass runs,
unless no job could start.

The clock counts integer ticks, so that instants are exact. Within an instant, events are ordered by their SimPy
priority, which is (class, rank of the job id). Completions have the highest priority: in the same instant they precede
preemptions and cancellations.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from simpy.core import EmptySchedule

from holdfast.simulator.clock.decision_request import Asking
from holdfast.simulator.clock.event_loop import CANCELLATION, NOTICE, OUTAGE, PLAN, RELEASE, REQUEUE, Instants, Moment
from holdfast.simulator.clock.interactive import AskingScheduler, AskingSubmissions
from holdfast.simulator.clock.scheduling import Scheduler
from holdfast.simulator.clock.setup import Setup
from holdfast.simulator.clock.submissions import Submissions
from holdfast.simulator.machine.event_log import Sample
from holdfast.simulator.machine.job_state import JobState
from holdfast.simulator.machine.node_accounts import Reservation, Run
from holdfast.simulator.machine.stochastic import StochasticJob
from holdfast.simulator.machine.system import System
from holdfast.simulator.services.cancellations import Withdrawals
from holdfast.simulator.services.completion_checks import Patience, check_starts
from holdfast.simulator.services.on_demand import OnDemandService
from holdfast.simulator.services.outages import OutageService
from holdfast.workloads.ground.errors import InvariantError
from holdfast.workloads.ground.units import to_ticks
from holdfast.workloads.table.job import ON_DEMAND

__all__ = ["Engine"]


#: Jobs between two reports of progress.
_REPORT_EVERY = 200


class Engine:
    """Runs a workload to its end.

    Parameters
    ----------
    setup
        Components and inputs of the simulation.

    Attributes
    ----------
    outages
        Service of outages.
    scheduler
        Runs the passes.
    """

    def __init__(self, setup: Setup) -> None:
        jobs, options, state, closures = setup.states, setup.options, setup.running, setup.closures
        self._log = setup.log
        self.system = System(setup.nodes, options, setup.log, self, setup.decisions)
        self._service = (
            OnDemandService(self.system, setup.mechanism, self, options) if setup.mechanism is not None else None
        )
        self.outages = OutageService(self.system, self._service, closures) if closures is not None else None
        parts = (self.system, options, jobs, self.outages, setup.trial, setup.stream)
        self._asking = asking = setup.asking or Asking()
        self.scheduler = AskingScheduler(*parts, asking=asking) if asking.order else Scheduler(*parts)
        if setup.prior is not None:
            self.scheduler.inherit(setup.prior.places)
        # Ranks are below this number, so that turn and rank combine to one priority. At least 2: SimPy's own
        # priorities.
        self._instants = Instants(
            self.system,
            self.scheduler,
            begin=0 if state is None else state.begin,
            ranks=max(2, len(jobs if setup.stream is None else setup.stream)),
            pass_per_event=options.passes == "event",
        )
        asking.halt = self._instants.halt
        self._release = RELEASE * self._instants.ranks
        self._rule = options.backfilling
        self._timeout = to_ticks(options.timeout)
        self._notices = sorted(
            (
                job
                for job in (jobs if self._service is not None else ())
                if job.type is ON_DEMAND and job.notice >= 0 and (state is None or state.comes(job))
            ),
            key=lambda job: (job.notice, job.rank),
        )
        self._state, self._jobs = state, jobs
        self._withdrawals: Withdrawals | None = None
        if setup.lively and any(job.job.cancelled_at is not None for job in jobs):
            self._withdrawals = Withdrawals(jobs, self.system, self._service, self)
        given = (setup, self.system, self._service, self._instants, self._withdrawals)
        self._submissions = Submissions(*given) if asking.about is None else AskingSubmissions(*given, asking=asking)
        self._left, self._depends = self._submissions.coming, self._submissions.depends
        self._awaited = None if setup.awaited is None else set(setup.awaited)
        self._progress = setup.progress
        self._stream = setup.stream
        if setup.stream is not None:
            setup.stream.watch(self._instants.samples, self._instants.latencies)

    @property
    def service(self) -> OnDemandService | None:
        """Service of on-demand jobs; None under the baseline."""
        return self._service

    @property
    def submissions(self) -> Submissions:
        """Submits the jobs."""
        return self._submissions

    @property
    def latencies(self) -> list[float]:
        """Wall-clock seconds of each decision with its scheduling pass."""
        return self._instants.latencies

    @property
    def samples(self) -> list[Sample]:
        """The machine at the end of each instant."""
        return self._instants.samples

    @property
    def opened(self) -> int:
        """Time from which nodes are accounted for [ticks]."""
        return self._submissions.opened

    @property
    def planning_seconds(self) -> float:
        """Wall-clock seconds of planning, which do not count as scheduling decisions."""
        return self._submissions.planning_seconds

    @property
    def withdrawn(self) -> int | None:
        """Node-ticks of cancelled runs; None: no job can be cancelled."""
        return None if self._withdrawals is None else self.system.usage.withdrawn

    def run(self) -> None:
        """Run until every job that arrives has ended, or every awaited one has started."""
        if not self._left:
            return
        self.launch()
        self._run()
        self._instants.sample()

    def launch(self) -> None:
        """Register everything that does not depend on other events.

        Raises
        ------
        InputError
            If nodes fail too often for all jobs to end.
        """
        rate = None if self.outages is None else self.outages.closures.rate
        if rate is not None and self._awaited is None:
            check_starts(self._jobs, rate)
        if self._state is not None:
            self._submissions.begin(self._state)
        self._submissions.feed()
        if self._service is not None and self._notices:
            self._instants.follow(self._feed_notices(self._service))
        if self.outages is not None:
            self._instants.follow(self._feed_outages(self.outages))

    def advance(self) -> bool:
        """Run until a decision is requested, or to the end; returns whether one is requested."""
        if not self._left:
            return False
        self._run()
        if not self._left:
            self._instants.sample()
        return self._asking.pending

    def close(self) -> None:
        """Release all components at once: no reference cycle is left for the garbage collector."""
        self._instants.close()
        vars(self).clear()

    def _run(self) -> None:
        try:
            self._instants.run()
        except EmptySchedule:
            if not self.system.waiting.jobs:
                raise
            raise self._stuck() from None

    def _stuck(self) -> InvariantError:
        left = self.system.waiting.jobs
        return InvariantError(
            f"the backfilling rule {self._rule} leaves {left} jobs in the queue of an idle machine for ever"
        )

    # What happens at times that are known in advance.

    def _feed_notices(self, service: OnDemandService) -> Iterator[Moment]:
        instants, begin = self._instants, int(self._instants.now)
        for job in self._notices:
            yield instants.moment(max(job.notice, begin), NOTICE, job.rank)
            instants.void = not service.notice(job)
            if self._withdrawals is not None and job.job.submit is None:
                self._withdrawals.expect(job)

    def _feed_outages(self, outages: OutageService) -> Iterator[Moment]:
        instants = self._instants
        for closure in outages.closures.windows:
            # An outage announced at its own begin counts as unannounced.
            if outages.closures.begin < closure.announced < closure.start:
                instants.at(closure.announced, OUTAGE, 1, partial(outages.announce, closure))
        patience, left = Patience(outages.closures.rate), self._left
        for closure in outages.closures:
            if self._left != left:
                left = self._left
                patience.renew()
            elif closure.drawn:
                patience.strain(self.system)
            yield instants.moment(closure.start, OUTAGE, 1)
            follows = outages.begin(closure)
            if follows:
                instants.at(closure.end, OUTAGE, 0, partial(outages.end, closure))
            instants.void = not follows

    def _end(self, moment: Moment) -> None:
        """End a run; under warning, this completes its preemption."""
        run: Run = moment.subject
        # Break the reference cycle, which only the garbage collector would find.
        run.ending = None
        system, job = self.system, run.job
        if run.warned:
            for gathering in system.vacate(run):
                self._known_service().launch(gathering)
            return
        done = system.complete(run)
        if job.type is ON_DEMAND:
            self._known_service().complete(run)
        else:
            system.give_away(run)
        if isinstance(job, StochasticJob):
            self._submissions.go_on(job, done)
        if done:
            self._submit_successors(job)

    def _submit_successors(self, job: JobState) -> None:
        """Submit the jobs that depend on a job that has ended or was cancelled."""
        self._left = left = self._left - 1
        if self._stream is not None:
            self._stream.add(job)
        if self._progress is not None and left % _REPORT_EVERY == 0:
            self._progress(self._submissions.coming - left)
        if self._depends:
            self._submissions.after(job)
        if not left:
            self._instants.halt()

    # Requests of the system and of the service.

    def began(self, run: Run) -> None:
        run.ending = Moment(self._instants, run.end, self._release + run.job.rank, self._end, run)
        if self._awaited is not None:
            self._awaited.discard(run.job.job_id)
            if not self._awaited:
                self._instants.halt()
        if self._withdrawals is not None:
            self._withdrawals.began(run)

    def update_end(self, run: Run) -> None:
        if run.ending is not None:
            run.ending.cancel()
        run.ending = None if run.over else self._instants.moment(run.end, RELEASE, run.job.rank, self._end, run)

    def schedule_requeue(self, job: JobState) -> None:
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
            self._submit_successors(job)
        return True

    def _requeue(self, job: JobState) -> bool:
        self.system.requeue(job)
        return True

    def _known_service(self) -> OnDemandService:
        if self._service is None:
            raise RuntimeError("the baseline has no on-demand service")
        return self._service
