"""``holdfast run`` with outages: what it writes, that it can be repeated, and how it refuses."""

from __future__ import annotations

import csv
import json
from itertools import pairwise
from pathlib import Path

import pytest

from holdfast.experiments import cli
from holdfast.simulator import simulate
from holdfast.simulator.results.catalogue import SUMMARY_COLUMNS, Group, columns
from holdfast.workloads.ground.units import SECOND
from holdfast.workloads.outages.failures import FailureRate
from holdfast.workloads.outages.file import read_outages
from holdfast.workloads.outages.outage import Outage, OutageKind
from tests.places import GOLDEN
from tests.support.jobs import rigid

#: The machine of the golden table, and what happens to it: one window for all, one for some, and a failure.
NODES = "16"
OUTAGES = """kind,start,end,nodes,running,name,projects
maintenance,9000,10800,16,,monthly,
maintenance,3000,4000,4,wait,,
reservation,12000,14000,6,,school,climate
failure,2000,5000,2,,,
"""


@pytest.fixture
def outages(tmp_path: Path) -> Path:
    path = tmp_path / "given.csv"
    path.write_text(OUTAGES)
    return path


def run(directory: Path, *arguments: str) -> int:
    table = str(GOLDEN / "small.csv")
    return cli.main(
        ["run", table, "-o", str(directory), "--nodes", NODES, "--mechanism", "all", "--events", *arguments]
    )


