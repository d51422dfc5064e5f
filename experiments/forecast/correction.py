"""Correction of forecasts by their back-tests: the error distribution of similar past forecasts.

Everything is on the scale of log(wait + 60 s). Source: docs/guides/forecast-quality.md.

References
----------
V. Vovk, J. Shen, V. Manokhin, M. Xie, "Nonparametric predictive distributions based on conformal prediction", Machine
Learning 108, 2019.
L. Guan, "Localized conformal prediction", Biometrika 110, 2023.
J. G. Cragg, "Some statistical models for limited dependent variables", Econometrica 39, 1971 (starts at once apart).
E. L. Kaplan, P. Meier, "Nonparametric estimation from incomplete observations", JASA 53, 1958.
E. Candès, L. Lei, Z. Ren, "Conformalized survival analysis", Journal of the Royal Statistical Society B 85, 2023.
J. M. Bates, C. W. J. Granger, "The combination of forecasts", Operational Research Quarterly 20, 1969.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from holdfast.experiments.forecast.experts import LEVELS
from holdfast.experiments.forecast.wait_quantiles import SHORTEST, STEPS, to_scale

__all__ = ["ENOUGH", "Evidence", "correct_forecast", "replay", "weigh_experts"]

Floats = npt.NDArray[np.float64]

#: Fewest back-tests to correct by.
ENOUGH = 20
#: Most of them, the last ones, because machines and users change.
_LAST = 160
#: Distance of features, in standard deviations, at which a back-test counts exp(-1/2), and the least that it counts: a
#: hundred distant back-tests count as much as a near one. With 1.5 in place of 1 the pinball loss of pools is 0.5 and
#: 0.4 % less on KTH-SP2 (jobs submitted and waiting), 1.0 and 1.4 % on wagap-2013, and equal on simulated schedules.
_NEAR, _FAR = 1.5, 0.01
#: Smallest standard deviation of a feature: below it all back-tests are alike.
_ALIKE = 0.5
#: Weights are losses to the power -4. With smaller powers poor experts spoil a good simulation: with -2 the pinball
#: loss on generated years is 11 to 18 % higher; with larger ones wagap-2013 is covered less.
_POWER = 4.0
#: Least loss, for experts that were always right.
_LEAST = 1e-3
#: Waits up to a minute are starts at once: logs record whole minutes, and schedulers run about once a minute.
_AT_ONCE = float(to_scale(60.0)) + 1e-9
#: Place of the median among the levels of the experts.
_MIDDLE = LEVELS.index(0.5)


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

    def select(self, places: Sequence[int]) -> Evidence:
        """The back-tests at some places."""
        index = np.array(places, dtype=np.intp)
        waits, started, times = self.waits[index], self.started[index], self.times[index]
        return Evidence(self.forecasts[index], waits, started, times, self.features[index])

    def until(self, at: float, place: int) -> Evidence:
        """What was known at a time [s] of the last 160 tests before a place: later starts are not known yet."""
        first = max(0, place - _LAST)
        times, waits = self.times[first:place], self.waits[first:place]
        started = self.started[first:place] & (times + waits <= at)
        waits = np.where(started, waits, np.maximum(0.0, np.minimum(waits, at - times)))
        return Evidence(self.forecasts[first:place], waits, started, times, self.features[first:place])


def correct_forecast(evidence: Evidence, forecasts: Floats, features: Floats) -> Floats:
    """Quantiles of a start from the forecasts of the experts and from what such forecasts missed in back-tests.

    Each back-test is one possible outcome. If its job started at once, this one may. Otherwise this job waits more than
    a minute, unless the experts expect less, and as much longer or shorter than their weighted median as that job did.
    Back-tests are weighted by how near their features are. Of a job that has not started it is known that its wait is
    longer: the distribution is the Kaplan-Meier estimate. Without such jobs long waits would be missing among the last
    tests.

    Parameters
    ----------
    evidence
        The back-tests; only the last ones count. At least one job has started.
    forecasts
        Quantiles of the experts on the scale, shape (experts, levels).
    features
        Features of the forecast, shape (features,).

    Returns
    -------
    numpy.ndarray
        Quantiles at the levels :data:`~holdfast.experiments.forecast.wait_quantiles.STEPS` on the scale, ascending.
    """
    evidence = evidence.until(np.inf, len(evidence.times))
    started, actual = evidence.started, to_scale(evidence.waits)
    weights = weigh_experts(evidence)
    missed = actual - evidence.forecasts[:, :, _MIDDLE] @ weights
    expected = float(forecasts[:, _MIDDLE] @ weights)
    # Where the experts expect a start at once, a back-test that missed nothing is one, too.
    waited = np.maximum(expected + missed, min(expected, _AT_ONCE))
    possible = np.where(started & (actual <= _AT_ONCE), actual, waited)
    near = _nearness(evidence.features, features)
    quantiles: Floats = np.maximum(_quantiles(possible, started, near, np.array(STEPS)), SHORTEST)
    return quantiles


def weigh_experts(evidence: Evidence) -> Floats:
    """Weights of the experts, with sum 1, shape (experts,).

    They are a power of the pinball losses of what the medians missed, about its own quantiles: an expert that is always
    an hour too early is a good one.
    """
    started = evidence.started
    levels, every = np.array(LEVELS), np.ones(len(started))
    losses = []
    for missed in (to_scale(evidence.waits)[:, None] - evidence.forecasts[:, :, _MIDDLE]).T:
        over = missed[started][:, None] - _quantiles(missed, started, every, levels)
        losses.append(np.maximum(levels * over, (levels - 1.0) * over).mean())
    powers = (np.array(losses) + _LEAST) ** -_POWER
    weights: Floats = powers / powers.sum()
    return weights


def _nearness(known: Floats, features: Floats) -> Floats:
    """Weights of back-tests by the distances of their features, shape (tests,)."""
    distances = (known - features) / np.maximum(known.std(axis=0), _ALIKE)
    weights: Floats = np.exp(-0.5 * np.sum((distances / _NEAR) ** 2, axis=1)) + _FAR
    return weights


def _quantiles(values: Floats, started: npt.NDArray[np.bool_], weights: Floats, levels: Floats) -> Floats:
    """Quantiles at ranks level x (n + 1), shape (levels,); n is the effective number of the weights.

    Parameters
    ----------
    values
        Of jobs that have not started lower bounds, shape (tests,).
    started
        Whether each job has started, shape (tests,); at least one has.
    weights
        Shape (tests,).
    levels
        Shape (levels,).
    """
    count = weights.sum() ** 2 / np.sum(weights**2)
    # Of equal values those of jobs that have started come first.
    order = np.lexsort((~started, values))
    ordered, events, mass = values[order], started[order], weights[order]
    at_risk = np.cumsum(mass[::-1])[::-1]
    left = np.cumprod(np.where(events, 1.0 - mass / at_risk, 1.0))
    found: Floats = np.interp(levels * (count + 1.0) / count, 1.0 - left[events], ordered[events])
    return found


def replay(evidence: Evidence) -> tuple[list[int], Floats]:
    """Correct each back-test by those before it.

    Parameters
    ----------
    evidence
        The back-tests.

    Returns
    -------
    tuple
        Places of the tests before which at least :data:`ENOUGH` jobs had started, and their corrected quantiles on the
        scale, shape (places, steps).
    """
    places, found = [], []
    for place, at in enumerate(evidence.times.tolist()):
        known = evidence.until(at, place)
        if known.started.sum() >= ENOUGH:
            places.append(place)
            found.append(correct_forecast(known, evidence.forecasts[place], evidence.features[place]))
    return places, np.array(found).reshape(len(places), len(STEPS))
