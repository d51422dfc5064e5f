"""The job table: what is written comes back, and each law of a row is kept or named with file and line."""

import builtins
from array import array
from dataclasses import fields, replace

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.workloads.ground.errors import InputError, OutputError, TraceError
from holdfast.workloads.ground.units import format_seconds, to_seconds, to_ticks
from holdfast.workloads.table.columns import CARRIED, COLUMNS, LIFE_COLUMNS, STOCHASTIC_COLUMNS
from holdfast.workloads.table.job import Job, JobType
from holdfast.workloads.table.job_table import parse_job_table, read_job_table, write_job_table
from holdfast.workloads.table.validation import check_jobs

RIGID = Job(1, JobType.RIGID, 0.0, 128, 3600.0, 7200.0, setup=180.0, checkpoint_interval=1800.0, checkpoint_cost=600.0)
ON_DEMAND = Job(2, JobType.ON_DEMAND, 900.5, 64, 60.0, 60.0, notice=-5.0, estimated_arrival=1000.0)
NO_SHOW = replace(ON_DEMAND, job_id=3, submit=None)
MALLEABLE = Job(
    4, JobType.MALLEABLE, 10.0, 256, 0.000001, 10.0, min_nodes=52, user='a "b", c', project="\r", killed=True
)
JOBS = (RIGID, ON_DEMAND, NO_SHOW, MALLEABLE)


def parse(text, **options):
    return parse_job_table(text.encode(), "a.csv", **options)


def test_the_columns_are_the_specified_ones():
    assert ",".join(COLUMNS) == (
        "job_id,type,submit,nodes,min_nodes,runtime,walltime,setup,checkpoint_interval,checkpoint_cost,notice,"
        "estimated_arrival,trace_runtime,trace_walltime,user,project,killed"
    )
    assert ",".join(STOCHASTIC_COLUMNS) == "application,true_runtime,plan,restart_cost,memory_profile"
    assert {field.name for field in fields(Job)} == {*COLUMNS, *STOCHASTIC_COLUMNS, *LIFE_COLUMNS, *CARRIED}


def test_written_text(tmp_path):
    path = tmp_path / "a.csv"
    write_job_table(JOBS, path)
    assert path.read_bytes().decode().split("\n")[1:] == [
        "1,rigid,0,128,,3600,7200,180,1800,600,,,,,,,0",
        "2,on-demand,900.5,64,,60,60,0,,0,-5,1000,,,,,0",
        "3,on-demand,,64,,60,60,0,,0,-5,1000,,,,,0",
        '4,malleable,10,256,52,0.000001,10,0,,0,,,,,"a ""b"", c","\r",1',
        "",
    ]


@pytest.mark.parametrize("name", ["a.csv", "a.csv.gz", "a.parquet"])
def test_what_is_written_is_read(tmp_path, name):
    path = tmp_path / name
    write_job_table(JOBS, path)
    table = read_job_table(path, nodes=256)
    assert table.jobs == JOBS
    assert table.source == str(path)
    again = tmp_path / f"again-{name}"
    write_job_table(JOBS, again)
    assert again.read_bytes() == path.read_bytes()


@pytest.mark.parametrize("name", ["a.csv", "a.parquet"])
def test_a_table_without_jobs(tmp_path, name):
    write_job_table([], tmp_path / name)
    assert read_job_table(tmp_path / name).jobs == ()


times = st.integers(0, 10**15).map(to_seconds)
texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=5)


