"""Replaying a workload: the jobs that are submitted, the questions before, and what is read from Slurm's outputs."""

from __future__ import annotations

import io
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from holdfast.experiments import cli
from holdfast.experiments.slurm import lab as labs
from holdfast.experiments.slurm import live_replay
from holdfast.experiments.slurm.accounting import parse_entries
from holdfast.experiments.slurm.backfill_passes import PASSES, read_passes, write_passes
from holdfast.experiments.slurm.controller_log import log_times, parse_jobs
from holdfast.experiments.slurm.daemons import launch
from holdfast.experiments.slurm.lab import start_lab
from holdfast.experiments.slurm.live_replay import LabSlurm, replay_on
from holdfast.experiments.slurm.recorded_replay import read_replay, write_actual
from holdfast.experiments.slurm.submitted_jobs import Submit, generate_workload, make_submits
from holdfast.experiments.slurm.templates import fill_template
from holdfast.workloads.ground.errors import InputError
from tests.support.sleep_clock import SleepClock

#: Lines of a log of slurmctld 22.05, in its order and form.
LOG = """\
[2026-11-21T23:11:05.103] _slurm_rpc_submit_batch_job: JobId=1 InitPrio=4294901759 usec=263
[2026-11-21T23:11:05.900] sched: Allocate JobId=1 NodeList=n[1-8] #CPUs=8 Partition=batch
[2026-11-21T23:12:00.000] _slurm_rpc_submit_batch_job: JobId=2 InitPrio=4294901758 usec=200
[2026-11-21T23:12:01.250] sched/backfill: _start_job: Started JobId=2 in batch on n9
[2026-11-21T23:13:32.000] _job_complete: JobId=1 WEXITSTATUS 0
[2026-11-21T23:13:32.004] _job_complete: JobId=1 done
[2026-11-21T23:16:26.000] cleanup_completing: JobId=1 completion process took 174 seconds
[2026-11-21T23:27:10.500] Time limit exhausted for JobId=2
no line of the log
"""


def test_what_slurmctld_logs() -> None:
    times = log_times(LOG)
    first, second = times[1], times[2]
    assert (first["by"], second["by"]) == ("main", "backfill")
    assert first["start"] - first["submit"] == pytest.approx(0.797)
    assert first["end"] - first["start"] == pytest.approx(146.104)
    assert second["end"] - second["submit"] == pytest.approx(910.5)
    assert (first["completing"], second.get("completing")) == (174, None)
    assert parse_jobs("JobId=7 JobName=j7 NodeList=n[1-2]\nNo jobs in the system\n")[7]["NodeList"] == "n[1-2]"


def test_a_job_may_start_before_its_submission_is_logged(tmp_path: Path) -> None:
    """What holdfast slurm replay stores of such a job can be read again, with its CPUs and memory."""
    (tmp_path / "log").mkdir()
    (tmp_path / "log" / "slurmctld.log").write_text(
        "[2026-11-21T23:00:00.003] sched/backfill: _start_job: Started JobId=1 in batch on n[1-2]\n"
        "[2026-11-21T23:00:00.010] _slurm_rpc_submit_batch_job: JobId=1 InitPrio=1 usec=229200\n"
        "[2026-11-21T23:00:59.500] sched/backfill: _attempt_backfill: beginning\n"
        "[2026-11-21T23:01:00.000] _job_complete: JobId=1 done\n"
        "[2026-11-21T23:01:02.500] sched/backfill: _attempt_backfill: beginning\n"
    )

    class Shown:
        place, speed = tmp_path, 60.0
        asked = False

        def call(self, words: Sequence[str]) -> str:
            if words[0] == "date":
                return "1795302000.5"
            if not self.asked:
                self.asked = True
                raise InputError("scontrol failed: busy")
            return "JobId=1 JobState=COMPLETED NodeList=n[1-2] TRES=cpu=4,mem=2G,node=2,billing=4\n"

    rows = LabSlurm(Shown()).outcomes({1: Submit(1, 0.0, 2, 60.0, 2)})  # type: ignore[arg-type]
    for row in rows:
        row |= {name: row[name] - 1795302000 for name in ("submit", "start", "end")}
    write_actual(tmp_path, rows)
    (job,) = read_replay(tmp_path, 2).jobs
    assert (job.wait, job.cpus, job.memory, job.place, job.by) == (0, 4, 2048, 0b11, "backfill")
    # The next pass shows that its nodes had completed.
    assert job.completing == 2.5
    assert LabSlurm(Shown()).rare_passes(0, 1e10) == []  # type: ignore[arg-type]
    # Passes that are rare show nothing of it, and are kept.
    path = tmp_path / "log" / "slurmctld.log"
    path.write_text(path.read_text().replace("T23:01:02", "T23:01:29"))
    slurm = LabSlurm(Shown())  # type: ignore[arg-type]
    (row,) = slurm.outcomes({1: Submit(1, 0.0, 2, 60.0, 2)})
    assert row["completing"] == 0
    assert slurm.rare_passes(row["start"], 1e10) == [row["start"] + 59.497, row["start"] + 89.497]
    assert slurm.rare_passes(row["start"], row["end"]) == [row["start"] + 59.497]


