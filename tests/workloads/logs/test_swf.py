"""The reader of the standard workload format: fields, header, what is left out, real traces by a count of their own."""

import gzip
import subprocess
import sys
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.workloads.ground.errors import OutputError, ParameterError, TraceError
from holdfast.workloads.ground.units import to_seconds
from holdfast.workloads.hybrid.assignment import as_rigid
from holdfast.workloads.logs.swf import looks_like_swf, parse_swf, read_swf, write_swf
from holdfast.workloads.logs.trace import Trace, TraceJob
from tests.shared_data import trace_file


def line(job=1, submit=0, wait=5, run=100, allocated=4, procs=4, request=200, status=1, user=7, group=3, rest=""):
    fields = [job, submit, wait, run, allocated, -1, -1, procs, request, -1, status, user, group, -1, -1, -1, -1, -1]
    return " ".join(map(str, fields)) + rest


def parse(*lines, **options):
    return parse_swf("\n".join(lines) + "\n", "a.swf", **options)


def job(**changes):
    return parse(line(**changes)).jobs[0]


def test_a_line_is_a_job():
    trace = parse("; MaxNodes: 16", line())
    assert trace.jobs == (TraceJob(1, 0.0, 4, 100.0, 200.0, False, 5.0, "7", "3"),)
    assert (trace.nodes, trace.source, trace.format) == (16, "a.swf", "swf")
    assert trace.excluded == trace.remarks == {}


def test_unknown_values_are_none_or_empty():
    unknown = job(wait=-1, user=-1, group=-1)
    assert (unknown.wait, unknown.user, unknown.project) == (None, "", "")


def test_size_is_the_requested_else_the_allocated():
    assert job(procs=8, allocated=4).nodes == 8
    assert job(procs=8, allocated=-1).nodes == 8
    trace = parse(line(procs=-1, allocated=4))
    assert trace.jobs[0].nodes == 4
    assert trace.remarks == {"no requested processors: the allocated taken": 1}


def test_walltime_is_the_requested_else_the_runtime():
    assert job(request=200).walltime == 200
    trace = parse(line(request=-1))
    assert trace.jobs[0].walltime == trace.jobs[0].runtime == 100
    assert not trace.jobs[0].killed
    assert trace.remarks == {"without a walltime (the runtime is used)": 1}


def test_a_job_is_killed_at_its_walltime():
    trace = parse(line(run=300, request=200), line(job=2, run=200, request=200))
    assert [(job.runtime, job.killed) for job in trace.jobs] == [(200, True), (200, False)]
    assert trace.remarks == {"ran longer than the walltime (killed at the walltime)": 1}


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"procs": 0, "allocated": 0}, "nodes <= 0"),
        ({"procs": -1, "allocated": -1}, "nodes <= 0"),
        ({"run": 0}, "runtime <= 0"),
        ({"run": -1}, "runtime <= 0"),
        ({"run": "0.0000001"}, "runtime <= 0"),
        ({"submit": -1}, "no submit time"),
    ],
)
def test_what_rule_1_leaves_out_is_counted(changes, reason):
    assert parse(line(), line(job=2, **changes)).excluded == {reason: 1}


def test_the_status_leaves_nothing_out_but_is_counted():
    trace = parse(*(line(job=index, status=status) for index, status in enumerate((0, 1, 5, 5, -1, 4))))
    assert len(trace.jobs) == 6
    assert trace.remarks == {"status 0 (failed)": 1, "status 5 (cancelled)": 2, "status 4 (partial record)": 1}


def test_partial_records_do_not_count_twice():
    trace = parse(line(status=1), line(status=2), line(status=3), line(job=2))
    assert [job.job_id for job in trace.jobs] == [1, 2]
    assert trace.excluded == {"partial record of the job above": 2}


@pytest.mark.parametrize("rest", ["", " -1", " 0 x_y 2022-01-01", "   ", "\t", "\r"])
def test_more_fields_and_trailing_space(rest):
    assert parse(line(rest=rest)).jobs == parse(line()).jobs


def test_17_fields_tabs_and_leading_space():
    short = line().rsplit(" ", 1)[0]
    assert parse("\t " + short.replace(" ", "\t")).jobs == parse(line()).jobs


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_line_ends_and_line_numbers(end):
    text = end.join(["; MaxProcs: 8", "", line(), "broken"])
    with pytest.raises(TraceError, match=r"^a\.swf:4: a job must have 17 or more fields, not 1: 'broken'$"):
        parse_swf(text, "a.swf")
    assert parse_swf(text, "a.swf", lenient=True).excluded == {"broken line": 1}


