"""Withdrawals, dependencies and starting states on the command line."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from holdfast.experiments.cli import main
from holdfast.experiments.figures.recording.gantt import plot_gantt
from holdfast.experiments.placement.spans import place_nodes
from holdfast.experiments.planning.closed_loop import wait_samples
from holdfast.experiments.planning.wait_pairs import pairs_of_results
from holdfast.simulator import simulate
from holdfast.workloads.table.job_table import read_job_table, write_job_table
from tests.support.jobs import malleable, on_demand, rigid

ROWS = [
    "1 0 0 100 4 -1 -1 4 200 -1 1 7 3 -1 -1 -1 -1 -1",
    "2 10 90 60 4 -1 -1 4 90 -1 1 7 3 -1 -1 -1 1 20",
    "3 20 30 0 4 -1 -1 4 80 -1 5 7 3 -1 -1 -1 -1 -1",
    "4 30 130 50 2 -1 -1 2 80 -1 1 7 3 -1 -1 -1 99 5",
    "5 500 0 50 2 -1 -1 2 80 -1 1 7 3 -1 -1 -1 -1 -1",
]


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "log.swf"
    path.write_text("; MaxProcs: 4\n" + "\n".join(ROWS) + "\n")
    return path


def rows(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def run(log: Path, *options: str) -> Path:
    out = log.parent / "out"
    assert main(["run", str(log), "-o", str(out), "--mechanism", "baseline", "--events", *options]) == 0
    return out


def test_off_by_default(log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = run(log)
    assert [row["job_id"] for row in rows(out / "jobs-baseline.csv")] == ["1", "2", "4", "5"]
    assert "preceding" not in (out / "jobs.csv").read_text()
    assert "life" not in json.loads((out / "run.json").read_text())
    assert "cancelled_jobs" not in rows(out / "summary.csv")[0]
    assert "cancelled" not in capsys.readouterr().out


def test_everything_on(log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = run(log, "--cancelled", "keep", "--dependencies", "--until", "400")
    seen = {row["job_id"]: row for row in rows(out / "jobs-baseline.csv")}
    assert {job: (row["submit"], row["start"], row["end"], row["status"]) for job, row in seen.items()} == {
        "1": ("0.0", "0.0", "100.0", "completed"),
        "2": ("120.0", "150.0", "210.0", "completed"),
        "3": ("20.0", "", "50.0", "cancelled"),
        "4": ("30.0", "100.0", "150.0", "completed"),
    }
    assert (seen["3"]["wait"], seen["3"]["turnaround"]) == ("", "")
    summary = rows(out / "summary.csv")[0]
    assert (summary["jobs"], summary["cancelled_jobs"], summary["cancelled_started"]) == ("3", "1", "0")
    life = json.loads((out / "run.json").read_text())["life"]
    assert life == {"cancelled": "keep", "dependencies": True, "starting_state": None, "until": 400.0}
    shown = capsys.readouterr().out
    assert "withdrawn by their users before they started, and kept: 1" in shown
    assert "dependencies: 1 followed; 1 preceding job not in the trace: submitted as recorded" in shown
    assert "had started" in shown
    # The table beside the results makes the same ones.
    again = log.parent / "again"
    table = str(out / "jobs.csv")
    assert main(["run", table, "-o", str(again), "--nodes", "4", "--mechanism", "baseline", "--events"]) == 0
    for name in ("jobs-baseline.csv", "events-baseline.csv", "accounting.csv"):
        assert (again / name).read_bytes() == (out / name).read_bytes()


def test_remarks_of_a_log_that_is_cut_are_those_of_the_whole_log(log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    failed = ROWS[4].replace(" -1 1 7 ", " -1 0 7 ")  # after the end
    log.write_text("\n".join(["; MaxProcs: 4", *ROWS[:4], failed]) + "\n")
    assert main(["run", str(log)]) == 0
    assert "\nnoted: 1 status 0 (failed)\n" in capsys.readouterr().out
    assert main(["run", str(log), "--until", "400"]) == 0
    assert "\nnoted in the whole log: 1 status 0 (failed)\n" in capsys.readouterr().out


def test_a_starting_state(log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = run(log, "--starting-state", "1m50s")
    # The last start before 110 s is that of job 2 at 100 s.
    assert "starting state at 100 s: 1 job runs on 4 of 4 processors, 1 waits" in capsys.readouterr().out
    starts = {row["job_id"]: row["start"] for row in rows(out / "jobs-baseline.csv")}
    assert starts == {"2": "100.0", "4": "160.0", "5": "500.0"}
    assert rows(out / "summary.csv")[0]["jobs"] == "1"
    assert [job.running_since for job in read_job_table(out / "jobs.csv").jobs] == [100, None, None]


def test_waits_decided_before_a_starting_state_are_no_pairs(log: Path) -> None:
    out = run(log, "--starting-state", "1m50s")
    pairs = pairs_of_results(out)
    # Only job 5 is submitted after 100 s, and it does not wait.
    assert (pairs.walltimes.tolist(), pairs.waits.tolist()) == ([80.0], [0.0])
    assert pairs.left_out["outside the window of the run"] == 2
    result = simulate(read_job_table(out / "jobs.csv").jobs, 4)
    walltimes, waits, _ = wait_samples(result, read_job_table(out / "jobs.csv").jobs)
    assert (walltimes.tolist(), waits.tolist()) == ([80.0], [0.0])


def test_prepare_writes_them(log: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "jobs.csv"
    options = ["--cancelled", "keep", "--dependencies", "--starting-state", "20"]
    assert main(["prepare", str(log), "-o", str(path), *options]) == 0
    jobs = {job.job_id: job for job in read_job_table(path).jobs}
    assert jobs[1].running_since == 0
    assert jobs[3].cancelled_at is not None
    assert "starting state at 0 s" in capsys.readouterr().out


def test_info_tells_of_them(log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["info", str(log)]) == 0
    shown = capsys.readouterr().out
    assert "1 before their start, after 30 s of waiting (median)" in shown
    assert "2 jobs after another one, 2 of them with a think time" in shown


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--cancelled", "sometimes"], "unknown treatment of cancelled jobs 'sometimes': "),
        (["--starting-state", "soon"], "--starting-state must be a duration"),
        (
            ["--starting-state", "100", "--until", "90"],
            "--until must be later than the start of the replay at 100 s, not 90 s",
        ),
        (["--until", "0"], "--until must be later than the start of the replay at 0 s, not 0 s"),
        (["--starting-state", "100", "--nodes", "3"], "log.swf: no job"),
    ],
)
def test_refusals(log: Path, options: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    out = log.parent / "out"
    assert main(["run", str(log), "-o", str(out), *options]) == 2
    shown = capsys.readouterr().err
    assert message in shown
    assert shown.count("\n") == 1
    assert not out.exists()


def test_a_job_table_says_it_itself(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "jobs.csv"
    write_job_table([rigid(1, 0, 4, 100)], path)
    assert main(["run", str(path), "-o", str(tmp_path / "out"), "--nodes", "4", "--dependencies"]) == 2
    assert "need a trace; a job table has" in capsys.readouterr().err


def test_a_state_too_large_for_the_machine(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "jobs.csv"
    write_job_table([rigid(1, 0, 4, 100, running_since=0), rigid(2, 0, 4, 100, running_since=1)], path)
    assert main(["run", str(path), "-o", str(tmp_path / "out"), "--nodes", "6"]) == 2
    assert "the jobs that run already at 1.0 s need 8 nodes, and must need at most the 6" in capsys.readouterr().err


@pytest.mark.system
def test_pictures_of_lives(tmp_path: Path) -> None:
    jobs = [
        rigid(1, 0, 4, 100, running_since=5),
        malleable(2, 0, 4, 200, min_nodes=4, cancelled_at=60),
        on_demand(3, 50, 4, 50, cancelled_at=55),
        rigid(4, 60, 2, 10, preceding=2, think_time=5),
    ]
    path = tmp_path / "jobs.csv"
    write_job_table(jobs, path)
    out = tmp_path / "out"
    assert main(["run", str(path), "-o", str(out), "--nodes", "8", "--mechanism", "N-PAA", "--plot"]) == 0
    assert list(out.rglob("*.png"))
    result = simulate(jobs, 8, "N-PAA")
    # The gathered nodes of job 3 are held, those of jobs 1 and 2 begin at the beginning.
    spans = place_nodes(result)
    first = result.begin or 0
    assert {(span.job_id, span.kind, span.start - (first - result.origin), span.ending) for span in spans} == {
        (1, "run", 0, "complete"),
        (2, "run", 0, ""),
        (2, "warned", 45 * 10**6, "cancel"),
        (4, "run", 60 * 10**6, "complete"),
    }
    plot_gantt(result)
