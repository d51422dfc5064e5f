"""Experiments that no paper has: their hypotheses on made-up tables, and each of them once from end to end."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from holdfast.experiments.beyond import front, honesty, minimum_size, notice_lead, on_demand_share, real_traces
from holdfast.experiments.beyond.front import DEFAULT, Point, Standing, standings
from holdfast.experiments.beyond.honesty import declare, malleable_projects
from holdfast.experiments.beyond.on_demand_share import bearable, crossing_point
from holdfast.experiments.beyond.trace_pairs import cut, describe_trace, generate_like
from holdfast.experiments.study.evidence import Finding, difference
from holdfast.experiments.study.experiment import Resources, Row, find_experiment, read_tables, run_experiment
from holdfast.experiments.study.hypotheses import Hypothesis, verdicts
from holdfast.experiments.study.measurement_table import Measured
from holdfast.experiments.study.simulation_cache import COLUMNS, SIX
from holdfast.experiments.study.verdicts import Outcome, Verdict
from holdfast.workloads.ground.errors import InputError, ParameterError
from holdfast.workloads.hybrid.assignment import assign
from holdfast.workloads.hybrid.groups import group_names
from holdfast.workloads.logs.swf import write_swf
from holdfast.workloads.table.job import JobType
from holdfast.workloads.theta.generator import generate
from holdfast.workloads.theta.year import ThetaYear


def cells(traces: int = 4, **axes: tuple[Any, ...]) -> list[dict[str, Any]]:
    """A row for each trace and each combination, all metrics 0.5 plus a little that belongs to the trace."""
    rows: list[dict[str, Any]] = [{"trace": trace} for trace in range(traces)]
    for name, values in axes.items():
        rows = [{**row, name: value} for row in rows for value in values]
    return [{**dict.fromkeys(COLUMNS, 0.5 + 0.01 * row["trace"]), **row} for row in rows]


def raise_metric(rows: list[dict[str, Any]], column: str, by: Callable[[Row], float]) -> list[dict[str, Any]]:
    """The rows with a metric changed, a little differently in each trace, so that intervals have a width."""
    return [{**row, column: row[column] + by(row) * (1 + 0.02 * row["trace"])} for row in rows]


def find_verdict(all_verdicts: list[Verdict], words: str) -> Verdict:
    (one,) = [verdict for verdict in all_verdicts if words in verdict.claim]
    return one


def test_metrics_are_looked_up_trace_by_trace() -> None:
    rows = [{"trace": t, "m": m, "utilization": 0.1 * t + (m == "b"), "wait_h": t} for t in (2, 1) for m in "ab"]
    data = Measured(rows)
    assert data("utilization", m="a").tolist() == [10.0, 20.0]
    assert data("utilization", m=("a", "b")).tolist() == pytest.approx([60.0, 70.0])
    assert data("wait_h", m="b").tolist() == [1.0, 2.0]
    with pytest.raises(LookupError, match="m c"):
        data("wait_h", m="c")


def test_an_unsure_hypothesis_is_undecided_and_a_missing_one_is_not_comparable() -> None:
    rows = [{"trace": t, "m": m, "wait_h": value} for m, values in {"a": (1, 9, 2), "b": (2, 3, 4)}.items()
            for t, value in enumerate(values)]  # fmt: skip

    def against(name: str) -> Hypothesis:
        return Hypothesis(name, "h", lambda data: difference(data("wait_h", m="a"), data("wait_h", m=name), 1))

    unsure, absent = verdicts((against("b"), against("c")), Measured(rows))
    assert unsure.outcome is Outcome.UNDECIDED and unsure.rule.startswith("holds if")
    assert absent.outcome is Outcome.NOT_COMPARABLE and "no simulations of m c" in absent.remark


# Notice lead time.


def leads() -> list[dict[str, Any]]:
    return cells(mechanism=SIX, mix=("accurate",), notice_lead=(0.0, 0.5, 4.0))


def test_notice_is_judged_by_what_changes_with_the_lead() -> None:
    gain = {0.0: 0.0, 0.5: 0.2, 4.0: 0.25}
    rows = raise_metric(leads(), "instant_start_ratio_strict", lambda row: gain[row["notice_lead"]])
    rows = raise_metric(rows, "preemption_ratio_rigid", lambda row: 0.1 * (row["notice_lead"] == 4.0))
    all_verdicts = verdicts(notice_lead.HYPOTHESES, Measured(rows))
    assert find_verdict(all_verdicts, "half an hour of notice").outcome is Outcome.HOLDS
    assert find_verdict(all_verdicts, "With the longest lead more start").outcome is Outcome.HOLDS
    assert find_verdict(all_verdicts, "first half hour").outcome is Outcome.HOLDS
    assert find_verdict(all_verdicts, "tolerance of two minutes").outcome is Outcome.HOLDS
    assert find_verdict(all_verdicts, "fewer rigid jobs").outcome is Outcome.FAILS
    assert find_verdict(all_verdicts, "lengthens the average turnaround").outcome is Outcome.FAILS


def test_half_an_hour_that_was_not_simulated_is_not_judged() -> None:
    rows = [row for row in leads() if row["notice_lead"] != 0.5]
    assert (
        find_verdict(verdicts(notice_lead.HYPOTHESES, Measured(rows)), "first half hour").outcome
        is Outcome.NOT_COMPARABLE
    )


# Minimum size.


def test_the_minimum_size_is_judged_against_the_whole_size() -> None:
    rows = cells(mechanism=SIX, min_share=(0.05, 0.2, 1.0))
    rows = raise_metric(rows, "turnaround_malleable_h", lambda row: 3.0 * (row["min_share"] == 1.0))
    all_verdicts = verdicts(minimum_size.HYPOTHESES, Measured(rows))
    assert find_verdict(all_verdicts, "A minimum of a fifth").outcome is Outcome.HOLDS
    assert find_verdict(all_verdicts, "smaller minimum than a fifth").outcome is Outcome.HOLDS
    assert find_verdict(all_verdicts, "turnaround of rigid jobs").outcome is Outcome.FAILS
    worse = raise_metric(rows, "turnaround_malleable_h", lambda row: 2.0 * (row["min_share"] == 0.05))
    assert (
        find_verdict(verdicts(minimum_size.HYPOTHESES, Measured(worse)), "smaller minimum than a fifth").outcome
        is Outcome.FAILS
    )
    one_mechanism_longer = raise_metric(
        rows, "turnaround_malleable_h", lambda row: 9.0 * (row["min_share"] == 0.2 and row["mechanism"] == "N-PAA")
    )
    all_verdicts = verdicts(minimum_size.HYPOTHESES, Measured(one_mechanism_longer))
    assert find_verdict(all_verdicts, "A minimum of a fifth").outcome is Outcome.FAILS


# On-demand projects.


@pytest.mark.parametrize(
    ("curve", "expected"),
    [
        ((99, 97, 93), (0.25, "")),
        ((99, 95, 91), (0.2, "")),
        ((94, 90, 80), (0.1, "<")),
        ((99, 98, 96), (0.3, ">")),
        ((99, 94, 99), (0.18, "")),
    ],
)
def test_the_first_crossing_is_found_between_the_shares(curve: tuple[float, ...], expected: tuple[float, str]) -> None:
    place, mark = crossing_point(np.array([0.1, 0.2, 0.3]), np.array(curve, dtype=float), 95.0)
    assert (pytest.approx(place), mark) == expected


def test_the_bounds_of_the_bearable_share_are_those_of_the_curve() -> None:
    # Straight lines a point apart, 10 points for each step of 0.1: means 96, 86; the interval is 96 +- 2.484.
    values = {0.1: np.array([95.0, 96.0, 97.0]), 0.2: np.array([85.0, 86.0, 87.0])}
    row = bearable(values, 93.0)
    assert row["share"] == pytest.approx(0.13)
    assert row["low"] == pytest.approx(0.13 - 0.02484, abs=1e-5)
    assert row["high"] == pytest.approx(0.13 + 0.02484, abs=1e-5)
    assert (row["share_open"], row["low_open"], row["high_open"]) == ("", "", "")
    open_ended = bearable({0.1: np.array([95.1, 99.0]), 0.2: np.array([95.1, 99.0])}, 95.0)
    assert (open_ended["share_open"], open_ended["low_open"], open_ended["high_open"]) == (">", "<", ">")


def test_a_level_that_is_never_crossed_is_no_finding() -> None:
    rows = cells(mechanism=SIX, share=(0.05, 0.1, 0.2, 0.4))
    drop = {0.05: 0.49, 0.1: 0.48, 0.2: 0.47, 0.4: 0.2}
    full = raise_metric(rows, "instant_start_ratio", lambda row: 0.0)
    for row in full:
        row["instant_start_ratio"] = 0.5 + drop[row["share"]] + 0.001 * row["trace"]
    crossed = list(on_demand_share._bearable(full, 0.95))
    never = list(on_demand_share._bearable([row for row in full if row["share"] < 0.3], 0.95))
    assert [on_demand_share._crossing_verdict(row, Measured(full)).outcome for row in crossed] == [Outcome.HOLDS] * 6
    few = Measured([row for row in full if row["share"] < 0.3])
    assert [on_demand_share._crossing_verdict(row, few).outcome for row in never] == [Outcome.FAILS] * 6
    noisy = [{**row, "instant_start_ratio": row["instant_start_ratio"] - 0.2 * (row["trace"] == 1)} for row in full]
    few = Measured([row for row in noisy if row["share"] < 0.3])
    assert on_demand_share._crossing_verdict(never[0], few).outcome is Outcome.UNDECIDED
    # 97.15 % at 20 % and 70.15 % at 40 %.
    assert crossed[0]["share"] == pytest.approx(0.2 + 0.2 * 2.15 / 27)
    all_verdicts = verdicts(on_demand_share.HYPOTHESES, Measured(full))
    assert find_verdict(all_verdicts, "share of 10 %").outcome is Outcome.HOLDS
    assert find_verdict(all_verdicts, "Fewer start instantly").outcome is Outcome.HOLDS
    assert find_verdict(all_verdicts, "CUP").outcome is Outcome.FAILS


def test_shares_beyond_the_projects_are_refused() -> None:
    with pytest.raises(InputError, match="shares, level"):
        on_demand_share.Shares(shares=(0.5, 1.0))


# The front.


def point(name: str, turnaround: tuple[float, ...], instant: tuple[float, ...], option: str = DEFAULT) -> Point:
    return Point(name, option, np.array(turnaround, dtype=float), np.array(instant, dtype=float))


def test_who_is_on_the_front_and_who_is_beaten() -> None:
    points = [
        point("fast", (10, 20, 30), (80, 81, 82)),
        point("sure", (12, 22.5, 32), (90, 91, 92.5)),
        # Slower and less instant than "fast" in each trace by about the same.
        point("poor", (11, 21.1, 31.2), (70, 71, 72.5)),
        # Slower on average than "fast", but not in every trace.
        point("unsure", (9, 22, 35), (79, 80, 80)),
        point("fast", (1, 2, 3), (99, 99, 99), "backfill_length=runtime"),
    ]
    pairs = [(standing, other.mechanism if other else None) for standing, other in standings(points)]
    assert pairs == [
        (Standing.FRONT, None), (Standing.FRONT, None), (Standing.BEATEN, "fast"), (Standing.OPEN, None),
        (Standing.ORACLE, None),
    ]  # fmt: skip


def test_equal_points_are_both_on_the_front() -> None:
    twins = [point("a", (1, 2), (50, 60)), point("b", (1, 2), (50, 60))]
    assert [standing for standing, _ in standings(twins)] == [Standing.FRONT, Standing.FRONT]


def choices(instant: dict[tuple[str, str], float], turnaround: dict[tuple[str, str], float]) -> list[dict[str, Any]]:
    rows = cells(mechanism=("baseline", *SIX), option=(DEFAULT, "tenants=none"))
    rows = [row for row in rows if row["mechanism"] != "baseline" or row["option"] == DEFAULT]
    for row in rows:
        key, wobble = (row["mechanism"], row["option"]), 1 + 0.001 * row["trace"]
        row["instant_start_ratio"] = row["instant_start_ratio_strict"] = instant.get(key, 0.3) * wobble
        row["turnaround_h"] = turnaround.get(key, 20.0) * wobble
    return rows


def test_a_trade_off_needs_two_ends_that_are_decided() -> None:
    fast, sure = ("N-PAA", DEFAULT), ("CUP-SPAA", "tenants=none")
    rows = choices({fast: 0.52, sure: 0.9}, {fast: 10.0, sure: 12.0})
    all_verdicts = front._judge({"": rows})
    assert [verdict.outcome for verdict in all_verdicts[:2]] == [Outcome.HOLDS, Outcome.HOLDS]
    # 2 h and 38 points, each times the mean of 1, 1.001, 1.002, 1.003.
    assert all_verdicts[0].measured.startswith("+2.00 [") and "for +38.06 [" in all_verdicts[0].measured
    assert "front: N-PAA (10.01 h, 52.08 %), CUP-SPAA tenants=none (12.02 h, 90.13 %)" in all_verdicts[0].remark
    alone = choices({fast: 0.9}, {fast: 10.0})
    all_verdicts = front._judge({"": alone})
    assert all_verdicts[0].outcome is Outcome.FAILS and all_verdicts[0].measured == "one point is best at both"
    for row in alone:  # another one is nearly as fast, in some traces
        if (row["mechanism"], row["option"]) == ("CUA-PAA", DEFAULT):
            row["turnaround_h"] = (9.0, 12.0, 9.5, 12.0)[row["trace"]]
    all_verdicts = front._judge({"": alone})
    assert all_verdicts[0].outcome is Outcome.UNDECIDED and all_verdicts[0].measured == "one point is best at both"


def test_an_option_that_changes_nothing_is_no_choice() -> None:
    _, points = front._points(Measured(choices({}, {("CUA-PAA", "tenants=none"): 21.0})), "instant_start_ratio")
    assert [known.mechanism for known in points if known.option != DEFAULT] == ["CUA-PAA"]


# Honesty.


def test_a_lie_changes_one_project_and_nothing_of_what_its_jobs_take_undisturbed() -> None:
    trace = generate(ThetaYear(jobs=1500), 3)
    honest = assign(trace, seed=3)
    rigid = assign(trace, seed=3, shares=(0.0, 1.0, 0.0))
    names = group_names(trace)
    projects = malleable_projects(honest, names, 5)
    assert projects
    for name in projects:
        own = [place for place, other in enumerate(names) if other == name]
        assert len(own) >= 5 and all(honest[place].type is JobType.MALLEABLE for place in own)
        for place in own:
            truth = honest[place]
            daly, bare = (declare(truth, rigid[place], variant) for variant in honesty.VARIANTS)
            for lie in (daly, bare):
                assert lie.type is JobType.RIGID and lie.min_nodes is None
                assert (lie.job_id, lie.submit, lie.nodes, lie.runtime, lie.walltime, lie.project) == (
                    truth.job_id, truth.submit, truth.nodes, truth.runtime, truth.walltime, truth.project,
                )  # fmt: skip
            assert 0.05 * truth.runtime - 1 <= daly.setup <= 0.1 * truth.runtime + 1
            assert daly.checkpoint_interval is not None and daly.checkpoint_cost in (600.0, 1200.0)
            assert bare.setup == truth.setup and bare.checkpoint_interval is None
    assert malleable_projects(honest, names, 10**6) == []


def lies(lost: float, wobble: float = 0.1) -> list[dict[str, Any]]:
    return [
        {"trace": trace, "mechanism": name, "variant": variant, "project": project,
         "lost_h": lost + wobble * (trace - 1), "longer_share": float(lost > 0),
         "preempted_more_share": -0.1 - 0.01 * trace, "others_lost_minutes": 0.0}
        for trace in range(3) for name in ("CUA-PAA", "CUP-PAA") for variant in honesty.VARIANTS for project in "xy"
    ]  # fmt: skip


def test_honesty_is_judged_over_the_traces() -> None:
    all_verdicts = verdicts(honesty.HYPOTHESES, Measured(lies(1.0)))
    assert find_verdict(all_verdicts, "under each mechanism").outcome is Outcome.HOLDS
    assert "+1.00 [+0.75, +1.25] h a job" in find_verdict(all_verdicts, "under each mechanism").measured
    assert find_verdict(all_verdicts, "More than half").outcome is Outcome.HOLDS
    assert find_verdict(all_verdicts, "preempted less often").outcome is Outcome.HOLDS
    assert find_verdict(all_verdicts, "of the others").outcome is Outcome.FAILS
    assert find_verdict(all_verdicts, "more without checkpoints").outcome is Outcome.FAILS
    gained = verdicts(honesty.HYPOTHESES, Measured(lies(-1.0)))
    assert find_verdict(gained, "under each mechanism").outcome is Outcome.FAILS
    unsure = verdicts(honesty.HYPOTHESES, Measured(lies(0.1, wobble=1.0)))
    assert find_verdict(unsure, "under each mechanism").outcome is Outcome.UNDECIDED


@pytest.mark.system
def test_who_simulates_decides_nothing(tmp_path: Path) -> None:
    small = honesty.Lies(jobs=400, traces=2, projects=1, least_jobs=3, mechanisms=("CUA-SPAA",))
    alone, together = (honesty._measure(small, 1, Resources(tmp_path, workers)) for workers in (1, 2))
    assert alone == together
    rows = alone[""]
    assert len(rows) == 2 * 2 and {row["trace"] for row in rows} == {1, 2}
    for row in rows:
        assert row["lost_h"] == pytest.approx(row["declared_h"] - row["honest_h"])


def test_more_projects_than_there_are_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match="projects must be at most 2"):
        honesty._measure(honesty.Lies(jobs=200, traces=2, projects=500), 0, Resources(tmp_path, 1))


# Real traces.


def dataset_rows(levels: dict[str, dict[str, float]]) -> list[dict[str, Any]]:
    """Rows of datasets, with a turnaround for each mechanism and the same metrics else."""
    rows = cells(dataset=tuple(levels), mechanism=("baseline", *SIX), mix=("W2", "W5"))
    for row in rows:
        row["turnaround_h"] = levels[row["dataset"]].get(row["mechanism"], 9.0) + 0.01 * row["trace"]
    return rows


def test_an_order_that_is_reversed_does_not_carry_over() -> None:
    order = {name: 10.0 + place for place, name in enumerate(SIX)}
    swapped = {**order, SIX[0]: order[SIX[1]], SIX[1]: order[SIX[0]]}
    levels = {"year": swapped, "year-generated": order, "year-generated-projects": order}
    rows = dataset_rows(levels)
    # An order that only one dataset tells: noise of mechanisms that is larger than what they differ by.
    for row in rows:
        if row["dataset"] == "year" and row["mechanism"] == SIX[5]:
            row["turnaround_h"] += (-30.0, 30.0, -30.0, 30.0)[row["trace"]]
    carried = {(row["carried"], row["metric"]): row for row in real_traces.ranking_rows(rows)}
    assert {words for words, _ in carried} == {
        "from generated years to the log of a year", "from types by project to types by campaign",
    }  # fmt: skip
    real = carried["from generated years to the log of a year", "turnaround_h"]
    assert (real["decided"], real["same"], real["reversed"], real["open"]) == (15, 9, 1, 5)
    # 14 of 15 pairs of means agree.
    assert real["tau"] == pytest.approx(13 / 15)
    grouping = carried["from types by project to types by campaign", "turnaround_h"]
    assert (grouping["same"], grouping["reversed"], grouping["tau"]) == (15, 0, pytest.approx(1.0))
    nothing = carried["from generated years to the log of a year", "utilization"]
    assert (nothing["decided"], nothing["tau"]) == (0, None)
    given, missing = ({"year": real, "sample": real} for real in (True, False))
    ranking_verdicts = {
        words: real_traces._ranking_verdict(carried[words, "turnaround_h"], given) for words, _ in carried
    }
    assert ranking_verdicts["from generated years to the log of a year"].outcome is Outcome.FAILS
    assert ranking_verdicts["from types by project to types by campaign"].outcome is Outcome.HOLDS
    open_ones = real | {"reversed": 0, "same": 6, "open": 9}
    assert real_traces._ranking_verdict(open_ones, given).outcome is Outcome.UNDECIDED
    stand_in = real_traces._ranking_verdict(real, missing)
    assert stand_in.outcome is Outcome.NOT_COMPARABLE and "no trace was given" in stand_in.remark
    assert "the stand-in for the year" in stand_in.claim and "real" not in stand_in.claim
    assert real_traces._ranking_verdict(nothing, given).outcome is Outcome.NOT_COMPARABLE


def test_an_observation_fares_alike_if_both_decide_it_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    holds, fails, unsure, none = Outcome.HOLDS, Outcome.FAILS, Outcome.UNDECIDED, Outcome.NOT_COMPARABLE
    cases = {"a": (holds, holds), "b": (fails, holds), "c": (unsure, fails), "d": (unsure, unsure), "e": (none, holds)}
    outcomes = {part: dict(zip(("year", "year-generated"), pair, strict=True)) for part, pair in cases.items()}
    claim = real_traces.CLAIMS[0]
    monkeypatch.setattr(real_traces, "CLAIMS", [claim._replace(observation=3, part=part) for part in cases])
    monkeypatch.setattr(
        real_traces, "examine", lambda claim, name: Finding(outcomes[claim.part][name], "", p_value=0.01)
    )
    data: Any = {"year": "year", "year-generated": "year-generated"}
    observation_verdicts = list(real_traces._observation_verdicts(data, {"year": True, "sample": False}))
    assert [(verdict.claim.split()[1], verdict.outcome) for verdict in observation_verdicts] == [
        ("3a", holds), ("3b", fails), ("3c", unsure), ("3d", unsure),
    ]  # fmt: skip


def test_a_generated_twin_has_the_length_the_load_and_the_machine_of_the_trace() -> None:
    trace = cut(generate(ThetaYear(jobs=1200, nodes=2000, work_per_job=250.0), 5), 1000)
    assert len(trace.jobs) == 1000 and max(job.submit for job in trace.jobs) < 1.1e6
    own, twin = describe_trace(trace, "project"), describe_trace(generate_like(trace, 6), "project")
    assert twin["jobs"] == 1000 and twin["nodes"] == 2000
    assert twin["days"] == pytest.approx(own["days"], rel=0.02)
    assert twin["load"] == pytest.approx(own["load"], rel=0.02)


@pytest.mark.system
def test_a_trace_that_is_given_is_evaluated(tmp_path: Path) -> None:
    """With a path verdicts are comparable, and the trace in the tables is the one of the file."""
    trace = generate(ThetaYear(jobs=260), 4)
    path = tmp_path / "log.swf"
    write_swf(trace, path)
    experiment = find_experiment("beyond-theta")
    parameters = replace(experiment.quick, trace=str(path), most_jobs=200, stand_in_jobs=150)
    all_verdicts = run_experiment(experiment, parameters, 0, tmp_path, "1.0", workers=1)
    tables = read_tables("beyond-theta", tmp_path)
    data = {row["dataset"]: row for row in tables["data"]}
    assert (data["year"]["real"], data["year"]["jobs"], data["sample"]["real"], data["sample"]["jobs"]) == (
        1,
        200,
        0,
        150,
    )
    assert len(tables[""]) == 5 * 2 * 7
    level = "Generated traces have the baseline's utilisation of"
    assert find_verdict(all_verdicts, f"{level} the year").outcome is not Outcome.NOT_COMPARABLE
    assert find_verdict(all_verdicts, f"{level} the stand-in for").outcome is Outcome.NOT_COMPARABLE
    assert (tmp_path / "beyond-theta.png").exists()


# From end to end.

_TINY: dict[str, dict[str, Any]] = {
    "beyond-notice": {"leads": (0.0, 0.5), "mixes": ("accurate",)},
    "beyond-min-size": {"shares": (0.2, 1.0)},
    "beyond-on-demand": {"shares": (0.1, 0.4)},
    "beyond-front": {"jobs": 500, "mixes": ("W5",), "tenants": ("any", "none"), "backfill_lengths": ("walltime",)},
    "beyond-honesty": {"jobs": 400, "projects": 1, "least_jobs": 3},
}
#: Rows of the main table of two traces.
_ROWS = {"beyond-notice": 24, "beyond-min-size": 24, "beyond-on-demand": 24, "beyond-front": 26, "beyond-honesty": 8}


@pytest.mark.system
@pytest.mark.parametrize("name", _TINY)
def test_each_of_them_runs_from_end_to_end(name: str, tmp_path: Path) -> None:
    experiment = find_experiment(name)
    parameters = replace(experiment.quick, **({"jobs": 150, "traces": 2} | _TINY[name]))
    all_verdicts = run_experiment(experiment, parameters, 0, tmp_path, "1.0", workers=1)
    rows = read_tables(name, tmp_path)[""]
    assert len(rows) == _ROWS[name]
    assert all_verdicts and all(
        verdict.printed == "" and (verdict.rule or not verdict.p_value) for verdict in all_verdicts
    )
    assert (tmp_path / f"{name}.png").exists()


@pytest.mark.system
def test_a_lead_is_what_the_notices_have(tmp_path: Path) -> None:
    """Mechanisms that ignore notices do not change with the lead where all come when they said; the others do."""
    experiment = find_experiment("beyond-notice")
    parameters = replace(experiment.quick, jobs=400, traces=2, leads=(0.0, 4.0))
    run_experiment(experiment, parameters, 0, tmp_path, "1.0", workers=1)
    rows = read_tables("beyond-notice", tmp_path)[""]
    seen = {(row["mechanism"], row["trace"], row["notice_lead"]): row["turnaround_h"] for row in rows}
    assert all(seen[name, trace, 0.0] == seen[name, trace, 4.0] for name in ("N-PAA", "N-SPAA") for trace in (0, 1))
    assert any(seen["CUA-PAA", trace, 0.0] != seen["CUA-PAA", trace, 4.0] for trace in (0, 1))
