"""Lines: the waiting jobs of a sketch, in the order of the queue, and by size."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Callable
from heapq import heappop, heappush
from typing import Any

from workloads.table.job import JobType

__all__ = ["Entry", "Lines", "SketchedJob"]


class SketchedJob:
    """A waiting job as orders see it."""

    __slots__ = ("entry", "nodes", "place", "runtime", "submit", "walltime")

    type = JobType.RIGID
    user = project = ""

    def __init__(self, place: int, submit: int, nodes: int, walltime: int, runtime: int) -> None:
        self.place = place
        self.submit = submit
        self.nodes = nodes
        self.walltime = walltime
        self.runtime = runtime
        self.entry: Entry = (0, place, self)

    @property
    def min_nodes(self) -> int:
        """The same as its nodes."""
        return self.nodes


#: A waiting job in the order of the queue: its key, its place, itself.
Entry = tuple[Any, int, SketchedJob]


class Lines:
    """Waiting jobs: in their order, and by size.

    Parameters
    ----------
    key
        Of the order.
    """

    def __init__(self, key: Callable[[Any, int], Any]) -> None:
        self._key = key
        #: All jobs as a heap, with some that have left.
        self._all: list[Entry] = []
        self._gone: set[int] = set()
        #: By size: the jobs in their order, and their walltimes, ascending. And the sizes, ascending.
        self._lines: dict[int, list[Entry]] = {}
        self._walltimes: dict[int, list[int]] = {}
        self.sizes: list[int] = []

    def copy(self) -> Lines:
        """The same jobs, once more."""
        other = Lines(self._key)
        other._all = self._all.copy()
        other._lines = {size: line.copy() for size, line in self._lines.items()}
        other._walltimes = {size: walltimes.copy() for size, walltimes in self._walltimes.items()}
        other.sizes = self.sizes.copy()
        return other

    def join(self, job: SketchedJob) -> None:
        """A job is submitted."""
        entry: Entry = (self._key(job, job.submit), job.place, job)
        job.entry = entry
        heappush(self._all, entry)
        line = self._lines.get(job.nodes)
        if line is None:
            self._lines[job.nodes] = [entry]
            self._walltimes[job.nodes] = [job.walltime]
            insort(self.sizes, job.nodes)
        else:
            insort(line, entry)
            insort(self._walltimes[job.nodes], job.walltime)

    def leave(self, job: SketchedJob) -> None:
        """A job starts."""
        self._gone.add(job.place)
        line, walltimes = self._lines[job.nodes], self._walltimes[job.nodes]
        if len(line) == 1:
            del self._lines[job.nodes], self._walltimes[job.nodes], self.sizes[bisect_left(self.sizes, job.nodes)]
        else:
            del line[bisect_left(line, job.entry)], walltimes[bisect_left(walltimes, job.walltime)]

    def change(self, job: SketchedJob, walltime: int) -> None:
        """A job asks for another walltime."""
        walltimes = self._walltimes[job.nodes]
        del walltimes[bisect_left(walltimes, job.walltime)]
        insort(walltimes, walltime)
        job.walltime = walltime

    def head(self) -> SketchedJob | None:
        """The first job."""
        queue = self._all
        while queue:
            job = queue[0][2]
            if job.place not in self._gone:
                return job
            heappop(queue)
        return None

    def fitting(self, free: int, extra: int, latest: int) -> list[Entry]:
        """In order, the jobs on at most ``free`` nodes that are on at most ``extra`` or for at most ``latest``."""
        found: list[Entry] = []
        lines = 0
        for size in self.sizes:
            if size > free:
                break
            if size <= extra:
                found += self._lines[size]
                lines += 1
            elif self._walltimes[size][0] <= latest:
                found += [entry for entry in self._lines[size] if entry[2].walltime <= latest]
                lines += 1
        if lines > 1:
            found.sort()
        return found
