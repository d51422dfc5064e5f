"""Checks of planning strategies: reservations must grow and cover the distribution at a finite cost, and plans be
repeatable.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from holdfast.simulator.conformance.contract import Problem
from holdfast.workloads.distributions import Distribution
from holdfast.workloads.ground.errors import InputError

if TYPE_CHECKING:
    from holdfast.policies.planning.costs import CostModel

__all__ = ["PlanCase", "judge_plan", "needed_arguments", "plan_cases"]


@dataclass(frozen=True, eq=False)
class PlanCase:
    """The input of a planning strategy.

    Attributes
    ----------
    source
        Distribution of the runtime, or past runs [s].
    costs
        Prices and durations.
    words
        Both as text.
    longest
        The longest possible or observed runtime [s].
    """

    source: Any
    costs: CostModel
    words: str
    longest: float


def plan_cases(strategy: Any) -> Iterator[PlanCase]:
    """Distributions and past runs; past runs only for strategies with a parameter ``k``."""
    from inspect import signature

    from holdfast.policies.planning.costs import CostModel
    from holdfast.workloads.distributions import from_samples
    from holdfast.workloads.distributions.named import lognormal, uniform

    sources: list[tuple[str, Any, float]] = []
    runs = np.array([1800.0, 3600.0, 3600.0, 5400.0, 900.0])
    if "k" in signature(strategy).parameters:
        sources += [("past runs of 3600 s", np.array([3600.0]), 3600.0), ("past runs of 900 to 5400 s", runs, 5400.0)]
    sources += [
        ("runtimes uniform from 600 s to 3600 s", uniform(600.0, 3600.0), 3600.0),
        ("runtimes distributed as 900, 1800, 3600, 3600 and 5400 s", from_samples(runs), 5400.0),
        ("a constant runtime of 3600 s", from_samples(np.array([3600.0])), 3600.0),
        ("runtimes lognormal with mean 3600 s and deviation 1800 s", lognormal(8.077, 0.472), 20000.0),
    ]
    prices = [
        ("reserved time", CostModel()),
        ("checkpoint and restart 60 s", CostModel(checkpoint=60.0, restart=60.0)),
        ("alpha 0.95, beta 1, gamma 3780 s, checkpoint 300 s", CostModel(0.95, 1.0, 3780.0, 300.0, 300.0)),
    ]
    for words, source, longest in sources:
        for price, costs in prices:
            yield PlanCase(source, costs, f"{words}; {price}", longest)


def needed_arguments(strategy: Any) -> list[str]:
    """Required arguments of a strategy other than a distribution and costs."""
    from inspect import signature

    parameters = list(signature(strategy).parameters.values())[2:]
    return [
        item.name
        for item in parameters
        if item.default is item.empty and item.kind in (item.KEYWORD_ONLY, item.POSITIONAL_OR_KEYWORD)
    ]


def judge_plan(case: PlanCase, plan: Any) -> Iterator[Problem]:
    """Find the problems of a plan."""
    from holdfast.policies.planning.plan import ReservationPlan

    if not isinstance(plan, ReservationPlan):
        yield "plan", f"must answer with a ReservationPlan, not {type(plan).__name__}"
        return
    if plan.costs != case.costs:
        yield "costs", f"made the plan for {plan.costs} instead of {case.costs}"
    milestones = np.asarray(plan.milestones)
    if not (np.isfinite(milestones).all() and (milestones > 0).all() and (np.diff(milestones) > 0).all()):
        yield "increasing", f"the milestones do not increase: {milestones.tolist()}"
        return
    try:
        whole = plan.extend(case.longest)
        paid = plan.paid_cost([case.longest])
        expected = plan.expected_cost(case.source) if isinstance(case.source, Distribution) else 0.0
    except (InputError, ArithmeticError, ValueError) as error:
        yield "cover", f"the plan does not reach a runtime of {case.longest:g} s: {error}"
        return
    if whole.milestones[-1] < case.longest or not np.isfinite([paid[0], expected]).all():
        yield "cover", f"the plan ends at {whole.milestones[-1]:g} s, before the longest runtime of {case.longest:g} s"
    if len(milestones) > 100_000:
        yield "length", f"the plan has {len(milestones):,} reservations"
