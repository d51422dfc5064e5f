"""``holdfast slurm replay --machine`` on a fake lab: what is submitted, written, compared and refused."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from holdfast.experiments import cli
from holdfast.experiments.slurm import lab as labs
from holdfast.experiments.slurm import live_replay
from holdfast.experiments.slurm.placed_replay import read_placed_replay
from holdfast.experiments.slurm.submitted_jobs import Submit
from holdfast.workloads.ground.errors import InputError
from holdfast.workloads.machines.request import ResourceRequest
from tests.support.sleep_clock import SleepClock

MACHINE = """
nodes = [{names = "n[1-2]", cores = 4, memory = "4000M"}]
partitions = [{name = "work", nodes = "ALL"}]
"""
LOG = """id,at,used,limit,tasks,each,memory,part
1,0,100,200,4,4,,work
2,10,50,90,2,1,500Mc,work
3,20,30,60,1,1,9000M,work
4,30,30,60,4,4,,work
"""
ROLES = (
    "id=id,submit=at,runtime=used,walltime=limit,processors=tasks,tasks=tasks,tasks_per_node=each,memory=memory,"
    "partition=part"
)


LIMITS = """
[[limits]]
qos = "few"
per_user = {running = 1}
"""
TABLES = {"qos.txt": "Name|GrpJobs|MaxJobsPU\nfew||1\n", "associations.txt": "Account|User|GrpJobs\n"}


class FakeLab:
    """A lab that runs no daemon."""

    nodes, speed, directory = 2, 60.0, "/lab"

    def __init__(self, *, accounting: bool = False) -> None:
        self.accounting = accounting
        self.commands: list[str] = []

    def call(self, words: Sequence[str]) -> str:
        """Names of its nodes, as sinfo prints one for each partition; what sacctmgr shows."""
        if words[0] == "sacctmgr":
            self.commands.append(" ".join(words[3:]))
            return TABLES.get("qos.txt" if "qos" in words else "associations.txt", "") if "show" in words else ""
        return "n1\nn2\nn2\n"

    def answers(self, words: Sequence[str]) -> bool:
        """Whether a command succeeds."""
        return bool(self.call(words)) or True


class FakeSlurm(SleepClock):
    """A Slurm that starts each job a second after its submission, and refuses one; only sleeping moves its clock."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        super().__init__(monkeypatch)
        self.submitted: list[list[str]] = []
        self.limits = False

    def call(self, words: Sequence[str]) -> str:
        if words[0] == "scontrol" and "config" in words:
            return "AccountingStorageEnforce = limits" if self.limits else ""
        if words[0] == "sacctmgr":
            return TABLES["qos.txt" if "qos" in words else "associations.txt"]
        if words[0] != "sbatch":
            return ""
        if "-J" in words and words[words.index("-J") + 1] == "j3":
            raise InputError(
                "sbatch failed: Batch job submission failed: Requested node configuration is not available"
            )
        self.submitted.append(list(words))
        return f"{100 + len(self.submitted)}\n"

    def outcomes(self, jobs: Mapping[int, Submit]) -> list[dict[str, Any]]:
        rows = []
        for number, one in jobs.items():
            start = 1e9 + 30 + one.at + 1
            held = {"n1": 4} if one.number == 1 else {"n2": 2}
            row = {"id": one.number, "submit": start - 1, "start": start, "end": start + one.runtime, "by": "main"}
            row |= {"walltime": 60.0 * one.minutes, "state": "COMPLETED", "slurm_id": number, "completing": 0.0}
            row |= {"qos": one.owner.get("qos", ""), "user": "root"}
            rows.append(row | {"node_list": ",".join(held), "node_cores": held})
        return rows


@pytest.fixture
def slurm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeSlurm:
    """A fake Slurm, and the machine and the log in the current directory."""
    found = FakeSlurm(monkeypatch)
    monkeypatch.setattr(labs, "open_lab", lambda _: FakeLab())
    monkeypatch.setattr(live_replay, "LabSlurm", lambda _: found)
    monkeypatch.chdir(tmp_path)
    Path("machine.toml").write_text(MACHINE)
    Path("log.csv").write_text(LOG)
    return found


