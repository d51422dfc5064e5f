"""Discretisation grids: discrete distributions for the planner, from continuous ones or past runs ([R] section 3.3)."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from types import MappingProxyType

import numpy as np
import numpy.typing as npt

from workloads.ground.errors import ParameterError, UnknownNameError
from workloads.laws.atoms import find_atoms
from workloads.laws.checks import nonnegative, positive, runtimes
from workloads.laws.distribution import Array, DiscreteLaw, Law
from workloads.laws.tail import body_end, tail_grid
from workloads.laws.truncated import bound_support

__all__ = ["GRIDS", "MOST_CELLS", "algorithm_1_size", "discretise", "from_samples"]

#: Maximum number of cells: more of them cost memory and time without a visible improvement of plans.
MOST_CELLS = 200_000


def _equal_time(law: Law, steps: Array) -> Array:
    return law.lower + (law.upper - law.lower) * steps


def _equal_probability(law: Law, steps: Array) -> Array:
    return np.where(steps < 0.5, law.ppf(steps), law.isf(1.0 - steps))


def _cubic(law: Law, steps: Array) -> Array:
    # Steps that grow with the square of the index: fine where reservations are short, coarse in the tail.
    end = body_end(law)
    body = law.lower + (end - law.lower) * steps**3
    if end >= law.upper:
        return body
    body[-1] = end
    return np.append(body, tail_grid(law, end, steps.size - 1))


#: Where the values of a grid lie: from a bounded distribution and i/n, i = 0..n; ascending, from a to b.
GRIDS: Mapping[str, Callable[[Law, Array], Array]] = MappingProxyType(
    {"equal-time": _equal_time, "equal-probability": _equal_probability, "cubic": _cubic}
)


def discretise(law: Law, n: int, grid: str = "cubic") -> DiscreteLaw:
    """Discretise a distribution on n cells: the value v_i represents runtimes in (v_{i-1}, v_i], Equation (9) of [R].

    Parameters
    ----------
    law
        A distribution; an infinite support is bounded first (:func:`workloads.laws.truncated.bound_support`). A
        discrete distribution is its own grid and is returned unchanged.
    n
        Number of cells, 1 to 200,000.
    grid
        ``"equal-time"``: v_i = a + (b - a) i/n, the one that Theorem 3 of [R] covers; ``"equal-probability"``:
        v_i = Q(i/n); ``"cubic"``: v_i = a + (b - a) (i/n)^3. Where b is distant, the n
        cubic cells end before (:func:`workloads.laws.tail.body_end`) and at most n + 1 cells follow
        (:func:`workloads.laws.tail.tail_grid`). Atoms of the distribution (:func:`workloads.laws.atoms.find_atoms`) are
        values of every grid.

    Returns
    -------
    DiscreteLaw
        About n values, up to 2 n where b is distant; cells of zero probability are left out, b is always the last
        value.

    Raises
    ------
    ParameterError
        If n is no whole number from 1 to 200,000, or the distribution gives no probabilities.
    UnknownNameError
        If there is no such grid.

    Examples
    --------
    >>> from workloads.laws.named import uniform
    >>> discretise(uniform(1.0, 3.0), 4, "equal-time").values
    array([1.5, 2. , 2.5, 3. ])
    """
    if grid not in GRIDS:
        raise UnknownNameError("grid", grid, GRIDS)
    if isinstance(n, bool) or not (1 <= n <= MOST_CELLS) or n != int(n):
        raise ParameterError("n", f"a whole number of cells from 1 to {MOST_CELLS:,}", n)
    if isinstance(law, DiscreteLaw):
        return law
    law = bound_support(law)
    with np.errstate(all="ignore"):  # what is not finite is refused
        ends = np.asarray(GRIDS[grid](law, np.arange(int(n) + 1) / int(n)), dtype=float)
    ends[0], ends[-1] = law.lower, law.upper
    if not np.all(np.isfinite(ends)):
        raise ParameterError("the distribution", "one with finite quantiles", law.name)
    # A distribution with atoms has equal quantiles; the last end is b whatever rounding did before it.
    ends = np.unique(np.minimum(ends, law.upper))
    atoms = find_atoms(law)
    if atoms.size:
        ends = np.union1d(ends, atoms[(atoms > law.lower) & (atoms < law.upper)])
    # A support without a width is one runtime.
    if ends.size > 1 and not (law.lower > 0.0 and law.cdf(law.lower) > 0.0):
        # An atom at a > 0 is a value of its own; one at 0, which is no reservation, belongs to the first cell.
        ends = ends[1:]
    probabilities = _cell_probabilities(law, ends)
    kept = probabilities > 0.0
    # b stays even when nothing ends there: a plan must cover it.
    kept[-1] = True
    return DiscreteLaw(ends[kept], probabilities[kept], name=law.name)


def _cell_probabilities(law: Law, ends: Array) -> Array:
    """P(v_{i-1} < X <= v_i), each as the difference of the smaller two of its CDF and survival values."""
    cdf, sf = np.append(0.0, law.cdf(ends)), np.append(1.0, law.sf(ends))
    cdf[-1], sf[-1] = 1.0, 0.0
    probabilities = np.where(cdf[1:] < 0.5, np.diff(cdf), -np.diff(sf))
    if not np.all(np.isfinite(probabilities)):
        raise ParameterError("law", "one that has probabilities everywhere", law.name)
    # Rounding can leave a cell at -1e-17.
    probabilities = np.maximum(probabilities, 0.0)
    cells: Array = probabilities / probabilities.sum()
    return cells


def algorithm_1_size(
    law: Law,
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
    gamma = 0 leaves the first branch alone.

    Parameters
    ----------
    law
        The distribution of the runtime; an infinite support is bounded first.
    epsilon
        The relative error allowed, > 0.
    alpha, beta, gamma
        Costs for each unit reserved, each unit used, each reservation (in the time unit of the distribution).
    checkpoint, restart
        C and R, in the time unit of the distribution; their least values where they vary with the milestone.

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
    >>> from workloads.laws.named import uniform
    >>> algorithm_1_size(uniform(1.0, 20.0), 1.0, gamma=0.1, checkpoint=0.1, restart=0.1)
    570
    """
    epsilon = positive("epsilon", epsilon)
    weight = nonnegative("alpha", alpha) + nonnegative("beta", beta)
    gamma = nonnegative("gamma", gamma)
    overhead = min(nonnegative("checkpoint", checkpoint), nonnegative("restart", restart))
    law = bound_support(law)
    shortest = min(max(law.lower, epsilon * law.mean() / 3.0), overhead)
    branches = [1.0 / shortest if shortest > 0.0 else math.inf, weight / gamma if gamma > 0.0 else math.inf]
    count = 3.0 * (law.upper - law.lower) * min(branches) / epsilon
    if not math.isfinite(count):
        raise ParameterError(
            "the number of cells of Algorithm 1",
            "finite, which takes gamma above 0 or both checkpoint and restart above 0: give an explicit n instead",
            f"gamma {gamma:g}, checkpoint {checkpoint:g}, restart {restart:g}",
        )
    # Rounding of a product that should be whole must not add a cell.
    return max(1, math.ceil(count * (1.0 - 1e-12)))


def from_samples(samples: npt.ArrayLike, name: str = "discrete") -> DiscreteLaw:
    """Past runs as a distribution: each value as probable as it was frequent ([S] section IV, the discrete method).

    Parameters
    ----------
    samples
        Runtimes, any order, shape (n,).
    name
        Name for users.

    Raises
    ------
    ParameterError
        If there is none, or one is not finite and above 0.

    Examples
    --------
    >>> law = from_samples([3.0, 1.0, 3.0, 2.0])
    >>> law.values, law.probabilities
    (array([1., 2., 3.]), array([0.25, 0.25, 0.5 ]))
    """
    values, counts = np.unique(runtimes("samples", samples), return_counts=True)
    return DiscreteLaw(values, counts / counts.sum(), name=name)
