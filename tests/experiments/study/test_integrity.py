"""``holdfast verify``: every changed byte of a result, a store, an archive, a plan and costs is told."""

from __future__ import annotations

import random
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from holdfast.experiments import cli
from holdfast.experiments.planning.cost_file import read_costs
from holdfast.experiments.planning.plan_inputs import read_plan
from holdfast.experiments.study.artefact import write_artefact
from holdfast.experiments.study.experiment import find_experiment, measure_experiment
from holdfast.experiments.study.integrity import checks
from holdfast.experiments.sweeps import make_sweep, run_sweep
from holdfast.policies.planning.plan import ReservationPlan
from holdfast.workloads.ground.errors import InputError
from tests.support.seals import remove_seal, sealed_again

TABLE = "job_id,type,submit,nodes,runtime,walltime\n" + "".join(
    f"{job},rigid,{40 * job},{1 + job % 3},{300 + 17 * job % 200},{600 + 100 * (job % 4)}\n" for job in range(16)
)


@pytest.fixture(scope="module")
def originals(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("originals")
    (place / "jobs.csv").write_text(TABLE)
    run = ["run", str(place / "jobs.csv"), "-o", str(place / "run"), "--nodes", "4", "--mechanism", "baseline"]
    assert cli.main([*run, "--events"]) == 0
    distribution = ["plan", "uniform", "--min", "1h", "--max", "3h", "--n", "9"]
    assert cli.main([*distribution, "--json", str(place / "plan.json")]) == 0
    assert cli.main(["fit-costs", str(place / "run"), "-o", str(place / "costs.json"), "--classes", "2"]) == 0
    run_sweep(make_sweep(workload={"seeds": "0:2", "jobs": 30}, mechanisms="baseline"), place / "sweep", workers=1)
    (place / "experiments").mkdir()
    item = find_experiment("checkpoint-fig3")
    measure_experiment(item, item.quick, 0, place / "experiments", "0")
    write_artefact(place / "experiments", [item.id], place / "a.zip")
    return place


@pytest.fixture
def place(originals: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    shutil.copytree(originals, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path


#: What can be verified, and the files of which a changed byte must be told.
SEALED = {
    "run": "run/*.csv",
    "run/run.json": "run/run.json",
    "run/jobs-baseline.csv": "run/jobs-baseline.csv",
    "sweep": "sweep/*.csv",
    "sweep/store": "sweep/store/*.jsonl",
    "experiments": "experiments/checkpoint-fig3*.[cj]s*",
    "a.zip": "a.zip",
    "plan.json": "plan.json",
    "costs.json": "costs.json",
}


def test_what_is_intact(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["verify", *SEALED]) == 0
    captured = capsys.readouterr()
    assert not captured.err
    lines = captured.out.splitlines()
    assert all(line.endswith(": intact") for line in lines)
    tables = len(list((place / "run").glob("*.csv")))
    assert f"run/run.json and {tables} tables: intact" in lines
    assert "sweep/store: 2 stored runs: intact" in lines
    assert "a.zip: checkpoint-fig3.json and 2 tables: intact" in lines


@pytest.mark.parametrize("name", SEALED)
@pytest.mark.parametrize("times", [10, pytest.param(300, marks=pytest.mark.slow)])
def test_a_changed_byte_is_reported(name: str, times: int, place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rng = random.Random(name)
    files = sorted(path for path in place.glob(SEALED[name]) if "verdicts" not in path.name)
    assert files
    unnoticed = 0
    for _ in range(times):
        path = rng.choice(files)
        before = path.read_bytes()
        at = rng.randrange(len(before))
        path.write_bytes(before[:at] + bytes([before[at] ^ (1 << rng.randrange(8))]) + before[at + 1 :])
        capsys.readouterr()
        status = cli.main(["verify", name])
        captured = capsys.readouterr()
        # Of an archive the dates and rights of its members matter to nobody.
        unnoticed += status == 0
        if status == 1:
            assert "DIFFERS" in captured.out
            assert not captured.err
        path.write_bytes(before)
    assert unnoticed <= (times // 2 if name == "a.zip" else 0)
    assert cli.main(["verify", name]) == 0


@pytest.mark.parametrize("read", [read_plan, lambda path: ReservationPlan.from_json(Path(path).read_text())])
def test_every_changed_byte_of_a_plan_is_refused(read: Callable[[str], object], place: Path) -> None:
    _refuses_every_byte(place / "plan.json", lambda: read("plan.json"))


def test_every_changed_byte_of_costs_is_refused(place: Path) -> None:
    _refuses_every_byte(place / "costs.json", lambda: read_costs("costs.json"))


def _refuses_every_byte(path: Path, read: Callable[[], object]) -> None:
    read()
    before, rng = path.read_bytes(), random.Random(0)
    # Each byte of both ends, where the seal is, and some of those between them.
    ends = [*range(60), *range(len(before) - 100, len(before))]
    for at in (*ends, *rng.sample(range(60, len(before) - 100), 100)):
        path.write_bytes(before[:at] + bytes([before[at] ^ (1 << rng.randrange(7))]) + before[at + 1 :])
        with pytest.raises(InputError):
            read()
    for at in rng.sample(range(len(before)), 40):
        for other in (before[:at], before[:at] + before[at + 1 :], before[:at] + before[at : at + 9] + before[at:]):
            path.write_bytes(other)
            with pytest.raises(InputError):
                read()
    lines = before.splitlines(keepends=True)
    for at in range(len(lines)):
        path.write_bytes(b"".join(lines[:at] + lines[at + 1 :]))
        with pytest.raises(InputError):
            read()


def test_a_document_without_a_seal(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name, words in (
        ("plan.json", "submit plan.json -o chain --nodes 1 -- true"),
        ("costs.json", "plan exponential --mean 1h --n 9 --costs costs.json"),
    ):
        path = place / name
        text = path.read_text()
        assert sealed_again(text) == text
        path.write_text(remove_seal(text))
        capsys.readouterr()
        assert cli.main(words.split()) == 0
        lines = capsys.readouterr().err.splitlines()
        assert lines == [
            f"holdfast {words.split()[0]}: warning: {name} has no digest (earlier versions wrote none), so a change to "
            "it would not be noticed"
        ]
        assert cli.main(["verify", name]) == 2
        assert "cannot be verified" in capsys.readouterr().err


def test_what_is_lost_is_reported(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (place / "run" / "types.csv").unlink()
    assert cli.main(["verify", "run"]) == 1
    assert "run/types.csv: is missing (run.json names its SHA-256)" in capsys.readouterr().out
    store = next((place / "sweep" / "store").glob("*.jsonl"))
    lines = store.read_bytes().splitlines(keepends=True)
    store.write_bytes(b"".join([*lines, lines[0]]))
    assert cli.main(["verify", "sweep"]) == 1
    assert "has lost or gained lines" in capsys.readouterr().out
    # Another file in the directory is nobody's.
    (place / "experiments" / "notes.json").write_text('{"mine": 1}')
    assert cli.main(["verify", "experiments"]) == 0


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("jobs.csv", "jobs.csv cannot be verified: files of earlier versions, job tables and logs have no digests"),
        ("nowhere", "nowhere: no such file or directory"),
        ("empty", "empty: contains nothing that Holdfast writes with digests"),
    ],
)
def test_what_cannot_be_verified(name: str, sentence: str, place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (place / "empty").mkdir()
    assert cli.main(["verify", name]) == 2
    assert capsys.readouterr().err == f"holdfast verify: error: {sentence}\n"


def test_a_fault_counts_more_than_what_has_no_digest(place: Path) -> None:
    (place / "plan.json").write_text(remove_seal((place / "plan.json").read_text()))
    (place / "costs.json").write_text("{")
    assert [item.sealed for item in checks(place / "plan.json")] == [False]
    assert cli.main(["verify", "plan.json", "costs.json"]) == 1
