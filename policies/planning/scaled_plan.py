"""A plan transferred to another machine by multiplying every reservation by a factor.

Source: [P], "Profiles of upcoming HPC Applications and their Impact on Reservation Strategies" (Inria RR-9359),
section 4.4.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from holdfast.policies.planning.plan import ReservationPlan
from holdfast.workloads.ground.errors import ParameterError

__all__ = ["transfer_plan"]

Floats = npt.NDArray[np.float64]


def transfer_plan(
    plan: ReservationPlan, factor: float, first: float | None = None, *, overheads: bool = True
) -> ReservationPlan:
    """Scale all reservations of a plan.

    Parameters
    ----------
    plan
        Plan for the first machine.
    factor
        Ratio of times of work on the other machine to those on the first; > 0.
    first
        Factor of the first reservation, if it differs; > 0.
    overheads
        Whether times of checkpoints and restarts are also scaled, as by users that scale whole reservations ([P] calls
        this unnecessary); otherwise they are those of the plan.

    Returns
    -------
    ReservationPlan
        The scaled plan, with the same memory requests.

    Raises
    ------
    ParameterError
        If a factor is not a finite number > 0.

    Examples
    --------
    >>> from holdfast.policies.planning.costs import CostModel
    >>> plan = ReservationPlan([20.0, 40.0], [True, False], CostModel(checkpoint=1.0, restart=2.0))
    >>> plan.length, transfer_plan(plan, 2.0).length, transfer_plan(plan, 2.0, 1.0).length
    (array([21., 22.]), array([42., 44.]), array([21., 44.]))
    >>> transfer_plan(plan, 2.0, overheads=False).length
    array([41., 42.])
    """
    begin = factor if first is None else first
    for name, value in (("factor", factor), ("first", begin)):
        if not (math.isfinite(value) and value > 0):
            raise ParameterError(name, "a finite number > 0", value)
    here = np.concatenate(([0.0], plan.milestones))
    slopes = np.full(len(plan), factor)
    slopes[0] = begin
    there = np.concatenate(([0.0], np.cumsum(slopes * np.diff(here))))
    costs = plan.costs

    def back(milestones: Floats) -> Floats:
        """Progress on the first machine that corresponds to progress on the second."""
        beyond = np.maximum(milestones - there[-1], 0.0)
        return np.asarray(np.interp(milestones, there, here) + beyond / factor, dtype=float)

    def checkpoint(milestones: Floats) -> Floats:
        # Milestones of the plan are converted back exactly.
        scale = np.where(milestones <= there[1], begin, factor) if overheads else 1.0
        return np.asarray(scale * costs.checkpoint_at(back(milestones)), dtype=float)

    def restart(milestones: Floats) -> Floats:
        # The first reservation has no restart, so that its factor does not apply.
        return (factor if overheads else 1.0) * costs.restart_at(back(milestones))

    return replace(plan, milestones=there[1:], costs=replace(costs, checkpoint=checkpoint, restart=restart))
