"""The queue: on-demand jobs that could not start, then all others in the policy's order."""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections.abc import Callable, Sequence
from math import inf, isfinite
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from policies.order import Order
from policies.port import SystemView
from policies.shortqueue import ShortQueue, Sizes
from simulator.machine.jobstate import JobState
from workloads.ground.errors import HoldfastError, InputError, InvariantError

if TYPE_CHECKING:
    from policies.columns import Columns

__all__ = ["Queue"]

#: From so many waiting jobs on, columns of them are kept, until half as many wait: measured, for orders whose keys
#: change with time, and for those that need no more than to find the jobs that fit.
DEEP, DEEP_SORTED = 192, 1024

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
    listed
        All of them, first to last, where that is at hand; None: :meth:`in_order` knows.
    """

    def __init__(self, order: Order, name: str = "given") -> None:
        self._order = order
        self._name = name
        #: Whether its parameters were chosen, so that a key that overflows is their fault.
        self._tuned = "=" in name
        # A dynamic order is sorted once per instant, unless a job joins.
        self._sorted_at: int | None = None
        self._urgent: list[JobState] = []
        self.sizes = Sizes()
        self._jobs: list[JobState] = ShortQueue(self.sizes) if order.static else []
        self._key = order.key
        self._ranking = order.ranking() if order.ranking is not None else None
        self._deep = DEEP_SORTED if order.static else DEEP if self._ranking is not None else inf
        self._columns: Columns | None = None
        self._long: Sequence[JobState] | None = None
        # Short queues in an order that does not change are listed as they are: no other way is as fast.
        self.listed: ShortQueue | None = self._jobs if type(self._jobs) is ShortQueue else None
        self.jobs = 0
        self.nodes = 0

    def keep_columns(self, count: float) -> None:
        """Keep columns from so many waiting jobs on, where that is earlier, and the order allows for columns."""
        if self._deep < inf:
            self._deep = min(self._deep, count)

    @property
    def on_demand_waits(self) -> bool:
        return bool(self._urgent)

    def in_order(self, view: SystemView) -> Sequence[JobState]:
        """All waiting jobs, first to last.

        Raises
        ------
        InvariantError
            If the order fails, or its keys cannot be compared.
        """
        if self._columns is not None:
            return self._many(view, self._columns)
        if not self._order.static and self._sorted_at != view.now:
            self._jobs = self._sorted(view)
            self._sorted_at = view.now
        return self._urgent + self._jobs if self._urgent else self._jobs

    def _many(self, view: SystemView, columns: Columns) -> Sequence[JobState]:
        """All waiting jobs while they are many; the keys of an instant stay, unless a job joins or leaves."""
        if self._long is None or not (self._order.static or self._sorted_at == view.now):
            self._long = self._ranked(view, columns)
            self._sorted_at = view.now
        return self._long

    def _ranked(self, view: SystemView, columns: Columns) -> Sequence[JobState]:
        from policies.columns import Ranks
        from policies.longqueue import LongQueue

        ranking = self._ranking
        if self._order.static or ranking is None:
            return LongQueue(columns, self._urgent)
        keys = ranking.keys(view, columns.traits)
        if view.now < _EXACT and isfinite(keys[0].sum()):
            return LongQueue(columns, self._urgent, Ranks(columns, keys, ranking.slack, self._key_at(view)))
        return self._urgent + self._sorted(view)

    def _key_at(self, view: SystemView) -> Callable[[JobState], Any]:
        order, now = self._order, view.now
        if order.at is not None:
            return order.at(view)
        key = order.key
        return lambda job: key(job, now)

    def _sorted(self, view: SystemView) -> list[JobState]:
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
            raise self._failed(error) from error
        return [job for _, _, job in keyed]

    def _failed(self, error: Exception) -> HoldfastError:
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
        if urgent:
            insort(self._urgent, job, key=_ARRIVAL)
            self._long = self.listed = None
            return
        jobs = self._jobs
        place = len(jobs)
        if not self._order.static:
            self._sorted_at = None
        else:
            try:
                key = self._key(job, now)
                if key != key:
                    raise FloatingPointError(f"the key of job {job.job_id} is {key}")
                job.order_key = (key, job.row)
                # Most arrivals go to the end.
                if jobs and jobs[-1].order_key > job.order_key:
                    place = bisect_right(jobs, job.order_key, key=_KEY)
            except Exception as error:
                raise self._failed(error) from error
        if self._columns is not None:
            self._enter(self._columns, place, job)
            return
        if type(jobs) is ShortQueue:
            jobs.enter(place, job)
        else:
            jobs.insert(place, job)
        if len(jobs) > self._deep:
            self._spread()

    def _spread(self) -> None:
        """Keep columns of the jobs from now on."""
        from policies.columns import Columns

        jobs = self._jobs
        columns = Columns(0 if self._ranking is None else self._ranking.width)
        self._jobs, self._columns, self.listed = columns.jobs, columns, None
        for place, job in enumerate(jobs):
            self._enter(columns, place, job)

    def _enter(self, columns: Columns, place: int, job: JobState) -> None:
        self._long = None
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
        listed = self.listed
        if listed is not None:
            listed.leave(0 if listed[0] is job else bisect_left(listed, job.order_key, key=_KEY))
            return
        self._long = None
        if self._urgent and job in self._urgent:
            self._urgent.remove(job)
            self._list()
            return
        columns, jobs = self._columns, self._jobs
        if jobs and jobs[0] is job:
            position = 0
        elif self._order.static:
            position = bisect_left(jobs, job.order_key, key=_KEY)
        else:
            position = jobs.index(job) if columns is None else columns.place_of(job.row)
        if type(jobs) is ShortQueue:
            jobs.leave(position)
        elif columns is None:
            del jobs[position]
        else:
            columns.remove(position)
            if 2 * len(jobs) < self._deep:
                self._columns = self._sorted_at = None
                if self._order.static:
                    self._jobs = ShortQueue(self.sizes, jobs)
                    self._list()

    def _list(self) -> None:
        """List the jobs as they are from now on, if that may be."""
        if not self._urgent and type(self._jobs) is ShortQueue:
            self.listed = self._jobs
