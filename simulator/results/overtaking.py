"""Starvation: how long jobs wait on after jobs that entered the queue later have started."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from holdfast.simulator.results.records import Records
from holdfast.workloads.ground.units import SECOND

__all__ = ["STARVED_AFTER", "overtaken_for", "starvation_count"]

#: A job that is overtaken for longer than this has starved [ticks]. Under FCFS with backfilling wide jobs are overtaken
#: for days as a rule: for more than one day, a tenth of Theta's jobs of 2022, and more than under SJF, which starves.
STARVED_AFTER = 7 * 86_400 * SECOND


def overtaken_for(queued: NDArray[np.int64], starts: NDArray[np.int64]) -> NDArray[np.int64]:
    """How long each job waited on after the first start of a job that entered the queue later.

    Parameters
    ----------
    queued, starts
        When the jobs entered the queue, being eligible, and when they first started, shape (n,) [ticks].

    Returns
    -------
    numpy.ndarray
        Shape (n,) [ticks]; 0 for jobs that no later one overtook.

    Notes
    -----
    Jobs that entered the queue at the same time do not overtake each other.

    Examples
    --------
    >>> overtaken_for(np.array([0, 1, 2]), np.array([9, 8, 3])).tolist()
    [6, 5, 0]
    """
    if not len(queued):
        return np.zeros(0, np.int64)
    order = np.argsort(queued, kind="stable")
    # The earliest start from each place of this order on; nothing starts after the last place.
    earliest = np.append(np.minimum.accumulate(starts[order][::-1])[::-1], starts.max())
    overtakers = earliest[np.searchsorted(queued[order], queued, side="right")]
    waited: NDArray[np.int64] = np.maximum(starts - overtakers, 0)
    return waited


def starvation_count(records: Records, threshold: int = STARVED_AFTER) -> int:
    """Number of jobs that were overtaken for longer than a threshold [ticks]; all of them must have started."""
    waits = records.wait
    # No job is overtaken for longer than it waits, as no overtaker starts before it is in the queue. Counting
    # takes 66 us for 500 jobs, this check 7 us.
    if not len(waits) or (waits.min() >= 0 and waits.max() <= threshold):
        return 0
    return int(np.count_nonzero(overtaken_for(records.queued, records.columns["start"]) > threshold))
