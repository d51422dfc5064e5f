"""Plans by methods of the checkpoint paper: Algorithm 1's grid, the converged optimum, a lower bound of the cost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from holdfast.policies.planning.costs import CostModel
from holdfast.policies.planning.optimal import cheapest
from holdfast.policies.planning.plan import ReservationPlan
from holdfast.policies.planning.strategies import STRATEGIES
from holdfast.workloads.distributions import GRIDS, TABLE_1, Distribution, algorithm_1_size, bound_support, discretise
from holdfast.workloads.ground.errors import UnknownNameError

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = [
    "FIVE",
    "NAMES",
    "Cells",
    "Labels",
    "cells_for",
    "equal_costs",
    "least_cost",
    "limit_cost",
    "look",
    "make_plan",
    "table_distributions",
]

#: The paper's names of the distributions of Table 1, in its order.
NAMES: Mapping[str, str] = {
    "exponential": "Exponential",
    "weibull": "Weibull",
    "gamma": "Gamma",
    "lognormal": "LogNormal",
    "pareto": "Pareto",
    "truncated-normal": "TruncatedNormal",
    "uniform": "Uniform",
    "beta": "Beta",
    "bounded-pareto": "BoundedPareto",
}
#: The paper's names of the five algorithms of section 4.1, by the planner's names.
FIVE: Mapping[str, str] = {
    "optimal": "DYN-PROG-COUNT",
    "all-ckpt": "ALL-CKPT",
    "no-ckpt": "NO-CKPT",
    "all-ckpt-periodic": "ALL-CKPT-PER",
    "no-ckpt-periodic": "NO-CKPT-PER",
}
#: Colours: black and yellow as in the paper's Fig. 7, the others from Okabe and Ito.
_COLORS = ("#000000", "#E69F00", "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#7F7F7F", "#882255")
_DASHES = ("-", "--", "-.", ":", (0, (5, 1, 1, 1, 1, 1)))

Labels = Mapping[str, str]


@dataclass(frozen=True)
class Cells:
    """Grid of a discretised distribution.

    Attributes
    ----------
    n
        Number of cells.
    kind
        ``"equal-time"``, as in Algorithm 1, or ``"cubic"``.
    """

    n: int
    kind: str


def table_distributions(names: Iterable[str]) -> dict[str, Distribution]:
    """Distributions of Table 1, truncated at Q(1 - 1e-7) if their support is infinite (section 4.2) [h].

    Raises
    ------
    UnknownNameError
        If a name is not in the table.
    """
    chosen = list(names)
    for name in chosen:
        if name not in TABLE_1:
            raise UnknownNameError("distribution", name, TABLE_1)
    return {name: bound_support(TABLE_1[name]) for name in chosen}


def equal_costs(overhead: float, gamma: float = 0.0) -> CostModel:
    """The paper's RESERVATIONONLY costs (alpha = 1, beta = 0) with C = R."""
    return CostModel(alpha=1.0, beta=0.0, gamma=gamma, checkpoint=overhead, restart=overhead)


def cells_for(distribution: Distribution, epsilon: float, overhead: float, most: int, gamma: float = 0.0) -> Cells:
    """Algorithm 1's grid if it has at most ``most`` cells, otherwise ``most`` cubic cells.

    Parameters
    ----------
    distribution
        A distribution with bounded support.
    epsilon
        Precision of Algorithm 1.
    overhead
        Duration C = R, > 0, in the unit of the distribution.
    most
        Largest number of cells; planning time grows with its square.
    gamma
        Price of each reservation.
    """
    n = algorithm_1_size(distribution, epsilon, alpha=1.0, gamma=gamma, checkpoint=overhead, restart=overhead)
    return Cells(n, "equal-time") if n <= most else Cells(most, "cubic")


def make_plan(
    strategy: str, distribution: Distribution, costs: CostModel, grid: Cells, most: int = 1000
) -> ReservationPlan:
    """Make the plan of one of the five strategies; periodic strategies search for the best tau in 1..most."""
    if strategy.endswith("periodic"):
        return STRATEGIES[strategy](distribution, costs, most=most)
    if strategy == "optimal":
        # Algorithm 1 as printed needs up to 116,909 cells (Weibull, epsilon = 0.1) and some minutes, which is
        # acceptable for the paper's sizes. The strategy refuses so large a number, because a user waits for its answer.
        cells = discretise(distribution, grid.n, grid.kind)
        found = cheapest(cells.values, cells.probabilities, costs, survival=cells.survival)
        return ReservationPlan(found.milestones, found.checkpointed, costs, strategy)
    return STRATEGIES[strategy](distribution, costs, n=grid.n, grid=grid.kind)


def limit_cost(distribution: Distribution, costs: CostModel, cells: int) -> float:
    """Expected cost of the optimal plan on a grid of cubic cells fine enough for convergence."""
    return STRATEGIES["optimal"](distribution, costs, n=cells, grid="cubic").expected_cost(distribution)


def least_cost(distribution: Distribution, costs: CostModel, cells: int) -> float:
    """Lower bound of the expected cost of every plan for a continuous distribution.

    Every runtime is rounded down to the start of its cell. A plan does not cost more for a shorter job, so that the
    best plan for the rounded runtimes does not cost more than the best plan for the distribution.
    """
    edges = np.asarray(GRIDS["cubic"](distribution, np.arange(cells + 1) / cells), float)
    edges[0], edges[-1] = distribution.lower, distribution.upper
    survival = np.append(np.asarray(distribution.sf(edges[:-1]), float), 0.0)
    survival[0] = 1.0
    starts, probabilities = np.unique(edges[:-1]), -np.diff(survival)
    return cheapest(starts, np.maximum(probabilities, 0.0) / probabilities.sum(), costs).cost


def look(keys: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Colours and line styles of a figure, in order."""
    return {
        key: {"color": _COLORS[number % len(_COLORS)], "linestyle": _DASHES[number % len(_DASHES)]}
        for number, key in enumerate(keys)
    }
