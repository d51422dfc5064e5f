"""What a waiting job waits for: a limit, nodes, or the reservation of another job; for how long, and until when.

Loops over whole numbers, which run compiled or as plain Python. A job has :data:`CAUSES` places in ``causes``.
"""

from __future__ import annotations

from typing import Any

__all__ = [
    "BACKFILLED",
    "CAUSES",
    "LIMIT",
    "LIMITED_UNTIL",
    "NODES",
    "OTHER",
    "PROMISED",
    "PROMISED_AT",
    "RESERVATION",
    "SINCE",
    "WAITED",
    "end_wait",
    "note_promise",
    "note_start",
    "note_wait",
]

#: Causes: a limit stops the job; no nodes have room for it beside running jobs; it would delay a job before it.
LIMIT, NODES, RESERVATION = range(3)
#: Places: the present cause (-1: none), and since when; from ``WAITED`` on the ticks that each cause lasted; until when
#: a limit stopped the job; the last job that it would have delayed (-1: none); the first time that was promised (-1:
#: none), and when it was; 1 if the last start passed a job of the partition, else 0.
SINCE, WAITED, LIMITED_UNTIL, OTHER, PROMISED, PROMISED_AT, BACKFILLED, CAUSES = 1, 2, 5, 6, 7, 8, 9, 10


def note_wait(job: Any, cause: Any, other: Any, now: Any, causes: Any) -> None:
    """From now on, a job waits because of a cause, and of another job (-1: of none)."""
    end_wait(job, now, causes)
    causes[job * CAUSES] = cause
    causes[job * CAUSES + SINCE] = now
    if other >= 0:
        causes[job * CAUSES + OTHER] = other


def note_promise(job: Any, time: Any, now: Any, causes: Any) -> None:
    """The job has a reservation; the first one is kept."""
    if causes[job * CAUSES + PROMISED] < 0:
        causes[job * CAUSES + PROMISED] = time
        causes[job * CAUSES + PROMISED_AT] = now


def end_wait(job: Any, now: Any, causes: Any) -> None:
    """The present cause ends now."""
    cause = causes[job * CAUSES]
    if cause >= 0:
        causes[job * CAUSES + WAITED + cause] += now - causes[job * CAUSES + SINCE]
        if cause == LIMIT:
            causes[job * CAUSES + LIMITED_UNTIL] = now


def note_start(job: Any, passed: Any, now: Any, causes: Any) -> None:
    """The job starts now; ``passed`` counts jobs before it in the queue that wait for nodes of its partition."""
    end_wait(job, now, causes)
    causes[job * CAUSES + BACKFILLED] = min(1, passed)
