"""Starts of a replay's jobs on a pool of equal nodes, where Slurm's limits, dependencies, clock or pace matter.

:func:`holdfast.simulator.simulation.simulate` knows none of these. This loop makes a pass of the rule after each event,
as :mod:`holdfast.experiments.slurm.decision_points` does, but in its own state instead of Slurm's.
"""

from __future__ import annotations

from dataclasses import replace
from heapq import heappop, heappush

from holdfast.experiments.slurm.backfill_passes import next_pass
from holdfast.experiments.slurm.decision_pace import Pace
from holdfast.experiments.slurm.decision_points import LONGEST_STOP, find_starts, queue_in_order
from holdfast.experiments.slurm.recorded_replay import Replay, ReplayedJob
from holdfast.policies.backfilling import BACKFILLING, Backfilling
from holdfast.policies.order import Order
from holdfast.policies.slurm_backfill import SlurmBackfill, best_fit

__all__ = ["needs_own_loop", "simulate_starts"]

#: Kinds of events in their order within an instant: nodes are released, a job ends, is cancelled or enters the queue,
#: nodes could have completed, the backfill thread makes a pass.
_RELEASE, _END, _LEAVE, _ARRIVE, _LOOK, _PASS = range(6)
#: Mean time until the backfill thread notices that something has changed: after a quiet time it looks every second [s].
_NOTICE = 0.5
#: A job that became eligible within this time of the end of those before it waited for nothing else [s].
_PROMPT = 60.0


def needs_own_loop(replay: Replay, rule: Backfilling, interval: float = 0.0) -> bool:
    """Whether limits, dependencies, completing nodes, Slurm's clock or times between passes decide about starts."""
    rounded = isinstance(rule, SlurmBackfill) and replay.origin is not None
    return bool(interval or rounded or replay.limits.any or any(job.after or job.completing for job in replay.jobs))


def simulate_starts(
    replay: Replay,
    rule: Backfilling,
    order: Order | None = None,
    interval: float = 0.0,
    pace: Pace = Pace(),  # noqa: B008 # immutable
) -> dict[int, float]:
    """Simulate the starts of the jobs.

    Jobs hold their nodes as long as they did, also beyond their walltimes, since Slurm kills late. A task of a
    throttled array is in the queue with the first of its array. A job that became eligible at the end of the jobs that
    it depended on does so in the simulation.

    Parameters
    ----------
    replay
        What Slurm did; runtimes, times of nodes to complete and cancellations are as recorded.
    rule
        The backfilling rule.
    order
        Order of the queue; None: by submit.
    interval
        Time between two passes of the backfill thread [s] (``bf_interval``). The thread counts it from its last pass,
        and makes no pass unless something has changed since; after a quiet time the next event is thus followed by a
        pass at once. Passes that the replay has recorded near such a time are taken instead. At other events only the
        main scheduler makes a pass, which starts jobs in the order of the queue until one must wait. 0: each event is
        followed by a pass of both.
    pace
        Times from events to decisions, where a job has none of its own; no pass is made while nodes complete.

    Returns
    -------
    dict of int to float
        Start of each job that ran [s].
    """
    return _Simulation(replay, rule, order, interval, pace).run()


