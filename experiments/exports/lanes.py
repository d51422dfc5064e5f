"""Assignment of time spans to lanes such that no two spans in a lane overlap."""

from __future__ import annotations

from heapq import heappop, heappush

__all__ = ["Lanes"]


class Lanes:
    """Hands out the lowest lane that is free; as many lanes are used as things ever overlap."""

    def __init__(self) -> None:
        self.count = 0
        self._free: list[int] = []
        self._taken: list[tuple[int, int]] = []

    def lane(self, start: int, end: int) -> int:
        """A lane from ``start`` to ``end``, from 0; ask in the order of the starts.

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
