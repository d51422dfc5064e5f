"""Stochastic jobs in the cluster: against a plain reference, an independent reading of the hybrid model, and laws."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from itertools import groupby, pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from holdfast.policies.planning.costs import CostModel, Table
from holdfast.policies.planning.memory_execution import execute
from holdfast.policies.planning.plan import ReservationPlan
from holdfast.policies.planning.plan_book import Planner
from holdfast.policies.planning.strategies import all_checkpoint, masi, neuro_average, optimal
from holdfast.simulator import Result, simulate
from holdfast.simulator.machine.event_log import Entry
from holdfast.simulator.machine.stochastic import ReservationRecord
from holdfast.simulator.results.reservations import stochastic_rows
from holdfast.simulator.results.schema import RESERVATIONS
from holdfast.workloads.chains.checkpoint_device import CheckpointDevice
from holdfast.workloads.chains.runs import TaskRuns
from holdfast.workloads.distributions import Distribution, lognormal_from_moments, truncate, uniform
from holdfast.workloads.distributions.named import gamma
from holdfast.workloads.ground.errors import InputError, ParameterError
from holdfast.workloads.ground.units import SECOND, to_ticks
from holdfast.workloads.table.job import Job, JobType
from tests.reference.hybrid import MECHANISMS, replay
from tests.reference.stochastic import Numbers, follow, replay_stochastic
from tests.strategies.mixes import ONLY_RIGID, Mix, mixes, random_mix
from tests.support.jobs import on_demand, rigid, stochastic

EVERY = ("baseline", *MECHANISMS)
TICK = 1e-6

operated = st.fixed_dictionaries(
    {
        "tenants": st.sampled_from(["any", "any", "fits", "none"]),
        "backfill_length": st.sampled_from(["walltime", "runtime"]),
        "passes": st.sampled_from(["instant", "instant", "event"]),
    }
)
varied = st.fixed_dictionaries(
    {
        "checkpoint_variation": st.sampled_from([0.0, 0.1, 0.3, 1.0]),
        "checkpoint_mode": st.sampled_from(["absorbed", "strict"]),
        "seed": st.integers(0, 5),
    }
)


def courses(result: Result) -> dict[int, tuple[ReservationRecord, ...]]:
    return {course.job_id: course.reservations for course in result.stochastic}


def of(job: Job) -> float:
    """Its true runtime."""
    return job.runtime if job.true_runtime is None else job.true_runtime


# -- against the plain reference --


def assert_equals_the_reference(mix: Mix) -> None:
    result = simulate(mix.jobs, mix.nodes, plans=mix.plans)
    expected, ends = replay_stochastic(mix.rows, mix.numbers, mix.nodes)
    seen = [
        (item.job_id, item.number, item.submit, item.start, item.end, item.length, item.milestone, item.ending)
        for course in result.stochastic
        for item in course.reservations
    ]
    assert seen == [tuple(item) for item in expected]
    assert {record.job_id: (record.start, record.end) for record in result.records} == ends


@settings(max_examples=40)
@given(mix=mixes(types=ONLY_RIGID))
def test_the_baseline_equals_a_plain_reference(mix: Mix) -> None:
    assert_equals_the_reference(mix)


@pytest.mark.system
def test_the_baseline_equals_a_plain_reference_on_many_tables() -> None:
    count = 0
    for seed in range(120):
        mix = random_mix(seed, max_jobs=20, types=ONLY_RIGID)
        assert_equals_the_reference(mix)
        count += sum(job.type is JobType.STOCHASTIC for job in mix.jobs)
    assert count > 500


def attempts(items: Sequence[ReservationRecord]) -> list[list[ReservationRecord]]:
    """Reservations with the preempted ones before them, which asked for the same."""
    found: list[list[ReservationRecord]] = [[]]
    for item in items:
        found[-1].append(item)
        if item.ending != "preempted":
            found.append([])
    assert not found.pop()
    return found


def assert_reservations_are_rigid_jobs(mix: Mix, mechanism: str, **chosen: Any) -> int:
    """Each reservation as a rigid job of its own gives the same schedule, by an independent reading of the model.

    Returns how many were preempted. That the rigid jobs are the right ones says :func:`assert_course`.
    """
    result = simulate(mix.jobs, mix.nodes, mechanism, plans=mix.plans, **chosen)
    of_job = courses(result)
    rows = []
    for job in mix.jobs:
        # Ids and rows in the same order: of a job's reservations there is only one at a time.
        if job.type is not JobType.STOCHASTIC:
            rows.append(replace(job, job_id=1000 * job.job_id))
            continue
        assert_course(job, mix.numbers[job.plan], of_job[job.job_id])
        for number, items in enumerate(attempts(of_job[job.job_id])):
            first, last = items[0], items[-1]
            used, length = (last.end - last.start) / SECOND, first.length / SECOND
            rows.append(rigid(1000 * job.job_id + number, first.submit / SECOND, job.nodes, used, length))
    expected = replay(rows, mix.nodes, mechanism, **chosen)
    for record in result.records:
        if record.type is JobType.STOCHASTIC:
            continue
        seen = expected[1000 * record.job_id]
        assert record.preemptions == seen.preemptions
        assert record.shrinks == seen.shrinks
        assert record.lost == to_ticks(seen.lost_node_seconds)
        assert record.start == (None if seen.start is None else to_ticks(seen.start))
        assert record.end == (None if seen.end is None else to_ticks(seen.end))
    preempted = 0
    for job_id, items in of_job.items():
        for number, same in enumerate(attempts(items)):
            seen = expected[1000 * job_id + number]
            assert seen.start is not None
            assert seen.end is not None
            assert (same[0].start, same[-1].end) == (to_ticks(seen.start), to_ticks(seen.end))
            assert len(same) - 1 == seen.preemptions
            preempted += seen.preemptions
    totals = expected.totals
    accounting = result.accounting
    assert (accounting.warning, accounting.held, accounting.idle) == (totals.warning, totals.held, totals.idle)
    return preempted


@pytest.mark.parametrize("mechanism", MECHANISMS)
@settings(max_examples=12)
@given(mix=mixes(), chosen=operated)
def test_reservations_are_scheduled_as_rigid_jobs(mechanism: str, mix: Mix, chosen: dict[str, str]) -> None:
    # Judged by true runtimes, rigid jobs are; reservations are not.
    assert_reservations_are_rigid_jobs(mix, mechanism, **{**chosen, "backfill_length": "walltime"})


@pytest.mark.system
@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_reservations_are_scheduled_as_rigid_jobs_on_many_tables(mechanism: str) -> None:
    preempted = sum(
        assert_reservations_are_rigid_jobs(random_mix(seed, max_jobs=20), mechanism, tenants=tenants)
        for seed in range(40)
        for tenants in ("any", "none")
    )
    assert preempted > 10


@pytest.mark.slow
@pytest.mark.parametrize("passes", ["instant", "event"])
@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_reservations_are_scheduled_as_rigid_jobs_in_bulk(mechanism: str, passes: str) -> None:
    for seed in range(300):
        for tenants in ("any", "fits", "none"):
            assert_reservations_are_rigid_jobs(random_mix(seed, max_jobs=40), mechanism, tenants=tenants, passes=passes)


def test_the_next_reservation_is_submitted_after_the_completions_of_its_instant() -> None:
    """With a pass after every event: job 1 arrives when a reservation of job 2 ends, and has the smaller id."""
    jobs = [rigid(1, 20, 1, 10), stochastic(2, 0, 1, 30, "p")]
    plans = {"p": ReservationPlan([20, 40], False)}
    for passes in ("instant", "event"):
        result = simulate(jobs, 1, plans=plans, passes=passes)
        assert [item.start for item in courses(result)[2]] == [0, 30 * SECOND]


# -- one job's reservations --


def assert_course(job: Job, numbers: Numbers, items: Sequence[ReservationRecord]) -> None:
    """What a job asks for and gets, from its plan's numbers and its runtime; nothing varies."""
    steps = follow(numbers, of(job))
    asked, saved = job.submit, 0
    assert asked is not None
    submit = to_ticks(asked)
    for same in attempts(items):
        step = next(steps)
        for item in same:
            assert item.submit == submit, "it keeps its place in the queue"
            assert (item.length, item.milestone) == (step.length, step.milestone)
            assert item.restart + item.work + item.checkpoint == item.end - item.start
            assert item.nodes == job.nodes
        for before, after in pairwise(same):
            assert before.saved == saved
            assert before.end <= after.start
            assert before.end - before.start < step.used, "a reservation that reached its end was preempted"
        last = same[-1]
        assert (last.ending, last.end - last.start) == (step.ending, step.used)
        saved = step.milestone if step.ending == "saved" else saved
        assert last.saved == saved
        submit = last.end
    assert next(steps, None) is None
    assert [item.number for item in items] == list(range(1, len(items) + 1))


