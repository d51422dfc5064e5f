"""The waiting queue as a plain list of jobs.

A queue is the sequence of the waiting jobs in queue order, with the searches of :class:`policies.port.WaitingQueue`.
While many jobs wait, the simulator keeps their sizes and walltimes in arrays and searches these instead; rules work
with either.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any, cast

from policies.port import Candidates, WaitingJob, WaitingQueue

__all__ = ["ListQueue", "Sizes", "as_queue"]


class Sizes(dict[int, int]):
    """The number of waiting jobs by their minimum number of nodes.

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


class ListQueue(list[Any]):
    """Waiting jobs in a list.

    Parameters
    ----------
    jobs
        First to last.
    sizes
        Of all of them, kept up to date by the owner of the queue; None: they are looked at.
    """

    __slots__ = ("sizes",)

    def __init__(self, jobs: Iterable[Any] = (), sizes: Sizes | None = None) -> None:
        super().__init__(jobs)
        self.sizes = sizes

    @property
    def least(self) -> int:
        """The fewest nodes on which one of the jobs can start; 0 if none waits."""
        sizes = self.sizes
        if sizes is None:
            return min((job.min_nodes for job in self), default=0)
        return sizes.least or sizes.smallest()

    def fitting(self, after: int, nodes: int) -> Candidates:
        """The jobs after the first ``after``, including all that can start on ``nodes`` nodes."""
        return _Rest(self, after)

    def numbers(self) -> None:
        """Nothing: so few jobs are looked at one by one."""


class _Rest:
    """The jobs behind the first ones; a look at each takes no longer than to find those that fit."""

    __slots__ = ("_after", "_jobs")

    def __init__(self, jobs: ListQueue, after: int) -> None:
        self._jobs, self._after = jobs, after

    def __bool__(self) -> bool:
        return len(self._jobs) > self._after

    def __iter__(self) -> Iterator[Any]:
        return islice(self._jobs, self._after, None)

    def narrow(self, free: int, latest: int, extra: int) -> None:
        """None is left out."""


def as_queue(jobs: Sequence[WaitingJob]) -> WaitingQueue:
    """The queue of a view: what answers questions itself, or any sequence of jobs."""
    return cast(WaitingQueue, jobs if hasattr(jobs, "fitting") else ListQueue(jobs))
