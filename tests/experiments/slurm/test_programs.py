"""The programs that play jobs on a lab: they save when they are told to, and go on from there."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest

from holdfast.experiments.slurm.batch_run import ChainedJob, _chain, _row, _seconds
from holdfast.experiments.slurm.client import call
from holdfast.experiments.slurm.templates import fill_template
from holdfast.experiments.slurm.workdir import write_sequence
from holdfast.policies.planning.costs import CostModel
from holdfast.policies.planning.plan import ReservationPlan
from holdfast.workloads.ground.errors import InputError
from tests.support.processes import until

pytestmark = pytest.mark.system
SECOND = 1_000_000


def start_script(words: list[str], **variables: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(["bash", *words], env={**os.environ, **variables})


def write_script(tmp_path: Path, **values: int | str) -> Path:
    """A script that plays a job."""
    usual = {"NUMBER": 1, "STATE": tmp_path / "state", "SIZE": tmp_path / "size", "KIND": "rigid", "SETUP": 0}
    usual |= {"WORK": SECOND, "INTERVAL": 0, "COST": 0, "DUMPS": 0, "SAVES": 1}
    script = tmp_path / "played.sh"
    script.write_text(fill_template("played.sh", {name: str(value) for name, value in (usual | values).items()}))
    return script


def test_a_program_with_the_protocol_of_submit(tmp_path: Path) -> None:
    script = tmp_path / "working.sh"
    script.write_text(fill_template("working.sh", {}))
    state = tmp_path / "state"
    assert start_script([str(script), "1000", "0", "0"], HOLDFAST_STATE=str(state)).wait(20) == 0
    assert not state.exists()
    program = start_script([str(script), str(60 * SECOND), "1000", "1000"], HOLDFAST_STATE=str(state))
    time.sleep(0.5)
    program.send_signal(signal.SIGUSR1)
    assert program.wait(20) == 85
    left = int(state.read_text())
    assert 40 * SECOND < left < 60 * SECOND
    # It has only to do what is left.
    state.write_text("1000\n")
    assert start_script([str(script), str(60 * SECOND), "1000", "1000"], HOLDFAST_STATE=str(state)).wait(20) == 0


def test_a_rigid_job_saves_at_checkpoints_and_at_a_signal(tmp_path: Path) -> None:
    state = tmp_path / "state"
    script = write_script(tmp_path, WORK=60 * SECOND, INTERVAL=100_000, COST=1000, DUMPS=500)
    program = start_script([str(script)], SLURM_JOB_NUM_NODES="2")
    until(lambda: state.exists() and int(state.read_text().split()[1]) < 499, 20)
    program.send_signal(signal.SIGUSR1)
    time.sleep(0.5)
    left, dumps = map(int, state.read_text().split())
    assert 30 * SECOND < left < 60 * SECOND
    assert dumps < 499
    # It waits for the end without progress.
    time.sleep(0.3)
    assert state.read_text() == f"{left} {dumps}\n"
    program.send_signal(signal.SIGTERM)
    program.wait(20)
    state.write_text("1000 0\n")
    assert start_script([str(script)], SLURM_JOB_NUM_NODES="2").wait(20) == 0


def test_a_malleable_job_works_as_fast_as_it_has_nodes(tmp_path: Path) -> None:
    script = write_script(tmp_path, KIND="malleable", WORK=1000 * SECOND)
    program = start_script([str(script)], SLURM_JOB_NUM_NODES="4")
    size = tmp_path / "size"
    until(lambda: size.exists() and size.read_text() == "4\n", 20)
    time.sleep(0.3)
    # With so many nodes nothing is left to do.
    size.write_text("100000\n")
    program.send_signal(signal.SIGUSR2)
    assert program.wait(20) == 0


@pytest.mark.skipif(shutil.which("shellcheck") is None, reason="shellcheck is not here")
def test_the_scripts_pass_shellcheck(tmp_path: Path) -> None:
    working = tmp_path / "working.sh"
    working.write_text(fill_template("working.sh", {}))
    subprocess.run(["shellcheck", str(working), str(write_script(tmp_path))], check=True)


def test_what_a_chain_had_is_added_up(tmp_path: Path) -> None:
    plan = ReservationPlan([600.0, 1200.0], [True, False], CostModel(checkpoint=60.0, restart=30.0))
    job = ChainedJob(900.0, plan)
    chain = _chain(job, tmp_path / "job-1", tmp_path / "working.sh", 1)
    assert chain.program[2:] == ["900000000", "60000000", "30000000"]
    assert [link.minutes for link in chain.links][:2] == [12, 11]
    write_sequence(chain, tmp_path / "job-1")
    (tmp_path / "job-1" / "jobs").write_text("1 11\n2 12\n3 13\n")
    (tmp_path / "job-1" / "done").write_text("900\n")

    def job_record(state: str, start: str, end: str) -> dict[str, str]:
        day = "1970-01-02T"
        return {"JobState": state, "StartTime": day + start, "EndTime": day + end, "TimeLimit": "00:12:00"}

    jobs = {11: job_record("FAILED", "00:00:10", "00:11:10"), 12: job_record("COMPLETED", "00:20:00", "00:24:00")}
    jobs[13] = job_record("CANCELLED", "00:30:00", "00:30:00")
    row = _row(job, tmp_path / "job-1", jobs, 86_400.0)
    assert row == {
        **{"execution": 900.0, "response": 1440.0, "reserved": 1440.0, "count": 2, "end": 1440.0, "done": True}
    }
    assert _seconds("1-02:03:04") == 93_784
    assert re.fullmatch(r"[0-9.]+", str(_seconds("00:12:00")))


@pytest.mark.parametrize(
    ("script", "reason"),
    [
        ("echo not configured >&2; exit 1", "not configured"),
        ("exit 3", "exit status 3"),
        ("kill -TERM $$", "ended by signal 15 (Terminated)"),
    ],
)
def test_a_command_that_fails_is_named_with_its_reason(script: str, reason: str) -> None:
    with pytest.raises(InputError) as raised:
        call(["sh", "-c", script])
    assert str(raised.value) == f"sh failed: {reason}"


def test_a_closed_connection_does_not_end_a_command() -> None:
    assert call(["sh", "-c", "kill -PIPE $$; echo goes on"]) == "goes on\n"
