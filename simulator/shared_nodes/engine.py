"""A simulation on shared nodes: the events of jobs, and the services that handle them."""

from __future__ import annotations

from collections.abc import Callable, Container, Sequence
from typing import TYPE_CHECKING

from holdfast.policies.mechanism import Mechanism
from holdfast.policies.order import ORDERS
from holdfast.simulator.machine.event_log import Sample
from holdfast.simulator.machine.prior_state import PastUsage
from holdfast.simulator.machine.stochastic import StochasticJob
from holdfast.simulator.options import Options
from holdfast.simulator.resources.queue_keys import MachineQueue, WaitingRequest
from holdfast.simulator.services.starting_state import StartingState
from holdfast.simulator.shared_nodes.arrivals import ArrivalService
from holdfast.simulator.shared_nodes.clock import ARRIVAL, CANCELLATION, COMPLETION, NOTICE, PLAN, REQUEUE, InstantClock
from holdfast.simulator.shared_nodes.demand import Amounts
from holdfast.simulator.shared_nodes.job_reservations import JobReservations
from holdfast.simulator.shared_nodes.limits import LimitBook
from holdfast.simulator.shared_nodes.lives import LifeService
from holdfast.simulator.shared_nodes.notices import NoticeService
from holdfast.simulator.shared_nodes.occupants import PartLoan, PartReservation, SharedRun
from holdfast.simulator.shared_nodes.outages import NodeOutageService
from holdfast.simulator.shared_nodes.reservations import ReservationBook
from holdfast.simulator.shared_nodes.returns import ReturnService
from holdfast.simulator.shared_nodes.running_jobs import place_running_jobs
from holdfast.simulator.shared_nodes.scheduler import SharedScheduler
from holdfast.simulator.shared_nodes.shared_job import SharedJob
from holdfast.simulator.shared_nodes.state import SharedMachine
from holdfast.simulator.shared_nodes.tenants import TenantService
from holdfast.workloads.ground.units import to_ticks

if TYPE_CHECKING:
    from holdfast.policies.planning.plan_book import PlanBook

__all__ = ["SharedEngine"]


