"""Processes of other programs: wait for what they do, and look whether they and their children have ended."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

__all__ = ["alive", "children_of", "until"]


def until(condition: Callable[[], Any], seconds: float = 300) -> Any:
    """What the condition says as soon as it says something; the limit only ends a test that hangs."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        value = condition()
        if value:
            return value
        time.sleep(0.02)
    raise AssertionError("that did not happen in time")


def children_of(process: int) -> list[int]:
    """Processes that were started by that one, or by one of those."""
    parents = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rpartition(")")[2].split()
        except OSError:
            continue  # it has ended meanwhile
        parents[int(path.parent.name)] = int(fields[1])
    found, fresh = [], {process}
    while fresh:
        fresh = {child for child, parent in parents.items() if parent in fresh}
        found += fresh
    return found


def alive(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
