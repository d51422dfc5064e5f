"""A replay of rigid jobs under EASY or without backfilling that keeps nothing but starts."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from heapq import heapify, heappop, heappush
from itertools import accumulate

from policies.port import TOLERANCE
from simulator.sketch.lines import Entry, Lines, SketchedJob
from workloads.ground.errors import InvariantError

__all__ = ["SketchReplay"]

_NEVER = 1 << 62


class SketchReplay:
    """One simulation.

    Parameters
    ----------
    begin
        Where the clock stands at first.
    free
        Free nodes.
    runs
        End, end of the walltime, and nodes of each run.
    queue
        The waiting jobs.
    awaited
        Places of those with whose last start it ends.
    backfills
        Whether there is backfilling.
    """

    def __init__(
        self,
        begin: int,
        free: int,
        runs: list[tuple[int, int, int]],
        queue: Lines,
        awaited: set[int],
        backfills: bool,
    ) -> None:
        self.starts: dict[int, int] = {}
        self.found: list[tuple[int, bool]] = []
        self._now = begin
        self._free = free
        self._ends = runs
        self._queue = queue
        self._left = awaited
        self._backfills = backfills
        self._tried: Sequence[int] = ()
        self._on_trial = -1
        #: The first waiting job after the last pass; when it finds its nodes, and how many are left over then, -1: that
        #: is not known.
        self._head: SketchedJob | None = None
        self._shadow = 0
        self._extra = -1
        heapify(self._ends)
        expected = sorted((limit, nodes) for _, limit, nodes in runs)
        #: Ends of the walltimes, ascending, and the nodes that come back then.
        self._limits = [limit for limit, _ in expected]
        self._releasing = [nodes for _, nodes in expected]

    def try_out(self, job: SketchedJob, walltimes: Sequence[int]) -> None:
        """A job asks for each of these walltimes, one after the other."""
        self._on_trial, self._tried = job.place, walltimes
        self._queue.change(job, walltimes[0])

    def run(self, coming: Iterator[tuple[int, int, int, int]], number: int) -> None:
        """From the first instant on; jobs to come have places from that number on."""
        ends, queue, now = self._ends, self._queue, self._now
        following = next(coming, None)
        released = True  # in the first instant every job may start
        while True:
            while ends and ends[0][0] <= now:
                _, limit, nodes = heappop(ends)
                place = bisect_left(self._limits, limit)
                while self._releasing[place] != nodes:
                    place += 1
                del self._limits[place], self._releasing[place]
                self._free += nodes
                released = True
            new: list[SketchedJob] = []
            while following is not None and following[0] <= now:
                job = SketchedJob(number, *following)
                number += 1
                queue.join(job)
                new.append(job)
                following = next(coming, None)
            if released:
                self._pass()
            elif self._matter(new):
                self._pass_of(new)
            if not self._left:
                return
            arrival = _NEVER if following is None else following[0]
            end = ends[0][0] if ends else _NEVER
            now = self._now = arrival if arrival < end else end
            released = False
            if now == _NEVER:
                raise InvariantError(f"{len(self._left):,} jobs can never start")

    def _pass(self) -> None:
        """Start what can start now."""
        queue = self._queue
        head = queue.head()
        while head is not None and head.nodes <= self._free:
            if self._begin_run(head, backfilled=False):
                head = queue.head()
        self._head = head
        if head is None or not self._backfills or queue.sizes[0] > self._free:
            self._extra = -1
            return
        self._look_ahead(head)
        latest = self._shadow + TOLERANCE - self._now
        self._backfill(queue.fitting(self._free, self._extra, latest), latest)

    def _matter(self, new: list[SketchedJob]) -> bool:
        """Whether any of the new jobs fits, or goes first."""
        head = self._head
        return head is None or any(job.nodes <= self._free or job.entry < head.entry for job in new)

    def _pass_of(self, new: list[SketchedJob]) -> None:
        """Start what can start of the jobs that are submitted in an instant without completions."""
        head = self._queue.head()
        if head is not self._head:
            # One of them is the first now: what it must leave free, or takes, is new to all others.
            self._pass()
            return
        fitting = sorted(job.entry for job in new if job.nodes <= self._free)
        if fitting and self._backfills and head is not None:
            if self._extra < 0:
                self._look_ahead(head)
            self._backfill(fitting, self._shadow + TOLERANCE - self._now)

    def _look_ahead(self, head: SketchedJob) -> None:
        """When the head finds its nodes, and how many are left over then."""
        reached = list(accumulate(self._releasing, initial=self._free))
        first = bisect_left(reached, head.nodes)
        if first == len(reached):
            raise InvariantError("the head of the queue never finds its nodes")
        self._shadow = self._limits[first - 1]
        # All nodes that come back at the shadow time itself count.
        self._extra = reached[bisect_right(self._limits, self._shadow + TOLERANCE)] - head.nodes

    def _backfill(self, fitting: list[Entry], latest: int) -> None:
        """Start those jobs that do not delay the head: they end by then, or need no more than the extra nodes.

        Source: Mu'alem and Feitelson, IEEE TPDS 12(6), 2001; as in :class:`policies.backfilling.Easy`.
        """
        free = self._free
        for _, _, job in fitting:
            nodes = job.nodes
            if nodes > free:
                continue
            while nodes <= self._free and (job.walltime <= latest or nodes <= self._extra):
                beyond = job.walltime > latest
                if self._begin_run(job, backfilled=True):
                    if beyond:
                        self._extra -= nodes
                    break
            free = self._free
            if not free:
                return

    def _begin_run(self, job: SketchedJob, *, backfilled: bool) -> bool:
        """Start a job; False: it is tried with the next walltime instead."""
        now, nodes = self._now, job.nodes
        if job.place == self._on_trial:
            self.found.append((now, backfilled))
            if len(self.found) < len(self._tried):
                self._queue.change(job, self._tried[len(self.found)])
                return False
        self.starts[job.place] = now
        self._left.discard(job.place)
        self._queue.leave(job)
        self._free -= nodes
        limit = now + job.walltime
        heappush(self._ends, (now + job.runtime, limit, nodes))
        place = bisect_right(self._limits, limit)
        self._limits.insert(place, limit)
        self._releasing.insert(place, nodes)
        return True
