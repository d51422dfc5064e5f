"""The queue: on-demand jobs that could not start at once, then all other jobs in the policy's order."""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections.abc import Callable
from math import inf, isfinite
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from policies.list_queue import ListQueue, Sizes
from policies.order import Order
from policies.port import SystemView
from simulator.machine.job_state import JobState
from workloads.ground.errors import HoldfastError, InputError, InvariantError

if TYPE_CHECKING:
    from simulator.machine.column_queue import ColumnQueue
    from simulator.machine.queue_columns import QueueColumns

__all__ = ["Queue"]

#: From so many waiting jobs on, columns of them are kept, until half as many wait: for orders whose keys change with
#: time, and for those that need no more than to find the jobs that fit. Measured in processor time of replays at a load
#: of 1.3: 5,000 jobs by WFP3 take 0.5 s with columns and 1.5 s without; 20,000 jobs by FCFS 1.5 s with columns from
#: 1,024 jobs on, 1.2 s without, and if they are small 1.3 s and 1.5 s.
DEEP, DEEP_SORTED = 192, 4096

#: Whole numbers below that are floats, too, and so are their differences.
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
        The queue order of all but waiting on-demand jobs.
    name
        What it is called where it fails.

    Attributes
    ----------
    jobs, nodes
        How many wait, and the sum of their requested sizes.
    sizes
        Theirs.
    """

    def __init__(self, order: Order, name: str = "given") -> None:
        self._order = order
        self._static = order.static
        self._name = name
        #: Whether its parameters were chosen, so that a key that overflows is their fault.
        self._tuned = "=" in name
        self._urgent: list[JobState] = []
        self.sizes = Sizes()
        #: All but the urgent jobs, in order where the order is static, from columns on in that of the columns.
        self._jobs: list[JobState] = ListQueue((), self.sizes)
        self._key = order.key
        self._ranking = order.ranking() if order.ranking is not None else None
        self._deep = DEEP_SORTED if order.static else DEEP if self._ranking is not None else inf
        self._columns: QueueColumns | None = None
        #: What policies see, until a job joins or leaves; of an order that is not static, at one instant.
        self._shown: ListQueue | ColumnQueue | None = None
        self._shown_at: int | None = None
        self.jobs = 0
        self.nodes = 0

    def keep_columns(self, count: float) -> None:
        """Keep columns from so many waiting jobs on, where that is earlier, and the order allows for columns."""
        if self._deep < inf:
            self._deep = min(self._deep, count)

    @property
    def on_demand_waits(self) -> bool:
        return bool(self._urgent)

    def in_order(self, view: SystemView) -> ListQueue | ColumnQueue:
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

    def _order_queue(self, view: SystemView) -> ListQueue | ColumnQueue:
        columns, ranking = self._columns, self._ranking
        if columns is not None:
            from simulator.machine.column_queue import ColumnQueue
            from simulator.machine.queue_columns import Ranks

            least = self.sizes.smallest()
            if self._static or ranking is None:
                return ColumnQueue(columns, self._urgent, least)
            keys = ranking.keys(view, columns.traits)
            if view.now < _EXACT and isfinite(keys[0].sum()):
                ranks = Ranks(columns, keys, ranking.slack, self._key_at(view))
                return ColumnQueue(columns, self._urgent, least, ranks)
        jobs = self._jobs if self._static else ListQueue(self._sort(view), self.sizes)
        if columns is None:
            # Almost in order at the next instant, too, which makes sorting fast.
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
                f"the order {self._name} makes keys that are no numbers ({error}): choose a value of {names} nearer to "
                "its default"
            )
        return InvariantError(f"the order {self._name} cannot sort the queue: {type(error).__name__}: {error}")

    def add(self, job: JobState, now: int, *, urgent: bool = False) -> None:
        """Put a job in its place.

        Raises
        ------
        InvariantError
            If it waits already.
        """
        if job.waiting:
            raise InvariantError(f"job {job.job_id} is in the queue already")
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
        """Keep columns of the jobs from now on."""
        from simulator.machine.queue_columns import QueueColumns

        jobs = self._jobs
        columns = QueueColumns(0 if self._ranking is None else self._ranking.width)
        self._jobs, self._columns = columns.jobs, columns
        for place, job in enumerate(jobs):
            self._enter(columns, place, job)

    def _enter(self, columns: QueueColumns, place: int, job: JobState) -> None:
        columns.insert(place, job, () if self._ranking is None else self._ranking.traits(job))

    def renew(self, job: JobState, now: int) -> None:
        """What a waiting job asks for has changed, but neither its order nor its urgency."""
        if self._columns is not None and job not in self._urgent:
            self.remove(job)
            self.add(job, now)

    def remove(self, job: JobState) -> None:
        """Take a job out.

        Raises
        ------
        InvariantError
            If it does not wait.
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
            # Only the last job of the smallest size leaves the question open; it is answered when it is asked.
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
