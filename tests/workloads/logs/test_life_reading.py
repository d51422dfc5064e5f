"""What logs and job tables say of the life of jobs: read, written, cut, and refused in one sentence."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings

from holdfast.simulator import simulate
from holdfast.simulator.results.metrics import summarize
from holdfast.workloads.ground.errors import InputError, TraceError
from holdfast.workloads.ground.units import to_ticks
from holdfast.workloads.hybrid.assignment import as_rigid, assign
from holdfast.workloads.logs.cancellations import keep_cancelled_jobs
from holdfast.workloads.logs.dependencies import follow_dependencies
from holdfast.workloads.logs.sacct import parse_sacct
from holdfast.workloads.logs.starting_state import cut_until, find_starting_state, starting_state
from holdfast.workloads.logs.swf import parse_swf, read_swf, write_swf
from holdfast.workloads.logs.trace import Trace, TraceJob
from holdfast.workloads.table.columns import COLUMNS, LIFE_COLUMNS, STOCHASTIC_COLUMNS
from holdfast.workloads.table.job import Job, JobType
from holdfast.workloads.table.job_table import parse_job_table, read_job_table, write_job_table
from holdfast.workloads.table.validation import check_jobs
from tests.shared_data import trace_file
from tests.strategies.lives import lively_mixes
from tests.strategies.mixes import Mix
from tests.support.jobs import malleable, on_demand, rigid, stochastic


def swf(*rows: tuple[object, ...]) -> Trace:
    """Rows of (job, submit, wait, run, nodes, request, status, preceding, think)."""
    lines = [
        f"{job} {submit} {wait} {run} {nodes} -1 -1 {nodes} {request} -1 {status} 7 3 -1 -1 -1 {preceding} {think}"
        for job, submit, wait, run, nodes, request, status, preceding, think in rows
    ]
    return parse_swf("; MaxProcs: 16\n" + "\n".join(lines) + "\n", "a.swf")


# -- withdrawals -----------------------------------------------------------------------------------------------

RAN = (1, 0, 5, 60, 4, 90, 1, -1, -1)
GONE = (2, 10, 30, 0, 4, 80, 5, -1, -1)


def test_jobs_cancelled_before_they_started_are_left_out_or_kept() -> None:
    trace = swf(RAN, GONE, (3, 20, 0, 10, 4, 20, 5, -1, -1))
    assert [job.job_id for job in trace.jobs] == [1, 3]
    assert trace.excluded == {"runtime <= 0": 1}
    kept = keep_cancelled_jobs(trace)
    assert kept.excluded == {}
    assert kept.jobs[1] == TraceJob(2, 10, 4, 80, 80, True, 30, "7", "3", cancelled_at=40)
    # One that was cancelled while it ran is a job of that runtime.
    assert (kept.jobs[2].runtime, kept.jobs[2].cancelled_at) == (10, None)
    assert [job.cancelled_at for job in as_rigid(kept)] == [None, 40, None]


@pytest.mark.parametrize(
    "row",
    [
        (2, 10, -1, 0, 4, 80, 5, -1, -1),  # nobody knows when
        (2, 10, 30, 0, 4, -1, 5, -1, -1),  # nor what it asked for
        (2, 10, 30, 0, -1, 80, 5, -1, -1),
        (2, -1, 30, 0, 4, 80, 5, -1, -1),
        (2, 10, 30, 0, 4, 80, 1, -1, -1),  # not cancelled
    ],
)
def test_what_cannot_be_replayed_stays_left_out(row: tuple[object, ...]) -> None:
    trace = swf(RAN, row)
    assert keep_cancelled_jobs(trace) is trace
    assert sum(trace.excluded.values()) == 1


def test_withdrawn_jobs_keep_their_places_on_a_smaller_machine() -> None:
    big = (9, 0, 0, 60, 12, 90, 1, -1, -1)
    trace = swf(big, RAN, big, GONE, replace_first(RAN, 4), big, replace_first(GONE, 5), (6, 0, 9, 0, 12, 9, 5, -1, -1))
    first = keep_cancelled_jobs(trace).on_machine(8)
    assert [job.job_id for job in first.jobs] == [1, 2, 4, 5]
    assert keep_cancelled_jobs(trace.on_machine(8)).jobs == first.jobs


def replace_first(row: tuple[object, ...], job: int) -> tuple[object, ...]:
    return (job, *row[1:])


def test_sacct_says_who_was_cancelled_in_the_queue() -> None:
    head = "JobIDRaw|User|Account|State|Submit|Start|End|ElapsedRaw|TimelimitRaw|NNodes"
    lines = [
        head,
        "1|u|p|COMPLETED|100|110|170|60|2|4",
        "2|u|p|CANCELLED by 7|120|Unknown|150|0|2|4",
        "3|u|p|CANCELLED by 7|120|None|Unknown|0|2|4",
        "x|u|p|CANCELLED|120|None|150|0|2|4",
        "5|u|p|PENDING|120|Unknown|Unknown|0|2|4",
    ]
    trace = parse_sacct("\n".join(lines), "a.txt")
    assert trace.excluded == {"never started": 4}
    kept = keep_cancelled_jobs(trace)
    assert kept.jobs[1] == TraceJob(2, 120, 4, 120, 120, True, 30, "u", "p", cancelled_at=150)
    assert kept.excluded == {"never started": 3}


def test_written_and_read_again(tmp_path: Path) -> None:
    trace = swf(RAN, GONE, (3, 20, 0, 10, 4, 20, 1, 1, 7.5), (4, 20, 0, 10, 4, 20, 1, 2, -1))
    path = tmp_path / "b.swf"
    write_swf(trace, path)
    assert read_swf(path).jobs == trace.jobs
    write_swf(keep_cancelled_jobs(trace), path)
    again = read_swf(path)
    assert again.jobs == trace.jobs
    assert keep_cancelled_jobs(again).jobs == keep_cancelled_jobs(trace).jobs


def test_a_withdrawn_on_demand_job_waits_as_long_whenever_it_comes() -> None:
    trace = keep_cancelled_jobs(swf(*(replace_first(GONE, job) for job in range(1, 41)), replace_first(RAN, 99)))
    jobs = assign(trace, shares=(1, 0, 0), no_show_share=0.3, seed=1)
    came = [job for job in jobs if job.submit is not None and job.job_id != 99]
    assert 10 < len(came) < 40
    for job in came:
        assert job.submit is not None
        assert job.cancelled_at is not None
        assert job.cancelled_at - job.submit == pytest.approx(30)
    assert all(job.cancelled_at is None for job in jobs if job.submit is None)
    check_jobs(jobs)


# -- dependencies ----------------------------------------------------------------------------------------------


def test_dependencies_are_followed_or_reported_as_ignored() -> None:
    trace = swf(
        RAN,
        (2, 10, 0, 10, 4, 20, 1, 1, 7),
        (3, 20, 0, 10, 4, 20, 1, 2, -1),
        (4, 20, 0, 10, 4, 20, 1, 99, 7),
        (5, 20, 0, 10, 4, 20, 1, 7, 7),  # stands below
        (6, 20, 0, 10, 4, 20, 1, 6, 7),  # itself
        (7, 20, 0, 10, 4, 20, 1, 0, 7),
        (8, 15, 0, 10, 4, 20, 1, 3, 7),  # submitted before
        (9, 15, 0, 10, 4, 20, 1, 1.5, 7),  # no number of a job
    )
    assert [job.preceding for job in trace.jobs] == [None, 1, 2, 99, 7, 6, None, 3, None]
    jobs, remarks = follow_dependencies(trace, as_rigid(trace))
    assert [(job.preceding, job.think_time) for job in jobs[:3]] == [(None, None), (1, 7), (2, None)]
    assert all(job.preceding is None for job in jobs[3:])
    assert remarks == {
        "preceding job not in the trace: submitted as recorded": 3,
        "preceding job submitted later: submitted as recorded": 1,
    }
    # Off unless asked for.
    assert all(job.preceding is None for job in [*as_rigid(trace), *assign(trace)])


def test_of_repeated_numbers_the_last_above_is_meant() -> None:
    trace = swf(RAN, RAN, (1, 10, 0, 10, 4, 20, 1, 1, 7))
    jobs, _ = follow_dependencies(trace, as_rigid(trace))
    assert [(job.job_id, job.preceding) for job in jobs] == [(1, None), (2, None), (3, 2)]


def test_announced_and_absent_jobs_are_not_linked() -> None:
    rows = [RAN, *((job, 10 * job, 0, 10, 4, 20, 1, job - 1, 7) for job in range(2, 60))]
    trace = swf(*rows)
    jobs, remarks = follow_dependencies(trace, assign(trace, shares=(1, 0, 0), no_show_share=0.5, seed=1))
    check_jobs(jobs)
    noticed = sum(job.notice is not None for job in jobs[1:])
    absent = sum(jobs[at].notice is None and jobs[at - 1].submit is None for at in range(1, len(jobs)))
    assert noticed
    assert absent
    assert remarks == {
        "preceding job, but an announced arrival: submitted as announced": noticed,
        "preceding job never arrives: submitted as recorded": absent,
    }


# -- starting states -------------------------------------------------------------------------------------------

LOG = swf(
    (1, 0, 0, 100, 4, 200, 1, -1, -1),
    (2, 0, 10, 30, 4, 200, 1, -1, -1),
    (3, 20, 25, 60, 8, 90, 1, -1, -1),  # starts at 45
    (4, 30, 40, 60, 8, 90, 1, -1, -1),  # starts at 70
    (5, 40, -1, 60, 8, 90, 1, -1, -1),
    (6, 50, 0, 5, 1, 90, 1, -1, -1),
    (7, 60, 0, 5, 1, 90, 1, -1, -1),
    (8, 10, 37, 0, 1, 90, 5, -1, -1),  # withdrawn at 47
    (9, 10, 60, 0, 1, 90, 5, -1, -1),  # withdrawn at 70
)


def test_a_log_is_cut_at_the_last_start_before() -> None:
    cut = starting_state(keep_cancelled_jobs(LOG), 49)
    assert [(job.job_id, job.running_since) for job in cut.jobs] == [
        (1, 0),
        (3, 45),
        (4, None),
        (6, None),
        (7, None),
        (8, None),
        (9, None),
    ]
    assert cut.excluded == {
        "ended before the starting state": 1,
        "submitted before the starting state, wait not recorded": 1,
    }
    state = find_starting_state(cut.jobs)
    assert state is not None
    assert (state.begin, state.running, state.nodes, state.waiting) == (45, 2, 12, 3)
    # At 50 job 6 starts: the replay begins then.
    assert [job.running_since for job in starting_state(LOG, 50).jobs] == [0, 45, None, 50, None]
    assert [job.job_id for job in cut_until(cut, 0, 60).jobs] == [1, 3, 4, 6, 8, 9]
    jobs = as_rigid(cut)
    check_jobs(jobs, 16)
    result = simulate(jobs, 16)
    # Job 6 is backfilled and the others follow: 1 ends at 100, 3 at 105.
    assert {record.job_id: (record.start or 0) // 10**6 for record in result.records if record.start is not None} == {
        1: 0,
        3: 45,
        4: 100,
        6: 50,
        7: 60,
        8: 45,
        9: 45,
    }


def test_a_state_that_cannot_be_is_refused_in_a_sentence() -> None:
    with pytest.raises(InputError, match=r"^a\.swf: the 2 jobs that run at the starting state of 49 s need 12 proc"):
        starting_state(LOG.on_machine(8), 49)
    late = Trace((TraceJob(1, 50.0, 4, 10.0, 20.0, wait=30.0),), 4, "b.swf")
    with pytest.raises(InputError, match=r"^b\.swf: no job has a recorded start within 20 s of the first submit"):
        starting_state(late, 20)
    with pytest.raises(InputError, match="until must be later than the first submit"):
        cut_until(late, 0.0, 20)


def test_jobs_of_the_state_get_types_that_they_can_have() -> None:
    cut = starting_state(LOG, 49)
    assert {job.type for job in assign(cut, stochastic_share=1)[:2]} == {JobType.RIGID}
    for seed in range(20):
        jobs = assign(
            cut, shares=(0.4, 0.3, 0.3), no_show_share=0.2, largest_on_demand=1, group_by="campaign", seed=seed
        )
        check_jobs(jobs, 16)
        assert [job.running_since for job in jobs[:2]] == [0, 45]
        assert all(job.notice is None for job in jobs[:2])
        for mechanism in ("baseline", "CUP-SPAA"):
            assert len(simulate(jobs, 16, mechanism).records) == len(jobs)


# -- the job table ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["a.csv", "a.csv.gz", "a.parquet"])
def test_columns_are_written_where_they_are_used(tmp_path: Path, name: str) -> None:
    jobs = [
        rigid(1, 0, 4, 100, running_since=0.5),
        malleable(2, 1, 4, 10, min_nodes=2, preceding=1, think_time=2.5),
        rigid(3, 5, 4, 10, cancelled_at=30.000001),
        rigid(4, 5, 4, 10, preceding=2),
    ]
    write_job_table(jobs, tmp_path / name)
    assert read_job_table(tmp_path / name, nodes=8).jobs == tuple(jobs)


def test_the_header_has_only_what_is_used(tmp_path: Path) -> None:
    def header(*jobs: Job) -> list[str]:
        write_job_table(jobs, tmp_path / "a.csv")
        return (tmp_path / "a.csv").read_text().split("\n")[0].split(",")

    assert header(rigid(1, 0, 4, 100)) == [*COLUMNS]
    assert header(rigid(1, 0, 4, 100, cancelled_at=0)) == [*COLUMNS, "cancelled_at"]
    assert header(rigid(1, 0, 4, 9), rigid(2, 0, 4, 9, preceding=1)) == [*COLUMNS, "preceding"]
    both = header(stochastic(1, 0, 4, 9, "p"), rigid(2, 0, 4, 9, preceding=1, think_time=0))
    assert both == [*COLUMNS, *STOCHASTIC_COLUMNS, "preceding", "think_time"]
    assert LIFE_COLUMNS == ("cancelled_at", "preceding", "think_time", "running_since", "eligible")


@settings(max_examples=50)
@given(mix=lively_mixes())
def test_tables_with_a_life_are_read_as_written(tmp_path_factory: pytest.TempPathFactory, mix: Mix) -> None:
    path = tmp_path_factory.mktemp("tables") / "a.csv"
    write_job_table(mix.jobs, path)
    again = read_job_table(path, nodes=mix.nodes).jobs
    for job, other in zip(mix.jobs, again, strict=True):
        for name in LIFE_COLUMNS:
            one, two = getattr(job, name), getattr(other, name)
            assert (one is None) == (two is None)
            assert one is None or to_ticks(one) == to_ticks(two)


A, B = rigid(1, 10, 4, 100), rigid(2, 20, 4, 100)
STATE = rigid(9, 0, 4, 1000, running_since=50)
NOTICED = on_demand(1, 9, 4, 9, notice=8)


FROM_SUBMIT = "missing, or from its submit of 10 s to 1,000,000,000,000 s"
CIRCLE = "a job that does not itself wait for this one"


@pytest.mark.parametrize(
    ("field", "jobs", "legal"),
    [
        ("cancelled_at", [replace(A, cancelled_at=5)], f"{FROM_SUBMIT}, not 5"),
        ("cancelled_at", [replace(A, cancelled_at=math.nan)], f"{FROM_SUBMIT}, not nan"),
        ("cancelled_at", [replace(A, cancelled_at=math.inf)], f"{FROM_SUBMIT}, not inf"),
        (
            "cancelled_at",
            [replace(NOTICED, submit=None, cancelled_at=7)],
            "from its notice of 8 s to 1,000,000,000,000 s, not 7",
        ),
        ("cancelled_at", [replace(A, cancelled_at=49), STATE], "at least 50 s, where the replay begins, not 49"),
        ("preceding", [replace(A, preceding=7)], "a job of the table, not 7"),
        ("preceding", [replace(A, preceding=1)], f"{CIRCLE}, not 1"),
        ("preceding", [replace(A, preceding=2), replace(B, preceding=1)], f"{CIRCLE}, not 2"),
        ("preceding", [replace(A, preceding=1.5)], "a whole number, or missing, not 1.5"),
        ("preceding", [replace(NOTICED, preceding=1)], "missing for a job with a notice"),
        ("preceding", [replace(A, preceding=2), replace(NOTICED, job_id=2, submit=None)], "a job that arrives, not 2"),
        ("preceding", [replace(A, running_since=30, preceding=1)], "missing for a job that runs already, not 1"),
        ("think_time", [replace(A, think_time=3)], "missing for a job without a preceding one, not 3"),
        ("think_time", [replace(A, preceding=2, think_time=-3), B], "from 0 to 1,000,000,000,000 s, or missing"),
        ("running_since", [replace(A, running_since=5)], f"{FROM_SUBMIT}, not 5"),
        ("running_since", [stochastic(1, 0, 4, 9, "p", running_since=5)], "missing for a stochastic job"),
        ("running_since", [replace(NOTICED, running_since=10)], "missing for a job with a notice"),
        ("running_since", [replace(A, runtime=40, running_since=10), STATE], "later than 10 s, for the replay begins"),
        ("running_since", [replace(A, trace_runtime=30, running_since=15), STATE], "later than 20 s, for the replay"),
    ],
)
def test_laws_of_the_columns(field: str, jobs: list[Job], legal: str) -> None:
    with pytest.raises(InputError, match=re.escape(f"{field} of job 1 must be ") + f".*{re.escape(legal)}") as caught:
        check_jobs(jobs, 8)
    assert "\n" not in str(caught.value)
    with pytest.raises(InputError, match=f"{field} of job 1"):
        simulate(jobs, 8)


def test_a_state_must_fit_on_the_machine() -> None:
    jobs = [STATE, replace(A, running_since=20), replace(B, running_since=20)]
    check_jobs(jobs, 12)
    message = "^the jobs that run already at 50 s need 12 nodes, and must need at most the 11 nodes of the machine$"
    with pytest.raises(InputError, match=message):
        check_jobs(jobs, 11)


def test_a_broken_law_names_its_line() -> None:
    text = (
        "job_id,type,submit,nodes,runtime,walltime,preceding,running_since\n"
        "1,rigid,0,4,100,100,,\n"
        "\n"
        "2,rigid,0,4,100,100,3,\n"
        "3,rigid,0,4,100,100,2,\n"
    )
    with pytest.raises(TraceError, match=r"^a\.csv:4: preceding of job 2 must be a job that does not itself wait"):
        parse_job_table(text.encode(), "a.csv")
    with pytest.raises(TraceError, match=r"^a\.csv:4: preceding must be a whole number, not 'x'"):
        parse_job_table(text.replace("100,3", "100,x").encode(), "a.csv")
    many = "job_id,type,submit,nodes,runtime,walltime,running_since\n" + "".join(
        f"{job},rigid,0,4,100,100,{job}\n" for job in (1, 2)
    )
    with pytest.raises(TraceError, match=r"^a\.csv:3: the jobs that run already at 2\.0 s need 8 nodes"):
        parse_job_table(many.encode(), "a.csv", nodes=7)


def test_long_chains_are_sound() -> None:
    jobs = [rigid(0, 0, 1, 1), *(rigid(job, 0, 1, 1, preceding=job - 1, think_time=1) for job in range(1, 5000))]
    result = simulate(jobs[::-1], 1)
    assert [(record.start or 0) // 10**6 for record in result.records] == [2 * job.job_id for job in jobs[::-1]]


# -- real logs -------------------------------------------------------------------------------------------------


@pytest.mark.system
def test_kept_withdrawals_of_a_real_log() -> None:
    trace = read_swf(trace_file("SDSC-BLUE-2000-4.2-cln.swf.gz"), procs_per_node=8)
    assert len(trace.withdrawn) == 10_764
    kept = keep_cancelled_jobs(trace)
    assert len(kept.jobs) == len(trace.jobs) + 10_764
    assert kept.excluded == {"runtime <= 0": 6}
    submits = [job.submit for job in kept.jobs]
    assert submits == sorted(submits)
    part = cut_until(kept, submits[0], 20 * 86400)
    result = simulate(as_rigid(part), 144, events=False)
    summary = summarize(result)
    gone = sum(job.cancelled_at is not None for job in part.jobs)
    assert gone > 20
    assert 0 < int(summary["cancelled_jobs"]) <= gone
    assert int(summary["cancelled_jobs"]) + int(summary["jobs"]) == len(part.jobs)


@pytest.mark.system
def test_a_week_of_a_real_log_goes_on_as_it_did() -> None:
    """Cut at the state of a simulated spring: every job of the summer starts when it did."""
    trace = read_swf(trace_file("theta_2022.swf.gz")).on_machine(4360)
    trace = cut_until(trace, trace.jobs[0].submit, 120 * 86400)
    whole = {record.job_id: record for record in simulate(as_rigid(trace), 4360, events=False).records}
    waits = {job_id: ((record.start or 0) - (record.submit or 0)) / 1e6 for job_id, record in whole.items()}
    log = replace(trace, jobs=tuple(replace(job, wait=waits[job.job_id]) for job in trace.jobs))
    cut = starting_state(log, 100 * 86400)
    state = find_starting_state(cut.jobs)
    assert state is not None
    assert state.running > 1
    assert state.waiting > 50
    result = simulate(as_rigid(cut), 4360, events=False)
    assert len(result.records) > 1000
    for record in result.records:
        old = whole[record.job_id]
        assert (record.start, record.end) == (old.start, old.end)
