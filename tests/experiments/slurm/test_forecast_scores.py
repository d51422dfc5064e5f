"""Forecasts are scored at the starts of their jobs, beside Slurm's own plans, however long a forecast takes."""

from __future__ import annotations

from holdfast.experiments.slurm.forecast_scores import QUANTILES, SCORE_COLUMNS, ForecastScores, StartForecast


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
