"""Runs of jobs on their nodes, each from a start to its end or preemption.

Source: Fan et al., IPDPS 2022, section III-A. A run knows when it will end, what a preemption would cost, and how its
node-ticks divide into compute, setup, checkpoints and losses.
"""

from __future__ import annotations

from typing import NamedTuple, TypeGuard

from holdfast.simulator.machine.job_state import divide
from holdfast.simulator.machine.node_accounts import Run
from holdfast.simulator.machine.node_use import Usage
from holdfast.workloads.table.job import MALLEABLE

__all__ = ["JobRun", "Spent", "is_malleable"]


class Spent(NamedTuple):
    """Time of a run by purpose [ticks]."""

    setup: int
    compute: int
    checkpoint: int


class JobRun(Run):
    """A run of a job to its end; one class for all types, as for
    :class:`~holdfast.simulator.machine.job_state.JobState`.

    A rigid or on-demand job runs its setup, then (compute, dump) repeatedly, without a dump at the end. A malleable job
    runs its setup in constant time, then work that speeds up linearly with its nodes.
    """

    __slots__ = ("_in_setup", "_in_work", "_settled")

    @property
    def period(self) -> int | None:
        return self.job.period or None

    def begin(self) -> None:
        job, start = self.job, self.start
        if self.type is MALLEABLE:
            nodes = self.nodes
            self._settled = start
            self._in_setup = self._in_work = 0
            self.end = start + job.duration(nodes)
            self.expected_end = start + (job.walltime if nodes == job.nodes else job.limit(nodes))
        else:
            self.end = start + job.setup + job.compute + job.dumps * job.cost
            self.expected_end = start + job.walltime

    def loss(self, at: int) -> int:
        if self.type is MALLEABLE:
            return self.nodes * self.job.setup
        return self.nodes * (at - self.start - self._cycles(at) * self.job.period)

    def complete(self, usage: Usage) -> bool:
        if self.type is MALLEABLE:
            self.settle(self.end)
            usage.setup += self._in_setup
            usage.malleable_setup += self._in_setup
            usage.compute += self._in_work
            return True
        job, nodes = self.job, self.nodes
        usage.compute += job.compute * nodes
        if job.setup or job.dumps:
            usage.setup += job.setup * nodes
            usage.checkpoint += job.dumps * job.cost * nodes
        return True

    def stop(self, now: int, usage: Usage) -> None:
        job = self.job
        if self.type is MALLEABLE:
            self.settle(now)
            job.resume_at(self.nodes)
            usage.compute += self._in_work
            usage.lose(job, self._in_setup, now)
            return
        lost = self.loss(now)
        secured = self.secure(now)
        usage.compute += secured * self.nodes
        usage.checkpoint += (now - self.start) * self.nodes - lost - secured * self.nodes
        usage.lose(job, lost, now)

    def abandon(self, now: int, usage: Usage) -> None:
        if self.type is MALLEABLE:
            self.settle(now)
            usage.setup += self._in_setup
            usage.compute += self._in_work
            return
        spent = self.time_breakdown(now)
        usage.setup += spent.setup * self.nodes
        usage.compute += spent.compute * self.nodes
        usage.checkpoint += spent.checkpoint * self.nodes

    # Rigid and on-demand jobs.

    def _cycles(self, at: int) -> int:
        """Number of complete cycles of compute and dump by a time."""
        job = self.job
        elapsed = at - self.start - job.setup
        return min(elapsed // job.period, job.dumps) if job.period and elapsed > 0 else 0

    def secure(self, now: int) -> int:
        """Leave the uncheckpointed work to the job's next run; returns the checkpointed compute time."""
        job = self.job
        cycles = self._cycles(now)
        secured = cycles * job.interval
        job.compute -= secured
        job.dumps -= cycles
        job.walltime -= secured
        return secured

    def time_breakdown(self, at: int) -> Spent:
        """Time from the start to ``at``, by purpose."""
        job, elapsed = self.job, at - self.start
        cycles = self._cycles(at)
        setup = min(elapsed, job.setup)
        rest = elapsed - setup - cycles * job.period
        compute = min(rest, job.interval) if cycles < job.dumps else rest
        return Spent(setup, cycles * job.interval + compute, cycles * job.cost + rest - compute)

    # Malleable jobs.

    def settle(self, now: int) -> None:
        """Book the time since the last change; before the nodes change."""
        job, nodes, since = self.job, self.nodes, self._settled
        ready = self.start + job.setup
        self._settled = now
        if since < ready:
            self._in_setup += ((now if now < ready else ready) - since) * nodes
            since = ready
        if now > since:
            work = (now - since) * nodes
            self._in_work += work
            # The end is rounded to a tick, so that the last fraction may be done earlier.
            job.work = job.work - work if job.work > work else 0
            job.work_limit = job.work_limit - work if job.work_limit > work else 0

    def update_ends(self, now: int) -> None:
        """Recompute the ends after a change of nodes."""
        ready = max(now, self.start + self.job.setup)
        self.end = ready + divide(self.job.work, self.nodes)
        self.expected_end = ready + divide(self.job.work_limit, self.nodes)


def is_malleable(run: Run | None) -> TypeGuard[JobRun]:
    """Whether it is a run that can be resized."""
    return run is not None and run.type is MALLEABLE
