"""Mean of the medians of the experts and the correction, weighted by their errors in back-tests.

A calibrated median is exceeded half of the time, and need not be nearest to the starts.
Source: docs/guides/forecast-quality.md.

References
----------
J. M. Bates, C. W. J. Granger, "The combination of forecasts", Operational Research Quarterly 20, 1969.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from holdfast.experiments.forecast.wait_quantiles import STEPS

__all__ = ["MedianErrors", "join_medians"]

Floats = npt.NDArray[np.float64]

#: Most back-tests, the last ones, and the fewest by which medians are chosen.
_LAST, _FEWEST = 160, 10
#: Added to median errors [s], so that one of 0 does not outweigh all others.
_LEAST = 60.0


class MedianErrors(NamedTuple):
    """How far medians were from the starts in back-tests, in the order of time.

    Attributes
    ----------
    errors
        Distances [s], first of the corrected forecast and then of the experts, shape (tests, 1 + experts).
    starts
        Starts of the jobs [s], when the errors became known, shape (tests,).
    """

    errors: Floats
    starts: Floats

    def before(self, place: int) -> MedianErrors:
        """The errors of the back-tests before a place."""
        return MedianErrors(*(column[:place] for column in self))


def join_medians(quantiles: Floats, medians: Floats, past: MedianErrors, at: float) -> Floats:
    """Replace the median of a corrected forecast by a mean of it and those of the experts, on the scale of corrections.

    A median weighs 1 / (m + 60 s)^2, m being its median error, as in the combination of forecasts by their variances.

    Parameters
    ----------
    quantiles
        Corrected quantiles on the scale of corrections, ascending, at the levels
        :data:`~holdfast.experiments.forecast.wait_quantiles.STEPS`.
    medians
        Of the experts, on this scale, shape (experts,).
    past
        The back-tests before this forecast; those of the last 160 with known starts count.
    at
        Time of the forecast [s].

    Returns
    -------
    numpy.ndarray
        The quantiles, ascending, with the median inside the 50 % interval, which does not change. Quantiles inside it
        that the median would pass move with it. With fewer than 10 known starts the quantiles themselves.
    """
    known = past.errors[-_LAST:][past.starts[-_LAST:] <= at]
    if len(known) < _FEWEST:
        return quantiles
    low, middle, high = map(STEPS.index, (0.25, 0.5, 0.75))
    weights = (np.median(known, axis=0) + _LEAST) ** -2.0
    mean = weights @ np.append(quantiles[middle], medians) / weights.sum()
    median = np.clip(mean, quantiles[low], quantiles[high])
    joined = np.concatenate((np.minimum(quantiles[:middle], median), np.maximum(quantiles[middle:], median)))
    joined[middle] = median
    return joined
