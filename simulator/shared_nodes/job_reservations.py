"""The reservations of stochastic jobs on shared nodes, one after another (docs/model.md, "Stochastic jobs")."""

from __future__ import annotations

from time import perf_counter
from typing import TYPE_CHECKING

from holdfast.simulator.machine.stochastic import StochasticJob
from holdfast.simulator.resources.queue_keys import MachineQueue
from holdfast.simulator.shared_nodes.shared_job import SharedJob
from holdfast.simulator.shared_nodes.state import SharedMachine
from holdfast.workloads.ground.errors import InputError, InvariantError
from holdfast.workloads.ground.units import SECOND, duration_text, to_seconds, to_ticks

if TYPE_CHECKING:
    from holdfast.policies.planning.plan_book import PlanBook

__all__ = ["JobReservations"]


class JobReservations:
    """Plans stochastic jobs, and asks for their next reservations.

    Parameters
    ----------
    book
        The plans; None: there are no such jobs.
    machine
        The machine.
    queue
        The queue order, which sees the walltime of the present request.

    Attributes
    ----------
    planning_seconds
        Wall-clock time of the planning.
    """

    def __init__(self, book: PlanBook | None, machine: SharedMachine, queue: MachineQueue) -> None:
        self._book, self._machine, self._queue = book, machine, queue
        self.planning_seconds = 0.0

    def plan(self, job: SharedJob, state: StochasticJob) -> None:
        """Plan a job that enters the queue for the first time.

        Raises
        ------
        InputError
            If its request is longer than its partition allows.
        """
        if self._book is None:
            raise InvariantError(f"job {job.job_id} is stochastic, but the simulation has no planner")
        began = perf_counter()
        state.plan(self._book)
        self.planning_seconds += perf_counter() - began
        self._note_request(job, state)

    def ask_again(self, job: SharedJob) -> bool:
        """Put a job into the queue with its next request; returns whether it was not cancelled meanwhile."""
        state = job.state
        if state.withdrawn or not isinstance(state, StochasticJob):
            return False
        state.again(self._machine.now)
        self._note_request(job, state)
        self._machine.enqueue(job)
        return True

    def complete(self, state: StochasticJob) -> None:
        """Record the runtime of a completed job for later plans."""
        if self._book is not None:
            self._book.record_completion(state.application, state.truth.runtime / SECOND)

    def _note_request(self, job: SharedJob, state: StochasticJob) -> None:
        self._queue.submit(state.row, state.submit, state.eligible, state.walltime)
        partitions = self._machine.table.machine.partitions
        for need in job.demand.options:
            longest = partitions[need.partition].max_time
            if longest is not None and state.walltime > to_ticks(longest):
                name, asked = partitions[need.partition].name, duration_text(to_seconds(state.walltime))
                raise InputError(
                    f"job {job.job_id} must ask for at most {duration_text(longest)}, the longest walltime of "
                    f"partition {name}, and its plan asks for {asked}"
                )
