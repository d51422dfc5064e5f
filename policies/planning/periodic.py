"""Plans with equidistant milestones (Algorithm 2 of [R])."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from holdfast.policies.planning.costs import CostModel
from holdfast.policies.planning.discretisation import as_distribution
from holdfast.policies.planning.plan import ReservationPlan
from holdfast.workloads.distributions import Distribution
from holdfast.workloads.distributions.grids import MOST_CELLS
from holdfast.workloads.ground.errors import ParameterError
from holdfast.workloads.ground.numbers import is_whole

__all__ = ["all_checkpoint_periodic", "no_checkpoint_periodic", "periodic_costs"]

Floats = NDArray[np.float64]
#: Maximum number of reservations of a plan in a search; all plans of a search together have half its square.
_MOST_SEARCHED = 2000


def all_checkpoint_periodic(
    distribution_or_runs: Distribution | ArrayLike, costs: CostModel, *, tau: int | None = None, most: int = 1000
) -> ReservationPlan:
    """ALL-CKPT-PER: equidistant milestones over the support, with checkpoints at all but the last.

    Parameters
    ----------
    distribution_or_runs
        Distribution of the runtime, truncated if its support is infinite; or past runs, as a discrete distribution.
    costs
        Prices and durations.
    tau
        Number of reservations, 1 to 200,000; None: the cheapest of 1, ..., ``most``.
    most
        Largest tau of the search, 1 to 2,000.

    Returns
    -------
    ReservationPlan

    Notes
    -----
    Source: "Reservation and Checkpointing Strategies for Stochastic Jobs", section 4.1. The search compares exact costs
    (Theorem 1, without discretisation); at equal costs, the smallest tau is chosen.
    """
    return _periodic(distribution_or_runs, costs, tau, most, checkpointed=True)


def no_checkpoint_periodic(
    distribution_or_runs: Distribution | ArrayLike, costs: CostModel, *, tau: int | None = None, most: int = 1000
) -> ReservationPlan:
    """NO-CKPT-PER: like :func:`all_checkpoint_periodic`, without checkpoints."""
    return _periodic(distribution_or_runs, costs, tau, most, checkpointed=False)


def _periodic(
    distribution_or_runs: Distribution | ArrayLike, costs: CostModel, tau: int | None, most: int, *, checkpointed: bool
) -> ReservationPlan:
    distribution = as_distribution(distribution_or_runs)
    for name, value, limit in (("tau", tau, MOST_CELLS), ("most", most, _MOST_SEARCHED)):
        if value is not None and not (is_whole(value, 1, numpy=True) and value <= limit):
            raise ParameterError(name, f"a whole number >= 1 and <= {limit:,}", value)
    if distribution.lower >= distribution.upper:
        tau = 1  # a support of one runtime cannot be divided
    if tau is None:
        tau = 1 + int(np.argmin(periodic_costs(distribution, costs, np.arange(1, most + 1), checkpointed=checkpointed)))
    flags = np.full(tau, checkpointed)
    flags[-1] = False
    return ReservationPlan(
        _milestones(distribution, np.array([tau])),
        flags,
        costs,
        strategy="all-ckpt-periodic" if checkpointed else "no-ckpt-periodic",
        extension_checkpointed=checkpointed,
    )


def periodic_costs(distribution: Distribution, costs: CostModel, taus: ArrayLike, *, checkpointed: bool) -> Floats:
    """Expected cost of the periodic plan of each tau (Theorem 1 of [R]), vectorised.

    Parameters
    ----------
    distribution
        Distribution of the runtime with a bounded support.
    costs
        Prices and durations.
    taus
        Numbers of reservations, >= 1; shape (m,).
    checkpointed
        Whether all reservations but the last have checkpoints; otherwise none has.

    Returns
    -------
    numpy.ndarray
        Shape (m,).
    """
    numbers = np.asarray(taus, np.int64)
    first = np.concatenate(([0], np.cumsum(numbers)[:-1]))
    last = np.cumsum(numbers) - 1
    ends = _milestones(distribution, numbers)
    # One call covers all plans. The first reservation of each plan is always needed, and the last one never fails.
    failed = np.asarray(distribution.sf(ends), float)
    failed[last] = 0.0
    needed = np.roll(failed, 1)
    needed[first] = 1.0
    if checkpointed:
        start = np.roll(ends, 1)
        restart = np.roll(costs.restart_at(ends), 1)
        checkpoint = costs.checkpoint_at(ends)
        start[first] = restart[first] = checkpoint[last] = 0.0
        work, lost = ends - start, np.zeros_like(ends)
    else:
        restart = checkpoint = np.zeros_like(ends)
        work, lost = ends, ends
    terms = (costs.alpha * (restart + work + checkpoint) + costs.beta * restart + costs.gamma) * needed
    terms += costs.beta * (lost + checkpoint) * failed
    return np.asarray(costs.beta * distribution.mean() + np.add.reduceat(terms, first), float)


def _milestones(distribution: Distribution, taus: NDArray[np.int64]) -> Floats:
    """Milestones of all plans, concatenated; shape (sum of taus,)."""
    tau = np.repeat(taus, taus)
    first = np.repeat(np.cumsum(taus) - taus, taus)
    i = np.arange(tau.size) - first + 1
    # The last milestone is exactly the end of the support, in spite of rounding.
    return np.asarray(
        np.where(
            i == tau, distribution.upper, distribution.lower + i * ((distribution.upper - distribution.lower) / tau)
        ),
        float,
    )
