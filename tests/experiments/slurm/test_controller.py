"""Mechanisms on a Slurm: the same decisions as in a simulation, and the commands that carry them out."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from holdfast.experiments import cli
from holdfast.experiments.slurm import actuator, control_loop, live_replay
from holdfast.experiments.slurm.actuator import Actuator
from holdfast.experiments.slurm.control_loop import serve
from holdfast.experiments.slurm.numbered_nodes import node_list, node_numbers
from holdfast.experiments.slurm.outcome_comparison import concurrence, concurrence_summary, concurrence_table
from holdfast.policies.mechanism import parse_mechanism
from holdfast.simulator.machine.event_log import Entry
from holdfast.simulator.options import Options
from holdfast.simulator.simulation import simulate
from holdfast.workloads.ground.errors import InputError
from holdfast.workloads.table.job import Job, JobType
from holdfast.workloads.table.job_table import read_job_table
from tests.experiments.slurm.served_tables import random_served_table
from tests.support.fake_slurm import FakeJob, FakeSlurm

MECHANISMS = [f"{notice}-{arrival}" for notice in ("N", "CUA", "CUP") for arrival in ("PAA", "SPAA")]
TABLE = Path(__file__).parents[3] / "docs" / "examples" / "slurm" / "urgent.csv"


def serve_jobs(
    monkeypatch: pytest.MonkeyPatch,
    folder: Path,
    jobs: Sequence[Job],
    name: str,
    nodes: int = 8,
    grace: float = 0.0,
    slurm: FakeSlurm | None = None,
) -> tuple[FakeSlurm, Actuator, list[Entry], list[Entry]]:
    """What happened on a fake Slurm, and in a simulation."""
    slurm = slurm or FakeSlurm(nodes)
    nodes = len(slurm.everything)
    for module in (actuator, control_loop):
        monkeypatch.setattr(module.time, "sleep", slurm.sleep)
    commands = Actuator(slurm, folder, saves=False, log=lambda line: None)
    mechanism = parse_mechanism(name)
    assert mechanism is not None
    recorded: list[Entry] = []

    def record(entries: list[Entry]) -> None:
        recorded[:] = entries

    entries = serve(
        slurm, commands, jobs, nodes, mechanism, Options(), grace=grace, log=lambda line: None, record=record
    )
    assert recorded in (entries, [])  # none: it had been recorded before a kill
    return slurm, commands, entries, list(simulate(jobs, nodes, name, backfilling="none").entries)


@pytest.mark.parametrize("name", ["CUA-SPAA", "CUA-PAA", "N-SPAA", "CUP-PAA"])
def test_the_same_happens_as_in_a_simulation(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    jobs = read_job_table(TABLE).jobs
    slurm, commands, entries, simulated = serve_jobs(monkeypatch, tmp_path, jobs, name)
    rows = concurrence(entries, simulated, 150)
    # The fake Slurm is looked at every 15 s of its clock, and may start a victim before that gets its nodes back.
    corrected = {entry.job_id for entry in entries if entry.cause == "as Slurm has it"}
    assert len(corrected) <= 1
    for row in rows:
        if row["job_id"] in corrected:
            continue
        assert row["difference_s"] is not None, row
        assert abs(row["difference_s"]) < 150, row
        assert row["slurm_nodes"] == row["simulator_nodes"], row
    assert not commands.refused
    assert slurm.reserved is None
    assert not [job for job in slurm.jobs.values() if job.state in ("RUNNING", "PENDING")]
    shrinks = [
        words for words in slurm.calls if words[0] == "scontrol" and any(w.startswith("NodeList=") for w in words)
    ]
    assert bool(shrinks) == name.endswith("SPAA")


def test_victims_are_signalled_before_they_are_requeued(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    jobs = [
        Job(1, JobType.RIGID, submit=0, nodes=4, runtime=3600, walltime=3600),
        Job(2, JobType.ON_DEMAND, submit=600, nodes=2, runtime=300, walltime=600),
    ]
    slurm, _, entries, _ = serve_jobs(monkeypatch, tmp_path, jobs, "N-PAA", nodes=4, grace=120.0)
    words = [" ".join(call) for call in slurm.calls]
    signalled, requeued = words.index("scancel --batch --signal=USR1 1"), words.index("scontrol requeue 1")
    assert signalled < requeued
    start = next(entry for entry in entries if (entry.job_id, entry.event) == (2, "start"))
    assert 720e6 <= start.time <= 800e6
    # It comes back as soon as the lender may: on the same nodes, and before anything else.
    assert [entry.event for entry in entries if entry.job_id == 1] == [
        "start",
        "preempt",
        "requeue",
        "start",
        "complete",
    ]


def test_a_job_that_does_not_fit_waits_first_in_the_queue(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    jobs = [
        Job(1, JobType.ON_DEMAND, submit=0, nodes=3, runtime=900, walltime=900),
        Job(2, JobType.RIGID, submit=60, nodes=4, runtime=600, walltime=600),
        Job(3, JobType.ON_DEMAND, submit=300, nodes=3, runtime=300, walltime=600),
    ]
    slurm, _, entries, _ = serve_jobs(monkeypatch, tmp_path, jobs, "CUA-PAA", nodes=4)
    events = [(entry.job_id, entry.event) for entry in entries]
    assert (
        events.index((3, "wait"))
        < events.index((1, "complete"))
        < events.index((3, "start"))
        < events.index((2, "start"))
    )
    assert any(word.startswith("Priority=") for call in slurm.calls for word in call)


def test_what_slurm_refuses_is_reported_and_the_rest_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    jobs = read_job_table(TABLE).jobs
    monkeypatch.setattr(FakeSlurm, "_salloc", lambda *_: (_ for _ in ()).throw(InputError("salloc failed: no")))
    (tmp_path / "grow").mkdir()
    _, commands, entries, _ = serve_jobs(monkeypatch, tmp_path / "grow", jobs, "CUA-SPAA")
    assert "salloc failed: no" in commands.refused[0]
    # The shadow follows Slurm: the job has the nodes that it really has.
    assert ("expand", "as Slurm has it") not in [(entry.event, entry.cause) for entry in entries]
    assert ("shrink", "as Slurm has it") in [(entry.event, entry.cause) for entry in entries]
    # A job that Slurm does not take is left out; the others are done.
    slurm = FakeSlurm(8, refuses=lambda words: words[0] == "sbatch" and words[words.index("-J") + 1] == "job-2")
    (tmp_path / "submit").mkdir()
    slurm, _, entries, _ = serve_jobs(monkeypatch, tmp_path / "submit", jobs, "CUA-SPAA", slurm=slurm)
    assert {job.name for job in slurm.jobs.values() if job.state == "COMPLETED"} == {
        f"job-{number}" for number in (1, 3, 4, 5, 6, 7)
    }
    assert [entry.job_id for entry in entries if entry.event == "cancel"] == [2]


def test_a_malleable_job_on_a_node_that_is_held_is_sent_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Slurm starts job 2 on nodes that job 1 has just left, before they are reserved for the on-demand job 3."""
    jobs = [
        Job(1, JobType.RIGID, submit=0, nodes=4, runtime=3600, walltime=7200, checkpoint_interval=600),
        Job(2, JobType.MALLEABLE, submit=30, nodes=4, min_nodes=1, runtime=1200, walltime=2400),
        Job(3, JobType.ON_DEMAND, submit=600, nodes=4, runtime=300, walltime=600),
    ]

    class Hasty(FakeSlurm):
        """Slurm that ignores the reservation of the first seconds after a requeue."""

        def _requeue(self, job: FakeJob) -> None:
            super()._requeue(job)
            held, self.reserved = self.reserved, set()
            self._settle()
            self.reserved = held

    slurm = Hasty(4, delay=121.0)
    slurm, commands, entries, _ = serve_jobs(monkeypatch, tmp_path, jobs, "N-PAA", slurm=slurm)
    malleable, urgent = (next(job for job in slurm.jobs.values() if job.name == f"job-{n}") for n in (2, 3))
    assert ["scontrol", "requeue", str(malleable.number)] in slurm.calls
    assert 600 <= urgent.start - 1_000_060 <= 700
    assert [job.state for job in slurm.jobs.values()] == ["COMPLETED"] * 3
    assert next(entry.job_id for entry in entries if entry.event == "complete") == 3
    assert not commands.refused


