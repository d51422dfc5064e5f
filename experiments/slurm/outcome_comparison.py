"""Comparison of events on a Slurm with the simulator's event log."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from holdfast.experiments.tables import render
from holdfast.simulator.machine.event_log import Entry
from holdfast.workloads.ground.columns import Quantity
from holdfast.workloads.ground.units import to_seconds

__all__ = ["EVENT_COLUMNS", "concurrence", "concurrence_summary", "concurrence_table"]

#: Columns of the table of events; times from the first event of the job table.
EVENT_COLUMNS = (
    *("job_id", "event", "slurm_s", "simulator_s", "difference_s", "slurm_nodes", "simulator_nodes", "comparison"),
)
_SHOWN = (
    Quantity("job_id", "job"),
    Quantity("event"),
    Quantity("slurm_s", "Slurm", "s", digits=0),
    Quantity("simulator_s", "simulator", "s", digits=0),
    Quantity("difference_s", "difference", "s", digits=0),
    Quantity("slurm_nodes", "Slurm", group="nodes after"),
    Quantity("simulator_nodes", "simulator", group="nodes after"),
    Quantity("comparison"),
)


def concurrence(slurm: Iterable[Entry], simulator: Iterable[Entry], tolerance: float) -> list[dict[str, Any]]:
    """Match the events of both logs, except submits: the first event of a kind of a job with the first, and so on.

    Parameters
    ----------
    slurm, simulator
        Entries of both logs.
    tolerance
        Difference of two times that counts as none [s].

    Returns
    -------
    list of dict
        Rows with :data:`EVENT_COLUMNS`, ordered by the earlier of both times; None where one side has no such event.
        ``comparison`` is ``equal`` (the same nodes at the same time), ``late`` (the same nodes later on Slurm) or
        ``different``.
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
    rows = [_row(job_id, event, there, here, tolerance) for (job_id, event, _), (there, here) in pairs.items()]
    return sorted(rows, key=lambda row: min(row[name] for name in ("slurm_s", "simulator_s") if row[name] is not None))


def concurrence_summary(rows: Sequence[dict[str, Any]], tolerance: float) -> str:
    """Sentence with the number of events that are equal within a tolerance [s], late, and different."""
    counts = Counter(row["comparison"] for row in rows)
    alone = sum(row["difference_s"] is None for row in rows)
    return (
        f"{counts['equal']:,} of {len(rows):,} events are equal within {tolerance:g} s, {counts['late']:,} late, "
        f"{counts['different']:,} different, of which {alone:,} on one side alone"
    )


def concurrence_table(rows: Sequence[dict[str, Any]]) -> str:
    """The rows for a terminal."""
    return render(rows, _SHOWN)


def _row(job_id: int, event: str, slurm: Entry | None, simulator: Entry | None, tolerance: float) -> dict[str, Any]:
    there = None if slurm is None else to_seconds(slurm.time)
    here = None if simulator is None else to_seconds(simulator.time)
    difference = None if there is None or here is None else there - here
    nodes = None if slurm is None else slurm.after, None if simulator is None else simulator.after
    if difference is None or nodes[0] != nodes[1] or difference < -tolerance:
        comparison = "different"
    else:
        comparison = "equal" if difference <= tolerance else "late"
    return {
        "job_id": job_id,
        "event": event,
        "slurm_s": there,
        "simulator_s": here,
        "difference_s": difference,
        "slurm_nodes": nodes[0],
        "simulator_nodes": nodes[1],
        "comparison": comparison,
    }
