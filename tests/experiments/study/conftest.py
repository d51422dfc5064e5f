"""Tables at the small sizes, measured once for all tests of a session."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import pytest

from experiments.study.experiment import Tables, all_experiments, measure_experiment, read_tables


@pytest.fixture(scope="session")
def quick_tables(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Tables]:
    """The tables of an experiment by its id, as they are read from CSV."""
    directory = tmp_path_factory.mktemp("quick")

    @cache
    def tables(name: str) -> Tables:
        item = all_experiments()[name]
        measure_experiment(item, item.quick, 0, directory, "0")
        return read_tables(name, directory)

    return tables
