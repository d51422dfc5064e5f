"""The state of one machine (queue, runs, reservations) and every transition of it.

Policies see it as :class:`holdfast.policies.port.SystemView`; their actions change it. It has no clock of its own: the
engine sets ``now``, and the system notifies the engine, through :class:`Timing`, when a run begins or when its end
changes. Source: docs/model.md, "The six mechanisms" and "Readings that are not parameters".
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Collection, Iterable, Mapping, Sequence
from operator import attrgetter
from typing import Protocol

from holdfast.policies.order import ORDERS
from holdfast.policies.port import Window
from holdfast.simulator.machine.cluster import Account, Cluster
from holdfast.simulator.machine.decisions import Decisions
from holdfast.simulator.machine.event_log import EventLog
from holdfast.simulator.machine.expected_releases import ExpectedReleases
from holdfast.simulator.machine.fairshare import UsageLedger
from holdfast.simulator.machine.job_factory import begin_run
from holdfast.simulator.machine.job_state import JobState
from holdfast.simulator.machine.node_accounts import Gathering, Kept, Lender, Loan, Reservation, Run
from holdfast.simulator.machine.node_use import Usage
from holdfast.simulator.machine.run import JobRun, is_malleable
from holdfast.simulator.machine.stochastic import StochasticJob
from holdfast.simulator.machine.wait_queue import Queue
from holdfast.simulator.options import Options
from holdfast.workloads.ground.units import to_ticks
from holdfast.workloads.table.job import ON_DEMAND

__all__ = ["System", "Timing"]


class Timing(Protocol):
    """The engine that drives the system."""

    def began(self, run: Run) -> None:
        """Schedule the end of a new run at ``run.end``."""

    def update_end(self, run: Run) -> None:
        """Reschedule or cancel the end of a run, which has changed or ended."""

    def schedule_requeue(self, job: JobState) -> None:
        """Schedule the requeue, in this instant, of a job that has given up its nodes after a warning."""


class System:
    """The state of the machine and its transitions.

    Parameters
    ----------
    nodes
        Size of the machine.
    options
        How the machine is operated.
    log
        Event log.
    timing
        Engine that drives it.
    decisions
        Recorder of decisions; None records nothing.
    """

    def __init__(
        self, nodes: int, options: Options, log: EventLog, timing: Timing, decisions: Decisions | None = None
    ) -> None:
        self.now = 0
        self.cluster = Cluster(nodes)
        order = ORDERS[options.order]
        self.waiting = Queue(order, options.order)
        self.ledger = UsageLedger(order.half_life) if order.half_life is not None else None
        self.runs: dict[int, Run] = {}
        self.leaving: dict[int, Run] = {}
        self.reservations: list[Reservation] = []
        self.kept: dict[int, Kept] = {}
        self.expected = ExpectedReleases()
        self.releases = self.expected.entries
        self._expect = self.expected.expect
        self.windows: Sequence[Window] = ()
        self.usage = Usage()
        self.log = log
        self.warning = to_ticks(options.warning)
        self.decisions = decisions or Decisions()
        self._timing = timing

    # Interface of policies.

    @property
    def nodes(self) -> int:
        return self.cluster.nodes

    @property
    def free(self) -> int:
        return self.cluster.pool.nodes

    @property
    def queue(self) -> Sequence[JobState]:
        return self.waiting.in_order(self)

    @property
    def on_demand_waits(self) -> bool:
        return self.waiting.on_demand_waits

    @property
    def running(self) -> Collection[Run]:
        return self.runs.values()

    def group_usage(self, group: str | None) -> float:
        return self.ledger.decayed_usage(group, self.now) if self.ledger is not None else 0.0

    # Transitions.

    def submit(self, job: JobState, *, urgent: bool = False) -> None:
        """Put a job into the queue for the first time."""
        self.waiting.add(job, self.now, urgent=urgent)

    def requeue(self, job: JobState) -> None:
        """Put a preempted job into the queue again."""
        self.log(self.now, "requeue", job.job_id, 0, 0)
        self.waiting.add(job, self.now, urgent=job.type is ON_DEMAND)

    def start(
        self,
        job: JobState,
        sources: Iterable[tuple[Account, int]],
        cause: str,
        lenders: Mapping[Lender, int] | None = None,
        run: Run | None = None,
    ) -> Run:
        """Start a job on nodes of accounts; nodes of ``lenders`` are borrowed. ``run`` continues an existing run."""
        now, move = self.now, self.cluster.move
        if job.waiting:
            self.waiting.remove(job)
        if job.kept:
            self.let_go(job)
        if run is None:
            run = begin_run(job, now)
        for account, count in sources:
            move(account, run, count, now)
        if lenders:
            for lender, count in lenders.items():
                run.lenders[lender] = count
                lender.tenants[run] = count
        run.begin()
        job.runs += 1
        if job.start is None:
            job.start = run.start
        self.runs[job.job_id] = run
        if self.ledger is not None:
            self.ledger.hold(job, run.nodes, now)
        self._expect(run)
        if self.log.enabled:
            self.log(now, "start", job.job_id, 0, run.nodes, cause)
        self._timing.began(run)
        return run

    def complete(self, run: Run) -> bool:
        """Complete a run, which still holds its nodes; returns whether its job is done."""
        job = run.job
        done = run.complete(self.usage)
        self.leave(run)
        if done:
            job.end = self.now
            if self.log.enabled:
                killed = job.job.killed and job.ends_at_walltime
                self.log(self.now, "kill" if killed else "complete", job.job_id, run.nodes, 0)
        else:
            self.log(self.now, "expire", job.job_id, run.nodes, 0)
        return done

    def resubmit(self, job: StochasticJob) -> None:
        """Queue the next reservation of a job that the last one did not complete."""
        job.again(self.now)
        self.log(self.now, "submit", job.job_id, 0, 0, "next reservation")
        self.waiting.add(job, self.now)

    def preempt(
        self,
        run: Run,
        cause: str,
        claim: tuple[Gathering, int] | None = None,
        beneficiary: Reservation | None = None,
        failed: tuple[Account, int] | None = None,
    ) -> None:
        """Preempt a run: a malleable job gets a warning, others give up their nodes and are queued at once.

        Parameters
        ----------
        run
            A running job that is not under warning.
        cause
            Cause, for the event log.
        claim
            An arrived job and the number of nodes that it gets.
        beneficiary
            The reservation that planned the preemption; it gets the nodes first.
        failed
            Number of failed nodes, and their account; there is no warning then.
        """
        job, now = run.job, self.now
        job.preemptions += 1
        run.stop(now, self.usage)
        run.plan = None
        run.beneficiary = beneficiary
        if is_malleable(run) and failed is None:
            run.warned = True
            run.end = now + self.warning
            del self.runs[job.job_id]
            self.leaving[job.job_id] = run
            if beneficiary is not None:
                beneficiary.coming[run] = None
            if claim is not None:
                self.promise(run, *claim)
            else:
                self._expect(run)
            self.log(now, "warn", job.job_id, run.nodes, run.nodes, cause)
        else:
            self.log(now, "preempt", job.job_id, run.nodes, 0, cause)
            if failed is not None:
                self.cluster.move(run, *failed, now)
            if claim is not None:
                self.cluster.move(run, *claim, now)
            self.leave(run)
            self.give_away(run)
            self.requeue(job)
        self._timing.update_end(run)

    def promise(self, run: Run, gathering: Gathering, count: int) -> None:
        """Promise nodes of a run under warning to an arrived job."""
        run.claims.append((gathering, count))
        gathering.awaited.append(run)
        gathering.ready = max(gathering.ready, run.end)
        self._expect(run)

    def vacate(self, run: Run) -> list[Gathering]:
        """End a warning and give up the nodes; returns the arrived jobs that now have all their nodes."""
        self.lose_to_warning(run)
        self.log(self.now, "preempt", run.job_id, run.nodes, 0, "warning over")
        complete = self.hand_over(run)
        self._timing.schedule_requeue(run.job)
        return complete

    def end_warning(self, run: Run) -> None:
        """End the warning of a run early, since it has no nodes left."""
        self.vacate(run)
        self._timing.update_end(run)

    def lose_to_warning(self, run: Run) -> None:
        """Book the time of a run under warning."""
        self.usage.lose_to_warning(run.job, run.nodes * (self.warning - run.end + self.now), self.now)

    def hand_over(self, run: Run) -> list[Gathering]:
        """End a run under warning, hand over its promised nodes, and return the jobs that now have all their nodes."""
        complete = []
        for gathering, count in run.claims:
            self.cluster.move(run, gathering, count, self.now)
            gathering.awaited.remove(run)
            if not gathering.awaited:
                complete.append(gathering)
        self.leave(run)
        self.give_away(run)
        return complete

    def resize(self, run: JobRun, other: Account, change: int, cause: str) -> None:
        """Give ``-change`` nodes of a run to another account, or take ``change`` from it."""
        before = run.nodes
        run.settle(self.now)
        if change < 0:
            self.cluster.move(run, other, -change, self.now)
        else:
            self.cluster.move(other, run, change, self.now)
        run.update_ends(self.now)
        if self.ledger is not None:
            self.ledger.hold(run.job, run.nodes, self.now)
        self._expect(run)
        self.log(self.now, "shrink" if change < 0 else "expand", run.job_id, before, run.nodes, cause)
        self._timing.update_end(run)

    def give_away(self, run: Run) -> None:
        """Distribute the nodes of an ended run: lenders get theirs back, a planned victim's go to its reservation."""
        if run.lenders:
            for lender, count in run.lenders.items():
                del lender.tenants[run]
                self.reserve(lender, run, count)
        beneficiary = run.beneficiary
        if beneficiary is not None:
            beneficiary.coming.pop(run, None)
            # Break the reference cycle: the loan refers to the run.
            run.beneficiary = None
            taken = min(run.nodes, beneficiary.missing)
            if taken:
                self.reserve(beneficiary, run, taken)
                beneficiary.loans.append(Loan(run, taken, was_shrunk=False))
                self.decisions.lent(self.now, run.job_id, beneficiary.job_id, taken)
        if self.reservations:
            self.release(run)
        else:
            cluster = self.cluster
            cluster.move(run, cluster.pool, run.nodes, self.now)

    def release(self, source: Account) -> None:
        """Release all nodes of an account to open reservations, earliest notice first, then to the free pool."""
        if self.reservations and not self.waiting.on_demand_waits:
            for reservation in self.reservations:
                if not source.nodes:
                    return
                self.reserve(reservation, source, min(source.nodes, reservation.missing))
        self.cluster.move(source, self.cluster.pool, source.nodes, self.now)

    def open(self, reservation: Reservation, count: int) -> None:
        """Open a reservation with ``count`` free nodes."""
        insort(self.reservations, reservation, key=attrgetter("age"))
        self.reserve(reservation, self.cluster.pool, count)

    def stop_collection(self, reservation: Reservation) -> None:
        """Stop assigning released nodes to a reservation and end its plan."""
        self.reservations.remove(reservation)
        for run in reservation.planned:
            if run.plan is reservation:
                run.plan = None
        reservation.planned.clear()

    def close(self, reservation: Reservation) -> None:
        """Close a reservation: idle nodes are released, and tenants and planned victims are detached from it."""
        if reservation in self.reservations:
            self.stop_collection(reservation)
        reservation.open = False
        self.dismiss_tenants(reservation)
        for run in reservation.coming:
            run.beneficiary = None
        reservation.coming.clear()
        self.release(reservation)

    def dismiss_tenants(self, lender: Lender) -> None:
        """Turn the tenants of a lender into ordinary jobs."""
        for run in lender.tenants:
            del run.lenders[lender]
            self._expect(run)
        lender.tenants.clear()

    def reserve(self, lender: Lender, source: Account, count: int) -> None:
        """Reserve nodes of an account for a lender."""
        if count:
            before = lender.nodes + lender.lent
            self.cluster.move(source, lender, count, self.now)
            self.log(self.now, "reserve", lender.job_id, before, lender.nodes + lender.lent)

    def take(self, lender: Lender, gathering: Gathering, count: int) -> None:
        """Give idle nodes that are reserved for another job to an arrived job."""
        if count:
            before = lender.nodes + lender.lent
            self.cluster.move(lender, gathering, count, self.now)
            cause = f"taken by {gathering.job.job_id}"
            self.log(self.now, "reserve", lender.job_id, before, lender.nodes + lender.lent, cause)

    def let_go(self, job: JobState) -> None:
        """Release the nodes that are held for a job."""
        held = self.kept.pop(job.job_id, None)
        job.kept = 0
        if held is not None:
            self.log(self.now, "reserve", job.job_id, held.nodes, 0, "released")
            self.release(held)

    def leave(self, run: Run) -> None:
        """Remove an ended run, which still holds its nodes, from the running ones."""
        run.over = True
        run.plan = None
        del (self.leaving if run.warned else self.runs)[run.job_id]
        self.expected.forget(run.release)
        run.release = None
        if self.ledger is not None:
            self.ledger.hold(run.job, 0, self.now)

    def is_preemptible(self, run: Run) -> bool:
        """Whether a run has not ended, may be preempted, and is not under warning."""
        return not run.over and not run.warned and run.type is not ON_DEMAND
