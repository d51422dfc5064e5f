"""Tables of replays on machines: what is read, and what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from holdfast.experiments import cli
from holdfast.experiments.slurm.machine_agreement import placed_summary
from holdfast.experiments.slurm.placed_replay import (
    PlacedJob,
    PlacedReplay,
    is_placed,
    read_placed_replay,
    write_placed_replay,
)
from holdfast.experiments.slurm.recorded_limits import with_recorded_limits, write_limits
from holdfast.experiments.slurm.slurm_machine import SlurmMachine
from holdfast.workloads.ground.errors import TraceError
from holdfast.workloads.machines.machine import Limit, Quota
from holdfast.workloads.machines.machine_file import make_machine
from holdfast.workloads.machines.request import ResourceRequest

HEAD = "id,submit,tasks,tasks_per_node,memory_mb,gpus,features,partition,walltime,start,end,by,nodes,completing,origin"
ROW = "2,5.5,8,4,1000,2,big,work,600,7,99,main,n[1-2],1.5,1700000000"
MACHINE = """
nodes = [{names = "n[1-2]", cores = 4, memory = "4000M", gpus = 2, features = ["big"]}]
partitions = [{name = "work", nodes = "ALL"}]
"""


def write_replay(place: Path, *rows: str, head: str = HEAD) -> Path:
    place = place / "replay.csv"
    place.write_text("\n".join([head, *rows, ""]))
    return place


def test_a_row_has_times_request_and_nodes(tmp_path: Path) -> None:
    replay = read_placed_replay(write_replay(tmp_path, ROW, "1,5,1,1,,,,,60,5,6,,n1,,"))
    request = ResourceRequest(
        tasks=8, tasks_per_node=4, memory=1000, gpus={"gpu": 2}, features="big", partitions=("work",)
    )
    assert replay.jobs == (
        PlacedJob(1, 5, 5, 6, 60, ResourceRequest(tasks=1, tasks_per_node=1), ("n1",)),
        PlacedJob(2, 5.5, 7, 99, 600, request, ("n1", "n2"), 1.5, "main"),
    )
    assert (replay.name, replay.origin, replay.jobs[1].wait) == ("replay", 1700000000, 1.5)


def test_a_replay_is_written_and_read_with_its_requests_and_cores(tmp_path: Path) -> None:
    request = ResourceRequest(tasks=5, cores=2, memory=500, memory_per_core=True, gpus={"v100": 1}, exclusive=True)
    row = {"id": 3, "submit": 1.0, "start": 2.5, "end": 9.0, "walltime": 60.0, "node_list": "n[2-3]"}
    row |= {"by": "backfill", "state": "COMPLETED", "slurm_id": 7, "completing": 0.0}
    row |= {"node_cores": {"n3": 4, "n2": 6}, "origin": 1.7e9}
    owner = {"user": "ada", "account": "chem", "qos": "few"}
    for more in ({}, owner):
        # The QOS and account of the log are not those that Slurm knows.
        write_placed_replay(tmp_path, [row | more], {3: request._replace(qos="other")})
        assert is_placed(tmp_path)
        had = request._replace(qos=more.get("qos", ""), account=more.get("account", ""))
        assert read_placed_replay(tmp_path).jobs == (
            PlacedJob(3, 1, 2.5, 9, 60, had, ("n2", "n3"), 0.0, "backfill", (6, 4), more.get("user", "")),
        )


@pytest.mark.parametrize("start", ["", "9.5"])
def test_a_job_that_was_cancelled_while_it_waited_has_no_start(
    start: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """It has no nodes, or start and end are equal, as Slurm shows them; one that ran has a start of its own."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "machine.toml").write_text(MACHINE)
    rows = f"{ROW},CANCELLED,", f"3,6,1,1,,,,,60,{start},9.5,,,0.5,,CANCELLED by 0,8"
    place = write_replay(tmp_path, *rows, head=f"{HEAD},state,eligible")
    replay = read_placed_replay(place)
    assert [job.job_id for job in replay.jobs] == [2]
    request = ResourceRequest(tasks=1, tasks_per_node=1)
    assert replay.cancelled == (PlacedJob(3, 6, 9.5, 9.5, 60, request, (), eligible=8),)
    assert [job.job_id for job in replay.all_jobs] == [2, 3]
    assert cli.main(["slurm", "compare", "replay.csv", "--machine", "machine.toml"]) == 0
    assert "0 waited over a minute; 1 more were cancelled while they waited\n" in capsys.readouterr().out
    with pytest.raises(TraceError, match="holds no job with a recorded start"):
        read_placed_replay(write_replay(tmp_path, rows[1], head=f"{HEAD},state,eligible"))


def test_a_cancelled_job_is_written_without_a_start(tmp_path: Path) -> None:
    row = {"id": 3, "submit": 1.0, "eligible": 20.0, "end": 90.0, "walltime": 60.0, "node_list": ""}
    row |= {"by": "", "state": "CANCELLED", "slurm_id": 7, "completing": 0.0, "origin": 1.7e9}
    ran = {**row, "id": 4, "start": 21.0, "eligible": None, "node_list": "n1", "state": "COMPLETED"}
    request = ResourceRequest(tasks=1, tasks_per_node=1)
    write_placed_replay(tmp_path, [row, ran], {3: request, 4: request})
    replay = read_placed_replay(tmp_path)
    assert replay.cancelled == (PlacedJob(3, 1, 90, 90, 60, request, (), eligible=20),)
    assert replay.jobs == (PlacedJob(4, 1, 21, 90, 60, request, ("n1",)),)


