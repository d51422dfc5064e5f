"""Jobs that are eligible after their submit: held until then, and ordered by their submit from then on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.simulator import Result, simulate
from holdfast.simulator.results.metrics import summarize
from holdfast.simulator.results.reservations import stochastic_rows
from holdfast.workloads.ground.errors import InputError
from holdfast.workloads.ground.units import SECOND, to_seconds, to_ticks
from holdfast.workloads.table.job import Job, JobType
from holdfast.workloads.table.job_table import read_job_table, write_job_table
from tests.reference.backfilling import replay_strict, replay_with_reservations
from tests.reference.easy import replay_easy, replay_easy_naive
from tests.reference.hybrid import MECHANISMS, replay
from tests.reference.life import Plain, replay_life
from tests.strategies.lives import lively, lively_mixes
from tests.strategies.mixes import Mix
from tests.strategies.tables import Table, job_tables
from tests.support.jobs import on_demand, rigid, stochastic

#: (submit, eligible, nodes, walltime, runtime): small and full of ties.
Row = tuple[int, int, int, int, int]
rows = st.lists(
    st.tuples(st.integers(0, 12), st.integers(0, 24), st.integers(1, 8), st.integers(1, 8), st.integers(1, 8)),
    min_size=1,
    max_size=12,
)
RULES = ("none", "easy", "easy depth=3", "conservative", "slurm")


def jobs_of(table: list[Row]) -> list[Job]:
    return [
        rigid(row, submit, nodes, min(runtime, walltime), walltime, eligible=float(eligible))
        for row, (submit, eligible, nodes, walltime, runtime) in enumerate(table)
    ]


def starts(result: Result) -> list[float]:
    return [to_seconds(record.start or 0) for record in result.records]


@settings(max_examples=100)
@given(table=rows, machine=st.integers(8, 12))
def test_every_rule_starts_jobs_as_the_plain_references_do(table: list[Row], machine: int) -> None:
    submit, earliest, nodes, walltime, runtime = (list(column) for column in zip(*table, strict=True))
    eligible = [max(pair) for pair in zip(submit, earliest, strict=True)]
    runtime = [min(pair) for pair in zip(runtime, walltime, strict=True)]
    asked = submit, nodes, walltime, runtime, machine
    expected = {
        "none": replay_strict(submit, nodes, runtime, machine, eligible),
        "easy": replay_easy(*asked, eligible=eligible),
        "easy depth=3": replay_with_reservations(*asked, 3, eligible).start,
        "conservative": replay_with_reservations(*asked, None, eligible).start,
    }
    assert replay_easy_naive(*asked, eligible=eligible) == expected["easy"]
    for rule, found in expected.items():
        assert starts(simulate(jobs_of(table), machine, backfilling=rule)) == found, rule


@pytest.mark.parametrize("mechanism", MECHANISMS)
@settings(max_examples=30)
@given(table=job_tables(), data=st.data())
def test_every_mechanism_equals_the_independent_reading(mechanism: str, table: Table, data: st.DataObject) -> None:
    def pick(low: int, high: int) -> int:
        return data.draw(st.integers(low, high))

    jobs = lively(pick, Mix(table.jobs, table.nodes, {}), state=False, cancelled=False, held=True).jobs
    jobs = [replace(job, preceding=None, think_time=None) for job in jobs]
    expected = replay(jobs, table.nodes, mechanism)
    for record in simulate(jobs, table.nodes, mechanism).records:
        outcome = expected[record.job_id]
        ours = tuple(None if time is None else to_seconds(time) for time in (record.start, record.end))
        assert ours == (outcome.start, outcome.end), f"job {record.job_id}"


@settings(max_examples=100)
@given(table=job_tables(types=(JobType.RIGID,), max_jobs=14), data=st.data())
def test_held_jobs_are_withdrawn_and_depend_as_in_the_plain_reading(table: Table, data: st.DataObject) -> None:
    jobs = [
        rigid(
            job.job_id,
            float(round(job.submit or 0)),
            job.nodes,
            float(-(-job.runtime // 1)),
            float(-(-job.walltime // 1)),
        )
        for job in table.jobs
    ]
    mix = lively(lambda low, high: data.draw(st.integers(low, high)), Mix(jobs, table.nodes, {}), held=True)
    places = {job.job_id: place for place, job in enumerate(mix.jobs)}
    plain = [
        Plain(
            to_ticks(job.submit or 0), job.nodes, to_ticks(job.walltime), to_ticks(job.runtime),
            None if job.cancelled_at is None else to_ticks(job.cancelled_at) - to_ticks(job.submit or 0),
            None if job.preceding is None else places[job.preceding],
            None if job.think_time is None else to_ticks(job.think_time),
            None if job.running_since is None else to_ticks(job.running_since),
            to_ticks(job.eligible) if job.eligible is not None and job.eligible > (job.submit or 0) else 0,
        )
        for job in mix.jobs
    ]  # fmt: skip
    for record, seen in zip(simulate(mix.jobs, mix.nodes).records, replay_life(plain, mix.nodes), strict=True):
        ours = (record.submit, record.start, record.end, record.status == "cancelled")
        assert ours == (seen.submit, seen.start, seen.end, seen.gone), f"job {record.job_id}"


@pytest.mark.parametrize("rule", RULES)
@settings(max_examples=25)
@given(table=rows, holds=st.integers(0, 9), mechanism=st.sampled_from(("baseline", *MECHANISMS)))
def test_where_holds_keep_the_order_they_are_later_submits(
    rule: str, table: list[Row], holds: int, mechanism: str
) -> None:
    held = [replace(job, eligible=(job.submit or 0) + holds) for job in jobs_of(table)]
    late = [replace(job, submit=job.eligible, eligible=None) for job in held]
    assert starts(simulate(held, 8, mechanism, backfilling=rule)) == starts(
        simulate(late, 8, mechanism, backfilling=rule)
    )


@settings(max_examples=25)
@given(mix=lively_mixes(), mechanism=st.sampled_from(("baseline", *MECHANISMS)))
def test_eligible_by_the_submit_says_nothing(mix: Mix, mechanism: str) -> None:
    with_eligible = [replace(job, eligible=job.submit) if job.notice is None else job for job in mix.jobs]
    once, again = (simulate(jobs, mix.nodes, mechanism, plans=mix.plans) for jobs in (mix.jobs, with_eligible))
    assert (once.records, once.entries, once.samples) == (again.records, again.entries, again.samples)
    assert not once.records.held


def test_a_held_job_by_hand() -> None:
    """Job 2 is held until 500 s: job 3 passes it, and when it is eligible it goes before job 4, which waits."""
    jobs = [
        rigid(1, 0, 4, 100),
        rigid(2, 10, 4, 50, eligible=500.0),
        rigid(3, 20, 4, 450),
        rigid(4, 30, 4, 10, 1000),
    ]
    result = simulate(jobs, 4)
    assert starts(result) == [0, 550, 100, 600]
    record = result.record[2]
    assert (record.submit, record.eligible, record.wait, record.turnaround) == tuple(
        SECOND * time for time in (10, 500, 50, 590)
    )
    assert [(entry.time // SECOND, entry.event, entry.cause) for entry in result.entries if entry.job_id == 2] == [
        (10, "hold", ""),
        (500, "submit", "eligible"),
        (550, "start", "in order"),
        (600, "complete", ""),
    ]
    summary = result.summary()
    assert summary["wait_h"] == pytest.approx((0 + 50 + 80 + 570) / 4 / 3600)
    assert summary["wait_max_h"] == pytest.approx(570 / 3600)
    # Turnaround counts from the submit, whatever kept the job back; so does the slowdown.
    assert summary["turnaround_h"] == pytest.approx((100 + 590 + 530 + 580) / 4 / 3600)
    assert record.bounded_slowdown == pytest.approx(590 / 50)
    assert result.jobs[["submit", "eligible", "wait"]].values.tolist() == [
        [0, 0, 0], [10, 500, 50], [20, 20, 80], [30, 30, 570],
    ]  # fmt: skip


def test_elapsed_time_begins_with_the_first_submit_held_or_not() -> None:
    result = simulate([rigid(1, 0, 2, 10, eligible=90.0), rigid(2, 50, 2, 10)], 4)
    assert sum(result.accounting) == 4 * 100 * SECOND
    assert result.accounting.compute == 2 * 20 * SECOND


def test_a_job_is_withdrawn_while_it_is_held() -> None:
    result = simulate([rigid(1, 0, 4, 10, eligible=90.0, cancelled_at=40.0), rigid(2, 0, 4, 10)], 4)
    assert (result.record[1].start, result.record[1].end) == (None, 40 * SECOND)
    assert [(entry.event, entry.cause) for entry in result.entries if entry.job_id == 1] == [
        ("hold", ""),
        ("cancel", "held"),
    ]
    assert all(waiting == 0 for *_, waiting, _ in result.samples)


def test_an_on_demand_job_without_notice_arrives_when_it_is_eligible() -> None:
    jobs = [rigid(1, 0, 4, 1000), on_demand(2, 10, 2, 50, eligible=300.0)]
    result = simulate(jobs, 4, "N-PAA")
    assert (result.record[2].start, result.record[2].wait) == (300 * SECOND, 0)
    assert result.summary()["instant_start_ratio_strict"] == 1


def test_a_dependency_and_a_hold_both_keep_a_job_back() -> None:
    first = rigid(1, 0, 2, 100)
    after = {"preceding": 1, "think_time": 20.0}
    # Without a word of its own the job would be submitted at 120 s, and not as recorded at 300 s.
    for submit, eligible, start in ((0, 50.0, 120), (0, 400.0, 400), (300, 300.0, 120), (300, None, 120)):
        result = simulate([first, rigid(2, submit, 2, 10, eligible=eligible, **after)], 4)
        assert (result.record[2].submit, result.record[2].start) == (120 * SECOND, start * SECOND)
        assert result.record[2].wait == 0


def test_the_starting_state_holds_jobs_that_are_not_eligible() -> None:
    jobs = [
        rigid(1, 0, 4, 100, running_since=50.0),
        rigid(2, 10, 2, 10, eligible=200.0),
        rigid(3, 20, 4, 10, eligible=30.0),
    ]
    result = simulate(jobs, 4)
    assert starts(result)[1:] == [200, 150]
    assert [entry.cause for entry in result.entries if entry.event == "submit"] == ["waits already", "eligible"]


@pytest.mark.parametrize("order", ["wfp3", "unicep", "alcf", "fairshare patience=100", "multifactor age=1000"])
def test_orders_by_wait_count_from_eligibility(order: str) -> None:
    """Job 3 was submitted first, but has waited least; all else is equal."""
    shape: dict[str, Any] = {"nodes": 4, "runtime": 100.0}
    jobs = [
        rigid(1, 0, 4, 1000),
        rigid(2, 20, user="a", **shape),
        rigid(3, 10, user="a", eligible=900.0, **shape),
        rigid(4, 30, user="a", **shape),
    ]
    assert starts(simulate(jobs, 4, order=order)) == [0, 1000, 1200, 1100]
    assert starts(simulate(jobs, 4)) == [0, 1100, 1000, 1200]


@pytest.mark.parametrize(
    "order", ["wfp3", "unicep", "alcf fifo_factor=60", "fairshare patience=9", "multifactor age=9"]
)
def test_many_waiting_jobs_are_ranked_as_few_are(order: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Columns of a long queue know when each job was eligible."""
    jobs = [
        rigid(n, n % 7, 1 + n % 4, 50.0 + n % 5, 90.0, user=f"u{n % 3}", eligible=float(n * 37 % 150))
        for n in range(60)
    ]
    few = starts(simulate(jobs, 4, order=order))
    monkeypatch.setattr("holdfast.simulator.machine.wait_queue.DEEP", 2)
    assert starts(simulate(jobs, 4, order=order)) == few


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_the_job_table_keeps_eligible(tmp_path: Path, suffix: str) -> None:
    jobs = [rigid(1, 0, 4, 10), rigid(2, 5, 4, 10, eligible=70.5)]
    path = tmp_path / f"jobs.{suffix}"
    write_job_table(jobs, path)
    assert [job.eligible for job in read_job_table(path).jobs] == [None, 70.5]
    write_job_table(jobs[:1], path)
    if suffix == "csv":
        assert "eligible" not in path.read_text()


