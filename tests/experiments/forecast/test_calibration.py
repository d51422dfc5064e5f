"""Rules fitted to recorded starts: the true one is found, errors are counted by hand, and answers quote them."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from holdfast.experiments import cli
from holdfast.experiments.forecast import calibration
from holdfast.experiments.forecast.calibration import RULES, QueueRule, calibrate, draw_weeks
from holdfast.experiments.forecast.log_cursor import Past
from holdfast.experiments.forecast.rule_file import read_rule
from holdfast.experiments.slurm.site_snapshot import SNAPSHOT_FORMAT
from holdfast.workloads.ground.errors import InputError
from holdfast.workloads.logs.trace import Trace
from holdfast.workloads.table.job import Job, JobType
from tests.experiments.forecast.test_forecasts import NODES, schedule_trace

DAY = 86_400.0


def bursts(days: int = 40, per_day: int = 8) -> list[Job]:
    """Each day a few jobs come at once, and have to wait."""
    rng = np.random.default_rng(5)
    jobs = []
    for number in range(days * per_day):
        walltime = float(rng.integers(600, 9000))
        runtime = max(1.0, round(walltime * rng.uniform(0.3, 1.0)))
        submit = DAY * (number // per_day) + 60.0 * (number % per_day)
        nodes = int(rng.choice([2, 4, 8, 12]))
        jobs.append(Job(number + 1, JobType.RIGID, submit, nodes, runtime, walltime, user=f"u{number % 3}"))
    return jobs


@pytest.fixture(scope="module")
def log() -> Trace:
    """A schedule by shortest job first with several reservations, on two partitions by name."""
    trace = schedule_trace(bursts(), order="sjf", backfilling="conservative")
    return replace(trace, jobs=tuple(replace(job, partition=f"p{job.job_id % 2}") for job in trace.jobs))


def test_the_true_rule_is_found(log: Trace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calibration, "ORDERS", ("fcfs", "sjf", "largest"))
    past = Past(log, NODES)
    weeks = draw_weeks(past, 20)
    # 36 of the 40 days follow the first tenth.
    assert len(weeks) == 5
    found = calibrate(past, weeks)
    factors = dict(found.tried)
    assert len(factors) == 3 * len(RULES)
    assert factors[QueueRule("sjf", "conservative")] == pytest.approx(1.0)
    assert factors[found.rule] == pytest.approx(1.0)
    assert found.rule.order == "sjf"
    assert factors[QueueRule("largest", "none")] > 1.5
    everyone, *groups = found.remaining
    assert (everyone.error, everyone.factor) == (0.0, pytest.approx(1.0))
    compared = np.concatenate([week.places for week in weeks[1::2]])
    waits = (past.starts - past.queued)[compared]
    assert (everyone.jobs, everyone.wait) == (len(compared), pytest.approx(waits.mean()))
    counts = {one.group: one.jobs for one in groups}
    assert counts["partition p0"] + counts["partition p1"] == len(compared)
    assert sum(counts[f"user u{number}"] for number in range(3)) == len(compared)
    assert sum(count for name, count in counts.items() if name.endswith(" nodes")) == len(compared)
    assert counts["1 to 3 nodes"] == sum(log.jobs[place].nodes == 2 for place in compared.tolist())


def test_errors_are_distances_and_factors() -> None:
    found = calibration._remainder("all", np.array([0.0, 60.0, 540.0]), np.array([60.0, 60.0, 240.0]))
    # Factors of the waits with a minute added: 2, 1 and 2.
    assert (found.jobs, found.wait, found.error) == (3, 120.0, 60.0)
    assert found.factor == pytest.approx(2 ** (2 / 3))


def test_a_short_log_is_refused(log: Trace) -> None:
    with pytest.raises(InputError, match=r"at least 2 weeks with recorded starts .* there are 1\.1 weeks"):
        draw_weeks(Past(replace(log, jobs=log.jobs[:80]), NODES), 20)
    with pytest.raises(InputError, match=r"there are 0\.0 weeks"):
        draw_weeks(Past(replace(log, jobs=tuple(replace(job, wait=None) for job in log.jobs)), NODES), 20)


def test_answers_quote_the_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, log: Trace
) -> None:
    monkeypatch.chdir(tmp_path)
    rows = [
        f"{job.job_id} {job.submit:.0f} {job.wait:.0f} {job.runtime:.0f} {job.nodes} -1 -1 {job.nodes} "
        f"{job.walltime:.0f} -1 1 7 3 -1 -1 -1 -1 -1"
        for job in log.jobs
    ]
    Path("a.swf").write_text(f"; MaxNodes: {NODES}\n" + "\n".join(rows) + "\n")
    monkeypatch.setattr(calibration, "ORDERS", ("fcfs", "sjf"))
    assert cli.main(["calibrate", "a.swf", "-o", "rule.json", "--workers", "1"]) == 0
    printed = capsys.readouterr().out
    rule = read_rule("rule.json")
    assert printed.startswith(f"{rule.words} agrees best with ")
    assert "all, FCFS with EASY" in printed
    words = "forecast a.swf --at 20d --nodes 16 --walltime 1h --draws 2 --workers 1 --backtests 0 --json f.json"
    assert cli.main([*words.split(), "--order", "rule.json"]) == 0
    sentence = f"rule.json is taken: {rule.words}; with true runtimes in weeks held out half of its starts are within"
    assert capsys.readouterr().err.count(sentence) == 1
    (assumption, *_) = json.loads(Path("f.json").read_text())["assumptions"]
    assert assumption.startswith(sentence)
    # The rule of the file is that of the options.
    first = json.loads(Path("f.json").read_text())["jobs"]
    assert cli.main([*words.split(), "--order", rule.order, "--backfilling", rule.backfilling]) == 0
    assert json.loads(Path("f.json").read_text())["jobs"] == first
    advice = "advise a.swf --at 20d --nodes 16 --walltime 1h --draws 2 --workers 1 --backtests 0 --order rule.json"
    capsys.readouterr()
    assert cli.main(advice.split()) == 0
    assert capsys.readouterr().err.count(sentence) == 1
    assert cli.main([*words.split(), "--order", "rule.json", "--backfilling", "easy"]) == 2
    assert "gives the backfilling rule, too: leave out --backfilling" in capsys.readouterr().err
    for text in ("{}", "[]", '{"kind": "fitted rule", "options": {"order": 1}}', "x"):
        Path("bad.json").write_text(text)
        assert cli.main([*words.split(), "--order", "bad.json"]) == 2
        assert "--order bad.json must be an order, or a file that 'holdfast calibrate -o'" in capsys.readouterr().err
    assert cli.main(["calibrate", "a.swf", "--weeks", "1"]) == 2
    assert "--weeks" in capsys.readouterr().err


def test_a_snapshot_gives_the_log_and_the_size(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, log: Trace
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(calibration, "ORDERS", ("fcfs",))
    outputs = {
        "sacct.txt": sacct_text(log),
        "nodes.txt": "".join(f"NodeName=n{n} CPUTot=1\n   State=IDLE\n\n" for n in range(NODES)),
    }
    Path("site").mkdir()
    for name, text in outputs.items():
        Path("site", name).write_text(text)
    commands = [{"file": name, "command": "", "at": 1, "error": None} for name in outputs]
    Path("site", "snapshot.json").write_text(json.dumps({"format": SNAPSHOT_FORMAT, "at": 1, "commands": commands}))
    assert cli.main(["calibrate", "site/sacct.txt", "--machine", str(NODES), "--workers", "1"]) == 0
    by_hand = capsys.readouterr().out
    assert "agrees best with" in by_hand
    assert cli.main(["calibrate", "site", "--workers", "1"]) == 0
    assert capsys.readouterr().out == by_hand


def sacct_text(log: Trace) -> str:
    """A log as sacct prints it, from a Monday on."""
    lines = ["JobIDRaw|Submit|Start|End|ElapsedRaw|TimelimitRaw|NNodes|State|User|Account"]
    for job in log.jobs:
        submit = 1_699_833_600 + job.submit
        start = submit + (job.wait or 0.0)
        times = f"{submit:.0f}|{start:.0f}|{start + job.runtime:.0f}|{job.runtime:.0f}|{job.walltime // 60 + 1:.0f}"
        lines.append(f"{job.job_id}|{times}|{job.nodes}|COMPLETED|{job.user}|bio")
    return "\n".join(lines) + "\n"
