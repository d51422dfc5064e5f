"""Without an optional package an experiment is not run; all others are, and the command says what to install."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from holdfast.experiments.commands import reproduce as command
from holdfast.experiments.study.experiment import Experiment, Tables, find_experiment
from holdfast.experiments.study.report.content import Tally, render_report
from holdfast.experiments.study.reproduction import Done, Reproduction, _reproduce
from holdfast.experiments.study.rules import Outcome
from holdfast.experiments.study.verdicts import Statement, Verdict, text
from holdfast.workloads.ground.errors import MissingPackageError, installation


@dataclass(frozen=True)
class Nothing:
    points: int = 1


def measure(parameters: Nothing, seed: int) -> Tables:
    return {"": [{"value": parameters.points}]}


def lack(parameters: Nothing, seed: int) -> Tables:
    raise MissingPackageError(f"it needs the package Abacus; install it with {installation('study')}")


def judge(tables: Tables) -> list[Verdict]:
    return [Statement("there are rows", "some", text("I")).exact_verdict(True, "holds if there are", "1")]


def catalogue() -> Mapping[str, Experiment]:
    return {
        item.id: item
        for item in (
            Experiment("hybrid-fig1", "It lacks a package", "Which?", Nothing(), Nothing(), lack, judge),
            Experiment("hybrid-table1", "It runs", "Does it?", Nothing(), Nothing(), measure, judge),
        )
    }


TOLD = 'it needs the package Abacus; install it with pip install "holdfast[study]"'


def test_an_experiment_without_its_package_is_not_run(tmp_path: Path) -> None:
    how = Reproduction(tmp_path, "1.2.3", catalogue=catalogue)
    lacking, other = (_reproduce(name, how, 1) for name in catalogue())
    assert (lacking.missing, lacking.error, lacking.verdicts) == (TOLD, "", ())
    assert other.missing == "" and other.verdicts[0].outcome == Outcome.HOLDS
    assert Tally.of([lacking, other]).words == "1 statement holds; 1 experiment was not run"
    assert not list(tmp_path.glob("hybrid-fig1*"))
    page = render_report([lacking, other], how, {}, "holdfast reproduce")
    assert "This experiment was not run:" in page and "package Abacus" in page
    assert "What failed" not in page


def test_the_last_line_names_what_failed(capsys: pytest.CaptureFixture[str]) -> None:
    done = [Done("a", {}, error="it broke"), Done("b", {}, missing=TOLD), Done("c", {}), Done("d", {}, error="it, too")]
    command._say_what_lacks(done)
    assert capsys.readouterr().out.splitlines() == [f"not run: b: {TOLD}", "failed: a, d"]


def test_the_sensitivity_names_its_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("SALib", "SALib.sample", "SALib.sample.morris"):
        monkeypatch.setitem(sys.modules, name, None)
    experiment = find_experiment("beyond-sensitivity")
    how = Reproduction(tmp_path, "0", quick=True, catalogue=lambda: {experiment.id: experiment})
    done = _reproduce(experiment.id, how, 1)
    assert done.missing == 'it needs the package SALib; install it with pip install "holdfast[study]"'
