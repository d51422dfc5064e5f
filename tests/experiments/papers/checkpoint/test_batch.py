"""The checkpoint paper's experiments on a machine: against a plain queue, and with verdicts that can go either way."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from holdfast.experiments import cli
from holdfast.experiments.papers.checkpoint.batch import (
    STRATEGY_NAMES,
    Instance,
    draw_instance,
    find_distribution,
    plan_for,
    run_batch,
)
from holdfast.experiments.papers.checkpoint.published_values import APPLICATIONS, TABLE_4
from holdfast.experiments.statistics import Interval, interval
from holdfast.experiments.study.comparison import everywhere, gain, interval_text
from holdfast.experiments.study.experiment import find_experiment, read_tables, run_experiment
from holdfast.experiments.study.measurement_table import in_order
from holdfast.experiments.study.verdicts import HYPOTHESIS, Outcome, Statement, Verdict
from holdfast.workloads.ground.columns import Better, Metric
from holdfast.workloads.ground.errors import InputError
from tests.reference.queue import completion_times, reservation_lengths
from tests.support.alterations import never_flips

TINY: dict[str, dict[str, Any]] = {
    "checkpoint-fig8": {"jobs": 30, "processors": 16, "repetitions": 2},
    "checkpoint-fig9": {"jobs": 30, "processors": 16, "repetitions": 2, "variations": (0.1, 0.2), "overheads": (0.25,)},
    "checkpoint-table4": {"jobs": (6, 12, 12), "processors": 16, "runs": 3},
    "checkpoint-64-fig8": {"jobs": 30, "processors": 4, "repetitions": 2},
    "checkpoint-64-table4": {"jobs": (6, 12, 12), "processors": 4, "runs": 3},
}


@pytest.mark.system
@pytest.mark.parametrize(
    ("strategy", "overhead"), [("optimal", 1.0), ("optimal", 0.1), ("all-ckpt", 1.0), ("masi", 1.0)]
)
def test_a_batch_is_a_plain_queue(strategy: str, overhead: float) -> None:
    instance = draw_instance({"Qball": 20, "SD": 8, "FCA": 12}, 5, 3, 0)
    found = run_batch(instance, strategy, 7, overhead=overhead)
    plans = {name: plan_for(strategy, name, instance.past[name], overhead) for name in APPLICATIONS}
    jobs = [
        reservation_lengths(plans[name], time)
        for name, time in zip(instance.applications, instance.runtimes.tolist(), strict=True)
    ]
    ends = completion_times(jobs, 7)
    times = instance.runtimes
    assert found["all_done_s"] == pytest.approx(max(ends), rel=1e-6)
    assert found["response_stretch"] == pytest.approx(float(np.mean(np.array(ends) / times)), rel=1e-6)
    assert found["execution_stretch"] == pytest.approx(float(np.mean([sum(job) for job in jobs] / times)), rel=1e-6)
    assert found["utilization"] == pytest.approx(float(times.sum()) / (7 * max(ends)), rel=1e-6)
    assert found["efficiency"] == pytest.approx(float(times.sum()) / sum(map(sum, jobs)), rel=1e-6)
    asked = [plans[name].extend(times.max()) for name in instance.applications]
    reserved = [float(plan.length[: len(job)].sum()) for plan, job in zip(asked, jobs, strict=True)]
    assert found["reserved_s"] == pytest.approx(float(np.mean(reserved)), rel=1e-6)
    assert found["reservations"] == np.mean([len(job) for job in jobs])
    assert found["utilization"] <= found["bound"] <= 1.0
    assert 0.0 < found["full"] <= 1.0


@pytest.mark.system
def test_what_is_reserved_is_what_the_planner_expects() -> None:
    for strategy in ("optimal", "all-ckpt"):
        rows = [run_batch(draw_instance({"FCA": 2000}, 5, 1, place), strategy, 256) for place in range(2)]
        reserved = np.mean([row["reserved_s"] for row in rows])
        # 4,000 jobs: a standard error of about 0.8 %.
        assert reserved == pytest.approx(rows[0]["expected_cost_s"], rel=0.03)


def test_the_omniscient_wastes_nothing() -> None:
    instance = draw_instance({"Qball": 40}, 5, 2, 0)
    found = run_batch(instance, "omniscient", 8)
    # To the microsecond that the clock counts.
    for name in ("execution_stretch", "reserved_stretch", "efficiency"):
        assert found[name] == pytest.approx(1.0, abs=1e-8)
    assert found["all_done_s"] == pytest.approx(
        max(completion_times([[time] for time in instance.runtimes.tolist()], 8))
    )


def test_an_instance_is_drawn_once_for_all() -> None:
    one, two, other = (draw_instance({"Qball": 50, "FCA": 70}, 5, 1, place) for place in (0, 0, 1))
    assert one.applications == two.applications != other.applications
    np.testing.assert_array_equal(one.runtimes, two.runtimes)
    assert one.seed == two.seed != other.seed
    assert one.applications.count("Qball") == 50
    assert one.applications != tuple(sorted(one.applications))
    own = one.runtimes[[name == "FCA" for name in one.applications]]
    assert abs(own.mean() - find_distribution("FCA").mean()) < 6 * own.std() / np.sqrt(70)
    assert {name: runs.size for name, runs in one.past.items()} == {"Qball": 5, "FCA": 5}
    # The runs that HPC knows are none of those that are submitted.
    assert not np.isin(one.past["FCA"], one.runtimes).any()


def test_hpc_is_the_mean_of_five_runs_and_longer_by_half() -> None:
    past = np.array([100.0, 200.0, 150.0, 300.0, 250.0])
    plan = plan_for("masi", "Qball", past).extend(500.0)
    np.testing.assert_allclose(plan.milestones, [200.0, 300.0, 450.0, 675.0])
    assert not plan.checkpointed.any()


def test_hpc_does_not_vary() -> None:
    instance = draw_instance({"Qball": 40}, 5, 2, 0)
    still = run_batch(instance, "masi", 8)
    assert run_batch(instance, "masi", 8, variation=0.3, mode="strict") == still
    # With checkpoints it does, and some of them are lost.
    moved = run_batch(instance, "all-ckpt", 8, variation=0.3, mode="strict")
    assert moved["checkpoints_lost"] > 0
    assert moved["execution_stretch"] > run_batch(instance, "all-ckpt", 8)["execution_stretch"]


@pytest.mark.system
@pytest.mark.parametrize("name", TINY)
def test_each_experiment_runs(name: str, tmp_path: Path) -> None:
    item = find_experiment(name)
    verdicts = run_experiment(item, replace(item.parameters, **TINY[name]), 1, tmp_path, "0", workers=1)
    assert verdicts
    assert all(verdict.measured for verdict in verdicts)
    assert never_flips(item, read_tables(name, tmp_path)) == []
    assert json.loads((tmp_path / f"{name}.json").read_text())["experiment"] == name
    for kind in ("csv", "png", "pdf"):
        assert (tmp_path / f"{name}.{kind}").stat().st_size


def test_defaults_are_the_papers() -> None:
    for name in ("checkpoint-fig8", "checkpoint-fig9"):
        setting = find_experiment(name).parameters
        assert (setting.jobs, setting.processors, setting.past) == (500, 256, 5)
        assert setting.applications == ("Qball", "SD", "FCA")
    assert find_experiment("checkpoint-fig9").parameters.variations[-1] == 0.30
    mix = find_experiment("checkpoint-table4").parameters
    assert dict(zip(mix.applications, mix.jobs, strict=True)) == {"Qball": 100, "SD": 200, "FCA": 200}
    assert mix.runs == len(TABLE_4) == 10


@pytest.mark.parametrize(
    ("name", "setting"),
    [
        ("checkpoint-fig8", "applications=Qbal"),
        ("checkpoint-fig8", "repetitions=1"),
        ("checkpoint-fig9", "variations=2"),
        ("checkpoint-table4", "jobs=1,2"),
        ("checkpoint-table4", "runs=1"),
    ],
)
def test_wrong_settings_are_one_sentence(
    name: str, setting: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["experiment", name, "-o", str(tmp_path), "--quick", "--set", setting]) == 2
    assert len(capsys.readouterr().err.strip().splitlines()) == 1
    assert not list(tmp_path.iterdir())


# -- comparisons --

_SPEED = Metric("speed", unit="%", scale=100.0, digits=0, better=Better.MORE)
_TIME = Metric("time", digits=2, better=Better.LESS)


def _runs(first: Sequence[float], second: Sequence[float], column: str) -> list[dict[str, Any]]:
    # The order of the lines in a file is nobody's business.
    return [
        {"strategy": name, "repetition": place, column: value}
        for name, values in (("a", first), ("b", second))
        for place, value in reversed(list(enumerate(values)))
    ]


def test_a_gain_knows_what_is_better() -> None:
    rows = _runs([1.0, 2.0], [0.5, 1.5], "speed")
    assert gain(rows, _SPEED, "a", "b") == Interval(0.5, 0.5, 0.5)
    assert interval_text(_SPEED, gain(rows, _SPEED, "a", "b"), "+") == "+50 [+50, +50] points"
    rows = _runs([1.0, 2.0], [0.5, 1.0], "time")
    assert gain(rows, _TIME, "a", "b").mean == -0.75
    assert in_order(rows, "time", strategy="a") == [1.0, 2.0]
    with pytest.raises(InputError, match="no runs of strategy c"):
        in_order(rows, "time", strategy="c")
    with pytest.raises(InputError, match="two runs of the same repetition"):
        in_order([*rows, rows[0]], "time", strategy=rows[0]["strategy"])


def test_what_is_not_decided_is_undecided() -> None:
    sure, open_, worse = interval([0.9, 1.0, 1.1]), interval([-2.0, 1.0, 4.0]), interval([-1.0, -1.01, -0.99])
    claim = Statement("c", "p", HYPOTHESIS)
    assert everywhere(claim, _TIME, {"x": sure}).outcome == Outcome.HOLDS
    doubtful = everywhere(claim, _TIME, {"x": sure, "y": open_})
    assert (doubtful.outcome, doubtful.remark) == (Outcome.UNDECIDED, "not decided: y")
    failed = everywhere(claim, _TIME, {"x": sure, "y": worse}, "why")
    assert (failed.outcome, failed.remark) == (Outcome.FAILS, "why")


# -- verdicts, on tables that are made up --


def _outcomes(name: str, tables: Mapping[str, Any]) -> dict[str, Outcome]:
    return {verdict.claim: verdict.outcome for verdict in find_experiment(name).judge(tables)}


def _batch_tables(values: Callable[[str, str, int], float]) -> dict[str, Any]:
    """Rows of figure 8; ``values(application, strategy, repetition)`` is how bad a run is."""
    rows = []
    for name in APPLICATIONS:
        for strategy in STRATEGY_NAMES:
            for place in range(4):
                bad = values(name, strategy, place)
                stretches = dict.fromkeys(("execution_stretch", "response_stretch", "reserved_stretch"), 1.0 + bad)
                good = dict.fromkeys(("utilization", "efficiency"), 0.9 - bad)
                rows.append({"application": name, "strategy": strategy, "repetition": place, **stretches, **good})
    summary = [{"application": name, "strategy": "optimal", "full": 0.3} for name in APPLICATIONS]
    return {"": rows, "summary": summary}


def test_the_verdicts_of_figure_8_can_go_either_way() -> None:
    bad = {"optimal": 0.1, "all-ckpt": 0.2, "masi": 0.3, "omniscient": 0.0}
    found = _outcomes("checkpoint-fig8", _batch_tables(lambda name, strategy, place: bad[strategy] + 0.01 * place))
    assert len(found) == 10
    assert set(found.values()) == {Outcome.HOLDS}
    bad["all-ckpt"] = 0.05
    found = _outcomes("checkpoint-fig8", _batch_tables(lambda name, strategy, place: bad[strategy]))
    assert {outcome for claim, outcome in found.items() if "ALL-CKPT" in claim} == {Outcome.FAILS}
    assert {outcome for claim, outcome in found.items() if "HPC" in claim} == {Outcome.HOLDS}

    def noisy(name: str, strategy: str, place: int) -> float:
        # One application in which HPC is better now and then.
        return bad[strategy] - (0.6 if (name, strategy, place) == ("SD", "masi", 0) else 0.0)

    verdicts = find_experiment("checkpoint-fig8").judge(_batch_tables(noisy))
    over: list[Verdict] = [verdict for verdict in verdicts if "HPC" in verdict.claim]
    assert {verdict.outcome for verdict in over} == {Outcome.UNDECIDED}
    assert all("not decided: DYN-PROG-COUNT, SD" in verdict.remark for verdict in over)


def _varied_tables(
    checkpoints: float, utilization: Callable[[float, str], float], stretch: Callable[[float, str], float]
) -> dict[str, Any]:
    """Rows of figure 9, by the variation and the mode."""
    rows = []
    for name in APPLICATIONS:
        for place in range(3):
            same = {"application": name, "overhead": 1.0, "repetition": place, "checkpoints_lost": 0.5}
            level = 1.0 + 0.01 * place
            rows.append({**same, "strategy": "masi", "mode": "absorbed", "variation": 0, "plan_checkpoints": 0,
                         "utilization": 0.3 * level, "execution_stretch": 2.0 * level})  # fmt: skip
            for strategy in ("optimal", "all-ckpt"):
                for mode, variation in [("absorbed", 0)] + [
                    (m, v) for m in ("absorbed", "strict") for v in (0.1, 0.15, 0.3)
                ]:
                    rows.append({
                        **same, "strategy": strategy, "mode": mode, "variation": variation,
                        "plan_checkpoints": checkpoints,
                        "utilization": level * utilization(variation, mode),
                        "execution_stretch": level * stretch(variation, mode),
                    })  # fmt: skip
    return {"": rows}


def test_the_verdicts_of_figure_9_can_go_either_way() -> None:
    words = ("robust", "more stable", "favours HPC")

    def outcomes(tables: dict[str, Any]) -> list[Outcome]:
        found = _outcomes("checkpoint-fig9", tables)
        return [outcome for word in words for claim, outcome in found.items() if word in claim and "ALL" not in claim]

    def worse(variation: float, mode: str) -> float:
        return 5.0 * variation if mode == "strict" else 0.1 * variation

    good = _varied_tables(
        2, lambda v, mode: 0.5 * (1 - min(0.9, worse(v, mode))), lambda v, mode: 1.2 + 0.7 * worse(v, mode)
    )
    assert outcomes(good) == [Outcome.HOLDS, Outcome.HOLDS, Outcome.HOLDS]
    # Without a checkpoint nothing varies, which says nothing.
    nothing = _varied_tables(0, lambda v, mode: 0.5, lambda v, mode: 1.2)
    assert outcomes(nothing) == [Outcome.NOT_COMPARABLE] * 3
    # Beyond 10 % the stretch jumps; utilisation is steadier; HPC stays worse.
    bad = _varied_tables(2, lambda v, mode: 0.5, lambda v, mode: 1.2 if v <= 0.1 else 1.4)
    assert outcomes(bad) == [Outcome.FAILS] * 3
    (measured,) = [
        v.measured
        for v in find_experiment("checkpoint-fig9").judge(bad)
        if v.claim.startswith("DYN") and "robust" in v.claim
    ]
    assert "Qball, utilisation 30 %; Qball, execution stretch 10 %" in measured
    # It changes little, but is no longer better than HPC.
    near = _varied_tables(2, lambda v, mode: 0.303 if v < 0.15 else 0.297, lambda v, mode: 1.2)
    assert outcomes(near)[0] == Outcome.FAILS


def test_the_printed_gains_are_ratios() -> None:
    for run in TABLE_4:
        # Means are rounded to a unit in their last digit.
        assert abs(100 * (run.utilization / run.hpc_utilization - 1) - run.utilization_gain) < 2.0
        assert abs(100 * (run.hpc_stretch / run.stretch - 1) - run.stretch_gain) < 1.0
    gains = [run.utilization_gain for run in TABLE_4]
    assert gains == sorted(gains, reverse=True)


def test_the_printed_table_would_pass() -> None:
    rows = []
    for run in TABLE_4:
        row = {"full": 0.5, "bound": 1.0, "omniscient_utilization": 0.9}
        row |= {"utilization": run.utilization / 100, "hpc_utilization": run.hpc_utilization / 100}
        for name in ("execution_stretch", "response_stretch"):
            row |= {name: run.stretch, f"hpc_{name}": run.hpc_stretch, f"{name}_gain": run.stretch_gain / 100}
        rows.append({**row, "utilization_gain": run.utilization_gain / 100})
    assert set(_outcomes("checkpoint-table4", {"": rows}).values()) == {Outcome.HOLDS}
    for row in rows:
        row["utilization_gain"] -= 0.25
        row["utilization"] -= 0.2
    found = _outcomes("checkpoint-table4", {"": rows})
    own = {outcome for claim, outcome in found.items() if "utilisation" in claim and "of HPC" not in claim}
    assert own == {Outcome.FAILS}
    # From few runs that scatter nothing is known.
    for place, row in enumerate(rows):
        row["utilization_gain"] = 0.1 + 0.4 * (-1) ** place
    found = _outcomes("checkpoint-table4", {"": rows})
    assert found["DYN-PROG-COUNT improves by 10 % on average, utilisation"] == Outcome.UNDECIDED
    assert found["DYN-PROG-COUNT is better on average, utilisation"] == Outcome.UNDECIDED


def test_the_table_is_ordered_as_the_papers(tmp_path: Path) -> None:
    item = find_experiment("checkpoint-table4")
    run_experiment(item, replace(item.parameters, **TINY["checkpoint-table4"]), 1, tmp_path, "0", workers=1)
    tables = read_tables("checkpoint-table4", tmp_path)
    rows, runs = tables[""], tables["runs"]
    gains = [row["utilization_gain"] for row in rows]
    assert gains == sorted(gains, reverse=True)
    assert [row["rank"] for row in rows] == [1, 2, 3]
    assert rows[0]["printed_utilization"] == 0.67
    for row in rows:
        own, hpc = (
            next(run for run in runs if (run["repetition"], run["strategy"]) == (row["run"], name))
            for name in ("optimal", "masi")
        )
        assert row["utilization_gain"] == pytest.approx(own["utilization"] / hpc["utilization"] - 1)
        assert row["execution_stretch_gain"] == pytest.approx(hpc["execution_stretch"] / own["execution_stretch"] - 1)
        assert row["hpc_utilization"] == hpc["utilization"]


def test_an_instance_may_be_made_by_hand() -> None:
    # Two processors, three jobs of FCA with a plan of one reservation each: 100 s, 300 s, then 200 s.
    instance = Instance(("FCA",) * 3, np.array([100.0, 300.0, 200.0]), {"FCA": np.full(5, 1003.0)}, 0)
    found = run_batch(instance, "masi", 2)
    assert found["all_done_s"] == pytest.approx(300.0)
    assert found["utilization"] == pytest.approx(1.0)
    assert found["full"] == pytest.approx(1.0)
    assert found["response_stretch"] == pytest.approx((1 + 1 + 1.5) / 3)
