"""Conversion of a result to columns of integers for the interactive Gantt page.

Times are whole seconds after ``base``, rounded. Columns with the prefix ``d_`` contain differences to the preceding
value, which are shorter as text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from itertools import pairwise
from typing import Any

from holdfast.experiments.gantt.machine_rows import MachineRows
from holdfast.experiments.gantt.pool_rows import PoolRows
from holdfast.experiments.placement.rectangles import Rectangle, cut_rectangles
from holdfast.experiments.placement.spans import DOWN, HELD, RUN, WARNED, place_nodes
from holdfast.experiments.recordings.allocations import Allocations, result_allocations
from holdfast.experiments.recordings.pool_replays import PoolReplays
from holdfast.experiments.recordings.time_windows import Window, accounting_start, unix_origin
from holdfast.experiments.stories.machine_story import MachineStories
from holdfast.experiments.stories.pool_story import PoolStories
from holdfast.experiments.stories.story import Stories
from holdfast.experiments.timelines.phases import use_of_time
from holdfast.simulator.machine.event_log import Entry
from holdfast.simulator.results.recording import Recording, requested_walltime
from holdfast.simulator.results.records import JobRecord
from holdfast.workloads.ground.errors import InputError
from holdfast.workloads.ground.job_ids import job_id_text
from holdfast.workloads.ground.units import SECOND
from holdfast.workloads.table.job import JobType

__all__ = ["KINDS", "page_columns"]

_AnyStories = Stories | MachineStories | PoolStories
#: Kinds of rectangles, by number.
KINDS = (RUN, WARNED, HELD, DOWN)
#: Ends of jobs; the last one is a cancellation before the start.
_STATUS = ("completed", "killed", "cancelled", "withdrawn")
#: Number of jobs (those that waited longest) with reasons for their waits in the page. Larger results have none,
#: because reading the log again takes longer than writing the page.
_EXPLAINED, _MOST_RECORDS = 300, 10_000
#: Causes that name a job; outages have names of their own.
_NAMING = re.compile(r"(?:(?:planned )?for |returned by )(\d+)|(\d+) arrived")


def page_columns(
    recording: Recording,
    window: Window | None = None,
    allocations: Allocations | None = None,
    pools: PoolReplays | None = None,
) -> dict[str, Any]:
    """The data of a simulation that the page draws.

    Parameters
    ----------
    recording
        A recording with its event log, or with allocations.
    window
        Time to include; default: everything.
    allocations
        Nodes of the jobs on a machine with partitions; None: the machine is one pool.
    pools
        Partitions that were simulated as pools, with their event logs; None: there are none.

    Returns
    -------
    dict
        Strings, integers and lists of them, for JSON. Equal arguments give equal results.

    Raises
    ------
    InputError
        If the event log was switched off, or nothing runs in the window.
    """
    if allocations is None:
        allocations = result_allocations(recording)
    on_machine: MachineRows | PoolRows | None = None
    stories: Callable[[], _AnyStories] = partial(Stories, recording)
    if allocations is not None:
        on_machine = MachineRows(recording, allocations)
        stories = partial(MachineStories, recording, allocations)
    elif pools is not None:
        on_machine = PoolRows(pools)
        stories = partial(PoolStories, pools)
    if on_machine is not None:
        recording = on_machine.recording
    use = use_of_time(recording)
    opens, closes = (window or Window()).bounds(recording)
    spans = place_nodes(recording) if on_machine is None else on_machine.spans
    rectangles = [item for item in cut_rectangles(spans) if item.end > opens and item.start < closes]
    if not rectangles:
        raise InputError("no job runs in this window")
    since_1970 = unix_origin(recording)
    records = [record for record in recording.records if _within(record, recording.origin, opens, closes)]
    clock = _Clock(opens)
    first = accounting_start(recording)
    places = {record.job_id: place for place, record in enumerate(records)}
    machine_columns = {} if on_machine is None else _machine_columns(on_machine, records)
    levels_of_use = [level.tolist() for level in use.nodes.values()]
    sample_times, _, _, waiting_jobs, waiting_nodes = zip(*recording.samples, strict=True)
    return {
        "mechanism": recording.name,
        "nodes": recording.nodes,
        "unit": recording.unit,
        # Second of the job table's clock at which the page begins, and whether its date is known.
        "base": (opens + (recording.origin if since_1970 is None else since_1970)) // SECOND,
        "dates": since_1970 is not None,
        "length": clock(closes),
        "jobs": _jobs(records, recording, clock),
        **machine_columns,
        "log": _log(recording.entries, places, clock),
        "reasons": _reasons(recording, records, places, stories, named=allocations is not None),
        "rectangles": _shapes(rectangles, places, clock),
        "use": {
            "names": list(use.nodes),
            **_steps((use.times + first).tolist(), levels_of_use, clock, opens, closes),
        },
        "queue": _steps(sample_times, [waiting_jobs, waiting_nodes], clock, opens, closes),
    }


class _Clock:
    """Ticks of the simulated clock as whole seconds of the page."""

    def __init__(self, opens: int) -> None:
        self._opens = opens

    def __call__(self, tick: int) -> int:
        return (tick - self._opens + SECOND // 2) // SECOND


def _within(record: JobRecord, origin: int, opens: int, closes: int) -> bool:
    """Whether a job waits or runs in the window."""
    if record.submit is None or record.end is None:
        return False
    return record.end - origin > opens and record.submit - origin < closes


def _jobs(records: Sequence[JobRecord], recording: Recording, clock: _Clock) -> dict[str, Any]:
    rows, origin = [recording.job[record.job_id] for record in records], recording.origin
    types = [str(kind) for kind in JobType]
    projects = sorted({row.project for row in rows})
    users = sorted({row.user for row in rows})
    return {
        "types": types,
        "projects": projects,
        "users": users,
        "id": [_page_id(record.job_id) for record in records],
        "type": [types.index(str(record.type)) for record in records],
        "project": _encode([row.project for row in rows], projects),
        "user": _encode([row.user for row in rows], users),
        "submit": [clock(_require_tick(record.submit) - origin) for record in records],
        **({"eligible": [clock(record.queued - origin) for record in records]} if recording.records.held else {}),
        # A job that was cancelled before it started is drawn at that time.
        "start": [
            clock(_require_tick(record.end if record.start is None else record.start) - origin) for record in records
        ],
        "end": [clock(_require_tick(record.end) - origin) for record in records],
        "nodes": [record.nodes for record in records],
        "runtime": [_seconds(record.runtime) for record in records],
        "walltime": [_seconds(requested_walltime(recording, row)) for row in rows],
        "preemptions": [record.preemptions for record in records],
        "shrinks": [record.shrinks for record in records],
        "lost": [_seconds(record.lost) for record in records],
        # In hundredths.
        "slowdown": [round(100 * record.bounded_slowdown) for record in records],
        "status": [_STATUS.index(_status(record)) for record in records],
        "statuses": list(_STATUS),
    }


def _reasons(
    recording: Recording,
    records: Sequence[JobRecord],
    places: Mapping[int, int],
    read_stories: Callable[[], _AnyStories],
    *,
    named: bool,
) -> dict[str, list[tuple[str, str]]]:
    """Reasons for the longest waits, by place of the job, as from ``holdfast explain``."""
    if len(recording.records) > _MOST_RECORDS:
        return {}
    started = [record for record in records if record.start is not None and record.wait > 0]
    started.sort(key=lambda record: (-record.wait, record.job_id))
    if not started or not (named or _has_order(recording)):
        return {}
    stories = read_stories()
    reasons_by_row = {
        str(places[record.job_id]): stories.story(record.job_id).reasons() for record in started[:_EXPLAINED]
    }
    return {place: reasons for place, reasons in reasons_by_row.items() if reasons}


def _machine_columns(rows: MachineRows | PoolRows, records: Sequence[JobRecord]) -> dict[str, Any]:
    """Names of nodes with their rows, and facts of each job that only a machine with partitions has."""
    return {"hosts": rows.hosts, "places": [rows.places(record.job_id) for record in records]}


def _has_order(recording: Recording) -> bool:
    """Whether the queue order is available: without ``--trust``, orders named by a file are not imported."""
    try:
        _ = recording.order
    except InputError:
        return False
    return True


def _status(record: JobRecord) -> str:
    return "withdrawn" if record.start is None else record.status


def _require_tick(tick: int | None) -> int:
    assert tick is not None
    return tick


def _seconds(ticks: int) -> int:
    return (ticks + SECOND // 2) // SECOND


def _encode(texts: Iterable[str], names: Sequence[str]) -> list[int]:
    number = {name: place for place, name in enumerate(names)}
    return [number[text] for text in texts]


def _page_id(job_id: int) -> int | str:
    """Convert an id for the page: JavaScript numbers have 53 bits, so that ids of tasks and components are strings."""
    text = job_id_text(job_id)
    return job_id if text == str(job_id) else text


def _log(entries: Iterable[Entry], places: Mapping[int, int], clock: _Clock) -> dict[str, Any]:
    """Events of each job, job by job; a job id in a cause is stored separately and replaced by ``#``."""
    by_job: dict[int, list[Entry]] = {job_id: [] for job_id in places}
    for entry in entries:
        if entry.job_id in by_job:
            by_job[entry.job_id].append(entry)
    events: dict[str, int] = {}
    causes: dict[str, int] = {}
    log: dict[str, Any] = {name: [] for name in ("count", "d_time", "event", "before", "after", "cause", "other")}
    last = 0
    for own in by_job.values():
        log["count"].append(len(own))
        for entry in own:
            now = clock(entry.time)
            named = _NAMING.fullmatch(entry.cause)
            other = (named[1] or named[2]) if named else ""
            cause = entry.cause.replace(other, "#") if other else entry.cause
            log["d_time"].append(now - last)
            log["event"].append(events.setdefault(entry.event, len(events)))
            log["before"].append(entry.before)
            log["after"].append(entry.after)
            log["cause"].append(causes.setdefault(cause, len(causes)))
            log["other"].append(_page_id(int(other)) if other else 0)
            last = now
    return {"events": list(events), "causes": list(causes), **log}


