"""Checks that each row of a table read back is one that a simulation can have written.

Digests detect accidents, but an edited table can get a new digest. Every row is therefore checked against the
invariants that explanations, pages and exports rely on; an error names the file, the line and the invariant.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from holdfast.simulator.machine.decisions import Decision
from holdfast.simulator.machine.event_log import Entry
from holdfast.simulator.results.records import ABSENT, LAST_TICK, STATUSES, TYPES, Records, Samples
from holdfast.workloads.ground.errors import TraceError, format_value
from holdfast.workloads.ground.units import LARGEST_SIZE, SECOND, to_seconds

__all__ = ["sound_decisions", "sound_entries", "sound_records", "sound_samples", "sound_times"]

#: Events of jobs and of outages (:class:`holdfast.simulator.machine.event_log.Entry`).
_WITHIN_RUN = frozenset(("shrink", "expand", "warn"))
_END_OF_RUN = frozenset(("preempt", "expire", "complete", "kill"))
_END = frozenset(("complete", "kill", "cancel"))
_OF_JOBS = frozenset(
    ("hold", "submit", "notice", "reserve", "time-out", "wait", "gather", "start", "requeue", "withdraw", *_WITHIN_RUN)
) | (_END_OF_RUN | _END)
#: Effect of an event on the nodes of a run.
_SIZES: Mapping[str, Callable[[int, int], bool]] = {
    "start": lambda before, after: after > 0,
    "shrink": lambda before, after: 0 < after < before,
    "expand": lambda before, after: before < after,
    "warn": lambda before, after: before == after,
    **dict.fromkeys((*sorted(_END_OF_RUN), "cancel"), lambda before, after: after == 0),
}
_OF_OUTAGES = frozenset(("announce", "down", "up", "reserve", "close"))


def sound_times(times: Any, origin: int, name: str, path: Path, lines: Sequence[int]) -> Any:
    """Times of a table, held to those that a simulation can reach, so that 64 bits hold the difference of any two.

    Parameters
    ----------
    times
        On the clock of the job table [ticks], absent where there is none, shape (rows,).
    origin
        Where the simulated clock begins [ticks of that clock].
    name
        Of the column.
    path, lines
        The file, and the line of each row.

    Returns
    -------
    numpy.ndarray
        The same times.

    Raises
    ------
    TraceError
        Naming file, line and column.
    """
    latest = origin + LAST_TICK - abs(origin)
    origin -= SECOND  # late times on the simulated clock are rounded in files
    if times.dtype == object:
        broken = np.array([time is not None and not origin <= time <= latest for time in times.tolist()], bool)
    else:
        broken = (times != ABSENT) & ~((origin <= times) & (times <= latest))
    if broken.any():
        legal = f"from {to_seconds(origin + SECOND):,.15g} to {to_seconds(latest):,.15g} s"
        raise TraceError(path, lines[int(np.argmax(broken))], f"{name} must be {legal}")
    return times


def sound_records(columns: Mapping[str, Any], runtimes: Any, path: Path, lines: Sequence[int]) -> Records:
    """Check the records of jobs: the order of times, and the counts.

    Parameters
    ----------
    columns
        As for :class:`~holdfast.simulator.results.records.Records`, with types and states as text.
    runtimes
        Undisturbed runtimes [ticks], shape (rows,).
    path, lines
        The file, and the line of each row.

    Raises
    ------
    TraceError
        With file, line and job.
    """

    def refuse(row: int, what: str) -> TraceError:
        return TraceError(path, lines[row], f"job {columns['job_id'][row]} {what}")

    strange = {*columns["status"]} - {*STATUSES}
    if strange:
        row, status = next((row, status) for row, status in enumerate(columns["status"]) if status in strange)
        raise refuse(row, f"must have one of the states {', '.join(STATUSES)}, not {format_value(status)}")
    types, statuses = ({str(name): code for code, name in enumerate(names)} for names in (TYPES, STATUSES))
    coded = {
        "type": np.array([types[kind] for kind in columns["type"]], np.int8),
        "status": np.array([statuses[status] for status in columns["status"]], np.int8),
    }
    records = Records(**{**columns, **coded, "runtime": runtimes})
    submit, start, end = (records.columns[name] for name in ("submit", "start", "end"))
    no_show, cancelled = records.have("no_show"), records.have("cancelled")
    no_submit, no_start, no_end = submit == ABSENT, start == ABSENT, end == ABSENT
    negative_count = np.any([_negative(records.columns[name]) for name in ("preemptions", "shrinks", "lost")], axis=0)
    incomplete = no_submit | no_end | (no_start & ~cancelled)
    begun = np.where(no_start, end, start)
    in_order = (submit <= begun) & (begun <= end)
    broken_rows = {
        "must have preemptions, shrinks and lost node-seconds of at least 0": negative_count,
        "did not arrive, but has a start or an end": no_show & ~(no_start & no_end),
        "must have a submit, a start and an end": ~no_show & incomplete,
        "must be submitted, then start, then end": ~no_show & ~in_order,
    }
    for what, broken in broken_rows.items():
        if broken.any():
            raise refuse(int(np.argmax(broken)), what)
    return records


def _negative(counts: Any) -> Any:
    """Mask of the numbers that are negative or absent."""
    if counts.dtype != object:
        return counts < 0
    return np.array([count is None or count < 0 for count in counts])


def sound_entries(
    rows: Iterable[tuple[int, Mapping[str, Any]]], path: Path, jobs: Collection[int], nodes: int
) -> Iterator[Entry]:
    """Check each entry of an event log against the preceding ones.

    Parameters
    ----------
    rows
        Line number and values of each row.
    path
        The file.
    jobs
        Ids of the jobs.
    nodes
        Size of the machine.

    Raises
    ------
    TraceError
        With file and line.
    """
    last: int | None = None
    holdings = _Holdings(nodes)
    ended: set[int] = set()
    for line, row in rows:
        entry = Entry(**row)
        fault = _empty_cell(row) or _fault(entry, last, holdings, ended, entry.job_id in jobs)
        if fault:
            raise TraceError(path, line, fault)
        last = entry.time
        yield entry


class _Holdings:
    """Nodes of runs and outages after the entries so far.

    Attributes
    ----------
    running
        Nodes of each running job.
    """

    def __init__(self, nodes: int) -> None:
        self.running: dict[int, int] = {}
        self._down: dict[int, int] = {}
        self._machine, self._taken = nodes, 0

    def change(self, entry: Entry) -> str:
        """Apply an entry of a run or an outage; returns the problem, empty if there is none."""
        job, event = entry.job_id, entry.event
        held = self.running if job in self.running or event == "start" else self._down
        had = held.pop(job, 0)
        if event in _SIZES and not (entry.before == had and _SIZES[event](had, entry.after)):
            change = f"from {entry.before:,} to {entry.after:,} nodes"
            return f"{format_value(event)} cannot change job {job} {change}: it has {had:,}"
        if entry.after:
            held[job] = entry.after
        self._taken += entry.after - had
        if self._taken > self._machine:
            return f"runs and outages have {self._taken:,} nodes, of {self._machine:,} in the machine"
        return ""


def _fault(entry: Entry, last: int | None, holdings: _Holdings, ended: set[int], is_job: bool) -> str:
    """Problem of an entry; empty if there is none."""
    if last is not None and entry.time < last:
        return "its time is before that of the line above"
    if not (0 <= entry.before <= LARGEST_SIZE and 0 <= entry.after <= LARGEST_SIZE):
        return f"numbers of nodes must be from 0 to {LARGEST_SIZE:,}"
    return _job_fault(entry, holdings, ended) if is_job else _outage_fault(entry, holdings)


def _outage_fault(entry: Entry, holdings: _Holdings) -> str:
    if entry.event not in _OF_OUTAGES:
        return f"{format_value(entry.event)} is not an event of an outage, and there is no such job"
    if entry.job_id >= 0:
        return f"job {entry.job_id} is not among the jobs that were simulated"
    return holdings.change(entry) if entry.event in ("down", "up") else ""


def _job_fault(entry: Entry, holdings: _Holdings, ended: set[int]) -> str:
    job, event = entry.job_id, entry.event
    if event not in _OF_JOBS:
        return f"{format_value(event)} is not an event of a job"
    if job in ended:
        return f"job {job} has ended in a line above"
    runs = job in holdings.running
    if event == "start" and runs:
        return f"job {job} is already running"
    if (event in _WITHIN_RUN or event in _END_OF_RUN) and not runs:
        return f"job {job} is not running"
    if event in _END:
        ended.add(job)
    return holdings.change(entry) if event in _SIZES else ""


def sound_samples(
    columns: Mapping[int, Any], path: Path, lines: Sequence[int], nodes: int, entries: Iterable[Entry]
) -> Samples:
    """The course of the machine: one sample for each time of the event log, in order.

    Parameters
    ----------
    columns
        By place in a :class:`~holdfast.simulator.results.records.Samples`, shape (rows,).
    path, lines
        The file, and the line of each row.
    nodes
        Size of the machine.
    entries
        The event log.

    Raises
    ------
    TraceError
        With file and line.
    """
    given = [columns[place] for place in range(5)]
    empty = np.column_stack([column == (None if column.dtype == object else ABSENT) for column in given])
    table = np.where(empty, 0, np.column_stack(given))
    times, busy, held = table[:, 0], table[:, 1], table[:, 2]
    faults = {
        "a cell is empty": empty.sum(axis=1) > 0,
        "its time is not after that of the line above": np.diff(times, prepend=times[:1] - 1) <= 0,
        f"busy and held nodes must be from 0 to the {nodes:,} of the machine": (table[:, 1:].min(axis=1) < 0)
        | (busy > nodes)
        | (held > nodes - busy),
    }
    broken = np.column_stack([*faults.values()]).any(axis=1)
    if broken.any():
        row = int(np.argmax(broken))
        raise TraceError(path, lines[row], next(fault for fault, rows in faults.items() if rows[row]))
    if {entry.time for entry in entries} - {*times.tolist()}:
        last = lines[-1] if len(lines) else 1
        raise TraceError(path, last, "the event log has a time that is not in this table")
    return Samples(table.astype(np.int64))


#: Columns that each kind of decision requires in addition to its time.
_NEEDED = {
    "promise": ("job_id",),
    "reason": (),
    **dict.fromkeys(("lacking", "room"), ("job_id", "nodes")),
    "drop": ("job_id", "other"),
    **dict.fromkeys(("draw", "lend", "return"), ("job_id", "other", "nodes")),
    "expect": ("job_id", "other", "nodes", "at"),
    "plan": ("job_id", "other", "nodes", "at", "loss"),
    **dict.fromkeys(("victim", "spared"), ("job_id", "other", "nodes", "loss")),
}


def sound_decisions(rows: Iterable[tuple[int, Mapping[str, Any]]], path: Path) -> Iterator[Decision]:
    """What was decided, in order of time, with what each kind of decision needs.

    Parameters
    ----------
    rows
        Line number and values of each row.
    path
        The file.

    Raises
    ------
    TraceError
        With file and line.
    """
    last: int | None = None
    for line, row in rows:
        decision = Decision(**row)
        if decision.decision not in _NEEDED:
            raise TraceError(path, line, f"{format_value(decision.decision)} is not a decision")
        if any(row[name] is None for name in ("time", *_NEEDED[decision.decision])):
            raise TraceError(path, line, "a cell is empty")
        if last is not None and decision.time < last:
            raise TraceError(path, line, "its time is before that of the line above")
        last = decision.time
        yield decision


def _empty_cell(row: Mapping[Any, Any]) -> str:
    return "a cell is empty" if None in row.values() else ""
