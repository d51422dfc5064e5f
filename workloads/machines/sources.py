"""Sources of a machine description: slurm.conf, the output of Slurm's commands, or a list of clusters."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import NamedTuple

from holdfast.workloads.ground.errors import InputError, TraceError, format_value
from holdfast.workloads.ground.files import read_text
from holdfast.workloads.ground.wording import count_text
from holdfast.workloads.machines.amounts import gres_gpus, mebibytes
from holdfast.workloads.machines.host_list import MOST_NODES, expand
from holdfast.workloads.machines.machine import Limit, Machine, NodeKind, Partition
from holdfast.workloads.machines.slurm_conf import SiteConfiguration, is_set, read_configuration
from holdfast.workloads.machines.slurm_limits import SlurmLimits, enforces_limits, is_limit_table, limits_from_tables
from holdfast.workloads.machines.slurm_output import is_sinfo, json_records, sinfo_records

__all__ = ["FoundMachine", "configured_machine", "is_machine_source", "machine_from_files"]

_CLUSTER = re.compile(r"\s*\d+\s+\S+(?:\s+\d+(?:\.\d+)?){4}\s*")
#: A line of slurm.conf or of scontrol; "Priority" alone is a field of jobs.
_SETTING = re.compile(
    r"(?im)^\s*(?:NodeName|PartitionName|ClusterName|(?:AccountingStorage|Priority|Scheduler|Select|Slurm)\w+)\s*="
)
_TIME = re.compile(r"(?:(\d{1,6})-)?(\d{1,9})(?::(\d{1,4}))?(?::(\d{1,4}))?")


@dataclass
class FoundMachine:
    """A machine, and remarks on how its source was read.

    Attributes
    ----------
    machine
        The machine.
    remarks
        Sentences about parts of the source that are interpreted or left out.
    """

    machine: Machine
    remarks: list[str] = field(default_factory=list)


def machine_from_files(paths: Sequence[str | Path]) -> FoundMachine:
    """The machine that configuration files of a site describe.

    Parameters
    ----------
    paths
        slurm.conf, the output of ``scontrol show config``, ``show node`` or ``show partition`` or of ``sinfo``, as
        text or JSON, and of ``sacctmgr -P show qos`` or ``show assoc`` with limits, in any combination; or one list of
        clusters of Alea (``.machines``) or of nodes of Alibaba (``openb_node_list``). Nodes or partitions from the
        output of a command replace those in slurm.conf.

    Raises
    ------
    InputError
        If a file cannot be read, or the files do not describe a machine.
    """
    texts = {path: read_text(path) for path in paths}
    clusters = [path for path, text in texts.items() if _is_clusters(text)]
    if clusters:
        if len(texts) > 1:
            raise InputError(f"{clusters[0]} lists clusters and describes a whole machine: give it alone")
        return _clusters(texts[clusters[0]], clusters[0])
    nodes_of_alibaba = [path for path, text in texts.items() if _is_alibaba(text)]
    if nodes_of_alibaba:
        if len(texts) > 1:
            raise InputError(f"{nodes_of_alibaba[0]} lists nodes and describes a whole machine: give it alone")
        return _alibaba(texts[nodes_of_alibaba[0]], nodes_of_alibaba[0])
    tables = {path: text for path, text in texts.items() if is_limit_table(text)}
    texts = {path: text for path, text in texts.items() if path not in tables}
    configured = [path for path, text in texts.items() if not _is_printed(text)]
    site = read_configuration(configured) if configured else SiteConfiguration()
    for path, text in texts.items():
        if _is_printed(text):
            nodes, partitions = (json_records if text.lstrip().startswith("{") else sinfo_records)(text, path)
            site.nodes = nodes or site.nodes
            site.partitions = partitions or site.partitions
    names = ", ".join(Path(path).name for path in paths)
    limits = SlurmLimits() if not tables else limits_from_tables(tables)
    if site.settings and not any(map(enforces_limits, texts.values())):
        remark = "limits are left out: AccountingStorageEnforce does not name them, so that Slurm does not apply them"
        limits = SlurmLimits(remarks=(remark,) if tables else ())
    try:
        found = configured_machine(site, names)
        machine = replace(found.machine, limits=(*limits.limits, *_limits_of_partitions(site, limits, found)))
        return FoundMachine(machine, [*found.remarks, *limits.remarks])
    except InputError as error:
        raise InputError(f"{names}: {error}") from None


def _limits_of_partitions(site: SiteConfiguration, limits: SlurmLimits, found: FoundMachine) -> Iterator[Limit]:
    """Limits of the QOS that partitions have."""
    by_qos = {limit.name: limit for limit in limits.limits if limit.scope == "qos"}
    names = {partition.name for partition in found.machine.partitions}
    partitions: dict[str, list[str]] = {}
    for line in site.partitions:
        qos = line.get("qos", "").lower()
        if qos in by_qos and line["partitionname"] in names:
            partitions.setdefault(qos, []).append(line["partitionname"])
    for qos, members in partitions.items():
        if len(members) > 1:
            found.remarks.append(f"QOS {qos} limits partitions {', '.join(members)} together, which is left out")
        else:
            yield replace(by_qos[qos], scope="partition", name=members[0])


def is_machine_source(text: str) -> bool:
    """Whether a text describes nodes or partitions, and is not a log of jobs.

    >>> is_machine_source("NodeName=n1 CPUs=4"), is_machine_source("1 0 5 100 4 -1 -1 4 200 -1 1 7 7 -1 1 -1 -1 -1")
    (True, False)
    """
    if _is_clusters(text) or _is_alibaba(text) or is_sinfo(text):
        return True
    if text.lstrip().startswith("{"):
        return re.search(r'"(?:nodes|partitions|sinfo)"\s*:\s*\[', text) is not None and '"jobs"' not in text[:100_000]
    return _SETTING.search(text) is not None


def _is_printed(text: str) -> bool:
    return text.lstrip().startswith("{") or is_sinfo(text)


# Slurm.


def configured_machine(site: SiteConfiguration, origin: str) -> FoundMachine:
    """The machine of a site's configuration.

    Parameters
    ----------
    site
        Nodes and partitions, and the parameters that define which resources jobs share.
    origin
        Names of the files.

    Raises
    ------
    InputError
        If the configuration names no nodes, or a value is not legal.
    """
    if not site.nodes:
        raise InputError("names no nodes: add the output of 'scontrol show node'")
    remarks: list[str] = []
    memory = _counts_memory(site, remarks)
    kinds: dict[_Kind, list[str]] = {}
    of_partitions: dict[str, list[str]] = {}
    away = 0
    for line in site.nodes:
        state = line.get("state", "").upper()
        if "FUTURE" in state:
            continue
        names = _expand(line["nodename"])
        away += len(names) if re.search("DOWN|DRAIN|FAIL", state) else 0
        kinds.setdefault(_kind(line, memory), []).extend(names)
        for name in line.get("partitions", "").split(","):
            if is_set(name):
                of_partitions.setdefault(name.strip(), []).extend(names)
    if away:
        remarks.append(f"{away:,} node{'s are' if away != 1 else ' is'} down or drained, and part of the machine")
    threads = {line.get("threadspercore", "1") for line in site.nodes} - {"1"}
    if threads:
        remarks.append("nodes have several threads a core: cores count threads, as Slurm's CPUs do")
    found = [
        NodeKind(tuple(names), kind.cores, kind.memory, dict(kind.gpus), kind.features, kind.weight)
        for kind, names in kinds.items()
    ]
    every = tuple(name for kind in found for name in kind.names)
    partitions = _partitions(site, every, of_partitions, remarks)
    return FoundMachine(Machine(tuple(found), partitions, origin=origin), remarks)


def _expand(text: str) -> tuple[str, ...]:
    try:
        return expand(text)
    except ValueError as error:
        raise InputError(str(error)) from None


class _Kind(NamedTuple):
    """Common properties of equal nodes."""

    cores: int
    memory: int | None
    gpus: tuple[tuple[str, int], ...]
    features: tuple[str, ...]
    weight: int


def _kind(line: Mapping[str, str], memory: bool) -> _Kind:
    features = next((line[key] for key in ("features", "feature", "availablefeatures", "activefeatures")
                     if is_set(line.get(key, ""))), "")  # fmt: skip
    # Slurm's "&" joins features of one mode; jobs can request each of them.
    words = tuple(dict.fromkeys(word.strip() for word in re.split("[,&]", features) if word.strip()))
    amount = line.get("realmemory", "")
    return _Kind(
        _cores(line),
        mebibytes(amount, f"RealMemory of {line['nodename']}") if memory and is_set(amount) else None,
        tuple(gres_gpus(line.get("gres", "")).items()),
        words,
        _whole(line, "weight", 1),
    )


def _cores(line: Mapping[str, str]) -> int:
    """Number of CPUs of a node as Slurm counts them."""
    for key in ("cputot", "cpus", "procs"):
        if key in line:
            return _whole(line, key, 1)
    sockets = _whole(line, "sockets", 1) * (_whole(line, "boards", 1) if "socketsperboard" not in line else 1)
    sockets *= _whole(line, "socketsperboard", 1)
    return sockets * _whole(line, "corespersocket", 1) * _whole(line, "threadspercore", 1)


def _whole(line: Mapping[str, str], key: str, default: int) -> int:
    text = line.get(key, "")
    if not is_set(text):
        return default
    if not re.fullmatch("[0-9]{1,15}", text):
        raise InputError(f"{key} of {line.get('nodename', line.get('partitionname', ''))[:60]} must be a whole number, "
                         f"not {format_value(text)}")  # fmt: skip
    return int(text)


def _counts_memory(site: SiteConfiguration, remarks: list[str]) -> bool:
    """Whether jobs share node memory by their requests; true if the files have no parameters that decide it."""
    if not site.settings:
        return True
    words = site.value("selecttypeparameters").upper()
    if "MEMORY" in words:
        return True
    if any(is_set(line.get("realmemory", "")) for line in site.nodes):
        remarks.append("memory is left out: SelectTypeParameters does not name it, so that Slurm does not count it")
    return False


def _partitions(
    site: SiteConfiguration, every: tuple[str, ...], of_nodes: Mapping[str, list[str]], remarks: list[str]
) -> tuple[Partition, ...]:
    select = site.value("selecttype").lower()
    whole = bool(site.settings) and not select.startswith("select/cons")
    if site.settings and not select:
        remarks.append(
            "SelectType is not set: each job has whole nodes, but Slurm 23.11 and later share them by default"
        )
    known, found = set(every), []
    for line in site.partitions:
        name = line["partitionname"]
        text = line.get("nodes", "")
        if not is_set(text):
            if name in of_nodes:
                names = tuple(dict.fromkeys(of_nodes[name]))
            else:
                remarks.append(f"partition {name} has no nodes and is left out")
                continue
        elif text.upper() == "ALL":
            names = every
        else:
            names = tuple(dict.fromkeys(_expand(text)))
        gone = [node for node in names if node not in known]
        if gone and len(gone) < len(names):
            remarks.append(
                f"partition {name} names {count_text(len(gone), 'nodes')} without a description ({gone[0]}, ...)"
            )
            names = tuple(node for node in names if node in known)
        share = line.get("oversubscribe", line.get("shared", "")).upper()
        memory = next((words[key] for words in (line, site.settings) for key in ("defmempercpu",)
                       if is_set(words.get(key, "")) and words[key].upper() != "UNLIMITED"), "")  # fmt: skip
        found.append(
            Partition(
                name,
                names,
                _whole(line, "prioritytier" if "prioritytier" in line else "priority", 1),
                whole or share.startswith("EXCLUSIVE"),
                _seconds(line.get("maxtime", ""), name),
                line.get("default", "").upper() == "YES",
                mebibytes(memory, f"DefMemPerCPU of {name}") if memory and memory != "0" else None,
            )
        )
    if not found and of_nodes:
        remarks.append("partitions are those that the nodes name; 'scontrol show partition' has their times and tiers")
        found = [Partition(name, tuple(dict.fromkeys(names)), exclusive=whole) for name, names in of_nodes.items()]
    if not found:
        remarks.append("no partition is described: all nodes are in one, 'all'")
        found = [Partition("all", every, exclusive=whole)]
    return tuple(found)


def _seconds(text: str, name: str) -> float | None:
    """Seconds of a time in Slurm's notation: minutes, minutes:seconds, hours:minutes:seconds, days-hours and others.

    None: no limit.

    >>> _seconds("60", "a"), _seconds("1:30", "a"), _seconds("2:00:00", "a"), _seconds("1-12", "a")
    (3600.0, 90.0, 7200.0, 129600.0)
    """
    if not is_set(text) or text.upper() in ("INFINITE", "UNLIMITED", "-1"):
        return None
    match = _TIME.fullmatch(text)
    if match is None:
        raise InputError(f"MaxTime of partition {name} must be a time such as 60 (minutes) or 1-12:00:00, "
                         f"not {format_value(text)}")  # fmt: skip
    parts = [int(part) for part in match.groups()[1:] if part is not None]
    if match[1] is not None:
        hours, minutes, seconds = (*parts, 0, 0)[:3]
        hours += 24 * int(match[1])
    elif len(parts) == 3:
        hours, minutes, seconds = parts
    else:
        hours, minutes, seconds = (0, *parts, 0)[:3]
    return float((hours * 60 + minutes) * 60 + seconds) or None


# Alea.


def _is_clusters(text: str) -> bool:
    lines = [line for line in text.splitlines() if line.strip()]
    return bool(lines) and len(lines) < 10_000 and all(map(_CLUSTER.fullmatch, lines))


def _clusters(text: str, path: str | Path) -> FoundMachine:
    """The machine of a list of clusters; a line has id, name, nodes, cores, speed, and memory of a node [KB]."""
    kinds, partitions = [], []
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip():
            continue
        _, name, nodes, cores, _, memory = line.split()
        if not re.fullmatch("[0-9]{1,9}", nodes) or not 0 < int(nodes) <= MOST_NODES:
            raise TraceError(
                path, number, f"a cluster must have from 1 to {MOST_NODES:,} nodes, not {format_value(nodes)}"
            )
        if not re.fullmatch("[0-9]{1,9}", cores) or not re.fullmatch("[0-9]{1,15}", memory):
            raise TraceError(
                path,
                number,
                f"cores and memory must be whole numbers, not {format_value(cores)}, {format_value(memory)}",
            )
        names = expand(f"{name}[1-{nodes}]")
        kinds.append(NodeKind(names, int(cores), mebibytes(f"{memory}K"), features=(name, f"cl_{name}")))
        partitions.append(Partition(name, names))
    every = tuple(name for kind in kinds for name in kind.names)
    machine = Machine(tuple(kinds), (Partition("all", every, default=True), *partitions), origin=Path(path).name)
    return FoundMachine(
        machine, ["each cluster is a partition and a feature of its nodes (cl_NAME, too), and 'all' has all nodes"]
    )


# Alibaba 2023.

_NODE_COLUMNS = ["sn", "cpu_milli", "memory_mib", "gpu", "model"]


def _is_alibaba(text: str) -> bool:
    return text.partition("\n")[0].strip().lower().split(",") == _NODE_COLUMNS


def _alibaba(text: str, path: str | Path) -> FoundMachine:
    """The machine of a list of nodes; a line has name, thousandths of cores, memory [MiB], GPUs and their model."""
    kinds: dict[_Kind, list[str]] = {}
    for number, line in enumerate(text.splitlines()[1:], 2):
        if not line.strip():
            continue
        cells = [cell.strip() for cell in line.split(",")]
        if len(cells) != len(_NODE_COLUMNS) or not all(re.fullmatch("[0-9]{1,12}", cell) for cell in cells[1:4]):
            raise TraceError(
                path, number, f"a node must have a name, cores, memory, GPUs and a model, not {format_value(line)}"
            )
        name, cores, memory, gpus, model = cells
        # The model is a feature in capitals, because pods request it in capitals.
        held = ((model.lower(), int(gpus)),) if int(gpus) and model else ()
        kind = _Kind(int(cores) // 1000, int(memory), held, (model,) if model else (), 1)
        kinds.setdefault(kind, []).append(name)
    found = tuple(
        NodeKind(tuple(names), kind.cores, kind.memory, dict(kind.gpus), kind.features, kind.weight)
        for kind, names in kinds.items()
    )
    every = tuple(name for kind in found for name in kind.names)
    machine = Machine(found, (Partition("all", every, default=True),), origin=Path(path).name)
    return FoundMachine(machine, ["the model of the GPUs is a feature of each node"])