def _shapes(rectangles: Sequence[Rectangle], places: Mapping[int, int], clock: _Clock) -> dict[str, Any]:
    """Sort by begin; nodes without a job belong to job -1."""
    starts = [clock(item.start) for item in rectangles]
    return {
        "kinds": list(KINDS),
        "d_start": [after - before for before, after in pairwise([0, *starts])],
        "length": [clock(item.end) - start for item, start in zip(rectangles, starts, strict=True)],
        "low": [item.low for item in rectangles],
        "size": [item.high - item.low for item in rectangles],
        "job": [places.get(item.job_id, -1) for item in rectangles],
        # Runs that end with a preemption are numbered after all others.
        "kind": [KINDS.index(item.kind) + len(KINDS) * (item.ending == "preempt") for item in rectangles],
    }


def _steps(
    times: Sequence[int], levels: Sequence[Sequence[int]], clock: _Clock, opens: int, closes: int
) -> dict[str, Any]:
    """Step functions within the window, without steps shorter than a second; the last value ends with the window."""
    kept: list[tuple[int, tuple[int, ...]]] = []
    for place, (start, end) in enumerate(pairwise(times)):
        if end <= opens or start >= closes:
            continue
        now, values = max(0, clock(start)), tuple(level[place] for level in levels)
        if kept and kept[-1][0] == now:
            kept.pop()
        if not kept or kept[-1][1] != values:
            kept.append((now, values))
    return {
        "d_time": [after - before for before, after in pairwise([0, *(time for time, _ in kept)])],
        "levels": [list(column) for column in zip(*(values for _, values in kept), strict=True)],
    }
