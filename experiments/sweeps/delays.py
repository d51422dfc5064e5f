"""Counts of delayed on-demand jobs: those that do not start instantly, and those for which other jobs leave no room.

Source: hybrid-workload-scheduling, section V-A, observation 9.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from holdfast.simulator.results.records import ABSENT, Records
from holdfast.workloads.ground.units import to_ticks
from holdfast.workloads.table.job import ON_DEMAND

__all__ = ["DELAYS", "count_delays"]

#: Names of the two counts.
DELAYS = ("delayed_on_demand", "crowded_on_demand")
_OF_RUNS = ("start", "end", "nodes")

Ints = npt.NDArray[np.int64]


def count_delays(records: Records, nodes: int, instant_tolerance: float, warning: float) -> dict[str, int]:
    """Count the on-demand jobs that start late, and those of them that had no room beside the other on-demand jobs.

    A job has no room if its request, together with the nodes of on-demand jobs that run or gather nodes at its arrival,
    exceeds the machine. On-demand jobs that wait in the queue hold no nodes and do not count.

    Parameters
    ----------
    records
        Records of all jobs; times in ticks.
    nodes
        Nodes of the machine.
    instant_tolerance
        Longest wait of an instant start [s].
    warning
        Time between the warning of a malleable job and its preemption [s]. A job gathers nodes for at most this time,
        so a job that starts later has waited in the queue.

    Returns
    -------
    dict
        ``delayed_on_demand``, and ``crowded_on_demand``, the part of them without room.
    """
    tolerance, gathering = to_ticks(instant_tolerance), to_ticks(warning)
    chosen = records.are(ON_DEMAND) & records.came & records.started & (records.columns["end"] != ABSENT)
    rows = np.flatnonzero(chosen)
    if not len(rows):
        return dict.fromkeys(DELAYS, 0)
    rows = rows[np.lexsort((records.columns["job_id"][rows], records.queued[rows]))]
    begin, start, end, sizes = (column[rows] for column in (records.queued, *map(records.column, _OF_RUNS)))
    gathers = start - begin <= gathering
    late = np.flatnonzero(start - begin > tolerance)
    at = begin[late]
    # Jobs that hold nodes, without those that ended: a completion at the instant of an arrival comes first. Sorted sums
    # take 1 ms for 4,000 jobs; comparing all pairs took 10 ms.
    held = _sum_until(np.where(gathers, begin, start), sizes, at) - _sum_until(end, sizes, at)
    # Among jobs of the same instant, only those with smaller ids arrived before.
    gathered = np.concatenate(([0], np.cumsum(np.where(gathers & (end > begin), sizes, 0))))
    held -= gathered[np.searchsorted(begin, at, side="right")] - gathered[late]
    crowded = int(np.count_nonzero(sizes[late] + held > nodes))
    return dict(zip(DELAYS, (len(late), crowded), strict=True))


def _sum_until(times: Ints, sizes: Ints, at: Ints) -> Ints:
    """Sum of the sizes with a time at or before each of ``at``."""
    order = np.argsort(times)
    sums: Ints = np.concatenate(([0], np.cumsum(sizes[order])))
    return sums[np.searchsorted(times[order], at, side="right")]
