"""Columns are held to the laws that rows are held to: the first fault is the same, whatever is wrong."""

from __future__ import annotations

from dataclasses import replace
from random import Random
from typing import Any

import pytest

from holdfast.workloads.hybrid.assignment import assign
from holdfast.workloads.logs.dependencies import follow_dependencies
from holdfast.workloads.table.job import Job, JobType
from holdfast.workloads.table.jobs import Jobs
from holdfast.workloads.table.validation import first_fault
from tests.golden.tables import lively_trace
from tests.support.seeds import in_parts

#: What a field of a job may hold and must not always.
VALUES: dict[str, tuple[Any, ...]] = {
    "job_id": (1, 7, -5),
    "type": tuple(JobType),
    "nodes": (0, -1, 1, 4360, 5000, 10**10),
    "min_nodes": (None, 0, 1, 10**7),
    "killed": (True, False),
    "preceding": (None, 1, 4),
    **dict.fromkeys(("application", "plan", "memory_profile"), ("", "optimal", "60:1")),
}
TIMES = (None, 0.0, -5.0, 4e-7, 1.0, 60.0, 1e5, 2e12, -2e12)


def changed_table(seed: int) -> tuple[list[Job], int]:
    """A job table with a cell, or a few, that may break a law; and the nodes of the machine."""
    rng = Random(seed)
    trace = lively_trace(30, seed)
    jobs = list(assign(trace, seed=seed, overheads=rng.choice(("inside", "added"))))
    if rng.random() < 0.3:
        jobs = list(follow_dependencies(trace, jobs)[0])
    if rng.random() < 0.5:
        jobs = [replace(job, cancelled_at=None, eligible=None) for job in jobs]
    for _ in range(rng.choice((0, 1, 1, 2))):
        place, name = rng.randrange(len(jobs)), rng.choice(list(Job.__dataclass_fields__))
        if name in ("user", "project", "partition", "qos"):
            continue
        value = rng.choice(VALUES.get(name, TIMES))
        if value is None and name in ("runtime", "walltime", "setup", "checkpoint_cost", "restart_cost"):
            continue
        jobs[place] = replace(jobs[place], **{name: value})
    return jobs, rng.choice((4360, 900, 10**9))


def columns_of(jobs: list[Job]) -> Jobs:
    rows = Jobs(jobs)
    return Jobs((), rows.columns, rows.names)


@pytest.mark.parametrize("seeds", in_parts(range(300), 120))
def test_the_first_fault_of_columns_is_that_of_rows(seeds: range) -> None:
    faults = 0
    for seed in seeds:
        jobs, nodes = changed_table(seed)
        expected = first_fault(jobs, nodes)
        assert first_fault(columns_of(jobs), nodes) == expected, seed
        faults += expected is not None
    assert len(seeds) // 5 < faults < 0.93 * len(seeds)


@pytest.mark.parametrize("seed", range(20))
def test_columns_give_the_rows_that_they_were_made_of(seed: int) -> None:
    jobs, _ = changed_table(seed)
    table = columns_of(jobs)
    assert list(table) == jobs
    assert [table[place] for place in (0, 7, -1)] == [jobs[place] for place in (0, 7, -1)]
    assert table[3:20:2] == jobs[3:20:2]
    kept = table.column("nodes") <= 64
    assert list(table.select(kept)) == [job for job in jobs if job.nodes <= 64]
    for name in ("submit", "cancelled_at", "preceding", "user", "partition", "killed"):
        assert table.has(name) == any(getattr(job, name) not in (None, "", False) for job in jobs)
    assert table.lively == any(
        getattr(job, name) is not None
        for job in jobs
        for name in ("cancelled_at", "preceding", "think_time", "running_since", "eligible")
    )
