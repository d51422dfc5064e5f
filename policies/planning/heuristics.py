"""Planning heuristics that need only past runs."""

from __future__ import annotations

from numpy.typing import ArrayLike

from holdfast.policies.planning.costs import CostModel
from holdfast.policies.planning.discretisation import as_distribution, last_runs
from holdfast.policies.planning.plan import ReservationPlan
from holdfast.policies.planning.sequence import FACTOR
from holdfast.workloads.distributions import Distribution
from holdfast.workloads.ground.ranges import legal

__all__ = ["masi", "maximum", "neuro", "neuro_average"]


@legal(factor=FACTOR)
def maximum(
    distribution_or_runs: Distribution | ArrayLike, costs: CostModel, *, k: int | None = None, factor: float = 1.5
) -> ReservationPlan:
    """Plan one reservation as long as the longest past run, without a checkpoint.

    Parameters
    ----------
    distribution_or_runs
        Past runs, newest last; or a distribution, which represents all possible runs.
    costs
        Prices and durations.
    k
        Number of the last runs to use; None: all.
    factor
        Ratio of successive reservations for a job that outlives the last one; > 1.

    Notes
    -----
    The "HPC" strategy of "Making Speculative Scheduling Robust to Incomplete Data", section VI.
    """
    _, longest = _mean_and_longest(distribution_or_runs, k)
    return _geometric("maximum", longest, longest, costs, factor, checkpointed=False)


@legal(factor=FACTOR)
def masi(
    distribution_or_runs: Distribution | ArrayLike, costs: CostModel, *, k: int | None = 5, factor: float = 1.5
) -> ReservationPlan:
    """Plan the mean of the last k runs, then reservations longer by a factor each time, without checkpoints.

    Parameters are those of :func:`maximum`.

    Notes
    -----
    The "HPC" strategy of [R], section 5.1, with k = 5 and factor 1.5; [S] describes k = 10 and factor 2. The plan
    has reservations up to the longest of the runs; the extension continues with the same factor.
    """
    mean, longest = _mean_and_longest(distribution_or_runs, k)
    return _geometric("masi", mean, longest, costs, factor, checkpointed=False)


@legal(factor=FACTOR)
def neuro(
    distribution_or_runs: Distribution | ArrayLike, costs: CostModel, *, k: int | None = None, factor: float = 1.5
) -> ReservationPlan:
    """Plan the longest of the last k runs, then reservations longer by a factor each time, all with checkpoints.

    Parameters are those of :func:`maximum`.

    Notes
    -----
    Source: "Neuro" in "Profiles of upcoming HPC Applications and their Impact on Reservation Strategies", section
    4.1.1. With a factor of 1.5, the work of the second reservation is half that of the first.
    """
    _, longest = _mean_and_longest(distribution_or_runs, k)
    return _geometric("neuro", longest, longest, costs, factor, checkpointed=True)


@legal(factor=FACTOR)
def neuro_average(
    distribution_or_runs: Distribution | ArrayLike, costs: CostModel, *, k: int | None = None, factor: float = 1.5
) -> ReservationPlan:
    """Like :func:`neuro`, but beginning with the mean of the last k runs."""
    mean, longest = _mean_and_longest(distribution_or_runs, k)
    return _geometric("neuro-avg", mean, longest, costs, factor, checkpointed=True)


def _mean_and_longest(distribution_or_runs: Distribution | ArrayLike, k: int | None) -> tuple[float, float]:
    if isinstance(distribution_or_runs, Distribution):
        distribution = as_distribution(distribution_or_runs)
        return distribution.mean(), float(distribution.upper)
    runs = last_runs(distribution_or_runs, k)
    # Rounding must not put the mean above the longest run.
    return min(float(runs.mean()), float(runs.max())), float(runs.max())


def _geometric(
    strategy: str, first: float, longest: float, costs: CostModel, factor: float, *, checkpointed: bool
) -> ReservationPlan:
    plan = ReservationPlan([first], checkpointed, costs, strategy, None, factor, checkpointed)
    return plan.extend(longest)
