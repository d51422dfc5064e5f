"""Back-tests: what they read, what they say, and what is kept of them."""

from __future__ import annotations

import json
import os
import re
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.experiments import cli
from holdfast.experiments.forecast import back_test_cache
from holdfast.experiments.forecast.back_test_cache import find_record
from holdfast.experiments.forecast.back_tests import BackTesting, run_back_tests
from holdfast.experiments.forecast.baselines import PastWaits
from holdfast.experiments.forecast.experts import LEVELS
from holdfast.experiments.forecast.forecasts import forecast
from holdfast.experiments.forecast.history import read_history
from holdfast.experiments.forecast.known_past import past_log
from holdfast.experiments.forecast.log_cursor import Past
from holdfast.experiments.forecast.machine_state import state_at
from holdfast.experiments.forecast.report import quality_sentence, sentence, table
from holdfast.experiments.forecast.track_record import BackTest, TrackRecord, limit_probability
from holdfast.workloads.logs.trace import Trace
from tests.experiments.forecast.test_forecasts import NODES, random_jobs, schedule_trace

HOW = BackTesting(count=12, seed=3)


def other_future(trace: Trace, at: float, seed: int) -> Trace:
    """The log with other jobs, starts, cancellations and ends after a time."""
    rng = np.random.default_rng(seed)
    changed = []
    for job in trace.jobs:
        assert job.wait is not None
        start = job.submit + job.wait
        if job.submit > at:
            if rng.random() < 0.3:
                continue
            job = replace(job, nodes=int(rng.integers(1, NODES + 1)), runtime=5.0, walltime=70.0, user="x")
        elif start > at:
            wait = at - job.submit + float(rng.integers(1, 9999))
            job = replace(job, wait=wait, runtime=job.walltime / 2, node_list="n9")
            if rng.random() < 0.5:
                job = replace(job, cancelled_at=job.submit + wait)
        elif start + job.runtime > at:
            job = replace(job, runtime=at - start + float(rng.integers(1, 9999)), killed=True)
        changed.append(job)
    return replace(trace, jobs=tuple(changed))


def back_tests_at(trace: Trace, at: float) -> list[BackTest]:
    return run_back_tests(Past(past_log(trace, at), NODES), at, HOW)


@pytest.mark.system
@given(st.integers(0, 10**6), st.floats(0.4, 0.9), st.integers(0, 2**32))
@settings(max_examples=10, deadline=None)
def test_nothing_after_the_time_is_read(seed: int, share: float, other: int) -> None:
    trace = schedule_trace(random_jobs(seed, 80, exact=False))
    at = trace.jobs[0].submit + share * (trace.jobs[-1].submit - trace.jobs[0].submit)
    found = back_tests_at(trace, at)
    assert found == back_tests_at(other_future(trace, at, other), at)
    starts = {job.submit + (job.wait or 0.0) for job in trace.jobs}
    for test in found:
        # What happened is a recorded start, known by then, or the job still waited.
        assert test.at + test.wait <= at
        assert any(abs(test.at + test.wait - start) < 1e-6 for start in starts) == test.started
        assert test.started or test.wait == at - test.at


def test_they_are_of_jobs_submitted_then_and_of_jobs_that_waited() -> None:
    trace = schedule_trace(random_jobs(1, 150, exact=False))
    found = back_tests_at(trace, trace.jobs[-1].submit)
    submitted = [test for test in found if test.waited == 0]
    assert len({test.at for test in found}) == 12
    assert 12 <= len(submitted) < len(found)
    assert {job.submit for job in trace.jobs} >= {test.at for test in submitted}


def track_record(waits: list[float], waited: float = 0.0) -> TrackRecord:
    quantiles = {"simulation": (10.0, 20.0, 30.0, 40.0, 50.0)}
    return TrackRecord([BackTest(0.0, waited, wait, quantiles) for wait in waits])


def test_the_quality_is_that_of_the_tests() -> None:
    # Within a second of an end is inside.
    waits = [9.0, 10.0, 19.5, 25.0, 30.0, 39.0, 41.0, 51.0, 51.5, 700.0]
    quality = track_record(waits).quality(waiting=False)
    assert (quality.inside_50, quality.inside_90, quality.median_error) == (0.5, 0.8, 15.5)
    assert quality_sentence(quality) == (
        "In the last 10 forecasts of jobs just submitted here the 90 % interval held 80 %, median error 16 s."
    )
    # What a job that still waits will do is not known.
    waits_still = replace(track_record(waits).tests[0], wait=5.0, started=False)
    assert TrackRecord([*track_record(waits).tests, waits_still]).quality(waiting=False) == quality
    unknown = track_record(waits[1:], waited=5.0)
    assert unknown.quality(waiting=True).inside_90 is None
    assert "of waiting jobs here is unknown: 9 past ones were tested" in quality_sentence(unknown.quality(True))


def test_no_probability_is_0_or_1() -> None:
    assert limit_probability(1.0, 4, 0) == pytest.approx(5 / 6)
    assert limit_probability(0.0, 200, 9) == pytest.approx(1 / 202)
    assert limit_probability(0.0, 200, 40) == pytest.approx(1 / 42)
    assert limit_probability(1.0, 100_000, 0) == pytest.approx(0.999)
    assert limit_probability(0.5, 100, 40) == pytest.approx(0.5)


