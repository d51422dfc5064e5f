"""Runs: a job on its nodes, from a start to its end or its preemption.

Source: hybrid-workloads.md, section 1. A run knows when it will end, what a preemption would cost, and how its
node-ticks divide into compute, setup, checkpoints and losses.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING

import simpy

from simulator.cluster import Account, Kind
from simulator.jobstate import FixedJob, JobState, MalleableJob, divide
from workloads.job import JobType

if TYPE_CHECKING:
    from simulator.reservation import Gathering, Reservation

__all__ = ["FixedRun", "MalleableRun", "Run", "Usage", "begin_run"]


class Usage:
    """Node-ticks of all runs by what they were spent on; ``lost`` without the warnings, which are shown apart.

    Attributes
    ----------
    losses
        (time, node-ticks) of each loss, warnings included.
    """

    __slots__ = ("checkpoint", "compute", "losses", "lost", "setup", "warning")

    def __init__(self) -> None:
        self.compute = self.setup = self.checkpoint = self.lost = self.warning = 0
        self.losses: list[tuple[int, int]] = []

    def lose(self, job: JobState, node_ticks: int, now: int) -> None:
        """Book what a preemption has cost a job."""
        self.lost += node_ticks
        self._note(job, node_ticks, now)

    def lose_to_warning(self, job: JobState, node_ticks: int, now: int) -> None:
        """Book the time under warning."""
        self.warning += node_ticks
        self._note(job, node_ticks, now)

    def _note(self, job: JobState, node_ticks: int, now: int) -> None:
        job.lost += node_ticks
        self.losses.append((now, node_ticks))

    def total(self) -> int:
        return self.compute + self.setup + self.checkpoint + self.lost + self.warning


class Run(Account):
    """A run: the account of the nodes that it occupies, and what is known of it.

    Attributes
    ----------
    job
        Whose run it is.
    start, end, expected_end
        When it began; when it will give its nodes back (its completion, or the end of its warning); when its walltime
        is over.
    warned
        Whether it is under warning.
    over
        Whether it has given its nodes back.
    lenders
        Nodes that belong to open reservations, by reservation; it is their tenant.
    plan
        The open reservation whose plan it is in.
    claims
        Under warning: nodes promised to arrived jobs.
    beneficiary
        Under warning by a plan: the reservation that gets its nodes first.
    release
        Its entry in the system's list of expected releases.
    process
        The SimPy process that lives it.
    """

    __slots__ = (
        "beneficiary",
        "claims",
        "end",
        "expected_end",
        "job",
        "lenders",
        "over",
        "plan",
        "process",
        "release",
        "start",
        "warned",
    )

    def __init__(self, job: JobState, now: int) -> None:
        self.kind = Kind.BUSY
        self.nodes = 0
        self.job = job
        self.start = now
        self.end = now
        self.expected_end = now
        self.warned = False
        self.over = False
        self.lenders: dict[Reservation, int] = {}
        self.plan: Reservation | None = None
        self.claims: list[tuple[Gathering, int]] = []
        self.beneficiary: Reservation | None = None
        self.release: tuple[int, int, int] | None = None
        self.process: simpy.Process | None = None

    @property
    def job_id(self) -> int:
        return self.job.job_id

    @property
    def type(self) -> JobType:
        return self.job.type

    @property
    def min_nodes(self) -> int:
        return self.job.min_nodes

    @property
    def max_nodes(self) -> int:
        return self.job.nodes

    @property
    def setup(self) -> int:
        return self.job.setup

    @property
    def period(self) -> int | None:
        return None

    @property
    def borrowed(self) -> int:
        return sum(self.lenders.values()) if self.lenders else 0

    @property
    def planned(self) -> bool:
        return self.plan is not None

    def owes(self, job_id: int) -> int:
        if not self.lenders:
            return 0
        return sum(nodes for reservation, nodes in self.lenders.items() if reservation.job_id == job_id)

    def promised(self) -> int:
        """Under warning: nodes promised to arrived jobs."""
        return sum(nodes for _, nodes in self.claims)

    @abstractmethod
    def loss(self, at: int) -> int:
        """Preemption overhead at that time [node-ticks]."""

    @abstractmethod
    def begin(self) -> None:
        """Set the ends, once the nodes are there."""

    @abstractmethod
    def complete(self, usage: Usage) -> None:
        """Account for a run that reached its end."""

    @abstractmethod
    def stop(self, now: int, usage: Usage) -> None:
        """Secure what a preemption leaves and account for the rest."""


class FixedRun(Run):
    """A run of a rigid or on-demand job: setup, then (compute, dump) repeated, no dump at the end."""

    __slots__ = ()

    job: FixedJob

    @property
    def period(self) -> int | None:
        return self.job.period or None

    def begin(self) -> None:
        self.end = self.start + self.job.duration(self.nodes)
        self.expected_end = self.start + self.job.walltime

    def _cycles(self, at: int) -> int:
        """Complete cycles of compute and dump by that time."""
        job = self.job
        elapsed = at - self.start - job.setup
        return min(elapsed // job.period, job.dumps) if job.period and elapsed > 0 else 0

    def loss(self, at: int) -> int:
        return self.nodes * (at - self.start - self._cycles(at) * self.job.period)

    def complete(self, usage: Usage) -> None:
        job = self.job
        usage.setup += job.setup * self.nodes
        usage.compute += job.compute * self.nodes
        usage.checkpoint += job.dumps * job.cost * self.nodes

    def stop(self, now: int, usage: Usage) -> None:
        job = self.job
        cycles = self._cycles(now)
        lost = self.loss(now)
        secured = cycles * job.interval
        usage.compute += secured * self.nodes
        usage.checkpoint += cycles * job.cost * self.nodes
        usage.lose(job, lost, now)
        job.compute -= secured
        job.dumps -= cycles
        job.walltime -= secured


class MalleableRun(Run):
    """A run of a malleable job: setup, constant in time, then work that speeds up linearly with its nodes."""

    __slots__ = ("_in_setup", "_in_work", "_settled")

    job: MalleableJob

    def __init__(self, job: MalleableJob, now: int) -> None:
        super().__init__(job, now)
        self._settled = now
        self._in_setup = 0
        self._in_work = 0

    def begin(self) -> None:
        self.end = self.start + self.job.duration(self.nodes)
        self.expected_end = self.start + self.job.limit(self.nodes)

    def settle(self, now: int) -> None:
        """Book the time since the last change; before the nodes change."""
        ready = self.start + self.job.setup
        setup = max(0, min(now, ready) - self._settled)
        work = max(0, now - max(self._settled, ready))
        self._in_setup += setup * self.nodes
        self._in_work += work * self.nodes
        # The end is rounded to a tick, so that the last fraction may already be done.
        self.job.work = max(0, self.job.work - work * self.nodes)
        self.job.work_limit = max(0, self.job.work_limit - work * self.nodes)
        self._settled = now

    def resized(self, now: int) -> None:
        """Set the ends anew, once the nodes have changed."""
        ready = max(now, self.start + self.job.setup)
        self.end = ready + divide(self.job.work, self.nodes)
        self.expected_end = ready + divide(self.job.work_limit, self.nodes)

    def loss(self, at: int) -> int:
        return self.nodes * self.job.setup

    def complete(self, usage: Usage) -> None:
        self.settle(self.end)
        usage.setup += self._in_setup
        usage.compute += self._in_work

    def stop(self, now: int, usage: Usage) -> None:
        self.settle(now)
        usage.compute += self._in_work
        usage.lose(self.job, self._in_setup, now)


def begin_run(job: JobState, now: int) -> Run:
    """A run of that job, still without nodes."""
    if isinstance(job, FixedJob):
        return FixedRun(job, now)
    if isinstance(job, MalleableJob):
        return MalleableRun(job, now)
    raise TypeError(f"{job!r} is neither fixed nor malleable")
