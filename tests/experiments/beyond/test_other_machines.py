"""Orders and mechanisms on other machines: the rows are those of simulations, and the verdicts come from the tables."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from holdfast.experiments.beyond.other_machines import EXPERIMENTS, OtherMachines
from holdfast.experiments.beyond.rankings import tau
from holdfast.experiments.beyond.trace_pairs import cut
from holdfast.experiments.study.experiment import Resources, read_tables, run_experiment
from holdfast.experiments.study.simulation_cache import ALL, SIX
from holdfast.experiments.study.verdicts import Outcome
from holdfast.simulator import simulate
from holdfast.workloads.ground.errors import UnknownNameError
from holdfast.workloads.hybrid.assignment import as_rigid, assign
from holdfast.workloads.logs.readers import read_trace
from holdfast.workloads.logs.swf import write_swf
from holdfast.workloads.theta.generator import generate
from holdfast.workloads.theta.year import ThetaYear
from tests.shared_data import trace_file

(EXPERIMENT,) = EXPERIMENTS
ORDERS = ("fcfs", "saf", "wfp3")


@pytest.mark.system
def test_from_end_to_end_with_a_log(tmp_path: Path) -> None:
    log = tmp_path / "log.swf"
    write_swf(generate(ThetaYear(jobs=200), 9), log)
    small = OtherMachines(jobs=120, traces=2, orders=ORDERS, most_jobs=90, kth=str(log))
    verdicts = run_experiment(EXPERIMENT, small, 3, tmp_path / "out", "0", workers=1)
    tables = read_tables("beyond-machines", tmp_path / "out")
    assert len(tables[""]) == 2 * 3 + 3
    assert len(tables["mechanisms"]) == 2 * 2 * len(ALL)
    (row,) = [row for row in tables[""] if (row["dataset"], row["trace"], row["order"]) == ("generated", 4, "saf")]
    trace = generate(ThetaYear(jobs=120), 4)
    assert row["wait_h"] == simulate(as_rigid(trace), 4392, order="saf").jobs.wait.mean() / 3600
    (row,) = [
        row
        for row in tables["mechanisms"]
        if (row["dataset"], row["trace"], row["mechanism"]) == ("kth", 4, "CUA-SPAA")
    ]
    jobs = assign(cut(read_trace(log), 90), seed=4, notice_mix="W5")
    assert row["turnaround_h"] == simulate(jobs, 4392, mechanism="CUA-SPAA").summary()["turnaround_h"]
    named = [verdict for verdict in verdicts if "KTH" in verdict.claim]
    assert len(named) == 7
    assert all("--set" in verdict.remark for verdict in verdicts if verdict not in named)
    assert (tmp_path / "out" / "beyond-machines.png").exists()


def _tables(log: dict[str, float], gain: float) -> dict[str, list[dict[str, Any]]]:
    """Orders with these waits on the log, and mechanisms that gain as much against the baseline there."""
    waits = {"fcfs": 8.0, "f1": 4.0, "saf": 5.0}
    orders = [
        {"dataset": "generated", "trace": trace, "order": order, "wait_h": wait + trace, "bounded_slowdown": wait}
        for order, wait in waits.items()
        for trace in range(3)
    ] + [{"dataset": "kth", "trace": 0, "order": order, "wait_h": wait, "bounded_slowdown": wait}
         for order, wait in log.items()]  # fmt: skip
    mechanisms = [
        {
            "dataset": dataset, "trace": trace, "mechanism": name,
            "turnaround_h": 10.0 + (sign * place if place else -sign * gain) + 0.01 * trace * (place % 3 - 1),
            "instant_start_ratio_strict": 0.2 + 0.1 * place + 0.001 * trace * (place % 2),
            "preemption_ratio_malleable": 0.1,
        }
        for dataset, sign in (("generated", 1.0), ("kth", 1.0 if gain > 0 else -1.0))
        for trace in range(3)
        for place, name in enumerate(["baseline", *SIX])
    ]  # fmt: skip
    return {"": orders, "mechanisms": mechanisms}


def test_verdicts_come_from_the_tables() -> None:
    verdicts = {item.claim: item for item in EXPERIMENT.judge(_tables({"fcfs": 2.0, "f1": 1.0, "saf": 1.5}, 1.0))}
    outcomes = {claim: item.outcome for claim, item in verdicts.items() if "KTH" in claim}
    ranking = "on generated years carries over to KTH-SP2"
    assert outcomes == {
        "The orders' ranking by mean wait on KTH-SP2 is that on generated years": Outcome.HOLDS,
        "The orders' ranking by mean bounded slowdown on KTH-SP2 is that on generated years": Outcome.HOLDS,
        f"The mechanisms' ranking by turnaround of all jobs {ranking}": Outcome.HOLDS,
        f"The mechanisms' ranking by instant starts (0 s) {ranking}": Outcome.HOLDS,
        f"The mechanisms' ranking by preempted malleable jobs {ranking}": Outcome.NOT_COMPARABLE,
        "Each mechanism starts more on-demand jobs at once (0 s) than the baseline on KTH-SP2": Outcome.HOLDS,
        "The mechanisms have a longer turnaround than the baseline on KTH-SP2, mean of the six": Outcome.HOLDS,
    }
    assert {item.outcome for claim, item in verdicts.items() if "KTH" not in claim} == {Outcome.NOT_COMPARABLE}
    # The log says the opposite.
    verdicts = {item.claim: item for item in EXPERIMENT.judge(_tables({"fcfs": 1.0, "f1": 3.0, "saf": 2.0}, -1.0))}
    assert verdicts["The orders' ranking by mean wait on KTH-SP2 is that on generated years"].measured.startswith(
        "tau -1"
    )
    assert verdicts[f"The mechanisms' ranking by turnaround of all jobs {ranking}"].outcome is Outcome.FAILS
    longer = "The mechanisms have a longer turnaround than the baseline on KTH-SP2, mean of the six"
    assert verdicts[longer].outcome is Outcome.FAILS


def test_an_unknown_order_is_refused_before_anything_is_computed(tmp_path: Path) -> None:
    with pytest.raises(UnknownNameError, match="did you mean fcfs"):
        EXPERIMENT.measure(OtherMachines(orders=("fcsf",)), 0, Resources(tmp_path, workers=1))
    assert not list(tmp_path.iterdir())


def test_rankings_have_an_order() -> None:
    assert tau([1.0, 2.0, 3.0], [4.0, 5.0, 6.0]) == 1.0
    assert tau([1.0, 1.0], [1.0, 2.0]) is None


@pytest.mark.system
def test_the_real_logs(tmp_path: Path) -> None:
    names = {"kth": "KTH-SP2-1996-2.1-cln.swf.gz", "blue": "SDSC-BLUE-2000-4.2-cln.swf.gz"}
    logs = {name: str(trace_file(file)) for name, file in names.items()}
    small = OtherMachines(jobs=60, traces=2, orders=("fcfs", "sjf"), most_jobs=100, **logs)
    tables = EXPERIMENT.measure(small, 0, Resources(tmp_path, workers=1))
    assert {row["dataset"] for row in tables[""]} == {"generated", "kth", "blue"}
    assert all(row["turnaround_h"] > 0 for row in tables["mechanisms"])
