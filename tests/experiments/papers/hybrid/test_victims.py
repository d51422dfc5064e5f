"""Watched arrivals: the simulation is the same, the counts are those of the event log, and rules do what they say."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from holdfast.experiments.papers.hybrid.victim_counter import Watching, latest
from holdfast.experiments.papers.hybrid.victims import RULES, VictimRule, Victims, _Task, _victim_rows
from holdfast.experiments.study.experiment import find_experiment, read_tables, run_experiment
from holdfast.experiments.study.rules import Outcome
from holdfast.simulator import simulate
from holdfast.simulator.conformance import check_policy
from holdfast.workloads.ground.errors import InputError
from holdfast.workloads.hybrid.assignment import assign
from holdfast.workloads.table.job import JobType
from holdfast.workloads.theta.generator import generate
from holdfast.workloads.theta.presets import preset_year
from holdfast.workloads.theta.year import ThetaYear
from tests.support.jobs import malleable, on_demand, rigid

WATCHED = "holdfast.experiments.papers.hybrid.victim_counter:Watching"
#: All jobs of a small year.
TRACE = generate(preset_year("even-projects", ThetaYear(jobs=500)), 0)
JOBS = assign(TRACE, seed=0, notice_mix="W2", group_by="campaign")
NODES = TRACE.nodes or 0


@pytest.mark.parametrize("notice", ["N", "CUA", "CUP"])
@pytest.mark.parametrize(
    ("arrival", "words"),
    [
        ("PAA", ""),
        ("PAA", "overhead=seconds"),
        ("SPAA", ""),
        ("SPAA", "victims=malleable-first shrink=minimum"),
    ],
)
def test_a_watched_strategy_answers_as_before(notice: str, arrival: str, words: str) -> None:
    own = simulate(JOBS, NODES, f"{notice}-{arrival} {words}".strip())
    watched = simulate(JOBS, NODES, f"{notice}-{WATCHED} arrival={arrival} {words}".strip())
    assert watched.events.equals(own.events)
    counts = latest()
    types = {job.job_id: job.type for job in JOBS}
    # The event log knows each victim, and for which arrival it had to go.
    begun = own.events[own.events.event.isin(["preempt", "warn"]) & own.events.cause.str.startswith("for ")]
    victims = [types[job_id] for job_id in begun.job_id]
    assert counts.covered_rigid + counts.uncovered_rigid == victims.count(JobType.RIGID)
    assert counts.covered_malleable + counts.uncovered_malleable == victims.count(JobType.MALLEABLE)
    assert victims.count(JobType.RIGID) > 0
    if arrival == "SPAA":
        assert counts.covered_rigid == counts.covered_malleable == 0
        shrunk = own.events[(own.events.event == "shrink") & own.events.cause.str.startswith("for ")]
        assert counts.covered == shrunk.cause.nunique()
    else:
        assert counts.spared_rigid == 0


#: Ten nodes are full. The first on-demand job takes three of the malleable job's nodes, of which one is left to give.
FULL = [
    malleable(1, 0, 6, 4000, min_nodes=2),
    rigid(2, 0, 4, 4000, setup=100),
    on_demand(3, 1000, 3, 2000),
    on_demand(4, 1500, 3, 500),
]


@pytest.mark.parametrize(
    ("words", "preempted", "counts"),
    [
        # The malleable job loses nothing, the rigid one a lot.
        # Under PAA it resumes on the three nodes that are left.
        ("arrival=PAA", [2, 0], {"covered": 1, "covered_malleable": 1, "uncovered": 1, "uncovered_malleable": 1}),
        ("arrival=SPAA", [1, 0], {"covered": 1, "uncovered": 1, "uncovered_malleable": 1}),
        ("arrival=SPAA spared=lenders", [0, 1], {"covered": 1, "uncovered": 1, "uncovered_rigid": 1}),
        ("arrival=SPAA spared=malleable", [0, 1], {"covered": 1, "uncovered": 1, "uncovered_rigid": 1}),
    ],
)
def test_a_lender_may_be_spared(words: str, preempted: list[int], counts: dict[str, int]) -> None:
    result = simulate(FULL, 10, f"N-{WATCHED} {words}")
    found: dict[str, Any] = {name: value for name, value in latest().items() if not name.startswith(("rigid", "mall"))}
    assert {name: value for name, value in found.items() if value} == counts
    records = {record.job_id: record for record in result.records}
    assert [records[job_id].preemptions for job_id in (1, 2)] == preempted


def test_an_arrival_waits_where_only_lenders_could_serve_it() -> None:
    jobs = [malleable(1, 0, 10, 4000, min_nodes=2), on_demand(2, 1000, 6, 2000), on_demand(3, 1500, 3, 500)]
    # The lender gets its nodes back at 3000 s, and has 22,000 of its 40,000 node-seconds left.
    for spared, start in (("none", 1620.0), ("lenders", 5200.0)):
        result = simulate(jobs, 10, f"N-{WATCHED} arrival=SPAA spared={spared}")
        assert result.jobs.set_index("job_id").start[3] == start


def test_the_strategy_keeps_the_contract() -> None:
    for strategy in (Watching(), Watching("SPAA"), Watching("SPAA", shrink="minimum", spared="lenders")):
        report = check_policy(strategy, "arrival", scenarios=100)
        assert report.ok, report


def test_wrong_parameters() -> None:
    for wrong in ({"arrival": "SPPA"}, {"spared": "rigid"}, {"shrink": "all"}, {"victims": "none"}):
        with pytest.raises(InputError):
            Watching(**wrong)


def test_rules_without_parameters_are_the_preset() -> None:
    assert VictimRule("x").mechanism("CUP-PAA") == f"CUP-{WATCHED} arrival=PAA"
    names = {rule.mechanism("N-PAA") for rule in RULES}
    # What SPAA alone does otherwise leaves the simulations of PAA.
    assert len(names) == 3
    assert len({rule.mechanism("N-SPAA") for rule in RULES}) == len(RULES)


def test_a_row_has_metrics_and_counts() -> None:
    (row,) = _victim_rows(_Task(1, 200, "W2", VictimRule("x").mechanism("N-PAA")))
    assert row["rigid"] > 50
    assert row["covered"] + row["uncovered"] > 0
    assert 0 < row["preemption_ratio_rigid"] < 1


def _rows(victims: dict[str, tuple[float, float]], sign: float) -> list[dict[str, Any]]:
    """Made-up simulations: victims of PAA and SPAA where shrinking would suffice and where not, in 100 rigid jobs."""
    rows = []
    for rule in RULES:
        for trace in range(4):
            for name in ("N-PAA", "N-SPAA", "CUA-PAA", "CUA-SPAA", "CUP-PAA", "CUP-SPAA"):
                arrival = name.split("-")[1]
                covered, uncovered = victims[arrival]
                shift = sign * (arrival == "SPAA") + 0.01 * trace
                rows.append(
                    {
                        "rule": rule.name,
                        "trace": trace,
                        "mix": "W2",
                        "mechanism": name,
                        "rigid": 100,
                        **dict(Watching().begin().counts.items()),
                        "covered": 50,
                        "uncovered": 10 if arrival == "PAA" else 9 + 0.1 * trace,
                        "covered_rigid": covered + 0.01 * trace,
                        "uncovered_rigid": uncovered + 0.01 * trace * (arrival == "PAA"),
                        "malleable_nodes": 400 + trace * (arrival == "PAA"),
                        "malleable_jobs": 1 if arrival == "PAA" else 2,
                        "preemption_ratio_rigid": 0.05 + 0.01 * shift,
                    }
                )
    return rows


def test_the_reason_is_read_from_the_counts() -> None:
    judge = find_experiment("hybrid-victims").judge
    found = {verdict.claim: verdict for verdict in judge({"": _rows({"PAA": (2.0, 4.0), "SPAA": (0.0, 4.5)}, 1.0)})}
    reasons = list(found.values())[:4]
    assert [verdict.outcome for verdict in reasons] == [
        Outcome.HOLDS,
        Outcome.HOLDS,
        Outcome.HOLDS,
        Outcome.FAILS,
    ]
    assert found[next(claim for claim in found if claim.startswith("Observation 3c, as the preset"))].outcome is (
        Outcome.HOLDS
    )
    turned = judge({"": _rows({"PAA": (2.0, 4.0), "SPAA": (0.0, 3.5)}, -1.0)})
    assert [verdict.outcome for verdict in turned[1:2]] == [Outcome.FAILS]
    assert all(verdict.outcome is Outcome.FAILS for verdict in turned[4:] if verdict.claim.startswith("Observation 3c"))


@pytest.mark.system
def test_the_experiment_is_carried_out(tmp_path: Path) -> None:
    item = find_experiment("hybrid-victims")
    verdicts = run_experiment(item, Victims(jobs=300, traces=2, mixes=("W2",)), 1, tmp_path, "0", workers=1)
    assert len(verdicts) == 4 + 2 * len(RULES)
    rows = read_tables(item.id, tmp_path)[""]
    assert len(rows) == 2 * 6 * len(RULES)
    assert (tmp_path / "hybrid-victims.png").exists()
