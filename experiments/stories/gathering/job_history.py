"""Biographies: the facts of one job, gathered from chronicle and ledger."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from experiments.stories.facts import lifetime, queueing
from experiments.stories.facts.quantities import shift_clock
from experiments.stories.gathering.arrivals import on_demand_facts
from experiments.stories.gathering.instant_events import happenings
from experiments.stories.gathering.wait_segments import WaitParts
from experiments.stories.reading.causes import parse_cause
from experiments.stories.reading.job_states import JobHistory, Spell, Stint
from experiments.stories.reading.ledger import Ledger
from experiments.stories.reading.timeline import Chronicle
from simulator.machine.decisions import Decision
from simulator.machine.stochastic import ReservationRecord
from simulator.results.recording import Recording, all_reservations, requested_walltime

__all__ = ["Biographer"]


class Biographer:
    """Gathers facts.

    Parameters
    ----------
    recording
        Recording of a simulation, with its event log.
    decisions
        What was recorded beside it; None: nothing.
    tolerance
        How late an on-demand job may start and still count as started instantly [ticks].
    """

    def __init__(self, recording: Recording, decisions: Sequence[Decision] | None, tolerance: int) -> None:
        self.recording = recording
        self._chronicle = Chronicle(recording, decisions)
        self._ledger = Ledger(self._chronicle)
        self._waits = WaitParts(self._chronicle)
        self._tolerance = tolerance
        self._slots: dict[int, list[ReservationRecord]] = {}
        for item in all_reservations(recording):
            self._slots.setdefault(item.job_id, []).append(item)

    def of(self, job_id: int) -> lifetime.Facts:
        """All of a job's story."""
        recording, life = self.recording, self._chronicle.lives[job_id]
        job, record = life.job, recording.record[job_id]
        came = record.submit is not None and record.start is not None
        service, origin = None, recording.origin
        if self._chronicle.serves_on_demand(job_id):
            service = shift_clock(on_demand_facts(self._chronicle, self._ledger, life, record, self._tolerance), origin)
        return lifetime.Facts(
            job_id=job_id,
            type=job.type.value,
            nodes=job.nodes,
            min_nodes=job.nodes if job.min_nodes is None or recording.mechanism == "baseline" else job.min_nodes,
            walltime=requested_walltime(recording, job),
            runtime=record.runtime,
            mechanism=recording.mechanism,
            order=recording.options.order,
            backfilling=recording.options.backfilling,
            machine=recording.nodes,
            submit=record.submit,
            eligible=record.eligible,
            start=record.start,
            end=record.end,
            wait=record.wait if came else None,
            status=record.status,
            preemptions=record.preemptions,
            shrinks=record.shrinks,
            lost=record.lost,
            told=self._chronicle.told,
            windows=any(not name.startswith("failure ") for name in self._chronicle.outages.values()),
            waits=shift_clock(tuple(self._wait(spell) for spell in life.spells), origin),
            runs=shift_clock(tuple(self._run(stint, number) for number, stint in enumerate(life.stints)), origin),
            loans=shift_clock(tuple(self._loans(job_id)), origin),
            on_demand=service,
            others=shift_clock(tuple(self._others(life)), origin),
        )

    def _others(self, life: JobHistory) -> Iterator[lifetime.Other]:
        for place in life.others:
            entry = self._chronicle.entries[place]
            yield lifetime.Other(entry.time, entry.event, entry.before, entry.after, entry.cause)

    def _wait(self, spell: Spell) -> queueing.Wait:
        until = self._chronicle.times[-1] if spell.until is None else spell.until
        return queueing.Wait(
            since=spell.since,
            until=until,
            why=spell.why,
            cause=spell.cause,
            needs=spell.job.min_nodes,
            free=self._waits.free_at(spell.since),
            ahead=spell.ahead,
            ahead_nodes=spell.ahead_nodes,
            first=tuple(self._first(spell, until)),
            promises=tuple(self._promises(spell, until)),
            passed_by=tuple(self._passing(place) for place in spell.passed_by),
            parts=self._waits.parts(spell),
            occupancy=self._waits.occupancy(spell),
        )

    def _first(self, spell: Spell, until: int) -> Iterator[queueing.AtHead]:
        """When it stood first in the queue."""
        since: int | None = None
        for instant in self._chronicle.between(spell.since, until):
            if instant.head is spell:
                since = instant.time if since is None else since
            elif since is not None:
                by = instant.head.job_id if instant.head is not None else None
                yield queueing.AtHead(since, instant.time, by)
                since = None
        if since is not None:
            yield queueing.AtHead(since, until, None)

    def _promises(self, spell: Spell, until: int) -> Iterator[queueing.Promise]:
        before: int | None = None
        for decision in self._ledger.promises.get(spell.job_id, ()):
            if spell.since <= decision.time < until:
                when: tuple[queueing.Happening, ...] = ()
                if before is not None:
                    earlier = decision.at < before if decision.at is not None else None
                    when = happenings(self._chronicle, decision.time, spell.job_id, earlier)
                before = decision.at
                yield queueing.Promise(decision.time, decision.at, when)

    def _passing(self, place: int) -> queueing.Passing:
        entry = self._chronicle.entries[place]
        return queueing.Passing(entry.time, entry.job_id, entry.after, parse_cause(entry.cause).kind)

    def _run(self, stint: Stint, number: int) -> lifetime.RunFacts:
        cause = self._cause(stint.place)
        returned = [
            item.nodes or 0
            for item in self._ledger.returned.get(stint.job_id, ())
            if item.time == stint.since and item.other == cause.job_id
        ]
        slots = self._slots.get(stint.job_id, ())
        slot = slots[number] if number < len(slots) else None
        return lifetime.RunFacts(
            start=stint.since,
            nodes=stint.nodes,
            cause=cause,
            wait=None if stint.spell is None else self._chronicle.lives[stint.job_id].spells.index(stint.spell),
            returned=sum(returned) if cause.kind == "returned" else 0,
            tenant_of=tuple(sorted(stint.draws.items())),
            resizes=tuple(self._resize(place) for place in stint.changes),
            end=stint.until or 0,
            ending=stint.ending,
            early=stint.early,
            checkpoints=stint.checkpoints,
            lost=stint.lost if stint.stopped is None else 0,
            stop=self._stop(stint),
            slot=None if slot is None else lifetime.Slot(slot.number, slot.length, slot.ending, slot.work, slot.saved),
        )

    def _cause(self, place: int) -> lifetime.Cause:
        entry = self._chronicle.entries[place]
        return replace(parse_cause(entry.cause), reason=self._ledger.reason(entry.time, entry.job_id))

    def _resize(self, place: int) -> lifetime.Resize:
        entry = self._chronicle.entries[place]
        return lifetime.Resize(entry.time, entry.before, entry.after, self._cause(place))

    def _stop(self, stint: Stint) -> lifetime.Stop | None:
        if stint.stopped is None or stint.stop_place is None:
            return None
        cause = self._cause(stint.stop_place)
        chosen, spared = self._ledger.victim(stint.stopped, stint.job_id, cause)
        return lifetime.Stop(
            time=stint.stopped,
            vacated=stint.until or stint.stopped,
            cause=cause,
            lost=stint.lost,
            lost_to_warning=stint.lost_to_warning,
            checkpoints=stint.checkpoints,
            secured=stint.secured,
            overhead=chosen.loss if chosen is not None else None,
            spared=spared.job_id if spared is not None else None,
            spared_overhead=spared.loss if spared is not None else None,
        )

    def _loans(self, job_id: int) -> Iterator[lifetime.Loan]:
        """Nodes that it gave up, and how many came back when the borrower had ended."""
        given = self._ledger.given.get(job_id, ())
        # A loan is void once its borrower's reservation has timed out, or the lender has run and been preempted again:
        # what comes back is of the last ones.
        back: dict[int, Decision] = {}
        returned = list(self._ledger.returned.get(job_id, ()))
        for place, loan in reversed(list(enumerate(given))):
            item = next((item for item in reversed(returned) if item.other == loan.other), None)
            if item is not None and loan.time <= item.time and (item.nodes or 0) <= (loan.nodes or 0):
                back[place] = item
                returned.remove(item)
        for place, loan in enumerate(given):
            item = back.get(place)
            yield lifetime.Loan(
                loan.time,
                loan.other or 0,
                loan.nodes or 0,
                (item.nodes or 0) if item is not None else 0,
                item.time if item is not None else None,
            )
