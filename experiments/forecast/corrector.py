"""Corrected forecasts: corrected by past errors, pooled with the simulation, and calibrated by back-tests.

Source: docs/guides/forecast-quality.md.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from holdfast.experiments.forecast.correction import Evidence, correct_forecast, replay
from holdfast.experiments.forecast.experts import EXPERTS, LEVELS, SIMULATION
from holdfast.experiments.forecast.interval_calibration import calibrate_intervals, rank_bounds
from holdfast.experiments.forecast.linear_pool import at_steps, pool, pool_terms, simulation_weight
from holdfast.experiments.forecast.median_errors import MedianErrors, join_medians
from holdfast.experiments.forecast.wait_quantiles import STEPS, WaitQuantiles, from_scale, to_scale

__all__ = ["Corrector"]

Floats = npt.NDArray[np.float64]

#: Place of the median among the levels of the experts, and of the simulation among the experts.
_MIDDLE, _SIMULATION = LEVELS.index(0.5), EXPERTS.index(SIMULATION)


class Corrector:
    """Correction of forecasts by back-tests, each of which is corrected by those before it alone.

    Parameters
    ----------
    evidence
        The back-tests.

    Attributes
    ----------
    places
        Places of the corrected back-tests whose jobs have started.
    quantiles
        Their corrected quantiles.
    """

    def __init__(self, evidence: Evidence) -> None:
        self._evidence = evidence
        places, corrected = replay(evidence)
        self._tests = tests = evidence.select(places)
        starts = np.where(tests.started, tests.times + tests.waits, np.inf)
        medians, simulated = tests.forecasts[:, :, _MIDDLE], at_steps(tests.forecasts[:, _SIMULATION])
        times = tests.times.tolist()
        self._terms = pool_terms(corrected, simulated, to_scale(tests.waits), starts)
        self._pooled = np.array(
            [
                pool(corrected[row], simulated[row], simulation_weight(self._terms.before(row), at))
                for row, at in enumerate(times)
            ]
        ).reshape(corrected.shape)
        joined = from_scale(np.column_stack((self._pooled[:, STEPS.index(0.5)], medians)))
        self._errors = MedianErrors(np.abs(joined - tests.waits[:, None]), starts)
        found = [self._calibrate(self._pooled[row], medians[row], at, row) for row, at in enumerate(times)]
        started: Sequence[int] = np.flatnonzero(tests.started).tolist()
        self.places = [places[row] for row in started]
        self.quantiles = [found[row] for row in started]

    def correct(self, forecasts: Floats, features: Floats, at: float) -> WaitQuantiles:
        """Corrected quantiles of the time to a start.

        Parameters
        ----------
        forecasts, features
            As of :func:`~holdfast.experiments.forecast.correction.correct_forecast`.
        at
            Time of the forecast [s].
        """
        corrected = correct_forecast(self._evidence, forecasts, features)
        pooled = pool(corrected, at_steps(forecasts[_SIMULATION]), simulation_weight(self._terms, at))
        return self._calibrate(pooled, forecasts[:, _MIDDLE], at, len(self._pooled))

    def _calibrate(self, pooled: Floats, medians: Floats, at: float, count: int) -> WaitQuantiles:
        """Pooled quantiles, with intervals and the median by the first tests, this number of them."""
        known = self._tests.until(at, count)
        bounds = rank_bounds(self._pooled[count - len(known.times) : count], known.waits, known.started)
        calibrated = calibrate_intervals(pooled, *bounds)
        joined = join_medians(calibrated, medians, self._errors.before(count), at)
        return WaitQuantiles(STEPS, from_scale(joined).tolist())
