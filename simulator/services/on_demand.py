"""Life of on-demand jobs: notice, plan, time-out, arrival, completion and cancellation.

The strategies of the mechanism decide; the system carries out their actions. Source: Fan et al., IPDPS 2022, section
III-B; docs/model.md, "The six mechanisms".
"""

from __future__ import annotations

from typing import Protocol

from holdfast.policies.arrival import ArrivalStrategy
from holdfast.policies.mechanism import Mechanism
from holdfast.policies.node_return import Keep, give_back
from holdfast.policies.port import Expand, Expect, Hold, Preempt, Shrink
from holdfast.simulator.machine.cluster import Account, Kind
from holdfast.simulator.machine.job_state import JobState
from holdfast.simulator.machine.node_accounts import Gathering, Loan, Reservation, Run
from holdfast.simulator.machine.run import is_malleable
from holdfast.simulator.machine.system import System
from holdfast.simulator.options import Options
from holdfast.simulator.services.action_checks import answer_error, check_list, hold_problem, plan_problem, room_problem
from holdfast.simulator.services.resumption import keep
from holdfast.workloads.ground.errors import InvariantError

__all__ = ["OnDemandService", "Timers"]


class Timers(Protocol):
    """The clock that wakes the service when a plan or a time-out is due."""

    def plan(self, at: int, run: Run, reservation: Reservation) -> None:
        """Call :meth:`OnDemandService.carry_out` at that time."""

    def time_out(self, reservation: Reservation) -> None:
        """Call :meth:`OnDemandService.time_out` when the reservation times out."""


