"""Lives of jobs on shared nodes: cancellations by users, and jobs that depend on others.

Source: docs/model.md, "Life of jobs".
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence

from holdfast.simulator.shared_nodes.arrivals import ArrivalService
from holdfast.simulator.shared_nodes.occupants import PartLoan, SharedRun
from holdfast.simulator.shared_nodes.reservations import ReservationBook
from holdfast.simulator.shared_nodes.returns import ReturnService
from holdfast.simulator.shared_nodes.shared_job import SharedJob
from holdfast.simulator.shared_nodes.state import SharedMachine
from holdfast.workloads.ground.units import to_ticks

__all__ = ["LifeService"]


class LifeService:
    """Cancels jobs, and submits those that depend on a job that has ended.

    Parameters
    ----------
    machine
        The machine.
    book
        Its reservations.
    arrivals, returns
        Services of on-demand jobs.
    jobs
        All jobs, in the order of the table.
    loans
        By the id of an on-demand job, what others have given up for it.
    submit_at
        Submits a job at a time.
    """

    def __init__(
        self,
        machine: SharedMachine,
        book: ReservationBook,
        arrivals: ArrivalService,
        returns: ReturnService,
        jobs: Sequence[SharedJob],
        loans: dict[int, list[PartLoan]],
        submit_at: Callable[[int, SharedJob], None],
    ) -> None:
        self._machine, self._book, self._arrivals, self._returns = machine, book, arrivals, returns
        self._loans, self._submit_at = loans, submit_at
        self._followers: dict[int, list[SharedJob]] = defaultdict(list)
        self.patience: dict[int, int] = {}
        for job in jobs:
            given = job.state.job
            if given.preceding is not None:
                self._followers[given.preceding].append(job)
            since = given.submit if given.submit is not None else given.notice
            if given.cancelled_at is not None and since is not None:
                self.patience[job.job_id] = max(0, to_ticks(given.cancelled_at) - to_ticks(since))

    def follow(self, job: SharedJob) -> None:
        """Submit the jobs that depend on one that has ended: after their think time, or not before their submit."""
        now = self._machine.now
        for other in self._followers.get(job.job_id, ()):
            state, think = other.state, other.state.job.think_time
            at = max(now, state.submit) if think is None else now + to_ticks(think)
            state.eligible = state.first_eligible = max(at, state.eligible) if state.eligible > state.submit else at
            state.submit = state.first_submit = state.estimated_arrival = at
            self._submit_at(at, other)

    def cancel(self, job: SharedJob) -> bool:
        """Cancel a job, or a notice; returns whether there was anything to cancel."""
        machine, state = self._machine, job.state
        if state.job.submit is None:
            reservation = machine.reservations.get(job.job_id)
            if reservation is not None:
                self._book.release(self._book.close(reservation))
            return reservation is not None
        if state.end is not None:
            return False
        state.withdrawn, state.end = True, machine.now
        run = machine.runs.get(job.job_id)
        if run is not None:
            self._end(run)
        elif job.job_id in machine.gatherings:
            self._dissolve(job)
        else:
            job.waits.pass_to(machine.now)
            machine.waiting.pop(job.job_id, None)
            state.waiting = False
            job.gone = True
        self.follow(job)
        return True

    def _end(self, run: SharedRun) -> None:
        """End the run of a cancelled job."""
        machine, usage = self._machine, self._machine.usage
        if not run.running:
            self.leave_after_warning(run)
            return
        spent = usage.total()
        run.abandon(machine.now, usage)
        usage.withdrawn += usage.total() - spent
        machine.leave(run)
        if machine.jobs[run.job_id].on_demand:
            self._returns.give_back(run.job_id, dict(run.taken))
        else:
            self._book.release(run.taken)

    def leave_after_warning(self, run: SharedRun) -> None:
        """Let a run under warning leave its nodes to those that wait for them."""
        machine, reservation = self._machine, run.beneficiary
        machine.end_warning(run)
        if reservation is not None:
            self._book.take(reservation, run)
        self._book.release(run.taken)
        self._arrivals.launch_complete()

    def _dissolve(self, job: SharedJob) -> None:
        """Return the nodes of a job that waits for others under warning to those that lent them."""
        machine = self._machine
        gathering = machine.gatherings.pop(job.job_id)
        holds = list(machine.job_holds(job).values())
        left = {hold.node: hold.part for hold in holds if not hold.guests}
        for hold in holds:
            machine.drop(hold)
        del machine.holds[job.job_id]
        self._loans[job.job_id] = gathering.loans
        self._returns.give_back(job.job_id, left)
        job.gone = True
