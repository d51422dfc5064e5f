"""Jobs to come: made for as long as a forecast needs them, and no longer."""

from __future__ import annotations

import pytest

from holdfast.experiments.forecast import sampled_workloads
from holdfast.experiments.forecast.completed_runs import PastRun
from holdfast.experiments.forecast.forecasts import forecast
from holdfast.experiments.forecast.history import History
from holdfast.experiments.forecast.machine_state import MachineState
from holdfast.experiments.forecast.seen_job import SeenJob

HOUR, WEEK = 3600.0, 7 * 86_400.0
#: A week ago, at these hours after the same hour, jobs of these walltimes were submitted.
COMING = ((3.0, 7.0), (9.0, 10.0), (20.0, 12.0), (33.0, 1.0))


def state_and_history() -> tuple[MachineState, History]:
    """One node, in use for another 3.5 hours, and a job of 50 hours that all shorter ones pass."""
    at = WEEK + HOUR
    runs = SeenJob(1, at - HOUR, 1, 3.5 * HOUR, start=at)
    long = SeenJob(2, at - HOUR, 1, 50 * HOUR)
    past = [
        SeenJob(3 + place, at - WEEK + hour * HOUR, 1, length * HOUR) for place, (hour, length) in enumerate(COMING)
    ]
    first = SeenJob(99, 0.0, 1, HOUR)
    # All ran for their walltimes, so that nothing is left to chance.
    return MachineState(at, 1, (runs, long)), History([PastRun(1, HOUR, 1.0)] * 20, [first, *past])


@pytest.mark.parametrize("fast", [True, False])
@pytest.mark.parametrize("backfilling", ["easy", "conservative", "none"])
def test_jobs_that_come_before_a_start_are_made_however_late_it_is(
    backfilling: str, fast: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not fast:
        monkeypatch.setattr(sampled_workloads, "has_fast_starts", lambda options: False)
    state, history = state_and_history()
    found = forecast(state, history, jobs=[2], draws=3, order="sjf", backfilling=backfilling)
    # 3.5 to 10.5, 10.5 to 20.5, 20.5 to 32.5; the last of them comes when the long job has started.
    assert ((found.starts - state.at) / HOUR).tolist() == [[pytest.approx(32.5)]] * 3


def test_nothing_comes_after_the_horizon() -> None:
    state, history = state_and_history()
    how = {"order": "sjf", "backfilling": "conservative", "draws": 1}
    for horizon, start in ((2.0, 3.5), (8.0, 10.5), (19.0, 20.5), (34.0, 32.5)):
        found = forecast(state, history, jobs=[2], horizon=horizon * HOUR, **how)  # type: ignore[arg-type]
        assert found.starts[0, 0] - state.at == pytest.approx(start * HOUR)
