"""The comparison of queue orders and backfilling rules."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from holdfast.experiments.beyond.queue_orders import CLASSES, EXPERIMENTS, QueueOrders
from holdfast.experiments.study.experiment import Resources, read_tables, run_experiment
from holdfast.experiments.study.verdicts import Outcome
from holdfast.policies.backfilling import BACKFILLING
from holdfast.policies.order import ORDERS
from holdfast.simulator import simulate
from holdfast.workloads.ground.errors import UnknownNameError
from holdfast.workloads.hybrid.assignment import as_rigid
from holdfast.workloads.logs.swf import write_swf
from holdfast.workloads.theta.generator import generate
from holdfast.workloads.theta.year import ThetaYear
from tests.shared_data import trace_file

(EXPERIMENT,) = EXPERIMENTS
SMALL = QueueOrders(jobs=120, traces=2, orders=("fcfs", "saf", "wfp3"), rules=("easy", "none"))


def test_rows_are_what_the_jobs_say(tmp_path: Path) -> None:
    rows = EXPERIMENT.measure(SMALL, 3, Resources(tmp_path, workers=1))[""]
    assert len(rows) == 2 * 3 * 2 * (1 + len(CLASSES))
    trace = generate(ThetaYear(jobs=120), 4)
    jobs = simulate(as_rigid(trace), trace.nodes or 0, order="saf", backfilling="none").jobs
    for name, low, high in (("all", 0, 9e9), ("to 256 nodes", 0, 256), ("257 to 1,024 nodes", 256, 1024)):
        own = jobs[(jobs.nodes > low) & (jobs.nodes <= high)]
        (row,) = [r for r in rows if (r["trace"], r["order"], r["rule"], r["sizes"]) == (4, "saf", "none", name)]
        assert row["jobs"] == len(own)
        assert row["wait_h"] == pytest.approx(own.wait.mean() / 3600)
        assert row["wait_p95_h"] == pytest.approx(np.percentile(own.wait, 95) / 3600)
        runtime = own.turnaround - own.wait
        assert row["bounded_slowdown"] == pytest.approx(
            np.maximum(1, own.turnaround / np.maximum(runtime, 10)).mean(), rel=1e-6
        )
        assert (row["utilization"] is None) == (name != "all")
    for order, rule in (("fcfs", "easy"), ("wfp3", "none")):
        counts = [r["jobs"] for r in rows if (r["trace"], r["order"], r["rule"]) == (3, order, rule)]
        assert counts[0] == sum(counts[1:]) == 120


@pytest.mark.system
def test_workers_change_nothing(tmp_path: Path) -> None:
    alone, shared = (EXPERIMENT.measure(SMALL, 0, Resources(tmp_path, workers=count)) for count in (1, 2))
    assert alone == shared


@pytest.mark.system
def test_all_built_in_orders_and_rules_take_part_and_no_plug_in(tmp_path: Path) -> None:
    ORDERS.add("somebodys", lambda job, now: 0)
    try:
        rows = EXPERIMENT.measure(QueueOrders(jobs=20, traces=2), 0, Resources(tmp_path, workers=1))[""]
    finally:
        ORDERS.forget("somebodys")
    own = {item.name for item in ORDERS.entries() if item.origin == "built in"}
    assert {row["order"] for row in rows} == own >= {"fcfs", "wfp3", "f1", "fairshare", "alcf"}
    assert {row["rule"] for row in rows} == {*BACKFILLING, "easy depth=8"}
    with pytest.raises(UnknownNameError, match="did you mean fcfs"):
        EXPERIMENT.measure(replace(SMALL, orders=("fcsf",)), 0, Resources(tmp_path, workers=1))


def _row(order: str, trace: int, wait: float, **others: Any) -> dict[str, Any]:
    return {
        "dataset": "generated", "trace": trace, "order": order, "rule": "easy", "sizes": "all", "jobs": 9,
        "wait_h": wait, "wait_p95_h": wait, "bounded_slowdown": wait, "utilization": 0.8, **others,
    }  # fmt: skip


def test_verdicts_come_from_the_tables() -> None:
    waits = {"fcfs": 8.0, "f1": 4.0, "f2": 5.0, "f3": 6.0, "f4": 7.0}
    rows = [_row(order, trace, wait + trace) for order, wait in waits.items() for trace in range(3)]
    verdicts = {verdict.claim: verdict for verdict in EXPERIMENT.judge({"": rows})}
    learned = next(verdict for claim, verdict in verdicts.items() if claim.startswith("Each of F1 to F4"))
    assert learned.outcome is Outcome.HOLDS
    assert "decisive: f4" in learned.remark
    assert sum(verdict.outcome is Outcome.NOT_COMPARABLE for verdict in verdicts.values()) == len(verdicts) - 1
    # One that is no shorter, and the log's ranking, which is the opposite of ours.
    rows = [row for row in rows if row["order"] != "f4"] + [_row("f4", trace, 19.5) for trace in range(3)]
    rows += [_row(order, 0, -wait, dataset="theta-2022") for order, wait in waits.items() if order != "f4"]
    rows += [_row("f4", 0, -9.0, dataset="theta-2022")]
    verdicts = {verdict.claim: verdict for verdict in EXPERIMENT.judge({"": rows})}
    assert next(v for claim, v in verdicts.items() if claim.startswith("Each of F1 to F4")).outcome is Outcome.FAILS
    ranking = [verdict for claim, verdict in verdicts.items() if "ranking" in claim]
    assert [verdict.outcome for verdict in ranking] == [Outcome.FAILS] * 2
    assert ranking[0].measured == "tau -1.00 [-1.00, -1.00] over 5 orders"


@pytest.mark.system
def test_from_end_to_end_with_a_log(tmp_path: Path) -> None:
    log = tmp_path / "log.swf"
    write_swf(generate(ThetaYear(jobs=200), 9), log)
    parameters = replace(SMALL, trace=str(log), most_jobs=90)
    (tmp_path / "out").mkdir()
    verdicts = run_experiment(EXPERIMENT, parameters, 0, tmp_path / "out", "1.0", workers=1)
    rows = read_tables("beyond-orders", tmp_path / "out")[""]
    assert {(row["dataset"], row["trace"]) for row in rows} == {("generated", 0), ("generated", 1), ("theta-2022", 0)}
    real = [row["jobs"] for row in rows if row["dataset"] == "theta-2022" and row["sizes"] == "all"]
    assert real == [90] * 6
    assert any("tau" in verdict.measured for verdict in verdicts)
    assert (tmp_path / "out" / "beyond-orders.png").exists()


@pytest.mark.system
def test_the_real_log(tmp_path: Path) -> None:
    parameters = replace(SMALL, jobs=60, trace=str(trace_file("theta_2022.swf.gz")), most_jobs=120, rules=("easy",))
    rows = EXPERIMENT.measure(parameters, 0, Resources(tmp_path, workers=1))[""]
    real = [row for row in rows if row["dataset"] == "theta-2022" and row["sizes"] == "all"]
    assert {row["jobs"] for row in real} == {120}
