"""Calls of on-demand jobs, from the event log: notice, estimated arrival, arrival, start, and the jobs that freed
nodes.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from holdfast.simulator.machine.event_log import Entry
from holdfast.simulator.results.recording import Recording, require_events
from holdfast.workloads.ground.units import to_ticks
from holdfast.workloads.table.job import Job, JobType

__all__ = ["ROOM", "Call", "calls"]

#: Sources of nodes that were not free: collected by the reservation, its tenants, jobs that its plan preempted,
#: malleable jobs that shrank, and jobs preempted at the arrival.
ROOM = ("reserved", "tenants", "planned", "shrunk", "preempted")


@dataclass
class Call:
    """The call of an on-demand job.

    Attributes
    ----------
    job_id, nodes
        Job, and number of requested nodes.
    notice, estimated
        Notice and estimated arrival by the job table; None: no notice.
    arrival, start
        None for a no-show.
    timed_out
        Time at which its reservation was closed, because it did not arrive in time or its notice was withdrawn.
    held
        Begin and end of its reservation.
    waits
        Whether it could not get its nodes and was queued.
    room
        Nodes by source (:data:`ROOM`); preempted jobs count with all their nodes, which may be more than needed.
    givers
        Jobs that shrank or were preempted for it.
    """

    job_id: int
    nodes: int
    notice: int | None
    estimated: int | None
    arrival: int | None = None
    start: int | None = None
    timed_out: int | None = None
    held: tuple[int, int] | None = None
    waits: bool = False
    room: dict[str, int] = field(default_factory=lambda: dict.fromkeys(ROOM, 0))
    givers: list[int] = field(default_factory=list)

    @property
    def expected(self) -> int:
        """Its estimated arrival or, without a notice, its arrival."""
        if self.estimated is not None:
            return self.estimated
        return self.arrival if self.arrival is not None else 0


def calls(recording: Recording) -> list[Call]:
    """Calls of all on-demand jobs in the order of expected arrivals; ticks of the simulated clock.

    Raises
    ------
    InputError
        If the event log was switched off.
    """
    require_events(recording)
    found = {job.job_id: _call(job, recording.origin) for job in recording.table if job.type is JobType.ON_DEMAND}
    reserved: dict[int, int] = {}
    since: dict[int, int] = {}
    for entry in recording.entries:
        own = found.get(entry.job_id)
        if own is not None:
            _follow(own, entry, reserved, since)
        _give(found, entry.event, entry.job_id, entry.before, entry.after, entry.cause)
    for call in found.values():
        record = recording.record[call.job_id]
        if call.arrival is None and record.submit is not None and record.start is not None:
            # It was running when the replay began.
            call.arrival, call.start = record.queued - recording.origin, record.start - recording.origin
        room = call.room
        collected = reserved.get(call.job_id, 0)
        room["tenants"] = min(room["tenants"], collected)
        room["planned"] = min(room["planned"], collected - room["tenants"])
        room["reserved"] = collected - room["tenants"] - room["planned"]
    return sorted(found.values(), key=lambda call: (call.expected, call.job_id))


def _call(job: Job, origin: int) -> Call:
    """The call of a job by the job table."""
    notice, estimated = (
        None if time is None else to_ticks(time) - origin for time in (job.notice, job.estimated_arrival)
    )
    return Call(job.job_id, job.nodes, notice, estimated)


def _follow(call: Call, entry: Entry, reserved: dict[int, int], since: dict[int, int]) -> None:
    """Enter an event of the job; ``reserved`` has the nodes of its reservation, ``since`` the begin of an open one."""
    if entry.event == "submit":
        call.arrival = entry.time
    elif entry.event == "start" and call.start is None:
        call.start = entry.time
    elif entry.event == "wait":
        call.waits = True
        reserved.pop(entry.job_id, None)
    elif entry.event == "reserve":
        reserved[entry.job_id] = entry.after
        since.setdefault(entry.job_id, entry.time)
    elif entry.event in ("time-out", "withdraw"):
        call.timed_out = entry.time
        reserved.pop(entry.job_id, None)
    if entry.job_id in since and entry.event in ("submit", "time-out", "withdraw"):
        call.held = (since.pop(entry.job_id), entry.time)


def _give(found: dict[int, Call], event: str, job_id: int, before: int, after: int, cause: str) -> None:
    """Record nodes that a job gives up for an on-demand job."""
    if event not in ("shrink", "warn", "preempt"):
        return
    for start, end, source in (
        ("for ", "", "shrunk" if event == "shrink" else "preempted"),
        ("planned for ", "", "planned"),
        ("", " arrived", "tenants"),
    ):
        name = cause.removeprefix(start).removesuffix(end)
        if cause == f"{start}{name}{end}" and name.isdigit() and int(name) in found:
            call = found[int(name)]
            call.room[source] += before - after if event == "shrink" else before
            call.givers.append(job_id)
            return
