"""Cancellation of jobs by their users, while waiting, running, or announced.

A waiting job leaves the queue. A running job ends: its nodes are released as after a completion, and its time is
accounted as what it was (setup, computation, checkpoints). A job under warning gives up its nodes at once, to the job
to which they are promised. Source: docs/model.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from holdfast.simulator.machine.job_state import JobState
from holdfast.simulator.machine.node_accounts import Run
from holdfast.simulator.machine.system import System
from holdfast.simulator.services.on_demand import OnDemandService
from holdfast.workloads.ground.units import to_ticks
from holdfast.workloads.table.job import JobType

__all__ = ["Reminders", "Withdrawals"]


class Reminders(Protocol):
    """The clock."""

    def withdrawal(self, at: int, job: JobState) -> None:
        """Call :meth:`Withdrawals.withdraw` at that time."""

    def update_end(self, run: Run) -> None:
        """Cancel the end event of a run that has ended early."""


class Withdrawals:
    """Cancels jobs at the times given in the job table.

    Parameters
    ----------
    jobs
        All states.
    system
        The machine.
    service
        Service of on-demand jobs; None under the baseline.
    reminders
        Clock.
    """

    def __init__(
        self, jobs: Sequence[JobState], system: System, service: OnDemandService | None, reminders: Reminders
    ) -> None:
        self._system = system
        self._service = service
        self._reminders = reminders
        # Scheduled at the submit, which a dependency may postpone; for a job that never arrives, at the notice.
        self._patience = {
            job.job_id: max(0, to_ticks(job.job.cancelled_at) - to_ticks(since))
            for job in jobs
            if job.job.cancelled_at is not None
            and (since := job.job.submit if job.job.submit is not None else job.job.notice) is not None
        }
        self._runs: dict[int, Run] = {}

    def expect(self, job: JobState) -> None:
        """Schedule the cancellation of a job at its submit, or of a notice."""
        patience = self._patience.get(job.job_id)
        if patience is not None:
            since = job.submit if job.job.submit is not None else job.notice
            self._reminders.withdrawal(max(self._system.now, since + patience), job)

    def began(self, run: Run) -> None:
        """Register a new run, which may be cancelled."""
        if run.job_id in self._patience:
            self._runs[run.job_id] = run

    def withdraw(self, job: JobState) -> bool:
        """Cancel a job; returns whether there was anything to cancel."""
        system, run = self._system, self._runs.get(job.job_id)
        if job.job.submit is None:
            return self._service is not None and self._service.withdraw_notice(job.job_id)
        if job.end is not None:
            return False
        job.withdrawn = True
        job.end = system.now
        if run is not None and not run.over:
            self._end(run)
            return True
        if job.waiting:
            system.waiting.remove(job)
            system.let_go(job)
            cause = "waits"
        elif self._service is not None and self._service.is_gathering(job.job_id):
            cause = "waits for nodes under warning"
        elif system.now < job.eligible:
            cause = "held"
        else:
            cause = "between two reservations"
        system.log(system.now, "cancel", job.job_id, 0, 0, cause)
        if self._service is not None:
            self._service.dissolve(job.job_id)
        return True

    def _end(self, run: Run) -> None:
        """End the run of a cancelled job."""
        system, service = self._system, self._service
        system.log(system.now, "cancel", run.job_id, run.nodes, 0, "under warning" if run.warned else "runs")
        if run.warned:
            system.lose_to_warning(run)
            complete = system.hand_over(run)
            if service is not None:
                for gathering in complete:
                    service.launch(gathering)
        else:
            spent = system.usage.total()
            run.abandon(system.now, system.usage)
            system.usage.withdrawn += system.usage.total() - spent
            system.leave(run)
            if service is not None and run.type is JobType.ON_DEMAND:
                service.complete(run)
            else:
                system.give_away(run)
        self._reminders.update_end(run)
