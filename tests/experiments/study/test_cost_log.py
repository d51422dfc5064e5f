"""The costs of measurements."""

from __future__ import annotations

from pathlib import Path

import pytest

from holdfast.experiments.study.cost_log import Cost, add_cost, read_costs
from holdfast.experiments.sweeps.fingerprint import commit


def test_the_time_of_interrupted_beginnings_counts(tmp_path: Path) -> None:
    assert read_costs(tmp_path) == {}
    add_cost(tmp_path, "a", 2.0, 1, ended=False)
    add_cost(tmp_path, "b", 7.0, 2)
    ended = add_cost(tmp_path, "a", 3.0, 1)
    assert (ended.seconds, ended.workers) == (5.0, 1)
    assert read_costs(tmp_path)["a"] == ended
    assert len(ended.date) == len("2026-11-22")
    # A measurement that ended costs nothing of the next one.
    assert add_cost(tmp_path, "a", 4.0, 1).seconds == 4.0
    assert read_costs(tmp_path)["b"] == Cost(7.0, 2, ended.date, "", commit())


def test_a_larger_measurement_counts_what_it_takes_over(tmp_path: Path) -> None:
    add_cost(tmp_path, "a", 100.0, 2, stores="sources, seed 0")
    assert add_cost(tmp_path, "a", 30.0, 2, stores="sources, seed 0").seconds == 130.0
    # Of other sources, of another seed, or where nothing is stored, nothing is taken over.
    assert add_cost(tmp_path, "a", 20.0, 2, stores="sources, seed 1").seconds == 20.0
    assert add_cost(tmp_path, "a", 5.0, 1).seconds == 5.0
    assert add_cost(tmp_path, "a", 6.0, 1).seconds == 6.0
    # A file of before says nothing of a store.
    (tmp_path / "times.json").write_text('{"a": {"seconds": 9, "workers": 1, "date": "2026-11-22"}}')
    assert add_cost(tmp_path, "a", 1.0, 1, stores="sources, seed 0").seconds == 1.0


@pytest.mark.parametrize("text", ["", "[]", "3", '{"a": 1.5}', '{"a": {"seconds": 1}}'])
def test_a_file_that_tells_no_costs_is_none(text: str, tmp_path: Path) -> None:
    (tmp_path / "times.json").write_text(text)
    assert read_costs(tmp_path) == {}
