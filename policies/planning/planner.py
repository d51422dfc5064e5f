"""The planner: makes a plan by the name of a strategy, with a distribution fitted to past runs if it needs one."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from holdfast.workloads.ground.errors import InputError, ParameterError, UnknownNameError
from holdfast.workloads.ground.registry import parse_parameter, plugin_parameters

if TYPE_CHECKING:
    import numpy as np

    from holdfast.policies.planning.costs import CostModel
    from holdfast.policies.planning.plan import ReservationPlan
    from holdfast.workloads.distributions.distribution import Distribution
    from holdfast.workloads.fits import FitReport

__all__ = ["Planning", "fit_runs", "is_rule", "parse_strategy", "refuse_checkpoints", "strategy_without_checkpoints"]


#: Parameters of strategies that set a number of cells or milestones.
_SIZES = ("n", "tau", "most")


@dataclass(frozen=True)
class Planning:
    """The input of a plan.

    Attributes
    ----------
    distribution
        Distribution of the runtime [s].
    costs
        Prices, and durations of checkpoint and restart [s].
    runs
        Past runs, newest last, shape (runs,), for heuristics [s]. None: heuristics use the distribution.
    grid
        Discretisation (``n``, ``grid``, ``epsilon``) for strategies that discretise.
    """

    distribution: Distribution
    costs: CostModel
    runs: np.ndarray | None = None
    grid: Mapping[str, Any] = field(default_factory=dict)

    def plan(self, name: str, **parameters: Any) -> ReservationPlan:
        """Make a plan by the name of a strategy, with its parameters.

        Raises
        ------
        UnknownNameError
            If there is no such strategy.
        InputError
            If the strategy needs more than a distribution or past runs, or no plan has a finite cost.
        """
        from holdfast.policies.planning.strategies import STRATEGIES

        strategy = STRATEGIES[name]
        more = _further_parameters(strategy)
        if more:
            raise InputError(f"the strategy {name} also needs {' and '.join(more)}, which this command does not have")
        known = inspect.signature(strategy).parameters
        # Strategies with a parameter k are heuristics on the last k runs.
        source = self.runs if self.runs is not None and "k" in known else self.distribution
        grid = {key: value for key, value in self.grid.items() if key in known}
        return strategy(source, self.costs, **{**grid, **parameters})

    def cuts(self, name: str) -> bool:
        """Whether the strategy uses the grid."""
        from holdfast.policies.planning.strategies import STRATEGIES

        return set(self.grid) <= set(inspect.signature(STRATEGIES[name]).parameters)

    def compare(self, chosen: ReservationPlan, *, checkpoints: bool = True) -> list[ReservationPlan]:
        """The plans of all strategies that need only this input, including the chosen plan, cheapest first.

        Parameters
        ----------
        chosen
            A plan made from this input.
        checkpoints
            Whether to include plans with checkpoints.
        """
        from holdfast.policies.planning.strategies import STRATEGIES

        names = [name for name in STRATEGIES if name != chosen.strategy and _needs_no_chain(STRATEGIES[name])]
        plans = [self.plan(name) for name in names if checkpoints or strategy_without_checkpoints(name) == name]
        shown = [chosen, *(plan for plan in plans if checkpoints or not _saves(plan))]
        return sorted(shown, key=lambda plan: plan.expected_cost(self.distribution))


def strategy_without_checkpoints(strategy: str) -> str:
    """Name of the strategy to use if no checkpoint time is given: the cheapest plan without checkpoints."""
    return "no-ckpt" if strategy == "optimal" else strategy


def refuse_checkpoints(plan: ReservationPlan, option: str) -> None:
    """Reject a plan with checkpoints if no checkpoint time was given.

    Parameters
    ----------
    plan
        A plan; its checkpoints take no time unless the strategy sets their duration.
    option
        Name of the missing option.

    Raises
    ------
    InputError
        If the plan writes checkpoints.
    """
    if _saves(plan) and plan.costs.checkpoint == 0:
        raise InputError(f"the strategy {plan.strategy} writes checkpoints: give the time that one takes as {option}")


def _saves(plan: ReservationPlan) -> bool:
    return bool(plan.checkpointed.any() or plan.extension_checkpointed)


def parse_strategy(text: str) -> tuple[str, dict[str, Any]]:
    """Parse a strategy in a job table: its name, and parameters as ``name=value``, separated by blanks.

    Raises
    ------
    UnknownNameError
        If there is no such strategy, or it has no such parameter.
    InputError
        If a parameter is not a number or not legal, or the strategy needs more than a distribution or past runs.

    Examples
    --------
    >>> parse_strategy("masi k=10 factor=2")
    ('masi', {'k': 10, 'factor': 2})
    """
    from holdfast.policies.planning.strategies import STRATEGIES

    name, *words = text.split() or [""]
    strategy = STRATEGIES[name]
    if words and plugin_parameters(strategy):
        # The parameters of a dataclass are its fields, which the registry sets.
        strategy, name, words = STRATEGIES[text], text, []
    more = _further_parameters(strategy)
    if more:
        raise InputError(f"the strategy {name} also needs {' and '.join(more)}; give it as a plan")
    legal = [item for item in list(inspect.signature(strategy).parameters)[2:] if item != "chain"]
    parameters: dict[str, Any] = {}
    for word in words:
        key, _, value = word.partition("=")
        if key not in legal:
            raise UnknownNameError(f"parameter of the strategy {name}", key, legal)
        parameters[key] = _parse_value(strategy, key, value)
    _try(strategy, parameters)
    return name, parameters


def is_rule(name: str) -> bool:
    """Whether a strategy is a heuristic, which uses only past runs, and no distribution or prices."""
    from holdfast.policies.planning.strategies import STRATEGIES

    return "k" in inspect.signature(STRATEGIES[name]).parameters


def _try(strategy: Any, parameters: Mapping[str, Any]) -> None:
    """Reject illegal values now, instead of when the first job is planned in the middle of a simulation."""
    from holdfast.policies.planning.costs import CostModel
    from holdfast.workloads.distributions.named import uniform

    if not parameters:
        return
    # A plan with few cells is sufficient for the check.
    few = {key: min(value, 9) if key in _SIZES and type(value) is int else value for key, value in parameters.items()}
    if few.get("epsilon", 0) > 0 and "n" not in few and few.get("grid", "equal-time") == "equal-time":
        few["epsilon"] = max(few["epsilon"], 0.5)
    source = [1.0, 2.0] if "k" in inspect.signature(strategy).parameters else uniform(1.0, 2.0)
    strategy(source, CostModel(gamma=1.0), **few)


def _parse_value(strategy: Any, key: str, text: str) -> Any:
    if key == "grid":
        return text
    value = parse_parameter(strategy, key, text)
    if isinstance(value, str):
        raise ParameterError(key, "a number", text)
    return value


def _needs_no_chain(strategy: Any) -> bool:
    """Whether a strategy needs only a distribution or runs, and no task chain."""
    return not _further_parameters(strategy) and "chain" not in inspect.signature(strategy).parameters


def _further_parameters(strategy: Any) -> list[str]:
    """Required arguments of a strategy beyond a distribution and costs, such as a task chain."""
    parameters = list(inspect.signature(strategy).parameters.values())[2:]
    return [
        item.name
        for item in parameters
        if item.name == "chain" or (item.default is item.empty and item.kind is not item.VAR_KEYWORD)
    ]


def fit_runs(runs: np.ndarray, how: str, costs: CostModel, strategy: str, grid: Mapping[str, Any]) -> FitReport:
    """Fit a distribution to past runs.

    Parameters
    ----------
    runs
        Runtimes [s], shape (runs,).
    how
        Kind of fit, or ``"auto"``: the distribution with the cheapest plans in cross-validation.
    costs
        Costs of the plans.
    strategy, grid
        Strategy and discretisation of the plans. For heuristics, which need no distribution, the choice is that for the
        optimal plan.

    Raises
    ------
    UnknownNameError
        If there is no such kind of fit.
    """
    from holdfast.policies.planning.discretisation import SIZE
    from holdfast.policies.planning.strategies import STRATEGIES
    from holdfast.workloads.fits import METHODS, choose, make_fits
    from holdfast.workloads.ground.random_streams import stream

    if how not in ("auto", *METHODS):
        raise UnknownNameError("kind of fit", how, ("auto", *METHODS))
    if how != "auto":
        return make_fits(how, runs)
    known = inspect.signature(STRATEGIES[strategy]).parameters
    name = "optimal" if "k" in known or _further_parameters(STRATEGIES[strategy]) else strategy

    # All candidates use one grid without refinement, because some hundred plans are made.
    cells = grid or {"n": SIZE}

    def planner(distribution: Distribution, costs: CostModel) -> ReservationPlan:
        return Planning(distribution, costs, grid=cells).plan(name)

    return choose(runs, costs, planner, rng=stream(0, "plan", "folds"))
