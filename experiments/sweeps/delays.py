"""Counts of delayed on-demand jobs: those that do not start instantly, and those for which other jobs leave no room.

Source: hybrid-workload-scheduling, section V-A, observation 9.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Sequence

from simulator.results.records import JobRecord, Records
from workloads.ground.units import to_ticks
from workloads.table.job import ON_DEMAND

__all__ = ["DELAYS", "count_delays"]

#: Names of the two counts.
DELAYS = ("delayed_on_demand", "crowded_on_demand")


def count_delays(records: Sequence[JobRecord], nodes: int, instant_tolerance: float, warning: float) -> dict[str, int]:
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
    if isinstance(records, Records):
        # Return early without on-demand jobs, because creating a record for each job takes longer than a plain run.
        records = records.part(records.are(ON_DEMAND))
    arrivals = sorted(
        (record.queued, record.job_id, record.start, record.end, record.nodes)
        for record in records
        if record.type is ON_DEMAND
        and record.submit is not None
        and record.start is not None
        and record.end is not None
    )
    #: (end, first instant at which it holds nodes, nodes) of the jobs that have arrived and have not completed
    present: list[tuple[int, int, int]] = []
    delayed = crowded = 0
    for submit, _, start, end, size in arrivals:
        # A completion at the instant of the arrival comes first.
        while present and present[0][0] <= submit:
            del present[0]
        if start - submit > tolerance:
            delayed += 1
            crowded += size + sum(other for _, holds, other in present if holds <= submit) > nodes
        insort(present, (end, submit if start - submit <= gathering else start, size))
    return dict(zip(DELAYS, (delayed, crowded), strict=True))
