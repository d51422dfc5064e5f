"""Occupation of the nodes over time, as far as it is known: the free amounts at a time, or over an interval."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from holdfast.policies.port import TOLERANCE
from holdfast.simulator.shared_nodes.demand import Amounts

__all__ = ["Occupation", "Span"]

Ints = npt.NDArray[np.int64]


class Span(NamedTuple):
    """Amounts of nodes that are occupied from one time to another [ticks]."""

    begin: int
    end: int
    taken: Mapping[int, Amounts]


class Occupation:
    """Spans on the machine.

    Parameters
    ----------
    capacities
        Amounts of all nodes, shape (nodes, resources).
    spans
        Spans at the beginning.
    """

    def __init__(self, capacities: Ints, spans: Iterable[Span] = ()) -> None:
        self._capacities = capacities
        self._spans = list(spans)
        sizes = [len(span.taken) for span in self._spans]
        self._begins = np.repeat(np.array([span.begin for span in self._spans], np.int64), sizes)
        self._ends = np.repeat(np.array([span.end for span in self._spans], np.int64), sizes)
        self._nodes = np.array([node for span in self._spans for node in span.taken], np.int64)
        parts = [part for span in self._spans for part in span.taken.values()]
        self._parts = np.array(parts, np.int64).reshape(-1, capacities.shape[1])

    def ends(self, more: Sequence[Span] = ()) -> set[int]:
        """The ends of all spans."""
        return {span.end for span in (*self._spans, *more)}

    def at(self, time: int, slack: int = 0, more: Sequence[Span] = (), *, begun: int | None = None) -> Ints:
        """Free amounts at a time; what ends up to ``slack`` later has ended.

        With ``begun``, only what begins by then counts: the free amounts never become smaller after it.
        """
        latest = time if begun is None else begun
        active = (self._begins <= latest) & (time + slack < self._ends)
        free = self._capacities.copy()
        np.subtract.at(free, self._nodes[active], self._parts[active])
        for span in more:
            if span.begin <= latest and time + slack < span.end:
                for node, part in span.taken.items():
                    free[node] -= part
        return free

    def least(self, begin: int, end: int, slack: int = 0, more: Sequence[Span] = ()) -> Ints:
        """Smallest free amounts over an interval."""
        free = self.at(begin, slack, more)
        later = {span.begin for span in (*self._spans, *more) if begin < span.begin and span.begin + TOLERANCE < end}
        for time in later:
            np.minimum(free, self.at(time, TOLERANCE, more), out=free)
        return free
