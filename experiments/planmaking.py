"""Plans of all strategies for one job: which of them is given the law, and which the past runs."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from workloads.errors import InputError

if TYPE_CHECKING:
    import numpy as np

    from policies.planning.costs import CostModel
    from policies.planning.plan import ReservationPlan
    from workloads.laws.law import Law

__all__ = ["Planning"]


@dataclass(frozen=True)
class Planning:
    """What plans are made from.

    Attributes
    ----------
    law
        Of the runtime [s].
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

    def plan(self, name: str) -> ReservationPlan:
        """The plan of one strategy.

        Raises
        ------
        UnknownNameError
            If there is no such strategy.
        InputError
            If it needs more than a law or past runs, or there is no plan of finite cost.
        """
        from policies.planning.strategies import STRATEGIES

        strategy = STRATEGIES[name]
        more = _needed_beside(strategy)
        if more:
            raise InputError(f"the strategy {name} also needs {' and '.join(more)}, which this command cannot give it")
        known = inspect.signature(strategy).parameters
        # Rules of thumb look at the last k runs.
        source = self.runs if self.runs is not None and "k" in known else self.law
        return strategy(source, self.costs, **{key: value for key, value in self.grid.items() if key in known})

    def cuts(self, name: str) -> bool:
        """Whether the strategy has a use for the grid."""
        from policies.planning.strategies import STRATEGIES

        return set(self.grid) <= set(inspect.signature(STRATEGIES[name]).parameters)

    def compare(self, chosen: ReservationPlan) -> list[ReservationPlan]:
        """The plans of all strategies that need no more than this, the chosen one among them, cheapest first."""
        from policies.planning.strategies import STRATEGIES

        names = [name for name in STRATEGIES if name != chosen.strategy and not _needed_beside(STRATEGIES[name])]
        plans = [chosen, *(self.plan(name) for name in names)]
        return sorted(plans, key=lambda plan: plan.expected_cost(self.law))


def _needed_beside(strategy: Any) -> list[str]:
    """Parameters without a default, beside the first two."""
    parameters = list(inspect.signature(strategy).parameters.values())[2:]
    return [item.name for item in parameters if item.default is item.empty and item.kind is not item.VAR_KEYWORD]
