"""Starts of a replay's jobs on a machine whose nodes have resources, under Slurm's rule and with its clock and pace.

As :mod:`holdfast.experiments.slurm.start_simulation` for pools of equal nodes: of what Slurm did, only submits,
runtimes and the times of nodes to complete are known.
"""

from __future__ import annotations

from heapq import heappop, heappush
from typing import NamedTuple

from holdfast.experiments.slurm.decision_pace import Pace
from holdfast.experiments.slurm.decision_points import LONGEST_STOP
from holdfast.experiments.slurm.placed_replay import PlacedJob, PlacedReplay
from holdfast.experiments.slurm.slurm_machine import SlurmMachine
from holdfast.policies.slurm_backfill import SlurmBackfill
from holdfast.simulator.resources.slurm_nodes import PlannedRun
from holdfast.workloads.machines.machine import Machine

__all__ = ["PlacedStart", "simulate_machine_starts"]

#: Events in their order within an instant: nodes are free, a job arrives, nodes could have completed.
_RELEASE, _ARRIVE, _LOOK = range(3)


class PlacedStart(NamedTuple):
    """A start [s], and the names of the nodes."""

    start: float
    nodes: tuple[str, ...]


def simulate_machine_starts(
    machine: Machine,
    replay: PlacedReplay,
    rule: SlurmBackfill,
    pace: Pace = Pace(),  # noqa: B008 # immutable
) -> dict[int, PlacedStart]:
    """Simulate the starts of the jobs.

    Parameters
    ----------
    machine
        The machine.
    replay
        What Slurm did; runtimes and times of nodes to complete are as recorded, jobs of a tier in this order.
    rule
        The rule.
    pace
        Times from events to decisions, where a job has none of its own; no pass is made while nodes complete.

    Returns
    -------
    dict of int to PlacedStart
        Start and nodes of each job.

    Raises
    ------
    InputError
        If a job does not fit the machine.
    """
    return _Simulation(SlurmMachine(machine, replay.jobs, replay.origin), replay, rule, pace).run()


class _Simulation:
    """One simulation: the jobs that wait, those that hold nodes, and the events to come."""

    def __init__(self, machine: SlurmMachine, replay: PlacedReplay, rule: SlurmBackfill, pace: Pace) -> None:
        self._machine, self._rule, self._pace = machine, rule, pace
        self._jobs = {job.job_id: job for job in replay.jobs}
        self._rank = {job.job_id: rank for rank, job in enumerate(replay.jobs)}
        self._events: list[tuple[float, int, int]] = []
        self._waiting: set[int] = set()
        self._running: dict[int, PlannedRun] = {}
        self._ends: dict[int, float] = {}
        self._starts: dict[int, PlacedStart] = {}
        for job in replay.jobs:
            self._push(job.submit + pace.submit, _ARRIVE, job)

    def run(self) -> dict[int, PlacedStart]:
        """Run until all jobs have ended."""
        events = self._events
        while events:
            now = events[0][0]
            while events and events[0][0] == now:
                _, kind, number = heappop(events)
                if kind == _ARRIVE:
                    self._waiting.add(number)
                elif kind == _RELEASE:
                    del self._running[number]
            if self._waiting and not any(self._stops(number, now) for number in self._running):
                self._decide(now)
        return self._starts

    def _push(self, at: float, kind: int, job: PlacedJob) -> None:
        # Equal times compare equal: sums of seconds differ in their last bits.
        heappush(self._events, (round(at, 6), kind, job.job_id))

    def _stops(self, number: int, now: float) -> bool:
        """Whether nodes of a job that has ended complete, and stop all passes."""
        end = self._ends[number]
        return end <= now < round(end + min(LONGEST_STOP, self._completing(self._jobs[number])), 6)

    def _completing(self, job: PlacedJob) -> float:
        return job.completing or self._pace.release

    def _decide(self, now: float) -> None:
        """Make a pass of the main scheduler and of the backfill thread."""
        running = list(self._running.values())
        state = self._machine.state(running)
        if state is None:
            return
        waiting = self._machine.queue(
            self._jobs[number] for number in sorted(self._waiting, key=self._rank.__getitem__)
        )
        for request, run in self._machine.begin_pass(self._rule, now, state, running).starts_now(waiting):
            job = self._jobs[request.job]
            self._waiting.remove(job.job_id)
            self._running[job.job_id] = run
            self._starts[job.job_id] = PlacedStart(now, tuple(self._machine.names[node] for node in run.nodes))
            end = round(now + job.end - job.start, 6)
            self._ends[job.job_id] = end
            self._push(end + self._completing(job), _RELEASE, job)
            if self._completing(job) > LONGEST_STOP:
                self._push(end + LONGEST_STOP, _LOOK, job)
