"""Scheduler and job submission for interactive simulations, which stop the clock and ask their driver for decisions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from holdfast.policies.port import WaitingJob
from holdfast.simulator.clock.decision_request import Asking
from holdfast.simulator.clock.event_loop import ARRIVAL, Moment
from holdfast.simulator.clock.scheduling import Scheduler
from holdfast.simulator.clock.submissions import Submissions
from holdfast.simulator.machine.job_state import JobState
from holdfast.simulator.machine.system import System
from holdfast.workloads.ground.errors import InvariantError

__all__ = ["AskingScheduler", "AskingSubmissions"]


class _Led:
    """The system with a different queue order."""

    def __init__(self, system: System, queue: Sequence[WaitingJob]) -> None:
        self._system = system
        self.queue = queue

    def __getattr__(self, name: str) -> Any:
        return getattr(self._system, name)


class AskingScheduler(Scheduler):
    """A scheduler that requests the job to go first whenever two or more wait and one of them fits.

    The chosen job starts if it fits, and the next choice is requested. Otherwise it becomes the first of the queue for
    this pass, and the backfilling rule continues from there. If the first job is always chosen, the passes are those of
    :class:`~holdfast.simulator.clock.scheduling.Scheduler`.
    """

    def __init__(self, *arguments: Any, asking: Asking) -> None:
        super().__init__(*arguments)
        self._asking = asking

    def pass_once(self) -> None:
        waiting = self._system.waiting
        if waiting.jobs > 1 and self._system.free >= waiting.sizes.smallest():
            self._asking.ask()
        else:
            super().pass_once()

    def answer(self, place: int) -> None:
        """Continue the pass: the job at this place of the queue goes first."""
        system, pool = self._system, self._system.cluster.pool
        queue = system.queue
        job = queue[place]
        self._asking.pending = False
        if job.nodes <= pool.nodes:
            # As under every rule, the first job starts if it fits.
            system.start(job, ((pool, job.nodes),), "in order")
            self.pass_once()
            return
        view: Any = system if place == 0 else _Led(system, (job, *queue[:place], *queue[place + 1 :]))
        for start in self._backfill(view):
            system.start(self._check_start(start, pool.nodes, self._rule), ((pool, start.nodes),), start.cause)


class AskingSubmissions(Submissions):
    """Submissions that request a decision before they submit certain jobs."""

    def __init__(self, *arguments: Any, asking: Asking) -> None:
        super().__init__(*arguments)
        self._asking = asking
        self._cause = ""
        self._was_held = False

    def answer(self) -> None:
        """Submit the job of the pending request."""
        asking = self._asking
        job = asking.job
        if job is None:
            raise InvariantError("no decision about a job is pending")
        asking.pending, asking.job = False, None
        # Nothing has happened since the request.
        self._instants.moment(self._system.now, ARRIVAL, job.rank, self._let_arrive, job)

    def _let_arrive(self, moment: Moment) -> None:
        super()._arrive(moment.subject, self._cause, held=self._was_held)

    def _arrive(self, job: JobState, cause: str = "", *, held: bool = False) -> None:
        asking = self._asking
        if asking.about is not None and asking.about(job):
            self._instants.void, self._cause, self._was_held = True, cause, held
            asking.ask(job)
        else:
            super()._arrive(job, cause, held=held)