def test_limits_that_a_replay_records_come_before_those_of_the_machine(tmp_path: Path) -> None:
    own = {"qos": "few", "together": {"running": 1}}, {"partition": "all", "together": {"nodes": 2}}
    machine = make_machine(nodes=[{"names": "n[1-2]", "cores": 4}], limits=list(own))
    assert with_recorded_limits(machine, tmp_path) == (machine, ())
    write_limits(tmp_path, {"qos.txt": "Name|GrpJobs|GrpTRES\nmore|3|license/x=1\n"})
    limited, remarks = with_recorded_limits(machine, tmp_path)
    assert limited.limits == (Limit("qos", "more", together=Quota(running=3)), machine.limits[1])
    assert remarks == ("GrpTRES license/x of QOS more is left out",)
    # A lab has limits of a partition in a QOS of its own.
    write_limits(tmp_path, {"qos.txt": "Name|GrpJobs|GrpTRES\nmore|3|\npartition.all||node=1\n"})
    assert with_recorded_limits(machine, tmp_path)[0].limits == (
        limited.limits[0],
        Limit("partition", "all", together=Quota(nodes=1)),
    )
    jobs = [PlacedJob(1, 0, 0, 10, 60, ResourceRequest(qos="more"), ("n1",))]
    line, remark = placed_summary(PlacedReplay("replay", tuple(jobs)), limited).splitlines()
    assert remark == "limits count: QOS more, partition all"
    assert "cancelled" not in line


def test_recorded_cores_say_what_a_job_held() -> None:
    # By the rule, the tasks of job 1 fill n1 first; Slurm gave it six cores of n2, so that job 2 has room on n1.
    machine = make_machine(nodes=[{"names": "n[1-2]", "cores": 8, "memory": "8000M"}])
    request = ResourceRequest(tasks=8, memory=100, memory_per_core=True)
    first = PlacedJob(1, 0, 0, 10, 60, request, ("n1", "n2"), cores=(2, 6))
    second = PlacedJob(2, 0, 0, 10, 60, ResourceRequest(cores=6), ("n1",))
    slurm = SlurmMachine(machine, [first, second])
    assert [list(vector)[:2] for vector in slurm.run(first, 0).taken] == [[2, 200], [6, 600]]
    assert slurm.state([slurm.run(first, 0), slurm.run(second, 0)]) is not None
    blind = first._replace(cores=())
    slurm = SlurmMachine(machine, [blind, second])
    assert slurm.state([slurm.run(blind, 0), slurm.run(second, 0)]) is None


def test_of_two_partitions_the_one_that_suits_nodes_and_cores_counts() -> None:
    partitions = [{"name": "whole", "nodes": "n1", "exclusive": True}, {"name": "work", "nodes": "ALL"}]
    machine = make_machine(nodes=[{"names": "n[1-2]", "cores": 8}], partitions=partitions)
    request = ResourceRequest(cores=2, partitions=("whole", "work"))
    held = {}
    for node, cores in (("n1", 8), ("n1", 2), ("n2", 2)):
        job = PlacedJob(1, 0, 0, 10, 60, request, (node,), cores=(cores,))
        held[node, cores] = SlurmMachine(machine, [job]).run(job, 0).taken[0][0]
    assert held == {("n1", 8): 8, ("n1", 2): 2, ("n2", 2): 2}


def test_other_tables_are_no_such_replays(tmp_path: Path) -> None:
    assert is_placed(write_replay(tmp_path, ROW))
    assert not is_placed(tmp_path)
    assert not is_placed(write_replay(tmp_path, "1,2", head="id,submit"))
    with pytest.raises(TraceError, match="must have the columns id, submit, start"):
        read_placed_replay(write_replay(tmp_path, "1,2", head="id,submit"))


@pytest.mark.parametrize(
    ("rows", "sentence"),
    [
        ([ROW, ROW], "holds a job twice"),
        ([ROW.replace("5.5", "8")], ":2: submit, start and end must follow one another"),
        ([ROW.replace("5.5", "soon")], r":2: submit must be a number of at most 1e\+12, not 'soon'"),
        ([ROW.replace(",8,4,", ",8.5,4,")], ":2: tasks must be a whole number of at least 1, not 8.5"),
        ([f"{ROW},8"], r":2: node_cores must have 2 numbers, such as 8\+4, not 8"),
        ([ROW.replace("n[1-2]", "")], ":2: nodes must be names"),
        ([ROW.replace("n[1-2]", "n[1-")], r":2: nodes must be names such as n\[1-4\], not n\[1-"),
    ],
)
def test_rows_that_are_no_jobs_are_refused(rows: list[str], sentence: str, tmp_path: Path) -> None:
    head = f"{HEAD},node_cores" if rows[0].count(",") > HEAD.count(",") else HEAD
    with pytest.raises(TraceError, match=sentence):
        read_placed_replay(write_replay(tmp_path, *rows, head=head))


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
    write_replay(tmp_path, ROW)
    assert cli.main(["slurm", "compare", "replay.csv", *words]) == 2
    assert sentence in capsys.readouterr().err


@pytest.mark.parametrize("limits", ["", '[[limits]]\nqos = "q"\ntogether = {running = 1}\n'])
def test_the_command_writes_rows_and_decisions(
    limits: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "machine.toml").write_text(f"{MACHINE}\n{limits}")
    write_replay(tmp_path, ROW)
    assert cli.main(["slurm", "compare", "replay.csv", "--machine", "machine.toml", "-o", "found"]) == 0
    printed = capsys.readouterr().out
    assert "all starts and nodes are equal\non the nodes that Slurm chose: 1 job" in printed
    assert ("the replay records no QOS of jobs: limits by QOS do not count" in printed) == bool(limits)
    assert (tmp_path / "found.csv").read_text().splitlines()[1].endswith(",1,1,0,0,0,1,1")
    assert len((tmp_path / "found-decisions.csv").read_text().splitlines()) == 1
