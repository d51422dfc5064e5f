"""The reader of Slurm's accounting: times, sizes, arrays and states, what is left out, and how it refuses."""

import gzip

import pytest

from holdfast.workloads.ground.errors import ParameterError, TraceError
from holdfast.workloads.logs.cancellations import keep_cancelled_jobs
from holdfast.workloads.logs.sacct import looks_like_sacct, parse_sacct, read_sacct
from holdfast.workloads.logs.trace import TraceJob

ROW = {
    "JobIDRaw": "1000",
    "User": "alice",
    "Account": "physics",
    "Partition": "batch",
    "State": "COMPLETED",
    "Submit": "1700000000",
    "Eligible": "1700000000",
    "Start": "1700000100",
    "End": "1700003700",
    "ElapsedRaw": "3600",
    "TimelimitRaw": "120",
    "NNodes": "4",
    "NCPUS": "256",
}


def export(*changes, names=ROW):
    rows = ["|".join(names)]
    rows += ["|".join((ROW | change)[name] for name in names) for change in changes]
    return "\n".join(rows) + "\n"


def without(*names):
    return [name for name in ROW if name not in names]


def parse(*changes, names=ROW, **options):
    return parse_sacct(export(*changes, names=names), "a.txt", **options)


def job(**changes):
    return parse(changes).jobs[0]


def test_a_line_is_a_job():
    trace = parse({})
    assert trace.jobs == (TraceJob(1000, 1.7e9, 4, 3600.0, 7200.0, False, 100.0, "alice", "physics"),)
    assert (trace.nodes, trace.format, trace.header) == (None, "sacct", {"Unit": "nodes"})
    assert trace.excluded == trace.remarks == {}


def test_the_partition_is_that_of_the_line():
    assert [job.partition for job in parse({}, {"Partition": ""}).jobs] == ["batch", ""]
    assert parse({}, names=without("Partition")).jobs[0].partition == ""


def test_iso_times_and_clocks():
    changes = {
        "Submit": "2023-11-14T22:13:20",
        "Start": "2023-11-14T22:15:00",
        "End": "2023-11-14T23:15:00",
        "ElapsedRaw": "",
    }
    assert parse(changes).jobs == parse({}).jobs
    text = export({}).replace("ElapsedRaw", "Elapsed").replace("TimelimitRaw", "Timelimit")
    text = text.replace("|3600|120|", "|01:00:00|0-02:00:00|")
    assert parse_sacct(text, "a.txt").jobs == parse({}).jobs
    with pytest.raises(TraceError, match=r"a\.txt:2: Timelimit must be a time such as 1-12:00:00, not 'long'"):
        parse_sacct(text.replace("0-02:00:00", "long"), "a.txt")


@pytest.mark.parametrize("limit", ["", "Partition_Limit", "UNLIMITED", "Unknown", "None", "INVALID"])
def test_without_a_limit_the_runtime_is_the_walltime(limit):
    trace = parse({"TimelimitRaw": limit})
    assert trace.jobs[0].walltime == 3600
    assert trace.remarks == {"without a walltime (the runtime is used)": 1}


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"Start": "Unknown"}, "never started"),
        ({"Start": "None", "State": "CANCELLED by 1000", "ElapsedRaw": "0"}, "never started"),
        ({"Start": "", "End": ""}, "never started"),
        ({"Start": "0"}, "never started"),
        ({"State": "CANCELLED by 7", "Start": "1700000500", "End": "1700000500", "ElapsedRaw": "0"}, "never started"),
        ({"State": "RUNNING", "End": "Unknown"}, "not ended"),
        ({"State": "RESIZING", "End": "Unknown"}, "not ended"),
        ({"End": "Unknown"}, "not ended"),
        ({"JobIDRaw": "1000.batch"}, "job step"),
        ({"JobIDRaw": "1000.0"}, "job step"),
        ({"ElapsedRaw": "0"}, "runtime <= 0"),
        ({"NNodes": "0"}, "nodes <= 0"),
        ({"NNodes": "Unknown"}, "nodes <= 0"),
        ({"Submit": "Unknown"}, "no submit time"),
    ],
)
def test_what_is_no_job_that_ran_is_counted(changes, reason):
    trace = parse({}, changes)
    assert len(trace.jobs) == 1
    assert trace.excluded == {reason: 1}


