"""The order of jobs that wait for a machine with partitions: by tier, then by the key of a queue order, then by row."""

from __future__ import annotations

from collections.abc import Sequence
from heapq import heapify, heappop, heappush
from typing import Any, NamedTuple

from holdfast.policies.order import Order
from holdfast.simulator.machine.fairshare import UsageLedger
from holdfast.simulator.machine.prior_state import PastUsage
from holdfast.workloads.ground.errors import InputError
from holdfast.workloads.ground.units import to_ticks
from holdfast.workloads.table.job import RIGID, JobType

__all__ = ["MachineQueue", "WaitingRequest"]


class WaitingRequest(NamedTuple):
    """A rigid job as queue orders see it (:class:`holdfast.policies.port.WaitingJob`).

    Attributes
    ----------
    job_id
        Its id.
    submit, eligible
        Ticks since the first submit: when it was submitted, and from when on it waits.
    nodes
        Nodes of an exclusive job, node equivalents of another.
    walltime
        [ticks].
    user, project
        Empty: not known.
    """

    job_id: int
    submit: int
    eligible: int
    nodes: float
    walltime: int
    user: str
    project: str
    kept: int = 0
    type: JobType = RIGID

    @property
    def min_nodes(self) -> float:
        """Its size: the job is rigid."""
        return self.nodes

    def limit(self, nodes: float) -> int:
        """Walltime of its run."""
        return self.walltime


class _View:
    """What an order may ask about the machine at an instant; it names what a machine with partitions does not have."""

    def __init__(self, nodes: int, ledger: UsageLedger | None) -> None:
        self.now = 0
        self.nodes = nodes
        self._ledger = ledger

    def group_usage(self, group: str | None) -> float:
        """Decayed node-ticks of a project or user; None: of all."""
        return 0.0 if self._ledger is None else self._ledger.decayed_usage(group, self.now)

    def __getattr__(self, name: str) -> Any:
        raise InputError(
            f"a queue order on a machine (--machine) may ask for now, nodes and group_usage, not for {name}"
        )


class MachineQueue:
    """Sorts the waiting jobs of a machine.

    Parameters
    ----------
    order
        The queue order.
    jobs
        All jobs, in the order of the table.
    tiers
        For each job the highest tier of its partitions.
    nodes
        Size of the machine [nodes].
    ended
        Runs before the first choice among jobs, in node equivalents, which count from their last end on.
    origin
        Ticks of their clock at which that of the jobs stands at 0.
    """

    def __init__(
        self,
        order: Order,
        jobs: Sequence[WaitingRequest],
        tiers: Sequence[int],
        nodes: int,
        ended: PastUsage | None = None,
        origin: int = 0,
    ) -> None:
        self._given = jobs
        self._jobs = list(jobs)
        self._tiers = tiers
        self._order = order
        self._ledger = UsageLedger(order.half_life) if order.half_life is not None else None
        self._view = _View(nodes, self._ledger)
        self._ends: list[tuple[int, int]] = []
        self._ended, self._origin = ended, origin

    @property
    def static(self) -> bool:
        """Whether the order of two jobs never changes."""
        return self._order.static and self._order.at is None

    def fresh(self) -> MachineQueue:
        """The same order before any job has started."""
        return MachineQueue(self._order, self._given, self._tiers, self._view.nodes, self._ended, self._origin)

    def inherit(self, past: PastUsage, now: int, origin: int) -> None:
        """Begin with the usage of earlier runs, in node equivalents [``now`` in ticks, from ``origin`` on]."""
        if self._ledger is not None:
            self._ledger.inherit(past, now, origin)

    def submit(self, job: int, submit: int, eligible: int, walltime: int | None = None) -> None:
        """Note when a job was submitted and entered the queue [ticks since the first submit], and a new walltime."""
        walltime = self._jobs[job].walltime if walltime is None else walltime
        self._jobs[job] = self._jobs[job]._replace(submit=submit, eligible=eligible, walltime=walltime)

    def start(self, job: int, now: int, end: int) -> None:
        """Count the usage of a job until its end [ticks since the first submit]; starts come in order of time."""
        if self._ledger is not None:
            self._end_until(now)
            request: Any = self._jobs[job]
            self._ledger.hold(request, request.nodes, now)
            heappush(self._ends, (end, job))

    def stop(self, job: int, now: int, end: int) -> None:
        """Count no usage of a job from ``now`` on, before the end that was given at its start."""
        if self._ledger is not None:
            self._ends.remove((end, job))
            heapify(self._ends)
            heappush(self._ends, (now, job))

    def hold(self, job: int, amount: float, now: int) -> None:
        """Count an amount of node equivalents that a job holds from now on, in place of :meth:`start` and its end."""
        if self._ledger is not None:
            request: Any = self._jobs[job]
            held: Any = amount
            self._ledger.hold(request, held, now)

    def sort(self, waiting: Sequence[int], now: int) -> list[int]:
        """The numbers of waiting jobs in the order of the queue at a time [ticks since the first submit]."""
        self._end_until(now)
        self._inherit_usage(now)
        self._view.now = now
        # Sizes are floats here, which all orders take.
        jobs: Sequence[Any] = self._jobs
        view: Any = self._view
        key = self._order.key
        if self._order.at is not None:
            at = self._order.at(view)
            return sorted(waiting, key=lambda job: (-self._tiers[job], at(jobs[job]), job))
        return sorted(waiting, key=lambda job: (-self._tiers[job], key(jobs[job], now), job))

    def _inherit_usage(self, now: int) -> None:
        """Count the runs before the first choice once they have all ended."""
        last = None if self._ended is None else self._ended.last_end
        if self._ledger and self._ended and last is not None and now + self._origin >= to_ticks(last):
            self._ledger.inherit(self._ended, now, self._origin)
            self._ended = None

    def _end_until(self, now: int) -> None:
        while self._ends and self._ends[0][0] <= now:
            end, job = heappop(self._ends)
            if self._ledger is not None:
                request: Any = self._jobs[job]
                self._ledger.hold(request, 0, end)
