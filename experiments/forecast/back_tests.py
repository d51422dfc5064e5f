"""Forecasts of the recent past, compared with what happened: the evidence for the quality of a present forecast.

Source: docs/guides/forecast-quality.md.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from holdfast.experiments.forecast.baselines import PastWaits
from holdfast.experiments.forecast.experts import LEVELS, ask_experts, waited_time
from holdfast.experiments.forecast.forecasts import simulate_starts
from holdfast.experiments.forecast.log_cursor import Past
from holdfast.experiments.forecast.sampled_workloads import Drawing, Future
from holdfast.experiments.forecast.track_record import BackTest
from holdfast.workloads.ground.errors import InputError
from holdfast.workloads.ground.random_streams import stream

__all__ = ["BackTesting", "run_back_tests", "sample_batches"]

#: Moments are those of the last batches of jobs that have started or still wait, this number of them.
_RECENT = 4000
#: Number of batches looked at for each moment: most jobs start at once on an idle machine.
_TRIES = 10
#: Most jobs in all states together, so that a cold answer takes a minute: about 0.5 ms for each, on RICC 75 moments.
_MOST = 100_000
#: Draws of a back-test: the smallest and the largest of 19 hold 90 %.
_DRAWS = 19


@dataclass(frozen=True)
class BackTesting:
    """How forecasts of the past are made, as the present one is.

    Attributes
    ----------
    count
        Number of moments at most.
    seed
        Seed of the moments and of the draws.
    runtimes
        ``history`` or ``walltime``.
    arrivals
        ``weeks`` or ``none``.
    order, backfilling
        Of the machine. Windows and failures of the present are left out.
    """

    count: int = 160
    seed: int = 0
    runtimes: str = "history"
    arrivals: str = "weeks"
    order: str = "fcfs"
    backfilling: str = "easy"


def run_back_tests(
    past: Past, at: float, how: BackTesting, places: npt.NDArray[np.int64] | None = None
) -> list[BackTest]:
    """Forecast starts of the recent past.

    At each moment a job is submitted that does not find an idle queue and enough free nodes. Its start is forecast,
    and that of one other waiting job, drawn at random.

    Parameters
    ----------
    past
        The log as known at the time (:func:`holdfast.experiments.forecast.known_past.past_log`).
    at
        The time [s]; only jobs that had started by then, or still waited, are forecast.
    how
        Number of moments, options of the forecasts.
    places
        Indices of the jobs at whose submissions forecasts are made; None: a job of each of the last 4,000 batches that
        had started or waited.

    Returns
    -------
    list of BackTest
        In the order of time, of at most ``2 * count`` jobs. With long queues they are fewer, unless places are given:
        the states of the moments have about 100,000 jobs at most.
    """
    started = past.starts <= at
    known = np.flatnonzero(started | ((past.queued <= at) & np.isnan(past.starts) & (past.withdrawn > at)))
    if places is None:
        recent = sample_batches(past, known, how.seed)[-_RECENT:]
    else:
        recent = known[np.isin(known, places)]
        recent = recent[np.argsort(past.queued[recent], kind="stable")]
    order = stream(how.seed, "back-tests").permutation(len(recent))[: _TRIES * how.count]
    waits = PastWaits(past)
    starts = np.where(started, past.starts, np.inf)
    outcomes = dict(zip(past.job_ids(known), starts[known].tolist(), strict=True))
    found: list[BackTest] = []
    moments = jobs = 0
    for place in recent[order].tolist():
        if moments >= how.count or (places is None and jobs >= _MOST):
            break
        moment = _test_moment(past, waits, place, outcomes, at, how)
        moments += bool(moment.tests)
        jobs += moment.jobs
        found += moment.tests
    return sorted(found, key=lambda test: (test.at, test.waited, test.wait))


def sample_batches(past: Past, places: npt.NDArray[np.int64], seed: int) -> npt.NDArray[np.int64]:
    """A random job of each batch, in the order in which they entered the queue.

    Jobs of a batch wait alike: more than one would test the same forecast again.

    Parameters
    ----------
    past
        The log.
    places
        Indices of jobs.
    seed
        Seed of the choice.

    Returns
    -------
    numpy.ndarray
        Indices, shape (batches,).
    """
    shuffled = stream(seed, "batches").permutation(places)
    chosen = shuffled[np.unique(past.batches[shuffled], return_index=True)[1]]
    ordered: npt.NDArray[np.int64] = chosen[np.lexsort((chosen, past.queued[chosen]))]
    return ordered


class _Moment(NamedTuple):
    """Forecasts of a moment, and the number of jobs in its state."""

    tests: list[BackTest]
    jobs: int


#: The job could start at once, or nothing was known.
_NOTHING = _Moment([], 0)


def _test_moment(
    past: Past, waits: PastWaits, place: int, starts: Mapping[int, float], until: float, how: BackTesting
) -> _Moment:
    """Forecasts at the submission of a job.

    Starts are infinite where they were not known.
    """
    at, own = float(past.queued[place]), past.job(place)
    try:
        state = past.state(at, place)
        history = past.history(at) if how.runtimes == "history" else None
    except InputError:
        return _NOTHING  # no completed run
    if own in state.left_out:
        return _NOTHING
    others = [job for job in state.waiting if job.job_id != own.job_id]
    if not others and own.nodes <= state.nodes - sum(job.nodes for job in state.running):
        return _NOTHING
    rng = stream(how.seed, "back-test", place)
    seed = int(rng.integers(1 << 62))
    known = [job for job in others if job.job_id in starts]
    asked = [own, *([known[int(rng.integers(len(known)))]] if known else [])]
    future = Future("none" if history is None else how.arrivals)
    drawing = Drawing(state, history, future, 1 if history is None else _DRAWS, seed)
    options = {"order": how.order, "backfilling": how.backfilling}
    ids = [job.job_id for job in asked]
    drawn = [simulate_starts(drawing, draw, ids, options) for draw in range(drawing.draws)]
    tests = []
    for job in asked:
        simulated = np.array([one[job.job_id] for one in drawn]) - at
        quantiles = np.quantile(simulated, LEVELS, method="inverted_cdf")
        by_expert = ask_experts(waits, state, job, quantiles.tolist())
        wait, queue = min(starts[job.job_id], until) - at, len(state.waiting) - 1
        has_started = starts[job.job_id] <= until
        tests.append(BackTest(at, waited_time(state, job), wait, by_expert, job.nodes, queue, has_started))
    return _Moment(tests, len(state.jobs))
