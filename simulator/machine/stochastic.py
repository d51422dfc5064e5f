"""Stochastic jobs, which are submitted as one reservation after another until they complete.

Policies see the walltime of the current reservation but not the runtime: they cannot distinguish a run that will
complete from one that will reach its walltime. Source: docs/model.md, "Stochastic jobs".
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

from holdfast.policies.planning.plan_progress import Course, ReservationRequest
from holdfast.simulator.machine.actual_outcomes import (
    CANCELLED,
    COMPLETED,
    EXPIRED,
    OVER_MEMORY,
    PREEMPTED,
    SAVED,
    UNSAVED,
    Truth,
)
from holdfast.simulator.machine.job_state import JobState
from holdfast.simulator.machine.node_accounts import Run
from holdfast.simulator.machine.node_use import Usage
from holdfast.simulator.options import Options
from holdfast.workloads.ground.errors import InvariantError
from holdfast.workloads.table.job import RIGID, Job

if TYPE_CHECKING:
    from holdfast.policies.planning.plan_book import PlanBook, Planned

__all__ = ["ReservationRecord", "ReservedRun", "StochasticJob"]

#: Request of a job before it is submitted.
_NOTHING = ReservationRequest(0, 0, 0, 0, 0, False, None)


class ReservationRecord(NamedTuple):
    """Record of one reservation; times in ticks of the job table's clock.

    Attributes
    ----------
    job_id
        Job of the reservation.
    number
        Number of the reservation, from 1; a preempted one is followed by another with the same milestone.
    submit, start, end, nodes
        As for a job; the first reservation is submitted when its job is eligible. On shared nodes, what it takes.
    length
        Requested walltime.
    restart, work, checkpoint
        Time by purpose; lost time counts where it was spent.
    milestone
        Work that the plan expects to be done at its end.
    saved
        Work that is saved at its end.
    ending
        ``completed``, ``saved`` (a checkpoint was written), ``expired`` (no checkpoint was planned), ``checkpoint
        lost`` (it did not fit), ``memory exceeded``, ``preempted`` or ``cancelled``.
    memory
        Requested memory [GB]; None: no request.
    """

    job_id: int
    number: int
    submit: int
    start: int
    end: int
    nodes: int
    length: int
    restart: int
    work: int
    checkpoint: int
    milestone: int
    saved: int
    ending: str
    memory: float | None


class ReservationRun(Protocol):
    """What the record of a reservation needs of its run."""

    start: int

    @property
    def nodes(self) -> int:
        """Its size."""
        ...


class StochasticJob(JobState):
    """A job whose runtime is known only as a distribution.

    Attributes
    ----------
    application
        Application; its jobs share one distribution of runtimes.
    truth
        Actual outcomes, hidden from all decisions.
    planned
        Its plan; None until it is submitted.
    request, reservations
        The current request, and the records of ended reservations.
    """

    __slots__ = ("_course", "_origin", "application", "planned", "request", "reservations", "truth")

    def __init__(self, job: Job, row: int, rank: int, origin: int, submit: int, options: Options) -> None:
        self.truth = Truth(job, options)
        # Policies see each of its reservations as a rigid job.
        super().__init__(job, RIGID, row, rank, origin, submit, self.truth.runtime, 0)
        self.application = job.application
        self.planned: Planned | None = None
        self.request = _NOTHING
        self.reservations: list[ReservationRecord] = []
        self._course: Course | None = None
        self._origin = origin

    def plan(self, book: PlanBook) -> None:
        """Get a plan at submission and set the request for its first reservation."""
        job = self.job
        self.planned = book.plan(
            self.application, job.plan, job.nodes, job.walltime, job.checkpoint_cost, job.restart_cost
        )
        self._course = Course(self.planned.schedule)
        self._ask()

    def again(self, now: int) -> None:
        """Set the request for the next reservation, since the last one did not complete the job."""
        self.submit = self.eligible = now
        self._ask()

    def _ask(self) -> None:
        self.request = self._known_course().request()
        self.walltime = int(self.request.length)

    def _known_course(self) -> Course:
        if self._course is None:
            raise InvariantError(f"job {self.job_id} was never planned")
        return self._course

    def duration(self, nodes: int) -> int:
        # `backfill_length="runtime"` uses true runtimes, but the runtime of a stochastic job is unknown.
        return self.walltime

    def shortest_gain(self) -> int:
        """Lower bound of the time after which its current reservation makes progress; 0 before it is planned."""
        request = self.request
        # A reservation that exceeds its memory ends earlier, and the next one requests more.
        if self.job.memory_profile:
            return 0
        return int(min(self.truth.runtime, request.milestone) - request.saved)

    def record_end(self, run: ReservationRun, ending: str, times: tuple[int, int, int], now: int) -> None:
        """Record an ended reservation and update the saved work."""
        course, request, origin = self._known_course(), self.request, self._origin
        if ending == SAVED:
            course.save(request.milestone)
        elif ending in (EXPIRED, UNSAVED):
            course.miss()
        elif ending == OVER_MEMORY:
            course.exceed(request.memory or 0.0)
        self.reservations.append(
            ReservationRecord(
                self.job_id,
                len(self.reservations) + 1,
                self.eligible + origin,
                run.start + origin,
                now + origin,
                run.nodes,
                self.walltime,
                *times,
                int(request.milestone),
                int(course.saved),
                ending,
                request.memory,
            )
        )


class ReservedRun(Run):
    """One reservation of a stochastic job on its nodes."""

    __slots__ = ("_ending",)

    job: StochasticJob

    def begin(self) -> None:
        job = self.job
        ending = self._ending = job.truth.ending(job.request, job.walltime)
        self.end = self.start + ending.restart + ending.work + ending.checkpoint
        self.expected_end = self.start + job.walltime

    def loss(self, at: int) -> int:
        # Work is saved only at the end.
        return self.nodes * (at - self.start)

    def complete(self, usage: Usage) -> bool:
        how = self._ending
        times = (how.restart, how.work, how.checkpoint)
        if how.ending in (COMPLETED, SAVED):
            usage.setup += how.restart * self.nodes
            usage.compute += how.work * self.nodes
            usage.checkpoint += how.checkpoint * self.nodes
        else:
            usage.lose(self.job, sum(times) * self.nodes, self.end)
        self.job.record_end(self, how.ending, times, self.end)
        return how.ending == COMPLETED

    def stop(self, now: int, usage: Usage) -> None:
        usage.lose(self.job, (now - self.start) * self.nodes, now)
        self.job.record_end(self, PREEMPTED, self._times(now), now)

    def abandon(self, now: int, usage: Usage) -> None:
        restart, work, checkpoint = times = self._times(now)
        usage.setup += restart * self.nodes
        usage.compute += work * self.nodes
        usage.checkpoint += checkpoint * self.nodes
        self.job.record_end(self, CANCELLED, times, now)

    def _times(self, now: int) -> tuple[int, int, int]:
        """Restart, work and checkpoint up to now."""
        return self._ending.times_until(now - self.start)
