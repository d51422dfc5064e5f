"""Forecasts: equal to the simulation where nothing is unknown, blind for what comes later, and well calibrated."""

from __future__ import annotations

import json
import math
import os
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.experiments import cli
from holdfast.experiments.forecast import forecasts, sampled_workloads
from holdfast.experiments.forecast.completed_runs import PastRun
from holdfast.experiments.forecast.forecasts import Forecast, forecast
from holdfast.experiments.forecast.history import History, read_history
from holdfast.experiments.forecast.machine_state import MachineState, state_at
from holdfast.experiments.forecast.report import document, sentence, table
from holdfast.experiments.forecast.sampled_workloads import Drawing, Future
from holdfast.experiments.forecast.seen_job import SeenJob
from holdfast.experiments.forecast.sources import result_trace
from holdfast.policies.backfilling import BACKFILLING
from holdfast.policies.order import ORDERS
from holdfast.simulator import simulate
from holdfast.simulator.options import Options
from holdfast.workloads.ground.errors import InputError
from holdfast.workloads.ground.random_streams import stream
from holdfast.workloads.logs.trace import Trace, TraceJob
from holdfast.workloads.outages.failures import FailureRate
from holdfast.workloads.outages.outage import Outage, OutageKind
from holdfast.workloads.table.job import Job, JobType
from tests.shared_data import shared_file

NODES = 16


def random_jobs(seed: int, count: int = 60, *, exact: bool = True, gap: float = 400.0) -> list[Job]:
    rng = np.random.default_rng(seed)
    jobs, submit = [], 0.0
    for number in range(1, count + 1):
        submit += float(rng.integers(1, gap))
        walltime = float(rng.integers(200, 6000))
        runtime = walltime if exact else max(1.0, round(walltime * rng.beta(1.0, 2.0)))
        nodes = int(rng.choice([1, 2, 3, 4, 8, 16]))
        jobs.append(Job(number, JobType.RIGID, submit, nodes, runtime, walltime, user=f"u{number % 3}"))
    return jobs


def schedule_trace(jobs: list[Job], **options: object) -> Trace:
    return result_trace(simulate(jobs, NODES, events=False, **options))


@pytest.mark.parametrize("backfilling", list(BACKFILLING))
@pytest.mark.parametrize("order", [*ORDERS, "multifactor age=1000 fairshare=2000 size=500"])
def test_with_exact_walltimes_and_no_jobs_to_come_it_is_what_the_simulator_does(order: str, backfilling: str) -> None:
    jobs = random_jobs(3)
    # Everything has been submitted by then, and much of it waits.
    at = jobs[-1].submit or 0.0
    trace = schedule_trace(jobs, order=order, backfilling=backfilling)
    state = state_at(trace, at, NODES)
    assert len(state.waiting) > 10
    found = forecast(state, None, draws=1, order=order, backfilling=backfilling)
    starts = {job.job_id: job.submit + (job.wait or 0.0) for job in trace.jobs}
    assert dict(zip(found.ids, found.starts[0].tolist(), strict=True)) == {
        job_id: pytest.approx(starts[job_id], abs=1e-5) for job_id in found.ids
    }


@given(st.integers(0, 10**6), st.floats(0.2, 0.9), st.integers(0, 2**32), st.sampled_from((1500.0, 7 * 86_400.0)))
@settings(max_examples=10, deadline=None)
def test_nothing_after_the_time_is_read(seed: int, share: float, other: int, week: float) -> None:
    trace = schedule_trace(random_jobs(seed, exact=False))
    at = trace.jobs[0].submit + share * (trace.jobs[-1].submit - trace.jobs[0].submit)
    rng = np.random.default_rng(other)
    changed = []
    for job in trace.jobs:
        assert job.wait is not None
        start = job.submit + job.wait
        if job.submit > at:
            if rng.random() < 0.3 and job is not trace.jobs[-1]:
                continue
            job = replace(job, nodes=int(rng.integers(1, NODES + 1)), runtime=5.0, walltime=70.0, user="x")
        elif start > at:
            job = replace(job, wait=at - job.submit + float(rng.integers(1, 9999)), runtime=job.walltime / 2)
        elif start + job.runtime > at:
            job = replace(job, runtime=at - start + float(rng.integers(1, 9999)))
        changed.append(job)
    # The last submit stays: it says how long the log is.
    other_future = replace(trace, jobs=tuple(changed))

    def answer(log: Trace) -> object:
        state = state_at(log, at, NODES)
        if not state.waiting:
            return state
        try:
            history = read_history(log, at, least=3)
        except InputError:
            return state
        return document(forecast(state, history, draws=4, seed=1))

    # Short logs have short weeks before them, too, so that jobs come.
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sampled_workloads, "_WEEK", week)
        assert answer(trace) == answer(other_future)


