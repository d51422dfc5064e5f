"""All readers alike: a log is recognised by what it holds, and nothing but one sentence comes of a broken one."""

import gzip
import os
import threading

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.experiments.traces.format_reference import PAGE, formats_page
from holdfast.workloads.ground.errors import InputError, ParameterError, TraceError, UnknownNameError
from holdfast.workloads.logs.clock import LOCAL, LogClock
from holdfast.workloads.logs.readers import READERS, Reader, Zone, read_trace, read_workload
from holdfast.workloads.logs.trace import Trace, TraceJob
from holdfast.workloads.table.job_table import JobTable, write_job_table
from tests.places import ROOT
from tests.shared_data import trace_file
from tests.workloads.logs.test_alcf import table as alcf_table
from tests.workloads.logs.test_sacct import export
from tests.workloads.logs.test_swf import line
from tests.workloads.table.test_job_table import JOBS

TEXTS = {"swf": "; Version: 2.2\n" + line() + "\n", "alcf": alcf_table({}), "sacct": export({})}


@pytest.mark.parametrize("format", TEXTS)
@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_logs_are_recognised_by_their_content(tmp_path, format, pack):
    path = tmp_path / "log"
    path.write_bytes(pack(TEXTS[format].encode()))
    assert read_workload(path).format == format
    assert read_trace(path) == read_trace(path, format=format)


@pytest.mark.parametrize("format", READERS)
def test_each_format_recognises_its_example_and_selects_by_its_columns(tmp_path, format):
    reader = READERS[format]
    (tmp_path / "a").write_text(reader.example)
    workload = read_workload(tmp_path / "a")
    assert isinstance(workload, Trace if reader.log else JobTable)
    assert format == getattr(workload, "format", format)
    if reader.log:
        assert (LogClock.of_trace(workload).zone == LOCAL) == (reader.zone is Zone.LOCAL)
    for name in reader.columns:
        try:
            read_workload(tmp_path / "a", where={name: "nothing has this value"})
        except TraceError as error:
            assert "to select by" not in str(error) or format == "columns", name


def test_a_plug_in_declares_local_time(tmp_path):
    def parse(data, path, **_):
        return Trace([TraceJob(1, 0.0, 1, 60.0, 60.0)], format="mine", header={"UnixStartTime": "1650000000"})

    READERS.add("mine", Reader(lambda head: False, parse, zone=Zone.LOCAL), "for a test")
    try:
        (tmp_path / "a").write_text("x")
        trace = read_trace(tmp_path / "a", format="mine")
        assert LogClock.of_trace(trace).zone == LOCAL
    finally:
        READERS.forget("mine")


def test_the_page_is_what_the_registry_says():
    again = "write it again: python -m holdfast.experiments.traces.format_reference"
    assert (ROOT / PAGE).read_text(encoding="utf-8") == formats_page(), again


@pytest.mark.parametrize("name", ["a.csv", "a.gz", "a.parquet"])
def test_job_tables_are_recognised_by_their_content(tmp_path, name):
    write_job_table(JOBS, tmp_path / name)
    path = (tmp_path / name).rename(tmp_path / "table")
    table = read_workload(path)
    assert isinstance(table, JobTable)
    assert table.jobs == JOBS
    assert read_workload(path, format="job-table") == table
    with pytest.raises(TraceError, match="is a job table, but a trace is required"):
        read_trace(path)
    with pytest.raises(ParameterError, match="procs_per_node must be left out for a job table"):
        read_workload(path, procs_per_node=8)


def test_options_reach_the_reader(tmp_path):
    path = tmp_path / "a"
    path.write_text(line(procs=9) + "\nbroken\n")
    with pytest.raises(TraceError, match="/a:2: "):
        read_workload(path)
    trace = read_trace(path, lenient=True, procs_per_node=8)
    assert (trace.jobs[0].nodes, trace.excluded) == (2, {"broken line": 1})


def test_an_unknown_format_names_the_nearest(tmp_path):
    with pytest.raises(UnknownNameError, match=r"unknown format 'SFW': did you mean swf\? known are job-table, alcf"):
        read_workload(tmp_path / "a", format="SFW")


