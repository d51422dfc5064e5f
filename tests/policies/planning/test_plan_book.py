"""The plan book: which runs a plan is made from, when it is made anew, and what it costs whom."""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.policies.planning import plan_book
from holdfast.policies.planning.costs import CostModel
from holdfast.policies.planning.plan import ReservationPlan
from holdfast.policies.planning.plan_book import PlanBook, Planner
from holdfast.policies.planning.strategies import optimal
from holdfast.simulator import Result, simulate, simulation
from holdfast.simulator.clock import event_loop, submissions
from holdfast.workloads.distributions.named import pareto
from holdfast.workloads.ground.errors import InputError, ParameterError, UnknownNameError
from holdfast.workloads.ground.units import to_ticks
from holdfast.workloads.table.job import Job, JobType
from tests.support.jobs import on_demand, rigid, stochastic

DISCRETE = Planner(fit="discrete", least=3)


def by_hand(name: str, runs: list[float], costs: CostModel) -> ReservationPlan:
    """The plan that a strategy makes of a list of runs; rules of thumb from their definitions."""
    if name == "optimal":
        return optimal(runs, costs)
    if name == "maximum":
        return ReservationPlan([max(runs)], False, costs)
    assert name == "masi k=4 factor=2"
    last = runs[-4:]
    ends = [min(sum(last) / len(last), max(last))]
    while ends[-1] < max(last):
        ends.append(2 * ends[-1])
    return ReservationPlan(ends, False, costs, extension=2)


@st.composite
def campaigns(draw: st.DrawFn) -> tuple[list[Job], int]:
    """Two applications and others on one machine; many jobs end and are submitted in the same instants."""
    jobs: list[Job] = []
    nodes = draw(st.integers(4, 12))
    for number in range(1, draw(st.integers(8, 40)) + 1):
        submit = 60.0 * draw(st.integers(0, 120))
        size = draw(st.integers(1, 4))
        kind = draw(st.integers(0, 7))
        runtime = 60.0 * draw(st.integers(1, 30))
        if kind == 0:
            jobs.append(rigid(number, submit, size, runtime))
        elif kind == 1:
            jobs.append(on_demand(number, submit, size, runtime / 4))
        else:
            plan = draw(st.sampled_from(["optimal", "maximum", "masi k=4 factor=2"]))
            application = draw(st.sampled_from(["atlas", "qball"]))
            costs = {"checkpoint_cost": 30.0 * draw(st.integers(0, 2)), "restart_cost": 30.0}
            walltime = runtime * draw(st.sampled_from([0.5, 1.0, 3.0]))
            jobs.append(
                stochastic(number, submit, size, runtime, plan, walltime=walltime, application=application, **costs)
            )
    return jobs, nodes


def assert_learnt_from_the_past(jobs: list[Job], result: Result, least: int) -> int:
    """Every plan is that of the runs that had completed when its job was submitted. Returns how many were learnt."""
    by_id = {job.job_id: job for job in jobs}
    ends: dict[str, list[tuple[int, int, float]]] = defaultdict(list)
    for course in result.stochastic:
        job = by_id[course.job_id]
        runtime = job.runtime if job.true_runtime is None else job.true_runtime
        ends[job.application].append((course.reservations[-1].end, job.job_id, runtime))
    for runs in ends.values():
        runs.sort()
    fitted: dict[str, int] = defaultdict(int)
    learnt = 0
    submitted = sorted(
        result.stochastic, key=lambda course: (to_ticks(by_id[course.job_id].submit or 0), course.job_id)
    )
    for course in submitted:
        job = by_id[course.job_id]
        submit = to_ticks(job.submit or 0)
        # Completions come first within an instant.
        known = [runtime for end, _, runtime in ends[job.application] if end <= submit]
        plan = course.planned.plan
        costs = CostModel(1.0, 0.0, 0.0, job.checkpoint_cost, job.restart_cost)
        if len(known) < least:
            assert plan.strategy == "walltime"
            assert course.planned.runs == 0
            assert course.planned.expected_cost is None
            expected = ReservationPlan([job.walltime], False, costs)
        else:
            # "refitted when the history has grown by 20 %"
            if not fitted[job.application] or 10 * len(known) >= 12 * fitted[job.application]:
                fitted[job.application] = len(known)
            assert course.planned.runs == fitted[job.application]
            expected = by_hand(job.plan, known[: fitted[job.application]], costs)
            learnt += 1
        assert plan.milestones.tolist() == pytest.approx(expected.milestones.tolist())
        assert plan.checkpointed.tolist() == expected.checkpointed.tolist()
        assert plan.length.tolist() == pytest.approx(expected.length.tolist())
        assert plan.extension == expected.extension
        assert course.reservations[0].length == pytest.approx(to_ticks(expected.length[0]), abs=3)
    return learnt


