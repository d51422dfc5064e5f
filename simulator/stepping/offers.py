"""A simulation that stops whenever a stochastic job is submitted and several plans are available, so that the caller
chooses.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from holdfast.policies.mechanism import BASELINE, parse_mechanism
from holdfast.policies.planning.plan_choices import OWN, OfferingBook, PlanAsked
from holdfast.simulator.clock.decision_request import Asking
from holdfast.simulator.clock.setup import Setup
from holdfast.simulator.machine.decisions import Decisions
from holdfast.simulator.machine.event_log import EventLog
from holdfast.simulator.machine.job_state import JobState
from holdfast.simulator.machine.stochastic import StochasticJob
from holdfast.simulator.options import Options
from holdfast.simulator.results.recording import clock_origin
from holdfast.simulator.simulation import check_plans, checked_table
from holdfast.simulator.stepping.base import Stepped
from holdfast.workloads.ground.errors import InvariantError, ParameterError
from holdfast.workloads.ground.numbers import is_whole
from holdfast.workloads.table.job import Job

if TYPE_CHECKING:
    from holdfast.policies.planning.plan import ReservationPlan
    from holdfast.policies.planning.plan_book import Planned, Planner

__all__ = ["SteppedPlans"]


class SteppedPlans(Stepped):
    """A replay in which the caller chooses the plan of each stochastic job when it is submitted.

    It uses the engine of :func:`holdfast.simulator.simulation.simulate`, and stops before the submit of a stochastic
    job for which at least two offers differ. They do not differ while too few runs of its application have completed.

    Parameters
    ----------
    jobs
        Job table.
    nodes
        Size of the machine.
    offers
        ``own``: the plan that the job table names; ``walltime``: one reservation as long as the walltime of the job
        table; ``quantile q=0.9``: one as long as this quantile of the fitted distribution; or a planning strategy with
        its parameters. A job that exceeds its plan requests longer reservations.
    mechanism
        How on-demand jobs are served.
    planner, plans
        As for :func:`holdfast.simulator.simulation.simulate`.
    events
        Whether the event log is kept.
    checked
        Whether the jobs have already been validated.
    **options
        Fields of :class:`holdfast.simulator.options.Options`.

    Attributes
    ----------
    offered
        The plans to choose from; None where an offer does not exist yet.

    Raises
    ------
    InputError
        If the table, the machine, an offer or an option is not legal.
    """

    def __init__(
        self,
        jobs: Iterable[Job],
        nodes: int,
        *,
        offers: Sequence[str] = ("own", "walltime", "no-ckpt", "quantile q=0.9"),
        mechanism: str = BASELINE,
        planner: Planner | None = None,
        plans: Mapping[str, ReservationPlan] | None = None,
        events: bool = True,
        checked: bool = False,
        **options: object,
    ) -> None:
        settings, table = Options.of(**options), list(jobs) if checked else checked_table(jobs, nodes).rows()
        if isinstance(offers, str) or len(offers) < 2:
            raise ParameterError("offers", "the names of two or more plans", offers)
        self._names = tuple(offers)
        self._book = OfferingBook(offers, planner, plans)
        check_plans(self._book, table)
        self.offered: list[Planned | None] = []
        asking = Asking(about=self._is_due)
        log, origin = EventLog(events), clock_origin(table)
        served_by = parse_mechanism(mechanism)
        super().__init__(
            Setup(table, nodes, served_by, settings, log, Decisions(False), origin, book=self._book, asking=asking),
            asking,
        )
        self._launch()

    @property
    def job(self) -> StochasticJob:
        """The job that is about to be submitted.

        Raises
        ------
        InvariantError
            If there is none.
        """
        job = self._asking.job
        if not isinstance(job, StochasticJob):
            raise InvariantError("the simulation is over: no job is submitted")
        return job

    def choose(self, place: int) -> None:
        """Assign an offered plan to the job and continue to the next one.

        Raises
        ------
        ParameterError
            If there is no such offer.
        InvariantError
            If no job is submitted.
        """
        job = self.job
        if not is_whole(place, 0) or place >= len(self.offered) or self.offered[place] is None:
            legal = [number for number, item in enumerate(self.offered) if item is not None]
            raise ParameterError("place", f"one of {', '.join(map(str, legal))} for job {job.job_id}", place)
        self._book.chosen = self.offered[place]
        self._submit()

    def _is_due(self, job: JobState) -> bool:
        if not isinstance(job, StochasticJob):
            return False
        table = job.job
        asked = PlanAsked(
            job.application, table.plan, table.nodes, table.walltime, table.checkpoint_cost, table.restart_cost
        )
        offered = self._book.offer_plans(asked)
        first = next(item for item in offered if item is not None)
        if all(item is None or item is first or _same(item, first) for item in offered):
            # The job's own plan is part of its record.
            self._book.chosen = None if OWN in self._names else first
            return False
        self.offered = offered
        return True


def _same(one: Planned, other: Planned) -> bool:
    """Whether two plans have the same reservations, distribution and prices."""
    a, b = one.plan, other.plan
    return (
        np.array_equal(a.milestones, b.milestones)
        and np.array_equal(a.checkpointed, b.checkpointed)
        and np.array_equal(a.memory, b.memory)  # type: ignore[arg-type]  # None is equal to None
        and a.costs == b.costs
        and (a.extension, a.extension_checkpointed) == (b.extension, b.extension_checkpointed)
    )
