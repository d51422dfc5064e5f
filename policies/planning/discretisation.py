"""Conversion of a distribution or past runs to the input of a planning strategy."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from holdfast.policies.planning.costs import CostModel
from holdfast.workloads.distributions import (
    DiscreteDistribution,
    Distribution,
    algorithm_1_size,
    bound_support,
    discretise,
    from_samples,
)
from holdfast.workloads.distributions.checks import in_seconds
from holdfast.workloads.distributions.grids import MOST_CELLS
from holdfast.workloads.ground.errors import ParameterError
from holdfast.workloads.ground.numbers import check_whole

__all__ = ["GRID", "MOST_OPTIMAL", "SIZE", "as_discrete", "as_distribution", "last_runs"]

#: Default grid and number of its cells: within 0.1 % of the converged cost for the nine distributions of [R]
#: (table printed by ``python -m tests.benchmarks.planner``).
GRID = "cubic"
SIZE = 500
#: Maximum number of cells if the time grows with the square of the number; it takes some seconds.
MOST_OPTIMAL = 20_000


def as_distribution(distribution_or_runs: Distribution | ArrayLike) -> Distribution:
    """Return a distribution truncated at 0 and in an infinite tail; for runs, their discrete distribution.

    Raises
    ------
    ParameterError
        If the argument is neither a distribution nor a sequence of runtimes.
    """
    if isinstance(distribution_or_runs, Distribution):
        return bound_support(distribution_or_runs)
    return from_samples(_runs(distribution_or_runs))


def as_discrete(
    distribution_or_runs: Distribution | ArrayLike,
    costs: CostModel,
    n: int | None = None,
    grid: str | None = None,
    epsilon: float | None = None,
    most: int = MOST_CELLS,
) -> DiscreteDistribution:
    """Discretise a distribution for planning.

    Parameters
    ----------
    distribution_or_runs
        Distribution or past runs. An infinite support of a continuous distribution is truncated, and the distribution
        discretised; a discrete distribution is not changed; runs give their discrete distribution.
    costs
        Prices and durations, which determine the number of cells in Algorithm 1.
    n, grid
        Number of cells, and rule for their ends: ``"equal-time"``, ``"equal-probability"`` or ``"cubic"``.
    epsilon
        If given, Algorithm 1 of [R] is used instead: equal-time cells, enough of them for a cost of at most 1 + epsilon
        times the optimum (Theorem 3).
    most
        Maximum number of cells for n and epsilon, 1 to 200,000; a discrete distribution may have 2.5 times this number
        of values.

    Raises
    ------
    ParameterError
        If epsilon is given together with n or another grid, or there are more than ``most`` cells.
    """
    distribution = as_distribution(distribution_or_runs)
    if isinstance(distribution, DiscreteDistribution):
        if len(distribution) > most * 5 // 2:
            legal = f"at most {most * 5 // 2:,} for this strategy: fit a distribution, or take all-ckpt or no-ckpt"
            raise ParameterError("the number of different runtimes", legal, len(distribution))
        return distribution
    if n is not None and n > most:
        raise ParameterError("n", f"a whole number of cells from 1 to {most:,} for this strategy", n)
    if epsilon is None:
        return discretise(distribution, SIZE if n is None else n, GRID if grid is None else grid)
    if n is not None or grid not in {None, "equal-time"}:
        raise ParameterError("epsilon", "given without n, and with no other grid than 'equal-time'", epsilon)
    checkpoint, restart = _least(costs.checkpoint_at, distribution), _least(costs.restart_at, distribution)

    def size(error: float) -> int:
        prices = {"alpha": costs.alpha, "beta": costs.beta, "gamma": costs.gamma}
        return algorithm_1_size(distribution, error, **prices, checkpoint=checkpoint, restart=restart)

    cells = size(epsilon)
    if cells > most:
        # The number of cells decreases with epsilon: find the smallest legal value in steps of a twentieth.
        least = epsilon
        while least < 1e300 and size(least) > most:
            least *= 1.05
        raise ParameterError("epsilon", f"at least {least:.3g} here, which takes {most:,} cells", epsilon)
    return discretise(distribution, cells, "equal-time")


def _least(duration: Callable[[NDArray[np.float64]], NDArray[np.float64]], distribution: Distribution) -> float:
    """Minimum of the checkpoint or restart time over a thousand points of the support."""
    return float(duration(np.linspace(distribution.lower, distribution.upper, 1001)[1:]).min())


def last_runs(runs: ArrayLike, k: int | None) -> NDArray[np.float64]:
    """The last k runs, or all runs if there are fewer or k is None; shape (<= k,)."""
    times = _runs(runs)
    if k is None:
        return times
    check_whole("k", k, 1, "a whole number >= 1", numpy=True)
    return times[-int(k) :]


def _runs(runs: ArrayLike) -> NDArray[np.float64]:
    legal = "a distribution, or one or more past runtimes, finite and > 0"
    try:
        times = in_seconds(runs)
    except (TypeError, ValueError):
        raise ParameterError("runs", legal, runs) from None
    if times.ndim != 1 or not times.size or not np.all(np.isfinite(times) & (times > 0)):
        raise ParameterError("runs", legal, runs)
    return times
