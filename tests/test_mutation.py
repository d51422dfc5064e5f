"""What mutation testing is told and what it counts; the mutants themselves run on demand."""

from __future__ import annotations

import pytest

from tests.mutation import TESTS, count_mutants
from tests.places import ROOT


def test_modules_and_their_tests_are_there() -> None:
    for module, tests in TESTS.items():
        assert all((ROOT / path).is_file() for path in (module, *tests)), module


def test_mutants_that_did_not_run_do_not_count() -> None:
    results = [
        [{}, {"worker_outcome": "normal", "test_outcome": "killed", "diff": "a"}],
        [{}, {"worker_outcome": "normal", "test_outcome": "survived", "diff": "b"}],
        [{}, {"worker_outcome": "skipped", "test_outcome": None, "diff": None}],
        [{}, None],
    ]
    assert count_mutants(results) == (1, 2, ["b"])


def test_an_unknown_module_is_one_sentence() -> None:
    from tests.mutation import main

    with pytest.raises(SystemExit, match=r"must be one of policies/knapsack\.py, .*, not policies/none\.py"):
        main(["policies/none.py"])
