"""Open sentences of the hybrid paper varied together: the design, what it estimates, and what is said of readings."""

from __future__ import annotations

from itertools import combinations, product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from experiments.papers.hybrid.factors import FACTORS, Choice, effects, named_choice, predicted, screening
from experiments.papers.hybrid.joint import LEVELS, Joint
from experiments.study.experiment import find_experiment, read_tables, run_experiment
from experiments.study.rules import Outcome
from simulator import simulate
from simulator.results.metrics import summarize
from tests.experiments.papers.test_hybrid_experiments import as_printed, turned_round, world
from workloads.ground.errors import InputError, ParameterError
from workloads.hybrid.assignment import assign
from workloads.theta.generator import generate
from workloads.theta.presets import preset_year
from workloads.theta.year import ThetaYear


def test_sixteen_readings_cross_any_three_factors_evenly() -> None:
    choices = screening()
    assert len(set(choices)) == 16
    assert choices[0] == named_choice("default")
    for places in combinations(range(len(FACTORS)), 3):
        seen = [tuple(choice.levels[place] for place in places) for choice in choices]
        assert all(seen.count(levels) == 2 for levels in product((False, True), repeat=3))


def test_effects_are_those_of_each_factor_alone() -> None:
    """Sums of effects are found again, and no interaction of two factors is taken for the effect of a third."""
    choices = screening()
    own = np.arange(1.0, 9.0)
    plain = [5.0 + float(own @ choice.levels) for choice in choices]
    found = effects(choices, plain)
    assert [found[factor.name].mean for factor in FACTORS] == pytest.approx(own)
    assert all(each.high - each.low < 1e-6 for each in found.values())
    both = [value + 3.0 * (choice.levels[1] ^ choice.levels[4]) for value, choice in zip(plain, choices, strict=True)]
    assert [each.mean for each in effects(choices, both).values()] == pytest.approx(own)
    ranking = predicted(choices, plain)
    assert len(ranking) == 256
    assert (ranking[0], ranking[-1][0]) == ((5.0, named_choice("default")), 41.0)


def test_readings_are_named_by_what_is_not_at_its_default() -> None:
    choice = named_choice("backfill_length=runtime projects=even victims=malleable-first")
    assert choice.options == {"backfill_length": "runtime"}
    assert choice.preset == "runtime-backfilling+even-projects"
    assert choice.mechanism("CUA-PAA") == "CUA-PAA victims=malleable-first"
    assert named_choice(choice.name) == choice
    with pytest.raises(InputError, match="tenants=fits"):
        named_choice("tenants=none")


def _tables(worlds: dict[str, Any]) -> dict[str, list[dict[str, Any]]]:
    """Made-up measurements by reading, the checkpoint intervals by mechanism alone."""
    grid, halves = [], []
    for name, value in worlds.items():
        rows = [{"reading": name, **row, "instant_start_ratio_strict": row["instant_start_ratio"]}
                for row in world(value, 1e-5)._rows]  # fmt: skip
        grid += rows
        for row in rows:
            if row["mix"] == "W5" and row["mechanism"] != "baseline":
                halves += [{**row, "checkpoint_factor": factor} for factor in (0.5, 1.0)]
    return {"": grid, "checkpoints": halves}


def test_the_sentence_that_decides_is_named() -> None:
    verdicts = find_experiment("hybrid-joint").judge(_tables({"default": turned_round, "tenants=fits": as_printed}))
    told = {verdict.claim: verdict for verdict in verdicts}
    best = told["Some reading of the paper gives all its observations"]
    assert "tenants=fits" in best.measured
    one = next(verdict for claim, verdict in told.items() if claim.startswith("Observation 3c"))
    assert one.outcome is Outcome.HOLDS
    assert one.remark.endswith("differs most by tenants: holds under 1 of 1 with fits, 0 of 1 with any")
    turnaround = told["Some reading gives the turnaround, worst mean"]
    assert turnaround.outcome is Outcome.HOLDS


def test_what_holds_always_and_never_is_said() -> None:
    every = find_experiment("hybrid-joint").judge(_tables({"default": as_printed, "tenants=fits": as_printed}))
    assert next(v for v in every if v.claim.startswith("Observation 2a")).remark.startswith("robust")
    never = find_experiment("hybrid-joint").judge(_tables({"default": turned_round, "tenants=fits": turned_round}))
    verdict = next(v for v in never if v.claim.startswith("Observation 2a"))
    assert verdict.outcome is Outcome.FAILS
    assert "under no reading" in verdict.remark


def test_wrong_parameters() -> None:
    with pytest.raises(ParameterError, match="chosen"):
        Joint(chosen=0)
    with pytest.raises(ParameterError, match="screened_traces"):
        Joint(screened_traces=1)


@pytest.mark.system
def test_chosen_readings_are_simulated_as_they_say(tmp_path: Path) -> None:
    parameters = Joint(
        jobs=150, traces=2, mixes=("W2",), screened_jobs=60, screened_traces=2, screened_mixes=("W2",), chosen=2
    )
    run_experiment(find_experiment("hybrid-joint"), parameters, 1, tmp_path, "0", workers=1)
    tables = read_tables("hybrid-joint", tmp_path)
    names = list(dict.fromkeys(row["reading"] for row in tables[""]))
    assert names[0] == "default"
    assert len(names) == 3
    assert len({row["reading"] for row in tables["screening"]}) == 16
    assert len(LEVELS) == 6
    for name in ("default", Choice((True,) * len(FACTORS)).name):
        choice, rows = named_choice(name), tables["screening"]
        year = preset_year(choice.preset, ThetaYear(jobs=60))
        jobs = assign(generate(year, 1), seed=1, notice_mix="W2", **choice.assignment)
        result = simulate(jobs, 4392, choice.mechanism("CUP-PAA"), events=False, **choice.options)
        row = next(
            row
            for row in rows
            if (row["reading"], row["trace"], row["mechanism"], row["mix"]) == (name, 1, "CUP-PAA", "W2")
        )
        assert row["turnaround_h"] == pytest.approx(summarize(result)["turnaround_h"])
