"""Shadow of a Slurm: the simulator's system in Slurm's state, with transitions executed by Slurm commands.

Policies and the on-demand service see and change it as they do in a simulation. Changes that Slurm makes by itself
(starts of waiting jobs, ends of runs) are entered when they are observed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from experiments.slurm.actuator import Steering
from experiments.slurm.named_cluster import NamedCluster
from simulator.machine.cluster import Account
from simulator.machine.event_log import EventLog
from simulator.machine.job_state import JobState
from simulator.machine.node_accounts import Gathering, Lender, Reservation, Run
from simulator.machine.run import JobRun, is_malleable
from simulator.machine.system import System, Timing
from simulator.options import Options
from workloads.ground.units import to_seconds
from workloads.table.job import JobType

__all__ = ["Mirror"]

#: Time for which nodes stay reserved beyond the expected need [s].
_SPARE = 600.0


class Mirror(System):
    """The simulator's system, executed on a Slurm.

    Parameters
    ----------
    nodes, options, log, timing
        As of :class:`~simulator.machine.system.System`.
    steering
        Executes the commands.

    Attributes
    ----------
    orders
        Commands to execute once the nodes that they need are reserved.
    awaited
        Ordered runs that have not been observed, by job, with their index in the log.
    requeued
        Jobs ordered back into the queue and not yet observed there, with the time of the command [s since 1970];
        infinite: not yet sent.
    moving
        Number of nodes that stay reserved until an order has been executed.
    """

    def __init__(self, nodes: int, options: Options, log: EventLog, timing: Timing, steering: Steering) -> None:
        super().__init__(nodes, options, log, timing)
        self.named = NamedCluster(nodes)
        self.cluster = self.named
        self.steering = steering
        self.orders: list[Callable[[], None]] = []
        self.awaited: dict[int, tuple[Run, int]] = {}
        self.requeued: dict[int, float] = {}
        self.moving: set[int] = set()
        self._borrowers: set[int] = set()
        self._entering = False

    def enter(self, job: JobState, nodes: set[int], at: int) -> None:
        """Enter a waiting job that Slurm has started on these nodes."""
        self.now = max(self.now, at)
        self.named.choice = set(nodes)
        self._entering = True
        try:
            # Nodes of a reservation: Slurm was faster than the reservation.
            run = self.start(job, self.named.count_by_account(nodes).items(), "started by Slurm")
        finally:
            self._entering = False
            self.named.choice = set()
        if job.type is JobType.MALLEABLE:
            self.orders.append(lambda: self.steering.limit(job, job.limit(run.nodes)))

    def confirm(self, job_id: int, nodes: set[int], at: int) -> None:
        """Enter the observed start of an ordered run: its time and nodes."""
        run, place = self.awaited.pop(job_id)
        # Slurm may have been faster than the order.
        self.named.swap(run, nodes)
        entry = self.log.entries[place]
        self.log.entries[place] = entry._replace(time=max(entry.time, at))
        run.start = max(run.start, at)
        run.begin()
        self.expected.expect(run)
        self._keep_until(self.named.numbers(run), lambda: self.steering.leave_reservation(run.job))

    def correct(self, run: Run, nodes: set[int]) -> None:
        """Correct the nodes of a running job to those observed on Slurm."""
        lost, won = self.named.numbers(run) - nodes, nodes - self.named.numbers(run)
        if not lost and any(self.named.owner(node) is not self.named.pool for node in won):
            return
        if not is_malleable(run) or not (lost or won):
            return
        source, target = (run, self.named.pool) if lost else (self.named.pool, run)
        self.named.choice = lost or won
        before = run.nodes
        run.settle(self.now)
        self.named.move(source, target, len(lost or won), self.now)
        run.update_ends(self.now)
        self.named.choice = set()
        self.log(self.now, "shrink" if lost else "expand", run.job_id, before, run.nodes, "as Slurm has it")

    # Transitions executed on Slurm.

    def submit(self, job: JobState, *, urgent: bool = False) -> None:
        super().submit(job, urgent=urgent)
        self.steering.submit(job, first=urgent)

    def start(
        self,
        job: JobState,
        sources: Iterable[tuple[Account, int]],
        cause: str,
        lenders: Mapping[Lender, int] | None = None,
        run: Run | None = None,
    ) -> Run:
        waited = job.waiting
        begun = super().start(job, sources, cause, lenders, run)
        if not self._entering:
            nodes = self.named.numbers(begun)
            self.awaited[job.job_id] = begun, len(self.log.entries) - 1
            order = self.steering.place if waited else self.steering.submit_on
            self.orders.append(lambda: order(job, nodes))
        return begun

    def preempt(
        self,
        run: Run,
        cause: str,
        claim: tuple[Gathering, int] | None = None,
        beneficiary: Reservation | None = None,
        failed: tuple[Account, int] | None = None,
    ) -> None:
        job = run.job
        if claim is not None:
            self._borrowers.add(claim[0].job.job_id)
        self.orders.append(lambda: self.steering.ask_to_save(job))
        super().preempt(run, cause, claim, beneficiary, failed)

    def resize(self, run: JobRun, other: Account, change: int, cause: str) -> None:
        before = self.named.numbers(run)
        super().resize(run, other, change, cause)
        after, job = self.named.numbers(run), run.job
        if change < 0:
            if isinstance(other, Gathering):
                self._borrowers.add(other.job.job_id)
            self.orders.append(lambda: self.steering.shrink(job, after))
        else:
            self._keep_until(after - before, lambda: self.steering.grow(job, after - before, len(after)))
        self.orders.append(lambda: self.steering.limit(job, run.expected_end - run.start))

    def _keep_until(self, nodes: set[int], order: Callable[[], None]) -> None:
        """Keep nodes reserved until an order has been executed."""
        self.moving |= nodes

        def execute() -> None:
            order()
            self.moving -= nodes

        self.orders.append(execute)

    def follow(self) -> None:
        """Reserve held nodes and execute the orders."""
        self._reserve()
        while self.orders:
            orders, self.orders = self.orders, []
            for order in orders:
                order()
        self._reserve()

    def _reserve(self) -> None:
        kept = self.named.held_nodes() | self.moving
        ends = [max(item.estimated_arrival, self.now) + item.walltime for item in self.reservations]
        ends += [item.ready + item.job.walltime for item in self.named.accounts() if isinstance(item, Gathering)]
        for run in self.runs.values():
            # Borrowed nodes must return, and no other job may take them in between.
            if run.lenders or run.job_id in self.awaited or run.job_id in self._borrowers:
                kept |= self.named.numbers(run)
                ends.append(run.expected_end)
        collects = not self.on_demand_waits and any(item.missing > 0 for item in self.reservations)
        until = _SPARE + to_seconds(max(ends, default=self.now) - self.now)
        self.steering.reserve(kept, until, everything=collects)
