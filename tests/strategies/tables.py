"""Random job tables: small, tight and full of ties, so that every rule of docs/model.md is really used.

One builder makes them all; it is handed a function that picks an integer from a range, which is hypothesis' for
:func:`job_tables` (so that failures shrink) and numpy's for :func:`random_job_table` (so that thousands are cheap).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from hypothesis import strategies as st

from holdfast.workloads.table.job import Job, JobType

__all__ = ["HYBRID", "Table", "build_table", "busy_job_table", "crowded_job_table", "job_tables", "random_job_table"]

#: The types that the mechanisms know.
HYBRID = (JobType.RIGID, JobType.ON_DEMAND, JobType.MALLEABLE)

#: Picks an integer from [low, high].
Pick = Callable[[int, int], int]

# The unit of all times of a table [s]. Warnings (120 s) and time-outs (600 s) are multiples of the first ones, so that
# they meet other events; the last ones are no whole microseconds, so that rounding matters.
_UNITS = (60.0, 60.0, 120.0, 30.0, 20.0, 100 / 3, 12.3456789)


class Table(NamedTuple):
    """A machine and what arrives at it."""

    jobs: list[Job]
    nodes: int


def build_table(pick: Pick, max_jobs: int, max_nodes: int, types: tuple[JobType, ...]) -> Table:
    nodes = pick(2, max_nodes)
    count = pick(1, max_jobs)
    return Table(_jobs(pick, count, nodes, types, (1, 40)), nodes)


def _jobs(pick: Pick, count: int, nodes: int, types: tuple[JobType, ...], spreads: tuple[int, int]) -> list[Job]:
    unit = _UNITS[pick(0, len(_UNITS) - 1)]
    spread = pick(*spreads)  # submits within so many units: few make a crowded machine
    longest = pick(2, 40)
    wide = pick(1, 4)  # 1: jobs up to the whole machine; n: most up to an n-th of it
    ids = list(range(1, count + 1))
    if pick(0, 3) == 0:  # ids in another order than the rows, as ties are by row in places and by id in others
        for place in range(count - 1, 0, -1):
            other = pick(0, place)
            ids[place], ids[other] = ids[other], ids[place]
    noticed = pick(0, 3) > 0  # in most tables most on-demand jobs give notice
    if pick(0, 2):  # in most tables on-demand jobs are the exception, so that there is something to preempt
        types = (*types, *(kind for kind in types * pick(1, 3) if kind != JobType.ON_DEMAND))
    return [_job(pick, job_id, nodes, unit, spread, longest, wide, noticed, types) for job_id in ids]


def _job(
    pick: Pick,
    job_id: int,
    machine: int,
    unit: float,
    spread: int,
    longest: int,
    wide: int,
    noticed: bool,
    types: tuple[JobType, ...],
) -> Job:
    kind = types[pick(0, len(types) - 1)]
    submit: float | None = unit * pick(0, spread)
    nodes = pick(1, machine if pick(0, 3) == 0 else max(1, machine // wide))
    steps = pick(1, longest if kind != JobType.ON_DEMAND else max(1, longest // 2))
    runtime = unit * steps
    # A third of the jobs run to their walltime; the more the others fall short of it, the more is planned in vain.
    walltime = unit * (steps if pick(0, 2) == 0 else steps + pick(0, 2 * longest))
    min_nodes: int | None = None
    setup = 0.0
    interval: float | None = None
    cost = 0.0
    notice: float | None = None
    estimated: float | None = None

    if kind == JobType.ON_DEMAND:
        if noticed or pick(0, 1):
            assert submit is not None
            lead = unit * pick(0, longest)
            notice = submit
            estimated = notice + lead
            category = pick(0, 7)
            if category <= 3:  # accurate
                submit = estimated
            elif category == 4:  # early
                submit = notice + unit * pick(0, max(0, round(lead / unit)))
            elif category <= 6:  # late, often later than the time-out
                submit = estimated + unit * pick(0, max(1, round(1500 / unit)))
            else:  # no-show
                submit = None
    else:
        setup = runtime * pick(0, 4) / 16
        if kind == JobType.MALLEABLE:
            min_nodes = -(-nodes // 5) if pick(0, 1) else pick(1, nodes)
        elif pick(0, 3):
            # Short against the run, so that dumps happen; half a unit, so that they also happen between the ticks of
            # the table's grid.
            interval = unit * pick(1, 8) / 2
            cost = unit * pick(0, 2) / 2
    trace_runtime: float | None = None
    trace_walltime: float | None = None
    if pick(0, 5) == 0:
        trace_runtime = unit * pick(1, steps)
        trace_walltime = trace_runtime + unit * pick(0, longest)
    return Job(
        job_id=job_id,
        type=kind,
        submit=submit,
        nodes=nodes,
        runtime=runtime,
        walltime=max(walltime, runtime),
        min_nodes=min_nodes,
        setup=setup,
        checkpoint_interval=interval,
        checkpoint_cost=cost,
        notice=notice,
        estimated_arrival=estimated,
        trace_runtime=trace_runtime,
        trace_walltime=trace_walltime,
    )


@st.composite
def job_tables(
    draw: st.DrawFn, *, max_jobs: int = 14, max_nodes: int = 40, types: tuple[JobType, ...] = HYBRID
) -> Table:
    """Small random tables with ties, dumps, warnings, plans, tenants and time-outs.

    Parameters
    ----------
    max_jobs, max_nodes
        Limits; both are drawn from below.
    types
        What types there are, equally likely.
    """
    return build_table(lambda low, high: draw(st.integers(low, high)), max_jobs, max_nodes, types)


def random_job_table(
    seed: int, *, max_jobs: int = 14, max_nodes: int = 40, types: tuple[JobType, ...] = HYBRID
) -> Table:
    """The same tables from a seed, for bulk runs.

    Parameters
    ----------
    seed
        One table each.
    max_jobs, max_nodes, types
        As for :func:`job_tables`.
    """
    rng = np.random.default_rng(seed)
    return build_table(lambda low, high: int(rng.integers(low, high + 1)), max_jobs, max_nodes, types)


def busy_job_table(seed: int) -> Table:
    """10 to 35 such jobs on up to 16 nodes, from a seed: several on-demand jobs take nodes of the same victims."""
    rng = np.random.default_rng([seed, 77])

    def pick(low: int, high: int) -> int:
        return int(rng.integers(low, high + 1))

    nodes = pick(6, 16)
    return Table(_jobs(pick, pick(10, 35), nodes, HYBRID, (10, 150)), nodes)


def crowded_job_table(seed: int) -> Table:
    """120 such jobs on 64 nodes, from a seed: many reservations, tenants, victims and waiting jobs at a time."""
    rng = np.random.default_rng([seed, 120])

    def pick(low: int, high: int) -> int:
        return int(rng.integers(low, high + 1))

    return Table(_jobs(pick, 120, 64, HYBRID, (40, 600)), 64)
