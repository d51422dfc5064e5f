"""Conversion of raw columns of a log to resource requests, by the same rules for every format.

Each reader names the columns that it has. The rules convert totals of a job to amounts per node:

* ``nodes`` and ``processors``: each node gets ceil(processors / nodes) cores. ``processors`` alone are one-core tasks.
* ``memory_total`` and ``gpus_total`` are divided among the nodes, rounded up. Without a number of nodes, memory is
  divided among the cores, and a job with GPUs has one node.
* A fraction of a GPU counts as a whole GPU, and is counted in the remarks.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping

from holdfast.workloads.ground.errors import ParameterError, format_value
from holdfast.workloads.ground.numbers import decimal
from holdfast.workloads.machines.amounts import ANY_GPU, gres_gpus, mebibytes
from holdfast.workloads.machines.request import ResourceRequest

__all__ = ["FRACTION", "NO_SIZE", "request_of_row", "trackable"]

FRACTION = "jobs that request a fraction of a GPU (a whole GPU counts)"
NO_SIZE = "jobs without a size (one core is used)"
_NOTHING = frozenset(("", "-", "-1", "n/a", "nan", "none", "null", "(null)", "unknown", "<na>", "nat"))
_MEMORY = re.compile(r"([0-9.]+\s*[KMGTP]?(?:i?B)?)([cn]?)", re.IGNORECASE)
_TRUE = frozenset(("1", "1.0", "true", "yes", "y", "exclusive"))


def request_of_row(raw: Mapping[str, str], remarks: Counter[str]) -> ResourceRequest:
    """The request of a job.

    Parameters
    ----------
    raw
        Texts by names of :data:`~holdfast.workloads.logs.request_layouts.RAW_COLUMNS`. Memory is in MiB, or has a unit;
        ``memory`` is that of a node, or of a core if a ``c`` follows, as in ReqMem of Slurm. GPUs are a number, or as
        ``v100:2`` or Slurm's generic resources. ``tres`` are trackable resources of the whole job,
        ``cpu=8,mem=16G,node=2,gres/gpu=4``; what stands in other columns goes before.
    remarks
        Counts remarks on the interpretation of values.

    Returns
    -------
    ResourceRequest
        Several partitions stand between commas.

    Raises
    ------
    ValueError
        If a value is illegal; the text is a sentence about it.

    Examples
    --------
    >>> request_of_row({"nodes": "2", "processors": "7", "gpus_total": "4"}, Counter())
    ResourceRequest(nodes=2, tasks=None, tasks_per_node=None, cores=4, memory=None, memory_per_core=False, \
gpus={'gpu': 2}, features='', partitions=(), exclusive=False, qos='', account='', begin=None)
    """
    known = {name: text.strip() for name, text in raw.items() if text.strip().lower() not in _NOTHING}
    known = {**trackable(known.get("tres", "")), **known}
    nodes, tasks = _count(known, "nodes"), _count(known, "tasks")
    per_node, processors = _count(known, "tasks_per_node"), _count(known, "processors")
    cores = _count(known, "cores")
    total = _gpus(known, "gpus_total", remarks)
    gpus = _gpus(known, "gpus", remarks)
    if tasks is None and cores is None and processors is not None:
        if nodes is None and (total or gpus):
            nodes = 1
        if nodes is None:
            tasks = processors
        else:
            cores = -(-processors // nodes)
    if nodes is None and tasks is None and per_node is None and cores is None:
        if not (total or gpus):
            remarks[NO_SIZE] += 1
        nodes = 1
    if total and not gpus:
        gpus = {kind: -(-count // (nodes or 1)) for kind, count in total.items()}
    memory, by_core = _memory(known, nodes, tasks, cores or 1)
    return ResourceRequest(
        nodes,
        tasks,
        per_node,
        cores or 1,
        memory,
        by_core,
        gpus,
        known.get("features", ""),
        tuple(name.strip() for name in known.get("partition", "").split(",") if name.strip()),
        known.get("exclusive", "").lower() in _TRUE,
        known.get("qos", ""),
        known.get("account", ""),
        _time(known, "begin"),
    )


def trackable(text: str) -> dict[str, str]:
    """Raw columns of trackable resources by name or number: 1 is cpu, 2 mem, 4 node, from 1001 on gres.

    >>> trackable("cpu=8,mem=16G,node=2,billing=8,gres/gpu=4")
    {'processors': '8', 'memory_total': '16G', 'nodes': '2', 'gpus_total': 'gres/gpu=4'}
    >>> trackable("1=40,2=170000,4=1,1002=2")
    {'processors': '40', 'memory_total': '170000', 'nodes': '1', 'gpus_total': '2'}
    """
    names = {
        "cpu": "processors",
        "1": "processors",
        "mem": "memory_total",
        "2": "memory_total",
        "node": "nodes",
        "4": "nodes",
    }
    found: dict[str, str] = {}
    numbered = 0
    for word in text.split(","):
        name, between, value = word.strip().partition("=")
        if not between:
            continue
        if name in names and value not in ("", "0"):
            found[names[name]] = value
        elif re.fullmatch(r"100[1-9]|1[0-9]{4}", name) and value.isdecimal():
            # Sites number their generic resources as they like; of those with numbers GPUs are the usual ones.
            numbered += int(value)
    gpus = [word.strip() for word in text.split(",") if word.strip().startswith(("gres/gpu=", "gres/gpu:"))]
    if gpus:
        found["gpus_total"] = ",".join(gpus)
    elif numbered:
        found["gpus_total"] = str(numbered)
    return found


def _count(known: Mapping[str, str], name: str) -> int | None:
    """A whole number, also one such as ``4K``; None if it is not there or 0."""
    if name not in known:
        return None
    text = known[name]
    scale = {"K": 1024, "M": 1024**2}.get(text[-1].upper(), 1)
    try:
        value = decimal(text if scale == 1 else text[:-1]) * scale
    except ValueError:
        value = math.nan
    if not 0 <= value <= 1e12:
        raise ValueError(f"{name} must be a number of at least 0, not {format_value(text)}")
    return math.ceil(value) or None


def _gpus(known: Mapping[str, str], name: str, remarks: Counter[str]) -> dict[str, int]:
    if name not in known:
        return {}
    text = known[name]
    try:
        value = decimal(text)
    except ValueError:
        return gres_gpus(text if text.lower().startswith(("gpu", "gres")) else f"gpu:{text}")
    if not 0 <= value <= 1e9:
        raise ValueError(f"{name} must be a number of at least 0, not {format_value(text)}")
    if value % 1:
        remarks[FRACTION] += 1
    return {ANY_GPU: math.ceil(value)} if value else {}


def _memory(known: Mapping[str, str], nodes: int | None, tasks: int | None, cores: int) -> tuple[int | None, bool]:
    """Memory of a node or a core [MiB], and which of the two."""
    try:
        if "memory" in known:
            match = _MEMORY.fullmatch(known["memory"])
            if match is None:
                raise ParameterError(
                    "memory", 'an amount such as "4G", "4Gn" of a node or "2800Mc" of a core', known["memory"]
                )
            text = match[1].strip()
            amount = mebibytes(decimal(text) if text[-1].isdigit() else text, up=True)
            return (amount or None), bool(amount) and match[2].lower() == "c"
        if "memory_total" in known:
            text = known["memory_total"]
            amount = mebibytes(decimal(text) if text[-1].isdigit() else text, "memory_total", up=True)
            if nodes is None and tasks is not None:
                return -(-amount // (tasks * cores)) or None, True
            return -(-amount // (nodes or 1)) or None, False
    except ParameterError as error:
        raise ValueError(str(error)) from None
    return None, False


def _time(known: Mapping[str, str], name: str) -> float | None:
    if name not in known:
        return None
    try:
        value = decimal(known[name])
    except ValueError:
        value = math.nan
    if not abs(value) <= 1e12:
        raise ValueError(f"{name} must be a time in seconds, not {format_value(known[name])}")
    return value
