"""When jobs of a log were eligible, from every form that tells it; their submits where none does."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from holdfast.workloads.ground.errors import TraceError
from holdfast.workloads.hybrid.assignment import as_rigid, assign
from holdfast.workloads.logs.cancellations import keep_cancelled_jobs
from holdfast.workloads.logs.column_log import parse_columns
from holdfast.workloads.logs.machine_size import peak_use
from holdfast.workloads.logs.sacct import parse_sacct, read_sacct
from holdfast.workloads.logs.squeue import read_queue
from holdfast.workloads.logs.starting_state import find_starting_state, starting_state
from holdfast.workloads.logs.trace import Trace, TraceJob
from holdfast.workloads.table.job import JobType
from tests.shared_data import shared_file

NAMES = "JobIDRaw|User|State|Submit|Eligible|Start|End|ElapsedRaw|TimelimitRaw|NNodes"


def sacct(*lines: str) -> Trace:
    return parse_sacct("\n".join((NAMES, *lines)), "log.txt")


@pytest.mark.parametrize(
    ("eligible", "expected", "wait"),
    [
        ("1000", None, 500.0),
        ("900", None, 500.0),  # requeued: the submit is that of the last time
        ("Unknown", None, 500.0),
        ("1300", 1300.0, 200.0),
        ("1500", 1500.0, 0.0),
        ("1501", 1500.0, 0.0),
        ("1970-01-01T00:21:40", 1300.0, 200.0),
    ],
)
def test_sacct_tells_when_a_job_was_eligible(eligible: str, expected: float | None, wait: float) -> None:
    trace = sacct(f"7|ann|COMPLETED|1000|{eligible}|1500|2000|500|10|2")
    job = trace.jobs[0]
    assert (job.submit, job.eligible, job.wait, job.start) == (1000.0, expected, wait, 1500.0)
    assert job.queued == job.submit if expected is None else expected
    remarks = {"eligible after the start (the start is used)": 1} if eligible == "1501" else {}
    assert trace.remarks == remarks


def test_an_export_without_the_column_counts_from_the_submit() -> None:
    text = "JobIDRaw|State|Submit|Start|End|NNodes\n7|COMPLETED|1000|1500|2000|2"
    assert (parse_sacct(text, "log.txt").jobs[0].wait, parse_sacct(text, "log.txt").jobs[0].eligible) == (500.0, None)


def test_a_broken_time_is_named_with_its_line() -> None:
    with pytest.raises(TraceError, match=r"log\.txt:2: Eligible must be a"):
        sacct("7|ann|COMPLETED|1000|soon|1500|2000|500|10|2")


def test_a_job_that_was_cancelled_while_held_never_waited() -> None:
    ran = "7|ann|COMPLETED|1000|1000|1500|2000|500|10|2"
    trace = sacct(
        ran,
        "8|ann|CANCELLED by 5|1000|Unknown|Unknown|1800|0|10|2",
        "9|ann|CANCELLED by 5|1000|1600|Unknown|1800|0|10|2",
    )
    kept = keep_cancelled_jobs(trace).jobs[1:]
    assert [(job.eligible, job.wait, job.cancelled_at, job.start) for job in kept] == [
        (1800.0, 0.0, 1800.0, None),
        (1600.0, 200.0, 1800.0, None),
    ]
    assert [(job.submit, job.eligible, job.cancelled_at) for job in as_rigid(keep_cancelled_jobs(trace))] == [
        (1000, None, None),
        (1000, 1800, 1800),
        (1000, 1600, 1800),
    ]


def test_columns_by_role_and_pm100() -> None:
    rows = "t,e,s,f,n\n1000,1300,1500,2000,2\n1000,,1500,2000,2\n1000,1600,1500,2000,2\n"
    trace = parse_columns(rows.encode(), "a.csv", columns="submit=t,eligible=e,start=s,end=f,nodes=n")
    assert [(job.eligible, job.wait) for job in trace.jobs] == [(1300.0, 200.0), (None, 500.0), (1500.0, 0.0)]
    day = "2020-05-01 {}:00+00:00"
    times = ",".join(map(day.format, ("10:00", "11:00", "11:30", "12:00")))
    pm100 = f"job_id,submit_time,eligible_time,start_time,end_time,num_nodes_alloc,run_time\n1,{times},4,1800\n"
    job = parse_columns(pm100.encode(), "b.csv").jobs[0]
    assert (job.queued - job.submit, job.wait) == (3600.0, 1800.0)


def test_a_column_of_waits_counts_from_the_submit() -> None:
    rows = "t,e,w,r,n\n1000,1300,500,60,2\n"
    job = parse_columns(rows.encode(), "a.csv", columns="submit=t,eligible=e,wait=w,runtime=r,nodes=n").jobs[0]
    assert (job.wait, job.start) == (200.0, 1500.0)


def test_squeue_tells_it_in_json_and_in_a_column(tmp_path: Path) -> None:
    shape = {"time_limit": 10, "node_count": 2, "user_name": "u", "account": "a", "state_reason": "Priority"}
    jobs = [
        {"job_id": 1, "job_state": "RUNNING", "submit_time": 100, "eligible_time": 150, "start_time": 200, **shape},
        {"job_id": 2, "job_state": "PENDING", "submit_time": 100, "eligible_time": 50, "start_time": 0, **shape},
        {"job_id": 3, "job_state": "PENDING", "submit_time": 100, "eligible_time": 0, "start_time": 0, **shape},
        {"job_id": 4, "job_state": "PENDING", "submit_time": 100, "eligible_time": 900, "start_time": 0, **shape},
    ]
    path = tmp_path / "queue.json"
    path.write_text(json.dumps({"jobs": jobs}))
    assert [(row.submit, row.queued) for row in read_queue(path)[0]] == [(100, 150), (100, 100), (100, 100), (100, 900)]
    path = tmp_path / "queue.txt"
    head = "JOBID|STATE|SUBMIT_TIME|START_TIME|TIME_LIMIT|NODES|USER|ACCOUNT|REASON"
    path.write_text(f"{head}|ELIGIBLE_TIME\n1|RUNNING|100|200|10:00|2|u|a|None|150\n")
    assert read_queue(path)[0][0].eligible == 150
    path.write_text(f"{head}\n1|RUNNING|100|200|10:00|2|u|a|None\n")
    assert read_queue(path)[0][0].eligible is None


@pytest.mark.parametrize("name", ["sacct-iso.txt"])
def test_logs_of_real_slurms_count_waits_from_eligibility(name: str) -> None:
    """What the log says of each job, read once more by the plainest means."""
    path = shared_file("slurm", name)
    head, *lines = [line.split("|") for line in path.read_text().splitlines()]
    waits: dict[tuple[float, float], list[float]] = {}
    for line in lines:
        cells = dict(zip(head, line, strict=False))
        if len(line) == len(head) and not any(
            cells[column] in ("", "Unknown", "None") for column in ("Submit", "Eligible", "Start")
        ):
            submit, eligible, start = (
                datetime.fromisoformat(cells[column]).replace(tzinfo=UTC).timestamp()
                for column in ("Submit", "Eligible", "Start")
            )
            waits.setdefault((submit, start), []).append(start - min(start, max(submit, eligible)))
    trace = read_sacct(path, lenient=True)
    held = [job for job in trace.jobs if job.eligible is not None]
    assert held
    for job in trace.jobs:
        assert job.start is not None
        assert job.wait in waits[job.submit, job.start]


def test_a_real_queue_has_jobs_that_were_eligible_a_second_later() -> None:
    rows, _ = read_queue(shared_file("slurm", "squeue.json"))
    items = json.loads(shared_file("slurm", "squeue.json").read_text())["jobs"]
    known = {item["job_id"]: item["eligible_time"] for item in items}
    assert rows
    for row in rows:
        assert row.queued == max(row.submit, known[row.job_id])


def test_the_machine_and_the_starting_state_know_recorded_starts() -> None:
    jobs = (
        TraceJob(1, 0.0, 8, 60.0, 60.0, wait=5.0),
        TraceJob(2, 0.0, 4, 9.0, 9.0, wait=0.0, eligible=70.0),
        TraceJob(3, 0.0, 4, 9.0, 9.0, wait=30.0, eligible=80.0),
    )
    assert peak_use(Trace(jobs)) == 8
    cut = starting_state(Trace(jobs, 8), 72.0)
    assert [(job.job_id, job.running_since) for job in cut.jobs] == [(2, 70.0), (3, None)]
    state = find_starting_state(cut.jobs)
    # Job 3 is not eligible yet.
    assert state is not None and (state.running, state.waiting) == (1, 0)


def test_types_take_eligible_along() -> None:
    jobs = tuple(
        TraceJob(n, 100.0 * n, 8, 600.0, 900.0, user=f"u{n}", eligible=100.0 * n + 5000.0) for n in range(1, 60)
    )
    table = assign(Trace(jobs, 64), seed=1, stochastic_share=0.2)
    for job in table:
        if job.type is JobType.ON_DEMAND:
            # Its arrival is announced for the time at which it could start.
            assert job.eligible is None
            known = job.estimated_arrival if job.notice is not None else job.submit
            assert known == 100.0 * job.job_id + 5000.0
        else:
            assert (job.submit, job.eligible) == (100.0 * job.job_id, 100.0 * job.job_id + 5000.0)
    assert {job.type for job in table} == set(JobType)
