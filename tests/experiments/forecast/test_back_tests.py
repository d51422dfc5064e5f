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
from holdfast.experiments.forecast import back_test_cache, correction
from holdfast.experiments.forecast.back_test_cache import find_record
from holdfast.experiments.forecast.back_tests import BackTesting, run_back_tests
from holdfast.experiments.forecast.baselines import PastWaits
from holdfast.experiments.forecast.correction import Evidence, correct_forecast, replay, weigh_experts
from holdfast.experiments.forecast.experts import LEVELS
from holdfast.experiments.forecast.forecasts import forecast
from holdfast.experiments.forecast.history import read_history
from holdfast.experiments.forecast.known_past import known_at
from holdfast.experiments.forecast.log_cursor import Past
from holdfast.experiments.forecast.machine_state import state_at
from holdfast.experiments.forecast.report import quality_sentence, sentence, table
from holdfast.experiments.forecast.track_record import BackTest, TrackRecord, limit_probability
from holdfast.experiments.forecast.wait_quantiles import STEPS, WaitQuantiles, from_scale, to_scale
from holdfast.workloads.logs.trace import Trace
from tests.experiments.forecast.test_forecasts import NODES, random_jobs, scheduled

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
    return run_back_tests(Past(known_at(trace, at), NODES), at, HOW)


@pytest.mark.system
@given(st.integers(0, 10**6), st.floats(0.4, 0.9), st.integers(0, 2**32))
@settings(max_examples=10, deadline=None)
def test_nothing_after_the_time_is_read(seed: int, share: float, other: int) -> None:
    trace = scheduled(random_jobs(seed, 80, exact=False))
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
    trace = scheduled(random_jobs(1, 150, exact=False))
    found = back_tests_at(trace, trace.jobs[-1].submit)
    submitted = [test for test in found if test.waited == 0]
    assert len({test.at for test in found}) == 12
    assert 12 <= len(submitted) < len(found)
    assert {job.submit for job in trace.jobs} >= {test.at for test in submitted}


def made(waits: list[float], waited: float = 0.0) -> TrackRecord:
    told = {"simulation": (10.0, 20.0, 30.0, 40.0, 50.0)}
    return TrackRecord([BackTest(0.0, waited, wait, told) for wait in waits])


def test_the_quality_is_that_of_the_tests() -> None:
    # Within a second of an end is inside.
    waits = [9.0, 10.0, 19.5, 25.0, 30.0, 39.0, 41.0, 51.0, 51.5, 700.0]
    quality = made(waits).quality(waiting=False)
    assert (quality.inside_50, quality.inside_90, quality.median_error) == (0.5, 0.8, 15.5)
    assert quality_sentence(quality) == (
        "In the last 10 forecasts of jobs just submitted here the 90 % interval held 80 %, median error 16 s."
    )
    # What a job that still waits will do is not known.
    waits_still = replace(made(waits).tests[0], wait=5.0, started=False)
    assert TrackRecord([*made(waits).tests, waits_still]).quality(waiting=False) == quality
    unknown = made(waits[1:], waited=5.0)
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
    trace = scheduled(random_jobs(2, 120, exact=False))
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


def drifting(count: int, seed: int) -> Evidence:
    """Back-tests of three experts: one twenty times too low, one right, one useless."""
    rng = np.random.default_rng(seed)
    centre, noise = rng.normal(8.0, 1.0, count), rng.normal(0.0, 0.5, count)
    normal = np.array([-1.645, -0.674, 0.0, 0.674, 1.645])
    right = centre[:, None] + 0.5 * normal
    useless = np.full((count, 5), 8.0) + 3.0 * normal
    told = np.stack([right - 3.0, right, useless], axis=1)
    waits = from_scale(centre + noise)
    return Evidence(told, waits, np.ones(count, bool), 1e6 * np.arange(count), np.zeros((count, 2)))


