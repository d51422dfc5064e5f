"""Forecasts against what happened: the measurement at a tiny size, and verdicts on made rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from holdfast.experiments.beyond.departures import count_departures, in_hindsight
from holdfast.experiments.beyond.forecast_quality import EXPERIMENTS, Forecasts
from holdfast.experiments.beyond.schedules import EASY, SIMULATED, Schedule, by_walltime, draw_moments, read_past
from holdfast.experiments.beyond.scores import LEVELS, METHODS, rank, score, within
from holdfast.experiments.forecast.log_cursor import Past
from holdfast.experiments.study.experiment import Resources, Row, read_tables, run_experiment
from holdfast.experiments.study.verdicts import Outcome
from holdfast.simulator import simulate
from holdfast.workloads.ground.errors import ParameterError
from holdfast.workloads.hybrid.assignment import as_rigid
from holdfast.workloads.logs.swf import write_swf
from holdfast.workloads.logs.trace import Trace, TraceJob
from holdfast.workloads.theta.generator import generate
from holdfast.workloads.theta.year import ThetaYear

(EXPERIMENT,) = EXPERIMENTS
SMALL = Forecasts(moments=6, draws=3, years=2, jobs=400)
YEAR = Schedule("generated", SIMULATED, "", 400, 0)


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> Any:
    return EXPERIMENT.measure(SMALL, 0, Resources(tmp_path_factory.mktemp("forecasts"), workers=1))


def test_rows_are_what_happened_to_jobs_that_had_to_wait(tables: Any) -> None:
    rows = tables[""]
    assert len(rows) == 6 * len(METHODS)
    traces = [generate(ThetaYear(jobs=400), seed) for seed in (0, 1)]
    schedules = [simulate(as_rigid(trace), trace.nodes or 0, events=False, **EASY) for trace in traces]
    years = [int(row["week"] >= 10_000) for row in rows]
    assert years == [0] * 3 * len(METHODS) + [1] * 3 * len(METHODS)
    for year, row in zip(years, rows, strict=True):
        waits = schedules[year].jobs.wait.to_numpy()
        assert row["job"] >= 40
        assert row["wait_s"] == pytest.approx(waits[row["job"]], abs=1e-5)
        assert row["wait_s"] > 0
        assert row["error_s"] == pytest.approx(abs(row["wait_s"] - row["told_s"]))
        assert (row["inside_90"] is None) == (row["method"] in ("walltimes", "week"))
        assert ("rank" in row) == (row["method"] == "forecast")
    for year, counted in enumerate(tables["moments"]):
        assert (counted["year"], counted["waiting"], counted["drawn"]) == (year, 3, 3 + counted["at_once"])
        assert counted["at_once_right"] == counted["at_once"]


def test_state_and_rule_tell_which_jobs_start_at_once() -> None:
    past = read_past(YEAR)
    for place in range(40, 400, 9):
        at_once = by_walltime(past, place) == past.submits[place]
        assert at_once == (past.starts[place] == past.submits[place])


def test_a_schedule_that_follows_the_rule_does_not_depart_from_it() -> None:
    past = read_past(YEAR)
    found = count_departures(past)
    assert found.waited == np.sum(past.starts - past.submits > 60) > 50
    assert found[1:] == (0.0, 0.0, 0.0)
    for place in range(40, 400, 9):
        assert in_hindsight(past, place) == pytest.approx(past.starts[place], abs=1e-5)


def test_departures_are_counted() -> None:
    def log(*jobs: tuple[float, float, int, float]) -> Past:
        rows = [
            TraceJob(number, submit, nodes, runtime, 1000.0, wait=wait)
            for number, (submit, wait, nodes, runtime) in enumerate(jobs)
        ]
        return Past(Trace(tuple(rows), 4), 4)

    # One job holds all nodes until 1,000 s. Then the third goes before the second, which asks for less.
    found = count_departures(log((0.0, 0.0, 4, 1000.0), (10.0, 1990.0, 2, 100.0), (20.0, 980.0, 3, 1000.0)))
    assert found == (2, 0.5, 0.0, 0.0)
    # A smaller one may go before it.
    assert (
        count_departures(log((0.0, 0.0, 4, 1000.0), (10.0, 1990.0, 4, 100.0), (20.0, 980.0, 2, 1000.0))).overtaken
        == 0.0
    )
    # All nodes are free from 100 s on; the second job waits for 900 s more. The queue was there from 50 s on.
    found = count_departures(log((0.0, 0.0, 4, 100.0), (50.0, 950.0, 2, 100.0)))
    assert found == (1, 0.0, 1.0, pytest.approx(900 / 950))


def test_more_moments_begin_with_the_same() -> None:
    few, many = (draw_moments(YEAR, count, 0).waiting for count in (5, 9))
    assert many[:5] == few


@pytest.mark.system
def test_workers_and_interruptions_change_nothing(tables: Any, tmp_path: Path) -> None:
    resources = Resources(tmp_path, workers=2)
    assert EXPERIMENT.measure(SMALL, 0, resources) == tables
    pieces = sorted((tmp_path / "pieces").iterdir())
    # Of each year the draw of its moments, and their scores.
    assert len(pieces) == 4
    # What is stored is not worked out again; what is damaged is.
    pieces[0].write_text("{}")
    before = [piece.stat().st_mtime_ns for piece in pieces[1:]]
    assert EXPERIMENT.measure(SMALL, 0, resources) == tables
    assert [piece.stat().st_mtime_ns for piece in pieces[1:]] == before


@pytest.mark.system
def test_recorded_and_simulated_schedules_of_a_log(tmp_path: Path) -> None:
    trace = generate(ThetaYear(jobs=300), 1)
    result = simulate(as_rigid(trace), trace.nodes or 0, events=False)
    waits = result.jobs.wait.to_numpy()
    recorded = replace(
        trace, jobs=tuple(replace(job, wait=float(round(wait))) for job, wait in zip(trace.jobs, waits, strict=True))
    )
    path = tmp_path / "log.swf"
    write_swf(recorded, path)
    parameters = replace(SMALL, moments=4, years=1, jobs=60, kth=str(path))
    run_experiment(EXPERIMENT, parameters, 0, tmp_path / "out", "0", workers=1)
    rows = read_tables(EXPERIMENT.id, tmp_path / "out")["moments"]
    assert [(row["log"], row["schedule"]) for row in rows][1:] == [("kth", "simulated"), ("kth", "recorded")]
    tables = read_tables(EXPERIMENT.id, tmp_path / "out")
    # It was recorded to the second, so that it follows the rule but for that.
    assert [(row["log"], row["overtaken"]) for row in tables["departures"]] == [("kth", 0.0)]
    assert len(tables["hindsight"]) == 4
    assert (tmp_path / "out" / "beyond-forecast.png").is_file()
    with pytest.raises(ParameterError, match="simulated, recorded or both"):
        replace(SMALL, kinds=("guessed",))


def test_scores_are_those_of_the_quantiles() -> None:
    quantiles = np.array([0.0, 100.0, 200.0, 400.0, 800.0, 900.0, 1000.0])
    row = score(quantiles, 840.0)
    assert row["error_s"] == 440.0
    assert row["log_error"] == pytest.approx(abs(np.log10(900 / 460)))
    assert row["pinball_10_s"] == pytest.approx(0.1 * 740)
    assert row["pinball_50_s"] == pytest.approx(0.5 * 440)
    assert row["pinball_90_s"] == pytest.approx(0.1 * 60)
    assert (row["inside_50"], row["inside_90"]) == (0, 1)
    assert score(quantiles, 800.5)["inside_50"] == 1
    assert score(quantiles, 840.0, interval=False)["inside_90"] is None
    # Of a perfect forecast ranks are uniform, also where draws are equal.
    rng = np.random.default_rng(0)
    draws = rng.choice([10.0, 20.0, 30.0], (4000, 20))
    ranks = [rank(np.sort(row[:-1]), float(row[-1]), 0, "log", number) for number, row in enumerate(draws)]
    assert np.histogram(ranks, 4, (0, 1))[0] == pytest.approx([1000] * 4, abs=120)
    # As reported, its interval holds more than it promises.
    ends = np.quantile(draws[:, :-1], (0.25, 0.75), axis=1, method="weibull")
    assert np.mean((ends[0] <= draws[:, -1]) & (draws[:, -1] <= ends[1])) > 0.6
    assert np.mean([within(one, 50) for one in ranks]) == pytest.approx(0.5, abs=0.03)
    assert [within(one, 90) for one in (0.04, 0.05, 0.95, 0.96)] == [0, 1, 1, 0]


def moment_rows(count: int, inside: float, gaps: Sequence[float]) -> list[Row]:
    """Moments of 20 weeks in which a share lies inside, and errors of the methods with these medians [h]."""
    rng = np.random.default_rng(1)
    rows: list[Row] = []
    for number in range(count):
        hit = int(number / count < inside)
        # Some of the others lie on an end, as reported.
        reported_inside = int(hit or number % 5 == 0)
        for method, median in zip(METHODS, gaps, strict=True):
            error = 3600 * median * float(rng.lognormal(0, 0.3))
            rows.append(
                {"log": "generated", "schedule": SIMULATED, "week": number * 7 % 20, "method": method,
                 "rank": 0.7 if hit else 0.98, "share": 0.1, "queue": 3, "log_error": 0.1, "error_s": error,
                 "inside_50": reported_inside, "inside_90": reported_inside}
            )  # fmt: skip
    return rows


@pytest.mark.parametrize(
    ("count", "inside", "expected"),
    [
        (1000, 0.5, (Outcome.HOLDS, Outcome.FAILS)),
        (1000, 0.9, (Outcome.FAILS, Outcome.HOLDS)),
        (1000, 0.46, (Outcome.FAILS, Outcome.FAILS)),
        (100, 0.5, (Outcome.UNDECIDED, Outcome.FAILS)),
    ],
)
def test_coverage_is_judged_by_its_rule(count: int, inside: float, expected: tuple[Outcome, Outcome]) -> None:
    verdicts = EXPERIMENT.judge({"": moment_rows(count, inside, (1, 2, 3, 4, 5))})
    assert tuple(verdict.outcome for verdict in verdicts[:2]) == expected
    assert verdicts[0].remark.endswith(f"as reported, ends included: {100 * (inside + 0.2 * (1 - inside)):.1f} %")
    # The other logs were not given.
    assert {verdict.outcome for verdict in verdicts[3:]} == {Outcome.NOT_COMPARABLE}


def test_the_median_error_must_be_below_every_baseline() -> None:
    outcomes = []
    for medians in ((1, 2, 3, 4, 5), (1, 2, 3, 0.5, 5), (1, 2, 3, 1.0, 5)):
        verdict = EXPERIMENT.judge({"": moment_rows(400, 0.5, medians)})[2]
        outcomes.append(verdict.outcome)
    assert outcomes == [Outcome.HOLDS, Outcome.FAILS, Outcome.UNDECIDED]


def test_levels_are_those_of_the_intervals() -> None:
    assert LEVELS.tolist() == [0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95]
