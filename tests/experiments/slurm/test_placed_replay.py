"""Tables of replays on machines: what is read, and what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from holdfast.experiments import cli
from holdfast.experiments.slurm.placed_replay import PlacedJob, is_placed, read_placed
from holdfast.workloads.ground.errors import TraceError
from holdfast.workloads.machines.request import ResourceRequest

HEAD = "id,submit,tasks,tasks_per_node,memory_mb,gpus,features,partition,walltime,start,end,by,nodes,completing,origin"
ROW = "2,5.5,8,4,1000,2,big,work,600,7,99,main,n[1-2],1.5,1700000000"
MACHINE = """
nodes = [{names = "n[1-2]", cores = 4, memory = "4000M", gpus = 2, features = ["big"]}]
partitions = [{name = "work", nodes = "ALL"}]
"""


def written(place: Path, *rows: str, head: str = HEAD) -> Path:
    place = place / "replay.csv"
    place.write_text("\n".join([head, *rows, ""]))
    return place


def test_a_row_has_times_request_and_nodes(tmp_path: Path) -> None:
    replay = read_placed(written(tmp_path, ROW, "1,5,1,1,,,,,60,5,6,,n1,,"))
    request = ResourceRequest(
        tasks=8, tasks_per_node=4, memory=1000, gpus={"gpu": 2}, features="big", partitions=("work",)
    )
    assert replay.jobs == (
        PlacedJob(1, 5, 5, 6, 60, ResourceRequest(tasks=1, tasks_per_node=1), ("n1",)),
        PlacedJob(2, 5.5, 7, 99, 600, request, ("n1", "n2"), 1.5, "main"),
    )
    assert (replay.name, replay.origin, replay.jobs[1].wait) == ("replay", 1700000000, 1.5)


def test_other_tables_are_no_such_replays(tmp_path: Path) -> None:
    assert is_placed(written(tmp_path, ROW))
    assert not is_placed(tmp_path)
    assert not is_placed(written(tmp_path, "1,2", head="id,submit"))
    with pytest.raises(TraceError, match="must have the columns id, submit, start"):
        read_placed(written(tmp_path, "1,2", head="id,submit"))


@pytest.mark.parametrize(
    ("rows", "sentence"),
    [
        ([ROW, ROW], "holds a job twice"),
        ([ROW.replace("5.5", "8")], ":2: submit, start and end must follow one another"),
        ([ROW.replace("5.5", "soon")], ":2: submit must be a number of at most"),
        ([ROW.replace(",8,4,", ",8.5,4,")], ":2: tasks must be a whole number of at least 1, not 8.5"),
        ([ROW.replace("n[1-2]", "n[1-")], r":2: nodes must be names such as n\[1-4\], not n\[1-"),
    ],
)
def test_rows_that_are_no_jobs_are_refused(rows: list[str], sentence: str, tmp_path: Path) -> None:
    with pytest.raises(TraceError, match=sentence):
        read_placed(written(tmp_path, *rows))


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ([], "give the machine with --machine or --config"),
        (["--machine", "machine.toml", "--nodes", "4"], "--nodes must be left out for a replay on a machine"),
        (
            ["--machine", "machine.toml", "--backfilling", "easy"],
            "backfilling must be slurm on a machine, with its parameters, not 'easy'",
        ),
        (["--machine", "small.toml"], "job 2 ran on nodes that the machine does not have"),
    ],
)
def test_the_command_names_what_is_wrong(
    words: list[str], sentence: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "machine.toml").write_text(MACHINE)
    (tmp_path / "small.toml").write_text(MACHINE.replace("n[1-2]", "m[1-2]"))
    written(tmp_path, ROW)
    assert cli.main(["slurm", "compare", "replay.csv", *words]) == 2
    assert sentence in capsys.readouterr().err


def test_the_command_writes_rows_and_decisions(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "machine.toml").write_text(MACHINE)
    written(tmp_path, ROW)
    assert cli.main(["slurm", "compare", "replay.csv", "--machine", "machine.toml", "-o", "found"]) == 0
    assert "all starts and nodes are equal\non the nodes that Slurm chose: 1 jobs" in capsys.readouterr().out
    assert (tmp_path / "found.csv").read_text().splitlines()[1].endswith(",1,1,0,0,0,1,")
    assert len((tmp_path / "found-decisions.csv").read_text().splitlines()) == 1
