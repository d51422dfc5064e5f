"""Random tables with on-demand jobs that a lab served while the controller was killed, stored by ``served_lab``."""

from __future__ import annotations

import csv
from collections import Counter
from pathlib import Path

import pytest

from holdfast.workloads.table.job import JobType
from tests.experiments.slurm.served_tables import random_served_table

FIXTURES = Path(__file__).parents[2] / "fixtures" / "slurm-served"
SEEDS = range(9401, 9410)


def rows_of(seed: int) -> list[dict[str, str]]:
    with (FIXTURES / f"{seed}.csv").open() as file:
        return list(csv.DictReader(file))


@pytest.mark.parametrize("seed", SEEDS)
def test_every_job_of_a_table_starts_resumes_and_completes(seed: int) -> None:
    there = [row for row in rows_of(seed) if row["slurm_s"]]
    times: dict[tuple[int, str], list[float]] = {}
    for row in there:
        times.setdefault((int(row["job_id"]), row["event"]), []).append(float(row["slurm_s"]))
    jobs = random_served_table(seed).jobs
    # Times count from the first event of the table.
    first = min(at for job in jobs for at in (job.submit, job.notice) if at is not None)
    for job in jobs:
        starts, preempted = (sorted(times.get((job.job_id, event), [])) for event in ("start", "preempt"))
        if job.submit is None:  # announced, and never submitted
            assert not starts
            continue
        # One start, and one more after each preemption.
        assert len(starts) == 1 + len(preempted)
        assert all(before < after for before, after in zip(preempted, starts[1:], strict=True))
        (end,) = times[job.job_id, "complete"]
        assert end > starts[-1] and starts[0] >= job.submit - first
        assert job.type != JobType.ON_DEMAND or not preempted


def test_events_are_counted_as_in_the_guide() -> None:
    found = Counter(row["comparison"] for seed in SEEDS for row in rows_of(seed))
    assert found == {"equal": 286, "late": 37, "different": 72}
