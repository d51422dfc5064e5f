"""Alea's further columns: no dependencies, processors, and the machine in a file beside the log."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from holdfast.experiments.cli import main
from holdfast.workloads.ground.errors import TraceError
from holdfast.workloads.logs.readers import read_trace
from holdfast.workloads.logs.swf import parse_swf, read_long_swf
from tests.shared_data import trace_file

#: Job, submit, wait, runtime, processors; the request of two nodes in the last column.
LINES = "\n".join(
    f"{k} {1356996147 + 60 * k} 5 60 4 1 1024 4 600 -1 1 62 1 1 -1 1 1 1 {{7,7,8,8}} q_1d 2:ppn=2:x86_64"
    for k in range(3)
)
MACHINES = "0\tzewura\t20\t80\t1\t529426432\n1\tzegox\t48\t12\t1\t94035968\n"


def test_fields_17_and_18_are_no_dependencies() -> None:
    trace = parse_swf(LINES, "a.swf")
    assert [job.preceding for job in trace.jobs] == [None] * 3
    assert (trace.unit, trace.nodes) == ("processors", None)
    assert trace.remarks == {"columns of Alea: fields 17 and 18 are no dependencies there": 3}
    # Other further columns leave them what they are.
    other = parse_swf("\n".join(line.split(" {")[0] + " 512 node17" for line in LINES.split("\n")), "a.swf")
    assert [job.preceding for job in other.jobs] == [1] * 3
    assert other.remarks["more than 18 fields: the rest not read"] == 3


@pytest.mark.parametrize("name", ["a.swf", "a.swf.gz"])
def test_the_machine_is_in_a_file_beside_the_log(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    packed = LINES.encode() if name == "a.swf" else gzip.compress(LINES.encode())
    (tmp_path / name).write_bytes(packed)
    (tmp_path / "a.swf.machines").write_text(MACHINES)
    for trace in (read_trace(tmp_path / name), read_long_swf(tmp_path / name)):
        assert (trace.nodes, trace.unit) == (20 * 80 + 48 * 12, "processors")
    assert main(["info", str(tmp_path / name), "--no-simulation"]) == 0
    output = capsys.readouterr().out
    assert "2,176 processors; 20 x 80 + 48 x 12 by a.swf.machines" in output
    assert "dependencies  " not in output
    assert "FCFS/EASY" not in output
    assert "wait, recorded" in output
    assert read_trace(tmp_path / name, procs_per_node=2).jobs[0].nodes == 2
    with pytest.raises(TraceError, match="counts processors of nodes of several sizes: give procs_per_node"):
        read_trace(tmp_path / name, unit="nodes")


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ("0 zewura 20", r"a\.swf\.machines:1: a cluster must have 6 fields, not 3"),
        ("0 zewura 2_0 80 1 1", "the number of nodes must be a whole number, not '2_0'"),
        ("0 zewura 0 80 1 1", "nodes and processors must be positive"),
    ],
)
def test_a_broken_file_of_the_machine(line: str, sentence: str, tmp_path: Path) -> None:
    (tmp_path / "a.swf").write_text(LINES)
    (tmp_path / "a.swf.machines").write_text(line)
    with pytest.raises(TraceError, match=sentence):
        read_trace(tmp_path / "a.swf")


@pytest.mark.system
def test_wagap() -> None:
    trace = read_trace(trace_file("wagap-2013.swf.gz"))
    assert (trace.nodes, trace.unit) == (2176, "processors")
    assert not any(job.preceding for job in trace.jobs)


def test_info_with_and_without_a_simulation(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "a.swf").write_text(
        "; MaxNodes: 8\n; MaxProcs: 8\n" + LINES.replace(" {7,7,8,8} q_1d 2:ppn=2:x86_64", "")
    )
    assert main(["info", str(tmp_path / "a.swf")]) == 0
    whole = capsys.readouterr()
    assert main(["info", str(tmp_path / "a.swf"), "--no-simulation"]) == 0
    short = capsys.readouterr()
    left_out = [row for row in whole.out.splitlines() if row not in short.out.splitlines()]
    assert [row.split("  ")[1] for row in left_out] == ["wait, FCFS/EASY"]
    # A short simulation shows no bar.
    assert (whole.err, short.err) == ("", "")
