"""The configuration that a lab has for a machine, by hand, and what is asked of its database."""

from __future__ import annotations

from pathlib import Path

import pytest

from holdfast.experiments.slurm import lab as labs
from holdfast.experiments.slurm.lab import start_lab
from holdfast.experiments.slurm.lab_limits import add_partition_limits
from holdfast.workloads.ground.errors import InputError
from holdfast.workloads.machines.machine import Machine
from holdfast.workloads.machines.machine_file import make_machine

MACHINE = make_machine(
    nodes=[
        {"names": "n[1-2]", "cores": 4, "memory": "4000M", "features": ["opa"], "weight": 3},
        {"names": "g1", "cores": 8, "memory": "8000M", "gpus": {"v100": 2}},
    ],
    partitions=[
        {"name": "work", "nodes": "n[1-2]", "max_time": "1d"},
        {"name": "Short", "nodes": "ALL", "max_time": 90, "priority": 5, "memory_per_core": 500, "default": True},
        {"name": "gpu", "nodes": "g1", "exclusive": True},
    ],
    limits=[
        {"partition": "Short", "per_user": {"running": 2}, "together": {"cores": 6}},
        {"qos": "few", "together": {"nodes": 1}},
    ],
)


def config_lines(monkeypatch: pytest.MonkeyPatch, place: Path, machine: Machine, *, accounting: bool) -> list[str]:
    """Lines of the configuration of a lab that is not started."""
    for name in ("_check", "_start"):
        monkeypatch.setattr(labs, name, lambda *_: None)
    start_lab(
        place,
        nodes=machine.size,
        speed=1,
        port=17000,
        accounting=accounting,
        scheduler="backfill",
        parameters="bf_interval=1",
        machine=machine,
    )
    return (place / "slurm.conf").read_text().splitlines()


def test_a_lab_has_the_limits_of_the_partitions_of_its_machine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    lines = config_lines(monkeypatch, tmp_path / "lab", MACHINE, accounting=True)
    state, sharing = "State=UP DefaultTime=60", "OverSubscribe=NO"
    assert [line for line in lines if line.startswith("PartitionName")] == [
        f"PartitionName=work Nodes=n1,n2 {state} PriorityTier=1 MaxTime=1440 {sharing} Default=NO",
        f"PartitionName=Short Nodes=n1,n2,g1 {state} PriorityTier=5 MaxTime=2 {sharing} DefMemPerCPU=500 "
        "QOS=partition.short Default=YES",
        f"PartitionName=gpu Nodes=g1 {state} PriorityTier=1 MaxTime=INFINITE OverSubscribe=EXCLUSIVE Default=NO",
    ]
    nodes = [line.split() for line in lines if line.startswith("NodeName")]
    assert [(words[0], words[3]) for words in nodes] == [
        ("NodeName=n1", "Port=17004"),
        ("NodeName=n2", "Port=17005"),
        ("NodeName=g1", "Port=17006"),
    ]
    assert nodes[1][-4:] == ["RealMemory=4000", "Feature=opa", "Weight=3", "State=UNKNOWN"]
    assert {"RealMemory=8000", "Gres=gpu:v100:2", "CPUs=8"} <= set(nodes[2])
    further = ["EnforcePartLimits=ANY", "AccountingStorageTRES=gres/gpu", "SelectTypeParameters=CR_Core_Memory"]
    assert [lines.count(line) for line in further] == [1, 1, 1]
    gpus = (tmp_path / "lab" / "gres.conf").read_text().splitlines()
    assert gpus == [f"NodeName=g1 Name=gpu Type=v100 File={tmp_path}/lab/state/gpu{number}" for number in (0, 1)]


def test_without_a_database_a_lab_counts_no_gpus_for_limits(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Slurm refuses to start with them."""
    plain = make_machine(nodes=[{"names": "n1", "cores": 4, "gpus": 2}])
    lines = config_lines(monkeypatch, tmp_path / "lab", plain, accounting=False)
    assert not [line for line in lines if line.startswith("AccountingStorageTRES")]
    assert "GresTypes=gpu" in lines and "SelectTypeParameters=CR_Core" in lines
    with pytest.raises(InputError, match="the machine has limits, which need a database: add --accounting"):
        config_lines(monkeypatch, tmp_path / "other", MACHINE, accounting=False)


def test_limited_partitions_have_a_qos_before_the_controller_starts() -> None:
    class FakeLab:
        accounting = True

        def __init__(self) -> None:
            self.commands: list[str] = []

        def call(self, words: list[str]) -> str:
            self.commands.append(" ".join(words))
            return ""

    lab = FakeLab()
    add_partition_limits(lab, MACHINE.limits)  # type: ignore[arg-type]
    assert lab.commands == ["sacctmgr -n -i add qos partition.short"]
