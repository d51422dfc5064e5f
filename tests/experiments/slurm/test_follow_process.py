"""``holdfast slurm follow`` as a process beside a queue of thousands of jobs: it reads on while it forecasts."""

from __future__ import annotations

import csv
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from tests.support.processes import alive, children_of, until

pytestmark = pytest.mark.system
JOBS, NODES = 5000, 400
HEAD = "JOBID|STATE|SUBMIT_TIME|START_TIME|TIME_LIMIT|NODES|USER|ACCOUNT|REASON|NODELIST|CPUS|PRIORITY"


def queue_lines() -> Iterator[str]:
    """As many running jobs as nodes, and the rest waits; Slurm plans the first thousand of these."""
    yield HEAD
    for number in range(1, JOBS + 1):
        owner = f"u{number % 40}|a{number % 5}"
        if number <= NODES:
            yield f"{number}|RUNNING|{1_700_000_000 + number}|{{now}}|10:00:00|1|{owner}|None|n{number}|1|0"
        else:
            plan = "{now}" if number <= NODES + 1000 else "N/A"
            limit, size = f"{1 + number % 7}:00:00", 1 + number % 30
            submit, last = 1_700_000_000 + number, f"{size}|{JOBS - number}"
            yield f"{number}|PENDING|{submit}|{plan}|{limit}|{size}|{owner}|Priority||{last}"


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory with a past of one job, and programs that print the queue and the nodes."""
    programs = tmp_path / "programs"
    programs.mkdir()
    (tmp_path / "queue").write_text("\n".join(queue_lines()) + "\n")
    (tmp_path / "nodes").write_text("".join(f"n{number}|allocated\n" for number in range(1, NODES + 1)))
    for name, text in (("squeue", f"sed s/{{now}}/$(date +%s)/ {tmp_path}/queue"), ("sinfo", f"cat {tmp_path}/nodes")):
        (programs / name).write_text(f"#!/bin/sh\n{text}\n")
        (programs / name).chmod(0o755)
    (tmp_path / "log.swf").write_text("1 0 5 60 4 -1 -1 4 90 -1 1 7 3 -1 -1 -1 -1 -1\n")
    monkeypatch.setenv("PATH", f"{programs}:{os.environ['PATH']}")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_it_reads_on_while_it_forecasts_and_an_interruption_leaves_whole_files(site: Path) -> None:
    words = ["slurm", "follow", "log.swf", "-o", "followed", "--machine", str(NODES), "--every", "0.1"]
    words += ["--draws", "1000", "--workers", "1", "--backfilling", "slurm"]
    process = subprocess.Popen(
        [sys.executable, "-m", "holdfast", *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    readings = site / "followed" / "readings.csv"
    # A thousand draws of such a queue take hours.
    try:
        until(
            lambda: (
                readings.exists() and len(readings.read_text().splitlines()) > 5 and len(children_of(process.pid)) > 1
            )
        )
        children = children_of(process.pid)
        os.killpg(process.pid, signal.SIGINT)
        output, errors = process.communicate(timeout=120)
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    assert (process.returncode, output) == (0, "written to followed\n")
    assert "Traceback" not in errors
    until(lambda: not any(alive(child) for child in children), 60)
    assert sorted(path.name for path in (site / "followed").iterdir()) == ["readings.csv"]
    assert readings.read_text().endswith("\n")
    with readings.open() as file:
        rows = list(csv.DictReader(file))
    assert {(row["running"], row["waiting"]) for row in rows} == {(str(NODES), str(JOBS - NODES))}
    assert all(None not in row.values() and None not in row for row in rows)
