"""Nodes currently held by each run, reservation and outage, with the start of each holding, while an event log is read.

Each move of nodes closes the spans of both holders. Jobs take the narrowest sufficient gap from the lowest number on,
on-demand jobs and nodes held for them from the highest.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

from holdfast.experiments.placement.ranges import Ranges, best_fit, lowest, size, union, without
from holdfast.simulator.results.records import JobRecord
from holdfast.workloads.table.job import JobType

__all__ = ["DOWN", "HELD", "RUN", "WARNED", "Holdings", "Span"]

#: Uses of nodes: a run, a run under warning, held for an on-demand job (or an advance reservation), down.
RUN, WARNED, HELD, DOWN = "run", "warned", "held", "down"


class Span(NamedTuple):
    """A period in which a holder keeps the same nodes.

    Attributes
    ----------
    kind
        :data:`RUN`, :data:`WARNED`, :data:`HELD` or :data:`DOWN`.
    job_id
        Job of the run, on-demand job of the held nodes, or outage as in the log.
    number
        Number of the run of the job, from 1; 0 for other holders.
    start, end
        Ticks of the simulated clock, ``start < end``.
    nodes
        Numbers from 0, as half-open ranges, ascending.
    ending
        The event that ended the run: ``complete``, ``kill``, ``preempt``, ``expire`` or ``cancel``. Empty if the run
        continues in another span, and for other holders.
    """

    kind: str
    job_id: int
    number: int
    start: int
    end: int
    nodes: Ranges
    ending: str = ""


#: The cause of a start in an advance reservation: "in reservation 2 (tests of the vendor)".
_BOOKED = re.compile(r"in reservation (\d+)\b")

#: Holder of nodes: a kind (run, held or down) and a job or an outage.
_Key = tuple[str, int]


class _Holder:
    """A current holder: its nodes, the begin of these and of the holding, and the index of its last span."""

    __slots__ = ("first", "kind", "last", "nodes", "number", "since")

    def __init__(self, kind: str, number: int, now: int) -> None:
        self.kind = kind
        self.number = number
        self.first = self.since = now
        self.last: int | None = None
        self.nodes: Ranges = ()


class Holdings:
    """The nodes of a machine and their holders.

    Parameters
    ----------
    nodes
        Size of the machine.
    records
        The jobs, by id.

    Attributes
    ----------
    spans
        Closed spans, in the order of their ends.
    free
        Free nodes.
    runs
        Number of runs that each job has begun.
    lent
        Nodes that tenants borrow from open reservations.
    gathering
        Arrived jobs that still wait for nodes, in the order of arrival.
    """

    def __init__(self, nodes: int, records: Mapping[int, JobRecord]) -> None:
        self.free: Ranges = ((0, nodes),)
        self.records = records
        self.holders: dict[_Key, _Holder] = {}
        self.spans: list[Span] = []
        self.runs: dict[int, int] = {}
        self.lent: dict[int, Ranges] = {}
        self.gathering: dict[int, None] = {}

    def hold(self, key: _Key, nodes: Ranges, now: int, *, kind: str | None = None) -> None:
        """Change the nodes of a holder, exchanging them with the free ones."""
        holder = self.holders.get(key)
        if holder is None:
            holder = self.holders[key] = _Holder(kind or key[0], self.runs.get(key[1], 0) if key[0] == RUN else 0, now)
        if nodes != holder.nodes or (kind and kind != holder.kind):
            self._close(key, holder, now)
        if nodes != holder.nodes:
            self.free = union(without(self.free, nodes), without(holder.nodes, nodes))
            holder.nodes = nodes
        if kind:
            holder.kind = kind

    def release(self, key: _Key, now: int, ending: str = "") -> Ranges:
        """Remove a holder and free its nodes; returns them."""
        holder = self.holders.pop(key, None)
        if holder is None:
            return ()
        self._close(key, holder, now, ending)
        self.free = union(self.free, holder.nodes)
        return holder.nodes

    def of(self, key: _Key) -> Ranges:
        """The nodes of a holder."""
        holder = self.holders.get(key)
        return holder.nodes if holder is not None else ()

    def take(self, count: int, job_id: int, now: int) -> Ranges:
        """Take nodes for a run: free ones first, then held ones if the log does not name the reservation."""
        lacking = count - size(self.free)
        for key in reversed(self.held_keys()) if lacking > 0 else ():
            lacking -= self.trim(key, lacking, now)
        return self.fit(count, job_id)

    def fit(self, count: int, job_id: int) -> Ranges:
        """Best-fit free nodes, from the end of the machine that the type of the job uses."""
        job = self.records.get(job_id)
        return best_fit(self.free, count, from_top=job is None or job.type is JobType.ON_DEMAND)

    def top_up(self, job_id: int, count: int, now: int) -> int:
        """Hold up to ``count`` more free nodes for a job; returns their number."""
        key = HELD, job_id
        nodes = self.fit(max(0, min(count, size(self.free))), job_id)
        self.hold(key, union(self.of(key), nodes), now)
        return size(nodes)

    def trim(self, key: _Key, count: int, now: int) -> int:
        """Release up to ``count`` held nodes; returns their number."""
        nodes = self.of(key)
        kept = max(0, size(nodes) - count)
        self.hold(key, lowest(nodes, kept), now)
        return size(nodes) - kept

    def settle(self, held: int, now: int) -> None:
        """Set the number of held nodes at the end of an instant.

        No entry records the nodes that a victim gives to a waiting arrived job, or which of several reservations a
        tenant borrows from; but the samples contain their sum.
        """
        missing = held - sum(size(self.of(key)) for key in self.held_keys())
        if not missing:
            return
        for _, job_id in (*((HELD, job_id) for job_id in self.gathering), *self.held_keys()):
            job = self.records.get(job_id)
            lacking = job.nodes - size(self.of((HELD, job_id))) if job is not None else missing
            if missing > 0:
                missing -= self.top_up(job_id, min(missing, lacking), now)
        for key in reversed(self.held_keys()):
            if missing < 0:
                missing += self.trim(key, -missing, now)

    def held_keys(self) -> list[_Key]:
        """On-demand jobs with held nodes, in the order of their notices."""
        return [key for key in self.holders if key[0] == HELD]

    def find_lenders(self, cause: str) -> list[_Key]:
        """Reservations that lend nodes to a job, by the cause of its start; empty if it starts on free nodes."""
        booked = _BOOKED.match(cause)
        if booked:
            return [(HELD, -int(booked[1]))]
        if cause != "tenant":
            return []
        # Tenants borrow in this order: latest notice first, ties by id.
        lenders = [key for key in self.held_keys() if key[1] > 0 and key[1] not in self.gathering]
        return sorted(lenders, key=lambda key: (-self.holders[key].first, key[1]))

    def _close(self, key: _Key, holder: _Holder, now: int, ending: str = "") -> None:
        if now > holder.since and holder.nodes:
            holder.last = len(self.spans)
            self.spans.append(Span(holder.kind, key[1], holder.number, holder.since, now, holder.nodes, ending))
        elif ending and holder.last is not None:
            # It was resized in the instant of its end.
            self.spans[holder.last] = self.spans[holder.last]._replace(ending=ending)
        holder.since = now
