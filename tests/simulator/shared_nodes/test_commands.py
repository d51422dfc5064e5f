"""Commands with mechanisms on shared nodes: run, explain, gantt and sweep."""

from __future__ import annotations

import csv
from pathlib import Path
from random import Random

import pytest

import holdfast as hf
from holdfast.experiments import cli
from holdfast.workloads.machines.machine_file import make_machine

pytestmark = pytest.mark.system


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """A log of jobs of 1 to 6 processors, and a machine of four nodes that they share."""
    random, submit = Random(3), 0
    lines = ["; UnixStartTime: 1600000000"]
    for number in range(1, 61):
        submit += random.choice((0, 200, 300, 600))
        runtime, cores, user = random.choice((1200, 3600)), random.choice((1, 2, 3, 4, 6)), random.randint(1, 15)
        fields = (number, submit, 0, runtime, cores, -1, -1, cores, 2 * runtime, -1, 1, user, user, -1, 1, -1, -1, -1)
        lines.append(" ".join(map(str, fields)))
    (tmp_path / "log.swf").write_text("\n".join(lines) + "\n")
    machine = make_machine(
        nodes=[{"names": "n[1-3]", "cores": 4}, {"names": "g1", "cores": 8}],
        partitions=[{"name": "all", "nodes": "ALL"}],
    )
    hf.write_machine(machine, tmp_path / "machine.toml")
    return tmp_path


def test_runs_are_explained_and_drawn(site: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["run", "log.swf", "--machine", "machine.toml", "--mechanism", "baseline,N-PAA,CUP-SPAA", "-o", "out"]
    words = [str(site / word) if word.endswith((".swf", ".toml")) or word == "out" else word for word in words]
    assert cli.main([*words, "--shares", "0.3,0.4,0.3", "--group-by", "user"]) == 0
    assert "CUP-SPAA" in capsys.readouterr().out
    rows = list(csv.DictReader((site / "out" / "allocations-N-PAA.csv").read_text().splitlines()))
    assert "cause" not in (site / "out" / "allocations-baseline.csv").read_text().partition("\n")[0]
    served = next(row for row in rows if "the cheapest node" in row["cause"])
    victim = next(row for row in rows if "was the cheapest node" in row["ending"])
    for row in (served, victim):
        assert cli.main(["explain", str(site / "out"), row["job_id"], "--mechanism", "N-PAA"]) == 0
        told = " ".join(capsys.readouterr().out.split())
        assert row["nodes"] in told
        assert (row["cause"] or row["ending"]) in told
    assert cli.main(["gantt", str(site / "out"), "--mechanism", "N-PAA", "-o", str(site / "page.html")]) == 0
    assert "jobs under N-PAA drawn" in capsys.readouterr().out


def test_a_replay_on_a_machine_begins_with_the_jobs_that_run_then(
    site: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["run", str(site / "log.swf"), "--machine", str(site / "machine.toml"), "--starting-state", "2000"]
    words += ["--mechanism", "baseline,CUP-SPAA", "--group-by", "user", "-o", str(site / "out")]
    assert cli.main(words) == 0
    told = capsys.readouterr().out
    assert "starting state at" in told
    for mechanism in ("baseline", "CUP-SPAA"):
        jobs = list(csv.DictReader((site / "out" / f"jobs-{mechanism}.csv").read_text().splitlines()))
        allocations = {
            row["job_id"]: row
            for row in csv.DictReader((site / "out" / f"allocations-{mechanism}.csv").read_text().splitlines())
        }
        before = [row for row in jobs if float(row["start"]) <= 2000 < float(row["end"])]
        assert before
        # Each start of the log is at the submit: these jobs keep their recorded starts.
        assert all(row["start"] == row["submit"] for row in before if row["preemptions"] == "0")
        assert all(allocations[row["job_id"]]["nodes"] for row in before)
    assert cli.main([*words, "--order", "fairshare"]) == 2
    assert (
        "an order without past usage on a machine (--machine) where jobs run at the beginning"
        in capsys.readouterr().err
    )


def test_a_sweep_compares_mechanisms(site: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (site / "sweep.toml").write_text(
        'mechanisms = ["baseline", "CUA-SPAA"]\n[workload]\ntraces = ["log.swf"]\nmachine = "machine.toml"\n'
        '[assignment]\ngroup_by = "user"\nseeds = [0, 1]\n'
    )
    assert cli.main(["sweep", str(site / "sweep.toml"), "-o", str(site / "runs")]) == 0
    assert "CUA-SPAA" in capsys.readouterr().out
    rows = list(csv.DictReader((site / "runs" / "summary.csv").read_text().splitlines()))
    assert {row["mechanism"] for row in rows} == {"baseline", "CUA-SPAA"}