def test_strange_ids():
    trace = parse(line(job=0, user=92605928607567), line(job=99999999999999), line(job=2**60 + 1), line(job="7.0"))
    assert [job.job_id for job in trace.jobs] == [0, 99999999999999, 2**60 + 1, 7]
    assert trace.jobs[0].user == "92605928607567"
    assert parse(line(), line()).remarks == {"job id seen before": 1}


def test_submits_stay_on_the_logs_clock_and_in_its_order():
    trace = parse(
        "; UnixStartTime: 0", line(submit=1641021254), line(job=2, submit=1641021253.5), line(job=3, submit="2e9")
    )
    assert [job.submit for job in trace.jobs] == [1641021254, 1641021253.5, 2e9]
    assert trace.remarks == {"submitted before the job in the line above": 1}


def test_a_log_without_header_does_not_say_its_machine():
    trace = parse(line())
    assert trace.nodes is None
    assert trace.header == {}


@pytest.mark.parametrize(
    ("header", "per_node", "nodes"),
    [
        (["; MaxNodes: 144", "; MaxProcs: 1152"], None, (1152, "processors")),
        (["; MaxNodes: 144", "; MaxProcs: 144"], None, (144, "nodes")),
        (["; MaxProcs: 1152"], None, (1152, "processors")),
        (["; MaxNodes: 144"], None, (144, "nodes")),
        (["; MaxNodes: 144", "; MaxProcs: 1152"], 8, (144, "nodes")),
        (["; MaxProcs: 1152"], 8, (144, "nodes")),
        (["; MaxProcs: 1150"], 8, (144, "nodes")),
        (["; MaxProcs: -1"], None, (None, "processors")),
        (["; MaxProcs: unknown"], None, (None, "processors")),
        ([";MaxProcs:1152 (144 nodes)"], None, (1152, "processors")),
        (["; MaxProcs: 1,152"], None, (1152, "processors")),
        (["; MaxProcs: 1,152, in 144 nodes"], None, (1152, "processors")),
        (["; MaxProcs: 1e9"], None, (1_000_000_000, "processors")),
    ],
)
def test_machine_size(header, per_node, nodes):
    trace = parse(*header, line(), procs_per_node=per_node)
    assert (trace.nodes, trace.unit) == nodes


@pytest.mark.parametrize("size", ["1x", "1,15", "128-256", "1.5", "1e10", "9" * 30, "9" * 5000])
def test_a_size_that_is_none_is_no_machine_of_one_node(size):
    with pytest.raises(TraceError) as caught:
        parse("; Note: a", f"; MaxNodes: {size}", line())
    legal = "a.swf:2: MaxNodes must be a whole number up to 1,000,000,000, or -1 for unknown, not '"
    assert str(caught.value).startswith(legal)
    trace = parse(f"; MaxNodes: {size}", line(), lenient=True)
    assert (trace.nodes, trace.remarks) == (None, {"MaxNodes not understood": 1})


def test_a_long_header_takes_no_longer_for_each_line():
    header = parse(*["; Note: one"] * 50_000, *[";       two"] * 50_000, line()).header
    assert header == {"Note": "\n".join(["one"] * 50_000 + ["two"] * 50_000)}


def test_processors_per_node_round_sizes_up():
    sizes = [job.nodes for job in parse(*(line(procs=procs) for procs in (1, 8, 9)), procs_per_node=8).jobs]
    assert sizes == [1, 1, 2]
    for wrong in (0, -8, 1.5):
        with pytest.raises(ParameterError, match="procs_per_node must be a whole number from 1 to"):
            parse(line(), procs_per_node=wrong)


