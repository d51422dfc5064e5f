"""``holdfast machine``: what it writes and shows, and what it refuses."""

from __future__ import annotations

from pathlib import Path

import pytest

import holdfast as hf
from holdfast.experiments import cli

_CONF = (
    "NodeName=n[1-4] CPUs=8 Gres=gpu:2\nPartitionName=a Nodes=ALL Default=YES\nPartitionName=b Nodes=n1 MaxTime=60\n"
)
_SHOWN = """\
4 nodes, 32 cores, 8 GPUs
from slurm.conf

nodes   count  cores  memory  GPUs  features  weight
n[1-4]      4      8       -     2         -       1

partition  nodes  cores  GPUs  tier  jobs share  longest  overlaps with
a *            4     32     8     1          no        -              b
b              1      8     2     1          no      1 h              a
"""


def test_a_description_is_written_and_shown(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    conf, out = tmp_path / "slurm.conf", tmp_path / "machine.toml"
    conf.write_text("SelectType=select/linear\n" + _CONF)
    assert cli.main(["machine", str(conf), "-o", str(out)]) == 0
    printed = capsys.readouterr()
    assert printed.out == _SHOWN
    assert printed.err == f"written to {out}\n"
    assert hf.read_machine(out).partition("b").max_time == 3600
    assert cli.main(["machine", "show", str(out)]) == 0
    assert capsys.readouterr().out == _SHOWN


def test_a_log_gives_an_estimate(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = tmp_path / "log.swf"
    log.write_text("1 0 0 100 4 -1 -1 4 200 -1 1 7 8 -1 1 3 -1 -1\n2 50 0 100 8 -1 -1 8 200 -1 1 7 8 -1 1 3 -1 -1\n")
    out = tmp_path / "machine.toml"
    assert cli.main(["machine", str(log), "-o", str(out)]) == 0
    printed = capsys.readouterr().out
    assert "estimated from log.swf: what its jobs never used is missing" in printed
    assert "note: 1 of 1 partitions ask for processors alone" in printed
    machine = hf.read_machine(out)
    assert (machine.estimated, machine.total("cores"), machine.partitions[0].name) == (True, 12, "3")
    (tmp_path / "log.swf.machines").write_text("0 big 3 16 1.0 1048576\n")
    assert cli.main(["machine", str(log), "-o", str(out)]) == 0
    assert "from log.swf.machines" in capsys.readouterr().out
    assert hf.read_machine(out).total("cores") == 48
    (tmp_path / "log.swf.machines").write_text("a b c\n")
    assert cli.main(["machine", str(log)]) == 2
    assert "log.swf.machines:1: a cluster must have 6 fields, not 3" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["show"], "'show' takes one file and no option: holdfast machine show machine.toml"),
        (["show", "a", "b"], "'show' takes one file and no option: holdfast machine show machine.toml"),
        (["show", "a", "-o", "b"], "'show' takes one file and no option: holdfast machine show machine.toml"),
        (["missing"], "missing: no such file"),
        (["show", "slurm.conf"], "slurm.conf:1: is not TOML: "),
        (["slurm.conf", "-o", "no/m.toml"], "no/m.toml: cannot be written: no is not a directory"),
        (["slurm.conf", "empty.conf", "--columns", "a=b"], "--columns must be left out, except with one log, not"),
        (["empty.conf"], "empty.conf: names no nodes: add the output of 'scontrol show node'"),
    ],
)  # fmt: skip
def test_what_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], words: list[str], sentence: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("slurm.conf").write_text(_CONF)
    Path("empty.conf").write_text("ClusterName=a\n")
    before = sorted(tmp_path.iterdir())
    assert cli.main(["machine", *words]) == 2
    error = capsys.readouterr().err
    assert error.startswith(f"holdfast machine: error: {sentence}")
    assert error.count("\n") == 1
    assert sorted(tmp_path.iterdir()) == before


def test_the_python_interface(tmp_path: Path) -> None:
    machine = hf.make_machine(nodes=[{"names": "n[1-2]", "cores": 4}])
    hf.write_machine(machine, tmp_path / "m.toml")
    assert hf.read_machine(tmp_path / "m.toml") == machine
    assert isinstance(machine, hf.Machine)
