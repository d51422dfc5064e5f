"""Positions of the values in the state array of a replay on named nodes, and the codes for its end."""

from __future__ import annotations

__all__ = [
    "ARRIVED",
    "BLOCKED",
    "CAUSE",
    "CHANGED",
    "COMING",
    "CROWDED",
    "CULPRIT",
    "DONE",
    "ENDED",
    "ENTRIES",
    "EVENT",
    "FULL",
    "HEADS",
    "LEAVING",
    "NET",
    "NOW",
    "OPEN",
    "PASSES",
    "PAST",
    "PAUSED",
    "PLANNED",
    "PLAN_ENTRIES",
    "RELEASED",
    "RESUMED",
    "RUNNING",
    "STATES",
    "STUCK",
    "VERSION",
]

#: How a replay ended: all jobs have started; a job can never start; there is no room for another reservation; the
#: waiting jobs are to be sorted; there is no room for another preempted run.
DONE, STUCK, FULL, PAUSED, CROWDED = 0, 1, 2, 3, 4
#: Places in the state: how the replay ended; how many passes, entries of nodes, heads at once, jobs that are known to
#: come, and runs there are; what grows when resources become free, and when they are taken; the time of the pass;
#: whether the pass follows a pause; what grows with each pass and each start, which make what is known about the plan
#: untrue; the job that can never start; how many jobs have come, and are known to be cancelled; how many
#: events of windows have happened, and runs were preempted.
ENDED, PASSES, ENTRIES, HEADS, COMING, RUNNING, RELEASED, CHANGED, NOW, RESUMED, VERSION, BLOCKED = range(12)
ARRIVED, LEAVING, EVENT, PAST = 12, 13, 14, 15
#: Of a pass: how many reservations there are, with how many entries of nodes, and the first row of ``plan.nets`` that
#: belongs to them. Of a job in a pass: why it does not start, the job that prevents it, and how many of its options
#: could have a reservation.
PLANNED, PLAN_ENTRIES, NET, CAUSE, CULPRIT, OPEN = range(16, 22)
#: Number of places in the state.
STATES = 22
