"""What a reproduction is expected to cost: sums of what was measured, and which measurements these are."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from holdfast.experiments.study import expected_cost as module
from holdfast.experiments.study.cost_log import add_cost
from holdfast.experiments.study.expected_cost import expected_cost, experiment_size, full_costs, stored_costs
from holdfast.experiments.study.experiment import all_experiments, find_experiment
from holdfast.workloads.ground.errors import InputError
from tests.places import ROOT

COSTS = {"full": {"a": 7200.0, "b": 120.0}, "quick": {"a": 30.0}}


# Judgement and pictures take four seconds for each experiment.
@pytest.mark.parametrize(
    ("sizes", "workers", "sentence"),
    [
        ({"a": "full"}, 1, "expected cost: about 2 h 0 min"),
        (
            {"a": "full", "b": "full"},
            2,
            "expected cost: about 1 h 1 min with 2 processes that are always busy; most of it for a, 2 h 0 min of one "
            "process",
        ),
        ({"a": "quick", "b": "quick"}, 1, "expected cost: about 34.0 s; that of 1 more is unknown"),
        ({"a": None, "c": "full"}, 4, "expected cost: unknown, none of these was measured before at these sizes"),
    ],
)
def test_costs_are_shared_by_the_processes(sizes: dict[str, str | None], workers: int, sentence: str) -> None:
    assert expected_cost(sizes, workers, COSTS) == sentence


def test_the_size_of_parameters() -> None:
    experiment = find_experiment("checkpoint-fig6")
    assert experiment_size(experiment, experiment.parameters) == "full"
    assert experiment_size(experiment, experiment.quick) == "quick"
    assert experiment_size(experiment, replace(experiment.parameters, overhead=0.2)) is None
    measured = find_experiment("profiles-table1")
    assert experiment_size(measured, replace(measured.parameters, tasks="tasks.csv")) == "full"


def test_stored_costs_are_those_of_the_answers_and_name_experiments() -> None:
    costs = stored_costs()
    docs = ROOT / "docs" / "experiments"
    assert costs["full"] == full_costs(docs), "write them again: python -m holdfast.experiments.study.expected_cost"
    written = [answer["cost"] for path in docs.glob("*.json") for answer in json.loads(path.read_text()).values()]
    assert len(costs["full"]) == sum(bool(re.match(r"\d", cost)) for cost in written)
    assert set(costs["full"]) <= set(costs["quick"]) == set(all_experiments())


def test_the_costs_of_small_sizes_come_from_the_directories_after_the_option(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = tmp_path / "costs.json"
    store.write_text(json.dumps({"full": {}, "quick": {"kept": 1.0, "again": 2.0}}))
    monkeypatch.setattr(module, "_STORE", store)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "out").mkdir()
    add_cost(tmp_path / "out", "again", 3.0, 2)
    module.main(["--quick", "out"])
    assert stored_costs() == {"full": {}, "quick": {"kept": 1.0, "again": 6.0}}


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["out"], "the arguments must be none or '--quick DIR ...', not 'out'"),
        (["--quick"], "the arguments must be none or '--quick DIR ...', not '--quick'"),
        (["out", "--quick"], "the arguments must be none or '--quick DIR ...', not 'out --quick'"),
        (["--quick", "--full"], "the arguments must be none or '--quick DIR ...', not '--quick --full'"),
        (
            ["--quick", "nowhere"],
            "nowhere: must have been written by 'holdfast reproduce --quick'",
        ),
    ],
)
def test_other_arguments_are_refused_and_change_nothing(
    words: list[str], sentence: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = tmp_path / "costs.json"
    store.write_text(json.dumps({"full": {}, "quick": {}}))
    before = store.read_bytes()
    monkeypatch.setattr(module, "_STORE", store)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError) as refused:
        module.main(words)
    assert str(refused.value) == sentence
    assert store.read_bytes() == before
