"""Candidate first requests of a job, and the plan of further reservations if a request proves too short.

The first reservation waits as long as the forecast says. Each later one costs a mean wait, alpha x walltime + gamma:
the past mean, or the present one where today's queue is longer. Source: docs/forecast.md, "What to ask for".
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

from holdfast.policies.planning.costs import CostModel
from holdfast.policies.planning.plan import ReservationPlan
from holdfast.policies.planning.strategies import STRATEGIES
from holdfast.policies.planning.waits.lines import least_squares_above
from holdfast.policies.planning.waits.model import LEAST_ALPHA
from holdfast.workloads.distributions import DiscreteDistribution

__all__ = ["LaterWaits", "Request", "candidate_walltimes", "coarse", "plan_with_first_walltime", "scale_distribution"]

#: Numbers of values of the discretised distributions in plans: for the rest after a request, and for the whole job.
_FEW, _MANY = 100, 250
#: Quantiles of the runtime in the grid of walltimes, and number of additional steps of equal ratio.
_LEVELS = (0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 1.0)
_STEPS = 8
#: Walltimes that no user gives are whole minutes, as in schedulers [s].
_MINUTE = 60.0


@dataclass(frozen=True, eq=False)
class Request:
    """A first reservation, and the plan that begins with it.

    Attributes
    ----------
    nodes
        Nodes.
    walltime
        Walltime [s].
    names
        Roles of the request: ``own``, ``planner``, ``reserved``; empty: a point of the grid.
    plan
        The reservations, the first of this walltime; its costs are response times [s].
    distribution
        Distribution of the runtime at this size [s].
    """

    nodes: int
    walltime: float
    names: tuple[str, ...]
    plan: ReservationPlan
    distribution: DiscreteDistribution

    @property
    def completes(self) -> float:
        """Probability that the job completes within the request."""
        return float(self.distribution.cdf(self.plan.milestones[0]))

    @property
    def saves(self) -> bool:
        """Whether the request ends with a checkpoint if the job has not completed."""
        return bool(self.plan.checkpointed[0]) and self.completes < 1

    @property
    def next(self) -> float | None:
        """Walltime of the next request if this one is too short [s]; None: it is always sufficient."""
        return float(self.plan.length[1]) if len(self.plan) > 1 else None

    @cached_property
    def rest(self) -> float:
        """Expected time from start to completion, including the waits of later requests [s]."""
        return self.plan.expected_cost(self.distribution) - self._wait

    def time_to_completion(self, runtimes: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        """Time from start to completion for given runtimes, including the mean waits of later requests [s]."""
        return self.plan.paid_cost(runtimes) - self._wait

    @property
    def _wait(self) -> float:
        """The wait of the first request by the costs, which the forecast replaces."""
        costs = self.plan.costs
        return float(costs.alpha * self.plan.length[0] + costs.gamma)


def candidate_walltimes(
    distribution: DiscreteDistribution,
    costs: CostModel,
    *,
    saving: bool,
    own: float | None = None,
    walltimes: Sequence[float] | None = None,
) -> dict[float, tuple[str, ...]]:
    """Walltimes to try at one size, ascending, with the roles of each; in whole minutes, except given ones.

    Parameters
    ----------
    distribution
        Distribution of the runtime at this size [s].
    costs
        alpha and gamma of the mean waits of the past [s], beta = 1, and the times of checkpoint and restart [s].
    saving
        Whether the job can write checkpoints.
    own
        Walltime that the user would ask for [s]; None: not known.
    walltimes
        Walltimes to try [s]; None: a grid from quantiles of the runtime.
    """
    named: dict[float, list[str]] = {}
    prices = {"planner": costs, "reserved": CostModel(checkpoint=costs.checkpoint, restart=costs.restart)}
    if own is not None:
        named.setdefault(own, []).append("own")
    for name, paid in prices.items():
        first = float(_make_plan(coarse(distribution, _MANY) or distribution, paid, saving).length[0])
        named.setdefault(_whole_minutes(first), []).append(name)
    extra = float(costs.checkpoint_at(0.0)) if saving else 0.0
    for walltime in _grid(distribution, extra) if walltimes is None else walltimes:
        named.setdefault(walltime, [])
    return {walltime: tuple(named[walltime]) for walltime in sorted(named)}


@dataclass(frozen=True)
class LaterWaits:
    """Mean wait of requests after the first: alpha x walltime + gamma.

    Attributes
    ----------
    alpha
        Wait for each second requested.
    gamma
        Wait of any request [s].
    today
        Whether the line is fitted to today's waits, because they are longer than past waits; else it is fitted to past
        waits.
    """

    alpha: float
    gamma: float
    today: bool = False

    @classmethod
    def longer(cls, past: CostModel, walltimes: Sequence[float], waits: npt.ArrayLike, at: float) -> LaterWaits:
        """The longer of past and present mean waits.

        Parameters
        ----------
        past
            alpha and gamma of past waits.
        walltimes, waits
            Walltimes tried today, and their mean waits [s], shape (requests,).
        at
            Walltime at which the two are compared [s].
        """
        x, y = np.asarray(walltimes, float), np.asarray(waits, float)
        slope, level = LEAST_ALPHA, float(y.mean())
        if len(x) > 2 and np.ptp(x) > 0:
            line = least_squares_above(x, y, LEAST_ALPHA)
            slope, level = line.slope, line.intercept
        if slope * at + level > past.alpha * at + past.gamma:
            return cls(slope, level, today=True)
        return cls(past.alpha, past.gamma)

    def apply(self, costs: CostModel) -> CostModel:
        """The cost model with response times as costs and unchanged checkpoint and restart times."""
        return replace(costs, alpha=self.alpha, beta=1.0, gamma=self.gamma)


def plan_with_first_walltime(
    distribution: DiscreteDistribution, walltime: float, costs: CostModel, *, saving: bool
) -> ReservationPlan:
    """The plan of least expected cost among those that begin with a reservation of a given length.

    Parameters
    ----------
    distribution
        Distribution of the runtime.
    walltime
        Length of the first reservation.
    costs
        Prices of all reservations; constant times of checkpoint and restart.
    saving
        Whether there may be checkpoints.

    Returns
    -------
    ReservationPlan
        The first reservation ends with a checkpoint where that is cheaper.

    Examples
    --------
    >>> distribution = DiscreteDistribution([1.0, 4.0], [0.5, 0.5])
    >>> plan_with_first_walltime(distribution, 2.0, CostModel(checkpoint=0.5, restart=0.25), saving=True).length
    array([2.  , 2.75])
    >>> plan_with_first_walltime(distribution, 2.0, CostModel(), saving=False).length
    array([2., 4.])
    """
    choices = [_continue_plan(distribution, walltime, costs, saved=False, saving=saving)]
    work = walltime - float(costs.checkpoint_at(0.0))
    if saving and 0 < work < distribution.upper:
        choices.append(_continue_plan(distribution, work, costs, saved=True, saving=saving))
    return min(choices, key=lambda plan: plan.expected_cost(distribution))


def _continue_plan(
    distribution: DiscreteDistribution, first: float, costs: CostModel, *, saved: bool, saving: bool
) -> ReservationPlan:
    left = coarse(distribution, _FEW, above=first)
    if left is None:
        return ReservationPlan([first], False, costs, "request")
    # After a checkpoint each further reservation reads one first, which counts like additional work.
    done = first - float(costs.restart_at(0.0)) if saved else 0.0
    work = left.values - done
    later = _make_plan(DiscreteDistribution(work, left.probabilities), costs, saving)
    places = np.searchsorted(work, later.milestones)
    milestones = np.concatenate(([first], left.values[places]))
    flags = np.concatenate(([saved], later.checkpointed))
    return ReservationPlan(milestones, flags, costs, "request", extension_checkpointed=saving)


def _make_plan(distribution: DiscreteDistribution, costs: CostModel, saving: bool) -> ReservationPlan:
    return STRATEGIES["optimal" if saving else "no-ckpt"](distribution, costs)


def coarse(distribution: DiscreteDistribution, cells: int, above: float = 0.0) -> DiscreteDistribution | None:
    """Discretised conditional distribution of the runtime: each value represents those below it.

    Parameters
    ----------
    distribution
        The distribution.
    cells
        At most ``count`` values, of about equal probability.
    above
        The runtime is longer than this.

    Returns
    -------
    DiscreteDistribution
        None where no longer runtime is possible.

    Examples
    --------
    >>> coarse(DiscreteDistribution([1.0, 2.0, 3.0, 4.0], [0.25] * 4), 2).values
    array([2., 4.])
    """
    beyond = (distribution.values > above) & (distribution.probabilities > 0)
    values, weights = distribution.values[beyond], distribution.probabilities[beyond]
    if not values.size:
        return None
    cumulated = np.cumsum(weights / weights.sum())
    if values.size > cells:
        ends = np.unique(np.searchsorted(cumulated, np.arange(1, cells) / cells - 1e-12))
        ends = np.append(ends[ends < values.size - 1], values.size - 1)
        values, cumulated = values[ends], cumulated[ends]
    shares = np.diff(cumulated, prepend=0.0)
    return DiscreteDistribution(values, shares / shares.sum())


def scale_distribution(distribution: DiscreteDistribution, factor: float) -> DiscreteDistribution:
    """The distribution of a multiple of the runtime."""
    return (
        distribution if factor == 1 else DiscreteDistribution(distribution.values * factor, distribution.probabilities)
    )


def _grid(distribution: DiscreteDistribution, extra: float) -> Iterable[float]:
    """Walltimes to try: quantiles of the runtime, and steps of equal ratio up to the longest, in whole minutes."""
    low, high = float(distribution.isf(0.95)), distribution.upper
    tried = [float(distribution.ppf(level)) for level in _LEVELS]
    tried += np.geomspace(low, high, _STEPS).tolist() if high > low else []
    return {_whole_minutes(time + extra) for time in tried}


def _whole_minutes(time: float) -> float:
    """The shortest request of a scheduler that contains a time [s]."""
    return _MINUTE * max(1, math.ceil(time / _MINUTE - 1e-9))
