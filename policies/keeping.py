"""Kept plans: the reservations of a long queue, kept from one pass to the next and made by compiled code.

:func:`policies.reserving.plan_queue` plans the whole queue at each pass, from lists. Here the same plan is made while
many jobs wait. It stays as long as everything happens as planned: running jobs end at their walltimes, planned jobs
start, and new ones join behind it. Then a pass starts the jobs whose time has come and goes on planning where the last
one stopped. It is made anew when a job ends early, is preempted or cancelled, when nodes are taken away or come back
otherwise, and when a job joins before others that have a place: then any job may get an earlier place, and whichever
comes first in the queue has the first choice.

Where jobs of several sizes wait, or there are open reservations or windows, each pass plans anew
(:mod:`policies.sizespass`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from policies.columns import Columns, Places
from policies.longqueue import LongQueue
from policies.planning.kernel import runner
from policies.planpass import BOUNDS, plan_pass
from policies.port import Promise, Start, SystemView
from policies.reserving import Outlook, in_order, plan_queue, profile_of
from policies.shadow import NEVER
from policies.sizespass import BOUNDS as SEARCHES
from policies.sizespass import plan_sizes

__all__ = ["KeptPlan"]

#: Later times are left to Python's integers.
_LATEST = 1 << 61


class KeptPlan:
    """The plan of one simulation, under a rule by which several waiting jobs hold reservations.

    Parameters
    ----------
    outlook
        How far the rule plans.

    Attributes
    ----------
    long_from
        From how many waiting jobs on it wants them in columns.
    """

    long_from = 64

    def __init__(self, outlook: Outlook) -> None:
        self._outlook = outlook
        self._state = np.zeros(6, np.int64)
        self._bounds = np.zeros(3 * BOUNDS, np.int64)
        self._profile = self._base = self._next = np.empty((2, 0), np.int64)
        self._kept = np.empty((2, 0), np.int64)

    def __call__(self, view: SystemView) -> list[Start]:
        """The jobs to start now, in this order."""
        queue = view.queue
        run = self._runner(view, queue)
        if run is None or not isinstance(queue, LongQueue):
            by_sizes = self._by_sizes(view, queue)
            return plan_queue(view, self._outlook) if by_sizes is None else by_sizes
        columns, order = queue.columns()
        started = self._plan(view, columns, order, run, keep=queue.sorted, full=False)
        starts: list[Start] = []
        for number, place in enumerate(started):
            job = columns.jobs[order[place]]
            starts.append(Start(job.job_id, job.nodes, "in order" if place == number else "backfilled"))
        return starts

    def promises(self, view: SystemView) -> list[Promise]:
        """The reservations of all jobs that must wait, as far as the rule plans."""
        queue = view.queue
        run = self._runner(view, queue)
        if run is None or not isinstance(queue, LongQueue):
            promises: list[Promise] = []
            plan_queue(view, self._outlook, promises)
            return promises
        columns, order = queue.columns()
        self._plan(view, columns, order, run, keep=queue.sorted, full=True)
        jobs = {job.row: job for job in columns.jobs}
        return [
            Promise(jobs[row].job_id, at, jobs[row].nodes)
            for row, at in self._kept[:, : self._state[1]].T.tolist()
            if 0 <= at < NEVER
        ]

    def _runner(self, view: SystemView, queue: Sequence[Any]) -> Callable[..., None] | None:
        """The compiled code, if it may be used and pays; else the plan is forgotten."""
        if (
            isinstance(queue, LongQueue)
            and not (queue.flexible or view.windows or view.reservations or self._outlook.by_runtime)
            and _in_time(view, queue)
        ):
            # Two jobs of a queue cost a list about as much as an inner step of a planner does.
            run = runner(plan_pass, len(queue) // 2)[0]
            if run is not plan_pass:
                return run
        self._state[1] = 0
        return None

    def _plan(
        self, view: SystemView, columns: Columns, order: Places, run: Callable[..., None], *, keep: bool, full: bool
    ) -> list[int]:
        """Which jobs start, by their place in the queue."""
        releases = np.fromiter(chain.from_iterable(view.releases), np.int64, 3 * len(view.releases))
        count = len(order)
        needed = len(releases) // 3 + 2 * count + 8
        if self._profile.shape[1] < needed:
            # What is kept stays. Larger by half, so that this is rare.
            more = np.zeros((2, needed + needed // 2 - self._profile.shape[1]), np.int64)
            self._profile, self._base, self._next, self._kept = (
                np.concatenate((array, more), axis=1) for array in (self._profile, self._base, self._next, self._kept)
            )
        started = np.empty(count, np.int64)
        depth = self._outlook.depth
        run(
            len(releases) // 3, releases, columns.nodes, columns.walltime, columns.rows, count, order,
            *self._profile, *self._base, *self._next, *self._kept, self._bounds, started, self._state,
            view.now, view.free, keep and depth is None, full, count if depth is None else depth,
        )  # fmt: skip
        return [int(place) for place in started[: self._state[3]]]

    def _by_sizes(self, view: SystemView, queue: Sequence[Any]) -> list[Start] | None:
        """The starts of a plan that is made anew, by compiled code, for jobs of any kind and on any profile.

        None: it may not be used, or does not pay.
        """
        if not isinstance(queue, LongQueue) or self._outlook.by_runtime or not _in_time(view, queue):
            return None
        columns, order = queue.columns()
        if (columns.work < 0).any():
            return None
        # A job of several sizes costs a list as much as some inner steps of a planner: it tries sizes at each step.
        run = runner(plan_sizes, 8 * len(queue))[0]
        if run is plan_sizes:
            return None
        starts = in_order(view)
        heads, count = len(starts), len(queue)
        free = view.free - sum(start.nodes for start in starts)
        if heads == count or not free:
            return starts
        urgent = queue.urgent
        first = [*urgent, *(columns.jobs[place] for place in order[: max(0, heads + 1 - len(urgent))])]
        started = [
            (view.now + job.limit(start.nodes), job.job_id, start.nodes)
            for job, start in zip(first, starts, strict=False)
        ]
        profile = profile_of(view, started, first[heads])
        steps = len(profile.times)
        times, levels = (np.empty(steps + 2 * count + 8, np.int64) for _ in range(2))
        times[:steps], levels[:steps] = profile.times, profile.levels
        given = [
            _joined([getattr(job, name) for job in urgent], column[order])
            for name, column in (("min_nodes", columns.least), ("nodes", columns.nodes), ("walltime", columns.walltime))
        ]
        given += [_joined([0] * len(urgent), column[order]) for column in (columns.setup, columns.work)]
        found, sizes = np.empty((2, count), np.int64)
        state = np.array([steps, 0], np.int64)
        depth = count if self._outlook.depth is None else self._outlook.depth
        run(
            *given, times, levels, np.empty((SEARCHES, 3), np.int64), found, sizes, state,
            view.now, free, heads, depth, self._outlook.largest,
        )  # fmt: skip
        for place, size in zip(found[: state[1]].tolist(), sizes[: state[1]].tolist(), strict=True):
            job = urgent[place] if place < len(urgent) else columns.jobs[order[place - len(urgent)]]
            starts.append(Start(job.job_id, size, "backfilled"))
        return starts


def _in_time(view: SystemView, queue: LongQueue) -> bool:
    """Whether everything ends before times get too large for arrays."""
    latest = [view.now, view.releases[-1][0] if view.releases else 0, *(window.end for window in view.windows)]
    late = [max(item.estimated_arrival, view.now) + item.walltime for item in view.reservations]
    return max(*latest, *late) + queue.longest < _LATEST


def _joined(first: Sequence[int], others: NDArray[np.int64]) -> NDArray[np.int64]:
    return np.concatenate((np.array(first, np.int64), others)) if first else others
