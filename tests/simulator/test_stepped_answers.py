"""Arrivals that are answered and plans that are chosen one by one: always the same answer is the simulation."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.policies.planning.plan_book import Planner
from holdfast.simulator import Result, simulate
from holdfast.simulator.stepping.arrivals import SteppedArrivals
from holdfast.simulator.stepping.offers import SteppedPlans
from holdfast.workloads.ground.errors import InputError, InvariantError
from holdfast.workloads.ground.units import SECOND, to_ticks
from holdfast.workloads.table.job import Job, JobType
from tests.strategies import Mix, Table, job_tables, lively_mixes
from tests.support.jobs import malleable, on_demand, rigid

ANSWERS = ("PAA", "SPAA", "SKNAPSACK", "WAIT")


def same(one: Result, other: Result) -> bool:
    """Whether two results agree in everything but the time that they took."""
    return all(
        getattr(one, name) == getattr(other, name)
        for name in ("entries", "records", "samples", "booked", "losses")
        if hasattr(one, name)
    ) and [item.reservations for item in one.stochastic] == [item.reservations for item in other.stochastic]


@given(
    job_tables(max_jobs=14),
    st.sampled_from(("N", "CUA", "CUP", "WEIGH")),
    st.integers(0, len(ANSWERS) - 1),
    st.fixed_dictionaries(
        {},
        optional={
            "passes": st.just("event"),
            "tenants": st.sampled_from(("fits", "none")),
            "backfilling": st.sampled_from(("conservative", "none")),
            "order": st.sampled_from(("sjf", "wfp3")),
            "expansion": st.just("greedy"),
            "warning": st.sampled_from((0.0, 600.0)),
        },
    ),
)
@settings(max_examples=150)
def test_always_the_same_answer_is_the_mechanism(
    table: Table, notice: str, place: int, options: dict[str, Any]
) -> None:
    stepped = SteppedArrivals(table.jobs, table.nodes, notice=notice, answers=ANSWERS, **options)
    while stepped.asks:
        assert stepped.lacking > 0
        assert any(stepped.enough)
        stepped.answer(place)
    expected = simulate(table.jobs, table.nodes, f"{notice}-{ANSWERS[place]}", **options)
    assert same(stepped.result(), expected)


@given(job_tables(max_jobs=14), st.sampled_from(("N", "CUA", "CUP")), st.randoms(use_true_random=False))
@settings(max_examples=60)
def test_whatever_is_answered_every_job_that_comes_runs(table: Table, notice: str, random: Any) -> None:
    stepped = SteppedArrivals(table.jobs, table.nodes, notice=notice, answers=ANSWERS)
    while stepped.asks:
        request, now = stepped.request, stepped.view.now
        place = random.randrange(len(ANSWERS))
        enough = stepped.enough[place]
        stepped.answer(place)
        waited = [entry for entry in stepped._engine.system.log.entries if entry.event == "wait"]
        assert enough != any((entry.time, entry.job_id) == (now, request.job_id) for entry in waited)
    records = stepped.result().records
    assert all((record.end is None) == (record.submit is None) for record in records)
    assert all(
        record.start >= record.submit for record in records if record.start is not None and record.submit is not None
    )


@given(
    lively_mixes(max_jobs=14),
    st.sampled_from(("baseline", "CUA-SPAA")),
    st.sampled_from(("optimal", "no-ckpt", "masi k=2", "")),
    st.sampled_from((1, 3)),
)
@settings(max_examples=60)
def test_always_the_own_plan_is_the_simulation(mix: Mix, mechanism: str, strategy: str, least: int) -> None:
    planner = Planner(fit="discrete", least=least)
    jobs = [_plan_job(job, strategy) for job in mix.jobs]
    offers = ("walltime", "own", "neuro k=2", "quantile q=0.5")
    stepped = SteppedPlans(jobs, mix.nodes, offers=offers, mechanism=mechanism, planner=planner, plans=mix.plans)
    while stepped.asks:
        assert len(stepped.offered) == len(offers)
        stepped.choose(1)
    expected = simulate(jobs, mix.nodes, mechanism, planner=planner, plans=mix.plans)
    assert same(stepped.result(), expected)
    assert [item.planned.plan for item in stepped.result().stochastic] == [
        item.planned.plan for item in expected.stochastic
    ]


@given(job_tables(max_jobs=14), st.integers(0, len(ANSWERS) - 1), st.randoms(use_true_random=False))
@settings(max_examples=80)
def test_held_arrivals_are_asked_about_when_they_are_eligible(table: Table, place: int, random: Any) -> None:
    """Some of them are cancelled while they are held, or after."""
    jobs = [
        replace(
            job,
            eligible=job.submit + random.choice((0.0, 30.0, 500.0)),
            cancelled_at=random.choice((None, None, job.submit + 10.0, job.submit + 700.0)),
        )
        if job.submit is not None and job.notice is None
        else job
        for job in table.jobs
    ]
    held = {
        job.job_id: to_ticks(job.eligible or 0.0) - to_ticks(job.submit or 0.0) for job in jobs if job.notice is None
    }
    stepped = SteppedArrivals(jobs, table.nodes, answers=ANSWERS)
    while stepped.asks:
        assert stepped.view.now == stepped.request.eligible
        assert stepped.request.eligible - stepped.request.submit == held.get(stepped.request.job_id, 0)
        stepped.answer(place)
    assert same(stepped.result(), simulate(jobs, table.nodes, f"CUA-{ANSWERS[place]}"))


def test_a_held_arrival_that_is_asked_about_is_cancelled_once() -> None:
    """Held until 200, asked about then, and cancelled at 250 while it waits."""
    jobs = [rigid(1, 0, 4, 1000.0), on_demand(2, 100, 4, 100.0, eligible=200.0, cancelled_at=250.0)]
    stepped = SteppedArrivals(jobs, 4, notice="N", answers=ANSWERS)
    assert (stepped.request.job_id, stepped.view.now) == (2, 200 * SECOND)
    stepped.answer(ANSWERS.index("WAIT"))
    assert not stepped.asks
    events = [(entry.time // SECOND, entry.event) for entry in stepped.result().entries if entry.job_id == 2]
    assert events == [(100, "hold"), (200, "submit"), (200, "wait"), (250, "cancel")]


def _plan_job(job: Job, strategy: str) -> Job:
    if job.type is not JobType.STOCHASTIC:
        return job
    return replace(job, application=job.application or "one", plan=strategy or job.plan)


def test_an_answer_decides_who_makes_room() -> None:
    jobs = [rigid(1, 0, 4, 1000.0), malleable(2, 0, 4, 1000.0, min_nodes=2), on_demand(3, 100, 2, 100.0)]
    found = {}
    for place, name in enumerate(ANSWERS):
        stepped = SteppedArrivals(jobs, 8, notice="N", answers=ANSWERS)
        assert (stepped.request.job_id, stepped.lacking, stepped.view.now) == (3, 2, 100_000_000)
        assert stepped.enough == [True, True, True, False]
        stepped.answer(place)
        assert not stepped.asks
        found[name] = [(record.preemptions, record.shrinks) for record in stepped.result().records]
    assert found["WAIT"] == [(0, 0), (0, 0), (0, 0)]
    assert found["SPAA"] == found["SKNAPSACK"] == [(0, 0), (0, 1), (0, 0)]
    assert sum(preemptions for preemptions, _ in found["PAA"]) == 1


def test_a_chosen_plan_is_what_the_job_asks_for() -> None:
    jobs = [
        Job(
            number, JobType.STOCHASTIC, 10_000.0 * number, 1, 1000.0 + number, 5000.0, application="one", plan="optimal"
        )
        for number in range(1, 7)
    ]
    planner = Planner(fit="discrete", least=3)
    stepped = SteppedPlans(jobs, 4, offers=("own", "walltime", "quantile q=0.5"), planner=planner)
    asked = []
    while stepped.asks:
        asked.append(stepped.job.job_id)
        stepped.choose(2)
    # The first three have no law; the median of 1001, 1002, 1003 is not enough for those that come after.
    assert asked == [4, 5, 6]
    reservations = [[item.length / 1e6 for item in one.reservations] for one in stepped.result().stochastic]
    assert reservations[:4] == [[5000.0], [5000.0], [5000.0], [1002.0, 1503.0]]
    assert stepped.result().stochastic[3].planned.plan.strategy == "quantile 0.5"


def test_what_cannot_be_answered_is_refused() -> None:
    table = [rigid(1, 0, 4, 1000.0), on_demand(2, 100, 2, 100.0)]
    with pytest.raises(InputError, match="two or more arrival strategies"):
        SteppedArrivals(table, 4, answers="PAA")
    with pytest.raises(InputError, match="arrival strategy"):
        SteppedArrivals(table, 4, answers=("PAA", "NOBODY"))
    stepped = SteppedArrivals(table, 4, answers=("PAA", "WAIT"))
    with pytest.raises(InputError, match="answer must be from 0 to 1"):
        stepped.answer(2)
    stepped.answer(0)
    with pytest.raises(InvariantError, match="no job arrives"):
        stepped.answer(0)
    with pytest.raises(InvariantError, match="no job is submitted"):
        SteppedPlans(table, 4).choose(0)
    for offer in ("quantile", "quantile q=1", "quantile q=much", "quantile k=3"):
        with pytest.raises(InputError, match=r"such as quantile q=0\.9"):
            SteppedPlans(table, 4, offers=("own", offer))
    with pytest.raises(InputError, match="planning strategy"):
        SteppedPlans(table, 4, offers=("own", "nothing"))
