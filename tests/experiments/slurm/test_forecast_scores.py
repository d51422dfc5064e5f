"""Forecasts are scored at the starts of their jobs, beside Slurm's own plans, however long a forecast takes."""

from __future__ import annotations

import csv
from dataclasses import replace
from pathlib import Path

from holdfast.experiments.forecast.track_record import BackTest
from holdfast.experiments.slurm.forecast_scores import QUANTILES, SCORE_COLUMNS, ForecastScores, StartForecast
from holdfast.experiments.tables import write_csv
from tests.experiments.slurm.forecast_lab import first_scores, score_lines


def forecast_with_test(job_id: int, at: float) -> StartForecast:
    """The same with a back-test, which has the job in place of its size."""
    return replace(start_forecast(job_id, at=at), test=BackTest(at, 60.0, 0.0, {}, nodes=job_id, started=False))


def start_forecast(job_id: int, slurm_start: float | None = None, at: float = 1000.0) -> StartForecast:
    """Quantiles 100, 200, 300, 400 and 500 s after the forecast."""
    starts = {name: at + 100.0 * place for place, name in enumerate(QUANTILES, start=1)}
    return StartForecast(at, job_id, starts, slurm_start)


def test_a_score_is_worked_out_by_hand() -> None:
    row = start_forecast(7, slurm_start=1900.0).score(1450.0)
    assert tuple(row) == SCORE_COLUMNS
    # A start may miss an interval by a minute.
    assert (row["inside_50"], row["inside_90"]) == (True, True)
    assert (row["error_s"], row["slurm_start"], row["slurm_error_s"]) == (150, 1900, 450)
    late = start_forecast(7).score(1561.0)
    assert (late["inside_50"], late["inside_90"], late["slurm_error_s"]) == (False, False, None)
    assert [start_forecast(7).score(at)["inside_50"] for at in (1139.0, 1140.0, 1460.0, 1461.0)] == [
        False,
        True,
        True,
        False,
    ]


def test_each_forecast_of_a_job_is_scored_once() -> None:
    scores = ForecastScores()
    assert scores.summary() == ""
    assert scores.add([start_forecast(1), start_forecast(2), start_forecast(3)]) == []
    assert scores.add([start_forecast(1, at=1200.0), start_forecast(2, at=1200.0)]) == []
    assert [row["forecast_at"] for row in scores.leave(1, 1500.0)] == [1000, 1200]
    assert scores.leave(1, 1500.0) == []
    assert scores.leave(2, None) == []
    assert [row["error_s"] for row in scores.leave(3, 1350.0)] == [50]
    assert (
        scores.summary()
        == "; of 3 earlier forecasts 67 % in their 50 % and 100 % in their 90 % interval, median error 50 s"
    )


def test_jobs_that_leave_while_a_forecast_is_made_are_scored_as_if_it_had_been_at_once() -> None:
    scores = ForecastScores()
    scores.leave(4, 990.0)  # of an earlier time
    scores.expect()
    assert scores.leave(1, 1010.0) == []
    assert scores.leave(2, None) == []
    found = scores.add([start_forecast(1, 1100.0), start_forecast(2, 1100.0), start_forecast(3, 1100.0)])
    assert [(row["job_id"], row["slurm_error_s"]) for row in found] == [(1, 90)]
    assert scores.leave(2, 1200.0) == []
    assert [row["error_s"] for row in scores.leave(3, 1310.0)] == [10]
    assert scores.summary().endswith("; 2 beside Slurm's plans: 150 s, of the plans 150 s")


def test_the_live_table_reads_what_follow_writes(tmp_path: Path) -> None:
    scores = ForecastScores()
    scores.add([start_forecast(1), start_forecast(1, 1800.0, at=1100.0), start_forecast(2, 2900.0)])
    write_csv(tmp_path / "scores.csv", [*scores.leave(1, 1400.0), *scores.leave(2, 1700.0)], SCORE_COLUMNS)
    with (tmp_path / "scores.csv").open() as file:
        rows = list(csv.DictReader(file))
    # The first forecast of job 1 has no plan of Slurm beside it.
    assert [(row["job_id"], row["forecast_at"]) for row in first_scores(rows)] == [("2", "1000"), ("1", "1100")]
    first, both = score_lines(rows)
    assert first.startswith("first forecast of each job: 2; in the 50 % interval 50.0 %, in the 90 % interval 50.0 %;")
    assert first.endswith("median error of 2 beside a plan 200 s, of Slurm's plan 800 s")
    assert both.startswith("all forecasts: 3; in the 50 % interval 66.7 %, in the 90 % interval 66.7 %;")


def test_scored_forecasts_are_back_tests_of_later_ones() -> None:
    def outcomes(at: float) -> list[tuple[int, float, float, bool]]:
        return [(test.nodes, test.at, test.wait, test.started) for test in scores.tests(at)]

    scores = ForecastScores()
    scores.add([*(forecast_with_test(job_id, 1000.0) for job_id in (1, 2, 3, 4)), start_forecast(5)])
    scores.expect()
    scores.leave(4, 1100.0)  # while the next forecast is made
    scores.add(forecast_with_test(job_id, 1060.0) for job_id in (2, 3, 4))
    scores.leave(1, 1150.0)
    scores.leave(2, None)
    scores.leave(5, 1200.0)
    # Jobs 1 and 4 have started, job 3 waits, job 2 was cancelled, and job 5 has no back-test.
    started = [(1, 1000.0, 150.0, True), (4, 1000.0, 100.0, True), (4, 1060.0, 40.0, True)]
    assert sorted(outcomes(1300.0)) == sorted([*started, (3, 1000.0, 300.0, False), (3, 1060.0, 240.0, False)])
    assert [at for _, at, _, _ in outcomes(1300.0)] == [1000.0] * 3 + [1060.0] * 2
    for job_id in range(10, 500):
        scores.add([forecast_with_test(job_id, 2000.0 + job_id)])
        scores.leave(job_id, 3000.0)
    # The latest 400 of those that have started, and those of job 3.
    assert len(outcomes(4000.0)) == 402
    assert min(job for job, _, _, started in outcomes(4000.0) if started) == 100