def assert_laws(job: Job, items: Sequence[ReservationRecord]) -> None:
    """What holds whatever varies."""
    saved = 0
    ready = to_ticks(0.0 if job.submit is None else job.submit)
    truth = to_ticks(of(job))
    for number, item in enumerate(items, 1):
        assert item.number == number
        assert item.submit == ready
        assert item.submit <= item.start <= item.end <= item.start + item.length
        assert min(item.restart, item.work, item.checkpoint) >= 0
        assert item.restart + item.work + item.checkpoint == item.end - item.start
        assert number == 1 or items[number - 2].end <= item.start
        match item.ending:
            case "saved":
                assert item.work == item.milestone - saved
                saved = item.milestone
            case "completed":
                assert saved + item.work == truth
            case "expired" | "checkpoint lost":
                assert item.end - item.start == item.length
            case "preempted":
                assert item.end < item.start + item.length
                assert items[number].milestone == item.milestone
                assert items[number].length == item.length
                assert items[number].submit == item.submit
            case other:
                raise AssertionError(other)
        assert item.saved == saved, "progress is that of the last good checkpoint"
        assert saved < truth
        assert (item.ending == "completed") == (number == len(items))
        ready = item.submit if item.ending == "preempted" else item.end


@pytest.mark.parametrize("mechanism", EVERY)
@settings(max_examples=12)
@given(mix=mixes(), chosen=operated, variation=varied)
def test_laws(mechanism: str, mix: Mix, chosen: dict[str, Any], variation: dict[str, Any]) -> None:
    result = simulate(mix.jobs, mix.nodes, mechanism, plans=mix.plans, **chosen, **variation)
    of_job = courses(result)
    for job in mix.jobs:
        if job.type is JobType.STOCHASTIC:
            assert_laws(job, of_job[job.job_id])

    # Node-time by the event log alone.
    busy: dict[int, int] = defaultdict(int)
    size, since, used = defaultdict(int), defaultdict(int), 0
    for entry in result.entries:
        if entry.event not in ("start", "shrink", "expand", "warn", "preempt", "expire", "complete", "kill"):
            continue
        job_id = entry.job_id
        assert entry.before == size[job_id]
        busy[job_id] += size[job_id] * (entry.time - since[job_id])
        size[job_id], since[job_id] = entry.after, entry.time
        used += entry.after - entry.before
        assert 0 <= used <= mix.nodes
    assert used == 0
    account = result.accounting
    assert sum(busy.values()) == sum(account) - account.held - account.idle
    came = [record for record in result.records if record.submit is not None]
    if came:
        elapsed = max(record.end or 0 for record in came) - min(record.submit or 0 for record in came)
        assert sum(account) == mix.nodes * elapsed
    records = {record.job_id: record for record in result.records}
    for job_id, items in of_job.items():
        record = records[job_id]
        assert busy[job_id] == sum(item.nodes * (item.end - item.start) for item in items)
        lost = [item for item in items if item.ending not in ("saved", "completed")]
        assert record.lost == sum(item.nodes * (item.end - item.start) for item in lost)
        assert record.preemptions == sum(item.ending == "preempted" for item in items)
        assert (record.start, record.end, record.status) == (items[0].start, items[-1].end, "completed")
    if mechanism == "baseline":
        assert not any(item.ending == "preempted" for items in of_job.values() for item in items)

    # Each reservation is submitted, started and ended once in the log.
    events = defaultdict(list)
    for entry in result.entries:
        events[entry.job_id].append((entry.event, entry.time + result.origin))
    for job_id, items in of_job.items():
        expected: list[tuple[str, int]] = [("submit", items[0].submit)]
        for item, after in zip(items, (*items[1:], None), strict=True):
            expected.append(("start", item.start))
            name = {"completed": "complete", "preempted": "preempt"}.get(item.ending, "expire")
            expected.append((name, item.end))
            if after is not None:
                expected.append(("requeue" if name == "preempt" else "submit", item.end))
        assert events[job_id] == expected


