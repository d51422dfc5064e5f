"""The queue: on-demand jobs that could not start at once, then all other jobs in the policy's order."""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections.abc import Callable
from math import inf, isfinite
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from holdfast.policies.list_queue import ListQueue, Sizes
from holdfast.policies.order import Order
from holdfast.policies.port import SystemView
from holdfast.simulator.machine.job_state import JobState
from holdfast.workloads.ground.errors import HoldfastError, InputError, InvariantError

if TYPE_CHECKING:
    from holdfast.simulator.machine.array_queue import ArrayQueue
    from holdfast.simulator.machine.queue_columns import QueueColumns

__all__ = ["Queue"]

#: Lengths of the queue from which columns are kept (until it has shrunk to half): for orders with keys that change over
#: time, and for orders that use columns only to find fitting jobs. Processor time of replays at a load of 1.3: 5,000
#: jobs by WFP3 take 0.5 s with columns and 1.5 s without; 20,000 jobs by FCFS take 1.5 s with columns from 1,024 jobs
#: on and 1.2 s without; small jobs take 1.3 s and 1.5 s.
DEEP, DEEP_SORTED = 192, 4096

#: Integers below this limit, and their differences, are exact as floats.
_EXACT = 1 << 53

_KEY = attrgetter("order_key")
_ARRIVAL = attrgetter("eligible", "row")


def _size(key: Any) -> float:
    return abs(key) if isinstance(key, float) else 0.0


