"""Waits of requests are corrected like the forecast of the own one, and keep their order."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.experiments.forecast.advice import advise
from holdfast.experiments.forecast.back_tests import BackTesting, run_back_tests
from holdfast.experiments.forecast.baselines import PastWaits
from holdfast.experiments.forecast.corrected_waits import move_draws
from holdfast.experiments.forecast.experts import LEVELS
from holdfast.experiments.forecast.forecasts import forecast
from holdfast.experiments.forecast.history import read_history
from holdfast.experiments.forecast.known_past import past_log
from holdfast.experiments.forecast.log_cursor import Past
from holdfast.experiments.forecast.machine_state import state_at
from holdfast.experiments.forecast.report import advice_document, advice_sentence, advice_table
from holdfast.experiments.forecast.track_record import TrackRecord
from tests.experiments.forecast.test_forecasts import NODES, random_jobs, schedule_trace


@given(st.lists(st.integers(0, 10**6), min_size=1, max_size=60), st.floats(0.1, 10.0))
def test_draws_keep_their_order_and_scale(drawn: list[int], factor: float) -> None:
    draws = np.array(drawn, dtype=float)[:, None]
    quantiles = np.quantile(draws[:, 0], LEVELS, method="inverted_cdf")
    same = move_draws(draws, quantiles.tolist(), quantiles.tolist(), LEVELS)
    assert same == pytest.approx(draws, rel=1e-9, abs=1e-6)
    # On the scale of log(wait + 60 s) a constant shift is a factor.
    longer = (factor * (quantiles + 60.0) - 60.0).tolist()
    moved = move_draws(draws, quantiles.tolist(), longer, LEVELS)
    if min(longer) >= 0:
        assert moved == pytest.approx(np.maximum(factor * (draws + 60.0) - 60.0, 0.0), rel=1e-9, abs=1e-6)
    order = np.argsort(draws[:, 0], kind="stable")
    assert np.all(np.diff(moved[order, 0]) >= 0)
    assert np.all(moved >= 0)


@pytest.mark.system
def test_the_own_request_is_forecast_as_by_a_forecast() -> None:
    trace = schedule_trace(random_jobs(3, 300, exact=False))
    at = trace.jobs[-1].submit
    known = Past(past_log(trace, at), NODES)
    record = TrackRecord(run_back_tests(known, at, BackTesting(count=80, seed=3)), PastWaits(known))
    state, history = state_at(trace, at, NODES), read_history(trace, at)
    request = {"nodes": 8, "walltime": 3000.0, "user": "u1"}
    plain, found = (advise(state, history, **request, draws=200, record=used) for used in (None, record))
    assert plain.simulated is None
    assert np.array_equal(found.simulated, plain.waits)
    assert max(one.walltime for one in found.requests) == 3000.0
    with_job, job_id = state.with_job(8, 3000.0, "u1")
    (row,) = forecast(with_job, history, jobs=[job_id], draws=200, record=record).rows()
    assert row["corrected"]
    simulated = [row[f"simulated_p{100 * level:02.0f}"] for level in LEVELS]
    own = found.request_for("own")
    place = next(place for place, one in enumerate(found.requests) if one is own)
    (own_row,) = (one for one in found.rows() if "own" in one["names"])
    assert [own_row[f"simulated_p{100 * level:02.0f}"] for level in LEVELS] == simulated
    corrected = [row[f"start_p{100 * level:02.0f}"] for level in LEVELS]
    printed = [own_row[f"wait_p{100 * level:02.0f}"] for level in LEVELS]
    assert printed == pytest.approx(corrected, rel=0.05, abs=60.0)
    assert not np.array_equal(found.waits[:, place], plain.waits[:, place])
    order = np.argsort(plain.waits[:, place], kind="stable")
    assert np.all(np.diff(found.waits[order, place]) >= 0)
    text = advice_sentence(found)
    assert "(median, corrected by past forecasts)" in text
    assert "corrected" not in advice_sentence(plain)
    assert "simulated" in advice_table(found)
    assert "simulated" not in advice_table(plain)
    assert [advice_document(one)["corrected"] for one in (found, plain)] == [True, False]
    few = advise(state, history, **request, draws=20, record=TrackRecord(record.tests[:5]))
    assert few.simulated is None
