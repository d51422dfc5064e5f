"""Machines from slurm.conf, from what Slurm's commands print, and from Alea's lists of clusters."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from holdfast.workloads.ground.errors import InputError
from holdfast.workloads.machines.host_list import fold
from holdfast.workloads.machines.machine import Machine
from holdfast.workloads.machines.sources import FoundMachine, is_machine_source, machine_from_files
from holdfast.workloads.machines.summary import machine_summary
from tests.shared_data import shared_file

_CONF = """\
ClusterName=site
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
GresTypes=gpu
DefMemPerCPU=1000
NodeName=DEFAULT Sockets=2 CoresPerSocket=8 RealMemory=64000
NodeName=n[01-20] Weight=10 Feature=opa,gold
NodeName=g[1-4] CPUs=32 RealMemory=256000 Gres=gpu:v100:2(S:0-1),nvme:1
NodeName=future1 State=FUTURE
PartitionName=DEFAULT MaxTime=1-00:00:00
PartitionName=batch Nodes=n[01-20] Default=YES
PartitionName=all Nodes=ALL MaxTime=INFINITE PriorityTier=10 DefMemPerCPU=2000
PartitionName=gpu Nodes=g[1-4] OverSubscribe=EXCLUSIVE MaxTime=90
"""


def find_machine(tmp_path: Path, *texts: str) -> FoundMachine:
    paths = []
    for place, text in enumerate(texts):
        path = tmp_path / f"file{place}"
        path.write_text(text)
        paths.append(path)
        assert is_machine_source(text)
    return machine_from_files(paths)


def kinds(machine: Machine) -> list[tuple[object, ...]]:
    return [
        (fold(kind.names), kind.cores, kind.memory, dict(kind.gpus), kind.features, kind.weight)
        for kind in machine.kinds
    ]


def test_a_slurm_conf(tmp_path: Path) -> None:
    site = find_machine(tmp_path, _CONF)
    assert kinds(site.machine) == [
        ("n[01-20]", 16, 64_000, {}, ("opa", "gold"), 10),
        ("g[1-4]", 32, 256_000, {"v100": 2}, (), 1),
    ]
    batch, every, gpu = site.machine.partitions
    assert (fold(batch.nodes), batch.max_time, batch.default, batch.memory_per_core) == ("n[01-20]", 86_400, True, 1000)
    assert (fold(every.nodes), every.max_time, every.priority) == ("n[01-20],g[1-4]", None, 10)
    assert every.memory_per_core == 2000
    assert (gpu.exclusive, gpu.max_time, gpu.priority) == (True, 5400, 1)
    assert site.remarks == []


def test_whole_nodes_and_memory_that_is_not_counted(tmp_path: Path) -> None:
    site = find_machine(
        tmp_path, _CONF.replace("select/cons_tres", "select/linear").replace("CR_Core_Memory", "CR_Core")
    )
    assert all(partition.exclusive for partition in site.machine.partitions)
    assert [kind.memory for kind in site.machine.kinds] == [None, None]
    assert site.remarks == [
        "memory is left out: SelectTypeParameters does not name it, so that Slurm does not count it"
    ]


_NODE = """\
NodeName={name} Arch=x86_64 CoresPerSocket=8
   CPUAlloc=0 CPUEfctv=32 CPUTot=32 CPULoad=0.01
   AvailableFeatures=opa,gold
   ActiveFeatures=opa,gold
   Gres=gpu:a100:4
   RealMemory=64000 AllocMem=0 FreeMem=20691 Sockets=2 Boards=1
   State={state} ThreadsPerCore=2 TmpDisk=0 Weight=5 Owner=N/A MCS_label=N/A
   Partitions=batch,long

"""
_PARTITION = """\
PartitionName={name}
   AllowGroups=ALL AllowAccounts=ALL AllowQos=ALL
   AllocNodes=ALL Default={default} QoS=N/A
   MaxNodes=UNLIMITED MaxTime={time} MinNodes=0 LLN=NO
   Nodes=n[1-2]
   PriorityJobFactor=1 PriorityTier=3 RootOnly=NO ReqResv=NO OverSubscribe=NO
   State=UP TotalCPUs=64 TotalNodes=2 SelectTypeParameters=NONE