#: Lines of a log and of scontrol 22.05: job 1 was cancelled while it ran, jobs 2 and 3 while they waited, and job 4 has
#: never been eligible.
CANCELS = """\
[2026-11-29T08:38:07.896] sched: Allocate JobId=1 NodeList=n[1-3] #CPUs=12 Partition=work
[2026-11-29T08:38:08.896] _slurm_rpc_submit_batch_job: JobId=2 InitPrio=4294901758 usec=1415
[2026-11-29T08:38:09.156] _slurm_rpc_submit_batch_job: JobId=3 InitPrio=4294901756 usec=1105
[2026-11-29T08:38:09.795] _slurm_rpc_kill_job: REQUEST_KILL_JOB JobId=2 uid 0
[2026-11-29T08:39:12.995] _slurm_rpc_kill_job: REQUEST_KILL_JOB JobId=1 uid 0
"""
_TIMES = "SubmitTime=2026-11-29T08:38:0{} EligibleTime={} StartTime=2026-11-29T08:{} EndTime=2026-11-29T08:{}"
SHOWN = "\n".join(
    f"JobId={number} JobState=CANCELLED {_TIMES.format(*times)} ReqNodeList=(null) NodeList={nodes} TRES=cpu=4"
    for number, nodes, *times in (
        (1, "n[1-3]", 7, "2026-11-29T08:38:07", "38:07", "39:12"),
        (2, "", 8, "2026-11-29T08:38:08", "38:09", "38:09"),
        (3, "(null)", 9, "2026-11-29T08:39:00", "39:30", "39:30"),
        (4, "", 9, "Unknown", "39:31", "39:31"),
    )
)


def test_cancelled_jobs_of_a_lab(tmp_path: Path) -> None:
    (tmp_path / "log").mkdir()
    (tmp_path / "log" / "slurmctld.log").write_text(CANCELS)

    class Shown:
        place, speed = tmp_path, 60.0

        def call(self, words: Sequence[str]) -> str:
            return "1795941000.5" if words[0] == "date" else SHOWN

    submits = {number: Submit(number, 0.0, 1, 60.0, 2) for number in (1, 2, 3, 4)}
    rows = {row["id"]: row for row in LabSlurm(Shown()).outcomes(submits)}  # type: ignore[arg-type]
    begin = 1795941487.0
    known = ("submit", "eligible", "start", "end")
    assert {number: {name: round(row[name] - begin, 3) for name in known if name in row} for number, row in rows.items()
            } == {
        1: {"submit": 0, "start": 0.896, "end": 65.995},
        2: {"submit": 1.896, "end": 2.795},
        3: {"submit": 2.156, "eligible": 53, "end": 83},
    }  # fmt: skip
    shifted = [{**row, **{name: row[name] - begin for name in known if name in row}} for row in rows.values()]
    write_actual(tmp_path, shifted)
    replay = read_replay(tmp_path, 4)
    assert [(job.job_id, job.wait) for job in replay.jobs] == [(1, pytest.approx(0.896))]
    assert [(job.job_id, job.queued, job.end) for job in replay.cancelled] == [
        (2, pytest.approx(1.896), pytest.approx(2.795)),
        (3, 53, 83),
    ]


