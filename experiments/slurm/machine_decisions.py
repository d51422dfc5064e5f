"""Scheduling decisions of a Slurm whose nodes have resources, beside the starts that the simulator's rule would make.

As :mod:`holdfast.experiments.slurm.decision_points` for pools of equal nodes: each decision is taken in the state that
Slurm was in, by the threads that started jobs then, where the replay has them. Events closer together than the lag form
one decision; within it, the rule follows them one by one.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from holdfast.experiments.slurm.decision_points import LONGEST_STOP, InstantDecision, event_groups
from holdfast.experiments.slurm.placed_replay import PlacedJob, PlacedReplay
from holdfast.experiments.slurm.slurm_machine import SlurmMachine
from holdfast.policies.slurm_backfill import SlurmBackfill
from holdfast.simulator.resources.slurm_nodes import PlannedRun
from holdfast.workloads.ground.errors import InputError
from holdfast.workloads.machines.machine import Machine

__all__ = ["machine_decisions"]

#: An event so soon after another one comes before a second plan [s].
_SOON = 2.0


class _Run(NamedTuple):
    """A run in the state of a decision: its job, its start [s], and what it holds."""

    job: PlacedJob
    start: float
    held: PlannedRun


def machine_decisions(
    machine: Machine, replay: PlacedReplay, rule: SlurmBackfill, lag: float, completing: float = 0.0
) -> Iterator[InstantDecision]:
    """All decisions of a replay: one at each instant at which a job arrived or ended while jobs waited.

    Parameters
    ----------
    machine
        The machine.
    replay
        What Slurm did; the queue is by tier, then by submit, and has cancelled jobs until they left it.
    rule
        The rule.
    lag
        Largest delay of a decision by Slurm [s].
    completing
        Longest time from the end of a job until its nodes are free, where the replay does not have it [s].

    Raises
    ------
    InputError
        If a job does not fit the machine, or ran on nodes that the machine does not have.
    """
    jobs, all_jobs = replay.jobs, replay.all_jobs
    decisions = _Decisions(SlurmMachine(machine, all_jobs, replay.origin), all_jobs, rule)
    events = [time for job in all_jobs for time in (job.queued, job.end + job.completing)]
    for first, last in event_groups(events, lag):
        # A job that is cancelled just now is not looked at any more; its cancellation is an event, so that others are
        # cancelled after the lag.
        queue = [
            job for job in all_jobs if job.queued <= last and (job.start >= first if job.nodes else job.end > last)
        ]
        # Slurm makes no pass while nodes complete, if the record has these times.
        if not queue or any(job.end <= last < job.end + min(LONGEST_STOP, job.completing) for job in jobs):
            continue
        started = [job for job in queue if job.start <= last + lag]
        # Which thread comes first is chance, and they choose among other nodes.
        in_order = not started or any(job.by != "backfill" for job in started)
        times = sorted({time for time in events if first <= time <= last})
        would = decisions.starts(times, lag, queue, in_order=in_order)
        within = last + lag + completing
        did = frozenset(job.job_id for job in started)
        soon = frozenset(job.job_id for job in queue if job.nodes and last + lag < job.start <= within)
        yield InstantDecision(last, did, would, soon)


class _Decisions:
    """The decisions of a rule in the states of a replay."""

    def __init__(self, machine: SlurmMachine, jobs: Sequence[PlacedJob], rule: SlurmBackfill) -> None:
        self._machine = machine
        self._rule = rule
        self._jobs = {job.job_id: job for job in jobs}
        self._runs = [_Run(job, job.start, machine.run(job, job.start)) for job in jobs if job.nodes]

    def starts(
        self, times: Sequence[float], lag: float, queue: Sequence[PlacedJob], *, in_order: bool
    ) -> frozenset[int]:
        """The jobs that the rule starts from the first to the last event of a decision.

        The main scheduler, which starts jobs in order, comes first, or not at all.
        """
        first, last = times[0], times[-1]
        before = [run for run in self._runs if run.start < first <= _free_at(run.job)]
        # A pass with many starts takes seconds, and each job is planned at its time.
        starts = iter(sorted(job.start for job in queue if job.start <= last + lag))
        mine: dict[int, _Run] = {}
        for now, following in zip(times, [*times[1:], math.inf], strict=True):
            held = [run for run in before if _free_at(run.job) > now]
            own = [run for run in mine.values() if not run.start <= _free_at(run.job) <= now]
            # What Slurm has started by then has the nodes that Slurm chose, if the other jobs leave room.
            known = [self._as_slurm(run) if run.job.start <= last + lag else run for run in own]
            state = self._machine.state(run.held for run in [*held, *known])
            if state is None:
                known = own
                state = self._machine.state(run.held for run in [*held, *own])
            if state is None:
                raise InputError(f"at {now:.0f} s more was in use than the machine has")
            runs = [run.held for run in [*held, *known]]
            limited = [run.held for run in [*held, *known] if run.job.end > now]
            moment = self._machine.begin_pass(self._rule, now, state, runs, limited, times=starts)
            waiting = self._machine.queue(job for job in queue if job.queued <= now and job.job_id not in mine)
            found = moment.starts_now(waiting, again=following > now + _SOON, in_order=in_order)
            for request, held_by in found:
                mine[request.job] = _Run(self._jobs[request.job], now, held_by)
        return frozenset(mine)

    def _as_slurm(self, run: _Run) -> _Run:
        """A run on the nodes that Slurm chose."""
        return run._replace(held=self._machine.run(run.job, run.start))


def _free_at(job: PlacedJob) -> float:
    """When the nodes of a job could be used again [s]."""
    return job.end + job.completing