def test_header_directives_repeat_and_continue():
    header = parse(
        "; Computer: IBM SP2",
        ";",
        "; Information: http://www.pdc.kth.se/",
        ";              http://www.cs.huji.ac.il/",
        "; Note: one",
        "; Note: two",
        "; a remark of somebody",
        line(),
    ).header
    assert header == {
        "Computer": "IBM SP2",
        "Information": "http://www.pdc.kth.se/\nhttp://www.cs.huji.ac.il/",
        "Note": "one\ntwo",
    }


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"submit": "nan"}, "field 2 (submit time) must be a finite number, not 'nan'"),
        ({"submit": "x"}, "field 2 (submit time) must be a finite number, not 'x'"),
        ({"run": "inf"}, "field 4 (run time) must be a finite number, not 'inf'"),
        (
            {"procs": "9" * 30},
            "a number of processors must be a whole number up to 9,223,372,036,854,775,807, not '999",
        ),
        ({"procs": "1e10"}, "the size of a job must be at most 1,000,000,000, not 10,000,000,000"),
        ({"request": "9200000000000"}, "the walltime of a job must be at most 1,000,000,000,000 s, not 9200000000000"),
        ({"submit": "1e30"}, "the submit time of a job must be at most 1,000,000,000,000 s, not 1e+30"),
        ({"job": "9" * 5000}, "field 1 (job number) must be a finite number, not '999"),
        ({"run": "1e999"}, "field 4 (run time) must be a finite number, not '1e999'"),
        ({"run": "1-2"}, "field 4 (run time) must be a finite number, not '1-2'"),
        ({"run": "9" * 400}, "field 4 (run time) must be a finite number"),
        ({"request": "1_000"}, "field 9 (requested time) must be a finite number, not '1_000'"),
        ({"job": "1.5"}, "field 1 (job number) must be a whole number, not '1.5'"),
        ({"procs": "1.5"}, "a number of processors must be a whole number, not '1.5'"),
        ({"user": "32-1"}, "field 12 (user) must be a finite number, not '32-1'"),
        ({"user": "alice"}, "field 12 (user) must be a finite number, not 'alice'"),
    ],
)
def test_a_broken_line_is_one_sentence_with_its_place(changes, sentence):
    with pytest.raises(TraceError) as caught:
        parse("; MaxProcs: 8", line(), line(job="2", **changes) if "job" not in changes else line(**changes))
    assert str(caught.value).startswith(f"a.swf:3: {sentence}")
    assert "\n" not in str(caught.value)
    trace = parse("; MaxProcs: 8", line(), line(**changes), lenient=True)
    assert (len(trace.jobs), trace.excluded) == (1, {"broken line": 1})


def test_a_preceding_job_that_is_none():
    for fault, lenient in (("--5", 0), ("1-2", 0), ("--5", 1)):
        lines = line(), line().removesuffix("-1 -1") + f"{fault} -1"
        if lenient:
            assert parse(*lines, lenient=True).excluded == {"broken line": 1}
        else:
            with pytest.raises(TraceError, match=rf"^a\.swf:2: field 17 \(preceding job\) must be .* not '{fault}'$"):
                parse(*lines)


def test_nan_in_a_field_that_nobody_reads_is_an_error_too():
    broken = line().split()
    broken[5] = "NaN"
    with pytest.raises(TraceError, match=r"a\.swf:1: field 6 \(average CPU time\)"):
        parse(" ".join(broken))


def test_a_log_without_jobs_is_refused():
    with pytest.raises(TraceError, match=r"^a\.swf: holds no job$"):
        parse("; MaxProcs: 8")
    with pytest.raises(TraceError, match=r"^a\.swf: no job is left \(2 runtime <= 0, 1 nodes <= 0\)$"):
        parse(line(run=0), line(run=-1), line(procs=0, allocated=0))


def test_recognition():
    assert looks_like_swf("; Version: 2.2\n")
    assert looks_like_swf("\n" + line())
    assert looks_like_swf("broken\n" + line())
    assert not looks_like_swf("job_id,type\n")
    assert looks_like_swf(line(run="nan"))
    assert not looks_like_swf("a sentence " * 10)
    assert not looks_like_swf("")


times = st.integers(0, 10**15).map(to_seconds)
positive = st.integers(1, 10**13).map(to_seconds)
ids = st.one_of(st.just(""), st.integers(0, 2**62).map(str))


@st.composite
def trace_jobs(draw):
    walltime = draw(positive)
    killed = draw(st.booleans())
    runtime = walltime if killed else min(walltime, draw(positive))
    wait = draw(st.none() | times)
    return TraceJob(
        draw(st.integers(0, 2**62)),
        draw(times),
        draw(st.integers(1, 10**6)),
        runtime,
        walltime,
        killed,
        wait,
        draw(ids),
        draw(ids),
    )


