"""Long queues: waiting jobs beside columns of numbers, so that a pass need not look at each of them.

A pass asks which job is first, and which others fit into the free nodes. While thousands wait, both answers come from
arrays, and only the jobs that may start are looked at one by one. They are the answers that the plain list gives: an
array of keys that may differ from the true ones in the last digits decides only between keys that are further apart.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

__all__ = ["Columns", "Fitting", "LongQueue", "Ranks"]

Places = NDArray[np.intp]

#: Rows of the table of whole numbers.
_LEAST, _NODES, _WALLTIME, _ROW = range(4)
#: Keys that are nearer to each other than that are equal, whatever the slack: numbers so small are not exact.
_TINY = 1e-290
#: So many jobs are found one by one; for more the whole queue is sorted.
_SINGLY = 6


class Columns:
    """Jobs in a list, and their numbers at the same places of arrays.

    Parameters
    ----------
    traits
        How many numbers the queue order keeps of each job.

    Attributes
    ----------
    jobs
        The jobs.
    """

    __slots__ = ("_table", "_traits", "jobs")

    def __init__(self, traits: int = 0) -> None:
        self.jobs: list[Any] = []
        self._table = np.empty((4, 128), np.int64)
        self._traits = np.empty((traits, 128))

    def insert(self, place: int, job: Any, traits: tuple[float, ...] = ()) -> None:
        """Put a job before that place."""
        count = len(self.jobs)
        if count == self._table.shape[1]:
            self._table = np.concatenate((self._table, np.empty_like(self._table)), axis=1)
            self._traits = np.concatenate((self._traits, np.empty_like(self._traits)), axis=1)
        if place < count:
            self._table[:, place + 1 : count + 1] = self._table[:, place:count]
            self._traits[:, place + 1 : count + 1] = self._traits[:, place:count]
        self._table[:, place] = job.min_nodes, job.nodes, job.walltime, job.row
        if traits:
            self._traits[:, place] = traits
        self.jobs.insert(place, job)

    def remove(self, place: int) -> None:
        """Take out the job at that place; the others keep their order."""
        count = len(self.jobs)
        self._table[:, place : count - 1] = self._table[:, place + 1 : count]
        self._traits[:, place : count - 1] = self._traits[:, place + 1 : count]
        del self.jobs[place]

    def place_of(self, row: int) -> int:
        """The place of the job of that row of the input."""
        return int(np.argmax(self.rows == row))

    @property
    def least(self) -> NDArray[np.int64]:
        """Fewest nodes of each."""
        return self._table[_LEAST, : len(self.jobs)]

    @property
    def nodes(self) -> NDArray[np.int64]:
        """Requested size of each."""
        return self._table[_NODES, : len(self.jobs)]

    @property
    def walltime(self) -> NDArray[np.int64]:
        """Walltime of each at its requested size [ticks]."""
        return self._table[_WALLTIME, : len(self.jobs)]

    @property
    def rows(self) -> NDArray[np.int64]:
        """Row of each in the input."""
        return self._table[_ROW, : len(self.jobs)]

    @property
    def traits(self) -> NDArray[np.float64]:
        """What the queue order keeps: a row for each trait."""
        return self._traits[:, : len(self.jobs)]


class Ranks:
    """The order of jobs at an instant, found as far as it is asked for.

    Parameters
    ----------
    columns
        The jobs, in any order.
    keys
        One or more arrays, of which the first one decides, among equals the second, and so on; then the row.
    slack
        Relative error of the keys, of which there is then one array; 0: they are exact.
    key
        The true key of a job, which settles what the slack leaves open.
    """

    __slots__ = ("_columns", "_found", "_key", "_keys", "_left", "_slack")

    def __init__(
        self, columns: Columns, keys: tuple[NDArray[np.float64], ...], slack: float, key: Callable[[Any], Any]
    ) -> None:
        self._columns = columns
        self._keys = keys
        self._slack = slack
        self._key = key
        self._found: list[int] = []
        self._left: NDArray[np.float64] | None = None

    def __iter__(self) -> Iterator[int]:
        """The places of all jobs, in order."""
        place = 0
        count = len(self._columns.jobs)
        while place < count:
            if place == len(self._found):
                self._find()
            yield self._found[place]
            place += 1

    def first(self, count: int) -> list[int]:
        """The places of the first so many jobs."""
        while len(self._found) < count:
            self._find()
        return self._found[:count]

    def first_of(self, places: Places) -> int:
        """Which of these places stands first."""
        if len(places) == 1:
            return int(places[0])
        values = self._keys[0][places]
        near = self._lowest(values)
        return int(places[near[0]]) if len(near) == 1 else self._settle(places[near])

    def all(self) -> list[int]:
        """The places of all jobs, in order."""
        if len(self._found) < len(self._columns.jobs):
            self._found = self._sorted()
        return self._found

    def _lowest(self, values: NDArray[np.float64]) -> Places:
        """Where those stand that may be the lowest."""
        lowest = float(values.min())
        most = lowest + self._slack * abs(lowest) + _TINY if self._slack else lowest
        return np.flatnonzero(values <= most)

    def _settle(self, near: Places) -> int:
        """Which of these places, whose first keys are equal or nearly so, stands first."""
        if self._slack:
            return min(map(int, near), key=self._truly)
        for key in (*self._keys[1:], self._columns.rows):
            among = key[near]
            near = near[among == among.min()]
            if len(near) == 1:
                break
        return int(near[0])

    def _sorted(self) -> list[int]:
        keys = self._keys[0]
        if not self._slack:
            return [int(place) for place in np.lexsort((self._columns.rows, *reversed(self._keys)))]
        by_key = np.argsort(keys)
        found = by_key.tolist()
        keys = keys[by_key]
        near = keys[1:] - keys[:-1] <= self._slack * (abs(keys[1:]) + abs(keys[:-1])) + _TINY
        if near.any():
            # Runs of keys that may be equal, or the other way round.
            edges = np.flatnonzero(np.diff(near, prepend=False, append=False)).tolist()
            for begin, end in zip(edges[::2], edges[1::2], strict=True):
                found[begin : end + 1] = sorted(found[begin : end + 1], key=self._truly)
        return [int(place) for place in found]

    def _find(self) -> None:
        """Find one more, or, once they are many, all."""
        if len(self._found) >= _SINGLY:
            self.all()
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


class Fitting:
    """The jobs that fit into so many nodes, in queue order; those that fit no more can be left out on the way.

    Parameters
    ----------
    urgent
        Those that stand before all others.
    columns
        All others.
    places
        Which of them fit.
    ranks
        Their order; None: that of their places.
    """

    __slots__ = ("_columns", "_places", "_ranks", "_urgent")

    def __init__(self, urgent: list[Any], columns: Columns, places: Places, ranks: Ranks | None) -> None:
        self._urgent = urgent
        self._columns = columns
        self._places = places
        self._ranks = ranks

    def __bool__(self) -> bool:
        return bool(self._urgent or len(self._places))

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        """The next job, which is then left out."""
        if self._urgent:
            return self._urgent.pop(0)
        places = self._places
        if not len(places):
            raise StopIteration
        if self._ranks is None:
            place = places[0]
            self._places = places[1:]
        else:
            place = self._ranks.first_of(places)
            self._places = places[places != place]
        return self._columns.jobs[place]

    def narrow(self, free: int, latest: int, extra: int) -> None:
        """Leave out those that need more than so many nodes, or are too long and need more than the extra ones."""
        columns, places = self._columns, self._places
        if self._urgent:
            self._urgent = [
                job
                for job in self._urgent
                if job.min_nodes <= free and (job.walltime <= latest or job.min_nodes <= extra)
            ]
        if len(places):
            least = columns.least[places]
            self._places = places[(least <= free) & ((least <= extra) | (columns.walltime[places] <= latest))]


class LongQueue(Sequence[Any]):
    """A queue of many jobs, first to last.

    Parameters
    ----------
    columns
        All but the urgent jobs; in queue order unless there are ranks.
    urgent
        Jobs that stand before all others.
    ranks
        The order of the others.
    """

    __slots__ = ("_columns", "_listed", "_ranks", "_urgent")

    def __init__(self, columns: Columns, urgent: Sequence[Any], ranks: Ranks | None = None) -> None:
        self._columns = columns
        self._urgent = urgent
        self._ranks = ranks
        self._listed: list[Any] | None = None

    def __len__(self) -> int:
        return len(self._urgent) + len(self._columns.jobs)

    def __iter__(self) -> Iterator[Any]:
        yield from self._urgent
        jobs = self._columns.jobs
        if self._ranks is None:
            yield from jobs
        else:
            for place in self._ranks:
                yield jobs[place]

    @overload
    def __getitem__(self, index: int) -> Any: ...
    @overload
    def __getitem__(self, index: slice) -> list[Any]: ...
    def __getitem__(self, index: int | slice) -> Any:
        jobs = self._columns.jobs
        if self._ranks is None:
            return [*self._urgent, *jobs][index] if self._urgent else jobs[index]
        if self._listed is None:
            self._listed = [*self._urgent, *(jobs[place] for place in self._ranks.all())]
        return self._listed[index]

    @property
    def sorted(self) -> bool:
        """Whether the order of these jobs does not change while they wait."""
        return self._ranks is None

    @property
    def flexible(self) -> bool:
        """Whether there are urgent jobs, or jobs of more than one size."""
        return bool(self._urgent) or not np.array_equal(self._columns.least, self._columns.nodes)

    @property
    def longest(self) -> float:
        """How long they take one after the other, by their walltimes [ticks]."""
        return float(self._columns.walltime.sum(dtype=np.float64))

    def columns(self) -> tuple[Columns, Places]:
        """All but the urgent jobs, and the places where the first, second, ... of them stands."""
        order = np.arange(len(self._columns.jobs)) if self._ranks is None else np.array(self._ranks.all(), np.intp)
        return self._columns, order

    def fitting(self, after: int, free: int) -> Fitting:
        """The jobs behind the first ``after`` that can start on so many nodes."""
        columns, urgent, ranks = self._columns, self._urgent, self._ranks
        few = [job for job in urgent[after:] if job.min_nodes <= free] if urgent else []
        skipped = max(0, after - len(urgent))
        fits = columns.least <= free
        fits[slice(skipped) if ranks is None else ranks.first(skipped)] = False
        return Fitting(few, columns, np.flatnonzero(fits), ranks)
