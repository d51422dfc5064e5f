"""Limits in tables of sacctmgr, worked out by hand."""

from __future__ import annotations

from pathlib import Path

import pytest

from holdfast.experiments import cli
from holdfast.workloads.ground.errors import TraceError
from holdfast.workloads.machines.machine import Limit, Quota
from holdfast.workloads.machines.machine_file import read_machine
from holdfast.workloads.machines.slurm_limits import limits_from_tables
from holdfast.workloads.machines.sources import machine_from_files

QOS = """Name|Priority|GrpJobs|GrpTRES|MaxJobsPU|MaxTRESPU|MaxTRESPA
normal|0|||||
small|0|7|cpu=9,mem=2G,node=3,gres/gpu=5|2|gres/gpu=1,gres/gpu:v100=1|cpu=8
"""
ASSOCIATIONS = """Cluster|Account|User|Partition|ParentName|GrpJobs|GrpTRES|MaxJobs
c|root||||||
c|bio|||root|9|cpu=64|
c|chem|||bio||node=4|
c|chem|ada||||cpu=8|3
c|chem|ben||||cpu=8|3
c|chem|eve|||2|cpu=8|3
c|phys|||root|||
c|phys|ben||||node=1|
c|phys|joe|||||
c|phys|joe|gpu|||node=1|
"""
CONFIG = "SelectType = select/cons_tres\nAccountingStorageEnforce = associations,{}\n"
NODES = "NodeName=n[1-2] CPUTot=4\n"
PARTITIONS = "PartitionName=a\n   Nodes=n1 QoS=small\nPartitionName=b\n   Nodes=n2 QoS=N/A\n"


def test_limits_of_qos_count_gpus() -> None:
    found = limits_from_tables({"qos.txt": QOS})
    together = Quota(running=7, nodes=3, cores=9, memory=2048, gpus=5)
    assert found.limits == (Limit("qos", "small", Quota(running=2, gpus=1), together),)
    assert found.remarks == ("MaxTRESPA of QOS small is left out", "MaxTRESPU gres/gpu:v100 of QOS small is left out")


def test_limits_of_associations_are_those_of_accounts_their_users_and_single_users() -> None:
    # Each user of chem may have 3 jobs and 8 cores; eve, who has no other account, 2 jobs. Of phys only ben is limited,
    # and has another account, which a machine does not tell apart.
    found = limits_from_tables({"associations.txt": ASSOCIATIONS})
    assert found.limits == (
        Limit("account", "bio", together=Quota(running=9, cores=64)),
        Limit("account", "chem", Quota(running=3, cores=8), Quota(nodes=4)),
        Limit("user", "eve", together=Quota(running=2, cores=8)),
    )
    assert found.remarks == (
        "limits of user joe in account phys in partition gpu are left out",
        "the limit of account bio counts its own jobs alone, not those of accounts below it",
        "limits of user ben in account phys are left out: it has several accounts",
    )


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("Name|GrpJobs\nsmall|many\n", "limits must be whole numbers, not many"),
        ("Name|GrpTRES\nsmall|cpu=x\n", "amounts must be numbers"),
        ("Account|GrpJobs\nchem|1\n", "has no column User"),
        ("Cluster|Account|User|GrpJobs\nc|a||1\nd|a||1\n", r"has several clusters \(c, d\)"),
    ],
)
def test_tables_that_cannot_be_read_are_refused(text: str, sentence: str) -> None:
    with pytest.raises(TraceError, match=sentence):
        limits_from_tables({"table.txt": text})


@pytest.mark.parametrize("enforced", ["limits", "qos"])
def test_a_machine_has_the_limits_that_slurm_enforces(enforced: str, tmp_path: Path) -> None:
    texts = {"config.txt": CONFIG.format(enforced), "nodes.txt": NODES, "partitions.txt": PARTITIONS, "qos.txt": QOS}
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
    files = [str(tmp_path / name) for name in texts]
    found = machine_from_files(files)
    if enforced == "qos":
        assert not found.machine.limits
        assert any("AccountingStorageEnforce does not name them" in remark for remark in found.remarks)
        return
    of_qos, of_partition = found.machine.limits
    assert (of_qos.scope, of_partition.scope, of_partition.name) == ("qos", "partition", "a")
    assert of_partition.together == of_qos.together == Quota(running=7, nodes=3, cores=9, memory=2048, gpus=5)
    assert cli.main(["machine", *files, "-o", str(tmp_path / "machine.toml")]) == 0
    assert read_machine(tmp_path / "machine.toml").limits == found.machine.limits
