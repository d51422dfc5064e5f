"""The simulator's state beside a running Slurm: readings of the queue become submits, starts and ends of its jobs.

The state keeps which job holds which node. What the readings say beside that is drift: a node with two jobs, a job that
runs beyond its limit, a node that is allocated on one side alone, and waiting jobs that Slurm ranks otherwise than the
order of the simulator.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from itertools import pairwise
from math import exp, inf, log
from typing import NamedTuple

from holdfast.experiments.slurm.decision_points import decayed_usage, queue_in_order
from holdfast.experiments.slurm.recorded_replay import ReplayedJob
from holdfast.policies.order import Order
from holdfast.workloads.logs.node_names import nodes_in
from holdfast.workloads.logs.squeue import QueueRow
from holdfast.workloads.logs.trace import TraceJob

__all__ = ["Drift", "LiveState", "Update"]

#: Time beyond its limit for which a job may be seen: Slurm looks at limits every half a minute [s].
_GRACE = 120.0
#: States of nodes, as sinfo prints them, in which a job holds them.
_HELD = ("alloc", "mix", "comp")


class Update(NamedTuple):
    """Ids of the jobs that changed between two readings."""

    submitted: tuple[int, ...]
    started: tuple[int, ...]
    ended: tuple[int, ...]
    cancelled: tuple[int, ...]


class Drift(NamedTuple):
    """Differences between the state and Slurm, each as a number.

    Attributes
    ----------
    jobs
        Jobs that run beyond their limit, or on other nodes than they had.
    nodes
        Nodes with two jobs, and nodes that are allocated on one side alone in two readings while no job came or went:
        the queue and the nodes are read one after the other.
    order
        Neighbours in Slurm's order of priority that the order of the simulator has the other way round.
    """

    jobs: int
    nodes: int
    order: int

    def __bool__(self) -> bool:
        return any(self)


@dataclass
class LiveState:
    """Jobs and nodes of a Slurm.

    Attributes
    ----------
    nodes
        Size of the machine.
    waiting, running
        Jobs by id.
    holders
        Job on each node that is held, by the name of the node.
    ended
        Jobs that have ended since the first reading, with their observed runtimes.
    """

    nodes: int
    waiting: dict[int, QueueRow] = field(default_factory=dict)
    running: dict[int, QueueRow] = field(default_factory=dict)
    holders: dict[str, int] = field(default_factory=dict)
    ended: list[TraceJob] = field(default_factory=list)
    _moved: int = 0
    _shared: int = 0
    _differ: set[str] = field(default_factory=set)
    _touched: set[str] = field(default_factory=set)
    _usage: dict[str | None, float] = field(default_factory=dict)
    _usage_at: float = 0.0
    _counted: int = 0

    def update(self, rows: Iterable[QueueRow], at: float) -> Update:
        """Enter a reading of the queue.

        Parameters
        ----------
        rows
            Running and waiting jobs.
        at
            Time of the reading [s since 1970].
        """
        waiting: dict[int, QueueRow] = {}
        running: dict[int, QueueRow] = {}
        for row in rows:
            (waiting if row.start is None else running)[row.job_id] = row
        self._moved = self._shared = 0
        self._touched = set()
        gone = [job for job in self.running if job not in running or running[job].start != self.running[job].start]
        for job in gone:
            self._end(self.running[job], at)
        started = [job for job in running if job not in self.running or job in gone]
        for job, row in running.items():
            before = self.running.get(job)
            if job in started or before is None:
                self._hold(row)
            elif row.node_list != before.node_list:
                # It was resized.
                self._moved += row.nodes == before.nodes
                self._release(before)
                self._hold(row)
        known = self.waiting.keys() | self.running.keys()
        update = Update(
            tuple(job for job in (*waiting, *running) if job not in known),
            tuple(started),
            tuple(gone),
            tuple(job for job in self.waiting if job not in waiting and job not in running),
        )
        self.waiting, self.running = waiting, running
        return update

    def drift(self, at: float, allocated: Mapping[str, str], order: Order | None) -> Drift:
        """Compare the state with Slurm.

        Parameters
        ----------
        at
            Time of the reading [s since 1970].
        allocated
            State of each node as sinfo prints it, by name; empty: not read.
        order
            Order of the queue; None: priorities are not compared.
        """
        overdue = sum(at > (row.start or at) + row.walltime + _GRACE for row in self.running.values())
        # A node that completes has no job in the queue, or still has one.
        differ = {
            name
            for name, state in allocated.items()
            if state.lower().startswith(_HELD) != (name in self.holders)
            and not state.lower().startswith("comp")
            and name not in self._touched
        }
        again, self._differ = len(differ & self._differ), differ
        return Drift(overdue + self._moved, self._shared + again, 0 if order is None else self._reversals(order, at))

    def rows(self) -> list[QueueRow]:
        """All jobs."""
        return [*self.running.values(), *self.waiting.values()]

    def _end(self, row: QueueRow, at: float) -> None:
        self._release(row)
        start = row.start or at
        runtime = min(max(1.0, at - start), row.walltime)
        self.ended.append(
            TraceJob(
                row.job_id,
                row.submit,
                row.nodes,
                runtime,
                row.walltime,
                wait=start - row.queued,
                user=row.user,
                project=row.account,
                eligible=row.eligible,
            )
        )

    def _hold(self, row: QueueRow) -> None:
        for name in nodes_in(row.node_list):
            self._touched.add(name)
            self._shared += self.holders.get(name, row.job_id) != row.job_id
            self.holders[name] = row.job_id

    def _release(self, row: QueueRow) -> None:
        for name in nodes_in(row.node_list):
            self._touched.add(name)
            if self.holders.get(name) == row.job_id:
                del self.holders[name]

    def _reversals(self, order: Order, at: float) -> int:
        ranked = sorted(self.waiting.values(), key=lambda row: (-row.priority, row.submit, row.job_id))
        runs = [_as_replayed_job(row, row.start) for row in self.running.values() if row.start is not None]
        past = {} if order.half_life is None else self._past_usage(at, order.half_life)
        queue = [_as_replayed_job(row, inf) for row in ranked]
        places = {
            job.job_id: place for place, job in enumerate(queue_in_order(order, at, queue, runs, self.nodes, past))
        }
        return sum(
            places[first.job_id] > places[second.job_id]
            for first, second in pairwise(ranked)
            if first.priority > second.priority
        )

    def _past_usage(self, at: float, half_life: float) -> dict[str | None, float]:
        """Usage of the jobs that have ended.

        Only those since the last reading are counted, and the rest decays: a day has a hundred thousand.
        """
        factor = exp(-log(2) / half_life * (at - self._usage_at))
        known = {account: used * factor for account, used in self._usage.items()}
        new = [
            replace(_as_replayed_job(job, job.start), end=job.start + job.runtime)
            for job in self.ended[self._counted :]
            if job.start is not None
        ]
        self._usage, self._usage_at = decayed_usage(new, at, half_life, known), at
        self._counted = len(self.ended)
        return self._usage


def _as_replayed_job(row: QueueRow | TraceJob, start: float) -> ReplayedJob:
    """The job as one of a replay."""
    account = row.account if isinstance(row, QueueRow) else row.project
    times = (row.job_id, row.submit, start, inf, row.nodes, row.walltime)
    return ReplayedJob(*times, eligible=row.eligible, user=row.user, account=account)
