"""Happenings: what else happened in an instant in which a promise moved.

A reported event happened then, and is of a kind that moves promises in that direction; no more is claimed.
"""

from __future__ import annotations

from experiments.stories.facts.queueing import Happening
from experiments.stories.reading.causes import parse_cause
from experiments.stories.reading.timeline import Chronicle
from workloads.ground.units import to_ticks

__all__ = ["happenings"]

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


def happenings(chronicle: Chronicle, time: int, job_id: int, earlier: bool | None) -> tuple[Happening, ...]:
    """What happened to other jobs.

    Parameters
    ----------
    chronicle
        What happened.
    time
        The instant [ticks of the simulated clock].
    job_id
        The job with the promise.
    earlier
        Whether the promise moved to an earlier time; None: it was withdrawn.
    """
    found: dict[str, list[Happening]] = {}
    for place in chronicle.places_at(time):
        happening = _of(chronicle, place)
        if happening is not None and happening.job_id != job_id:
            kind = happening.kind if happening.job_id in chronicle.lives else "outage"
            found.setdefault(kind, []).append(happening)
    if not earlier:
        for other in chronicle.overdue_at(time):
            found.setdefault("overdue", []).append(Happening("overdue", other))
    first, second = (_FORWARD, _BACK) if earlier else (_BACK, _FORWARD)
    for kinds in (*first, *second):
        there = [item for kind in kinds for item in found.get(kind, ())]
        if there:
            return tuple(there)
    return tuple(item for items in found.values() for item in items)


def _of(chronicle: Chronicle, place: int) -> Happening | None:
    entry = chronicle.entries[place]
    if entry.job_id not in chronicle.lives:
        return Happening(f"{entry.cause} {_OUTAGES.get(entry.event, entry.event)}", entry.job_id)
    if entry.event in ("complete", "kill", "expire"):
        early = chronicle.early(place)
        return Happening("ended early", entry.job_id, early) if early else Happening("ended", entry.job_id)
    if entry.event == "submit":
        if not chronicle.serves_on_demand(entry.job_id):
            return Happening("eligible" if entry.cause == "eligible" else "submitted", entry.job_id)
        estimated = chronicle.lives[entry.job_id].job.estimated_arrival
        if estimated is not None and chronicle.lives[entry.job_id].booking is not None:
            early = to_ticks(estimated) - chronicle.recording.origin - entry.time
            if early > 0:
                return Happening("came early", entry.job_id, early)
        return Happening("arrived", entry.job_id)
    if entry.event == "start":
        cause = parse_cause(entry.cause)
        kind = {"returned": "resumed", "tenant": "tenant", "arrival": "arrived"}.get(cause.kind, "started")
        return None if cause.kind == "arrival" else Happening(kind, entry.job_id)
    if entry.event in ("reserve", "gather", "hold"):
        return None
    return Happening(_EVENTS.get(entry.event, entry.event), entry.job_id)
