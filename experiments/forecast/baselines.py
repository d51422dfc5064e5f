"""Simpler forecasts of a job's wait, based on the waits of jobs that started earlier.

Each uses only data available at the forecast time, and compares a job that has to wait with jobs that had to wait.
"""

from __future__ import annotations

import math
from bisect import insort

import numpy as np
import numpy.typing as npt

from holdfast.experiments.forecast.log_cursor import Past
from holdfast.experiments.forecast.seen_job import SeenJob

__all__ = ["WAITED", "PastWaits"]

Floats = npt.NDArray[np.float64]

#: Waits up to this length count as none [s]: logs record whole minutes, and schedulers run about once a minute.
WAITED = 60.0
_WEEK = 7 * 86_400.0
#: Number of nearest jobs.
_NEAREST = 20
#: Quantile of the waits used for change detection, and the confidence of every bound.
_WATCHED, _CONFIDENCE = 0.95, 0.95
#: Fewest waits for such a bound, and number of consecutive waits above it that indicate a change.
_FEWEST, _CHANGE = 59, 3
#: Largest sizes of the classes of QBETS [nodes].
_SIZES = (4, 16, 64)


class PastWaits:
    """Forecasts from the past waits of a log, at any time of the log.

    Parameters
    ----------
    past
        The log.
    """

    def __init__(self, past: Past) -> None:
        waits = past.starts - past.queued
        waited = np.flatnonzero(waits > WAITED)
        waited = waited[np.argsort(past.starts[waited], kind="stable")]
        self._starts: Floats = past.starts[waited]
        self._waits: Floats = waits[waited]
        nodes, walltimes = past.requests[waited].T
        self._classes = np.frexp(nodes)[1]
        self._features = _features(nodes, walltimes, queues(past)[waited])
        self._kinds = np.searchsorted(_SIZES, nodes)
        self._changes = {
            kind: (places := np.flatnonzero(self._kinds == kind), _changes(self._waits[places]))
            for kind in np.unique(self._kinds).tolist()
        }

    def _started_jobs(self, at: float) -> int:
        """Number of jobs that had started."""
        return int(np.searchsorted(self._starts, at, side="right"))

    def mean_of_week(self, job: SeenJob, at: float) -> float:
        """Mean wait of the jobs of its size class (powers of two) that started in the last week [s].

        Falls back to jobs of all sizes in the last week, then to all earlier jobs.
        """
        count = self._started_jobs(at)
        if not count:
            return 0.0
        first = int(np.searchsorted(self._starts, at - _WEEK, side="right"))
        own = self._classes[first:count] == math.frexp(job.nodes)[1]
        waits = self._waits[first:count]
        chosen = waits[own] if own.any() else waits if waits.size else self._waits[:count]
        return float(chosen.mean())

    def nearest(self, job: SeenJob, at: float, queue: int, levels: Floats, waited: float = 0.0) -> Floats:
        """Quantiles of the remaining waits of the 20 most similar jobs that waited longer than a time [s].

        Similarity is by nodes, walltime and queue length (in powers of two); among equally similar jobs the latest are
        taken. Without such jobs the quantiles are 0.
        """
        longer = np.flatnonzero(self._waits[: self._started_jobs(at)] > waited)
        if not longer.size:
            return np.zeros(len(levels))
        own = _features(np.array([job.nodes]), np.array([job.walltime]), np.array([queue]))
        distances = np.sum((self._features[longer] - own) ** 2, axis=1)
        places = longer[np.lexsort((-longer, distances))[:_NEAREST]]
        found: Floats = np.quantile(self._waits[places] - waited, levels, method="weibull")
        return found

    def bounds(self, job: SeenJob, at: float, levels: Floats, waited: float = 0.0) -> Floats:
        """Bounds of quantiles from the last waits that were longer than a time [s], by the QBETS method.

        For a level above one half, the upper bound with 95 % confidence; below one half, the lower bound; for the
        median, the sample median. The waits are those of the size class since the last change: three waits in a row
        above the upper bound of the 0.95 quantile.

        References
        ----------
        D. Nurmi, J. Brevik, R. Wolski, "QBETS: Queue bounds estimation from time series", JSSPP 2007.
        """
        kind = int(np.searchsorted(_SIZES, job.nodes))
        places, changes = self._changes.get(kind, (np.empty(0, dtype=np.int64), []))
        count = int(np.searchsorted(places, self._started_jobs(at)))
        if not count:
            return np.zeros(len(levels))
        waits = np.sort(self._waits[places[changes[count - 1] : count]]) - waited
        waits = waits[waits > 0]
        if not waits.size:
            return np.zeros(len(levels))
        return np.array([_quantile_limit(waits, float(level)) for level in levels])


def queues(past: Past) -> npt.NDArray[np.int64]:
    """Number of other jobs waiting when each job was submitted, shape (jobs,)."""
    started = np.sort(past.starts[np.isfinite(past.starts)])
    withdrawn = np.sort(past.withdrawn[np.isfinite(past.withdrawn)])
    submits = past.submits
    # A job with neither a start nor a cancellation may have ended long ago.
    known = np.sort(submits[np.isfinite(past.starts) | np.isfinite(past.withdrawn)])
    left = np.searchsorted(started, submits, side="right") + np.searchsorted(withdrawn, submits, side="right")
    own = ~((past.starts <= submits) | (past.withdrawn <= submits))
    waiting: npt.NDArray[np.int64] = np.searchsorted(known, submits, side="right") - left - own
    return np.maximum(waiting, 0)


def _features(nodes: npt.NDArray[np.float64], walltimes: Floats, queue: npt.NDArray[np.int64]) -> Floats:
    return np.column_stack([np.log2(nodes), np.log2(walltimes), np.log2(1.0 + queue)])


def _rank(count: int, level: float) -> int:
    """Rank (from 1) of the order statistic that bounds a quantile from above; above ``count`` if there is none."""
    return int(_binomial_limits(np.array([count]), level)[0]) + 1


def _binomial_limits(counts: npt.NDArray[np.int64], level: float) -> npt.NDArray[np.int64]:
    """Quantiles, at the confidence of the bounds, of the number of successes in some trials, shape of ``counts``.

    As ``scipy.stats.binom.ppf``; its import takes longer than the rest of a forecast.
    """
    from scipy.special import bdtr, bdtrik

    limits = np.ceil(bdtrik(_CONFIDENCE, np.maximum(counts, 1), level))
    below = np.maximum(limits - 1.0, 0.0)
    limits = np.where(bdtr(below, np.maximum(counts, 1), level) >= _CONFIDENCE, below, limits)
    found: npt.NDArray[np.int64] = np.where(counts > 0, limits, 0.0).astype(np.int64)
    return found


def _quantile_limit(waits: Floats, level: float) -> float:
    if level == 0.5:
        return float(np.median(waits))
    count = len(waits)
    place = min(count, _rank(count, max(level, 1.0 - level)))
    return float(waits[place - 1] if level > 0.5 else waits[count - place])


def _changes(waits: Floats) -> list[int]:
    """For each wait, the index of the first wait since the last change."""
    ranks = _binomial_limits(np.arange(len(waits) + 1), _WATCHED).tolist()
    ordered: list[float] = []
    first = above = 0
    found = []
    for place, wait in enumerate(waits.tolist()):
        count = len(ordered)
        if count >= _FEWEST:
            above = above + 1 if wait > ordered[ranks[count]] else 0
        insort(ordered, wait)
        if above >= _CHANGE:
            above, keep = 0, max(first, place + 1 - _FEWEST)
            ordered = sorted(waits[keep : place + 1].tolist())
            first = keep
        found.append(first)
    return found
