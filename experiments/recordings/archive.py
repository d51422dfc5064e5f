"""Reader of the directories that ``holdfast run`` writes.

``run.json`` records what was simulated and which mechanisms have tables. One of these runs, with its event log, is read
as a :class:`~holdfast.simulator.results.result.Result`.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from holdfast.experiments.output.filenames import table_name
from holdfast.experiments.output.manifest import Sealed
from holdfast.experiments.recordings.row_checks import (
    sound_decisions,
    sound_entries,
    sound_records,
    sound_samples,
    sound_times,
)
from holdfast.experiments.recordings.run_file import (
    LOCAL,
    ZONE,
    open_run,
    read_prior,
    recorded_engine,
    recorded_epoch,
    recorded_nodes,
    recorded_options,
    recorded_unit,
    simulated_jobs,
)
from holdfast.experiments.recordings.variants import chosen_variant
from holdfast.policies.mechanism import BASELINE
from holdfast.simulator.machine.decisions import Decision
from holdfast.simulator.machine.event_log import Entry
from holdfast.simulator.results.recording import clock_origin, level_changes
from holdfast.simulator.results.records import ABSENT, Records, Samples, StochasticRecord, whole_column
from holdfast.simulator.results.result import Result
from holdfast.simulator.results.schema import (
    DECISIONS,
    ELIGIBLE,
    EVENTS,
    JOBS,
    RESERVATIONS,
    TIMELINE,
    Field,
    Schema,
    optional,
)
from holdfast.workloads.ground.errors import InputError, TraceError
from holdfast.workloads.ground.files import read_text
from holdfast.workloads.ground.text_cells import Columns, whole
from holdfast.workloads.ground.ticks import list_in_ticks
from holdfast.workloads.ground.trust import is_trusted
from holdfast.workloads.ground.trust import trust as trusting
from holdfast.workloads.ground.units import SECOND, to_ticks
from holdfast.workloads.logs.node_names import nodes_in
from holdfast.workloads.table.job import JobType
from holdfast.workloads.table.job_lifecycle import replay_start
from holdfast.workloads.table.jobs import Jobs

__all__ = ["has_event_log", "read_recording", "table_rows"]

#: Longest list of node numbers to parse; longer ones cannot occur.
_LONGEST_NAME = 9
#: Events that end a job.
_LAST = ("complete", "kill", "cancel")


def has_event_log(directory: str | Path, mechanism: str | None = None) -> bool:
    """Whether a run of a directory of ``holdfast run`` has an event log."""
    place = Path(directory)
    result = open_run(place)
    label = chosen_variant(place, result.content, mechanism).label
    return result.find(table_name("events", label)) is not None


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
        Directory with ``run.json`` and the tables.
    mechanism
        Run to read, if there are several: a mechanism, or a label (:mod:`holdfast.experiments.recordings.variants`).
    events
        Whether to read the event log; without it, ``entries``, ``samples`` and ``down`` are empty.
    decisions
        Whether to read the recorded decisions, if there are any.
    trust
        Whether plug-ins that the files name by import path may be imported: for the queue order of explanations, for
        reading a trace again if its jobs were not stored, and for the plans of stochastic jobs. False: as
        :func:`holdfast.workloads.ground.trust.trust` decides.

    Returns
    -------
    Result
        As in memory, except for values that only the simulation measures (see
        :class:`~holdfast.simulator.results.recording.Recording`) and the plans of stochastic jobs.

    Raises
    ------
    InputError
        If the directory has no results, a file was changed, there is no event log, or the files do not belong together.
    """
    place = Path(directory)
    result = open_run(place)
    variant = chosen_variant(place, result.content, mechanism)
    result = replace(result, content=variant.content)
    content, name = result.content, variant.label
    # A missing event log is refused before a long result is read.
    logs = _logs(result, name) if events else None
    trusted = trust or is_trusted()
    with trusting(trusted):
        jobs = Jobs.of(simulated_jobs(result))
    if logs is not None:
        # Explanations, pages and exports go through the jobs several times, and each pass over columns makes new rows.
        jobs.rows()
    table = result.need(table_name("jobs", name), "the jobs of that mechanism: run it again")
    origin, begin, prior = clock_origin(jobs), replay_start(jobs), read_prior(place, content)
    if prior is not None and prior.origin is not None:
        origin = min(origin, to_ticks(prior.origin))
    records = _records(table, jobs, variant.mechanism, origin)
    entries: list[Entry] = []
    samples = Samples.of([])
    if logs is not None:
        entries, samples = _history(*logs, name, origin, records, recorded_nodes(place, content))
    return Result(
        mechanism=variant.mechanism,
        label=name if variant.varied else "",
        nodes=recorded_nodes(place, content),
        options=recorded_options(place, content),
        table=jobs,
        records=records,
        entries=entries,
        samples=samples,
        stochastic=_courses(result.find(table_name("reservations", name)), jobs, origin),
        origin=origin,
        begin=None if begin is None else to_ticks(begin),
        down=level_changes(_down(entries)),
        decisions=_decisions(result.find(table_name("decisions", name)), origin) if decisions else None,
        epoch=_within_calendar(recorded_epoch(place, content), records),
        zone=LOCAL if content.get(ZONE) == LOCAL else "UTC",
        unit=recorded_unit(content),
        trusted=trusted,
        prior=prior,
        engine=recorded_engine(content, variant.mechanism),
        placements=_placements(result.find(table_name("nodes", name)), recorded_nodes(place, content)),
    )


