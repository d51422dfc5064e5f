"""The year with more and more stochastic projects: its rows, and verdicts on tables that are made up."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from holdfast.experiments.beyond.stochastic_year import EXPERIMENTS, Year
from holdfast.experiments.study.experiment import Resources, run_experiment
from holdfast.experiments.study.verdicts import Outcome
from holdfast.policies.planning.plan_book import Planner
from holdfast.simulator import simulate
from holdfast.workloads.hybrid.assignment import assign
from holdfast.workloads.theta.generator import generate
from holdfast.workloads.theta.year import ThetaYear

(YEAR,) = EXPERIMENTS
TINY = Year(jobs=250, years=2, shares=(0.4,), strategies=("walltime", "optimal", "optimal-waits"),
            mechanisms=("baseline",))  # fmt: skip


def rows(turnaround: Mapping[str, tuple[float, ...]]) -> list[dict[str, Any]]:
    """A table in which all metrics of a strategy are its turnaround, by year."""
    metrics = ("turnaround_h", "turnaround_others_h", "turnaround_stochastic_h")
    return [
        {"seed": seed, "mechanism": "baseline", "share": share, "strategy": name, **dict.fromkeys(metrics, value)}
        for name, values in turnaround.items()
        for share in (0.1, 0.3)
        for seed, value in enumerate(values)
    ]


def outcome(turnaround: Mapping[str, tuple[float, ...]], claim: str) -> Outcome:
    return next(item.outcome for item in YEAR.judge({"": rows(turnaround)}) if claim in item.claim)


def test_verdicts_follow_the_intervals() -> None:
    better, worse = (10.0, 11.0, 12.0), (20.0, 21.5, 22.0)
    assert outcome({"optimal": better, "masi": worse}, "MASI") is Outcome.HOLDS
    assert outcome({"optimal": worse, "masi": better}, "MASI") is Outcome.FAILS
    assert outcome({"optimal": better, "walltime": worse}, "walltimes") is Outcome.HOLDS
    assert outcome({"optimal-waits": better, "optimal": worse}, "of the other jobs") is Outcome.HOLDS
    # Years that disagree decide nothing, and one year has no interval.
    (undecided,) = YEAR.judge({"": rows({"optimal": (10.0, 30.0, 20.0), "masi": (20.0, 21.0, 19.0)})})
    assert undecided.outcome is Outcome.UNDECIDED
    assert outcome({"optimal": (10.0,), "masi": (20.0,)}, "MASI") is Outcome.NOT_COMPARABLE
    assert not YEAR.judge({"": rows({"optimal": better})})


@pytest.mark.system
def test_rows_are_those_of_simulations(tmp_path: Path) -> None:
    run_experiment(YEAR, TINY, 5, tmp_path, "0", workers=1)
    found = YEAR.measure(TINY, 5, Resources(tmp_path / "again", workers=2))[""]
    # Two years: one row without stochastic projects, and one for each strategy.
    assert [(row["seed"], row["share"], row["strategy"]) for row in found] == [
        (seed, share, strategy)
        for seed in (5, 6)
        for share, strategies in ((0.0, ("none",)), (0.4, TINY.strategies))
        for strategy in strategies
    ]
    jobs = assign(generate(ThetaYear(jobs=250), seed=5), seed=5, stochastic_share=0.4)
    optimal = simulate(jobs, 4392).summary()
    patient = simulate(jobs, 4392, planner=Planner(least=10**6)).summary()
    assert found[2]["turnaround_h"] == optimal["turnaround_h"]
    assert found[1]["turnaround_h"] == patient["turnaround_h"]
    assert found[1]["reservations_per_job"] == 1
    reserved = found[1]["reserved_per_work"]
    assert reserved is not None
    assert reserved > 1
    assert (tmp_path / "beyond-stochastic.png").exists()


@pytest.mark.system
def test_no_result_depends_on_the_workers(tmp_path: Path) -> None:
    alone, shared = (YEAR.measure(TINY, 5, Resources(tmp_path / f"{count}", workers=count)) for count in (1, 2))
    # As text: a ratio over no jobs is NaN, which equals nothing.
    assert repr(alone) == repr(shared)


def test_no_years_are_refused(tmp_path: Path) -> None:
    from holdfast.workloads.ground.errors import ParameterError

    with pytest.raises(ParameterError, match="at least 1"):
        YEAR.measure(replace(TINY, years=0), 0, Resources(tmp_path))
