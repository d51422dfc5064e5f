"""Requests of logs: the rules for raw columns, each format, and the public data sets by their columns."""

from __future__ import annotations

import gzip
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from holdfast.workloads.ground.errors import InputError
from holdfast.workloads.logs.column_roles import REQUEST_ROLES, ROLES
from holdfast.workloads.logs.request_layouts import LAYOUTS, RAW_COLUMNS
from holdfast.workloads.machines.host_list import fold
from holdfast.workloads.machines.request import ResourceRequest
from holdfast.workloads.requests.log_requests import LogRequests, RecordedJob, read_requests
from holdfast.workloads.requests.machine_estimate import estimated_machine
from holdfast.workloads.requests.raw_request import FRACTION, NO_SIZE, request_of_row
from tests.shared_data import shared_file, trace_file


def test_the_roles_of_requests_are_those_that_the_reader_of_tables_lacks(tmp_path: Path) -> None:
    assert set(REQUEST_ROLES) == set(RAW_COLUMNS) - set(ROLES)
    path = tmp_path / "log.csv"
    path.write_text("t,n,r,k\n0,1,5,3\n")
    # A slip is not passed over.
    with pytest.raises(InputError, match="unknown role of a column 'taks': did you mean tasks"):
        read_requests(path, columns="submit=t,nodes=n,runtime=r,taks=k")


@pytest.mark.parametrize(
    ("raw", "asked"),
    [
        ({"nodes": "2", "cores": "4"}, {"nodes": 2, "cores": 4}),
        ({"nodes": "3", "processors": "20"}, {"nodes": 3, "cores": 7}),
        ({"processors": "20"}, {"tasks": 20}),
        ({"processors": "4K"}, {"tasks": 4096}),
        ({"tasks": "8", "tasks_per_node": "4", "cores": "2"}, {"tasks": 8, "tasks_per_node": 4, "cores": 2}),
        ({"nodes": "1", "memory": "4G"}, {"nodes": 1, "memory": 4096}),
        ({"nodes": "1", "memory": "4Gn"}, {"nodes": 1, "memory": 4096}),
        ({"nodes": "1", "memory": "2800Mc"}, {"nodes": 1, "memory": 2800, "memory_per_core": True}),
        ({"nodes": "1", "memory": "1.5"}, {"nodes": 1, "memory": 2}),
        ({"nodes": "1", "memory": "0"}, {"nodes": 1}),
        ({"nodes": "2", "processors": "4", "memory_total": "5G"}, {"nodes": 2, "cores": 2, "memory": 2560}),
        ({"processors": "4", "memory_total": "10"}, {"tasks": 4, "memory": 3, "memory_per_core": True}),
        ({"nodes": "2", "gpus_total": "8"}, {"nodes": 2, "gpus": {"gpu": 4}}),
        ({"processors": "6", "gpus_total": "2"}, {"nodes": 1, "cores": 6, "gpus": {"gpu": 2}}),
        ({"nodes": "2", "gpus": "v100:2"}, {"nodes": 2, "gpus": {"v100": 2}}),
        ({"nodes": "2", "gpus": "gpu:a100:4(S:0-1)"}, {"nodes": 2, "gpus": {"a100": 4}}),
        (
            {"tres": "billing=8,cpu=8,gres/gpu:v100=4,gres/gpu=4,mem=16G,node=2"},
            {"nodes": 2, "cores": 4, "memory": 8192, "gpus": {"v100": 2}},
        ),
        ({"tres": "1=40,2=170000,4=1,1002=2"}, {"nodes": 1, "cores": 40, "memory": 170_000, "gpus": {"gpu": 2}}),
        (
            {"nodes": "1", "partition": "a, b", "qos": "q", "account": "s"},
            {"nodes": 1, "partitions": ("a", "b"), "qos": "q", "account": "s"},
        ),
        (
            {"nodes": "1", "features": "x|y", "exclusive": "yes", "begin": "7"},
            {"nodes": 1, "features": "x|y", "exclusive": True, "begin": 7.0},
        ),
        ({"nodes": "1", "qos": "(null)", "memory": "nan", "gpus": "-1"}, {"nodes": 1}),
    ],
)  # fmt: skip
def test_rules_for_raw_columns(raw: dict[str, str], asked: dict[str, Any]) -> None:
    remarks: Counter[str] = Counter()
    assert request_of_row(raw, remarks) == ResourceRequest(**asked)
    assert not remarks


def test_fractions_of_gpus_and_jobs_without_a_size_are_counted() -> None:
    remarks: Counter[str] = Counter()
    assert request_of_row({"nodes": "1", "gpus": "0.25"}, remarks).gpus == {"gpu": 1}
    assert request_of_row({}, remarks) == ResourceRequest(nodes=1)
    assert remarks == {FRACTION: 1, NO_SIZE: 1}


