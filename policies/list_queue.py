"""The waiting queue as a plain list of jobs.

A queue is the sequence of the waiting jobs in queue order, with the searches of
:class:`holdfast.policies.port.WaitingQueue`. While many jobs wait, the simulator keeps their sizes and walltimes in
arrays and searches these instead; rules work with either.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any, cast

from holdfast.policies.port import Candidates, WaitingJob, WaitingQueue

__all__ = ["ListQueue", "Sizes", "as_queue"]


class Sizes(dict[int, int]):
    """The number of waiting jobs by their minimum number of nodes.

    Attributes
    ----------
    least
        Smallest minimum size of a waiting job; None: not computed, see :meth:`smallest`.
    """

    __slots__ = ("least",)

    def __init__(self) -> None:
        super().__init__()
        self.least: int | None = None

    def smallest(self) -> int:
        """Smallest minimum size of a waiting job; 0 if no job waits."""
        if self.least is None:
            self.least = min(self, default=0)
        return self.least


class ListQueue(list[Any]):
    """Waiting jobs in a list.

    Parameters
    ----------
    jobs
        Jobs in queue order.
    sizes
        Sizes of all jobs, kept up to date by the owner of the queue; None: computed from the jobs.
    """

    __slots__ = ("sizes",)

    def __init__(self, jobs: Iterable[Any] = (), sizes: Sizes | None = None) -> None:
        super().__init__(jobs)
        self.sizes = sizes

    @property
    def least(self) -> int:
        """Smallest minimum size of a waiting job; 0 if no job waits."""
        sizes = self.sizes
        if sizes is None:
            return min((job.min_nodes for job in self), default=0)
        return sizes.least or sizes.smallest()

    def candidates(self, after: int, nodes: int) -> Candidates:
        """The jobs after the first ``after``, including all that can start on ``nodes`` nodes."""
        return _Rest(self, after)

    def numbers(self) -> None:
        """Return None: there is no array, because short queues are read job by job."""


class _Rest:
    """The jobs after the first ones, without a search: reading each job is as fast as searching for those that fit."""

    __slots__ = ("_after", "_jobs")

    def __init__(self, jobs: ListQueue, after: int) -> None:
        self._jobs, self._after = jobs, after

    def __bool__(self) -> bool:
        return len(self._jobs) > self._after

    def __iter__(self) -> Iterator[Any]:
        return islice(self._jobs, self._after, None)

    def narrow(self, free: int, latest: int, extra: int) -> None:
        """Do nothing: no job is skipped."""


def as_queue(jobs: Sequence[WaitingJob]) -> WaitingQueue:
    """Return a queue as a :class:`~holdfast.policies.port.WaitingQueue`; plain sequences are wrapped."""
    return cast(WaitingQueue, jobs if hasattr(jobs, "candidates") else ListQueue(jobs))
