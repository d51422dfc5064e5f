"""Synthetic applications of [S] section V, and the loss of strategies that are made from samples of their runtimes.

[S] is "Making Speculative Scheduling Robust to Incomplete Data". The cost of a job is its reserved time (alpha = 1,
beta = gamma = 0), and there are no checkpoints. The user knows an upper bound of the runtime (section III), which is
the last reservation of every strategy.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, cached_property

import numpy as np
import numpy.typing as npt

from holdfast.policies.planning.costs import CostModel
from holdfast.policies.planning.optimal import cheapest
from holdfast.policies.planning.plan import ReservationPlan
from holdfast.workloads.distributions.distribution import DiscreteDistribution, Distribution
from holdfast.workloads.distributions.grids import discretise
from holdfast.workloads.distributions.mixture import mixture
from holdfast.workloads.distributions.named import exponential, truncated_normal
from holdfast.workloads.distributions.shifted import shift
from holdfast.workloads.distributions.truncated import truncate

__all__ = ["COSTS", "Application", "applications", "best_strategy"]

#: The RESERVATIONONLY model.
COSTS = CostModel()
#: Number of cells of the grid for the optimum; a grid 10 times as fine changes the optimum by less than 1e-5.
_FINE = 2000


@dataclass(frozen=True)
class Application:
    """An application with a known runtime distribution, so that the loss of a strategy can be computed.

    Attributes
    ----------
    name, title
        Name in tables, and title in figures.
    distribution
        Distribution of the runtime [h].
    families
        Parametric families of the distribution, which a semi-clairvoyant user fits; empty for a mixture.
    """

    name: str
    title: str
    distribution: Distribution
    families: tuple[str, ...]

    @cached_property
    def optimum(self) -> float:
        """Expected cost of the best strategy [h]."""
        return self.cost(best_strategy(self.distribution, self.distribution.upper, _FINE))

    def cost(self, milestones: npt.ArrayLike) -> float:
        """Expected cost of a strategy [h] (Theorem 1)."""
        return ReservationPlan(milestones, False, COSTS).expected_cost(self.distribution)

    def loss(self, milestones: npt.ArrayLike) -> float:
        """Expected loss d_EL of a strategy (Definition 1)."""
        return self.cost(milestones) / self.optimum - 1.0


def best_strategy(distribution: Distribution, bound: float, cells: int) -> npt.NDArray[np.float64]:
    """The best strategy for a distribution, completed by the bound of the runtime.

    Parameters
    ----------
    distribution
        Distribution of the runtime; a discrete one is used unchanged.
    bound
        Upper bound of the runtime, in the unit of the distribution.
    cells
        Number of equal-time cells of the grid for a continuous distribution; 500 in [S].

    Returns
    -------
    ndarray of shape (reservations,)
        Milestones in ascending order; the last one is the bound.
    """
    if not isinstance(distribution, DiscreteDistribution):
        distribution = discretise(
            truncate(distribution, upper=bound) if distribution.upper > bound else distribution, cells, "equal-time"
        )
    milestones = cheapest(
        distribution.values, distribution.probabilities, COSTS, "none", distribution.survival
    ).milestones
    return milestones if milestones[-1] >= bound else np.append(milestones, bound)


@cache
def applications() -> Mapping[str, Application]:
    """The four applications of section V [h].

    The variances in [S] are standard deviations. In the published code and results, the exponential distribution of
    "mean 8 h" has location 1 and scale 1.5 on [1, 9].
    """
    two = mixture([truncated_normal(mean, 2.0, 0.0, 20.0) for mean in (4.0, 10.0)], name="two modes")
    found = (
        Application("normal", "truncated normal, deviation 2 h", truncated_normal(8.0, 2.0, 0.0, 20.0), ("truncnorm",)),
        Application("wide", "truncated normal, deviation 4 h", truncated_normal(8.0, 4.0, 0.0, 20.0), ("truncnorm",)),
        Application("exponential", "truncated exponential", _exponential(), ("truncexpon",)),
        Application("two-mode", "two truncated normals", two, ()),
    )
    return {item.name: item for item in found}


def _exponential() -> Distribution:
    return shift(truncate(exponential(1.5), upper=8.0), 1.0)