class SharedEngine:
    """Simulates jobs on shared nodes.

    Parameters
    ----------
    machine
        The machine.
    jobs
        The jobs, in the order of the table.
    mechanism
        How on-demand jobs are served; None: every job is rigid, without notices.
    options
        How the machine is operated.
    depth
        Reservations of waiting jobs in each partition.
    state
        The jobs that run when the simulation begins; None: it begins with an empty machine.
    progress
        Called with the number of ended jobs.
    plan_book
        Plans of the stochastic jobs; None: there are no such jobs.
    past, origin
        Usage before the begin, and the ticks of its clock at which the simulated clock stands at 0; None: not known.

    Attributes
    ----------
    samples
        The machine at the end of each instant.
    down
        (time, units that are down and in no use) at the end of each instant; empty without outages.
    instants
        Ticks of each scheduling pass.
    stranded
        From each pass on, free amounts that would in all have sufficed for the first waiting job without room.
    """

    def __init__(
        self,
        machine: SharedMachine,
        jobs: Sequence[SharedJob],
        mechanism: Mechanism | None,
        options: Options,
        depth: int,
        state: StartingState | None,
        progress: Callable[[int], None] | None = None,
        plan_book: PlanBook | None = None,
        past: PastUsage | None = None,
        origin: int = 0,
    ) -> None:
        self._machine, self._jobs, self._progress = machine, jobs, progress
        self._mechanism = mechanism
        machine.jobs = {job.job_id: job for job in jobs}
        machine.clock = self
        self._state = state
        machine.now = 0 if state is None else state.begin
        self._timeout = to_ticks(options.timeout)
        self._queue = self._machine_queue(options.order)
        if past is not None:
            self._queue.inherit(past, machine.now, origin)
        loans: dict[int, list[PartLoan]] = {}
        self._book = book = ReservationBook(machine)
        limits = LimitBook(machine)
        arrival = mechanism.arrival if mechanism is not None else ""
        self._arrivals = ArrivalService(machine, book, shrinks=arrival.startswith("SPAA"), loans=loans, limits=limits)
        self._returns = ReturnService(machine, book, loans, limits)
        plans = mechanism is not None and mechanism.notice == "CUP"
        self._notices = NoticeService(machine, book, plans=plans, plan_at=self._plan_at)
        self._scheduler = SharedScheduler(machine, book, depth, self._sort, limits)
        self._lives = LifeService(machine, book, self._arrivals, self._returns, jobs, loans, self._submit_at)
        self._tenants = TenantService(machine, options.tenants, self._sort, limits)
        self._outages = NodeOutageService(machine, book, self._arrivals, loans, self._vacate)
        self._clock = InstantClock(machine.now, len(jobs) + 1, self._tick, self._pass)
        self.samples: list[Sample] = []
        self.down: list[tuple[int, int]] = []
        self.instants: list[int] = []
        self.stranded: list[Amounts] = []
        self._ended = 0
        self._reservations = JobReservations(plan_book, machine, self._queue)

    @property
    def planning_seconds(self) -> float:
        """Wall-clock time of the planning of stochastic jobs."""
        return self._reservations.planning_seconds

    def run(self) -> None:
        """Simulate until all jobs have ended."""
        begin = self._machine.now
        running: Container[int] = () if self._state is None else self._begin(self._state)
        coming = [
            job
            for job in self._jobs
            if job.state.first_submit >= 0 and job.state.job.preceding is None and job.job_id not in running
        ]
        known = [job for job in coming if job.state.submit < begin and job.state.eligible == job.state.submit]
        # Jobs that wait already come in the order of their submits, before those of this instant; so do notices.
        for job in sorted(known, key=lambda job: (job.state.submit, job.state.rank)):
            self._clock.call(begin, ARRIVAL, 0, lambda job=job: self._submit(job))  # type: ignore[misc]
        for job in coming:
            if job.state.submit >= begin or job.state.eligible > job.state.submit:
                self._submit_at(max(job.state.submit, begin), job)
        if self._mechanism is not None and self._mechanism.notice != "N":
            self._expect_notices(begin)
        self._outages.expect(self._clock, begin)
        self._clock.run()
        self._sample()

    def _expect_notices(self, begin: int) -> None:
        jobs = [job for job in self._jobs if job.on_demand and job.served and job.state.notice >= 0]
        for job in sorted(jobs, key=lambda job: (job.state.notice, job.state.rank)):
            if self._state is None or self._state.comes(job.state):
                at, rank = max(job.state.notice, begin), job.state.rank if job.state.notice >= begin else 0
                self._clock.call(at, NOTICE, rank, lambda job=job: self._notice(job))  # type: ignore[misc]

    def _begin(self, state: StartingState) -> Container[int]:
        """Let the jobs of a starting state run; returns their ids."""
        for job in place_running_jobs(self._machine, state):
            self._expect_cancellation(job, job.state.submit)
        # A pass, from which the time of the machine counts.
        self._clock.call(state.begin, ARRIVAL, 0, lambda: True)
        return state.jobs

    def _machine_queue(self, order: str) -> MachineQueue:
        """The queue order; times count from the begin of the simulated clock."""
        # Jobs with equal requests share a need.
        needs = {id(job.demand.options[0]): job.demand for job in self._jobs}
        sizes = {key: demand.equivalents for key, demand in needs.items()}
        requests = [
            WaitingRequest(
                job.job_id,
                job.state.submit,
                job.state.eligible,
                sizes[id(job.demand.options[0])],
                job.state.walltime,
                job.state.user,
                job.account or job.state.project,
            )
            for job in self._jobs
        ]
        return MachineQueue(ORDERS[order], requests, [job.tier for job in self._jobs], self._machine.table.machine.size)

    def _sort(self, jobs: list[SharedJob]) -> list[SharedJob]:
        """Waiting jobs in order: on-demand jobs by arrival, then by tier and queue order."""
        if not jobs:
            return jobs
        first = [job for job in jobs if job.on_demand]
        first.sort(key=lambda job: (job.state.eligible, job.state.row))
        others = {job.state.row: job for job in jobs if not job.on_demand}
        order = self._queue.sort(sorted(others), self._machine.now)
        return [*first, *(others[row] for row in order)]

    # Events.

    def _tick(self, now: int) -> None:
        """Begin an instant."""
        if now != self._machine.now:
            self._sample()
            self._machine.now = now

    def _pass(self) -> None:
        machine = self._machine
        if machine.waiting:
            self._scheduler.run_pass()
            self._tenants.start_tenants()
        self.instants.append(machine.now)
        self.stranded.append(self._scheduler.stranded_amounts())

    def _sample(self) -> None:
        """Record the machine at the end of an instant."""
        machine = self._machine
        busy, held = machine.levels()
        if machine.closures.exist:
            down, reserved = machine.closures.idle_amounts(machine.free, machine.capacities, whole=machine.whole)
            self.down.append((machine.now, down))
            held += reserved
        asked = sum(job.size for job in machine.waiting.values())
        self.samples.append((machine.now, busy, held, len(machine.waiting), asked))

    def _submit_at(self, at: int, job: SharedJob) -> None:
        self._clock.call(at, ARRIVAL, job.state.rank, lambda: self._submit(job))

    def _submit(self, job: SharedJob) -> bool:
        """Submit a job; it enters the queue when it is eligible."""
        state, now = job.state, self._machine.now
        self._queue.submit(state.row, state.submit, state.eligible)
        self._expect_cancellation(job, state.submit)
        if state.eligible > now:
            self._clock.call(state.eligible, ARRIVAL, state.rank, lambda: self._arrive(job))
            return False
        return self._arrive(job)

    def _expect_cancellation(self, job: SharedJob, since: int) -> None:
        patience = self._lives.patience.get(job.job_id)
        if patience is not None:
            self._clock.call(
                max(self._machine.now, since + patience), CANCELLATION, job.state.rank, lambda: self._cancel(job)
            )

    def _cancel(self, job: SharedJob) -> bool:
        if not self._lives.cancel(job):
            return False
        self._count_end()
        return True

    def _arrive(self, job: SharedJob) -> bool:
        if job.state.withdrawn:
            return False
        if self._mechanism is not None and job.on_demand:
            self._arrivals.arrive(job)
        else:
            if isinstance(job.state, StochasticJob):
                self._reservations.plan(job, job.state)
            self._machine.enqueue(job)
        return True

    def _notice(self, job: SharedJob) -> bool:
        state, now = job.state, self._machine.now
        if 0 <= state.first_submit < now:
            return False
        reservation = self._notices.notice(job)
        if state.job.submit is None:
            self._expect_cancellation(job, state.notice)
        due = max(now, state.estimated_arrival + self._timeout)
        self._clock.call(due, REQUEUE, state.rank, lambda: self._notices.time_out(reservation))
        return True

    def _plan_at(self, at: int, run: SharedRun, reservation: PartReservation) -> None:
        self._clock.call(at, PLAN, run.job.rank, lambda: self._notices.carry_out(run, reservation))

    def hold(self, run: SharedRun) -> None:
        """Count the usage of a run from now on, by its node equivalents."""
        job = self._machine.jobs[run.job_id]
        size = 0 if run.over else run.size
        self._queue.hold(job.state.row, job.demand.equivalents * size / job.demand.parts, self._machine.now)

    def end(self, run: SharedRun) -> None:
        """Schedule the completion of a run at its present end."""
        end = run.end
        self._clock.call(end, COMPLETION, run.job.rank, lambda: self._complete(run, end))

    def vacate(self, run: SharedRun) -> None:
        """Schedule the end of a warning."""
        self._clock.call(run.release, COMPLETION, run.job.rank, lambda: self._vacate(run))

    def _complete(self, run: SharedRun, end: int) -> bool:
        """End a run; void if it was preempted or resized."""
        machine = self._machine
        if not run.running or run.end != end:
            return False
        done, job = run.complete(machine.usage), machine.jobs[run.job_id]
        if done:
            run.job.end = machine.now
        machine.leave(run)
        if job.on_demand:
            self._returns.give_back(run.job_id, dict(run.taken))
        else:
            self._book.release(run.taken)
        if not done:
            self._clock.call(machine.now, ARRIVAL, job.state.rank, lambda: self._reservations.ask_again(job))
            return True
        if isinstance(job.state, StochasticJob):
            self._reservations.complete(job.state)
        self._lives.follow(job)
        self._count_end()
        return True

    def _count_end(self) -> None:
        self._ended += 1
        if self._progress is not None:
            self._progress(self._ended)

    def _vacate(self, run: SharedRun) -> bool:
        """End a warning: the nodes go to those that wait for them, and the job is queued again."""
        if run.over:
            return False
        self._lives.leave_after_warning(run)
        self._clock.call(self._machine.now, REQUEUE, run.job.rank, lambda: self._requeue(run))
        return True

    def _requeue(self, run: SharedRun) -> bool:
        if run.job.withdrawn:
            return False
        self._machine.enqueue(self._machine.jobs[run.job_id])
        return True
