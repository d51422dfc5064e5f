"""Several values of an option: one run for each combination, labelled by what sets it apart, and found by its label."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

import holdfast as hf
from holdfast.experiments.cli import main
from holdfast.experiments.planning.wait_pairs import pairs_of_results
from holdfast.experiments.recordings.archive import read_recording
from holdfast.experiments.recordings.variants import distinct_names
from holdfast.experiments.tables import read_csv
from holdfast.simulator import simulate
from holdfast.workloads.ground.errors import InputError
from holdfast.workloads.table.job_table import write_job_table
from tests.support.jobs import on_demand, rigid

JOBS = [
    rigid(1, 0, 6, 3600, 4000),
    rigid(2, 10, 8, 900, 1000, user="ann"),
    rigid(3, 20, 4, 300, 400),
    rigid(4, 30, 2, 2000, 5000),
    on_demand(5, 1000, 4, 600, 900, notice=500, estimated=1000),
]


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("variants")
    write_job_table(JOBS, place / "table.csv")
    words = ["--order", "fcfs,sjf", "--mechanism", "baseline,CUP-SPAA", "--nodes", "8,16", "--events"]
    assert main(["run", str(place / "table.csv"), "-o", str(place / "out"), *words]) == 0
    return place / "out"


LABELS = [f"{order} / {name} / {nodes} nodes" for order in ("fcfs", "sjf") for name in ("baseline", "CUP-SPAA")
          for nodes in (8, 16)]  # fmt: skip


def test_labels_say_what_differs_and_only_that(directory: Path) -> None:
    rows = read_csv(directory / "summary.csv")
    assert [row["label"] for row in rows] == LABELS
    assert [(row["order"], row["mechanism"], row["nodes"]) for row in rows][1:3] == [
        ("fcfs", "baseline", 16),
        ("fcfs", "CUP-SPAA", 8),
    ]
    assert "backfilling" not in rows[0]
    assert {row["label"] for row in read_csv(directory / "types.csv")} == set(LABELS)
    assert [row["label"] for row in read_csv(directory / "accounting.csv")] == LABELS
    assert (directory / "jobs-sjf_CUP-SPAA_8_nodes.csv").is_file()


@pytest.mark.parametrize("label", LABELS)
def test_each_run_is_that_of_its_own_options(directory: Path, label: str) -> None:
    order, mechanism, size = label.split(" / ")
    alone = simulate(JOBS, int(size.split()[0]), mechanism, order=order)
    found = read_recording(directory, label)
    assert (found.label, found.mechanism, found.name) == (label, alone.mechanism, label)
    assert list(found.records) == list(alone.records)
    assert (found.nodes, found.options) == (alone.nodes, alone.options)
    assert len(found.entries) == len(alone.entries)


def test_parts_of_a_label_are_enough_where_they_fit_one_run(directory: Path) -> None:
    assert read_recording(directory, "sjf,cup&spaa,8 nodes").label == "sjf / CUP-SPAA / 8 nodes"
    for wanted, sentence in (
        (None, "choose one with --run"),
        ("sjf", "4 of them fit 'sjf'"),
        ("wfp3", "'wfp3' is not one of them"),
    ):
        with pytest.raises(InputError, match=f"holds the runs 'fcfs / baseline / 8 nodes', .*{sentence}"):
            read_recording(directory, wanted)


def test_commands_read_the_run_that_is_named(directory: Path, capsys: pytest.CaptureFixture[str]) -> None:
    name = "sjf / CUP-SPAA / 8 nodes"
    for words in (
        ["explain", str(directory), "5", "--run", name],
        ["export", str(directory), "--run", name, "-o", str(directory.parent / "one.swf")],
        ["gantt", str(directory), "--run", name, "-o", str(directory.parent / "one.html")],
    ):
        assert main(words) == 0, capsys.readouterr().err
    assert name in (directory.parent / "one.swf").read_text()
    pairs = pairs_of_results(directory, name)
    assert pairs.source["mechanism"] == "CUP-SPAA"
    assert len(pairs.walltimes) == 4  # the rigid ones


@pytest.mark.system
def test_figures_bear_the_labels(directory: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plot", str(directory)]) == 0
    assert {line.partition(":")[0] for line in capsys.readouterr().out.splitlines()} >= {"mechanisms", "aggregates"}


def test_only_mechanisms_are_labelled_as_ever(tmp_path: Path) -> None:
    write_job_table(JOBS, tmp_path / "table.csv")
    words = ["run", str(tmp_path / "table.csv"), "--nodes", "8", "--order", "sjf"]
    assert main([*words, "-o", str(tmp_path / "out"), "--mechanism", "baseline,N-PAA"]) == 0
    assert (tmp_path / "out" / "jobs-N-PAA.csv").is_file()
    assert "label" not in read_csv(tmp_path / "out" / "summary.csv")[0]
    assert "runs" not in json.loads((tmp_path / "out" / "run.json").read_text())


def test_seeds_and_outages_are_varied(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    hf.write_swf(hf.generate(jobs=40, seed=1), tmp_path / "log.swf")
    away = tmp_path / "week.csv"
    away.write_text("kind,start,end,nodes\nmaintenance,1000,90000,4392\n")
    words = ["--mechanism", "CUA-SPAA", "--seed", "1:3", "--outages", f"none,{away}"]
    assert main(["run", str(tmp_path / "log.swf"), "-o", str(tmp_path / "out"), *words]) == 0
    labels = [f"{away} / seed {seed}" for away in ("no outages", "outages week") for seed in (1, 2)]
    assert [row["label"] for row in read_csv(tmp_path / "out" / "summary.csv")] == labels
    made = {path.name for path in (tmp_path / "out").glob("table-*")}
    assert made == {"table-seed_1.csv", "table-seed_2.csv"}
    results = [read_recording(tmp_path / "out", label, events=False) for label in labels]
    assert [result.options.seed for result in results] == [1, 2, 1, 2]
    assert results[0].table == results[2].table
    assert results[0].table != results[1].table
    assert (tmp_path / "out" / "outages-outages_week_seed_1.csv").is_file()
    assert not (tmp_path / "out" / "outages-no_outages_seed_1.csv").exists()
    assert "change nothing" not in capsys.readouterr().err


def test_the_line_below_says_which_jobs_the_baseline_is_of(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    hf.write_swf(hf.generate(jobs=30, seed=1), tmp_path / "log.swf")
    for words, jobs in (
        (["--order", "fcfs,sjf"], "as the trace records them"),
        (["--mechanism", "baseline,N-PAA"], "of the drawn job table"),
        (["--mechanism", "baseline,N-PAA", "--types", "user:388=on-demand"], "of the recorded job table"),
    ):
        assert main(["run", str(tmp_path / "log.swf"), "-o", str(tmp_path / "out"), "--force", *words]) == 0
        assert f"\nbaseline: the jobs {jobs}, all rigid" in capsys.readouterr().out
    assert main(["run", str(tmp_path / "log.swf"), "-o", str(tmp_path / "out"), "--force", "--mechanism", "baseline",
                 "--seed", "0,1"]) == 0  # fmt: skip
    assert "the seeds change nothing here" in capsys.readouterr().err


def test_a_mechanism_without_on_demand_jobs_is_reported_as_idle(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_job_table([rigid(1, 0, 2, 60)], tmp_path / "jobs.csv")
    words = ["run", str(tmp_path / "jobs.csv"), "--nodes", "4", "-o", str(tmp_path / "out"), "--force"]
    assert main([*words, "--mechanism", "baseline,N-PAA"]) == 0
    assert "no job is on-demand: N-PAA has nothing to do" in capsys.readouterr().err
    assert main([*words, "--mechanism", "baseline"]) == 0
    assert "on-demand" not in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--order", "fcfs,"], "--order must be a value, or several separated by commas, not 'fcfs,'"),
        (["--order", "fcfs,sfj"], "unknown order 'sfj': did you mean sjf"),
        (["--seed", "3:1"], "--seed must be whole numbers of at least 0 separated by commas, or a range such as 0:10"),
        (["--seed", "0:100", "--order", "fcfs,sjf,wfp3"], "ask for 2,100 runs, at most 200"),
        (["--nodes", "8,4"], "job 1 "),
    ],
)
def test_a_wrong_list_is_refused_before_anything_is_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], words: list[str], sentence: str
) -> None:
    write_job_table(JOBS, tmp_path / "table.csv")
    given = ["--nodes", "8"] if "--nodes" not in words else []
    assert main(["run", str(tmp_path / "table.csv"), "-o", str(tmp_path / "out"), *given, *words]) == 2
    assert sentence in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_simulations_in_memory_are_labelled_likewise() -> None:
    results = hf.simulate_each(JOBS, [8, 16], ["baseline", "CUP-SPAA"], order=["fcfs", "sjf"], events=False)
    assert list(results) == LABELS
    assert list(results["sjf / CUP-SPAA / 8 nodes"].records) == list(simulate(JOBS, 8, "CUP-SPAA", order="sjf").records)
    assert list(hf.compare(list(results.values()), "wait_h").index) == LABELS
    assert list(hf.simulate_each(JOBS, 8, order=["sjf"])) == ["baseline"]
    with pytest.raises(InputError, match="order must be a value, or a list of at least one"):
        hf.simulate_each(JOBS, 8, order=[])
    with pytest.raises(InputError, match="two of these simulations are 'sjf'"):
        hf.simulate_each(JOBS, 8, order=["sjf", "sjf"])


def test_results_are_named_by_what_they_differ_in() -> None:
    jobs = [rigid(number, 60 * number, 2, 600, user="ann") for number in range(1, 30)]
    plain, sjf, larger = simulate(jobs, 4), simulate(jobs, 4, order="sjf"), simulate(jobs, 6, order="sjf")
    assert distinct_names([plain, sjf]) == ["fcfs", "sjf"]
    assert distinct_names([plain, sjf, larger]) == ["fcfs / 4 nodes", "sjf / 4 nodes", "sjf / 6 nodes"]
    assert distinct_names([plain, plain]) == ["baseline", "baseline"]
    assert distinct_names([plain, replace(sjf, label="mine")]) == ["baseline", "mine"]
    found = hf.compare(plain, sjf)
    assert (found.first, found.second) == ("fcfs", "sjf")
    assert hf.compare([plain, larger]).index.tolist() == ["fcfs / 4 nodes", "sjf / 6 nodes"]
