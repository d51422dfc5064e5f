"""A twin of a Slurm that replays a simulated schedule has no drift and scores its forecasts; planted drift is found."""

from __future__ import annotations

import csv
import json
import lzma
import os
import signal
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from statistics import median
from typing import Any

import pytest

from holdfast.experiments import cli
from holdfast.experiments.output.signals import Interrupted, signal_listener
from holdfast.experiments.slurm import live_replay, live_twin
from holdfast.experiments.slurm.forecast_scores import ForecastScores
from holdfast.experiments.slurm.live_state import Drift, LiveState
from holdfast.experiments.slurm.live_twin import LiveTwin
from holdfast.experiments.slurm.queue_forecast import TwinOptions
from holdfast.experiments.slurm.site_snapshot import SNAPSHOT_FORMAT
from holdfast.experiments.slurm.submitted_jobs import generate_workload
from holdfast.policies.order import ORDERS
from holdfast.simulator.simulation import simulate
from holdfast.workloads.ground.errors import InputError
from holdfast.workloads.ground.units import to_seconds
from holdfast.workloads.logs.squeue import QueueRow
from holdfast.workloads.logs.trace import Trace
from holdfast.workloads.table.job import Job, JobType

BEGIN = 1_700_000_000
#: What squeue and sinfo of a lab printed in each minute of a day, and when.
DAY = Path(__file__).parents[2] / "fixtures" / "slurm-follow" / "day.jsonl.xz"


def waiting_row(number: int, submit: float, nodes: int = 1, priority: int = 0) -> QueueRow:
    return QueueRow(number, submit, None, nodes, 600.0, "ann", "bio", priority=priority)


def running_row(number: int, start: float, names: str, nodes: int = 1) -> QueueRow:
    return replace(waiting_row(number, start - 10, nodes), start=start, node_list=names)


def test_readings_become_submits_starts_and_ends() -> None:
    state = LiveState(4)
    assert state.update(
        [running_row(1, 100, "n[1-2]", 2), waiting_row(2, 110), waiting_row(3, 120)], 130
    ).submitted == (2, 3, 1)
    update = state.update([running_row(2, 150, "n1"), waiting_row(4, 140)], 190)
    assert update == ((4,), (2,), (1,), (3,))
    assert state.holders == {"n1": 2}
    (ended,) = state.ended
    assert (ended.start, ended.runtime, ended.wait) == (100, 90, 10)
    # Requeued and started again: the first run has ended.
    again = state.update([running_row(2, 195, "n3"), waiting_row(4, 140)], 200)
    assert (again.started, again.ended) == ((2,), (2,))
    assert state.holders == {"n3": 2}


def test_each_kind_of_drift_is_counted() -> None:
    state, fcfs = LiveState(4), ORDERS["fcfs"]
    nodes = {f"n{number}": "idle" for number in range(1, 5)}
    state.update([running_row(1, 100, "n1"), waiting_row(2, 110, priority=9), waiting_row(3, 120, priority=8)], 130)
    assert state.drift(130, nodes | {"n1": "idle"}, fcfs) == Drift(0, 0, 0)  # job 1 has just begun
    state.update([running_row(1, 100, "n1"), waiting_row(2, 110, priority=9), waiting_row(3, 120, priority=8)], 140)
    assert state.drift(130, nodes | {"n1": "allocated"}, fcfs) == Drift(0, 0, 0)
    assert not state.drift(130, nodes | {"n1": "completing", "n2": "completing"}, fcfs)
    # Slurm has allocated another node; once may be the time between the two commands.
    assert state.drift(130, nodes | {"n2": "allocated"}, fcfs) == Drift(0, 0, 0)
    assert state.drift(190, nodes | {"n2": "allocated"}, fcfs) == Drift(0, 2, 0)
    # 600 s after its start, and the two minutes that Slurm may take.
    assert state.drift(100 + 600 + 121, {}, None) == Drift(1, 0, 0)
    state.update(
        [
            running_row(1, 100, "n1"),
            running_row(5, 130, "n1"),
            waiting_row(2, 110, priority=7),
            waiting_row(3, 120, priority=8),
        ],
        140,
    )
    assert state.drift(140, {}, fcfs) == Drift(0, 1, 1)
    # A job on another node than before.
    state.update([running_row(1, 100, "n2"), running_row(5, 130, "n1")], 150)
    assert state.drift(150, {}, fcfs) == Drift(1, 0, 0)


