"""Altered archives: whatever is changed, one sentence or the experiment as it was, and nothing outside is opened."""

from __future__ import annotations

import io
import json
import random
import zipfile
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from holdfast.experiments import cli
from holdfast.experiments.cli import main
from holdfast.experiments.commands import reproduce
from holdfast.experiments.output.manifest import open_result
from holdfast.experiments.study.artefact import _like, write_artefact
from holdfast.experiments.study.experiment import all_experiments, find_experiment, measure_experiment
from holdfast.experiments.study.parameter_limits import FACTOR, check_parameters
from holdfast.workloads.ground.errors import InputError
from tests.fuzz.cases import _seal
from tests.fuzz.seeds import TASKS

NAME = "profiles-table1"


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """An experiment that was measured with a file of data, and one without."""
    place = tmp_path_factory.mktemp("archived")
    (place / "tasks.csv").write_bytes(TASKS["tasks.csv"])
    for name, changes in ((NAME, {"tasks": str(place / "tasks.csv")}), ("checkpoint-intro", {})):
        item = find_experiment(name)
        measure_experiment(item, replace(item.quick, **changes), 0, place, "0")
    write_artefact(place, [NAME, "checkpoint-intro"], place / "a.zip")
    return (place / "a.zip").read_bytes()


@pytest.fixture
def check(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., tuple[int, str]]:
    """Check an archive, up to the point where the experiments would be measured again."""
    data = tmp_path / "data" / "slant" / "slant_drd_tasks.csv"
    data.parent.mkdir(parents=True)
    data.write_bytes(TASKS["tasks.csv"])
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(reproduce, "_reproduce", lambda *_: [])
    # To make the parsers of all commands takes longer than to read an archive.
    monkeypatch.setattr(cli, "_parser", cache(cli._parser))

    def check_archive(content: bytes, *words: str) -> tuple[int, str]:
        Path("a.zip").write_bytes(content)
        capsys.readouterr()
        status = main(["reproduce", "--check", "a.zip", "-o", "out", *words])
        return status, capsys.readouterr().err

    return check_archive


def members(content: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(content)) as file:
        return {item.filename: file.read(item) for item in file.infolist()}


def pack(files: dict[str, bytes], how: int = zipfile.ZIP_DEFLATED) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", how) as file:
        for name, data in files.items():
            file.writestr(name, data)
    return made.getvalue()


def with_parameters(content: bytes, name: str = NAME, seed: Any = 0, **changes: Any) -> bytes:
    """The archive with other parameters, sealed again."""
    files = members(content)
    document = json.loads(files[f"{name}.json"])
    document["parameters"] |= changes
    document["seed"] = seed
    files[f"{name}.json"] = _seal((json.dumps(document, indent=2) + "\n").encode())
    return pack(files)


def alter(content: bytes, rng: random.Random) -> bytes:
    """One byte changed, bytes taken out, doubled or moved, the end cut off; or a member lost, renamed, emptied."""
    kind = rng.randrange(10)
    at = rng.randrange(len(content))
    if kind < 5:
        return content[:at] + bytes([content[at] ^ (1 << rng.randrange(8))]) + content[at + 1 :]
    length = rng.randrange(1, 40)
    if kind == 5:
        return content[:at] + content[at + length :]
    if kind == 6:
        return content[:at] + content[at : at + length] + content[at:]
    if kind == 7:
        return content[:at]
    files = members(content)
    name = rng.choice(sorted(files))
    if kind == 8:
        data = files.pop(name)
        if rng.random() < 0.5:
            files[rng.choice(("a.json", "x" * 300, "ü", f"{name} ", "../a", "a/b", "a:b"))] = data
    else:
        data = files[name]
        at = rng.randrange(len(data))
        files[name] = rng.choice((b"", data[:at], data[:at] + b"\0" + data[at + 1 :], data + data, b"[" * 9000))
    return pack(files, rng.choice((zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA)))


def test_an_archive_is_checked_as_it_is(archive: bytes, check: Callable[..., tuple[int, str]]) -> None:
    assert check(archive, "--data", "data") == (0, "")


