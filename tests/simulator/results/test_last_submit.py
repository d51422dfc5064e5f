"""The utilisation until the last submit, against a sum over the log and by hand."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.simulator import Result, simulate
from holdfast.simulator.results.measured_simulation import MeasuredWindow
from holdfast.simulator.results.metrics import summarize
from holdfast.workloads.ground.units import to_ticks
from tests.reference.hybrid import MECHANISMS
from tests.strategies.tables import Table, job_tables
from tests.support.jobs import malleable, on_demand, rigid

NAME = "utilization_to_last_submit"
_RUNNING = ("start", "expand", "shrink", "preempt", "complete", "kill", "expire")


def used_node_time(result: Result, warmup: float = 0.0, cooldown: float = 0.0) -> float:
    """Each stretch of each run by the log, less the losses that are booked in between."""
    submits = [record.submit - result.origin for record in result.records if record.submit is not None]
    if not submits:
        return math.nan
    first = min(submits) + to_ticks(warmup)
    last = max(submit for submit in submits if first <= submit <= max(submits) - to_ticks(cooldown))
    if last <= first:
        return math.nan
    total = 0
    since: dict[int, tuple[int, int]] = {}
    for entry in result.entries:
        if entry.event in _RUNNING:
            began, nodes = since.pop(entry.job_id, (entry.time, 0))
            total += nodes * max(0, min(entry.time, last) - max(began, first))
            if entry.after:
                since[entry.job_id] = entry.time, entry.after
    total -= sum(nodes for time, nodes in result.losses if first <= time <= last)
    return total / (result.nodes * (last - first))


def test_by_hand() -> None:
    """Ten nodes: job 1 on all until 100, job 2 on four until 250. The last submit is at 150: 1200 of 1500 node-seconds.

    In all there are 1600 of 2500.
    """
    jobs = [rigid(1, 0, 10, 100), rigid(2, 50, 4, 150), rigid(3, 150, 1, 0.5)]
    summary = summarize(simulate(jobs, 10))
    assert summary[NAME] == pytest.approx(1200 / 1500)
    assert summary["utilization"] == pytest.approx(1600.5 / 2500)


def test_a_loss_counts_at_its_preemption() -> None:
    """Job 1 is preempted at 100, when the last job arrives: lost within. Without that, its 1000 node-seconds count."""
    jobs = [rigid(1, 0, 10, 200), on_demand(2, 100, 10, 50)]
    assert summarize(simulate(jobs, 10, "N-PAA"))[NAME] == 0
    assert summarize(simulate(jobs, 10, "N-WAIT"))[NAME] == 1


def test_no_time_between_submits() -> None:
    assert math.isnan(float(summarize(simulate([malleable(1, 5, 4, 9, min_nodes=1)], 4))[NAME]))


@pytest.mark.parametrize("mechanism", ["baseline", *MECHANISMS])
@settings(max_examples=40)
@given(table=job_tables(), window=st.sampled_from([(0.0, 0.0), (60.0, 0.0), (60.0, 60.0)]))
def test_equals_a_sum_over_the_log(mechanism: str, table: Table, window: tuple[float, float]) -> None:
    result = simulate(table.jobs, table.nodes, mechanism)
    submits = [job.submit for job in table.jobs if job.submit is not None]
    if not submits or not any(min(submits) + window[0] <= at <= max(submits) - window[1] for at in submits):
        return
    share = float(summarize(result, window=MeasuredWindow(*window))[NAME])
    assert share == pytest.approx(used_node_time(result, *window), nan_ok=True, abs=1e-12)
