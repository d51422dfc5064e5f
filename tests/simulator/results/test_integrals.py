"""Ten million nodes for ten years: more node-microseconds than 64 bits hold, and every sum is exact."""

from __future__ import annotations

import numpy as np
import pytest

from holdfast.experiments.timelines.phases import use_of_time
from holdfast.experiments.timelines.waiting import levels, stays
from holdfast.simulator import simulate
from holdfast.simulator.results.integrals import integral
from holdfast.simulator.results.measured_simulation import MeasuredWindow
from holdfast.simulator.results.reservations import work_utilization
from holdfast.simulator.results.schema import JOBS
from holdfast.workloads.ground.units import SECOND
from holdfast.workloads.outages.outage import Outage, OutageKind
from tests.support.jobs import malleable, rigid

NODES, YEARS = 10_000_000, 10 * 365 * 86400


def test_the_largest_machine() -> None:
    jobs = [rigid(1, 0, 8_999_999, YEARS), rigid(2, 0, 9_000_001, 3600)]
    away = Outage(OutageKind.MAINTENANCE, 0, YEARS, 999_999)
    result = simulate(jobs, NODES, outages=[away])
    elapsed = YEARS + 3600
    summary = result.summary()
    busy, down = 8_999_999 * YEARS + 9_000_001 * 3600, 999_999 * YEARS
    assert summary["utilization"] == pytest.approx(busy / (NODES * elapsed), rel=1e-15)
    assert summary["down_node_hours"] == pytest.approx(down / 3600, rel=1e-15)
    assert summary["utilization_available"] == pytest.approx(busy / (NODES * elapsed - down), rel=1e-15)
    assert result.accounting.compute == busy * SECOND > 2**63
    assert use_of_time(result).node_ticks() == result.accounting._asdict()
    times, _, nodes, work = levels(stays(result))
    assert (times[-1], nodes[0], work[0]) == (YEARS * SECOND, 9_000_001, 9_000_001 * 3600 * SECOND)


def test_sums_that_fit_into_64_bits_and_others() -> None:
    for level in (1, 2**40):
        levels = np.array([3 * level, 0, 5 * level])
        assert integral(levels, np.array([2**30, 7, 2**29])) == (3 * 2**30 + 5 * 2**29) * level
    assert integral(np.array([], np.int64), np.array([], np.int64)) == 0


def test_the_setup_of_a_malleable_job_counts_at_its_size() -> None:
    # Job 2 runs on the one node that is left: 80 s of setup, and 4 x 20 node-seconds of work.
    result = simulate([rigid(1, 0, 3, 1000), malleable(2, 0, 4, 100, 500, min_nodes=1, setup=80)], 4, "N-PAA")
    assert work_utilization(result) == pytest.approx((3 * 1000 + 80 + 80) / (4 * 1000))
    assert work_utilization(result) == pytest.approx(result.summary()["utilization"])


@pytest.mark.parametrize("cell", ["1" * 400, "9" * 30, "9223372036854.775808", "-9223372036855"])
def test_ticks_beyond_64_bits_are_read_one_by_one(cell: str) -> None:
    ticks = next(item for item in JOBS.fields if item.name == "lost_node_seconds")
    assert ticks.parse_column(["0.0", cell]) is None  # and no warning of a cast
    assert ticks.parse_column(["0.0", "8589934591.999999"]).tolist() == [0, 8_589_934_591_999_999]


def test_a_window_of_submits_beyond_64_bits() -> None:
    assert MeasuredWindow(1, 1).bounds([0, 2**63 + 2 * SECOND, 2**64]) == (SECOND, 2**64 - SECOND)
