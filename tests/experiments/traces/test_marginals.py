"""Marginals of a trace small enough to count by hand, and the comparison of two."""

from __future__ import annotations

import numpy as np
import pytest

from holdfast.experiments.figures.study.marginals import plot_marginals
from holdfast.experiments.traces.marginals import (
    by_size,
    compare,
    daily_counts,
    format_comparison,
    hourly_share,
    interarrivals,
    project_shares,
    requests,
    runtime_ratios,
    summary,
    weekday_share,
)
from holdfast.workloads.ground.errors import ParameterError
from holdfast.workloads.logs.trace import Trace, TraceJob
from holdfast.workloads.theta.generator import generate
from holdfast.workloads.theta.year import ThetaYear

DAY = 86_400.0
#: Five equal jobs at once, one large job a day later, one in the third day; in file order they are shuffled.
HAND = Trace(
    (
        TraceJob(7, DAY + 3600.0, 1024, 3600.0, 7200.0, project="b"),
        *(TraceJob(i, 10.0 * i, 128, 1800.0, 3600.0, project="a") for i in range(5)),
        TraceJob(8, 2 * DAY + 7200.0, 129, 60.0, 1800.0, project="c"),
    ),
    nodes=4392,
)


def test_marginals_by_hand() -> None:
    sizes = {name: (jobs, work) for name, jobs, work in by_size(HAND)}
    total = 1024 * 3600 + 5 * 128 * 1800 + 129 * 60
    assert sizes["1-128"] == pytest.approx((5 / 7, 5 * 128 * 1800 / total))
    assert sizes["802-1024"] == pytest.approx((1 / 7, 1024 * 3600 / total))
    assert sizes["256"] == (0, 0)
    assert requests(HAND).tolist() == [0.5, 1, 1, 1, 1, 1, 2]
    assert runtime_ratios(HAND) == pytest.approx([1 / 30, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5])
    assert interarrivals(HAND).tolist() == [10, 10, 10, 10, DAY + 3560, DAY + 3600]
    assert daily_counts(HAND).tolist() == [5, 1]
    assert project_shares(HAND, (1, 2, 3)) == pytest.approx([5 / 7, 6 / 7, 1])


def test_clock_and_calendar() -> None:
    # 0 s of the Unix clock is a Thursday, 0 h.
    assert np.flatnonzero(hourly_share(HAND, shift=0.0)).tolist() == [0, 1, 2]
    assert np.flatnonzero(hourly_share(HAND, shift=-3600.0)).tolist() == [0, 1, 23]
    assert np.flatnonzero(weekday_share(HAND, shift=0.0)).tolist() == [3, 4, 5]


def test_summary_by_hand() -> None:
    values = {name: value for name, (value, _) in summary(HAND).items()}
    assert values["jobs of 128 nodes"] == pytest.approx(500 / 7)
    assert values["jobs in batches of >= 5 equal ones"] == pytest.approx(500 / 7)
    assert values["jobs under 300 s"] == pytest.approx(100 / 7)
    assert values["mean request"] == pytest.approx(7.5 / 7)


def test_comparison_has_a_row_with_an_origin_for_each_quantity() -> None:
    ours = generate(ThetaYear(jobs=2000), seed=1)
    rows = compare(ours, HAND)
    assert [row.quantity for row in rows] == list(summary(ours))
    assert {row.origin for row in rows} == {"built in", "emerges", "differs"}
    assert format_comparison(rows).count("\n") == len(rows) + 1


@pytest.mark.system
def test_figure_has_labels_with_units() -> None:
    ours = generate(ThetaYear(jobs=2000), seed=1)
    figure = plot_marginals({"generated": ours, "by hand": HAND})
    assert len(figure.axes) == 6
    for panel in figure.axes:
        assert panel.get_xlabel() and panel.get_ylabel().endswith("(%)")
    with pytest.raises(ParameterError, match="traces"):
        plot_marginals({})