#: Dates that Python can format, years 1 to 9999, with a margin of decades at both ends [s since 1970].
_FIRST_DATE, _LAST_DATE = -60_000_000_000, 250_000_000_000


def _within_calendar(epoch: float | None, records: Records) -> float | None:
    """The epoch of a result; None if its jobs exceed the calendar, so that it has no dates."""
    if epoch is None:
        return None
    times = np.concatenate([records.columns[name] for name in ("submit", "start", "end")])
    last = int(np.abs(times[times != ABSENT]).max(initial=0)) / SECOND
    return epoch if epoch - last > _FIRST_DATE and epoch + last < _LAST_DATE else None


def table_rows(
    path: Path, kinds: Mapping[str, Callable[[str, str], float]], *texts: str
) -> Iterator[tuple[int, dict[str, Any]]]:
    """Read line number and cells of each row of a table.

    Parameters
    ----------
    path
        A CSV file.
    kinds
        Columns of numbers, and functions of a cell and the column's name that parse it. An empty cell is None; ids and
        sizes must not be empty.
    *texts
        Columns of text.

    Raises
    ------
    TraceError
        If there is no such file or column, or a row is broken.
    """
    lines, columns = _cells(path, [*kinds, *texts])
    for line, *cells in zip(lines, *columns, strict=True):
        row: dict[str, Any] = dict(zip(texts, cells[len(kinds) :], strict=True))
        try:
            for (name, convert), cell in zip(kinds.items(), cells, strict=False):
                row[name] = convert(cell, name) if cell or name in _NEEDED else None
        except ValueError as error:
            raise TraceError(path, line, str(error)) from None
        yield line, row


#: Columns that must not be empty; unknown cells of a no-show are empty.
_NEEDED = ("job_id", "nodes")


def _cells(path: Path, names: Sequence[str]) -> tuple[list[int], list[Sequence[str]]]:
    """Line number of each row of a table, and the cells of some columns."""
    text = read_text(path)
    plain = _plain_cells(text)
    if plain is not None:
        header, lines, found = plain
        try:
            places = [Columns(header).need(name) for name in names]
        except ValueError as error:
            raise TraceError(path, 1, str(error)) from None
        return lines, [found[place] for place in places]
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    line, lines, rows = 1, list[int](), list[list[str]]()
    try:
        columns = Columns(next(reader, []))
        places = [columns.need(name) for name in names]
        for cells in reader:
            line = reader.line_num
            if len(cells) != len(columns.names):
                raise ValueError(f"a row must have {len(columns.names)} cells like the header, not {len(cells)}")
            lines.append(line)
            rows.append(cells)
    except (csv.Error, ValueError) as error:
        raise TraceError(path, line, str(error)) from None
    cells_by_column: list[Sequence[str]] = list(zip(*rows, strict=True)) or [()] * len(columns.names)
    return lines, [cells_by_column[place] for place in places]


