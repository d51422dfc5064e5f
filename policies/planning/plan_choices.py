"""Alternative plans for a job at its submission, one of which is chosen.

The planner makes the alternatives: with the job's own strategy, with other strategies, or as a single reservation at a
quantile of the fitted distribution.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from holdfast.policies.planning.plan import ReservationPlan
from holdfast.policies.planning.plan_book import PlanBook, Planned, Planner
from holdfast.workloads.ground.errors import InputError, ParameterError
from holdfast.workloads.ground.numbers import decimal

__all__ = ["OWN", "WALLTIME", "OfferingBook", "PlanAsked"]

#: Names of two offers: the plan in the job table, and one reservation as long as the walltime in the job table.
OWN, WALLTIME = "own", "walltime"
_QUANTILE = "quantile"


class PlanAsked(NamedTuple):
    """The properties of a job that determine its plan.

    Attributes
    ----------
    application, name, nodes, walltime, checkpoint, restart
        As in :meth:`holdfast.policies.planning.plan_book.PlanBook.plan`.
    """

    application: str
    name: str
    nodes: int
    walltime: float
    checkpoint: float
    restart: float


class OfferingBook(PlanBook):
    """A plan book that offers several plans for each job.

    Parameters
    ----------
    offers
        Offers: ``own``, ``walltime``, ``quantile q=0.9`` (one reservation at this quantile of the distribution, then
        longer ones), or a planning strategy with its parameters.
    planner, plans
        As in :class:`holdfast.policies.planning.plan_book.PlanBook`.

    Attributes
    ----------
    chosen
        Plan for the next job; None: the plan in the job table.

    Raises
    ------
    InputError
        If an offer is not one of these.
    """

    def __init__(
        self,
        offers: Sequence[str],
        planner: Planner | None = None,
        plans: Mapping[str, ReservationPlan] | None = None,
    ) -> None:
        super().__init__(planner, plans)
        # Offers use a separate book, so that they do not change the runs and times of fits for the job's own strategy.
        self._beside = PlanBook(planner)
        self._offers = [(text, _level(text)) for text in offers]
        self._at_quantile: dict[tuple[Planned, float], Planned] = {}
        self.chosen: Planned | None = None
        for text, level in self._offers:
            if text not in (OWN, WALLTIME) and level is None:
                self._beside.check(text)

    def record_completion(self, application: str, runtime: float) -> None:
        """Record a completed job of the application with its runtime [s]."""
        super().record_completion(application, runtime)
        self._beside.record_completion(application, runtime)

    def plan(
        self, application: str, name: str, nodes: int, walltime: float, checkpoint: float, restart: float
    ) -> Planned:
        """The plan of a job that is submitted now: the chosen plan, or that in the job table."""
        chosen, self.chosen = self.chosen, None
        return super().plan(application, name, nodes, walltime, checkpoint, restart) if chosen is None else chosen

    def offer_plans(self, asked: PlanAsked) -> list[Planned | None]:
        """The plans that are offered to a job now; None for offers that need a distribution if there is none yet."""
        own = super().plan(*asked)
        fitted = self._beside.plan(*asked._replace(name="no-ckpt"))
        found: list[Planned | None] = []
        for text, level in self._offers:
            if text == OWN:
                found.append(own)
            elif fitted.distribution is None:
                # With too few runs, a job requests its walltime under every strategy.
                found.append(fitted if text == WALLTIME else None)
            elif text == WALLTIME:
                plan = ReservationPlan([asked.walltime], False, fitted.plan.costs, WALLTIME)
                found.append(Planned(plan, plan.expected_cost(fitted.distribution), fitted.runs, fitted.distribution))
            elif level is not None:
                found.append(self._quantile(fitted, level))
            else:
                found.append(self._beside.plan(*asked._replace(name=text)))
        return found

    def _quantile(self, fitted: Planned, level: float) -> Planned:
        key = (fitted, level)
        if key not in self._at_quantile:
            distribution = fitted.distribution
            if distribution is None:
                raise InputError("a quantile needs a fitted distribution, and there is none yet")
            plan = ReservationPlan(
                [float(distribution.ppf(np.array([level]))[0])], False, fitted.plan.costs, f"quantile {level:g}"
            )
            self._at_quantile[key] = Planned(plan, plan.expected_cost(distribution), fitted.runs, distribution)
        return self._at_quantile[key]


def _level(text: str) -> float | None:
    """The level of a quantile; None: the text names something else."""
    name, *words = text.split() or [""]
    if name != _QUANTILE:
        return None
    legal = "quantile q=LEVEL with a level between 0 and 1, such as quantile q=0.9"
    if len(words) != 1 or not words[0].startswith("q="):
        raise ParameterError("offer", legal, text)
    try:
        level = decimal(words[0].removeprefix("q="))
    except ValueError:
        raise ParameterError("offer", legal, text) from None
    if not 0 < level < 1:
        raise ParameterError("offer", legal, text)
    return level
