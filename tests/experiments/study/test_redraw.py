"""Figures are made from the tables of a directory alone, and are the same bytes whenever that is done."""

from __future__ import annotations

import shutil
from itertools import pairwise
from pathlib import Path

import pytest

from holdfast.experiments import cli
from holdfast.experiments.study.redraw import describe_picture, draw_pictures
from holdfast.experiments.tables import read_csv
from holdfast.workloads.logs.readers import read_trace

pytestmark = [pytest.mark.pictures("png"), pytest.mark.system]


@pytest.fixture(scope="module")
def experiment(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("experiments")
    assert cli.main(["experiment", "checkpoint-fig3", "profiles-fig7", "profiles-fig5", "-o", str(directory)]) == 0
    return directory


@pytest.fixture(scope="module")
def replay(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("replay")
    year = directory / "year.swf.gz"
    assert cli.main(["generate", "-o", str(year), "--jobs", "400"]) == 0
    assert cli.main(["run", str(year), "-o", str(directory), "--mechanism", "baseline,CUA-SPAA", "--plot"]) == 0
    return directory


def pictures(directory: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in directory.iterdir() if path.suffix in (".png", ".pdf")}


@pytest.mark.parametrize("kind", ["experiment", "replay"])
def test_pictures_are_the_same_bytes_again(kind: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    source: Path = request.getfixturevalue(kind)
    written = pictures(source)
    assert len(written) == (4 if kind == "experiment" else 8)
    for path in source.glob("*.csv"):
        if not path.name.endswith("-verdicts.csv"):
            shutil.copy(path, tmp_path)
    assert cli.main(["plot", str(tmp_path)]) == 0
    assert pictures(tmp_path) == written
    for path in source.glob("*-verdicts.csv"):
        assert (tmp_path / path.name).read_bytes() == path.read_bytes()


def test_only_the_named_are_drawn(experiment: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for path in experiment.glob("*.csv"):
        shutil.copy(path, tmp_path)
    assert cli.main(["plot", str(tmp_path), "checkpoint-fig3"]) == 0
    assert set(pictures(tmp_path)) == {"checkpoint-fig3.png", "checkpoint-fig3.pdf"}
    assert capsys.readouterr().out.startswith("checkpoint-fig3: checkpoint-fig3.png, checkpoint-fig3.pdf; ")


def test_the_machine_is_a_table_of_what_was_simulated(replay: Path) -> None:
    rows = read_csv(replay / "machine.csv")
    year = read_trace(replay / "year.swf.gz")
    began = int(year.header["UnixStartTime"]) + year.jobs[0].submit
    for mechanism in ("baseline", "CUA-SPAA"):
        own = [row for row in rows if row["mechanism"] == mechanism]
        assert own[0]["start_s"] == 0
        assert {(row["began"], row["zone"]) for row in own} == {(began, "UTC")}
        assert all(row["end_s"] == after["start_s"] for row, after in pairwise(own))
        busy = sum((row["end_s"] - row["start_s"]) * row["busy_percent"] for row in own) / 100 * 4392 / 3600
        accounting = next(row for row in read_csv(replay / "accounting.csv") if row["mechanism"] == mechanism)
        states = [value for name, value in accounting.items() if name.endswith("_node_hours")]
        assert busy == pytest.approx(sum(states) - accounting["idle_node_hours"] - accounting["held_node_hours"])


def test_a_run_without_pictures_leaves_no_machine_of_an_earlier_one(replay: Path, tmp_path: Path) -> None:
    shutil.copytree(replay, tmp_path, dirs_exist_ok=True)
    (tmp_path / "notes.csv").write_text("mine")
    (tmp_path / "types.csv").unlink()
    words = ["run", str(tmp_path / "year.swf.gz"), "-o", str(tmp_path), "--mechanism", "baseline"]
    assert cli.main([*words, "--force"]) == 0
    names = {path.name for path in tmp_path.iterdir()}
    tables = {"jobs-baseline.csv", "summary.csv", "types.csv", "accounting.csv", "run.json"}
    assert names == {*tables, "notes.csv", "year.swf.gz"}


def test_figures_without_tables_are_named(replay: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def undrawn_line(words: str) -> list[str]:
        directory = str(tmp_path / "out")
        assert cli.main(["run", str(replay / "year.swf.gz"), "-o", directory, "--force", *words.split()]) == 0
        capsys.readouterr()
        assert cli.main(["plot", directory]) == 0
        return [line for line in capsys.readouterr().out.splitlines() if line.startswith("not drawn")]

    several = "not drawn: differences, waits and machine; 'holdfast run --plot' writes their tables (contrasts.csv, "
    assert undrawn_line("--order fcfs,sjf") == [f"{several}distributions.csv, machine.csv)"]
    single = "not drawn: waits and machine; 'holdfast run --plot' writes their tables (distributions.csv, machine.csv)"
    assert undrawn_line("") == [single]
    assert undrawn_line("--plot") == []


def refusal(words: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    capsys.readouterr()
    assert cli.main(["plot", *words]) == 2
    sentence = capsys.readouterr().err.strip()
    assert len(sentence.splitlines()) == 1
    return sentence


def test_refusals_are_one_sentence(experiment: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "no such directory" in refusal([str(tmp_path / "none")], capsys)
    assert "has no tables to draw" in refusal([str(tmp_path)], capsys)
    assert "unknown experiment" in refusal([str(experiment), "checkpoint-fig0"], capsys)
    assert "holds no tables of the experiment checkpoint-fig6" in refusal([str(experiment), "checkpoint-fig6"], capsys)
    file = tmp_path / "file"
    file.touch()
    assert "is not a directory" in refusal([str(file)], capsys)


@pytest.mark.parametrize("kind", ["experiment", "replay"])
def test_a_changed_table_is_named(
    kind: str, request: pytest.FixtureRequest, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copytree(request.getfixturevalue(kind), tmp_path, dirs_exist_ok=True)
    path = tmp_path / ("profiles-fig7.csv" if kind == "experiment" else "types.csv")
    path.write_bytes(path.read_bytes().rpartition(b"\n")[0].rpartition(b"\n")[0] + b"\n")  # a line less
    before = {file.name: file.read_bytes() for file in tmp_path.iterdir()}
    assert f"{path}: was changed after it was written" in refusal([str(tmp_path)], capsys)
    assert {file.name: file.read_bytes() for file in tmp_path.iterdir()} == before


def test_changed_verdicts_are_written_again(
    experiment: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copytree(experiment, tmp_path, dirs_exist_ok=True)
    path = tmp_path / "checkpoint-fig3-verdicts.csv"
    before = path.read_bytes()
    path.write_bytes(before.replace(b"holds", b"does not hold"))
    assert cli.main(["plot", str(tmp_path), "checkpoint-fig3"]) == 0
    assert capsys.readouterr().err == f"{path.name} was not what the tables say: it is written again\n"
    assert path.read_bytes() == before


@pytest.mark.parametrize("damage", ["head", "cells", "empty", "binary", "numbers", "rows"])
def test_a_damaged_table_is_refused_and_nothing_is_written(
    damage: str, experiment: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = (experiment / "checkpoint-fig3.csv").read_text().splitlines()
    content = {
        "head": "\n".join(["a,b", "1,2"]),
        "cells": "\n".join([*lines, "1"]),
        "empty": "",
        "binary": "\0\1",
        "numbers": "\n".join([lines[0], *("x" + "," * lines[0].count(",") for _ in lines[1:])]),
        "rows": lines[0],
    }[damage]
    (tmp_path / "checkpoint-fig3.csv").write_text(content)
    assert "checkpoint-fig3.csv" in refusal([str(tmp_path)], capsys)
    assert [path.name for path in tmp_path.iterdir()] == ["checkpoint-fig3.csv"]


def test_a_damaged_table_of_a_replay_leaves_no_picture_of_another(
    replay: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copy(replay / "contrasts.csv", tmp_path)  # it is drawn first
    head, *rows = (replay / "accounting.csv").read_text().splitlines()
    (tmp_path / "accounting.csv").write_text("\n".join([head.replace("lost_node_hours", "1x"), *rows]) + "\n")
    before = {path.name for path in tmp_path.iterdir()}
    assert "accounting.csv" in refusal([str(tmp_path)], capsys)
    assert {path.name for path in tmp_path.iterdir()} == before


@pytest.mark.parametrize(
    ("mechanism", "difference", "drawn"),
    [("baseline", "-1.0", ["differences"]), ("baseline", "", []), ("CUA-SPAA", "-1.0", ["mechanisms"])],
)
def test_differences_of_results_without_mechanisms_have_a_figure_of_their_own(
    mechanism: str, difference: str, drawn: list[str], tmp_path: Path
) -> None:
    lines = "first,baseline,wait_h,2.0,,,", f"second,{mechanism},wait_h,1.0,{difference},-1.5,-0.5"
    table = "\n".join(("label,mechanism,metric,value,difference,low,high", *lines))
    (tmp_path / "contrasts.csv").write_text(table + "\n")
    assert draw_pictures(tmp_path) == drawn


@pytest.mark.parametrize(("nodes", "reference"), [("4392", "sjf"), ("4392,5000", "fcfs / 4392 nodes")])
def test_differences_of_single_runs_from_one_reference_have_intervals(
    nodes: str, reference: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = tmp_path / "log.swf"
    assert cli.main(["generate", "-o", str(log), "--jobs", "200"]) == 0
    words = ["--order", "fcfs,sjf", "--nodes", nodes, "--against", "order=sjf", "--plot"]
    assert cli.main(["run", str(log), "-o", str(tmp_path / "out"), *words]) == 0
    output = capsys.readouterr().out
    contrasts = read_csv(tmp_path / "out" / "contrasts.csv")
    assert contrasts[0]["label"] == reference
    assert ("from those of sjf, with intervals" in output) == (nodes == "4392")


@pytest.mark.parametrize(
    ("numbers", "words"),
    [
        ((1, 1), "the configurations"),
        ((4, 4), "the configurations: means over 4 seeds with 95 % intervals"),
        ((3, 4), "the configurations: means over 3 to 4 seeds with 95 % intervals"),
    ],
)
def test_the_number_of_seeds_is_named(numbers: tuple[int, int], words: str, tmp_path: Path) -> None:
    rows = "\n".join(f"{order},wait_h,{n},1.0,0.5,1.5" for order, n in zip(("fcfs", "sjf"), numbers, strict=True))
    (tmp_path / "aggregates.csv").write_text(f"order,metric,n,mean,low,high\n{rows}\n")
    assert describe_picture("aggregates", tmp_path) == words
