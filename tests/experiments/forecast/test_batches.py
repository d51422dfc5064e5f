"""Batches of jobs, and back-tests that look at one job of each."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.experiments.forecast import back_tests
from holdfast.experiments.forecast.back_tests import BackTesting, run_back_tests, sample_batches
from holdfast.experiments.forecast.batches import batch_numbers, kind_numbers
from holdfast.experiments.forecast.known_past import past_log
from holdfast.experiments.forecast.log_cursor import Past
from holdfast.workloads.logs.trace import Trace, TraceJob, TraceJobs
from tests.experiments.forecast.test_forecasts import NODES, random_jobs, schedule_trace


def random_trace_jobs(seed: int, count: int = 40) -> list[TraceJob]:
    rng = np.random.default_rng(seed)
    submits = np.cumsum(rng.choice([0.0, 100.0, 3600.0, 3601.0], count))
    return [
        TraceJob(
            place, submit, int(rng.integers(1, 5)), 60.0, float(rng.choice([60.0, 120.0])), wait=60.0,
            user=str(rng.choice(["a", "b"])), project=str(rng.choice(["", "p"])),
        )
        for place, submit in enumerate(submits.tolist())
    ]  # fmt: skip


@given(st.integers(0, 10**6))
def test_a_batch_goes_on_for_an_hour_after_each_job(seed: int) -> None:
    jobs = random_trace_jobs(seed)
    np.random.default_rng(seed).shuffle(jobs)  # type: ignore[arg-type]
    columns = TraceJobs.of(jobs)
    kinds, batches = kind_numbers(columns).tolist(), batch_numbers(columns).tolist()
    requests = [(job.user, job.project, job.walltime, job.nodes.bit_length()) for job in jobs]
    for place, request in enumerate(requests):
        assert [kind == kinds[place] for kind in kinds] == [other == request for other in requests]
    last: dict[object, tuple[float, int]] = {}
    number = -1
    expected = {}
    for place in sorted(range(len(jobs)), key=lambda place: jobs[place].submit):
        seen = last.get(requests[place])
        number += seen is None or jobs[place].submit - seen[0] > 3600.0
        own = number if seen is None or jobs[place].submit - seen[0] > 3600.0 else seen[1]
        last[requests[place]] = (jobs[place].submit, own)
        expected[place] = own
    pairs = {(batches[place], expected[place]) for place in range(len(jobs))}
    assert len(pairs) == len(set(batches)) == len(set(expected.values()))


def test_one_job_of_each_batch_is_looked_at() -> None:
    # A batch of 60 jobs, then 5 of other users.
    jobs = [TraceJob(place, float(place), 1, 60.0, 60.0, wait=60.0, user="many") for place in range(60)]
    jobs += [TraceJob(place, 100.0 + place, 1, 60.0, 60.0, wait=60.0, user=f"u{place}") for place in range(60, 65)]
    past = Past(Trace(TraceJobs.of(jobs), 4), 4)
    chosen = [sample_batches(past, np.arange(65), seed).tolist() for seed in range(300)]
    assert all(places[1:] == list(range(60, 65)) for places in chosen)
    # Each job of the batch may be chosen.
    counts = Counter(places[0] for places in chosen)
    assert len(counts) > 50
    assert max(counts.values()) < 20
    # Without the first of a batch the others still are one.
    assert len(sample_batches(past, np.arange(30, 60), 0)) == 1


def test_a_burst_is_one_moment() -> None:
    """A burst of 300 jobs of one user, the last jobs of the log, does not hide the days before."""
    days = [TraceJob(place, 7200.0 * place, 4, 7000.0, 9000.0, wait=300.0, user="a") for place in range(50)]
    begin = 7200.0 * 50
    burst = [TraceJob(50 + place, begin + place, 1, 60.0, 90.0, wait=600.0 + place, user="b") for place in range(300)]
    at = begin + 5000.0
    past = Past(past_log(Trace(TraceJobs.of([*days, *burst]), 4), at), 4)
    found = run_back_tests(past, at, BackTesting(count=30))
    submitted = [test for test in found if test.waited == 0]
    assert sum(test.at >= begin for test in submitted) <= 1
    assert len(submitted) >= 5


def test_long_queues_have_fewer_moments(monkeypatch: pytest.MonkeyPatch) -> None:
    trace = schedule_trace(random_jobs(1, 150, exact=False))
    at = trace.jobs[-1].submit
    past = Past(past_log(trace, at), NODES)
    how = BackTesting(count=12)
    all_of_them = run_back_tests(past, at, how)
    monkeypatch.setattr(back_tests, "_MOST", 20)
    some = run_back_tests(past, at, how)
    assert all(test in all_of_them for test in some)
    # The last moment may pass the limit.
    places = [int(np.flatnonzero(past.queued == moment)[0]) for moment in {test.at for test in some}]
    jobs = [len(past.state(float(past.queued[place]), place).jobs) for place in places]
    assert 20 <= sum(jobs) < 20 + max(jobs)
    assert len(some) < len(all_of_them)
