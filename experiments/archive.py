"""Archives: what ``holdfast run`` has left in a directory, read back.

``run.json`` says what was simulated and of which mechanisms there are tables; one of them, with its event log, is a
:class:`~experiments.recording.Recording`.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

from experiments.filenames import table_path
from experiments.recording import Recording, origin_of
from policies.mechanism import BASELINE, parse_mechanism
from simulator.decisions import Decision
from simulator.eventlog import Entry
from simulator.instants import Sample
from simulator.options import Options
from simulator.records import JobRecord
from simulator.stochastic import ReservationRecord
from workloads.errors import InputError, TraceError
from workloads.fields import Columns, number, whole
from workloads.files import read_text, sha256_of
from workloads.job import Job, JobType
from workloads.units import to_ticks

__all__ = [
    "EPOCH",
    "JOB_TABLE",
    "chosen_mechanism",
    "read_decisions",
    "read_recording",
    "read_run",
    "simulated_jobs",
    "table_rows",
]

#: Key of ``run.json``: the file that holds the job table. It stands there where the event log was kept.
JOB_TABLE = "job_table"
#: Key of ``run.json``: seconds since 1970 at which the clock of the job table stands at 0, null if not known.
EPOCH = "epoch"

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


def read_recording(directory: str | Path, mechanism: str | None = None, *, events: bool = True) -> Recording:
    """Read one mechanism's results from a directory of ``holdfast run``.

    Parameters
    ----------
    directory
        With ``run.json`` and the tables.
    mechanism
        Which one, where there are several.
    events
        Whether the event log is wanted; without it, ``entries`` and ``samples`` are empty.

    Returns
    -------
    Recording
        Equal to :meth:`Recording.of` of the result in memory.

    Raises
    ------
    InputError
        If the directory is no such, there is no event log, or its files do not belong together.
    """
    place = Path(directory)
    told = read_run(place)
    name = chosen_mechanism(place, told, mechanism)
    jobs = simulated_jobs(place, told)
    records = list(_records(table_path(place, "jobs", name), {job.job_id: job for job in jobs}, name))
    origin = origin_of(jobs)
    entries: list[Entry] = []
    samples: list[Sample] = []
    if events:
        entries, samples = _history(place, name, origin, records)
    return Recording(
        mechanism=name,
        nodes=_nodes(place, told),
        options=_options(place, told),
        jobs=jobs,
        records=records,
        entries=entries,
        samples=samples,
        reservations=_reservations(table_path(place, "reservations", name), jobs),
        origin=origin,
        epoch=_epoch(place, told),
    )


def read_run(directory: Path) -> dict[str, Any]:
    """What ``run.json`` tells.

    Raises
    ------
    InputError
        If there is none, or it does not name input and mechanisms.
    """
    path = directory / "run.json"
    if not path.is_file():
        raise InputError(f"{directory}: no results of 'holdfast run' (there is no run.json)")
    text = read_text(path)
    try:
        told = json.loads(text)
        source, mechanisms = told["input"], told["mechanisms"]
        usable = isinstance(source["path"], str) and isinstance(source["sha256"], str)
        usable = usable and bool(mechanisms) and all(isinstance(name, str) for name in mechanisms)
    except (ValueError, KeyError, TypeError):
        usable = False
    if not usable:
        raise TraceError(path, None, "is not what 'holdfast run' writes: it must name input and mechanisms")
    return dict(told)


def chosen_mechanism(directory: Path, told: Mapping[str, Any], mechanism: str | None) -> str:
    """The mechanism that is wanted, as its files are named.

    Raises
    ------
    InputError
        If there are several and none is named, or the named one is not there.
    """
    there = list(told["mechanisms"])
    if mechanism is None:
        if len(there) > 1:
            raise InputError(f"{directory}: holds results of {', '.join(there)}: choose one with --mechanism")
        return str(there[0])
    if mechanism not in there:
        parsed = parse_mechanism(mechanism)
        mechanism = BASELINE if parsed is None else parsed.slug
    if mechanism not in there:
        raise InputError(f"{directory}: holds results of {', '.join(there)}, not of {mechanism}")
    return mechanism


def simulated_jobs(directory: Path, told: Mapping[str, Any]) -> Sequence[Job]:
    """The job table that was simulated: beside the results, or made again from an input that is still the same.

    Raises
    ------
    InputError
        If it is nowhere.
    """
    from workloads.jobtable import read_job_table

    kept = told.get(JOB_TABLE)
    if kept is None and "format" in told["input"] and ("preparation" in told or "life" in told):
        kept = "jobs.csv"  # made from a trace
    if kept is not None:
        path = directory / Path(str(kept)).name
        if not path.exists():
            raise InputError(f"{directory}: has no {path.name}, the job table that was simulated: run it again")
        return read_job_table(path).jobs
    if "format" in told["input"]:
        return _jobs_of_trace(directory, told)
    return read_job_table(_input_of(directory, told)).jobs


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


def _input_of(directory: Path, told: Mapping[str, Any]) -> Path:
    """The file that was simulated, if it is still the same."""
    path = Path(told["input"]["path"])
    if not path.exists():
        raise InputError(f"{directory}: the jobs are in the input of the run, {path}, which is not there")
    if sha256_of(path) != told["input"]["sha256"]:
        raise InputError(f"{directory}: the input of the run, {path}, has changed since: run it again")
    return path


def _jobs_of_trace(directory: Path, told: Mapping[str, Any]) -> list[Job]:
    """A trace as the baseline alone replays it: without a job table."""
    from workloads.assignment import as_rigid
    from workloads.readers import read_trace

    source, path = told["input"], _input_of(directory, told)
    try:
        how = {name: source.get(name) for name in ("format", "procs_per_node")}
        trace = read_trace(path, lenient=bool(source.get("lenient")), **how)
        return as_rigid(trace.on_machine(int(told["nodes"])))
    except (KeyError, TypeError) as error:
        raise TraceError(directory / "run.json", None, f"does not say how the trace was read: {error}") from None


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
    """Undisturbed runtime [s], as in :mod:`simulator.jobstate` and :mod:`simulator.kinds`."""
    other = job.trace_runtime if mechanism == BASELINE else None
    if job.type is JobType.STOCHASTIC:
        other = job.true_runtime
    return job.runtime if other is None else other


def _ticks(seconds: float | None) -> int | None:
    return None if seconds is None else to_ticks(seconds)


def _history(
    directory: Path, mechanism: str, origin: int, records: Sequence[JobRecord]
) -> tuple[list[Entry], list[Sample]]:
    """The event log and the course of the machine."""
    events, course = (table_path(directory, table, mechanism) for table in ("events", "timeline"))
    for path in (events, course):
        if not path.exists():
            raise InputError(f"{directory}: has no {path.name}, which 'holdfast run --events' writes: run it again")
    entries = [
        Entry(to_ticks(row["time"]) - origin, row["event"], row["job_id"], row["before"], row["after"], row["cause"])
        for _, row in table_rows(events, _ENTRY, "event", "cause")
    ]
    ends = {entry.job_id: entry.time + origin for entry in entries if entry.event in _LAST}
    if ends != {record.job_id: record.end for record in records if record.end is not None}:
        jobs = table_path(directory, "jobs", mechanism).name
        raise TraceError(events, None, f"is not the event log of {jobs}: run it again with --events")
    samples = [
        (to_ticks(row["time"]) - origin, row["busy"], row["held"], row["waiting_jobs"], row["waiting_nodes"])
        for _, row in table_rows(course, _SAMPLE)
    ]
    return entries, samples


def read_decisions(directory: str | Path, recording: Recording) -> list[Decision] | None:
    """What ``holdfast run --events`` has recorded beside the event log of that recording; None: nothing.

    Raises
    ------
    TraceError
        If the file is broken.
    """
    path, origin = Path(directory) / f"decisions-{recording.mechanism}.csv", recording.origin
    if not path.exists():
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


def _reservations(path: Path, jobs: Sequence[Job]) -> list[ReservationRecord]:
    # One of an earlier run may lie there.
    if not path.exists() or not any(job.type is JobType.STOCHASTIC for job in jobs):
        return []
    found = []
    for _, row in table_rows(path, _RESERVATION, "ending"):
        values: dict[str, Any] = {name: _ticks(value) if name in _TICKS else value for name, value in row.items()}
        values["memory"] = values.pop("memory_gb")
        found.append(ReservationRecord(**values))
    return found


def _nodes(directory: Path, told: Mapping[str, Any]) -> int:
    nodes = told.get("nodes")
    if isinstance(nodes, bool) or not isinstance(nodes, int) or nodes < 1:
        raise TraceError(directory / "run.json", None, "must name a positive number of nodes")
    return nodes


def _epoch(directory: Path, told: Mapping[str, Any]) -> float | None:
    epoch = told.get(EPOCH)
    if epoch is None:
        return None
    if isinstance(epoch, bool) or not isinstance(epoch, int | float):
        raise TraceError(directory / "run.json", None, f"{EPOCH} must be a number of seconds since 1970, or null")
    return float(epoch)


def _options(directory: Path, told: Mapping[str, Any]) -> Options:
    known = {field.name for field in fields(Options)}
    try:
        return Options(**{name: value for name, value in told["options"].items() if name in known})
    except (AttributeError, KeyError, TypeError) as error:
        raise TraceError(directory / "run.json", None, f"must name the options of the simulation: {error}") from None
