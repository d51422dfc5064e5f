"""Advance notices on shared nodes: reservations, their plans, planned preemptions and time-outs.

Source: Fan et al., IPDPS 2022, section III-B.1; docs/reference/machines.md, rule 7.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence

from holdfast.policies.node_cost import Candidate, VictimSet, cheapest_victims
from holdfast.policies.port import TOLERANCE
from holdfast.simulator.shared_nodes.demand import Amounts
from holdfast.simulator.shared_nodes.occupants import PartReservation, SharedRun
from holdfast.simulator.shared_nodes.reservations import ReservationBook
from holdfast.simulator.shared_nodes.shared_job import SharedJob
from holdfast.simulator.shared_nodes.state import SharedMachine
from holdfast.workloads.table.job import ON_DEMAND

__all__ = ["NoticeService"]


class NoticeService:
    """Serves notices by CUA or CUP.

    Parameters
    ----------
    machine
        The machine.
    book
        Its reservations.
    plans
        Whether a plan is made (CUP).
    plan_at
        Calls :meth:`carry_out` at a time.
    """

    def __init__(
        self,
        machine: SharedMachine,
        book: ReservationBook,
        *,
        plans: bool,
        plan_at: Callable[[int, SharedRun, PartReservation], None],
    ) -> None:
        self._machine, self._book, self._plans, self._plan_at = machine, book, plans, plan_at

    def notice(self, job: SharedJob) -> PartReservation:
        """Open a reservation."""
        reservation = self._book.open(job)
        if self._plans:
            _Planning(self._machine, self._book, reservation, self._plan_at).plan()
        return reservation

    def time_out(self, reservation: PartReservation) -> bool:
        """Close the reservation of a job that did not arrive in time; void if it is closed."""
        if reservation.open:
            self._book.release(self._book.close(reservation))
            return True
        return False

    def carry_out(self, run: SharedRun, reservation: PartReservation) -> bool:
        """Carry out a planned preemption; void if its run or reservation is gone, dropped if no node is missing."""
        machine, book = self._machine, self._book
        if not reservation.open or not run.running:
            return False
        reservation.plan.remove(run)
        if book.missing_nodes(reservation) <= len(book.coming_nodes(reservation)):
            return True
        machine.preempt(run, f"as planned for {reservation.job.job_id}")
        if run.malleable:
            run.beneficiary = reservation
        else:
            book.take(reservation, run)
            book.release(run.taken)
        return True


class _Planning:
    """The plan of a reservation: releases that walltimes promise, then preemptions on the cheapest nodes."""

    def __init__(
        self,
        machine: SharedMachine,
        book: ReservationBook,
        reservation: PartReservation,
        plan_at: Callable[[int, SharedRun, PartReservation], None],
    ) -> None:
        self._machine, self._reservation, self._plan_at = machine, reservation, plan_at
        self._job = reservation.job
        self._arrival = max(machine.now, self._job.estimated_arrival)
        self._gap = book.missing_nodes(reservation)
        planned = {run for item in machine.reservations.values() for run in item.plan}
        self._known = [
            run for run in machine.runs.values() if run.running and run not in planned and not machine.borrows(run)
        ]
        #: What leaves each node by the plan, and the nodes that will have room then.
        self._leaving: dict[int, list[Amounts]] = defaultdict(list)
        self._counted: set[int] = set()

    def plan(self) -> None:
        """Make the plan."""
        due = self._arrival + TOLERANCE
        for run in sorted(self._known, key=lambda run: (run.expected_end, run.job_id)):
            if self._gap <= 0 or run.expected_end > due:
                break
            if any(self._is_open(node) for node in run.taken):
                self._add([run])
        while self._gap > 0:
            choices = [
                (*found, node)
                for node in self._job.demand.suitable
                if self._is_open(node) and (found := self._cost(node)) is not None
            ]
            if not choices:
                return
            _, job_ids, _ = min(choices)
            victims = [self._machine.runs[job_id] for job_id in job_ids]
            self._add(victims)
            for run in victims:
                self._plan_at(self._preemption(run)[1], run, self._reservation)

    def _is_open(self, node: int) -> bool:
        """Whether a suitable node is neither held nor counted."""
        job = self._job
        machine = self._machine
        known = node in self._counted or node in machine.job_holds(job)
        return job.demand.suits(node) and not known and not machine.closures.closes(job, node)

    def _add(self, runs: Sequence[SharedRun]) -> None:
        """Put runs into the plan, and count the nodes that will have room."""
        self._reservation.plan.extend(runs)
        for run in runs:
            for node, part in run.taken.items():
                self._leaving[node].append(part)
        for node in sorted({node for run in runs for node in run.taken}):
            if self._gap > 0 and self._is_open(node) and self._machine.covers(self._job, node, self._leaving[node]):
                self._counted.add(node)
                self._gap -= 1

    def _cost(self, node: int) -> VictimSet | None:
        """The cheapest planned preemptions that make room on a node; None: there are none, or it has room already."""
        lacking = list(self._job.demand.part(node))
        for part in (self._machine.free[node].tolist(), *self._leaving[node]):
            lacking = [amount - have for amount, have in zip(lacking, part, strict=True)]
        if all(amount <= 0 for amount in lacking):
            return None
        due = self._arrival + TOLERANCE
        candidates = [
            Candidate(self._preemption(run)[0], run.job_id, run.taken[node])
            for run in self._known
            if node in run.taken
            and run.job.type is not ON_DEMAND
            and run.expected_end > due
            and run not in self._reservation.plan
        ]
        return cheapest_victims(candidates, lacking)

    def _preemption(self, run: SharedRun) -> tuple[int, int]:
        """The planned overhead of a run [unit-ticks], and the time of its preemption."""
        machine, arrival, job = self._machine, self._arrival, run.job
        if run.malleable:
            return run.units * job.setup, max(machine.now, arrival - machine.warning)
        if job.period:
            ready = run.start + job.setup
            cycles = (arrival - ready) // job.period
            # Only the period is used: the actual number of checkpoints depends on the runtime, which is not known.
            checkpointed = ready + cycles * job.period
            if cycles >= 1 and checkpointed >= machine.now:
                return run.units * job.setup, checkpointed
        return run.loss(arrival), arrival