@pytest.mark.parametrize("mechanism", ["baseline", "N-PAA", "CUP-SPAA"])
@settings(max_examples=15)
@given(campaign=campaigns())
def test_plans_are_made_from_the_runs_that_have_completed(mechanism: str, campaign: tuple[list[Job], int]) -> None:
    jobs, nodes = campaign
    if any(job.type is JobType.STOCHASTIC for job in jobs):
        assert_learnt_from_the_past(jobs, simulate(jobs, nodes, mechanism, planner=DISCRETE), 3)


def many_runs(count: int, seed: int = 0) -> list[Job]:
    rng = np.random.default_rng(seed)
    return [
        stochastic(
            number,
            60.0 * int(rng.integers(0, 20 * count)),
            int(rng.integers(1, 5)),
            60.0 * int(rng.integers(1, 30)),
            ("optimal", "maximum", "masi k=4 factor=2")[int(rng.integers(0, 3))],
            application=("atlas", "qball")[int(rng.integers(0, 2))],
            walltime=1800.0,
            checkpoint_cost=30.0,
            restart_cost=30.0,
        )
        for number in range(1, count + 1)
    ]


def test_a_long_history_is_refitted_now_and_then() -> None:
    """Both applications learn, and by default only from ten runs on."""
    jobs = many_runs(300)
    result = simulate(jobs, 8, planner=Planner(fit="discrete"))
    assert assert_learnt_from_the_past(jobs, result, 10) > 150
    fits = {course.planned.runs for course in result.stochastic if course.application == "atlas"} - {0}
    assert min(fits) >= 10
    assert len(fits) > 4
    ordered = sorted(fits)
    assert all(10 * after >= 12 * before for before, after in pairwise(ordered))


def test_two_applications_never_mix() -> None:
    """On a machine where nobody waits one application's plans do not depend on the other's runtimes."""
    jobs = many_runs(60)
    others = [
        replace(job, true_runtime=7.0 * (job.true_runtime or 0), runtime=1.0) if job.application == "qball" else job
        for job in jobs
    ]
    seen = []
    for table in (jobs, others):
        result = simulate(table, 1000, planner=Planner(fit="kernel"))
        seen.append({course.job_id: course for course in result.stochastic if course.application == "atlas"})
    assert seen[0].keys() == seen[1].keys()
    for job_id, course in seen[0].items():
        assert course.planned.plan == seen[1][job_id].planned.plan
        assert course.reservations == seen[1][job_id].reservations


def test_given_plans_are_taken_as_they_are_and_their_runs_are_known() -> None:
    given_plan = ReservationPlan([100, 300], [True, False], CostModel(2, 1, 5, checkpoint=9, restart=4), "mine")
    jobs = [stochastic(number, 400.0 * number, 1, 250.0, "mine", checkpoint_cost=1.0) for number in range(3)]
    jobs.append(stochastic(9, 9999.0, 1, 250.0, "maximum", walltime=1e6))
    result = simulate(jobs, 1, plans={"mine": given_plan}, planner=DISCRETE)
    assert all(course.planned.plan is given_plan for course in result.stochastic[:3])
    assert result.stochastic[0].planned.expected_cost is None
    # The plan's own costs hold, not those of the job table.
    assert [item.length for item in result.stochastic[0].reservations] == [to_ticks(109), to_ticks(204)]
    assert result.stochastic[3].planned.plan.milestones.tolist() == [250.0]


@pytest.mark.parametrize("fit", ["kernel", "interpolated", "polynomial"])
def test_the_same_table_gives_the_same_plans(fit: str) -> None:
    jobs = many_runs(40, seed=3)
    one, other = (simulate(jobs, 9, "CUA-SPAA", planner=Planner(fit=fit)) for _ in range(2))
    assert [course.reservations for course in one.stochastic] == [course.reservations for course in other.stochastic]
    assert [course.planned.plan for course in one.stochastic] == [course.planned.plan for course in other.stochastic]
    assert one.entries == other.entries


