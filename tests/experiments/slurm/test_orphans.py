"""Scripts of a sequence leave no process behind, however short the program and however it ends."""

from __future__ import annotations

import os
import random
import signal
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from holdfast.experiments.slurm.job_chain import Link
from holdfast.experiments.slurm.reservation_sequence import Sequence
from holdfast.experiments.slurm.workdir import write_sequence
from holdfast.policies.planning.plan import ReservationPlan
from tests.support.processes import until

pytestmark = pytest.mark.system

#: Programs by how they end.
PROGRAMS = (
    ["true"],
    ["false"],
    ["bash", "-c", "exit 85"],
    ["bash", "-c", "kill -TERM $$"],
    ["bash", "-c", "kill -KILL $$"],
    ["bash", "-c", "read -t 0.02 <> <(:)"],
)


def session(leader: int) -> list[int]:
    """Processes of a session that still run."""
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            state, _, _, own = path.read_text().rpartition(")")[2].split()[:4]
            if int(own) == leader and state != "Z":
                found.append(int(path.parent.name))
    return found


def script(place: Path, program: list[str], save_after: int = 600) -> Path:
    """The script of the first of two reservations, the job of which is 7."""
    link = Link(number=1, minutes=20, checkpointed=True, save_after=save_after, restart=0, checkpoint=10)
    sequence = Sequence(
        name="a",
        program=program,
        folder=str(place),
        nodes=1,
        options=[],
        history="",
        retries=1000,
        links=[link],
        plan=ReservationPlan([600.0, 1200.0], [True, False]).to_dict(),
        expected_cost=None,
    )
    write_sequence(sequence, place)
    (place / "jobs").write_text("1 7\n")
    return place / "reservation-1.sh"


@pytest.fixture
def processes() -> Iterator[list[subprocess.Popen[bytes]]]:
    started: list[subprocess.Popen[bytes]] = []
    yield started
    for process in started:
        for left in session(process.pid):
            os.kill(left, signal.SIGKILL)
        process.wait()


def begin_script(path: Path, processes: list[subprocess.Popen[bytes]]) -> subprocess.Popen[bytes]:
    process = subprocess.Popen(
        ["bash", str(path)],
        env={**os.environ, "SLURM_JOB_ID": "7"},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    processes.append(process)
    return process


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="processes are looked up in /proc")
@pytest.mark.parametrize("times", [60, pytest.param(1000, marks=pytest.mark.slow)])
def test_short_programs_leave_no_timer(times: int, tmp_path: Path, processes: list[subprocess.Popen[bytes]]) -> None:
    rng = random.Random(times)
    for number, program in enumerate(PROGRAMS):
        # A program that dies lets its script wait for Slurm: two seconds each.
        (tmp_path / str(number)).mkdir()
        path = script(tmp_path / str(number), program)
        dies = program[-1].startswith("kill")
        for _ in range(2 if dies else times // 4):
            process = begin_script(path, processes)
            if rng.random() < 0.3:  # Slurm ends it at any moment
                with suppress(subprocess.TimeoutExpired):
                    process.wait(rng.uniform(0.0, 0.04))
                with suppress(ProcessLookupError):
                    os.kill(process.pid, signal.SIGTERM)
            process.wait(60)
            for name in ("done", "broken"):
                (path.parent / name).unlink(missing_ok=True)
    # What was killed may still be leaving.
    until(lambda: not any(session(process.pid) for process in processes if process.returncode != -signal.SIGTERM), 20)
    assert len(processes) >= times


@pytest.mark.parametrize("line", ['"${program[@]}" &', "    nap &", "    timer=$!", '    disown "$timer"'])
def test_a_signal_while_the_timer_starts_leaves_none(
    line: str, tmp_path: Path, processes: list[subprocess.Popen[bytes]]
) -> None:
    path = script(tmp_path, ["true"])
    text = path.read_text()
    assert text.count(f"\n{line}\n") == 1
    path.write_text(text.replace(f"\n{line}\n", f"\n{line}\nkill -TERM $$\n"))
    process = begin_script(path, processes)
    assert process.wait(60) == 143
    until(lambda: not session(process.pid), 20)


def test_the_timer_asks_the_program_to_save(tmp_path: Path, processes: list[subprocess.Popen[bytes]]) -> None:
    (tmp_path / "a").mkdir()
    program = ["bash", "-c", "trap 'exit 85' USR1; while :; do read -t 0.05 <> <(:); done"]
    process = begin_script(script(tmp_path / "a", program, save_after=1), processes)
    assert process.wait(60) == 85
    assert (tmp_path / "a" / "saved").read_text() in ("1\n", "2\n")
    until(lambda: not session(process.pid), 20)
