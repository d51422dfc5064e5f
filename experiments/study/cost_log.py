"""Log of measurement costs and dates, kept in a separate file because all other files are reproducible byte by byte."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from workloads.ground.files import atomic_open

__all__ = ["Cost", "add_cost", "read_costs", "took"]

_NAME = "times.json"


class Cost(NamedTuple):
    """What a measurement cost.

    Attributes
    ----------
    seconds
        Time that it took, with that of interrupted beginnings and of the measurements that it goes on from.
    workers
        Processes that it could use.
    date
        Day on which it ended, in UTC, as ``2026-11-22``; empty: it was interrupted.
    stores
        Under what it has stored what it measured; empty: it has not.
    """

    seconds: float
    workers: int
    date: str
    stores: str = ""


def read_costs(directory: Path) -> dict[str, Cost]:
    """Costs by experiment; none where there is no such file."""
    try:
        found = json.loads((directory / _NAME).read_text(encoding="utf-8"))
        return {
            str(name): Cost(float(own["seconds"]), int(own["workers"]), str(own["date"]), str(own.get("stores", "")))
            for name, own in found.items()
        }
    except (OSError, ValueError, AttributeError, TypeError, KeyError):
        return {}


def add_cost(directory: Path, name: str, seconds: float, workers: int, *, stores: str = "", ended: bool = True) -> Cost:
    """Add what an experiment cost now.

    It goes on from a beginning that was interrupted, and from a measurement that has stored under the same name; any
    other one is forgotten.
    """
    costs = read_costs(directory)
    before = costs.get(name)
    if before is not None and (not before.date or (stores and stores == before.stores)):
        seconds += before.seconds
    date = datetime.now(UTC).date().isoformat() if ended else ""
    costs[name] = Cost(round(seconds, 3), workers, date, stores)
    with atomic_open(directory / _NAME, follow=False) as file:
        json.dump({own: costs[own]._asdict() for own in sorted(costs)}, file, indent=2)
        file.write("\n")
    return costs[name]


def took(seconds: float) -> str:
    """A measured time for a reader.

    >>> took(0.04), took(12.34), took(754), took(7260)
    ('under 0.1 s', '12.3 s', '12 min 34 s', '2 h 1 min')
    """
    if seconds < 60:
        return f"{seconds:.1f} s" if seconds >= 0.1 else "under 0.1 s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"
