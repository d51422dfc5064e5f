"""Outages on the simulated clock, and the nodes that they hold."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from heapq import merge
from operator import attrgetter

from simulator.machine.cluster import Account, Kind
from simulator.machine.node_accounts import Lender
from workloads.ground.units import SECOND, to_ticks
from workloads.outages.failures import FailureRate
from workloads.outages.outage import Outage, OutageKind

__all__ = ["Booking", "Closure", "Closures"]


class Booking(Lender):
    """Nodes that an advance reservation has set aside; its jobs borrow them.

    Parameters
    ----------
    number
        Number of its outage.
    """

    __slots__ = ("_number",)

    def __init__(self, number: int) -> None:
        super().__init__()
        self._number = number

    @property
    def job_id(self) -> int:
        return -self._number


class Closure:
    """An outage on the simulated clock.

    Attributes
    ----------
    number
        Its place in the list of outages, from 1.
    outage
        What it is.
    drawn
        Whether it comes of a rate, which has no end.
    start, end, announced
        Ticks of the simulated clock. What began before the simulation begins with it.
    account
        Where its nodes are.
    wanted
        How many it should have; of a failure those that it has struck.
    release
        Its entry in the system's list of expected releases.
    """

    __slots__ = ("account", "announced", "drawn", "end", "number", "outage", "release", "start", "wanted")

    def __init__(self, number: int, outage: Outage, origin: int, begin: int = 0, *, drawn: bool = False) -> None:
        self.number = number
        self.drawn = drawn
        self.outage = outage
        self.start = max(begin, to_ticks(outage.start) - origin)
        self.end = to_ticks(outage.end) - origin
        self.announced = begin if outage.announced is None else max(begin, to_ticks(outage.announced) - origin)
        self.account: Account = Booking(number) if outage.kind is OutageKind.RESERVATION else Account(Kind.DOWN)
        self.wanted = 0
        self.release: tuple[int, int, int] | None = None

    @property
    def name(self) -> str:
        """As the event log names it."""
        name = f"{self.outage.kind} {self.number}"
        return f"{name} ({self.outage.name})" if self.outage.name else name

    @property
    def is_window(self) -> bool:
        """Whether it is known before."""
        return self.outage.kind is not OutageKind.FAILURE

    @property
    def nodes(self) -> int:
        """How many it has, with those that an advance reservation has lent to its jobs."""
        return self.account.nodes + (self.account.lent if isinstance(self.account, Booking) else 0)

    @property
    def missing(self) -> int:
        """How many it should have and has not."""
        return self.wanted - self.nodes


class Closures:
    """All outages of a simulation, in the order in which they begin.

    Parameters
    ----------
    given
        Outages that are known.
    failures
        More of them, at a rate; None: no more.
    nodes
        Size of the machine.
    origin
        Ticks of the job table's clock at which the simulated clock stands at 0.
    begin
        When the simulation begins, on the simulated clock; later than 0 where it has a starting state.

    Attributes
    ----------
    begin
        Likewise.
    outages
        Those that are given, and those that have been drawn until now.
    """

    def __init__(
        self, given: Sequence[Outage], failures: FailureRate | None, nodes: int, origin: int, begin: int = 0
    ) -> None:
        self.outages = list(given)
        self.begin = begin
        self._failures = failures
        self._nodes = nodes
        self._origin = origin
        # What is over before the simulation begins has no part in it.
        numbered = [Closure(number, outage, origin, begin) for number, outage in enumerate(given, start=1)]
        self._given = sorted(
            (closure for closure in numbered if closure.end > begin), key=attrgetter("start", "number")
        )

    @property
    def rate(self) -> FailureRate | None:
        """Failures that come at a rate; None: none do."""
        return self._failures

    @property
    def windows(self) -> list[Closure]:
        """Those that are known before they begin."""
        return [closure for closure in self._given if closure.is_window]

    def __iter__(self) -> Iterator[Closure]:
        return merge(self._given, self._draw(), key=attrgetter("start", "number"))

    def _draw(self) -> Iterator[Closure]:
        if self._failures is not None:
            for outage in self._failures.draw(self._nodes, (self._origin + self.begin) / SECOND):
                self.outages.append(outage)
                yield Closure(len(self.outages), outage, self._origin, drawn=True)