@pytest.mark.system
def test_the_number_of_workers_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    trace = schedule_trace(random_jobs(5, exact=False))
    at = trace.jobs[-1].submit
    state, history = state_at(trace, at, NODES), read_history(trace, at)
    monkeypatch.setattr(sampled_workloads, "_WORTH_A_WORKER", 1)
    one, three = (forecast(state, history, draws=7, seed=2, workers=workers) for workers in (1, 3))
    assert one.starts.tobytes() == three.starts.tobytes()
    assert one.ends.tobytes() == three.ends.tobytes()


def test_few_draws_are_left_to_few_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    trace = schedule_trace(random_jobs(5))
    at = trace.jobs[-1].submit
    drawing = Drawing(state_at(trace, at, NODES), read_history(trace, at), Future(), 7, 0)
    easy, slow = Options(), Options.of(backfilling="conservative")
    assert drawing.divide_draws(3, easy) == [range(7)]
    assert drawing.divide_draws(3, slow) == [range(2), range(2, 4), range(4, 7)]
    monkeypatch.setattr(sampled_workloads, "_WORTH_A_WORKER", 2 * len(drawing.state.jobs))
    assert [len(part) for part in drawing.divide_draws(9, easy)] == [2, 2, 3]
    assert len(drawing.divide_draws(9, easy, simulations=5)) == 7


# The state.


def test_the_state_is_what_was_seen_then() -> None:
    jobs = (
        TraceJob(1, 0.0, 4, 100.0, 200.0, wait=0.0),  # ended
        TraceJob(2, 0.0, 4, 500.0, 900.0, wait=50.0, user="ann"),
        TraceJob(3, 10.0, 8, 100.0, 100.0, wait=400.0),
        TraceJob(4, 350.0, 2, 100.0, 100.0, wait=0.0),  # not yet submitted
    )
    window = Outage(OutageKind.MAINTENANCE, 1000.0, 2000.0, announced=250.0)
    late = replace(window, announced=301.0)
    broken = Outage(OutageKind.FAILURE, 100.0, 400.0)
    state = state_at(Trace(jobs, NODES), 300.0, NODES, [window, late, broken])
    assert state.running == (SeenJob(2, 0.0, 4, 900.0, "ann", "", 50.0),)
    assert state.waiting == (SeenJob(3, 10.0, 8, 100.0),)
    assert state.outages == (window,)
    added, job_id = state.with_job(3, 60.0)
    assert added.waiting[-1] == SeenJob(job_id, 300.0, 3, 60.0)


def test_one_sentence_each() -> None:
    trace = schedule_trace(random_jobs(1))
    at = trace.jobs[-1].submit
    state = state_at(trace, at, NODES)
    waits, runs = state.waiting[0].job_id, state.running[0].job_id
    with pytest.raises(InputError, match=f"job {runs} must be a waiting one, and runs already"):
        forecast(state, None, jobs=[runs], draws=1)
    with pytest.raises(InputError, match="is neither waiting nor running"):
        forecast(state, None, jobs=[waits, 9999], draws=1)
    with pytest.raises(InputError, match="the time must lie within the log"):
        state_at(trace, at + 1.0, NODES)
    with pytest.raises(InputError, match="records no waits"):
        state_at(Trace((TraceJob(1, 0.0, 1, 5.0, 5.0),)), 0.0, NODES)
    with pytest.raises(InputError, match="no run had ended by then"):
        read_history(trace, trace.jobs[0].submit)
    with pytest.raises(InputError, match="the 2 running jobs use 12 nodes, but the machine has only 10 nodes"):
        MachineState(9.0, 10, tuple(SeenJob(number, 0.0, 6, 60.0, start=1.0) for number in (1, 2)))
    with pytest.raises(InputError, match="job 1 requests 6 nodes, but the machine has only 5 nodes"):
        MachineState(9.0, 5, (SeenJob(1, 0.0, 6, 60.0),))
    with pytest.raises(InputError, match="no job waits"):
        forecast(replace(state, jobs=state.running), None, draws=1)
    with pytest.raises(InputError, match="must be unique"):
        replace(state, jobs=(*state.jobs, state.jobs[0]))


# Runtimes.