def test_a_preempted_reservation_by_hand() -> None:
    """R = 5 s, C = 10 s; the second reservation is preempted at 100 s, 70 s after its start, and again from 40 s on."""
    jobs = [
        stochastic(1, 0, 4, 130.0, "p"),
        on_demand(2, 100, 4, 50),
        rigid(3, 60, 4, 1000),
    ]
    plans = {"p": ReservationPlan([20, 140], [True, False], CostModel(1, 2, 3, checkpoint=10, restart=5))}
    result = simulate(jobs, 4, "N-PAA", plans=plans)
    seen = [
        (item.submit, item.start, item.end, item.length, item.restart, item.work, item.checkpoint, item.ending)
        for item in courses(result)[1]
    ]
    assert [tuple(x / SECOND if isinstance(x, int) else x for x in row) for row in seen] == [
        (0, 0, 30, 30, 0, 20, 10, "saved"),
        (30, 30, 100, 125, 5, 65, 0, "preempted"),
        (30, 150, 265, 125, 5, 110, 0, "completed"),
    ]
    # Job 3, submitted at 60 s, waits for it: the reservation kept its place.
    assert result.records[2].start == 265 * SECOND
    (row,) = stochastic_rows(result)
    # Reserved 30, 70 (as long as it lasted), 125; used 30, 70, 115; three reservations.
    assert row["paid_cost"] == 30 + 70 + 125 + 2 * (30 + 70 + 115) + 3 * 3
    assert row["planned_cost"] == 30 + 125 + 2 * (30 + 115) + 2 * 3
    assert row["reserved"] == 30 + 125 + 125
    assert row["used"] == 30 + 70 + 115
    assert row["wasted"] == 70
    assert row["reservations"] == 3
    assert row["stretch"] == pytest.approx(265 / 130)
    assert row["execution_stretch"] == pytest.approx((30 + 70 + 115) / 130)
    assert result.accounting.lost == 4 * 70 * SECOND
    assert result.accounting.setup == 4 * 5 * SECOND
    assert result.accounting.checkpoint == 4 * 10 * SECOND
    assert result.accounting.compute == (4 * 130 + 4 * 50 + 4 * 1000) * SECOND
    summary = result.summary()
    assert summary["paid_cost_h"] == pytest.approx(float(str(row["paid_cost"])) / 3600)
    assert summary["wasted_node_hours"] == pytest.approx(4 * 70 / 3600)
    assert summary["reserved_node_hours"] == pytest.approx(4 * 280 / 3600)
    assert summary["work_utilization"] == pytest.approx((130 + 50 + 1000) / 1265)
    assert [row["ending"] for row in RESERVATIONS.rows(result)] == ["saved", "preempted", "completed"]


# -- the cost --

eighths = st.integers(1, 400).map(lambda number: number / 8)
prices = st.tuples(
    st.floats(0.1, 5), st.one_of(st.just(0.0), st.floats(0, 5)), st.one_of(st.just(0.0), st.floats(0, 100))
)


@st.composite
def durations(draw: st.DrawFn, milestones: list[float]) -> Any:
    """C or R: constant, a function of the milestone, or a table."""
    kind = draw(st.integers(0, 2))
    if kind == 0:
        return draw(st.one_of(st.just(0.0), eighths))
    slope, latency = draw(st.integers(0, 8)) / 8, draw(eighths)
    if kind == 1:
        return lambda milestone: latency + slope * np.asarray(milestone)
    return Table(milestones, [draw(eighths) for _ in milestones])


