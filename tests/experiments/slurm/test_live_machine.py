"""A whole Slurm with the nodes and partitions of a machine: cancelled jobs, and limits of a partition."""

from __future__ import annotations

import shutil
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from holdfast.experiments import cli
from holdfast.experiments.slurm.lab import Lab, open_lab
from holdfast.experiments.slurm.machine_agreement import machine_agreement
from holdfast.experiments.slurm.placed_replay import read_placed_replay
from holdfast.experiments.slurm.recorded_limits import with_recorded_limits
from holdfast.policies.slurm_backfill import SlurmBackfill
from holdfast.workloads.machines.machine_file import read_machine

pytestmark = pytest.mark.slurm
PORT = "24000"
PROGRAMS = ("slurmctld", "munged", "slurmdbd", "mariadbd", "faketime")
MACHINE = """
nodes = [{names = "n[1-3]", cores = 4, memory = "4000M", gpus = 1}]
partitions = [
    {name = "work", nodes = "ALL", max_time = "2h", default = true},
    {name = "Short", nodes = "n3", max_time = 630, priority = 5},
]
"""
LIMITS = """
[[limits]]
partition = "Short"
per_user = {running = 1}
together = {cores = 3}
"""
#: Job 2, of the whole machine, keeps job 3 from n3 until it is cancelled; job 7 is too long for its partition.
CANCELS = """id,at,used,limit,tasks,each,memory,part
1,0,900,1200,8,4,500Mc,work
2,20,300,3600,12,4,500Mc,work
3,40,600,7200,4,4,500Mc,work
4,60,300,3600,12,4,500Mc,work
5,70,300,7200,4,4,500Mc,work
6,80,120,200,12,4,500Mc,work
7,90,60,1000,1,1,500Mc,Short
"""
#: A user may have one job in Short, and job 6 is too long for it; its limit of 11 minutes is not a whole one.
LIMITED = """id,at,used,limit,tasks,each,memory,part
1,0,300,600,2,2,500Mc,Short
2,20,120,600,1,1,500Mc,Short
3,40,120,600,3,3,500Mc,Short
4,60,300,1800,4,4,500Mc,work
5,80,60,630,1,1,500Mc,Short
6,100,120,900,1,1,500Mc,"Short,work"
"""
ROLES = (
    "id=id,submit=at,runtime=used,walltime=limit,processors=tasks,tasks=tasks,tasks_per_node=each,memory=memory,"
    "partition=part"
)


@contextmanager
def running_lab(machine: str, *words: str) -> Iterator[Lab]:
    """A lab of a machine, on a clock 20 times as fast; the machine is in the current directory."""
    if any(shutil.which(program, path="/usr/bin:/usr/sbin:/bin:/sbin") is None for program in PROGRAMS):
        pytest.skip("Debian's packages are not here (slurm-wlm munge slurmdbd mariadb-server faketime)")
    Path("machine.toml").write_text(machine)
    folder = Path(tempfile.mkdtemp(prefix="lab"))
    start = ["--machine", "machine.toml", "--speed", "20", "--port", PORT, *words]
    assert cli.main(["slurm", "lab", "start", "-o", str(folder / "lab"), *start]) == 0
    try:
        yield open_lab(folder / "lab")
    finally:
        assert cli.main(["slurm", "lab", "stop", "-o", str(folder / "lab")]) == 0
        shutil.rmtree(folder)


def replay_log(lab: Lab, log: str) -> None:
    Path("log.csv").write_text(log)
    words = ["--lab", lab.directory, "--machine", "machine.toml", "--columns", ROLES]
    assert cli.main(["slurm", "replay", "log.csv", "-o", "out", *words]) == 0


def cancel_waiting_jobs(lab: Lab, *names: str) -> None:
    """When the last job of the log waits, cancel others, one after the other."""
    for _ in range(300):
        if lab.call(["squeue", "-h", "-t", "PD", "-n", "j6", "-o", "%j"]).strip():
            break
        time.sleep(0.2)
    for name in names:
        time.sleep(2)
        lab.call(["scancel", "--state=PENDING", f"--name={name}"])


def test_jobs_that_are_cancelled_while_they_wait_count_until_then(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    with running_lab(MACHINE) as lab:
        canceller = threading.Thread(target=cancel_waiting_jobs, args=(lab, "j2", "j4"))
        canceller.start()
        replay_log(lab, CANCELS)
        canceller.join()
    replay, printed = read_placed_replay("out"), capsys.readouterr()
    assert "1 job left out: a walltime above the max_time of its partition" in printed.err
    assert "2 more were cancelled while they waited" in printed.out
    assert [job.job_id for job in replay.cancelled] == [2, 4]
    machine = read_machine("machine.toml")
    row, _, _ = machine_agreement(replay, machine, "slurm", SlurmBackfill(), tolerance=60, lag=5)
    print(f"{row['same_start']} of 4 starts and {row['equal']} of {row['decisions']} decisions are equal")
    assert row["equal"] >= row["decisions"] - 1 and row["same_start"] >= 3
    # Job 3 had room from its submission on.
    (third,) = (job for job in replay.jobs if job.job_id == 3)
    assert third.start >= replay.cancelled[0].end > third.submit


def test_a_partition_has_its_limits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with running_lab(MACHINE + LIMITS, "--accounting") as lab:
        words = ["sbatch", "-n", "1", "-o", "/dev/null", "--wrap", "date", "--partition=Short"]
        assert not lab.answers([*words, "-t", "12"])
        replay_log(lab, LIMITED)
    replay, described = read_placed_replay("out"), read_machine("machine.toml")
    assert [job.job_id for job in replay.jobs] == [1, 2, 3, 4, 5, 6]
    machine, remarks = with_recorded_limits(described, "out")
    assert (machine.limits, remarks) == (described.limits, ())
    row, _, _ = machine_agreement(replay, machine, "slurm", SlurmBackfill(), tolerance=60, lag=5)
    print(f"{row['same_start']} of 6 starts and {row['equal']} of {row['decisions']} decisions are equal")
    assert row["equal"] >= row["decisions"] - 1 and row["same_start"] >= 5
