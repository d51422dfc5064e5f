"""Usage of accounts, as sshare tells it, and nodes by their names."""

from __future__ import annotations

from pathlib import Path

import pytest

from holdfast.workloads.ground.errors import TraceError
from holdfast.workloads.logs.node_list import read_node_names, read_node_processors
from holdfast.workloads.logs.node_names import NodeNumbers
from holdfast.workloads.logs.sshare import read_usage

HEAD = "Account|User|RawShares|NormShares|RawUsage|NormUsage|EffectvUsage|FairShare|LevelFS|GrpTRESMins|TRESRunMins"


def shares(tmp_path: Path, *rows: tuple[str, str, str], end: str = "") -> Path:
    path = tmp_path / "sshare.txt"
    lines = [f"{account}|{user}|1|0.5|{used}|0.1|0.1|0.5|1.0||cpu=0{end}" for account, user, used in rows]
    path.write_text("\n".join([HEAD + end, *lines]) + "\n")
    return path


@pytest.mark.parametrize("end", ["", "|"])
def test_sub_accounts_are_taken_from_their_parents(end: str, tmp_path: Path) -> None:
    path = shares(
        tmp_path,
        ("root", "", "1000"),
        (" root", "root", "10"),
        (" physics", "", "700"),
        ("  physics", "ann", "50"),
        ("  optics", "", "400"),
        ("   optics", "ann", "400"),
        ("  lasers", "", "250"),
        (" chemistry", "", "290"),
        end=end,
    )
    own = {"root": 10, "physics": 50, "optics": 400, "lasers": 250, "chemistry": 290}
    assert read_usage(path) == own
    assert sum(own.values()) == 1000


def test_rounded_usage_is_never_below_zero(tmp_path: Path) -> None:
    assert read_usage(shares(tmp_path, ("root", "", "9"), (" a", "", "10"), (" b", "", ""))) == {
        "root": 0,
        "a": 10,
        "b": 0,
    }


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("Account|User\nroot|\n", "1: has no column RawUsage: make it with 'sshare -a -l -P'"),
        ("Account|User|RawUsage\nroot||many\n", "2: RawUsage"),
        ("Account|User|RawUsage\nroot||-1\n", "2: RawUsage must be a number of at least 0"),
        ("Account|User|RawUsage\nroot||1|2\n", "2: must have 3 cells, as the header, not 4"),
        ("Account|User|RawUsage\nroot||1\n a||1\n a||1\n", "4: Account must name each account once"),
        ("Account|User|RawUsage\n physics|ann|1\n", "names no account"),
    ],
)
def test_one_sentence_each(text: str, sentence: str, tmp_path: Path) -> None:
    path = tmp_path / "sshare.txt"
    path.write_text(text)
    with pytest.raises(TraceError, match=sentence):
        read_usage(path)


def test_nodes_stand_in_the_order_of_their_numbers() -> None:
    some = NodeNumbers(["n2", "n10", "n4"], 16)
    # Nodes that are not named have places between these.
    assert (some.bits("n2"), some.bits("n[4,10]")) == (0b1, 0b100000100)
    # A machine that is too small for that has no others.
    assert NodeNumbers(["n2", "n10", "n4"], 3).bits("n10") == 0b100
    racks = NodeNumbers(["r2n1", "r1n2", "r1n10", "gpu"], 4)
    assert [racks.bits(name) for name in ("gpu", "r1n2", "r1n10", "r2n1")] == [1, 2, 4, 8]
    # A job that shares its nodes, or whose size counts processors, has no nodes of its own.
    assert (some.bits("n[4,10]", 2), some.bits("n[4,10]", 16)) == (0b100000100, 0)
    assert (some.bits("n5"), some.bits(""), some.bits("n[2-")) == (0, 0, 0)


def test_names_and_processors_of_nodes(tmp_path: Path) -> None:
    path = tmp_path / "nodes.txt"
    path.write_text(
        "NodeName=n1 Arch=x86_64\n   CPUAlloc=1 CPUTot=8\n\nNodeName=n2 Arch=x86_64\n   CPUTot=4 State=IDLE\n"
    )
    assert (read_node_names(path), read_node_processors(path)) == (["n1", "n2"], 6)
    path.write_text('{"nodes": [{"name": "n1", "cpus": 8, "state": "idle"}]}')
    assert (read_node_names(path), read_node_processors(path)) == (["n1"], 8)
