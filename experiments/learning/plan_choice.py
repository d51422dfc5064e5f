"""Environment in which an agent chooses the plan or the walltime that a stochastic job requests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import log10
from typing import TYPE_CHECKING, Any

import numpy as np

from holdfast.experiments.learning.environment import Environment, Jobs, Mask, Observation
from holdfast.simulator import Result, simulate
from holdfast.simulator.stepping.offers import SteppedPlans
from holdfast.workloads.ground.errors import InputError
from holdfast.workloads.table.job import Job, JobType

if TYPE_CHECKING:
    from holdfast.policies.planning.plan import ReservationPlan
    from holdfast.policies.planning.plan_book import Planned, Planner

__all__ = ["COLUMNS", "PlanChoice"]

#: Columns of an observation.
COLUMNS = (
    *("offered", "first", "reservations", "cost", "saved"),
    *("nodes", "walltime", "checkpoint", "restart", "runs", "mean", "free", "queue"),
)
_LARGEST = 2.5


class PlanChoice(Environment[SteppedPlans]):
    """Environment that chooses the plan, or the first walltime, of each stochastic job at its submission.

    A choice is due wherever a stochastic job is submitted for which two or more offers differ; while too few runs of
    its application have completed they do not. An agent that always takes ``own`` gets the schedule of the simulator,
    to the byte.

    Parameters
    ----------
    jobs
        A job table with stochastic jobs, as :func:`holdfast.prepare` makes it with a ``stochastic_share``, of which
        slices are played; or a function that makes the jobs of an episode from its number, such as a generated year
        from a seed.
    nodes
        Size of the machine.
    offers
        ``own``: the plan that the job table names; ``walltime``: one reservation as long as the walltime of the job
        table; ``quantile q=0.9``: one as long as this quantile of the runtimes, by the fitted distribution; or a
        planning strategy with its parameters. A job that outlives its plan asks for longer reservations, each half as
        long again.
    length
        Jobs of an episode: a slice of consecutive jobs, which begins on an empty machine and with no past runs. Jobs
        that a function makes are one episode, however many there are.
    metric
        Column of the summary that is the reward: less it where less is better.
    against
        ``own``: the reward is what the schedule is better than with the plans of the job table; empty: the metric
        itself.
    mechanism
        How on-demand jobs are served.
    planner, plans
        As of :func:`holdfast.simulate`.
    events
        Whether the ``result`` of an episode has an event log.
    **options
        Further options of the simulation.

    Attributes
    ----------
    action_space
        ``Discrete(len(offers))``. An offer that does not exist yet stands for the first that does;
        :meth:`action_masks` marks those that do.
    observation_space
        ``Box(0, 2.5, (len(offers), 13))``: a row for each offer. Columns: of the plan ``offered`` [1: it exists],
        ``first`` [log10(1 + seconds that it asks for first) / 6], ``reservations`` [log10(expected number)], ``cost``
        [log10(1 + expected cost) / 6, in the planner's prices], ``saved`` [share of its reservations that end with a
        checkpoint]; of the job ``nodes`` [share of the machine], ``walltime``, ``checkpoint`` and ``restart``
        [log10(1 + s) / 6]; of its application ``runs`` [log10(1 + completed runs) / 6] and ``mean`` [log10(1 + mean
        runtime in s) / 6]; of the machine ``free`` [share of it] and ``queue`` [log10(1 + waiting jobs) / 6].
    episodes
        The jobs of each episode, by number; ``episodes.count`` is how many there are.

    Notes
    -----
    The reward is 0 but in the last step. ``info`` of that step holds the ``result``. Observations know runtimes of
    completed jobs only, as the planner does.
    """

    scored = COLUMNS
    needed = "a stochastic job whose application has enough completed runs for different plans"

    def __init__(
        self,
        jobs: Jobs,
        nodes: int,
        *,
        offers: Sequence[str] = ("own", "walltime", "no-ckpt", "quantile q=0.9"),
        length: int = 256,
        metric: str = "turnaround_h",
        against: str = "",
        mechanism: str = "baseline",
        planner: Planner | None = None,
        plans: Mapping[str, ReservationPlan] | None = None,
        events: bool = False,
        **options: object,
    ) -> None:
        super().__init__(
            jobs,
            nodes,
            length=length,
            types=tuple(JobType),
            metric=metric,
            against=against,
            answers=len(offers),
            features=COLUMNS,
            largest=_LARGEST,
        )
        if against not in ("", "own"):
            raise InputError(f"against must be own or empty, where plans are chosen, not {against!r}")
        self.answers = tuple(offers)
        self._mechanism = mechanism
        self._planner = planner
        self._plans = plans
        self._events = events
        self._options = options
        self._seen: dict[Planned, tuple[float, ...]] = {}
        self._check_settings()

    def __getstate__(self) -> dict[str, Any]:
        return {**super().__getstate__(), "_seen": {}}

    def action_masks(self) -> Mask:
        """Mask of the existing offers, shape (offers,)."""
        return np.array([item is not None for item in self._active_simulation().offered])

    def _start(self, jobs: Sequence[Job]) -> SteppedPlans:
        self._seen.clear()
        return SteppedPlans(
            jobs,
            self.nodes,
            offers=self.answers,
            mechanism=self._mechanism,
            planner=self._planner,
            plans=self._plans,
            events=self._events,
            checked=True,
            **self._options,
        )

    def _answer(self, simulation: SteppedPlans, action: int) -> None:
        offered = simulation.offered
        exists = [place for place, item in enumerate(offered) if item is not None]
        simulation.choose(action if offered[action] is not None else exists[0])

    def _observe(self) -> Observation:
        simulation = self._active_simulation()
        view, job = simulation.view, simulation.job.job
        fitted = next((item for item in simulation.offered if item is not None and item.distribution is not None), None)
        seen = self._blank()
        for row, planned in zip(seen, simulation.offered, strict=True):
            if planned is not None:
                row[:5] = self._of_plan(planned, fitted)
        seen[:, 5] = job.nodes / view.nodes
        seen[:, 6:9] = [_scale(time) for time in (job.walltime, job.checkpoint_cost, job.restart_cost)]
        if fitted is not None and fitted.distribution is not None:
            seen[:, 9:11] = _scale(fitted.runs), min(_scale(fitted.distribution.mean()), _LARGEST)
        seen[:, 11] = view.free / view.nodes
        seen[:, 12] = _scale(len(view.queue))
        return seen

    def _of_plan(self, planned: Planned, fitted: Planned | None) -> tuple[float, ...]:
        """Features of a plan, cached by object because plans stay the same objects while the runs do."""
        if planned not in self._seen:
            plan, distribution = planned.plan, fitted.distribution if fitted is not None else None
            number, cost = 1.0, 0.0
            if distribution is not None:
                try:
                    number, cost = plan.expected_reservations(distribution), plan.expected_cost(distribution)
                except InputError:
                    # The distribution's tail is too heavy for an expectation.
                    number = cost = np.inf
            found = (1.0, _scale(plan.length[0]), log10(number), _scale(cost), float(plan.checkpointed.mean()))
            self._seen[planned] = tuple(min(item, _LARGEST) for item in found)
        return self._seen[planned]

    def _simulate_baseline(self, jobs: Sequence[Job], name: str) -> Result:
        return simulate(
            jobs,
            self.nodes,
            self._mechanism,
            planner=self._planner,
            plans=self._plans,
            events=False,
            **self._options,  # type: ignore[arg-type]  # as simulate checks them
        )


def _scale(number: float) -> float:
    return log10(1.0 + number) / 6.0
