"""A snapshot of a site: what the commands print is stored, and read wherever its files are."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from holdfast.experiments import cli
from holdfast.experiments.slurm import site_snapshot
from holdfast.experiments.slurm.site_snapshot import take_snapshot
from holdfast.workloads.ground.errors import InputError, TraceError
from holdfast.workloads.logs.snapshot import Clock, snapshot_time
from tests.shared_data import shared_file

NOW = 1_700_000_000
QUEUE = (
    "JOBID|STATE|SUBMIT_TIME|START_TIME|TIME_LIMIT|NODES|USER|ACCOUNT|REASON\n"
    f"20|RUNNING|{NOW - 700}|{NOW - 600}|1:40:00|4|ann|bio|None\n"
    f"21|PENDING|{NOW - 50}|N/A|50:00|4|ann|bio|Resources\n"
)
PAST = "JobIDRaw|Submit|Start|End|ElapsedRaw|TimelimitRaw|NNodes|State|User|Account\n" + "".join(
    f"{n}|{NOW - 9000}|{NOW - 9000}|{NOW - 8000}|1000|100|2|COMPLETED|ann|bio\n" for n in range(1, 13)
)
NODES = "".join(f"NodeName=n{n} CPUTot=1 RealMemory=1000\n   State=IDLE\n\n" for n in range(1, 5))
CONFIG = (
    "Configuration data as of 2023-11-14T22:00:00\n"
    "SchedulerType = sched/builtin\nPriorityType = priority/basic\nPreemptType = preempt/qos\n"
)
#: What each command prints; the others fail.
OUTPUTS = {
    "squeue --array": QUEUE,
    "scontrol show node": NODES,
    "scontrol show config": CONFIG,
    "sacct --allusers": PAST,
}


def answer(monkeypatch: pytest.MonkeyPatch, outputs: Mapping[str, str]) -> None:
    """Let Slurm's commands print these outputs."""

    def call(words: Sequence[str], *, environment: Mapping[str, str]) -> str:
        # Times of jobs are seconds since 1970, which need no zone.
        assert environment == {"TZ": "UTC", "SLURM_TIME_FORMAT": "%s"}
        text = next((text for begin, text in outputs.items() if " ".join(words).startswith(begin)), None)
        if text is None:
            raise InputError(f"{words[0]} failed: not supported")
        return text

    monkeypatch.setattr(site_snapshot, "call", call)


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A snapshot without JSON, sprio, sshare, partitions and sinfo."""
    monkeypatch.chdir(tmp_path)
    answer(monkeypatch, OUTPUTS)
    take_snapshot(tmp_path / "site", 90, lambda: NOW + 0.9)
    return Path("site")


def test_outputs_and_manifest_are_stored(site: Path) -> None:
    assert {path.name for path in site.iterdir()} == {
        *("queue.txt", "nodes.txt", "config.txt", "sacct.txt", "snapshot.json"),
    }
    assert (site / "queue.txt").read_text() == QUEUE
    manifest = json.loads((site / "snapshot.json").read_text())
    assert (manifest["at"], manifest["time"]) == (NOW, "2023-11-14T22:13:20Z")
    records = {record["file"]: record for record in manifest["commands"]}
    assert records["nodes.txt"] == {"file": "nodes.txt", "command": "scontrol show node", "at": NOW, "error": None}
    assert records["sprio.txt"]["error"] == "sprio failed: not supported"
    assert "--starttime now-90days" in records["sacct.txt"]["command"]
    # A copy keeps its time.
    os.utime(site / "queue.txt", (NOW + 5000, NOW + 5000))
    assert snapshot_time(site / "queue.txt") == Clock(NOW, "snapshot.json beside queue.txt")


def test_the_command_warns_once_for_each_failure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    answer(monkeypatch, OUTPUTS)
    assert cli.main(["slurm", "snapshot", "-o", "a site", "--days", "7"]) == 0
    printed = capsys.readouterr()
    assert printed.err.count("\n") == 8
    assert "holdfast slurm snapshot: warning: sprio.txt is missing: sprio failed: not supported\n" in printed.err
    assert printed.out.endswith("holdfast forecast 'a site'\n")
    assert cli.main(["slurm", "snapshot", "-o", "a site"]) == 2
    assert "is there already" in capsys.readouterr().err


def test_without_a_queue_nothing_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    answer(monkeypatch, {"scontrol": NODES})
    assert cli.main(["slurm", "snapshot", "-o", str(tmp_path / "site")]) == 2
    assert capsys.readouterr().err == "holdfast slurm snapshot: error: squeue failed: not supported\n"
    assert not list(tmp_path.iterdir())


def ask(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[str, str]:
    assert cli.main([*words, "--draws", "5", "--workers", "1", "--json", "forecast.json"]) == 0
    printed = capsys.readouterr()
    return printed.out, printed.err


def test_forecast_reads_all_from_it(site: Path, capsys: pytest.CaptureFixture[str]) -> None:
    output, warned = ask(capsys, "forecast", "site")
    assert (
        "Now is 2023-11-14 22:13 UTC (snapshot.json beside queue.txt): 1 job runs on 4 of 4 nodes, 1 waits." in output
    )
    rules = "the configuration of site is taken: --order fcfs --backfilling none; "
    assert warned.count(f"{rules}'holdfast slurm options' lists what is not modelled (3)\n") == 1
    document = json.loads(Path("forecast.json").read_text())
    assert any(text.startswith("the configuration of site is taken") for text in document["assumptions"])
    # All runs of ann took a sixth of their walltime: 1,000 s of 6,000, of which 600 are over; then 500 of 3,000.
    (job,) = document["jobs"]
    assert (job["job_id"], job["start_p50"], job["end_p50"]) == (21, 400.0, 900.0)
    # The same answer from the single files.
    shutil.copy(site / "sacct.txt", "past.txt")
    files = ["past.txt", "--queue", "site/queue.txt", "--machine", "site/nodes.txt", "--backfilling", "none"]
    assert "configuration" not in ask(capsys, "forecast", *files)[1]
    assert json.loads(Path("forecast.json").read_text())["jobs"] == document["jobs"]
    output, warned = ask(capsys, "forecast", "past.txt", "--queue", "site", "--order", "sjf")
    assert "taken: --backfilling none;" in warned
    assert "configuration" not in ask(capsys, "forecast", "site", "--order", "fcfs", "--backfilling", "easy")[1]


def test_advice_machine_and_options_read_it(site: Path, capsys: pytest.CaptureFixture[str]) -> None:
    output, warned = ask(capsys, "advise", "site", "--nodes", "2", "--walltime", "1h")
    assert "Ask for 2 nodes" in output and "--backfilling none" in warned
    assert cli.main(["machine", "site", "-o", "machine.toml"]) == 0
    assert "4 nodes" in capsys.readouterr().out
    assert cli.main(["slurm", "options", "site", "--json", "-"]) == 0
    assert json.loads(capsys.readouterr().out)["options"] == {"nodes": "4", "order": "fcfs", "backfilling": "none"}
    assert cli.main(["slurm", "compare", "site", "--backfilling", "none"]) == 0
    assert "12" in capsys.readouterr().out


def test_what_it_lacks_is_named(
    site: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    answer(monkeypatch, {"squeue --array": QUEUE, "sacct": PAST})
    take_snapshot(Path("less").absolute(), 90, lambda: NOW)
    assert cli.main(["slurm", "options", "less"]) == 2
    assert "less: holds no config.txt: scontrol failed: not supported" in capsys.readouterr().err
    assert "less holds no configuration" in ask(capsys, "forecast", "less", "--machine", "4")[1]
    (site / "snapshot.json").write_text('{"format": "another"}')
    assert cli.main(["forecast", "site"]) == 2
    assert "is not a manifest written by 'holdfast slurm snapshot'" in capsys.readouterr().err
    with pytest.raises(TraceError):
        site_snapshot.read_snapshot(site)


def test_a_real_site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    files = {
        "squeue --json": "squeue.json",
        "scontrol show node": "scontrol-show-node.txt",
        "scontrol show config": "scontrol-show-config.txt",
        "sacct": "sacct-iso.txt",
    }
    outputs = {begin: shared_file("slurm", name).read_text() for begin, name in files.items()}
    # The stored output is of one node; the others are like it.
    node = outputs["scontrol show node"]
    outputs["scontrol show node"] = "\n".join(node.replace("n1", f"n{number}") for number in range(1, 17))
    answer(monkeypatch, outputs)
    monkeypatch.chdir(tmp_path)
    # 22 November 2026, 03:23:53 UTC, as sinfo of the same minute says.
    take_snapshot(tmp_path / "site", 90, lambda: 1_795_317_833.0)
    output, warned = ask(capsys, "forecast", "site")
    assert output.startswith("Now is 2026-11-22 03:23 ")
    assert "(snapshot.json beside queue.json): 2 jobs run on 10 of 16 nodes" in output
    assert "--order fcfs --backfilling 'slurm most=1000 window=604800 resolution=1'" in warned
