"""holdfast explain: a directory tells what the result in memory tells, and refuses in one sentence."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from holdfast.experiments.cli import main
from holdfast.experiments.recordings.archive import read_recording
from holdfast.experiments.stories.story import Stories
from holdfast.simulator import simulate
from holdfast.workloads.table.job_table import read_job_table
from tests.places import GOLDEN
from tests.support.jobs import reseal


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("explained")
    (place / "table.csv").write_text((GOLDEN / "small.csv").read_text())
    words = ["run", str(place / "table.csv"), "-o", str(place / "out"), "--nodes", "20"]
    assert main([*words, "--mechanism", "baseline,CUP-SPAA", "--events"]) == 0
    return place / "out"


def command_output(capsys: pytest.CaptureFixture[str], *words: object) -> str:
    capsys.readouterr()
    assert main(["explain", *map(str, words)]) == 0
    return capsys.readouterr().out


def refusal(capsys: pytest.CaptureFixture[str], *words: object) -> str:
    capsys.readouterr()
    assert main(["explain", *map(str, words)]) == 2
    shown = capsys.readouterr()
    assert not shown.out
    assert shown.err.count("\n") == 1
    return shown.err.removeprefix("holdfast explain: error: ").rstrip()


@pytest.mark.system
@pytest.mark.parametrize("mechanism", ["baseline", "CUP-SPAA"])
def test_a_directory_tells_what_the_result_tells(
    results: Path, mechanism: str, capsys: pytest.CaptureFixture[str]
) -> None:
    jobs = read_job_table(GOLDEN / "small.csv").jobs
    result = simulate(jobs, 20, mechanism, decisions=True)
    assert read_recording(results, mechanism, decisions=True).decisions == result.decisions
    stories = Stories(result)
    for job in jobs:
        story = stories.story(job.job_id)
        assert command_output(capsys, results, job.job_id, "--mechanism", mechanism) == f"{story}\n"
        shown = command_output(capsys, results, job.job_id, "--mechanism", mechanism, "--json", "-")
        assert json.loads(shown) == json.loads(json.dumps(story.as_json()))


def test_several_jobs_and_all_names(results: Path, capsys: pytest.CaptureFixture[str]) -> None:
    both = command_output(capsys, results, 3, 7, "--mechanism", "CUP-SPAA")
    assert both.startswith("Job 3 (rigid")
    assert "\n\nJob 7 (rigid" in both
    assert "10 (2 nodes)" in command_output(capsys, results, 7, "--mechanism", "CUP-SPAA", "--all")


def test_the_facts_go_to_a_file(results: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "facts.json"
    assert command_output(capsys, results, 7, "--mechanism", "baseline", "--json", path).startswith("Job 7 (")
    facts = json.loads(path.read_text())
    assert (facts["job_id"], facts["submit"], facts["nodes"]) == (7, 1500.0, 16)
    assert sum(part["seconds"] for part in facts["waits"][0]["parts"]) == facts["wait"]


def test_the_worst_are_the_entrance(results: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = command_output(capsys, results, "--worst", 2, "--mechanism", "CUP-SPAA")
    jobs = read_job_table(GOLDEN / "small.csv").jobs
    table = simulate(jobs, 20, "CUP-SPAA").jobs.set_index("job_id")
    lines = {block.splitlines()[0]: block.splitlines()[3:] for block in text.rstrip().split("\n\n")}
    assert list(lines) == ["Longest waits:", "Largest bounded slowdowns:", "Most lost:"]
    for title, column in (("Longest waits:", "wait"), ("Most lost:", "lost_node_seconds")):
        expected = table.sort_values([column, "submit"], ascending=[False, True]).index[:2]
        assert [int(line.split()[0]) for line in lines[title]] == list(expected)
    assert all(len(line) <= 80 for line in text.splitlines())
    shown = json.loads(command_output(capsys, results, "--worst", 1, "--mechanism", "CUP-SPAA", "--json", "-"))
    assert [row["ranking"] for row in shown] == ["wait", "bounded_slowdown", "lost_node_seconds"]
    assert shown[0]["wait"] == table["wait"].max()


def test_refusals(results: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "choose one with --mechanism" in refusal(capsys, results, 7)
    assert refusal(capsys, results, 11, "--mechanism", "baseline") == (
        "there is no job 11; the nearest ids are 8, 9, 10"
    )
    assert "JOB must be the id of a job" in refusal(capsys, results, "seven", "--mechanism", "baseline")
    assert "--worst must be a whole number of at least 1" in refusal(capsys, results, "--worst", 0)
    assert "give a job id" in refusal(capsys, results)
    assert "there is no run.json" in refusal(capsys, tmp_path, 1)
    words = ["run", str(GOLDEN / "small.csv"), "-o", str(tmp_path), "--nodes", "20", "--mechanism", "baseline"]
    assert main(words) == 0
    assert "which 'holdfast run --events' writes" in refusal(capsys, tmp_path, 1)
    assert "Longest waits:" in command_output(capsys, tmp_path, "--worst", 3)


def test_a_directory_from_before_decisions_says_so(
    results: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for path in results.iterdir():
        if path.is_file() and not path.name.startswith("decisions-"):
            (tmp_path / path.name).write_bytes(path.read_bytes())
    reseal(tmp_path)
    text = command_output(capsys, tmp_path, 2, "--mechanism", "CUP-SPAA")
    assert "Promises, loans and expected losses were not recorded" in text
    assert "The plan takes" not in text


def test_dates_come_from_the_header_of_the_trace(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    trace = str(tmp_path / "year.swf")
    assert main(["generate", "-o", trace, "--jobs", "40", "--seed", "3"]) == 0
    out = str(tmp_path / "out")
    assert main(["run", trace, "-o", out, "--mechanism", "baseline", "--events"]) == 0
    text = command_output(capsys, out, 1)
    assert "Times are UTC." in text
    assert "\n20" in text


def test_a_log_is_replayed_first(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = tmp_path / "log.swf"
    assert main(["generate", "--jobs", "150", "--seed", "1", "-o", str(log)]) == 0
    assert main(["run", str(log), "-o", str(tmp_path / "out"), "--events"]) == 0
    for words in (["--worst", "1"], ["100"], ["100", "--json"]):
        assert command_output(capsys, log, *words) == command_output(capsys, tmp_path / "out", *words)
    assert refusal(capsys, log, "100", "--run", "CUP-SPAA") == (
        f"--run CUP-SPAA names a run of a directory, and {log} is a file: run it with 'holdfast run'"
    )
