"""Advice followed: the response that is paid, and verdicts on made rows."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from holdfast.experiments.beyond.advice_paid import EXPERIMENTS, REQUESTS, FollowedAdvice, response_time
from holdfast.experiments.beyond.schedules import EASY, SIMULATED, Schedule, draw_moments, read_past
from holdfast.experiments.study.experiment import Resources, Row
from holdfast.experiments.study.verdicts import Outcome
from holdfast.policies.planning.plan import ReservationPlan
from holdfast.simulator import simulate
from holdfast.workloads.hybrid.assignment import as_rigid
from holdfast.workloads.theta.generator import generate
from holdfast.workloads.theta.year import ThetaYear

(EXPERIMENT,) = EXPERIMENTS
YEAR = Schedule("generated", SIMULATED, "", 400, 0)


def test_the_replay_of_the_own_request_is_the_schedule() -> None:
    past = read_past(YEAR)
    for place in draw_moments(YEAR, 5, 0).waiting:
        plan = ReservationPlan([past.job(place).walltime], False)
        assert response_time(YEAR, place, plan) == pytest.approx(past.ends[place] - past.submits[place], abs=1e-3)


def test_a_request_that_is_too_short_is_paid_twice() -> None:
    """The whole year is simulated again: with the job as one that runs into its walltime, and with a second one."""
    past = read_past(YEAR)
    place = next(place for place in draw_moments(YEAR, 9, 0).waiting if past.ends[place] - past.starts[place] > 1200)
    runtime = past.ends[place] - past.starts[place]
    first = 600.0
    response = response_time(YEAR, place, ReservationPlan([first, runtime], False))
    trace = generate(ThetaYear(jobs=400), 0)
    jobs = as_rigid(trace)
    short = replace(jobs[place], runtime=first, walltime=first)
    once = simulate([*jobs[:place], short, *jobs[place + 1 :]], trace.nodes or 0, events=False, **EASY).jobs
    killed = float(once.end.iloc[place])
    again = replace(jobs[place], job_id=10_000, submit=killed, runtime=runtime, walltime=runtime)
    both = [*jobs[:place], short, *jobs[place + 1 :], again]
    end = simulate(sorted(both, key=lambda job: (job.submit, job.job_id)), trace.nodes or 0, events=False, **EASY).jobs
    last = float(end.end[end.job_id == 10_000].iloc[0])
    assert response == pytest.approx(last - past.submits[place], abs=1e-3)


def test_each_job_has_a_response_for_each_request(tmp_path: Any) -> None:
    rows = EXPERIMENT.measure(FollowedAdvice(moments=3, draws=4, jobs=400), 0, Resources(tmp_path, workers=1))[""]
    assert len(rows) == 3
    for row in rows:
        assert all(row[f"{name}_h"] >= row["runtime_h"] - 1e-9 for name in REQUESTS)
        if row["advised_h"] == row["asked_h"] and row["asked_h"] >= row["runtime_h"]:
            assert row["advice_h"] == pytest.approx(row["own_h"])


def advice_rows(gain: float, planner: float = 0.0) -> list[Row]:
    rng = np.random.default_rng(0)
    rows: list[Row] = []
    for number in range(100):
        own = float(rng.uniform(5, 9))
        advice = own - gain + float(rng.normal(0, 0.1))
        rows.append(
            {"log": "generated", "week": number % 10, "own_h": own, "advice_h": advice, "planner_h": own - planner,
             "reserved_h": own + 1, "omniscient_h": own - 2}
        )  # fmt: skip
    return rows


@pytest.mark.parametrize(
    ("gain", "planner", "expected"),
    [
        (1.0, 0.0, (Outcome.HOLDS, Outcome.HOLDS)),
        (1.0, 1.5, (Outcome.HOLDS, Outcome.FAILS)),
        (-1.0, 0.0, (Outcome.FAILS, Outcome.FAILS)),
    ],
)
def test_advice_is_judged_by_its_rules(gain: float, planner: float, expected: tuple[Outcome, ...]) -> None:
    verdicts = EXPERIMENT.judge({"": advice_rows(gain, planner)})
    assert tuple(verdict.outcome for verdict in verdicts[:2]) == expected
    assert {verdict.outcome for verdict in verdicts[2:]} == {Outcome.NOT_COMPARABLE}


def test_a_smaller_mean_that_may_be_chance_is_undecided() -> None:
    rows = advice_rows(1.0, 0.0)
    for number, row in enumerate(rows):
        # Weeks in which the planner's plan is far better, and weeks in which it is far worse.
        gap = 2.3 if row["week"] % 2 else -1.9
        rows[number] = {**row, "planner_h": row["advice_h"] + gap}
    mean = {name: np.mean([row[f"{name}_h"] for row in rows]) for name in REQUESTS}
    assert mean["advice"] < min(mean["own"], mean["planner"], mean["reserved"])
    better = EXPERIMENT.judge({"": rows})[1]
    assert better.outcome is Outcome.UNDECIDED
    assert "planner, past waits +0.20 [-" in better.measured