def test_another_node_is_chosen_for_one_that_cannot_be_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    jobs = [
        Job(1, JobType.RIGID, submit=0, nodes=1, runtime=60, walltime=600),
        Job(2, JobType.ON_DEMAND, submit=60, nodes=2, runtime=300, walltime=600),
    ]
    slurm = FakeSlurm(4)
    slurm.down = {2}
    slurm, _, _, _ = serve_jobs(monkeypatch, tmp_path, jobs, "N-PAA", nodes=4, slurm=slurm)
    urgent = next(job for job in slurm.jobs.values() if job.name == "job-2")
    assert urgent.state == "COMPLETED"
    assert 2 not in urgent.nodes


class Killed(BaseException):
    """The controller's process is killed."""


def served_randomly(monkeypatch: pytest.MonkeyPatch, folder: Path, seed: int, *, kills: int) -> FakeSlurm:
    """A random table on a slow fake Slurm that refuses some commands; the controller is killed between others."""
    jobs, nodes = random_served_table(seed)
    name = MECHANISMS[seed % 6]
    random = np.random.default_rng([seed, 1])
    slurm = FakeSlurm(nodes, latency=2.0, completing=8.0, delay=121.0, refuses=lambda words: random.random() < 0.03)
    real, left = slurm.call, [0]

    def call(words: Sequence[str]) -> str:
        left[0] -= 1
        if left[0] == 0:
            if random.random() < 0.5:
                real(words)  # it is carried out, and nobody hears of it
            raise Killed
        assert slurm.clock < 1_100_000, "it does not end"
        return real(words)

    slurm.call = call  # type: ignore[method-assign]
    monkeypatch.setattr(live_replay.time, "sleep", lambda seconds: None)
    for rest in reversed(range(kills + 1)):
        left[0] = int(random.integers(5, 200)) if rest else 0
        try:
            serve_jobs(monkeypatch, folder, jobs, name, grace=60.0, slurm=slurm)
        except (Killed, InputError):
            slurm.sleep(float(random.uniform(0, 2)))
        else:
            break
    return slurm


