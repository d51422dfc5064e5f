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

    def try_interval(self, start: int, end: int) -> tuple[int, int]:
        """Nodes that are free between two times, and the time for the next try.

        The next try is at the end of the interval in which the first time lies, also where no node becomes free then: a
        later try sees nodes that are reserved now. 0: it is the last interval.
        """
        begins = self._begins
        place = bisect_right(begins, start)
        return self.free(start, end), begins[place] if place < len(begins) else 0

    def keep(self, taken: Taken) -> None:
        """Reserve nodes for a job."""
        first, last = self._place(self.cut(taken.start)), self._place(self.cut(taken.end))
        nodes = self._nodes
        for place in range(first, last):
            nodes[place] &= ~taken.nodes

    def _place(self, at: int) -> int:
        """Index of the interval that begins at a time, inserted if necessary."""
        place = bisect_right(self._begins, at) - 1
        if self._begins[place] == at:
            return place
        self._begins.insert(place + 1, at)
        self._nodes.insert(place + 1, self._nodes[place])
        return place + 1
