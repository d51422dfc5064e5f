"""Open reservations: how they collect nodes, give them up, and let tenants run on them.

Source: Fan et al., IPDPS 2022, section III-B.1; docs/reference/machines.md, rule 7.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from holdfast.simulator.shared_nodes.occupants import PartLoan, PartReservation, SharedRun
from holdfast.simulator.shared_nodes.shared_job import SharedJob
from holdfast.simulator.shared_nodes.state import SharedMachine

__all__ = ["ReservationBook"]


class ReservationBook:
    """The open reservations of a machine.

    Parameters
    ----------
    machine
        The machine.
    """

    def __init__(self, machine: SharedMachine) -> None:
        self._machine = machine

    def by_notice(self) -> list[PartReservation]:
        """Open reservations, earliest notice first."""
        found = self._machine.reservations.values()
        return sorted(found, key=lambda item: (item.notice, item.job.job_id)) if found else []

    @property
    def on_demand_waits(self) -> bool:
        """Whether an on-demand job is in the queue: reservations then collect nothing."""
        return any(job.on_demand for job in self._machine.waiting.values())

    def missing_nodes(self, reservation: PartReservation) -> int:
        """Nodes that a reservation still misses."""
        return reservation.job.demand.parts - len(self._machine.job_holds(reservation.job))

    def open(self, job: SharedJob) -> PartReservation:
        """Open a reservation, and let it hold the nodes that have room for a part of the job."""
        machine = self._machine
        reservation = PartReservation(job, job.state.notice)
        machine.reservations[job.job_id] = reservation
        if not self.on_demand_waits:
            room = machine.placer.sort(machine.nodes_with_room(job), machine.free)
            for node in room[: self.missing_nodes(reservation)]:
                machine.hold(job, node)
        return reservation

    def release(self, nodes: Collection[int]) -> None:
        """Something was released on nodes: open reservations collect those that have room for their parts."""
        machine = self._machine
        if not machine.reservations or self.on_demand_waits:
            return
        for reservation in self.by_notice():
            self._collect(reservation, nodes)

    def take(self, reservation: PartReservation, run: SharedRun) -> None:
        """Let a reservation collect nodes that its planned victim has left; the victim becomes a lender."""
        taken = self._collect(reservation, run.taken)
        if taken:
            reservation.loans.append(PartLoan(run, taken))

    def _collect(self, reservation: PartReservation, nodes: Iterable[int]) -> list[int]:
        machine, job = self._machine, reservation.job
        taken: list[int] = []
        missing = self.missing_nodes(reservation)
        for node in sorted(nodes):
            if len(taken) < missing and machine.covers(job, node):
                machine.hold(job, node)
                taken.append(node)
        return taken

    def close(self, reservation: PartReservation) -> list[int]:
        """Close a reservation: tenants become ordinary, loans are void; returns the nodes that it held."""
        machine, job = self._machine, reservation.job
        self.forget(reservation)
        nodes = list(machine.job_holds(job))
        for hold in list(machine.job_holds(job).values()):
            machine.drop(hold)
        machine.holds.pop(job.job_id, None)
        return nodes

    def forget(self, reservation: PartReservation) -> None:
        """End a reservation, the holds of which belong to the arrived job from now on."""
        reservation.open = False
        del self._machine.reservations[reservation.job.job_id]
        for run in self._machine.runs.values():
            if run.beneficiary is reservation:
                run.beneficiary = None

    def coming_nodes(self, reservation: PartReservation) -> list[int]:
        """Nodes that its planned victims under warning will make available to a reservation."""
        machine = self._machine
        victims = [run for run in machine.runs.values() if run.beneficiary is reservation]
        nodes = sorted({node for run in victims for node in run.taken})
        return [
            node
            for node in nodes
            if machine.covers(reservation.job, node, [run.taken[node] for run in victims if run.is_ordinary(node)])
        ]
