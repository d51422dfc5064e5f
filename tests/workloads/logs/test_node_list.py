"""The nodes of a Slurm machine: text and JSON, and which states count."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from holdfast.workloads.ground.errors import TraceError
from holdfast.workloads.logs.node_list import read_node_count
from tests.shared_data import shared_file

STATES = {
    "IDLE": True,
    "ALLOCATED": True,
    "MIXED+PLANNED": True,
    "IDLE+CLOUD+POWERED_DOWN": True,
    "ALLOCATED+DRAIN": True,
    "IDLE+DRAIN": False,
    "DOWN*": False,
    "DOWN+DRAIN": False,
    "FUTURE": False,
}


def test_text_and_json_count_the_same_nodes(tmp_path: Path) -> None:
    (tmp_path / "n.txt").write_text(
        "\n".join(f"NodeName=n{n} Arch=x\n   State={s} Owner=N/A" for n, s in enumerate(STATES))
    )
    nodes = []
    for state in STATES:
        first, *flags = state.strip("*").split("+")
        nodes.append({"state": first.lower(), "state_flags": flags} if len(flags) > 1 else {"state": [first, *flags]})
    (tmp_path / "n.json").write_text(json.dumps({"meta": {}, "nodes": nodes}))
    assert read_node_count(tmp_path / "n.txt") == read_node_count(tmp_path / "n.json") == sum(STATES.values())


@pytest.mark.parametrize("text", ["512\n", '{"nodes": []}', "NodeName=n1\n   State=DOWN\n"])
def test_no_nodes(text: str, tmp_path: Path) -> None:
    (tmp_path / "n").write_text(text)
    with pytest.raises(TraceError, match="names no node that could run a job: make it with 'scontrol show nodes'"):
        read_node_count(tmp_path / "n")


def test_a_real_slurm() -> None:
    assert read_node_count(shared_file("slurm", "scontrol-show-node.txt")) == 1
    assert read_node_count(shared_file("slurm", "sinfo.json")) == 16
