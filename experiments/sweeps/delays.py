"""Delays of on-demand jobs: how many do not start instantly, and for how many of them the others leave no room.

Source: hybrid-workload-scheduling, section V-A, observation 9.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Sequence

from simulator.results.records import JobRecord
from workloads.ground.units import to_ticks
from workloads.table.job import ON_DEMAND

__all__ = ["DELAYS", "count_delays"]

#: Names of the two counts.
DELAYS = ("delayed_on_demand", "crowded_on_demand")


def count_delays(records: Sequence[JobRecord], nodes: int, instant_tolerance: float) -> dict[str, int]:
    """Count the on-demand jobs that start late, and those of them that could not start in time.

    A job is crowded out if the machine has fewer nodes than it asks for together with the on-demand jobs that have
    arrived before and have not completed: they run, or gather their nodes.

    Parameters
    ----------
    records
        Records of all jobs; times in ticks.
    nodes
        Size of the machine.
    instant_tolerance
        A job that starts so long after its arrival [s] still starts instantly.

    Returns
    -------
    dict
        ``delayed_on_demand`` and ``crowded_on_demand``, a part of them.
    """
    tolerance = to_ticks(instant_tolerance)
    came = sorted(
        (record.queued, record.job_id, record.start, record.end, record.nodes)
        for record in records
        if record.type is ON_DEMAND
        and record.submit is not None
        and record.start is not None
        and record.end is not None
    )
    present: list[tuple[int, int]] = []  # (end, nodes) of the jobs that have arrived and have not completed
    delayed = crowded = 0
    for submit, _, start, end, size in came:
        # A completion at the instant of the arrival comes first.
        while present and present[0][0] <= submit:
            del present[0]
        if start - submit > tolerance:
            delayed += 1
            crowded += size + sum(other for _, other in present) > nodes
        insort(present, (end, size))
    return dict(zip(DELAYS, (delayed, crowded), strict=True))
