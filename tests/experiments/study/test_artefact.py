"""Artefacts: one file with settings, seeds and tables, and whether they come out again."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Callable
from dataclasses import asdict, replace
from hashlib import sha256
from pathlib import Path

import pytest

from holdfast.experiments.cli import main
from holdfast.experiments.study.artefact import _like, differences, open_artefact, read_experiments, write_artefact
from holdfast.experiments.study.artefact import main as write_release
from holdfast.experiments.study.experiment import all_experiments, find_experiment, measure_experiment
from holdfast.workloads.ground.errors import InputError, TraceError


def _measure(directory: Path, seed: int = 3) -> Path:
    directory.mkdir(exist_ok=True)
    for name in ("checkpoint-intro", "checkpoint-table1"):
        experiment = find_experiment(name)
        measure_experiment(experiment, experiment.quick, seed, directory, "0")
    return directory


@pytest.fixture(scope="module")
def measurement(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return _measure(tmp_path_factory.mktemp("measured"))


@pytest.mark.parametrize("name", all_experiments())
def test_parameters_are_what_they_were(name: str) -> None:
    experiment = all_experiments()[name]
    for parameters in (experiment.parameters, experiment.quick):
        text = json.loads(json.dumps(asdict(parameters), default=str))
        assert _like(experiment.parameters, text) == parameters


def test_equal_results_make_equal_archives(measurement: Path, tmp_path: Path) -> None:
    names = ["checkpoint-intro", "checkpoint-table1"]
    write_artefact(measurement, names, tmp_path / "one.zip")
    write_artefact(_measure(tmp_path / "again"), names, tmp_path / "two.zip")
    assert (tmp_path / "one.zip").read_bytes() == (tmp_path / "two.zip").read_bytes()
    with open_artefact(tmp_path / "one.zip") as directory:
        found = read_experiments(directory)
        assert list(found) == names
        assert [item.seed for item in found.values()] == [3, 3]
        assert all(differences(item, measurement) == [] for item in found.values())
        environment = json.loads((directory / "environment.json").read_text())
        assert {"python", "numpy"} <= set(environment)


def test_the_archive_of_a_release_has_experiments_of_any_seeds(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _measure(tmp_path)
    other = find_experiment("checkpoint-fig3")
    measure_experiment(other, other.quick, 7, tmp_path, "0")
    archive = tmp_path / "release.zip"
    write_release([str(tmp_path), str(archive)])
    content = archive.read_bytes()
    assert capsys.readouterr().out == (
        f"{archive}: 3 experiments, {len(content):,} bytes, SHA-256 {sha256(content).hexdigest()}\n"
    )
    with open_artefact(archive) as directory:
        assert {name: item.seed for name, item in read_experiments(directory).items()} == {
            "checkpoint-fig3": 7,
            "checkpoint-intro": 3,
            "checkpoint-table1": 3,
        }


def test_what_differs_is_named_with_its_line(measurement: Path, tmp_path: Path) -> None:
    found = read_experiments(measurement)["checkpoint-intro"]
    experiment = replace(found.experiment, measure=lambda *_: _alter(found.experiment.measure(*_)))
    measure_experiment(experiment, found.parameters, found.seed, tmp_path, "0")
    lines = differences(found, tmp_path)
    assert len(lines) == 1
    assert lines[0].startswith("checkpoint-intro.csv:2: ")
    assert " became " in lines[0]


def test_a_table_without_rows_is_archived_and_compared(tmp_path: Path) -> None:
    experiment = find_experiment("checkpoint-table1")
    bare = replace(experiment, measure=lambda *_: {**experiment.measure(*_), "none": []})
    for place in ("one", "two"):
        (tmp_path / place).mkdir()
        measure_experiment(bare, bare.quick, 0, tmp_path / place, "0")
    write_artefact(tmp_path / "one", ["checkpoint-table1"], tmp_path / "one.zip")
    with open_artefact(tmp_path / "one.zip") as directory:
        assert differences(read_experiments(directory)["checkpoint-table1"], tmp_path / "two") == []


def test_what_the_clock_says_is_not_compared() -> None:
    clocked = {name: item.clocked for name, item in all_experiments().items() if item.clocked}
    assert clocked == {"hybrid-latency": ("", "runs"), "hybrid-obs": ("decisions",)}


def _alter(tables: dict[str, list[dict[str, object]]]) -> dict[str, list[dict[str, object]]]:
    first, *rest = tables[""]
    name = list(first)[-1]
    return {**tables, "": [{**first, name: "altered"}, *rest]}


def test_changed_files_are_refused(measurement: Path, tmp_path: Path) -> None:
    for path in measurement.iterdir():
        (tmp_path / path.name).write_bytes(path.read_bytes())
    (tmp_path / "checkpoint-intro.csv").write_text("a\n1\n")
    with pytest.raises(TraceError, match=r"checkpoint-intro\.csv"):
        read_experiments(tmp_path)
    with pytest.raises(InputError, match="contains no experiment"):
        read_experiments(tmp_path / "nothing")


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--check", "nowhere.zip"], "no such file or directory"),
        (["--check", "text.zip"], "is not a readable ZIP archive"),
        (["--check", "outside.zip"], "files of a single directory"),
        (["--check", "measured", "--quick"], "leave out --quick"),
        (["--check", "measured", "-o", "measured"], "another directory"),
        (["--check", "measured", "--only", "hybrid-*"], "experiment"),
        (["--archive", "nowhere/one.zip", "--only", "checkpoint-table1"], "nowhere is not a directory"),
    ],
)
def test_wrong_words(
    words: list[str], sentence: str, measurement: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    (tmp_path / "measured").symlink_to(measurement)
    (tmp_path / "text.zip").write_text("no archive")
    with zipfile.ZipFile(tmp_path / "outside.zip", "w") as archive:
        archive.writestr("../outside.json", "{}")
    before = sorted(path.name for path in tmp_path.iterdir())
    assert main(["reproduce", *words]) == 2
    assert sentence in capsys.readouterr().err
    assert sorted(path.name for path in tmp_path.iterdir()) == before


#: One that plans, one that draws its data, one that looks at jobs, one that simulates and stores.
CHEAP = ("checkpoint-intro", "hybrid-table2")


@pytest.mark.system
def test_a_second_directory_has_the_same_bytes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = [
        "reproduce",
        "--quick",
        *(word for name in CHEAP for word in ("--only", name)),
        "-o",
        str(tmp_path / "one"),
    ]
    assert main([*words, "--archive", str(tmp_path / "one.zip"), "--seed", "5", "--workers", "2"]) == 0
    assert main(["reproduce", "--check", str(tmp_path / "one.zip"), "-o", str(tmp_path / "two"), "--workers", "1"]) == 0
    assert f"{len(CHEAP)} of {len(CHEAP)} experiments came out with the same bytes" in capsys.readouterr().out
    tables = sorted((tmp_path / "one").glob("*.csv"))
    assert len(tables) >= 2 * len(CHEAP)
    for path in tables:
        assert path.read_bytes() == (tmp_path / "two" / path.name).read_bytes()


@pytest.mark.slow
@pytest.mark.parametrize("name", all_experiments())
def test_every_experiment_measured_again_has_the_same_bytes(
    name: str, tmp_path: Path, quick_directory: Callable[[str], Path]
) -> None:
    found = read_experiments(quick_directory(name))[name]
    measure_experiment(found.experiment, found.parameters, found.seed, tmp_path, "0")
    assert differences(found, tmp_path) == []