def rows(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


@pytest.mark.system
def test_a_run_tells_of_its_outages_and_can_be_repeated(outages: Path, tmp_path: Path) -> None:
    first, again, other = tmp_path / "first", tmp_path / "again", tmp_path / "other"
    drawing = ("--failure-mtbf", "12h", "--repair", "10m", "--repair-variation", "1.5")
    assert run(first, "--outages", str(outages), *drawing, "--seed", "4", "--plot") == 0
    happened = read_outages(first / "outages.csv", nodes=16)
    assert [item.kind for item in happened[:4]] == [item.kind for item in read_outages(outages)]
    assert len(happened) > 8
    manifest = json.loads((first / "run.json").read_text())
    assert manifest["failures"] == {"mtbf": 43200.0, "repair": 600.0, "variation": 1.5, "seed": 4}
    assert manifest["outages"]["path"] == str(outages)
    for row in rows(first / "accounting.csv"):
        parts = [float(value) for name, value in row.items() if name != "mechanism"]
        summary = next(item for item in rows(first / "summary.csv") if item["mechanism"] == row["mechanism"])
        assert sum(parts) == pytest.approx(16 * float(summary["makespan_h"]))
        assert float(summary["down_node_hours"]) == pytest.approx(float(row["down_node_hours"]))
        there = 1 - float(row["down_node_hours"]) / sum(parts)
        assert float(summary["utilization_available"]) == pytest.approx(float(summary["utilization"]) / there)
    for row in rows(first / "timeline-CUA-SPAA.csv"):
        assert sum(int(row[name]) for name in ("busy", "held", "idle", "down")) == 16

    # From its list alone, whatever the seed is now.
    assert run(again, "--outages", str(first / "outages.csv"), "--seed", "5") == 0
    names = {path.name for path in first.glob("*.csv")} - {
        "summary.csv",
        "machine.csv",
        "distributions.csv",
        "contrasts.csv",
    }
    assert {"outages.csv", "events-CUP-PAA.csv", "jobs-baseline.csv", "accounting.csv", "types.csv"} <= names
    for name in names:
        assert (again / name).read_bytes() == (first / name).read_bytes(), name
    assert run(other, "--outages", str(outages), *drawing, "--seed", "5") == 0
    assert (other / "outages.csv").read_bytes() != (first / "outages.csv").read_bytes()


def test_outages_outside_the_simulated_time_are_mentioned(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "o.csv"
    path.write_text("kind,start,end,nodes\nmaintenance,-9,0,1\nmaintenance,10,20,1\nfailure,1e9,2e9,1\n")
    assert run(tmp_path / "out", "--outages", str(path), "--mechanism", "baseline") == 0
    warning = "holdfast run: warning: 2 of 3 outages lie outside the simulated time, 0 s to "
    assert warning in (error := capsys.readouterr().err)
    assert "s of the job table's clock; the first is outage 1 (maintenance, -9 s to 0 s)\n" in error
    path.write_text("kind,start,end,nodes\nfailure,1e9,2e9,1\n")
    assert run(tmp_path / "out", "--outages", str(path), "--mechanism", "baseline", "--force") == 0
    assert "outage 1 (failure, 1000000000 s to 2000000000 s) lies outside the simu" in capsys.readouterr().err


def test_without_outages_no_file_speaks_of_them(tmp_path: Path) -> None:
    assert run(tmp_path / "out") == 0
    assert not (tmp_path / "out" / "outages.csv").exists()
    assert tuple(rows(tmp_path / "out" / "summary.csv")[0]) == SUMMARY_COLUMNS
    for name in ("accounting.csv", "timeline-baseline.csv"):
        assert "down" not in (tmp_path / "out" / name).read_text()
    assert not {"outages", "failures"} & set(json.loads((tmp_path / "out" / "run.json").read_text()))


def test_failures_at_the_rate_that_checkpoints_are_made_for(tmp_path: Path) -> None:
    given = ("--failure-mtbf", "node-mtbf", "--node-mtbf", "30h")
    assert run(tmp_path / "out", *given) == 0
    failures = json.loads((tmp_path / "out" / "run.json").read_text())["failures"]
    assert (failures["mtbf"], failures["repair"], failures["variation"]) == (30 * 3600.0, 4 * 3600.0, 0.0)


def test_a_list_that_lies_where_it_would_be_written_stays_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "outages.csv"
    path.write_text(OUTAGES)
    assert run(tmp_path, "--outages", str(path)) == 0
    assert path.read_text() == OUTAGES


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--repair", "4h"], "--repair needs --failure-mtbf"),
        (["--repair-variation", "1"], "--repair-variation needs --failure-mtbf"),
        (["--failure-mtbf", "soon"], "--failure-mtbf must be a duration such as 5y, or node-mtbf, not 'soon'"),
        (["--failure-mtbf", "0"], "--failure-mtbf must be a duration such as 5y, or node-mtbf, not '0'"),
        (["--failure-mtbf", "1y", "--repair", "0s"], "--repair must be a positive duration, not '0s'"),
        (["--failure-mtbf", "1y", "--repair-variation", "-1"], "--repair-variation must be a positive number"),
        (["--outages", "nowhere.csv"], "nowhere.csv: no such file"),
        (["--outages", "OUTPUT", "--failure-mtbf", "1y"], "would be overwritten by the failures of --failure-mtbf"),
        (["--outages", "LARGE"], "given.csv:2: nodes of outage 1 must be at most the 16 nodes of the machine, not 17"),
        (["--outages", "NOBODY"], "jobs of outage 1 must be in the job table, and there is no job 99"),
    ],
)
def test_refusals(arguments: list[str], sentence: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    directory = tmp_path / "out"
    texts = {
        "LARGE": "kind,start,end,nodes\nmaintenance,1,2,17\n",
        "NOBODY": "kind,start,end,nodes,jobs\nreservation,1,2,1,99\n",
        "OUTPUT": OUTAGES,
    }
    for place, word in enumerate(arguments):
        if word in texts:
            path = directory / "outages.csv" if word == "OUTPUT" else tmp_path / "given.csv"
            path.parent.mkdir(exist_ok=True)
            path.write_text(texts[word])
            arguments = [*arguments[:place], str(path), *arguments[place + 1 :]]
    assert run(directory, *arguments) == 2
    error = capsys.readouterr().err
    assert sentence in error
    assert error.count("\n") == 1
    assert "Traceback" not in error
    assert not directory.exists() or [path.name for path in directory.iterdir()] == ["outages.csv"]


def test_the_measured_time_is_that_of_the_window() -> None:
    """Ten nodes, of which four are away from 100 to 200; measured from 150 to 900 of 1,000 s."""
    jobs = [rigid(1, 0, 2, 1000), rigid(2, 50, 2, 100), rigid(3, 800, 2, 100), rigid(4, 950, 2, 50)]
    result = simulate(jobs, 10, outages=[Outage(OutageKind.MAINTENANCE, 100, 200, 4)])
    whole = result.summary()
    assert list(whole.keys())[-2:] == list(columns(Group.OUTAGES))
    assert whole["down_node_hours"] == pytest.approx(400 / 3600)
    # 2,000, twice 200 and 100 node-seconds of 10,000, of which 400 were not there.
    assert whole["utilization"] == pytest.approx(0.25)
    assert whole["utilization_available"] == pytest.approx(2500 / 9600)
    part = result.summary(warmup=150, cooldown=100)
    assert part["down_node_hours"] == pytest.approx(200 / 3600)
    assert part["utilization_available"] == pytest.approx((2 * 750 + 2 * 100) / (7500 - 200))


def test_the_timeline_and_the_course_of_down_nodes() -> None:
    result = simulate([rigid(1, 0, 2, 150)], 4, failures=FailureRate(400.0, repair=7.0, seed=2))
    assert [time for time, _ in result.down] == sorted({time for time, _ in result.down})
    assert all(before[1] != after[1] for before, after in pairwise(result.down))
    frame = result.timeline()
    assert (frame[["busy", "held", "idle", "down"]].sum(axis=1) == 4).all()
    spans = frame["time"].diff().shift(-1).fillna(0)
    assert (frame["down"] * spans).sum() == pytest.approx(result.accounting.down / SECOND)
    assert "down" not in simulate([rigid(1, 0, 2, 50)], 4).timeline()