@pytest.mark.parametrize(
    ("ids", "tasks"),
    [
        ("5010_[1-20]", range(1, 21)),
        ("5010_[1-20%4]", range(1, 21)),
        ("5010_[7]", [7]),
        ("5010_[1,3,10-14:2]", [1, 3, 10, 12, 14]),
        ("5010_[1,3,...]", [1, 3]),
    ],
)
def test_a_cancelled_array_is_each_of_its_tasks(ids, tasks):
    gone = {"State": "CANCELLED by 7", "Start": "1700000500", "End": "1700000500", "ElapsedRaw": "0"}
    trace = parse({}, {"JobIDRaw": ids} | gone)
    assert trace.excluded == {"never started": len(tasks)}
    assert trace.remarks == (
        {"array without all ids of its jobs (the named jobs count, or one)": 1} if ".." in ids else {}
    )
    kept = keep_cancelled_jobs(trace)
    assert kept.excluded == {}
    assert [job.job_id - (5010 << 32) for job in kept.jobs[1:]] == list(tasks)
    assert {(job.submit, job.cancelled_at, job.nodes) for job in kept.jobs[1:]} == {(1.7e9, 1700000500, 4)}
    # Where both columns are there, the raw one says nothing of tasks.
    text = export({}, {"JobIDRaw": ids} | gone).replace("JobIDRaw|", "JobID|JobIDRaw|").replace("]|", "]|5010|")
    assert parse_sacct(text.replace("\n1000|", "\n1000|1000|"), "a.txt").withdrawn == trace.withdrawn


@pytest.mark.parametrize("ids", ["5010_[]", "5010_[2-1]", "5010_[1-4000001]", "5010_[1-9:0]", "9999999999_[1]"])
def test_arrays_that_cannot_be_counted_are_one_job_left_out(ids):
    trace = parse(
        {}, {"JobIDRaw": ids, "State": "CANCELLED", "Start": "None"}, {"JobIDRaw": "5_[1-3]", "Start": "None"}
    )
    assert trace.excluded == {"never started": 4}
    assert trace.withdrawn == ()
    assert set(trace.remarks.values()) == {1}
    with pytest.raises(TraceError, match="the job id must be a number, or one such as 123_4, not '5_"):
        parse({"JobIDRaw": "5_[1-3]"})
    many = [{"JobIDRaw": f"{job}_[1-4000000]", "State": "CANCELLED", "Start": "None"} for job in (1, 2)]
    with pytest.raises(
        TraceError, match=r"a\.txt: has 8,000,000 cancelled jobs, more than the 5,000,000 that can be kept"
    ):
        keep_cancelled_jobs(parse({}, *many))


def test_states_are_counted_and_leave_nothing_out():
    trace = parse({"State": "CANCELLED by 1000"}, {"State": "CANCELLED+"}, {"State": "FAILED"}, {"JobIDRaw": "7"})
    assert len(trace.jobs) == 4
    assert trace.remarks == {"state CANCELLED": 2, "state FAILED": 1, "job id seen before": 2}


@pytest.mark.parametrize(("end", "noted"), [("01:30:00", 1), ("02:30:00", 0), ("03:30:01", 1), ("03:29:00", 0)])
def test_runs_through_a_change_of_the_clock_are_noted(end, noted):
    """An hour of local time is missing or twice there, which Elapsed does not share."""
    times = dict.fromkeys(("Submit", "Eligible", "Start"), "2025-10-26T01:00:00")
    trace = parse({**times, "End": f"2025-10-26T{end}", "ElapsedRaw": "5400"})
    assert sum(count for words, count in trace.remarks.items() if "clock changed" in words) == noted
    assert trace.jobs[0].runtime == 5400


