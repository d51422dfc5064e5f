"""Runs: a job on its nodes, from a start to its end or its preemption.

Source: Fan et al., IPDPS 2022, section III-A. A run knows when it will end, what a preemption would cost, and how its
node-ticks divide into compute, setup, checkpoints and losses.
"""

from __future__ import annotations

from typing import NamedTuple

from simulator.machine.holders import Run
from simulator.machine.jobstate import FixedJob, MalleableJob, divide
from simulator.machine.usage import Usage

__all__ = ["FixedRun", "MalleableRun", "Spent"]


class Spent(NamedTuple):
    """What the time of a run went into [ticks]."""

    setup: int
    compute: int
    checkpoint: int


class FixedRun(Run):
    """A run of a rigid or on-demand job: setup, then (compute, dump) repeated, no dump at the end."""

    __slots__ = ()

    job: FixedJob

    @property
    def period(self) -> int | None:
        return self.job.period or None

    def begin(self) -> None:
        job, start = self.job, self.start
        self.end = start + job.setup + job.compute + job.dumps * job.cost
        self.expected_end = start + job.walltime

    def _cycles(self, at: int) -> int:
        """Complete cycles of compute and dump by that time."""
        job = self.job
        elapsed = at - self.start - job.setup
        return min(elapsed // job.period, job.dumps) if job.period and elapsed > 0 else 0

    def loss(self, at: int) -> int:
        return self.nodes * (at - self.start - self._cycles(at) * self.job.period)

    def complete(self, usage: Usage) -> bool:
        job, nodes = self.job, self.nodes
        usage.compute += job.compute * nodes
        if job.setup or job.dumps:
            usage.setup += job.setup * nodes
            usage.checkpoint += job.dumps * job.cost * nodes
        return True

    def stop(self, now: int, usage: Usage) -> None:
        job = self.job
        lost = self.loss(now)
        secured = self.secure(now)
        usage.compute += secured * self.nodes
        usage.checkpoint += (now - self.start) * self.nodes - lost - secured * self.nodes
        usage.lose(job, lost, now)

    def secure(self, now: int) -> int:
        """Leave to the job's next run what no checkpoint has secured; returns the computation that they have."""
        job = self.job
        cycles = self._cycles(now)
        secured = cycles * job.interval
        job.compute -= secured
        job.dumps -= cycles
        job.walltime -= secured
        return secured

    def spent(self, at: int) -> Spent:
        """What its time up to then went into."""
        job, elapsed = self.job, at - self.start
        cycles = self._cycles(at)
        setup = min(elapsed, job.setup)
        rest = elapsed - setup - cycles * job.period
        compute = min(rest, job.interval) if cycles < job.dumps else rest
        return Spent(setup, cycles * job.interval + compute, cycles * job.cost + rest - compute)

    def abandon(self, now: int, usage: Usage) -> None:
        spent = self.spent(now)
        usage.setup += spent.setup * self.nodes
        usage.compute += spent.compute * self.nodes
        usage.checkpoint += spent.checkpoint * self.nodes


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
        job, start, nodes = self.job, self.start, self.nodes
        self.end = start + job.duration(nodes)
        self.expected_end = start + (job.walltime if nodes == job.nodes else job.limit(nodes))

    def settle(self, now: int) -> None:
        """Book the time since the last change; before the nodes change."""
        job, nodes, since = self.job, self.nodes, self._settled
        ready = self.start + job.setup
        self._settled = now
        if since < ready:
            self._in_setup += (min(now, ready) - since) * nodes
            since = ready
        if now > since:
            work = (now - since) * nodes
            self._in_work += work
            # The end is rounded to a tick, so that the last fraction may already be done.
            job.work = max(0, job.work - work)
            job.work_limit = max(0, job.work_limit - work)

    def resized(self, now: int) -> None:
        """Set the ends anew, once the nodes have changed."""
        ready = max(now, self.start + self.job.setup)
        self.end = ready + divide(self.job.work, self.nodes)
        self.expected_end = ready + divide(self.job.work_limit, self.nodes)

    def loss(self, at: int) -> int:
        return self.nodes * self.job.setup

    def complete(self, usage: Usage) -> bool:
        self.settle(self.end)
        usage.setup += self._in_setup
        usage.malleable_setup += self._in_setup
        usage.compute += self._in_work
        return True

    def stop(self, now: int, usage: Usage) -> None:
        self.settle(now)
        self.job.walltime = self.job.limit(self.job.nodes)
        usage.compute += self._in_work
        usage.lose(self.job, self._in_setup, now)

    def abandon(self, now: int, usage: Usage) -> None:
        self.settle(now)
        usage.setup += self._in_setup
        usage.compute += self._in_work
