"""Open sentences of the hybrid paper varied together: the design, what it estimates, and what is said of readings."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from itertools import combinations, product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from experiments.papers.hybrid.factors import FACTORS, Choice, effects, named_choice, predicted, screening
from experiments.papers.hybrid.fidelity import LEVELS, halves_of, promising, scores_of
from experiments.papers.hybrid.readings import Readings
from experiments.study.experiment import find_experiment, read_tables, run_experiment
from experiments.study.rules import Outcome
from experiments.study.verdicts import Verdict
from simulator import simulate
from simulator.results.metrics import summarize
from tests.experiments.papers.test_hybrid_experiments import as_printed, turned_round, world
from workloads.ground.errors import InputError, ParameterError
from workloads.hybrid.assignment import assign
from workloads.theta.generator import generate
from workloads.theta.presets import preset_year
from workloads.theta.year import ThetaYear

CROSSED = [place for place, factor in enumerate(FACTORS) if factor.crossed]


def test_sixteen_readings_cross_any_three_factors_evenly() -> None:
    choices = screening()[:16]
    assert len(set(choices)) == 16
    assert choices[0] == named_choice("default")
    for places in combinations(CROSSED, 3):
        seen = [tuple(choice.levels[place] for place in places) for choice in choices]
        assert all(seen.count(levels) == 2 for levels in product((False, True), repeat=3))


def test_other_levels_are_tried_one_at_a_time() -> None:
    alone = [choice.name for choice in screening()[16:]]
    assert alone[:3] == ["tenants=none", "node_mtbf=1y", "node_mtbf=25y"]
    assert alone == [factor.label for factor in FACTORS[len(CROSSED) :]]
    assert list(range(8)) == CROSSED
    assert all(not any(choice.levels[8:]) for choice in screening()[:16])


def test_effects_are_those_of_each_factor_alone() -> None:
    """Sums of effects are found again, and no interaction of two factors is taken for the effect of a third."""
    choices = screening()
    own = np.arange(1.0, len(FACTORS) + 1.0)
    plain = [5.0 + float(own @ choice.levels) for choice in choices]
    found = effects(choices, plain)
    assert [found[factor.label].mean for factor in FACTORS] == pytest.approx(own)
    assert all(each.high - each.low < 1e-6 for each in found.values())
    both = [value + 3.0 * (choice.levels[1] ^ choice.levels[4]) for value, choice in zip(plain, choices, strict=True)]
    crossed = [each.mean for each in effects(choices, both).values()][: len(CROSSED)]
    assert crossed == pytest.approx(own[: len(CROSSED)])
    noise = np.random.default_rng(3).normal(size=len(choices))
    # A reading of its own decides on a level of its own, and on nothing else.
    alone, together = effects(choices, noise), effects(choices[:16], noise[:16])
    assert list(together) == [FACTORS[place].label for place in CROSSED]
    assert all(alone[label].text(".9f") == each.text(".9f") for label, each in together.items())
    assert alone["tenants=none"].error > alone["tenants=fits"].error
    ranking = predicted(choices, plain)
    assert len(ranking) == 256
    assert (ranking[0], ranking[-1][0]) == ((5.0, named_choice("default")), 41.0)


def test_readings_are_named_by_what_is_not_at_its_default() -> None:
    choice = named_choice("backfill_length=runtime projects=even victims=malleable-first")
    assert choice.options == {"backfill_length": "runtime"}
    assert choice.preset == "runtime-backfilling+even-projects"
    assert choice.mechanism("CUA-PAA") == "CUA-PAA victims=malleable-first"
    assert named_choice(choice.name) == choice
    assert named_choice("tenants=none node_mtbf=1y").assignment == {"node_mtbf": 365 * 86400.0}
    both = named_choice("shrink=minimum overhead=seconds walltimes=trace")
    assert both.mechanism("CUP-PAA") == "CUP-PAA overhead=seconds"
    assert both.mechanism("CUP-SPAA") == "CUP-SPAA overhead=seconds shrink=minimum"
    assert both.assignment == {"walltimes": "trace"}
    for wrong in ("tenants=some", "tenants=fits tenants=none"):
        with pytest.raises(InputError, match="tenants=fits"):
            named_choice(wrong)


Tables = dict[str, list[dict[str, Any]]]
World = Callable[[str, str, str], float]


def _tables(worlds: Mapping[str, World], stage: str = "") -> Tables:
    """Made-up measurements by reading, the checkpoint intervals by mechanism alone."""
    grid, halves = [], []
    for name, value in worlds.items():
        few = [row for row in world(value, 1e-5)._rows if not stage or (row["trace"] < 2 and row["mix"] > "W2")]
        rows = [{"reading": name, **row, "instant_start_ratio_strict": row["instant_start_ratio"]} for row in few]
        grid += rows
        for row in rows:
            if row["mix"] == "W5" and row["mechanism"] != "baseline":
                halves += [{**row, "checkpoint_factor": factor} for factor in (0.5, 1.0)]
    return {stage: grid, halves_of(stage): halves}


def _slower(metric: str, mechanism: str, mix: str) -> float:
    return as_printed(metric, mechanism, mix) + 3.0 * (metric == "turnaround_h" and mechanism != "baseline")


@pytest.fixture(scope="module")
def screened() -> Tables:
    """A screening in which added overheads prolong the turnaround, and nothing else changes anything."""
    names = [choice.name for choice in screening()]
    return _tables({name: _slower if "overheads=added" in name else as_printed for name in names}, "screening")


def _judged(worlds: Mapping[str, World], *others: Tables) -> dict[str, Verdict]:
    tables = _tables(worlds)
    for other in others:
        tables |= other
    return {verdict.claim: verdict for verdict in find_experiment("hybrid-readings").judge(tables)}


def _observation(told: Mapping[str, Verdict], name: str) -> Verdict:
    return next(verdict for claim, verdict in told.items() if claim.startswith(f"Observation {name},"))


def test_the_sentence_that_decides_is_named(screened: Tables) -> None:
    told = _judged({"default": turned_round, "tenants=fits": as_printed}, screened)
    best = told["Some reading of the paper gives all its observations"]
    assert "tenants=fits" in best.measured
    found = re.search(r"claims (\d+) hold under each of 2 readings, (\d+) under some, (\d+) under none", best.remark)
    assert found is not None
    assert sum(map(int, found.groups())) == 41
    one = _observation(told, "3c")
    assert one.outcome is Outcome.HOLDS
    assert one.remark.endswith("differs most by tenants: holds under 1 of 1 with fits, 0 of 1 with any")
    turnaround = told["Some reading gives the turnaround, worst mean"]
    assert turnaround.outcome is Outcome.HOLDS


def test_what_holds_always_and_never_is_said(screened: Tables) -> None:
    every = _judged({"default": as_printed, "tenants=fits": as_printed}, screened)
    assert _observation(every, "2a").remark.startswith("robust")
    verdict = _observation(_judged({"default": turned_round, "tenants=fits": turned_round}, screened), "2a")
    assert verdict.outcome is Outcome.FAILS
    assert "under no reading" in verdict.remark


def test_what_a_sentence_changes_is_told_from_the_screening(screened: Tables) -> None:
    told = _judged({"default": as_printed}, screened)
    outcomes = {claim: verdict.outcome for claim, verdict in told.items() if claim.startswith("In the screening")}
    assert len(outcomes) == len(FACTORS)
    changes = "In the screening overheads=added changes nothing"
    assert [claim for claim, outcome in outcomes.items() if outcome is Outcome.FAILS] == [changes]
    assert set(outcomes.values()) == {Outcome.HOLDS, Outcome.FAILS}
    assert "turnaround, worst mean +3.0 [+3.0, +3.0] h" in told[changes].measured


def test_the_default_and_what_promises_most_are_chosen(screened: Tables) -> None:
    chosen = promising(scores_of(screened, "screening"), 3)
    assert chosen[0] == named_choice("default")
    assert len(set(chosen)) == 4
    assert not any(choice.levels[0] for choice in chosen)


def test_draws_in_one_year_are_judged_beside_the_years(screened: Tables) -> None:
    worlds = {"default": _slower, "tenants=fits": as_printed}
    told = _judged(worlds, screened, _tables(worlds, "draws"))
    last = told["One year with draws of types gives the turnaround, worst mean"]
    assert last.outcome is Outcome.HOLDS
    assert last.measured.startswith("default 25.0 [25.0, 25.0], tenants=fits 22.0 [22.0, 22.0]")
    gain = told["Draws of types in one year decide more claims than years of their own"]
    assert gain.outcome is Outcome.FAILS
    assert not any("One year" in claim for claim in _judged(worlds, screened))


def test_wrong_parameters() -> None:
    with pytest.raises(ParameterError, match="chosen"):
        Readings(chosen=0)
    with pytest.raises(ParameterError, match="screened_traces"):
        Readings(screened_traces=1)
    with pytest.raises(ParameterError, match="draws"):
        Readings(draws=1)


@pytest.mark.system
def test_chosen_readings_are_simulated_as_they_say(tmp_path: Path) -> None:
    parameters = Readings(
        jobs=150,
        traces=2,
        mixes=("W2",),
        screened_jobs=60,
        screened_traces=2,
        screened_mixes=("W2",),
        chosen=2,
        draws=2,
    )
    run_experiment(find_experiment("hybrid-readings"), parameters, 1, tmp_path, "0", workers=1)
    tables = read_tables("hybrid-readings", tmp_path)
    names = list(dict.fromkeys(row["reading"] for row in tables[""]))
    assert names[0] == "default"
    assert len(names) == 3
    assert {row["reading"] for row in tables["screening"]} == {choice.name for choice in screening()}
    assert len(LEVELS) == 6
    opposite = Choice(tuple(factor.crossed for factor in FACTORS)).name
    for stage, name, own in (("screening", "default", 1), ("screening", opposite, 1), ("draws", "default", 2)):
        choice, rows = named_choice(name), tables[stage]
        year = preset_year(choice.preset, ThetaYear(jobs=60 if stage == "screening" else 150))
        jobs = assign(generate(year, 1), seed=own, notice_mix="W2", **choice.assignment)
        result = simulate(jobs, 4392, choice.mechanism("CUP-PAA"), events=False, **choice.options)
        row = next(
            row
            for row in rows
            if (row["reading"], row["trace"], row["mechanism"], row["mix"]) == (name, own, "CUP-PAA", "W2")
        )
        assert row["turnaround_h"] == pytest.approx(summarize(result)["turnaround_h"])
