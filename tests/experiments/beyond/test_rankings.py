"""Kendall's tau with its interval: against scipy, and what repetitions that disagree leave open."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import kendalltau

from holdfast.experiments.beyond.rankings import rank_correlation, same_ranking, tau
from holdfast.experiments.study.rules import Outcome
from holdfast.experiments.study.verdicts import HYPOTHESIS, Statement

RANKED = Statement("the ranking is the same", "", HYPOTHESIS)


@pytest.mark.parametrize("ties", [False, True])
def test_tau_is_that_of_scipy(ties: bool) -> None:
    rng = np.random.default_rng(3)
    for _ in range(20):
        a, b = rng.integers(0, 4 if ties else 1000, (2, 9)).astype(float)
        assert tau(a.tolist(), b.tolist()) == pytest.approx(float(kendalltau(a, b).statistic))


def years(spread: float, count: int = 5) -> np.ndarray:
    """Values of eight choices in some years: an order with so much noise, which cancels out over the years."""
    noise = np.random.default_rng(1).normal(0, spread, (count, 8))
    return np.arange(8.0) + noise - noise.mean(axis=0)


LOG = np.array([[0.0, 1.0, 2.0, 3.0, 5.0, 4.0, 7.0, 6.0]])


def test_the_interval_is_as_wide_as_the_years_disagree() -> None:
    sure, doubtful = (rank_correlation(years(spread), LOG) for spread in (0.01, 9.0))
    assert sure is not None and doubtful is not None
    # The means are the same: 26 of 28 pairs in the order of the log.
    assert sure.mean == doubtful.mean == pytest.approx(24 / 28)
    assert sure.low == sure.high == sure.mean
    assert doubtful.low < 0.5 < doubtful.high == 1.0
    outcomes = [same_ranking(RANKED, years(spread), LOG).outcome for spread in (0.01, 9.0)]
    assert outcomes == [Outcome.HOLDS, Outcome.UNDECIDED]
    assert same_ranking(RANKED, years(0.01), -LOG).outcome is Outcome.FAILS


def test_the_standard_error_is_that_of_all_resamples() -> None:
    """Two years have four resamples: both, either twice; their standard deviation is known."""
    both = np.array([[1.0, 2.0, 3.0], [3.0, 1.0, 2.2]])
    log = np.array([[1.0, 2.0, 3.0]])
    each = [tau((both[a] + both[b]).tolist(), log[0].tolist()) for a in (0, 1) for b in (0, 1)]
    found = rank_correlation(both, log)
    assert found is not None and found.freedom == 1
    assert found.error == pytest.approx(np.std(each), rel=0.1)


def test_without_repetitions_there_is_no_interval() -> None:
    assert rank_correlation(LOG, LOG) is None
    assert same_ranking(RANKED, LOG, LOG).outcome is Outcome.NOT_COMPARABLE
    assert same_ranking(RANKED, np.ones((3, 8)), LOG).outcome is Outcome.NOT_COMPARABLE
    assert same_ranking(RANKED, years(1.0)[:, :2], LOG[:, :2]).outcome is Outcome.NOT_COMPARABLE


def test_a_value_that_is_not_defined_in_a_year_is_left_out() -> None:
    holes = years(0.01)
    holes[0, 3] = np.nan
    found = rank_correlation(holes, LOG)
    assert found is not None and found.mean == pytest.approx(24 / 28)
