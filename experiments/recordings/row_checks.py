"""Soundness: each row of a result that is read must be one that a simulation can have written.

Digests keep out accidents, but whoever alters a table may seal it again. What is read is therefore held to the laws
that explanations, pages and exports rely on, and refused with the file and the line where it breaks one.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from simulator.machine.event_log import Entry, Sample
from simulator.results.records import ABSENT, STATUSES, TYPES, Records
from workloads.ground.errors import TraceError, shown
from workloads.ground.units import LARGEST_SIZE
from workloads.table.job import JobType

__all__ = ["sound_entries", "sound_records", "sound_samples"]

#: Events of jobs and of outages (:class:`simulator.machine.event_log.Entry`).
_WITHIN_RUN = frozenset(("shrink", "expand", "warn"))
_END_OF_RUN = frozenset(("preempt", "expire", "complete", "kill"))
_END = frozenset(("complete", "kill", "cancel"))
_OF_JOBS = frozenset(
    ("hold", "submit", "notice", "reserve", "time-out", "wait", "gather", "start", "requeue", "withdraw", *_WITHIN_RUN)
) | (_END_OF_RUN | _END)
_OF_OUTAGES = frozenset(("announce", "down", "up", "reserve", "close"))


def sound_records(columns: Mapping[str, Any], runtimes: Any, path: Path, lines: Sequence[int]) -> Records:
    """What became of the jobs, held to the order of its times, and to what is counted.

    Parameters
    ----------
    columns
        As of :class:`~simulator.results.records.Records`, with texts as types and states.
    runtimes
        Undisturbed runtimes [ticks], shape (rows,).
    path, lines
        The file, and the line of each row.

    Raises
    ------
    TraceError
        Naming file, line and job.
    """

    def refuse(row: int, what: str) -> TraceError:
        return TraceError(path, lines[row], f"job {columns['job_id'][row]} {what}")

    for row, status in enumerate(columns["status"]):
        if status not in STATUSES:
            raise refuse(row, f"must have one of the states {', '.join(STATUSES)}, not {shown(status)}")
    coded = {
        "type": np.array([TYPES.index(JobType(kind)) for kind in columns["type"]], np.int8),
        "status": np.array([STATUSES.index(status) for status in columns["status"]], np.int8),
    }
    records = Records(**{**columns, **coded, "runtime": runtimes})
    submit, start, end = (records.columns[name] for name in ("submit", "start", "end"))
    absent, cancelled = records.have("no_show"), records.have("cancelled")
    begun = np.where(start == ABSENT, end, start)
    counts = [_negative(records.columns[name]) for name in ("preemptions", "shrinks", "lost")]
    laws = {
        "must have preemptions, shrinks and lost node-seconds of at least 0": counts[0] | counts[1] | counts[2],
        "did not come, and has a start or an end": absent & ((start != ABSENT) | (end != ABSENT)),
        "must have a submit, a start and an end": ~absent
        & ((submit == ABSENT) | (end == ABSENT) | ((start == ABSENT) & ~cancelled)),
        "must be submitted, then start, then end": ~absent & ~((submit <= begun) & (begun <= end)),
    }
    for what, broken in laws.items():
        if broken.any():
            raise refuse(int(np.argmax(broken)), what)
    return records


def _negative(counts: Any) -> Any:
    """Which of some whole numbers are less than 0, or absent."""
    if counts.dtype != object:
        return counts < 0
    return np.array([count is None or count < 0 for count in counts])


def sound_entries(rows: Iterable[tuple[int, Mapping[str, Any]]], path: Path, jobs: Collection[int]) -> Iterator[Entry]:
    """The entries of an event log, each checked against those before it.

    Parameters
    ----------
    rows
        Line and values of each row.
    path
        The file.
    jobs
        Ids of the jobs.

    Raises
    ------
    TraceError
        Naming file and line.
    """
    last: int | None = None
    running: set[int] = set()
    ended: set[int] = set()
    for line, row in rows:
        entry = Entry(**row)
        fault = _missing(row) or _fault(entry, last, running, ended, entry.job_id in jobs)
        if fault:
            raise TraceError(path, line, fault)
        last = entry.time
        yield entry


def _fault(entry: Entry, last: int | None, running: set[int], ended: set[int], is_job: bool) -> str:
    """What is wrong with an entry; empty: nothing."""
    job, event = entry.job_id, entry.event
    if last is not None and entry.time < last:
        return "its time is before that of the line above"
    if not 0 <= min(entry.before, entry.after) <= max(entry.before, entry.after) <= LARGEST_SIZE:
        return f"numbers of nodes must be from 0 to {LARGEST_SIZE:,}"
    if event not in (_OF_JOBS if is_job else _OF_OUTAGES):
        return f"{shown(event)} is no event of {'a job' if is_job else 'an outage, and there is no such job'}"
    if not is_job:
        return "" if job < 0 else f"job {job} is not among the jobs that were simulated"
    if job in ended:
        return f"job {job} has ended in a line above"
    if event == "start":
        if job in running:
            return f"job {job} runs already"
        running.add(job)
    elif event in _WITHIN_RUN or event in _END_OF_RUN:
        if job not in running:
            return f"job {job} does not run"
        if event in _END_OF_RUN:
            running.discard(job)
    if event in _END:
        running.discard(job)
        ended.add(job)
    return ""


def sound_samples(
    rows: Iterable[tuple[int, Mapping[int, Any]]], path: Path, nodes: int, entries: Iterable[Entry]
) -> Iterator[Sample]:
    """The course of the machine: one sample for each time of the event log, in order.

    Parameters
    ----------
    rows
        Line and values of each row.
    path
        The file.
    nodes
        Size of the machine.
    entries
        The event log.

    Raises
    ------
    TraceError
        Naming file and line.
    """
    wanted = {entry.time for entry in entries}
    last: int | None = None
    line = 1
    for line, row in rows:  # the last line is named below
        sample = row[0], row[1], row[2], row[3], row[4]
        fault = _missing(row)
        if not fault and last is not None and sample[0] <= last:
            fault = "its time is not after that of the line above"
        if not fault and (min(sample[1:]) < 0 or sample[1] + sample[2] > nodes):
            fault = f"busy and held nodes must be from 0 to the {nodes:,} of the machine"
        if fault:
            raise TraceError(path, line, fault)
        last = sample[0]
        wanted.discard(last)
        yield sample
    if wanted:
        raise TraceError(path, line, "the event log has a time that is not in this table")


def _missing(row: Mapping[Any, Any]) -> str:
    return "a cell is empty" if None in row.values() else ""
