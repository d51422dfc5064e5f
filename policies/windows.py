"""Windows: who may start while nodes are about to be taken away, or set aside for others.

A window needs its nodes at each of its instants. A job may start if, counting all that runs by its walltime, every
window that its own walltime reaches still finds them: the machine drains before a window, as far as the window goes.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from typing import Literal

from policies.port import TOLERANCE, Start, SystemView, WaitingJob
from policies.shadow import NEVER, arriving
from workloads.job import JobType

__all__ = ["Forecast", "admitted", "easy_around_windows", "spare"]


class Forecast:
    """Free nodes over time, by the walltimes of what runs and the windows that are announced.

    Parameters
    ----------
    view
        The machine.
    collecting
        Whether open reservations collect what is released.

    Attributes
    ----------
    times, levels
        From ``times[i]`` on, until the next one, ``levels[i]`` nodes are free; fewer than none where windows were
        announced too late.
    """

    def __init__(self, view: SystemView, *, collecting: bool) -> None:
        now = view.now
        changes = [(now, view.free)]
        changes += [(max(now, at), nodes) for at, _, nodes in arriving(view, view.releases, collecting=collecting)]
        for window in view.windows:
            changes += [(max(now, window.start), -window.nodes), (window.end, window.nodes)]
        changes.sort()
        self.times: list[int] = []
        self.levels: list[int] = []
        level = 0
        for at, nodes in changes:
            level += nodes
            if self.times and at == self.times[-1]:
                self.levels[-1] = level
            else:
                self.times.append(at)
                self.levels.append(level)

    def least(self, start: int, end: int) -> int:
        """The fewest free nodes from ``start`` until before ``end``; one tick more or less is the same time."""
        first = bisect_right(self.times, start) - 1
        return min(self.levels[first : max(first + 1, bisect_left(self.times, end - TOLERANCE))])

    def take(self, start: int, end: int, nodes: int) -> None:
        """A job will have ``nodes`` nodes from ``start`` until before ``end``."""
        first, last = self._cut(start), self._cut(end)
        for place in range(first, last):
            self.levels[place] -= nodes

    def earliest(self, nodes: int, length: int) -> int:
        """The first time from which ``nodes`` nodes are free for ``length`` ticks; :data:`.NEVER` if there is none."""
        start: int | None = None
        for at, level in zip(self.times, self.levels, strict=True):
            if start is not None and at - start >= length - TOLERANCE:
                return start
            if level < nodes:
                start = None
            elif start is None:
                start = at
        return NEVER if start is None else start

    def size_now(self, job: WaitingJob, now: int, size: int, *, by_runtime: bool = False) -> int:
        """The largest size up to ``size`` at which a job may start now; 0: at none."""
        while size >= job.min_nodes:
            room = self.least(now, now + (job.duration(size) if by_runtime else job.limit(size)))
            if room >= size:
                return size
            # Smaller, it runs longer: what it then reaches leaves it no more than this.
            size = room
        return 0

    def _cut(self, at: int) -> int:
        """The place of a time, which is a step from now on."""
        place = bisect_left(self.times, at)
        if place == len(self.times) or self.times[place] != at:
            self.times.insert(place, at)
            self.levels.insert(place, self.levels[place - 1])
        return place


def easy_around_windows(view: SystemView, length: Literal["walltime", "runtime"]) -> list[Start]:
    """One pass of EASY where windows are announced; without any it starts whom :class:`policies.backfilling.Easy` does.

    Jobs start in order while the windows let them. The first that they do not let start, or that finds no nodes, gets
    the earliest time at which it could run through; others may start that leave it this time.

    Parameters
    ----------
    view
        The machine.
    length
        By what a job is judged to be in the first one's way. Windows look at walltimes in any case.
    """
    queue, now, free = view.queue, view.now, view.free
    if not queue:
        return []
    starts: list[Start] = []
    forecast = Forecast(view, collecting=queue[0].type is not JobType.ON_DEMAND)
    for job in queue:
        size = forecast.size_now(job, now, min(job.nodes, free))
        if not size:
            break
        starts.append(Start(job.job_id, size))
        forecast.take(now, now + job.limit(size), size)
        free -= size
    else:
        return starts
    head = queue[len(starts)]
    rest = [job for job in queue[len(starts) + 1 :] if job.min_nodes <= free]
    if not rest:
        return starts
    # What is left beside the first one, and what is left for windows alone, which look at no runtimes.
    beside, alone = (_after(view, queue, starts, head) for _ in range(2))
    walltime = head.limit(head.min_nodes)
    time = beside.earliest(head.min_nodes, walltime)
    if time < NEVER:
        beside.take(time, time + walltime, head.min_nodes)
    by_runtime = length == "runtime"
    for job in rest:
        if job.min_nodes > free:
            continue
        size = beside.size_now(job, now, min(job.nodes, free), by_runtime=by_runtime)
        if by_runtime:
            size = alone.size_now(job, now, size)
        if not size:
            continue
        starts.append(Start(job.job_id, size, "backfilled"))
        beside.take(now, now + (job.duration(size) if by_runtime else job.limit(size)), size)
        alone.take(now, now + job.limit(size), size)
        free -= size
        if not free:
            break
    return starts


def _after(view: SystemView, queue: Sequence[WaitingJob], starts: Sequence[Start], head: WaitingJob) -> Forecast:
    """The forecast once these have started, while that job stands first: an on-demand job keeps all for itself."""
    forecast = Forecast(view, collecting=head.type is not JobType.ON_DEMAND)
    for job, start in zip(queue, starts, strict=False):
        forecast.take(view.now, view.now + job.limit(start.nodes), start.nodes)
    return forecast


def spare(view: SystemView, until: int, started: Sequence[tuple[int, int]] = ()) -> int:
    """How many nodes the windows can do without until then, beside those of what runs.

    Idle reserved nodes count as there: a window may take them, before it would have a job preempted.

    Parameters
    ----------
    view
        The machine.
    until
        A time; windows that start later do not count.
    started
        (end of the walltime, nodes) of what has been started since the view was taken.

    Returns
    -------
    int
        All nodes of the machine where there is no window.
    """
    least = view.nodes
    for window in view.windows:
        if window.start >= until - TOLERANCE:
            break
        at = max(window.start, view.now)
        stay = sum(nodes for end, _, nodes in view.releases if end > at + TOLERANCE)
        stay += sum(nodes for end, nodes in started if end > at + TOLERANCE)
        if view.reservations:
            for run in view.running:
                if run.borrowed and run.expected_end > at + TOLERANCE:
                    stay += sum(run.owes(reservation.job_id) for reservation in view.reservations)
        taken = sum(other.nodes for other in view.windows if other.start <= at < other.end)
        least = min(least, view.nodes - stay - taken)
    return least


def admitted(view: SystemView, job: WaitingJob, size: int, started: Sequence[tuple[int, int]] = ()) -> int:
    """The largest size up to ``size`` at which the windows let a job start; 0: at none. See :func:`spare`."""
    while size >= job.min_nodes:
        room = spare(view, view.now + job.limit(size), started)
        if room >= size:
            return size
        size = room
    return 0
