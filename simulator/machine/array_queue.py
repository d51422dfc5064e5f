"""View of a long queue that policies query by array operations instead of visiting every job.

A pass asks for the first job and for the others that fit the free nodes; only these are visited one by one. The results
are those of a list: float keys that may be off in their last digits decide only between keys that differ by more.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from holdfast.simulator.machine.queue_columns import Places, QueueColumns, Ranks

__all__ = ["ArrayQueue"]


class Fitting:
    """Iterator over the jobs that fit a number of nodes, in queue order; it can be narrowed while iterating.

    Parameters
    ----------
    urgent
        Jobs that precede all others.
    columns
        All other jobs.
    places
        Places of the fitting ones in ``columns``.
    ranks
        Queue order of these; None: the order of their places.
    """

    __slots__ = ("_columns", "_places", "_ranks", "_urgent")

    def __init__(self, urgent: list[Any], columns: QueueColumns, places: Places, ranks: Ranks | None) -> None:
        self._urgent = urgent
        self._columns = columns
        self._places = places
        self._ranks = ranks

    def __bool__(self) -> bool:
        return bool(self._urgent or len(self._places))

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        """Return and remove the next job."""
        if self._urgent:
            return self._urgent.pop(0)
        places = self._places
        if not len(places):
            raise StopIteration
        if self._ranks is None:
            place = places[0]
            self._places = places[1:]
        else:
            place = self._ranks.find_first(places)
            self._places = places[places != place]
        return self._columns.jobs[place]

    def narrow(self, free: int, latest: int, extra: int) -> None:
        """Drop jobs that need more than ``free`` nodes, or end after ``latest`` and need more than ``extra`` nodes."""
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


class ArrayQueue(Sequence[Any]):
    """Many waiting jobs, first to last.

    Parameters
    ----------
    columns
        All but the urgent jobs; in queue order unless there are ranks.
    urgent
        Jobs that precede all others.
    least
        Smallest number of nodes on which one of them can start.
    ranks
        Queue order of the other jobs; None: the order of ``columns``.
    """

    __slots__ = ("_columns", "_ranks", "_urgent", "least")

    def __init__(self, columns: QueueColumns, urgent: Sequence[Any], least: int, ranks: Ranks | None = None) -> None:
        self.least = least
        self._columns = columns
        self._urgent = urgent
        self._ranks = ranks

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
        if isinstance(index, slice):
            return [self[place] for place in range(*index.indices(len(self)))]
        place = index + len(self) if index < 0 else index
        if not 0 <= place < len(self):
            raise IndexError(index)
        if place < len(self._urgent):
            return self._urgent[place]
        place -= len(self._urgent)
        return self._columns.jobs[place if self._ranks is None else self._ranks[place]]

    def candidates(self, after: int, nodes: int) -> Fitting:
        """Jobs behind the first ``after`` that can start on ``nodes`` nodes."""
        columns, urgent, ranks = self._columns, self._urgent, self._ranks
        few = [job for job in urgent[after:] if job.min_nodes <= nodes] if urgent else []
        skipped = max(0, after - len(urgent))
        fits = columns.least <= nodes
        fits[slice(skipped) if ranks is None else ranks.first(skipped)] = False
        return Fitting(few, columns, np.flatnonzero(fits), ranks)

    def numbers(self) -> tuple[NDArray[np.int64], Places] | None:
        """See :meth:`holdfast.policies.port.WaitingQueue.numbers`."""
        table = self._columns.numbers
        if (table[4] < 0).any():
            return None
        places = np.arange(len(self._columns.jobs)) if self._ranks is None else self._ranks.all()
        if self._urgent:
            first = [(job.min_nodes, job.nodes, job.walltime, 0, 0) for job in self._urgent]
            table = np.concatenate((np.array(first, np.int64).T, table), axis=1)
            places = np.concatenate((np.arange(len(first)), len(first) + places))
        return table, places
