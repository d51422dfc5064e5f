"""Curves of many results that would coincide are drawn as differences from the first."""

from __future__ import annotations

import numpy as np
import pytest

from holdfast.experiments.figures.canvas import Canvas, new_figure, subplots
from holdfast.experiments.figures.study.delays import draw_distributions
from tests.support.figure_texts import text_faults

pytestmark = pytest.mark.pictures("png", "pdf")

#: Waits of four jobs in four results, in hours.
WAITS = {"fcfs": (0.0, 0.0, 2.0, 6.0), "sjf": (0.0, 1.0, 2.0, 4.0), "saf": (0.0, 0.0, 0.0, 8.0), "f1": (1.0,) * 4}


def rows() -> list[dict[str, object]]:
    """Quantiles of ten thousand jobs, a quarter of them each wait."""
    found: list[dict[str, object]] = []
    for name, waits in WAITS.items():
        for metric in ("wait_h", "bounded_slowdown"):
            for sizes in ("all", "1"):
                for quantile in np.linspace(0, 1, 401).round(4).tolist():
                    value = waits[min(3, int(4 * quantile))] + (metric != "wait_h")
                    found.append({"mechanism": name, "metric": metric, "sizes": sizes, "quantile": quantile,
                                  "value": value, "jobs": 10_000})  # fmt: skip
    return found


def test_differences_of_shares_at_each_wait() -> None:
    figure = Canvas(width="column").draw(draw_distributions, rows())
    lines = {line.get_color(): line for line in figure.axes[0].lines}
    first, second, *_ = lines.values()
    assert not np.any(first.get_ydata())
    shares = dict(np.asarray(second.get_xydata()).tolist())
    # Up to 0 h a half and a quarter of the jobs, up to 1 h and 2 h as many, up to 4 h three quarters and all.
    assert [round(shares[hours]) for hours in (0.0, 2.0, 4.0, 6.0)] == [-25, 0, 25 - 12, 0]
    assert "less fcfs" in figure.axes[0].get_title(loc="left")
    assert [fault for fault in text_faults(figure) if "cover" in fault] == []


def test_columns_stay_together_in_a_single_column() -> None:
    def draw() -> object:
        figure = new_figure(7.16, 3.0)
        panels = subplots(figure, 3, 2, by_columns=True, height_ratios=(2, 1, 1))
        for (row, column), axes in np.ndenumerate(panels):
            axes.set_title(f"{column}{row}")
        return figure

    figure = Canvas(width="column").draw(draw)  # type: ignore[arg-type]  # a figure
    assert [axes.get_title() for axes in figure.axes] == ["00", "01", "02", "10", "11", "12"]
    assert figure.get_figheight() == 6.0
