"""The event log: every change of a job's nodes and every event of its life; and samples of the machine."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["Entry", "EventLog", "Sample"]

#: (time, busy nodes, held nodes, waiting jobs, nodes requested by them) at the end of an instant.
Sample = tuple[int, int, int, int, int]


class Entry(NamedTuple):
    """One line of the log.

    Attributes
    ----------
    time
        Tick of the simulated clock.
    event
        ``hold`` (a job is submitted but not eligible yet), ``submit`` (a job, or a reservation of a stochastic job,
        enters the queue: at its submit, or when it becomes eligible), ``notice``, ``reserve``, ``time-out``, ``wait``
        (an on-demand job cannot get its nodes), ``gather`` (an on-demand job waits for promised nodes), ``start``,
        ``shrink``, ``expand``, ``warn``, ``preempt`` (the nodes are given up), ``requeue``, ``expire`` (a reservation
        ends before its job is complete), ``complete``, ``kill``, ``cancel`` (by the user), ``withdraw`` (a notice, by
        the user). For outages: ``announce`` (a window not known from the beginning), ``down`` and ``up``, ``reserve``
        and ``close`` (an advance reservation).
    job_id
        Job id; for an outage, minus its number.
    before, after
        Number of nodes before and after: of the job, its reservation, or the outage.
    cause
        Cause of the event.
    """

    time: int
    event: str
    job_id: int
    before: int
    after: int
    cause: str


class EventLog:
    """Collects entries.

    Parameters
    ----------
    enabled
        Whether entries are kept.
    """

    def __init__(self, enabled: bool = True) -> None:
        self.entries: list[Entry] = []
        self.enabled = enabled

    def __call__(self, time: int, event: str, job_id: int, before: int, after: int, cause: str = "") -> None:
        if self.enabled:
            self.entries.append(Entry(time, event, job_id, before, after, cause))
