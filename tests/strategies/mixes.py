"""Random job tables with stochastic jobs: those of :mod:`tests.strategies`, some rigid jobs of which are stochastic."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from hypothesis import strategies as st

from holdfast.policies.planning.costs import CostModel
from holdfast.policies.planning.plan import ReservationPlan
from holdfast.workloads.table.job import Job, JobType
from tests.reference.stochastic import Batch, Numbers, Stochastic
from tests.strategies.tables import HYBRID, Table, job_tables, random_job_table
from tests.support.jobs import stochastic

__all__ = ["ONLY_RIGID", "Mix", "build_mix", "mixes", "plan_of", "random_mix"]

Pick = Callable[[int, int], int]

#: What becomes rigid and stochastic jobs alone.
ONLY_RIGID = (JobType.RIGID,)

#: As in :mod:`tests.strategies`: round ones, and some that are no whole microseconds.
_UNITS = (60.0, 60.0, 30.0, 20.0, 100 / 3, 12.3456789)


class Mix(NamedTuple):
    """A machine, what arrives at it, and the numbers of the plans."""

    jobs: list[Job]
    nodes: int
    numbers: dict[str, Numbers]

    @property
    def plans(self) -> dict[str, ReservationPlan]:
        """For the simulator."""
        return {name: plan_of(numbers) for name, numbers in self.numbers.items()}

    @property
    def rows(self) -> list[Batch | Stochastic]:
        """For the reference, as the baseline sees the jobs."""
        rows: list[Batch | Stochastic] = []
        for job in self.jobs:
            assert job.submit is not None
            if job.type is JobType.STOCHASTIC:
                assert job.true_runtime is not None
                rows.append(Stochastic(job.job_id, job.submit, job.nodes, job.plan, job.true_runtime))
            else:
                runtime = job.runtime if job.trace_runtime is None else job.trace_runtime
                walltime = job.walltime if job.trace_walltime is None else job.trace_walltime
                rows.append(Batch(job.job_id, job.submit, job.nodes, walltime, runtime))
        return rows


def plan_of(numbers: Numbers, prices: tuple[float, float, float] = (1.0, 0.0, 0.0)) -> ReservationPlan:
    """The plan with these numbers."""
    costs = CostModel(*prices, checkpoint=numbers.checkpoint, restart=numbers.restart)
    return ReservationPlan(
        numbers.milestones,
        numbers.checkpointed,
        costs,
        extension=numbers.extension,
        extension_checkpointed=numbers.goes_on_checkpointed,
    )


def build_mix(pick: Pick, table: Table) -> Mix:
    unit = _UNITS[pick(0, len(_UNITS) - 1)]
    numbers = {f"plan {number}": _numbers(pick, unit) for number in range(pick(1, 3))}
    names = list(numbers)
    jobs = []
    for job in table.jobs:
        if job.type is not JobType.RIGID or pick(0, 2) == 0:
            jobs.append(job)
            continue
        name = names[pick(0, len(names) - 1)]
        # Also where one reservation becomes another.
        runtime = unit * pick(1, 40) / 2 if pick(0, 2) else numbers[name].milestones[0] + pick(-1, 1) * 1e-6
        assert job.submit is not None
        walltime = runtime * pick(1, 4) / 2
        jobs.append(stochastic(job.job_id, job.submit, job.nodes, runtime, name, walltime=walltime))
    return Mix(jobs, table.nodes, numbers)


def _numbers(pick: Pick, unit: float) -> Numbers:
    steps = np.cumsum([pick(1, 8) for _ in range(pick(1, 4))])
    return Numbers(
        [unit * int(step) for step in steps],
        [bool(pick(0, 1)) for _ in steps],
        unit * pick(0, 4) / 2,
        unit * pick(0, 4) / 2,
        (1.5, 1.5, 2.0, 1.25)[pick(0, 3)],
        (None, None, True, False)[pick(0, 3)],
    )


@st.composite
def mixes(draw: st.DrawFn, *, max_jobs: int = 12, max_nodes: int = 30, types: tuple[JobType, ...] = HYBRID) -> Mix:
    """Small random tables, some rigid jobs of which are stochastic; parameters as for :func:`job_tables`."""
    table = draw(job_tables(max_jobs=max_jobs, max_nodes=max_nodes, types=types))
    return build_mix(lambda low, high: draw(st.integers(low, high)), table)


def random_mix(seed: int, *, max_jobs: int = 12, max_nodes: int = 30, types: tuple[JobType, ...] = HYBRID) -> Mix:
    """The same from a seed, for bulk runs."""
    rng = np.random.default_rng([seed, 1])
    table = random_job_table(seed, max_jobs=max_jobs, max_nodes=max_nodes, types=types)
    return build_mix(lambda low, high: int(rng.integers(low, high + 1)), table)