@st.composite
def alone(draw: st.DrawFn) -> tuple[ReservationPlan, float]:
    """A plan, and a runtime: anywhere, at a milestone, a tick beside it, or far beyond the last."""
    steps = draw(st.lists(eighths, min_size=1, max_size=6))
    milestones = np.cumsum(steps).tolist()
    flags = draw(st.lists(st.booleans(), min_size=len(steps), max_size=len(steps)))
    costs = CostModel(*draw(prices), draw(durations(milestones)), draw(durations(milestones)))
    plan = ReservationPlan(
        milestones,
        flags,
        costs,
        extension=draw(st.sampled_from([1.5, 2.0, 1.25])),
        extension_checkpointed=draw(st.sampled_from([None, True, False])),
    )
    at = draw(st.sampled_from(milestones)) + draw(st.integers(-1, 1)) * TICK
    runtime = draw(st.one_of(st.just(at), eighths, st.integers(1, 8 * 2000).map(lambda number: number / 8)))
    # An extended milestone need not be a whole number of ticks, and the simulator's is.
    ends = plan.extend(runtime).milestones
    assume(not np.any((np.abs(ends - runtime) < 2 * TICK) & (ends != runtime) & (ends > milestones[-1])))
    return plan, runtime


@settings(max_examples=80)
@given(case=alone(), submit=st.sampled_from([0.0, 17.25, 1.6e9]))
def test_alone_a_job_pays_what_the_planner_says(case: tuple[ReservationPlan, float], submit: float) -> None:
    plan, runtime = case
    result = simulate([stochastic(1, submit, 3, runtime, "p")], 3, plans={"p": plan})
    items = courses(result)[1]
    assert all(item.start == item.submit for item in items), "waits are zero"
    assert len(items) == plan.count_reservations(runtime)
    costs = plan.costs
    paid = math.fsum(
        costs.alpha * item.length / SECOND + costs.beta * (item.end - item.start) / SECOND + costs.gamma
        for item in items
    )
    expected = float(plan.paid_cost(runtime))
    # Each length is a sum of three times that are rounded to a tick.
    tolerance = 3 * TICK * len(items) * (costs.alpha + costs.beta) + 1e-9 * expected
    assert paid == pytest.approx(expected, abs=tolerance)
    (row,) = stochastic_rows(result)
    assert row["paid_cost"] == pytest.approx(paid, rel=1e-12)
    assert row["planned_cost"] == pytest.approx(expected, rel=1e-12)
    assert float(str(result.summary()["paid_cost_h"])) == pytest.approx(paid / 3600, rel=1e-12)


DISTRIBUTIONS: dict[str, Distribution] = {
    "uniform": uniform(60.0, 3600.0),
    "lognormal": truncate(lognormal_from_moments(1200.0, 900.0), upper=20_000.0),
    "gamma": truncate(gamma(2.0, 400.0), upper=9_000.0),
}


STRATEGIES: dict[str, Any] = {
    "optimal": partial(optimal, n=80),
    "all-ckpt": partial(all_checkpoint, n=80),
    "masi": lambda _, costs: masi([700.0, 900.0, 500.0], costs),
    "neuro-avg": lambda _, costs: neuro_average([700.0, 900.0, 500.0], costs),
}


def assert_the_mean_is_expected(distribution: Distribution, strategy: str, count: int, seed: int) -> None:
    costs = CostModel(1.0, 0.5, 60.0, checkpoint=120.0, restart=45.0)
    plan = STRATEGIES[strategy](distribution, costs)
    runtimes = np.round(distribution.sample(np.random.default_rng(seed), count), 6)
    jobs = [stochastic(number, 10.0 * number, 2, float(x), "p") for number, x in enumerate(runtimes, 1)]
    result = simulate(jobs, 2 * count, plans={"p": plan}, events=False)
    paid = np.array([row["paid_cost"] for row in stochastic_rows(result)], float)
    error = paid.std(ddof=1) / math.sqrt(count)
    assert abs(paid.mean() - plan.expected_cost(distribution)) < 3 * error


@pytest.mark.system
@pytest.mark.parametrize(
    ("distribution", "strategy"),
    [("uniform", "optimal"), ("lognormal", "all-ckpt"), ("gamma", "masi"), ("lognormal", "neuro-avg")],
)
def test_the_mean_over_many_jobs_is_the_expected_cost(distribution: str, strategy: str) -> None:
    assert_the_mean_is_expected(DISTRIBUTIONS[distribution], strategy, 800, seed=11)


@pytest.mark.slow
@pytest.mark.parametrize("distribution", DISTRIBUTIONS)
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_the_mean_over_very_many_jobs_is_the_expected_cost(distribution: str, strategy: str) -> None:
    assert_the_mean_is_expected(DISTRIBUTIONS[distribution], strategy, 20_000, seed=5)


# -- nothing that decides reads the true runtime --


def before(entries: Sequence[Entry], time: int) -> list[Entry]:
    return [entry for entry in entries if entry.time < time]


