"""Starts of a replay's jobs on a machine whose nodes have resources, under Slurm's rule and with its clock and pace.

As :mod:`holdfast.experiments.slurm.pool_starts` for pools of equal nodes: of what Slurm did, only submits, runtimes,
cancellations, the times of nodes to complete and, if they are given, the times of passes are known.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from heapq import heappop, heappush
from types import MappingProxyType
from typing import NamedTuple

from holdfast.experiments.slurm.decision_pace import Pace
from holdfast.experiments.slurm.decision_points import LONGEST_STOP
from holdfast.experiments.slurm.pass_times import PassDelays
from holdfast.experiments.slurm.placed_replay import PlacedJob, PlacedReplay
from holdfast.experiments.slurm.slurm_machine import SlurmMachine
from holdfast.policies.slurm_backfill import SlurmBackfill
from holdfast.simulator.resources.slurm_nodes import PlannedRun
from holdfast.workloads.machines.machine import Machine

__all__ = ["PlacedStart", "simulate_machine_starts"]

#: Events in their order within an instant: nodes are free, a job is cancelled or arrives, a pass is made for another
#: reason.
_RELEASE, _LEAVE, _ARRIVE, _LOOK = range(4)
#: Time from starts of the main scheduler to the next pass of the backfill thread (``bf_interval=1``), and from starts
#: of that thread to its next plan [s]. Nodes of a job that ends in between are free again by then.
_BACKFILL_LATER = 1.0
_NEXT_PLAN = 2.0


class PlacedStart(NamedTuple):
    """A start [s], and the names of the nodes."""

    start: float
    nodes: tuple[str, ...]


def simulate_machine_starts(
    machine: Machine,
    replay: PlacedReplay,
    rule: SlurmBackfill,
    pace: Pace = Pace(),  # noqa: B008 # immutable
    delays: Mapping[int, PassDelays] = MappingProxyType({}),
    threads: Mapping[int, PassDelays] = MappingProxyType({}),
) -> dict[int, PlacedStart]:
    """Simulate the starts of the jobs.

    Parameters
    ----------
    machine
        The machine.
    replay
        What Slurm did; runtimes, cancellations and times of nodes to complete are as recorded, jobs of a tier by
        submit.
    rule
        The rule.
    pace
        Times from events to decisions, where a job has none of its own; no pass is made while nodes complete.
    delays
        Times of passes around the events of jobs, by job id; then passes are made while nodes complete.
    threads
        Threads that make these passes, by job id; otherwise the main scheduler always comes first.

    Returns
    -------
    dict of int to PlacedStart
        Start and nodes of each job, also of a cancelled one that starts before it is cancelled.

    Raises
    ------
    InputError
        If a job does not fit the machine.
    """
    return _Simulation(SlurmMachine(machine, replay.all_jobs, replay.origin), replay, rule, pace, delays, threads).run()


class _Simulation:
    """One simulation: the jobs that wait, those that hold nodes, and the events to come."""

    def __init__(
        self,
        machine: SlurmMachine,
        replay: PlacedReplay,
        rule: SlurmBackfill,
        pace: Pace,
        delays: Mapping[int, PassDelays],
        threads: Mapping[int, PassDelays],
    ) -> None:
        self._machine, self._rule, self._delays, self._threads = machine, rule, delays, threads
        self._pace = PassDelays(pace.submit, pace.release)
        self._jobs = {job.job_id: job for job in replay.all_jobs}
        self._rank = {number: rank for rank, number in enumerate(self._jobs)}
        self._events: list[tuple[float, int, int]] = []
        self._waiting: set[int] = set()
        self._running: dict[int, PlannedRun] = {}
        self._ends: dict[int, float] = {}
        self._starts: dict[int, PlacedStart] = {}
        # Recorded starts, from the time of a pass on, that the pass before it did not make.
        self._left: dict[float, tuple[float, ...]] = {}
        # A pass that sees a job sees those that were submitted before it.
        seen = 0.0
        for job in self._jobs.values():
            at = job.queued + threads.get(job.job_id, self._delay(job)).submit
            if job.eligible is None:
                at = seen = max(seen, at)
            if job.nodes or at < job.end:
                self._push(at, _ARRIVE, job.job_id)
        for job in replay.cancelled:
            self._push(job.end, _LEAVE, job.job_id)

    def run(self) -> dict[int, PlacedStart]:
        """Run until all jobs have ended."""
        events = self._events
        while events:
            now = events[0][0]
            backfills = False
            later = self._left.pop(now, ())
            while events and events[0][0] == now:
                _, kind, number = heappop(events)
                if kind == _ARRIVE:
                    self._waiting.add(number)
                    backfills |= number in self._threads and self._threads[number].submit_by == "backfill"
                elif kind == _LEAVE:
                    self._waiting.discard(number)
                elif kind == _RELEASE:
                    del self._running[number]
                    later = max(later, self._threads[number].starts if number in self._threads else (), key=len)
                    backfills |= number in self._threads and self._threads[number].release_by == "backfill"
            completing = {number for number in self._running if self._ends[number] <= now}
            if self._waiting and not any(self._stops(number, now) for number in completing):
                self._decide(now, completing, (0.0, *later), backfills=backfills)
        return self._starts

    def _push(self, at: float, kind: int, number: int = 0) -> None:
        # Equal times compare equal: sums of seconds differ in their last bits.
        heappush(self._events, (round(at, 6), kind, number))

    def _delay(self, job: PlacedJob) -> PassDelays:
        return self._delays.get(job.job_id, self._pace)

    def _stops(self, number: int, now: float) -> bool:
        """Whether nodes of a job that has ended complete, and stop all passes."""
        stop = 0.0 if self._delays else min(LONGEST_STOP, self._completion_delay(self._jobs[number]))
        return now < round(self._ends[number] + stop, 6)

    def _completion_delay(self, job: PlacedJob) -> float:
        return job.completing or self._delay(job).release

    def _decide(self, now: float, completing: set[int], times: Sequence[float], *, backfills: bool) -> None:
        """Make a pass of the main scheduler, or of the backfill thread if that comes first or has not to wait.

        ``times`` are those of its starts, from now on.
        """
        # Beyond the longest stop, and without delays of passes, nodes that complete are as those in use.
        ended = completing if self._delays else set[int]()
        running = [run for number, run in self._running.items() if number not in ended]
        state = self._machine.state(running)
        if state is None:
            return
        waiting = self._machine.queue(
            self._jobs[number] for number in sorted(self._waiting, key=self._rank.__getitem__)
        )
        limited = [run for number, run in self._running.items() if self._ends[number] > now]
        moment = self._machine.begin_pass(
            *(self._rule, now, state, running, limited, [self._running[number] for number in ended]),
            times=[now + time for time in times],
        )
        left = moment.start_in_order(waiting, able=not backfills)
        if moment.starts:
            self._push(now + _BACKFILL_LATER, _LOOK)
        else:
            moment.backfill(left)
        count = len(moment.starts)
        if 0 < count < len(times):
            following = round(now + times[count], 6)
            self._left[following] = tuple(time - times[count] for time in times[count + 1 :])
            self._push(following, _LOOK)
        elif count:
            self._push(now + times[-1] + _NEXT_PLAN, _LOOK)
        for place, (request, run) in enumerate(moment.starts):
            self._start(self._jobs[request.job], now + times[min(place, len(times) - 1)], run)

    def _start(self, job: PlacedJob, now: float, run: PlannedRun) -> None:
        self._waiting.remove(job.job_id)
        self._running[job.job_id] = run
        self._starts[job.job_id] = PlacedStart(now, tuple(self._machine.names[node] for node in run.nodes))
        # The runtime of a job that was cancelled in the queue is not known: its cancellation or its limit ends it.
        end = round(now + job.end - job.start if job.nodes else min(now + job.walltime, job.end), 6)
        self._ends[job.job_id] = end
        self._push(end + self._completion_delay(job), _RELEASE, job.job_id)
        if self._completion_delay(job) > LONGEST_STOP:
            self._push(end + LONGEST_STOP, _LOOK)
        early = self._delay(job).completing
        if early is not None:
            self._push(end + early, _LOOK)
