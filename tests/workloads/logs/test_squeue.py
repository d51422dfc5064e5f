"""The queue of a Slurm site: JSON and columns tell the same jobs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from holdfast.workloads.ground.errors import TraceError
from holdfast.workloads.logs.squeue import QueueRow, read_queue
from tests.shared_data import shared_file

NOW = 1_700_000_000
#: State, reason, start, array string.
JOBS = [
    {"job_id": 7, "job_state": "RUNNING", "state_reason": "None", "start_time": NOW - 60},
    {"job_id": 8, "job_state": ["PENDING"], "state_reason": "Priority", "start_time": NOW + 900},
    {"job_id": 9, "job_state": "PENDING", "state_reason": "Dependency", "start_time": 0},
    {"job_id": 10, "job_state": "COMPLETED", "state_reason": "None", "start_time": NOW - 800},
    {
        "job_id": 11,
        "job_state": "PENDING",
        "state_reason": "Resources",
        "start_time": 0,
        "array_job_id": {"set": True, "infinite": False, "number": 11},
        "array_task_string": "1-3,7",
    },
]
COMMON = {
    "submit_time": {"set": True, "infinite": False, "number": NOW - 100},
    "time_limit": 90,
    "node_count": {"set": True, "number": 4},
    "user_name": "ann",
    "account": "bio",
}
COLUMNS = """JOBID|STATE|SUBMIT_TIME|START_TIME|TIME_LIMIT|NODES|USER|ACCOUNT|REASON
7|RUNNING|2023-11-14T22:11:40|2023-11-14T22:12:20|1:30:00|4|ann|bio|None
8|PENDING|2023-11-14T22:11:40|2023-11-14T22:28:20|1:30:00|4|ann|bio|Priority
9|PENDING|2023-11-14T22:11:40|N/A|1:30:00|4|ann|bio|Dependency
11_[1-3,7]|PENDING|2023-11-14T22:11:40|N/A|1:30:00|4|ann|bio|Resources
"""


def test_json_and_columns_tell_the_same(tmp_path: Path) -> None:
    (tmp_path / "q.json").write_text(json.dumps({"jobs": [{**COMMON, **job} for job in JOBS]}))
    (tmp_path / "q.txt").write_text(COLUMNS)
    rows, left_out = read_queue(tmp_path / "q.json")
    assert (rows, left_out) == read_queue(tmp_path / "q.txt")
    assert left_out == 1
    assert rows[0] == QueueRow(7, NOW - 100.0, NOW - 60.0, 4, 5400.0, "ann", "bio")
    assert rows[1].start is None  # when Slurm plans to start it is not when it starts
    assert [row.job_id - (11 << 32) for row in rows[2:]] == [1, 2, 3, 7]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("JOBID|STATE\n", r":1: has no column SUBMIT_TIME: make it with squeue -o"),
        ("  JOBID PARTITION  NAME  USER ST  TIME\n", r":1: has no columns between \|: make it with squeue -o"),
        (COLUMNS.replace("1:30:00", "soon", 1), r":2: TIME_LIMIT must be a time"),
        (COLUMNS.replace("|4|", "|0|", 1), r":2: NODES must be from 1 to"),
        (COLUMNS.replace("|bio|", "|", 1), r":2: must have 9 cells"),
        (COLUMNS.replace("2023-11-14T22:12:20", "N/A", 1), r":2: START_TIME of a running job must be a time"),
        (COLUMNS.replace("1-3,7", "1-99999", 1), r":5: an array must have at most 10,000 waiting tasks"),
        ('{"jobs": [3]}', r"a job must be an object"),
        ('{"jobs": [{"job_id": 1, "job_state": "RUNNING", "time_limit": "x"}]}', r"must be"),
        ("", r"is empty"),
    ],
)
def test_one_sentence(text: str, sentence: str, tmp_path: Path) -> None:
    (tmp_path / "q").write_text(text)
    with pytest.raises(TraceError, match=sentence):
        read_queue(tmp_path / "q")


def test_the_queue_of_a_real_slurm() -> None:
    rows, _ = read_queue(shared_file("slurm", "squeue.json"))
    assert sorted(row.job_id for row in rows if row.start is None) == [37, 38, 40]
    assert sum(row.nodes for row in rows if row.start is not None) == 10
