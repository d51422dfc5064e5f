"""Periods of use and percentiles over blocks, against plain sums and samples that are written out."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.experiments.recordings.gain_rows import gain_rows
from holdfast.experiments.statistics import clustered_interval, interval
from holdfast.experiments.whatif.blocks import _percentiles, percentile_gap, periods
from holdfast.experiments.whatif.outcomes import use_by_period
from holdfast.workloads.ground.units import SECOND


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 3)), min_size=1, max_size=20), st.data())
def test_percentiles_are_those_of_the_blocks_written_out(rows: list[tuple[int, int]], data: st.DataObject) -> None:
    values, blocks = (np.array([row[side] for row in rows]) for side in (0, 1))
    weights = np.array(data.draw(st.lists(st.integers(0, 3), min_size=4, max_size=4)))
    if not weights[blocks].any():
        weights[blocks[0]] = 1
    sample = np.repeat(values, weights[blocks])
    (found,) = _percentiles(values.astype(float), blocks, weights[None, :], 0.75)
    assert found == np.quantile(sample, 0.75, method="inverted_cdf")


def test_a_percentile_that_moves_in_every_block_is_decided() -> None:
    blocks = np.repeat(np.arange(12), 50)
    first = np.tile(np.arange(50.0), 12)
    found = percentile_gap(first, first + 3, blocks)
    assert (found.mean, found.low, found.high) == (3, 3, 3)
    # In one block alone the jobs wait for longer: a bootstrap that misses this block shows no difference.
    later = np.where(blocks == 5, first + 1000, first)
    found = percentile_gap(first, later, blocks)
    assert found.low == 0 < found.high
    assert math.isnan(percentile_gap(first, later, np.zeros(600, np.int64)).low)


@given(
    st.lists(st.tuples(st.integers(1, 5), st.integers(0, 4)), min_size=1, max_size=12),
    st.lists(st.integers(1, 9), min_size=1, max_size=5),
)
def test_use_is_the_sum_over_all_instants(steps: list[tuple[int, int]], lengths: list[int]) -> None:
    times = np.cumsum([0, *(length for length, _ in steps)])
    busy = np.array([*(nodes for _, nodes in steps), 0])
    ends = np.cumsum([0, *lengths])
    each = np.zeros(max(int(ends[-1]), int(times[-1])))
    for nodes, begin, end in zip(busy, times[:-1], times[1:], strict=False):
        each[begin:end] = nodes
    expected = [each[begin:end].mean() / 4 for begin, end in pairwise(ends)]
    assert use_by_period(times, busy, ends, 4) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("days", "name", "count"), [(365, "week", 52), (20, "day", 20), (0.5, "hour", 12), (0.01, "minute", 14)]
)
def test_periods_cover_the_submissions(days: float, name: str, count: int) -> None:
    first, last = 7 * SECOND, 7 * SECOND + round(days * 86_400 * SECOND)
    found, ends = periods(first, last)
    assert (found, len(ends) - 1) == (name, count)
    assert (ends[0], ends[-1]) == (first, last)
    assert list(ends) == sorted(set(ends))


def test_many_periods_become_fewer() -> None:
    name, ends = periods(0, 30 * 365 * 86_400 * SECOND)
    assert (name, 60 < len(ends) <= 121) == ("week", True)
    assert len(periods(5, 5)[1]) == 2


def test_the_variance_between_draws_adds_to_that_between_blocks() -> None:
    """Three draws of ten blocks, by the formula of a mean whose two parts vary independently."""
    noise = np.random.default_rng(1).normal(size=(3, 10)) + np.array([[0.0], [5.0], [-4.0]])
    blocks, draws = np.tile(np.arange(10), 3), np.repeat(np.arange(3), 10)
    zero = np.zeros(30)
    (row,) = gain_rows("wait_h", zero, noise.ravel(), blocks, {}, draws)
    error = math.hypot(clustered_interval(noise.ravel(), blocks).error, interval(noise.mean(axis=1)).error)
    assert row["high"] - row["low"] == pytest.approx(2 * 4.302653 * error)
    (alone,) = gain_rows("wait_h", zero, noise.ravel(), blocks, {}, np.zeros(30, np.int64))
    assert (alone["low"], alone["verdict"]) == (None, "undecided")
