"""Refinement of the planning grid: if a plan uses all cells, the grid is doubled until the cost settles."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from policies.planning.costs import CostModel

if TYPE_CHECKING:
    from workloads.laws import Law

__all__ = ["ENOUGH", "Growth", "grow_grid"]


class _Plan(Protocol):
    def __len__(self) -> int: ...
    def expected_cost(self, law: Law, /) -> float: ...


PlanT = TypeVar("PlanT", bound=_Plan)

#: Share of the cells that are milestones from which the grid may decide the plan.
USED_UP = 0.4
#: The cost has settled when twice as many cells make the plan cheaper by less than this share. What is left to gain at
#: least halves with each doubling, so that it is no more than the last gain.
SETTLED = 1e-3
#: A gain that rounding explains.
NOTHING = 1e-12
#: Maximum number of cells: the time to compute the best plan grows with their square.
ENOUGH = 8000


@dataclass(frozen=True)
class Growth:
    """How a grid grew until the cost of the plan settled.

    Parameters
    ----------
    first, cells
        Number of cells that the grid began and ended with.
    gain
        By which share the last doubling made the plan cheaper.
    settled
        Whether that is little (1 in 1,000), so that the plan is near the best one.
    """

    first: int
    cells: int
    gain: float
    settled: bool

    def describe(self) -> str:
        """The refinement as a sentence."""
        why = f"The grid of {self.first:,} cells was used up and grew to {self.cells:,}"
        if self.settled:
            return f"{why}: the last doubling made the plan cheaper by {100 * self.gain:.2g} %"
        return (
            f"{why}, and the cost has not settled: the last doubling made the plan cheaper by {100 * self.gain:.2g} %; "
            "a maximum of the runtime, or dearer checkpoints, restarts or reservations give a plan that can be trusted"
        )

    def to_dict(self) -> dict[str, Any]:
        """As JSON holds it."""
        return asdict(self)


def grow_grid(
    plan_of: Callable[[int], tuple[PlanT, int]], law: Law, costs: CostModel, first: int
) -> tuple[PlanT, Growth | None]:
    """The plan on a grid that is fine enough.

    Parameters
    ----------
    plan_of
        Makes the plan on a given number of cells, and returns how many of these have any probability.
    law
        Law of the runtime, with a bounded support; the cost is the expectation under it.
    costs
        Prices and durations. Where neither a reservation nor what it saves costs anything, a plan has a reservation
        for each cell of any grid, and the grid stays as it is.
    first
        Number of cells to begin with.

    Returns
    -------
    plan, growth
        The plan, and how the grid grew; None where the first one was fine.

    Notes
    -----
    For a milestone on the grid the discrete law has the same survival as the continuous one, so that the costs on both
    grids are comparable, and a doubled grid never costs more.
    """
    plan, used = plan_of(first)
    if len(plan) < USED_UP * used or _free(costs):
        return plan, None
    coarse, cost, gain, cells = plan, plan.expected_cost(law), 1.0, first
    while gain >= SETTLED and 2 * cells <= ENOUGH:
        cells *= 2
        plan, _ = plan_of(cells)
        cheaper = plan.expected_cost(law)
        gain, cost = (cost - cheaper) / cost, cheaper
        if not gain > NOTHING:
            # There was nothing to gain, as where a law has few values, or the cost is more than a number holds.
            return coarse, None
        coarse = plan
    return plan, Growth(first, cells, float(gain), bool(gain < SETTLED))


def _free(costs: CostModel) -> bool:
    return costs.gamma == 0.0 and costs.checkpoint == 0.0 and costs.restart == 0.0
