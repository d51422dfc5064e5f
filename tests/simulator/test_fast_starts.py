"""Fast start times are those of the full simulation."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.policies.kernels import compiled_or_plain
from holdfast.simulator import fast_starts
from holdfast.simulator.fast_starts import FastStarts, PresentJob, has_fast_starts
from holdfast.simulator.options import Options
from holdfast.simulator.start_times import first_starts, starts_by_walltime
from holdfast.workloads.ground.errors import InvariantError
from holdfast.workloads.ground.units import to_ticks
from holdfast.workloads.table.job import Job, JobType

NODES, BEGIN = 16, 10_000.0
ORDERS = ("fcfs", "sjf", "ljf", "smallest", "largest", "saf", "laf", "f1", "f4")


def crowd(seed: int, coming: int) -> list[Job]:
    """Running and waiting jobs, and some to come; many events fall into one instant."""
    rng = np.random.default_rng(seed)
    coarse = int(rng.choice([1, 500]))
    jobs, free = [], NODES
    for number in range(1, 20 + coming):
        walltime = float(coarse * rng.integers(1, 6000 // coarse))
        runtime = max(1.0, float(coarse * rng.integers(0, walltime // coarse + 1)))
        nodes = int(rng.choice([1, 2, 3, 5, 8, 13]))
        if number < 8 and nodes <= free:
            free -= nodes
            since = BEGIN - float(rng.integers(0, runtime))
            job = Job(number, JobType.RIGID, since - 50.0, nodes, runtime, walltime, running_since=since)
        elif number < 20:
            job = Job(number, JobType.RIGID, BEGIN - coarse * float(rng.integers(0, 9)), nodes, runtime, walltime)
        else:
            submit = BEGIN + coarse * float(rng.integers(1, 30_000 // coarse))
            job = Job(number, JobType.RIGID, submit, nodes, runtime, walltime)
        jobs.append(job)
    head = [job for job in jobs if (job.submit or 0.0) <= BEGIN]
    return head + sorted((job for job in jobs if (job.submit or 0.0) > BEGIN), key=lambda job: job.submit or 0.0)


def fast_start_times(
    jobs: list[Job], options: Options, awaited: set[int], tried: list[int]
) -> tuple[dict[int, float], list[tuple[float, bool]]]:
    """Fast start times, by job id and in seconds."""
    zero = min(to_ticks(job.submit or 0.0) for job in jobs)

    def present(job: Job) -> PresentJob:
        start = None if job.running_since is None else to_ticks(job.running_since) - zero
        return PresentJob(to_ticks(job.submit or 0.0) - zero, job.nodes, to_ticks(job.walltime), start)

    here = [job for job in jobs if (job.submit or 0.0) <= BEGIN]
    columns = np.array([(*present(job)[:3], to_ticks(job.runtime)) for job in jobs[len(here) :]], dtype=np.int64)
    coming = [piece.T for piece in np.split(columns.reshape(-1, 4), [3, 4])]
    simulation = FastStarts([present(job) for job in here], NODES, to_ticks(BEGIN) - zero, options)
    places = {place for place, job in enumerate(here) if job.job_id in awaited}
    runtimes = np.array([to_ticks(job.runtime) for job in here])
    for _ in range(2):  # the second time as the first
        starts, found = simulation.starts(runtimes, coming, places, tried)
    times = {here[place].job_id: (int(starts[place]) + zero) / 1e6 for place in places}
    return times, [((at + zero) / 1e6, backfilled) for at, backfilled in found]


@given(st.integers(0, 10**6), st.sampled_from(ORDERS), st.sampled_from(("easy", "none")), st.integers(0, 60))
@settings(max_examples=150, deadline=None)
def test_every_job_starts_when_it_does_in_a_full_simulation(
    seed: int, order: str, backfilling: str, coming: int
) -> None:
    jobs = crowd(seed, coming)
    awaited = {job.job_id for job in jobs if job.running_since is None and (job.submit or 0.0) <= BEGIN}
    starts = first_starts(jobs, NODES, BEGIN, awaited, order=order, backfilling=backfilling)
    times, _ = fast_start_times(jobs, Options.of(order=order, backfilling=backfilling), awaited, [])
    assert times == {job_id: starts[job_id] for job_id in awaited}


@given(st.integers(0, 10**6), st.sampled_from(("fcfs", "smallest", "largest")), st.sampled_from(("easy", "none")))
@settings(max_examples=80, deadline=None)
def test_all_walltimes_of_a_job(seed: int, order: str, backfilling: str) -> None:
    jobs = crowd(seed, 40)
    rng = np.random.default_rng(seed + 1)
    asked = Job(1000, JobType.RIGID, BEGIN, int(rng.choice([1, 2, 4, 9, 16])), 1.0, 1.0)
    walltimes = np.unique(rng.integers(50, 9000, 6)).astype(float).tolist()
    expected = starts_by_walltime(jobs, NODES, BEGIN, asked, walltimes, order=order, backfilling=backfilling)
    here = [job for job in jobs if (job.submit or 0.0) <= BEGIN]
    table = [*here, asked, *jobs[len(here) :]]
    options = Options.of(order=order, backfilling=backfilling)
    _, found = fast_start_times(table, options, {1000}, [to_ticks(walltime) for walltime in walltimes])
    assert found == expected


@pytest.mark.slow
def test_compiled_loops_are_the_plain_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    def answers() -> list[object]:
        found: list[object] = []
        for seed in range(60):
            jobs = crowd(seed, seed)
            waiting = {job.job_id for job in jobs if job.running_since is None and (job.submit or 0.0) <= BEGIN}
            tried = [to_ticks(time) for time in (60.0, 900.0, 4000.0)]
            orders = [Options.of(order=order) for order in ("fcfs", "smallest", "f1")]
            found += [fast_start_times(jobs, options, waiting, []) for options in orders]
            found.append(fast_start_times(jobs, Options(), {max(waiting)}, tried))
        return found

    monkeypatch.setattr(compiled_or_plain, "LOAD_FROM", 1 << 62)
    plain = answers()
    monkeypatch.setattr(compiled_or_plain, "LOAD_FROM", 0)
    assert answers() == plain


def test_one_job_to_come_leaves_whole_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Compiled loops take contiguous arrays; NumPy puts one job to come and those of the state together in columns."""

    def check(loop: Callable[..., int], steps: int, **given: Any) -> int:
        arrays = [value for value in given["jobs"] if isinstance(value, np.ndarray)]
        assert all(array.flags.c_contiguous for array in arrays)
        return compiled_or_plain.run(loop, steps, **given)

    monkeypatch.setattr(fast_starts, "run", check)
    piece = np.array([[20], [1], [50], [5]], dtype=np.int64)
    simulation = FastStarts([PresentJob(0, NODES, 50, 0), PresentJob(0, NODES, 50)], NODES, 10, Options())
    starts, _ = simulation.starts(np.array([40, 40]), iter([piece]), {1})
    assert starts[1] == 40