@st.composite
def secrets(draw: st.DrawFn) -> tuple[Mix, int, float]:
    """A table, the row of a stochastic job, and another true runtime for it."""
    mix = draw(mixes())
    rows = [row for row, job in enumerate(mix.jobs) if job.type is JobType.STOCHASTIC]
    assume(rows)
    row = draw(st.sampled_from(rows))
    truth = of(mix.jobs[row])
    other = draw(st.one_of(st.just(truth + TICK), st.integers(1, 40).map(lambda k: truth * k / 8)))
    return mix, row, round(other, 6)


@pytest.mark.parametrize("mechanism", EVERY)
@settings(max_examples=15)
@given(secret=secrets(), chosen=operated, variation=varied, learnt=st.booleans())
def test_no_decision_reads_the_true_runtime(
    mechanism: str, secret: tuple[Mix, int, float], chosen: dict[str, Any], variation: dict[str, Any], learnt: bool
) -> None:
    """Until the job completes in one of two worlds they are the same: also reservations that it outlives in both."""
    mix, row, runtime = secret
    jobs = mix.jobs
    if learnt:
        how = ("masi k=2", "optimal", "neuro")
        names = {name: how[number] for number, name in enumerate(mix.numbers)}
        jobs = [
            replace(job, plan=names[job.plan], application=f"application {job.job_id % 2}", checkpoint_cost=15.0)
            if job.type is JobType.STOCHASTIC
            else job
            for job in jobs
        ]
    secretly = [*jobs]
    secretly[row] = replace(jobs[row], true_runtime=runtime)
    how_planned: dict[str, Any] = {"planner": Planner(fit="discrete", least=2)} if learnt else {"plans": mix.plans}
    results = [
        simulate(table, mix.nodes, mechanism, **how_planned, **chosen, **variation) for table in (jobs, secretly)
    ]
    ends = [result.records[row].end for result in results]
    assert ends[0] is not None
    assert ends[1] is not None
    until = min(ends[0], ends[1]) - results[0].origin
    one, other = (before(result.entries, until) for result in results)
    assert one == other
    one_load, other_load = ([item for item in result.samples if item[0] < until] for result in results)
    assert one_load == other_load


def test_backfilling_by_runtimes_knows_none_of_a_stochastic_job() -> None:
    """The head waits until 30 s; a job of 10 s by its true runtime, and of 100 s by its reservation, is too long."""
    jobs = [rigid(1, 0, 2, 30), rigid(2, 1, 3, 10), stochastic(3, 2, 1, 10.0, "p"), rigid(4, 3, 1, 10, 100)]
    plans = {"p": ReservationPlan([100], False)}
    result = simulate(jobs, 3, plans=plans, backfill_length="runtime")
    assert [record.start for record in result.records] == [0, 30 * SECOND, 40 * SECOND, 3 * SECOND]


def test_the_true_runtime_is_no_part_of_the_overhead_of_a_preemption() -> None:
    """At 60 s job 1 has cost 4 x 60 node-seconds and job 2 has cost 4 x 30, however long job 1 will compute."""
    plans = {"p": ReservationPlan([20, 200], [True, False], CostModel(checkpoint=100, restart=5))}
    for truth in (25.0, 150.0):
        jobs = [stochastic(1, 0, 4, truth, "p"), rigid(2, 30, 4, 500), on_demand(3, 60, 4, 10)]
        result = simulate(jobs, 8, "N-PAA", plans=plans)
        assert [record.preemptions for record in result.records] == [0, 1, 0]


@pytest.mark.system
@pytest.mark.parametrize("mechanism", EVERY)
def test_no_decision_reads_the_true_runtime_on_many_tables(mechanism: str) -> None:
    compared = 0
    for seed in range(25):
        mix = random_mix(seed, max_jobs=20)
        rows = [row for row, job in enumerate(mix.jobs) if job.type is JobType.STOCHASTIC]
        plain = simulate(mix.jobs, mix.nodes, mechanism, plans=mix.plans, backfill_length="runtime")
        for row in rows[:4]:
            for factor in (0.3, 4.0):
                jobs = [*mix.jobs]
                jobs[row] = replace(jobs[row], true_runtime=round(factor * of(jobs[row]), 6))
                other = simulate(jobs, mix.nodes, mechanism, plans=mix.plans, backfill_length="runtime")
                ends = [plain.records[row].end, other.records[row].end]
                until = min(end for end in ends if end is not None) - plain.origin
                assert before(plain.entries, until) == before(other.entries, until)
                compared += len(before(plain.entries, until))
    assert compared > 500


def test_outlived_reservations_do_not_tell_how_much_longer_it_takes() -> None:
    """The moment in which a reservation expires is the same, too."""
    jobs = [stochastic(1, 0, 2, 50.0, "p"), rigid(2, 5, 2, 10), rigid(3, 6, 1, 10, 14), on_demand(4, 70, 1, 5)]
    plans = {"p": ReservationPlan([20, 40], [True, False], CostModel(checkpoint=5, restart=5))}
    for mechanism in EVERY:
        results = [
            simulate([replace(jobs[0], true_runtime=x), *jobs[1:]], 3, mechanism, plans=plans)
            for x in (40.000001, 50.0, 1e6)
        ]
        items = [courses(result)[1] for result in results]
        outlived = next(item for item in items[0] if item.milestone == 40 * SECOND and item.ending == "expired")
        logs = [[entry for entry in result.entries if entry.time <= outlived.end] for result in results]
        assert logs[0] == logs[1] == logs[2]


# -- checkpoints and restarts that vary --


