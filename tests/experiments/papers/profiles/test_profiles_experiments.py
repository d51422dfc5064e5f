"""The experiments of the profiles paper: on drawn runs with tiny sizes, and on the measured runs where they are."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from holdfast.experiments.study.experiment import (
    Experiment,
    all_experiments,
    find_experiment,
    read_tables,
    run_experiment,
)
from holdfast.experiments.study.verdicts import Outcome
from tests.shared_data import shared_file
from tests.support.alterations import never_flips

PROFILES = [name for name in all_experiments() if name.startswith("profiles-")]
PLANS = {"runs": 12, "samples": (5, 8), "repetitions": 2, "n": 60}
#: Smaller than "quick".
TINY: dict[str, dict[str, Any]] = {
    "profiles-fig12": {"runs": 12, "samples": (5, 8), "repetitions": 2, "step_min": 10.0},
    "profiles-fig13": PLANS,
    "profiles-fig14": PLANS,
    "profiles-fig16": PLANS,
    "profiles-fig17": {"runs": 12, "n": 60},
    "profiles-fig18": {**PLANS, "new_runs": 4},
}


def tiny(name: str) -> tuple[Experiment, Any]:
    item = find_experiment(name)
    return item, replace(item.quick, **TINY.get(name, {}))


def test_every_row_of_the_paper_has_an_experiment() -> None:
    figures = [f"profiles-fig{number}" for number in range(1, 19)]
    assert sorted(PROFILES) == sorted([*figures, "profiles-table1", "profiles-table2", "profiles-table3"])


@pytest.mark.system
@pytest.mark.parametrize("name", PROFILES)
def test_drawn_runs_are_judged_and_never_compared(name: str, tmp_path: Path) -> None:
    item, parameters = tiny(name)
    verdicts = run_experiment(item, parameters, 1, tmp_path, "0", workers=1)
    assert verdicts
    assert {verdict.outcome for verdict in verdicts} == {Outcome.NOT_COMPARABLE}
    assert all(verdict.remark for verdict in verdicts)
    assert never_flips(item, read_tables(name, tmp_path)) == []
    assert (tmp_path / f"{name}.png").exists() == (item.draw is not None)


@pytest.mark.system
@pytest.mark.parametrize("name", ["profiles-fig8", "profiles-fig13"])
def test_the_same_seed_measures_the_same(name: str) -> None:
    item, parameters = tiny(name)
    assert item.measure(parameters, 3) == item.measure(parameters, 3)
    assert item.measure(parameters, 3) != item.measure(parameters, 4)


def test_verdicts_on_durations_can_go_either_way() -> None:
    def verdict_outcomes(peaks: tuple[int, int], widest: float) -> list[Outcome]:
        ranges = {3: 4.0, 4: 3.0, 5: 10.0, 7: widest}
        rows = [
            {"task": task, "duration_s": 60 * minutes} for task, wide in ranges.items() for minutes in (5.0, 5.0 + wide)
        ]
        fits = [{"task": task, "peaks": 2 if task in peaks else 1} for task in ranges]
        data = [{"measured": 1, "runs": 2, "why": ""}]
        found = find_experiment("profiles-fig8").judge({"": rows, "fits": fits, "data": data})
        return [verdict.outcome for verdict in found]

    assert verdict_outcomes((5, 7), 24.0) == [Outcome.HOLDS] * 4
    assert verdict_outcomes((3, 7), 0.5) == [Outcome.FAILS] * 3 + [Outcome.HOLDS]


def test_the_measured_walltimes_are_those_of_the_paper(tmp_path: Path) -> None:
    item = find_experiment("profiles-fig2")
    parameters = replace(item.parameters, makespans=str(shared_file("slant", "slant_makespan.csv")))
    verdicts = run_experiment(item, parameters, 0, tmp_path, "0", workers=1)
    assert [verdict.outcome for verdict in verdicts] == [Outcome.HOLDS, Outcome.HOLDS]


@pytest.mark.system
@pytest.mark.parametrize(
    ("name", "outcome"), [("profiles-fig9", Outcome.UNDECIDED), ("profiles-table2", Outcome.HOLDS)]
)
def test_the_measured_tasks_are_those_of_the_paper(name: str, outcome: Outcome, tmp_path: Path) -> None:
    """Eighty-eight runs cannot tell a share from the printed one to three points."""
    item = find_experiment(name)
    parameters = replace(item.parameters, tasks=str(shared_file("slant", "slant_drd_tasks.csv")))
    verdicts = run_experiment(item, parameters, 0, tmp_path, "0", workers=1)
    assert {verdict.outcome for verdict in verdicts} == {outcome}


def test_one_sign_of_table_1_is_a_misprint(tmp_path: Path) -> None:
    item = find_experiment("profiles-table1")
    parameters = replace(item.parameters, tasks=str(shared_file("slant", "slant_drd_tasks.csv")))
    first = run_experiment(item, parameters, 0, tmp_path, "0", workers=1)[0]
    assert first.outcome == Outcome.FAILS
    assert first.measured == "20 of 21"
    assert first.remark == "tasks 1, 5: printed -0.114, measured 0.114"


def test_the_measured_runs_rank_the_strategies_as_printed(tmp_path: Path) -> None:
    item = find_experiment("profiles-fig13")
    tasks = str(shared_file("slant", "slant_drd_tasks.csv"))
    parameters = replace(item.parameters, tasks=tasks, samples=(50,), repetitions=3, n=300)
    verdicts = run_experiment(item, parameters, 0, tmp_path, "0", workers=1)
    assert verdicts[0].outcome == Outcome.HOLDS
    assert "mem-all-ckpt-v2" in verdicts[0].measured