def test_groups_count_as_far_as_they_are_trusted_the_finest_first() -> None:
    runs = [PastRun(2, 100.0, 0.2, "ann", "p")] * 3 + [PastRun(2, 300.0, 0.4, "ann", "p")] * 3
    runs += [PastRun(2, 100.0, 0.6, "bob", "p")] * 3 + [PastRun(9, 100.0, 0.8)] * 3
    levels = (np.arange(20_000) + 0.5) / 20_000

    def share(least: int = 3, **fields: object) -> float:
        job = replace(SeenJob(1, 0.0, 2, 100.0), **fields)  # type: ignore[arg-type]
        return float(History(runs, least=least).runtimes(job, levels).mean()) / job.walltime

    def mix_means(*groups: tuple[int, float]) -> float:
        """Means of groups of so many runs, each trusted in n of n + 5 draws, and then all 12 runs of mean 0.5."""
        mean, rest = 0.0, 1.0
        for count, group in groups:
            mean += rest * count / (count + 5) * group
            rest *= 5 / (count + 5)
        return mean + rest * 0.5

    close = partial(pytest.approx, abs=1e-3)
    assert share(user="ann", project="p") == close(mix_means((3, 0.2), (6, 0.3), (9, 0.4)))
    assert share(user="ann", walltime=200.0) == close(mix_means((6, 0.3)))
    assert share(user="eve", project="p") == close(mix_means((9, 0.4)))
    assert share() == close(0.5)
    # Three runs are not enough: those of the user count.
    assert share(4, user="ann") == close(mix_means((6, 0.3)))
    assert share(13, user="ann") == close(0.5)


def test_a_running_job_is_compared_with_longer_runs_only() -> None:
    shares = np.linspace(0.01, 1.0, 100)
    history = History([PastRun(1, 1000.0, share, "ann") for share in shares])
    job = SeenJob(1, 0.0, 1, 1000.0, "ann", start=0.0)
    levels = (np.arange(2000) + 0.5) / 2000
    drawn = history.runtimes(job, levels, elapsed=600.0)
    expected = 1000 * shares[shares > 0.6 + 1e-9]
    assert drawn.min() == pytest.approx(expected.min())
    assert drawn.mean() == pytest.approx(expected.mean(), rel=1e-3)
    # Nobody ran so long: it runs into its walltime; beyond it a minute is left.
    short = History([PastRun(1, 1000.0, 0.1, "ann")])
    assert short.runtimes(job, [0.5], elapsed=600.0).tolist() == [1000.0]
    assert short.runtimes(job, [0.5], elapsed=1200.0).tolist() == [1260.0]


def test_a_job_keeps_its_numbers_when_another_is_asked_for() -> None:
    trace = schedule_trace(random_jobs(2, exact=False))
    at = trace.jobs[-1].submit
    state, history = state_at(trace, at, NODES), read_history(trace, at)
    alone = Drawing(state, history, Future("none"), 5, 1).runtimes
    beside = Drawing(state.with_job(1, 60.0)[0], history, Future("none"), 5, 1).runtimes
    assert np.array_equal(alone, beside[:, :-1])


def test_jobs_to_come_are_those_of_the_same_hours_of_a_week_before() -> None:
    week = 7 * 86_400.0
    # One job a day at noon, for three weeks; its size is its day.
    jobs = tuple(TraceJob(day, 86_400.0 * day + 43_200.0, day % 7 + 1, 60.0, 600.0, wait=0.0) for day in range(21))
    trace = Trace((*jobs, TraceJob(99, 3 * week + 10.0, 1, 60.0, 600.0, wait=50.0)), NODES)
    at = 3 * week + 10.0
    drawing = Drawing(state_at(trace, at, NODES), read_history(trace, at), Future("weeks", 2 * week), 3, 0)
    for draw in range(3):
        coming = [
            job for job in drawing.table(draw) if (job.submit or 0.0) > at and (job.submit or 0.0) % 86_400 == 43_200
        ]
        assert [job.submit for job in coming] == pytest.approx([3 * week + 86_400 * day + 43_200 for day in range(14)])
        assert [job.nodes for job in coming] == [day % 7 + 1 for day in range(14)]
        assert all(job.runtime == pytest.approx(60.0) for job in coming)


