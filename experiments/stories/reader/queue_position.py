"""The queue in its order, at every instant."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Callable, Sequence
from operator import attrgetter
from typing import Any, cast

from holdfast.experiments.stories.reader.job_states import QueueStay
from holdfast.policies.order import Order
from holdfast.policies.port import SystemView
from holdfast.simulator.machine.fairshare import UsageLedger
from holdfast.simulator.machine.job_state import JobState
from holdfast.simulator.machine.prior_state import PastUsage

__all__ = ["ReplayedQueue"]

_RANK = attrgetter("rank")


class _View:
    """The part of the machine that an order may see: what does not change within an instant."""

    def __init__(self, nodes: int, half_life: float | None) -> None:
        self.now = 0
        self.nodes = nodes
        self.ledger = UsageLedger(half_life) if half_life is not None else None

    def group_usage(self, group: str | None) -> float:
        return self.ledger.decayed_usage(group, self.now) if self.ledger is not None else 0.0


class ReplayedQueue:
    """The queue, played again.

    Parameters
    ----------
    order
        The queue order. On-demand jobs that wait stand before all others, by arrival.
    nodes
        Size of the machine.
    """

    def __init__(self, order: Order, nodes: int) -> None:
        self._order = order
        self._view = _View(nodes, order.half_life)
        self._stays: list[QueueStay] = []
        self._sorted_at: int | None = None

    def inherit(self, usage: PastUsage, begin: int, origin: int) -> None:
        """Begin with past usage [ticks of the simulated clock, and of the job table's where that stands at 0]."""
        if self._view.ledger is not None:
            self._view.ledger.inherit(usage, begin, origin)

    def occupy(self, job: JobState, nodes: int, now: int) -> None:
        """Note that the job holds this number of nodes from now on; orders by usage need it."""
        if self._view.ledger is not None:
            self._view.ledger.hold(job, nodes, now)

    def add(self, stay: QueueStay, now: int) -> None:
        """A job comes."""
        if self._order.static:
            stay.rank = self._rank(stay, lambda job: self._order.key(job, now))
            insort(self._stays, stay, key=_RANK)
        else:
            self._stays.append(stay)
            self._sorted_at = None

    def remove(self, stay: QueueStay) -> None:
        """A job leaves."""
        place = bisect_left(self._stays, stay.rank, key=_RANK) if self._order.static else self._stays.index(stay)
        del self._stays[place]

    def in_order(self, now: int) -> Sequence[QueueStay]:
        """The jobs that wait, first to last."""
        if not self._order.static and self._sorted_at != now:
            key = self._key_at(now)
            for stay in self._stays:
                stay.rank = self._rank(stay, key)
            self._stays.sort(key=_RANK)
            self._sorted_at = now
        return self._stays

    def before(self, stay: QueueStay, now: int) -> Sequence[QueueStay]:
        """The jobs before one that waits."""
        queue = self.in_order(now)
        return queue[: bisect_left(queue, stay.rank, key=_RANK)]

    def _key_at(self, now: int) -> Callable[[JobState], Any]:
        self._view.now = now
        if self._order.at is not None:
            return self._order.at(cast(SystemView, self._view))
        return lambda job: self._order.key(job, now)

    def _rank(self, stay: QueueStay, key: Callable[[JobState], Any]) -> tuple[object, ...]:
        job = stay.job
        return (0, job.eligible, job.row) if stay.urgent else (1, key(job), job.row)
