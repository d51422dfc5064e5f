"""Log of measurement costs and dates, kept in a separate file because all other files are reproducible byte by byte."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from holdfast.experiments.sweeps.fingerprint import commit
from holdfast.workloads.ground.files import atomic_open

__all__ = ["Cost", "add_cost", "format_cost", "process_seconds", "read_costs", "took"]

_NAME = "times.json"
_UNITS = {"h": 3600.0, "min": 60.0, "s": 1.0}


class Cost(NamedTuple):
    """Cost of a measurement.

    Attributes
    ----------
    seconds
        Elapsed time, including that of interrupted attempts which the measurement continues.
    workers
        Number of available processes.
    date
        UTC date of the end, such as ``2026-11-22``; empty: the measurement was interrupted.
    stores
        Key under which the results are stored; empty: not stored.
    commit
        Commit of the sources (:func:`holdfast.experiments.sweeps.fingerprint.commit`); empty: not recorded.
    """

    seconds: float
    workers: int
    date: str
    stores: str = ""
    commit: str = ""


def read_costs(directory: Path) -> dict[str, Cost]:
    """Costs by experiment; empty if there is no file."""
    try:
        found = json.loads((directory / _NAME).read_text(encoding="utf-8"))
        return {
            str(name): Cost(
                float(own["seconds"]),
                int(own["workers"]),
                str(own["date"]),
                str(own.get("stores", "")),
                str(own.get("commit", "")),
            )
            for name, own in found.items()
        }
    except (OSError, ValueError, AttributeError, TypeError, KeyError):
        return {}


def add_cost(directory: Path, name: str, seconds: float, workers: int, *, stores: str = "", ended: bool = True) -> Cost:
    """Add the cost of a measurement.

    If the former cost is that of an interrupted attempt, or of a measurement stored under the same key, the sum is
    recorded; otherwise the former cost is replaced.
    """
    costs = read_costs(directory)
    before = costs.get(name)
    if before is not None and (not before.date or (stores and stores == before.stores)):
        seconds += before.seconds
    date = datetime.now(UTC).date().isoformat() if ended else ""
    costs[name] = Cost(round(seconds, 3), workers, date, stores, commit())
    with atomic_open(directory / _NAME, follow=False) as file:
        json.dump({own: costs[own]._asdict() for own in sorted(costs)}, file, indent=2)
        file.write("\n")
    return costs[name]


def took(seconds: float) -> str:
    """Format a measured time.

    >>> took(0.04), took(12.34), took(754), took(7260)
    ('under 0.1 s', '12.3 s', '12 min 34 s', '2 h 1 min')
    """
    if seconds < 60:
        return f"{seconds:.1f} s" if seconds >= 0.1 else "under 0.1 s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"


def format_cost(cost: Cost) -> str:
    """Format date, time and processes.

    >>> format_cost(Cost(754.2, 2, "2026-11-23"))
    '2026-11-23, 12 min 34 s with 2 processes'
    """
    return f"{cost.date}, {took(cost.seconds)} with {cost.workers} process{'es' if cost.workers > 1 else ''}"


def process_seconds(cost: str) -> float | None:
    """Time of all processes [s] in the words of :func:`format_cost`; None: there is no time in them.

    >>> process_seconds("2026-11-23, 12 min 34 s with 2 processes")
    1508.0
    """
    parts = re.fullmatch(r"[\d-]+, (.+) with (\d+) process(?:es)?", cost)
    if parts is None:
        return None
    pairs = re.findall(r"([\d.]+) (h|min|s)", parts[1])
    return sum(float(number) * _UNITS[unit] for number, unit in pairs) * int(parts[2])