class Queue:
    """Waiting jobs, sorted.

    Parameters
    ----------
    order
        Queue order of all jobs except waiting on-demand jobs.
    name
        Name of the order in error messages.

    Attributes
    ----------
    jobs, nodes
        Number of waiting jobs, and the sum of their requested sizes.
    sizes
        Sizes of the waiting jobs.
    """

    def __init__(self, order: Order, name: str = "given") -> None:
        self._order = order
        self._static = order.static
        self._name = name
        #: Whether the user has set its parameters, which are then the cause if a key overflows.
        self._tuned = "=" in name
        self._urgent: list[JobState] = []
        self.sizes = Sizes()
        #: All but the urgent jobs: sorted if the order is static; with columns, in the order of these.
        self._jobs: list[JobState] = ListQueue((), self.sizes)
        self._key = order.key
        self._ranking = order.ranking() if order.ranking is not None else None
        self._deep = DEEP_SORTED if order.static else DEEP if self._ranking is not None else inf
        self._columns: QueueColumns | None = None
        #: Cached view for policies, valid until a job joins or leaves; for a non-static order, for one instant.
        self._shown: ListQueue | ArrayQueue | None = None
        self._shown_at: int | None = None
        self.jobs = 0
        self.nodes = 0

    def keep_columns(self, count: float) -> None:
        """Keep columns from ``count`` waiting jobs on, if that is earlier and the order supports columns."""
        if self._deep < inf:
            self._deep = min(self._deep, count)

    @property
    def on_demand_waits(self) -> bool:
        return bool(self._urgent)

    def in_order(self, view: SystemView) -> ListQueue | ArrayQueue:
        """All waiting jobs, first to last.

        Raises
        ------
        InvariantError
            If the order fails, or its keys cannot be compared.
        """
        shown = self._shown
        if shown is None or not (self._static or self._shown_at == view.now):
            shown = self._shown = self._order_queue(view)
            self._shown_at = view.now
        return shown

    def _order_queue(self, view: SystemView) -> ListQueue | ArrayQueue:
        columns, ranking = self._columns, self._ranking
        if columns is not None:
            from holdfast.simulator.machine.array_queue import ArrayQueue
            from holdfast.simulator.machine.queue_columns import Ranks

            least = self.sizes.smallest()
            if self._static or ranking is None:
                return ArrayQueue(columns, self._urgent, least)
            keys = ranking.keys(view, columns.traits)
            if view.now < _EXACT and isfinite(keys[0].sum()):
                ranks = Ranks(columns, keys, ranking.slack, self._key_at(view))
                return ArrayQueue(columns, self._urgent, least, ranks)
        jobs = self._jobs if self._static else ListQueue(self._sort(view), self.sizes)
        if columns is None:
            # The list is almost sorted at the next instant, which makes sorting fast.
            self._jobs = jobs
        return jobs if type(jobs) is ListQueue and not self._urgent else ListQueue([*self._urgent, *jobs], self.sizes)

    def _key_at(self, view: SystemView) -> Callable[[JobState], Any]:
        order, now = self._order, view.now
        if order.at is not None:
            return order.at(view)
        key = order.key
        return lambda job: key(job, now)

    def _sort(self, view: SystemView) -> list[JobState]:
        try:
            key = self._key_at(view)
            keyed = [(key(job), job.row, job) for job in self._jobs]
            if any(key != key for key, _, _ in keyed):
                raise FloatingPointError("a key is NaN")
            # No two rows are equal, so that jobs are never compared.
            keyed.sort()
            if self._tuned and keyed and inf in (_size(keyed[0][0]), _size(keyed[-1][0])):
                raise OverflowError("a key is infinite")
        except Exception as error:
            raise self._order_error(error) from error
        return [job for _, _, job in keyed]

    def _order_error(self, error: Exception) -> HoldfastError:
        if self._tuned and isinstance(error, ArithmeticError):
            names = " and ".join(word.partition("=")[0] for word in self._name.split()[1:])
            return InputError(
                f"the order {self._name} has keys that are not finite ({error}): choose a value of {names} nearer to "
                "its default"
            )
        return InvariantError(f"the order {self._name} cannot sort the queue: {type(error).__name__}: {error}")

    def add(self, job: JobState, now: int, *, urgent: bool = False) -> None:
        """Insert a job.

        Raises
        ------
        InvariantError
            If it is already in the queue.
        """
        if job.waiting:
            raise InvariantError(f"job {job.job_id} is already in the queue")
        job.waiting = True
        self.jobs = count = self.jobs + 1
        self.nodes += job.nodes
        size, sizes = job.min_nodes, self.sizes
        if size in sizes:
            sizes[size] += 1
        else:
            sizes[size] = 1
            if count == 1 or (sizes.least is not None and size < sizes.least):
                sizes.least = size
        self._shown = None
        if urgent:
            insort(self._urgent, job, key=_ARRIVAL)
            return
        jobs = self._jobs
        place = len(jobs)
        if self._static:
            try:
                key = self._key(job, now)
                if key != key:
                    raise FloatingPointError(f"the key of job {job.job_id} is {key}")
                job.order_key = (key, job.row)
                # Most arrivals go to the end.
                if jobs and jobs[-1].order_key > job.order_key:
                    place = bisect_right(jobs, job.order_key, key=_KEY)
            except Exception as error:
                raise self._order_error(error) from error
        if self._columns is not None:
            self._enter(self._columns, place, job)
            return
        jobs.insert(place, job)
        if len(jobs) > self._deep:
            self._spread()

    def _spread(self) -> None:
        """Switch to columns."""
        from holdfast.simulator.machine.queue_columns import QueueColumns

        jobs = self._jobs
        columns = QueueColumns(0 if self._ranking is None else self._ranking.width)
        self._jobs, self._columns = columns.jobs, columns
        for place, job in enumerate(jobs):
            self._enter(columns, place, job)

    def _enter(self, columns: QueueColumns, place: int, job: JobState) -> None:
        columns.insert(place, job, () if self._ranking is None else self._ranking.traits(job))

    def renew(self, job: JobState, now: int) -> None:
        """Update a waiting job with a changed request; its place does not change."""
        if self._columns is not None and job not in self._urgent:
            self.remove(job)
            self.add(job, now)

    def remove(self, job: JobState) -> None:
        """Remove a job.

        Raises
        ------
        InvariantError
            If it is not in the queue.
        """
        if not job.waiting:
            raise InvariantError(f"job {job.job_id} is not in the queue")
        job.waiting = False
        self.jobs = count = self.jobs - 1
        self.nodes -= job.nodes
        size, sizes = job.min_nodes, self.sizes
        if sizes[size] > 1:
            sizes[size] -= 1
        else:
            # Only when the last job of the smallest size leaves, the minimum is unknown; it is recomputed on access.
            del sizes[size]
            if size == sizes.least:
                sizes.least = None if count else 0
        if self._shown is not self._jobs:
            self._shown = None
        if self._urgent and job in self._urgent:
            self._urgent.remove(job)
            return
        columns, jobs = self._columns, self._jobs
        if jobs[0] is job:
            position = 0
        elif self._static:
            position = bisect_left(jobs, job.order_key, key=_KEY)
        else:
            position = jobs.index(job) if columns is None else columns.find_place(job.row)
        if columns is None:
            del jobs[position]
            return
        columns.remove(position)
        if 2 * len(jobs) < self._deep:
            self._columns, self._jobs, self._shown = None, ListQueue(jobs, self.sizes), None