def _plain_cells(text: str) -> tuple[list[str], list[int], list[list[str]]] | None:
    """Header, line number of each row and cells of each column, if no cell is quoted and all rows have all cells.

    A fifth of the time of the csv module, which takes half of the time of reading a result of 232,000 jobs.
    """
    rows = text.removesuffix("\n").split("\n")
    header = rows[0].split(",")
    width = len(header)
    if width < 2 or any(mark in text for mark in '"\r\0') or any(row.count(",") != width - 1 for row in rows):
        return None
    cells = ",".join(rows[1:]).split(",") if len(rows) > 1 else []
    return header, list(range(2, len(rows) + 1)), [cells[place::width] for place in range(width)]


#: Columns of times on the clock of the job table.
_TIMES = ("submit", "start", "end", "queued")


def _columns(path: Path, schema: Schema, origin: int) -> tuple[list[int], dict[Any, Any]]:
    """Line number of each row, and the columns by source, without derived columns.

    Parameters
    ----------
    path, schema
        The table and its columns.
    origin
        Time 0 of the simulated clock [ticks of the job table's clock].
    """
    fields = [item for item in schema.fields if not item.derived]
    lines, columns = _cells(path, [item.name for item in fields])
    found = {}
    for item, cells in zip(fields, columns, strict=True):
        # Columns with unusual formatting are parsed cell by cell.
        values = item.parse_column(cells)
        if values is None or (item.name in _NEEDED and "" in cells):
            values = [_value(item, cell, path, line) for cell, line in zip(cells, lines, strict=True)]
            values = values if item.kind == "number" else whole_column(values)
        if item.kind == "clock" or item.source in _TIMES:
            sound_times(values, origin, item.name, path, lines)
        if item.kind == "clock" and origin:
            values = np.where(values == ABSENT, ABSENT, values - origin)
        found[item.source] = values
    return lines, found


def _value(item: Field, cell: str, path: Path, line: int) -> Any:
    try:
        return item.parse(cell, item.name) if cell or item.name in _NEEDED else None
    except ValueError as error:
        raise TraceError(path, line, str(error)) from None


def _read(path: Path, schema: Schema, origin: int) -> Iterator[tuple[int, dict[Any, Any]]]:
    """As :func:`_columns`, row by row."""
    lines, columns = _columns(path, schema, origin)
    lists = [values if isinstance(values, list) else optional(values) for values in columns.values()]
    for line, *row in zip(lines, *lists, strict=True):
        yield line, dict(zip(columns, row, strict=True))


def _records(path: Path, jobs: Jobs, mechanism: str, origin: int) -> Records:
    """Read the records of the jobs, which must be those of the job table in its order."""
    schema = JOBS.extend([Field("type", "text", "", "type")])
    held = ELIGIBLE.name in read_text(path).partition("\n")[0].split(",")
    lines, columns = _columns(path, schema.extend([ELIGIBLE]) if held else schema, origin)
    if held:
        queued, submit = columns.pop(ELIGIBLE.source), columns["submit"]
        # ABSENT is less than every time.
        columns["eligible"] = np.where((submit != ABSENT) & (queued > submit), queued, ABSENT)
    kinds = list(map(str, JobType))
    simulated = [
        jobs.column("job_id").tolist(),
        [kinds[code] for code in jobs.column("type").tolist()],
        jobs.column("nodes").tolist(),
    ]
    found = [columns["job_id"].tolist(), columns["type"], columns["nodes"].tolist()]
    if found != simulated:
        known = set(zip(*simulated, strict=True))
        for line, *row in zip(lines, *found, strict=True):
            if tuple(row) not in known:
                raise TraceError(path, line, f"job {row[0]} is not among the jobs that were simulated")
        raise InputError("the job table must hold the jobs that were simulated, in the same order")
    return sound_records(columns, _runtimes(jobs, mechanism), path, lines)


