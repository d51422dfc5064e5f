"""The simulator equals an independent reading of the spec, job for job and node-tick for node-tick."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.simulator import Result, simulate
from holdfast.workloads.ground.units import to_ticks
from tests.reference.hybrid import LEAST_LOSS, MECHANISMS, Replay, replay
from tests.strategies.tables import Table, crowded_job_table, job_tables, random_job_table

options = st.fixed_dictionaries(
    {
        "tenants": st.sampled_from(["any", "any", "fits", "none"]),
        "backfill_length": st.sampled_from(["walltime", "walltime", "runtime"]),
        "passes": st.sampled_from(["instant", "instant", "event"]),
        "warning": st.sampled_from([120.0, 120.0, 0.0, 30.0, 600.0]),
        "timeout": st.sampled_from([600.0, 600.0, 0.0, 3600.0]),
    }
)


def assert_same_jobs(result: Result, expected: Replay) -> None:
    for record in result.records:
        seen = expected[record.job_id]
        ours = (record.start, record.end, record.preemptions, record.shrinks, record.lost)
        theirs = (
            None if seen.start is None else to_ticks(seen.start),
            None if seen.end is None else to_ticks(seen.end),
            seen.preemptions,
            seen.shrinks,
            to_ticks(seen.lost_node_seconds),
        )
        assert ours == theirs, f"job {record.job_id}"


def assert_equals_reference(table: Table, mechanism: str, **chosen: Any) -> None:
    result = simulate(table.jobs, table.nodes, mechanism, **chosen)
    expected = replay(table.jobs, table.nodes, mechanism, **chosen)
    assert_same_jobs(result, expected)
    if mechanism != "baseline":
        totals = expected.totals
        assert result.accounting == (
            totals.compute,
            totals.setup,
            totals.checkpoint,
            totals.lost,
            totals.warning,
            totals.held,
            totals.idle,
            0,  # nodes are always there
        )


@pytest.mark.parametrize("mechanism", ["baseline", *MECHANISMS, "CUP-KNAPSACK", "CUA-SKNAPSACK", "CUA-WAIT"])
@settings(max_examples=30)
@given(table=job_tables(), chosen=options)
def test_equals_an_independent_reading_of_the_spec(mechanism: str, table: Table, chosen: dict[str, Any]) -> None:
    assert_equals_reference(table, mechanism, **chosen)


@pytest.mark.system
@pytest.mark.parametrize("mechanism", ["baseline", *MECHANISMS])
def test_equals_an_independent_reading_of_the_spec_on_many_tables(mechanism: str) -> None:
    for seed in range(150):
        assert_equals_reference(random_job_table(seed), mechanism)


@pytest.mark.parametrize("warning", [120, 600])
def test_equals_an_independent_reading_of_the_spec_on_a_crowded_machine(warning: float) -> None:
    for seed, mechanism in enumerate([*MECHANISMS, *(f"CUP-{arrival}" for arrival in LEAST_LOSS)]):
        assert_equals_reference(crowded_job_table(seed), mechanism, warning=warning)


@pytest.mark.slow
@pytest.mark.parametrize("tenants", ["any", "fits", "none"])
@pytest.mark.parametrize("mechanism", ["baseline", *MECHANISMS, *(f"CUP-{arrival}" for arrival in LEAST_LOSS)])
def test_equals_an_independent_reading_of_the_spec_on_crowded_machines(mechanism: str, tenants: str) -> None:
    """With 120 jobs and more open reservations than one the rarest rules meet often."""
    for seed in range(40):
        chosen: dict[str, Any] = {"warning": (120, 0, 600)[seed % 3], "passes": ("instant", "event")[seed % 2]}
        assert_equals_reference(crowded_job_table(seed), mechanism, tenants=tenants, **chosen)


@pytest.mark.slow
@pytest.mark.parametrize("passes", ["instant", "event"])
@pytest.mark.parametrize("tenants", ["any", "fits", "none"])
@pytest.mark.parametrize("mechanism", ["baseline", *MECHANISMS])
def test_equals_an_independent_reading_of_the_spec_in_bulk(mechanism: str, tenants: str, passes: str) -> None:
    """Some forty jobs are needed before the rarest rules meet."""
    for seed in range(300):
        table = random_job_table(seed, max_jobs=40)
        assert_equals_reference(table, mechanism, tenants=tenants, passes=passes)