@pytest.mark.parametrize(
    ("raw", "sentence"),
    [
        ({"nodes": "many"}, "nodes must be a number of at least 0, not 'many'"),
        ({"nodes": "-3"}, "nodes must be a number of at least 0, not '-3'"),
        ({"processors": "1e400"}, "processors must be a number of at least 0, not '1e400'"),
        ({"gpus": "inf"}, "gpus must be a number of at least 0, not 'inf'"),
        (
            {"memory": "lots"},
            "memory must be an amount such as \"4G\", \"4Gn\" of a node or \"2800Mc\" of a core, not 'lots'",
        ),
        ({"begin": "noon"}, "begin must be a time in seconds, not 'noon'"),
    ],
)  # fmt: skip
def test_raw_values_that_are_none(raw: dict[str, str], sentence: str) -> None:
    with pytest.raises(ValueError, match="must be") as refused:
        request_of_row(raw, Counter())
    assert str(refused.value) == sentence


def read(tmp_path: Path, text: str, name: str = "log", **options: Any) -> LogRequests:
    path = tmp_path / name
    path.write_text(text)
    return read_requests(path, **options)


def swf(job: int, procs: int, memory: int, queue: int, partition: int, further: str = "") -> str:
    fields = (job, 10 * job, 5, 100, procs, -1, -1, procs, 200, memory, 1, 7, 8, -1, queue, partition, -1, -1)
    return " ".join(map(str, fields)) + further


def test_swf(tmp_path: Path) -> None:
    log = read(tmp_path, "\n".join([swf(1, 12, 2048, 3, 2), swf(2, 1, -1, -1, -1)]))
    assert log.jobs == (
        RecordedJob(1, 10, 200, 100, 15, "7", ResourceRequest(
            tasks=12, memory=2, memory_per_core=True, partitions=("2",), qos="3", account="8")),
        RecordedJob(2, 20, 200, 100, 25, "7", ResourceRequest(tasks=1, account="8")),
    )  # fmt: skip


def test_alea(tmp_path: Path) -> None:
    rows = [
        swf(1, 64, 68_719_476_736, 1, 1, " {1,1} q_1d 1:ppn=64:x86_64:cl_zewura#excl"),
        swf(2, 16, 1_048_577, 1, 1, " {1,2} q_2h 2:ppn=8:nfs4"),
        swf(3, 5, -1, 1, 1, " {1,2} q_2h 1:ppn=2+1:ppn=3"),
        swf(4, 2, -1, 1, 1, " {1,2} q_2h 2"),
    ]
    one, two, three, four = [job.request for job in read(tmp_path, "\n".join(rows)).jobs]
    assert one == ResourceRequest(
        nodes=1, cores=64, memory=65_536, features="cl_zewura", exclusive=True, qos="q_1d", account="8"
    )
    # A byte above a MiB is another one, and nfs4 tells no nodes apart.
    assert two == ResourceRequest(nodes=2, cores=8, memory=2, qos="q_2h", account="8")
    assert three == ResourceRequest(tasks=5, qos="q_2h", account="8")
    assert four == ResourceRequest(nodes=2, cores=1, qos="q_2h", account="8")


_SACCT = """\
JobIDRaw|JobID|User|Account|Partition|QOS|State|Submit|Start|End|TimelimitRaw|NNodes|NCPUS|ReqTRES|AllocTRES|ReqMem|Constraints
7|7|eve|chem|gpu,long|high|COMPLETED|100|110|170|2|2|8|billing=8,cpu=8,gres/gpu:v100=4,mem=16G,node=2|cpu=8||a&b
8|5_3|bob|bio|long|normal|COMPLETED|100|120|180|2|1|3||cpu=4,mem=3G,node=1||(null)
9|9|bob|bio|long|normal|COMPLETED|100|120|180|2|1|3|||2Gc|
8.batch|5_3.batch||bio||||100|120|180||1|3||cpu=4||
"""


def test_sacct(tmp_path: Path) -> None:
    log = read(tmp_path, _SACCT)
    asked = [job.request for job in log.jobs]
    assert asked == [
        ResourceRequest(2, None, None, 4, 8192, False, {"v100": 2}, "a&b", ("gpu", "long"), False, "high", "chem"),
        ResourceRequest(1, None, None, 4, 3072, False, {}, "", ("long",), False, "normal", "bio"),
        ResourceRequest(1, None, None, 3, 2048, True, {}, "", ("long",), False, "normal", "bio"),
    ]
    assert [(job.start, job.walltime, job.runtime, job.user) for job in log.jobs] == [
        (110, 120, 60, "eve"),
        (120, 120, 60, "bob"),
        (120, 120, 60, "bob"),
    ]