@settings(max_examples=60, deadline=None)
@given(
    st.lists(trace_jobs(), min_size=1, max_size=5),
    st.none() | st.integers(1, 10**6),
    st.sampled_from(["a.swf", "a.swf.gz"]),
)
def test_what_is_written_is_read(tmp_path_factory, jobs, nodes, name):
    path = tmp_path_factory.mktemp("swf") / name
    write_swf(Trace(tuple(jobs), nodes), path)
    again = read_swf(path)
    assert (again.jobs, again.nodes) == (tuple(jobs), nodes)
    assert set(again.remarks) <= {"submitted before the job in the line above", "job id seen before"}


def test_written_header(tmp_path):
    path = tmp_path / "a.swf"
    source = parse("; UnixStartTime: 5", "; TimeZoneString: Europe/Stockholm", "; MaxNodes: 16", line(), line(run=0))
    write_swf(source, path, note="A test.")
    assert path.read_text().split("\n")[:10] == [
        "; Version: 2.2",
        "; TimeZoneString: Europe/Stockholm",
        "; Conversion: Holdfast",
        "; MaxJobs: 1",
        "; MaxRecords: 1",
        "; UnixStartTime: 5",
        "; MaxNodes: 16",
        "; MaxProcs: 16",
        "; Note: A test.",
        "; Note: written by Holdfast; status 0 = killed at the requested time, the run time is cut there",
    ]
    assert "; Note: left out: 1 job, runtime <= 0\n" in path.read_text()


def test_written_bytes_depend_on_the_trace_alone(tmp_path):
    first, second = tmp_path / "a.swf.gz", tmp_path / "b.swf.gz"
    for path in (first, second):
        write_swf(parse(line()), path)
    assert first.read_bytes() == second.read_bytes()


def test_names_are_numbered_on_writing(tmp_path):
    path = tmp_path / "a.swf"
    jobs = [TraceJob(i, 0.0, 1, 1.0, 1.0, user=user) for i, user in enumerate(["zoe", "", "al", "zoe"])]
    write_swf(Trace(tuple(jobs)), path)
    again = read_swf(path)
    assert [job.user for job in again.jobs] == ["1", "", "2", "1"]
    assert "users are numbered" in again.header["Note"]


def test_what_cannot_be_written(tmp_path):
    with pytest.raises(OutputError, match="cannot be written"):
        write_swf(parse(line()), tmp_path / "none" / "a.swf")


def test_reading_does_not_pay_for_libraries_it_does_not_use():
    code = (
        "import sys, holdfast.workloads.logs.readers;"
        "sys.exit(bool({'pandas', 'pyarrow', 'llvmlite'} & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.parametrize(
    "name",
    [
        "theta_2022.swf.gz",
        "theta_2018_sample_projects.swf.gz",
        "theta_sample_noprojects.swf.gz",
        "KTH-SP2-1996-2.1-cln.swf.gz",
        pytest.param("SDSC-BLUE-2000-4.2-cln.swf.gz", marks=pytest.mark.system),
    ],
)
def test_real_traces_against_a_count_of_their_own(name):
    path = trace_file(name)
    kept, excluded, area = 0, Counter(), 0
    with gzip.open(path, "rt") as file:
        for text in file:
            if text.startswith(";"):
                continue
            fields = [float(field) for field in text.split()]
            size = fields[7] if fields[7] > 0 else fields[4]
            if size <= 0:
                excluded["nodes <= 0"] += 1
            elif fields[3] <= 0:
                excluded["runtime <= 0"] += 1
            else:
                kept += 1
                area += size * (min(fields[3], fields[8]) if fields[8] > 0 else fields[3])
    trace = read_swf(path)
    assert (len(trace.jobs), trace.excluded) == (kept, excluded)
    assert sum(job.nodes * job.runtime for job in trace.jobs) == area


def test_facts_of_theta():
    theta = read_swf(trace_file("theta_2022.swf.gz"))
    assert (len(theta.jobs), theta.nodes, theta.excluded) == (23_911, 4360, {})


@pytest.mark.slow
def test_facts_of_blue_horizon():
    blue = read_swf(trace_file("SDSC-BLUE-2000-4.2-cln.swf.gz"), procs_per_node=8)
    assert blue.nodes == 144
    assert blue.excluded == {"runtime <= 0": 10_770}
    assert max(job.nodes for job in blue.jobs) <= 144


def test_the_partition_is_carried_to_the_job():
    numbered = parse(line().replace(" 7 3 -1 -1 -1", " 7 3 -1 -1 2"), line(job=2))
    assert [job.partition for job in numbered.jobs] == ["2", ""]
    assert [job.partition for job in as_rigid(numbered)] == ["2", ""]
