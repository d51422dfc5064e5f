"""Stochastic jobs: one job, submitted as one reservation after the other until it completes.

Source: stochastic-in-cluster.md. Policies see the walltime of the reservation and nothing of the runtime: a run that
computes until its walltime is not told from one that will complete.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate
from typing import TYPE_CHECKING, Any, NamedTuple

from policies.planning.course import Course, Request
from simulator.holders import Run
from simulator.jobstate import JobState
from simulator.options import Options
from simulator.usage import Usage
from workloads.errors import InvariantError
from workloads.job import Job, JobType
from workloads.profile import memory_profile
from workloads.streams import stream
from workloads.units import to_ticks

if TYPE_CHECKING:
    from policies.planning.planbook import PlanBook, Planned

__all__ = ["Ending", "ReservationRecord", "ReservedRun", "StochasticJob"]

#: How a reservation ends.
COMPLETED, SAVED, EXPIRED, UNSAVED, OVER_MEMORY, PREEMPTED = (
    "completed",
    "saved",
    "expired",
    "checkpoint lost",
    "memory exceeded",
    "preempted",
)


#: What a job asks for before it is submitted.
_NOTHING = Request(0, 0, 0, 0, 0, False, None)


class ReservationRecord(NamedTuple):
    """What became of one reservation; times in ticks of the job table's clock.

    Attributes
    ----------
    job_id
        Whose it is.
    number
        Which of the job's, from 1; a preempted one is followed by another of the same milestone.
    submit, start, end, nodes
        As of a job.
    length
        Walltime that was asked for.
    restart, work, checkpoint
        What its time went into; what was lost counts where it was spent.
    milestone
        Work that would have been done at its end, by the plan.
    saved
        Work that is saved after it.
    ending
        ``completed``, ``saved`` (a checkpoint was written), ``expired`` (none was to be), ``checkpoint lost`` (it did
        not fit), ``memory exceeded`` or ``preempted``.
    memory
        That was asked for [GB]; None: nothing was.
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


class Ending(NamedTuple):
    """How a reservation would go on undisturbed, from its start.

    Attributes
    ----------
    ending
        As in :class:`ReservationRecord`.
    restart, work, checkpoint
        Ticks; their sum is how long it takes.
    """

    ending: str
    restart: int
    work: int
    checkpoint: int


class _Truth:
    """What really happens in a job's reservations; only its runs ask."""

    __slots__ = ("_draws", "_ends", "_peaks", "_spread", "_strict", "runtime")

    def __init__(self, job: Job, options: Options) -> None:
        self.runtime = to_ticks(job.runtime if job.true_runtime is None else job.true_runtime)
        self._strict = options.checkpoint_mode == "strict"
        self._spread = options.checkpoint_variation
        self._draws: Any = None
        if self._spread:
            self._draws = stream(options.seed, "checkpoint variation", job.job_id)
        self._ends: Sequence[int] = ()
        self._peaks: Sequence[float] = ()
        if job.memory_profile:
            durations, self._peaks = zip(*memory_profile(job.memory_profile), strict=True)
            self._ends = [to_ticks(seconds) for seconds in accumulate(durations)]

    def ending(self, request: Request, length: int) -> Ending:
        """How a reservation goes that asks for that."""
        restart, checkpoint = self._varied(int(request.restart)), self._varied(int(request.checkpoint))
        saved = int(request.saved)
        left, planned = self.runtime - saved, int(request.milestone) - saved
        # How far it comes. With a checkpoint to write it stops at the milestone; without it computes until its
        # walltime, perhaps further than planned. `absorbed`: a longer restart never makes it come less far.
        in_time = length - restart
        reach = min(planned, in_time) if request.checkpointed else in_time
        if not self._strict:
            reach = max(planned, reach)
        barrier = self._barrier(saved, request.memory, min(left, reach))
        if barrier is not None:
            return _done(length, OVER_MEMORY, restart, barrier, 0)
        if left <= reach:
            return _done(length, COMPLETED, restart, left, 0)
        if not request.checkpointed:
            return _cut(length, EXPIRED, restart, left, 0)
        if self._strict and restart + planned + checkpoint > length:
            return _cut(length, UNSAVED, restart, planned, length)
        return _done(length, SAVED, restart, planned, checkpoint)

    def _varied(self, planned: int) -> int:
        if not self._spread:
            return planned
        return round(planned * float(self._draws.uniform(1.0 - self._spread, 1.0 + self._spread)))

    def _barrier(self, saved: int, memory: float | None, reach: int) -> int | None:
        """Work after which the memory of a reservation is exceeded; None: it is not."""
        if not self._ends or memory is None:
            return None
        for task in range(bisect_right(self._ends, saved), len(self._ends)):
            start = self._ends[task - 1] if task else 0
            begin = max(start, saved) - saved
            if begin >= reach:
                return None
            # Memory is asked for in GB; a profile may be rounded in its last digits. A task of no time needs none.
            if self._peaks[task] > memory + 1e-6 and start < self._ends[task]:
                return begin
        return None


