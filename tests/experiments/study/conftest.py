"""Tables at the small sizes, measured once for all tests of a session."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

from holdfast.experiments.study.experiment import Tables, all_experiments, measure_experiment, read_tables


@pytest.fixture(scope="session")
def quick_directory(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Where the tables of an experiment are, by its id."""
    directory = tmp_path_factory.mktemp("quick")

    @cache
    def measure_once(name: str) -> Path:
        item = all_experiments()[name]
        measure_experiment(item, item.quick, 0, directory, "0")
        return directory

    return measure_once


@pytest.fixture(scope="session")
def quick_tables(quick_directory: Callable[[str], Path]) -> Callable[[str], Tables]:
    """The tables of an experiment by its id, as they are read from CSV."""
    return cache(lambda name: read_tables(name, quick_directory(name)))
