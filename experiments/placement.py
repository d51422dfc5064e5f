"""Placement: which nodes each job had, and when, derived first-fit from the event log.

The simulation counts nodes and does not number them: they are alike, and any numbering that gives each holder as many
nodes as it has is as true as any other. This one keeps things together: jobs take the first gap that is wide enough
from below, on-demand jobs and the nodes that are held for them from above. A tenant runs on nodes of reservations,
which take the same nodes back, and an on-demand job starts on the nodes that were held for it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from itertools import groupby
from typing import NamedTuple, Protocol

from experiments.noderanges import Ranges, common, first_fit, highest, joined, lowest, size, without
from simulator.eventlog import Entry
from simulator.instants import Sample
from simulator.records import JobRecord
from workloads.errors import InputError
from workloads.job import JobType

__all__ = ["DOWN", "HELD", "RUN", "WARNED", "Recorded", "Span", "place_nodes"]

#: What nodes are used for: a run, a run under warning, held for an on-demand job (or an advance reservation), out of
#: order.
RUN, WARNED, HELD, DOWN = "run", "warned", "held", "down"


class Recorded(Protocol):
    """What a placement is made from; :class:`simulator.records.Records` is one."""

    @property
    def nodes(self) -> int: ...
    @property
    def records(self) -> Sequence[JobRecord]: ...
    @property
    def entries(self) -> Sequence[Entry]: ...
    @property
    def samples(self) -> Sequence[Sample]: ...


class Span(NamedTuple):
    """A holder on its nodes while they stay the same.

    Attributes
    ----------
    kind
        :data:`RUN`, :data:`WARNED`, :data:`HELD` or :data:`DOWN`.
    job_id
        Whose run it is, or for which on-demand job the nodes are held; of an outage as the log has it.
    number
        Which run of the job, from 1; 0 of other nodes.
    start, end
        Ticks of the simulated clock, ``start < end``.
    nodes
        Numbers from 0, as half-open ranges, ascending.
    ending
        The event that ended the run here: ``complete``, ``kill``, ``preempt``, ``expire`` or ``cancel``. Empty where
        it goes on in another span, and of other nodes.
    """

    kind: str
    job_id: int
    number: int
    start: int
    end: int
    nodes: Ranges
    ending: str = ""


def place_nodes(result: Recorded) -> list[Span]:
    """Give nodes by number to whoever has any in the event log of a simulation.

    Parameters
    ----------
    result
        A result with its event log, in memory or read back from a directory.

    Returns
    -------
    list of Span
        In the order in which they end. At any time no node is in two of them, a run has as many nodes as the log says,
        and as many are held as the result's samples say.

    Raises
    ------
    InputError
        If the event log was switched off.
    """
    if not result.entries:
        raise InputError("this result has no event log; simulate with events=True")
    machine = _Machine(result.nodes, {record.job_id: record for record in result.records})
    held = {sample[0]: sample[2] for sample in result.samples}
    for now, entries in groupby(result.entries, key=lambda entry: entry.time):
        for entry in entries:
            happen = _EVENTS.get(entry.event)
            if happen is not None:
                happen(machine, entry)
        if now in held:
            machine.settle(held[now], now)
    # A simulation ends with the last job, which a reservation may outlive.
    for key in list(machine.holders):
        machine.release(key, result.entries[-1].time)
    return machine.spans


#: The cause of a start in an advance reservation: "in reservation 2 (tests of the vendor)".
_BOOKED = re.compile(r"in reservation (\d+)\b")

#: Who has nodes: a kind (run, held or down) and a job or an outage.
_Key = tuple[str, int]


class _Holder:
    """Who has nodes now: which, since when, since when it has had any, and where its last span stands."""

    __slots__ = ("first", "kind", "last", "nodes", "number", "since")

    def __init__(self, kind: str, number: int, now: int) -> None:
        self.kind = kind
        self.number = number
        self.first = self.since = now
        self.last: int | None = None
        self.nodes: Ranges = ()


class _Machine:
    """The nodes and their holders while the log is read; a move between holders closes the spans of both."""

    def __init__(self, nodes: int, records: Mapping[int, JobRecord]) -> None:
        self.free: Ranges = ((0, nodes),)
        self.records = records
        self.holders: dict[_Key, _Holder] = {}
        self.spans: list[Span] = []
        self.runs: dict[int, int] = {}
        # Of open reservations: what tenants have of them, and jobs in the order of their notices.
        self.lent: dict[int, Ranges] = {}
        self.gathering: dict[int, None] = {}

    def hold(self, key: _Key, nodes: Ranges, now: int, *, kind: str | None = None) -> None:
        """Let a holder have other nodes than before, from the free ones or back to them."""
        holder = self.holders.get(key)
        if holder is None:
            holder = self.holders[key] = _Holder(kind or key[0], self.runs.get(key[1], 0) if key[0] == RUN else 0, now)
        if nodes != holder.nodes or (kind and kind != holder.kind):
            self._close(key, holder, now)
        if nodes != holder.nodes:
            self.free = joined(without(self.free, nodes), without(holder.nodes, nodes))
            holder.nodes = nodes
        if kind:
            holder.kind = kind

    def release(self, key: _Key, now: int, ending: str = "") -> Ranges:
        """A holder is one no longer; returns what it had."""
        holder = self.holders.pop(key, None)
        if holder is None:
            return ()
        self._close(key, holder, now, ending)
        self.free = joined(self.free, holder.nodes)
        return holder.nodes

    def of(self, key: _Key) -> Ranges:
        """The nodes that somebody has now."""
        holder = self.holders.get(key)
        return holder.nodes if holder is not None else ()

    def take(self, count: int, job_id: int, now: int) -> Ranges:
        """Free nodes for a run; it comes first where the log does not say whose the held nodes are."""
        lacking = count - size(self.free)
        for key in reversed(self.held()) if lacking > 0 else ():
            lacking -= self.trim(key, lacking, now)
        return self.fit(count, job_id)

    def fit(self, count: int, job_id: int) -> Ranges:
        """The first free nodes from the end of the machine that suits the job."""
        job = self.records.get(job_id)
        return first_fit(self.free, count, from_top=job is None or job.type is JobType.ON_DEMAND)

    def top_up(self, job_id: int, count: int, now: int) -> int:
        """Hold up to so many free nodes more for a job; returns how many."""
        key = HELD, job_id
        nodes = self.fit(max(0, min(count, size(self.free))), job_id)
        self.hold(key, joined(self.of(key), nodes), now)
        return size(nodes)

    def trim(self, key: _Key, count: int, now: int) -> int:
        """Hold up to so many nodes less; returns how many."""
        nodes = self.of(key)
        kept = max(0, size(nodes) - count)
        self.hold(key, lowest(nodes, kept), now)
        return size(nodes) - kept

    def settle(self, held: int, now: int) -> None:
        """At the end of an instant so many nodes are held.

        What a victim gives to an arrived job that waits for it is in no entry, nor is from which of several
        reservations a tenant draws. Their sum is right in the samples.
        """
        missing = held - sum(size(self.of(key)) for key in self.held())
        if not missing:
            return
        for _, job_id in (*((HELD, job_id) for job_id in self.gathering), *self.held()):
            job = self.records.get(job_id)
            lacking = job.nodes - size(self.of((HELD, job_id))) if job is not None else missing
            if missing > 0:
                missing -= self.top_up(job_id, min(missing, lacking), now)
        for key in reversed(self.held()):
            if missing < 0:
                missing += self.trim(key, -missing, now)

    def held(self) -> list[_Key]:
        """For whom nodes are held, in the order of their notices."""
        return [key for key in self.holders if key[0] == HELD]

    def lenders_of(self, cause: str) -> list[_Key]:
        """Whose held nodes a job starts on, by the cause of its start; nobody's where it starts on free ones."""
        booked = _BOOKED.match(cause)
        if booked:
            return [(HELD, -int(booked[1]))]
        if cause != "tenant":
            return []
        # The order in which tenants draw: latest notice first, ties by id.
        lenders = [key for key in self.held() if key[1] > 0 and key[1] not in self.gathering]
        return sorted(lenders, key=lambda key: (-self.holders[key].first, key[1]))

    def _close(self, key: _Key, holder: _Holder, now: int, ending: str = "") -> None:
        if now > holder.since and holder.nodes:
            holder.last = len(self.spans)
            self.spans.append(Span(holder.kind, key[1], holder.number, holder.since, now, holder.nodes, ending))
        elif ending and holder.last is not None:
            # It was resized in the instant in which it ended.
            self.spans[holder.last] = self.spans[holder.last]._replace(ending=ending)
        holder.since = now


