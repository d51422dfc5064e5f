"""Backfilling rules are drawn against EASY within each trace."""

from __future__ import annotations

import numpy as np
import pytest

from holdfast.experiments.figures.study.orders import plot_orders
from holdfast.simulator.results.catalogue import metric


def test_rules_are_compared_within_each_trace() -> None:
    waits = {("fcfs", "easy"): (2.0, 8.0), ("fcfs", "none"): (6.0, 16.0), ("sjf", "easy"): (1.0, 4.0),
             ("sjf", "none"): (1.0, 5.0)}  # fmt: skip
    rows = [
        {"dataset": "made", "trace": trace, "order": order, "rule": rule, "sizes": sizes, "wait_h": wait,
         "wait_p95_h": wait, "bounded_slowdown": wait, "utilization": wait / 20}
        for (order, rule), own in waits.items()
        for trace, wait in enumerate(own)
        for sizes in ("all", "small")
    ]  # fmt: skip
    figure = plot_orders(rows, ["small"], "made")
    assert [axes.get_title(loc="left")[:3] for axes in figure.axes] == [f"({letter})" for letter in "abcdefghi"]
    times, share = figure.axes[4], figure.axes[7]
    # Shortest mean wait first: sjf 1 and 1.25 times, fcfs 3 and 2 times.
    assert dict(zip(("sjf", "fcfs"), np.asarray(times.lines[2].get_xdata()), strict=True)) == {
        "sjf": 1.125,
        "fcfs": 2.5,
    }
    ends = [np.asarray(line.get_xdata()).tolist() for line in times.lines[:2]]
    assert ends == [[1.0, 1.25], [2.0, 3.0]]
    assert metric("utilization").scale == 100
    assert share.lines[2].get_xdata() == pytest.approx([2.5, 30.0])
