"""The readings of the two batch experiments: each against a plain queue, and a choice that finds a planted reading."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from holdfast.experiments import cli
from holdfast.experiments.papers.checkpoint import batch_readings as batches
from holdfast.experiments.papers.checkpoint.batch import draw_instance, find_distribution, plan_for, run_batch
from holdfast.experiments.papers.checkpoint.batch_operation import (
    STRETCHES,
    UTILIZATIONS,
    BatchMeasure,
    BatchOperation,
    replay_batch,
)
from holdfast.experiments.papers.checkpoint.batch_operation import operations as batch_operations
from holdfast.experiments.papers.incomplete.published_changes import nearest
from holdfast.experiments.papers.incomplete.submissions import Week, draw_week, make_plans, run_week
from holdfast.experiments.papers.incomplete.week_operation import (
    WeekMeasure,
    WeekOperation,
    measures,
    operations,
    replay_week,
)
from holdfast.experiments.study.experiment import Resources, find_experiment, read_tables, run_experiment
from holdfast.experiments.study.verdicts import Outcome
from holdfast.policies.planning.costs import CostModel
from holdfast.policies.planning.plan import ReservationPlan
from tests.reference.queue import completion_times, reservation_lengths

FEW = ("norm", "gamma")


# The week.


def _week(submits: list[float], runtimes: list[float]) -> Week:
    """Jobs of one application; times in hours."""
    return Week(("a",) * len(submits), np.array(submits), np.array(runtimes), {}, {})


#: Reservations of 1 h and 4 h.
_PLAN = {"a": ReservationPlan([3600, 14400], False, CostModel())}


@pytest.mark.parametrize(
    ("release", "requeue", "ends", "occupied"),
    [
        # Job 0 takes 3 h, job 1 half an hour, on one node: 0-1 fails, 1-1.5 job 1, 1.5-4.5 job 0.
        ("completion", "end", [4.5, 1.5], 4.5),
        ("walltime", "end", [5.0, 1.5], 6.0),
        ("completion", "front", [4.0, 4.5], 4.5),
        ("walltime", "front", [4.0, 5.5], 6.0),
        # Job 1 comes in the window 0-1, and waits. The next one has the longer request first: job 0 from 1 to 5, job 1
        # from 5 on, although job 0 is done at 4.
        ("windows", "end", [4.0, 5.5], 4.5),
    ],
)
def test_a_week_by_hand(release: Any, requeue: Any, ends: list[float], occupied: float) -> None:
    week = _week([0.0, 0.25], [3.0, 0.5])
    found = replay_week(week, _PLAN, 1, WeekOperation(release, requeue))
    response = np.array(ends) - week.submits
    assert found["utilization"] == pytest.approx(3.5 / max(ends))
    assert found["occupied_utilization"] == pytest.approx(3.5 / occupied)
    assert found["stretch"] == pytest.approx(float(np.mean(response / week.runtimes)))
    assert found["response_h"] == pytest.approx(float(response.mean()))
    assert found["all_done_h"] == pytest.approx(max(ends))


def test_the_default_is_the_week_of_figure_8() -> None:
    week = draw_week(("cerebellum", "connectivity"), (10,), 2, 0)
    plans = make_plans(week, (10,), FEW, 40, doubled=True)
    ones = np.ones(len(week.runtimes), dtype=np.int64)
    for name in ("hpc", "masi 2", "continuous 10"):
        own, other = replay_week(week, plans[name], 2, WeekOperation()), run_week(week, plans[name], ones, 2)
        for column in ("utilization", "stretch", "response_h", "all_done_h"):
            assert own[column] == pytest.approx(other[column], rel=1e-6), (name, column)
    longer = plans["masi 2"]["cerebellum"].extend(1e6).milestones
    assert longer[-1] / longer[-2] == pytest.approx(2.0)


def test_another_number_of_runs_changes_that_application_alone() -> None:
    names = ("cerebellum", "connectivity")
    printed, fewer = draw_week(names, (10,), 1, 0), draw_week(names, (10,), 1, 0, {"connectivity": 365})
    count = [week.applications.count("connectivity") for week in (printed, fewer)]
    assert count == [22, 7]
    times = [week.runtimes[np.array(week.applications) == "cerebellum"] for week in (printed, fewer)]
    np.testing.assert_array_equal(*times)


def test_operations_have_names_of_their_own() -> None:
    known = operations([17416, 1781], [0.9, 1.5])
    assert len(known) == len({item.name for item in known}) == 2 * 2 * 5
    assert known[0] == WeekOperation()
    assert known[0].name == "default"
    assert len({item.name for item in measures()}) == len(measures()) == 16
    owned = batch_operations((256, 64))
    assert len(owned) == len({item.name for item in owned}) == 16
    assert owned[0].name == "default"


def _planted_weeks(planted: WeekOperation, spread: float = 0.01) -> list[dict[str, Any]]:
    """Rows in which one operation has the printed changes against HPC, and the others have none."""
    rows = []
    for stage, first in (("choice", 0), ("judgement", 4)):
        for operation in operations([17416, 1781], [0.9, 1.5]):
            for week in range(first, first + 4):
                for strategy in ("hpc", "hpc 10", "hpc 110", "masi", "masi 2", "continuous 10", "continuous 110"):
                    gain = operation == planted and strategy == "continuous 110"
                    noise = 1.0 + spread * (week % 2) * gain
                    rows.append(
                        {
                            "stage": stage, "release": operation.release, "requeue": operation.requeue,
                            "runs": operation.runs, "load": operation.load, "repetition": week, "strategy": strategy,
                            "utilization": 0.4 * (1.5 * noise if gain else 1.0), "occupied_utilization": 0.4,
                            "stretch": 2.0 * (0.6 if operation == planted and strategy == "continuous 10" else 1.0),
                            "response_h": 9.0, "all_done_h": 200.0 * (0.67 * noise if gain else 1.0),
                        }
                    )  # fmt: skip
    return rows


@pytest.mark.parametrize(
    "planted", [WeekOperation(), WeekOperation("walltime"), WeekOperation("windows", "end", 1781, 1.5)]
)
def test_a_planted_reading_of_the_week_is_found(planted: WeekOperation) -> None:
    rows = _planted_weeks(planted)
    operation, measure, found = nearest(rows)[0]
    assert operation == planted
    # HPC that knows the same runs is the same here.
    assert (measure.utilization, measure.makespan) == ("done", "all")
    assert found.distance == pytest.approx(0.0, abs=0.02)
    tables = {"": rows, "data": [{"measured": 1, "runs": 1, "why": ""}]}
    verdicts = {item.claim: item.outcome for item in find_experiment("incomplete-readings").judge(tables)}
    own = list(verdicts.values())
    # The response time is the same under all strategies.
    assert own[:5] == [Outcome.HOLDS] * 4 + [Outcome.FAILS]
    # With one sentence of it read as by default nothing changes.
    without = [outcome for claim, outcome in verdicts.items() if "The nearest reading without" in claim]
    assert without == [Outcome.FAILS] * (0 if planted == WeekOperation() else len(without))
    assert (planted == WeekOperation()) == (without == [])
    alone = f"{planted.name} alone: from 110 runs utilisation rises"
    if alone in verdicts:
        assert verdicts[alone] is Outcome.HOLDS
    assert sum(outcome is Outcome.HOLDS for claim, outcome in verdicts.items() if "alone" in claim) >= (
        alone in verdicts
    )


def test_the_weeks_that_judge_are_not_those_that_choose() -> None:
    rows = _planted_weeks(WeekOperation("walltime"))
    # Only the judgement knows that nothing changes.
    for row in rows:
        if row["stage"] == "judgement":
            row |= {"utilization": 0.4 + 0.001 * row["repetition"], "all_done_h": 200.0, "stretch": 2.0}
    tables = {"": rows, "data": [{"measured": 1, "runs": 1, "why": ""}]}
    verdicts = find_experiment("incomplete-readings").judge(tables)
    assert [item.outcome for item in verdicts[:5]] == [Outcome.FAILS] * 5
    assert "nodes held until the walltime" in verdicts[0].remark


@pytest.mark.system
def test_the_readings_of_the_week_run(tmp_path: Path) -> None:
    item = find_experiment("incomplete-readings")
    parameters = replace(
        item.quick, applications=("cerebellum", "whole-brain"), runs=(1781, 900), choosing=2, repetitions=2,
        families=FEW, cells=40,
    )  # fmt: skip
    verdicts = run_experiment(item, parameters, 1, tmp_path, "0", workers=1)
    assert {verdict.outcome for verdict in verdicts} == {Outcome.NOT_COMPARABLE}
    rows = read_tables("incomplete-readings", tmp_path)[""]
    assert len(rows) == 4 * 2 * 5 * 7
    assert {row["repetition"] for row in rows if row["stage"] == "choice"} == {0, 1}
    assert {row["repetition"] for row in rows if row["stage"] == "judgement"} == {2, 3}
    shared = item.measure(parameters, 1, Resources(tmp_path / "two", workers=2))
    alone = item.measure(parameters, 1, Resources(tmp_path / "one", workers=1))
    assert shared == alone


# The batch.


def test_the_default_is_the_batch_of_table_4() -> None:
    instance = draw_instance({"Qball": 8, "SD": 16, "FCA": 16}, 5, 3, 0)
    for strategy in ("optimal", "all-ckpt", "masi"):
        own, other = replay_batch(instance, strategy, BatchOperation(processors=7)), run_batch(instance, strategy, 7)
        for column in ("utilization", "execution_stretch", "response_stretch", "reserved_stretch"):
            assert own[column] == pytest.approx(other[column], rel=1e-6), (strategy, column)
        assert own["used_utilization"] == pytest.approx(other["efficiency"], rel=1e-6)


@pytest.mark.parametrize("strategy", ["optimal", "all-ckpt", "masi"])
def test_held_reservations_are_a_plain_queue_of_requests(strategy: str) -> None:
    instance = draw_instance({"Qball": 8, "SD": 16, "FCA": 16}, 5, 3, 0)
    found = replay_batch(instance, strategy, BatchOperation("walltime", processors=7))
    plans = {name: plan_for(strategy, name, instance.past[name]) for name in instance.past}
    lengths, idle = [], []
    for name, runtime in zip(instance.applications, instance.runtimes.tolist(), strict=True):
        times = reservation_lengths(plans[name], runtime)
        lengths.append(plans[name].extend(runtime).length[: len(times)].tolist())
        idle.append(lengths[-1][-1] - times[-1])
    ends = np.array(completion_times(lengths, 7)) - idle
    asked = np.array([sum(own) for own in lengths])
    assert found["response_stretch"] == pytest.approx(float(np.mean(ends / instance.runtimes)), rel=1e-6)
    assert found["utilization"] == pytest.approx(float(instance.runtimes.sum()) / (7 * ends.max()), rel=1e-6)
    assert found["reserved_utilization"] == pytest.approx(float(instance.runtimes.sum() / asked.sum()), rel=1e-6)
    assert found["job_utilization"] == pytest.approx(float(np.mean(instance.runtimes / asked)), rel=1e-6)


def test_each_job_has_last_runs_of_its_own() -> None:
    instance = draw_instance({"Qball": 6}, 5, 3, 0)
    # With as many processors as jobs nothing waits, and the first reservation is the mean of the last five runs.
    common, own = (
        replay_batch(instance, "masi", BatchOperation(past=past, processors=6)) for past in ("common", "own")
    )
    assert common != own
    assert replay_batch(instance, "masi", BatchOperation(past="own", processors=6)) == own
    low, high = find_distribution("Qball").lower, find_distribution("Qball").upper
    assert low / instance.runtimes.max() <= own["reserved_stretch"] <= 1.5 * 2.5 * high / instance.runtimes.min()
    # The plans of the distributions know no runs.
    plans = [replay_batch(instance, "optimal", BatchOperation(past=past, processors=6)) for past in ("common", "own")]
    assert plans[0] == plans[1]


def _planted_batches(planted: BatchOperation, column: str) -> list[dict[str, Any]]:
    """Rows in which one operation and one measure of the utilisation have the means of Table 4."""
    rows = []
    levels = {"optimal": (0.688, 1.945), "all-ckpt": (0.65, 2.05), "masi": (0.624, 2.15)}
    for stage, first in (("choice", 0), ("judgement", 4)):
        for operation in batch_operations((256, 64)):
            for batch in ("mix", "Qball") if stage == "judgement" else ("mix",):
                for run in range(first, first + 4):
                    for strategy, (utilization, stretch) in levels.items():
                        noise = 1.0 + 0.001 * (run % 3)
                        values = dict.fromkeys(UTILIZATIONS, 0.3 * noise) | dict.fromkeys(STRETCHES, 5.0 * noise)
                        if operation == planted:
                            values |= {column: utilization * noise, "response_stretch": stretch * noise}
                        rows.append(
                            {
                                "stage": stage, "batch": batch, "release": operation.release,
                                "requeue": operation.requeue, "past": operation.past,
                                "processors": operation.processors, "repetition": run, "strategy": strategy, **values,
                            }
                        )  # fmt: skip
    return rows


@pytest.mark.parametrize("column", ["utilization", "job_utilization"])
@pytest.mark.parametrize("planted", [BatchOperation(), BatchOperation("walltime", "front", "own", 64)])
def test_a_planted_reading_of_the_batch_is_found(planted: BatchOperation, column: str) -> None:
    rows = _planted_batches(planted, column)
    assert batches.nearest(rows)[0] == (planted, BatchMeasure(column, "response_stretch"))
    verdicts = find_experiment("checkpoint-readings").judge({"": rows})
    assert [item.outcome for item in verdicts[:10]] == [Outcome.HOLDS] * 10
    # With the strategies in the other order nothing but the levels can hold, and these are exchanged.
    swapped = {"optimal": "masi", "masi": "optimal"}
    other = [row | {"strategy": swapped.get(row["strategy"], row["strategy"])} for row in rows]
    outcomes = [item.outcome for item in find_experiment("checkpoint-readings").judge({"": other})[:10]]
    assert outcomes[2] is outcomes[5] is Outcome.FAILS
    assert outcomes[6:] == [Outcome.FAILS] * 4


@pytest.mark.system
def test_the_readings_of_the_batch_run(tmp_path: Path) -> None:
    item = find_experiment("checkpoint-readings")
    parameters = replace(item.quick, mix=(3, 6, 6), jobs=10, processors=(4,), choosing=2, repetitions=2)
    run_experiment(item, parameters, 1, tmp_path, "0", workers=1)
    rows = read_tables("checkpoint-readings", tmp_path)[""]
    assert len(rows) == (2 * 1 + 2 * 4) * 8 * 3
    one, two = (item.measure(parameters, 1, Resources(tmp_path / f"{n}", workers=n)) for n in (1, 2))
    assert one == two


@pytest.mark.parametrize(
    ("name", "setting"),
    [
        ("incomplete-readings", "applications=foo"),
        ("incomplete-readings", "runs=50"),
        ("incomplete-readings", "loads=0"),
        ("incomplete-readings", "choosing=1"),
        ("incomplete-readings", "families=foo"),
        ("checkpoint-readings", "applications=foo"),
        ("checkpoint-readings", "mix=1"),
        ("checkpoint-readings", "processors=0"),
        ("checkpoint-readings", "repetitions=1"),
    ],
)
def test_wrong_settings_are_one_sentence(
    name: str, setting: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["experiment", name, "-o", str(tmp_path), "--quick", "--set", setting]) == 2
    shown = capsys.readouterr().err
    assert "Traceback" not in shown
    assert not list(tmp_path.glob("*.csv"))


def test_measures_name_what_they_are_against() -> None:
    assert WeekMeasure("hpc same").base_name(10) == "hpc 10"
    assert WeekMeasure("masi 2").base_name(10) == "masi 2"
