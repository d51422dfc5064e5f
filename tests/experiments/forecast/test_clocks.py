"""The time of a forecast: stored in the queue's file, or the time of that file, and always named."""

from __future__ import annotations

import json
import os
import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from holdfast.experiments import cli
from holdfast.workloads.logs.snapshot import Clock, snapshot_time

#: 22 November 2026, 03:00 UTC.
HOUR = 1795316400
MACHINE = 8


def job(
    job_id: int, submit: int, start: int | None = None, nodes: int = 4, limit: int = 60, **more: Any
) -> dict[str, Any]:
    """A job as squeue --json tells it."""
    state = "PENDING" if start is None else "RUNNING"
    return {
        **{"job_id": job_id, "job_state": state, "submit_time": submit, "start_time": start or 0, "time_limit": limit},
        **{"node_count": nodes, "user_name": "ann", "account": "physics", "state_reason": "None", "nodes": ""},
        **{"billable_tres": 8.0 * nodes, **more},
    }


def write_queue(path: Path, jobs: list[dict[str, Any]], changed: int = HOUR, **document: Any) -> Path:
    path.write_text(json.dumps({"meta": {}, "errors": [], "jobs": jobs, **document}))
    os.utime(path, (changed, changed))
    return path


def write_log(path: Path, runs: int = 12) -> Path:
    """Hourly runs of ten minutes that end before the queue begins."""
    lines = ["JobIDRaw|Submit|Start|End|ElapsedRaw|TimelimitRaw|NNodes|State|User|Account"]
    for number in range(runs):
        start = HOUR - 3600 * (runs - number + 1)
        lines.append(f"{number + 1}|{start}|{start}|{start + 600}|600|60|4|COMPLETED|ann|physics")
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.fixture
def site(tmp_path: Path) -> Path:
    write_log(tmp_path / "sacct.txt")
    return tmp_path


def ask(site: Path, capsys: pytest.CaptureFixture[str], *more: str, command: str = "forecast") -> tuple[str, str, Any]:
    """Output, warnings and the document of a forecast or an advice."""
    given = [command, str(site / "sacct.txt"), "--queue", str(site / "queue.json"), "--machine", str(MACHINE)]
    status = cli.main([*given, "--draws", "3", "--workers", "1", "--json", str(site / "forecast.json"), *more])
    printed = capsys.readouterr()
    assert status == 0, printed.err
    return printed.out, printed.err, json.loads((site / "forecast.json").read_text())


#: The running job began 44 minutes before the queue was read, and the other one was submitted 5 minutes later.
QUEUE = [job(101, HOUR - 2640, HOUR - 2640, 8, limit=70), job(102, HOUR - 2340, None, 8)]


def test_the_time_that_a_file_stores_comes_first(tmp_path: Path) -> None:
    path = tmp_path / "queue.json"
    seen = [{**QUEUE[0], "last_sched_evaluation": HOUR + 9}, {**QUEUE[1], "last_sched_evaluation": HOUR - 17}]
    stored = {"set": True, "infinite": False, "number": HOUR - 5}
    assert snapshot_time(write_queue(path, seen, last_update=stored)) == Clock(HOUR - 5, "last_update of queue.json")
    assert snapshot_time(write_queue(path, seen, last_update=HOUR - 4)).at == HOUR - 4
    # The scheduler looks at waiting jobs again and again, and at running ones when they start.
    unset = {"set": False, "infinite": False, "number": 0}
    clock = Clock(HOUR - 17, "last_sched_evaluation in queue.json")
    assert snapshot_time(write_queue(path, seen, last_update=unset)) == clock
    # A job that has come since is no contradiction.
    later = [*seen, job(103, HOUR - 3)]
    assert snapshot_time(write_queue(path, later)) == Clock(HOUR - 3, "last event in queue.json")
    several = [{**item, "job_state": [item["job_state"]]} for item in seen]
    assert snapshot_time(write_queue(path, several)) == clock
    assert snapshot_time(write_queue(path, seen[:1])) == Clock(HOUR, "modification time of queue.json")
    columns = tmp_path / "queue.txt"
    columns.write_text("JOBID|STATE\n")
    os.utime(columns, (HOUR + 3, HOUR + 3))
    assert snapshot_time(columns) == Clock(HOUR + 3, "modification time of queue.txt")


