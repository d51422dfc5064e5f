"""Sweeps of logs on a machine with partitions: the results of ``hf.simulate``, their keys, and what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

import holdfast as hf
from holdfast.experiments import cli
from holdfast.experiments.sweeps.grid import expand
from holdfast.experiments.sweeps.simulations import simulate_run
from holdfast.experiments.sweeps.toml_structure import make_sweep
from holdfast.experiments.tables import read_csv
from holdfast.workloads.ground.errors import InputError

_MACHINE = '[[nodes]]\nnames = "n[1-2]"\ncores = 4\n[[partitions]]\nname = "1"\nnodes = "ALL"\n'
#: Jobs of 3, 3 and 2 cores at once on nodes of 4: packed or spread, the third must wait.
_LOG = "".join(f"{job} 0 0 {100 * job} {cores} -1 -1 {cores} 900 -1 1 7 8 -1 1 1 -1 -1\n" for job, cores in
               ((1, 3), (2, 3), (3, 4)))  # fmt: skip


@pytest.fixture
def log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    Path("machine.toml").write_text(_MACHINE)
    Path("log.swf").write_text(_LOG)
    return "log.swf"


def test_a_run_of_a_sweep_is_the_simulation_on_the_machine(log: str) -> None:
    workload = {"traces": [log], "machine": "machine.toml", "placement": "spread"}
    sweep = make_sweep(workload=workload, mechanisms="baseline", options={"order": ["fcfs", "largest"]})
    runs = list(expand(sweep))
    assert len({run.key for run in runs}) == 2
    machine = hf.read_machine("machine.toml")
    for run, order in zip(runs, ("fcfs", "largest"), strict=True):
        outcome = simulate_run(run)
        assert outcome.error == ""
        result = hf.simulate(hf.read_requests(log), machine=machine, placement="spread", order=order)
        assert outcome.measured["nodes"] == 8
        assert outcome.measured["summary"]["wait_h"] == result.summary()["wait_h"]
        assert "caveats" not in outcome.measured


def test_mechanisms_in_partitions_of_whole_nodes_are_those_of_a_run(log: str) -> None:
    Path("machine.toml").write_text(
        '[[nodes]]\nnames = "n[1-5]"\ncores = 1\n[[partitions]]\nname = "1"\nnodes = "n[1-3]"\nexclusive = true\n'
        '[[partitions]]\nname = "2"\nnodes = "n[4-5]"\nexclusive = true\n'
    )
    Path(log).write_text(
        "".join(
            f"{job} {40 * job} 0 {300 + 7 * job} {1 + job % 2} -1 -1 {1 + job % 2} 900 -1 1 {job % 5} 8 -1 1 "
            f"{1 + job % 3 // 2} -1 -1\n"
            for job in range(1, 41)
        )
    )
    workload = {"traces": [log], "machine": "machine.toml"}
    mechanisms = ["baseline", "CUA-SPAA", "CUP-PAA"]
    shares = {"shares": [0.3, 0.3, 0.4]}
    runs = list(expand(make_sweep(workload=workload, mechanisms=mechanisms, assignment=shares)))
    assert [run.mechanism for run in runs] == mechanisms
    # Types are given in a sweep with mechanisms alone: its baseline is another run than one of rigid jobs.
    rigid = next(iter(expand(make_sweep(workload=workload, mechanisms="baseline", assignment=shares))))
    assert rigid.key not in {run.key for run in runs}
    words = ["--mechanism", ",".join(mechanisms), "--seed", str(runs[0].assignment_seed)]
    words += ["--shares", "0.3,0.3,0.4"]
    assert cli.main(["run", log, "--machine", "machine.toml", "-o", "out", *words]) == 0
    rows = {row["mechanism"]: row for row in read_csv("out/summary.csv")}
    for run in runs:
        outcome = simulate_run(run)
        assert outcome.error == ""
        measured, row = outcome.measured["summary"], rows[run.mechanism]
        names = [name for name, value in row.items() if isinstance(value, (int, float)) and name in measured]
        assert {"turnaround_h", "wait_h"} < set(names)
        for name in names:
            if "decision" not in name and "seconds" not in name:
                assert measured[name] == pytest.approx(row[name], rel=1e-5, abs=1e-5), name
    assert len({row["turnaround_h"] for row in rows.values()}) > 1


def test_another_machine_or_placement_is_another_run(log: str) -> None:
    keys = []
    for placement, text in (("pack", _MACHINE), ("spread", _MACHINE), ("pack", _MACHINE.replace("1-2", "1-3"))):
        Path("machine.toml").write_text(text)
        sweep = make_sweep(
            workload={"traces": [log], "machine": "machine.toml", "placement": placement}, mechanisms="baseline"
        )
        keys += [run.key for run in expand(sweep)]
    assert len(set(keys)) == 3


@pytest.mark.parametrize(
    ("workload", "mechanisms", "sentence"),
    [
        ({"machine": "machine.toml", "nodes": 4}, "baseline", "nodes must be left out with a machine"),
        ({"placement": "pack"}, "baseline", "placement needs a machine"),
        ({"machine": "machine.toml", "placement": "best"}, "baseline", "pack or spread or slurm"),
        ({"machine": "missing.toml"}, "baseline", "missing.toml: cannot be read: No such file"),
    ],
)
def test_what_a_machine_does_not_have_is_refused(
    log: str, workload: dict[str, object], mechanisms: str, sentence: str
) -> None:
    with pytest.raises(InputError) as refusal:
        list(expand(make_sweep(workload={"traces": [log], **workload}, mechanisms=mechanisms)))
    assert sentence in str(refusal.value)


@pytest.mark.parametrize(
    ("workload", "options", "sentence"),
    [
        ({"placement": "slurm"}, {}, "placement must be pack or spread with mechanisms on shared nodes"),
        ({}, {"backfilling": ["easy", "easy head=requested"]}, "backfilling must be none, easy, easy depth=K"),
        ({}, {"passes": ["instant", "event"]}, "passes must be instant on a machine"),
        ({}, {"backfilling": "slurm"}, "placement must be slurm with --backfilling slurm"),
    ],
)
def test_rules_that_a_machine_cannot_have_are_refused_before_the_first_run(
    log: str, workload: dict[str, str], options: dict[str, object], sentence: str
) -> None:
    mechanisms = "baseline" if "backfilling slurm" in sentence else ["baseline", "CUA-SPAA"]
    sweep = make_sweep(
        workload={"traces": [log], "machine": "machine.toml", **workload}, mechanisms=mechanisms, options=options
    )
    with pytest.raises(InputError, match=sentence):
        expand(sweep)
