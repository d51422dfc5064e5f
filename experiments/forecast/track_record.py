"""The quality of forecasts, as measured by back-tests: coverage, errors, and the limits of probabilities.

Source: docs/guides/forecast-quality.md.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from holdfast.experiments.forecast.baselines import PastWaits
from holdfast.experiments.forecast.correction import Evidence
from holdfast.experiments.forecast.corrector import Corrector
from holdfast.experiments.forecast.experts import EXPERTS, LEVELS, SIMULATION, ask_experts, waited_time
from holdfast.experiments.forecast.machine_state import MachineState
from holdfast.experiments.forecast.seen_job import SeenJob
from holdfast.experiments.forecast.wait_quantiles import WaitQuantiles, to_scale

__all__ = ["FEWEST", "BackTest", "Quality", "TrackRecord", "correct_past", "limit_probability"]

Floats = npt.NDArray[np.float64]

#: Fewest back-tests that say something about the quality.
FEWEST = 10
#: Even without back-tests no probability is beyond this number of trials.
_MOST = 998
#: Place of the median among the levels of the experts.
_MIDDLE = LEVELS.index(0.5)
#: Place of the simulation among the experts.
_SIMULATION = EXPERTS.index(SIMULATION)
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
        Time from then to its start [s]; of a job that has not started how long it has waited since.
    quantiles
        Forecast quantiles of that time at the reported levels [s], by expert.
    nodes
        Requested nodes.
    queue
        Number of other jobs that waited.
    started
        Whether it has started.
    """

    at: float
    waited: float
    wait: float
    quantiles: Mapping[str, tuple[float, ...]]
    nodes: int = 1
    queue: int = 0
    started: bool = True


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
        The back-tests, in the order of time.
    waits
        The waits that were known at the time of the answer; None: forecasts are not corrected.
    """

    def __init__(self, tests: Sequence[BackTest] = (), waits: PastWaits | None = None) -> None:
        self.tests = tuple(tests)
        self._waits = waits
        self._correctors: dict[bool, Corrector] = {}

    def like(self, waiting: bool) -> list[BackTest]:
        """The back-tests of jobs that had waited already, or of those that had not."""
        return [test for test in self.tests if (test.waited > 0) == waiting]

    def corrects(self, waiting: bool) -> bool:
        """Whether there are enough back-tests to correct forecasts of such jobs, and to test the correction."""
        return self._waits is not None and len(self._corrector(waiting).places) >= FEWEST

    def correct(self, state: MachineState, job: SeenJob, simulated: Sequence[float]) -> WaitQuantiles | None:
        """Corrected quantiles of the time to the start of a waiting job; None: they cannot be corrected.

        Parameters
        ----------
        state, job
            The state and one of its waiting jobs.
        simulated
            Quantiles of the simulation [s].
        """
        waited = waited_time(state, job)
        waiting = waited > 0
        if self._waits is None or not self.corrects(waiting):
            return None
        forecasts = ask_experts(self._waits, state, job, simulated)
        scaled = to_scale([forecasts[name] for name in EXPERTS])
        features = _features(job.nodes, len(state.waiting) - 1, waited, scaled)
        return self._corrector(waiting).correct(scaled, features, state.at)

    def quality(self, waiting: bool) -> Quality:
        """The quality of the forecasts of such jobs, of corrected ones if there are enough back-tests for that.

        Each corrected forecast of the past is corrected by those before it alone.
        """
        own = self.like(waiting)
        if self.corrects(waiting):
            corrector = self._corrector(waiting)
            waits = np.array([own[place].wait for place in corrector.places])
            reported = np.array([quantiles.report_quantiles() for quantiles in corrector.quantiles])
            return _measure_quality(waiting, reported, waits)
        own = [test for test in own if test.started]
        if len(own) < FEWEST:
            return Quality(waiting, len(own))
        simulated = np.array([test.quantiles[SIMULATION] for test in own])
        return _measure_quality(waiting, simulated, np.array([test.wait for test in own]))

    def _corrector(self, waiting: bool) -> Corrector:
        if waiting not in self._correctors:
            self._correctors[waiting] = Corrector(_evidence(self.like(waiting)))
        return self._correctors[waiting]


def correct_past(tests: Sequence[BackTest]) -> tuple[list[int], list[WaitQuantiles]]:
    """Correct each back-test by those before it alone, as far as there are enough of them.

    Parameters
    ----------
    tests
        Back-tests of one kind of jobs, submitted or waiting ones, in the order of time.

    Returns
    -------
    tuple
        Places of the corrected back-tests, and their quantiles.
    """
    corrector = Corrector(_evidence(tests))
    return corrector.places, corrector.quantiles


def _evidence(tests: Sequence[BackTest]) -> Evidence:
    """Back-tests as arrays."""
    quantiles = [[test.quantiles[name] for name in EXPERTS] for test in tests]
    forecasts = to_scale(quantiles).reshape(-1, len(EXPERTS), len(LEVELS))
    features = [_features(test.nodes, test.queue, test.waited, row) for test, row in zip(tests, forecasts, strict=True)]
    return Evidence(
        forecasts,
        np.array([test.wait for test in tests]),
        np.array([test.started for test in tests], dtype=bool),
        np.array([test.at for test in tests]),
        np.array(features),
    )


def _features(nodes: int, queue: int, waited: float, forecasts: Floats) -> Floats:
    """Size of a job and length of the queue, in powers of two; its wait until now, simulated quartile and median."""
    sizes = (math.log2(nodes), math.log2(1 + queue))
    return np.array((*sizes, to_scale(waited), *forecasts[_SIMULATION, _MIDDLE - 1 : _MIDDLE + 1]))


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
