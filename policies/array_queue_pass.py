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
        self._rows = np.empty((14, 0), np.int64)
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
        begun, sizes = self._rows[11, :count].tolist(), self._rows[12]
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
        promised = dict(zip(range(heads, count), self._rows[12:, heads:count].T.tolist(), strict=True))
        for place in self._rows[11, :started].tolist():
            del promised[place]
        return [Promise(queue[place].job_id, at, size) for place, (size, at) in promised.items() if 0 <= at < NEVER]

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
        """Number of jobs that start after the first ones; the last rows have their positions, all sizes and times."""
        (table, places), heads = numbers, len(starts)
        count = len(places)
        free = view.free - sum(start.nodes for start in starts)
        queue = view.queue
        ends = [view.now + queue[place].limit(start.nodes) for place, start in enumerate(starts)]
        started = [(end, start.job_id, start.nodes) for end, start in zip(ends, starts, strict=True)]
        releases = releases_beside(view, started, queue[heads])
        windows = [number for window in view.windows for number in window]
        needed = max(len(releases) + len(view.windows) + 2 * count + 8, 3 * len(releases), len(windows), 3 * BOUNDS)
        if self._rows.shape[1] < needed:
            # Buffers grow by half more than needed, so that this is rare.
            self._rows = np.empty((14, needed + needed // 2), np.int64)
            stride = self._rows.strides[0]
            self._addresses = [self._rows.ctypes.data + row * stride for row in range(len(self._rows))]
        rows = self._rows
        rows[0, :count], rows[1:6, :count] = places, table
        rows[6, : 3 * len(releases)] = np.fromiter(chain.from_iterable(releases), np.int64, 3 * len(releases))
        rows[7, : len(windows)] = windows
        # The loop takes addresses for arrays.
        order, *jobs, released, windowed, times, levels, bounds, begun, sizes, planned = self._addresses
        depth = self._outlook.depth
        return code(
            WaitingJobs(count, heads, order, *jobs),
            Releases(len(releases), released, len(view.windows), windowed, TOLERANCE),
            PassRule(view.now, free, count if depth is None else depth, self._outlook.largest, complete, NEVER),
            Plan(times, levels, bounds, begun, sizes, planned),
        )
