"""Where the state of a replay on named nodes stands between passes, and how a replay ends."""

from __future__ import annotations

__all__ = [
    "BLOCKED",
    "CHANGED",
    "COMING",
    "DONE",
    "ENDED",
    "ENTRIES",
    "FULL",
    "HEADS",
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
#: Places in the state: how the replay ended; how many passes, entries of nodes, heads at once, jobs that have come, and
#: runs there are; what grows when resources become free, and when they are taken; the time of the pass; whether the
#: pass follows a pause; what grows with each pass and each start, which make what is known about the plan untrue; and
#: the job that can never start.
ENDED, PASSES, ENTRIES, HEADS, COMING, RUNS, RELEASED, CHANGED, NOW, RESUMED, VERSION, BLOCKED = range(12)
#: Number of places in the state.
STATES = 12
