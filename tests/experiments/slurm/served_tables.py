"""Random job tables for a Slurm that serves on-demand jobs: minutes, not ticks, and a busy machine."""

from __future__ import annotations

import numpy as np

from holdfast.workloads.table.job import Job, JobType
from tests.strategies.tables import Table

__all__ = ["random_served_table"]


def random_served_table(seed: int) -> Table:
    """A table of 10 to 20 jobs on 6 to 12 nodes within about two hours."""
    random = np.random.default_rng([seed, 7])
    nodes = int(random.integers(6, 13))
    jobs = []
    for job_id in range(1, int(random.integers(10, 21)) + 1):
        kind = (JobType.RIGID, JobType.MALLEABLE, JobType.ON_DEMAND)[random.choice(3, p=[0.4, 0.35, 0.25])]
        submit = 60.0 * int(random.integers(0, 100))
        size = int(random.integers(1, max(2, nodes // 2) + 1))
        runtime = 60.0 * int(random.integers(5, 60 if kind != JobType.ON_DEMAND else 25))
        walltime = runtime + 60.0 * int(random.integers(2, 40))
        if kind == JobType.ON_DEMAND:
            notice = arrival = None
            if random.random() < 0.7:
                notice, arrival = submit, submit + 60.0 * int(random.integers(5, 20))
                # Accurate, early, late, or not at all.
                drawn = random.random()
                submit = arrival if drawn < 0.5 else (notice + arrival) / 2 if drawn < 0.7 else arrival + 900.0
                submit = None if drawn > 0.9 else submit
            times = {"notice": notice, "estimated_arrival": arrival}
            jobs.append(Job(job_id, kind, submit=submit, nodes=size, runtime=runtime, walltime=walltime, **times))
        elif kind == JobType.MALLEABLE:
            least = int(random.integers(1, size + 1))
            setup = 60.0 * int(random.integers(0, 3))
            shape = {"min_nodes": least, "setup": setup}
            jobs.append(Job(job_id, kind, submit=submit, nodes=size, runtime=runtime, walltime=walltime, **shape))
        else:
            often = {"checkpoint_interval": 300.0, "checkpoint_cost": 30.0} if random.random() < 0.6 else {}
            jobs.append(Job(job_id, kind, submit=submit, nodes=size, runtime=runtime, walltime=walltime + 300, **often))
    return Table(jobs, nodes)
