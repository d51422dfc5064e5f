"""The probability distribution of the cost of a plan."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from holdfast.policies.planning.costs import CostModel

if TYPE_CHECKING:
    from holdfast.workloads.distributions import Distribution

__all__ = ["Reservations", "Spending"]

Floats = NDArray[np.float64]


class Reservations(Protocol):
    """The part of :class:`~holdfast.policies.planning.plan.ReservationPlan` that the cost distribution uses."""

    @property
    def strategy(self) -> str: ...
    @property
    def costs(self) -> CostModel: ...
    @property
    def milestones(self) -> Floats: ...
    @property
    def start(self) -> Floats: ...
    @property
    def restart(self) -> Floats: ...
    @property
    def length(self) -> Floats: ...
    @property
    def spent(self) -> Floats: ...
    @property
    def extension(self) -> float: ...
    def extend(self, runtime: float) -> Reservations: ...
    def paid_cost(self, runtimes: ArrayLike) -> Floats: ...
    def expected_cost(self, distribution: Distribution) -> float: ...


@dataclass(frozen=True)
class Spending:
    """The distribution of the cost of a plan for jobs of random runtime.

    The class is a :class:`~holdfast.workloads.distributions.distribution.Distribution`. The cost increases with the
    runtime, so that a quantile of the cost is the cost of the same quantile of the runtime.

    Parameters
    ----------
    plan
        The reservations.
    distribution
        Distribution of the runtime.
    """

    plan: Reservations
    distribution: Distribution

    @property
    def name(self) -> str:
        """Name of the plan and of the runtime distribution."""
        return f"cost of {self.plan.strategy or 'a plan'} for {self.distribution.name}"

    @property
    def lower(self) -> float:
        """Smallest cost."""
        return float(self.plan.paid_cost(self.distribution.lower))

    @property
    def upper(self) -> float:
        """Largest cost; infinite if the runtime has no bound."""
        return float(self.plan.paid_cost(self.distribution.upper)) if np.isfinite(self.distribution.upper) else np.inf

    def _longest(self, cost: ArrayLike) -> Floats:
        """Longest runtime with at most a given cost, elementwise; -1 where there is none."""
        target = np.asarray(cost, float)
        plan, prices = self.plan, self.plan.costs
        finite = target[np.isfinite(target)]
        # Each additional reservation costs more than the work it covers.
        while finite.size and plan.spent[-1] + prices.alpha * plan.length[-1] <= finite.max():
            plan = plan.extend(float(plan.milestones[-1]) * plan.extension**4 * 0.999)
        # Cost of a job that ends in reservation k, without the term beta * (runtime - start) for its work there.
        base = plan.spent + prices.price(plan.length, plan.restart)
        begins = np.concatenate(([0.0], plan.milestones[:-1]))
        # Lower bounds of the costs in each reservation; a job of runtime 0 costs exactly the first one.
        floor = base + prices.beta * (begins - plan.start)
        k = np.searchsorted(floor, target, side="right") - 1
        inside = np.maximum(k, 0)
        with np.errstate(invalid="ignore"):
            spare = (target - base[inside]) / prices.beta + plan.start[inside] if prices.beta > 0 else np.inf
        found = np.where(k < 0, -1.0, np.minimum(plan.milestones[inside], spare))
        return np.where(target == np.inf, np.inf, found)

    def cdf(self, x: ArrayLike) -> Floats:
        """P(cost <= x)."""
        runtime = self._longest(x)
        return np.where(runtime < 0, 0.0, self.distribution.cdf(runtime))

    def sf(self, x: ArrayLike) -> Floats:
        """P(cost > x)."""
        runtime = self._longest(x)
        return np.where(runtime < 0, 1.0, self.distribution.sf(runtime))

    def ppf(self, q: ArrayLike) -> Floats:
        """The smallest cost c with P(cost <= c) >= q."""
        return self._paid_costs(self.distribution.ppf(np.asarray(q, float)))

    def isf(self, q: ArrayLike) -> Floats:
        """The smallest cost c with P(cost > c) <= q."""
        return self._paid_costs(self.distribution.isf(np.asarray(q, float)))

    def _paid_costs(self, runtimes: ArrayLike) -> Floats:
        times = np.asarray(runtimes, float)
        known = np.isfinite(times)
        return np.where(known, self.plan.paid_cost(np.where(known, times, 0.0)), times)

    def mean(self) -> float:
        """Expected cost."""
        return self.plan.expected_cost(self.distribution)

    def sample(self, rng: np.random.Generator, size: int) -> Floats:
        """Costs of ``size`` jobs; shape (size,)."""
        return self.plan.paid_cost(self.distribution.sample(rng, size))
