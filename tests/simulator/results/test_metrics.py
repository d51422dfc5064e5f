"""Metrics worked out by hand: order statistics of waits, the bound of the slowdown, losses at the edges of a window."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given

from holdfast.policies.mechanism import BASELINE, MECHANISMS
from holdfast.simulator import simulate
from holdfast.simulator.results.metrics import summarize, summarize_types
from holdfast.workloads.ground.units import SECOND
from tests.strategies.lives import lively_mixes
from tests.strategies.mixes import Mix
from tests.support.jobs import on_demand, rigid

HOUR = 3600


def seconds(row: dict[str, Any], *names: str) -> list[float]:
    """Columns in hours, in seconds."""
    return [pytest.approx(row[f"{name}_h"] * HOUR) for name in names]


def test_waits_and_slowdowns_of_a_queue() -> None:
    """Five jobs of the whole machine, one after the other.

    ===========  ====  ====  ====  =====  =======
    wait [s]        0    10    30     60      100
    runtime [s]    10    20    30     40        5
    slowdown        1   1.5     2    2.5  105/10
    ===========  ====  ====  ====  =====  =======

    The 95th percentile lies at place 0.95 x 4 = 3.8 of 0 to 4: 60 + 0.8 x 40 = 92. A runtime below 10 s counts as 10 s.
    """
    jobs = [rigid(number, 0, 10, runtime) for number, runtime in enumerate((10, 20, 30, 40, 5), start=1)]
    result = simulate(jobs, 10)
    summary, everyone = summarize(result), summarize_types(result)[0]
    for row in (summary, everyone):
        assert seconds(row, "wait", "wait_median", "wait_p95", "wait_max") == [40, 30, 92, 100]
        assert row["bounded_slowdown"] == pytest.approx((1 + 1.5 + 2 + 2.5 + 10.5) / 5)
    assert seconds(summary, "makespan") == [105]
    assert summary["utilization"] == pytest.approx(1)


@pytest.mark.parametrize(
    ("window", "lost", "utilization"),
    [
        pytest.param({}, 500, (2500 - 500) / 2500, id="everything"),
        pytest.param({"cooldown": 200}, 500, 0, id="the window ends with the loss"),
        pytest.param({"warmup": 50}, 500, (2000 - 500) / 2000, id="the window begins with the loss"),
        pytest.param({"warmup": 51}, 0, 1, id="the window begins later"),
    ],
)
def test_a_loss_at_the_edge_of_the_window_counts(window: dict[str, float], lost: float, utilization: float) -> None:
    """At 50 job 2 preempts job 1, which loses 50 s on 10 nodes; the last job ends at 250.

    ::

        1 0...50x        100.......200
        2     50.....100
        3                          200..250
    """
    jobs = [rigid(1, 0, 10, 100), on_demand(2, 50, 10, 50), rigid(3, 200, 10, 50)]
    summary = simulate(jobs, 10, "N-PAA").summary(**window)
    assert summary["lost_node_hours"] * HOUR == pytest.approx(lost)
    assert summary["utilization"] == pytest.approx(utilization)


@given(mix=lively_mixes())
def test_what_is_booked_is_what_the_samples_add_up_to(mix: Mix) -> None:
    """Without a window the machine is measured by its books; the samples of busy nodes know nothing of them."""
    for mechanism in (BASELINE, *(served.name for served in MECHANISMS)):
        result = simulate(mix.jobs, mix.nodes, mechanism, plans=mix.plans)
        summary = summarize(result)
        if result.opened is None or result.closed is None or result.opened == result.closed:
            assert math.isnan(summary["utilization"])
            continue
        busy = sum(sample[1] * (after[0] - sample[0]) for sample, after in pairwise(result.samples))
        lost = sum(node_ticks for _, node_ticks in result.losses)
        elapsed = result.closed - result.opened
        assert summary["utilization"] == (busy - lost) / (mix.nodes * elapsed)
        assert summary["lost_node_hours"] == lost / (HOUR * SECOND)
        assert summary["makespan_h"] == elapsed / (HOUR * SECOND)