UNKNOWN = f"format not recognised; choose one with --format {', '.join(READERS)}"


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"", "is empty"),
        (b"hello, world\n", UNKNOWN),
        (b"gpus,cpus\n1,2\n", f"{UNKNOWN}; name the columns of a table with --columns"),
        (b"1 2 3\n", "format not recognised"),
        (
            b"u_id,user,gpu_num,cpu_num,node_num,interval,run_time\n0,1,1,1,1,0,84\n",
            "is a sample of Philly or Helios, whose jobs request parts of nodes; give the machine as --machine FILE",
        ),
        (b"\x89PNG\r\n\x1a\n\0\0", "is a binary file, not a text"),
        (b"PK\x03\x04", "is a zip archive"),
        (b"PAR1 broken", "is a damaged Parquet file"),
        (b"  JOBID PARTITION NAME USER ST TIME NODES NODELIST(REASON)\n", "is the output of squeue"),
        (b"Sun Nov 29 01:49:26 2026\nJOBID PARTITION STATE TIME_LIMIT NODES\n", "is the output of squeue"),
        (b"JOBID|STATE|SUBMIT_TIME|START_TIME|TIME_LIMIT\n", "is the output of squeue"),
        (b'{"jobs": [{"job_id": 7, "job_state": ["RUNNING"]}]}', "is the output of squeue"),
        (b"\x1f\x8bbroken", "is a damaged gzip file"),
    ],
)
def test_what_is_no_workload_is_one_sentence(tmp_path, content, sentence):
    path = tmp_path / "a"
    path.write_bytes(content)
    with pytest.raises(TraceError) as caught:
        read_workload(path)
    assert str(caught.value).startswith(f"{path}: {sentence}")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("format", READERS)
@pytest.mark.parametrize("other", TEXTS)
def test_one_format_read_as_another_is_a_sentence(tmp_path, format, other):
    path = tmp_path / "a"
    path.write_text(TEXTS[other])
    if format != other:
        with pytest.raises(TraceError) as caught:
            read_workload(path, format=format)
        assert "\n" not in str(caught.value)


cells = st.sampled_from(
    [
        "",
        "0",
        "1",
        "-1",
        "nan",
        "inf",
        "1e999",
        "-0.0",
        "1.5",
        "x",
        "None",
        "1_2",
        "2019-01-31 23:59:59",
        "rigid",
        '"',
        "é",
        "99999999999999999999",
        "9" * 400,
        "on-demand",
        "\x0c",
        "\x1c",
        "1-1:1:1",
        "4K",
        "K",
        "٣",
        "123_4",
    ]
)


@settings(max_examples=100, deadline=None)
@given(
    st.sampled_from(sorted(READERS)),
    st.booleans(),
    st.lists(st.lists(cells, min_size=15, max_size=18), max_size=3) | st.binary(max_size=30),
)
def test_no_content_breaks_a_reader(tmp_path_factory, format, lenient, content):
    head = next(row for row in READERS[format].example.splitlines() if not row.startswith(";"))
    path = tmp_path_factory.mktemp("fuzz") / "a"
    if isinstance(content, list):
        mark = {"swf": " ", "sacct": "|"}.get(format, ",")
        rows = "\n".join(mark.join((row * 2)[: head.count(mark) + 1]) for row in content)
        path.write_text(head + "\n" + rows)
    else:
        path.write_bytes(head.encode() + b"\n" + content)
    for name in (format, None):
        try:
            read_workload(path, format=name, lenient=lenient)
        except InputError as error:
            assert "\n" not in str(error)


def test_missing_file_and_directory(tmp_path):
    with pytest.raises(TraceError, match="none: no such file"):
        read_workload(tmp_path / "none")
    with pytest.raises(TraceError, match="is a directory, not a file"):
        read_workload(tmp_path)


def test_a_pipe_is_read_once(tmp_path):
    path = tmp_path / "pipe"
    os.mkfifo(path)
    writer = threading.Thread(target=path.write_text, args=(TEXTS["swf"],))
    writer.start()
    assert len(read_trace(path).jobs) == 1
    writer.join()


@pytest.mark.system
def test_real_traces_are_recognised():
    assert read_trace(trace_file("KTH-SP2-1996-2.1-cln.swf.gz")).nodes == 100
    assert len(read_trace(trace_file("theta_2018_sample_projects.swf.gz")).jobs) == 3_000


def test_a_reader_that_returns_no_trace_is_named(tmp_path, monkeypatch):
    (tmp_path / "my_reader.py").write_text("def parse(text, path, *, lenient, procs_per_node):\n    return 5\n")
    (tmp_path / "log.txt").write_text("1\n")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match="the reader my_reader:parse must return a Trace, not int"):
        read_workload("log.txt", format="my_reader:parse")
