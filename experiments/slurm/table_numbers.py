"""Numbers in the tables of replays."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from holdfast.workloads.ground.errors import TraceError
from holdfast.workloads.ground.units import LARGEST_TIME

__all__ = ["read_number"]


def read_number(path: Path, line: int, row: Mapping[str, Any], name: str, default: float | None = None) -> float:
    """A number of a row; the default if it is missing or empty.

    Raises
    ------
    TraceError
        If it is no number, or too large for a time.
    """
    value = row.get(name)
    if default is not None and (value is None or value == ""):
        return default
    if not isinstance(value, int | float) or not abs(value) <= LARGEST_TIME:
        given = "empty" if value is None else repr(value)
        raise TraceError(path, line, f"{name} must be a number of at most {LARGEST_TIME:g}, not {given}")
    return float(value)
