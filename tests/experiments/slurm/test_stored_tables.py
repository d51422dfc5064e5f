"""Random tables with on-demand jobs that a lab served while the controller was killed, stored by ``served_lab``."""

from __future__ import annotations

import csv
import re
from collections import Counter
from pathlib import Path

import pytest

from holdfast.workloads.table.job import JobType
from tests.experiments.slurm.served_tables import random_served_table

FIXTURES = Path(__file__).parents[2] / "fixtures" / "slurm-served"
SEEDS = range(9401, 9423)


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


def test_the_guide_counts_tables_and_events() -> None:
    page = (Path(__file__).parents[3] / "docs" / "guides" / "slurm-mechanisms.md").read_text()
    (count,) = re.findall(r"(\d+) random tables", page)
    assert int(count) == len(SEEDS) == len(list(FIXTURES.glob("*.csv")))
    found = Counter(row["comparison"] for seed in SEEDS for row in rows_of(seed))
    events = r"of (\d+) events (\d+) are equal, (\d+) late and (\d+) different"
    assert [tuple(map(int, numbers)) for numbers in re.findall(events, page)] == [
        (found.total(), found["equal"], found["late"], found["different"])
    ]
