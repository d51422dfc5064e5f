"""Short queues: waiting jobs in a list that tells what has changed since it was last looked at, and their sizes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from operator import attrgetter
from typing import Any

__all__ = ["ShortQueue", "Sizes"]

#: So many new jobs are told.
_FEW = 16
_KEY = attrgetter("order_key")


class Sizes(dict[int, int]):
    """How many waiting jobs can start on so many nodes, and no fewer.

    Attributes
    ----------
    least
        The fewest nodes on which one of them can start; None: :meth:`smallest` knows.
    """

    __slots__ = ("least",)

    def __init__(self) -> None:
        super().__init__()
        self.least: int | None = None

    def smallest(self) -> int:
        """The fewest nodes on which one of them can start; 0 if none waits."""
        if self.least is None:
            self.least = min(self, default=0)
        return self.least


class ShortQueue(list[Any]):
    """Jobs in an order that does not change while they wait.

    Parameters
    ----------
    sizes
        Of all waiting jobs, whoever keeps them.
    jobs
        The first ones.

    Attributes
    ----------
    sizes
        As given.
    joined
        Those that have joined since somebody made this an empty list; None: too many to tell.
    gone
        How many have been taken out so far.
    """

    __slots__ = ("gone", "joined", "sizes")

    def __init__(self, sizes: Sizes, jobs: Iterable[Any] = ()) -> None:
        super().__init__(jobs)
        self.sizes = sizes
        self.joined: list[Any] | None = None
        self.gone = 0

    @property
    def jobs(self) -> Sequence[Any]:
        """All of them."""
        return self

    def enter(self, place: int, job: Any) -> None:
        """Put a job before that place."""
        if place == len(self):
            self.append(job)
        else:
            self.insert(place, job)
        joined = self.joined
        if joined is not None:
            joined.append(job)
            if len(joined) > _FEW:
                self.joined = None

    def leave(self, place: int) -> None:
        """Take out the job at that place."""
        del self[place]
        self.gone += 1

    def in_order(self, jobs: Sequence[Any]) -> list[Any]:
        """Some of the jobs, in the order in which they wait."""
        return sorted(jobs, key=_KEY)
