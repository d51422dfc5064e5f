"""Long queues: waiting jobs beside columns of numbers, so that a pass need not look at each of them.

A pass asks which job is first, and which others fit into the free nodes. While thousands wait, both answers come from
arrays, and only the jobs that may start are looked at one by one. They are the answers that the plain list gives: an
array of keys that may differ from the true ones in the last digits decides only between keys that are further apart.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, overload

import numpy as np

from policies.columns import Columns, Places, Ranks

__all__ = ["Fitting", "LongQueue"]


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
            self._listed = [*self._urgent, *(jobs[place] for place in self._ranks.all().tolist())]
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
    def urgent(self) -> Sequence[Any]:
        """The jobs that stand before all others."""
        return self._urgent

    @property
    def plain(self) -> bool:
        """Whether there are no urgent jobs, and the order of the others does not change while they wait."""
        return self._ranks is None and not self._urgent

    @property
    def longest(self) -> float:
        """How long they take one after the other, by their walltimes at their smallest sizes [ticks]."""
        columns = self._columns
        several = columns.setup + columns.work / columns.least
        rest = sum(job.limit(job.min_nodes) for job in self._urgent)
        return float(columns.walltime.sum(dtype=np.float64) + several.sum() + rest)

    @property
    def kept(self) -> Columns:
        """All but the urgent jobs."""
        return self._columns

    def columns(self) -> tuple[Columns, Places]:
        """All but the urgent jobs, and the places where the first, second, ... of them stands."""
        return self._columns, np.arange(len(self._columns.jobs)) if self._ranks is None else self._ranks.all()

    def fitting(self, after: int, free: int) -> Fitting:
        """The jobs behind the first ``after`` that can start on so many nodes."""
        columns, urgent, ranks = self._columns, self._urgent, self._ranks
        few = [job for job in urgent[after:] if job.min_nodes <= free] if urgent else []
        skipped = max(0, after - len(urgent))
        fits = columns.least <= free
        fits[slice(skipped) if ranks is None else ranks.first(skipped)] = False
        return Fitting(few, columns, np.flatnonzero(fits), ranks)