class _Simulation:
    """One simulation: the jobs that wait, those that hold nodes, and the events to come."""

    def __init__(self, replay: Replay, rule: Backfilling, order: Order | None, interval: float, pace: Pace) -> None:
        self._replay, self._rule, self._order, self._interval, self._pace = replay, rule, order, interval, pace
        self._ran = {job.job_id: job for job in replay.jobs}
        self._cancelled = {job.job_id: job for job in replay.cancelled}
        every = sorted((*replay.jobs, *replay.cancelled), key=lambda job: (job.submit, job.job_id))
        self._rank = {job.job_id: place for place, job in enumerate(every)}
        self._followers, self._awaited = _dependencies(replay)
        self._events: list[tuple[float, int, int]] = []
        self._queue: dict[int, ReplayedJob] = {}
        self._holding: dict[int, ReplayedJob] = {}
        self._past: list[ReplayedJob] = []
        self._places: dict[int, int] = {}
        self._ends: dict[int, float] = {}
        self._starts: dict[int, float] = {}
        # Whether a pass of the backfill thread is planned, and whether one is due as soon as nodes have completed.
        self._planned = self._due = False
        self._last = float("-inf")
        arrivals = _arrivals(replay)
        for job in every:
            at = arrivals.get(job.job_id, job.queued) + pace.submit
            if job.job_id not in self._awaited and (job.job_id in self._ran or at < job.end):
                self._push(at, _ARRIVE, job.job_id)
        for job in replay.cancelled:
            self._push(job.end, _LEAVE, job.job_id)

    def run(self) -> dict[int, float]:
        """Run until all jobs have ended."""
        events = self._events
        while events:
            now = events[0][0]
            while events and events[0][0] == now:
                _, kind, number = heappop(events)
                self._handle(now, kind, number)
            running = list(self._holding.values())
            if any(
                job.end <= now < _exact(job.end + min(LONGEST_STOP, self._completion_delay(job))) for job in running
            ):
                continue
            started = len(self._starts)
            if self._queue and sum(job.nodes for job in running) < self._replay.nodes:
                self._decide(now, running)
            if self._interval:
                self._plan_pass(now, len(self._starts) > started)
        return self._starts

    def _push(self, at: float, kind: int, number: int = 0) -> None:
        heappush(self._events, (_exact(at), kind, number))

    def _handle(self, now: float, kind: int, number: int) -> None:
        """Apply an event."""
        if kind == _PASS:
            self._planned, self._due = False, True
        elif kind == _ARRIVE:
            self._queue[number] = self._ran[number] if number in self._ran else self._cancelled[number]
        elif kind == _LEAVE and number in self._queue:
            del self._queue[number]
        elif kind in (_RELEASE, _LEAVE) and number in self._holding:
            self._past.append(self._holding.pop(number))
        elif kind == _END:
            self._ends[number] = now
            for follower in self._followers.get(number, ()):
                self._awaited[follower].discard(number)
                if not self._awaited[follower]:
                    self._push(max(now, self._eligible(self._ran[follower])), _ARRIVE, follower)

    def _eligible(self, job: ReplayedJob) -> float:
        """When a job is eligible whose dependencies have ended [s]."""
        ended = max(self._ends[number] for number in job.after)
        # Slurm tests dependencies in the pass that the end of a job leads to.
        if 0 <= job.queued - max(self._ran[number].end for number in job.after) <= _PROMPT:
            return ended
        return max(job.queued + self._pace.submit, ended)

    def _decide(self, now: float, running: list[ReplayedJob]) -> None:
        """Make a pass of the main scheduler, and of the backfill thread if it is due."""
        replay = self._replay
        waiting = sorted(self._queue.values(), key=lambda job: self._rank[job.job_id])
        if self._order is not None:
            waiting = queue_in_order(self._order, now, waiting, [*self._past, *running], replay.nodes)
        if self._due or not self._interval:
            found, self._places = find_starts(self._rule, now, waiting, running, replay, self._places)
        else:
            found, _ = find_starts(BACKFILLING["none"], now, waiting, running, replay, self._places)
            if isinstance(self._rule, SlurmBackfill):
                self._place([job for job in waiting if job.job_id in found], running)
        for number in found:
            self._start(self._queue.pop(number), now)

    def _plan_pass(self, now: float, started: bool) -> None:
        """Plan the next pass of the backfill thread after an event or a pass, which may have started jobs."""
        passed, self._due = self._due, False
        if passed:
            self._last = now
        # While jobs wait, each pass changes their planned starts, and the main scheduler the reasons why they wait.
        if not self._planned and (started or self._queue or not passed):
            self._planned = True
            expected = max(self._last + self._interval, now + _NOTICE)
            self._push(next_pass(self._replay.passes, now, expected, self._interval), _PASS)

    def _place(self, begun: list[ReplayedJob], running: list[ReplayedJob]) -> None:
        """Give jobs that start in order their nodes."""
        free = (1 << self._replay.nodes) - 1
        for job in running:
            free &= ~self._places.get(job.job_id, 0)
        for job in begun:
            self._places[job.job_id] = best_fit(free, job.nodes)
            free &= ~self._places[job.job_id]

    def _start(self, job: ReplayedJob, now: float) -> None:
        """Start a job."""
        number = job.job_id
        if number in self._cancelled:
            # Its cancellation or its limit ends it; its runtime is not known.
            self._holding[number] = replace(job, start=now, end=now + job.walltime)
            self._push(now + job.walltime, _RELEASE, number)
            return
        self._starts[number] = now
        end = _exact(now + job.end - job.start)
        self._holding[number] = replace(job, start=now, end=end)
        self._push(end, _END, number)
        self._push(end + self._completion_delay(job), _RELEASE, number)
        if self._completion_delay(job) > LONGEST_STOP:
            self._push(end + LONGEST_STOP, _LOOK)

    def _completion_delay(self, job: ReplayedJob) -> float:
        """Time from the end of a job until its nodes have completed [s]: its own, or that of most jobs."""
        return job.completing or self._pace.release


def _exact(time: float) -> float:
    """A time of which equal ones compare equal: sums of seconds differ in their last bits."""
    return round(time, 6)


def _arrivals(replay: Replay) -> dict[int, float]:
    """When each job is in the queue [s]; a task of a throttled array with the first of its array."""
    first: dict[int, float] = {}
    for job in replay.jobs:
        if job.array in replay.limits.throttles:
            first[job.array] = min(job.queued, first.get(job.array, job.queued))
    return {job.job_id: first.get(job.array, job.queued) for job in replay.jobs}


def _dependencies(replay: Replay) -> tuple[dict[int, list[int]], dict[int, set[int]]]:
    """The jobs that wait for each job, and the jobs that each of them still waits for."""
    ran = {job.job_id for job in replay.jobs}
    followers: dict[int, list[int]] = {}
    awaited: dict[int, set[int]] = {}
    for job in replay.jobs:
        before = set(job.after)
        if before and before <= ran:
            awaited[job.job_id] = before
            for number in before:
                followers.setdefault(number, []).append(job.job_id)
    return followers, awaited
