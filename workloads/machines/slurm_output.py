"""Parsers of Slurm's output about nodes and partitions: JSON of ``scontrol`` and ``sinfo``, and tables of ``sinfo``.

Each record has the keys of a line in slurm.conf. Source: the manual pages of sinfo and scontrol. The JSON format was
observed with Slurm 22.05 (``sinfo --json``); formats of later releases follow the published OpenAPI of slurmrestd.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from holdfast.workloads.ground.documents import parse_json
from holdfast.workloads.ground.errors import TraceError, format_value

__all__ = ["Records", "is_sinfo", "json_records", "sinfo_records"]

#: Values of each node and of each partition, by name in lower case.
Records = tuple[list[dict[str, str]], list[dict[str, str]]]
#: Headings of sinfo's columns, with ``-o`` and with ``-O``, and their content.
_HEADINGS = {
    **dict.fromkeys(("nodelist", "node_list", "hostnames", "nodehost"), "nodename"),
    **dict.fromkeys(("cpus", "cpu"), "cpus"),
    **dict.fromkeys(("memory", "memory_mb"), "realmemory"),
    **dict.fromkeys(("avail_fe", "avail_features", "features", "active_features", "avail_feat"), "features"),
    **dict.fromkeys(("partition", "partitionname"), "partition"),
    **dict.fromkeys(("timelimit", "time"), "maxtime"),
    **{"gres": "gres", "weight": "weight", "state": "state", "statelong": "state", "statecompact": "state"},
    **dict.fromkeys(("oversubs", "oversubscribe", "share"), "oversubscribe"),
    **dict.fromkeys(("prio_tier", "priority", "priotier"), "prioritytier"),
}
#: Columns of a row that describe its partition.
_OF_PARTITIONS = ("maxtime", "oversubscribe", "prioritytier")
_ADVICE = "make it with: sinfo -e -o '%N|%P|%c|%m|%G|%f|%w|%l|%T'"
#: Numbers in JSON that mean "no limit".
_INFINITE = 2**32 - 1


def is_sinfo(text: str) -> bool:
    """Whether a text is a table of sinfo, with or without the time that ``-l`` prints first.

    >>> is_sinfo("PARTITION AVAIL  TIMELIMIT  NODES  STATE NODELIST"), is_sinfo("NodeName=n1")
    (True, False)
    """
    return _heading(text)[0] > 0


def _heading(text: str) -> tuple[int, list[str], str | None]:
    """Number of the line with the headings (0: none), the headings in lower case, and their separator."""
    for number, line in enumerate(text.splitlines()[:3], 1):
        mark = "|" if "|" in line else None
        words = [word.strip().lower() for word in line.split(mark)]
        if any(word.startswith(("jobid", "submit")) for word in words):
            continue  # an export of sacct has partitions and nodes, too
        if len(words) > 1 and "partition" in words and set(words) & {"nodelist", "hostnames", "node_list", "nodehost"}:
            return number, words, mark
    return 0, [], None


def sinfo_records(text: str, path: str | Path) -> Records:
    """The nodes and partitions of a table of sinfo.

    Parameters
    ----------
    text
        Output of ``sinfo -N -l``, or of ``sinfo -o`` or ``-O`` with headings; columns separated by blanks or by ``|``.
    path
        Path of the file in messages.

    Raises
    ------
    TraceError
        If the table has no column of nodes or of cores, or a row combines nodes that differ.
    """
    first, headings, mark = _heading(text)
    kinds = [_HEADINGS.get(heading, "") for heading in headings]
    if "cpus" not in kinds:
        raise TraceError(path, first, "has no column CPUS, so that the cores of a node are unknown", _ADVICE)
    nodes: dict[str, dict[str, str]] = {}
    partitions: dict[str, dict[str, str]] = {}
    for number, line in enumerate(text.splitlines()[first:], first + 1):
        if not line.strip():
            continue
        cells = _split_row(line, headings, mark, path, number)
        words = {kind: cell for kind, cell in zip(kinds, cells, strict=True) if kind}
        for kind in ("cpus", "realmemory"):
            if words.get(kind, "").endswith("+"):
                raise TraceError(path, number, f"sums up nodes that differ ({format_value(words[kind])})", _ADVICE)
        partition = words.pop("partition", "")
        names = words["nodename"]
        where = {kind: words.pop(kind) for kind in _OF_PARTITIONS if kind in words}
        node = nodes.setdefault(names, words)
        if (node["cpus"], node.get("gres")) != (words["cpus"], words.get("gres")):
            raise TraceError(path, number, f"describes {format_value(names)} differently from a row above")
        if partition.rstrip("*"):
            _add_to_partition(partitions, partition, names, where)
    for found in partitions.values():
        found["nodes"] = found["nodes"].replace(";", ",")
    return list(nodes.values()), list(partitions.values())


def _split_row(line: str, headings: Sequence[str], mark: str | None, path: str | Path, number: int) -> list[str]:
    """The cells of a row, as many as headings; a reason may be empty."""
    count = len(headings)
    cells = [cell.strip() for cell in line.split(mark, count - 1)]
    if not mark and len(cells) == count - 1 and headings[-1] == "reason":
        cells.append("")
    if len(cells) < count:
        raise TraceError(path, number, f"a row must have {count} columns like the headings, not {len(cells)}")
    return cells


def _add_to_partition(partitions: dict[str, dict[str, str]], title: str, names: str, where: Mapping[str, str]) -> None:
    """Add the nodes of a row to their partition; sinfo marks the name of the default partition with a star."""
    partition = title.rstrip("*")
    found = partitions.setdefault(partition, {"partitionname": partition, "nodes": names, **where})
    if found["nodes"] != names and names not in found["nodes"].split(";"):
        found["nodes"] += f";{names}"
    if title.endswith("*"):
        found["default"] = "YES"
    if found.get("oversubscribe", "").upper() == "EXCLUSIVE":
        found["oversubscribe"] = "EXCLUSIVE"


def json_records(text: str, path: str | Path) -> Records:
    """The nodes and partitions of a JSON document of ``scontrol show node``, ``show partition`` or ``sinfo``.

    Raises
    ------
    TraceError
        If the text is not JSON, or has neither nodes nor partitions.
    """
    document = parse_json(text, path)
    if not isinstance(document, Mapping):
        raise TraceError(path, None, f"must hold an object with nodes or partitions, not {format_value(document)}")
    nodes = [_node(item) for item in _objects(document, "nodes", path) if item.get("name")]
    partitions = [_partition(item) for item in _objects(document, "partitions", path) if item.get("name")]
    if "sinfo" in document:
        found: Records = ([], [])
        for item in _objects(document, "sinfo", path):
            _take_summary(item, path, *found)
        # sinfo lists a node once for each of its partitions.
        nodes += list({node["nodename"]: node for node in found[0]}.values())
        partitions += _join(found[1])
    if not nodes and not partitions:
        raise TraceError(
            path, None, "holds no list of nodes, partitions or sinfo", "make it with: scontrol show node --json"
        )
    return nodes, partitions


def _objects(document: Mapping[str, Any], key: str, path: str | Path) -> Iterable[Mapping[str, Any]]:
    items = document.get(key, [])
    if not isinstance(items, list) or not all(isinstance(item, Mapping) for item in items):
        raise TraceError(path, None, f"{key} must be a list of objects, not {format_value(items)}")
    return items


def _node(item: Mapping[str, Any]) -> dict[str, str]:
    words = {
        "nodename": _text(item.get("name")),
        "cpus": _text(item.get("cpus")),
        "threadspercore": _text(item.get("threads")),
        "realmemory": _text(item.get("real_memory")),
        "gres": _text(item.get("gres")),
        "features": _text(item.get("features") or item.get("active_features")),
        "weight": _text(item.get("weight")),
        "state": _text(item.get("state"), "+"),
        "partitions": _text(item.get("partitions")),
    }
    return {name: word for name, word in words.items() if word}


def _partition(item: Mapping[str, Any]) -> dict[str, str]:
    maximums, flags = _table(item.get("maximums")), _text(item.get("flags")).upper().split(",")
    shares = _text(_table(maximums.get("oversubscribe")).get("flags")) or _text(maximums.get("shares"))
    nodes = item.get("nodes")
    exclusive = "EXCLUSIVE" in shares.upper() or "EXCLUSIVE" in _text(item.get("max_share")).upper()
    words = {
        "partitionname": _text(item.get("name")),
        "nodes": _text(nodes.get("configured") if isinstance(nodes, Mapping) else nodes),
        "maxtime": _minutes(maximums.get("time", item.get("max_time_limit"))),
        "prioritytier": _text(_number(_table(item.get("priority")).get("tier", item.get("priority_tier")))),
        "default": "YES" if "DEFAULT" in flags else "",
        "oversubscribe": "EXCLUSIVE" if exclusive else "",
    }
    return {name: word for name, word in words.items() if word}


def _take_summary(
    item: Mapping[str, Any], path: str | Path, nodes: list[dict[str, str]], partitions: list[dict[str, str]]
) -> None:
    """Add an item of ``sinfo --json`` of Slurm 23.02 and later: equal nodes of one partition."""
    names = _text(_table(item.get("nodes")).get("nodes"))
    partition = _table(item.get("partition"))
    amounts = {}
    for kind, key in (("cpus", "cpus"), ("realmemory", "memory"), ("weight", "weight")):
        bounds = _table(item.get(key))
        least, most = _number(bounds.get("minimum")), _number(bounds.get("maximum"))
        if least != most and kind != "weight":
            raise TraceError(
                path, None, f"sums up nodes that differ in {key} ({format_value(names)})", "add -N to sinfo"
            )
        amounts[kind] = _text(most)
    words = {
        "nodename": names,
        **amounts,
        "gres": _text(_table(item.get("gres")).get("total")),
        "features": _text(_table(item.get("features")).get("total")),
    }
    if names:
        nodes.append({name: word for name, word in words.items() if word})
    if partition.get("name"):
        record = _partition(partition)
        partitions.append({**record, "nodes": record.get("nodes") or names})


def _join(partitions: Iterable[dict[str, str]]) -> list[dict[str, str]]:
    """Join the records of each partition into one with all of their nodes."""
    found: dict[str, dict[str, str]] = {}
    for record in partitions:
        own = found.setdefault(record["partitionname"], record)
        if record["nodes"] not in own["nodes"]:
            own["nodes"] += f",{record['nodes']}"
    return list(found.values())


def _table(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _number(value: Any) -> int | None:
    """A number in JSON, plain or as ``{"set": true, "infinite": false, "number": 60}``; None: not set."""
    if isinstance(value, Mapping):
        if value.get("infinite") or value.get("set") is False:
            return None
        value = value.get("number")
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


def _minutes(value: Any) -> str:
    number = _number(value)
    return "" if number is None or number >= _INFINITE - 1 else str(number)


def _text(value: Any, mark: str = ",") -> str:
    if isinstance(value, list):
        return mark.join(_text(part) for part in value)
    if isinstance(value, bool) or not isinstance(value, str | int):
        return ""
    text = str(value).strip()
    return "" if re.fullmatch(r"(?i)\(null\)|n/a|none", text) else text
