"""Schedules with preempted jobs, read as logs: each run by itself, checked by the samples of the simulation."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from holdfast.experiments import cli
from holdfast.experiments.forecast.machine_state import state_at
from holdfast.experiments.forecast.sources import read_log, result_trace
from holdfast.simulator import Result, simulate
from holdfast.workloads.ground.errors import InputError
from holdfast.workloads.ground.job_ids import job_id_text, task_id
from holdfast.workloads.table.job import Job, JobType
from holdfast.workloads.table.job_table import write_job_table
from tests.experiments.forecast.test_forecasts import NODES, random_jobs


def simulate_preemptions(seed: int, *, events: bool = True) -> Result:
    """Rigid jobs, which on-demand jobs preempt."""
    rng = np.random.default_rng(seed)
    urgent = [
        Job(101 + number, JobType.ON_DEMAND, float(rng.integers(0, 8000)), int(rng.choice([4, 8, 12])), 600.0, 900.0)
        for number in range(6)
    ]
    jobs = [*random_jobs(seed, 40, exact=False), *urgent]
    return simulate(jobs, NODES, mechanism="N-PAA", events=events)


@pytest.mark.parametrize("seed", [4, 5])
def test_as_many_nodes_are_busy_and_jobs_wait_as_in_the_simulation(seed: int) -> None:
    result = simulate_preemptions(seed)
    jobs = result_trace(result).jobs
    starts, ends, nodes = jobs.starts, jobs.starts + jobs.column("runtime"), jobs.column("nodes")
    assert len(np.unique(jobs.column("job_id"))) == len(jobs) > len(result.table)
    for time, busy, _, waiting, _ in result.samples:
        now = (time + result.origin) / 1e6 + 1e-6
        assert nodes[(starts <= now) & (ends > now)].sum() == busy
        assert np.sum((jobs.queued <= now) & (starts > now)) == waiting


def test_a_state_shows_the_run_of_that_time() -> None:
    result = simulate_preemptions(4)
    trace = result_trace(result)
    again = next(job for job in trace.jobs if job_id_text(job.job_id).endswith("_2") and job.wait)
    first = next(job for job in trace.jobs if task_id(job.job_id, 2) == again.job_id)
    assert first.start is not None
    assert again.eligible == pytest.approx(first.start + first.runtime)
    waits = state_at(trace, again.eligible + 1e-6, NODES)
    assert [job.start for job in waits.jobs if job.job_id == again.job_id] == [None]
    assert first.job_id not in {job.job_id for job in waits.jobs}
    # It keeps its place: those submitted later wait behind it.
    assert waits.waiting_job(again.job_id).submit == first.submit


def test_a_directory_is_read_as_the_result_was(tmp_path: Path) -> None:
    result = simulate_preemptions(4)
    write_job_table(result.table, tmp_path / "jobs.csv")
    words = ["run", str(tmp_path / "jobs.csv"), "--nodes", str(NODES), "--mechanism", "N-PAA", "--events"]
    assert cli.main([*words, "-o", str(tmp_path / "out")]) == 0
    assert list(read_log(tmp_path / "out").jobs) == list(result_trace(result).jobs)


def test_without_an_event_log_the_runs_are_not_known() -> None:
    with pytest.raises(InputError, match="no event log"):
        result_trace(simulate_preemptions(4, events=False))