"""


def test_scontrol(tmp_path: Path) -> None:
    nodes = _NODE.format(name="n1", state="IDLE") + _NODE.format(name="n2", state="IDLE+DRAIN")
    partitions = _PARTITION.format(name="batch", default="NO", time="2-00:00:00") + "\n"
    partitions += _PARTITION.format(name="long", default="YES", time="UNLIMITED")
    for site in (find_machine(tmp_path, nodes, partitions), find_machine(tmp_path, _CONF, nodes, partitions)):
        assert kinds(site.machine) == [("n[1-2]", 32, 64_000, {"a100": 4}, ("opa", "gold"), 5)]
        assert [(p.name, p.priority, p.max_time, p.default) for p in site.machine.partitions] == [
            ("batch", 3, 172_800, False),
            ("long", 3, None, True),
        ]
        assert site.remarks == [
            "1 node is down or drained, and part of the machine",
            "nodes have several threads a core: cores count threads, as Slurm's CPUs do",
        ]
    alone = find_machine(tmp_path, nodes)
    assert [(p.name, fold(p.nodes)) for p in alone.machine.partitions] == [("batch", "n[1-2]"), ("long", "n[1-2]")]
    with pytest.raises(InputError, match="file0: names no nodes: add the output of 'scontrol show node'"):
        find_machine(tmp_path, partitions)


def test_sinfo_as_text(tmp_path: Path) -> None:
    rows = """\
Sun Nov 22 03:23:53 2026
NODELIST   NODES PARTITION       STATE CPUS    S:C:T MEMORY TMP_DISK WEIGHT AVAIL_FE REASON
n1             1    batch*   allocated 16      2:8:1  64000        0     10 opa,gold none
n1             1      long   allocated 16      2:8:1  64000        0     10 opa,gold none
n2             1    batch*       down* 16      2:8:1  64000        0     10 opa,gold Not responding today
"""
    site = find_machine(tmp_path, rows)
    assert kinds(site.machine) == [("n[1-2]", 16, 64_000, {}, ("opa", "gold"), 10)]
    assert [(p.name, fold(p.nodes), p.default) for p in site.machine.partitions] == [
        ("batch", "n[1-2]", True),
        ("long", "n1", False),
    ]
    assert site.remarks == ["1 node is down or drained, and part of the machine"]
    table = """\
