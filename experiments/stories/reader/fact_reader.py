"""Facts of one job, from the timeline of its simulation and the ledger of decisions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from holdfast.experiments.stories.facts import lifetime, queueing
from holdfast.experiments.stories.facts.quantities import shift_clock
from holdfast.experiments.stories.reader.arrivals import on_demand_facts
from holdfast.experiments.stories.reader.causes import parse_cause
from holdfast.experiments.stories.reader.instant_events import instant_events
from holdfast.experiments.stories.reader.job_states import JobHistory, QueueStay, ReplayedRun
from holdfast.experiments.stories.reader.ledger import Ledger
from holdfast.experiments.stories.reader.timeline import Timeline
from holdfast.experiments.stories.reader.wait_segments import WaitParts
from holdfast.simulator.machine.decisions import Decision
from holdfast.simulator.machine.stochastic import ReservationRecord
from holdfast.simulator.results.recording import Recording, all_reservations, requested_walltime

__all__ = ["FactReader"]


class FactReader:
    """Reads the facts of jobs from a recording; its event log is played again once.

    Parameters
    ----------
    recording
        Recording of a simulation, with its event log.
    decisions
        Decisions that were recorded beside it; None: none.
    tolerance
        How late an on-demand job may start and still count as started instantly [ticks].
    """

    def __init__(self, recording: Recording, decisions: Sequence[Decision] | None, tolerance: int) -> None:
        self.recording = recording
        self._timeline = Timeline(recording, decisions)
        self._ledger = Ledger(self._timeline)
        self._waits = WaitParts(self._timeline)
        self._tolerance = tolerance
        self._slots: dict[int, list[ReservationRecord]] = {}
        for item in all_reservations(recording):
            self._slots.setdefault(item.job_id, []).append(item)

    def read(self, job_id: int) -> lifetime.Facts:
        """The facts of a job."""
        recording, life = self.recording, self._timeline.lives[job_id]
        job, record = life.job, recording.record[job_id]
        came = record.submit is not None and record.start is not None
        service, origin = None, recording.origin
        if self._timeline.serves_on_demand(job_id):
            service = shift_clock(on_demand_facts(self._timeline, self._ledger, life, record, self._tolerance), origin)
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
            has_decisions=self._timeline.has_decisions,
            windows=any(not name.startswith("failure ") for name in self._timeline.outages.values()),
            waits=shift_clock(tuple(self._wait(stay) for stay in life.stays), origin),
            runs=shift_clock(tuple(self._run(replayed, number) for number, replayed in enumerate(life.runs)), origin),
            loans=shift_clock(tuple(self._loans(job_id)), origin),
            on_demand=service,
            others=shift_clock(tuple(self._others(life)), origin),
        )

    def _others(self, life: JobHistory) -> Iterator[lifetime.Other]:
        for place in life.others:
            entry = self._timeline.entries[place]
            yield lifetime.Other(entry.time, entry.event, entry.before, entry.after, entry.cause)

    def _wait(self, stay: QueueStay) -> queueing.Wait:
        until = self._timeline.times[-1] if stay.until is None else stay.until
        return queueing.Wait(
            since=stay.since,
            until=until,
            why=stay.why,
            cause=stay.cause,
            needs=stay.job.min_nodes,
            free=self._waits.free_at(stay.since),
            ahead=stay.ahead,
            ahead_nodes=stay.ahead_nodes,
            first=tuple(self._first(stay, until)),
            promises=tuple(self._promises(stay, until)),
            passed_by=tuple(self._passing_fact(place) for place in stay.passed_by),
            parts=self._waits.parts(stay),
            occupancy=self._waits.occupancy(stay),
        )

    def _first(self, stay: QueueStay, until: int) -> Iterator[queueing.AtHead]:
        """Its times at the head of the queue."""
        since: int | None = None
        for instant in self._timeline.between(stay.since, until):
            if instant.head is stay:
                since = instant.time if since is None else since
            elif since is not None:
                by = instant.head.job_id if instant.head is not None else None
                yield queueing.AtHead(since, instant.time, by)
                since = None
        if since is not None:
            yield queueing.AtHead(since, until, None)

    def _promises(self, stay: QueueStay, until: int) -> Iterator[queueing.Promise]:
        before: int | None = None
        for decision in self._ledger.promises.get(stay.job_id, ()):
            if stay.since <= decision.time < until:
                when: tuple[queueing.InstantEvent, ...] = ()
                if before is not None:
                    earlier = decision.at < before if decision.at is not None else None
                    when = instant_events(self._timeline, decision.time, stay.job_id, earlier)
                before = decision.at
                yield queueing.Promise(decision.time, decision.at, when)

    def _passing_fact(self, place: int) -> queueing.Passing:
        entry = self._timeline.entries[place]
        return queueing.Passing(entry.time, entry.job_id, entry.after, parse_cause(entry.cause).kind)

    def _run(self, replayed: ReplayedRun, number: int) -> lifetime.RunFacts:
        cause = self._cause(replayed.place)
        returned = [
            item.nodes or 0
            for item in self._ledger.returned.get(replayed.job_id, ())
            if item.time == replayed.since and item.other == cause.job_id
        ]
        slots = self._slots.get(replayed.job_id, ())
        slot = slots[number] if number < len(slots) else None
        return lifetime.RunFacts(
            start=replayed.since,
            nodes=replayed.nodes,
            cause=cause,
            wait=None if replayed.stay is None else self._timeline.lives[replayed.job_id].stays.index(replayed.stay),
            returned=sum(returned) if cause.kind == "returned" else 0,
            tenant_of=tuple(sorted(replayed.draws.items())),
            resizes=tuple(self._resize(place) for place in replayed.changes),
            end=replayed.until or 0,
            ending=replayed.ending,
            early=replayed.early,
            checkpoints=replayed.checkpoints,
            lost=replayed.lost if replayed.stopped is None else 0,
            stop=self._stop(replayed),
            slot=None if slot is None else lifetime.Slot(slot.number, slot.length, slot.ending, slot.work, slot.saved),
        )

    def _cause(self, place: int) -> lifetime.Cause:
        entry = self._timeline.entries[place]
        return replace(parse_cause(entry.cause), reason=self._ledger.reason(entry.time, entry.job_id))

    def _resize(self, place: int) -> lifetime.Resize:
        entry = self._timeline.entries[place]
        return lifetime.Resize(entry.time, entry.before, entry.after, self._cause(place))

    def _stop(self, replayed: ReplayedRun) -> lifetime.Stop | None:
        if replayed.stopped is None or replayed.stop_place is None:
            return None
        cause = self._cause(replayed.stop_place)
        chosen, spared = self._ledger.victim(replayed.stopped, replayed.job_id, cause)
        return lifetime.Stop(
            time=replayed.stopped,
            vacated=replayed.until or replayed.stopped,
            cause=cause,
            lost=replayed.lost,
            lost_to_warning=replayed.lost_to_warning,
            checkpoints=replayed.checkpoints,
            secured=replayed.secured,
            overhead=chosen.loss if chosen is not None else None,
            spared=spared.job_id if spared is not None else None,
            spared_overhead=spared.loss if spared is not None else None,
        )

    def _loans(self, job_id: int) -> Iterator[lifetime.Loan]:
        """Nodes that it lent, and how many of them came back after the borrower's end."""
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