@st.composite
def jobs(draw):
    kind = draw(st.sampled_from(JobType))
    nodes = draw(st.integers(1, 10**6))
    walltime = draw(st.integers(1, 10**12))
    runtime = draw(st.integers(1, walltime))
    job = Job(
        draw(st.integers(-(2**63), 2**63 - 1)),
        kind,
        draw(times),
        nodes,
        to_seconds(runtime),
        to_seconds(walltime),
        user=draw(texts),
        project=draw(texts),
        killed=draw(st.booleans()),
        trace_runtime=draw(st.none() | st.just(to_seconds(runtime))),
        trace_walltime=draw(st.none() | st.just(to_seconds(walltime))),
    )
    if kind is JobType.STOCHASTIC:
        true_runtime = draw(st.none() | st.integers(1, 10**12).map(to_seconds))
        total = job.runtime if true_runtime is None else true_runtime
        profile = draw(st.sampled_from(["", f"{format_seconds(to_ticks(total))}:2.5"]))
        return replace(
            job,
            application=draw(texts.filter(bool)),
            true_runtime=true_runtime,
            plan=draw(st.sampled_from(["optimal", "masi k=10 factor=2", 'a, "b".json'])),
            checkpoint_cost=draw(times),
            restart_cost=draw(times),
            memory_profile=profile,
        )
    if kind is not JobType.ON_DEMAND:
        job = replace(job, setup=to_seconds(draw(st.integers(0, runtime))))
    elif draw(st.booleans()):
        ticks = st.integers(0, 10**12)
        notice = draw(ticks) - 10**9
        estimate, arrival = notice + draw(ticks), draw(st.none() | ticks)
        submit = None if arrival is None else to_seconds(notice + arrival)
        job = replace(job, submit=submit, notice=to_seconds(notice), estimated_arrival=to_seconds(estimate))
    if kind is JobType.RIGID:
        interval = draw(st.none() | st.integers(1, 10**12).map(to_seconds))
        job = replace(job, checkpoint_interval=interval, checkpoint_cost=draw(times))
    if kind is JobType.MALLEABLE:
        job = replace(job, min_nodes=draw(st.integers(1, nodes)))
    return job


@settings(max_examples=40, deadline=None)
@given(
    st.lists(jobs(), max_size=5, unique_by=lambda job: job.job_id), st.sampled_from(["a.csv", "a.csv.gz", "a.parquet"])
)
def test_any_legal_jobs_are_read_as_written(tmp_path_factory, jobs, name):
    path = tmp_path_factory.mktemp("table") / name
    check_jobs(jobs)
    write_job_table(jobs, path)
    assert read_job_table(path).jobs == tuple(jobs)


def test_columns_that_may_be_missing_and_columns_of_others():
    text = "Walltime, type ,nodes,job_id,runtime,submit\n10,rigid,1.0,7,5e0,0\n"
    assert parse(text).jobs == (Job(7, JobType.RIGID, 0.0, 1, 5.0, 10.0),)
    with pytest.raises(TraceError, match=r"^a\.csv:1: unknown column 'canceled_at': did you mean cancelled_at\? known"):
        parse(text.replace("submit", "submit,canceled_at"))


HEADER = (
    "job_id,type,submit,nodes,min_nodes,runtime,walltime,setup,checkpoint_interval,notice,estimated_arrival,user,killed"
)
GOOD = "1,rigid,0,4,,10,20,0,,,,,0"


