"""Tables and amounts of resources as Slurm's accounting prints them (``sacct -P``, ``sacctmgr -P``)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from holdfast.workloads.ground.errors import TraceError
from holdfast.workloads.ground.numbers import integer

__all__ = ["parse_amounts", "table_rows"]

_AMOUNT = re.compile(r"(\d{1,15}(?:\.\d{1,6})?)([KMGTP]?)")
#: MiB of a unit; an amount of memory without one is in MiB.
_MEBIBYTES = {"K": 1 / 1024, "": 1.0, "M": 1.0, "G": 1024.0, "T": 1024.0**2, "P": 1024.0**3}


def parse_amounts(path: str | Path, cell: str) -> dict[str, int]:
    """Amounts of ``cpu=16,mem=64G,node=4,gres/gpu=2`` by resource, memory in MiB; other resources are left out.

    Raises
    ------
    TraceError
        If one of these amounts is no number.
    """
    found = {}
    for part in cell.split(","):
        name, _, text = part.strip().partition("=")
        if name in ("cpu", "mem", "node", "gres/gpu"):
            match = _AMOUNT.fullmatch(text)
            if not match or (name != "mem" and not text.isdecimal()):
                raise TraceError(path, None, f"amounts must be numbers, as in cpu=16,mem=64G,node=4, not {part[:40]}")
            found[name] = round(float(match[1]) * _MEBIBYTES[match[2]]) if name == "mem" else integer(text)
    return found


def table_rows(path: str | Path, text: str, needed: Sequence[str]) -> list[dict[str, str]]:
    """Rows of a table with the separator ``|``; the last column may contain it.

    Raises
    ------
    TraceError
        If a column that is needed is missing.
    """
    lines = text.splitlines()
    head = [name.strip() for name in lines[0].split("|")] if lines else []
    missing = [name for name in needed if name not in head]
    if missing:
        raise TraceError(path, 1, f"has no column {missing[0]}")
    return [dict(zip(head, line.split("|", len(head) - 1), strict=False)) for line in lines[1:] if line.strip()]
