"""What a release consists of beside its sources: environments that pyproject.toml admits, and files that agree."""

from __future__ import annotations

import json
import re
import subprocess
import tomllib
from pathlib import Path

import pytest

from holdfast.workloads.ground.release import VERSION
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


def test_versions_dates_and_descriptions_agree() -> None:
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    fields = dict(re.findall(r"^([\w-]+): (.+)$", citation, flags=re.MULTILINE))
    archived = json.loads((ROOT / ".zenodo.json").read_text(encoding="utf-8"))
    assert fields["version"] == archived["version"] == VERSION
    assert fields["date-released"] == archived["publication_date"]
    assert fields["title"].strip('"') == archived["title"]
    assert re.findall(r"^  - ([^:\n]+)$", citation, flags=re.MULTILINE) == archived["keywords"]
    assert re.findall(r"^  - name: (.+)$", citation, flags=re.MULTILINE) == [
        own["name"] for own in archived["creators"]
    ]
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert fields["license"] == archived["license"] == project["license"]


def test_the_archive_takes_every_file_of_the_repository() -> None:
    if not (ROOT / ".git").exists():
        pytest.skip("this is no repository")
    done = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True)
    top = {name.partition("/")[0] for name in done.stdout.splitlines()}
    build = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["hatch"]["build"]
    # hatchling adds these two in any case.
    assert top - {"pyproject.toml", ".gitignore"} == set(build["targets"]["sdist"]["only-include"])
