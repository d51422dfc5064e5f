"""Options of the preparation of a trace: the same names, values and defaults as the keys of sweeps."""

from __future__ import annotations

import json
from dataclasses import asdict, fields
from pathlib import Path

from experiments import cli
from experiments.sweeps import make_sweep
from experiments.sweeps.grid import expand
from simulator.options import Options
from tests.test_docs import command_parser
from workloads.ground.parameters import declared_parameters
from workloads.hybrid.assignment import Assignment
from workloads.hybrid.parameters import option_value
from workloads.logs.swf import write_swf
from workloads.theta.generator import generate
from workloads.theta.year import ThetaYear


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
    told = json.loads((tmp_path / "out" / "run.json").read_text())
    assert told["preparation"] == json.loads(json.dumps({"seed": 0, **asdict(run.assignment)}))
    assert told["options"] == asdict(run.options)