def _start(machine: _Machine, entry: Entry) -> None:
    job_id, now = entry.job_id, entry.time
    machine.runs[job_id] = machine.runs.get(job_id, 0) + 1
    nodes = highest(machine.release((HELD, job_id), now), entry.after)
    machine.lent.pop(job_id, None)
    machine.gathering.pop(job_id, None)
    for key in machine.lenders_of(entry.cause):
        drawn = first_fit(machine.of(key), min(size(machine.of(key)), entry.after - size(nodes)))
        machine.hold(key, without(machine.of(key), drawn), now)
        machine.lent[key[1]] = joined(machine.lent.get(key[1], ()), drawn)
        nodes = joined(nodes, drawn)
    machine.hold((RUN, job_id), nodes, now)
    _grow(machine, entry)


def _grow(machine: _Machine, entry: Entry) -> None:
    """A run has as many nodes as the entry says, more than before."""
    key = RUN, entry.job_id
    nodes = machine.of(key)
    machine.hold(key, joined(nodes, machine.take(entry.after - size(nodes), entry.job_id, entry.time)), entry.time)


def _shrink(machine: _Machine, entry: Entry) -> None:
    """A run gives up its highest nodes."""
    key = RUN, entry.job_id
    nodes = machine.of(key)
    machine.hold(key, lowest(nodes, entry.after), entry.time)