def test_jobs_that_come_after_the_last_start_need_not_be_made(monkeypatch: pytest.MonkeyPatch) -> None:
    week = 7 * 86_400.0
    past = [TraceJob(n, 2000.0 * n, n % 7 + 1, 200.0 + n, 1000.0 + n, wait=0.0) for n in range(320)]
    at = past[-1].submit + 9.0
    assert at > week
    queue = [TraceJob(1000 + n, at, 9 + n % 3, 900.0, 9000.0, wait=9e4) for n in range(8)]
    trace = Trace((*past, *queue), NODES)
    drawing = Drawing(state_at(trace, at, NODES), read_history(trace, at), Future(), 2, 0)
    whole = drawing.table(1)
    least = [job for job in whole if (job.submit or 0.0) <= at + 3e4]
    assert drawing.table(1, 3e4) == least
    assert len(drawing.state.jobs) < len(least) < len(whole)

    def starts() -> bytes:
        return forecast(drawing.state, read_history(trace, at), draws=3, backfilling="conservative").starts.tobytes()

    lazily = starts()
    monkeypatch.setattr(forecasts, "_REACH", 1e9)
    assert starts() == lazily


def test_sketches_start_every_job_when_full_simulations_do(monkeypatch: pytest.MonkeyPatch) -> None:
    trace = schedule_trace(random_jobs(6, 120, exact=False))
    at = trace.jobs[-1].submit
    state, history = state_at(trace, at, NODES), read_history(trace, at)
    # Jobs to come by the hundred: every past job is submitted again within some hours.
    week = 7 * 86_400.0
    history = History(history.runs, [replace(job, submit=job.submit - week) for job in history.submitted])

    def starts(order: str) -> bytes:
        return forecast(state, history, draws=4, order=order).starts.tobytes()

    fast = {order: starts(order) for order in ("fcfs", "saf", "f1")}
    monkeypatch.setattr(sampled_workloads, "has_fast_starts", lambda options: False)
    assert {order: starts(order) for order in fast} == fast


def test_nodes_that_fail() -> None:
    trace = schedule_trace(random_jobs(4))
    at = trace.jobs[-1].submit
    state = state_at(trace, at, NODES)

    def starts(mtbf: float, seed: int = 0) -> npt.NDArray[np.float64]:
        rate = FailureRate(mtbf, repair=3600.0, seed=7)
        return forecast(state, None, draws=6, seed=seed, failures=rate).starts

    calm, stormy = forecast(state, None, draws=6).starts, starts(2e5)
    # Nodes that fail in thirty thousand years change nothing, and the draws differ in nothing else.
    assert np.array_equal(calm, starts(1e12))
    assert np.array_equal(stormy, starts(2e5))
    assert not np.array_equal(stormy, starts(2e5, seed=1))
    assert len({row.tobytes() for row in stormy}) > 1
    assert stormy.mean() > calm.mean() + 60


# What is told.


def make_forecast(starts: list[list[float]]) -> Forecast:
    """Two waiting jobs, of which the second is asked for; starts in hours from now."""
    state = MachineState(
        1000.0,
        NODES,
        (SeenJob(7, 0.0, 2, 600.0), SeenJob(8, 400.0, 4, 7200.0), SeenJob(9, 0.0, 8, 900.0, start=0.0)),
    )
    hours = 1000.0 + 3600 * np.array(starts)
    return Forecast(state, (8,), hours[:, 1:], hours[:, 1:] + 1800.0, (7, 8), hours)


def test_quantiles_probabilities_and_jobs_ahead() -> None:
    found = make_forecast([[0.5, 1.0], [0.5, 2.0], [9.0, 3.0], [0.5, 30.0]])
    (row,) = found.rows()
    assert row["start_p50"] == 2 * 3600
    assert row["start_p95"] == 30 * 3600
    assert row["end_p05"] == 1.5 * 3600
    # One and three of four draws, by the rule of succession.
    assert [row[f"start_within_{hours}h"] for hours in (1, 4, 24)] == pytest.approx([2 / 6, 4 / 6, 4 / 6])
    assert row["waited"] == 600.0
    assert found.before(8) == [(7, 0.75)]
    assert found.queue([0.0, 0.75 * 3600, 4 * 3600]).tolist() == [[2, 1, 0], [2, 1, 0], [2, 2, 1], [2, 1, 1]]
    text = sentence(found, 8)
    assert text == (
        "Job 8 (4 nodes for 2.0 h) starts in 2.0 h (median), with 90 % probability between 1.0 h and 30.0 h from now. "
        "1 waiting job usually starts before it: 7. The quality of forecasts of waiting jobs here is unknown: "
        "0 past ones were tested, and at least 10 are needed."
    )
    assert "66.7" in table(found)
    assert "starts now" in sentence(make_forecast([[1.0, 0.0]]), 8)
    assert len(repr(found)) < 80