@pytest.mark.system
def test_variation_is_uniform_and_within_its_bounds() -> None:
    """Of 600 jobs that need one second after a restart of 100 s the second reservations show the restarts."""
    plan = ReservationPlan([10, 1000], [True, False], CostModel(checkpoint=20, restart=100))
    count, share = 600, 0.3
    jobs = [stochastic(number, 0, 1, 11.0, "p") for number in range(count)]
    result = simulate(jobs, count, plans={"p": plan}, checkpoint_variation=share)
    restarts = np.sort([items[1].restart for items in courses(result).values()]) / SECOND
    checkpoints = np.array([items[0].checkpoint for items in courses(result).values()]) / SECOND
    assert 70 <= restarts[0] < 71
    assert 129 < restarts[-1] <= 130
    # Kolmogorov's distance to the uniform law; 1.63 / sqrt(n) is passed once in a hundred.
    assert np.abs((np.arange(count) + 0.5) / count - (restarts - 70) / 60).max() < 1.63 / math.sqrt(count)
    # What takes longer than planned is absorbed, and what takes less ends earlier.
    assert checkpoints.max() == 20
    assert 14 <= checkpoints.min() < 14.2
    assert 0.4 < np.mean(checkpoints == 20) < 0.6
    other = simulate(jobs, count, plans={"p": plan}, checkpoint_variation=share, seed=1)
    assert courses(other) != courses(result)
    strict = simulate(jobs, count, plans={"p": plan}, checkpoint_variation=share, checkpoint_mode="strict")
    for job_id, (first, *_) in courses(strict).items():
        absorbed = courses(result)[job_id][0]
        assert first.ending == ("saved" if absorbed.checkpoint < 20 * SECOND else "checkpoint lost")


@settings(max_examples=30)
@given(mix=mixes(max_jobs=8), variation=varied)
def test_an_attempt_varies_alike_under_every_mechanism(mix: Mix, variation: dict[str, Any]) -> None:
    found: dict[tuple[int, int, int, int], tuple[int, int, int, str]] = {}
    for mechanism in EVERY:
        for items in courses(simulate(mix.jobs, mix.nodes, mechanism, plans=mix.plans, **variation)).values():
            saved = 0
            for item in items:
                if item.ending != "preempted":
                    key = (item.job_id, item.number, item.milestone, saved)
                    how = (item.restart, item.work, item.checkpoint, item.ending)
                    assert found.setdefault(key, how) == how
                saved = item.saved


def test_absorbed_time_that_a_restart_leaves_is_computed_in() -> None:
    """Without a checkpoint a job computes until its walltime: a restart of less than 95 of 100 s completes it."""
    plan = ReservationPlan([10, 50], [True, False], CostModel(restart=100))
    jobs = [stochastic(number, 0, 1, 55.0, "p") for number in range(100)]
    for mode in ("absorbed", "strict"):
        result = simulate(jobs, 100, plans={"p": plan}, checkpoint_variation=0.3, checkpoint_mode=mode)
        seconds = [items[1] for items in courses(result).values()]
        assert {item.ending for item in seconds} == {"completed", "expired"}
        for item in seconds:
            assert (item.ending == "completed") == (item.restart <= 95 * SECOND)
            assert item.work == (45 * SECOND if item.ending == "completed" else item.length - item.restart)


@settings(max_examples=30)
@given(mix=mixes(max_jobs=8, types=ONLY_RIGID), share=st.floats(0.01, 1.0), seed=st.integers(0, 99))
def test_absorbed_variation_fails_no_reservation(mix: Mix, share: float, seed: int) -> None:
    jobs = [job for job in mix.jobs if job.type is JobType.STOCHASTIC]
    assume(jobs)
    nodes = sum(job.nodes for job in jobs)
    plain = courses(simulate(jobs, nodes, plans=mix.plans))
    absorbed = courses(simulate(jobs, nodes, plans=mix.plans, checkpoint_variation=share, seed=seed))
    for job_id, items in absorbed.items():
        for varying, planned in zip(items, plain[job_id], strict=False):
            assert (varying.length, varying.milestone) == (planned.length, planned.milestone)
            # One without a checkpoint computes until its walltime, and may do more than planned.
            assert varying.ending == planned.ending or (planned.ending, varying.ending) == ("expired", "completed")
        assert len(items) <= len(plain[job_id])


@settings(max_examples=30)
@given(mix=mixes(max_jobs=8), share=st.floats(0.01, 1.0), seed=st.integers(0, 99))
def test_strict_variation_loses_what_does_not_fit(mix: Mix, share: float, seed: int) -> None:
    how: dict[str, Any] = {"checkpoint_variation": share, "checkpoint_mode": "strict", "seed": seed}
    result = simulate(mix.jobs, mix.nodes, plans=mix.plans, **how)
    for job in mix.jobs:
        if job.type is not JobType.STOCHASTIC:
            continue
        numbers = mix.numbers[job.plan]
        truth, saved = to_ticks(of(job)), 0
        low, high = (
            [to_ticks(x * (1 + sign * share)) for x in (numbers.restart, numbers.checkpoint)] for sign in (-1, 1)
        )
        for item in courses(result)[job.job_id]:
            planned = item.milestone - saved
            least = [x if saved else 0 for x in (low[0], high[0])]
            cut = item.restart == item.length
            assert cut or least[0] - 1 <= item.restart <= least[1] + 1
            match item.ending:
                case "saved":
                    assert low[1] - 1 <= item.checkpoint <= high[1] + 1
                    assert item.restart + planned + item.checkpoint <= item.length
                case "checkpoint lost":
                    assert item.restart + planned + high[1] + 1 >= item.length
                    assert item.work <= planned
                case "expired":
                    assert item.work < truth - saved
                case "completed":
                    assert item.work == truth - saved
            saved = item.saved