NODELIST|PARTITION|CPUS|MEMORY|GRES|AVAIL_FEATURES|WEIGHT|TIMELIMIT|STATE
n[1-4]|batch*|16|64000|(null)|opa|1|1-00:00:00|idle
g[1-2]|gpu|32|128000|gpu:v100:2(S:0)|(null)|1|infinite|mixed
g[1-2]|batch*|32|128000|gpu:v100:2(S:0)|(null)|1|1-00:00:00|mixed
"""
    site = find_machine(tmp_path, table)
    assert kinds(site.machine) == [("n[1-4]", 16, 64_000, {}, ("opa",), 1), ("g[1-2]", 32, 128_000, {"v100": 2}, (), 1)]
    assert [(p.name, fold(p.nodes), p.max_time) for p in site.machine.partitions] == [
        ("batch", "n[1-4],g[1-2]", 86_400),
        ("gpu", "g[1-2]", None),
    ]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("PARTITION AVAIL TIMELIMIT NODES STATE NODELIST\nbatch* up 1:00 4 idle n[1-4]\n",
         "file0:1: has no column CPUS, so that the cores of a node are unknown: make it with: "
         "sinfo -e -o '%N|%P|%c|%m|%G|%f|%w|%l|%T'"),
        ("NODELIST|PARTITION|CPUS\nn[1-4]|a|16+\n", "file0:2: sums up nodes that differ ('16+'): make it with: "
         "sinfo -e -o '%N|%P|%c|%m|%G|%f|%w|%l|%T'"),
        ("NODELIST|PARTITION|CPUS\nn[1-4]|a\n", "file0:2: a row must have 3 columns like the headings, not 2"),
        ("NODELIST|PARTITION|CPUS\nn1|a|4\nn1|b|8\n", "file0:3: describes 'n1' differently from a row above"),
        ("NODELIST|PARTITION|CPUS\nn1|a|many\n", "file0: cpus of n1 must be a whole number, not 'many'"),
        ("NODELIST|PARTITION|CPUS\nn[1-2000000]|a|4\n", "file0: a machine must have at most 200,000 nodes, and "
         "'n[1-2000000]' names more"),
        ("NodeName=n1 CPUs=4\nPartitionName=a Nodes=m1\n", "file0: partitions[0]: partition 'a' names 'm1', but the "
         "nodes are n1"),
        ("NodeName=n1 CPUs=4\nPartitionName=a Nodes=n1 MaxTime=soon\n", "file0: MaxTime of partition a must be a time "
         "such as 60 (minutes) or 1-12:00:00, not 'soon'"),
        ("NodeName=n1 CPUs=4\nNodeName=n1 CPUs=8\n", "file0: each node must have one description, and 'n1' is in "
         "nodes[0] and nodes[1]"),
        ("0 a 20 80 1 fast\n", "file0:1: is not a parameter of slurm.conf: '0 a 20 80 1 fast'"),
        ("0 a 0 80 1 1000\n", "file0:1: a cluster must have from 1 to 200,000 nodes, not '0'"),
        ('{"jobs": []}', "file0: holds no list of nodes, partitions or sinfo: make it with: scontrol show node --json"),
        ('{"nodes": 3}', "file0: nodes must be a list of objects, not 3"),
        ("[]", "file0:1: is not a parameter of slurm.conf: '[]'"),
    ],
)  # fmt: skip
def test_files_that_are_refused(tmp_path: Path, text: str, sentence: str) -> None:
    path = tmp_path / "file0"
    path.write_text(text)
    with pytest.raises(InputError) as refused:
        machine_from_files([path])
    assert str(refused.value).replace(f"{tmp_path}/", "") == sentence


def test_json_of_scontrol(tmp_path: Path) -> None:
    node = {"name": "n1", "cpus": 16, "real_memory": 64000, "gres": "gpu:2", "weight": 3, "state": ["IDLE", "DRAIN"],
            "features": ["opa", "gold"], "partitions": ["batch"]}  # fmt: skip
    nodes = json.dumps({"nodes": [node, {**node, "name": "n2", "features": "opa,gold", "state": "idle"}]})
    unset = {"set": False, "infinite": True, "number": 0}
    new = {"name": "batch", "nodes": {"configured": "n[1-2]"}, "priority": {"tier": 7}, "flags": ["DEFAULT"],
           "maximums": {"time": {"set": True, "infinite": False, "number": 60}}}  # fmt: skip
    other = {"name": "long", "nodes": {"configured": "n1"}, "priority": {"tier": 1}, "maximums": {"time": unset}}
    old = {"name": "batch", "nodes": "n[1-2]", "priority_tier": 7, "flags": ["default"], "max_time_limit": 60}
    ancient = {"name": "long", "nodes": "n1", "priority_tier": 1, "flags": [], "max_time_limit": 4294967295}
    for partitions in ([new, other], [old, ancient]):
        site = find_machine(tmp_path, nodes, json.dumps({"partitions": partitions}))
        assert kinds(site.machine) == [("n[1-2]", 16, 64_000, {"gpu": 2}, ("opa", "gold"), 3)]
        assert [(p.name, p.priority, p.max_time, p.default) for p in site.machine.partitions] == [
            ("batch", 7, 3600, True),
            ("long", 1, None, False),
        ]
        assert site.remarks == ["1 node is down or drained, and part of the machine"]


def test_json_of_sinfo_of_later_releases(tmp_path: Path) -> None:
    def item(nodes: str, cpus: int, partition: str) -> dict[str, object]:
        bounds = {"minimum": cpus, "maximum": cpus}
        return {"nodes": {"nodes": nodes.split(";")}, "cpus": bounds, "memory": {"minimum": 100, "maximum": 100},
                "weight": {"minimum": 1, "maximum": 1}, "gres": {"total": "gpu:v100:2"}, "features": {"total": "a,b"},
                "partition": {"name": partition, "nodes": {"configured": ""}}}  # fmt: skip

    items = [item("n1;n2", 4, "a"), item("n1;n2", 4, "b"), item("m1", 8, "b")]
    site = find_machine(tmp_path, json.dumps({"sinfo": items}))
    assert kinds(site.machine) == [
        ("n[1-2]", 4, 100, {"v100": 2}, ("a", "b"), 1),
        ("m1", 8, 100, {"v100": 2}, ("a", "b"), 1),
    ]
    assert [(p.name, fold(p.nodes)) for p in site.machine.partitions] == [("a", "n[1-2]"), ("b", "n[1-2],m1")]


def test_alea(tmp_path: Path) -> None:
    site = find_machine(tmp_path, "0\tzewura\t20\t80\t1\t529426432\n1\tzegox\t48\t12\t1\t94035968\n")
    assert kinds(site.machine) == [
        ("zewura[1-20]", 80, 517_018, {}, ("zewura", "cl_zewura"), 1),
        ("zegox[1-48]", 12, 91_832, {}, ("zegox", "cl_zegox"), 1),
    ]
    assert [(p.name, len(p.nodes)) for p in site.machine.partitions] == [("all", 68), ("zewura", 20), ("zegox", 48)]
    (tmp_path / "other").write_text(_CONF)
    with pytest.raises(InputError, match="file0 lists clusters and describes a whole machine: give it alone"):
        machine_from_files([tmp_path / "file0", tmp_path / "other"])


def test_alibaba(tmp_path: Path) -> None:
    rows = "sn,cpu_milli,memory_mib,gpu,model\nn0,64000,1000,2,P100\nn1,64000,1000,2,P100\nn2,96000,2000,0,\n"
    assert kinds(find_machine(tmp_path, rows).machine) == [
        ("n[0-1]", 64, 1000, {"p100": 2}, ("P100",), 1),
        ("n2", 96, 2000, {}, (), 1),
    ]
    with pytest.raises(InputError, match=r"file0:2: a node must have a name, cores, memory, GPUs and a model"):
        find_machine(tmp_path, "sn,cpu_milli,memory_mib,gpu,model\nn0,many,1000,2,P100\n")


def test_the_same_nodes_from_two_commands_of_a_real_slurm() -> None:
    text = machine_from_files([shared_file("slurm", "sinfo.txt")]).machine
    document = machine_from_files([shared_file("slurm", "sinfo.json")]).machine
    assert kinds(text) == kinds(document) == [("n[1-16]", 1, 1000, {}, (), 1)]
    assert [(p.name, p.nodes) for p in text.partitions] == [(p.name, p.nodes) for p in document.partitions]


def test_the_micro_cluster() -> None:
    machine = machine_from_files([shared_file("slurm-micro", "slurm.conf")]).machine
    assert [(kind.names[0], len(kind.names), kind.memory, dict(kind.gpus)) for kind in machine.kinds] == [
        ("n1", 4, 48_000, {}),
        ("m1", 4, 48_000, {}),
        ("g1", 1, 48_000, {"gpu": 2}),
        ("b1", 1, 512_000, {}),
    ]
    assert machine.partitions[0].memory_per_core == 2800


@pytest.mark.parametrize(
    "line", ["SchedulerType = sched/backfill", "SLURM_VERSION = 22.05.8", "PriorityType=priority/basic"]
)
def test_a_configuration_without_nodes_says_what_is_missing(tmp_path: Path, line: str) -> None:
    with pytest.raises(InputError, match="file0: names no nodes: add the output of 'scontrol show node'"):
        find_machine(tmp_path, f"{line}\n")


def test_jobs_of_scontrol_are_no_machine() -> None:
    assert not is_machine_source("JobId=7 JobName=a\n   UserId=ann(1)\n   Priority=4294901757 Nice=0\n")


def test_an_export_of_sacct_is_no_table_of_sinfo() -> None:
    assert not is_machine_source("JobID|Partition|NodeList|Submit\n1|a|n1|2020-01-01T00:00:00\n")


def test_a_summary_fits_one_screen(tmp_path: Path) -> None:
    lines = [f"NodeName=k{number} CPUs={number + 1}" for number in range(40)]
    lines += [f"PartitionName=p{number} Nodes=ALL" for number in range(40)]
    text = machine_summary(find_machine(tmp_path, "\n".join(lines)).machine)
    assert text.count("\n") < 30
    assert text.count("... and 30 more") == 2
    assert max(map(len, text.splitlines())) <= 120
