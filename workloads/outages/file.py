"""Reading and writing of outage files: CSV with one row per outage."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Sequence
from pathlib import Path

from holdfast.workloads.ground.dates import is_date
from holdfast.workloads.ground.errors import InputError, TraceError, UnknownNameError, format_value
from holdfast.workloads.ground.files import atomic_open, csv_rows, read_text
from holdfast.workloads.ground.job_ids import parse_job_id
from holdfast.workloads.ground.text_cells import number, whole
from holdfast.workloads.ground.units import format_seconds, to_ticks
from holdfast.workloads.logs.clock import LogClock
from holdfast.workloads.machines.machine import Machine
from holdfast.workloads.outages.failures import place_failures
from holdfast.workloads.outages.outage import Outage, OutageKind, first_outage_fault
from holdfast.workloads.outages.places import nodes_of_place, outage_places

__all__ = ["OUTAGE_COLUMNS", "read_outages", "write_outages"]

#: Columns of the file, in the order in which it is written; the last one only for nodes with names.
OUTAGE_COLUMNS = (
    *("kind", "start", "end", "nodes", "announced", "running", "place", "name", "jobs", "users", "projects", "on"),
)
#: Size of an outage of the whole machine.
_ALL = "all"
_NEEDED = ("kind", "start", "end", "nodes")


def read_outages(
    path: str | Path,
    *,
    nodes: int | None = None,
    seed: int = 0,
    clock: LogClock | None = None,
    machine: Machine | None = None,
) -> list[Outage]:
    """Read outages.

    Parameters
    ----------
    path
        CSV file (plain or gzip) with a header row. The columns kind, start, end and nodes are required; others may be
        missing or empty. Semicolons separate several jobs, users or projects in a cell. Times are seconds on the clock
        of the log, or dates; ``all`` in the column nodes means the whole machine, or all nodes of the column on.
    nodes
        Number of nodes of the machine; None: not checked.
    seed
        Seed for the places of failures without a place.
    clock
        Clock of the log, for dates; None: dates are refused.
    machine
        The machine, for the column on; None: one pool, and the column must be empty.

    Returns
    -------
    list of Outage
        Outages in file order.

    Raises
    ------
    TraceError
        If the file cannot be read or an outage is invalid; names file and line.
    """
    outages: list[Outage] = []
    lines: list[int] = []
    names: list[str] | None = None
    for line, row in csv_rows(read_text(path), path):
        if names is None:
            names = _header(path, line, row)
            continue
        if len(row) != len(names):
            raise TraceError(path, line, f"a row must have {len(names)} cells like the header, not {len(row)}")
        try:
            cells = {name: cell.strip() for name, cell in zip(names, row, strict=True)}
            outages.append(_outage(cells, nodes, clock or LogClock(), machine))
        except ValueError as error:
            raise TraceError(path, line, str(error)) from None
        lines.append(line)
    outages = place_failures(outages, seed)
    fault = first_outage_fault(outages, nodes if machine is None else None)
    if fault is not None:
        raise TraceError(path, lines[fault[0]], fault[1])
    if machine is not None:
        try:
            outage_places(outages, machine)
        except InputError as error:
            raise TraceError(path, None, str(error)) from None
    return outages


def write_outages(outages: Iterable[Outage], path: str | Path) -> None:
    """Write outages in the format of :func:`read_outages`; times are exact to a tick, places to the last digit.

    Raises
    ------
    OutputError
        If the file cannot be written.
    """
    outages = list(outages)
    named = any(outage.on for outage in outages)
    with atomic_open(path) as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(OUTAGE_COLUMNS if named else OUTAGE_COLUMNS[:-1])
        for outage in outages:
            writer.writerow(
                (
                    *(outage.kind.value, _time(outage.start), _time(outage.end), outage.nodes),
                    _time(outage.announced) if outage.announced is not None else "",
                    "" if outage.kind is OutageKind.FAILURE else outage.running,
                    *("" if outage.place is None else repr(outage.place), outage.name),
                    *(";".join(map(str, owners)) for owners in (outage.jobs, outage.users, outage.projects)),
                    *([outage.on] if named else []),
                )
            )


def _header(path: str | Path, line: int, row: Sequence[str]) -> list[str]:
    names = [name.strip().lower() for name in row]
    for name in _NEEDED:
        if name not in names:
            raise TraceError(
                path, line, f"a file of outages must have a column {name}, not only {', '.join(names)[:200]}"
            )
    for name in names:
        # The values of a misspelt column would be ignored without notice.
        if name not in OUTAGE_COLUMNS:
            raise TraceError(path, line, str(UnknownNameError("column", name, OUTAGE_COLUMNS)))
        if names.count(name) > 1:
            raise TraceError(path, line, f"a file of outages must have one column {name}, not {names.count(name)}")
    return names


def _outage(cells: dict[str, str], nodes: int | None, clock: LogClock, machine: Machine | None) -> Outage:
    kind = {known.value: known for known in OutageKind}.get(cells["kind"])
    if kind is None:
        raise UnknownNameError("kind", cells["kind"], OutageKind)
    announced, place, on = cells.get("announced"), cells.get("place"), cells.get("on", "")
    if machine is not None:
        nodes = len(nodes_of_place(on, machine))
    elif on:
        raise ValueError(f"on must be empty without a machine (--machine), not {format_value(on)}")
    return Outage(
        kind,
        _instant(cells["start"], "start", clock),
        _instant(cells["end"], "end", clock),
        _size(cells["nodes"], nodes),
        _instant(announced, "announced", clock) if announced else None,
        cells.get("running") or "preempt",
        number(place, "place") if place else None,
        cells.get("name", ""),
        tuple(parse_job_id(job_id, "jobs") for job_id in _several(cells.get("jobs", ""))),
        _several(cells.get("users", "")),
        _several(cells.get("projects", "")),
        on,
    )


def _instant(cell: str, name: str, clock: LogClock) -> float:
    return clock.date(cell, name) if is_date(cell) else number(cell, name)


def _size(cell: str, nodes: int | None) -> int:
    if cell.lower() != _ALL:
        return whole(cell, "nodes")
    if nodes is None:
        raise ValueError("nodes must be a whole number where the size of the machine is not known, not 'all'")
    return nodes


def _several(cell: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in cell.split(";") if part.strip())


def _time(seconds: float) -> str:
    return format_seconds(to_ticks(seconds))
