"""Runs of stochastic jobs on shared nodes: one reservation each."""

from __future__ import annotations

from holdfast.simulator.machine.actual_outcomes import CANCELLED, COMPLETED, PREEMPTED, SAVED
from holdfast.simulator.machine.node_use import Usage
from holdfast.simulator.machine.stochastic import StochasticJob
from holdfast.simulator.shared_nodes.demand import Amounts
from holdfast.simulator.shared_nodes.occupants import SharedRun
from holdfast.workloads.machines.fitted_requests import Need

__all__ = ["ReservedPartRun"]


class ReservedPartRun(SharedRun):
    """One reservation of a stochastic job on the parts of its nodes; parameters as of a run."""

    job: StochasticJob

    def __init__(
        self, job: StochasticJob, need: Need, taken: dict[int, Amounts], size: int, units: int, now: int
    ) -> None:
        super().__init__(job, need, taken, size, units, now)
        self._outcome = job.truth.ending(job.request, job.walltime)
        self.end = now + self._outcome.restart + self._outcome.work + self._outcome.checkpoint

    def loss(self, at: int) -> int:
        # Work is saved only at the end.
        return self.units * (at - self.start)

    def complete(self, usage: Usage) -> bool:
        how, units = self._outcome, self.units
        times = how.restart, how.work, how.checkpoint
        if how.ending in (COMPLETED, SAVED):
            usage.setup += how.restart * units
            usage.compute += how.work * units
            usage.checkpoint += how.checkpoint * units
        else:
            usage.lose(self.job, sum(times) * units, self.end)
        self.job.record_end(self, how.ending, times, self.end)
        if how.ending != COMPLETED:
            self.ending = f"its reservation was over ({how.ending})"
        return how.ending == COMPLETED

    def stop(self, now: int, usage: Usage) -> None:
        usage.lose(self.job, (now - self.start) * self.units, now)
        self.job.record_end(self, PREEMPTED, self._times(now), now)

    def abandon(self, now: int, usage: Usage) -> None:
        units = self.units
        restart, work, checkpoint = times = self._times(now)
        usage.setup += restart * units
        usage.compute += work * units
        usage.checkpoint += checkpoint * units
        self.job.record_end(self, CANCELLED, times, now)

    @property
    def nodes(self) -> int:
        """Its size in the unit of the machine."""
        return self.units

    def _times(self, now: int) -> tuple[int, int, int]:
        return self._outcome.times_until(now - self.start)
