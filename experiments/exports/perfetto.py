"""Export to the Trace Event Format, for ui.perfetto.dev and chrome://tracing.

Source: "Trace Event Format" (Duca and Sinclair), and the Perfetto documentation. The processes of the trace are the
machine (counters), each type of job, the nodes that are held or down, and the calls of on-demand jobs. Within a type,
runs are distributed over lanes (threads), as few as the largest number of simultaneous runs, so that a month stays
readable. A run is a complete event; events within it mark resizes and warnings. A microsecond of the trace is a tick of
the simulated clock.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby
from pathlib import Path
from typing import Any

from holdfast.experiments.exports.lanes import Lanes
from holdfast.experiments.placement.ranges import format_ranges, size
from holdfast.experiments.placement.spans import DOWN, HELD, RUN, WARNED, Span, place_nodes
from holdfast.simulator.results.recording import Recording, job_reservations, requested_walltime, require_events
from holdfast.simulator.results.run_table import LoggedRun, runs
from holdfast.workloads.ground.files import atomic_open
from holdfast.workloads.ground.job_ids import job_id_text
from holdfast.workloads.ground.units import SECOND
from holdfast.workloads.ground.wording import count_text
from holdfast.workloads.table.job import JobType

__all__ = ["export_perfetto", "trace_events"]

Event = dict[str, Any]

#: Process of the counters, and processes of the lanes by content, in the order of display.
_MACHINE = 1
_PROCESSES = {kind: number for number, kind in enumerate((*JobType, "held for on-demand jobs", "down", "calls"), 2)}
_HELD, _DOWN, _CALLS = list(_PROCESSES)[-3:]
#: First thread number of each process: numbers are unique, because some readers identify threads by them alone.
_LANES = 100_000
#: Ends of runs that are marked by a flag.
_FLAGS = {"preempt": "preempted", "cancel": "withdrawn"}
_CALL_EVENTS = ("notice", "submit", "time-out", "wait", "gather", "withdraw")


def export_perfetto(recording: Recording, path: Path) -> str:
    """Write a trace; returns a description of its content."""
    header = {
        "mechanism": recording.name,
        "nodes": recording.nodes,
        "clock": "microseconds after the origin",
        "origin_seconds": recording.origin / SECOND,
    }
    count = 0
    with atomic_open(path) as file:
        file.write('{"displayTimeUnit":"ms","otherData":' + json.dumps(header) + ',"traceEvents":[')
        for event in trace_events(recording):
            file.write((",\n" if count else "\n") + json.dumps(event, separators=(",", ":")))
            count += 1
        file.write("\n]}\n")
    return f"{count:,} trace events"


def trace_events(recording: Recording) -> list[Event]:
    """Events of the trace: names first, then all others by time, and within a time the longest first."""
    require_events(recording)
    timed: list[Event] = [*_counters(recording), *_calls(recording)]
    lanes: dict[str, Lanes] = {}
    spans = place_nodes(recording)
    timed += _run_events(recording, spans, lanes)
    for kind, process, title in ((HELD, _HELD, "held for"), (DOWN, _DOWN, "down")):
        timed += _holding_events([span for span in spans if span.kind == kind], process, title, lanes)
    timed.sort(key=lambda event: (event["ts"], -event.get("dur", 0)))
    return [*_names(recording, lanes, {event["pid"] for event in timed}), *timed]


def _names(recording: Recording, lanes: Mapping[str, Lanes], used: set[int]) -> Iterator[Event]:
    """Names of the processes and threads, and their order."""
    yield from _name(
        "process", _MACHINE, 0, f"machine: {count_text(recording.nodes, 'nodes')}, {recording.name}", _MACHINE
    )
    for title, pid in _PROCESSES.items():
        if pid in used:
            yield from _name("process", pid, 0, f"{title} jobs" if title in list(JobType) else title, pid)
            for lane in range(lanes[title].count if title in lanes else 1):
                yield from _name("thread", pid, _thread(title, lane), f"lane {lane + 1}", lane)


def _name(what: str, pid: int, tid: int, name: str, order: int) -> Iterator[Event]:
    where = {"ph": "M", "pid": pid, "tid": tid, "ts": 0}
    yield {"name": f"{what}_name", **where, "args": {"name": name}}
    yield {"name": f"{what}_sort_index", **where, "args": {"sort_index": order}}


def _thread(process: str, lane: int) -> int:
    return _PROCESSES[process] * _LANES + lane


def _counters(recording: Recording) -> Iterator[Event]:
    """Counter events: one per change, at the end of an instant."""
    before: dict[str, int] = {}
    down = dict(recording.down)
    out = 0
    for time, same in groupby(recording.samples, key=lambda sample: sample[0]):
        _, busy, held, jobs, nodes = list(same)[-1]
        out = down.get(time, out)
        values = {"busy nodes": busy, "held nodes": held, "idle nodes": recording.nodes - busy - held - out}
        if down:
            values["down nodes"] = out
        for name, value in {**values, "waiting jobs": jobs, "waiting nodes": nodes}.items():
            if before.get(name) != value:
                before[name] = value
                yield {"name": name, "ph": "C", "pid": _MACHINE, "ts": time, "args": {"value": value}}


def _calls(recording: Recording) -> Iterator[Event]:
    """Notices and arrivals of on-demand jobs, with their consequences."""
    for entry in recording.entries:
        record = recording.record.get(entry.job_id)
        if entry.event in _CALL_EVENTS and record is not None and record.type is JobType.ON_DEMAND:
            what = "arrival" if entry.event == "submit" else entry.event
            yield {
                "name": f"{what} {job_id_text(entry.job_id)}",
                "cat": "call",
                "ph": "i",
                "s": "t",
                "pid": _PROCESSES[_CALLS],
                "tid": _thread(_CALLS, 0),
                "ts": entry.time,
                "args": {"job": entry.job_id, "nodes": record.nodes, "cause": entry.cause},
            }


def _run_events(recording: Recording, spans: Iterable[Span], lanes: dict[str, Lanes]) -> Iterator[Event]:
    of_run: dict[tuple[int, int], list[Span]] = {}
    for span in spans:
        if span.kind in (RUN, WARNED):
            of_run.setdefault((span.job_id, span.number), []).append(span)
    causes = {(e.job_id, e.time): e.cause for e in recording.entries if e.event in ("warn", *_FLAGS)}
    for run in sorted(runs(recording), key=lambda run: (run.start, run.end, run.job_id)):
        kind = recording.record[run.job_id].type
        lane = lanes.setdefault(kind, Lanes()).lane(run.start, run.end)
        where = {"pid": _PROCESSES[kind], "tid": _thread(kind, lane)}
        own = of_run.get((run.job_id, run.number), [])
        yield {
            **_complete(f"job {job_id_text(run.job_id)}", "run", run.start, run.end),
            **where,
            "args": _run_details(recording, run, own)
        }  # fmt: skip
        if len(own) > 1 or any(span.kind == WARNED for span in own):
            for span in own:
                title = "warning" if span.kind == WARNED else count_text(size(span.nodes), "nodes")
                about = {"nodes": size(span.nodes), "ranges": format_ranges(span.nodes)}
                if span.kind == WARNED:
                    about["cause"] = causes.get((span.job_id, span.start), "")
                yield {**_complete(title, span.kind, span.start, span.end), **where, "args": about}
        if run.ending in _FLAGS:
            details = {"job": run.job_id, "cause": causes.get((run.job_id, run.end), "")}
            yield {
                "name": _FLAGS[run.ending],
                "cat": "end",
                "ph": "i",
                "s": "t",
                **where,
                "ts": run.end,
                "args": details,
            }


def _run_details(recording: Recording, run: LoggedRun, spans: list[Span]) -> dict[str, Any]:
    """Details of a run for display; times in seconds."""
    job, record = recording.job[run.job_id], recording.record[run.job_id]
    asked = job_reservations(recording, run.job_id)
    walltime = asked[run.number - 1].length if len(asked) >= run.number else requested_walltime(recording, job)
    wait = (record.start or 0) - record.queued
    return {
        "job": run.job_id,
        "run": run.number,
        "nodes": run.nodes,
        "ranges": format_ranges(spans[0].nodes) if spans else "",
        "requested_nodes": job.nodes,
        "walltime_s": walltime / SECOND,
        "submit_s": (record.submit or 0) / SECOND,
        "wait_s": wait / SECOND,
        "started": run.cause,
        "ended": run.ending,
        "user": job.user,
        "project": job.project,
    }


def _holding_events(spans: list[Span], process: str, title: str, lanes: dict[str, Lanes]) -> Iterator[Event]:
    """Holders of nodes other than runs, each from its first to its last node."""
    holdings: list[list[Span]] = []
    last: dict[int, list[Span]] = {}
    for span in spans:
        before = last.get(span.job_id)
        if before is not None and before[-1].end == span.start:
            before.append(span)
        else:
            last[span.job_id] = [span]
            holdings.append(last[span.job_id])
    for own in sorted(holdings, key=lambda own: (own[0].start, own[-1].end, own[0].job_id)):
        start, end, job_id = own[0].start, own[-1].end, own[0].job_id
        lane = lanes.setdefault(process, Lanes()).lane(start, end)
        where = {"pid": _PROCESSES[process], "tid": _thread(process, lane)}
        parts = [(f"{title} {job_id_text(abs(job_id))}", own[0].start, end, own[0])]
        if len(own) > 1:
            parts += [(count_text(size(span.nodes), "nodes"), span.start, span.end, span) for span in own]
        for name, begin, stop, span in parts:
            details = {"job": job_id, "nodes": size(span.nodes), "ranges": format_ranges(span.nodes)}
            yield {**_complete(name, span.kind, begin, stop), **where, "args": details}


def _complete(name: str, category: str, start: int, end: int) -> Event:
    return {"name": name, "cat": category, "ph": "X", "ts": start, "dur": end - start}
