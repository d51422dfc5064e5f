"""The clock of a simulation on shared nodes: a SimPy environment with an order of events within an instant."""

from __future__ import annotations

from collections.abc import Callable
from heapq import heappop, heappush
from itertools import count

import simpy

__all__ = ["ARRIVAL", "CANCELLATION", "COMPLETION", "NOTICE", "OUTAGE", "PLAN", "REQUEUE", "InstantClock"]

#: The order of events within an instant; the pass comes last.
COMPLETION, REQUEUE, CANCELLATION, OUTAGE, PLAN, NOTICE, ARRIVAL, _PASS = range(1, 9)


class InstantClock(simpy.Environment):
    """Calls functions at exact ticks, and a pass after all events of an instant.

    Parameters
    ----------
    begin
        Initial time [ticks].
    ranks
        A number above the ranks of all jobs.
    tick
        Called with the time before each event.
    run_pass
        The pass.
    """

    def __init__(self, begin: int, ranks: int, tick: Callable[[int], None], run_pass: Callable[[], None]) -> None:
        super().__init__(begin)
        self._ranks, self._tick, self._run_pass = ranks, tick, run_pass
        self._pass_at = begin - 1
        self._events: list[tuple[int, int, int, Callable[[], None]]] = []
        self._number = count()

    def call(self, at: int, turn: int, rank: int, happen: Callable[[], bool]) -> None:
        """Call a function at a time; if it returns that it was void, it causes no pass."""

        def occur() -> None:
            self._tick(int(self.now))
            if happen():
                self._expect_pass()

        self._at(at, turn * self._ranks + rank, occur)

    def _at(self, at: int, priority: int, occur: Callable[[], None]) -> None:
        heappush(self._events, (at, priority, next(self._number), occur))
        # Timeouts have no order within an instant: each lets the first event of its instant occur.
        self.timeout(at - self.now).callbacks.append(self._occur)

    def _occur(self, _: simpy.Event) -> None:
        heappop(self._events)[-1]()

    def _expect_pass(self) -> None:
        """Schedule the pass of this instant, unless it is scheduled."""
        if self._pass_at == self.now:
            return
        self._pass_at = int(self.now)

        def occur() -> None:
            # Events that the pass causes in this instant are followed by a pass of their own.
            self._pass_at = int(self.now) - 1
            self._run_pass()

        self._at(int(self.now), _PASS * self._ranks, occur)
