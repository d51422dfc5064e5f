"""Mechanisms on a Slurm: the same decisions as in a simulation, and the commands that carry them out."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from experiments import cli
from experiments.slurm import controller
from experiments.slurm.actuator import Steering
from experiments.slurm.controller import serve
from experiments.slurm.numbered_nodes import node_list, node_numbers
from experiments.slurm.outcome_comparison import concurrence, concurrence_summary, concurrence_table
from policies.mechanism import parse_mechanism
from simulator.machine.event_log import Entry
from simulator.options import Options
from simulator.simulation import simulate
from tests.support.fake_slurm import FakeSlurm
from workloads.ground.errors import InputError
from workloads.table.job import Job, JobType
from workloads.table.job_table import read_job_table

TABLE = Path(__file__).parents[3] / "docs" / "examples" / "slurm" / "urgent.csv"


def served(
    monkeypatch: pytest.MonkeyPatch, folder: Path, jobs: Sequence[Job], name: str, nodes: int = 8, grace: float = 0.0
) -> tuple[FakeSlurm, Steering, list[Entry], list[Entry]]:
    """What happened on a fake Slurm, and in a simulation."""
    slurm = FakeSlurm(nodes)
    monkeypatch.setattr(controller.time, "sleep", slurm.sleep)
    steering = Steering(slurm, folder, saves=False, log=lambda line: None)
    mechanism = parse_mechanism(name)
    assert mechanism is not None
    entries = serve(slurm, steering, jobs, nodes, mechanism, Options(), grace=grace, log=lambda line: None)
    return slurm, steering, entries, list(simulate(jobs, nodes, name, backfilling="none").entries)


@pytest.mark.parametrize("name", ["CUA-SPAA", "CUA-PAA", "N-SPAA", "CUP-PAA"])
def test_the_same_happens_as_in_a_simulation(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    jobs = read_job_table(TABLE).jobs
    slurm, steering, entries, simulated = served(monkeypatch, tmp_path, jobs, name)
    rows = concurrence(entries, simulated)
    # The fake Slurm is looked at every 15 s of its clock, and may start a victim before that gets its nodes back.
    corrected = {entry.job_id for entry in entries if entry.cause == "as Slurm has it"}
    assert len(corrected) <= 1
    for row in rows:
        if row["job_id"] in corrected:
            continue
        assert row["difference_s"] is not None, row
        assert abs(row["difference_s"]) < 150, row
        assert row["slurm_nodes"] == row["simulator_nodes"], row
    assert not steering.refused
    assert slurm.reserved is None
    assert not [job for job in slurm.jobs.values() if job.state in ("RUNNING", "PENDING")]
    shrinks = [
        words for words in slurm.calls if words[0] == "scontrol" and any(w.startswith("NodeList=") for w in words)
    ]
    assert bool(shrinks) == name.endswith("SPAA")


def test_victims_are_told_before_they_are_requeued(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    jobs = [
        Job(1, JobType.RIGID, submit=0, nodes=4, runtime=3600, walltime=3600),
        Job(2, JobType.ON_DEMAND, submit=600, nodes=2, runtime=300, walltime=600),
    ]
    slurm, _, entries, _ = served(monkeypatch, tmp_path, jobs, "N-PAA", nodes=4, grace=120.0)
    words = [" ".join(call) for call in slurm.calls]
    told, requeued = words.index("scancel --batch --signal=USR1 1"), words.index("scontrol requeue 1")
    assert told < requeued
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
    slurm, _, entries, _ = served(monkeypatch, tmp_path, jobs, "CUA-PAA", nodes=4)
    events = [(entry.job_id, entry.event) for entry in entries]
    assert (
        events.index((3, "wait"))
        < events.index((1, "complete"))
        < events.index((3, "start"))
        < events.index((2, "start"))
    )
    assert any(word.startswith("Priority=") for call in slurm.calls for word in call)


def test_what_slurm_refuses_is_kept_and_a_refused_submit_ends_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    jobs = read_job_table(TABLE).jobs
    monkeypatch.setattr(FakeSlurm, "_salloc", lambda *_: (_ for _ in ()).throw(InputError("salloc failed: no")))
    _, steering, entries, _ = served(monkeypatch, tmp_path, jobs, "CUA-SPAA")
    assert "salloc failed: no" in steering.refused[0]
    # The mirror follows Slurm: the job has the nodes that it really has.
    assert ("expand", "as Slurm has it") not in [(entry.event, entry.cause) for entry in entries]
    assert ("shrink", "as Slurm has it") in [(entry.event, entry.cause) for entry in entries]
    monkeypatch.setattr(FakeSlurm, "_sbatch", lambda *_: (_ for _ in ()).throw(InputError("sbatch failed: no")))
    with pytest.raises(InputError, match=r"job 1 cannot be submitted: .*sbatch failed: no"):
        served(monkeypatch, tmp_path, jobs, "CUA-SPAA")


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
    rows = concurrence(slurm, [*simulator, entry(200, "shrink", 1, 1)])
    assert [(row["job_id"], row["event"], row["difference_s"]) for row in rows] == [
        *((1, "start", 3), (2, "start", 0), (1, "complete", 10), (1, "shrink", None))
    ]
    told = "1 of 4 events are the same within 5 s; 2 differ in time or nodes, 1 are on one side alone"
    assert concurrence_summary(rows, 5.0) == told
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
def test_what_cannot_be_done_is_told(
    words: list[str],
    sentence: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert cli.main(["slurm", *words, "-o", "out"]) == 2
    told = capsys.readouterr().err
    assert sentence in told
    assert told.count("\n") == 1
    assert not list(tmp_path.iterdir())
