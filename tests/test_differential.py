"""The simulator equals an independent reading of the spec, job for job and node-tick for node-tick."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simulator import simulate
from tests.reference.hybrid import MECHANISMS, replay
from tests.strategies import Table, job_tables, random_job_table
from workloads.units import to_ticks

options = st.fixed_dictionaries(
    {
        "tenants": st.sampled_from(["any", "any", "fits", "none"]),
        "backfill_length": st.sampled_from(["walltime", "walltime", "runtime"]),
        "passes": st.sampled_from(["instant", "instant", "event"]),
    }
)


def assert_equals_reference(table: Table, mechanism: str, **chosen: Any) -> None:
    result = simulate(table.jobs, table.nodes, mechanism, **chosen)
    expected = replay(table.jobs, table.nodes, mechanism, **chosen)
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


@pytest.mark.parametrize("mechanism", ["baseline", *MECHANISMS])
@settings(max_examples=30)
@given(table=job_tables(), chosen=options)
def test_equals_an_independent_reading_of_the_spec(mechanism: str, table: Table, chosen: dict[str, str]) -> None:
    assert_equals_reference(table, mechanism, **chosen)


@pytest.mark.parametrize("mechanism", ["baseline", *MECHANISMS])
def test_equals_an_independent_reading_of_the_spec_on_many_tables(mechanism: str) -> None:
    for seed in range(200):
        assert_equals_reference(random_job_table(seed), mechanism)


@pytest.mark.slow
@pytest.mark.parametrize("passes", ["instant", "event"])
@pytest.mark.parametrize("tenants", ["any", "fits", "none"])
@pytest.mark.parametrize("mechanism", ["baseline", *MECHANISMS])
def test_equals_an_independent_reading_of_the_spec_in_bulk(mechanism: str, tenants: str, passes: str) -> None:
    """Some forty jobs are needed before the rarest rules meet."""
    for seed in range(300):
        table = random_job_table(seed, max_jobs=40)
        assert_equals_reference(table, mechanism, tenants=tenants, passes=passes)
