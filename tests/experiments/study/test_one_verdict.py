"""One printed number has one rule on all pages, and one verdict from the same measurements."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace

import pytest

from holdfast.experiments.papers.hybrid.claims import CLAIMS
from holdfast.experiments.papers.hybrid.published_levels import LEVELS
from holdfast.experiments.study.experiment import Tables, all_experiments
from holdfast.experiments.study.measurement_table import Measured
from holdfast.experiments.study.publications import PUBLICATIONS, paper_key
from holdfast.experiments.study.rules import Outcome
from holdfast.experiments.study.verdicts import Verdict
from tests.experiments.study.test_altered_verdicts import MADE_UP

#: Sentences and tables that say several things with the same number; why their rules differ.
SEVERAL: Mapping[tuple[str, str], str] = {
    ("text, section V-A, observation 10", "< 10 ms"): "read as 99 of 100 decisions, and as every single one",
    ("text, section V-A, observation 7", "both around 24 h"): "the two levels, and their difference",
}


def by_number(found: Iterable[tuple[str, Verdict]]) -> dict[tuple[str, str, str], dict[str, list[str]]]:
    """Claims by paper, source and printed number, then by their rule."""
    groups: dict[tuple[str, str, str], dict[str, list[str]]] = {}
    for name, verdict in found:
        # What holds by construction compares nothing.
        compared = verdict.source.kind in ("text", "table", "abstract") and not verdict.construction
        if compared and any(letter.isdigit() for letter in verdict.printed):
            key = (paper_key(name), str(verdict.source), verdict.printed)
            rule = re.sub(r"; each of \d+, .*", "", verdict.rule)  # of so many as were measured
            # Repetitions of a batch are instances in checkpoint-readings and runs in its tables.
            rule = rule.replace("mean over the instances", "mean over the runs")
            groups.setdefault(key, {}).setdefault(rule, []).append(f"{name}: {verdict.claim}")
    return groups


def disagreements(found: Iterable[tuple[str, Verdict]]) -> dict[tuple[str, str, str], dict[str, list[str]]]:
    """The numbers that are judged by several rules."""
    return {
        key: rules for key, rules in by_number(found).items() if len(set(rules) - {""}) > 1 and key[1:] not in SEVERAL
    }


def test_a_number_with_two_rules_is_found() -> None:
    table2 = all_experiments()["hybrid-table2"]
    own = [("hybrid-table2", verdict) for verdict in table2.judge(MADE_UP["hybrid-table2"]())]
    assert disagreements(own) == {}
    other = replace(own[0][1], claim="the turnaround", rule="holds if it is within 15.6 +- 2 h")
    assert set(disagreements([*own, ("hybrid-fig6", other)])) == {("hybrid", "Table II", "15.6 h")}


def test_the_hybrid_paper_has_one_rule_for_each_number() -> None:
    names = [name for name in MADE_UP if name.startswith("hybrid-")]
    found = [(name, verdict) for name in names for verdict in all_experiments()[name].judge(MADE_UP[name]())]
    assert len(by_number(found)) > 10
    assert disagreements(found) == {}


#: Experiments that show the same statements, from the same simulations.
SHARED = [{"hybrid-obs", "hybrid-fig6"}, {"hybrid-obs", "hybrid-fig7"}, {"hybrid-obs", "hybrid-latency"}]


@pytest.mark.slow
@pytest.mark.parametrize("paper", list(PUBLICATIONS))
def test_each_number_has_one_rule(paper: str, quick_tables: Callable[[str], Tables]) -> None:
    """And statements of two experiments that are not of the same simulations differ in their words."""
    own = [item for item in all_experiments().values() if paper_key(item.id) == paper]
    found = [(item.id, verdict) for item in own for verdict in item.judge(quick_tables(item.id))]
    assert disagreements(found) == {}
    names: dict[str, set[str]] = {}
    for name, verdict in found:
        names.setdefault(verdict.claim, set()).add(name)
    assert {claim: shared for claim, shared in names.items() if len(shared) > 1 and shared not in SHARED} == {}


def test_the_same_measurements_have_the_same_verdict() -> None:
    """Table II, Fig. 6 and the search of readings, on the same years of the same reading."""
    rows = [row for row in MADE_UP["hybrid-fig6"]()[""] if row["mix"] in ("W2", "W4")]
    factors = {"turnaround_h": 0.6, "utilization": 1.6, "instant_start_ratio_strict": 0.4, "instant_start_ratio": 1.5}
    rows = [{**row, **{name: row[name] * factor for name, factor in factors.items()}} for row in rows]
    data = Measured(rows)
    outcomes = {}
    for own in LEVELS:
        outcomes[f"{own.printed:g} {own.unit}"] = own.judge(own.values(data)).outcome
    baseline = [row for row in rows if row["mechanism"] == "baseline"]
    shown = all_experiments()["hybrid-table2"].judge({"": baseline})
    shown = [*shown, *all_experiments()["hybrid-fig6"].judge({"": rows})]
    assert len(shown) == len(LEVELS) == len(outcomes)
    assert {verdict.printed.removeprefix("up to "): verdict.outcome for verdict in shown} == outcomes
    assert set(outcomes.values()) > {Outcome.FAILS}
    claims = {claim.name: claim for claim in CLAIMS}
    assert claims["1b"].verdict(data).outcome is outcomes["90 %"]
