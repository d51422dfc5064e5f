"""Where the state of a replay on named nodes stands between passes, and how a replay ends."""

from __future__ import annotations

__all__ = [
    "ARRIVED",
    "BLOCKED",
    "CHANGED",
    "COMING",
    "DONE",
    "ENDED",
    "ENTRIES",
    "FULL",
    "HEADS",
    "LEAVING",
    "NOW",
    "PASSES",
    "PAUSED",
    "RELEASED",
    "RESUMED",
    "RUNS",
    "STATES",
    "STUCK",
    "VERSION",
]

#: How a replay ended: all jobs have started; a job can never start; there is no room for another reservation; the
#: waiting jobs are to be sorted.
DONE, STUCK, FULL, PAUSED = 0, 1, 2, 3
#: Places in the state: how the replay ended; how many passes, entries of nodes, heads at once, jobs that are known to
#: come, and runs there are; what grows when resources become free, and when they are taken; the time of the pass;
#: whether the pass follows a pause; what grows with each pass and each start, which make what is known about the plan
#: untrue; the job that can never start; how many jobs have come, and are known to be cancelled.
ENDED, PASSES, ENTRIES, HEADS, COMING, RUNS, RELEASED, CHANGED, NOW, RESUMED, VERSION, BLOCKED = range(12)
ARRIVED, LEAVING = 12, 13
#: Number of places in the state.
STATES = 14
