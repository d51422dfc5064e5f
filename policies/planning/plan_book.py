"""The plan book: plans for applications, made at submission from the runs that have completed by then.

Source: docs/model.md, "Stochastic jobs". The book has only the runtimes of completed jobs, never those of waiting or
running jobs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from holdfast.policies.planning.costs import CostModel
from holdfast.policies.planning.plan import ReservationPlan
from holdfast.policies.planning.plan_progress import Schedule
from holdfast.policies.planning.planner import Planning, fit_runs, parse_strategy
from holdfast.workloads.distributions import Distribution, from_samples
from holdfast.workloads.fits import METHODS
from holdfast.workloads.ground.errors import InputError, ParameterError, UnknownNameError
from holdfast.workloads.ground.numbers import check_whole
from holdfast.workloads.ground.units import to_seconds, to_ticks

__all__ = ["PlanBook", "Planned", "Planner", "reserved_time"]

#: Prices (alpha, beta, gamma [s]) as a function of the number of nodes.
Prices = Callable[[int], tuple[float, float, float]]


def reserved_time(nodes: int) -> tuple[float, float, float]:
    """RESERVATIONONLY: a reservation costs its length on any number of nodes."""
    return 1.0, 0.0, 0.0


@dataclass(frozen=True)
class Planner:
    """Settings for plans that are made at submission.

    Attributes
    ----------
    fit
        Method of fitting the distribution: ``auto`` or one of :data:`holdfast.workloads.fits.selection.METHODS`.
    least
        Minimum number of completed runs of an application; with fewer runs, a job requests its walltime.
    growth
        Fraction by which the history must grow before the distribution and the plans are updated.
    prices
        Function of the number of nodes that returns alpha, beta and gamma [s]; default: reserved time.
    grid
        Discretisation of the distribution (``n``, ``grid``, ``epsilon``).

    Raises
    ------
    ParameterError, UnknownNameError
        If a value is not legal.
    """

    fit: str = "kernel"
    least: int = 10
    growth: float = 0.2
    prices: Prices = reserved_time
    grid: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.fit not in ("auto", *METHODS):
            raise UnknownNameError("kind of fit", self.fit, ("auto", *METHODS))
        check_whole("least", self.least, 1, "a whole number of runs, at least 1")
        if not 0 <= self.growth < np.inf:
            raise ParameterError("growth", "a finite share >= 0", self.growth)


@dataclass(frozen=True, eq=False)
class Planned:
    """A plan with its expected cost at the time when it was made.

    Attributes
    ----------
    plan
        The plan, with times in seconds.
    expected_cost
        Expected cost under ``distribution``; None without a distribution.
    runs
        Number of completed runs that determined the plan.
    distribution
        Distribution for which the plan was made.
    """

    plan: ReservationPlan
    expected_cost: float | None = None
    runs: int = 0
    distribution: Distribution | None = None

    @cached_property
    def schedule(self) -> Schedule:
        """The plan in ticks, shared by all jobs that follow it."""
        return Schedule(self.plan, to_ticks, to_seconds)


class _History:
    """Completed runs of an application, and the plans made from them."""

    __slots__ = ("distribution", "fitted", "plans", "runtimes")

    def __init__(self) -> None:
        self.runtimes: list[float] = []
        self.fitted = 0
        self.distribution: Distribution | None = None
        self.plans: dict[tuple[Any, ...], Planned] = {}


class PlanBook:
    """Plans by application.

    Parameters
    ----------
    planner
        Settings of new plans.
    plans
        User-supplied plans, by name in the job table.

    Examples
    --------
    >>> book = PlanBook(Planner(fit="discrete"))
    >>> book.plan("atlas", "optimal", 4, 7200.0, 60.0, 60.0).plan.length
    array([7200.])
    >>> for _ in range(10):
    ...     book.record_completion("atlas", 1000.0)
    >>> book.plan("atlas", "optimal", 4, 7200.0, 60.0, 60.0).plan.length
    array([1000.])
    """

    def __init__(self, planner: Planner | None = None, plans: Mapping[str, ReservationPlan] | None = None) -> None:
        self._planner = planner or Planner()
        self._given = {name: Planned(plan) for name, plan in (plans or {}).items()}
        self._strategies: dict[str, tuple[str, dict[str, Any]]] = {}
        self._histories: dict[str, _History] = {}

    def check(self, name: str) -> None:
        """Reject a name that is neither a given plan nor a strategy.

        Raises
        ------
        InputError
            If there is no such plan or strategy; the message has the legal names.
        """
        if name not in self._given and name not in self._strategies:
            if name.endswith(".json"):
                raise InputError(f"the plan {name} is not among those that were given")
            self._strategies[name] = parse_strategy(name)

    def record_completion(self, application: str, runtime: float) -> None:
        """Record a completed job of the application with its runtime [s]."""
        self._history(application).runtimes.append(runtime)

    def plan(
        self, application: str, name: str, nodes: int, walltime: float, checkpoint: float, restart: float
    ) -> Planned:
        """The plan of a job that is submitted now.

        Parameters
        ----------
        application
            Name of the application with the completed runs.
        name
            Name of a given plan, or a strategy with its parameters.
        nodes
            Size of the job; prices may depend on it.
        walltime
            Requested walltime, used while there are too few runs [s].
        checkpoint, restart
            C and R of the job [s].
        """
        given = self._given.get(name)
        if given is not None:
            return given
        self.check(name)
        planner, history = self._planner, self._history(application)
        alpha, beta, gamma = planner.prices(nodes)
        costs = CostModel(alpha, beta, gamma, checkpoint, restart)
        if len(history.runtimes) < planner.least:
            return Planned(ReservationPlan([walltime], False, costs, "walltime"))
        # The tolerance lets 55 runs count as 10 % more than 50, although 1.1 * 50 is above 55 by rounding.
        enough = (1.0 + planner.growth) * history.fitted * (1.0 - 1e-12)
        if history.distribution is None or len(history.runtimes) >= enough:
            strategy, _ = self._strategies[name]
            history.distribution = fit_runs(
                np.array(history.runtimes), planner.fit, costs, strategy, planner.grid
            ).chosen.good()
            history.fitted = len(history.runtimes)
            history.plans.clear()
        key = (name, alpha, beta, gamma, checkpoint, restart)
        found = history.plans.get(key)
        if found is None:
            runs = np.array(history.runtimes[: history.fitted])
            try:
                found = self._make(name, history.distribution, costs, runs)
            except InputError:
                # No plan has a finite cost under a distribution with an infinite mean; the empirical distribution has a
                # finite mean.
                history.distribution = from_samples(runs)
                found = self._make(name, history.distribution, costs, runs)
            history.plans[key] = found
        return found

    def _make(self, name: str, distribution: Distribution, costs: CostModel, runs: np.ndarray) -> Planned:
        strategy, parameters = self._strategies[name]
        plan = Planning(distribution, costs, runs, self._planner.grid).plan(strategy, **parameters)
        return Planned(plan, plan.expected_cost(distribution), runs.size, distribution)

    def _history(self, application: str) -> _History:
        return self._histories.setdefault(application, _History())
