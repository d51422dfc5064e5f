"""Shares of the last runs of a group, sorted, with cumulative sums for fast ranks and conditional means."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import accumulate
from typing import NamedTuple

__all__ = ["RecentShares"]


class RecentShares(NamedTuple):
    """Shares of runs.

    All jobs of past states are compared with some: in a loop over the shares 109,000 comparisons took 32 s of a profile
    of RICC, from sorted shares and sums 12 s.

    Attributes
    ----------
    ordered
        The shares, ascending, shape (runs,).
    totals, squares
        Sum of each share and all above it, and of their squares, shape (runs,).

    Examples
    --------
    >>> RecentShares.of([4.0, 1.0, 2.0])
    RecentShares(ordered=[1.0, 2.0, 4.0], totals=[7.0, 6.0, 4.0], squares=[21.0, 20.0, 16.0])
    """

    ordered: Sequence[float]
    totals: Sequence[float]
    squares: Sequence[float]

    @classmethod
    def of(cls, shares: Iterable[float]) -> RecentShares:
        """Shares in any order."""
        falling = sorted(shares, reverse=True)
        totals, squares = list(accumulate(falling)), list(accumulate(share * share for share in falling))
        return cls(falling[::-1], totals[::-1], squares[::-1])
