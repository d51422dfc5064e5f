"""Compiled planning passes for long queues: the plan of :func:`holdfast.policies.reservation_depth.plan_queue` as
machine code.

Each pass makes a new plan. Keeping a plan while everything happens as planned is not faster in general: a replay of
KTH-SP2 under conservative backfilling takes 2.0 s of processor time with new plans and 2.3 s with kept ones. Only
conservative backfilling with many small jobs was faster with kept plans, by 13 to 22 %.

Short queues are planned by ``plan_queue``. The interpreted loop on Python lists in its place makes a replay of KTH-SP2
with SimPy 3 to 10 % slower at depth 4, and 25 to 35 % slower under conservative backfilling. If its searches read only
the bounds in use, the difference is at most 7 %, but compiled conservative replays take 18 % longer. The loop also
needs the setup and the work of each malleable job; the port gives only walltimes by size.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from holdfast.policies.kernels.compiled_or_plain import compiled_loop
from holdfast.policies.kernels.plan_pass import BOUNDS, PassRule, Plan, Releases, WaitingJobs, plan_pass
from holdfast.policies.list_queue import as_queue
from holdfast.policies.port import TOLERANCE, Promise, Start, SystemView, WaitingQueue
from holdfast.policies.reservation_depth import Outlook, in_order, plan_queue, releases_beside
from holdfast.policies.shadow_time import NEVER

__all__ = ["ManyJobs"]

Numbers = tuple[NDArray[np.int64], NDArray[np.intp]]

#: Rows of the buffers: what the loop reads of each waiting job, of running ones and of windows, its scratch space, and
#: what it writes.
_ORDER, _LEAST, _NODES, _WALLTIMES, _SETUPS, _WORKS, _RELEASES, _WINDOWS = range(8)
_TIMES, _LEVELS, _BOUNDS, _BEGUN, _SIZES, _PLANNED = range(8, 14)
_ROWS = 14

#: Largest time for the compiled code; plain Python plans with later times.
_LATEST = 1 << 61


class ManyJobs:
    """A rule with reservations for several waiting jobs, in one simulation.

    Parameters
    ----------
    outlook
        Planning depth of the rule.

    Attributes
    ----------
    long_from
        Number of waiting jobs from which the rule uses arrays of their sizes and walltimes. With arrays for every
        queue, a replay of KTH-SP2 at depth 4 takes 2.5 s in place of 1.2 s, and one of Theta 2022 2.2 s in place of
        1.8 s.
    """

    long_from = 64

    def __init__(self, outlook: Outlook) -> None:
        self._outlook = outlook
        #: Buffers of the loop, with their addresses, because numpy takes a microsecond to return one.
        self._rows = np.empty((_ROWS, 0), np.int64)
        self._addresses: list[Any] = []

    def __call__(self, view: SystemView) -> list[Start]:
        """The jobs to start now, in this order."""
        queue = as_queue(view.queue)
        numbers = self._numbers(queue)
        if numbers is None:
            return plan_queue(view, self._outlook)
        starts = in_order(view)
        if view.free - sum(start.nodes for start in starts) < queue.least or len(starts) == len(queue):
            return starts
        code = self._code(view, numbers)
        if code is None:
            return plan_queue(view, self._outlook)
        count = self._plan(view, starts, numbers, code, complete=False)
        begun, sizes = self._rows[_BEGUN, :count].tolist(), self._rows[_SIZES]
        return starts + [Start(queue[place].job_id, int(sizes[place]), "backfilled") for place in begun]

    def promises(self, view: SystemView) -> list[Promise]:
        """The reservations of waiting jobs, up to the planning depth."""
        queue = as_queue(view.queue)
        numbers = self._numbers(queue)
        code = None if numbers is None else self._code(view, numbers)
        if numbers is None or code is None:
            promises: list[Promise] = []
            plan_queue(view, self._outlook, promises)
            return promises
        starts = in_order(view)
        count, heads = len(queue), len(starts)
        if heads == count:
            return []
        started = self._plan(view, starts, numbers, code, complete=True)
        begun = set(self._rows[_BEGUN, :started].tolist())
        sizes, times = self._rows[_SIZES, :count].tolist(), self._rows[_PLANNED, :count].tolist()
        return [
            Promise(queue[place].job_id, times[place], sizes[place])
            for place in range(heads, count)
            if place not in begun and 0 <= times[place] < NEVER
        ]

    def _numbers(self, queue: WaitingQueue) -> Numbers | None:
        """Array of the waiting jobs; None: there is none, or the rule needs more than it contains."""
        return None if self._outlook.by_runtime or self._outlook.whole else queue.numbers()

    def _code(self, view: SystemView, numbers: Numbers) -> Callable[..., int] | None:
        """The compiled loop; None: it must not be used, or is not faster."""
        least, nodes, walltimes, setups, works = numbers[0]
        latest = [view.now, view.releases[-1][0] if view.releases else 0, *(window.end for window in view.windows)]
        latest += [max(item.estimated_arrival, view.now) + item.walltime for item in view.reservations]
        # Upper bound of the end of the plan: all jobs in sequence, each at its largest or smallest size.
        flexible = not np.array_equal(least, nodes)
        longest = float(walltimes.sum(dtype=np.float64)) + (float((setups + works / least).sum()) if flexible else 0.0)
        if max(latest) + longest >= _LATEST:
            return None
        # In Python, two jobs take about as much time as an inner step; a job with several sizes takes that of some
        # steps.
        count = len(nodes)
        return compiled_loop(plan_pass, 8 * count if flexible else count // 2)

    def _plan(
        self, view: SystemView, starts: list[Start], numbers: Numbers, code: Callable[..., int], *, complete: bool
    ) -> int:
        """Number of jobs that start after the first ones.

        ``_BEGUN`` has their positions in the queue; ``_SIZES`` and ``_PLANNED`` have sizes and times by position.
        """
        table, places = numbers
        count, heads = len(places), len(starts)
        free = view.free - sum(start.nodes for start in starts)
        queue = view.queue
        ends = [view.now + queue[place].limit(start.nodes) for place, start in enumerate(starts)]
        started = [(end, start.job_id, start.nodes) for end, start in zip(ends, starts, strict=True)]
        releases = releases_beside(view, started, queue[heads])
        windows = [number for window in view.windows for number in window]
        self._grow(max(len(releases) + len(view.windows) + 2 * count + 8, 3 * len(releases), len(windows), 3 * BOUNDS))
        rows = self._rows
        rows[_ORDER, :count] = places
        rows[_LEAST : _WORKS + 1, :count] = table
        rows[_RELEASES, : 3 * len(releases)] = np.fromiter(chain.from_iterable(releases), np.int64, 3 * len(releases))
        rows[_WINDOWS, : len(windows)] = windows
        depth = count if self._outlook.depth is None else self._outlook.depth
        # The loop takes addresses for arrays.
        arrays = self._addresses
        return code(
            WaitingJobs(count, heads, *arrays[_ORDER : _WORKS + 1]),
            Releases(len(releases), arrays[_RELEASES], len(view.windows), arrays[_WINDOWS], TOLERANCE),
            PassRule(view.now, free, depth, self._outlook.largest, complete, NEVER),
            Plan(*arrays[_TIMES : _PLANNED + 1]),
        )

    def _grow(self, length: int) -> None:
        """Make the buffers at least this long."""
        if self._rows.shape[1] < length:
            # Half more than necessary, so that this is rare.
            self._rows = np.empty((_ROWS, length + length // 2), np.int64)
            stride = self._rows.strides[0]
            self._addresses = [self._rows.ctypes.data + row * stride for row in range(_ROWS)]