def test_planning_is_no_time_of_the_scheduler(monkeypatch: pytest.MonkeyPatch) -> None:
    """By a clock that only planning advances, by an hour each time."""
    clock = [0.0]

    def price(nodes: int) -> tuple[float, float, float]:
        clock[0] += 3600.0
        return 1.0, 0.0, 0.0

    for module in (simulation, event_loop, submissions):
        monkeypatch.setattr(module, "perf_counter", lambda: clock[0])
    jobs = [stochastic(number, 50.0 * number, 1, 90.0, "maximum") for number in range(4)]
    result = simulate(jobs, 1, planner=Planner(fit="discrete", least=2, prices=price))
    assert clock[0] >= 4 * 3600
    assert result.planning_seconds == clock[0]
    assert result.engine_seconds == 0
    assert max(result.latencies) == 0
    assert result.summary()["planning_seconds"] == result.planning_seconds


def test_prices_depend_on_the_size() -> None:
    runs = [100.0, 200.0, 400.0, 900.0]
    book = PlanBook(Planner(fit="discrete", least=4, prices=lambda nodes: (1.0, 0.5, 70.0 * nodes)))
    for runtime in runs:
        book.record_completion("a", runtime)
    for nodes in (1, 6):
        planned = book.plan("a", "optimal", nodes, 1e4, 30.0, 20.0)
        expected = optimal(runs, CostModel(1.0, 0.5, 70.0 * nodes, 30.0, 20.0))
        assert planned.plan == expected
        paid = [float(expected.paid_cost(x)) for x in runs]
        assert planned.expected_cost == pytest.approx(sum(paid) / len(paid))


@pytest.mark.parametrize("growth", ["0", "0.05", "0.1", "0.2", "0.25", "0.3", "1"])
def test_a_history_is_refitted_when_it_has_grown_by_just_that_share(growth: str) -> None:
    """As one reckons with fractions: 55 are 10 % more than 50."""
    book = PlanBook(Planner(fit="discrete", least=5, growth=float(growth)))
    fitted = 0
    for count in range(1, 400):
        book.record_completion("a", float(count))
        runs = book.plan("a", "maximum", 1, 1e4, 0.0, 0.0).runs
        if count >= 5 and (not fitted or count >= (1 + Fraction(growth)) * fitted):
            fitted = count
        assert runs == fitted


@pytest.mark.system
def test_a_distribution_without_a_finite_plan_does_not_end_the_simulation(monkeypatch: pytest.MonkeyPatch) -> None:
    """As the usual distributions fitted to a heavy tail may be."""
    endless = SimpleNamespace(chosen=SimpleNamespace(good=lambda: pareto(100.0, 0.4)))
    monkeypatch.setattr(plan_book, "fit_runs", lambda *_: endless)
    book = PlanBook(Planner(least=2))
    runs = [100.0, 300.0]
    for runtime in runs:
        book.record_completion("a", runtime)
    costs = CostModel(checkpoint=10.0, restart=10.0)
    assert book.plan("a", "optimal", 1, 1e4, 10.0, 10.0).plan == optimal(runs, costs)
    assert book.plan("a", "all-ckpt", 1, 1e4, 10.0, 10.0).plan.milestones[-1] == 300.0


@pytest.mark.parametrize("fit", ["kernel", "discrete", "interpolated", "polynomial"])
@pytest.mark.parametrize(
    "runs",
    [
        [1000.0] * 12,
        [1.0] * 6 + [100_000.0] * 6,
        [1e-6] * 10,
        [10.0**power for power in range(-6, 6)],
        [1000.0 + 1e-6 * number for number in range(12)],
        [5.0],
    ],
    ids=["all equal", "two values", "a tick", "twelve decades", "ticks apart", "one"],
)
def test_strange_histories_still_make_plans(fit: str, runs: list[float]) -> None:
    for strategy in ("optimal", "all-ckpt", "no-ckpt", "masi", "neuro"):
        book = PlanBook(Planner(fit=fit, least=1, grid={"n": 60}))
        for runtime in runs:
            book.record_completion("a", runtime)
        planned = book.plan("a", strategy, 2, 1e6, 60.0, 60.0)
        assert np.all(np.isfinite(planned.plan.length))
        assert planned.expected_cost is not None
        assert math.isfinite(planned.expected_cost)
        assert planned.expected_cost >= min(runs)


@pytest.mark.parametrize(
    ("values", "error", "sentence"),
    [
        ({"fit": "kernal"}, UnknownNameError, "kernel"),
        ({"least": 0}, ParameterError, "least"),
        ({"least": 2.5}, ParameterError, "least"),
        ({"growth": -0.1}, ParameterError, "growth"),
        ({"growth": math.inf}, ParameterError, "growth"),
        ({"growth": math.nan}, ParameterError, "growth"),
    ],
)
def test_wrong_planners(values: dict[str, Any], error: type[InputError], sentence: str) -> None:
    with pytest.raises(error, match=sentence):
        Planner(**values)
