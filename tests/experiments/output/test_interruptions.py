"""What ends a command leaves one whole result, and one sentence."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from holdfast.experiments import cli
from holdfast.experiments.output.atomic_replace import handover, settle_all
from holdfast.experiments.output.locks import LOCK, write_lock
from holdfast.experiments.output.manifest import incoming_directory, open_result, seal
from holdfast.experiments.output.signals import Interrupted, hold_interruptions, signal_listener
from holdfast.workloads.ground.errors import InputError
from tests.kills import COMMANDS, kills
from tests.places import ROOT
from tests.support.processes import until

#: Where the tests run in the background of a shell, SIGINT is ignored, and what they start inherits that.
START = """import signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)
from holdfast.experiments.cli import main
if __name__ == "__main__":
    sys.exit(main())"""


def write(directory: Path, names: str, text: str) -> None:
    with handover(directory, "run.json") as new:
        for name in names:
            (new / f"{name}.csv").write_text(text)
        seal(new, "run.json", {"text": text}, ["a.png"])


def read(directory: Path) -> tuple[str, dict[str, str]]:
    result = open_result(directory, "run.json")
    paths = {name: result.find(name) for name in result.files or ()}
    return result.content["text"], {name: path.read_text() for name, path in paths.items() if path is not None}


OLD, NEW = ("old", {f"{name}.csv": "old" for name in "abc"}), ("new", {f"{name}.csv": "new" for name in "bcd"})


class Killed(BaseException):
    """Stands for the end of the process: nothing is cleaned up after it."""


@pytest.mark.parametrize("step", range(12))
def test_an_end_between_any_two_steps_leaves_the_old_or_the_new(
    step: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path, "abc", "old")
    for name in ("a.png", "mine.txt"):
        (tmp_path / name).write_text("drawn")
    steps = iter(range(100))

    def count_calls(name: str) -> None:
        original = getattr(os, name)

        def call(*arguments: object, **others: object) -> object:
            # Files are renamed as they are written, too: only what happens in the directory itself counts.
            if Path(str(arguments[0])).name != "run.json" and next(steps) >= step:
                raise Killed
            return original(*arguments, **others)

        monkeypatch.setattr(os, name, call)

    with monkeypatch.context() as patch:
        patch.setattr("shutil.rmtree", lambda *arguments, **others: None)
        for name in ("rename", "replace", "unlink", "rmdir"):
            count_calls(name)
        try:
            write(tmp_path, "bcd", "new")
        except Killed:
            ended = True
        else:
            ended = False
        monkeypatch.undo()
    assert read(tmp_path) in (OLD, NEW)
    before = read(tmp_path)
    with write_lock(tmp_path):
        assert read(tmp_path) == before
    kept = {path.name for path in tmp_path.iterdir()}
    own = {"run.json", "mine.txt", *before[1]}
    assert kept == (own | {"a.png"} if before == OLD else own)
    assert ended == (step < 10) or before == NEW


def test_a_second_writer_is_refused_and_a_lock_of_the_dead_is_none(tmp_path: Path) -> None:
    code = "import signal; from pathlib import Path; from holdfast.experiments.output.locks import write_lock\n"
    code += f"with write_lock(Path({str(tmp_path)!r})): print('in', flush=True); signal.pause()"
    other = subprocess.Popen([sys.executable, "-c", code], cwd=ROOT, stdout=subprocess.PIPE)
    assert other.stdout is not None
    other.stdout.readline()
    with pytest.raises(InputError, match="another command is at work in"), write_lock(tmp_path):
        pass
    (tmp_path / f".summary.csv.{'0' * 8}.part").write_text("half")
    other.kill()
    other.wait()
    other.stdout.close()
    with write_lock(tmp_path):
        assert [path.name for path in tmp_path.iterdir()] == [LOCK]
    assert not list(tmp_path.iterdir())


def test_an_interruption_waits_for_the_end_of_a_handover() -> None:
    order = []
    with pytest.raises(Interrupted) as stop, signal_listener():
        with hold_interruptions():
            os.kill(os.getpid(), signal.SIGTERM)
            order.append("whole")
        order.append("never")
    assert order == ["whole"]
    assert stop.value.name == "SIGTERM"
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL


def test_a_result_that_waits_is_put_into_place_by_the_next_writer(tmp_path: Path) -> None:
    (tmp_path / "x").mkdir()
    write(tmp_path / "x", "bcd", "new")
    write(tmp_path, "abc", "old")
    (tmp_path / "x").rename(incoming_directory(tmp_path, "run.json"))
    assert read(tmp_path) == NEW
    settle_all(tmp_path)
    assert read(tmp_path) == NEW
    assert {path.name for path in tmp_path.iterdir()} == {"run.json", "b.csv", "c.csv", "d.csv"}


@pytest.mark.system
@pytest.mark.parametrize("end", [*("SIGINT", "SIGTERM"), pytest.param("SIGHUP", marks=pytest.mark.slow)])
def test_a_signal_is_one_sentence(end: str, tmp_path: Path) -> None:
    """All commands end in one place; here the one with workers of its own."""
    (tmp_path / "grid.toml").write_text("mechanisms = 'all'\n[workload]\nseeds = '0:200'\njobs = 200\n")
    words = [
        sys.executable,
        "-c",
        START,
        "sweep",
        str(tmp_path / "grid.toml"),
        "-o",
        str(tmp_path / "out"),
        "--workers",
    ]
    process = subprocess.Popen(
        [*words, "2"], cwd=ROOT, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=True
    )
    until(lambda: list(tmp_path.glob("out/store/*.jsonl")))
    # As a terminal does: to all processes of the group.
    os.killpg(process.pid, getattr(signal, end))
    out, err = process.communicate(timeout=600)
    lines = [line for line in err.replace("\r", "\n").splitlines() if line.strip() and " runs [" not in line]
    assert process.returncode == 128 + getattr(signal, end)
    assert len(lines) == 1, err
    assert lines[0].startswith(f"holdfast sweep: ended by {end}: ")
    assert "holds the runs that are done" in lines[0]
    assert not out
    result = open_result(tmp_path / "out", "sweep.json")
    stored = [line for path in (tmp_path / "out" / "store").glob("*.jsonl") for line in path.read_text().splitlines()]
    assert 0 < result.content["done"] <= len(stored)


def test_what_an_interrupted_run_has_simulated_is_kept_unless_there_is_an_older_result(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from holdfast.experiments.recordings import replay

    simulate, calls = replay.simulate, iter(range(10))

    def interrupt_each_third(*arguments: object, **options: object) -> object:
        if next(calls) % 3 == 2:
            raise Interrupted(signal.SIGHUP)
        return simulate(*arguments, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(replay, "simulate", interrupt_each_third)
    (tmp_path / "table.csv").write_text("job_id,type,submit,nodes,runtime,walltime\n1,rigid,0,1,60,60\n")
    words = ["run", str(tmp_path / "table.csv"), "-o", str(tmp_path / "out"), "--nodes", "2", "--mechanism", "all"]
    for sentence, *force in (("the results of baseline, N-PAA are in",), ("holds what it held before", "--force")):
        assert cli.main([*words, *force]) == 128 + signal.SIGHUP
        assert sentence in capsys.readouterr().err.splitlines()[-1]
        assert open_result(tmp_path / "out", "run.json").content["mechanisms"] == ["baseline", "N-PAA"]


@pytest.mark.slow
@pytest.mark.parametrize("command", COMMANDS)
def test_kills_leave_the_old_result_or_the_new(command: str, tmp_path: Path) -> None:
    """``python -m tests.kills all 50`` is the same, longer."""
    found = kills(command, 6, 0, tmp_path)
    assert found.total() >= 6
    assert not [kind for kind in found if "MIX" in kind], found


def test_the_clean_up_does_not_warn_of_what_killed_processes_left() -> None:
    program = (
        "from multiprocessing import resource_tracker\n"
        "from holdfast.experiments.output.signals import start_trackers\n"
        "start_trackers({})\n"
        "resource_tracker.register('/nothing', 'semaphore')\n"
    )
    errors = {
        start: subprocess.run([sys.executable, "-c", program.format(start)], capture_output=True, check=True).stderr
        for start in ("", "resource_tracker.ensure_running")
    }
    assert b"leaked" in errors[""]
    assert errors["resource_tracker.ensure_running"] == b""
