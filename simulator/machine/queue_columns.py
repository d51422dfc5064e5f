"""Waiting jobs as arrays of numbers, and their order from arrays of keys."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["QueueColumns", "Ranks"]

Places = NDArray[np.intp]

#: Rows of the integer table.
_LEAST, _NODES, _WALLTIME, _SETUP, _WORK, _ROW = range(6)
#: Largest number of node-ticks that can be summed without overflow.
_MOST_WORK = 1 << 61
#: Keys that differ by less are equal, whatever the slack: numbers this small are not exact.
_TINY = 1e-290
#: Number of jobs selected one by one; beyond it, the whole queue is sorted.
_SINGLY = 6


class QueueColumns:
    """A list of jobs, and arrays of their attributes at the same places.

    Parameters
    ----------
    traits
        Number of values that the queue order stores for each job.

    Attributes
    ----------
    jobs
        The jobs.
    """

    __slots__ = ("_begin", "_table", "_traits", "jobs")

    def __init__(self, traits: int = 0) -> None:
        self.jobs: list[Any] = []
        # The columns are kept in the middle of the arrays, so that a change near one end moves only a few entries.
        self._begin = 64
        self._table = np.empty((6, 192), np.int64)
        self._traits = np.empty((traits, 192))

    def insert(self, place: int, job: Any, traits: tuple[float, ...] = ()) -> None:
        """Insert a job before a place."""
        count = len(self.jobs)
        if self._begin == 0 or self._begin + count == self._table.shape[1]:
            self._make_room(count)
        begin = self._begin
        arrays = (self._table, self._traits) if traits else (self._table,)
        if 2 * place < count:
            self._begin -= 1
            for array in arrays:
                array[:, begin - 1 : begin + place - 1] = array[:, begin : begin + place]
        elif place < count:
            for array in arrays:
                array[:, begin + place + 1 : begin + count + 1] = array[:, begin + place : begin + count]
        at = self._begin + place
        several = job.min_nodes < job.nodes
        work = job.work_limit if several else 0
        self._table[:, at] = (
            *(job.min_nodes, job.nodes, job.walltime, job.setup if several else 0),
            *(work if work < _MOST_WORK else -1, job.row),
        )
        if traits:
            self._traits[:, at] = traits
        self.jobs.insert(place, job)

    def remove(self, place: int) -> None:
        """Remove the job at a place; the others keep their order."""
        begin, count = self._begin, len(self.jobs)
        for array in (self._table, self._traits) if len(self._traits) else (self._table,):
            if 2 * place < count:
                array[:, begin + 1 : begin + place + 1] = array[:, begin : begin + place]
            else:
                array[:, begin + place : begin + count - 1] = array[:, begin + place + 1 : begin + count]
        if 2 * place < count:
            self._begin += 1
        del self.jobs[place]

    def _make_room(self, count: int) -> None:
        """Move the columns to the middle of arrays three times their size."""
        begin, size = self._begin, max(192, 3 * count)
        self._begin = size // 3
        table, traits = np.empty((6, size), np.int64), np.empty((len(self._traits), size))
        table[:, self._begin : self._begin + count] = self._table[:, begin : begin + count]
        traits[:, self._begin : self._begin + count] = self._traits[:, begin : begin + count]
        self._table, self._traits = table, traits

    def find_place(self, row: int) -> int:
        """Find the place of the job with a row of the input."""
        return int(np.argmax(self.rows == row))

    @property
    def least(self) -> NDArray[np.int64]:
        """Smallest size of each job."""
        return self._table[_LEAST, self._begin : self._begin + len(self.jobs)]

    @property
    def walltime(self) -> NDArray[np.int64]:
        """Walltime of each job at its requested size [ticks]."""
        return self._table[_WALLTIME, self._begin : self._begin + len(self.jobs)]

    @property
    def numbers(self) -> NDArray[np.int64]:
        """Smallest and largest size, walltime at the largest, and setup and node-ticks of the rest of the walltime of
        each job of several sizes, 0 for the others, -1 where they are too many; shape (5, jobs)."""
        return self._table[:_ROW, self._begin : self._begin + len(self.jobs)]

    @property
    def rows(self) -> NDArray[np.int64]:
        """Row of each job in the input."""
        return self._table[_ROW, self._begin : self._begin + len(self.jobs)]

    @property
    def traits(self) -> NDArray[np.float64]:
        """Values stored by the queue order, shape (traits, jobs)."""
        return self._traits[:, self._begin : self._begin + len(self.jobs)]


class Ranks:
    """The order of jobs at an instant, computed lazily from the front.

    Parameters
    ----------
    columns
        The jobs, in any order.
    keys
        One or more arrays of keys in descending significance; ties are broken by the row.
    slack
        Relative error of the keys, which are then a single array; 0: they are exact.
    key
        The exact key of a job, which decides between keys closer than the slack.
    """

    __slots__ = ("_columns", "_found", "_key", "_keys", "_left", "_order", "_slack")

    def __init__(
        self, columns: QueueColumns, keys: tuple[NDArray[np.float64], ...], slack: float, key: Callable[[Any], Any]
    ) -> None:
        self._columns = columns
        self._keys = keys
        self._slack = slack
        self._key = key
        self._found: list[int] = []
        self._left: NDArray[np.float64] | None = None
        self._order: Places | None = None

    def __iter__(self) -> Iterator[int]:
        """The places of all jobs, in order."""
        return (self[number] for number in range(len(self._columns.jobs)))

    def __getitem__(self, number: int) -> int:
        """The place of the job with a rank, counted from 0."""
        if self._order is not None:
            return int(self._order[number])
        while len(self._found) <= number:
            self._find()
        return self._found[number]

    def first(self, count: int) -> list[int]:
        """The places of the first ``count`` jobs."""
        while len(self._found) < count:
            self._find()
        return self._found[:count]

    def find_first(self, places: Places) -> int:
        """Find the first in queue order of some places."""
        if len(places) == 1:
            return int(places[0])
        values = self._keys[0][places]
        near = self._lowest(values)
        return int(places[near[0]]) if len(near) == 1 else self._settle(places[near])

    def all(self) -> Places:
        """The places of all jobs, in order."""
        if self._order is None:
            self._order = self._sort()
        return self._order

    def _lowest(self, values: NDArray[np.float64]) -> Places:
        """Indices of the values that may be the lowest."""
        lowest = float(values.min())
        most = lowest + self._slack * abs(lowest) + _TINY if self._slack else lowest
        return np.flatnonzero(values <= most)

    def _settle(self, near: Places) -> int:
        """Find the first of some places with equal or nearly equal first keys."""
        if self._slack:
            return min(map(int, near), key=self._truly)
        for key in (*self._keys[1:], self._columns.rows):
            among = key[near]
            near = near[among == among.min()]
            if len(near) == 1:
                break
        return int(near[0])

    def _sort(self) -> Places:
        keys = self._keys[0]
        if not self._slack:
            return np.lexsort((self._columns.rows, *reversed(self._keys)))
        found = np.argsort(keys)
        keys = keys[found]
        near = keys[1:] - keys[:-1] <= self._slack * (abs(keys[1:]) + abs(keys[:-1])) + _TINY
        # Groups of adjacent keys that may be equal or in the wrong order.
        (edges,) = (np.concatenate((near, [False])) != np.concatenate(([False], near))).nonzero()
        for begin, end in edges.reshape(-1, 2).tolist():
            found[begin : end + 1] = sorted(found[begin : end + 1].tolist(), key=self._truly)
        return found

    def _find(self) -> None:
        """Find the next place, or all of them once many have been requested."""
        if len(self._found) >= _SINGLY:
            self._found = self.all().tolist()
            return
        left = self._left
        if left is None:
            left = self._left = self._keys[0].copy()
        near = self._lowest(left)
        place = int(near[0]) if len(near) == 1 else self._settle(near)
        left[place] = np.inf
        self._found.append(place)

    def _truly(self, place: int) -> tuple[Any, int]:
        job = self._columns.jobs[place]
        return self._key(job), job.row