@pytest.mark.parametrize(
    ("row", "sentence"),
    [
        ("1,rigid,5,4,,10,20,0,,,,,0", "job_id of job 1 must be unique, but an earlier job has it too"),
        ("x,rigid,0,4,,10,20,0,,,,,0", "job_id must be a whole number, not 'x'"),
        (
            "2,rigit,0,4,,10,20,0,,,,,0",
            "unknown type 'rigit': did you mean rigid? known are rigid, on-demand, malleable, stochastic",
        ),
        ("2,,0,4,,10,20,0,,,,,0", "unknown type '': known are rigid, on-demand, malleable, stochastic"),
        ("2,rigid,-1,4,,10,20,0,,,,,0", "submit of job 2 must be from 0 to 1,000,000,000,000 s, not -1.0"),
        ("2,rigid,nan,4,,10,20,0,,,,,0", "submit must be a finite number, not 'nan'"),
        ("2,rigid,0,4,,10,inf,0,,,,,0", "walltime must be a finite number, not 'inf'"),
        ("2,rigid,0,1.5,,10,20,0,,,,,0", "nodes must be a whole number, not '1.5'"),
        ("2,rigid,0,1_0,,10,20,0,,,,,0", "nodes must be a whole number, not '1_0'"),
        ("2,rigid,0,,,10,20,0,,,,,0", "nodes must be a whole number, not ''"),
        ("2,rigid,0,0,,10,20,0,,,,,0", "nodes of job 2 must be at least 1, not 0"),
        ("2,rigid,0,65,,10,20,0,,,,,0", "nodes of job 2 must be at most the 64 nodes of the machine, not 65"),
        ("2,rigid,0,4,,,20,0,,,,,0", "runtime must be a finite number, not ''"),
        (
            "2,rigid,0,4,,10,1e13,0,,,,,0",
            "walltime of job 2 must be from 0.000001 to 1,000,000,000,000 s, not 10000000000000.0",
        ),
        ("2,rigid,0,4,,4e-7,20,0,,,,,0", "runtime of job 2 must be from 0.000001 to 1,000,000,000,000 s, not 4e-07"),
        (
            "2,rigid,0,4,,10,20,0,4e-7,,,,0",
            "checkpoint_interval of job 2 must be from 0.000001 to 1,000,000,000,000 s, or missing, not 4e-07",
        ),
        ("2,rigid,0,1e10,,10,20,0,,,,,0", "nodes of job 2 must be at most 1,000,000,000, not 10000000000"),
        (f"2,rigid,0,{'9' * 5000},,10,20,0,,,,,0", f"nodes must be a whole number, not '{'9' * 56}..."),
        ("9e30,rigid,0,4,,10,20,0,,,,,0", "job_id must be a whole number up to 9,223,372,036,854,775,807, not '9e30'"),
        ("2,rigid,0,4,,0,20,0,,,,,0", "runtime of job 2 must be from 0.000001 to 1,000,000,000,000 s, not 0.0"),
        ("2,rigid,0,4,,10,0,0,,,,,0", "walltime of job 2 must be from 0.000001 to 1,000,000,000,000 s, not 0.0"),
        ("2,rigid,0,4,,21,20,0,,,,,0", "runtime of job 2 must be at most its walltime of 20.0 s, not 21.0"),
        ("2,rigid,0,4,,10,20,-1,,,,,0", "setup of job 2 must be from 0 to 1,000,000,000,000 s, not -1.0"),
        ("2,rigid,0,4,,10,20,11,,,,,0", "setup of job 2 must be at most its runtime of 10.0 s, not 11.0"),
        (
            "2,rigid,0,4,3,10,20,0,,,,,0",
            "min_nodes of job 2 must be missing or its 4 nodes for a job that is not malleable, not 3",
        ),
        (
            "2,malleable,0,4,,10,20,0,,,,,0",
            "min_nodes of job 2 must be a whole number of nodes for a malleable job, not missing",
        ),
        ("2,malleable,0,4,5,10,20,0,,,,,0", "min_nodes of job 2 must be between 1 and its 4 nodes, not 5"),
        (
            "2,malleable,0,4,2,10,20,0,9,,,,0",
            "checkpoint_interval of job 2 must be missing for a job that is not rigid, not 9.0",
        ),
        (
            "2,rigid,0,4,,10,20,0,0,,,,0",
            "checkpoint_interval of job 2 must be from 0.000001 to 1,000,000,000,000 s, or missing, not 0.0",
        ),
        ("2,rigid,,4,,10,20,0,,,,,0", "submit of job 2 must be from 0 to 1,000,000,000,000 s, not missing"),
        ("2,on-demand,,4,,10,20,0,,,,,0", "submit of job 2 must be from 0 to 1,000,000,000,000 s, not missing"),
        ("2,on-demand,0,4,,10,20,1,,,,,0", "setup of job 2 must be 0 for an on-demand job, not 1.0"),
        (
            "2,on-demand,9,4,,10,20,0,,5,,,0",
            "estimated_arrival of job 2 must be given, because there is a notice, not missing",
        ),
        (
            "2,on-demand,9,4,,10,20,0,,,5,,0",
            "notice of job 2 must be given, because there is an estimated_arrival, not missing",
        ),
        ("2,on-demand,9,4,,10,20,0,,8,7,,0", "notice of job 2 must be at most the estimated_arrival of 7.0 s, not 8.0"),
        ("2,on-demand,7,4,,10,20,0,,8,9,,0", "notice of job 2 must be at most the submit of 7.0 s, not 8.0"),
        ("2,rigid,9,4,,10,20,0,,5,,,0", "notice of job 2 must be missing for a rigid job, not 5.0"),
        ("2,rigid,9,4,,10,20,0,,,5,,0", "estimated_arrival of job 2 must be missing for a rigid job, not 5.0"),
        ("2,rigid,0,4,,10,20,0,,,,,maybe", "killed must be 0 or 1, not 'maybe'"),
        ("2,rigid", "a row must have 13 cells like the header, not 2"),
    ],
)
def test_a_row_that_breaks_a_law_is_one_sentence_with_its_place(row, sentence):
    text = "\n".join([HEADER, '1,rigid,0,4,,10,20,0,,,,"two\nlines",0', row, ""])
    with pytest.raises(TraceError) as caught:
        parse(text, nodes=64)
    assert str(caught.value) == f"a.csv:4: {sentence}"


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"checkpoint_cost": -1.0}, "checkpoint_cost of job 1 must be from 0 to 1,000,000,000,000 s, not -1.0"),
        ({"runtime": float("nan")}, "runtime of job 1 must be from 0.000001 to 1,000,000,000,000 s, not nan"),
        (
            {"trace_walltime": 0.0},
            "trace_walltime of job 1 must be from 0.000001 to 1,000,000,000,000 s, or missing, not 0.0",
        ),
        (
            {"trace_runtime": 0.0},
            "trace_runtime of job 1 must be from 0.000001 to 1,000,000,000,000 s, or missing, not 0.0",
        ),
        (
            {"trace_runtime": 7201.0},
            "trace_runtime of job 1 must be at most the trace's walltime of 7200.0 s, not 7201.0",
        ),
        (
            {"trace_walltime": 3599.0},
            "trace_walltime of job 1 must be at least the trace's runtime of 3600.0 s, not 3599.0",
        ),
        ({"type": "rigid"}, "type of job 1 must be a JobType, not 'rigid'"),
        ({"nodes": 1.0}, "nodes of job 1 must be a whole number, not 1.0"),
        ({"job_id": "1"}, "job_id of job '1' must be a whole number, not '1'"),
        ({"runtime": "1"}, "job 1 holds a value of the wrong kind ("),
    ],
)
def test_jobs_made_in_python_are_held_to_the_same_laws(changes, sentence):
    with pytest.raises(InputError) as caught:
        check_jobs([replace(RIGID, **changes)])
    assert str(caught.value).startswith(sentence)
    with pytest.raises(InputError, match=r"^the plan: "):
        check_jobs([replace(RIGID, **changes)], where="the plan")