def _runtimes(jobs: Jobs, mechanism: str) -> np.ndarray:
    """Undisturbed runtimes [ticks], shape (jobs,).

    As in :mod:`holdfast.simulator.machine.job_state` and :mod:`holdfast.simulator.machine.job_factory`.
    """
    seconds = jobs.column("runtime")
    others = jobs.column("trace_runtime") if mechanism == BASELINE else np.full(len(jobs), np.nan)
    others = np.where(jobs.are(JobType.STOCHASTIC), jobs.column("true_runtime"), others)
    return np.array(list_in_ticks(np.where(np.isnan(others), seconds, others).tolist()), np.int64)


def _logs(result: Sealed, mechanism: str) -> tuple[Path, Path]:
    """The event log and the samples of the machine.

    Raises
    ------
    InputError
        If the run kept none.
    """
    without = "which 'holdfast run --events' writes: run it again"
    if isinstance(result.content.get("machine"), dict):
        without = "which a replay on a machine does not write; gantt, explain and export --format swf do without"
    events, course = (result.need(table_name(table, mechanism), without) for table in ("events", "timeline"))
    return events, course


def _history(
    events: Path, course: Path, mechanism: str, origin: int, records: Records, nodes: int
) -> tuple[list[Entry], Samples]:
    """Read the event log and the samples of the machine."""
    ids, ends = (records.columns[name].tolist() for name in ("job_id", "end"))
    entries = list(sound_entries(_read(events, EVENTS, origin), events, frozenset(ids), nodes))
    last = {entry.job_id: entry.time + origin for entry in entries if entry.event in _LAST}
    if last != {job_id: end for job_id, end in zip(ids, ends, strict=True) if end != ABSENT}:
        jobs = table_name("jobs", mechanism)
        raise TraceError(events, None, f"is not the event log of {jobs}: run it again with --events")
    lines, columns = _columns(course, TIMELINE, origin)
    return entries, sound_samples(columns, course, lines, nodes, entries)


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
    return list(sound_decisions(_read(path, DECISIONS, origin), path))


def _placements(path: Path | None, nodes: int) -> dict[int, int] | None:
    """Nodes of the last run of each job, by job id; None: nodes had no names."""
    if path is None:
        return None
    return {int(row["job_id"]): _bits(row["nodes"], nodes) for _, row in table_rows(path, {"job_id": whole}, "nodes")}


def _bits(text: str, nodes: int) -> int:
    """Parse a list of :func:`holdfast.workloads.logs.node_names.node_list`; nodes beyond the machine are ignored."""
    numbers = (int(name[1:]) for name in nodes_in(text) if name[1:].isdecimal() and len(name) < _LONGEST_NAME)
    return sum(1 << number for number in numbers if number < nodes)


def _courses(path: Path | None, table: Jobs, origin: int) -> list[StochasticRecord]:
    """The stochastic jobs with their reservations."""
    stochastic = table.are(JobType.STOCHASTIC)
    if not stochastic.any():
        return []
    jobs = table.select(stochastic).rows()
    # Imported here: it loads the planner, which other results do not need.
    from holdfast.simulator.machine.stochastic import ReservationRecord

    found: dict[int, list[ReservationRecord]] = {job.job_id: [] for job in jobs}
    # Without digests, the file may be left over from an earlier run.
    for line, row in _read(path, RESERVATIONS, origin) if path is not None else ():
        empty = next((name for name in ("number", "submit", "nodes", "length") if row[name] is None), None)
        if path is not None and empty is not None:
            raise TraceError(path, line, f"the cell of {empty} is empty")
        found.setdefault(row["job_id"], []).append(ReservationRecord(**row))
    return [
        StochasticRecord(job.job_id, job.application, job.plan, to_ticks(job.true_runtime or 0), None, tuple(items))
        for job in jobs
        if (items := found.get(job.job_id)) is not None
    ]
