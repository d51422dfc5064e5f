"""Vectorised evaluation of many discrete distributions, each at its own levels."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from holdfast.workloads.distributions.distribution import SLACK, Array, DiscreteDistribution

__all__ = ["DistributionBatch"]


class DistributionBatch:
    """Discrete distributions, numbered in the order in which they were added.

    Examples
    --------
    >>> batch = DistributionBatch()
    >>> [batch.add(DiscreteDistribution(values, [0.75, 0.25])) for values in ([2.0, 5.0], [1.0, 9.0])]
    [0, 1]
    >>> batch.isf(np.array([0, 1, 1]), np.array([0.8, 0.8, 0.2])).tolist()
    [2.0, 1.0, 9.0]
    """

    def __init__(self) -> None:
        self._distributions: list[DiscreteDistribution] = []
        #: All values, all negative survivals (ascending within a distribution), and the start index of each one.
        self._values = self._falling = np.empty(0)
        self._begins = np.zeros(1, dtype=np.int64)

    def __len__(self) -> int:
        return len(self._distributions)

    def add(self, distribution: DiscreteDistribution) -> int:
        """Add a distribution and return its number."""
        self._distributions.append(distribution)
        return len(self._distributions) - 1

    def isf(self, which: npt.NDArray[np.int64], levels: Array) -> Array:
        """Evaluate ``isf`` of several distributions, each at one level.

        Parameters
        ----------
        which
            Numbers of distributions, shape (n,).
        levels
            Level of each distribution, in [0, 1], shape (n,).

        Returns
        -------
        numpy.ndarray
            Shape (n,).
        """
        if len(self._begins) <= len(self._distributions):
            self._values = np.concatenate([distribution.values for distribution in self._distributions])
            self._falling = -np.concatenate([distribution.survival for distribution in self._distributions])
            self._begins = np.cumsum([0, *(distribution.values.size for distribution in self._distributions)])
        # Binary search in each distribution: indices below low are too small, high is large enough. The last value has
        # survival 0, so that the search always succeeds.
        low, high = self._begins[which], self._begins[which + 1] - 1
        wanted = -levels * (1.0 + SLACK)
        while np.any(low < high):
            middle = (low + high) // 2
            early = self._falling[middle] < wanted
            # Where low and high are equal, the search has ended.
            low = np.where(early & (low < high), middle + 1, low)
            high = np.where(early, high, middle)
        return self._values[low]
