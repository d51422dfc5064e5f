"""Reader of the nodes of a Slurm machine: ``scontrol show nodes``, as text or JSON.

Source: scontrol(1), "NODE STATES" of sinfo(1); docs/forecast.md shows how to make the file.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from holdfast.workloads.ground.errors import TraceError, format_value
from holdfast.workloads.ground.files import read_text
from holdfast.workloads.ground.json_items import json_items

__all__ = ["read_node_count", "read_node_names", "read_node_processors"]

#: States of nodes that run no jobs; a node that is drained still runs those that it has.
_AWAY = frozenset({"DOWN", "FAIL", "ERROR", "FUTURE", "UNKNOWN"})
_DRAINED = frozenset({"DRAIN", "DRAINED", "MAINT"})
_BUSY = frozenset({"ALLOCATED", "MIXED", "COMPLETING", "ALLOC", "MIX", "DRAINING"})
_NODE, _STATE = re.compile(r"^NodeName=\S+", re.MULTILINE), re.compile(r"\bState=(\S+)")

_PROCESSORS = re.compile(r"\bCPUTot=(\d{1,9})\b")


def read_node_count(path: str | Path) -> int:
    """Count the nodes that run jobs, or could.

    Parameters
    ----------
    path
        Output of ``scontrol show nodes`` or ``scontrol show nodes --json``.

    Returns
    -------
    int
        Without nodes that are down, and drained ones on which nothing runs.

    Raises
    ------
    TraceError
        If it is neither, or there is no such node.
    """
    count = sum(map(_counts, _states(read_text(path), path)))
    if not count:
        raise TraceError(path, 1, "names no node that could run a job: make it with 'scontrol show nodes'")
    return count


def read_node_names(path: str | Path) -> list[str]:
    """Names of the nodes of ``scontrol show nodes``, as text or JSON; those that are down included."""
    text = read_text(path)
    if text.lstrip().startswith("{"):
        items = (item for _, item in json_items(text, "nodes", path) if isinstance(item, dict))
        return [str(item["name"]) for item in items if item.get("name")]
    return [line.removeprefix("NodeName=") for line in _NODE.findall(text)]


def read_node_processors(path: str | Path) -> float:
    """Mean number of processors of the nodes of ``scontrol show nodes``; 0: it does not say."""
    text = read_text(path)
    if text.lstrip().startswith("{"):
        items = (item for _, item in json_items(text, "nodes", path) if isinstance(item, dict))
        counts = [item["cpus"] for item in items if isinstance(item.get("cpus"), int)]
    else:
        counts = [int(count) for count in _PROCESSORS.findall(text)]
    return sum(counts) / len(counts) if counts else 0.0


def _states(text: str, path: str | Path) -> Iterator[set[str]]:
    """The states of each node, in capitals."""
    if text.lstrip().startswith("{"):
        for line, item in json_items(text, "nodes", path):
            if not isinstance(item, dict):
                raise TraceError(path, line, f"a node must be an object, not {format_value(item)}")
            words: list[object] = []
            for key in ("state", "state_flags"):
                value = item.get(key)
                words += value if isinstance(value, list) else [value]
            yield {str(word).upper() for word in words if word}
        return
    for part in _NODE.split(text)[1:]:
        found = _STATE.search(part)
        # Marks behind a state say that a node does not answer, or is switched off.
        yield set(re.sub(r"[*~#!%$@^-]", "", found[1]).upper().split("+")) if found else {"UNKNOWN"}


def _counts(states: set[str]) -> bool:
    return not states & _AWAY and (not states & _DRAINED or bool(states & _BUSY))
