"""Medians of forecasts, of the experts and of the correction, averaged by how near they were to the starts of the past.

Conformal shifts make each quantile hold, also the median, which need not be nearest to the starts then.
Source: docs/guides/forecast-quality.md.

References
----------
J. M. Bates, C. W. J. Granger, "The combination of forecasts", Operational Research Quarterly 20, 1969.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

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


def join_medians(
    quantiles: Floats, forecasts: Floats, levels: Sequence[float], past: MedianErrors, at: float
) -> Floats:
    """Replace the median of a corrected forecast by a mean of it and those of the experts, on the scale of corrections.

    A median weighs 1 / (m + 60 s)^2, m being its median error, as in the combination of forecasts by their variances.

    Parameters
    ----------
    quantiles
        Corrected quantiles on the scale of corrections, ascending, shape (levels,).
    forecasts
        Quantiles of the experts on this scale, shape (experts, levels).
    levels
        Their levels; 0.5 is one, between two others.
    past
        The back-tests before this forecast; the last 160 count whose starts were known.
    at
        Time of the forecast [s].

    Returns
    -------
    numpy.ndarray
        The quantiles, with the median in the interval between its neighbours, which does not change; with fewer than 10
        known starts the quantiles themselves.
    """
    known = past.errors[-_LAST:][past.starts[-_LAST:] <= at]
    if len(known) < _FEWEST:
        return quantiles
    middle = list(levels).index(0.5)
    medians = np.concatenate((quantiles[middle : middle + 1], forecasts[:, middle]))
    weights = (np.median(known, axis=0) + _LEAST) ** -2.0
    joined = quantiles.copy()
    joined[middle] = np.clip(weights @ medians / weights.sum(), quantiles[middle - 1], quantiles[middle + 1])
    return joined
