"""``--json``: one document on standard output, with the numbers of the tables."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

import holdfast as hf
from holdfast.experiments import cli
from holdfast.experiments.tables import read_csv
from holdfast.simulator.results.catalogue import WALL_CLOCK

FORECAST = ["--at", "20h", "--draws", "2", "--workers", "1", "--backtests", "0"]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("json")
    hf.write_swf(hf.generate(jobs=120, seed=1), place / "log.swf")
    assert cli.main(["run", str(place / "log.swf"), "-o", str(place / "out"), "--order", "fcfs,sjf"]) == 0
    return place


def document(capsys: pytest.CaptureFixture[str], *words: str) -> Any:
    capsys.readouterr()
    assert cli.main(list(words)) == 0
    return json.loads(capsys.readouterr().out)  # refuses any text beside it


def test_the_metrics_of_a_run(place: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["run", str(place / "log.swf"), "--order", "fcfs,sjf", "--against", "order=fcfs"]
    found = document(capsys, *words, "--json")
    for row, stored in zip(found["results"], read_csv(place / "out" / "summary.csv"), strict=True):
        assert set(row) == set(stored) - set(WALL_CLOCK)
        for name, value in row.items():
            # A number that is not known is null in JSON and nan or empty in the table.
            same = math.isnan(float(stored[name] or "nan")) if value is None else str(value) == str(stored[name])
            assert same or float(value) == float(stored[name]), name
    assert found["nodes"] == 4392
    assert [run["values"] for run in found["runs"]] == [{"order": "fcfs"}, {"order": "sjf"}]
    assert {row["metric"] for row in found["differences"]} >= {"wait_h", "utilization"}
    # The same bytes again, also beside a directory, and into a file beside the text.
    assert document(capsys, *words, "-o", str(tmp_path / "out"), "--json", "-") == found
    assert cli.main([*words, "--json", str(tmp_path / "run.json")]) == 0
    assert "bounded" in capsys.readouterr().out
    assert json.loads((tmp_path / "run.json").read_text()) == found


def test_the_description_of_a_log(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = document(capsys, "info", str(place / "log.swf"), "--json")
    trace = hf.read_trace(place / "log.swf")
    assert found["jobs"] == len(trace.jobs) == 120
    assert (found["machine_size"], found["unit"]) == (4392, "nodes")
    submits = [job.submit for job in trace.jobs]
    work = sum(job.nodes * job.runtime for job in trace.jobs)
    assert found["submits_days"] == pytest.approx((max(submits) - min(submits)) / 86400)
    assert found["offered_load_share"] == pytest.approx(work / 4392 / (max(submits) - min(submits)))
    simulated = hf.simulate(trace).summary()
    assert found["wait_h"]["simulated"]["mean"] == pytest.approx(simulated["wait_h"])
    assert found["wait_h"]["recorded"] is None
    assert "simulated" not in document(capsys, "info", str(place / "log.swf"), "--no-simulation", "--json")["wait_h"]


def test_the_comparison_of_two_runs(place: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = document(capsys, "compare", str(place / "out"), "--by", "size", "--json", "-o", str(tmp_path / "both"))
    assert (found["first"], found["second"], found["by"]) == ("fcfs", "sjf", "size")
    table = read_csv(tmp_path / "both.csv")
    assert [row["group"] for row in found["rows"]] == [row["group"] for row in table]
    assert [row["difference"] for row in found["rows"]] == [float(row["difference"]) for row in table]


@pytest.mark.parametrize(
    ("words", "key"),
    [
        (["forecast", "{out}", "--run", "fcfs", *FORECAST], "jobs"),
        (["advise", "{out}", "--run", "fcfs", *FORECAST, "--nodes", "128", "--walltime", "1h"], "requests"),
        (["plan", "exponential", "--mean", "1h"], "reservations"),
        (["explain", "{out}", "--run", "fcfs", "--worst", "2"], 0),
    ],
    ids=lambda given: given[0] if isinstance(given, list) else None,
)
def test_a_document_stands_alone(
    place: Path, capsys: pytest.CaptureFixture[str], words: list[str], key: str | int
) -> None:
    found = document(capsys, *(word.format(out=place / "out") for word in words), "--json")
    assert found[key]  # type: ignore[index]


def test_a_file_that_cannot_be_written_is_refused_first(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for command in ("run", "info"):
        assert cli.main([command, str(place / "log.swf"), "--json", str(place)]) == 2
        assert "is a directory" in capsys.readouterr().err
