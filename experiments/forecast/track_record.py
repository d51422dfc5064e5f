"""The quality of forecasts, as measured by back-tests: coverage, errors, and the limits of probabilities.

Source: docs/guides/forecast-quality.md.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["FEWEST", "LEVELS", "SIMULATION", "BackTest", "Quality", "TrackRecord", "limit_probability"]

Floats = npt.NDArray[np.float64]

#: Levels of the reported quantiles.
LEVELS = (0.05, 0.25, 0.5, 0.75, 0.95)
#: The expert that simulates.
SIMULATION = "simulation"
#: Fewest back-tests that say something about the quality.
FEWEST = 10
#: Even without back-tests no probability is beyond this number of trials.
_MOST = 998
#: A start within a second of an end of an interval is inside, because logs count seconds [s].
_SECOND = 1.0


@dataclass(frozen=True)
class BackTest:
    """A past forecast and what happened.

    Attributes
    ----------
    at
        Time of the forecast [s].
    waited
        How long the job had waited by then [s]; 0: it was submitted then.
    wait
        Time from then to its start [s].
    quantiles
        Forecast quantiles of that time at :data:`LEVELS` [s], by expert.
    """

    at: float
    waited: float
    wait: float
    quantiles: Mapping[str, tuple[float, ...]]


@dataclass(frozen=True)
class Quality:
    """How well back-tests went.

    Attributes
    ----------
    waiting
        Whether the jobs had waited already, rather than being submitted at the time of the forecast.
    count
        Number of back-tests.
    inside_50, inside_90
        Share of the starts inside the 50 % and the 90 % interval; None: there are too few back-tests.
    median_error
        Median distance of the start from the forecast median [s]; None: as above.
    """

    waiting: bool
    count: int
    inside_50: float | None = None
    inside_90: float | None = None
    median_error: float | None = None

    def row(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "jobs": "waiting" if self.waiting else "submitted",
            "backtests": self.count,
            "known": self.inside_90 is not None,
            "inside_50": self.inside_50,
            "inside_90": self.inside_90,
            "median_error": self.median_error,
        }


class TrackRecord:
    """Back-tests of forecasts on one machine.

    Parameters
    ----------
    tests
        The back-tests.
    """

    def __init__(self, tests: Sequence[BackTest] = ()) -> None:
        self.tests = tuple(tests)

    def like(self, waiting: bool) -> list[BackTest]:
        """The back-tests of jobs that had waited already, or of those that had not."""
        return [test for test in self.tests if (test.waited > 0) == waiting]

    def quality(self, waiting: bool) -> Quality:
        """The quality of the forecasts of such jobs."""
        own = self.like(waiting)
        if len(own) < FEWEST:
            return Quality(waiting, len(own))
        quantiles = np.array([test.quantiles[SIMULATION] for test in own])
        waits = np.array([test.wait for test in own])
        return _measure_quality(waiting, quantiles, waits)


def _measure_quality(waiting: bool, quantiles: Floats, waits: Floats) -> Quality:
    """Quality of forecasts, quantiles of shape (tests, levels) [s] and actual times of shape (tests,) [s]."""
    p05, p25, p50, p75, p95 = quantiles.T
    inside_50, inside_90 = (
        float(np.mean((low - _SECOND <= waits) & (waits <= high + _SECOND))) for low, high in ((p25, p75), (p05, p95))
    )
    return Quality(waiting, len(waits), inside_50, inside_90, float(np.median(np.abs(waits - p50))))


def limit_probability(share: float, draws: int, tests: int) -> float:
    """A probability that is never 0 or 1, from a share of the draws.

    The share of n trials is replaced by (k + 1) / (n + 2), Laplace's rule of succession. Draws are no evidence beyond
    the number of back-tests: with at least :data:`FEWEST` of them, the result is limited as if they were the trials.

    Parameters
    ----------
    share
        Share of the draws, from 0 to 1.
    draws, tests
        Number of draws, and of back-tests.

    Examples
    --------
    >>> round(limit_probability(1.0, 200, 0), 4), round(limit_probability(1.0, 200, 40), 4)
    (0.995, 0.9762)
    """
    found = (share * draws + 1.0) / (draws + 2.0)
    trials = min(draws, tests if tests >= FEWEST else _MOST)
    return min(max(found, 1.0 / (trials + 2.0)), (trials + 1.0) / (trials + 2.0))
