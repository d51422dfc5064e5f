"""Jobs and outages that idle nodes are held for, after each entry of the event log."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping

from holdfast.experiments.stories.reader.job_states import Booking
from holdfast.simulator.machine.event_log import Entry

__all__ = ["HeldNodes"]


class HeldNodes:
    """Open reservations and what they have lent to tenants, arrived jobs that gather their nodes, and outages."""

    def __init__(self) -> None:
        self._open: dict[int, Booking] = {}
        self._lent: defaultdict[int, int] = defaultdict(int)
        self._gathering: dict[int, None] = {}
        # Nodes that have come back to preempted jobs, which wait.
        self._kept: dict[int, int] = {}
        # By the (negative) number of the outage: nodes that are down, and nodes that are booked.
        self._down: dict[int, int] = {}
        self._booked: dict[int, int] = {}

    @property
    def down(self) -> int:
        """Nodes out of service."""
        return sum(self._down.values())

    def open(self, job_id: int, booking: Booking) -> None:
        """An on-demand job gets a reservation."""
        self._open[job_id] = booking
        self._lent[job_id] = 0

    def close(self, job_id: int) -> None:
        """Its reservation is over."""
        del self._open[job_id]

    def lend(self, draws: Mapping[int, int]) -> None:
        """A tenant starts on nodes of these reservations."""
        for job_id, nodes in draws.items():
            self._lent[job_id] += nodes

    def take_back(self, draws: Mapping[int, int]) -> None:
        """That tenant is gone."""
        for job_id, nodes in draws.items():
            self._lent[job_id] -= nodes

    def gather(self, job_id: int) -> None:
        """An on-demand job has come and waits for a part of its nodes."""
        self._gathering[job_id] = None

    def keep(self, job_id: int, nodes: int) -> None:
        """Nodes are held for a preempted job."""
        self._kept[job_id] = nodes

    def leave_queue(self, job_id: int) -> None:
        """It no longer waits for nodes."""
        self._gathering.pop(job_id, None)
        self._kept.pop(job_id, None)

    def outage(self, entry: Entry) -> None:
        """An outage takes nodes, or gives them back."""
        if entry.event in ("down", "up"):
            self._down[entry.job_id] = entry.after
        elif entry.event in ("reserve", "close"):
            self._booked[entry.job_id] = entry.after

    def holders(self, held: int) -> tuple[int, ...]:
        """The holders of the held nodes: on-demand jobs, and outages by their negative numbers."""
        if not held:
            return ()
        idle = {job_id: booking.total - self._lent[job_id] for job_id, booking in self._open.items()}
        idle.update(self._booked)
        idle.update(self._kept)
        found = [job_id for job_id, nodes in idle.items() if nodes > 0]
        # What is not reserved is held for arrived jobs that wait for the rest.
        return tuple(sorted(found if sum(idle.values()) == held else [*found, *self._gathering]))