@pytest.mark.system
def test_they_are_kept_and_damaged_files_are_made_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    trace = schedule_trace(random_jobs(2, 120, exact=False))
    at = trace.jobs[-1].submit
    first = find_record(trace, at, NODES, HOW)
    assert (first.age, len(first.record.tests) > 12) == (None, True)
    (path,) = tmp_path.rglob("*.json")

    def again() -> tuple[bool, bool]:
        found = find_record(trace, at, NODES, HOW)
        return found.age is not None, found.record.tests == first.record.tests

    assert again() == (True, True)
    whole = path.read_text()
    for damage in (whole[:-9], whole.replace('"waited": 0.0', '"waited": 1.0', 1), "[]", "[" * 100_000, "\0"):
        path.write_text(damage)
        assert again() == (False, True)
        assert again() == (True, True)
    # Another option, or another past, is another file.
    find_record(trace, at, NODES, replace(HOW, seed=4))
    find_record(replace(trace, jobs=trace.jobs[1:]), at, NODES, HOW)
    assert len(list(tmp_path.rglob("*.json"))) == 3
    monkeypatch.setattr(back_test_cache, "run_back_tests", lambda *_: pytest.fail("was made again"))
    assert again() == (True, True)
    assert find_record(trace, at, NODES, replace(HOW, count=0)).record.tests == ()


def test_corrected_quantiles_are_reported_and_the_simulation_beside() -> None:
    trace = schedule_trace(random_jobs(3, 300, exact=False))
    at = trace.jobs[-1].submit
    known = Past(past_log(trace, at), NODES)
    record = TrackRecord(run_back_tests(known, at, replace(HOW, count=80)), PastWaits(known))
    state, history = state_at(trace, at, NODES), read_history(trace, at)
    plain, found = (forecast(state, history, draws=9, record=used) for used in (None, record))
    for row, simulated in zip(found.rows(), plain.rows(), strict=True):
        assert (row["corrected"], simulated["corrected"]) == (True, False)
        names = [f"p{100 * level:02.0f}" for level in LEVELS]
        assert [row[f"simulated_{name}"] for name in names] == [simulated[f"start_{name}"] for name in names]
        starts = [row[f"start_{name}"] for name in names]
        assert starts == sorted(starts)
        assert starts != [row[f"simulated_{name}"] for name in names]
        for hours in (1, 4, 24):
            share, time = row[f"start_within_{hours}h"], 3600.0 * hours
            assert 0 < share < 1
            assert share > 0.5 if row["start_p50"] < time else share <= 0.5 or row["start_p50"] == time
    text = sentence(found, found.ids[-1])
    assert "corrected by past forecasts; the simulation alone says" in text
    assert "simulated" in table(found)
    assert "simulated" not in table(plain)


def test_every_answer_reports_them(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "cache"))
    trace = schedule_trace(random_jobs(4, 150, exact=False))
    jobs = [
        f"{job.job_id} {job.submit:.0f} {job.wait:.0f} {job.runtime:.0f} {job.nodes} -1 -1 {job.nodes} "
        f"{job.walltime:.0f} -1 1 7 3 -1 -1 -1 -1 -1"
        for job in trace.jobs
    ]
    log = tmp_path / "a.swf"
    log.write_text(f"; MaxNodes: {NODES}\n" + "\n".join(jobs) + "\n")
    at = f"{trace.jobs[-1].submit - trace.jobs[0].submit:.0f}"
    words = ["forecast", str(log), "--at", at, "--draws", "5", "--workers", "1"]
    words += ["--backtests", "25", "--nodes", "16", "--walltime", "1h", "--json", str(tmp_path / "f.json")]
    assert cli.main(words) == 0
    first = capsys.readouterr()
    lines = first.out.splitlines()
    (count,) = {int(found) for found in re.findall(r"In the last (\d+) forecasts", first.out)}
    assert 10 <= count <= 25
    quality_sentence = f"In the last {count} forecasts of jobs just submitted here the 90 % interval held"
    assert sum(quality_sentence in line for line in lines) == 2
    document = json.loads((tmp_path / "f.json").read_text())
    (quality,) = document["quality"]
    assert (quality["jobs"], quality["backtests"], quality["known"]) == ("submitted", count, True)
    (stored,) = (tmp_path / "cache").rglob("*.json")
    os.utime(stored, (time.time() - 7200, time.time() - 7200))
    assert cli.main(words) == 0
    second = capsys.readouterr()
    assert second.out == first.out
    assert "the back-tests of this past were made 2.0 h ago and stored" in second.err
    assert "were made" not in first.err
    assert cli.main([*words, "--backtests", "0"]) == 0
    assert "The quality of forecasts of jobs just submitted here is unknown" in capsys.readouterr().out
    assert cli.main(["advise", *words[1:]]) == 0
    assert quality_sentence in capsys.readouterr().out
    assert json.loads((tmp_path / "f.json").read_text())["quality"] == [quality]
