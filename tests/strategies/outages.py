"""Random outages for random job tables: on the same grid of times, so that they meet everything else."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from hypothesis import strategies as st

from holdfast.workloads.outages.outage import Outage, OutageKind, first_outage_fault
from holdfast.workloads.table.job import Job

__all__ = ["build_outages", "outages_for", "random_outages"]

Pick = Callable[[int, int], int]


def build_outages(pick: Pick, jobs: Sequence[Job], nodes: int, kinds: Sequence[OutageKind]) -> list[Outage]:
    times = sorted({time for job in jobs for time in (job.submit, job.notice, job.estimated_arrival) if time})
    # Beside the grid of the table also the ends of jobs that run undisturbed, as long as they are.
    times += [job.submit + job.runtime for job in jobs if job.submit is not None]
    times += [0.0, times[-1] * 2 if times else 600.0]
    units = (60.0, 120.0, 30.0, 600.0, 100 / 3)
    outages: list[Outage] = []
    for _ in range(pick(1, 6)):
        kind = kinds[pick(0, len(kinds) - 1)]
        unit = units[pick(0, len(units) - 1)]
        start = times[pick(0, len(times) - 1)] + unit * (pick(-2, 2) if pick(0, 1) else 0)
        end = start + unit * pick(1, 30)
        size = nodes if pick(0, 2) == 0 else pick(1, nodes)
        name = f"no. {len(outages) + 1}" if pick(0, 1) else ""
        if kind is OutageKind.FAILURE:
            size = 1 if pick(0, 2) else size
            outage = Outage(kind, start, end, size, place=pick(0, 999) / 1000, name=name)
        else:
            announced = start - unit * pick(0, 20) if pick(0, 1) else None
            running = ("preempt", "preempt", "wait")[pick(0, 2)]
            booked = kind is OutageKind.RESERVATION
            ids = tuple(job.job_id for job in jobs if pick(0, 2) == 0) or (jobs[0].job_id,) if booked else ()
            outage = Outage(kind, start, end, size, announced, running, name=name, jobs=ids)
        if first_outage_fault([*outages, outage], nodes) is None:
            outages.append(outage)
    return outages


@st.composite
def outages_for(
    draw: st.DrawFn, jobs: Sequence[Job], nodes: int, kinds: Sequence[OutageKind] = tuple(OutageKind)
) -> list[Outage]:
    """A few outages, at times at which something else happens, too.

    Parameters
    ----------
    jobs, nodes
        What arrives, and at which machine.
    kinds
        What outages there are, equally likely.
    """
    return build_outages(lambda low, high: draw(st.integers(low, high)), jobs, nodes, kinds)


def random_outages(
    seed: int, jobs: Sequence[Job], nodes: int, kinds: Sequence[OutageKind] = tuple(OutageKind)
) -> list[Outage]:
    """The same from a seed, for bulk runs."""
    rng = np.random.default_rng([seed, 2])
    return build_outages(lambda low, high: int(rng.integers(low, high + 1)), jobs, nodes, kinds)
