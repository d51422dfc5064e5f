"""The record of the rules: a rule that was changed is found, keeps its former digest, and gets a fresh seed."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from holdfast.experiments.study.experiment import (
    Experiment,
    Tables,
    all_experiments,
    judge_experiment,
    measure_experiment,
)
from holdfast.experiments.study.report import rule_changes
from holdfast.experiments.study.rule_digests import (
    SEED_STEP,
    differences,
    digests,
    mark_verdicts,
    read_record,
    renew_entries,
)
from holdfast.experiments.study.verdicts import HYPOTHESIS, Statement, Verdict, text

AGAIN = (
    "a rule was changed: record it with 'holdfast reproduce --quick -o DIR' and "
    "'python -m holdfast.experiments.study.report.rule_changes DIR', and judge it on its fresh seed"
)
#: Measured in milliseconds; the others take longer.
QUICK = ("checkpoint-intro", "checkpoint-table1", "checkpoint-fig3", "checkpoint-fig4", "hybrid-fig1", "hybrid-fig2",
         "incomplete-fig2", "profiles-table1", "profiles-fig9", "profiles-fig14", "profiles-fig17")  # fmt: skip


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=() if name in QUICK else pytest.mark.slow) for name in all_experiments()]
)
def test_the_rules_are_those_of_the_record(name: str, quick_tables: Callable[[str], Tables]) -> None:
    found = digests(all_experiments()[name].judge(quick_tables(name)))
    assert differences(name, found, read_record()) == [], AGAIN


def test_the_record_is_of_all_experiments() -> None:
    assert set(read_record()) == set(all_experiments()), AGAIN


def fall(rule: str = "holds if it falls", claim: str = "it falls", printed: str = "") -> Verdict:
    source = text("V") if printed else HYPOTHESIS
    return Statement(claim, printed, source).exact_verdict(True, rule, "-3")


@pytest.mark.parametrize(
    "changed",
    [
        fall("holds if it falls by 1"),
        fall(printed="by 1"),
        replace(fall(printed="by 1"), source=text("VI"), printed=""),
    ],
)
def test_a_changed_rule_is_found(changed: Verdict) -> None:
    record = {"x": renew_entries({}, digests([fall()]), "2026-01-01")}
    assert differences("x", digests([replace(fall(), measured="-4", remark="of two")]), record) == []
    assert differences("x", digests([changed]), record) == ["x: the rule was changed: it falls"]
    assert differences("x", digests([replace(changed, claim="it sinks")]), record) == [
        "x: the statement is new: it sinks",
        "x: the statement is gone: it falls",
    ]


def test_a_changed_rule_keeps_its_history_and_gets_a_fresh_seed() -> None:
    first, second, third = (digests([fall(f"holds if it falls by {step}")]) for step in (1, 2, 3))
    entries = renew_entries({}, first, "2026-01-01")
    assert entries == {"it falls": {"digest": first["it falls"], "fixed": "2026-01-01", "seed": 0}}
    assert renew_entries(entries, first, "2026-02-01") == entries
    entries = renew_entries(renew_entries(entries, second, "2026-02-01"), third, "2026-03-01")
    assert entries["it falls"] == {
        "digest": third["it falls"], "fixed": "2026-03-01", "seed": 2 * SEED_STEP,
        "former": [
            {"digest": first["it falls"], "fixed": "2026-01-01", "seed": 0},
            {"digest": second["it falls"], "fixed": "2026-02-01", "seed": SEED_STEP},
        ],
    }  # fmt: skip


def test_a_statement_that_went_and_came_back_was_changed() -> None:
    """Else a rule could be changed by leaving its statement out once."""
    both = renew_entries({}, digests([fall(), fall(claim="it rests")]), "2026-01-01")
    gone = renew_entries(both, digests([fall()]), "2026-02-01")
    assert gone["it rests"]["removed"] == "2026-02-01" and gone["it falls"] == both["it falls"]
    assert differences("x", digests([fall()]), {"x": gone}) == []
    back = renew_entries(gone, digests([fall(), fall(claim="it rests")]), "2026-03-01")
    assert back["it rests"]["seed"] == SEED_STEP and back["it rests"]["former"] and "removed" not in back["it rests"]


def test_verdicts_of_a_changed_rule_say_so() -> None:
    entries = renew_entries(
        renew_entries({}, digests([fall("holds if it sinks")]), "2026-01-01"), digests([fall()]), "2026-02-01"
    )
    record = {"x": renew_entries(entries, digests([fall(), fall(claim="it rests")]), "2026-03-01")}
    kept, new = (
        mark_verdicts("x", [fall(), fall(claim="it rests")], seed, record=record) for seed in (0, 2 * SEED_STEP)
    )
    assert [item.remark for item in kept] == [
        f"rule {words} after results of this seed had been seen (to judge it on new seeds: --seed {seed})"
        for words, seed in (("changed on 2026-02-01", SEED_STEP), ("added on 2026-03-01", 2 * SEED_STEP))
    ]
    assert [item.remark for item in new] == [
        f"rule changed on 2026-02-01, judged on seed {2 * SEED_STEP}",
        f"rule added on 2026-03-01, judged on seed {2 * SEED_STEP}",
    ]
    (old,) = mark_verdicts("x", [replace(fall(), remark="of two")], SEED_STEP, measured=True, record=record)
    assert old.remark == (
        f"of two; rule changed on 2026-02-01, judged on seed {SEED_STEP}, with measured data that had been seen"
    )
    assert mark_verdicts("y", [fall()], 0, record=record) == [fall()]


def test_the_command_records_changes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    item = all_experiments()["checkpoint-fig4"]
    measure_experiment(item, item.quick, 0, tmp_path, "0")
    path = tmp_path / "rules.json"
    rule_changes.main([str(tmp_path)], path)
    assert capsys.readouterr().out == ""
    record = json.loads(path.read_text(encoding="utf-8"))
    (claim, entry), *_ = record["checkpoint-fig4"].items()
    record["checkpoint-fig4"][claim] = {"digest": "0", "fixed": "2026-01-01", "seed": 0}
    record["another"] = {"it falls": {"digest": "1", "fixed": "2026-01-01", "seed": 0}}
    path.write_text(json.dumps(record), encoding="utf-8")
    read_record.cache_clear()
    rule_changes.main([str(tmp_path)], path)
    assert capsys.readouterr().out == f"checkpoint-fig4: the rule was changed: {claim}\n"
    again = json.loads(path.read_text(encoding="utf-8"))
    assert again["another"] == record["another"]
    assert again["checkpoint-fig4"][claim] | {"fixed": ""} == {
        "digest": entry["digest"], "fixed": "", "seed": SEED_STEP,
        "former": [{"digest": "0", "fixed": "2026-01-01", "seed": 0}],
    }  # fmt: skip


def test_judged_tables_carry_the_marks_of_their_seed(monkeypatch: pytest.MonkeyPatch) -> None:
    before, now = (digests([fall(rule)]) for rule in ("holds if it sinks", "holds if it falls"))
    entries = renew_entries(renew_entries({}, before, "2026-01-01"), now, "2026-02-01")
    monkeypatch.setattr("holdfast.experiments.study.rule_digests.read_record", lambda: {"x": entries})
    item = Experiment("x", "", "", None, None, lambda: {}, lambda tables: [fall()])
    remarks = [
        judge_experiment(item, {}, record)[0].remark for record in (None, {"seed": 0}, {"seed": SEED_STEP, "data": {}})
    ]
    assert remarks[0] == ""
    assert "after results of this seed had been seen" in remarks[1]
    assert remarks[2] == f"rule changed on 2026-02-01, judged on seed {SEED_STEP}"