def test_jobs_are_submitted_with_their_requests_and_compared(
    slurm: FakeSlurm, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["--lab", "lab", "--machine", "machine.toml", "--columns", ROLES]
    assert cli.main(["slurm", "replay", "log.csv", "-o", "out", *words]) == 0
    printed = capsys.readouterr()
    # The machine has not the memory for job 3, and Slurm refuses the third of the others.
    assert "1 job left out: more memory than a node of its partition has" in printed.err
    assert "2 jobs ask for no memory: Slurm gives them all of their nodes" in printed.err
    assert "submitted 2 jobs, at most 0.0 s late, 1 refused" in printed.err
    options = "--ntasks=2 --ntasks-per-node=1 --mem-per-cpu=500M --partition=work -t 2 -J j2"
    assert " ".join(slurm.submitted[1][2:]).startswith(options)
    replay = read_placed_replay("out")
    assert [(job.job_id, job.nodes, job.cores) for job in replay.jobs] == [(1, ("n1",), (4,)), (2, ("n2",), (2,))]
    assert replay.jobs[1].request == ResourceRequest(
        tasks=2, tasks_per_node=1, memory=500, memory_per_core=True, partitions=("work",)
    )
    assert "of 2 jobs and" in printed.out and "\n1 job did not run\n" in printed.out


def test_a_lab_gets_the_limits_of_the_machine_and_the_replay_has_them(
    slurm: FakeSlurm, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    lab = FakeLab(accounting=True)
    slurm.limits = True
    monkeypatch.setattr(labs, "open_lab", lambda _: lab)
    Path("machine.toml").write_text(MACHINE + LIMITS)
    lines = LOG.splitlines()
    Path("log.csv").write_text("\n".join([f"{lines[0]},qos", *(f"{line},few" for line in lines[1:]), ""]))
    words = ["--lab", "lab", "--machine", "machine.toml", "--columns", f"{ROLES},qos=qos", "--owner", "qos"]
    assert cli.main(["slurm", "replay", "log.csv", "-o", "out", *words]) == 0
    assert any(
        command.startswith("modify qos few set GrpJobs=-1") and "MaxJobsPU=1" in command for command in lab.commands
    )
    assert slurm.submitted[0].count("--qos=few") == 1
    printed = capsys.readouterr()
    assert "limits count: QOS few" in printed.out
    assert "limits of each user count for all jobs together, without user in --owner" in printed.err
    assert [(job.user, job.request.qos) for job in read_placed_replay("out").jobs] == [("root", "few")] * 2
    # A comparison counts what the replay has, whatever the machine says.
    Path("machine.toml").write_text(MACHINE)
    assert cli.main(["slurm", "compare", "out", "--machine", "machine.toml"]) == 0
    assert "limits count: QOS few" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("owner", "sentence"),
    [
        ([], "the machine limits jobs by qos: add --owner qos"),
        (["--owner", "qos"], "the machine has limits, which need a database: start the lab with --accounting"),
    ],
)
def test_limits_are_not_left_out(
    owner: list[str], sentence: str, slurm: FakeSlurm, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("machine.toml").write_text(MACHINE + LIMITS)
    words = ["--lab", "lab", "--machine", "machine.toml", "--columns", ROLES]
    assert cli.main(["slurm", "replay", "log.csv", "-o", "out", *words, *owner]) == 2
    assert sentence in capsys.readouterr().err
    assert not slurm.submitted


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (
            ["--machine", "machine.toml"],
            "--machine is for a lab, with nodes and milliseconds in its log: give it with --lab",
        ),
        (["--machine", "machine.toml", "--lab", "lab", "--nodes", "2"], "--nodes must be left out with --machine"),
        (["--machine", "small.toml", "--lab", "lab"], "small.toml: its nodes are not those of the lab"),
        (["--columns", "submit=at", "--lab", "lab"], "--columns are those of a log with requests"),
    ],
)
def test_the_command_names_what_is_wrong(
    words: list[str], sentence: str, slurm: FakeSlurm, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("small.toml").write_text(MACHINE.replace("n[1-2]", "n1"))
    columns = [] if "--columns" in words or "--machine" not in words else ["--columns", ROLES]
    assert cli.main(["slurm", "replay", "log.csv", "-o", "out", *words, *columns]) == 2
    assert sentence in capsys.readouterr().err
    assert not slurm.submitted and not Path("out").exists()
