"""The event log: every change of a job's nodes and every event of its life; and samples of the machine."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["Entry", "EventLog", "Sample"]

#: (time, busy nodes, held nodes, waiting jobs, nodes they ask for), at the end of an instant.
Sample = tuple[int, int, int, int, int]


class Entry(NamedTuple):
    """One line of the log.

    Attributes
    ----------
    time
        Tick of the simulated clock.
    event
        ``hold`` (a job is submitted and not eligible yet), ``submit`` (a job enters the queue, of a stochastic job each
        reservation: at its submit, or when it is eligible), ``notice``, ``reserve``, ``time-out``, ``wait`` (an
        on-demand job that cannot get its nodes), ``gather`` (one that waits for promised nodes), ``start``, ``shrink``,
        ``expand``, ``warn``, ``preempt`` (the nodes are given up), ``requeue``, ``expire`` (a reservation is over and
        its job is not), ``complete``, ``kill``, ``cancel`` (its user withdraws it), ``withdraw`` (likewise a notice).
        For outages: ``announce`` (a window not known from the beginning), ``down`` and ``up``, ``reserve``
        and ``close`` (of an advance reservation).
    job_id
        The job it happens to; of an outage minus its number.
    before, after
        Nodes before and after: of the job, of its reservation, or of the outage.
    cause
        Why.
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
        Whether anything is kept.
    """

    def __init__(self, enabled: bool = True) -> None:
        self.entries: list[Entry] = []
        self.enabled = enabled

    def __call__(self, time: int, event: str, job_id: int, before: int, after: int, cause: str = "") -> None:
        if self.enabled:
            self.entries.append(Entry(time, event, job_id, before, after, cause))
