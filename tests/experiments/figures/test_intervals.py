"""Dots take the place of bars where a scale does not begin at zero."""

from __future__ import annotations

import numpy as np
import pytest

from holdfast.experiments.figures.canvas import new_figure, subplots
from holdfast.experiments.figures.study.intervals import draw_dots
from holdfast.experiments.statistics import Interval


def test_dots_stand_side_by_side_at_their_means_with_intervals() -> None:
    axes = subplots(new_figure(3, 2))
    series: dict[str, list[Interval | None]] = {
        "one": [Interval(1.5, 1.25, 2.0), None],
        "other": [Interval(1.1, 1.1, 1.1), Interval(3.0, 2.5, 3.5)],
    }
    draw_dots(axes, ["a", "b"], series, {"one": "#0072B2", "other": "#FFFFFF"}, scale=10)
    dots = {line.get_label(): line for line in axes.lines if not line.get_label().startswith("_")}
    assert dots["one"].get_xydata() == pytest.approx(np.array([[-0.205, 15.0]]))
    assert dots["other"].get_xydata() == pytest.approx(np.array([[0.205, 11.0], [1.205, 30.0]]))
    ends = [path.vertices[:, 1] for item in axes.collections for path in item.get_paths()]
    np.testing.assert_allclose(ends, [[12.5, 20.0], [25.0, 35.0]])  # what does not vary has no interval
    assert not axes.patches
