"""Options of the preparation of a trace: the same names, values and defaults as the keys of sweeps."""

from __future__ import annotations

import json
from dataclasses import asdict, fields
from pathlib import Path

import pytest

from holdfast.experiments import cli
from holdfast.experiments.sweeps import make_sweep
from holdfast.experiments.sweeps.grid import expand
from holdfast.simulator.options import Options
from holdfast.workloads.ground.parameters import declared_parameters
from holdfast.workloads.hybrid.assignment import Assignment
from holdfast.workloads.hybrid.parameter_parsing import option_value
from holdfast.workloads.logs.swf import write_swf
from holdfast.workloads.theta.generator import generate
from holdfast.workloads.theta.year import ThetaYear
from tests.test_docs import command_parser

ALL = ["baseline", "N-PAA", "N-SPAA", "CUA-PAA", "CUA-SPAA", "CUP-PAA", "CUP-SPAA"]


def test_options_are_keys_of_sweeps_with_the_same_defaults() -> None:
    offered = {action.dest for action in command_parser("run")._actions}
    for kind in (Assignment, Options):
        assert {item.name for item in fields(kind)} - offered == set()
        for item in declared_parameters(kind):
            assert option_value(kind, item.name, item.write(item.default)) == item.default, item.name


def test_options_are_read_as_keys_of_sweeps_are(tmp_path: Path) -> None:
    year = tmp_path / "a.swf"
    write_swf(generate(ThetaYear(jobs=20), seed=3), year)
    how = {"notice_mix": [0.1, 0.2, 0.3, 0.4], "shares": [0.3, 0.4, 0.3], "notice_lead": ["5m", 3600.0]}
    sweep = make_sweep(workload={"traces": [str(year)]}, assignment=how, options={"warning": "5m", "timeout": 60})
    words = [
        "--notice-mix=.1,.2,.3,.4",
        "--shares=0.3,0.4,0.3",
        "--notice-lead=5m,3600",
        "--warning=5m",
        "--timeout=60",
    ]
    words += ["--mechanism", "N-PAA"]
    run = expand(sweep)[0]
    assert cli.main(["run", str(year), "-o", str(tmp_path / "out"), *words]) == 0
    manifest = json.loads((tmp_path / "out" / "run.json").read_text())
    asked = {name: value for name, value in asdict(run.assignment).items() if name != "types"}
    assert manifest["preparation"] == json.loads(json.dumps({"seed": 0, **asked}))
    assert manifest["options"] == asdict(run.options)


@pytest.mark.parametrize(
    ("words", "mechanisms"),
    [
        ([], ["baseline"]),
        (["--seed", "3", "--order", "sjf", "--until", "10h"], ["baseline"]),
        (["--order", "fcfs,sjf"], ["baseline"]),
        (["--mechanism", "N-PAA"], ["N-PAA"]),
        (["--group-by", "auto"], ALL),  # an option that is given, also with its default
        (["--reading", "default"], ALL),
        (["--no-show-share", "0.1"], ALL),
        (["--expansion", "greedy"], ALL),
    ],
    ids=" ".join,
)
def test_types_and_mechanisms_are_drawn_only_on_request(
    tmp_path: Path, words: list[str], mechanisms: list[str]
) -> None:
    write_swf(generate(ThetaYear(jobs=20), seed=3), tmp_path / "a.swf")
    assert cli.main(["run", str(tmp_path / "a.swf"), "-o", str(tmp_path / "out"), *words]) == 0
    manifest = json.loads((tmp_path / "out" / "run.json").read_text())
    assert manifest["mechanisms"] == mechanisms
    assert ("preparation" in manifest) == (mechanisms != ["baseline"])


@pytest.mark.parametrize(("kind", "mechanisms"), [("rigid", ["baseline"]), ("on-demand", ALL)])
def test_the_types_of_a_job_table_decide(tmp_path: Path, kind: str, mechanisms: list[str]) -> None:
    table = tmp_path / "jobs.csv"
    table.write_text(f"job_id,type,submit,nodes,runtime,walltime\n1,rigid,0,1,60,90\n2,{kind},5,1,60,90\n")
    assert cli.main(["run", str(table), "-o", str(tmp_path / "out"), "--nodes", "1"]) == 0
    assert json.loads((tmp_path / "out" / "run.json").read_text())["mechanisms"] == mechanisms
