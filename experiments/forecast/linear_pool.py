"""Linear pool of the corrected forecast and the simulation: the weights that had the least CRPS in back-tests.

Where a site follows the simulated rule, the simulation knows more about a job than the misses of similar jobs do.
Everything is on the scale of log(wait + 60 s). Source: docs/guides/forecast-quality.md.

References
----------
T. Gneiting, A. E. Raftery, "Strictly proper scoring rules, prediction, and estimation", JASA 102, 2007 (CRPS).
T. Gneiting, R. Ranjan, "Combining predictive distributions", Electronic Journal of Statistics 7, 2013.
J. Thorey, V. Mallet, P. Baudin, "Online learning with the continuous ranked probability score for ensemble
forecasting", Quarterly Journal of the Royal Meteorological Society 143, 2017.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from holdfast.experiments.forecast.experts import LEVELS
from holdfast.experiments.forecast.wait_quantiles import STEPS, cdf_knots

__all__ = ["PoolTerms", "at_steps", "pool", "pool_terms", "simulation_weight"]

Floats = npt.NDArray[np.float64]

#: Most back-tests that decide, the last ones.
_LAST = 160
#: The preference for the corrected forecast counts as this number of back-tests. Pinball loss of jobs submitted and
#: waiting on KTH-SP2: 0.614 and 0.441 with 0, 0.611 and 0.439 with 10; with 30 it is 1 % more on its simulated one.
_PRIOR = 10
#: Least mean distance of the two forecasts: of equal ones the weights do not matter.
_LEAST = 1e-9
#: Quantiles at levels times this are linear interpolations at steps, shape (levels, steps).
_BETWEEN = np.array([np.interp(STEPS, LEVELS, unit) for unit in np.eye(len(LEVELS))])


class PoolTerms(NamedTuple):
    """What the CRPS of a pool is made of, in back-tests in the order of time.

    The CRPS of a pool with weight w of the simulation is that of the corrected forecast - w gain + w² distance / 2.

    Attributes
    ----------
    gains
        Rates at which a small weight of the simulation lessens the CRPS, shape (tests,).
    distances
        Energy distances of the corrected forecasts and the simulations, shape (tests,).
    starts
        Starts of the jobs [s], when the terms became known, shape (tests,).
    """

    gains: Floats
    distances: Floats
    starts: Floats

    def before(self, place: int) -> PoolTerms:
        """The terms of the back-tests before a place."""
        return PoolTerms(*(column[:place] for column in self))


def at_steps(simulated: Floats) -> Floats:
    """Quantiles of the simulation at :data:`~holdfast.experiments.forecast.wait_quantiles.STEPS`.

    Parameters
    ----------
    simulated
        At the levels of experts, shape (..., levels).
    """
    quantiles: Floats = simulated @ _BETWEEN
    return quantiles


def pool_terms(corrected: Floats, simulated: Floats, actual: Floats, starts: Floats) -> PoolTerms:
    """Terms of the CRPS of pools.

    Parameters
    ----------
    corrected, simulated
        Quantiles, shape (tests, steps); each counts as a sample.
    actual
        What happened, shape (tests,).
    starts
        Starts of the jobs [s], shape (tests,).
    """
    between = _mean_distance(corrected, simulated)
    within = [_mean_distance(samples, samples) for samples in (corrected, simulated)]
    missed = [_mean_distance(samples, actual[:, None]) for samples in (corrected, simulated)]
    gains = missed[0] - missed[1] + between - within[0]
    return PoolTerms(gains, 2.0 * between - within[0] - within[1], starts)


def _mean_distance(first: Floats, second: Floats) -> Floats:
    """Mean distance between the samples of two distributions, shape (tests,)."""
    distances: Floats = np.abs(first[:, :, None] - second[:, None, :]).mean(axis=(1, 2))
    return distances


def simulation_weight(past: PoolTerms, at: float) -> float:
    """Weight of the simulation in the pool of least mean CRPS, from 0 to 1.

    Parameters
    ----------
    past
        Terms of back-tests; those of the last 160 with known starts count, and ten that prefer the corrected forecast.
    at
        Time of the forecast [s].
    """
    known = past.starts[-_LAST:] <= at
    count = int(known.sum())
    if not count:
        return 0.0
    gains, distances = past.gains[-_LAST:][known], past.distances[-_LAST:][known]
    best = gains.sum() / (distances.sum() * (1.0 + _PRIOR / count) + _LEAST)
    return float(np.clip(best, 0.0, 1.0))


def pool(corrected: Floats, simulated: Floats, weight: float) -> Floats:
    """Quantiles of the mixture of two distributions.

    Parameters
    ----------
    corrected, simulated
        Their quantiles, shape (steps,), ascending.
    weight
        Weight of the second.

    Returns
    -------
    numpy.ndarray
        Shape (steps,), ascending.
    """
    if weight == 0.0:
        return corrected
    first, second = cdf_knots(corrected, STEPS), cdf_knots(simulated, STEPS)
    # Both functions are linear between knots, and so is their sum.
    places = np.sort(np.concatenate((first.places, second.places)))
    shares = (1.0 - weight) * np.interp(places, *first) + weight * np.interp(places, *second)
    quantiles: Floats = np.interp(STEPS, shares, places)
    return quantiles
