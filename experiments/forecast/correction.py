"""Correction of forecasts by their back-tests: weights of the experts, and shifts that make the quantiles hold.

Everything is on the scale of log(wait + 60 s). Source: docs/guides/forecast-quality.md.

References
----------
Y. Romano, E. Patterson, E. Candès, "Conformalized quantile regression", NeurIPS 2019.
L. Guan, "Localized conformal prediction", Biometrika 110, 2023.
E. L. Kaplan, P. Meier, "Nonparametric estimation from incomplete observations", JASA 53, 1958.
E. Candès, L. Lei, Z. Ren, "Conformalized survival analysis", Journal of the Royal Statistical Society B 85, 2023.
I. Gibbs, E. Candès, "Adaptive conformal inference under distribution shift", NeurIPS 2021.
N. Cesa-Bianchi, G. Lugosi, "Prediction, learning, and games", 2006 (exponentially weighted averages).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

__all__ = ["ENOUGH", "Correction", "Evidence", "fit_correction", "from_scale", "replay", "to_scale"]

Floats = npt.NDArray[np.float64]

#: Fewest back-tests to correct by.
ENOUGH = 20
#: Most of them, the last ones, because machines and users change.
_LAST = 160
#: Distance of features, in standard deviations, at which a back-test counts exp(-1/2), and the least that it counts.
_NEAR, _FAR = 1.0, 0.02
#: Smallest standard deviation of a feature: below it all back-tests are alike.
_ALIKE = 0.5
#: Number of similar back-tests that count as much as all of them.
_DOUBT = 5
#: Rate at which weights follow the losses.
_ETA = 0.25
#: Step by which a level follows the starts that were missed.
_STEP = 0.05
_OFFSET = 60.0
#: Quantiles up to this are waits of 0 s.
_FLOOR = float(np.log(_OFFSET)) + 1e-9


class Evidence(NamedTuple):
    """Back-tests as arrays, in the order of time.

    Attributes
    ----------
    forecasts
        Quantiles of the experts on the scale, shape (tests, experts, levels).
    waits
        Times to the starts [s], shape (tests,); of a job that has not started how long it has waited since.
    started
        Whether the job has started, shape (tests,).
    times
        Times of the forecasts [s], shape (tests,).
    features
        What the forecasts are compared by, shape (tests, features).
    """

    forecasts: Floats
    waits: Floats
    started: npt.NDArray[np.bool_]
    times: Floats
    features: Floats

    def until(self, at: float, place: int) -> Evidence:
        """What was known at a time [s] of the last tests before a place: later starts are not known yet."""
        first = max(0, place - _LAST)
        times, waits = self.times[first:place], self.waits[first:place]
        started = self.started[first:place] & (times + waits <= at)
        waits = np.where(started, waits, np.maximum(0.0, np.minimum(waits, at - times)))
        return Evidence(self.forecasts[first:place], waits, started, times, self.features[first:place])


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
    evidence: Evidence, features: Floats, levels: Sequence[float], aimed: Floats | None = None
) -> Correction:
    """The correction of one forecast by some back-tests.

    The weight of an expert falls exponentially with the sum of its pinball losses after its own shifts. The shift of a
    level is the quantile of what the weighted quantiles lacked, by the rule of split conformal prediction: among
    back-tests weighted by how near their features are, as far as there are enough of them, and among all. Of a job that
    has not started it is known that its wait is longer: quantiles are those of the Kaplan-Meier estimate. Without such
    jobs long waits would be missing among the last tests.

    Parameters
    ----------
    evidence
        The back-tests; only the last ones count.
    features
        Features of the forecast, shape (features,).
    levels
        Levels of the quantiles.
    aimed
        Levels of the shifts, adapted to former misses; None: ``levels``.
    """
    last = slice(-_LAST, None)
    forecasts, started = evidence.forecasts[last], evidence.started[last]
    actual = to_scale(evidence.waits[last])
    own = np.array(levels)
    everyone = np.ones(len(actual))
    losses = np.array(
        [
            _pinball(
                actual[started],
                (quantiles + _shifts(actual[:, None] - quantiles, started, everyone, own))[started],
                own,
            )
            for quantiles in forecasts.transpose(1, 0, 2)
        ]
    )
    weights = np.exp(-_ETA * (losses - losses.min()))
    weights /= weights.sum()
    lacked = actual[:, None] - np.einsum("e,tel->tl", weights, forecasts)
    near = _nearness(evidence.features[last], features)
    alike = near.sum() ** 2 / np.sum(near**2)
    trust = alike / (alike + _DOUBT)
    at = own if aimed is None else aimed
    shifts = trust * _shifts(lacked, started, near, at) + (1.0 - trust) * _shifts(lacked, started, everyone, at)
    return Correction(weights, shifts)


def _nearness(known: Floats, features: Floats) -> Floats:
    """Weights of back-tests by the distances of their features, shape (tests,)."""
    distances = (known - features) / np.maximum(known.std(axis=0), _ALIKE)
    weights: Floats = np.exp(-0.5 * np.sum((distances / _NEAR) ** 2, axis=1)) + _FAR
    return weights


def _pinball(actual: Floats, quantiles: Floats, levels: Floats) -> float:
    over = actual[:, None] - quantiles
    return float(np.maximum(levels * over, (levels - 1.0) * over).mean(axis=1).sum())


def _shifts(lacked: Floats, started: npt.NDArray[np.bool_], weights: Floats, levels: Floats) -> Floats:
    """Quantiles of residuals at ranks level x (n + 1), shape (levels,); n is the effective number of the weights.

    Parameters
    ----------
    lacked
        Residuals; of jobs that have not started lower bounds, shape (tests, levels).
    started
        Whether each job has started, shape (tests,); at least one has.
    weights
        Shape (tests,).
    levels
        Shape (levels,).
    """
    count = weights.sum() ** 2 / np.sum(weights**2)
    found = []
    for level, column in zip(levels.tolist(), lacked.T, strict=True):
        # Of equal residuals those of jobs that have started come first.
        order = np.lexsort((~started, column))
        ordered, events, mass = column[order], started[order], weights[order]
        at_risk = np.cumsum(mass[::-1])[::-1]
        left = np.cumprod(np.where(events, 1.0 - mass / at_risk, 1.0))
        found.append(np.interp(level * (count + 1.0) / count, 1.0 - left[events], ordered[events]))
    return np.array(found)


def replay(evidence: Evidence, levels: Sequence[float]) -> tuple[list[int], Floats, Floats]:
    """Correct each back-test by those before it.

    Parameters
    ----------
    evidence, levels
        As of :func:`fit_correction`.

    Returns
    -------
    tuple
        Places of the tests whose jobs have started and before which at least :data:`ENOUGH` jobs had started; their
        corrected quantiles on the scale, shape (places, levels); and the levels to aim at next, of which the first and
        the last follow the misses.
    """
    own = np.array(levels)
    aimed, places, found = own.copy(), [], []
    actual = to_scale(evidence.waits)
    # The inner levels are not adapted: many starts are equal, and the 50 % interval would grow too wide.
    outer = np.isin(np.arange(len(own)), (0, len(own) - 1))
    for place, at in enumerate(evidence.times.tolist()):
        known = evidence.until(at, place)
        if not evidence.started[place] or known.started.sum() < ENOUGH:
            continue
        quantiles = fit_correction(known, evidence.features[place], levels, aimed).apply(evidence.forecasts[place])
        places.append(place)
        found.append(quantiles)
        # A quantile of 0 s cannot be too high, so that a start at once says nothing about its level.
        step = np.where((quantiles > _FLOOR) & outer, own - (actual[place] <= quantiles), 0.0)
        aimed = np.clip(aimed + _STEP * step, 0.0, 1.0)
    return places, np.array(found).reshape(len(places), len(levels)), aimed
