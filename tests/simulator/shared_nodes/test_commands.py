"""Commands with mechanisms on shared nodes: run, explain, gantt and sweep."""

from __future__ import annotations

import csv
from pathlib import Path
from random import Random

import pytest

import holdfast as hf
from holdfast.experiments import cli
from holdfast.experiments.forecast.prior_usage import machine_prior_state
from holdfast.workloads.logs.starting_state import starting_state
from holdfast.workloads.machines.machine_file import make_machine, read_machine
from holdfast.workloads.requests.fitted_trace import fit_log_to_machine
from holdfast.workloads.requests.log_requests import read_requests

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
        output = " ".join(capsys.readouterr().out.split())
        assert row["nodes"] in output
        assert (row["cause"] or row["ending"]) in output
    assert cli.main(["gantt", str(site / "out"), "--mechanism", "N-PAA", "-o", str(site / "page.html")]) == 0
    assert "jobs under N-PAA drawn" in capsys.readouterr().out


def test_a_replay_on_a_machine_begins_with_the_jobs_that_run_then(
    site: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["run", str(site / "log.swf"), "--machine", str(site / "machine.toml"), "--starting-state", "2000"]
    words += ["--mechanism", "baseline,CUP-SPAA", "--group-by", "user", "-o", str(site / "out")]
    assert cli.main(words) == 0
    output = capsys.readouterr().out
    assert "starting state at" in output
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


def test_usage_before_a_starting_state_counts_node_equivalents(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    # Until 1000 s, a had one core of 16 (1/16 of a node), and b two GPUs of 4 (half a node) and one core. At 1000 s job
    # 3 has all nodes; jobs 4 of b and 5 of a wait, and a has used less.
    (tmp_path / "machine.toml").write_text(
        '[[nodes]]\nnames = "g[1-2]"\ncores = 16\ngpus = 4\n[[partitions]]\nname = "p"\nnodes = "ALL"\n'
    )
    rows = [
        "JobID|Submit|Start|End|State|Timelimit|User|Account|Partition|QOS|NNodes|ReqTRES",
        "1|1970-01-01T00:00:00|1970-01-01T00:00:00|1970-01-01T00:10:00|COMPLETED|00:10:00|u|a|p||1|cpu=1,node=1",
        "2|1970-01-01T00:00:00|1970-01-01T00:00:00|1970-01-01T00:05:00|COMPLETED|00:10:00|v|b|p||1|cpu=1,node=1,gres/gpu=2",
        "3|1970-01-01T00:15:00|1970-01-01T00:15:00|1970-01-01T00:30:00|COMPLETED|00:15:00|w|c|p||2|cpu=32,node=2",
        "4|1970-01-01T00:16:00|1970-01-01T00:30:00|1970-01-01T00:40:00|COMPLETED|00:10:00|v|b|p||2|cpu=32,node=2",
        "5|1970-01-01T00:16:30|1970-01-01T00:40:00|1970-01-01T00:50:00|COMPLETED|00:10:00|u|a|p||2|cpu=32,node=2",
    ]
    (tmp_path / "log.txt").write_text("\n".join(rows) + "\n")
    words = ["run", str(tmp_path / "log.txt"), "--machine", str(tmp_path / "machine.toml"), "--starting-state", "1000"]
    starts = {}
    for order in ("fcfs", "fairshare half_life=3600000"):
        assert cli.main([*words, "--order", order, "-o", str(tmp_path / order[:4])]) == 0, capsys.readouterr().err
        table = (tmp_path / order[:4] / "jobs-baseline.csv").read_text().splitlines()
        starts[order[:4]] = {row["job_id"]: float(row["start"]) for row in csv.DictReader(table)}
    assert starts["fcfs"] == {"3": 900, "4": 1800, "5": 2400}
    assert starts["fair"] == {"3": 900, "5": 1800, "4": 2400}
    log = read_requests(tmp_path / "log.txt")
    trace, workload = fit_log_to_machine(log, read_machine(str(tmp_path / "machine.toml")))
    requests = dict(zip(trace.jobs.column("job_id").tolist(), workload.requests, strict=True))
    prior = machine_prior_state(starting_state(trace, 1000), workload, requests)
    assert prior is not None
    assert prior.usage is not None
    used = prior.usage.at(1000, half_life=1e12)
    assert used == pytest.approx({"a": 600 / 16, "b": 300 / 2, "c": 100 * 2}, rel=1e-6)


def test_a_sweep_compares_mechanisms(site: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (site / "sweep.toml").write_text(
        'mechanisms = ["baseline", "CUA-SPAA"]\n[workload]\ntraces = ["log.swf"]\nmachine = "machine.toml"\n'
        '[assignment]\ngroup_by = "user"\nseeds = [0, 1]\n'
    )
    assert cli.main(["sweep", str(site / "sweep.toml"), "-o", str(site / "runs")]) == 0
    assert "CUA-SPAA" in capsys.readouterr().out
    rows = list(csv.DictReader((site / "runs" / "summary.csv").read_text().splitlines()))
    assert {row["mechanism"] for row in rows} == {"baseline", "CUA-SPAA"}