BREAK: list[tuple[Callable[[], Job], str]] = [
    (lambda: rigid(1, 0, 4, 10, eligible=-5.0), "eligible of job 1 must be"),
    (lambda: rigid(1, 0, 4, 10, eligible=float("nan")), "eligible of job 1 must be"),
    (lambda: rigid(1, 0, 4, 10, eligible=9.0, running_since=5.0), "at most its running_since of 5.0 s, not 9.0"),
    (lambda: on_demand(1, 9, 4, 10, notice=0.0, estimated=9.0, eligible=9.0), "missing for a job with a notice"),
]


@pytest.mark.parametrize(("job", "sentence"), BREAK)
def test_illegal_times_are_refused(job: Callable[[], Job], sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        simulate([job()], 4)


@pytest.mark.parametrize("mechanism", ["baseline", "CUP-SPAA"])
def test_a_stochastic_job_that_is_cancelled_while_it_is_held_is_never_planned(mechanism: str) -> None:
    jobs = [
        rigid(1, 0, 1, 60),
        stochastic(2, 100, 1, 195, "optimal", cancelled_at=240.0, eligible=980.0),
    ]
    result = simulate(jobs, 1, mechanism)
    cancelled = result.records[1]
    assert (cancelled.status, cancelled.start, to_seconds(cancelled.end or 0)) == ("cancelled", None, 240)
    assert result.stochastic == []
    # What is told of stochastic jobs counts those that were planned.
    assert list(stochastic_rows(result)) == []
    assert summarize(result)["utilization"] > 0


@pytest.mark.parametrize("mechanism", ["baseline", "CUP-SPAA"])
def test_a_job_that_was_held_before_the_starting_state_can_be_cancelled(mechanism: str) -> None:
    """Submitted at 10 s, eligible at 20 s, the replay begins at 40 s with a job that runs until 140 s."""
    jobs = [
        rigid(1, 0, 4, 110, 110, running_since=40.0),
        rigid(2, 10, 4, 50, 50, eligible=20.0, cancelled_at=70.0),
    ]
    record = simulate(jobs, 4, mechanism).records[1]
    assert (record.status, record.start, to_seconds(record.end or 0)) == ("cancelled", None, 70)
