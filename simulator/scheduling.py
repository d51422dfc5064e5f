"""Scheduling: one pass over the queue, which starts whom the policies choose."""

from __future__ import annotations

from collections.abc import Sequence

from policies.backfilling import backfilling
from policies.port import Start
from policies.tenancy import TENANCIES
from simulator.cluster import Kind
from simulator.jobstate import JobState
from simulator.options import Options
from simulator.system import System

__all__ = ["Scheduler"]


class Scheduler:
    """Carries out the passes of a backfilling rule and a tenants rule.

    Parameters
    ----------
    system
        The machine.
    options
        Names of the rules.
    jobs
        Everybody who may ever wait.
    """

    def __init__(self, system: System, options: Options, jobs: Sequence[JobState]) -> None:
        self._system = system
        self._backfill = backfilling(options.backfilling, options.backfill_length)
        self._tenants = TENANCIES[options.tenants]
        self._by_id = {job.job_id: job for job in jobs}

    def may_start(self) -> bool:
        """Whether a job waits, and free or held nodes (which may be idle reserved ones) would do for the smallest.

        Most instants end here: no rule need look at the queue then.
        """
        waiting = self._system.waiting
        if not waiting.jobs:
            return False
        free, held, _ = self._system.cluster.totals
        return free + held >= waiting.smallest()

    def pass_once(self) -> None:
        """One scheduling pass."""
        system = self._system
        if system.free >= system.waiting.smallest():
            for start in self._backfill(system):
                job = self._by_id[start.job_id]
                system.start(job, ((system.cluster.pool, start.nodes),), start.cause)
        # Without held nodes no reservation has any to lend.
        if system.reservations and system.cluster.totals[Kind.HELD] and system.waiting.jobs:
            for start in self._tenants(system):
                self._start_tenant(start)

    def _start_tenant(self, start: Start) -> None:
        system = self._system
        draws = start.draws or {}
        lenders = {item: draws[item.job_id] for item in system.reservations if item.job_id in draws}
        system.start(self._by_id[start.job_id], lenders.items(), start.cause, lenders)