def _done(length: int, ending: str, restart: int, work: int, checkpoint: int) -> Ending:
    """The work was done: what varies and is absorbed takes what the work leaves of the walltime."""
    restart = min(restart, length - work)
    return Ending(ending, restart, work, min(checkpoint, length - restart - work))


def _cut(length: int, ending: str, restart: int, work: int, checkpoint: int) -> Ending:
    """Cut at the walltime: what does not fit into it was not done there."""
    restart = min(restart, length)
    work = min(work, length - restart)
    return Ending(ending, restart, work, min(checkpoint, length - restart - work))


class StochasticJob(JobState):
    """A job whose runtime is only known as a law.

    Attributes
    ----------
    application
        Whose law it is.
    truth
        What no decision may ask.
    planned
        Its plan; None until it is submitted.
    request, reservations
        The reservation that waits or runs, and those that have ended.
    """

    __slots__ = ("_course", "_origin", "application", "planned", "request", "reservations", "truth")

    def __init__(self, job: Job, row: int, rank: int, origin: int, options: Options) -> None:
        self.truth = _Truth(job, options)
        # To policies each of its reservations is a rigid job.
        super().__init__(job, JobType.RIGID, row, rank, origin, self.truth.runtime)
        self.application = job.application
        self.planned: Planned | None = None
        self.request = _NOTHING
        self.reservations: list[ReservationRecord] = []
        self._course: Course | None = None
        self._origin = origin

    def plan(self, book: PlanBook) -> None:
        """At submission: get a plan, and ask for its first reservation."""
        job = self.job
        self.planned = book.plan(
            self.application, job.plan, job.nodes, job.walltime, job.checkpoint_cost, job.restart_cost
        )
        self._course = Course(self.planned.schedule)
        self._ask()

    def again(self, now: int) -> None:
        """The reservation is over and the job is not: ask for the next one."""
        self.submit = now
        self._ask()

    def _ask(self) -> None:
        self.request = self._known_course().request()
        self.walltime = int(self.request.length)

    def _known_course(self) -> Course:
        if self._course is None:
            raise InvariantError(f"job {self.job_id} was never planned")
        return self._course

    def limit(self, nodes: int) -> int:
        return self.walltime

    def duration(self, nodes: int) -> int:
        # `backfill_length="runtime"` may look at true runtimes, but nobody knows that of a stochastic job.
        return self.walltime

    def ended(self, run: ReservedRun, ending: str, times: tuple[int, int, int], now: int) -> None:
        """Book a reservation that has ended, and what is saved now."""
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
                self.submit + origin,
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
        # Only its end saves anything.
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
        self.job.ended(self, how.ending, times, self.end)
        return how.ending == COMPLETED

    def stop(self, now: int, usage: Usage) -> None:
        how, elapsed = self._ending, now - self.start
        restart = min(how.restart, elapsed)
        work = min(how.work, elapsed - restart)
        usage.lose(self.job, elapsed * self.nodes, now)
        self.job.ended(self, PREEMPTED, (restart, work, elapsed - restart - work), now)
