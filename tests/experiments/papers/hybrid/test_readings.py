"""Open sentences of the hybrid paper varied together: the search, and what is said of readings."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from holdfast.experiments.paper_readings import FACTORS, Reading, reading_from_levels
from holdfast.experiments.papers.hybrid.designs import resolution_five, year_blocks
from holdfast.experiments.papers.hybrid.factors import (
    CROSSED,
    crossed_choices,
    neighbours,
)
from holdfast.experiments.papers.hybrid.fidelity import checkpoint_stage, score_readings
from holdfast.experiments.papers.hybrid.published_levels import LEVELS
from holdfast.experiments.papers.hybrid.readings import PAPER, Readings, best_score, rank_by_outlook
from holdfast.experiments.papers.hybrid.search import measured_outlook, outlook, promising_readings, screening_responses
from holdfast.experiments.study.experiment import find_experiment, read_tables, run_experiment
from holdfast.experiments.study.rules import Above, AtMost, Below, Near, Outcome
from holdfast.experiments.study.verdicts import Verdict
from holdfast.simulator import simulate
from holdfast.simulator.results.metrics import summarize
from holdfast.workloads.ground.errors import InputError, ParameterError
from holdfast.workloads.hybrid.assignment import assign
from holdfast.workloads.theta.generator import generate
from holdfast.workloads.theta.presets import preset_year
from holdfast.workloads.theta.year import ThetaYear
from tests.experiments.papers.hybrid.test_hybrid_experiments import published_world, turned_round, world

FOUR = CROSSED[:4]
DESIGN = crossed_choices(FOUR, resolution_five(4))


def test_readings_are_named_by_what_is_not_at_its_default() -> None:
    choice = reading_from_levels("backfill_length=runtime projects=even victims=malleable-first")
    assert choice.options == {"backfill_length": "runtime"}
    assert choice.preset == "runtime-backfilling+even-projects"
    assert choice.mechanism("CUA-PAA") == "CUA-PAA victims=malleable-first"
    assert reading_from_levels(choice.name) == choice
    assert reading_from_levels("tenants=none node_mtbf=1y").assignment == {"node_mtbf": 365 * 86400.0}
    both = reading_from_levels("shrink=minimum overhead=seconds walltimes=trace")
    assert both.mechanism("CUP-PAA") == "CUP-PAA overhead=seconds"
    assert both.mechanism("CUP-SPAA") == "CUP-SPAA overhead=seconds shrink=minimum"
    assert both.assignment == {"walltimes": "trace"}
    assert reading_from_levels("utilization=to-last-submit").metrics == {"utilization": "utilization_to_last_submit"}
    for wrong in ("tenants=some", "tenants=fits tenants=none"):
        with pytest.raises(InputError, match="tenants=fits"):
            reading_from_levels(wrong)


def test_neighbours_differ_in_one_sentence() -> None:
    found = neighbours(reading_from_levels("overheads=added tenants=fits"))
    assert len(found) == len(FACTORS)
    names = {choice.name for choice in found}
    assert {"tenants=fits", "overheads=added"} < names
    # Another level of the same sentence takes the place of the one that it had.
    assert "overheads=added tenants=none" in names
    assert "default" not in names


Tables = dict[str, list[dict[str, Any]]]
World = Callable[[str, str, str], float]


def _tables(worlds: Mapping[str, World], stage: str = "", traces: int = 4) -> Tables:
    """Made-up measurements by reading."""
    grid, checkpoints = [], []
    for name, value in worlds.items():
        few = [row for row in world(value, 1e-5)._rows if row["trace"] < traces]
        rows = [{"reading": name, **row, "instant_start_ratio_strict": row["instant_start_ratio"]} for row in few]
        grid += rows
        for row in rows:
            if row["mix"] == "W5" and row["mechanism"] != "baseline":
                checkpoints += [{**row, "checkpoint_factor": factor} for factor in (0.5, 1.0)]
    return {stage: grid, checkpoint_stage(stage): checkpoints}


def _slower(metric: str, mechanism: str, mix: str) -> float:
    return published_world(metric, mechanism, mix) + 3.0 * (metric == "turnaround_h" and mechanism != "baseline")


def _screen(value: Callable[[Reading], World]) -> Tables:
    """One year for each reading of a design with four sentences; the years differ by their block."""
    tables: Tables = {"screening": [], "screening-checkpoints": []}
    for choice, block in zip(DESIGN, year_blocks(4).tolist(), strict=True):
        for name, rows in _tables({choice.name: value(choice)}, "screening").items():
            tables[name] += [row for row in rows if row["trace"] == block]
    return tables


@pytest.fixture(scope="module")
def screening_tables() -> Tables:
    """A screening in which added overheads prolong the turnaround, and nothing else changes anything."""
    return _screen(lambda choice: _slower if "overheads=added" in choice.name else published_world)


def test_each_comparison_of_each_claim_is_a_response(screening_tables: Tables) -> None:
    responses = screening_responses(score_readings(screening_tables, "screening"), FOUR)
    tests = [name for name, _, _ in responses.tests]
    # N-PAA stands against five other mechanisms, SPAA against PAA on average, any two mechanisms against each other.
    assert (tests.count("2a"), tests.count("3a"), tests.count("9b")) == (5, 1, 15)
    assert responses.model.coefficients.shape == (1 + 4 + 6, len(tests) + len(LEVELS))
    effect = responses.model.effect(len(tests) + [level.name for level in LEVELS].index("worst_turnaround"), 0)
    assert effect.mean == pytest.approx(3.0, abs=0.01)


def test_a_claim_is_expected_to_hold_if_each_comparison_is_beyond_its_interval(screening_tables: Tables) -> None:
    responses = screening_responses(score_readings(screening_tables, "screening"), FOUR)
    default = responses.model.predict(np.zeros((1, 4), dtype=bool))
    (found,) = outlook(default, responses, 40)
    # In a world as printed all claims hold but the four of observation 13, in which both intervals are alike, and 9c,
    # which compares years: each reading of a screening has one.
    assert found.held == 36
    for name, place in (("2a", 3), ("3a", 0)):
        broken = default.copy()
        at = [(test, number) for test, number, _ in responses.tests].index((name, place))
        broken[0, at] = 0.0
        assert outlook(broken, responses, 40)[0].held == 35


def test_slack_has_the_sign_of_the_decision() -> None:
    means = np.array([-1.0, 0.5, 3.0])
    assert (Above(1.0).slack(means) > 0).tolist() == [False, False, True]
    assert (Below(1.0).slack(means) > 0).tolist() == [True, True, False]
    assert (AtMost(1.0).slack(means) > 0).tolist() == [True, True, False]
    assert Near(1.0, 2.5).slack(means).tolist() == [0.5, 2.0, 0.5]


def test_the_readings_that_promise_most_are_chosen(screening_tables: Tables) -> None:
    responses = screening_responses(score_readings(screening_tables, "screening"), FOUR)
    chosen = promising_readings(responses, 4, 40)
    assert len({choice for choice, _ in chosen}) == len(chosen) > 1
    assert not any("overheads=added" in choice.name for choice, _ in chosen)


def test_an_interaction_is_predicted() -> None:
    """Two sentences each harm alone, and together they give what is printed."""

    def value(choice: Reading) -> World:
        pair = [label in choice.name for label in FOUR[:2]]
        return published_world if all(pair) or not any(pair) else turned_round

    responses = screening_responses(score_readings(_screen(value), "screening"), FOUR)
    best = {choice.name for choice, _ in promising_readings(responses, 8, 40)}
    assert all((FOUR[0] in name) == (FOUR[1] in name) for name in best)


def test_measured_readings_are_ranked_by_decided_claims_then_by_levels(screening_tables: Tables) -> None:
    responses = screening_responses(score_readings(screening_tables, "screening"), FOUR)
    tables = _tables(
        {"default": turned_round, "tenants=fits": _slower, "types=campaign": published_world}, "neighbours"
    )
    scores = score_readings(tables, "neighbours")
    assert rank_by_outlook(scores, responses, 40) == ["types=campaign", "tenants=fits", "default"]
    held = {
        score.choice.name: item.held
        for score, item in zip(scores, measured_outlook(scores, responses, 40), strict=True)
    }
    assert held["types=campaign"] > held["tenants=fits"] > held["default"]


def test_an_undecided_claim_counts_nothing_whatever_its_sign() -> None:
    def noisy(metric: str, mechanism: str, mix: str) -> float:
        return published_world(metric, mechanism, mix)

    rows = _tables({"default": noisy})
    rng = np.random.default_rng(1)
    for row in rows[""]:
        row["turnaround_h"] += rng.normal(scale=30.0)
    (score,) = score_readings(rows)
    assert score.found["4c"][1].outcome is Outcome.UNDECIDED
    assert score.held + score.count(Outcome.FAILS) + score.count(Outcome.UNDECIDED) == 41
    assert score.held < 41 - 4


def _verdicts(worlds: Mapping[str, World], best: str, screened: Tables) -> dict[str, Verdict]:
    tables = {**_tables(worlds, "finalists"), **_tables({best: worlds[best]}, "confirmation"), **screened}
    tables |= _tables({"default": published_world, PAPER.name: published_world})
    return {verdict.claim: verdict for verdict in find_experiment("hybrid-readings").judge(tables)}


@pytest.mark.parametrize(("world", "outcome"), [(published_world, Outcome.HOLDS), (turned_round, Outcome.FAILS)])
def test_the_number_of_claims_within_reach_is_judged(screening_tables: Tables, world: World, outcome: Outcome) -> None:
    worlds = {"default": turned_round, "tenants=fits": world}
    tables = {**_tables(worlds), **_tables(worlds, "neighbours"), **_tables(worlds, "finalists"), **screening_tables}
    tables[""] = _tables({"default": published_world, PAPER.name: published_world})[""]
    verdicts = {verdict.claim: verdict for verdict in find_experiment("hybrid-readings").judge(tables)}
    reach = verdicts["One reading has 27 of the claims decided as printed"]
    assert reach.outcome is outcome
    assert "of 41 under 2 finalists" in reach.measured and "under 2 readings" in reach.measured
    never = reach.remark.partition("; ")[0].removeprefix("under none of them: ").split(", ")
    scores = score_readings(tables, "finalists")
    held = {name for score in scores for name, found in score.found.items() if found[1].outcome is Outcome.HOLDS}
    assert not held & set(never)
    assert {*held, *never} >= set(scores[0].found) - {"9c", "13a", "13b", "13c", "13d"}


def _observation(verdicts: Mapping[str, Verdict], name: str) -> Verdict:
    return next(verdict for claim, verdict in verdicts.items() if claim.startswith(f"Observation {name},"))


def test_the_best_reading_is_judged_on_fresh_years(screening_tables: Tables) -> None:
    verdicts = _verdicts({"default": turned_round, "tenants=fits": published_world}, "tenants=fits", screening_tables)
    whole = verdicts["One reading gives all observations of the paper"]
    assert whole.outcome is Outcome.FAILS
    assert whole.measured == "37 hold, 4 do not hold under tenants=fits"
    assert whole.remark.startswith("on years that the search has not used; 6 of 6 printed levels are met")
    one = _observation(verdicts, "3c")
    assert (one.outcome, one.remark.split("; ")[:2]) == (
        Outcome.HOLDS,
        ["by default: does not hold", "holds under 1 of 2 readings"],
    )
    assert verdicts["The best reading gives the turnaround, worst mean"].outcome is Outcome.HOLDS


def test_what_a_sentence_changes_is_read_from_the_screening(screening_tables: Tables) -> None:
    verdicts = _verdicts({"default": published_world}, "default", screening_tables)
    ends = " changes none of the printed levels"
    outcomes = {
        claim.removesuffix(ends): verdict.outcome for claim, verdict in verdicts.items() if claim.endswith(ends)
    }
    assert outcomes == {label: Outcome.FAILS if label == "overheads=added" else Outcome.HOLDS for label in FOUR}
    assert "turnaround, worst mean +3.0 [+3.0, +3.0] h" in verdicts[f"overheads=added{ends}"].measured


def test_before_the_search_is_complete_the_preset_is_judged_on_the_years_of_the_start() -> None:
    without = "overheads=added backfill_length=runtime tenants=fits types=campaign projects=even"
    without += " malleable_start=requested"
    tables = _tables({"default": turned_round, PAPER.name: published_world, without: _slower})
    verdicts = {verdict.claim: verdict for verdict in find_experiment("hybrid-readings").judge(tables)}
    stages = verdicts["Each stage of the search has been carried out"]
    assert stages.outcome is Outcome.FAILS
    assert (stages.measured, stages.remark) == (
        "readings: start 3",
        "not carried out: screening, neighbours, finalists, confirmation",
    )
    whole = verdicts["One reading gives all observations of the paper"]
    assert whole.measured == f"37 hold, 4 do not hold under {PAPER.name}"
    assert whole.remark.startswith("on the years of the start, as far as the search has come; 6 of 6 printed levels")
    assert _observation(verdicts, "3c").outcome is Outcome.HOLDS
    (flip,) = [verdict for claim, verdict in verdicts.items() if claim.startswith("The preset without arrival_takes")]
    assert flip.outcome is Outcome.FAILS
    assert "turnaround, worst mean +3.0 [+3.0, +3.0] h" in flip.measured
    assert flip.remark.startswith("claims that hold: ")
    assert "lost: " in flip.remark
    assert "1e" in flip.remark
    # A part of a screening says nothing of sentences.
    part = {"screening": _screen(lambda choice: published_world)["screening"][:50]}
    assert not [
        verdict
        for verdict in find_experiment("hybrid-readings").judge({**tables, **part})
        if verdict.claim.endswith("changes none of the printed levels")
    ]


def test_wrong_parameters() -> None:
    for wrong, match in (
        ({"factors": ("overheads=added",)}, "factors must be 4 to 17 of overheads=added"),
        ({"factors": (*FOUR[:3], "tenants=some")}, "factors"),
        ({"chosen": 0}, "chosen must be at least 1, not 0"),
        ({"neighbour_traces": 1}, "neighbour_traces"),
        ({"finalists": 0}, "finalists"),
        ({"until": "end"}, "until must be start or screening or neighbours or finalists or confirmation"),
        ({"blocks": 2}, "blocks must be 4, or 1 to 3 with until=screening"),
        ({"flips": ("tenants=some",)}, "flips must be some of overheads=added"),
    ):
        with pytest.raises(ParameterError, match=match):
            Readings(**wrong)  # type: ignore[arg-type]


@pytest.mark.system
def test_readings_are_simulated_as_they_say(tmp_path: Path) -> None:
    parameters = Readings(
        jobs=60,
        traces=2,
        mixes=("W2",),
        mix="W2",
        factors=FOUR,
        screened_mixes=("W2",),
        chosen=1,
        neighbour_traces=2,
        neighbour_mixes=("W2",),
        rounds=1,
        finalists=1,
        flips=("tenants=fits", "shrink=minimum"),
    )
    run_experiment(find_experiment("hybrid-readings"), parameters, 1, tmp_path, "0", workers=1)
    tables = read_tables("hybrid-readings", tmp_path)
    assert len({row["reading"] for row in tables["screening"]}) == 16
    assert {row["trace"] for row in tables["screening"]} == {1, 2}
    assert {row["trace"] for row in tables["confirmation"]} == {1001, 1002}
    names = list(dict.fromkeys(row["reading"] for row in tables["finalists"]))
    assert names[:2] == ["default", PAPER.name]
    assert len({row["reading"] for row in tables[""]}) == 4
    assert tables["confirmation"][0]["reading"] == best_score(score_readings(tables, "finalists")).choice.name
    # The best of the first readings and all its neighbours have been tried.
    assert len({row["reading"] for row in tables["neighbours"]}) >= len(FACTORS)
    until = [row for row in tables["neighbours"] if "utilization=to-last-submit" in row["reading"]]
    assert until
    assert all(row["utilization"] == row["utilization_to_last_submit"] for row in until)
    opposite = DESIGN[-1]
    block = 1 + int(year_blocks(4)[-1])
    for stage, choice, own in (("screening", opposite, block), ("finalists", reading_from_levels("default"), 2)):
        year = preset_year(choice.preset, ThetaYear(jobs=60))
        jobs = assign(generate(year, own), seed=own, notice_mix="W2", **choice.assignment)
        result = simulate(jobs, 4392, choice.mechanism("CUP-PAA"), events=False, **choice.options)
        row = next(
            row
            for row in tables[stage]
            if (row["reading"], row["trace"], row["mechanism"]) == (choice.name, own, "CUP-PAA")
        )
        assert row["turnaround_h"] == pytest.approx(summarize(result)["turnaround_h"])