def test_usage_of_ended_jobs_is_counted_once_and_decays() -> None:
    """Under fair share the account with less usage goes first; usage is worked out by hand, with a half-life of 600 s.

    Job 1 of account bio holds two nodes in the first 60 s: 2 x 60 node-seconds, hardly decayed. Job 5 of account sea
    holds three nodes in the next 60 s, and one of its own is more than what is left of bio then.
    """
    order = ORDERS["fairshare half_life=600"]
    state = LiveState(4)

    def pair(first: int, second: int) -> list[QueueRow]:
        bio = replace(waiting_row(2, 0, priority=first), account="bio")
        return [bio, replace(waiting_row(3, 0, priority=second), account="sea")]

    state.update([running_row(1, 1000, "n[1-2]", 2), *pair(8, 9)], 1030)
    assert state.drift(1030, {}, order) == Drift(0, 0, 0)  # sea has used nothing
    state.update([replace(running_row(5, 1060, "n[1-3]", 3), account="sea"), *pair(8, 9)], 1060)
    assert state.drift(1060, {}, order).order == 0
    for at in (1090, 1110):
        # Until job 5 has used more than the 120 node-seconds of job 1 that are left.
        state.update([replace(running_row(5, 1060, "n[1-3]", 3), account="sea"), *pair(8, 9)], at)
        assert state.drift(at, {}, order).order == (at == 1110)
    state.update(pair(9, 8), 1120)
    for at in (1120, 1120, 1720):
        assert state.drift(at, {}, order).order == 0


class Replayed:
    """A Slurm that does what a simulation did; nodes are given by their numbers, smallest first."""

    speed = 1.0

    def __init__(self, trace: Trace, nodes: int) -> None:
        self.clock = float(BEGIN)
        jobs = [
            Job(
                job.job_id,
                JobType.RIGID,
                submit=job.submit,
                nodes=job.nodes,
                runtime=job.runtime,
                walltime=job.walltime,
            )
            for job in trace.jobs
        ]
        self.jobs = {job.job_id: job for job in jobs}
        self.spans: dict[int, tuple[float, float]] = {}
        for record in simulate(jobs, nodes, backfilling="conservative", events=False).records:
            assert record.start is not None and record.end is not None
            self.spans[record.job_id] = to_seconds(record.start) + BEGIN, to_seconds(record.end) + BEGIN
        self.names: dict[int, list[str]] = {}
        changes = sorted(
            [(end, 0, job) for job, (_, end) in self.spans.items()]
            + [(at, 1, job) for job, (at, _) in self.spans.items()]
        )
        free = list(range(1, nodes + 1))
        for _, begins, job in changes:
            if begins:
                free.sort()
                self.names[job], free = [f"n{one}" for one in free[: jobs[job - 1].nodes]], free[jobs[job - 1].nodes :]
            else:
                free += [int(name[1:]) for name in self.names[job]]
        self.all = [f"n{number}" for number in range(1, nodes + 1)]
        self.fails = 0

    def now(self) -> float:
        return self.clock

    def outcomes(self, jobs: object) -> list[dict[str, Any]]:
        raise NotImplementedError

    def call(self, words: Sequence[str]) -> str:
        if self.fails:
            self.fails -= 1
            raise InputError("squeue failed: Unable to contact slurm controller")
        runs = {job for job, (start, end) in self.spans.items() if start <= self.clock < end}
        if words[0] == "sinfo":
            busy = {name for job in runs for name in self.names[job]}
            return "".join(f"{name}|{'allocated' if name in busy else 'idle'}\n" for name in self.all)
        head = "JOBID|STATE|SUBMIT_TIME|START_TIME|TIME_LIMIT|NODES|USER|ACCOUNT|REASON|NODELIST|CPUS|PRIORITY"
        lines = [head]
        for number, job in self.jobs.items():
            assert job.submit is not None
            start, end = self.spans[number]
            if BEGIN + job.submit <= self.clock < end:
                minutes = round(job.walltime / 60)
                # Its plan is two minutes late.
                state, at = ("RUNNING", f"{start:.0f}") if number in runs else ("PENDING", f"{start + 120:.0f}")
                fields = [
                    number,
                    state,
                    round(BEGIN + job.submit),
                    at,
                    f"{minutes}:00",
                    job.nodes,
                    "ann",
                    "bio",
                    "None",
                ]
                names = ",".join(self.names[number]) if number in runs else ""
                lines.append("|".join(map(str, [*fields, names, job.nodes, 10_000 - number])))
        return "\n".join(lines)