@pytest.mark.parametrize(
    "seeds",
    [pytest.param(range(6), marks=pytest.mark.system), pytest.param(range(6, 20), marks=pytest.mark.slow)],
    ids=["six", "fourteen"],
)
@pytest.mark.parametrize("kills", [0, 6])
def test_random_tables_are_served_to_the_end(
    seeds: range, kills: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Tables under all six mechanisms: every job is done once, every lender resumes, nothing stays reserved."""
    lenders = 0
    for seed in seeds:
        folder = tmp_path / str(seed)
        folder.mkdir()
        slurm = served_randomly(monkeypatch, folder, seed, kills=kills)
        table = {f"job-{job.job_id}": job for job in random_served_table(seed).jobs if job.submit is not None}
        done = [job for job in slurm.jobs.values() if job.name in table]
        assert sorted(job.name for job in done) == sorted(table)
        assert {job.state for job in done} == {"COMPLETED"}
        assert all(job.runs == 1 for job in done if table[job.name].type is JobType.ON_DEMAND)
        assert slurm.reserved is None
        lenders += sum(job.runs > 1 or len(set(job.sizes)) > 1 for job in done)
    assert lenders > len(seeds)


def test_a_controller_that_was_killed_goes_on_as_if_it_had_not_been(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    jobs = read_job_table(TABLE).jobs
    (tmp_path / "whole").mkdir()
    _, _, whole, _ = serve_jobs(monkeypatch, tmp_path / "whole", jobs, "CUP-SPAA")
    (tmp_path / "killed").mkdir()
    slurm = FakeSlurm(8)
    real = slurm.call

    def call(words: Sequence[str]) -> str:
        if len(slurm.calls) % 100 == 99:
            slurm.calls.append([])
            raise Killed
        return real(words)

    slurm.call = call  # type: ignore[method-assign]
    killed: list[Entry] | None = None
    times = 0
    while killed is None:
        try:
            _, _, killed, _ = serve_jobs(monkeypatch, tmp_path / "killed", jobs, "CUP-SPAA", slurm=slurm)
        except Killed:
            times += 1
    assert times > 3
    assert [entry[1:] for entry in killed] == [entry[1:] for entry in whole]
    assert max(abs(one.time - other.time) for one, other in zip(killed, whole, strict=True)) <= 60e6


def test_a_journal_of_another_replay_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    jobs = read_job_table(TABLE).jobs
    serve_jobs(monkeypatch, tmp_path, jobs, "N-PAA")
    with pytest.raises(InputError, match="is of another job table, mechanism or options; take a new directory"):
        serve_jobs(monkeypatch, tmp_path, jobs, "N-SPAA")
    (tmp_path / "journal").write_text("nothing\n")
    with pytest.raises(InputError, match="is not the journal of serve-on-demand"):
        serve_jobs(monkeypatch, tmp_path, jobs, "N-PAA")


def test_events_side_by_side() -> None:
    def entry(time: float, event: str, job: int, after: int) -> Entry:
        return Entry(round(time * 1e6), event, job, 0, after, "")

    slurm = [entry(3, "start", 1, 4), entry(100, "kill", 1, 0), entry(5, "start", 2, 3)]
    simulator = [
        entry(0, "submit", 1, 0),
        entry(0, "start", 1, 4),
        entry(90, "complete", 1, 0),
        entry(5, "start", 2, 4),
    ]
    rows = concurrence(slurm, [*simulator, entry(200, "shrink", 1, 1)], 5.0)
    assert [(row["job_id"], row["event"], row["difference_s"], row["comparison"]) for row in rows] == [
        (1, "start", 3, "equal"),
        (2, "start", 0, "different"),
        (1, "complete", 10, "late"),
        (1, "shrink", None, "different"),
    ]
    summary = "1 of 4 events are equal within 5 s, 1 late, 2 different, of which 1 on one side alone"
    assert concurrence_summary(rows, 5.0) == summary
    assert "shrink" in concurrence_table(rows)


def test_node_lists() -> None:
    assert node_numbers("n[1-3,7]") == {1, 2, 3, 7}
    assert node_numbers("n9") == {9}
    assert node_numbers("") == node_numbers("n[3-1]") == node_numbers("a1,b2") == set()
    assert node_list({3, 12, 1}) == "n1,n3,n12"


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["serve-on-demand", str(TABLE)], "holdfast slurm serve-on-demand: "),
        (["serve-on-demand", str(TABLE), "--mechanism", "CUB-PAA"], "did you mean CUP-PAA"),
        (["serve-on-demand", str(TABLE), "--mechanism", "baseline"], "serves no on-demand jobs"),
        (["serve-on-demand", str(TABLE), "--grace", "-5"], "--grace must be a duration"),
        (["stochastic", "--applications", "Foo"], "unknown application 'Foo'"),
        (["stochastic", "--strategies", "best"], "unknown strategy 'best'"),
        (["stochastic", "--jobs", "0"], "--jobs must be"),
        (["stochastic"], "holds no lab"),
    ],
)
def test_what_cannot_be_done_is_refused(
    words: list[str],
    sentence: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert cli.main(["slurm", *words, "-o", "out"]) == 2
    error = capsys.readouterr().err
    assert sentence in error
    assert error.count("\n") == 1
    assert not list(tmp_path.iterdir())