@pytest.mark.slow
def test_intervals_are_calibrated_on_simulated_schedules() -> None:
    """Runtimes are drawn from each user's own distribution, so that the model is right; moments are drawn at random."""
    inside50 = inside90 = total = 0
    for seed in range(40):
        trace = schedule_trace(random_jobs(seed, 400, exact=False, gap=500.0))
        submits = [job.submit for job in trace.jobs]
        for at in stream(seed, "moments").uniform(submits[100], submits[-1], 8):
            state = state_at(trace, float(at), NODES)
            if not state.waiting:
                continue
            found = forecast(state, read_history(trace, float(at)), draws=100, seed=seed, arrivals="none")
            real = {job.job_id: job.submit + (job.wait or 0.0) for job in trace.jobs}
            job_id = found.ids[int(stream(seed, "which", int(at)).integers(len(found.ids)))]
            place = found.ids.index(job_id)
            # Ties are frequent: a start on an interval's end is inside.
            low90, low50, high50, high90 = np.quantile(found.starts[:, place], (0.05, 0.25, 0.75, 0.95))
            inside50 += low50 - 1 <= real[job_id] <= high50 + 1
            inside90 += low90 - 1 <= real[job_id] <= high90 + 1
            total += 1
    assert total > 150
    assert abs(inside90 / total - 0.9) < 3 * math.sqrt(0.09 / total) + 0.02
    assert abs(inside50 / total - 0.5) < 3 * math.sqrt(0.25 / total) + 0.05


def test_a_slurm_site(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The queue tells the jobs of now, the accounting log the past."""
    now = 1_700_000_000
    columns = "JobIDRaw|Submit|Start|End|ElapsedRaw|TimelimitRaw|NNodes|State|User|Account\n"
    rows = [f"{n}|{now - 9000}|{now - 9000}|{now - 8000}|1000|100|2|COMPLETED|ann|bio" for n in range(1, 13)]
    (tmp_path / "sacct.txt").write_text(columns + "\n".join(rows) + "\n")
    head = "JOBID|STATE|SUBMIT_TIME|START_TIME|TIME_LIMIT|NODES|USER|ACCOUNT|REASON\n"
    queue = f"20|RUNNING|{now - 700}|{now - 600}|1:40:00|4|ann|bio|None\n"
    queue += f"21|PENDING|{now}|N/A|50:00|4|ann|bio|Resources\n"
    (tmp_path / "queue.txt").write_text(head + queue)
    os.utime(tmp_path / "queue.txt", (now, now))
    words = ["forecast", str(tmp_path / "sacct.txt"), "--queue", str(tmp_path / "queue.txt"), "--machine", "4"]
    words += ["--draws", "5", "--workers", "1", "--json", str(tmp_path / "f.json")]
    assert cli.main(words) == 0
    (job,) = json.loads((tmp_path / "f.json").read_text())["jobs"]
    # All runs of ann took a sixth of their walltime: 1,000 s of 6,000, of which 600 are over; then 500 of 3,000.
    assert (job["job_id"], job["start_p50"], job["end_p50"]) == (21, 400.0, 900.0)
    assert cli.main([*words[:-2], "--machine", "3"]) == 2
    assert (
        "no job remains; 2 jobs are left out, because the jobs of this time need more than the 3 nodes"
        in capsys.readouterr().err
    )
    assert cli.main(["forecast", str(tmp_path / "sacct.txt")]) == 2
    assert "give the time of the forecast with --at" in capsys.readouterr().err


def test_a_real_slurm_site(capsys: pytest.CaptureFixture[str]) -> None:
    files = [str(shared_file("slurm", name)) for name in ("sacct.json", "squeue.json", "sinfo.json")]
    words = [files[0], "--queue", files[1], "--machine", files[2], "--draws", "3", "--workers", "1"]
    assert cli.main(["forecast", *words]) == 0
    output = capsys.readouterr().out
    assert "Now is 2026-11-22 03:23 UTC (last_sched_evaluation in squeue.json): 2 jobs run on 10 of 16 nodes" in output
    assert [line.split()[0] for line in output.splitlines()[6:9]] == ["37", "38", "40"]
    assert cli.main(["forecast", *words, "--job", "33"]) == 2
    assert "job 33 must be a waiting one, and runs already at" in capsys.readouterr().err
    assert cli.main(["advise", *words, "--nodes", "4", "--walltime", "15m"]) == 0
    assert "Ask for 4 nodes for 00:15:00" in capsys.readouterr().out