def held(quantiles: np.ndarray, truth: np.ndarray, percent: int = 90) -> float:
    """Share of the starts inside the central interval."""
    low, high = (STEPS.index(level) for level in ((0.05, 0.95) if percent == 90 else (0.25, 0.75)))
    return float(np.mean((quantiles[:, low] <= truth) & (truth <= quantiles[:, high])))


def test_a_correction_finds_the_good_experts_and_the_shift() -> None:
    evidence = drifting(600, 1)
    low, right, useless = weigh_experts(evidence)
    assert low + right + useless == pytest.approx(1.0)
    # A shift mends the expert that is too low.
    assert low == pytest.approx(right, rel=1e-6)
    assert useless < right / 5
    places, quantiles = replay(evidence)
    assert places == list(range(20, 600))
    truth = to_scale(evidence.waits)[places]
    assert abs(held(quantiles, truth) - 0.9) < 0.06
    assert abs(held(quantiles, truth, 50) - 0.5) < 0.06
    assert np.all(np.diff(quantiles, axis=1) >= 0)
    # Only the last 160 back-tests count.
    last = Evidence(*(column[-160:] for column in evidence))
    same = (correct_forecast(known, evidence.forecasts[0], np.zeros(2)) for known in (evidence, last))
    assert np.array_equal(*same)


def test_starts_at_once_are_as_frequent_as_in_like_back_tests() -> None:
    """Four of ten jobs start at once, and no expert says so; in long queues one of ten."""
    rng = np.random.default_rng(5)
    is_long = rng.random(900) < 0.5
    at_once = rng.random(900) < np.where(is_long, 0.1, 0.4)
    actual = np.where(at_once, to_scale(rng.integers(0, 2, 900) * 60.0), 8.0 + rng.normal(0.0, 0.5, 900))
    features = np.column_stack((np.zeros(900), np.where(is_long, 7.0, 1.0)))
    told = np.full((900, 3, 5), 8.0)
    evidence = Evidence(told, from_scale(actual), np.ones(900, bool), 1e6 * np.arange(900), features)
    places, quantiles = replay(evidence)
    shares = np.array([WaitQuantiles(STEPS, from_scale(row).tolist()).share(61.0) for row in quantiles])
    # The queues are two deviations apart; tests at the distance 1.5 count exp(-1/2), and all 0.01 more.
    other = (np.exp(-0.5 * (2.0 / 1.5) ** 2) + 0.01) / 1.01
    for chosen, own, rest in ((is_long[places], 0.1, 0.4), (~is_long[places], 0.4, 0.1)):
        # Between two of the twenty steps it is that of the lower one.
        assert shares[chosen].mean() == pytest.approx((own + other * rest) / (1 + other) - 0.025, abs=0.03)
    # Whoever waits does so for more than a minute, even if another job waited far less than was expected.
    early = correct_forecast(evidence, np.full((3, 5), 5.0), features[0])
    assert np.all((early <= to_scale(60.0) + 1e-6) | (early > to_scale(60.0)))
    assert early[-1] > to_scale(60.0)


def test_a_correction_uses_only_starts_that_were_known() -> None:
    evidence = drifting(60, 2)
    _, before = replay(evidence)
    changed = evidence.waits.copy()
    changed[40:] *= 9.0
    _, after = replay(evidence._replace(waits=changed))
    # The 41st test is corrected by those before it; the next one knows its start.
    assert np.array_equal(before[:21], after[:21])
    assert not np.array_equal(before[21], after[21])
    places, _ = replay(evidence._replace(times=np.arange(60.0)))
    assert places == []


