"""Archives: what ``holdfast run`` has left in a directory, read back.

``run.json`` says what was simulated and of which mechanisms there are tables; one of them, with its event log, is a
:class:`~simulator.results.result.Result`.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from experiments.output.filenames import table_name
from experiments.output.seals import Sealed
from experiments.recordings.runfile import (
    EPOCH,
    JOB_TABLE,
    chosen_mechanism,
    epoch_of,
    nodes_of,
    open_run,
    options_of,
    read_run,
    simulated_jobs,
)
from policies.mechanism import BASELINE
from simulator.clock.instants import Sample
from simulator.machine.decisions import Decision
from simulator.machine.eventlog import Entry
from simulator.machine.stochastic import ReservationRecord
from simulator.results.recording import changes_of, origin_of
from simulator.results.records import JobRecord, StochasticRecord
from simulator.results.result import Result
from workloads.ground.errors import InputError, TraceError
from workloads.ground.fields import Columns, number, whole
from workloads.ground.files import read_text
from workloads.ground.units import to_ticks
from workloads.table.job import Job, JobType
from workloads.table.joblife import beginning_of

__all__ = [
    "EPOCH",
    "JOB_TABLE",
    "chosen_mechanism",
    "read_recording",
    "read_run",
    "simulated_jobs",
    "table_rows",
]

_RECORD = {
    **{"job_id": whole, "nodes": whole, "submit": number, "start": number, "end": number},
    **{"preemptions": whole, "shrinks": whole, "lost_node_seconds": number},
}
_ENTRY = {"time": number, "job_id": whole, "before": whole, "after": whole}
_DECISION = {
    **{"time": number, "job_id": whole, "other": whole, "count": whole, "at": number, "loss_node_seconds": number},
}
_SAMPLE = {"time": number, "busy": whole, "held": whole, "waiting_jobs": whole, "waiting_nodes": whole}
_TICKS = ("submit", "start", "end", "length", "restart", "work", "checkpoint", "milestone", "saved")
_RESERVATION = {
    **{"job_id": whole, "number": whole, "nodes": whole, "memory_gb": number},
    **dict.fromkeys(_TICKS, number),
}
#: The events with which a job is over.
_LAST = ("complete", "kill", "cancel")


def read_recording(
    directory: str | Path,
    mechanism: str | None = None,
    *,
    events: bool = True,
    decisions: bool = False,
    trust: bool = False,
) -> Result:
    """Read one mechanism's results from a directory of ``holdfast run``.

    Parameters
    ----------
    directory
        With ``run.json`` and the tables.
    mechanism
        Which one, where there are several.
    events
        Whether the event log is wanted; without it, ``entries``, ``samples`` and ``down`` are empty.
    decisions
        Whether what was recorded beside the event log is wanted, if there is such a file.
    trust
        Whether plug-ins that ``run.json`` names by their import path may be imported where their code is needed: by
        the queue order of explanations, and the reader of a trace whose jobs were not kept.

    Returns
    -------
    Result
        As in memory, but for what only the simulation itself measures
        (:class:`~simulator.results.recording.Recording` says what that is) and the plans of stochastic jobs.

    Raises
    ------
    InputError
        If the directory is no such, a file of it was changed, there is no event log, or its files do not belong
        together.
    """
    place = Path(directory)
    result = open_run(place)
    told = result.told
    name = chosen_mechanism(place, told, mechanism)
    jobs = simulated_jobs(result, trust=trust)
    table = result.need(table_name("jobs", name), "the jobs of that mechanism: run it again")
    records = list(_records(table, {job.job_id: job for job in jobs}, name))
    if [job.job_id for job in jobs] != [record.job_id for record in records]:
        raise InputError("the job table must hold the jobs that were simulated, in the same order")
    origin, begin = origin_of(jobs), beginning_of(jobs)
    entries: list[Entry] = []
    samples: list[Sample] = []
    if events:
        entries, samples = _history(result, name, origin, records)
    return Result(
        mechanism=name,
        nodes=nodes_of(place, told),
        options=options_of(place, told),
        table=list(jobs),
        records=records,
        entries=entries,
        samples=samples,
        stochastic=_courses(result.find(table_name("reservations", name)), jobs),
        origin=origin,
        begin=None if begin is None else to_ticks(begin),
        down=changes_of(_down(entries)),
        decisions=_decisions(result.find(table_name("decisions", name)), origin) if decisions else None,
        epoch=epoch_of(place, told),
        trusted=trust,
    )


def table_rows(
    path: Path, kinds: Mapping[str, Callable[[str, str], float]], *texts: str
) -> Iterator[tuple[int, dict[str, Any]]]:
    """Line and cells of each row of a table.

    Parameters
    ----------
    path
        A CSV file.
    kinds
        Columns of numbers, and what makes a number of a cell and the column's name; None where a cell is empty, which
        that of an id or a size must not be.
    *texts
        Columns of texts.

    Raises
    ------
    TraceError
        If there is no such file or column, or a row is broken.
    """
    reader = csv.reader(io.StringIO(read_text(path), newline=""), strict=True)
    line = 1
    try:
        columns = Columns(next(reader, []))
        places = {name: columns.need(name) for name in (*kinds, *texts)}
        for cells in reader:
            line = reader.line_num
            if len(cells) != len(columns.names):
                raise ValueError(f"a row must have {len(columns.names)} cells like the header, not {len(cells)}")
            row: dict[str, Any] = {name: cells[places[name]] for name in texts}
            for name, convert in kinds.items():
                cell = cells[places[name]]
                # Who has no id or no size is no job; what is not known of a no-show is empty.
                row[name] = convert(cell, name) if cell or name in ("job_id", "nodes") else None
            yield line, row
    except (csv.Error, ValueError) as error:
        raise TraceError(path, line, str(error)) from None


def _records(path: Path, jobs: Mapping[int, Job], mechanism: str) -> Iterator[JobRecord]:
    for line, row in table_rows(path, _RECORD, "type", "status"):
        job = jobs.get(row["job_id"])
        if job is None or (job.type, job.nodes) != (row["type"], row["nodes"]):
            raise TraceError(path, line, f"job {row['job_id']} is not among the jobs that were simulated")
        yield JobRecord(
            job_id=row["job_id"],
            type=job.type,
            submit=_ticks(row["submit"]),
            start=_ticks(row["start"]),
            end=_ticks(row["end"]),
            nodes=row["nodes"],
            runtime=to_ticks(_runtime(job, mechanism)),
            preemptions=row["preemptions"],
            shrinks=row["shrinks"],
            status=row["status"],
            lost=to_ticks(row["lost_node_seconds"]),
        )


def _runtime(job: Job, mechanism: str) -> float:
    """Undisturbed runtime [s], as in :mod:`simulator.machine.jobstate` and :mod:`simulator.machine.kinds`."""
    other = job.trace_runtime if mechanism == BASELINE else None
    if job.type is JobType.STOCHASTIC:
        other = job.true_runtime
    return job.runtime if other is None else other


def _ticks(seconds: float | None) -> int | None:
    return None if seconds is None else to_ticks(seconds)


def _history(
    result: Sealed, mechanism: str, origin: int, records: Sequence[JobRecord]
) -> tuple[list[Entry], list[Sample]]:
    """The event log and the course of the machine."""
    events, course = (
        result.need(table_name(table, mechanism), "which 'holdfast run --events' writes: run it again")
        for table in ("events", "timeline")
    )
    entries = [
        Entry(to_ticks(row["time"]) - origin, row["event"], row["job_id"], row["before"], row["after"], row["cause"])
        for _, row in table_rows(events, _ENTRY, "event", "cause")
    ]
    ends = {entry.job_id: entry.time + origin for entry in entries if entry.event in _LAST}
    if ends != {record.job_id: record.end for record in records if record.end is not None}:
        jobs = table_name("jobs", mechanism)
        raise TraceError(events, None, f"is not the event log of {jobs}: run it again with --events")
    samples = [
        (to_ticks(row["time"]) - origin, row["busy"], row["held"], row["waiting_jobs"], row["waiting_nodes"])
        for _, row in table_rows(course, _SAMPLE)
    ]
    return entries, samples


def _down(entries: Iterable[Entry]) -> Iterator[tuple[int, int]]:
    """(time, nodes that are down) after each event of an outage."""
    of_outage: dict[int, int] = {}
    for entry in entries:
        if entry.event in ("down", "up"):
            of_outage[entry.job_id] = entry.after
            yield entry.time, sum(of_outage.values())


def _decisions(path: Path | None, origin: int) -> list[Decision] | None:
    if path is None:
        return None
    return [
        Decision(
            to_ticks(row["time"]) - origin,
            row["decision"],
            row["job_id"],
            row["other"],
            row["count"],
            None if row["at"] is None else to_ticks(row["at"]) - origin,
            _ticks(row["loss_node_seconds"]),
            row["why"],
        )
        for _, row in table_rows(path, _DECISION, "decision", "why")
    ]


def _courses(path: Path | None, jobs: Sequence[Job]) -> list[StochasticRecord]:
    """The stochastic jobs with their reservations."""
    found: dict[int, list[ReservationRecord]] = {job.job_id: [] for job in jobs if job.type is JobType.STOCHASTIC}
    # Where there are no digests, a file of an earlier run may lie there.
    for _, row in table_rows(path, _RESERVATION, "ending") if path is not None and found else ():
        values: dict[str, Any] = {name: _ticks(value) if name in _TICKS else value for name, value in row.items()}
        values["memory"] = values.pop("memory_gb")
        found.setdefault(row["job_id"], []).append(ReservationRecord(**values))
    return [
        StochasticRecord(job.job_id, job.application, job.plan, to_ticks(job.true_runtime or 0), None, tuple(items))
        for job in jobs
        if (items := found.get(job.job_id)) is not None
    ]
