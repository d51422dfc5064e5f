"""Files of earlier versions: each is read as it was, or refused in the one sentence that docs/commands.md has.

``tests/fixtures/earlier`` holds what the commits that name its folders have written: 40e629e and 7642479 (0.1.0,
morning and afternoon of 2026-11-21) and 876dfa8 (0.2.0). The same ``jobs.csv`` was replayed by all of them.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

import holdfast as hf
from holdfast.experiments import cli
from holdfast.experiments.planning.cost_file import read_costs
from holdfast.experiments.planning.plan_inputs import read_plan
from holdfast.experiments.tables import read_csv
from holdfast.workloads.ground.errors import InputError
from tests.places import ROOT

EARLIER = ROOT / "tests" / "fixtures" / "earlier"
FIRST, LATER, SECOND = "40e629e", "7642479", "876dfa8"
VERSIONS = (FIRST, LATER, SECOND)
TIMELINE = "has no timeline-N-PAA.csv, which 'holdfast run --events' writes: run it again"
UNSEALED = "has no digest (earlier versions wrote none), so a change to it would not be noticed"


@pytest.fixture(params=VERSIONS)
def place(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the files of a version, in a directory of its name, as the current one."""
    copy = tmp_path / request.param
    shutil.copytree(EARLIER / request.param, copy)
    shutil.copy(EARLIER / "grid.toml", copy)
    monkeypatch.chdir(copy)
    return copy


def test_every_version_has_every_kind_of_file() -> None:
    assert {path.name for path in EARLIER.iterdir() if path.is_dir()} == set(VERSIONS)
    for version in VERSIONS:
        names = {path.relative_to(EARLIER / version).as_posix() for path in (EARLIER / version).rglob("*")}
        assert {"jobs.csv", "plan.json", "costs.json", "run/run.json", "sweep/sweep.json", "sweep/store"} <= names


def test_job_tables_are_read_and_replayed_as_before(place: Path) -> None:
    jobs = hf.read_job_table("jobs.csv").jobs
    result = hf.simulate(jobs, 4, "N-PAA")
    before = {row["job_id"]: row for row in read_csv(place / "run" / "jobs-N-PAA.csv")}
    assert len(before) == len(jobs) == 4
    for row in result.jobs.to_dict("records"):
        assert row["start"] == before[row["job_id"]]["start"]
        assert row["end"] == before[row["job_id"]]["end"]


@pytest.mark.parametrize(
    "words",
    [
        "explain run 3 --mechanism N-PAA",
        "gantt run -o a.html --mechanism N-PAA",
        "export run -o a.swf --mechanism N-PAA",
        "export run -o a.json --mechanism N-PAA",
        "explain run --worst 2 --mechanism N-PAA",
        "compare run:baseline run:N-PAA",
    ],
)
def test_results_are_read(place: Path, words: str, capsys: pytest.CaptureFixture[str]) -> None:
    needs_events = not words.startswith(("explain run --worst", "compare"))
    status = cli.main(words.split())
    error = capsys.readouterr().err
    if place.name == FIRST and needs_events:
        assert status == 2
        assert error == f"holdfast {words.split()[0]}: error: run: {TIMELINE}\n"
    else:
        assert (status, error) == (0, "")


def test_results_hold_what_they_held(place: Path) -> None:
    if place.name == FIRST:
        with pytest.raises(InputError, match=TIMELINE.split(",")[0]):
            hf.read_result("run", "N-PAA")
        return
    result = hf.read_result("run", "N-PAA")
    before = {row["job_id"]: row for row in read_csv(place / "run" / "jobs-N-PAA.csv")}
    rows = {row["job_id"]: row for row in result.jobs.to_dict("records")}
    assert {job: (row["start"], row["end"]) for job, row in rows.items()} == {
        job: (row["start"], row["end"]) for job, row in before.items()
    }
    # The event log is whole: it tells the same use of the nodes.
    assert hf.simulate(hf.read_job_table("jobs.csv").jobs, 4, "N-PAA").entries == result.entries


def test_plans_are_read_with_a_warning(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    document = json.loads((place / "plan.json").read_text())
    plan = read_plan("plan.json")
    assert plan.length.tolist() == [row["length"] for row in document["reservations"]]
    assert hf.ReservationPlan.from_json((place / "plan.json").read_text()) == plan
    capsys.readouterr()
    assert cli.main(["submit", "plan.json", "-o", "chain", "--nodes", "1", "--", "true"]) == 0
    assert capsys.readouterr().err == f"holdfast submit: warning: plan.json {UNSEALED}\n"


def test_costs_are_read_with_a_warning(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    costs = json.loads((place / "costs.json").read_text())["all"]
    assert read_costs("costs.json").costs_for(None) == (costs["alpha"], costs["beta"], costs["gamma"])
    capsys.readouterr()
    assert cli.main(["plan", "exponential", "--mean", "1h", "--n", "9", "--costs", "costs.json"]) == 0
    assert capsys.readouterr().err == f"holdfast plan: warning: costs.json {UNSEALED}\n"


def test_a_sweep_goes_on_in_their_directory(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = read_csv(place / "sweep" / "summary.csv")
    old = {path.name: path.read_bytes() for path in (place / "sweep" / "store").glob("*.json")}
    assert cli.main(["sweep", "grid.toml", "-o", "sweep", "--workers", "1"]) == 0
    assert "2 runs: 0 were stored, 2 done now, 0 failed" in capsys.readouterr().out
    after = read_csv(place / "sweep" / "summary.csv")
    # Two runs of the same names; what is stored by another model is computed anew, and stays.
    assert [row["mechanism"] for row in after] == [row["mechanism"] for row in before]
    assert {path.name: path.read_bytes() for path in (place / "sweep" / "store").glob("*.json")} == old
    assert cli.main(["sweep", "grid.toml", "-o", "sweep", "--workers", "1"]) == 0
    assert "2 were stored, 0 done now" in capsys.readouterr().out


def test_what_can_be_verified(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for words in ("plan.json", "costs.json", "jobs.csv", "sweep"):
        assert cli.main(["verify", words]) == 2, words
        assert "cannot be verified" in capsys.readouterr().err
    assert cli.main(["verify", "run"]) == (0 if place.name == SECOND else 2)
    assert ("intact" in capsys.readouterr().out) == (place.name == SECOND)
