"""Chains in the accounting: a link is submitted with its chain, and waits only from when the link before has failed."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from holdfast.experiments import cli
from holdfast.experiments.planning.wait_pairs import pairs_of_results, pairs_of_trace
from holdfast.experiments.recordings.archive import read_recording
from holdfast.experiments.slurm.agreement import agreement, replay_summary
from holdfast.experiments.slurm.recorded_replay import Replay, read_replay, write_actual
from holdfast.simulator import simulate
from holdfast.workloads.hybrid.assignment import as_rigid
from holdfast.workloads.logs.readers import read_trace
from holdfast.workloads.logs.sacct import read_sacct
from holdfast.workloads.logs.trace import Trace
from tests.shared_data import shared_file

NAMES = "JobIDRaw|User|State|ExitCode|Submit|Eligible|Start|End|ElapsedRaw|TimelimitRaw|NNodes"
#: Reservations of each of four chains [min].
LENGTHS = (10, 20, 40, 60)


def chains() -> str:
    """Four chains of four reservations on four nodes, submitted at once: each link starts when the one before ends."""
    lines, number = [NAMES], 0
    for chain in range(4):
        at = 600 * chain + 1000
        submit = at
        for length in LENGTHS:
            number += 1
            end = at + 60 * length - 30
            lines.append(f"{number}|ann|FAILED|85:0|{submit}|{at}|{at}|{end}|{end - at}|{length}|1")
            at = end
    return "\n".join(lines) + "\n"


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "sacct.txt"
    path.write_text(chains())
    return path


def without(trace: Trace) -> Trace:
    """What was read before: the wait counts from the submit of the chain."""
    jobs = [replace(job, eligible=None, wait=(job.start or 0.0) - job.submit) for job in trace.jobs]
    return replace(trace, jobs=tuple(jobs))


def test_sixteen_reservations_that_never_waited(log: Path) -> None:
    trace = read_trace(log)
    pairs = pairs_of_trace(trace)
    assert (len(pairs.waits), pairs.waits.max()) == (16, 0)
    # From the submits of the chains it would be 25 minutes: (0 + 9.5 + 29 + 68.5) / 4.
    assert pairs_of_trace(without(trace)).waits.mean() / 60 == pytest.approx(26.75)


def test_a_replay_starts_them_when_they_were_eligible(log: Path) -> None:
    trace = replace(read_trace(log), nodes=4)
    recorded = [job.start for job in trace.jobs]
    for rule in ("none", "easy", "conservative"):
        result = simulate(as_rigid(trace), 4, backfilling=rule)
        assert [(record.start or 0) / 1e6 for record in result.records] == recorded
        assert result.summary()["wait_h"] == 0
    early = simulate(as_rigid(without(trace)), 4)
    assert sum((record.start or 0) / 1e6 < start for record, start in zip(early.records, recorded, strict=True)) > 3


def test_commands_price_compare_and_explain_them(
    log: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert (
        cli.main(
            ["run", str(log), "--nodes", "4", "--mechanism", "baseline", "--shares", "0,1,0", "--events", "-o", "out"]
        )
        == 0
    )
    head, first, second, *_ = (tmp_path / "out" / "jobs-baseline.csv").read_text().splitlines()
    assert head.startswith("job_id,type,submit,eligible,start,end")
    assert first.startswith("1,rigid,1000.0,1000.0,1000.0,")
    assert second.startswith("2,rigid,1000.0,1570.0,1570.0,")
    assert pairs_of_results("out").waits.max() == 0
    back = read_recording("out", None)
    assert back.records.held
    assert [record.wait for record in back.records] == [0] * 16
    capsys.readouterr()
    assert cli.main(["explain", "out", "2"]) == 0
    output = capsys.readouterr().out
    assert "was held for 9 min 30 s, started at once" in output.replace("\n", " ")
    assert "It was submitted, and held until" in output
    assert cli.main(["info", str(log), "--nodes", "4"]) == 0
    assert "wait, recorded     mean 0.00 h" in capsys.readouterr().out
    assert cli.main(["slurm", "compare", str(log), "--nodes", "4"]) == 0
    assert "Slurm's mean wait 0 s" in capsys.readouterr().out


def test_slurm_compare_asks_only_about_eligible_jobs(log: Path) -> None:
    replay = read_replay(log, 4)
    assert "mean wait 0 s, 0 waited over a minute, 0 were passed" in replay_summary(replay)
    [row], differences, _ = agreement(replay, ["easy"], tolerance=1.0, lag=1.0)
    assert (row["same_start"], row["error_max_s"], row["slurm_wait_mean_s"], row["wait_mean_s"]) == (16, 0, 0, 0)
    assert (row["equal"], differences) == (row["decisions"], [])


def test_the_table_of_a_replay_keeps_eligible_where_it_says_something(log: Path, tmp_path: Path) -> None:
    replay = read_replay(log, 4)
    rows = [
        {
            "id": job.job_id,
            "submit": job.submit,
            "start": job.start,
            "end": job.end,
            "nodes": 1,
            "walltime": job.walltime,
            **dict.fromkeys(("state", "by", "slurm_id", "node_list"), ""),
        }
        for job in replay.jobs
    ]
    write_actual(tmp_path, rows)
    assert "eligible" not in (tmp_path / "actual.csv").read_text()
    for row, job in zip(rows, replay.jobs, strict=True):
        if job.eligible is not None:
            row["eligible"] = job.eligible
    write_actual(tmp_path, rows)
    assert read_replay(tmp_path, 4) == Replay(tmp_path.name, replay.jobs, 4)


def test_a_real_slurm_without_holds_waits_as_before() -> None:
    """Of the 80 jobs of this replay three were eligible a second after their submit."""
    trace = read_sacct(shared_file("slurm", "sacct-iso.txt"))
    held = [job for job in trace.jobs if job.eligible is not None]
    assert [job.queued - job.submit for job in held] == [1.0, 1.0, 1.0]
    waits, before = (sum(job.wait or 0 for job in one.jobs) for one in (trace, without(trace)))
    assert before - waits == 3


#: Four nodes. Job 2 is held until 1700 and waits for job 3 until 1900. Slurm does not say when job 5 was eligible: it
#: counts from its submit, and started 1,800 s later than it could.
HELD = """\
1|a|COMPLETED|0:0|1000|1000|1000|1600|600|20|4
2|b|COMPLETED|0:0|1010|1700|1900|2200|300|20|4
3|a|COMPLETED|0:0|1020|1020|1600|1900|300|20|4
4|a|COMPLETED|0:0|1030|3000|3000|3300|300|20|2
5|a|COMPLETED|0:0|1030|Unknown|4000|4300|300|20|2
6|a|CANCELLED by 0|0:0|1040|Unknown|Unknown|4300|0|20|2
"""


@pytest.mark.parametrize("rule", ["none", "easy", "conservative", "slurm"])
def test_slurm_compare_of_held_jobs_that_also_wait(tmp_path: Path, rule: str) -> None:
    path = tmp_path / "sacct.txt"
    path.write_text(f"{NAMES}\n{HELD}")
    [row], _, starts = agreement(read_replay(path, 4), [rule], tolerance=1.0, lag=1.0)
    assert list(starts[rule].values()) == [1000, 1900, 1600, 3000, 2200]
    assert row["slurm_wait_mean_s"] == (0 + 200 + 580 + 0 + 2970) / 5
    assert row["wait_mean_s"] == (0 + 200 + 580 + 0 + 1170) / 5
    assert (row["same_start"], row["error_max_s"]) == (4, 1800)
