"""Discretisation grids: discrete distributions for the planner, from continuous ones or past runs ([R] section 3.3)."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from types import MappingProxyType

import numpy as np
import numpy.typing as npt

from holdfast.workloads.distributions.atoms import find_atoms
from holdfast.workloads.distributions.checks import nonnegative, positive, runtimes
from holdfast.workloads.distributions.distribution import Array, DiscreteDistribution, Distribution
from holdfast.workloads.distributions.tail import body_end, tail_grid
from holdfast.workloads.distributions.truncated import bound_support
from holdfast.workloads.ground.errors import ParameterError, UnknownNameError

__all__ = ["GRIDS", "MOST_CELLS", "algorithm_1_size", "discretise", "from_samples"]

#: Maximum number of cells: more cells cost memory and time and do not improve plans visibly.
MOST_CELLS = 200_000


def _equal_time(distribution: Distribution, steps: Array) -> Array:
    return distribution.lower + (distribution.upper - distribution.lower) * steps


def _equal_probability(distribution: Distribution, steps: Array) -> Array:
    return np.where(steps < 0.5, distribution.ppf(steps), distribution.isf(1.0 - steps))


def _cubic(distribution: Distribution, steps: Array) -> Array:
    # Steps grow with the square of the index: fine for short reservations, coarse in the tail.
    end = body_end(distribution)
    body = distribution.lower + (end - distribution.lower) * steps**3
    if end >= distribution.upper:
        return body
    body[-1] = end
    return np.append(body, tail_grid(distribution, end, steps.size - 1))


#: Functions that place the values of a grid, from a bounded distribution and i/n, i = 0..n; ascending, from a to b.
GRIDS: Mapping[str, Callable[[Distribution, Array], Array]] = MappingProxyType(
    {"equal-time": _equal_time, "equal-probability": _equal_probability, "cubic": _cubic}
)


def discretise(distribution: Distribution, n: int, grid: str = "cubic") -> DiscreteDistribution:
    """Discretise a distribution on n cells: the value v_i represents runtimes in (v_{i-1}, v_i], Equation (9) of [R].

    Parameters
    ----------
    distribution
        A distribution; an infinite support is bounded first
        (:func:`holdfast.workloads.distributions.truncated.bound_support`). A discrete distribution is its own grid and
        is returned unchanged.
    n
        Number of cells, 1 to 200,000.
    grid
        ``"equal-time"``: v_i = a + (b - a) i/n, the one that Theorem 3 of [R] covers; ``"equal-probability"``:
        v_i = Q(i/n); ``"cubic"``: v_i = a + (b - a) (i/n)^3. Where b is distant, the n
        cubic cells end before (:func:`holdfast.workloads.distributions.tail.body_end`) and at most n + 1 cells follow
        (:func:`holdfast.workloads.distributions.tail.tail_grid`). Atoms of the distribution
        (:func:`holdfast.workloads.distributions.atoms.find_atoms`) are values of every grid.

    Returns
    -------
    DiscreteDistribution
        About n values, up to 2 n where b is distant; cells of zero probability are left out, b is always the last
        value.

    Raises
    ------
    ParameterError
        If n is not a whole number from 1 to 200,000, or a probability of the distribution is not a number.
    UnknownNameError
        If there is no such grid.

    Examples
    --------
    >>> from holdfast.workloads.distributions.named import uniform
    >>> discretise(uniform(1.0, 3.0), 4, "equal-time").values
    array([1.5, 2. , 2.5, 3. ])
    """
    if grid not in GRIDS:
        raise UnknownNameError("grid", grid, GRIDS)
    if isinstance(n, bool) or not (1 <= n <= MOST_CELLS) or n != int(n):
        raise ParameterError("n", f"a whole number of cells from 1 to {MOST_CELLS:,}", n)
    if isinstance(distribution, DiscreteDistribution):
        return distribution
    distribution = bound_support(distribution)
    with np.errstate(all="ignore"):  # what is not finite is refused
        ends = np.asarray(GRIDS[grid](distribution, np.arange(int(n) + 1) / int(n)), dtype=float)
    ends[0], ends[-1] = distribution.lower, distribution.upper
    if not np.all(np.isfinite(ends)):
        raise ParameterError("the distribution", "one with finite quantiles", distribution.name)
    # Atoms cause equal quantiles. The last end is b in spite of rounding.
    ends = np.unique(np.minimum(ends, distribution.upper))
    atoms = find_atoms(distribution)
    if atoms.size:
        ends = np.union1d(ends, atoms[(atoms > distribution.lower) & (atoms < distribution.upper)])
    # A support without a width is one runtime.
    if ends.size > 1 and not (distribution.lower > 0.0 and distribution.cdf(distribution.lower) > 0.0):
        # An atom at a > 0 is a separate value; an atom at 0, which is not a reservation, belongs to the first cell.
        ends = ends[1:]
    probabilities = _cell_probabilities(distribution, ends)
    kept = probabilities > 0.0
    # b is kept even with probability 0, because a plan must cover it.
    kept[-1] = True
    return DiscreteDistribution(ends[kept], probabilities[kept], name=distribution.name)


def _cell_probabilities(distribution: Distribution, ends: Array) -> Array:
    """P(v_{i-1} < X <= v_i), from differences of CDF or survival values, whichever are smaller."""
    cdf, sf = np.append(0.0, distribution.cdf(ends)), np.append(1.0, distribution.sf(ends))
    cdf[-1], sf[-1] = 1.0, 0.0
    probabilities = np.where(cdf[1:] < 0.5, np.diff(cdf), -np.diff(sf))
    if not np.all(np.isfinite(probabilities)):
        raise ParameterError("distribution", "one that has probabilities everywhere", distribution.name)
    # Rounding can leave a cell at -1e-17.
    probabilities = np.maximum(probabilities, 0.0)
    cells: Array = probabilities / probabilities.sum()
    return cells


def algorithm_1_size(
    distribution: Distribution,
    epsilon: float,
    *,
    alpha: float = 1.0,
    beta: float = 0.0,
    gamma: float = 0.0,
    checkpoint: float = 0.0,
    restart: float = 0.0,
) -> int:
    """The number of equal-time cells that makes the plan a (1 + epsilon)-approximation: Algorithm 1 of [R].

    n = ceil(c_0 / epsilon), c_0 = 3 (b - a) min(1 / min(max(a, epsilon E[X] / 3), R, C), (alpha + beta) / gamma);
    with gamma = 0, only the first branch applies.

    Parameters
    ----------
    distribution
        The distribution of the runtime; an infinite support is bounded first.
    epsilon
        Allowed relative error, > 0.
    alpha, beta, gamma
        Costs of each unit of reserved time, each unit of used time, and each reservation (time unit of the
        distribution).
    checkpoint, restart
        C and R, in the time unit of the distribution; their minima if they vary with the milestone.

    Returns
    -------
    int
        n >= 1.

    Raises
    ------
    ParameterError
        If a number is illegal, or n would be infinite: gamma = 0, and C = 0 or R = 0.

    Examples
    --------
    >>> from holdfast.workloads.distributions.named import uniform
    >>> algorithm_1_size(uniform(1.0, 20.0), 1.0, gamma=0.1, checkpoint=0.1, restart=0.1)
    570
    """
    epsilon = positive("epsilon", epsilon)
    weight = nonnegative("alpha", alpha) + nonnegative("beta", beta)
    gamma = nonnegative("gamma", gamma)
    overhead = min(nonnegative("checkpoint", checkpoint), nonnegative("restart", restart))
    distribution = bound_support(distribution)
    shortest = min(max(distribution.lower, epsilon * distribution.mean() / 3.0), overhead)
    branches = [1.0 / shortest if shortest > 0.0 else math.inf, weight / gamma if gamma > 0.0 else math.inf]
    count = 3.0 * (distribution.upper - distribution.lower) * min(branches) / epsilon
    if not math.isfinite(count):
        raise ParameterError(
            "the number of cells of Algorithm 1",
            "finite, which takes gamma above 0 or both checkpoint and restart above 0: give an explicit n instead",
            f"gamma {gamma:g}, checkpoint {checkpoint:g}, restart {restart:g}",
        )
    # Rounding of a product that is mathematically an integer must not add a cell.
    return max(1, math.ceil(count * (1.0 - 1e-12)))


def from_samples(samples: npt.ArrayLike, name: str = "discrete") -> DiscreteDistribution:
    """The empirical distribution of past runs ([S] section IV, the discrete method).

    Parameters
    ----------
    samples
        Runtimes in any order, shape (n,).
    name
        Name for users.

    Raises
    ------
    ParameterError
        If there are no runtimes, or one is not finite and above 0.

    Examples
    --------
    >>> distribution = from_samples([3.0, 1.0, 3.0, 2.0])
    >>> distribution.values, distribution.probabilities
    (array([1., 2., 3.]), array([0.25, 0.25, 0.5 ]))
    """
    values, counts = np.unique(runtimes("samples", samples), return_counts=True)
    return DiscreteDistribution(values, counts / counts.sum(), name=name)
