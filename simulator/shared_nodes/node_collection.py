"""How one arriving on-demand job gets its nodes: reserved, free and coming ones, then by PAA or SPAA.

Source: Fan et al., IPDPS 2022, section III-B.2; docs/reference/machines.md, rule 7.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from holdfast.policies.arrival import even_shares
from holdfast.policies.node_cost import Candidate, VictimSet, cheapest_victims
from holdfast.simulator.shared_nodes.occupants import Hold, PartLoan, PartReservation, SharedRun
from holdfast.simulator.shared_nodes.reservations import ReservationBook
from holdfast.simulator.shared_nodes.shared_job import SharedJob
from holdfast.simulator.shared_nodes.state import SharedMachine
from holdfast.workloads.ground.errors import InvariantError
from holdfast.workloads.table.job import ON_DEMAND

__all__ = ["NodeCollection"]


class NodeCollection:
    """One arrival that will get its nodes.

    Attributes
    ----------
    loans
        What jobs have given up for it.
    released
        Nodes on which something was released; others get what is left there when the job has all its nodes.
    """

    def __init__(
        self, machine: SharedMachine, book: ReservationBook, job: SharedJob, own: PartReservation | None
    ) -> None:
        self._machine, self._job = machine, job
        self.loans: list[PartLoan] = []
        self.released: set[int] = set()
        self._tenants: list[SharedRun] = []
        self._lenders: list[SharedRun] = []
        if own is not None:
            self.loans = own.loans
            tenants = {run for hold in machine.job_holds(job).values() for run in hold.guests}
            self._tenants = sorted(tenants, key=lambda run: run.job_id)
            self._lenders = [run for run in machine.runs.values() if run.beneficiary is own]
            book.forget(own)
        #: Runs under warning that leave for this job.
        self._leaving: list[SharedRun] = []
        #: Nodes by their source in words.
        self._sources: dict[str, list[int]] = {}
        self._note("reserved")

    @property
    def _missing(self) -> int:
        return self._job.demand.parts - len(self._machine.job_holds(self._job))

    def _note(self, source: str) -> None:
        """Note where the nodes come from that are held and have no source yet."""
        known = {node for nodes in self._sources.values() for node in nodes}
        new = [node for node in self._machine.job_holds(self._job) if node not in known]
        if new:
            self._sources.setdefault(source, []).extend(new)

    @property
    def sources(self) -> str:
        """Where the nodes come from."""
        held = self._machine.job_holds(self._job)
        parts = {source: [node for node in nodes if node in held] for source, nodes in self._sources.items()}
        return "; ".join(f"{self._machine.names(nodes)} {source}" for source, nodes in parts.items() if nodes)

    def dismiss_tenants(self) -> None:
        """Preempt the tenants; what rigid ones leave belongs to the job first."""
        machine, job = self._machine, self._job
        for run in self._tenants:
            if run.malleable:
                if run.running:
                    machine.preempt(run, f"when {job.job_id} arrived")
                continue
            machine.preempt(run, f"when {job.job_id} arrived")
            occupied = sum(any(guest.malleable for guest in hold.guests) for hold in machine.job_holds(job).values())
            self._hold_up_to(sorted(run.taken), self._missing + occupied)
            self.released.update(run.taken)
        self._note("left by tenants")
        staying = [run for run in self._tenants if not run.over]
        self._leaving = sorted([*staying, *self._lenders], key=lambda run: run.departure)

    def _hold_up_to(self, nodes: Iterable[int], most: int) -> None:
        for node in nodes:
            if most > 0 and self._machine.covers(self._job, node):
                self._machine.hold(self._job, node)
                most -= 1

    def take_reserved_and_free(self) -> None:
        """Take nodes under warning, if the reserved and the free ones do not suffice, then free ones."""
        machine, job = self._machine, self._job
        occupied = {node: hold for node, hold in machine.job_holds(job).items() if hold.guests}
        room = machine.nodes_with_room(job)
        missing = self._missing + len(occupied)
        wanted: set[int] = set()
        if missing > len(room):
            for _, node, runs in self._coming_nodes(occupied, room):
                if missing <= 0:
                    break
                missing -= 1
                wanted.add(node)
                if node not in occupied:
                    machine.hold(job, node, runs)
                    self._lend(runs, node)
        self._note("from jobs under warning")
        for node in machine.placer.sort(room, machine.free)[: max(0, missing)]:
            machine.hold(job, node)
        self._note("free")
        for node, hold in occupied.items():
            if node not in wanted:
                machine.drop(hold)
                self.released.add(node)

    def _coming_nodes(
        self, occupied: dict[int, Hold], room: Sequence[int]
    ) -> list[tuple[tuple[int, int], int, list[SharedRun]]]:
        """Nodes that runs under warning will leave to the job, in the order in which they do."""
        found = []
        free = set(room)
        for node in self._job.demand.suitable:
            if node in occupied:
                last = max(occupied[node].guests, key=lambda run: run.departure)
                found.append((last.departure, node, [last]))
            elif node not in free:
                runs = self._first_departures(node, self._leaving)
                if runs:
                    found.append((runs[-1].departure, node, runs))
        return sorted(found, key=lambda item: item[:2])

    def _first_departures(
        self, node: int, leaving: Sequence[SharedRun], also: Sequence[SharedRun] = ()
    ) -> list[SharedRun] | None:
        """The first runs under warning that must leave a node, besides others, before it has room; None: all do not."""
        there = [run for run in leaving if run.is_ordinary(node)]
        for count in range(len(there) + 1):
            if self._machine.covers(self._job, node, [run.taken[node] for run in (*there[:count], *also)]):
                return there[:count]
        return None

    def _lend(self, runs: Iterable[SharedRun], node: int) -> None:
        """Victims under warning lend the nodes that the job takes from them; tenants do not lend."""
        for run in runs:
            if run in self._lenders:
                self._lend_nodes(run, [node])

    def _lend_nodes(self, run: SharedRun, nodes: Sequence[int]) -> None:
        """A preempted run lends nodes: one loan in all, because it resumes on all of its nodes or not at all."""
        for loan in self.loans:
            if loan.run is run and loan.parts is None:
                loan.nodes = sorted([*loan.nodes, *nodes])
                return
        self.loans = [*self.loans, PartLoan(run, sorted(nodes))]

    def shrink(self) -> None:
        """Shrink malleable jobs evenly by the missing nodes, if they can give all of them."""
        machine, job, missing = self._machine, self._job, self._missing
        if missing <= 0:
            return
        useful: dict[int, list[int]] = {}
        seen: set[int] = set()
        for run in sorted(machine.runs.values(), key=lambda run: run.job_id):
            if not run.running or not run.malleable or machine.borrows(run):
                continue
            nodes = [
                node
                for node in sorted(run.taken)
                if run.is_ordinary(node) and node not in seen and machine.covers(job, node, [run.taken[node]])
            ]
            seen.update(nodes)
            useful[run.job_id] = nodes if machine.jobs[run.job_id].demand.divided else []
        spare = {
            job_id: min(machine.runs[job_id].size - machine.jobs[job_id].state.smallest, len(nodes))
            for job_id, nodes in useful.items()
        }
        if sum(spare.values()) < missing:
            return
        for job_id, share in even_shares(spare, missing).items():
            run, nodes = machine.runs[job_id], useful[job_id][:share]
            self.loans = [*self.loans, PartLoan(run, nodes, {node: run.taken[node] for node in nodes})]
            run.job.shrinks += 1
            rest = {node: part for node, part in run.taken.items() if node not in nodes}
            machine.resize(run, rest, f"shrunk for {job.job_id}")
            for node in nodes:
                machine.hold(job, node)
            self._note(f"given up by {job_id}")
            self.released.update(nodes)

    def preempt(self) -> None:
        """Preempt jobs on the cheapest nodes, one node after the other, until none is missing."""
        machine, job = self._machine, self._job
        while self._missing > 0:
            by_node = machine.runs_by_node()
            choices = [
                (*found, node)
                for node in job.demand.suitable
                if node not in machine.job_holds(job)
                and not machine.closures.closes(job, node)
                and (found := self._cost(node, by_node.get(node, ()))) is not None
            ]
            if not choices:
                raise InvariantError(f"job {job.job_id} misses {self._missing} nodes that were found before")
            overhead, job_ids, node = min(choices)
            self._preempt_on(node, [machine.runs[job_id] for job_id in job_ids], overhead)

    def _cost(self, node: int, runs: Sequence[SharedRun]) -> VictimSet | None:
        """The cheapest set of jobs that makes room on a node."""
        lacking = list(self._job.demand.part(node))
        coming = [run.taken[node] for run in self._leaving if run.is_ordinary(node)]
        for part in (self._machine.free[node].tolist(), *coming):
            lacking = [amount - have for amount, have in zip(lacking, part, strict=True)]
        now = self._machine.now
        candidates = [
            Candidate(run.loss(now), run.job_id, run.taken[node])
            for run in runs
            if run.running and run.job.type is not ON_DEMAND and run.is_ordinary(node)
        ]
        return cheapest_victims(candidates, lacking)

    def _preempt_on(self, chosen: int, victims: Sequence[SharedRun], overhead: int) -> None:
        """Preempt jobs for a node; the job also takes their other nodes that it can use."""
        machine = self._machine
        # This is asked before the preemptions, at which rigid runs leave their nodes. A tenant does not lend.
        lenders = [run for run in victims if not machine.borrows(run)]
        ordinary = {run: [node for node in run.taken if run.is_ordinary(node)] for run in victims}
        lost = machine.loss_text(overhead)
        for run in victims:
            reason = f"for {self._job.job_id}: {machine.names([chosen])} was the cheapest node, {lost}"
            machine.preempt(run, reason)
        warned = [run for run in victims if run.malleable]
        others = {node for nodes in ordinary.values() for node in nodes} - {chosen}
        held = self._hold_left_nodes(warned, chosen, sorted(others))
        self._note(f"from {', '.join(str(run.job_id) for run in victims)} (the cheapest node, {lost})")
        for run in lenders:
            nodes = [node for node in held if node in ordinary[run]]
            if nodes:
                self._lend_nodes(run, nodes)
        # What they leave on further nodes counts for these, too.
        self._leaving = sorted([*self._leaving, *warned], key=lambda run: run.departure)
        self._lenders += [run for run in warned if run in lenders]
        for run in victims:
            if run.over:
                self.released.update(run.taken)

    def _hold_left_nodes(self, warned: Sequence[SharedRun], chosen: int, others: Sequence[int]) -> list[int]:
        """Hold a node, then others that have room when runs under warning have left, while any is missing."""
        held = []
        for node in (chosen, *others):
            if self._missing <= 0:
                break
            also = [run for run in warned if run.is_ordinary(node)]
            before = self._first_departures(node, self._leaving if node == chosen else (), also)
            if before is not None:
                self._machine.hold(self._job, node, [*before, *also])
                self._lend(before, node)
                held.append(node)
        return held
