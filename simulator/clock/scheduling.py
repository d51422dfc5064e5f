"""The scheduling pass, which starts the jobs that the policies choose."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import inf
from types import FunctionType
from typing import Any

from holdfast.policies.backfilling import Backfilling, backfilling
from holdfast.policies.port import Start
from holdfast.policies.reserved_backfill import TENANCIES
from holdfast.simulator.clock.stream import Stream
from holdfast.simulator.clock.walltime_trial import Trial
from holdfast.simulator.machine.cluster import Kind
from holdfast.simulator.machine.job_state import JobState
from holdfast.simulator.machine.node_accounts import Lender
from holdfast.simulator.machine.system import System
from holdfast.simulator.options import Options
from holdfast.simulator.services.action_checks import answer_error, check_list, start_problem, tenant_problem
from holdfast.simulator.services.idle_expansion import Growth
from holdfast.simulator.services.outages import OutageService
from holdfast.simulator.services.resumption import resume

__all__ = ["Scheduler"]


class Scheduler:
    """Runs scheduling passes with a backfilling rule, a tenants rule and an expansion rule.

    Parameters
    ----------
    system
        The machine.
    options
        Names of the rules.
    jobs
        All jobs of the simulation.
    outages
        Service of outages, which starts jobs in advance reservations; None: there are no outages.
    trial
        Trial of one job with several walltimes; None: there is none.
    stream
        Stream that creates the jobs one by one; None: they are those of ``jobs``.
    """

    def __init__(
        self,
        system: System,
        options: Options,
        jobs: Sequence[JobState],
        outages: OutageService | None = None,
        trial: Trial | None = None,
        stream: Stream | None = None,
    ) -> None:
        self._system = system
        self._outages = outages
        self._trial = trial
        rule = backfilling(options.backfilling, options.backfill_length, options.malleable_head)
        begun: Any = getattr(rule, "begin", lambda: rule)()
        self._begun = begun
        # Calling a bound method is faster than calling an object.
        self._backfill: Backfilling = begun if isinstance(begun, FunctionType) else begun.__call__
        # Cached, because a replay needs it for every event.
        self._waiting, self._totals, self._pool = system.waiting, system.cluster.totals, system.cluster.pool
        system.waiting.keep_columns(getattr(begun, "long_from", inf))
        self._tenants = TENANCIES[options.tenants]
        self._growth = Growth(options.expansion, begun) if options.expansion != "none" else None
        self._by_id = {job.job_id: job for job in jobs} if stream is None else stream.known
        # Names of the policies in error messages.
        self._rule, self._tenancy = f"backfilling rule {options.backfilling}", f"tenants rule {options.tenants}"
        system.decisions.ask(begun)

    @property
    def grows(self) -> bool:
        """Whether running jobs may be expanded."""
        return self._growth is not None

    @property
    def placements(self) -> Mapping[int, int] | None:
        """First node of the last run of each job, if the rule assigns named nodes; None: it counts nodes."""
        placements: Mapping[int, int] | None = getattr(self._begun, "placements", None)
        return placements

    def inherit(self, places: Mapping[int, int]) -> None:
        """Pass the nodes of running jobs to the rule, if it uses them."""
        take = getattr(self._begun, "inherit", None)
        if take is not None:
            take(places)

    @property
    def has_outages(self) -> bool:
        """Whether nodes may be unavailable."""
        return self._outages is not None

    def pass_once(self) -> None:
        """Run one scheduling pass."""
        system = self._system
        if self._outages is not None:
            self._outages.start_in_reservations()
        if system.kept:
            resume(system)
        pool, waiting = self._pool, self._waiting
        sizes = waiting.sizes
        if pool.nodes >= (sizes.least or sizes.smallest()):
            starts: Sequence[Start] = self._backfill(system)
            if type(starts) is not list:
                starts = check_list(self._rule, starts)
            if self._trial is not None:
                tried = self._by_id[self._trial.job_id]
                starts = self._trial.choose_starts(system.now, tried, starts, lambda: self._ask_again(tried))
            for start in starts:
                job = self._check_start(start, pool.nodes, self._rule)
                system.start(job, ((pool, start.nodes),), start.cause)
                if start.reason:
                    system.decisions.reason(system.now, start.job_id, start)
        # Without held nodes, no reservation can lend any.
        if system.reservations and self._totals[Kind.HELD] and waiting.jobs:
            for start in check_list(self._tenancy, self._tenants(system)):
                self._start_tenant(start)
        if self._growth is not None and system.free:
            self._growth(system)

    def _ask_again(self, tried: JobState) -> Sequence[Start]:
        self._system.waiting.renew(tried, self._system.now)
        return self._backfill(self._system)

    def collect(self) -> None:
        """After an event, assign the nodes that it has freed to outages that still lack some."""
        if self._outages is not None:
            self._outages.collect()

    def end_instant(self) -> None:
        """Record the promises that have changed in this instant, if decisions are recorded."""
        self._system.decisions.instant_over(self._system, lambda job_id: self._by_id[job_id].waiting)

    def _start_tenant(self, start: Start) -> None:
        system = self._system
        job = self._check_start(start, system.nodes, self._tenancy)
        problem = tenant_problem(start, {item.job_id: item.nodes for item in system.reservations})
        if problem:
            raise answer_error(self._tenancy, start, problem)
        draws = start.draws or {}
        lenders: dict[Lender, int] = {item: draws[item.job_id] for item in system.reservations if item.job_id in draws}
        system.start(job, lenders.items(), start.cause, lenders)
        system.decisions.record_draws(system.now, start, draws)

    def _check_start(self, start: Start, free: int, policy: str) -> JobState:
        """Return the job of a start; raise an error if it cannot be started on ``free`` nodes."""
        job = self._by_id.get(start.job_id) if isinstance(start, Start) else None
        if job is not None and job.waiting and job.min_nodes <= start.nodes <= job.nodes and start.nodes <= free:
            return job
        raise answer_error(policy, start, start_problem(start, job, job is not None and job.waiting, free))
