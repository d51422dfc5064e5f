"""The queue: on-demand jobs that could not start, then all others in the policy's order."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Sequence
from operator import attrgetter

from policies.order import Order
from policies.port import SystemView
from simulator.machine.jobstate import JobState
from workloads.ground.errors import InvariantError

__all__ = ["Queue"]

_KEY = attrgetter("order_key")
_ARRIVAL = attrgetter("submit", "row")


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
    """

    def __init__(self, order: Order, name: str = "given") -> None:
        self._order = order
        self._name = name
        # A dynamic order is sorted once per instant, unless a job joins.
        self._sorted_at: int | None = None
        self._urgent: list[JobState] = []
        self._jobs: list[JobState] = []
        self.jobs = 0
        self.nodes = 0
        self._sizes: dict[int, int] = {}
        self._smallest: int | None = None

    @property
    def on_demand_waits(self) -> bool:
        return bool(self._urgent)

    def smallest(self) -> int:
        """The fewest nodes on which a waiting job can start; 0 if none waits."""
        if self._smallest is None:
            self._smallest = min(self._sizes, default=0)
        return self._smallest

    def in_order(self, view: SystemView) -> Sequence[JobState]:
        """All waiting jobs, first to last.

        Raises
        ------
        InvariantError
            If the order fails, or its keys cannot be compared.
        """
        if not self._order.static and self._sorted_at != view.now:
            self._sort(view)
        return self._urgent + self._jobs if self._urgent else self._jobs

    def _sort(self, view: SystemView) -> None:
        order, now = self._order, view.now
        try:
            if order.at is not None:
                key_of = order.at(view)
                keyed = [(key_of(job), job.row, job) for job in self._jobs]
            else:
                key = order.key
                keyed = [(key(job, now), job.row, job) for job in self._jobs]
            if any(key != key for key, _, _ in keyed):
                raise ValueError("a key is NaN")
            # No two rows are equal, so that jobs are never compared.
            keyed.sort()
        except Exception as error:
            raise self._failed(error) from error
        self._jobs = [job for _, _, job in keyed]
        self._sorted_at = now

    def _failed(self, error: Exception) -> InvariantError:
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
        self.jobs += 1
        self.nodes += job.nodes
        self._sizes[job.min_nodes] = self._sizes.get(job.min_nodes, 0) + 1
        if self._smallest is not None and (job.min_nodes < self._smallest or self.jobs == 1):
            self._smallest = job.min_nodes
        if urgent:
            insort(self._urgent, job, key=_ARRIVAL)
            return
        if not self._order.static:
            self._sorted_at = None
            self._jobs.append(job)
            return
        try:
            key = self._order.key(job, now)
            if key != key:
                raise ValueError(f"the key of job {job.job_id} is {key}")
            job.order_key = (key, job.row)
            # Most arrivals go to the end.
            if self._jobs and self._jobs[-1].order_key > job.order_key:
                insort(self._jobs, job, key=_KEY)
            else:
                self._jobs.append(job)
        except Exception as error:
            raise self._failed(error) from error

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
        self.jobs -= 1
        self.nodes -= job.nodes
        left = self._sizes[job.min_nodes] - 1
        if left:
            self._sizes[job.min_nodes] = left
        else:
            # Only the last job of the smallest size leaves the question open; it is answered when it is asked.
            del self._sizes[job.min_nodes]
            self._smallest = None
        if job in self._urgent:
            self._urgent.remove(job)
            return
        position = bisect_left(self._jobs, job.order_key, key=_KEY) if self._order.static else self._jobs.index(job)
        del self._jobs[position]
