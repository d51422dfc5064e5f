"""The planner: makes a plan by the name of a strategy, with a distribution fitted to past runs if it needs one."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from workloads.ground.errors import InputError, ParameterError, UnknownNameError
from workloads.ground.registry import parse_parameter, plugin_parameters

if TYPE_CHECKING:
    import numpy as np

    from policies.planning.costs import CostModel
    from policies.planning.plan import ReservationPlan
    from workloads.fits import FitReport
    from workloads.laws.distribution import Law

__all__ = ["Planning", "fit_runs", "is_rule", "parse_strategy", "refuse_checkpoints", "strategy_without_checkpoints"]


#: Parameters of strategies that say how many cells or milestones there are.
_SIZES = ("n", "tau", "most")


@dataclass(frozen=True)
class Planning:
    """What plans are made from.

    Attributes
    ----------
    law
        Law of the runtime [s].
    costs
        Prices, and durations of checkpoint and restart [s].
    runs
        Past runs [s], newest last, shape (runs,); strategies that are rules of thumb look at these. None: at the law.
    grid
        How finely a law is cut (``n``, ``grid``, ``epsilon``), for the strategies that cut it.
    """

    law: Law
    costs: CostModel
    runs: np.ndarray | None = None
    grid: Mapping[str, Any] = field(default_factory=dict)

    def plan(self, name: str, **parameters: Any) -> ReservationPlan:
        """The plan of one strategy, with further parameters of its own.

        Raises
        ------
        UnknownNameError
            If there is no such strategy.
        InputError
            If it needs more than a law or past runs, or there is no plan of finite cost.
        """
        from policies.planning.strategies import STRATEGIES

        strategy = STRATEGIES[name]
        more = _further_parameters(strategy)
        if more:
            raise InputError(f"the strategy {name} also needs {' and '.join(more)}, which this command does not have")
        known = inspect.signature(strategy).parameters
        # Rules of thumb look at the last k runs.
        source = self.runs if self.runs is not None and "k" in known else self.law
        grid = {key: value for key, value in self.grid.items() if key in known}
        return strategy(source, self.costs, **{**grid, **parameters})

    def cuts(self, name: str) -> bool:
        """Whether the strategy has a use for the grid."""
        from policies.planning.strategies import STRATEGIES

        return set(self.grid) <= set(inspect.signature(STRATEGIES[name]).parameters)

    def compare(self, chosen: ReservationPlan, *, checkpoints: bool = True) -> list[ReservationPlan]:
        """The plans of all strategies that need no more than this, the chosen one among them, cheapest first.

        Parameters
        ----------
        chosen
            A plan made from this.
        checkpoints
            Whether plans with checkpoints are among them.
        """
        from policies.planning.strategies import STRATEGIES

        names = [name for name in STRATEGIES if name != chosen.strategy and _needs_no_chain(STRATEGIES[name])]
        plans = [self.plan(name) for name in names if checkpoints or strategy_without_checkpoints(name) == name]
        shown = [chosen, *(plan for plan in plans if checkpoints or not _saves(plan))]
        return sorted(shown, key=lambda plan: plan.expected_cost(self.law))


def strategy_without_checkpoints(strategy: str) -> str:
    """The strategy to use where no time of a checkpoint is given: the cheapest plan is then one without checkpoints."""
    return "no-ckpt" if strategy == "optimal" else strategy


def refuse_checkpoints(plan: ReservationPlan, option: str) -> None:
    """Refuse a plan with checkpoints where no time of a checkpoint was given.

    Parameters
    ----------
    plan
        Made with checkpoints that take no time, unless its strategy knows better.
    option
        Name of the time that is missing.

    Raises
    ------
    InputError
        If the plan writes checkpoints, and nothing says how long they take.
    """
    if _saves(plan) and plan.costs.checkpoint == 0:
        raise InputError(f"the strategy {plan.strategy} writes checkpoints: give the time that one takes as {option}")


def _saves(plan: ReservationPlan) -> bool:
    return bool(plan.checkpointed.any() or plan.extension_checkpointed)


def parse_strategy(text: str) -> tuple[str, dict[str, Any]]:
    """A strategy as a job table names it: its name, and parameters as ``name=value``, separated by blanks.

    Raises
    ------
    UnknownNameError
        If there is no such strategy, or it has no such parameter.
    InputError
        If a parameter is no number or not legal, or the strategy needs more than a law or past runs.

    Examples
    --------
    >>> parse_strategy("masi k=10 factor=2")
    ('masi', {'k': 10, 'factor': 2})
    """
    from policies.planning.strategies import STRATEGIES

    name, *words = text.split() or [""]
    strategy = STRATEGIES[name]
    if words and plugin_parameters(strategy):
        # A dataclass has its parameters as fields; the registry gives them their values.
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
    """Whether a strategy is a rule of thumb: it looks at past runs, and neither at their law nor at prices."""
    from policies.planning.strategies import STRATEGIES

    return "k" in inspect.signature(STRATEGIES[name]).parameters


def _try(strategy: Any, parameters: Mapping[str, Any]) -> None:
    """Refuse illegal values now, not when the first job is planned in the middle of a simulation."""
    from policies.planning.costs import CostModel
    from workloads.laws.named import uniform

    if not parameters:
        return
    # A plan of few cells is as good for that as the real one.
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
    """Whether a law or runs are all that it has a use for: without a task chain there is no memory to plan."""
    return not _further_parameters(strategy) and "chain" not in inspect.signature(strategy).parameters


def _further_parameters(strategy: Any) -> list[str]:
    """What a strategy needs beside a law and costs: a task chain, without which it would be another strategy."""
    parameters = list(inspect.signature(strategy).parameters.values())[2:]
    return [
        item.name
        for item in parameters
        if item.name == "chain" or (item.default is item.empty and item.kind is not item.VAR_KEYWORD)
    ]


def fit_runs(runs: np.ndarray, how: str, costs: CostModel, strategy: str, grid: Mapping[str, Any]) -> FitReport:
    """The law of past runs.

    Parameters
    ----------
    runs
        Runtimes [s], shape (runs,).
    how
        A kind of fit, or ``"auto"``: the law with the cheapest plans in cross-validation.
    costs
        Of the plans.
    strategy, grid
        How they are made; rules of thumb need no law, so that the law is chosen for the optimal plan.

    Raises
    ------
    UnknownNameError
        If there is no such kind of fit.
    """
    from policies.planning.discretisation import SIZE
    from policies.planning.strategies import STRATEGIES
    from workloads.fits import METHODS, choose, make_fits
    from workloads.ground.streams import stream

    if how not in ("auto", *METHODS):
        raise UnknownNameError("kind of fit", how, ("auto", *METHODS))
    if how != "auto":
        return make_fits(how, runs)
    known = inspect.signature(STRATEGIES[strategy]).parameters
    name = "optimal" if "k" in known or _further_parameters(STRATEGIES[strategy]) else strategy

    # One grid for all candidates, which does not grow: it is coarse enough to be tried some hundred times.
    cells = grid or {"n": SIZE}

    def planner(law: Law, costs: CostModel) -> ReservationPlan:
        return Planning(law, costs, grid=cells).plan(name)

    return choose(runs, costs, planner, rng=stream(0, "plan", "folds"))