@pytest.mark.parametrize("command", ["forecast", "advise"])
def test_now_is_the_time_of_the_file_and_not_its_last_event(
    command: str, site: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_queue(site / "queue.json", QUEUE)
    more = ("--runtimes", "walltime") if command == "forecast" else ()
    out, err, document = ask(site, capsys, "--job", "102", *more, command=command)
    now = "2026-11-22 03:00 UTC (modification time of queue.json)"
    assert out.startswith(f"Now is {now}: 1 job runs on 8 of 8 nodes, 1 waits.")
    assert "\nTimes from now:\n" in out
    assert out.count("UTC") == 1
    assert err == ""
    clock = {"at": HOUR, "time": "2026-11-22 03:00 UTC", "source": "modification time of queue.json"}
    assert (document["at"], document["clock"], document["assumptions"]) == (HOUR, clock, [])
    if command == "forecast":
        # 44 of its 70 minutes are over.
        assert document["jobs"][0]["start_p50"] == 26 * 60
        assert "The median is 2026-11-22 03:26." in out


def test_a_time_that_the_queue_contradicts_gives_way(site: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_queue(site / "queue.json", QUEUE, changed=HOUR - 7200)
    out, err, document = ask(site, capsys, "--runtimes", "walltime")
    assert out.startswith("Now is 2026-11-22 02:21 UTC (last event in queue.json, later than the modification time of")
    assert err.count("\n") == 1
    assert "queue.json has a submit or start 1.4 h after its time (modification time of queue.json)" in err
    assert document["at"] == HOUR - 2340
    assert document["assumptions"] == [err.removeprefix("holdfast forecast: warning: ").rstrip("\n")]


def test_a_time_that_is_given_counts(site: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_queue(site / "queue.json", QUEUE, last_update=HOUR)
    out, err, document = ask(site, capsys, "--runtimes", "walltime", "--at", "2026-11-22T02:30")
    assert out.startswith("Now is 2026-11-22 02:30 UTC (--at 2026-11-22T02:30):")
    assert err == ""
    assert document["jobs"][0]["start_p50"] == 56 * 60
    write_queue(site / "queue.json", [*QUEUE, job(103, HOUR - 60, None)], last_update=HOUR)
    _, err, document = ask(site, capsys, "--runtimes", "walltime", "--at", "2026-11-22T02:30")
    assert "1 of 3 jobs of queue.json were submitted or started after --at, and are left out" in err
    assert len(document["jobs"]) == 1


def test_a_copy_that_is_a_day_younger_than_the_queue_is_noticed(site: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_queue(site / "queue.json", QUEUE, changed=HOUR + 86_400)
    _, err, _ = ask(site, capsys, "--runtimes", "walltime")
    assert "1 of 1 running jobs are past their walltimes at that time (modification time of queue.json)" in err
    assert "give its time with --at" in err


# What a queue and sshare tell of the past.

SHARES = """\
Account|User|RawShares|NormShares|RawUsage|NormUsage|EffectvUsage|FairShare|LevelFS|GrpTRESMins|TRESRunMins
root|||0.000000|1000000||1.000000||||cpu=0
 root|root|1|0.333333|0|0.000000|0.000000|1.000000|inf||cpu=0
 physics||1|0.333333|900000|0.900000|0.900000||0.370370||cpu=0
  physics|ann|1|1.000000|900000|0.900000|1.000000|0.250000|1.000000||cpu=0
 chemistry||1|0.333333|100000|0.100000|0.100000||3.333333||cpu=0
  chemistry|bob|1|1.000000|100000|0.100000|1.000000|0.750000|1.000000||cpu=0
"""
#: The first in line belongs to the account that has used more.
TWO = [
    job(101, HOUR - 2640, HOUR - 2640, 8, limit=70),
    job(102, HOUR - 2000, None, 8, limit=30),
    job(103, HOUR - 1000, None, 8, limit=30, account="chemistry", user_name="bob"),
]


def test_usage_of_sshare_decides_under_fair_share(site: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_queue(site / "queue.json", TWO, last_update=HOUR)
    shares = site / "sshare.txt"
    shares.write_text(SHARES)

    def first(text: str) -> int:
        shares.write_text(text)
        more = ("--runtimes", "walltime", "--order", "fairshare", "--usage", str(shares))
        _, err, document = ask(site, capsys, *more)
        assert err == ""
        return int(min(document["jobs"], key=lambda item: item["start_p50"])["job_id"])

    assert first(SHARES) == 103
    # The same of the other account: 8 TRES-seconds are a node-second, so that both runs to come count little.
    other = SHARES.replace("|900000|", "|0|").replace("|100000|", "|900000|").replace("|0|0.9", "|100000|0.9")
    assert first(other) == 102


def test_accounts_that_sshare_does_not_name_are_reported(site: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_queue(site / "queue.json", [*TWO, job(104, HOUR - 10, account="biology")], last_update=HOUR)
    (site / "sshare.txt").write_text(SHARES)
    more = ("--runtimes", "walltime", "--order", "fairshare", "--usage", str(site / "sshare.txt"))
    _, err, _ = ask(site, capsys, *more)
    assert "sshare.txt does not name 1 accounts of the queue, such as biology: they begin without usage" in err
    # Nothing says what a second of a node costs.
    jobs = [{**item, "billable_tres": 0} for item in TWO]
    write_queue(site / "queue.json", jobs, last_update=HOUR)
    _, err, _ = ask(site, capsys, *more)
    assert "the number of TRES-seconds per node-second in sshare.txt is unknown: 1 is assumed" in err


def test_what_the_log_says_of_usage_and_what_it_cannot_say(site: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_queue(site / "queue.json", TWO, last_update=HOUR)
    order = ("--runtimes", "walltime", "--order", "multifactor fairshare=1000 accounts=2")
    _, err, document = ask(site, capsys, *order)
    # All usage in the log is of physics, twelve hours of it.
    assert min(document["jobs"], key=lambda item: item["start_p50"])["job_id"] == 103
    assert "multifactor ranks jobs by past usage, which halves in 7.0 d, and that is known for the last 13.0 h" in err
    assert document["assumptions"] == [err.removeprefix("holdfast forecast: warning: ").rstrip("\n")]
    # Without a weight of fair share nothing of it is asked.
    _, err, _ = ask(site, capsys, "--runtimes", "walltime", "--order", "multifactor age=1000")
    assert err == ""


def test_nodes_that_are_not_named_are_reported(site: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_queue(site / "queue.json", TWO, last_update=HOUR)
    _, err, _ = ask(site, capsys, "--runtimes", "walltime", "--backfilling", "slurm")
    assert "slurm plans on named nodes, and those of 1 of 1 running jobs are not known" in err
    write_queue(site / "queue.json", [{**TWO[0], "nodes": "n[1-8]"}, *TWO[1:]], last_update=HOUR)
    _, err, _ = ask(site, capsys, "--runtimes", "walltime", "--backfilling", "slurm")
    assert err == ""


def test_usage_needs_a_queue(site: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (site / "sshare.txt").write_text(SHARES)
    given = ["forecast", str(site / "sacct.txt"), "--at", "2026-11-21T20:05", "--machine", "8"]
    assert cli.main([*given, "--usage", str(site / "sshare.txt")]) == 2
    assert "--usage is current usage: give the current jobs with --queue" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("log_is_local", "queue_is_local", "at", "sentence"),
    [
        (False, False, False, ""),
        (True, True, True, ""),
        (True, True, False, "sacct.txt and queue.txt: dates without a zone, taken as UTC beside the modification time"),
        (False, True, True, "queue.txt: dates without a zone, taken as UTC beside sacct.txt;"),
        (True, False, False, "sacct.txt: dates without a zone, taken as UTC beside queue.txt;"),
    ],
)
def test_dates_without_a_zone_beside_seconds_are_an_assumption(
    site: Path, capsys: pytest.CaptureFixture[str], log_is_local: bool, queue_is_local: bool, at: bool, sentence: str
) -> None:
    def date(seconds: int, local: bool) -> str:
        return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S") if local else str(seconds)

    if log_is_local:
        log = site / "sacct.txt"
        log.write_text(re.sub(r"\b17\d{8}\b", lambda found: date(int(found[0]), True), log.read_text()))
    start, submit = date(HOUR - 2640, queue_is_local), date(HOUR - 2340, queue_is_local)
    queue = site / "queue.txt"
    queue.write_text(
        "JOBID|STATE|SUBMIT_TIME|START_TIME|TIME_LIMIT|NODES|USER|ACCOUNT|REASON\n"
        f"101|RUNNING|{start}|{start}|1:10:00|8|ann|physics|None\n102|PENDING|{submit}|N/A|1:00:00|8|ann|physics|None\n"
    )
    os.utime(queue, (HOUR, HOUR))
    moment = ["--at", date(HOUR, True)] if at else []
    words = [
        str(site / "sacct.txt"),
        "--queue",
        str(queue),
        "--machine",
        "8",
        "--draws",
        "3",
        "--workers",
        "1",
        *moment,
    ]
    assert cli.main(["forecast", *words]) == 0
    warned = [line for line in capsys.readouterr().err.splitlines() if "dates without a zone" in line]
    assert len(warned) == bool(sentence)
    assert sentence in "".join(warned)
