"""Features of a site's nodes and partitions that a simulation of one pool of equal nodes does not model."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Mapping

from holdfast.experiments.slurm.site_parameters import (
    HARMLESS_OF_NODES,
    HARMLESS_OF_PARTITIONS,
    NODE_KINDS,
    PARTITION_LIMITS,
)
from holdfast.workloads.ground.errors import format_value
from holdfast.workloads.ground.wording import count_text
from holdfast.workloads.machines.slurm_conf import SiteConfiguration, is_set

__all__ = ["has_whole_nodes", "limit_remarks", "node_remarks", "partition_remarks", "unknown_words"]

#: Largest number of names listed in a line.
_SHOWN = 8
Remark = tuple[str, str]


def has_whole_nodes(site: SiteConfiguration) -> bool:
    """Whether every partition gives whole nodes to its jobs, whatever SelectType says."""
    shared = [line.get("oversubscribe", line.get("shared", "no")).upper() for line in site.partitions]
    return bool(shared) and all(word == "EXCLUSIVE" for word in shared)


def partition_remarks(site: SiteConfiguration) -> list[Remark]:
    """Remarks on partitions, limits, tiers, QOS and sharing, with what the simulation does instead."""
    found = []
    if len(site.partitions) > 1:
        names = _list_names([line["partitionname"] for line in site.partitions])
        why = "one machine; --where partition=NAME --nodes N simulates one of them"
        found.append((f"{len(site.partitions)} partitions ({names})", why))
    return found + limit_remarks(site)


def limit_remarks(site: SiteConfiguration, modelled: Collection[str] = ()) -> list[Remark]:
    """Remarks on limits, tiers, QOS and sharing of partitions, without settings that are modelled."""
    found = []
    for name, (written, harmless, why) in PARTITION_LIMITS.items():
        values = {line["partitionname"]: line[name] for line in site.partitions if is_set(line.get(name, ""))}
        if name in modelled:
            continue
        if name in ("prioritytier", "priorityjobfactor", "priority") and len(site.partitions) == 1:
            continue
        deviating = [f"{partition} {value}" for partition, value in values.items() if value.lower() not in harmless]
        if deviating:
            found.append((f"{written} of partitions ({_list_names(deviating)})", why))
    return found


def node_remarks(site: SiteConfiguration) -> list[Remark]:
    """Remarks on GPUs, memory and features of nodes, and on unavailable nodes."""
    found = []
    gpus = [line for line in site.nodes if is_set(line.get("gres", ""))]
    if gpus:
        kinds = _list_names(list(dict.fromkeys(line["gres"] for line in gpus)))
        found.append((f"Gres of {_nodes(site, gpus)} ({kinds})", "jobs need nodes, not GPUs"))
    sizes = {line.get("realmemory", "") for line in site.nodes}
    memory = sorted(int(size) for size in sizes if re.fullmatch("[0-9]{1,12}", size))
    if memory:
        spread = f"{memory[0]:,}" + (f" to {memory[-1]:,}" if len(memory) > 1 else "")
        found.append((f"RealMemory of nodes ({spread} MB)", "jobs need nodes, not memory"))
    differing = _differences(site)
    if differing:
        found.append((f"nodes that differ in {', '.join(differing)}", "all nodes are alike"))
    away = [line for line in site.nodes if _is_away(line)]
    if away:
        why = "they count as nodes that run jobs; --nodes sets the size"
        found.append((f"State of {_nodes(site, away)} (down or drained)", why))
    return found


def _differences(site: SiteConfiguration) -> list[str]:
    """Properties in which the nodes differ."""
    values: dict[str, set[str]] = defaultdict(set)
    for line in site.nodes:
        for kind, names in NODE_KINDS.items():
            value = next((line[name] for name in names if name in line), "")
            # The sockets of a GPU, "gpu:2(S:0-1)", do not distinguish nodes.
            values[kind].add(value.partition("(")[0] if is_set(value) else "")
    return [kind for kind, several in values.items() if len(several) > 1]


def _is_away(line: Mapping[str, str]) -> bool:
    state = line.get("state", "").upper()
    return any(word in state for word in ("DOWN", "DRAIN", "FAIL"))


def _nodes(site: SiteConfiguration, lines: list[dict[str, str]]) -> str:
    count = site.node_count(lines)
    return count_text(count, "nodes")


def _list_names(names: list[str]) -> str:
    return ", ".join(names[:_SHOWN]) + (", ..." if len(names) > _SHOWN else "")


def unknown_words(site: SiteConfiguration) -> list[str]:
    """Unknown keywords of node and partition lines, each once."""
    found: dict[str, str] = {}
    for kind, lines, known in (
        ("NodeName", site.nodes, HARMLESS_OF_NODES),
        ("PartitionName", site.partitions, HARMLESS_OF_PARTITIONS | set(PARTITION_LIMITS)),
    ):
        for line in lines:
            for name, value in line.items():
                if name not in known and is_set(value):
                    found.setdefault(f"{kind} ... {name}", format_value(value))
    return [f"{name} {value}" for name, value in found.items()]
