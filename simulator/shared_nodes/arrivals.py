"""Arrivals of on-demand jobs on shared nodes.

Source: Fan et al., IPDPS 2022, section III-B.2; docs/reference/machines.md, rule 7.
"""

from __future__ import annotations

from holdfast.simulator.shared_nodes.limits import LimitBook
from holdfast.simulator.shared_nodes.node_collection import NodeCollection
from holdfast.simulator.shared_nodes.occupants import PartGathering, PartLoan, PartReservation
from holdfast.simulator.shared_nodes.reservations import ReservationBook
from holdfast.simulator.shared_nodes.shared_job import SharedJob
from holdfast.simulator.shared_nodes.state import SharedMachine
from holdfast.workloads.ground.errors import InvariantError
from holdfast.workloads.table.job import ON_DEMAND

__all__ = ["ArrivalService"]


class ArrivalService:
    """Serves arriving on-demand jobs.

    Parameters
    ----------
    machine
        The machine.
    book
        Its reservations.
    shrinks
        Whether malleable jobs are shrunk first (SPAA).
    loans
        By the id of a running on-demand job, what others have given up for it.
    limits
        Limits on running jobs.
    """

    def __init__(
        self,
        machine: SharedMachine,
        book: ReservationBook,
        *,
        shrinks: bool,
        loans: dict[int, list[PartLoan]],
        limits: LimitBook,
    ) -> None:
        self._machine, self._book, self._shrinks, self._loans, self._limits = machine, book, shrinks, loans, limits

    def arrive(self, job: SharedJob) -> None:
        """Give an arriving job its nodes, or let it wait at the front of the queue."""
        machine, book = self._machine, self._book
        own = machine.reservations.get(job.job_id)
        limited = self._limits.stops_request(job, job.demand.options[0], job.demand.parts) is not None
        if limited or not job.served or self._attainable(job, own) < job.demand.parts:
            machine.enqueue(job)
            if own is not None:
                book.close(own)
            return
        arrival = NodeCollection(machine, book, job, own)
        arrival.dismiss_tenants()
        self._collect(job, arrival)

    def _collect(self, job: SharedJob, arrival: NodeCollection) -> None:
        """Let a job that will get its nodes take them."""
        machine, book = self._machine, self._book
        arrival.take_reserved_and_free()
        if self._shrinks:
            arrival.shrink()
        arrival.preempt()
        book.release(arrival.released)
        guests = [guest for hold in machine.job_holds(job).values() for guest in hold.guests]
        ready = max((guest.release for guest in guests), default=machine.now)
        gathering = PartGathering(job, arrival.loans, ready, arrival.sources)
        if guests:
            machine.gatherings[job.job_id] = gathering
        else:
            self.launch(gathering)

    def replace(self, job: SharedJob) -> None:
        """Replace nodes that an arrived job has lost by a failure; if that is impossible, it waits with none."""
        if not job.served or self._attainable(job, None) < job.demand.parts:
            self.give_up(job)
            return
        arrival = NodeCollection(self._machine, self._book, job, None)
        arrival.loans = self._loans.pop(job.job_id, [])
        self._collect(job, arrival)

    def give_up(self, job: SharedJob) -> None:
        """Move an arrived job to the front of the queue, without nodes; what it has borrowed is returned later."""
        machine, nodes = self._machine, list(self._machine.job_holds(job))
        for node in nodes:
            machine.drop(machine.job_holds(job)[node])
        machine.holds.pop(job.job_id, None)
        machine.enqueue(job)
        self._book.release(nodes)

    def launch_complete(self) -> None:
        """Start the arrived jobs that no longer wait for a run to leave."""
        for gathering in list(self._machine.gatherings.values()):
            if not any(hold.guests for hold in self._machine.job_holds(gathering.job).values()):
                del self._machine.gatherings[gathering.job.job_id]
                self.launch(gathering)

    def launch(self, gathering: PartGathering) -> None:
        """Start an arrived job that has all its nodes."""
        machine, job = self._machine, gathering.job
        nodes = sorted(machine.job_holds(job))
        if len(nodes) != job.demand.parts:
            raise InvariantError(f"on-demand job {job.job_id} has {len(nodes)} nodes, not {job.demand.parts}")
        for node in nodes:
            machine.drop(machine.job_holds(job)[node])
        del machine.holds[job.job_id]
        self._loans[job.job_id] = gathering.loans
        taken = {node: job.demand.part(node, last=node == nodes[-1]) for node in nodes}
        machine.start(job, job.demand.options[0], taken, len(nodes), gathering.sources)
        self._book.release(nodes)

    def _attainable(self, job: SharedJob, own: PartReservation | None) -> int:
        """Nodes that a job could have in all: held, free, coming, and those of jobs that may be preempted."""
        machine = self._machine
        tenants = {run for hold in machine.job_holds(job).values() for run in hold.guests}
        room = set(machine.nodes_with_room(job))
        count = len(machine.job_holds(job)) + len(room)
        for node, runs in machine.runs_by_node().items():
            if node in room:
                continue
            parts = [
                run.taken[node]
                for run in runs
                if run.is_ordinary(node)
                and (
                    (own is not None and (run.beneficiary is own or run in tenants))
                    or (run.running and run.job.type is not ON_DEMAND)
                )
            ]
            count += machine.covers(job, node, parts)
        return count
