"""The simulator against the reference, job by job, on random tables."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.reference.hybrid import MECHANISMS
from tests.strategies import Table, job_tables, random_job_table
from tests.support import ENGINES, losses, outcomes

#: Whoever is to be compared with the reference.
OTHERS = [engine for engine in ENGINES if engine != "reference"]
ALL_MECHANISMS = ["baseline", *MECHANISMS]


def compare(table: Table, engine: str, mechanism: str, **options: Any) -> None:
    """Both must agree on each job's start, end, preemptions, shrinks and losses."""
    for ask in (outcomes, losses):
        expected = ask(table.jobs, table.nodes, mechanism, engine="reference", **options)
        assert ask(table.jobs, table.nodes, mechanism, engine=engine, **options) == expected


@pytest.mark.parametrize("mechanism", ALL_MECHANISMS)
@pytest.mark.parametrize("engine", OTHERS)
@given(table=job_tables(), tenants=st.sampled_from(["any", "fits", "none"]))
@settings(max_examples=30, deadline=None)
def test_simulator_agrees(table: Table, engine: str, mechanism: str, tenants: str) -> None:
    compare(table, engine, mechanism, tenants=tenants)


@pytest.mark.slow
@pytest.mark.parametrize("passes", ["instant", "event"])
@pytest.mark.parametrize("tenants", ["any", "fits", "none"])
@pytest.mark.parametrize("mechanism", ALL_MECHANISMS)
@pytest.mark.parametrize("engine", OTHERS)
def test_simulator_agrees_in_bulk(engine: str, mechanism: str, tenants: str, passes: str) -> None:
    """Some forty jobs are needed before the rarest rules meet."""
    for seed in range(300):
        table = random_job_table(seed, max_jobs=40)
        compare(table, engine, mechanism, tenants=tenants, passes=passes)
