"""The stored environments: every Python has one, and it is one that pyproject.toml admits."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

from tests.places import ROOT

LOCKS = sorted((ROOT / ".ci" / "locks").glob("python3.*.txt"))


def numbers(version: str) -> tuple[int, ...]:
    return tuple(map(int, re.findall(r"\d+", version.partition("+")[0])))


def test_every_python_of_the_classifiers_has_a_lock() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    pythons = {line.rpartition(" ")[2] for line in project["classifiers"] if re.search(r":: 3\.\d+$", line)}
    assert {path.stem.removeprefix("python") for path in LOCKS} == pythons
    assert min(pythons, key=numbers) == project["requires-python"].removeprefix(">=")


@pytest.mark.parametrize("path", LOCKS, ids=lambda path: path.stem)
def test_a_lock_has_every_dependency_at_an_admitted_version(path: Path) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    wanted = [
        *project["dependencies"],
        *(item for extra in project["optional-dependencies"].values() for item in extra),
    ]
    locked = dict(re.findall(r"^([\w.-]+)==(\S+)", path.read_text(), flags=re.MULTILINE))
    for requirement in wanted:
        name, least = requirement.split(">=")
        assert numbers(locked[name.lower()]) >= numbers(least), requirement