@given(st.integers(0, 10**6))
def test_quantiles_are_those_of_the_kaplan_meier_estimate(seed: int) -> None:
    rng = np.random.default_rng(seed)
    values = rng.integers(0, 9, 12).astype(float)
    started, weights = rng.random(12) < 0.7, rng.integers(1, 4, 12).astype(float)
    started[0] = True
    levels = np.array([0.2, 0.5, 0.8])
    found = correction._quantiles(values, started, weights, levels)
    # Each time of a start by itself: the share left falls by the weight that starts there over that at risk.
    count, left, curve = weights.sum() ** 2 / (weights**2).sum(), 1.0, []
    for value in sorted(set(values[started].tolist())):
        left *= 1 - weights[started & (values == value)].sum() / weights[values >= value].sum()
        curve.append((1 - left, value))
    for level, quantile in zip(levels.tolist(), found.tolist(), strict=True):
        at = level * (count + 1) / count
        reached = [time for share, time in curve if share >= at - 1e-9]
        passed = [time for share, time in curve if share < at]
        # Between two steps it is interpolated.
        least, most = passed[-1] if passed else curve[0][1], reached[0] if reached else curve[-1][1]
        assert least - 1e-9 <= quantile <= most + 1e-9


def test_jobs_that_still_wait_count() -> None:
    """Waits of many days, tested every hour: of the last tests only the short waits have ended."""
    rng = np.random.default_rng(7)
    truth = rng.lognormal(12.0, 0.7, 400)
    told = np.full((400, 3, 5), 12.0)
    evidence = Evidence(told, truth, np.ones(400, bool), 3600.0 * np.arange(400), np.zeros((400, 2)))
    places, quantiles = replay(evidence)
    late = np.array(places) >= 200
    actual = to_scale(truth)[places]
    assert 0.84 <= held(quantiles[late], actual[late]) <= 0.96
    known = evidence.until(3600.0 * 400, 400)
    assert not known.started.all()
    ended = Evidence(*(column[known.started] for column in known))
    full, short = (correct_forecast(one, told[0], np.zeros(2)) for one in (known, ended))
    exact = np.quantile(np.log(truth + 60.0), STEPS)
    assert abs(full - exact).max() < 0.35
    assert short[-1] < full[-1]


def test_intervals_hold_for_each_length_of_the_queue() -> None:
    """Half of the forecasts are of short queues and exact, half of long ones and wide."""
    rng = np.random.default_rng(3)
    is_long = rng.random(900) < 0.5
    actual = 8.0 + rng.normal(0.0, np.where(is_long, 1.5, 0.2))
    features = np.column_stack((np.zeros(900), np.where(is_long, 7.0, 1.0)))
    told = np.full((900, 3, 5), 8.0)
    evidence = Evidence(told, from_scale(actual), np.ones(900, bool), 1e6 * np.arange(900), features)

    def coverage(of: Evidence) -> list[float]:
        places, quantiles = replay(of)
        return [held(quantiles[chosen], actual[places][chosen]) for chosen in (~is_long[places], is_long[places])]

    short, long = coverage(evidence)
    assert short >= 0.87  # it is wider than needed, since long queues count a little
    assert 0.85 <= long <= 0.95
    widths = [np.diff(correct_forecast(evidence, told[0], np.array((0.0, queue)))[[0, -1]]) for queue in (1.0, 7.0)]
    assert widths[0] < widths[1] / 1.3
    assert min(coverage(evidence._replace(features=np.zeros((900, 2))))) < 0.84


def test_corrected_quantiles_are_reported_and_the_simulation_beside() -> None:
    trace = scheduled(random_jobs(3, 300, exact=False))
    at = trace.jobs[-1].submit
    known = Past(known_at(trace, at), NODES)
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
    trace = scheduled(random_jobs(4, 150, exact=False))
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
    told = first.out.splitlines()
    (count,) = {int(found) for found in re.findall(r"In the last (\d+) forecasts", first.out)}
    assert 10 <= count <= 25
    quality_said = f"In the last {count} forecasts of jobs just submitted here the 90 % interval held"
    assert sum(quality_said in line for line in told) == 2
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
    assert quality_said in capsys.readouterr().out
    assert json.loads((tmp_path / "f.json").read_text())["quality"] == [quality]
