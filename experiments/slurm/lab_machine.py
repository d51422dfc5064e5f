"""Lines of a lab's configuration for nodes of several kinds, partitions and GPUs."""

from __future__ import annotations

from pathlib import Path

from holdfast.experiments.slurm.job_chain import whole_minutes
from holdfast.workloads.ground.errors import InputError
from holdfast.workloads.machines.machine import Machine

__all__ = ["gres_lines", "machine_lines", "partition_qos"]


def partition_qos(name: str) -> str:
    """Name of the QOS that has the limits of a partition; Slurm writes names of QOS in lower case."""
    return f"partition.{name.lower()}"


def machine_lines(machine: Machine, host: str, port: int) -> list[str]:
    """Lines of slurm.conf: how resources are shared, nodes on loopback, and partitions.

    Parameters
    ----------
    machine
        The machine.
    host
        Name of this machine.
    port
        Port of the first node; each has its own.

    Raises
    ------
    InputError
        If only some nodes have memory.
    """
    without = [kind.memory is None for kind in machine.kinds]
    if any(without) and not all(without):
        raise InputError("a lab needs memory for all nodes of the machine, or for none")
    lines = [f"SelectTypeParameters={'CR_Core' if any(without) else 'CR_Core_Memory'}", "GresTypes=gpu"]
    # Slurm refuses a job that is too long for all of its partitions; by default it would wait for ever.
    lines.append("EnforcePartLimits=ANY")
    for kind in machine.kinds:
        gpus = ",".join(f"gpu:{count}" if name == "gpu" else f"gpu:{name}:{count}" for name, count in kind.gpus.items())
        for name in kind.names:
            words = [f"NodeName={name}", f"NodeHostname={host}", "NodeAddr=127.0.0.1", f"Port={port}"]
            words += [f"CPUs={kind.cores}", "Sockets=1", f"CoresPerSocket={kind.cores}", "ThreadsPerCore=1"]
            words += [] if kind.memory is None else [f"RealMemory={kind.memory}"]
            words += [f"Gres={gpus}"] if gpus else []
            words += [f"Feature={','.join(kind.features)}"] if kind.features else []
            lines.append(" ".join([*words, f"Weight={kind.weight}", "State=UNKNOWN"]))
            port += 1
    limited = {limit.name for limit in machine.limits if limit.scope == "partition"}
    for partition in machine.partitions:
        words = [f"PartitionName={partition.name}", f"Nodes={','.join(partition.nodes)}", "State=UP", "DefaultTime=60"]
        words += [f"PriorityTier={partition.priority}"]
        # Walltimes are rounded up as well.
        words += [f"MaxTime={'INFINITE' if partition.max_time is None else whole_minutes(partition.max_time)}"]
        words += [f"OverSubscribe={'EXCLUSIVE' if partition.exclusive else 'NO'}"]
        words += [] if partition.memory_per_core is None else [f"DefMemPerCPU={partition.memory_per_core}"]
        words += [f"QOS={partition_qos(partition.name)}"] if partition.name in limited else []
        lines.append(" ".join([*words, f"Default={'YES' if partition == machine.default else 'NO'}"]))
    return lines


def gres_lines(machine: Machine, folder: Path) -> list[str]:
    """Lines of gres.conf, with an empty file in a folder for each GPU that a node can have.

    Raises
    ------
    OSError
        If a file cannot be written.
    """
    lines = []
    for kind in machine.kinds:
        first = 0
        for name, count in kind.gpus.items():
            files = [folder / f"gpu{number}" for number in range(first, first + count)]
            first += count
            for file in files:
                file.touch()
            words = [] if name == "gpu" else [f"Type={name}"]
            lines += [
                " ".join([f"NodeName={node}", "Name=gpu", *words, f"File={file}"])
                for node in kind.names
                for file in files
            ]
    return lines
