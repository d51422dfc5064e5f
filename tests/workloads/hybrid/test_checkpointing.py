"""Checkpoint interval, cost and counts against the formulas worked by other means."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.workloads.ground.errors import ParameterError
from holdfast.workloads.hybrid.checkpointing import (
    NODE_MTBF,
    checkpoint_cost,
    checkpoint_interval,
    checkpoints_of_compute,
    checkpoints_of_job,
    checkpoints_of_run,
    daly_interval,
)
from holdfast.workloads.table.job import Job, JobType

TICKS = st.integers(1, 10**12)


def test_daly_interval_of_a_job_worked_by_hand() -> None:
    # 1,024 nodes at 5 years each: M = 153,984.375 s; delta = 1,200 s; delta / 2M = 0.00389650...
    # sqrt(2 delta M) = sqrt(369,562,500) = 19,224.01; factor 1 + 0.0624220/3 + 0.0038965/9 = 1.02124034
    assert NODE_MTBF / 1024 == 153_984.375
    assert daly_interval(1200.0, 153_984.375) == pytest.approx(18_432.3, abs=0.5)
    assert checkpoint_interval(1024) == daly_interval(1200.0, 153_984.375)


def test_daly_interval_nearly_minimises_the_expected_runtime() -> None:
    """Daly's model of the wall time, minimised numerically: the estimate is within 1 % of the optimum's place."""
    cost, mtbf, restart = 600.0, 50_000.0, 0.0

    def wall(tau: float) -> float:
        return mtbf * math.exp(restart / mtbf) * (math.exp((tau + cost) / mtbf) - 1) / tau

    best = min((tau for tau in range(1000, 30_000, 5)), key=wall)
    assert daly_interval(cost, mtbf) == pytest.approx(best, rel=0.01)


def test_daly_interval_is_the_mtbf_where_a_checkpoint_takes_too_long() -> None:
    assert daly_interval(600.0, 300.0) == 300.0
    assert daly_interval(600.0, 299.0) == 299.0
    assert daly_interval(600.0, 301.0) != 301.0


@pytest.mark.parametrize(("nodes", "seconds"), [(1, 600.0), (1023, 600.0), (1024, 1200.0), (4392, 1200.0)])
def test_cost_by_size(nodes: int, seconds: float) -> None:
    assert checkpoint_cost(nodes) == seconds


def test_factor_and_mtbf_scale_the_interval() -> None:
    assert checkpoint_interval(512, 0.5) == 0.5 * checkpoint_interval(512)
    assert checkpoint_interval(512, node_mtbf=NODE_MTBF / 20) < checkpoint_interval(512) / 3


@pytest.mark.parametrize("bad", [0.0, -1.0, math.inf, math.nan])
def test_illegal_values_are_named(bad: float) -> None:
    with pytest.raises(ParameterError, match="checkpoint cost"):
        daly_interval(bad, 1.0)
    with pytest.raises(ParameterError, match="mtbf"):
        daly_interval(1.0, bad)
    with pytest.raises(ParameterError, match="checkpoint_factor"):
        checkpoint_interval(128, bad)


def count_step_by_step(compute: int, interval: int) -> int:
    """Checkpoints counted by walking through a run: one after each full interval if anything is left to compute."""
    dumps = 0
    while compute > interval:
        compute -= interval
        dumps += 1
    return dumps


@given(st.integers(0, 10_000), st.integers(7, 1000))
def test_checkpoints_of_compute_is_what_a_run_makes(compute: int, interval: int) -> None:
    assert checkpoints_of_compute(compute, interval) == count_step_by_step(compute, interval)


@given(TICKS, TICKS, TICKS, TICKS)
def test_the_run_formula_agrees_with_the_compute(compute: int, setup: int, interval: int, cost: int) -> None:
    dumps = checkpoints_of_compute(compute, interval)
    assert checkpoints_of_run(setup + compute + dumps * cost, setup, interval, cost) == dumps


@given(TICKS, st.integers(0, 10**11), TICKS, TICKS)
def test_the_last_slice_is_at_most_a_cycle(runtime: int, setup: int, interval: int, cost: int) -> None:
    dumps = checkpoints_of_run(runtime, setup, interval, cost)
    assert dumps == max(0, math.ceil(Fraction(runtime - setup, interval + cost)) - 1)
    last = runtime - setup - dumps * (interval + cost)
    assert last <= interval + cost
    assert dumps == 0 or last > 0


def test_a_job_without_checkpoints_makes_none() -> None:
    job = Job(1, JobType.MALLEABLE, 0.0, 128, 1e6, 1e6, min_nodes=26)
    assert checkpoints_of_job(job) == 0
