"""Shadow of a Slurm: the simulator's system in Slurm's state, with transitions that are then carried out on Slurm.

Policies and the on-demand service see and change it as they do in a simulation. It is the desired state of Slurm.
Changes that Slurm makes by itself (starts of waiting jobs, ends of runs) are entered when they are observed. It sends
no command: :mod:`holdfast.experiments.slurm.reconciliation` compares it with Slurm.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from typing import NamedTuple

from holdfast.experiments.slurm.named_cluster import NamedCluster
from holdfast.simulator.machine.cluster import Account
from holdfast.simulator.machine.event_log import EventLog
from holdfast.simulator.machine.job_state import JobState
from holdfast.simulator.machine.node_accounts import Gathering, Lender, Reservation, Run
from holdfast.simulator.machine.run import JobRun, is_malleable
from holdfast.simulator.machine.system import System, Timing
from holdfast.simulator.options import Options

__all__ = ["ShadowSystem", "Vacating"]


class Vacating(NamedTuple):
    """A run that has ended in the shadow and is to end on Slurm, where its job then waits.

    Attributes
    ----------
    due
        When it is to be requeued [ticks].
    start
        Start of the run on Slurm [s since 1970].
    """

    due: int
    start: float


class ShadowSystem(System):
    """The simulator's system, executed on a Slurm.

    Parameters
    ----------
    nodes, options, log, timing
        As of :class:`~holdfast.simulator.machine.system.System`.

    Attributes
    ----------
    named
        The accounts of its nodes by number.
    awaited
        Ordered runs that have not been observed, by job, with their index in the log.
    vacating
        Runs that are to end on Slurm, by job.
    began
        Start on Slurm of the last observed run of each job [s since 1970].
    borrowers
        Jobs that run on nodes of lenders, which no other job may take in between.
    """

    def __init__(self, nodes: int, options: Options, log: EventLog, timing: Timing) -> None:
        super().__init__(nodes, options, log, timing)
        self.named = NamedCluster(nodes)
        self.cluster = self.named
        self.awaited: dict[int, tuple[Run, int]] = {}
        self.vacating: dict[int, Vacating] = {}
        self.began: dict[int, float] = {}
        self.borrowers: set[int] = set()
        self._entering = False

    def enter(self, job: JobState, nodes: Collection[int], at: int, began: float) -> None:
        """Enter a waiting job that Slurm has started on these nodes, free or held ones."""
        self.now = max(self.now, at)
        self.named.choice = set(nodes)
        self._entering = True
        try:
            # Nodes of a reservation: Slurm was faster than the reservation.
            self.start(job, self.named.count_by_account(nodes).items(), "started by Slurm")
        finally:
            self._entering = False
            self.named.choice = set()
        self.began[job.job_id] = began

    def make_way(self, nodes: Collection[int], confirmed: Callable[[Run, int], bool]) -> bool:
        """Free nodes on which Slurm has started a job, and return whether that is possible.

        An ordered run, or an arrived job that gathers nodes, gets other free nodes in exchange.

        Parameters
        ----------
        nodes
            The nodes.
        confirmed
            Whether a run is on a node according to Slurm.
        """
        for node in sorted(nodes):
            owner = self.named.owner(node)
            if isinstance(owner, Run) and owner.job_id not in self.awaited:
                if confirmed(owner, node) or not is_malleable(owner) or owner.nodes == 1:
                    return False
                self.correct(owner, self.named.numbers(owner) - {node})
            elif isinstance(owner, Run | Gathering) and not self.exchange(node, nodes):
                return False
        return True

    def exchange(self, node: int, bad: Collection[int]) -> bool:
        """Give the account of a node a free one that is not bad instead; returns whether there is one."""
        spare = self.named.numbers(self.named.pool).difference(bad)
        if not spare:
            return False
        self.named.swap(self.named.owner(node), {min(spare)}, {node})
        return True

    def confirm(self, job_id: int, nodes: Collection[int], at: int, began: float) -> None:
        """Enter the observed start of an ordered run: its time and nodes."""
        run, place = self.awaited.pop(job_id)
        # Slurm may have been faster than the order.
        self.named.swap(run, set(nodes))
        entry = self.log.entries[place]
        self.log.entries[place] = entry._replace(time=max(entry.time, at))
        run.start = max(run.start, at)
        run.begin()
        self.expected.expect(run)
        self.began[job_id] = began

    def correct(self, run: Run, nodes: Collection[int]) -> None:
        """Correct the nodes of a running malleable job to those observed on Slurm, as far as the others are free."""
        if not is_malleable(run):
            return
        has = self.named.numbers(run)
        won = {node for node in set(nodes) - has if self.named.owner(node) is self.named.pool}
        for event, source, target, moved in (
            ("shrink", run, self.named.pool, has - set(nodes)),
            ("expand", self.named.pool, run, won),
        ):
            if moved:
                before = run.nodes
                run.settle(self.now)
                self.named.choice = moved
                self.named.move(source, target, len(moved), self.now)
                self.named.choice = set()
                run.update_ends(self.now)
                self.expected.expect(run)
                self.log(self.now, event, run.job_id, before, run.nodes, "as Slurm has it")

    def withdraw(self, job: JobState) -> Run | None:
        """Remove a job that cannot be submitted; returns its ordered run, which still holds its nodes."""
        self.log(self.now, "cancel", job.job_id, 0, 0, "refused by Slurm")
        self.vacating.pop(job.job_id, None)
        if job.waiting:
            self.waiting.remove(job)
        ordered = self.awaited.pop(job.job_id, None)
        if ordered is None:
            return None
        self.leave(ordered[0])
        return ordered[0]

    # Transitions to be executed on Slurm.

    def start(
        self,
        job: JobState,
        sources: Iterable[tuple[Account, int]],
        cause: str,
        lenders: Mapping[Lender, int] | None = None,
        run: Run | None = None,
    ) -> Run:
        begun = super().start(job, sources, cause, lenders, run)
        if not self._entering:
            self.awaited[job.job_id] = begun, len(self.log.entries) - 1
        return begun

    def preempt(
        self,
        run: Run,
        cause: str,
        claim: tuple[Gathering, int] | None = None,
        beneficiary: Reservation | None = None,
        failed: tuple[Account, int] | None = None,
    ) -> None:
        if claim is not None:
            self.borrowers.add(claim[0].job.job_id)
        super().preempt(run, cause, claim, beneficiary, failed)
        self.awaited.pop(run.job_id, None)

    def resize(self, run: JobRun, other: Account, change: int, cause: str) -> None:
        if change < 0 and isinstance(other, Gathering):
            self.borrowers.add(other.job.job_id)
        super().resize(run, other, change, cause)
