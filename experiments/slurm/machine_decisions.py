"""Scheduling decisions of a Slurm whose nodes have resources, beside the starts that the simulator's rule would make.

As :mod:`experiments.slurm.decision_points` for pools of equal nodes: each decision is taken in the state that Slurm was
in. Events closer together than the lag form one decision; within it, the rule follows them one by one.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from experiments.slurm.decision_points import InstantDecision, event_groups
from policies.slurm_backfill import SlurmBackfill
from simulator.resources.loop_call import natural_places
from simulator.resources.slurm_choice import room_on, share_job
from simulator.resources.slurm_nodes import NodeState, PlannedRun, node_set
from simulator.resources.slurm_plan import Request, SlurmPass
from workloads.ground.errors import InputError
from workloads.ground.units import SECOND, to_ticks
from workloads.machines.fitted_requests import Need, NodeTable, needs_of_jobs
from workloads.machines.machine import Machine
from workloads.machines.request import ResourceRequest

#: An event so soon after another one comes before a second plan [s].
_SOON = 2.0

__all__ = ["PlacedJob", "machine_decisions"]


class PlacedJob(NamedTuple):
    """A job that ran: its times [s], its request, and the names of its nodes."""

    job_id: int
    submit: float
    start: float
    end: float
    walltime: float
    request: ResourceRequest
    nodes: tuple[str, ...]


class _Run(NamedTuple):
    """A run in the state of a decision: its job, its start [s], and what it holds."""

    job: PlacedJob
    start: float
    nodes: tuple[int, ...]
    taken: tuple[Sequence[int], ...]


def machine_decisions(
    machine: Machine, jobs: Sequence[PlacedJob], rule: SlurmBackfill, lag: float, completing: float = 0.0
) -> Iterator[InstantDecision]:
    """All decisions of a replay: one at each instant at which a job arrived or ended while jobs waited.

    Parameters
    ----------
    machine
        The machine.
    jobs
        What Slurm did, by submit; the queue is in this order.
    rule
        The rule.
    lag
        Largest delay of a decision by Slurm [s].
    completing
        Longest time from the end of a job until its nodes are free [s].

    Raises
    ------
    InputError
        If a job does not fit the machine, or ran on nodes that the machine does not have.
    """
    state = _Machine(machine, jobs)
    events = [time for job in jobs for time in (job.submit, job.end)]
    for first, last in event_groups(events, lag):
        queue = [job for job in jobs if job.submit <= last and job.start >= first]
        if not queue:
            continue
        would = state.starts(rule, events, first, last, lag, queue)
        within = last + lag + completing
        did = frozenset(job.job_id for job in queue if job.start <= last + lag)
        soon = frozenset(job.job_id for job in queue if last + lag < job.start <= within)
        yield InstantDecision(last, did, would, soon)


class _Machine:
    """The nodes by name, the needs of the jobs, and what the jobs took of their nodes."""

    def __init__(self, machine: Machine, jobs: Sequence[PlacedJob]) -> None:
        table = NodeTable.for_requests(machine, [job.request for job in jobs])
        needs, unfit = needs_of_jobs(table, [job.request for job in jobs], [job.walltime for job in jobs])
        if unfit:
            raise InputError(f"a job asks for {next(iter(unfit))}")
        places = natural_places(machine.names)
        order = sorted(range(len(places)), key=places.__getitem__)
        numbers = {machine.names[node]: place for place, node in enumerate(order)}
        self._capacities = [table.capacities[node] for node in order]
        self._weights = [table.weights[node] for node in order]
        self._partitions = [node_set([places[node] for node in machine.places(each)]) for each in machine.partitions]
        self._options = {job.job_id: options or () for job, options in zip(jobs, needs, strict=True)}
        self._eligible = {
            id(need): node_set([places[node] for node in need.eligible])
            for options in self._options.values()
            for need in options
        }
        self._runs: list[_Run] = []
        for job in jobs:
            if not set(job.nodes) <= set(numbers):
                raise InputError(f"job {job.job_id} ran on nodes that the machine does not have")
            nodes = sorted(numbers[name] for name in job.nodes)
            self._runs.append(_Run(job, job.start, tuple(nodes), self._share(self._options[job.job_id][0], nodes)))

    def starts(
        self,
        rule: SlurmBackfill,
        times: Sequence[float],
        first: float,
        last: float,
        lag: float,
        queue: Sequence[PlacedJob],
    ) -> frozenset[int]:
        """The jobs that a rule starts from the first to the last event of a decision."""
        before = [run for run in self._runs if run.start < first <= run.job.end]
        slurm = {run.job.job_id: run for run in self._runs}
        mine: dict[int, _Run] = {}
        within = sorted({time for time in times if first <= time <= last})
        for now, following in zip(within, [*within[1:], math.inf], strict=True):
            held = [run for run in before if run.job.end > now]
            own = [run for run in mine.values() if not run.start <= run.job.end <= now]
            # What Slurm has started by then has the nodes that Slurm chose, if the other jobs leave room.
            known = [
                slurm[run.job.job_id]._replace(start=run.start) if run.job.start <= last + lag else run for run in own
            ]
            state = self._state([*held, *known])
            if state is None:
                known, state = own, self._state([*held, *own])
            if state is None:
                raise InputError(f"at {now:.0f} s more was in use than the machine has")
            moment = SlurmPass(
                rule,
                _whole(now),
                state,
                [_planned(run) for run in [*held, *known]],
                lambda need: self._eligible[id(need)],
                self._partitions,
            )
            requests = [
                Request(job.job_id, option, need, to_ticks(job.walltime))
                for job in queue
                if job.submit <= now and job.job_id not in mine
                for option, need in enumerate(self._options[job.job_id])
            ]
            for request, run in moment.starts_now(requests, again=following > now + _SOON):
                mine[request.job] = _Run(slurm[request.job].job, now, run.nodes, run.taken)
        return frozenset(mine)

    def _share(self, need: Need, nodes: Sequence[int]) -> tuple[Sequence[int], ...]:
        rooms = {node: room_on(need, self._capacities[node], self._capacities[node]) for node in nodes}
        found = {node: room for node, room in rooms.items() if room is not None}
        if len(found) < len(nodes):
            raise InputError("a job ran on nodes that do not suit its request")
        return tuple(share_job(need, found, nodes, self._capacities))

    def _state(self, runs: Sequence[_Run]) -> NodeState | None:
        """Free resources beside runs; None: they take more than there is."""
        state = NodeState(self._capacities, self._weights)
        for run in runs:
            state.start(_planned(run))
        return state if all(min(free) >= 0 for free in state.free) else None


def _whole(time: float) -> int:
    """Slurm's clock: whole seconds [ticks]."""
    return int(time // 1) * SECOND


def _planned(run: _Run) -> PlannedRun:
    return PlannedRun(_whole(run.start) + to_ticks(run.job.walltime), run.nodes, run.taken, run.job.job_id)
