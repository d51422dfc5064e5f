"""Quantiles of the time to a start, and the scale on which they are combined and interpolated: log(wait + 60 s)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from holdfast.experiments.forecast.experts import LEVELS

__all__ = ["SHORTEST", "STEPS", "Knots", "WaitQuantiles", "cdf_knots", "from_scale", "to_scale"]

Floats = npt.NDArray[np.float64]

_OFFSET = 60.0
#: A wait of 0 s on the scale.
SHORTEST = float(np.log(_OFFSET))
#: Levels of corrected quantiles. Those of reports alone could not say that 40 % of the jobs start at once.
STEPS = tuple(step / 20 for step in range(1, 20))
#: Distance of the knots of equal quantiles on the scale; it is far below a second.
_APART = 1e-12


def to_scale(seconds: npt.ArrayLike) -> Floats:
    """Logarithms of times [s] plus a minute."""
    scaled: Floats = np.log(np.maximum(np.asarray(seconds, dtype=float), 0.0) + _OFFSET)
    return scaled


def from_scale(values: Floats) -> Floats:
    """Times [s] from their logarithms."""
    seconds: Floats = np.maximum(np.exp(values) - _OFFSET, 0.0)
    return seconds


class WaitQuantiles(NamedTuple):
    """Quantiles of the time to a start.

    Attributes
    ----------
    levels
        Their levels, ascending; those of reports are among them.
    seconds
        The quantiles [s], ascending, shape (levels,).
    """

    levels: Sequence[float]
    seconds: Sequence[float]

    def report_quantiles(self) -> list[float]:
        """The quantiles at the levels of reports [s]."""
        return [float(self.seconds[list(self.levels).index(level)]) for level in LEVELS]

    def share(self, time: float) -> float:
        """Probability of a start within a time [s].

        It is linear between quantiles on the scale; beyond the outer ones it goes on to 0 and 1 with the slope inside.
        At several equal quantiles it is the highest of their levels.

        Examples
        --------
        >>> found = WaitQuantiles(LEVELS, [10.0, 20.0, 30.0, 40.0, 50.0])
        >>> [round(found.share(time), 2) for time in (0.0, 30.0, 50.0, 1e6)]
        [0.0, 0.5, 0.95, 1.0]
        """
        return 0.0 if time < 0 else self._share_at(time, _APART * (len(self.levels) + 2))

    def share_before(self, time: float) -> float:
        """Probability of a start before a time [s]: at several equal quantiles it is the lowest of their levels."""
        return 0.0 if time <= 0 else self._share_at(time, -_APART)

    def _share_at(self, time: float, shift: float) -> float:
        """The distribution function at a time [s], shifted on the scale to pass equal quantiles or to precede them."""
        places, shares = cdf_knots(to_scale(self.seconds), self.levels)
        return float(np.interp(to_scale(time) + shift, places, shares))


class Knots(NamedTuple):
    """Knots of a distribution function that is linear between them.

    Attributes
    ----------
    places
        On the scale, ascending, shape (knots, ...).
    shares
        Probabilities of a start by then, from 0 to 1, shape (knots,).
    """

    places: Floats
    shares: Floats


def cdf_knots(quantiles: Floats, levels: Sequence[float]) -> Knots:
    """The distribution function through some quantiles on the scale.

    Beyond the outer quantiles it goes on to 0 and 1 with the slope inside.

    Parameters
    ----------
    quantiles
        Ascending, shape (levels,), or those of several distributions, shape (levels, distributions).
    levels
        Their levels, ascending.
    """
    low = quantiles[0] - (quantiles[1] - quantiles[0]) * levels[0] / (levels[1] - levels[0])
    high = quantiles[-1] + (quantiles[-1] - quantiles[-2]) * (1.0 - levels[-1]) / (levels[-1] - levels[-2])
    # Of equal quantiles the highest level counts: the job starts then, or before.
    places = (np.concatenate(([low], quantiles, [high])).T + _APART * np.arange(len(quantiles) + 2)).T
    return Knots(places, np.array([0.0, *levels, 1.0]))
