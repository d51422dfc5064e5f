"""Outages on the simulated clock, and the nodes that they hold."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from heapq import merge
from operator import attrgetter

from holdfast.simulator.machine.cluster import Account, Kind
from holdfast.simulator.machine.node_accounts import Lender
from holdfast.workloads.ground.units import SECOND, to_ticks
from holdfast.workloads.outages.failures import FailureRate
from holdfast.workloads.outages.outage import Outage, OutageKind

__all__ = ["Booking", "Closure", "Closures"]


class Booking(Lender):
    """Nodes of an advance reservation; its jobs borrow them.

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
        Its number in the list of outages, from 1.
    outage
        The outage.
    drawn
        Whether it was drawn from a failure rate.
    start, end, announced
        Ticks of the simulated clock. An outage that began earlier begins with the simulation.
    account
        Account of its nodes.
    wanted
        Number of nodes that it requires; for a failure, the number of failed nodes.
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
        """Its name in the event log."""
        name = f"{self.outage.kind} {self.number}"
        return f"{name} ({self.outage.name})" if self.outage.name else name

    @property
    def is_window(self) -> bool:
        """Whether it is known before it begins."""
        return self.outage.kind is not OutageKind.FAILURE

    @property
    def nodes(self) -> int:
        """Number of nodes that it has, including those that an advance reservation has lent to its jobs."""
        return self.account.nodes + (self.account.lent if isinstance(self.account, Booking) else 0)

    @property
    def missing(self) -> int:
        """Number of nodes that it requires and does not have."""
        return self.wanted - self.nodes


class Closures:
    """All outages of a simulation, in the order in which they begin.

    Parameters
    ----------
    given
        Given outages.
    failures
        Rate of additional failures; None: none.
    nodes
        Size of the machine.
    origin
        Ticks of the job table's clock at which the simulated clock stands at 0.
    begin
        Begin of the simulation on the simulated clock; later than 0 if it has a starting state.

    Attributes
    ----------
    begin
        Begin of the simulation.
    outages
        Given outages, and failures drawn so far.
    """

    def __init__(
        self, given: Sequence[Outage], failures: FailureRate | None, nodes: int, origin: int, begin: int = 0
    ) -> None:
        self.outages = list(given)
        self.begin = begin
        self._failures = failures
        self._nodes = nodes
        self._origin = origin
        # Outages that end before the simulation begins are left out.
        numbered = [Closure(number, outage, origin, begin) for number, outage in enumerate(given, start=1)]
        self._given = sorted(
            (closure for closure in numbered if closure.end > begin), key=attrgetter("start", "number")
        )

    @property
    def rate(self) -> FailureRate | None:
        """Rate of drawn failures; None: none are drawn."""
        return self._failures

    @property
    def windows(self) -> list[Closure]:
        """Outages that are known before they begin."""
        return [closure for closure in self._given if closure.is_window]

    def __iter__(self) -> Iterator[Closure]:
        return merge(self._given, self._draw(), key=attrgetter("start", "number"))

    def _draw(self) -> Iterator[Closure]:
        if self._failures is not None:
            for outage in self._failures.draw(self._nodes, (self._origin + self.begin) / SECOND):
                self.outages.append(outage)
                yield Closure(len(self.outages), outage, self._origin, drawn=True)