def test_columns_by_role(tmp_path: Path) -> None:
    text = "t,n,dur,g,m,q,acct\n0,2,60,4,8G,fast,chem\n9,1,60,0,,fast,bio\n"
    log = read(tmp_path, text, columns="submit=t,nodes=n,runtime=dur,gpus=g,memory=m,partition=q,project=acct")
    assert [job.request for job in log.jobs] == [
        ResourceRequest(2, None, None, 1, 8192, False, {"gpu": 4}, "", ("fast",), False, "", "chem"),
        ResourceRequest(1, None, None, 1, None, False, {}, "", ("fast",), False, "", "bio"),
    ]
    with pytest.raises(InputError, match="there is no column gpu_count"):
        read(tmp_path, text, columns="submit=t,nodes=n,runtime=dur,gpus=gpu_count")


_TABLES = {
    "pm100": (
        "job_id,submit_time,start_time,end_time,run_time,time_limit,num_nodes_req,num_cores_req,num_gpus_req,mem_req,"
        "partition,qos,user_id\n5,2020-05-01 00:00:00,2020-05-01 00:00:10,2020-05-01 00:01:10,60,30,2,64,8,100,1,0,7\n",
        ResourceRequest(2, None, None, 32, 51_200, False, {"gpu": 4}, "", ("1",), False, "0"),
        (10.0, 1800.0, 60.0),
    ),
    "f-data": (
        "jid,adt,sdt,edt,duration,elpl,nnumr,cnumr,usr\na1,2021-01-01 00:00:00,2021-01-01 00:00:05,"
        "2021-01-01 00:01:05,60,3600,12,576,u1\n",
        ResourceRequest(nodes=12, exclusive=True),
        (5.0, 3600.0, 60.0),
    ),
    "alibaba-2023": (
        "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,deletion_time,scheduled_time\n"
        "openb-pod-0001,6500,12288,1,460,V100M16|V100M32,LS,Running,100,200,130\n",
        ResourceRequest(None, None, None, 7, 12_288, False, {"gpu": 1}, "V100M16|V100M32", (), False, "LS"),
        (30.0, 70.0, 70.0),
    ),
    "acme": (
        "job_id,user,node_num,gpu_num,cpu_num,type,state,submit_time,start_time,end_time,duration,mem_per_pod_GB\n"
        "dlc1,u1,2,16,128,Pretrain,COMPLETED,2023-03-01 00:00:00,2023-03-01 00:00:20,2023-03-01 00:01:20,60,100\n",
        ResourceRequest(2, None, None, 64, 102_400, False, {"gpu": 8}),
        (20.0, 60.0, 60.0),
    ),
    "helios": (
        "job_id,user,vc,gpu_num,cpu_num,node_num,state,submit_time,start_time,end_time,duration\n"
        "3,u1,vcA,8,48,1,COMPLETED,2020-04-01 00:00:00,2020-04-01 00:00:07,2020-04-01 00:01:07,60\n",
        ResourceRequest(1, None, None, 48, None, False, {"gpu": 8}, "", ("vcA",)),
        (7.0, 60.0, 60.0),
    ),
    "gpu-sample": (
        "u_id,user,gpu_num,cpu_num,node_num,interval,run_time,wall_time,new_status\n"
        "0,1,8,0,4,50,60,0,Pass\n",
        ResourceRequest(4, None, None, 1, None, False, {"gpu": 2}),
        (None, 60.0, 60.0),
    ),
    "supercloud": (
        "id_job,cpus_req,tres_req,time_submit,time_start,time_end,timelimit,partition,constraints,id_user\n"
        '11,40,"1=40,2=170000,4=1,1002=2",1000,1010,1070,5,normal,,77\n',
        ResourceRequest(1, None, None, 40, 170_000, False, {"gpu": 2}, "", ("normal",)),
        (10.0, 300.0, 60.0),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", LAYOUTS)
def test_public_data_sets_are_recognised_by_their_columns(tmp_path: Path, name: str) -> None:
    text, asked, (wait, walltime, runtime) = _TABLES[name]
    log = read(tmp_path, text)
    (job,) = log.jobs
    assert log.title.endswith(LAYOUTS[name].title)
    assert job.request == asked
    assert (job.walltime, job.runtime) == (walltime, runtime)
    assert (None if job.start is None else job.start - job.submit) == wait
    assert read(tmp_path, text, columns=name) == log


@pytest.mark.parametrize("share, count", [("460", 1), ("1000", 0), ("0", 0), ("", 0), ("half", 0)])
def test_shares_of_a_gpu_are_counted_where_they_can_be_read(tmp_path: Path, share: str, count: int) -> None:
    log = read(tmp_path, _TABLES["alibaba-2023"][0].replace(",460,", f",{share},"))
    assert (log.remarks[FRACTION], log.jobs[0].request.gpus) == (count, {"gpu": 1})


def test_what_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="unknown layout of a table 'pm10': did you mean pm100"):
        read(tmp_path, "a,b\n1,2\n", columns="pm10")
    with pytest.raises(InputError, match=r"log:2: a row must have 9 fields like the header, not 2"):
        read(tmp_path, _TABLES["gpu-sample"][0].partition("\n")[0] + "\n1,2\n")
    with pytest.raises(InputError, match=r"no job is left \(1 no runtime\)"):
        read(tmp_path, _TABLES["gpu-sample"][0].replace(",60,", ",0,"))


def test_the_largest_concurrent_use_is_an_estimate(tmp_path: Path) -> None:
    rows = [swf(1, 4, -1, 1, 1), swf(2, 8, -1, 1, 1), swf(30, 10, -1, 1, 1), swf(3, 6, -1, 1, 2)]
    found = estimated_machine(read(tmp_path, "\n".join(rows)))
    assert found.machine.estimated
    # Jobs 1 and 2 run from 15 and 25 for 100 s each; job 30 later, alone.
    assert [(p.name, fold(p.nodes), p.default) for p in found.machine.partitions] == [
        ("1", "p1n1", True),
        ("2", "p2n1", False),
    ]
    assert [kind.cores for kind in found.machine.kinds] == [12, 6]
    assert found.remarks == [
        "2 of 2 partitions ask for processors alone: each is one node with all that were in use at once"
    ]
    header = "job_id,user,vc,gpu_num,cpu_num,node_num,state,submit_time,start_time,end_time,duration\n"
    jobs = ["1,u,a,8,48,1,X,0,0,100,100", "2,u,a,4,8,1,X,0,50,150,100", "3,u,a,16,96,2,X,0,60,90,30"]
    machine = estimated_machine(read(tmp_path, header + "\n".join(jobs) + "\n")).machine
    # 28 GPUs at once in nodes of 8, and 152 cores in nodes of 48.
    assert [(fold(kind.names), kind.cores, dict(kind.gpus)) for kind in machine.kinds] == [("a[1-4]", 48, {"gpu": 8})]
    with pytest.raises(InputError, match="no start is recorded, so that nothing shows how large the machine was"):
        estimated_machine(read(tmp_path, _TABLES["gpu-sample"][0]))


@pytest.mark.system
def test_the_samples_of_public_gpu_logs() -> None:
    alibaba = read_requests(shared_file("gpu", "openb_pod_list_default.csv.gz"))
    with gzip.open(shared_file("gpu", "openb_pod_list_default.csv.gz"), "rt") as lines:
        rows = [line.rstrip("\n").split(",") for line in lines][1:]
    ran = [row for row in rows if row[10] and row[9] and float(row[9]) > float(row[10])]
    parts = [row for row in ran if row[3] == "1" and 0 < int(row[4] or 0) < 1000]
    assert len(alibaba.jobs) == len(ran)
    assert alibaba.fraction_share == len(parts) / len(ran)
    for name in ("helios", "philly"):
        log = read_requests(shared_file("gpu", f"{name}_data_training.csv"))
        assert len(log.jobs) == 15_000
        assert max(sum(job.request.gpus.values()) for job in log.jobs) <= 8


@pytest.mark.system
def test_wagap_has_the_memory_and_nodes_of_its_machine() -> None:
    from holdfast.workloads.machines.sources import machine_from_files

    log = read_requests(trace_file("wagap-2013.swf.gz"))
    machine = machine_from_files([trace_file("wagap-2013.swf.machines")]).machine
    largest = max(kind.memory or 0 for kind in machine.kinds)
    beyond = sum((job.request.memory or 0) > largest for job in log.jobs)
    assert len(log.jobs) == 17_898
    assert beyond < 5


def test_cancelled_tasks_of_an_array_ask_for_what_their_line_says(tmp_path: Path) -> None:
    path = tmp_path / "log.txt"
    path.write_text(
        "JobID|Submit|Start|End|State|Timelimit|User|Account|Partition|QOS|NNodes|ReqTRES\n"
        "1|2026-01-01T00:00:00|2026-01-01T00:00:00|2026-01-01T00:10:00|COMPLETED|00:20:00|u|a|cpu|q|1|cpu=3,node=1\n"
        "2_[1-3]|2026-01-01T00:00:00|Unknown|2026-01-01T00:05:00|CANCELLED|00:30:00|u|a|gpu|q|1|cpu=2,mem=3G,node=1\n"
    )
    assert len(read_requests(path).jobs) == 1
    first, *tasks = read_requests(path, cancelled=True).jobs
    assert first.request.partitions == ("cpu",)
    assert [task.request.partitions for task in tasks] == [("gpu",)] * 3
    assert {(task.request.tasks or 1) * task.request.cores for task in tasks} == {2}
    assert {task.request.memory for task in tasks} == {3072}