@settings(max_examples=20)
@given(mix=mixes(), chosen=operated, seed=st.integers(0, 9))
def test_without_variation_modes_and_seeds_are_one(mix: Mix, chosen: dict[str, Any], seed: int) -> None:
    results = [
        simulate(mix.jobs, mix.nodes, "CUP-PAA", plans=mix.plans, checkpoint_mode=mode, seed=which, **chosen)
        for mode, which in (("absorbed", 0), ("strict", 0), ("strict", seed))
    ]
    assert courses(results[0]) == courses(results[1]) == courses(results[2])
    assert results[0].entries == results[1].entries == results[2].entries


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("checkpoint_variation", -0.1),
        ("checkpoint_variation", 1.5),
        ("checkpoint_variation", math.nan),
        ("checkpoint_variation", "much"),
        ("checkpoint_mode", "lenient"),
        ("seed", -1),
        ("seed", 0.5),
    ],
)
def test_wrong_options(option: str, value: object) -> None:
    with pytest.raises(ParameterError, match=option):
        simulate([rigid(1, 0, 1, 1)], 1, **{option: value})


# -- memory --


def test_memory_by_hand() -> None:
    """Tasks of 10 s at 2 GB, 20 s at 9 GB, 30 s at 4 GB; C = 5 s, R = 3 s.

    [0, 8] fits in 3 GB; to 25 s it is killed for memory after 2 s more, and tried again with the most that is asked
    for, 6 GB; then with 9 GB, which do, and which it keeps.
    """
    plan = ReservationPlan([8, 25, 80], [True, True, False], CostModel(checkpoint=5, restart=3), memory=[3, 5, 6])
    job = stochastic(1, 0, 2, 60.0, "p", memory_profile="10:2 20:9 30:4")
    result = simulate([job], 2, plans={"p": plan})
    rows = [
        (row["number"], row["length"], row["restart"], row["work"], row["saved"], row["ending"], row["memory_gb"])
        for row in RESERVATIONS.rows(result)
    ]
    assert rows == [
        (1, 13, 0, 8, 8, "saved", 3),
        (2, 25, 3, 2, 8, "memory exceeded", 5),
        (3, 25, 3, 2, 8, "memory exceeded", 6),
        (4, 25, 3, 17, 25, "saved", 9),
        (5, 58, 3, 35, 25, "completed", 9),
    ]
    (row,) = stochastic_rows(result)
    assert row["memory_kills"] == 2
    lengths = (13, 25, 25, 25, 58)
    asked = sum(x * memory for x, memory in zip(lengths, (3, 5, 6, 9, 9), strict=True)) / sum(lengths)
    assert row["requested_memory_gb"] == pytest.approx(asked)
    assert result.summary()["memory_kills"] == 2
    assert result.summary()["requested_memory_gb"] == pytest.approx(asked)
    assert result.accounting.lost == 2 * (5 + 5) * SECOND


def test_only_what_is_done_in_a_reservation_needs_its_memory() -> None:
    """Not a task that was done before it, nor one that takes no time, nor one that would begin as it ends."""
    plan = ReservationPlan([10, 40], [True, False], memory=[9, 2])
    for profile in ("10:9 20:1", "10:9 0:99 20:1", "0:99 10:9 20:1", "10:9 5:1 0:99 15:1"):
        result = simulate([stochastic(1, 0, 1, 30.0, "p", memory_profile=profile)], 1, plans={"p": plan})
        assert [item.ending for item in courses(result)[1]] == ["saved", "completed"]
    plan = ReservationPlan([10, 40], [True, False], memory=[2, 9])
    result = simulate([stochastic(1, 0, 1, 30.0, "p", memory_profile="10:2 20:9")], 1, plans={"p": plan})
    assert [item.ending for item in courses(result)[1]] == ["saved", "completed"]
    # Beyond the plan its last memory is asked for.
    plan = ReservationPlan([10, 20], [True, True], memory=[5, 2])
    result = simulate([stochastic(1, 0, 1, 30.0, "p", memory_profile="10:5 20:2")], 1, plans={"p": plan})
    assert [(item.ending, item.memory) for item in courses(result)[1]] == [("saved", 5), ("saved", 2), ("completed", 2)]


def test_without_memory_in_the_plan_or_the_table_nothing_is_killed() -> None:
    asked = ReservationPlan([8, 80], [True, False], memory=[1, 1])
    for plan, profile in ((ReservationPlan([8, 80], [True, False]), "10:99 50:1"), (asked, "")):
        result = simulate([stochastic(1, 0, 1, 60.0, "p", memory_profile=profile)], 1, plans={"p": plan})
        assert [item.ending for item in courses(result)[1]] == ["saved", "completed"]


@st.composite
def memory_cases(draw: st.DrawFn) -> tuple[ReservationPlan, list[float], list[float]]:
    seconds = draw(st.lists(st.integers(0, 200).map(lambda k: k / 8), min_size=1, max_size=5).filter(any))
    peaks = [draw(st.integers(1, 40)) / 4 for _ in seconds]
    steps = draw(st.lists(eighths, min_size=1, max_size=4))
    plan = ReservationPlan(
        np.cumsum(steps),
        [draw(st.booleans()) for _ in steps],
        CostModel(checkpoint=draw(eighths), restart=draw(eighths)),
        memory=[draw(st.integers(1, 40)) / 4 for _ in steps],
    )
    return plan, seconds, peaks


