"""Atoms of a distribution: single runtimes with positive probability, as in a mixture with measured runs."""

from __future__ import annotations

import numpy as np

from holdfast.workloads.distributions.distribution import Array, Distribution

__all__ = ["find_atoms"]

#: Number of levels at which quantiles are compared if no atoms are declared; finds atoms of twice their spacing.
_LEVELS = 1024
#: Tolerance for quantiles that were found by bisection.
_EQUAL = 1e-12


def find_atoms(distribution: Distribution) -> Array:
    """Find the runtimes at which a distribution function jumps.

    Parameters
    ----------
    distribution
        A distribution. Its attribute ``atoms`` is used if it exists; otherwise atoms with a probability of at least
        0.002 are found by equal quantiles.

    Returns
    -------
    ndarray of shape (atoms,)
        Atoms in ascending order.

    Examples
    --------
    >>> from holdfast.workloads.distributions import DiscreteDistribution, uniform
    >>> from holdfast.workloads.distributions.mixture import mixture
    >>> find_atoms(uniform(1.0, 2.0)), find_atoms(mixture([uniform(1.0, 2.0), DiscreteDistribution([1.5], [1.0])]))
    (array([], dtype=float64), array([1.5]))
    """
    known = getattr(distribution, "atoms", None)
    return _search_atoms(distribution) if known is None else np.unique(np.asarray(known, dtype=float))


def _search_atoms(distribution: Distribution) -> Array:
    levels = (np.arange(_LEVELS) + 0.5) / _LEVELS
    low = levels < 0.5
    with np.errstate(all="ignore"):
        quantiles = np.concatenate((distribution.ppf(levels[low]), distribution.isf(1.0 - levels[~low])))
        equal = np.diff(quantiles) <= _EQUAL * np.abs(quantiles[1:])
        # Rounding may put some of the equal quantiles before the jump; the last one is not before it.
        found: Array = np.unique(quantiles[1:][equal & ~np.append(equal[1:], False)])
        jumps = np.asarray(distribution.cdf(found * (1.0 + _EQUAL))) - np.asarray(
            distribution.cdf(found * (1.0 - _EQUAL))
        )
    return found[np.isfinite(found) & (jumps > 0.5 / _LEVELS)]
