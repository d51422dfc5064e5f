"""The availability profile: the number of free nodes at each future time, assuming that jobs run until their walltimes.

Source: Mu'alem & Feitelson, "Utilization, predictability, workloads, and user runtime estimates in scheduling the IBM
SP2 with backfilling", IEEE TPDS 12(6), 2001: a list of times with the nodes that are free between them.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence

from holdfast.policies.kernels.timeline import earliest, room
from holdfast.policies.port import TOLERANCE, WaitingJob, Window
from holdfast.policies.shadow_time import NEVER

__all__ = ["Profile"]


class Profile:
    """A step function of free nodes over time: the profile of :mod:`holdfast.policies.kernels.timeline`, in lists.

    Parameters
    ----------
    now
        Start of the profile [ticks].
    free
        Number of nodes that are free now.
    releases
        (time, tie-break, nodes) of released nodes, in ascending order.
    windows
        Maintenance windows and advance reservations.

    Attributes
    ----------
    times, levels
        ``levels[i]`` nodes are free from ``times[i]`` to the next time; negative if windows were announced too late.

    Notes
    -----
    The lists are plain, because a profile has some hundred steps and most searches visit too few of them for numpy to
    be faster. Reserved nodes and windows are taken :data:`~holdfast.policies.port.TOLERANCE` after their start, so that
    nodes released within this time count as available.
    """

    __slots__ = ("_bounds", "levels", "times")

    def __init__(
        self, now: int, free: int, releases: Iterable[tuple[int, int, int]], windows: Sequence[Window] = ()
    ) -> None:
        times, levels = [now], [free]
        for at, _, nodes in releases:
            free += nodes
            if at > times[-1]:
                times.append(at)
                levels.append(free)
            else:
                levels[-1] = free
        self.times = times
        self.levels = levels
        # For each size the longest run that was searched for, and where it fitted. Later calls only take more nodes, so
        # that a run of at least this size and length cannot fit earlier.
        self._bounds: dict[int, tuple[int, int]] = {}
        for window in windows:
            self.take(max(now, window.start + TOLERANCE), window.end, window.nodes)

    def take(self, start: int, end: int, nodes: int) -> None:
        """Take nodes from ``start`` until before ``end``."""
        if start >= end:
            return
        levels = self.levels
        first = self._cut(start)
        for place in range(first, self._cut(end)):
            levels[place] -= nodes

    def reserve(self, start: int, length: int, nodes: int) -> None:
        """Reserve nodes for a waiting job from ``start`` on."""
        self.take(start + TOLERANCE, start + max(length, 2 * TOLERANCE), nodes)

    def largest(self, job: WaitingJob, size: int, *, by_runtime: bool = False) -> int:
        """The largest size up to ``size`` at which a job can start now and run to its walltime; 0 if there is none."""
        return self._largest(job, size, 0, by_runtime=by_runtime)

    def earliest(self, nodes: int, length: int) -> int:
        """The first time with ``nodes`` free for ``length``, or :data:`~holdfast.policies.shadow_time.NEVER`."""
        times = self.times
        place = 0
        longest, found = self._bounds.get(nodes, (NEVER, 0))
        if length >= longest:
            if found == NEVER:
                return NEVER
            place = bisect_left(times, found)
        place = earliest(times, self.levels, len(times), place, nodes, length)
        start = times[place] if place < len(times) else NEVER
        self._bounds[nodes] = length, start
        return start

    def earliest_and_largest(self, job: WaitingJob) -> tuple[int, int]:
        """The earliest start of a job at any of its sizes, and the largest size at that time."""
        if job.min_nodes == job.nodes:
            return self.earliest(job.nodes, job.walltime), job.nodes
        # A larger size runs shorter and may fit where no smaller size does, so every step is tried.
        for place, (at, level) in enumerate(zip(self.times, self.levels, strict=True)):
            if level >= job.min_nodes:
                size = self._largest(job, job.nodes, place)
                if size:
                    return at, size
        return NEVER, job.min_nodes

    def least(self, end: int, enough: int) -> int:
        """The fewest nodes from now until before ``end``; any number below ``enough`` if they are not enough."""
        return self._least(0, end, enough)

    def _largest(self, job: WaitingJob, size: int, place: int, *, by_runtime: bool = False) -> int:
        start = self.times[place]
        size = min(size, self.levels[place])
        while size >= job.min_nodes:
            end = start + (job.duration(size) if by_runtime else job.limit(size))
            room = self._least(place, end, job.min_nodes)
            if room >= size:
                return size
            # A smaller job runs longer, and the longer interval has at most this number of nodes.
            size = room
        return 0

    def _least(self, place: int, end: int, enough: int) -> int:
        """The fewest nodes from a step until before ``end``; any number below ``enough`` if they are not enough."""
        least: int = room(self.times, self.levels, len(self.times), place, end, enough)
        return least

    def _cut(self, at: int) -> int:
        """The index of the step that begins at ``at``, inserted if needed; not before the beginning of the profile."""
        times = self.times
        place = bisect_right(times, at)
        if times[place - 1] == at:
            return place - 1
        times.insert(place, at)
        self.levels.insert(place, self.levels[place - 1])
        return place
