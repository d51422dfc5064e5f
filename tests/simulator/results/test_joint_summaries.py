"""Runs that are measured together have the metrics that each has by itself, to the last bit."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.simulator import Result, simulate
from holdfast.simulator.results.measured_simulation import MeasuredWindow, measure_together
from holdfast.simulator.results.metrics import joint_summaries, summarize, summarize_types
from holdfast.simulator.simulation import checked_table, simulate_table
from holdfast.workloads.ground.errors import InputError
from holdfast.workloads.hybrid.assignment import Assignment, assign
from holdfast.workloads.theta.generator import generate
from holdfast.workloads.theta.year import ThetaYear
from tests.strategies.tables import Table, job_tables

ORDERS = ("fcfs", "sjf", "largest", "f2", "wfp3")


def check_joint(results: list[Result], window: MeasuredWindow) -> None:
    for result, (summary, types) in zip(results, joint_summaries(results, window=window), strict=True):
        alone = summarize(result, window=window)
        assert list(summary) == list(alone)
        assert {key: repr(value) for key, value in summary.items()} == {
            key: repr(value) for key, value in alone.items()
        }
        assert repr(types) == repr(summarize_types(result, window=window))


@given(job_tables(max_jobs=20, max_nodes=12), st.sampled_from((0.0, 30.0)))
@settings(max_examples=150)
def test_runs_of_a_small_table(table: Table, warmup: float) -> None:
    jobs = checked_table(table.jobs, table.nodes)
    results = [simulate_table(jobs, table.nodes, events=False, order=order) for order in ORDERS]
    try:
        summarize(results[0], window=MeasuredWindow(warmup))
    except InputError as error:
        with pytest.raises(InputError, match=str(error)[:10]):
            joint_summaries(results, window=MeasuredWindow(warmup))
    else:
        check_joint(results, MeasuredWindow(warmup))


def test_runs_of_a_generated_table() -> None:
    trace = generate(ThetaYear(jobs=700), seed=4)
    assert trace.nodes is not None
    jobs = checked_table(assign(trace, Assignment(), seed=4), trace.nodes)
    results = [simulate_table(jobs, trace.nodes, events=False, order=order) for order in ORDERS]
    assert {result.engine for result in results} == {"compiled"}
    together = measure_together(results, MeasuredWindow())
    # Their metrics come from one array of all runs.
    assert len({id(run.jobs.wait.base) for run in together}) == 1
    assert len({run.jobs.metrics["wait_h"] for run in together}) > 3
    check_joint(results, MeasuredWindow())
    check_joint(results, MeasuredWindow(86_400.0, 86_400.0))


def test_runs_of_different_tables_are_measured_one_by_one() -> None:
    def result(seed: int, mechanism: str = "baseline") -> Result:
        trace = generate(ThetaYear(jobs=60), seed=seed)
        assert trace.nodes is not None
        return simulate(assign(trace, Assignment(), seed=seed), trace.nodes, mechanism, events=False)

    check_joint([result(1), result(2), result(1, "CUA-SPAA")], MeasuredWindow())