def _warn(machine: _Machine, entry: Entry) -> None:
    key = RUN, entry.job_id
    machine.hold(key, machine.of(key), entry.time, kind=WARNED)


def _end(machine: _Machine, entry: Entry) -> None:
    machine.release((RUN, entry.job_id), entry.time, entry.event)


def _notice(machine: _Machine, entry: Entry) -> None:
    """A reservation is opened."""
    machine.hold((HELD, entry.job_id), (), entry.time)


def _reserve(machine: _Machine, entry: Entry) -> None:
    """A reservation grows: by what it had lent before all; or an outage takes some of it."""
    job_id, count = entry.job_id, entry.after - entry.before
    if count < 0:
        machine.trim((HELD, job_id), -count, entry.time)
        return
    lent = machine.lent.get(job_id, ())
    back = common(lent, machine.free)
    back = first_fit(back, min(count, size(back)))
    machine.hold((HELD, job_id), joined(machine.of((HELD, job_id)), back), entry.time)
    machine.lent[job_id] = without(lent, back)
    machine.top_up(job_id, count - size(back), entry.time)


def _gather(machine: _Machine, entry: Entry) -> None:
    """An arrived job has some of its nodes, and waits for others."""
    machine.gathering[entry.job_id] = None
    machine.lent.pop(entry.job_id, None)
    machine.top_up(entry.job_id, entry.after - size(machine.of((HELD, entry.job_id))), entry.time)


def _down(machine: _Machine, entry: Entry) -> None:
    """An outage takes nodes away."""
    key = DOWN, entry.job_id
    nodes = machine.of(key)
    machine.hold(key, joined(nodes, machine.take(entry.after - size(nodes), entry.job_id, entry.time)), entry.time)


def _up(machine: _Machine, entry: Entry) -> None:
    machine.release((DOWN, entry.job_id), entry.time)


def _give_up(machine: _Machine, entry: Entry) -> None:
    """A reservation is closed without its job."""
    machine.release((HELD, entry.job_id), entry.time)
    machine.lent.pop(entry.job_id, None)
    machine.gathering.pop(entry.job_id, None)


def _cancel(machine: _Machine, entry: Entry) -> None:
    """A job is withdrawn: while it runs, while it gathers its nodes, or before it has any."""
    _end(machine, entry)
    _give_up(machine, entry)


#: What an event of the log does to the nodes; others do nothing. A further kind of holder adds its own events here.
_EVENTS: dict[str, Callable[[_Machine, Entry], None]] = {
    "start": _start,
    "expand": _grow,
    "shrink": _shrink,
    "warn": _warn,
    "preempt": _end,
    "expire": _end,
    "complete": _end,
    "kill": _end,
    "cancel": _cancel,
    "notice": _notice,
    "reserve": _reserve,
    "gather": _gather,
    "wait": _give_up,
    "time-out": _give_up,
    "withdraw": _give_up,
    "close": _give_up,
    "down": _down,
    "up": _up,
}