def test_cancelled_jobs_of_a_site(monkeypatch: pytest.MonkeyPatch) -> None:
    head = "JobIDRaw|State|ExitCode|Submit|Eligible|Start|End|ElapsedRaw|TimelimitRaw"
    lines = (
        "1|COMPLETED|0:0|100|100|130|190|60|2",
        "2|CANCELLED by 0|0:0|110|150|None|180|0|2",
        "3|CANCELLED by 0|0:0|110|110|170|170|0|2",
        "4|CANCELLED by 0|0:0|110|Unknown|Unknown|180|0|2",
    )
    entries = parse_entries("\n".join([head, *lines, ""]), "sacct")
    monkeypatch.setattr(live_replay, "query_accounting", lambda _: entries)
    rows = live_replay.SiteSlurm().outcomes({number: Submit(number, 0.0, 1, 60.0, 2) for number in (1, 2, 3, 4)})
    assert [tuple(row.get(name) for name in ("id", "submit", "eligible", "start", "end")) for row in rows] == [
        (1, 100, None, 130, 190),
        (2, 110, 150, None, 180),
        (3, 110, None, None, 170),
    ]


def test_the_table_of_passes(tmp_path: Path) -> None:
    assert read_passes(tmp_path) == ()
    write_passes(tmp_path, [31.0, 0.25, 61.12345])
    assert read_passes(tmp_path) == (0.25, 31, 61.123)
    (tmp_path / PASSES).write_text("pass\n1\nlate\n")
    with pytest.raises(InputError, match=r"passes.csv:3: pass must be a number of at most"):
        read_passes(tmp_path)


class FakeSlurm(SleepClock):
    """A Slurm that runs each job at once, on a clock that only sleeping moves."""

    speed = 10.0

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        super().__init__(monkeypatch)
        self.submitted: list[tuple[float, list[str]]] = []
        self.cancelled: list[str] = []
        self.fail = 0
        self.keeps = False

    def call(self, words: Sequence[str]) -> str:
        if words[0] == "scancel":
            if self.keeps:
                raise InputError("scancel failed: busy")
            self.cancelled += words[1:]
        if words[0] == "sbatch":
            if self.fail:
                self.fail -= 1
                raise InputError("sbatch failed: busy")
            self.submitted.append((self.clock, list(words)))
            return f"{100 + len(self.submitted)};cluster\n"
        return "" if self.clock > 1e9 + 400 else "101\n7\n"

    def outcomes(self, jobs: Mapping[int, Submit]) -> list[dict[str, Any]]:
        begin = 1e9 + 30
        return [
            {
                "id": one.number,
                "submit": begin + one.at,
                "start": begin + one.at + 1,
                "end": begin + one.at + 9,
                "by": job,
            }
            for job, one in jobs.items()
        ]


SUBMITS = [Submit(1, 0.0, 4, 60.0, 2), Submit(2, 100.0, 1, 5.5, 1)]


def test_jobs_are_submitted_at_their_times(monkeypatch: pytest.MonkeyPatch) -> None:
    slurm, messages = FakeSlurm(monkeypatch), []
    slurm.fail = 2
    rows = replay_on(slurm, SUBMITS, ["--partition=test"], messages.append)
    # Two failures cost 0.2 and 0.4 s, on a clock ten times as fast.
    assert [at - 1e9 for at, _ in slurm.submitted] == pytest.approx([36.0, 130.0])
    assert "at most 0.0 s late" in messages[0]
    words = slurm.submitted[1][1]
    assert words[2:8] == ["-N", "1", "-t", "1", "-J", "j2"]
    assert words[-3:] == ["--partition=test", "--wrap", "exec sleep 5.5"]
    assert [(row["submit"], row["start"], row["by"]) for row in rows] == [(0.0, 1.0, 101), (100.0, 101.0, 102)]


def test_jobs_that_slurm_refuses_or_never_starts_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    class Refusing(FakeSlurm):
        def call(self, words: Sequence[str]) -> str:
            if words[0] == "sbatch" and "j2" in words:
                raise InputError("sbatch failed: Requested time limit is invalid (missing or exceeds some limit)")
            if words[0] == "squeue":
                return (
                    "101 None\n102 DependencyNeverSatisfied\n" if self.clock < 1e9 + 400 else "102 PartitionTimeLimit\n"
                )
            return super().call(words)

    slurm, messages = Refusing(monkeypatch), []
    rows = replay_on(slurm, [*SUBMITS, Submit(3, 120.0, 1, 5.5, 1)], [], messages.append)
    assert [row["id"] for row in rows] == [1]
    assert slurm.cancelled == ["102"]
    assert messages == [
        "submitted 2 jobs, at most 0.0 s late, 1 refused",
        "cancelled 1 job that could never start: PartitionTimeLimit",
    ]