def test_legal_jobs_pass():
    check_jobs([])
    check_jobs(JOBS, nodes=256)
    check_jobs([replace(RIGID, runtime=7200.000001), replace(RIGID, job_id=2, min_nodes=128)])
    # An early job at the start of a trace arrives before time 0.
    check_jobs([replace(ON_DEMAND, notice=-900.0, submit=-450.0, estimated_arrival=0.0)])


def test_broken_tables():
    with pytest.raises(TraceError, match=r"^a\.csv:1: a job table must have a column walltime, and this one has only"):
        parse("job_id,type,submit,nodes,runtime\n")
    with pytest.raises(TraceError, match=r"^a\.csv:1: a job table must have one column nodes, not 2$"):
        parse(HEADER + ",nodes\n")
    with pytest.raises(TraceError, match=r"^a\.csv:2: is not CSV: "):
        parse(HEADER + '\n1,"rigid')


def test_parquet_of_others_and_broken(tmp_path):
    path = tmp_path / "a.parquet"
    # What pandas makes of columns with gaps: floats for whole numbers, and nulls.
    columns = {"job_id": [1, 2], "type": ["rigid", "malleable"], "submit": [0, 1], "nodes": [4.0, 4.0]}
    columns |= {
        "min_nodes": [None, 2.0],
        "runtime": [1.5, 1],
        "walltime": [2, 2],
        "killed": [True, False],
        "user": "ab",
    }
    pq.write_table(pa.table({name: pa.array(list(values)) for name, values in columns.items()}), path)
    assert [(job.min_nodes, job.killed) for job in read_job_table(path).jobs] == [(None, True), (2, False)]
    columns["runtime"] = [1.5, float("nan")]
    pq.write_table(pa.table({name: pa.array(list(values)) for name, values in columns.items()}), path)
    with pytest.raises(TraceError, match=r"a\.parquet: row 2: runtime must be a finite number, not 'nan'$"):
        read_job_table(path)
    columns["runtime"] = [1.5, 3.0]
    pq.write_table(pa.table({name: pa.array(list(values)) for name, values in columns.items()}), path)
    with pytest.raises(TraceError, match=r"a\.parquet: row 2: runtime of job 2 must be at most its walltime of 2\.0 s"):
        read_job_table(path)
    whole = path.read_bytes()
    # In the middle of what the pages hold, and without the end.
    for broken in (whole[:60] + bytes(80) + whole[140:], whole[:-10]):
        path.write_bytes(broken)
        with pytest.raises(TraceError, match=r"is a damaged Parquet file$"):
            read_job_table(path)
    many = pa.DictionaryArray.from_arrays(pa.array(array("b", bytes(1_100_000))), pa.array([1]))
    pq.write_table(pa.table({"job_id": many}), path)
    with pytest.raises(TraceError, match=r"declares 1,100,000 rows in .* bytes, which is not possible"):
        read_job_table(path)


