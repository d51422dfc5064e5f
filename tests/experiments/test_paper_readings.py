"""Readings of the hybrid paper as presets of options: what they give, and that given options win."""

from __future__ import annotations

import json
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

import holdfast as hf
from holdfast.experiments.cli import main
from holdfast.experiments.paper_readings import FACTORS, READINGS, find_reading, option_defaults
from holdfast.experiments.sweeps import make_sweep
from holdfast.policies.mechanism import parse_mechanism
from holdfast.simulator.options import Options
from holdfast.workloads.ground.errors import InputError
from holdfast.workloads.hybrid.assignment import Assignment
from holdfast.workloads.theta.presets import preset_year


@pytest.mark.parametrize("name", [*READINGS, *(factor.label for factor in FACTORS)])
def test_what_a_reading_gives_is_legal(name: str) -> None:
    reading = find_reading(name)
    Options(**reading.options)
    Assignment(**reading.assignment)
    preset_year(reading.preset)
    for mechanism in ("N-PAA", "CUP-SPAA"):
        parsed = parse_mechanism(reading.mechanism(mechanism))
        assert parsed is not None
        assert parsed.name.startswith(mechanism)
    assert reading.mechanism("baseline") == "baseline"


def test_the_paper_is_read_as_the_issue_says() -> None:
    reading = hf.reading("paper")
    assert reading.preset == "runtime-backfilling+even-projects"
    assert reading.assignment == {"overheads": "added", "group_by": "campaign"}
    assert reading.options == {
        "backfill_length": "runtime",
        "tenants": "fits",
        "malleable_start": "requested",
        "arrival_takes": "reserved",
    }
    assert hf.READINGS["default"] == "default"
    assert option_defaults(hf.reading("default")) == {"preset": "default"}


def test_unknown_readings() -> None:
    with pytest.raises(InputError, match="unknown reading 'papre': did you mean paper"):
        find_reading("papre")
    with pytest.raises(InputError, match="a reading is default, or some of overheads=added"):
        find_reading("overheads=none")
    with pytest.raises(InputError, match="no option changes how the utilization is measured"):
        option_defaults(find_reading("utilization=to-last-submit"))


def _run(directory: Path, *words: str) -> tuple[dict[str, Any], list[str]]:
    year = directory / "year.swf"
    assert main(["generate", "-o", str(year), "--jobs", "120", "--seed", "4", "--reading", "paper"]) == 0
    output = directory / "out"
    assert main(["run", str(year), "-o", str(output), "--mechanism", "CUP-SPAA", "--seed", "4", *words]) == 0
    manifest: dict[str, Any] = json.loads((output / "run.json").read_text())
    return manifest, (output / "jobs-CUP-SPAA.csv").read_text().splitlines()


def test_a_reading_is_its_options(tmp_path: Path) -> None:
    given = [
        *("--overheads", "added", "--group-by", "campaign", "--backfill-length", "runtime", "--tenants", "fits"),
        *("--malleable-start", "requested", "--arrival-takes", "reserved"),
    ]
    (tmp_path / "a").mkdir(), (tmp_path / "b").mkdir()
    named, rows = _run(tmp_path / "a", "--reading", "paper")
    spelt, others = _run(tmp_path / "b", *given)
    assert rows == others
    assert named["options"] == spelt["options"]
    assert named["preparation"] == spelt["preparation"]
    assert named["reading"] == {"name": "paper", "changed": []}
    assert "reading" not in spelt
    # The year is that of the preset, too.
    trace = hf.generate(jobs=120, seed=4, preset=hf.reading("paper").preset)
    hf.write_swf(trace, tmp_path / "preset.swf")
    assert (tmp_path / "preset.swf").read_bytes() == (tmp_path / "a" / "year.swf").read_bytes()


