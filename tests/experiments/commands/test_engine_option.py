"""``holdfast run --engine``: the same files from both engines, and which one ran."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from holdfast.experiments.cli import main
from holdfast.experiments.recordings.archive import read_recording
from holdfast.workloads.hybrid.assignment import as_rigid
from holdfast.workloads.logs.swf_writer import write_swf
from holdfast.workloads.table.job_table import write_job_table
from holdfast.workloads.theta.generator import generate
from holdfast.workloads.theta.year import ThetaYear

CLOCK = ("decision_ms_p99", "decision_ms_max", "engine_seconds")


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "log.swf"
    write_swf(generate(ThetaYear(jobs=60), seed=3), path)
    return path


def files(place: Path) -> dict[str, object]:
    """Contents of the result, without what the clock measures and what names the engine."""
    found: dict[str, object] = {path.name: path.read_bytes() for path in place.iterdir() if path.suffix != ".json"}
    with (place / "summary.csv").open() as text:
        found["summary.csv"] = [{**row, **dict.fromkeys(CLOCK)} for row in csv.DictReader(text)]
    manifest = json.loads((place / "run.json").read_text())
    for name in ("engine", "digest"):
        manifest.pop(name)
    manifest["options"].pop("engine")
    manifest["files"].pop("summary.csv")
    return found | {"run.json": manifest}


@pytest.mark.parametrize(
    "words",
    [
        [],
        pytest.param(["--plot"], marks=pytest.mark.system),
        ["--order", "saf", "--backfilling", "conservative"],
        ["--stream"],
    ],
)
def test_both_engines_write_the_same_files(log: Path, tmp_path: Path, words: list[str]) -> None:
    found = []
    for engine in ("simpy", "compiled", "auto"):
        place = tmp_path / engine
        main(["run", str(log), "-o", str(place), "--mechanism", "baseline", "--engine", engine, *words])
        manifest = json.loads((place / "run.json").read_text())
        assert (manifest["options"]["engine"], manifest["engine"]) == (
            engine,
            "simpy" if engine == "simpy" else "compiled",
        )
        found.append(files(place))
    assert found[0] == found[1] == found[2]


def test_each_of_several_runs_names_its_engine(log: Path, tmp_path: Path) -> None:
    place = tmp_path / "several"
    main(["run", str(log), "-o", str(place), "--order", "fcfs,fairshare"])
    manifest = json.loads((place / "run.json").read_text())
    assert {run["label"]: run["engine"] for run in manifest["runs"]} == {"fcfs": "compiled", "fairshare": "simpy"}
    main(["run", str(log), "-o", str(tmp_path / "events"), "--mechanism", "baseline", "--events"])
    assert read_recording(tmp_path / "events", None).engine == "simpy"


def test_a_job_table_with_types_is_plain_under_the_baseline(log: Path, tmp_path: Path) -> None:
    table = tmp_path / "table.csv"
    write_job_table(as_rigid(generate(ThetaYear(jobs=30), seed=4)), table)
    main(["run", str(table), "--nodes", "4392", "-o", str(tmp_path / "out"), "--mechanism", "baseline,CUA-SPAA"])
    manifest = json.loads((tmp_path / "out" / "run.json").read_text())
    assert manifest["engine"] == {"baseline": "compiled", "CUA-SPAA": "simpy"}


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["--mechanism", "CUA-SPAA"], "the mechanism must be baseline, not CUA-SPAA"),
        (["--mechanism", "baseline", "--events"], "no event log must be kept"),
        (["--mechanism", "baseline", "--order", "fairshare"], "order must be one of"),
    ],
)
def test_what_compiled_loops_cannot_replay_is_refused(
    log: Path, tmp_path: Path, words: list[str], why: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["run", str(log), "-o", str(tmp_path / "out"), "--engine", "compiled", *words]) == 2
    assert why in capsys.readouterr().err
    assert not (tmp_path / "out" / "run.json").exists()