def test_what_is_submitted_is_cancelled_after_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    slurm = FakeSlurm(monkeypatch)
    with pytest.raises(ZeroDivisionError):
        replay_on(slurm, SUBMITS, [], lambda _: 1 // 0)  # type: ignore[arg-type, return-value]
    assert slurm.cancelled == ["101", "102"]
    # The failure is reported, too, if Slurm refuses to cancel.
    slurm = FakeSlurm(monkeypatch)
    slurm.keeps = True
    with pytest.raises(ZeroDivisionError):
        replay_on(slurm, SUBMITS, [], lambda _: 1 // 0)  # type: ignore[arg-type, return-value]


def test_workloads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    trace = generate_workload(200, 32, 0.8, 3)
    assert trace == generate_workload(200, 32, 0.8, 3)
    work = sum(job.nodes * job.runtime for job in trace.jobs)
    assert work / 32 / trace.jobs[-1].submit == pytest.approx(0.8, rel=0.2)
    assert all(job.runtime <= job.walltime for job in trace.jobs)
    submits = make_submits(trace.jobs, 32)
    assert [one.at for one in submits] == sorted(one.at for one in submits)
    assert submits[0].at == 0
    assert all(60 * one.minutes == trace.jobs[one.number - 1].walltime for one in submits)
    with pytest.raises(InputError, match="32 nodes, and the machine 16"):
        make_submits(trace.jobs, 16)
    assert cli.main(["slurm", "workload", "-o", "w.swf", "--jobs", "5"]) == 0
    assert "5 jobs" in capsys.readouterr().out
    # Without a lab the question comes first, and no is what is meant without an answer.
    monkeypatch.setattr("sys.stdin", io.StringIO("\n"))
    assert cli.main(["slurm", "replay", "w.swf", "-o", "out"]) == 2
    assert "nothing was submitted" in capsys.readouterr().err
    assert cli.main(["slurm", "replay", "w.swf", "-o", "out", "--lab", "none"]) == 2
    assert "holds no lab" in capsys.readouterr().err
    assert not Path("out").exists()


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["start", "-o", "a b"], "letters, digits"),
        (["start", "--speed", "1000"], "--speed must be a number from 1 to 200"),
        (["start", "--nodes", "0"], "--nodes must be a whole number of at least 1"),
        (["start", "--scheduler", "best"], "known are backfill, builtin"),
        (["start", "--parameters", "a b"], "without blanks"),
        (["start", "-o", "."], "holds other files"),
        (["stop"], "holds no lab"),
        (["pause"], "known are start, stop, status"),
        (
            ["start"],
            "munged is not installed; on Debian use 'apt-get install --no-install-recommends slurm-wlm",
        ),
    ],
)
def test_a_lab_is_refused_in_one_sentence(
    words: list[str], sentence: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", "")
    monkeypatch.setattr(labs, "_PATH", "")
    monkeypatch.setattr(labs, "_LONGEST", 200)
    Path("file").touch()
    assert cli.main(["slurm", "lab", *words]) == 2
    error = capsys.readouterr().err
    assert sentence in error
    assert error.count("\n") == 1
    assert [path.name for path in Path().iterdir()] == ["file"]


def test_a_daemon_that_fails_to_start_is_started_again(tmp_path: Path) -> None:
    words, log = ["sh", "-c", "test -e tried || { touch tried; echo busy; exit 3; }"], tmp_path / "log"
    launch(words, os.environ, tmp_path, log, attempts=2)
    (tmp_path / "tried").unlink()
    with pytest.raises(InputError, match="sh failed: busy; see"):
        launch(words, os.environ, tmp_path, log)


def test_ports_that_are_taken_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(labs, "_need", lambda *_: None)
    monkeypatch.setattr(labs, "_LONGEST", 200)
    with labs.socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(InputError, match=f"port {port} is taken"):
            start_lab(
                tmp_path / "lab", nodes=1, speed=1, port=port, accounting=False, scheduler="backfill", parameters=""
            )


def test_templates_are_filled_in_one_pass() -> None:
    values = dict.fromkeys(
        (
            *("HOST", "USER", "DIRECTORY", "CONTROLLER_PORT", "SCHEDULER", "PARAMETERS", "ACCOUNTING"),
            *("NODES", "NODE_PORTS"),
        ),
        "@HOST@",
    )
    assert fill_template("slurm.conf", values).count("SlurmctldHost=@HOST@(127.0.0.1)") == 1