def test_nobody_asks_for_jobs_to_come_where_they_cannot_matter() -> None:
    def never() -> Iterator[npt.NDArray[np.int64]]:
        raise AssertionError
        yield

    simulation = FastStarts([PresentJob(0, 9, 50, 0), PresentJob(0, 9, 50)], NODES, 10, Options.of(backfilling="none"))
    assert simulation.starts(np.array([40, 20]), never(), {1})[0][1] == 40
    with pytest.raises(AssertionError):
        FastStarts([PresentJob(0, 9, 50)], NODES, 10, Options()).starts(np.array([40]), never(), {0})


def test_a_job_that_can_never_start() -> None:
    simulation = FastStarts([PresentJob(0, NODES + 1, 50)], NODES, 10, Options())
    with pytest.raises(InvariantError, match="can never start"):
        simulation.starts(np.array([50]), [], {0})


@pytest.mark.parametrize(
    ("options", "can"),
    [
        ({}, True),
        ({"order": "f2", "backfilling": "none"}, True),
        ({"order": "wfp3"}, False),
        ({"backfilling": "conservative"}, False),
        ({"backfilling": "easy depth=2"}, False),
        ({"passes": "event"}, False),
        ({"backfill_length": "runtime"}, False),
    ],
)
def test_which_options_have_fast_starts(options: dict[str, str], can: bool) -> None:
    assert has_fast_starts(Options.of(**options)) is can
