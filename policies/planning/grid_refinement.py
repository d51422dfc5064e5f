"""Refinement of the planning grid: if a plan uses most cells, the grid is doubled until the cost settles."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from holdfast.policies.planning.costs import CostModel

if TYPE_CHECKING:
    from holdfast.workloads.distributions import Distribution

__all__ = ["ENOUGH", "Growth", "grow_grid"]


class _Plan(Protocol):
    def __len__(self) -> int: ...
    def expected_cost(self, distribution: Distribution, /) -> float: ...


PlanT = TypeVar("PlanT", bound=_Plan)

#: Share of cells that are milestones from which on the grid may limit the plan.
USED_UP = 0.4
#: The cost has settled if doubling the number of cells reduces it by less than this share. The possible gain at least
#: halves with each doubling, so that further doublings together gain at most as much as the last one.
SETTLED = 1e-3
#: Relative gain that rounding errors may cause.
NOTHING = 1e-12
#: Maximum number of cells: the time to compute the best plan grows with their square.
ENOUGH = 8000


@dataclass(frozen=True)
class Growth:
    """A refinement of a grid until the cost of the plan settled.

    Parameters
    ----------
    first, cells
        Number of cells at the beginning and at the end.
    gain
        Relative decrease of the cost by the last doubling.
    settled
        Whether that decrease is small (1 in 1,000), so that the plan is close to the optimum.
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
        """The refinement as JSON values."""
        return asdict(self)


def grow_grid(
    plan_of: Callable[[int], tuple[PlanT, int]], distribution: Distribution, costs: CostModel, first: int
) -> tuple[PlanT, Growth | None]:
    """Make a plan on a grid that is fine enough.

    Parameters
    ----------
    plan_of
        Function of the number of cells that returns a plan, and the number of cells with positive probability.
    distribution
        Distribution of the runtime with a bounded support, under which the expected cost is computed.
    costs
        Prices and durations. If neither a reservation nor a checkpoint costs anything, the plan has a reservation for
        each cell of any grid, and the grid is not refined.
    first
        Initial number of cells.

    Returns
    -------
    plan, growth
        The plan and the refinement; None if the first grid was fine enough.

    Notes
    -----
    At milestones on the grid, the discrete distribution has the same survival as the continuous one. Therefore the
    costs on both grids are comparable, and a doubled grid never gives a higher cost.
    """
    plan, used = plan_of(first)
    if len(plan) < USED_UP * used or _free(costs):
        return plan, None
    coarse, cost, gain, cells = plan, plan.expected_cost(distribution), 1.0, first
    while gain >= SETTLED and 2 * cells <= ENOUGH:
        cells *= 2
        plan, _ = plan_of(cells)
        cheaper = plan.expected_cost(distribution)
        gain, cost = (cost - cheaper) / cost, cheaper
        if not gain > NOTHING:
            # Doubling gains nothing: the distribution has few values, or the cost overflows.
            return coarse, None
        coarse = plan
    return plan, Growth(first, cells, float(gain), bool(gain < SETTLED))


def _free(costs: CostModel) -> bool:
    return costs.gamma == 0.0 and costs.checkpoint == 0.0 and costs.restart == 0.0
