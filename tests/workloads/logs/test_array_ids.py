"""Tasks of arrays: read from sacct and squeue, shown and asked for as Slurm writes them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from holdfast.experiments.cli import main
from holdfast.workloads.ground.job_ids import component_id, job_id_text, parse_job_id, task_id
from holdfast.workloads.logs.sacct import parse_sacct
from holdfast.workloads.logs.squeue import read_queue

HEADER = "JobID|JobIDRaw|User|Submit|Start|End|TimelimitRaw|NNodes|State"
NOW = 1_700_000_000


@pytest.mark.parametrize(("job", "part"), [(1, 0), (287, 1), (4_744_528, 255), (2**31 - 1, 4_000_000)])
def test_ids_and_texts_are_inverse(job: int, part: int) -> None:
    for number, mark in ((task_id(job, part), "_"), (component_id(job, part), "+")):
        assert job_id_text(number) == f"{job}{mark}{part}"
        assert parse_job_id(f"{job}{mark}{part}") == number
        assert parse_job_id(str(number)) == number


@pytest.mark.parametrize("text", ["287_", "_1", "1__2", "1_2_3", "x_1", "287_1.5", "9999999999_1"])
def test_what_is_no_id(text: str) -> None:
    with pytest.raises(ValueError, match="job id"):
        parse_job_id(text)


def test_sacct_takes_the_id_that_users_know() -> None:
    text = "\n".join(
        [
            HEADER,
            f"287_1|288|ann|{NOW}|{NOW + 5}|{NOW + 65}|10|1|COMPLETED",
            f"287_2|287|ann|{NOW}|{NOW + 5}|{NOW + 65}|10|1|COMPLETED",
            f"300+1|301|ann|{NOW}|{NOW + 5}|{NOW + 65}|10|1|COMPLETED",
            f"2871|2871|ann|{NOW}|{NOW + 5}|{NOW + 65}|10|1|COMPLETED",
        ]
    )
    assert [job_id_text(job.job_id) for job in parse_sacct(text, "a").jobs] == ["287_1", "287_2", "300+1", "2871"]


def test_squeue_tells_tasks_in_both_forms(tmp_path: Path) -> None:
    common = {"submit_time": NOW, "start_time": NOW + 1, "time_limit": 5, "node_count": 1, "user_name": "a"}
    jobs = [
        {"job_id": 288, "array_job_id": 287, "array_task_id": 1, "job_state": "RUNNING"},
        {"job_id": 289, "array_job_id": 287, "array_task_id": {"set": True, "number": 2}, "job_state": "RUNNING"},
        {"job_id": 287, "array_job_id": 287, "array_task_id": None, "array_task_string": "3-4", "job_state": "PENDING"},
        {"job_id": 301, "array_job_id": 0, "het_job_id": 300, "het_job_offset": 1, "job_state": "RUNNING"},
        {"job_id": 2871, "array_job_id": {"set": True, "number": 0}, "job_state": "RUNNING"},
    ]
    (tmp_path / "q.json").write_text(json.dumps({"jobs": [{**common, **job} for job in jobs]}))
    rows = [
        f"{name}|{state}|{NOW}|{NOW + 1}|0:05:00|1|a||None"
        for name, state in (
            *(("287_1", "RUNNING"), ("287_2", "RUNNING"), ("287_[3-4]", "PENDING")),
            *(("300+1", "RUNNING"), ("2871", "RUNNING")),
        )
    ]
    (tmp_path / "q.txt").write_text(
        "\n".join(["JOBID|STATE|SUBMIT_TIME|START_TIME|TIME_LIMIT|NODES|USER|ACCOUNT|REASON", *rows])
    )
    found, left_out = read_queue(tmp_path / "q.json")
    assert (found, left_out) == read_queue(tmp_path / "q.txt")
    assert [job_id_text(row.job_id) for row in found] == ["287_1", "287_2", "287_3", "287_4", "300+1", "2871"]


def test_forecast_and_explain_ask_for_a_task(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = tmp_path / "log.txt"
    rows = [HEADER]
    rows += [
        f"{10 + k}|{10 + k}|ann|{NOW + 600 * k}|{NOW + 600 * k}|{NOW + 600 * k + 300}|10|2|COMPLETED" for k in range(12)
    ]
    rows += [
        f"2871|2871|ann|{NOW + 7100}|{NOW + 7100}|{NOW + 7700}|20|4|COMPLETED",
        f"287_1|288|ann|{NOW + 7150}|{NOW + 7700}|{NOW + 7800}|20|4|COMPLETED",
        f"287_2|287|ann|{NOW + 7150}|{NOW + 7800}|{NOW + 7900}|20|4|COMPLETED",
    ]
    log.write_text("\n".join(rows) + "\n")
    words = [str(log), "--at", "7150", "--machine", "4", "--draws", "3", "--workers", "1"]
    document = tmp_path / "f.json"
    assert main(["forecast", *words, "--job", "287_1", "--json", str(document)]) == 0
    output = capsys.readouterr().out
    assert "Job 287_1 (4 nodes" in output
    assert str(task_id(287, 1)) not in output
    assert json.loads(document.read_text())["jobs"][0]["job"] == "287_1"
    # The id of another job is not what was asked for.
    assert main(["forecast", *words, "--job", "2871"]) == 2
    assert "job 2871 must be a waiting one" in capsys.readouterr().err
    assert main(["advise", *words, "--job", "287_2", "--least", "2"]) == 0
    capsys.readouterr()
    assert main(["forecast", *words, "--nodes", "1_6", "--walltime", "1h"]) == 2
    assert "--nodes must be a whole number" in capsys.readouterr().err
    out = tmp_path / "out"
    assert main(["run", str(log), "-o", str(out), "--nodes", "4", "--mechanism", "baseline", "--events"]) == 0
    capsys.readouterr()
    assert main(["explain", str(out), "287_2", "--worst", "2"]) == 0
    output = capsys.readouterr().out
    assert "Job 287_2 (rigid" in output
    assert "287_1" in output
    assert "1232655" not in output
