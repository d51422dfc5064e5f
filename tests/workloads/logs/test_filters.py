"""The part of a log that is read: by what its columns hold, in nodes or processors, on a machine of which size."""

import gzip

import pytest

from holdfast.experiments.cli import main
from holdfast.workloads.ground.errors import InputError, ParameterError, TraceError
from holdfast.workloads.logs.cleaning import Intake
from holdfast.workloads.logs.filters import Choice, parse_conditions
from holdfast.workloads.logs.machine_size import peak_use, with_assumed_size
from holdfast.workloads.logs.node_names import NamedNodes
from holdfast.workloads.logs.readers import READERS, read_trace, read_workload
from holdfast.workloads.logs.swf import parse_swf
from holdfast.workloads.logs.trace import Trace, TraceJob
from tests.shared_data import trace_file
from tests.workloads.logs.test_alcf import table as alcf_table
from tests.workloads.logs.test_sacct_formats import GONE, aligned_text, as_json, delimited_text, row
from tests.workloads.logs.test_swf import line

ROWS = [
    row(1, Partition="batch", User="ada", QOS="normal"),
    row(2, "TIMEOUT", Partition="gpu", User="ben", QOS="high", nodes=2),
    row(3, "FAILED", Partition="Debug", User="cem", Account="chem"),
    row("9_[1-20]", *GONE, Partition="gpu,batch"),
    row("8_[1-3]", *GONE, Partition="debug"),
]


@pytest.fixture(scope="module", params=[delimited_text, aligned_text, as_json], ids=lambda form: form.__name__)
def log(request, tmp_path_factory):
    path = tmp_path_factory.mktemp("log") / "a.txt"
    path.write_text(request.param(ROWS))
    return path


@pytest.mark.parametrize(
    ("where", "ids", "left_out"),
    [
        ("partition=batch", [1], {"not partition=batch": 5, "never started": 20}),
        ("Partition=gpu,batch", [1, 2], {"not Partition=gpu,batch": 4, "never started": 20}),
        (["partition!=debug", "user=ben,cem"], [2], {"not partition!=debug": 4, "not user=ben,cem": 21}),
        ({"account": "chem"}, [3], {"not account=chem": 25}),
        ({"project": ["chem", "bio"]}, [3], {"not project=chem,bio": 25}),
        ("qos = high", [2], {"not qos=high": 25}),
        ("state=timeout,failed", [2, 3], {"not state=timeout,failed": 24}),
        ("state!=cancelled", [1, 2, 3], {"not state!=cancelled": 23}),
        ("JobName=sim", [1, 2, 3], {"never started": 23}),
    ],
)
def test_jobs_are_chosen_by_any_column_in_every_form(log, where, ids, left_out):
    trace = read_trace(log, where=where)
    assert [job.job_id for job in trace.jobs] == ids
    assert trace.excluded == left_out
    assert trace.header["Where"] == " ".join(map(str, parse_conditions(where)))


def test_a_column_that_is_not_there_and_values_that_nobody_has(log):
    with pytest.raises(TraceError, match="there is no column colour to select by; the columns are JobID"):
        read_trace(log, where="colour=red")
    with pytest.raises(
        TraceError, match=r"no job is left \(.* not partition=gpus\): partition is batch or gpu or Debug"
    ):
        read_trace(log, where="partition=gpus")


def test_a_cell_that_is_cut_off_fulfils_what_begins_like_it(tmp_path):
    (tmp_path / "a.txt").write_text(aligned_text([row(1, Partition="long_jobs"), row(2)], widths={"Partition": 9 - 1}))
    assert [job.job_id for job in read_trace(tmp_path / "a.txt", where="partition=long_jobs").jobs] == [1]


@pytest.mark.parametrize("where", ["batch", "=batch", "partition=", "partition=a,,b", [7], {"a": 1.5}, {"": "a"}, 7])
def test_what_is_no_condition(tmp_path, where):
    with pytest.raises(ParameterError, match="where must be a column and its values, such as partition=batch,debug or"):
        read_trace(tmp_path / "none", where=where)


