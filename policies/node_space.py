"""Nodes that are not reserved for waiting jobs, interval by interval, as Slurm's backfill keeps them.

A set of nodes is an integer with one bit for each node. Source: sched/backfill of Slurm 22.05, its node space map.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import NamedTuple

__all__ = ["NodeSpace", "Taken"]


class Taken(NamedTuple):
    """Nodes that are reserved for a waiting job, and the time span [ticks]."""

    start: int
    end: int
    nodes: int


class NodeSpace:
    """Nodes that are not reserved for waiting jobs, in consecutive intervals; the last interval has no end."""

    def __init__(self, now: int, everything: int, resolution: int) -> None:
        self._resolution = resolution or 1
        self._begins = [self.cut(now)]
        self._nodes = [everything]

    def cut(self, at: int) -> int:
        """Round a time down to the resolution of reservations."""
        return at - at % self._resolution

    def is_free(self, taken: Taken) -> bool:
        """Whether no other reservation overlaps with these nodes in this time span."""
        return not taken.nodes & ~self.free(self.cut(taken.start), self.cut(taken.end))

    def free(self, start: int, end: int) -> int:
        """Nodes without a reservation between two times."""
        begins, nodes = self._begins, self._nodes
        place = bisect_right(begins, start) - 1
        free = nodes[place]
        place += 1
        while place < len(begins) and begins[place] < end:
            free &= nodes[place]
            place += 1
        return free

    def try_interval(self, start: int, end: int, within: int = -1) -> tuple[int, int]:
        """Nodes that are free between two times, and the time for the next try.

        The next try is at the end of the first interval after which one of the nodes ``within`` (-1: of all) becomes
        free; 0: there is none.
        """
        begins, nodes = self._begins, self._nodes
        place, last = bisect_right(begins, start) - 1, len(begins) - 1
        free, later = nodes[place], 0
        while place < last:
            if not later and nodes[place + 1] & within & ~(free & nodes[place]):
                later = begins[place + 1]
            place += 1
            if begins[place] >= end:
                # The search also considers the interval after the end.
                if not later and place < last and nodes[place + 1] & within & ~(free & nodes[place]):
                    later = begins[place + 1]
                break
            free &= nodes[place]
        return free, later

    def keep(self, taken: Taken) -> None:
        """Reserve nodes for a job, and join the first two intervals in which the same nodes are free, as Slurm does.

        Without that, :meth:`try_interval` would not look beyond a boundary at which no node becomes free.
        """
        first, last = self._place(self.cut(taken.start)), self._place(self.cut(taken.end))
        nodes = self._nodes
        for place in range(first, last):
            nodes[place] &= ~taken.nodes
        for place in range(len(nodes) - 1):
            if nodes[place] == nodes[place + 1]:
                del nodes[place + 1], self._begins[place + 1]
                break

    def _place(self, at: int) -> int:
        """Index of the interval that begins at a time, inserted if necessary."""
        place = bisect_right(self._begins, at) - 1
        if self._begins[place] == at:
            return place
        self._begins.insert(place + 1, at)
        self._nodes.insert(place + 1, self._nodes[place])
        return place + 1
