"""Scheduler that plans windows of jobs and keeps the planned start times even if nodes become free earlier.

[S] simulates its week with ScheduleFlow. When no planned reservation is left, its scheduler plans a batch of waiting
jobs by their requests, the longest first. A reservation starts at its planned time, even if its node is free earlier.
Gaps in a window, including those after early completions, are filled with waiting jobs whose whole requests fit.
Source: the published ScheduleFlow (github.com/anagainaru/ScheduleFlow), here for jobs of one node each.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from holdfast.experiments.planning.reservation_series import Reservation, SeriesReplay
from holdfast.workloads.ground.errors import ParameterError

__all__ = ["BATCH", "replay_windows"]

#: Number of waiting jobs planned together, ScheduleFlow's default.
BATCH = 100
_END, _SUBMISSION = 0, 1


class _Waiting(NamedTuple):
    """A waiting reservation, ordered by submission."""

    submit: float
    job: int
    step: int


class _Place(NamedTuple):
    """A planned reservation, until the end of its request."""

    start: float
    end: float
    job: int
    step: int


class _Gap(NamedTuple):
    """Idle time of a node within the window."""

    start: float
    end: float
    node: int


def replay_windows(
    submits: Sequence[float], jobs: Sequence[Sequence[Reservation]], nodes: int, batch: int = BATCH
) -> SeriesReplay:
    """Simulate series of one-node reservations in planned windows.

    Parameters
    ----------
    submits
        Submit time of each job, shape (jobs,).
    jobs
        Series of reservations of each job, in the same unit.
    nodes
        Number of nodes of the machine.
    batch
        Number of waiting jobs planned together, in the order of their submission.

    Raises
    ------
    ParameterError
        If a number is less than 1, or there is no job.

    Examples
    --------
    One node: the second job is planned for 10 and starts then, although the first one completes at 4.

    >>> replay_windows([0.0, 0.0], [[Reservation(10.0, 4.0)], [Reservation(5.0, 5.0)]], 1).completions.tolist()
    [4.0, 15.0]
    """
    for name, value in (("nodes", nodes), ("batch", batch), ("jobs", len(jobs))):
        if value < 1:
            raise ParameterError(name, "a whole number of at least 1", value)
    machine = _Machine(submits, jobs, nodes, batch)
    machine.run()
    return SeriesReplay(np.array(machine.completions), sum(item.used for own in jobs for item in own))


class _Machine:
    """State of the simulation: window, queue and event heap."""

    def __init__(self, submits: Sequence[float], jobs: Sequence[Sequence[Reservation]], nodes: int, batch: int) -> None:
        self.completions = [0.0] * len(jobs)
        self._jobs, self._batch = jobs, batch
        self._nodes: list[list[_Place]] = [[] for _ in range(nodes)]
        self._planned = 0
        self._queue: list[_Waiting] = []
        # Time, class, job, step, node: at equal times, ends are before submissions, then events are ordered by job.
        self._events = [(submit, _SUBMISSION, job, 0, 0) for job, submit in enumerate(submits)]
        heapq.heapify(self._events)

    def run(self) -> None:
        while self._events:
            now = self._events[0][0]
            while self._events and self._events[0][0] == now:
                _, kind, job, step, node = heapq.heappop(self._events)
                if kind == _END:
                    self._end(now, job, step, node)
                else:
                    self._submit(_Waiting(now, job, step))
            if not self._planned and self._queue:
                self._plan_window(now)

    def _submit(self, waiting: _Waiting) -> None:
        if not self._fill([waiting], waiting.submit):
            self._queue.append(waiting)

    def _end(self, now: float, job: int, step: int, node: int) -> None:
        self._nodes[node] = [place for place in self._nodes[node] if (place.job, place.step) != (job, step)]
        self._planned -= 1
        if step + 1 < len(self._jobs[job]):
            heapq.heappush(self._events, (now, _SUBMISSION, job, step + 1, 0))
            return
        self.completions[job] = now
        if self._jobs[job][step].used < self._jobs[job][step].length:
            self._fill_from_queue(now)

    def _plan_window(self, now: float) -> None:
        """Plan a batch, each job as early as possible, and add jobs of the next batch that fit."""
        free = [(now, node) for node in range(len(self._nodes))]
        for waiting in self._first():
            start, node = free[0]
            self._place(waiting, start, node)
            self._queue.remove(waiting)
            heapq.heapreplace(free, (start + self._length(waiting), node))
        self._fill_from_queue(now)

    def _first(self) -> list[_Waiting]:
        """The first batch of the queue, the longest request first."""
        return sorted(sorted(self._queue)[: self._batch], key=lambda item: (-self._length(item), item))

    def _fill_from_queue(self, now: float) -> None:
        for waiting in self._fill(self._first(), now) if self._queue else ():
            self._queue.remove(waiting)

    def _fill(self, candidates: Sequence[_Waiting], now: float) -> list[_Waiting]:
        """Place candidates in the gaps of the window, each in the first gap with room for its request."""
        placed: list[_Waiting] = []
        gaps = self._gaps(now)
        for waiting in candidates:
            length = self._length(waiting)
            for at, gap in enumerate(gaps):
                if gap.end - gap.start >= length:
                    self._place(waiting, gap.start, gap.node)
                    placed.append(waiting)
                    del gaps[at]
                    if gap.start + length < gap.end:
                        gaps = sorted([*gaps, _Gap(gap.start + length, gap.end, gap.node)])
                    break
        return placed

    def _gaps(self, now: float) -> list[_Gap]:
        end = max((place.end for places in self._nodes for place in places), default=now)
        found = []
        for node, places in enumerate(self._nodes):
            free = now
            for place in sorted(places):
                if place.start > free:
                    found.append(_Gap(free, place.start, node))
                free = max(free, place.end)
            if end > free:
                found.append(_Gap(free, end, node))
        return sorted(found)

    def _place(self, waiting: _Waiting, start: float, node: int) -> None:
        own = self._jobs[waiting.job][waiting.step]
        self._nodes[node].append(_Place(start, start + own.length, waiting.job, waiting.step))
        self._planned += 1
        heapq.heappush(self._events, (start + own.used, _END, waiting.job, waiting.step, node))

    def _length(self, waiting: _Waiting) -> float:
        return self._jobs[waiting.job][waiting.step].length