def test_parquet_without_pyarrow(tmp_path, monkeypatch):
    path = tmp_path / "a.parquet"
    write_job_table(JOBS, path)
    imported = builtins.__import__

    def refuse(name, *rest):
        if name.startswith("pyarrow"):
            raise ImportError(name)
        return imported(name, *rest)

    monkeypatch.setattr(builtins, "__import__", refuse)
    with pytest.raises(TraceError, match="a Parquet file can only be read where pyarrow is installed"):
        read_job_table(path)
    with pytest.raises(OutputError, match="a Parquet file can only be written where pyarrow is installed"):
        write_job_table(JOBS, path)


def test_blocks_join_without_a_seam(tmp_path):
    many = [replace(RIGID, job_id=index) for index in range(10_000)]
    path = tmp_path / "a.csv"
    write_job_table(many, path)
    assert read_job_table(path).jobs == tuple(many)
    with path.open("a") as file:
        file.write("10000,rigid,0,x" + "," * 13 + "\n")
    with pytest.raises(TraceError, match=r"a\.csv:10002: nodes must be a whole number, not 'x'"):
        read_job_table(path)


@pytest.mark.parametrize("name", ["jobs.csv", "jobs.parquet"])
def test_a_partition_is_a_column_where_a_job_has_one(name, tmp_path):
    jobs = [Job(number, JobType.RIGID, 0.0, 1, 60.0, 60.0) for number in (1, 2)]
    jobs[1] = replace(jobs[1], partition="large, old", qos="high")
    write_job_table(jobs, tmp_path / name)
    assert read_job_table(tmp_path / name).jobs == tuple(jobs)
    write_job_table(jobs[:1], tmp_path / "none.csv")
    assert (tmp_path / "none.csv").read_text().splitlines()[0] == ",".join(COLUMNS)


def test_ids_of_tasks_are_read_as_slurm_writes_them(tmp_path):
    (tmp_path / "a.csv").write_text(
        "job_id,type,submit,nodes,runtime,walltime,preceding\n287_1,rigid,0,1,60,60,\n2871,rigid,0,1,60,60,287_1\n"
    )
    first, second = read_job_table(tmp_path / "a.csv").jobs
    assert (first.job_id, second.job_id, second.preceding) == ((287 << 32) + 1, 2871, (287 << 32) + 1)
