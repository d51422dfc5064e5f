"""What a reproduction is expected to cost: sums of what was measured, and which measurements these are."""

from __future__ import annotations

import json
import re
from dataclasses import replace

import pytest

from holdfast.experiments.study.expected_cost import expected_cost, experiment_size, full_costs, stored_costs
from holdfast.experiments.study.experiment import all_experiments, find_experiment
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