def test_killed_at_the_walltime():
    assert job(ElapsedRaw="7230", State="TIMEOUT").runtime == 7200
    assert job(ElapsedRaw="7230", State="TIMEOUT").killed
    assert job(ElapsedRaw="7200", State="TIMEOUT").killed
    assert not job(ElapsedRaw="7200").killed


def test_ids_of_arrays_and_heterogeneous_jobs_fit_64_bits_and_differ():
    ids = [job(JobIDRaw=text).job_id for text in ("123", "123_0", "123_4", "123+1", "67108863_4000000")]
    assert ids[:4] == [123, 123 << 32, (123 << 32) + 4, (123 << 32) + (1 << 31) + 1]
    assert max(ids) < 2**63
    assert len(set(ids)) == len(ids)


def test_users_without_a_name():
    assert (job(User="", Account="(null)").user, job(User="", Account="(null)").project) == ("", "")


def test_sizes():
    assert job(NNodes="2K").nodes == 2048
    processors = parse({}, names=without("NNodes"))
    assert (processors.jobs[0].nodes, processors.header) == (256, {"Unit": "processors"})
    nodes = parse({"NCPUS": "257"}, names=without("NNodes"), procs_per_node=64)
    assert (nodes.jobs[0].nodes, nodes.header) == (5, {"Unit": "nodes"})
    with pytest.raises(ParameterError, match="procs_per_node must be left out for an export with the column NNodes"):
        parse({}, procs_per_node=64)
    with pytest.raises(ParameterError, match="procs_per_node must be a whole number from 1"):
        parse({}, names=without("NNodes"), procs_per_node=0)


def test_columns_that_may_be_missing():
    names = ["JobIDRaw", "Submit", "Start", "End", "NNodes"]
    assert parse({}, names=names).jobs == (TraceJob(1000, 1.7e9, 4, 3600.0, 3600.0, False, 100.0),)
    assert parse({}, names=without("End")).jobs == parse({}).jobs


def test_trailing_separator_of_parsable_and_carriage_returns():
    text = export({}).replace("\n", "|\r\n")
    assert parse_sacct(text, "a.txt").jobs == parse({}).jobs


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"JobIDRaw": "x"}, "the job id must be a number, or one such as 123_4, not 'x'"),
        ({"Submit": "nan"}, "Submit must be a time such as 2019-01-31 23:59:59, not 'nan'"),
        ({"ElapsedRaw": "inf"}, "ElapsedRaw must be a finite number, not 'inf'"),
        ({"TimelimitRaw": "2h"}, "TimelimitRaw must be a finite number, not '2h'"),
        ({"NNodes": "1.5"}, "the size must be a whole number, not '1.5'"),
        ({"User": "a|b"}, "a line must have 13 fields like the header, not 14"),
    ],
)
def test_a_broken_line_is_one_sentence_with_its_place(changes, sentence):
    with pytest.raises(TraceError) as caught:
        parse({}, changes)
    assert str(caught.value) == f"a.txt:3: {sentence}"
    assert parse({}, changes, lenient=True).excluded == {"broken line": 1}


@pytest.mark.parametrize(
    ("missing", "sentence"),
    [
        (["JobIDRaw"], "the header row must have a column JobIDRaw or JobID"),
        (["Submit"], "the header row must have a column Submit"),
        (["NNodes", "NCPUS"], "the header row must have a column NNodes or NCPUS or AllocCPUS or ReqCPUS"),
        (["ElapsedRaw", "End"], "the header row must have a column ElapsedRaw or Elapsed or End"),
    ],
)
def test_missing_columns(missing, sentence):
    with pytest.raises(TraceError) as caught:
        parse({}, names=without(*missing))
    how = "docs/guides/sacct.md has a command that exports all columns"
    assert str(caught.value) == f"a.txt:1: {sentence} ({how})"


def test_file_and_recognition(tmp_path):
    path = tmp_path / "a"
    path.write_bytes(gzip.compress(b"\n" + export({}).encode()))
    assert read_sacct(path).jobs == parse({}).jobs
    assert looks_like_sacct(export({}))
    assert not looks_like_sacct("job_id,submit")
    with pytest.raises(TraceError, match=r"^a\.txt: holds no job$"):
        parse()