@pytest.mark.parametrize("times", [40, pytest.param(1500, marks=pytest.mark.slow)])
@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_altered_bytes_are_reported_in_a_sentence(
    archive: bytes, times: int, check: Callable[..., tuple[int, str]], capsys: pytest.CaptureFixture[str]
) -> None:
    rng = random.Random(times)
    refused = 0
    for number in range(times):
        content = alter(archive, rng)
        status, error = check(content, "--data", "data")
        assert status in (0, 2), number
        assert len(error.splitlines()) == (status == 2), (number, error)
        assert "Traceback" not in error
        refused += status == 2
        capsys.readouterr()
        # What only looks at digests is of the same opinion.
        assert (main(["verify", "a.zip"]) == 0) == (status == 0), number
        assert "Traceback" not in capsys.readouterr().err
    assert refused > times / 2


@pytest.mark.parametrize(
    "path", ["/etc/shadow", "../secret", "tasks.csv", "/dev/zero", "data/slant/slant_drd_tasks.csv"]
)
def test_no_file_is_opened_where_a_record_says(
    path: str, archive: bytes, check: Callable[..., tuple[int, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    content = with_parameters(archive, tasks=path)
    status, error = check(content)
    assert status == 2
    assert "give a directory that contains slant/slant_drd_tasks.csv with --data" in error
    given = []
    monkeypatch.setattr(reproduce, "_reproduction", lambda *_, recorded, **__: given.append(recorded))
    assert check(content, "--data", "data")[0] == 0
    assert given[0][NAME][0].tasks == str(Path("data", "slant", "slant_drd_tasks.csv"))


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"runs": 10**400}, "parameters.runs must be a whole number of at most 8,800, and 0 or at least 0.3"),
        ({"runs": 8801}, "parameters.runs must be a whole number of at most 8,800"),
        ({"runs": True}, "parameters.runs must be a whole number"),
        ({"runs": "88"}, "parameters.runs must be a whole number"),
        ({"runs": [88]}, "parameters.runs must be a whole number"),
        ({"tasks": 3}, "parameters.tasks must be a text of at most 200 characters"),
        ({"tasks": "x" * 201}, "parameters.tasks must be a text of at most 200 characters"),
        ({"tasks": "evil:x"}, "is code that a file names"),
        ({"seed": -1}, "has other parameters than profiles-table1 of this version"),
        ({"seed": 2**63}, "has other parameters than profiles-table1 of this version"),
        ({"unknown": 1}, "has other parameters than profiles-table1 of this version"),
    ],
)
def test_parameters_have_limits(
    changes: dict[str, Any], sentence: str, archive: bytes, check: Callable[..., tuple[int, str]]
) -> None:
    status, error = check(with_parameters(archive, **changes), "--data", "data")
    assert status == 2
    assert sentence in error
    assert error.startswith("holdfast reproduce: error: a.zip: profiles-table1.json: ")
    assert len(error.splitlines()) == 1


@pytest.mark.parametrize("name", all_experiments())
def test_the_sizes_of_every_experiment_are_within_its_limits(name: str, tmp_path: Path) -> None:
    item = all_experiments()[name]
    for parameters in (item.parameters, item.quick):
        values = json.loads(json.dumps(vars(parameters), default=str))
        check_parameters(item.parameters, item.quick, values, tmp_path)
        for key, value in values.items():
            for other in beyond(value):
                with pytest.raises(InputError, match=f"parameters.{key}"):
                    check_parameters(item.parameters, item.quick, {**values, key: other}, tmp_path)
        assert _like(item.parameters, values) == parameters


def beyond(value: Any) -> list[Any]:
    """Values that a parameter must not have, whatever its kind."""
    if isinstance(value, bool):
        return ["true", 1]
    if isinstance(value, int | float):
        return [10**400, float("inf"), float("nan"), "1", True, None, {}, []]
    if isinstance(value, list):
        return [["a:b"], [10**400], ["x" * 201], [None] * 100_000, {}, 3, "text"]
    return [3, None, "x" * 201, "evil:x", "a\nb"]


def test_limits_leave_room_for_other_sizes(tmp_path: Path) -> None:
    item = find_experiment("hybrid-fig6")
    check_parameters(item.parameters, item.quick, {"jobs": FACTOR * 37_298, "traces": 1, "mixes": ["W1"]}, tmp_path)


def test_the_data_of_a_directory_are_not_opened_either(archive: bytes, tmp_path: Path) -> None:
    place = tmp_path / "unpacked"
    place.mkdir()
    for name, data in members(archive).items():
        (place / name).write_bytes(data)
    assert open_result(place, f"{NAME}.json").content["parameters"]["tasks"]
    assert main(["reproduce", "--check", str(place), "-o", str(tmp_path / "out"), "--only", NAME]) == 2
    assert not (tmp_path / "out").exists()