@pytest.mark.parametrize("before", [True, False])
def test_a_given_option_wins_wherever_it_stands(tmp_path: Path, before: bool) -> None:
    # Also where it is given the value that it has without a reading.
    own, reading = ["--tenants", "any", "--overheads=inside"], ["--reading", "paper"]
    manifest, _ = _run(tmp_path, *(own + reading if before else reading + own))
    assert manifest["options"]["tenants"] == "any"
    assert manifest["preparation"]["overheads"] == "inside"
    assert manifest["options"]["backfill_length"] == "runtime"
    assert manifest["reading"] == {"name": "paper", "changed": ["overheads", "tenants"]}


def test_mechanisms_get_the_parameters_of_a_reading(tmp_path: Path) -> None:
    manifest, _ = _run_reading(tmp_path, "shrink=minimum victims=malleable-first", "N-PAA,CUP-SPAA,baseline")
    assert manifest["mechanisms"] == [
        "N-PAA victims=malleable-first",
        "CUP-SPAA victims=malleable-first shrink=minimum",
        "baseline",
    ]
    (tmp_path / "own").mkdir()
    # Parameters that are given are all that a mechanism has.
    manifest, _ = _run_reading(tmp_path / "own", "shrink=minimum", "CUP-SPAA overhead=seconds")
    assert manifest["mechanisms"] == ["CUP-SPAA overhead=seconds"]


def _run_reading(directory: Path, reading: str, mechanisms: str) -> tuple[dict[str, Any], int]:
    hf.write_swf(hf.generate(jobs=60), directory / "year.swf")
    words = ["run", str(directory / "year.swf"), "-o", str(directory / "out"), "--mechanism", mechanisms]
    status = main([*words, "--reading", reading])
    return json.loads((directory / "out" / "run.json").read_text()), status


def test_a_sweep_takes_what_it_leaves_out_from_its_reading() -> None:
    sweep = make_sweep(
        workload={"seeds": "0:2"},
        mechanisms=["N-PAA", "baseline"],
        options={"tenants": ["any", "none"]},
        reading="paper",
    )
    assert sweep.workload.presets == ("runtime-backfilling+even-projects",)
    assert sweep.assignment.values == {"group_by": ("campaign",), "overheads": ("added",)}
    assert sweep.options.values == {
        "arrival_takes": ("reserved",),
        "backfill_length": ("runtime",),
        "malleable_start": ("requested",),
        "tenants": ("any", "none"),
    }
    named = make_sweep(workload={"seeds": 1}, mechanisms="CUA-SPAA", reading="overhead=seconds")
    assert named.mechanisms == ("CUA-SPAA overhead=seconds",)
    assert make_sweep(workload={"seeds": 1}).reading == "default"
    for wrong in ("papre", 3):
        with pytest.raises(InputError, match="reading"):
            make_sweep(workload={"seeds": 1}, reading=wrong)


def test_a_sweep_on_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "grid.toml").write_text('mechanisms = "N-PAA"\n[workload]\nseeds = 3\njobs = 50\n')
    words = ["sweep", str(tmp_path / "grid.toml"), "-o", str(tmp_path / "out"), "--dry-run"]
    assert main([*words, "--reading", "paper"]) == 0
    assert "overheads added" in capsys.readouterr().out
    assert main([*words, "--reading", "paper", "--set", "reading=default"]) == 0
    assert "overheads added" not in capsys.readouterr().out


def test_every_level_of_the_catalogue_is_an_option(tmp_path: Path) -> None:
    names = {item.name for kind in (Options, Assignment) for item in fields(kind)}
    for factor in FACTORS:
        assert set(factor.assignment) | set(factor.options) <= names
        assert factor.assignment or factor.options or factor.preset or factor.parameter or factor.metrics


def test_a_wrong_reading_writes_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for words in (
        ["generate", "-o", str(tmp_path / "year.swf"), "--reading", "papre"],
        ["demo", "-o", str(tmp_path / "demo"), "--jobs", "50", "--reading", "papre"],
    ):
        assert main(words) == 2
        assert "unknown reading 'papre'" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())
