"""The registry of planning strategies: ``STRATEGIES[name](distribution_or_runs, costs, **parameters)``."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any, Literal

from numpy.typing import ArrayLike

from holdfast.policies.planning.costs import CostModel
from holdfast.policies.planning.discretisation import MOST_OPTIMAL, SIZE, as_discrete, as_distribution
from holdfast.policies.planning.grid_refinement import grow_grid
from holdfast.policies.planning.heuristics import masi, maximum, neuro, neuro_average
from holdfast.policies.planning.memory_plan import mem_all_ckpt, mem_all_ckpt_v2
from holdfast.policies.planning.optimal import cheapest
from holdfast.policies.planning.periodic import all_checkpoint_periodic, no_checkpoint_periodic
from holdfast.policies.planning.plan import ReservationPlan
from holdfast.workloads.distributions import DiscreteDistribution, Distribution
from holdfast.workloads.distributions.grids import MOST_CELLS
from holdfast.workloads.ground.errors import ParameterError
from holdfast.workloads.ground.registry import Registry, function_adapter

__all__ = ["STRATEGIES", "Strategy", "all_checkpoint", "no_checkpoint", "optimal", "plans"]


#: Function of a runtime distribution (or past runs, newest last) and costs that returns a plan; its parameters are
#: keyword arguments.
Strategy = Callable[..., ReservationPlan]


def optimal(
    distribution_or_runs: Distribution | ArrayLike,
    costs: CostModel,
    *,
    n: int | None = None,
    grid: str | None = None,
    epsilon: float | None = None,
) -> ReservationPlan:
    """The cheapest plan of all, with checkpoints where they reduce the cost (DYN-PROG-COUNT of [R]).

    Parameters
    ----------
    distribution_or_runs
        Distribution of the runtime, or past runs, which are used as a discrete distribution.
    costs
        Prices and durations.
    n, grid, epsilon
        Discretisation of a continuous distribution (:func:`holdfast.policies.planning.discretisation.as_discrete`). If
        none of them is given and most cells become milestones, the grid is refined until the cost settles
        (:mod:`holdfast.policies.planning.grid_refinement`); the plan's ``growth`` describes the refinement.

    Returns
    -------
    ReservationPlan
        The optimal plan for the discrete distribution; for a continuous one, its cost approaches the optimum as n
        grows.

    Notes
    -----
    "Reservation and Checkpointing Strategies for Stochastic Jobs", sections 3.2 and 3.3.

    Examples
    --------
    >>> optimal([1.0, 1.0, 1.0, 9.0], CostModel(checkpoint=0.1, restart=0.1)).length
    array([1.1, 8.1])
    """
    return _cheapest("optimal", "best", None, distribution_or_runs, costs, n, grid, epsilon)


def all_checkpoint(
    distribution_or_runs: Distribution | ArrayLike,
    costs: CostModel,
    *,
    n: int | None = None,
    grid: str | None = None,
    epsilon: float | None = None,
) -> ReservationPlan:
    """ALL-CKPT: the cheapest plan with checkpoints at all milestones but the last; parameters as in :func:`optimal`."""
    return _cheapest("all-ckpt", "all", True, distribution_or_runs, costs, n, grid, epsilon)


def no_checkpoint(
    distribution_or_runs: Distribution | ArrayLike,
    costs: CostModel,
    *,
    n: int | None = None,
    grid: str | None = None,
    epsilon: float | None = None,
) -> ReservationPlan:
    """NO-CKPT: the cheapest plan without checkpoints; parameters as in :func:`optimal`."""
    return _cheapest("no-ckpt", "none", False, distribution_or_runs, costs, n, grid, epsilon)


def _cheapest(
    strategy: str,
    checkpoints: Literal["best", "all", "none"],
    extension_checkpointed: bool | None,
    distribution_or_runs: Distribution | ArrayLike,
    costs: CostModel,
    n: int | None,
    grid: str | None,
    epsilon: float | None,
) -> ReservationPlan:
    # The time for the best plan grows with the square of the number of cells.
    most = MOST_OPTIMAL if checkpoints == "best" else MOST_CELLS

    def plan_on_grid(cells: int | None) -> tuple[ReservationPlan, int]:
        distribution = as_discrete(whole, costs, cells, grid, epsilon, most)
        found = cheapest(distribution.values, distribution.probabilities, costs, checkpoints, distribution.survival)
        plan = ReservationPlan(
            found.milestones, found.checkpointed, costs, strategy, extension_checkpointed=extension_checkpointed
        )
        return plan, len(distribution)

    whole = as_distribution(distribution_or_runs)
    if isinstance(whole, DiscreteDistribution) or (n, grid, epsilon) != (None, None, None):
        return plan_on_grid(n)[0]
    plan, growth = grow_grid(plan_on_grid, whole, costs, SIZE)
    return plan if growth is None else replace(plan, growth=growth)


STRATEGIES: Registry[Strategy] = Registry(
    "planning strategy", "holdfast.strategies", function_adapter("a distribution or past runs", "costs")
)
STRATEGIES.add("optimal", optimal, "the cheapest plan of all, with a checkpoint where it pays")
STRATEGIES.add("all-ckpt", all_checkpoint, "the cheapest plan with all checkpoints but the last")
STRATEGIES.add("no-ckpt", no_checkpoint, "the cheapest plan without checkpoints")
STRATEGIES.add("all-ckpt-periodic", all_checkpoint_periodic, "equal distances, all checkpointed but the last")
STRATEGIES.add("no-ckpt-periodic", no_checkpoint_periodic, "equal distances, no checkpoints")
STRATEGIES.add("maximum", maximum, "one reservation as long as the longest past run")
STRATEGIES.add("masi", masi, "the mean of the last k runs, then longer by a factor")
STRATEGIES.add("neuro", neuro, "the longest of the last k runs, then longer, all checkpointed")
STRATEGIES.add("neuro-avg", neuro_average, "the mean of the last k runs, then longer, all checkpointed")
STRATEGIES.add("mem-all-ckpt", mem_all_ckpt, "all checkpointed, each sized by the memory at its time")
STRATEGIES.add("mem-all-ckpt-v2", mem_all_ckpt_v2, "the same, but the first ends before the task with most memory")


def plans(
    distribution_or_runs: Distribution | ArrayLike, costs: CostModel, names: Iterable[str], **parameters: Any
) -> dict[str, ReservationPlan]:
    """Make plans of several strategies; each strategy gets the parameters that it accepts.

    Raises
    ------
    ParameterError
        If no strategy accepts a parameter.
    UnknownNameError
        If a strategy is unknown.
    """
    chosen = {name: STRATEGIES[name] for name in names}
    known = {name: set(inspect.signature(strategy).parameters) for name, strategy in chosen.items()}
    for parameter in parameters:
        if not any(parameter in names for names in known.values()):
            legal = sorted(set().union(*known.values()) - {"distribution_or_runs", "costs"})
            raise ParameterError("parameters", f"of {', '.join(legal)}", parameter)
    return {
        name: strategy(
            distribution_or_runs, costs, **{key: value for key, value in parameters.items() if key in known[name]}
        )
        for name, strategy in chosen.items()
    }
