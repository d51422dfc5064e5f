"""Designs of resolution V, and the linear models that they support."""

from __future__ import annotations

from itertools import combinations, product

import numpy as np
import pytest

from holdfast.experiments.papers.hybrid.designs import (
    MOST_FACTORS,
    ResponseModel,
    readings_in_pieces,
    resolution_five,
    year_blocks,
)
from holdfast.workloads.ground.errors import ParameterError


def test_any_four_factors_take_all_combinations_of_levels_equally_often() -> None:
    """This is resolution V: neither a factor nor a pair of factors is aliased with another one."""
    levels = resolution_five(MOST_FACTORS)
    assert levels.shape == (256, 17)
    assert not levels[0].any()
    weights = 1 << np.arange(4)
    for places in combinations(range(MOST_FACTORS), 4):
        counts = np.bincount(levels[:, list(places)] @ weights, minlength=16)
        assert (counts == 16).all(), places


def test_blocks_are_orthogonal_to_all_factors_and_pairs() -> None:
    levels, blocks = resolution_five(MOST_FACTORS), year_blocks(MOST_FACTORS)
    assert np.bincount(blocks).tolist() == [64] * 4
    signs = 2 * levels.astype(int) - 1
    for places in [*((place,) for place in range(17)), *combinations(range(17), 2)]:
        effect = signs[:, list(places)].prod(axis=1)
        assert [int(effect[blocks == block].sum()) for block in range(4)] == [0] * 4


def test_effects_and_interactions_are_found_again() -> None:
    rng = np.random.default_rng(1)
    levels, blocks = resolution_five(6), year_blocks(6)
    own, years = rng.normal(size=6), np.array([0.5, -1.5, 2.0, -1.0])
    both = 3.0 * (levels[:, 1] & levels[:, 4])
    responses = np.column_stack([levels @ own + both + years[blocks], rng.normal(size=256)])
    model = ResponseModel.fit(levels, blocks, responses)
    for place in range(6):
        # Where one of two interacting factors is high in half of the runs, the other one adds half of it.
        assert model.effect(0, place).mean == pytest.approx(own[place] + 1.5 * (place in (1, 4)))
    assert model.effect(0, 1, 4).mean == pytest.approx(1.5)
    assert abs(model.effect(0, 0, 2).mean) < 1e-9
    for reading in (levels[7], levels[200]):
        truth = reading @ own + 3.0 * (reading[1] & reading[4])
        assert model.predict(reading[None])[0, 0] == pytest.approx(truth)
    # From year to year the first response differs by its blocks alone, the second by its noise.
    assert model.spread[0] == pytest.approx(years.std(ddof=1))
    assert model.spread[1] == pytest.approx(1.0, abs=0.15)


def test_missing_responses_leave_their_runs_out() -> None:
    levels, blocks = resolution_five(5), year_blocks(5)
    response = levels @ np.arange(1.0, 6.0)
    response[::9] = np.nan
    model = ResponseModel.fit(levels, blocks, response[:, None])
    assert [model.effect(0, place).mean for place in range(5)] == pytest.approx([1.0, 2.0, 3.0, 4.0, 5.0])
    rare = ResponseModel.fit(levels, blocks, np.where(np.arange(256) < 10, 1.0, np.nan)[:, None])
    assert np.isnan(rare.predict(levels[:3])).all()
    assert np.isnan(rare.effect(0, 1).mean)


def test_four_factors_are_crossed_fully() -> None:
    levels, blocks = resolution_five(4), year_blocks(4)
    assert sorted(map(tuple, levels.tolist())) == sorted(product((False, True), repeat=4))
    assert np.bincount(blocks).tolist() == [8, 8]
    signs = 2 * levels.astype(int) - 1
    for places in [*((place,) for place in range(4)), *combinations(range(4), 2)]:
        assert signs[:, list(places)].prod(axis=1)[blocks == 0].sum() == 0


def test_all_readings_come_once() -> None:
    found = np.concatenate(list(readings_in_pieces(5, 7)))
    assert sorted(map(tuple, found.tolist())) == sorted(product((False, True), repeat=5))
    assert not found[0].any()


@pytest.mark.parametrize("factors", [3, 18])
def test_wrong_numbers_of_factors(factors: int) -> None:
    with pytest.raises(ParameterError, match=f"factors must be from 4 to 17, not {factors}"):
        resolution_five(factors)
