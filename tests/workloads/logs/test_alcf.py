"""The reader of ALCF logs: what a row means, what is left out and counted, and one sentence for each broken row."""

import csv
import gzip
import io
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.workloads.ground.errors import ParameterError, TraceError
from holdfast.workloads.logs.alcf import looks_like_alcf, parse_alcf, read_alcf
from holdfast.workloads.logs.trace import TraceJob

ROW = {
    "JOB_NAME": "a.theta",
    "COBALT_JOBID": "300001",
    "MACHINE_NAME": "theta",
    "QUEUED_TIMESTAMP": "2019-01-31 23:00:00",
    "QUEUED_DATE_ID": "20190131",
    "START_TIMESTAMP": "2019-02-01 00:00:00.5",
    "START_DATE_ID": "20190201",
    "END_TIMESTAMP": "2019-02-01 01:00:00.5",
    "USERNAME_GENID": "U1",
    "PROJECT_NAME_GENID": "P1",
    "QUEUE_NAME": "default",
    "WALLTIME_SECONDS": "7200.0",
    "RUNTIME_SECONDS": "3600.25",
    "NODES_USED": "128.0",
    "NODES_REQUESTED": "130.0",
    "CORES_REQUESTED": "8320.0",
}
QUEUED = datetime(2019, 1, 31, 23, tzinfo=UTC).timestamp()


def table(*changes, names=ROW):
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(names)
    for change in changes:
        row = ROW | change
        writer.writerow([row.get(name, "") for name in names])
    return text.getvalue()


def parse(*changes, names=ROW, **options):
    return parse_alcf(table(*changes, names=names), "a.csv", **options)


def test_a_row_is_a_job():
    trace = parse({})
    assert trace.jobs == (TraceJob(300001, QUEUED, 130, 3600.25, 7200.0, False, 3600.5, "U1", "P1"),)
    assert (trace.nodes, trace.format, trace.source) == (None, "alcf", "a.csv")
    assert trace.header == {"Computer": "theta", "ComputerNodes": "4392"}
    assert trace.excluded == trace.remarks == {}


def test_columns_are_found_by_name_in_any_order():
    assert parse({}, names=list(reversed(ROW))).jobs == parse({}).jobs


def test_names_of_older_tables():
    older = {
        "NODES_USED": "USED_NODES",
        "NODES_REQUESTED": "REQUESTED_NODES",
        "USERNAME_GENID": "COBALT_USER_NAME_GENID",
        "PROJECT_NAME_GENID": "COBALT_PROJECT_NAME_GENID",
    }
    names = [older.get(name, name) for name in ROW]
    text = table({}).replace(",".join(ROW), ",".join(names))
    assert parse_alcf(text, "a.csv").jobs == parse({}).jobs


def test_requested_nodes_fall_back_to_the_used():
    trace = parse({"NODES_REQUESTED": "0.0"})
    assert trace.jobs[0].nodes == 128
    assert trace.remarks == {"without requested nodes (the used nodes count)": 1}
    assert parse({}, names=[name for name in ROW if name != "NODES_REQUESTED"]).jobs[0].nodes == 128


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"QUEUE_NAME": "debug-cache-quad"}, "debug queue"),
        ({"START_DATE_ID": "0"}, "never started"),
        ({"START_DATE_ID": "0.0"}, "never started"),
        ({"START_TIMESTAMP": ""}, "never started"),
        ({"NODES_REQUESTED": "0", "NODES_USED": "0"}, "nodes <= 0"),
        ({"RUNTIME_SECONDS": "0.0"}, "runtime <= 0"),
        ({"WALLTIME_SECONDS": "0.0"}, "walltime <= 0"),
        ({"QUEUED_TIMESTAMP": ""}, "no submit time"),
    ],
)
def test_the_usual_cleaning_is_counted(changes, reason):
    trace = parse({}, changes)
    assert len(trace.jobs) == 1
    assert trace.excluded == {reason: 1}


def test_runs_beyond_the_walltime_and_starts_before_the_queue():
    trace = parse({"RUNTIME_SECONDS": "9000"}, {"START_TIMESTAMP": "2019-01-31 22:59:59"})
    assert (trace.jobs[0].runtime, trace.jobs[0].killed) == (7200, True)
    assert trace.jobs[1].wait is None
    assert trace.remarks["started before it was queued (wait unknown)"] == 1


def test_machines_of_unknown_size():
    assert parse({"MACHINE_NAME": "cetus"}).header == {"Computer": "cetus"}
    assert parse({}, {"MACHINE_NAME": "mira"}).header == {"Computer": "mira, theta"}
    assert parse({}, names=[name for name in ROW if name != "MACHINE_NAME"]).header == {}


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"RUNTIME_SECONDS": "nan"}, "RUNTIME_SECONDS must be a finite number, not 'nan'"),
        ({"WALLTIME_SECONDS": "inf"}, "WALLTIME_SECONDS must be a finite number, not 'inf'"),
        ({"NODES_REQUESTED": "1.5"}, "the number of requested nodes must be a whole number, not '1.5'"),
        ({"COBALT_JOBID": "x"}, "the job id must be a whole number, not 'x'"),
        ({"QUEUED_TIMESTAMP": "soon"}, "QUEUED_TIMESTAMP must be a time such as 2019-01-31 23:59:59, not 'soon'"),
    ],
)
def test_a_broken_row_is_one_sentence_with_its_place(changes, sentence):
    with pytest.raises(TraceError) as caught:
        parse({"JOB_NAME": "two\nlines"}, changes)
    assert str(caught.value) == f"a.csv:4: {sentence}"
    assert parse({}, changes, lenient=True).excluded == {"broken line": 1}


def test_broken_tables():
    with pytest.raises(TraceError, match=r"^a\.csv:3: a row must have 16 fields like the header, not 2$"):
        parse_alcf(table({}) + "1,2\n", "a.csv")
    with pytest.raises(TraceError, match=r"^a\.csv:1: the header row must have a column RUNTIME_SECONDS$"):
        parse({}, names=[name for name in ROW if name != "RUNTIME_SECONDS"])
    with pytest.raises(TraceError, match=r"^a\.csv: holds no job$"):
        parse()
    with pytest.raises(ParameterError, match="procs_per_node must be left out for an ALCF log"):
        parse({}, procs_per_node=64)


def test_gzip(tmp_path):
    path = tmp_path / "a.csv"
    path.write_bytes(gzip.compress(table({}).encode()))
    assert read_alcf(path).jobs == parse({}).jobs
    assert looks_like_alcf(table({}))
    assert not looks_like_alcf("job_id,type")


@given(st.datetimes(datetime(1971, 1, 1), datetime(2100, 1, 1)))
def test_timestamps_are_exact_to_the_microsecond(time):
    submit = parse({"QUEUED_TIMESTAMP": str(time)}).jobs[0].submit
    assert datetime.fromtimestamp(0, UTC).replace(tzinfo=None) + (time - datetime(1970, 1, 1)) == time
    assert (
        round(submit * 10**6)
        == (time - datetime(1970, 1, 1)) // (datetime(1970, 1, 2) - datetime(1970, 1, 1)) * (86400 * 10**6)
        + (time.hour * 3600 + time.minute * 60 + time.second) * 10**6
        + time.microsecond
    )
