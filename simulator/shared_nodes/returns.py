"""Returns: the nodes of a completed on-demand job go back to those that lent them.

Source: Fan et al., IPDPS 2022, section III-B.3; docs/reference/machines.md, rule 7.
"""

from __future__ import annotations

from collections.abc import Sequence

from holdfast.simulator.shared_nodes.demand import Amounts
from holdfast.simulator.shared_nodes.limits import LimitBook
from holdfast.simulator.shared_nodes.occupants import PartLoan, SharedRun
from holdfast.simulator.shared_nodes.reservations import ReservationBook
from holdfast.simulator.shared_nodes.state import SharedMachine

__all__ = ["ReturnService"]


class ReturnService:
    """Returns nodes to lenders, in the order of lending; the rest is released.

    Parameters
    ----------
    machine
        The machine.
    book
        Its reservations.
    loans
        By the id of a running on-demand job, what others have given up for it.
    limits
        Limits on running jobs.
    """

    def __init__(
        self, machine: SharedMachine, book: ReservationBook, loans: dict[int, list[PartLoan]], limits: LimitBook
    ) -> None:
        self._machine, self._book, self._loans, self._limits = machine, book, loans, limits

    def give_back(self, job_id: int, left: dict[int, Amounts]) -> None:
        """Return what an on-demand job has left of each node.

        A part that is not yet given back is kept from all others.
        """
        machine, nodes = self._machine, list(left)
        for node, part in left.items():
            machine.withhold(node, part)
        for loan in self._loans.pop(job_id, []):
            lent = [node for node in loan.nodes if node in left]
            if loan.moved:
                lent = sorted(left, key=lambda node: (node not in loan.nodes, node))[: len(loan.nodes)]
            for node in lent:
                machine.withhold(node, left[node], give=True)
            used = self._expand(loan, lent, job_id) if loan.parts is not None else self._resume(loan, lent, job_id)
            for node in lent:
                if node in used:
                    del left[node]
                else:
                    machine.withhold(node, left[node])
        for node, part in left.items():
            machine.withhold(node, part, give=True)
        self._book.release(nodes)

    def _expand(self, loan: PartLoan, lent: list[int], job_id: int) -> list[int]:
        """Expand a shrunk run by the nodes that it lent, as far as they have room again."""
        machine, run = self._machine, loan.run
        if not run.running or loan.parts is None:
            return []
        back: dict[int, tuple[int, ...]] = {}
        closed = machine.closures.closed_nodes(machine.jobs[run.job_id], machine.now, run.expected_end)
        for node in lent:
            part = loan.parts.get(node) or _equal_part(run, node, machine.capacities[node].tolist())
            if node in closed or part is None:
                continue
            room = all(have >= amount for have, amount in zip(machine.free[node].tolist(), part, strict=True))
            if run.size + len(back) < run.job.largest and room:
                back[node] = part
        if back:
            machine.resize(run, run.taken | back, f"returned by {job_id}")
        return list(back)

    def _resume(self, loan: PartLoan, lent: list[int], job_id: int) -> list[int]:
        """Resume a preempted job that waits, on the nodes that it lent and on free ones."""
        machine, job = self._machine, self._machine.jobs[loan.run.job_id]
        state = job.state
        if not state.waiting or state.runs != loan.run.number:
            return []
        for need in job.demand.options:
            for size in range(state.nodes, state.min_nodes - 1, -1):
                closed = machine.closures.closed_nodes(job, machine.now, machine.now + state.limit(size))
                room = machine.closures.room(machine.free, closed)
                taken = machine.placer.place(job.demand.resize(need, size), room, lent)
                if taken is not None and self._limits.stops(job, need, taken) is None:
                    machine.start(job, need, taken, size, f"returned by {job_id}")
                    return [node for node in lent if node in taken]
        return []


def _equal_part(run: SharedRun, node: int, capacity: Sequence[int]) -> Amounts | None:
    """What a run takes of a further node; None: it cannot have it."""
    if node in run.taken or node not in run.need.eligible:
        return None
    return tuple(capacity) if run.need.exclusive else run.need.vector