def test_sizes_in_nodes_or_in_processors(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text(delimited_text(ROWS))
    for unit in ("processors", "cores"):
        trace = read_trace(path, unit=unit)
        assert ([job.nodes for job in trace.jobs], trace.unit) == ([256, 128, 256], "processors")
    assert read_trace(path, unit="nodes") == read_trace(path)
    with pytest.raises(ParameterError, match="procs_per_node must be left out where processors are the unit"):
        read_trace(path, unit="cores", procs_per_node=64)
    with pytest.raises(ParameterError, match="unit must be nodes or processors"):
        read_trace(path, unit="racks")
    path.write_text(delimited_text(ROWS, names=[name for name in ROWS[0] if name != "NNodes"]))
    assert read_trace(path, unit="nodes", procs_per_node=64).jobs[0].nodes == 4
    with pytest.raises(TraceError, match=r"a\.txt:1: nodes as the unit need a column NNodes, or procs_per_node"):
        read_trace(path, unit="nodes")


def swf(*lines, header=""):
    return f"; Version: 2.2\n{header}" + "\n".join(lines) + "\n"


def test_a_standard_log_by_number_or_by_name(tmp_path):
    header = "; MaxProcs: 64\n; MaxNodes: 8\n; Queue: 1 express\n; Queue: 2 normal  # overnight\n; Partition: 3 gpu\n"
    jobs = []
    for n in range(1, 5):
        fields = line(job=n, user=n, procs=9, status=(1, 0)[n == 2]).split()
        fields[14:16] = [str(1 + n % 2), str(3 + n // 3)]
        jobs.append(" ".join(fields))
    path = tmp_path / "a.swf.gz"
    path.write_bytes(gzip.compress(swf(*jobs, header=header).encode()))

    def ids(where):
        return [job.job_id for job in read_trace(path, where=where).jobs]

    assert (ids("queue=express"), ids("queue=1"), ids("queue!=Normal")) == ([2, 4], [2, 4], [2, 4])
    assert (ids("user=1,4"), ids("state=completed"), ids("status=0")) == ([1, 4], [1, 3, 4], [2])
    nodes = read_trace(path, unit="nodes")
    assert (nodes.nodes, nodes.unit, nodes.jobs[0].nodes) == (8, "nodes", 2)
    assert nodes == read_trace(path, procs_per_node=8)
    assert read_trace(path, unit="cores") == read_trace(path)
    # The header counts the processors of all partitions.
    assert (read_trace(path, where="queue=1").nodes, read_trace(path, where="partition=gpu").nodes) == (64, None)
    for where in ("qos=high", "partition=cpu"):
        with pytest.raises(TraceError, match=r"no job is left .*: partition is 3 or 4|has no column qos to select by"):
            read_trace(path, where=where)
    with pytest.raises(TraceError, match="does not say how many processors a node has: give procs_per_node"):
        parse_swf(swf(jobs[0], header="; MaxProcs: 64\n"), "a", choice=Choice(unit="nodes"))


def test_a_table_of_the_alcf_by_queue_and_in_cores(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text(alcf_table({"QUEUE_NAME": "debug-cache"}, {"QUEUE_NAME": "default"}))
    assert read_trace(path).excluded == {"debug queue": 1}
    assert read_trace(path, where="queue=debug-cache").excluded == {"not queue=debug-cache": 1}
    with pytest.raises(TraceError, match="there is no column qos to select by; the columns are"):
        read_trace(path, where="qos=high")


def test_job_tables_are_selected_by_their_columns(tmp_path):
    (tmp_path / "t.csv").write_text(
        "job_id,type,submit,nodes,runtime,walltime,user,preceding\n"
        "1,rigid,0,1,60,60,ann,\n2,on-demand,0,1,60,60,bob,\n3,rigid,0,2,60,60,Bob,1\n"
    )

    def ids(where):
        return [job.job_id for job in read_workload(tmp_path / "t.csv", where=where).jobs]

    assert ids("user=bob") == [2, 3]
    assert ids(["type=rigid", "nodes=2"]) == [3]
    # The job that it followed is not there.
    assert read_workload(tmp_path / "t.csv", where="user=bob").jobs[1].preceding is None
    assert read_workload(tmp_path / "t.csv", where="user!=x").jobs[2].preceding == 1
    with pytest.raises(TraceError, match=r"t\.csv: has no column colour to select by: choose from user, project"):
        ids("colour=red")
    with pytest.raises(TraceError, match=r"no job is left \(3 not user=eve\): user is ann or bob or Bob"):
        ids("user=eve")
    assert len(read_workload(tmp_path / "t.csv", unit="nodes").jobs) == 3
    with pytest.raises(InputError, match="sizes count nodes in this format: leave out the unit processors"):
        read_workload(tmp_path / "t.csv", unit="processors")


def _tiny(text, path, *, lenient=False, procs_per_node=None):
    """A reader that knows nothing of conditions: number, seconds, user and queue in a line."""
    intake = Intake()
    for entry in text.splitlines():
        number, seconds, user, queue = entry.split()
        intake.add(int(number), 0.0, 1, float(seconds), 100.0, 0.0, user, partition=queue)
        intake.withdraw("cancelled", 10 + int(number), 0.0, 1, 100.0, 5.0, user)
    return intake.trace(path, "tiny", 64, {})


def test_a_new_reader_selects_without_code_for_it(tmp_path, request, capsys):
    READERS.add("tiny", _tiny, "for a test")
    request.addfinalizer(lambda: READERS.forget("tiny"))
    path = tmp_path / "a.tiny"
    path.write_text("1 60 ann batch\n2 50 bob debug\n3 40 ann debug\n4 30 eve batch\n")
    trace = read_trace(path, format="tiny", where=["account!=x", "queue=debug"])
    assert [job.job_id for job in trace.jobs] == [2, 3]
    assert (trace.excluded, trace.header["Where"], trace.nodes) == (
        {"not queue=debug": 2}, "account!=x queue=debug", None,
    )  # fmt: skip
    chosen = read_trace(path, format="tiny", where="user=ann")
    assert chosen.nodes == 64
    assert [(item.place, item.job.job_id) for item in chosen.withdrawn] == [(1, 11), (2, 13)]
    assert main(["info", str(path), "--format", "tiny", "--where", "user=ann"]) == 0
    assert "2 jobs on 64 nodes; left out: 2 (2 not user=ann)" in capsys.readouterr().out
    assert main(["info", str(path), "--format", "tiny", "--where", "colour=red"]) == 2
    assert "has no column colour to select by: choose from user" in capsys.readouterr().err


# The size of the machine.


@pytest.mark.parametrize(
    ("lists", "count"),
    [
        (["n[1-4,7]", "n[1-2]", "n7"], 5),
        (["rack[1-2]n[01-03]-ib,login"], 7),
        (["None assigned", ""], 0),
        (["n[1-8]", "n[1-+"], 0),
        (["n[1-9999999999]"], 0),
        (["n[5-1]"], 0),
        (["n[1-1000][1-1000][1-1000]"], 0),
        (["n[" + "9" * 5000 + "]"], 0),
        (["]["], 0),
    ],
)
def test_nodes_are_counted_by_their_names(lists, count):
    nodes = NamedNodes()
    for text in lists:
        nodes.add(text)
    assert nodes.count == count


def jobs(*rows):
    return Trace(
        tuple(TraceJob(n, submit, nodes, run, run, wait=wait) for n, (submit, wait, nodes, run) in enumerate(rows))
    )


def test_a_machine_is_as_large_as_what_its_jobs_held():
    # 8 from 5 to 65 and 4 from 64 to 73; the next 4 start when these end.
    trace = jobs((0, 5, 8, 60), (0, 64, 4, 9), (0, 73, 4, 100))
    assert peak_use(trace) == 8  # both at once for one second of 168
    assert peak_use(jobs((0, 5, 8, 60), (0, 60, 4, 9))) == 12
    assert peak_use(jobs((0, 5, 8, 60), (0, 65, 4, 9))) == 8
    assert peak_use(jobs((0, None, 8, 60))) == 0
    assumed = with_assumed_size(trace)
    assert assumed.nodes == 8
    assert assumed.header["Assumed"].startswith("a machine of 8 nodes, enough for what the jobs held at once in 99 %")
    assert with_assumed_size(jobs((0, None, 8, 60))).nodes is None
    assert with_assumed_size(assumed) is assumed


def test_the_column_of_nodes_says_how_many_there_are(tmp_path):
    rows = [row(1, NodeList="n[1-4]"), row(2, NodeList="n[5-8]", submit=9000, start=9000, end=9900)]
    (tmp_path / "a.txt").write_text(delimited_text(rows, names=list(rows[0])))
    trace = read_trace(tmp_path / "a.txt")
    assert (peak_use(trace), with_assumed_size(trace).nodes) == (4, 8)
    assert "all that the column NodeList names" in with_assumed_size(trace).header["Assumed"]
    assert with_assumed_size(read_trace(tmp_path / "a.txt", unit="cores")).nodes == 256


@pytest.mark.system
@pytest.mark.parametrize(("name", "nodes"), [("KTH-SP2-1996-2.1-cln", 100), ("theta_2022", 4354)])
def test_real_machines_are_found(name, nodes):
    trace = read_trace(trace_file(f"{name}.swf.gz"))
    assert peak_use(trace) == nodes


@pytest.mark.parametrize(
    ("header", "given", "unit"),
    [
        ("", None, "processors"),
        ("; UnixStartTime: 0\n", None, "processors"),
        ("", "nodes", "nodes"),
        ("; MaxNodes: 9\n", None, "nodes"),
        ("; MaxProcs: 9\n", None, "processors"),
    ],
)
def test_a_log_without_a_header_counts_what_the_format_counts(tmp_path, header, given, unit):
    path = tmp_path / "a.swf"
    path.write_text(header + "".join(f"{n} {n} 0 60 4 -1 -1 4 60 -1 1 1 1 1 1 1 -1 -1\n" for n in (1, 2)))
    trace = with_assumed_size(read_trace(path, unit=given))
    assert trace.unit == unit
    assert ("MaxProcs" in header or "MaxNodes" in header) or f"machine of 8 {unit}," in trace.header["Assumed"]