@settings(max_examples=60)
@given(case=memory_cases())
def test_memory_as_in_the_execution_of_plans(case: tuple[ReservationPlan, list[float], list[float]]) -> None:
    """On an empty machine, with a device that writes every checkpoint in just the planned time."""
    plan, seconds, peaks = case
    profile = " ".join(f"{duration}:{peak}" for duration, peak in zip(seconds, peaks, strict=True))
    job = stochastic(1, 0, 1, sum(seconds), "p", memory_profile=profile)
    (row,) = stochastic_rows(simulate([job], 1, plans={"p": plan}))
    constant = float(plan.costs.checkpoint_at([1.0])[0])
    device = CheckpointDevice(constant, 0.0, float(plan.costs.restart_at([1.0])[0]), 0.0)
    expected = execute(plan, TaskRuns(np.array([seconds]), np.array([peaks])), device)
    assert row["reservations"] == expected.reservations[0]
    assert row["memory_kills"] == expected.memory_failures[0]
    assert row["reserved"] == pytest.approx(expected.reserved[0], abs=1e-4)
    assert row["requested_memory_gb"] == pytest.approx(expected.memory[0], abs=1e-6)


def test_a_walltime_that_comes_before_the_heavy_task_is_no_memory_kill() -> None:
    """Strict: R = 100 s takes up to 200 s, so that of 120 s asked for less than 19 s may be left for the 19 s of work
    before the heavy task. A short restart leaves more than the planned 20 s, and the task of then is met."""
    plan = ReservationPlan([20, 40], [True, False], CostModel(restart=100), memory=[2, 2])
    jobs = [stochastic(number, 0, 1, 300.0, "p", memory_profile="39:1 261:9") for number in range(200)]
    late = [stochastic(1000 + n, 0, 1, 300.0, "p", memory_profile="50:1 250:9") for n in range(200)]
    result = simulate(
        [*jobs, *late], 400, plans={"p": plan}, checkpoint_variation=1.0, checkpoint_mode="strict", seed=3
    )
    seconds = [items[1] for job_id, items in courses(result).items() if job_id < 1000]
    assert {item.ending for item in seconds} == {"memory exceeded", "expired"}
    for item in seconds:
        assert (item.ending == "expired") == (item.end - item.start == item.length)
        assert item.ending == "expired" or (item.work == 19 * SECOND and item.restart < 101 * SECOND)
    beyond = [items[1] for job_id, items in courses(result).items() if job_id >= 1000]
    assert {item.ending for item in beyond} == {"memory exceeded", "expired"}
    assert all(item.work == 30 * SECOND for item in beyond if item.ending == "memory exceeded")


def test_a_plan_that_asks_for_no_memory_is_refused() -> None:
    """Nothing, increased by half, is nothing: such a job would be killed for ever."""
    for memory in ([0, 0], [1, 0], [-1, 1], [math.nan, 1]):
        with pytest.raises(ParameterError, match="memory must be finite numbers > 0"):
            ReservationPlan([20, 40], [True, False], memory=memory)


# -- the rest --


def test_the_baseline_keeps_stochastic_jobs() -> None:
    jobs = [stochastic(1, 0, 1, 50.0, "p", trace_runtime=1.0), on_demand(2, 0, 1, 5)]
    result = simulate(jobs, 2, "baseline", plans={"p": ReservationPlan([20, 60], False)})
    assert [item.end for item in courses(result)[1]] == [20 * SECOND, 70 * SECOND]
    assert [record.type for record in result.records] == [JobType.STOCHASTIC, JobType.ON_DEMAND]


def test_the_same_simulation_gives_the_same_records() -> None:
    mix = random_mix(5, max_jobs=20)
    one, other = (
        simulate(mix.jobs, mix.nodes, "CUA-PAA", plans=mix.plans, checkpoint_variation=0.3, seed=4) for _ in range(2)
    )
    assert one.entries == other.entries
    assert courses(one) == courses(other)


def test_plans_that_were_not_given_are_refused() -> None:
    for plan in ("none.json", "optima", "masi q=3", "masi factor=0.5", "optimal n=0", "mem-all-ckpt", "masi k=x"):
        with pytest.raises(InputError, match="plan of job 7"):
            simulate([stochastic(7, 0, 1, 5.0, plan)], 1)


def test_reservations_are_ordered_in_the_gantt_chart() -> None:
    from holdfast.experiments.placement.ranges import size
    from holdfast.experiments.placement.spans import place_nodes

    plan = ReservationPlan([20, 40], [True, False], CostModel(checkpoint=7, restart=5))
    result = simulate([stochastic(1, 0, 2, 30.0, "p"), stochastic(2, 0, 2, 35.0, "p")], 2, plans={"p": plan})
    spans = place_nodes(result)
    assert [(span.job_id, span.number, size(span.nodes)) for span in spans] == [
        (1, 1, 2),
        (2, 1, 2),
        (1, 2, 2),
        (2, 2, 2),
    ]
    for _, same in groupby(sorted(spans, key=lambda span: span.start), key=lambda span: span.start):
        assert len(list(same)) == 1
