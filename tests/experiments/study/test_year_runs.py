"""Simulated years with a few metrics each: what is simulated once, and what is the same as in a sweep."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from holdfast.experiments.study.simulation_cache import COLUMNS
from holdfast.experiments.study.year_runs import YearRun, distinct, year_rows
from holdfast.simulator import simulate
from holdfast.simulator.results.metrics import summarize
from holdfast.workloads.hybrid.assignment import assign
from holdfast.workloads.theta.generator import generate
from holdfast.workloads.theta.presets import preset_year
from holdfast.workloads.theta.year import ThetaYear

#: Every option of a reading at its other level.
OTHER = (
    ("arrival_takes", "reserved"),
    ("backfill_length", "runtime"),
    ("expansion", "greedy"),
    ("malleable_head", "requested"),
    ("malleable_resume", "former"),
    ("malleable_start", "requested"),
    ("preempted_lenders", "hold"),
    ("shrunk_lenders", "stay"),
    ("tenants", "fits"),
)


def run(mechanism: str, options: Any = OTHER, jobs: int = 700, seed: int = 3) -> YearRun:
    return YearRun(
        seed, jobs, "even-projects", (("checkpoint_factor", 1.0), ("notice_mix", "W4")), options, mechanism, COLUMNS
    )


def test_a_row_is_what_a_plain_simulation_shows() -> None:
    (row,) = year_rows(distinct(run("CUP-SPAA shrink=minimum", jobs=250)))
    trace = generate(preset_year("even-projects", ThetaYear(jobs=250)), 3)
    jobs = assign(trace, seed=3, notice_mix="W4")
    result = simulate(jobs, trace.nodes or 0, "CUP-SPAA shrink=minimum", events=False, **dict(OTHER))
    summary = summarize(result)
    assert tuple(row) == COLUMNS
    shared = [name for name in COLUMNS if name in summary]
    assert {name: row[name] for name in shared} == {name: summary[name] for name in shared}
    assert len(shared) > 12
    hours = result.accounting.by_state()
    assert row["compute_utilization"] == pytest.approx(hours["compute"] / sum(hours.values()))


@pytest.mark.parametrize(
    ("mechanism", "kept"),
    [
        ("baseline", {"backfill_length"}),
        ("N-SPAA", {name for name, _ in OTHER} - {"arrival_takes", "tenants"}),
        ("N-PAA", {name for name, _ in OTHER} - {"arrival_takes", "tenants", "shrunk_lenders"}),
        ("CUA-PAA overhead=seconds", {name for name, _ in OTHER} - {"shrunk_lenders"}),
        ("CUP-SPAA", {name for name, _ in OTHER}),
    ],
)
def test_what_is_left_out_changes_nothing(mechanism: str, kept: set[str]) -> None:
    asked = run(mechanism)
    own = distinct(asked)
    assert {name for name, _ in own.options} == kept
    # The default factor of checkpoint intervals is no choice.
    assert own.assignment == (("notice_mix", "W4"),)
    assert list(year_rows(own)) == list(year_rows(asked))


def test_what_stays_may_change_something() -> None:
    """The test above would also pass if options changed nothing at all."""
    for mechanism, name in (
        ("baseline", "backfill_length"),
        ("N-PAA", "malleable_start"),
        ("CUP-SPAA", "shrunk_lenders"),
        ("CUP-SPAA", "tenants"),
    ):
        asked = run(mechanism)
        without = replace(asked, options=tuple(item for item in OTHER if item[0] != name))
        assert list(year_rows(without)) != list(year_rows(asked)), (mechanism, name)
