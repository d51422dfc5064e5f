"""Starvation: against every pair of jobs, and by hand."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.simulator import simulate
from holdfast.simulator.results.measured_simulation import MeasuredWindow
from holdfast.simulator.results.metrics import summarize
from holdfast.simulator.results.overtaking import STARVED_AFTER, overtaken_for, starvation_count
from holdfast.simulator.results.records import Records
from tests.strategies.tables import Table, job_tables
from tests.support.jobs import rigid

DAY = 86_400.0


@given(st.lists(st.tuples(st.integers(0, 6), st.integers(0, 9)), max_size=12))
def test_every_pair_of_jobs_says_the_same(rows: list[tuple[int, int]]) -> None:
    jobs = [(queued, queued + wait) for queued, wait in rows]
    expected = [
        max([0, *(start - other_start for other, other_start in jobs if other > queued)]) for queued, start in jobs
    ]
    queued, starts = (np.array([job[side] for job in jobs], np.int64) for side in (0, 1))
    assert overtaken_for(queued, starts).tolist() == expected
    large = overtaken_for(queued.astype(object), starts.astype(object))
    assert large.tolist() == expected


@given(job_tables(), st.integers(0, 100))
def test_records_of_simulations_say_the_same(table: Table, seconds: int) -> None:
    result = simulate(table.jobs, table.nodes, "CUA-SPAA")
    records = [record for record in result.records if record.start is not None and record.status != "cancelled"]
    starved = sum(
        any(
            other.queued > record.queued and record.start - other.start > seconds * 10**6  # type: ignore[operator]
            for other in records
        )
        for record in records
    )
    assert starvation_count(result.records.part(result.records.ran), seconds * 10**6) == starved


def test_a_week_is_the_limit() -> None:
    """One short job overtakes the wide one at 5 s; the job before both ends a week later, or a tick after that."""
    for longer, starved in ((0.0, 0), (1e-6, 1)):
        jobs = [rigid(1, 0, 9, 5 + 7 * DAY + longer), rigid(2, 1, 10, 60), rigid(3, 5, 1, 60)]
        summary = summarize(simulate(jobs, 10))
        assert summary["starved"] == starved
        assert summary["wait_p99_h"] == pytest.approx(np.quantile([0, 4 + 7 * DAY, 0], 0.99) / 3600)
    assert STARVED_AFTER == 7 * DAY * 10**6
    # Only measured jobs overtake.
    late = summarize(simulate([*jobs, rigid(4, 6, 1, 9)], 10), window=MeasuredWindow(warmup=5.5))
    assert (late["jobs"], late["starved"]) == (1, 0)


@given(st.lists(st.tuples(st.integers(0, 6), st.integers(-3, 9)), max_size=12), st.integers(0, 9))
def test_the_count_is_that_of_all_jobs(rows: list[tuple[int, int]], threshold: int) -> None:
    # Logs may record a start before the job was eligible.
    queued, waits = (np.array([row[side] for row in rows], np.int64) for side in (0, 1))
    absent = np.zeros(len(rows), np.int64)
    records = Records(
        job_id=np.arange(len(rows)), type=absent, submit=queued, start=queued + waits, end=queued + 10, nodes=absent,
        runtime=absent, status=absent,
    )  # fmt: skip
    expected = np.count_nonzero(overtaken_for(queued, queued + waits) > threshold)
    assert starvation_count(records, threshold) == expected