class OnDemandService:
    """Serves on-demand jobs by a mechanism.

    Parameters
    ----------
    system
        The machine.
    mechanism
        Notice and arrival strategy.
    timers
        Clock that wakes it.
    options
        Options on the nodes that arriving jobs may take, and on how lenders get nodes back.
    """

    def __init__(self, system: System, mechanism: Mechanism, timers: Timers, options: Options) -> None:
        self._system = system
        self._takes_reserved = options.arrival_takes == "reserved"
        self._holds_for_lenders = options.preempted_lenders == "hold"
        self._shrunk_expand = options.shrunk_lenders == "expand"
        self._on_notice = mechanism.on_notice
        arrival = mechanism.on_arrival
        self._on_arrival: ArrivalStrategy = getattr(arrival, "begin", lambda: arrival)()
        # Names of the strategies in error messages.
        self._noticing, self._arriving = f"notice strategy {mechanism.notice}", f"arrival strategy {mechanism.arrival}"
        self._timers = timers
        self._reservations: dict[int, Reservation] = {}
        self._loans: dict[int, list[Loan]] = {}
        self._gatherings: dict[int, Gathering] = {}

    def notice(self, job: JobState) -> bool:
        """Process a notice; returns whether it had an effect."""
        system = self._system
        actions = check_list(self._noticing, self._on_notice(system, job))
        held = [action for action in actions if isinstance(action, Hold)]
        if not held:
            if actions:
                raise answer_error(
                    self._noticing, actions[0], "a plan needs a reservation: the actions must include a Hold"
                )
            return False
        reservation = Reservation(job)
        count = sum(action.nodes for action in held)
        problem = hold_problem(count, system.free, reservation)
        if problem:
            raise answer_error(self._noticing, Hold(count), problem)
        self._reservations[job.job_id] = reservation
        system.log(system.now, "notice", job.job_id, 0, 0)
        system.open(reservation, count)
        for action in actions:
            run = system.runs.get(getattr(action, "job_id", -1))
            problem = plan_problem(action, run, system.now)
            if problem:
                raise answer_error(self._noticing, action, problem)
            if run is not None and isinstance(action, Expect | Preempt):
                run.plan = reservation
                reservation.planned.append(run)
                if isinstance(action, Preempt):
                    self._timers.plan(system.now if action.at is None else action.at, run, reservation)
        system.decisions.record_plan(system.now, job.job_id, actions, system.runs)
        self._timers.time_out(reservation)
        return True

    def carry_out(self, run: Run, reservation: Reservation) -> bool:
        """Carry out a planned preemption; void if its reservation or run is gone, dropped if no node is missing."""
        if not reservation.open or run.plan is not reservation or not self._system.is_preemptible(run):
            return False
        missing = reservation.missing - reservation.on_their_way
        if missing <= 0:
            run.plan = None
            self._system.decisions.record_drop(self._system.now, run.job_id, reservation.job_id)
            # A dropped preemption is not void: its reservation and run exist, so that a pass follows.
            return True
        self._system.preempt(run, f"planned for {reservation.job_id}", beneficiary=reservation)
        return True

    def time_out(self, reservation: Reservation) -> bool:
        """Close the reservation of a job that did not arrive in time; it is later treated as a job without notice."""
        if not reservation.open:
            return False
        self._system.log(self._system.now, "time-out", reservation.job_id, reservation.nodes + reservation.lent, 0)
        self._forget(reservation)
        self._system.close(reservation)
        return True

    def missing_nodes(self, job: JobState) -> int:
        """Nodes that an arriving job lacks beyond free nodes and those of its reservation; 0 or less: none."""
        reservation = self._reservations.get(job.job_id)
        own = 0
        if reservation is not None:
            own = reservation.nodes + reservation.lent + reservation.on_their_way
            own += sum(tenant.unclaimed for tenant in reservation.tenants)
        return job.nodes - self._system.free - self._takeable(reservation) - own

    def arrive(self, job: JobState) -> None:
        """Process an arrival: the job gets its nodes, or waits at the front of the queue."""
        system = self._system
        reservation = self._reservations.get(job.job_id)
        # Sum up first, before anything moves; the strategy is called only if needed.
        lacking = self.missing_nodes(job)
        room = self._on_arrival.room(system, job) if lacking > 0 else 0
        if lacking > 0:
            system.decisions.lacks(system.now, job.job_id, lacking, room)
        if room < lacking:
            system.log(system.now, "wait", job.job_id, 0, 0, "not enough nodes could be freed")
            # It is queued first, so that the nodes of its reservation become free.
            system.submit(job, urgent=True)
            if reservation is not None:
                self._forget(reservation)
                system.close(reservation)
            return
        gathering = Gathering(job, system.now)
        coming: dict[Run, int] = {}
        lenders: list[Run] = []
        if reservation is not None:
            lenders = list(reservation.coming)
            coming = self._dismiss_tenants(reservation, gathering)
            system.cluster.move(reservation, gathering, reservation.nodes, system.now)
            del self._reservations[job.job_id]
            self._loans[job.job_id] = reservation.loans
            system.close(reservation)
        missing = job.nodes - gathering.nodes
        if missing > system.free + self._takeable(None):
            for run in sorted(coming, key=lambda run: (run.end, run.job_id)):
                promised = min(coming[run], missing)
                if promised:
                    system.promise(run, gathering, promised)
                    missing -= promised
                    # A planned victim lends the nodes that are actually taken from it; a tenant does not lend.
                    if run in lenders:
                        self._lend(self._loans[job.job_id], job.job_id, Loan(run, promised, was_shrunk=False))
        missing = self._take_idle(gathering, missing)
        if missing:
            self._make_room(job, gathering, missing)
        self._launch_or_wait(gathering)

    def _takeable(self, own: Reservation | None) -> int:
        """Idle nodes of other open reservations that an arriving job may use."""
        if not self._takes_reserved:
            return 0
        return sum(item.nodes for item in self._system.reservations if item is not own)

    def _take_idle(self, gathering: Gathering, missing: int) -> int:
        """Take free nodes, then idle reserved ones if that is allowed; returns how many are still missing."""
        system = self._system
        taken = min(missing, system.free)
        system.cluster.move(system.cluster.pool, gathering, taken, system.now)
        missing -= taken
        if missing and self._takes_reserved:
            # The reservation with the latest notice has the most time to collect others; ties by id as everywhere.
            for other in sorted(system.reservations, key=lambda item: (-item.notice, item.job_id)):
                taken = min(missing, other.nodes)
                system.take(other, gathering, taken)
                missing -= taken
        return missing

    def _launch_or_wait(self, gathering: Gathering) -> None:
        system = self._system
        if gathering.awaited:
            self._gatherings[gathering.job.job_id] = gathering
            system.expected.expect_gathering(gathering)
            system.log(system.now, "gather", gathering.job.job_id, 0, gathering.nodes, "waits for nodes under warning")
        else:
            self.launch(gathering)

    def launch(self, gathering: Gathering) -> None:
        """Start an arrived job that has all its nodes."""
        system = self._system
        if gathering.nodes != gathering.job.nodes:
            raise InvariantError(
                f"on-demand job {gathering.job.job_id} gathered {gathering.nodes} nodes, not {gathering.job.nodes}"
            )
        system.expected.forget(gathering.release)
        self._gatherings.pop(gathering.job.job_id, None)
        system.start(gathering.job, [(gathering, gathering.nodes)], "arrival")

    def replace(self, gathering: Gathering) -> None:
        """Replace failed nodes of an arrived job, gathered or promised; if impossible, it waits with none."""
        system, job = self._system, gathering.job
        missing = job.nodes - gathering.nodes - gathering.promised_nodes
        lacking = missing - system.free - self._takeable(None)
        if lacking > 0 and self._on_arrival.room(system, job) < lacking:
            self.give_up(gathering, "not enough nodes could be freed")
            return
        system.expected.forget(gathering.release)
        gathering.release = None
        if job.waiting:
            system.waiting.remove(job)
        missing = self._take_idle(gathering, missing)
        if missing:
            self._make_room(job, gathering, missing)
        self._launch_or_wait(gathering)

    def give_up(self, gathering: Gathering, cause: str) -> None:
        """Move a gathering job to the front of the queue, without nodes."""
        system, job = self._system, gathering.job
        system.log(system.now, "wait", job.job_id, 0, 0, cause)
        if not job.waiting:
            system.submit(job, urgent=True)
        self._disperse(gathering)
        system.release(gathering)

    def _disperse(self, gathering: Gathering) -> None:
        """Close a gathering and cancel the promises to it."""
        expected = self._system.expected
        self._gatherings.pop(gathering.job.job_id, None)
        expected.forget(gathering.release)
        for run in gathering.awaited:
            run.claims = [claim for claim in run.claims if claim[0] is not gathering]
            expected.expect(run)

    def complete(self, run: Run) -> None:
        """Return the nodes of an ended on-demand job to the lenders, in the order of lending."""
        self._give_back(run, run.job_id)

    def is_gathering(self, job_id: int) -> bool:
        """Whether a job has arrived and waits for nodes under warning."""
        return job_id in self._gatherings

    def dissolve(self, job_id: int) -> None:
        """Cancel an arrived job that gathers its nodes: these return to the lenders."""
        gathering = self._gatherings.get(job_id)
        if gathering is None:
            self._loans.pop(job_id, None)
            return
        self._disperse(gathering)
        self._give_back(gathering, job_id)

    def withdraw_notice(self, job_id: int) -> bool:
        """Cancel a notice; void if its reservation is gone."""
        reservation = self._reservations.get(job_id)
        if reservation is None:
            return False
        self._system.log(self._system.now, "withdraw", job_id, reservation.nodes + reservation.lent, 0)
        self._forget(reservation)
        self._system.close(reservation)
        return True

    def _give_back(self, account: Account, job_id: int) -> None:
        """Return the nodes of an account to the lenders of the job, and release the rest."""
        system = self._system
        loans = self._loans.pop(job_id, [])
        waiting = {job.job_id: job for loan in loans if (job := loan.preempted) is not None}
        for action in give_back(system, loans, account.nodes, hold=self._holds_for_lenders) if loans else ():
            if isinstance(action, Keep):
                keep(system, waiting[action.job_id], account, action.nodes)
                back = action.nodes
            elif isinstance(action, Expand):
                lender = system.runs[action.job_id]
                back = action.nodes
                if not is_malleable(lender):
                    raise InvariantError(f"job {action.job_id} is not malleable and cannot expand")
                system.resize(lender, account, action.nodes, f"returned by {job_id}")
            else:
                back = action.returned
                sources = [(account, back), (system.cluster.pool, action.nodes - back)]
                system.start(waiting[action.job_id], sources, f"returned by {job_id}")
            if back:
                system.decisions.record_return(system.now, action.job_id, job_id, back)
        system.release(account)

    def _dismiss_tenants(self, reservation: Reservation, gathering: Gathering) -> dict[Run, int]:
        """Preempt the tenants; returns the nodes under warning that belong to the arrived job.

        Nodes of tenants that belong to no other reservation go to the arrived job first: those of its reservation, and
        those of lenders that are gone.
        """
        system = self._system
        system.stop_collection(reservation)
        staying = [tenant for tenant in reservation.tenants if is_malleable(tenant)]
        missing = reservation.missing + sum(reservation.tenants[tenant] for tenant in staying)
        for tenant in sorted(reservation.tenants, key=lambda run: run.job_id):
            cause = f"{reservation.job_id} arrived"
            if is_malleable(tenant):
                if not tenant.warned:
                    system.preempt(tenant, cause)
            else:
                count = min(tenant.unclaimed, missing)
                system.preempt(tenant, cause, claim=(gathering, count))
                missing -= count
        coming: dict[Run, int] = {tenant: reservation.tenants[tenant] + tenant.unclaimed for tenant in staying}
        coming.update((run, run.nodes) for run in reservation.coming)
        return coming

    def _make_room(self, job: JobState, gathering: Gathering, missing: int) -> None:
        """Let the arrival strategy free the missing nodes; the jobs that give them up become lenders."""
        system = self._system
        loans = self._loans.setdefault(job.job_id, [])
        cause = f"for {job.job_id}"
        needed, surplus = missing, Account(Kind.HELD)
        actions = check_list(self._arriving, self._on_arrival.make_room(system, job, missing))
        system.decisions.record_victims(system.now, job.job_id, actions, system.runs)
        for action in actions:
            run = system.runs.get(getattr(action, "job_id", -1))
            problem = room_problem(action, run, missing)
            if run is None or problem:
                raise answer_error(self._arriving, action, problem)
            if isinstance(action, Shrink) and is_malleable(run):
                run.job.shrinks += 1
                if action.nodes:
                    if self._shrunk_expand:
                        self._lend(loans, job.job_id, Loan(run, action.nodes, was_shrunk=True))
                    system.resize(run, gathering, -action.nodes, cause)
                    missing -= action.nodes
                if action.surplus:
                    system.resize(run, surplus, -action.surplus, f"beside what {job.job_id} takes")
            else:
                count = min(run.nodes - run.borrowed, missing)
                # A tenant does not lend.
                if not run.borrowed:
                    self._lend(loans, job.job_id, Loan(run, count, was_shrunk=False))
                system.preempt(run, cause, claim=(gathering, count))
                missing -= count
        if missing > 0:
            raise InvariantError(
                f"the {self._arriving} found {needed - missing} of the {needed} nodes that job {job.job_id} misses, "
                f"but had reported enough room"
            )
        if surplus.nodes:
            system.release(surplus)

    def _lend(self, loans: list[Loan], borrower: int, loan: Loan) -> None:
        loans.append(loan)
        self._system.decisions.lent(self._system.now, loan.job_id, borrower, loan.nodes)

    def _forget(self, reservation: Reservation) -> None:
        """Delete a reservation and its loans."""
        del self._reservations[reservation.job_id]
