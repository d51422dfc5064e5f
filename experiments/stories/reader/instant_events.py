"""Other events of an instant in which a promised start moved.

A reported event happened then, and is of a kind that moves promises in that direction; no more is claimed.
"""

from __future__ import annotations

from holdfast.experiments.stories.facts.queueing import InstantEvent
from holdfast.experiments.stories.reader.causes import parse_cause
from holdfast.experiments.stories.reader.timeline import Timeline
from holdfast.workloads.ground.units import to_ticks

__all__ = ["instant_events"]

#: Kinds that move a promise, the likeliest first; only those of the first line that has any are reported.
_FORWARD = (
    ("ended early", "timed out", "came early", "outage"),
    ("shrunk", "warned", "preempted"),
    ("ended",),
)
_BACK = (
    ("notice", "arrived", "waits", "outage"),
    ("expanded", "resumed"),
    ("requeued", "submitted", "eligible"),
    ("tenant", "started"),
    ("overdue",),
)
_OUTAGES = {
    "announce": "was announced",
    "down": "took nodes",
    "reserve": "took nodes",
    "up": "was over",
    "close": "was over",
}
_EVENTS = {
    "time-out": "timed out",
    "shrink": "shrunk",
    "warn": "warned",
    "preempt": "preempted",
    "notice": "notice",
    "wait": "waits",
    "expand": "expanded",
    "requeue": "requeued",
}


def instant_events(timeline: Timeline, time: int, job_id: int, earlier: bool | None) -> tuple[InstantEvent, ...]:
    """Events of an instant that concern other jobs, where they move a promise in that direction.

    Parameters
    ----------
    timeline
        What happened.
    time
        The instant [ticks of the simulated clock].
    job_id
        The job with the promise.
    earlier
        Whether the promise moved to an earlier time; None: it was withdrawn.
    """
    found: dict[str, list[InstantEvent]] = {}
    for place in timeline.places_at(time):
        found_event = _classify_entry(timeline, place)
        if found_event is not None and found_event.job_id != job_id:
            kind = found_event.kind if found_event.job_id in timeline.lives else "outage"
            found.setdefault(kind, []).append(found_event)
    if not earlier:
        for other in timeline.overdue_at(time):
            found.setdefault("overdue", []).append(InstantEvent("overdue", other))
    first, second = (_FORWARD, _BACK) if earlier else (_BACK, _FORWARD)
    for kinds in (*first, *second):
        there = [item for kind in kinds for item in found.get(kind, ())]
        if there:
            return tuple(there)
    return tuple(item for items in found.values() for item in items)


def _classify_entry(timeline: Timeline, place: int) -> InstantEvent | None:
    entry = timeline.entries[place]
    if entry.job_id not in timeline.lives:
        return InstantEvent(f"{entry.cause} {_OUTAGES.get(entry.event, entry.event)}", entry.job_id)
    if entry.event in ("complete", "kill", "expire"):
        early = timeline.early(place)
        return InstantEvent("ended early", entry.job_id, early) if early else InstantEvent("ended", entry.job_id)
    if entry.event == "submit":
        if not timeline.serves_on_demand(entry.job_id):
            return InstantEvent("eligible" if entry.cause == "eligible" else "submitted", entry.job_id)
        estimated = timeline.lives[entry.job_id].job.estimated_arrival
        if estimated is not None and timeline.lives[entry.job_id].booking is not None:
            early = to_ticks(estimated) - timeline.recording.origin - entry.time
            if early > 0:
                return InstantEvent("came early", entry.job_id, early)
        return InstantEvent("arrived", entry.job_id)
    if entry.event == "start":
        cause = parse_cause(entry.cause)
        kind = {"returned": "resumed", "tenant": "tenant", "arrival": "arrived"}.get(cause.kind, "started")
        return None if cause.kind == "arrival" else InstantEvent(kind, entry.job_id)
    if entry.event in ("reserve", "gather", "hold"):
        return None
    return InstantEvent(_EVENTS.get(entry.event, entry.event), entry.job_id)
