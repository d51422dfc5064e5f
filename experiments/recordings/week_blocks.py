"""Blocks of weeks or days for resampling: jobs of one block shared a queue, so that their waits depend on each
other.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

__all__ = ["WEEK", "assign_clusters", "block_doubt"]

#: A week [s].
WEEK = 7 * 86_400
#: Lengths of blocks [s], by name.
_LENGTHS = {"week": WEEK, "day": 86_400, "hour": 3_600, "minute": 60}
_ENOUGH = 10


def assign_clusters(submits: npt.NDArray[np.float64], longest: str = "week") -> tuple[str, npt.NDArray[np.int64]]:
    """Choose the length of the blocks and assign each job to a block.

    Parameters
    ----------
    submits
        Submit times [s], shape (jobs,), at least one.
    longest
        The longest admissible block: ``week``, ``day``, ``hour`` or ``minute``.

    Returns
    -------
    tuple
        The longest block of which there are at least ten, otherwise the shortest; and the block of each job, shape
        (jobs,). :func:`holdfast.experiments.statistics.clustered_interval` makes an interval from them.
    """
    names = list(_LENGTHS)
    allowed = names[names.index(longest) :]
    found = {name: np.floor((submits - submits.min()) / _LENGTHS[name]).astype(np.int64) for name in allowed}
    chosen = next((name for name in allowed if len(np.unique(found[name])) >= _ENOUGH), allowed[-1])
    return chosen, found[chosen]


def block_doubt(block: str, wait: float) -> str:
    """Say that intervals may be too narrow where the mean wait [h] exceeds the block; empty: it does not.

    Jobs of neighbouring blocks then share a queue, too.

    >>> block_doubt("minute", 0.3)
    'jobs wait longer than one minute on average, so that these intervals may be too narrow'
    >>> block_doubt("day", 0.3)
    ''
    """
    if 3600 * wait <= _LENGTHS[block]:
        return ""
    return f"jobs wait longer than one {block} on average, so that these intervals may be too narrow"
