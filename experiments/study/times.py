"""The times that measurements took, in a file of their own: all else is the same each time."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from workloads.ground.files import atomic_open

__all__ = ["read_times", "write_times"]

_NAME = "times.json"


def read_times(directory: Path) -> dict[str, float]:
    """Seconds by experiment; none where there is no such file."""
    try:
        found = json.loads((directory / _NAME).read_text(encoding="utf-8"))
        return {str(name): float(seconds) for name, seconds in found.items()}
    except (OSError, ValueError, AttributeError, TypeError):
        return {}


def write_times(directory: Path, times: Mapping[str, float]) -> None:
    """Write them, ordered by name."""
    with atomic_open(directory / _NAME, follow=False) as file:
        json.dump({name: round(times[name], 3) for name in sorted(times)}, file, indent=2)
        file.write("\n")
