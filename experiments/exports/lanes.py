"""Assignment of time spans to lanes such that no two spans in a lane overlap."""

from __future__ import annotations

from heapq import heappop, heappush

__all__ = ["Lanes"]


class Lanes:
    """Assigns the lowest free lane, so that the number of lanes is the largest number of overlapping spans."""

    def __init__(self) -> None:
        self.count = 0
        self._free: list[int] = []
        self._taken: list[tuple[int, int]] = []

    def lane(self, start: int, end: int) -> int:
        """Assign a lane, numbered from 0, for a span; call in the order of the starts.

        >>> lanes = Lanes()
        >>> [lanes.lane(*span) for span in ((0, 5), (1, 2), (2, 9), (5, 6))]
        [0, 1, 1, 0]
        """
        while self._taken and self._taken[0][0] <= start:
            heappush(self._free, heappop(self._taken)[1])
        if not self._free:
            self._free.append(self.count)
            self.count += 1
        lane = heappop(self._free)
        heappush(self._taken, (end, lane))
        return lane
