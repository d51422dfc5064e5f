"""Archives: what ``holdfast run`` has left in a directory, read back.

``run.json`` says what was simulated and of which mechanisms there are tables; one of them, with its event log, is a
:class:`~simulator.results.result.Result`.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from experiments.output.filenames import table_name
from experiments.output.seals import Sealed
from experiments.recordings.runfile import (
    LOCAL,
    ZONE,
    engine_of,
    epoch_of,
    nodes_of,
    open_run,
    options_of,
    read_prior,
    simulated_jobs,
    unit_of,
)
from experiments.recordings.soundness import check_record, sound_entries, sound_samples
from experiments.recordings.variants import chosen_variant
from policies.mechanism import BASELINE
from simulator.machine.decisions import Decision
from simulator.machine.eventlog import Entry, Sample
from simulator.machine.stochastic import ReservationRecord
from simulator.results.recording import changes_of, origin_of
from simulator.results.records import JobRecord, StochasticRecord
from simulator.results.result import Result
from simulator.results.schema import DECISIONS, ELIGIBLE, EVENTS, JOBS, RESERVATIONS, TIMELINE, Field, Schema
from workloads.ground.errors import InputError, TraceError
from workloads.ground.fields import Columns, whole
from workloads.ground.files import read_text
from workloads.ground.trust import is_trusted
from workloads.ground.trust import trust as trusting
from workloads.ground.units import SECOND, to_ticks
from workloads.logs.nodenames import nodes_in
from workloads.table.job import Job, JobType
from workloads.table.joblife import beginning_of

__all__ = ["read_recording", "table_rows"]

#: Names of nodes are shorter: no machine has so many.
_LONGEST_NAME = 9
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
        Which one, where there are several: a mechanism, or a label (:mod:`experiments.recordings.variants`).
    events
        Whether the event log is wanted; without it, ``entries``, ``samples`` and ``down`` are empty.
    decisions
        Whether what was recorded beside the event log is wanted, if there is such a file.
    trust
        Whether plug-ins that its files name by their import path may be imported where their code is needed: by the
        queue order of explanations, the reader of a trace whose jobs were not kept, and the plans of stochastic jobs.
        False: as :func:`workloads.ground.trust.trust` says.

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
    variant = chosen_variant(place, result.told, mechanism)
    result = replace(result, told=variant.told)
    told, name = result.told, variant.label
    trusted = trust or is_trusted()
    with trusting(trusted):
        jobs = simulated_jobs(result)
    table = result.need(table_name("jobs", name), "the jobs of that mechanism: run it again")
    records = list(_records(table, {job.job_id: job for job in jobs}, variant.mechanism))
    if [job.job_id for job in jobs] != [record.job_id for record in records]:
        raise InputError("the job table must hold the jobs that were simulated, in the same order")
    origin, begin, prior = origin_of(jobs), beginning_of(jobs), read_prior(place, told)
    if prior is not None and prior.origin is not None:
        origin = min(origin, to_ticks(prior.origin))
    entries: list[Entry] = []
    samples: list[Sample] = []
    if events:
        entries, samples = _history(result, name, origin, records, nodes_of(place, told))
    return Result(
        mechanism=variant.mechanism,
        label=name if variant.varied else "",
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
        epoch=_within_calendar(epoch_of(place, told), records),
        zone=LOCAL if told.get(ZONE) == LOCAL else "UTC",
        unit=unit_of(told),
        trusted=trusted,
        prior=prior,
        engine=engine_of(told, variant.mechanism),
        placements=_placements(result.find(table_name("nodes", name)), nodes_of(place, told)),
    )


#: Dates that Python can write, years 1 to 9999, with decades to spare at both ends [s since 1970].
_FIRST_DATE, _LAST_DATE = -60_000_000_000, 250_000_000_000


def _within_calendar(epoch: float | None, records: Sequence[JobRecord]) -> float | None:
    """The epoch of a result; None if its jobs reach beyond the calendar, so that it has no dates."""
    if epoch is None:
        return None
    times = [time for record in records for time in (record.submit, record.start, record.end) if time is not None]
    last = max(map(abs, times), default=0) / SECOND
    return epoch if epoch - last > _FIRST_DATE and epoch + last < _LAST_DATE else None


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
                # A row without an id or a size is no job; unknown cells of a no-show are empty.
                row[name] = convert(cell, name) if cell or name in ("job_id", "nodes") else None
            yield line, row
    except (csv.Error, ValueError) as error:
        raise TraceError(path, line, str(error)) from None


def _read(path: Path, schema: Schema, origin: int = 0) -> Iterator[tuple[int, dict[Any, Any]]]:
    """Line of each row, and the values of its columns by their source, without those that are derived from others.

    Parameters
    ----------
    path, schema
        A table and its columns.
    origin
        Where the simulated clock begins [ticks of the job table's clock].
    """
    fields = [item for item in schema.fields if not item.derived]
    texts = [item.name for item in fields if item.kind == "text"]
    clocks = {item.name for item in fields if item.kind == "clock"}
    kinds = {item.name: item.parse for item in fields if item.kind != "text"}
    for line, row in table_rows(path, kinds, *texts):
        for name in clocks:
            if row[name] is not None:
                row[name] -= origin
        yield line, {item.source: row[item.name] for item in fields}


def _records(path: Path, jobs: Mapping[int, Job], mechanism: str) -> Iterator[JobRecord]:
    schema = JOBS.extended([Field("type", "text", "", "type")])
    held = ELIGIBLE.name in read_text(path).partition("\n")[0].split(",")
    for line, row in _read(path, schema.extended([ELIGIBLE]) if held else schema):
        if held:
            eligible, submit = row.pop(ELIGIBLE.source), row["submit"]
            row["eligible"] = eligible if eligible is not None and submit is not None and eligible > submit else None
        job = jobs.get(row["job_id"])
        if job is None or (job.type, job.nodes) != (row["type"], row["nodes"]):
            raise TraceError(path, line, f"job {row['job_id']} is not among the jobs that were simulated")
        record = JobRecord(**{**row, "type": job.type}, runtime=to_ticks(_runtime(job, mechanism)))
        check_record(record, path, line)
        yield record


def _runtime(job: Job, mechanism: str) -> float:
    """Undisturbed runtime [s], as in :mod:`simulator.machine.jobstate` and :mod:`simulator.machine.kinds`."""
    other = job.trace_runtime if mechanism == BASELINE else None
    if job.type is JobType.STOCHASTIC:
        other = job.true_runtime
    return job.runtime if other is None else other


def _history(
    result: Sealed, mechanism: str, origin: int, records: Sequence[JobRecord], nodes: int
) -> tuple[list[Entry], list[Sample]]:
    """The event log and the course of the machine."""
    events, course = (
        result.need(table_name(table, mechanism), "which 'holdfast run --events' writes: run it again")
        for table in ("events", "timeline")
    )
    known = {record.job_id: record for record in records}
    entries = list(sound_entries(_read(events, EVENTS, origin), events, known))
    ends = {entry.job_id: entry.time + origin for entry in entries if entry.event in _LAST}
    if ends != {record.job_id: record.end for record in records if record.end is not None}:
        jobs = table_name("jobs", mechanism)
        raise TraceError(events, None, f"is not the event log of {jobs}: run it again with --events")
    return entries, list(sound_samples(_read(course, TIMELINE, origin), course, nodes, entries))


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
    return [Decision(**row) for _, row in _read(path, DECISIONS, origin)]


def _placements(path: Path | None, nodes: int) -> dict[int, int] | None:
    """Nodes of the last run of each job, by job id; None: the rule counted nodes."""
    if path is None:
        return None
    return {int(row["job_id"]): _bits(row["nodes"], nodes) for _, row in table_rows(path, {"job_id": whole}, "nodes")}


def _bits(text: str, nodes: int) -> int:
    """A list as :func:`workloads.logs.nodenames.node_list` writes it; nodes beyond the machine are passed over."""
    numbers = (int(name[1:]) for name in nodes_in(text) if name[1:].isdecimal() and len(name) < _LONGEST_NAME)
    return sum(1 << number for number in numbers if number < nodes)


def _courses(path: Path | None, jobs: Sequence[Job]) -> list[StochasticRecord]:
    """The stochastic jobs with their reservations."""
    found: dict[int, list[ReservationRecord]] = {job.job_id: [] for job in jobs if job.type is JobType.STOCHASTIC}
    # Where there are no digests, a file of an earlier run may lie there.
    for line, row in _read(path, RESERVATIONS) if path is not None and found else ():
        empty = next((name for name in ("number", "submit", "nodes", "length") if row[name] is None), None)
        if path is not None and empty is not None:
            raise TraceError(path, line, f"the cell of {empty} is empty")
        found.setdefault(row["job_id"], []).append(ReservationRecord(**row))
    return [
        StochasticRecord(job.job_id, job.application, job.plan, to_ticks(job.true_runtime or 0), None, tuple(items))
        for job in jobs
        if (items := found.get(job.job_id)) is not None
    ]
