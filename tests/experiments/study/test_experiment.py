"""The frame of experiments: tables survive their files, verdicts and figures see only what was written."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from holdfast.experiments import cli
from holdfast.experiments.study.experiment import (
    Experiment,
    Resources,
    Tables,
    all_experiments,
    find_experiment,
    present_experiment,
    read_tables,
    run_experiment,
)
from holdfast.experiments.study.parameters import data_files, describe_changes, or_none, with_settings
from holdfast.experiments.study.verdicts import Statement, Verdict, text
from holdfast.experiments.tables import read_csv
from holdfast.workloads.ground.errors import InputError, ParameterError, UnknownNameError

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class Sizes:
    points: int = 4
    factor: float = 1.5
    names: tuple[str, ...] = ("a", "b")
    sizes: tuple[int, ...] = (1, 2)
    exact: bool = False
    path: str = ""


def measure(parameters: Sizes, seed: int) -> Tables:
    rows = [{"x": x, "y": parameters.factor * x + seed, "label": f"p{x}"} for x in range(parameters.points)]
    return {"": rows, "extra": [{"name": "one", "value": None}, {"name": "two", "value": 2.0, "more": "m"}]}


def judge(tables: Tables) -> Sequence[Verdict]:
    last = tables[""][-1]["y"]
    grows = Statement("y grows", "4.5", text("I")).exact_verdict(
        last > 4, "holds if the last y is above 4", f"{last:g}"
    )
    return [grows, Statement("none", "-", text("I")).open("")]


def draw(tables: Tables) -> Figure:
    from holdfast.experiments.figures.canvas import new_figure

    figure = new_figure(3, 2)
    figure.subplots().plot([row["x"] for row in tables[""]], [row["y"] for row in tables[""]])
    return figure


EXAMPLE = Experiment("test-fig1", "A line", "Does it grow?", Sizes(), Sizes(points=2), measure, judge, draw)


def test_everything_is_written_and_can_be_made_again_from_the_tables(tmp_path: Path) -> None:
    verdicts = run_experiment(EXAMPLE, EXAMPLE.parameters, 0, tmp_path, "1.2.3")
    assert [verdict.outcome for verdict in verdicts] == ["holds", "not comparable"]
    names = ["csv", "json", "pdf", "png"]
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(
        [*(f"test-fig1.{name}" for name in names), "test-fig1-extra.csv", "test-fig1-verdicts.csv", "times.json"]
    )
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    for name in ("test-fig1.png", "test-fig1.pdf", "test-fig1-verdicts.csv"):
        (tmp_path / name).unlink()
    assert present_experiment(EXAMPLE, tmp_path) == verdicts
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_tables_survive_their_files(tmp_path: Path) -> None:
    run_experiment(EXAMPLE, Sizes(points=2), 1, tmp_path, "0")
    assert read_tables("test-fig1", tmp_path) == {
        "": [{"x": 0, "y": 1.0, "label": "p0"}, {"x": 1, "y": 2.5, "label": "p1"}],
        "extra": [{"name": "one", "value": None, "more": None}, {"name": "two", "value": 2.0, "more": "m"}],
    }
    with pytest.raises(InputError, match="holds no tables of the experiment test-fig11"):
        read_tables("test-fig11", tmp_path)


def test_settings_have_the_kind_of_their_default() -> None:
    changed = with_settings(Sizes(), ["points=7", "factor=2", "names=x, y", "sizes=3", "exact=true", "path=/tmp"])
    assert changed == Sizes(7, 2.0, ("x", "y"), (3,), True, "/tmp")
    with pytest.raises(UnknownNameError, match="unknown parameter 'point': did you mean points"):
        with_settings(Sizes(), ["point=1"])
    for wrong in (
        "points=many",
        "points=-1",
        "factor=0",
        "factor=nan",
        "sizes=1,b",
        "sizes=0",
        "exact=perhaps",
        "points",
    ):
        with pytest.raises(ParameterError):
            with_settings(Sizes(), [wrong])


def test_a_number_of_none_where_none_is_legal() -> None:
    @dataclass(frozen=True)
    class Draws:
        draws: int = 5
        chosen: int = or_none(3)

    assert with_settings(replace(Draws(), chosen=4), ["chosen=0"]) == Draws(5, 0)
    with pytest.raises(ParameterError, match="chosen must be a whole number of 0 or more, such as 3, not '-1'"):
        with_settings(Draws(), ["chosen=-1"])
    with pytest.raises(ParameterError, match="draws must be a whole number above 0"):
        with_settings(Draws(), ["draws=0"])


def test_only_simulating_experiments_get_a_store(tmp_path: Path) -> None:
    given: list[Resources] = []

    def measure_with_resources(parameters: Sizes, seed: int, resources: Resources) -> Tables:
        given.append(resources)
        return measure(parameters, seed)

    item = replace(EXAMPLE, measure=measure_with_resources, stores=True)
    run_experiment(item, Sizes(), 0, tmp_path, "0", workers=3)
    assert given == [Resources(tmp_path / "runs", workers=3, progress=False)]
    before = (tmp_path / "test-fig1.csv").read_bytes()
    run_experiment(item, Sizes(), 0, tmp_path, "0", workers=1)
    assert (tmp_path / "test-fig1.csv").read_bytes() == before
    assert "workers" not in (tmp_path / "test-fig1.json").read_text()


def test_every_experiment_is_whole() -> None:
    for name, item in all_experiments().items():
        assert name == item.id
        assert type(item.parameters) is type(item.quick)
        assert item.title
        assert item.question
        assert name.split("-")[0] in ("hybrid", "checkpoint", "incomplete", "profiles", "beyond")


def test_no_id_begins_another() -> None:
    # The tables of an experiment are found by its id and a dash.
    names = list(all_experiments())
    assert not [(a, b) for a in names for b in names if b.startswith(f"{a}-")]


def test_every_path_of_data_is_declared() -> None:
    for item in all_experiments().values():
        paths = {field.name for field in fields(item.parameters) if field.default == ""}
        assert paths == set(data_files(item.parameters)), item.id


def test_an_unknown_experiment_is_refused(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    with pytest.raises(UnknownNameError):
        find_experiment("checkpoint-fig0")
    assert cli.main(["experiment", "checkpoint-fig0", "-o", str(tmp_path / "out")]) == 2
    assert len(capsys.readouterr().err.strip().splitlines()) == 1
    assert not (tmp_path / "out").exists()


WRONG = {
    "checkpoint-fig6": "distributions=foo",
    "checkpoint-table3": "applications=foo",
    "checkpoint-fig3": "milestones=3,2,1",
    "incomplete-table1": "ends=foo",
    "incomplete-fig9": "families=foo",
    "profiles-table3": "reading=foo",
    "profiles-fig13": "strategies=foo",
    "profiles-fig6": "tasks=none.csv",
    "beyond-orders": "rules=eazy",
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_settings_are_one_sentence(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["experiment", name, "-o", str(tmp_path / "out"), "--quick", "--set", WRONG[name]]) == 2
    assert len(capsys.readouterr().err.strip().splitlines()) == 1
    assert not list(tmp_path.iterdir())


def test_an_experiment_ends_with_its_counts_and_the_parameters_that_were_changed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["experiment", "checkpoint-fig3", "-o", str(tmp_path)]
    assert cli.main([*words, "--set", "checkpoint=2.5"]) == 0
    shown = capsys.readouterr().out
    verdicts = read_csv(tmp_path / "checkpoint-fig3-verdicts.csv")
    assert all(row["construction"] for row in verdicts)
    full = find_experiment("checkpoint-fig3").parameters.checkpoint
    counts = f"checkpoint-fig3: {len(verdicts)} hold by construction"
    assert shown.splitlines()[-2] == f"{counts}; measured with (at full size): checkpoint=2.5 ({full})"
    assert cli.main(words) == 0
    assert capsys.readouterr().out.splitlines()[-2] == counts


def test_changed_parameters_are_named_with_both_values() -> None:
    assert describe_changes(Sizes(), Sizes()) == ""
    changed = with_settings(Sizes(), ["points=7", "names=x,y", f"path={'p' * 100}"])
    assert describe_changes(changed, Sizes()) == f"points=7 (4), names=x,y (a,b), path={'p' * 37}... ()"


def test_a_refused_experiment_leaves_a_directory_that_was_there(tmp_path: Path) -> None:
    assert cli.main(["experiment", "incomplete-table1", "-o", str(tmp_path), "--quick", "--set", "ends=foo"]) == 2
    assert tmp_path.is_dir()
