"""Submission of jobs: when each one is submitted, and the consequences.

Most jobs are submitted at a time that the table gives. A job that depends on another one is submitted after that one
has terminated; a job that already runs when the replay begins is not submitted; a stochastic job is submitted again for
each further reservation. A job that is not eligible at its submit is held: it enters the queue, and becomes visible to
the policies, when it is eligible.

Sources: Standard Workload Format 2.2, fields 17 and 18, for dependencies; docs/model.md, "Life of jobs".
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import attrgetter
from time import perf_counter

from holdfast.simulator.clock.event_loop import ARRIVAL, Instants
from holdfast.simulator.clock.setup import Setup
from holdfast.simulator.machine.job_state import JobState
from holdfast.simulator.machine.stochastic import StochasticJob
from holdfast.simulator.machine.system import System
from holdfast.simulator.services.cancellations import Withdrawals
from holdfast.simulator.services.on_demand import OnDemandService
from holdfast.simulator.services.starting_state import StartingState
from holdfast.workloads.ground.errors import InvariantError
from holdfast.workloads.ground.units import SECOND, to_ticks
from holdfast.workloads.table.job import ON_DEMAND

__all__ = ["Submissions"]


class Submissions:
    """Submits jobs.

    Parameters
    ----------
    setup
        Jobs, plans, and the jobs that are already running.
    system
        The machine.
    service
        Service of on-demand jobs; None under the baseline.
    instants
        The clock.
    withdrawals
        Cancellations of jobs; None: there are none.

    Attributes
    ----------
    depends
        Whether any job depends on another.
    coming
        Number of jobs that will be submitted or are already running.
    opened
        Time from which nodes are accounted for [ticks]; -1: not yet known.
    planning_seconds
        Wall-clock seconds of planning, which do not count as scheduling decisions.
    """

    def __init__(
        self,
        setup: Setup,
        system: System,
        service: OnDemandService | None,
        instants: Instants,
        withdrawals: Withdrawals | None,
    ) -> None:
        jobs, state = setup.states, setup.running
        self._system = system
        self._service = service
        self._instants = instants
        self._arrival = ARRIVAL * instants.ranks
        self._book = setup.book
        self._withdrawals = withdrawals
        self._usage = None if setup.prior is None else setup.prior.usage
        self._origin = setup.origin
        self._successors = _group_successors(jobs) if setup.lively else {}
        # Jobs that depend on another one, or are already running, have no arrival of their own.
        running = state.jobs if state is not None else frozenset()
        others = {job.job_id for after in self._successors.values() for job in after} | running
        arrivals = [job for job in jobs if job.submit >= 0]
        if others:
            arrivals = [job for job in arrivals if job.job_id not in others]
        self._held: list[JobState] = []
        if setup.lively:
            self._held = [job for job in arrivals if job.eligible > job.submit]
            arrivals = [job for job in arrivals if job.eligible == job.submit]
        # Two stable sorts, because a key of two numbers would be created for each job.
        arrivals.sort(key=attrgetter("rank"))
        arrivals.sort(key=attrgetter("submit"))
        self._coming = iter(arrivals) if setup.stream is None else setup.stream.arrivals()
        self._first = 0
        self.depends = bool(self._successors)
        self.coming = len(arrivals) + len(self._held) + len(others) if setup.stream is None else len(setup.stream)
        self.opened = -1
        self.planning_seconds = 0.0

    def begin(self, state: StartingState) -> None:
        """Start the jobs that are already running."""
        self._open(state.begin)
        for job in state.enter(self._system):
            if self._withdrawals is not None:
                self._withdrawals.expect(job)

    def feed(self) -> None:
        """Register all arrivals with a known time; jobs that are already queued arrive at once."""
        self._first = first = int(self._instants.now)
        turn = self._arrival
        arrivals = ((job.submit if job.submit > first else first, turn + job.rank, job) for job in self._coming)
        self._instants.feed(arrivals, self._arrive)
        for job in self._held:
            self._submit(job, max(first, job.submit), "")
        self._held.clear()

    def after(self, job: JobState) -> None:
        """Submit the jobs that depend on a terminated job, now or at their later submit time."""
        for successor in self._successors.get(job.job_id, ()):
            self._follow(successor, f"after {job.job_id}")

    def go_on(self, job: StochasticJob, done: bool) -> None:
        """Continue after a reservation: record the runtime of a completed job, or submit the next reservation."""
        if not done:
            # A submission like any other: within an instant, smaller job ids come first. The order matters if there
            # is a pass after every event.
            self._instants.at(self._system.now, ARRIVAL, job.rank, lambda: self._resubmit(job))
        elif self._book is not None:
            self._book.record_completion(job.application, job.truth.runtime / SECOND)

    def _arrive(self, job: JobState, cause: str = "", *, held: bool = False) -> None:
        """Put a job into the queue; it is submitted now, or was submitted earlier and held."""
        system, service = self._system, self._service
        if self.opened < 0:
            self._open(system.now)
        if system.log.enabled:
            waits = "waits already" if job.eligible < self._first else ""
            system.log(system.now, "submit", job.job_id, 0, 0, cause or waits)
        if isinstance(job, StochasticJob):
            self._plan(job)
        if self._withdrawals is not None and not held:
            self._withdrawals.expect(job)
        if service is not None and job.type is ON_DEMAND:
            service.arrive(job)
        else:
            system.waiting.add(job, system.now)

    def _open(self, now: int) -> None:
        """Start accounting for nodes; reservations made by earlier notices do not count."""
        self.opened = self._system.now = now
        self._system.cluster.restart_accounting(now)
        if self._usage is not None and self._system.ledger is not None:
            self._system.ledger.inherit(self._usage, now, self._origin)

    def _follow(self, job: JobState, cause: str) -> None:
        self._submit(job, _move_submit(job, self._system.now), cause)

    def _submit(self, job: JobState, at: int, cause: str) -> None:
        """Schedule the submit of a job; it enters the queue when it is eligible."""
        if job.eligible <= at:
            self._instants.moment(at, ARRIVAL, job.rank, lambda _: self._arrive(job, cause))
        else:
            self._instants.moment(at, ARRIVAL, job.rank, lambda _: self._hold(job, cause))

    def _hold(self, job: JobState, cause: str) -> None:
        """Submit a job that is not eligible yet."""
        system, instants = self._system, self._instants
        if self.opened < 0:
            self._open(system.now)
        if system.log.enabled:
            system.log(system.now, "hold", job.job_id, 0, 0, cause)
        if self._withdrawals is not None:
            self._withdrawals.expect(job)
        # The scheduler does not see it yet.
        instants.void = True
        instants.moment(job.eligible, ARRIVAL, job.rank, lambda _: self._release(job))

    def _release(self, job: JobState) -> None:
        """Queue a held job that has become eligible."""
        if job.withdrawn:
            self._instants.void = True
        else:
            self._arrive(job, "eligible", held=True)

    def _plan(self, job: StochasticJob) -> None:
        """Plan the reservations of a job at its submit."""
        if self._book is None:
            raise InvariantError(f"job {job.job_id} is stochastic, but the simulation has no planner")
        began = perf_counter()
        job.plan(self._book)
        spent = perf_counter() - began
        self.planning_seconds += spent
        self._instants.began += spent

    def _resubmit(self, job: StochasticJob) -> bool:
        if job.withdrawn:
            return False
        self._system.resubmit(job)
        return True


def _group_successors(jobs: Sequence[JobState]) -> dict[int, list[JobState]]:
    """The jobs that depend on each preceding job, in the order of the input."""
    successors: dict[int, list[JobState]] = {}
    for job in jobs:
        if job.job.preceding is not None:
            successors.setdefault(job.job.preceding, []).append(job)
    return successors


def _move_submit(job: JobState, now: int) -> int:
    """Submit a job after its preceding job has terminated; returns the time of the submit.

    With a think time, the submit is later than now by this time, regardless of the log; without one, it is the submit
    of the log or now, whichever is later.
    """
    think = job.job.think_time
    at = max(now, job.submit) if think is None else now + to_ticks(think)
    job.eligible = job.first_eligible = max(at, job.eligible) if job.eligible > job.submit else at
    job.submit = job.first_submit = job.estimated_arrival = at
    return at
