"""Correction of forecasts by their back-tests: weights of the experts, and shifts that make the quantiles hold.

Everything is on the scale of log(wait + 60 s). Source: docs/guides/forecast-quality.md.

References
----------
Y. Romano, E. Patterson, E. Candès, "Conformalized quantile regression", NeurIPS 2019.
I. Gibbs, E. Candès, "Adaptive conformal inference under distribution shift", NeurIPS 2021.
N. Cesa-Bianchi, G. Lugosi, "Prediction, learning, and games", 2006 (exponentially weighted averages).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

__all__ = ["ENOUGH", "Correction", "fit_correction", "from_scale", "replay", "to_scale"]

Floats = npt.NDArray[np.float64]

#: Fewest back-tests to correct by.
ENOUGH = 20
#: Most of them, the last ones, because machines and users change.
_LAST = 80
#: Rate at which weights follow the losses.
_ETA = 0.25
#: Step by which a level follows the starts that were missed.
_STEP = 0.05
_OFFSET = 60.0
#: Quantiles up to this are waits of 0 s.
_FLOOR = float(np.log(_OFFSET)) + 1e-9


@dataclass(frozen=True, eq=False)
class Correction:
    """How quantiles of the experts are combined.

    Attributes
    ----------
    weights
        Of the experts, with sum 1, shape (experts,).
    shifts
        Added to the weighted quantiles on the scale of logarithms, shape (levels,).
    """

    weights: Floats
    shifts: Floats

    def apply(self, forecasts: Floats) -> Floats:
        """Corrected quantiles, ascending, from those of the experts on the scale, shape (experts, levels)."""
        mixed = self.weights @ forecasts + self.shifts
        corrected: Floats = np.maximum.accumulate(np.maximum(mixed, np.log(_OFFSET)))
        return corrected


def to_scale(seconds: npt.ArrayLike) -> Floats:
    """Logarithms of times [s] plus a minute."""
    scaled: Floats = np.log(np.maximum(np.asarray(seconds, dtype=float), 0.0) + _OFFSET)
    return scaled


def from_scale(values: Floats) -> Floats:
    """Times [s] from their logarithms."""
    seconds: Floats = np.maximum(np.exp(values) - _OFFSET, 0.0)
    return seconds


def fit_correction(
    forecasts: Floats, actual: Floats, levels: Sequence[float], aimed: Floats | None = None
) -> Correction:
    """The correction by some back-tests.

    The weight of an expert falls exponentially with the sum of its pinball losses after its own shifts. The shift of
    a level is the quantile of what the weighted quantiles lacked, by the rule of split conformal prediction.

    Parameters
    ----------
    forecasts
        Quantiles of the experts on the scale, shape (tests, experts, levels).
    actual
        What happened on the scale, shape (tests,).
    levels
        Levels of the quantiles.
    aimed
        Levels of the shifts, adapted to former misses; None: ``levels``.
    """
    forecasts, actual = forecasts[-_LAST:], actual[-_LAST:]
    own = np.array(levels)
    losses = np.array(
        [
            _pinball(actual, forecasts[:, expert] + _shifts(actual, forecasts[:, expert], own), own)
            for expert in range(forecasts.shape[1])
        ]
    )
    weights = np.exp(-_ETA * (losses - losses.min()))
    weights /= weights.sum()
    return Correction(
        weights, _shifts(actual, np.einsum("e,tel->tl", weights, forecasts), own if aimed is None else aimed)
    )


def _pinball(actual: Floats, quantiles: Floats, levels: Floats) -> float:
    over = actual[:, None] - quantiles
    return float(np.maximum(levels * over, (levels - 1.0) * over).mean(axis=1).sum())


def _shifts(actual: Floats, quantiles: Floats, levels: Floats) -> Floats:
    """Quantiles of the residuals at ranks level x (n + 1), shape (levels,)."""
    residuals = np.sort(actual[:, None] - quantiles, axis=0)
    count = len(actual)
    return np.array(
        [
            np.interp(level * (count + 1) - 1, np.arange(count), column)
            for level, column in zip(levels.tolist(), residuals.T, strict=True)
        ]
    )


def replay(
    forecasts: Floats, actual: Floats, times: Floats, starts: Floats, levels: Sequence[float]
) -> tuple[list[int], Floats, Floats]:
    """Correct each back-test by those that were known before it.

    Parameters
    ----------
    forecasts, actual, levels
        As of :func:`fit_correction`, in the order of time.
    times, starts
        Time of each forecast and start of its job [s], shape (tests,).

    Returns
    -------
    tuple
        Places of the tests before which at least :data:`ENOUGH` jobs had started; their corrected quantiles on the
        scale, shape (places, levels); and the levels to aim at next, of which the first and the last follow the misses.
    """
    own = np.array(levels)
    aimed, places, found = own.copy(), [], []
    # The inner levels are not adapted: many starts are equal, and the 50 % interval would grow too wide.
    outer = np.isin(np.arange(len(own)), (0, len(own) - 1))
    for place, at in enumerate(times.tolist()):
        known = np.flatnonzero(starts[:place] <= at)
        if len(known) < ENOUGH:
            continue
        quantiles = fit_correction(forecasts[known], actual[known], levels, aimed).apply(forecasts[place])
        places.append(place)
        found.append(quantiles)
        # A quantile of 0 s cannot be too high, so that a start at once says nothing about its level.
        step = np.where((quantiles > _FLOOR) & outer, own - (actual[place] <= quantiles), 0.0)
        aimed = np.clip(aimed + _STEP * step, 0.0, 1.0)
    return places, np.array(found).reshape(len(places), len(levels)), aimed
