"""Comparison of events on a Slurm with the simulator's event log."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from experiments.tables import render
from simulator.machine.event_log import Entry
from workloads.ground.columns import Quantity
from workloads.ground.units import to_seconds

__all__ = ["EVENT_COLUMNS", "concurrence", "concurrence_summary", "concurrence_table"]

#: Columns of the table of events; times from the first event of the job table.
EVENT_COLUMNS = ("job_id", "event", "slurm_s", "simulator_s", "difference_s", "slurm_nodes", "simulator_nodes")
_SHOWN = (
    Quantity("job_id", "job"),
    Quantity("event"),
    Quantity("slurm_s", "Slurm", "s", digits=0),
    Quantity("simulator_s", "simulator", "s", digits=0),
    Quantity("difference_s", "difference", "s", digits=0),
    Quantity("slurm_nodes", "Slurm", group="nodes after"),
    Quantity("simulator_nodes", "simulator", group="nodes after"),
)


def concurrence(slurm: Iterable[Entry], simulator: Iterable[Entry]) -> list[dict[str, Any]]:
    """Match the events of both logs, except submits: the first event of a kind of a job with the first, and so on.

    Returns
    -------
    list of dict
        Rows with :data:`EVENT_COLUMNS`, ordered by the earlier of both times; None where one side has no such event.
    """
    pairs: dict[tuple[int, str, int], list[Entry | None]] = {}
    for side, entries in enumerate((slurm, simulator)):
        times: Counter[tuple[int, str]] = Counter()
        for entry in entries:
            if entry.event == "submit":
                continue
            # A kill counts as an end, because on Slurm the program and the limit may end in the other order.
            event = "complete" if entry.event == "kill" else entry.event
            times[entry.job_id, event] += 1
            pairs.setdefault((entry.job_id, event, times[entry.job_id, event]), [None, None])[side] = entry
    rows = [_row(job_id, event, *pair) for (job_id, event, _), pair in pairs.items()]
    return sorted(rows, key=lambda row: min(row[name] for name in ("slurm_s", "simulator_s") if row[name] is not None))


def concurrence_summary(rows: Sequence[dict[str, Any]], tolerance: float) -> str:
    """Sentence with the number of events that agree in nodes and, within a tolerance, in time."""
    both = [row for row in rows if row["difference_s"] is not None]
    near = [row for row in both if abs(row["difference_s"]) <= tolerance]
    same = [row for row in near if row["slurm_nodes"] == row["simulator_nodes"]]
    return (
        f"{len(same):,} of {len(rows):,} events are the same within {tolerance:g} s; {len(both) - len(same):,} differ "
        f"in time or nodes, {len(rows) - len(both):,} are on one side alone"
    )


def concurrence_table(rows: Sequence[dict[str, Any]]) -> str:
    """The rows for a terminal."""
    return render(rows, _SHOWN)


def _row(job_id: int, event: str, slurm: Entry | None, simulator: Entry | None) -> dict[str, Any]:
    there = None if slurm is None else to_seconds(slurm.time)
    here = None if simulator is None else to_seconds(simulator.time)
    return {
        "job_id": job_id,
        "event": event,
        "slurm_s": there,
        "simulator_s": here,
        "difference_s": None if there is None or here is None else there - here,
        "slurm_nodes": None if slurm is None else slurm.after,
        "simulator_nodes": None if simulator is None else simulator.after,
    }
