"""Facts of an on-demand job that is served as one."""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.experiments.stories.facts import service
from holdfast.experiments.stories.reader.causes import parse_cause
from holdfast.experiments.stories.reader.job_states import Booking, JobHistory
from holdfast.experiments.stories.reader.ledger import Ledger
from holdfast.experiments.stories.reader.timeline import Timeline
from holdfast.simulator.results.records import JobRecord

__all__ = ["on_demand_facts"]

_HOW = {"dismissed": "tenant", "planned": "planned"}


def on_demand_facts(
    timeline: Timeline, ledger: Ledger, life: JobHistory, record: JobRecord, tolerance: int
) -> service.OnDemand:
    """What became of a notice, and of the arrival; times are ticks of the simulated clock.

    Parameters
    ----------
    timeline, ledger
        What happened, and what was decided.
    life, record
        The job's history and record.
    tolerance
        How late it may start and still count as started instantly [ticks].
    """
    job, booking = life.job, life.booking
    helpers = tuple(_helpers(timeline, ledger, job.job_id))
    arrived = booking is not None and booking.ending == "arrived"
    lacking, room = ledger.arrival(job.job_id)
    came = record.submit is not None and record.start is not None
    return service.OnDemand(
        notice=None if job.notice is None else timeline.ticks(job.notice),
        estimated=None if job.estimated_arrival is None else timeline.ticks(job.estimated_arrival),
        heard=booking is not None,
        reserved=tuple(booking.gains) if booking is not None else (),
        plan=tuple(_plan(timeline, ledger, job.job_id)),
        timed_out=_end_time(booking, "time-out"),
        withdrawn=_end_time(booking, "withdraw"),
        own=booking.total if booking is not None and arrived else 0,
        lacking=lacking,
        room=room,
        gatherings=tuple(_gatherings(timeline, ledger, life)),
        helpers=helpers,
        instant=record.wait <= tolerance if came else None,
    )


def _end_time(booking: Booking | None, ending: str) -> int | None:
    """When a reservation ended, if it ended so."""
    if booking is None or booking.until is None or booking.ending != ending:
        return None
    return booking.until


def _helpers(timeline: Timeline, ledger: Ledger, job_id: int) -> Iterator[service.Helper]:
    """Jobs that gave up nodes for it, in order, with those that they lent; tenants with those that they borrowed."""
    lent = ledger.lenders.get(job_id, ())
    loans = {(item.time, item.job_id): item.nodes for item in lent}
    returned: dict[int, int] = {}
    for item in ledger.returns.get(job_id, ()):
        if item.job_id is not None:
            returned[item.job_id] = returned.get(item.job_id, 0) + (item.nodes or 0)
    for place in ledger.named.get(job_id, ()):
        entry = timeline.entries[place]
        kind = parse_cause(entry.cause).kind
        how = "shrunk" if entry.event == "shrink" else _HOW.get(kind, "preempted")
        nodes = loans.get((entry.time, entry.job_id))
        if how == "planned":
            # It lends when its nodes are taken, at the latest when its warning is over.
            last = max(entry.time, _vacate_time(timeline, place))
            taken = [item for item in lent if item.job_id == entry.job_id and entry.time <= item.time <= last]
            nodes = taken[0].nodes if taken else None
        elif how == "tenant":
            nodes = timeline.borrowed_nodes(entry.job_id, job_id, entry.time)
        elif how == "shrunk" and nodes is None:
            nodes = entry.before - entry.after
        back = returned.pop(entry.job_id, 0) if how != "tenant" else 0
        yield service.Helper(entry.time, entry.job_id, how, nodes, back)


def _gatherings(timeline: Timeline, ledger: Ledger, life: JobHistory) -> Iterator[service.Gathering]:
    """Its waits for nodes of jobs under warning."""
    warned = [place for place in ledger.named.get(life.job.job_id, ()) if timeline.entries[place].event == "warn"]
    for place in life.gathered:
        since = timeline.entries[place].time
        ends = [(replayed.place, replayed.since) for replayed in life.runs]
        ends += [(stay.place, stay.since) for stay in life.stays]
        until = min((time for after, time in ends if after > place), default=since)
        owing = [item for item in warned if item < place and _vacate_time(timeline, item) > since]
        jobs = {timeline.entries[item].job_id for item in owing}
        yield service.Gathering(since, until, tuple(sorted(jobs)))


def _vacate_time(timeline: Timeline, place: int) -> int:
    """When the run that is warned there gave up its nodes."""
    replayed = timeline.stop_at(place)
    return replayed.until if replayed is not None and replayed.until is not None else 0


def _plan(timeline: Timeline, ledger: Ledger, job_id: int) -> Iterator[service.Plan]:
    done = {
        timeline.entries[place].job_id
        for place in ledger.named.get(job_id, ())
        if parse_cause(timeline.entries[place].cause).kind == "planned"
    }
    for item in ledger.plans.get(job_id, ()):
        if item.job_id is None:
            continue
        outcome = ""
        if item.decision == "plan":
            dropped = "dropped" if ledger.is_dropped(item.job_id, job_id) else "void"
            outcome = "done" if item.job_id in done else dropped
        yield service.Plan(
            what="expect" if item.decision == "expect" else "preempt",
            job_id=item.job_id,
            nodes=item.nodes or 0,
            at=item.at or 0,
            overhead=item.loss,
            outcome=outcome,
            reason=ledger.reason(item.time, item.job_id),
        )