class AtOnce:
    """Makes forecasts before it returns."""

    def submit(self, task: Callable[[Any], Any], item: Any) -> Future[Any]:
        future: Future[Any] = Future()
        future.set_result(task(item))
        return future

    def stop(self, future: Future[Any]) -> None:
        raise NotImplementedError


@pytest.fixture
def new_twin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[LiveTwin, Replayed, Path, list[str]]:
    """A twin of eight nodes that has not read anything yet, with an empty past."""
    slurm, lines = Replayed(generate_workload(60, 8, 1.3, 3), 8), []

    def sleep(seconds: float) -> None:
        slurm.clock += seconds

    monkeypatch.setattr(live_twin.time, "sleep", sleep)
    options = TwinOptions(8, backfilling="conservative", draws=10)
    return LiveTwin(slurm, Trace((), 8), options, tmp_path, lines.append, AtOnce()), slurm, tmp_path, lines


def test_a_day_without_drift_and_with_scores(new_twin: tuple[LiveTwin, Replayed, Path, list[str]]) -> None:
    twin, slurm, folder, lines = new_twin
    twin.run(5 * 3600.0)
    with (folder / "readings.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 301
    assert {row[name] for row in rows for name in ("drift_jobs", "drift_nodes", "drift_order")} == {"0"}
    starts = [start for start, _ in slurm.spans.values() if BEGIN < start <= float(rows[-1]["at"])]
    assert sum(int(row["started"]) for row in rows) == len(starts) > 20
    # Each start is that of the schedule, and a forecast was made each hour in which a job waited.
    with (folder / "scores.csv").open() as file:
        scores = list(csv.DictReader(file))
    assert scores
    for score in scores:
        assert abs(float(score["start"]) - slurm.spans[int(score["job_id"])][0]) <= 1
        assert abs(float(score["error_s"]) - abs(float(score["start"]) - float(score["p50"]))) <= 1
        assert abs(float(score["slurm_error_s"]) - 120) <= 1
    assert 2 <= len(list(folder.glob("forecast-*.csv"))) <= 6
    assert any("in their 90 % interval, median error" in line for line in lines)


class Interrupting(AtOnce):
    """Gets the signal of a user between the start of a task and the answer, and never completes the task."""

    def __init__(self) -> None:
        self.given: list[Future[Any]] = []
        self.stopped: list[Future[Any]] = []

    def submit(self, task: Callable[[Any], Any], item: Any) -> Future[Any]:
        self.given.append(Future())
        os.kill(os.getpid(), signal.SIGINT)
        return self.given[0]

    def stop(self, future: Future[Any]) -> None:
        self.stopped.append(future)


def test_an_interruption_while_a_forecast_begins_stops_it(
    new_twin: tuple[LiveTwin, Replayed, Path, list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    twin, _, _, _ = new_twin
    background = Interrupting()
    monkeypatch.setattr(twin, "_background", background)
    with signal_listener(), pytest.raises(Interrupted):
        twin.run(5 * 3600.0)
    assert background.stopped == background.given
    assert len(background.given) == 1


def test_a_reading_that_fails_is_tried_again(new_twin: tuple[LiveTwin, Replayed, Path, list[str]]) -> None:
    twin, slurm, folder, lines = new_twin
    # Each reading tries five times.
    slurm.fails = 10
    twin.run(300.0)
    assert lines[:2] == ["squeue failed: Unable to contact slurm controller; reads again in 60 s"] * 2
    assert len((folder / "readings.csv").read_text().splitlines()) == 1 + 4


class Stored:
    """A Slurm that prints what one of a lab printed, at its times: twelve nodes, a day, 1,438 readings."""

    speed = 1.0

    def __init__(self) -> None:
        with lzma.open(DAY, "rt") as file:
            self.calls = [(at, name, text) for at, name, text in map(json.loads, file)]
        self.next = 0

    def now(self) -> float:
        """The time of the reading that comes next, or of the last one."""
        return float(self.calls[min(self.next, len(self.calls) - 1)][0])

    def outcomes(self, jobs: object) -> list[dict[str, Any]]:
        raise NotImplementedError

    def call(self, words: Sequence[str]) -> str:
        _, name, text = self.calls[self.next]
        assert name == words[0]
        self.next += 1
        return str(text)


class Starting:
    """A Slurm on which a job starts while squeue works."""

    speed = 1.0

    def __init__(self) -> None:
        self.clock = float(BEGIN)

    def now(self) -> float:
        return self.clock

    def outcomes(self, jobs: object) -> list[dict[str, Any]]:
        raise NotImplementedError

    def call(self, words: Sequence[str]) -> str:
        if words[0] == "sinfo":
            return "n1|allocated\nn2|idle\n"
        self.clock += 2
        head = "JOBID|STATE|SUBMIT_TIME|START_TIME|TIME_LIMIT|NODES|USER|ACCOUNT|REASON|NODELIST|CPUS|PRIORITY"
        return f"{head}\n1|RUNNING|{BEGIN - 9}|{BEGIN + 1}|1:00:00|1|ada|chem|None|n1|1|0\n"


def test_a_job_that_starts_while_squeue_works_runs(tmp_path: Path) -> None:
    twin = LiveTwin(Starting(), Trace((), 2), TwinOptions(2, draws=4), tmp_path, lambda _: None, AtOnce())
    assert twin.read() == (0, 0, 0)
    with (tmp_path / "readings.csv").open() as file:
        [row] = csv.DictReader(file)
    assert (row["at"], row["running"]) == (str(BEGIN + 1), "1")


def follow_slurm(slurm: Stored, folder: Path, forecast_every: float = 3600.0, draws: int = 4) -> list[dict[str, str]]:
    """Readings of a stored Slurm."""
    options = TwinOptions(12, draws=draws, forecast_every=forecast_every)
    twin = LiveTwin(slurm, Trace((), 12), options, folder, lambda _: None, AtOnce())
    while slurm.next < len(slurm.calls):
        twin.read()
    with (folder / "readings.csv").open() as file:
        return list(csv.DictReader(file))


@pytest.mark.system
def test_a_day_of_a_live_slurm_without_drift(tmp_path: Path) -> None:
    """The oracle takes jobs, times and plans from the lines of squeue by itself."""
    slurm = Stored()
    seen: dict[str, str] = {}
    plans: dict[tuple[int, str], str] = {}
    for at, name, text in slurm.calls:
        if name == "squeue":
            seen |= {line.split("|")[0]: line.split("|")[3] for line in text.splitlines() if "|RUNNING|" in line}
            waits = [line.split("|") for line in text.splitlines() if "|PENDING|" in line]
            plans |= {(round(at), cells[0]): cells[3] for cells in waits}
    starts = {int(job): datetime.fromisoformat(f"{at}+00:00").timestamp() for job, at in seen.items()}
    rows = follow_slurm(slurm, tmp_path)
    assert len(rows) == 1438
    assert float(rows[-1]["at"]) - float(rows[0]["at"]) > 24 * 3600
    assert {row[name] for row in rows for name in ("drift_jobs", "drift_nodes", "drift_order")} == {"0"}
    assert sum(int(row["started"]) for row in rows) == len(starts) == 199
    with (tmp_path / "scores.csv").open() as file:
        scores = list(csv.DictReader(file))
    assert len(scores) > 150
    assert all(float(score["start"]) == starts[int(score["job_id"])] for score in scores)
    assert all(float(score["forecast_at"]) < float(score["start"]) for score in scores)
    assert len(list(tmp_path.glob("forecast-*.csv"))) == 23
    for score in scores:
        plan = datetime.fromisoformat(f"{plans[int(score['forecast_at']), score['job_id']]}+00:00").timestamp()
        assert float(score["slurm_start"]) == max(plan, float(score["forecast_at"]))
    # Runtimes of past jobs forecast starts better than limits do.
    ours, theirs = (median(float(score[key]) for score in scores) for key in ("error_s", "slurm_error_s"))
    assert ours < 0.5 * theirs


@pytest.mark.system
def test_forecasts_of_a_live_day_are_corrected_by_earlier_ones(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Their intervals hold more of the starts than those of the simulation alone, which are too narrow."""

    def shares(folder: Path) -> tuple[float, float]:
        folder.mkdir()
        follow_slurm(Stored(), folder, draws=20)
        with (folder / "scores.csv").open() as file:
            scores = list(csv.DictReader(file))
        assert len(scores) > 150
        half, most = (sum(score[f"inside_{share}"] == "1" for score in scores) / len(scores) for share in (50, 90))
        return half, most

    corrected = shares(tmp_path / "corrected")
    monkeypatch.setattr(ForecastScores, "tests", lambda self, at: [])
    alone = shares(tmp_path / "alone")
    assert alone[1] < 0.82 < corrected[1]
    assert alone[0] < corrected[0]


def test_drift_that_is_planted_in_a_live_hour_is_found(tmp_path: Path) -> None:
    """In two successive readings sinfo calls a node down that a job has, which queue and nodes show apart."""
    slurm = Stored()
    slurm.calls = slurm.calls[600:720]
    for place in (61, 63):
        at, name, text = slurm.calls[place]
        assert name == "sinfo" and "n3|allocated" in text
        slurm.calls[place] = at, name, text.replace("n3|allocated", "n3|down")
    rows = follow_slurm(slurm, tmp_path, forecast_every=1e9)
    assert [number for number, row in enumerate(rows) if row["drift_nodes"] != "0"] == [31]


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["none.txt", "-o", "out", "--machine", "4"], "none.txt"),
        (["log.swf", "-o", "out"], "the size of the machine is not known: give --machine"),
        (["log.swf", "-o", "log.swf", "--machine", "4"], "log.swf: is there already"),
    ],
)
def test_what_cannot_be_followed(
    words: list[str], sentence: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("log.swf").write_text("1 0 5 60 4 -1 -1 4 90 -1 1 7 3 -1 -1 -1 -1 -1\n")
    assert cli.main(["slurm", "follow", *words]) == 2
    error = capsys.readouterr().err
    assert sentence in error
    assert error.count("\n") == 1
    assert not Path("out").exists()


def test_the_rules_that_a_snapshot_gives_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("site").mkdir()
    head = "JOBID|STATE|SUBMIT_TIME|START_TIME|TIME_LIMIT|NODES|USER|ACCOUNT|REASON|NODELIST|CPUS|PRIORITY\n"
    texts = {
        "queue.txt": head,
        "config.txt": "SchedulerType = sched/builtin\nPriorityType = priority/basic\n",
        "nodes.txt": "NodeName=n1 CPUTot=1\n   State=IDLE\n\n",
        "sacct.txt": "JobIDRaw|Submit|Start|End|ElapsedRaw|TimelimitRaw|NNodes|State|User|Account\n"
        f"1|{BEGIN - 900}|{BEGIN - 900}|{BEGIN - 800}|100|10|1|COMPLETED|ann|bio\n",
    }
    for name, text in texts.items():
        Path("site", name).write_text(text)
    commands = [{"file": name, "command": "", "at": BEGIN, "error": None} for name in texts]
    manifest = {"format": SNAPSHOT_FORMAT, "at": BEGIN, "commands": commands}
    Path("site", "snapshot.json").write_text(json.dumps(manifest))
    # An empty queue, and no node.
    monkeypatch.setattr(live_replay, "call", lambda words, environment: head if words[0] == "squeue" else "")
    assert cli.main(["slurm", "follow", "site", "-o", "out", "--for", "0"]) == 0
    assert "the configuration of site is taken: --order fcfs --backfilling none" in capsys.readouterr().err
    assert len(Path("out/readings.csv").read_text().splitlines()) == 2
