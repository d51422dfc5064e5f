"""Exports say what the simulation did: each file is read by what others read it with, and compared with the records."""

from __future__ import annotations

import csv
import gzip
import json
import warnings
from collections import Counter, defaultdict
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from holdfast.experiments.cli import main
from holdfast.experiments.exports import EXPORTS, export_result
from holdfast.experiments.exports.batsim import COLUMNS
from holdfast.experiments.placement.ranges import format_ranges, size
from holdfast.experiments.placement.spans import DOWN, HELD, place_nodes
from holdfast.policies.mechanism import BASELINE, MECHANISMS
from holdfast.policies.planning.costs import CostModel
from holdfast.policies.planning.plan import ReservationPlan
from holdfast.simulator import Result, simulate
from holdfast.workloads.ground.errors import FormatWarning, InputError
from holdfast.workloads.ground.units import SECOND, to_ticks
from holdfast.workloads.hybrid.assignment import Assignment, assign
from holdfast.workloads.logs.swf import read_swf
from holdfast.workloads.outages.outage import Outage, OutageKind
from holdfast.workloads.table.job import JobType
from holdfast.workloads.table.job_table import write_job_table
from tests.golden.evalys_readings import stored_reading
from tests.shared_data import trace_file
from tests.strategies.lives import lively_mixes
from tests.strategies.mixes import Mix
from tests.strategies.outages import outages_for
from tests.support.jobs import malleable, on_demand, reseal, rigid, stochastic

NAMES = [BASELINE, *(mechanism.name for mechanism in MECHANISMS)]
ENDS = ("preempt", "expire", "complete", "kill", "cancel")
JOBS = [
    rigid(1, 1000.5, 6, 7200, 9000, setup=300, interval=1500, cost=60, user="ann", project="physics"),
    malleable(2, 1060, 6, 9000, 12000, min_nodes=2, setup=120, user="bob"),
    malleable(3, 1120, 4, 5400, 6000.25, min_nodes=2, setup=120),
    rigid(4, 1900, 8, 3600, 3600, setup=200, killed=True, user="ann"),
    on_demand(5, 5200, 10, 1800, 2400, notice=3700, estimated=5200),
    on_demand(6, 10000, 4, 1500, 2000),
    on_demand(7, None, 2, 100, notice=900, estimated=1500),
    rigid(8, 2800, 2, 1500),
]
small = settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
tables = lively_mixes(max_jobs=14)
mechanisms = st.sampled_from(NAMES)


@pytest.fixture(scope="module", params=[BASELINE, "CUP-SPAA"])
def result(request: pytest.FixtureRequest) -> Result:
    return simulate(JOBS, 16, request.param)


def runs_from_entries(result: Result) -> dict[int, list[list[tuple[int, int, int]]]]:
    """The runs of each job by its entries: each a list of (start, end, nodes) between changes."""
    now: dict[int, tuple[int, int]] = {}
    runs: dict[int, list[list[tuple[int, int, int]]]] = defaultdict(list)
    early = {job.job_id: to_ticks(job.running_since) for job in result.table if job.running_since is not None}
    for entry in result.entries:
        time = entry.time
        if entry.event == "start":
            if not runs[entry.job_id] and entry.job_id in early:
                time = early[entry.job_id] - result.origin
            runs[entry.job_id].append([])
        elif entry.event in ("shrink", "expand", *ENDS) and entry.job_id in now:
            since, nodes = now.pop(entry.job_id)
            runs[entry.job_id][-1].append((since, time, nodes))
        if entry.event in ("start", "shrink", "expand"):
            now[entry.job_id] = time, entry.after
    return runs


# SWF: read by our own reader, which other tests hold to the format; and line by line.


def fields_of(path: Path) -> list[list[str]]:
    return [line.split() for line in path.read_text().splitlines() if not line.startswith(";")]


def test_swf_is_read_back(result: Result, tmp_path: Path) -> None:
    summary = export_result(result, tmp_path / "out.swf")
    assert summary == "7 jobs"
    trace = read_swf(tmp_path / "out.swf")
    assert trace.nodes == 16
    assert trace.header["Preemption"] == "No"
    assert "left out: 1 job, never submitted (no-show)" in trace.header["Note"]
    records = {record.job_id: record for record in result.records}
    jobs = {job.job_id: job for job in JOBS}
    assert [job.job_id for job in trace.jobs] == [1, 2, 3, 4, 8, 5, 6]
    runs = runs_from_entries(result)
    for job in trace.jobs:
        record, asked = records[job.job_id], jobs[job.job_id]
        assert record.submit is not None and record.start is not None and record.end is not None
        assert (to_ticks(job.submit), to_ticks(job.wait or 0.0)) == (record.submit, record.start - record.submit)
        assert (job.nodes, job.walltime) == (asked.nodes, asked.walltime)
        ran = sum(end - start for run in runs[job.job_id] for start, end, _ in run)
        # The reader clips what ran longer than was asked for, as two runs together may.
        assert to_ticks(job.runtime) == min(ran, to_ticks(asked.walltime))
        if not record.preemptions:
            assert ran == record.end - record.start
        assert job.killed == (asked.killed or ran > to_ticks(asked.walltime))
    assert [job.user for job in trace.jobs] == ["1", "2", "", "1", "", "", ""]
    assert [job.project for job in trace.jobs] == ["1", *[""] * 6]


@small
@given(table=tables, mechanism=mechanisms)
def test_partial_executions_tell_when_a_job_ran(tmp_path: Path, table: Mix, mechanism: str) -> None:
    result = simulate(table.jobs, table.nodes, mechanism, plans=table.plans)
    if not result.entries:
        return
    path = tmp_path / "out.swf"
    export_result(result, path, "swf partial=true")
    lines = fields_of(path)
    assert all(len(line) == 18 for line in lines)
    header = [line for line in path.read_text().splitlines() if line.startswith(";")]
    assert {f"; MaxRecords: {len(lines)}", "; Preemption: Double", f"; MaxNodes: {table.nodes}"} <= set(header)
    runs = runs_from_entries(result)
    summaries = [line for line in lines if line[10] in "015"]
    submits = [to_ticks(float(line[1])) for line in summaries]
    assert submits == sorted(submits)
    for record in result.records:
        own = [line for line in lines if int(line[0]) == record.job_id]
        if record.submit is None:
            assert not own
            continue
        assert record.end is not None
        summary, *parts = own
        spans = [(run[0][0] + result.origin, run[-1][1] + result.origin) for run in runs[record.job_id]]
        assert len(parts) == (len(spans) if len(spans) > 1 else 0)
        assert summary[10] == {"completed": "1", "killed": "0", "cancelled": "5"}[record.status]
        last = "3" if record.status == "completed" else "4"
        assert [line[10] for line in parts] == (["2"] * (len(parts) - 1) + [last] if parts else [])
        assert to_ticks(float(summary[3])) == sum(end - start for start, end in spans)
        if not spans:
            assert (to_ticks(float(summary[2])), summary[4]) == (record.end - record.submit, "-1")
            continue
        # Only the first part has a submit; the others wait since the end of the one before.
        assert [line[1] for line in parts] == ([summary[1]] + ["-1"] * (len(parts) - 1) if parts else [])
        clock, found = record.submit, []
        for line in parts or [summary]:
            start = clock + to_ticks(float(line[2]))
            clock = start + to_ticks(float(line[3]))
            found.append((start, clock))
        assert found == spans
        assert clock == record.end if record.status != "cancelled" else clock <= record.end
        node_ticks = sum((end - start) * nodes for run in runs[record.job_id] for start, end, nodes in run)
        ticks = sum(end - start for start, end in spans)
        assert abs(int(summary[4]) - node_ticks / ticks) <= 0.5 if ticks else summary[4] == "-1"
    ran = sum(float(line[3]) > 0 for line in summaries)
    if ran:
        trace = read_swf(path)
        assert len(trace.jobs) == ran
        assert trace.excluded.get("partial record of the job above", 0) == len(lines) - len(summaries)


def test_a_reservation_is_a_partial_execution(tmp_path: Path) -> None:
    plan = ReservationPlan([20, 40], [True, False], CostModel(checkpoint=7, restart=5))
    jobs = [stochastic(1, 0, 2, 30.0, "p"), rigid(2, 0, 2, 10, 15)]
    result = simulate(jobs, 2, plans={"p": plan})
    export_result(result, tmp_path / "out.swf", "swf partial=true")
    summary, first, second, other = fields_of(tmp_path / "out.swf")
    # It asks for 20 + 7 s, waits for the other job, and asks for 5 + 20 s, of which it needs 15.
    assert summary[:5] == ["1", "0", "0", "42", "2"]
    assert summary[8] == "52"
    assert first[1:4] == ["0", "0", "27"]
    assert second[1:4] == ["-1", "10", "15"]
    assert [first[8], second[8], first[10], second[10]] == ["27", "25", "2", "3"]
    assert other[:4] == ["2", "0", "27", "10"]
    assert [line[14] for line in (summary, other)] == ["4", "1"]


def test_the_size_of_a_resized_job_is_its_average(tmp_path: Path) -> None:
    """4 nodes for 80 s and 2 for 20 s are 3.6 on average."""
    jobs = [malleable(1, 0, 4, 90, min_nodes=2), on_demand(2, 80, 2, 50)]
    export_result(simulate(jobs, 4, "N-SPAA"), tmp_path / "out.swf")
    assert [line[:5] for line in fields_of(tmp_path / "out.swf")] == [
        ["1", "0", "0", "100", "4"],
        ["2", "80", "0", "50", "2"],
    ]


# Batsim and evalys.


@pytest.mark.parametrize("name", ["out.swf", "jobs.csv"])
def test_formats_without_eligible_times_say_that_holds_are_lost(tmp_path: Path, name: str) -> None:
    jobs = [rigid(1, 0, 2, 60), rigid(2, 5, 2, 60, eligible=500.0), rigid(3, 5, 2, 60, eligible=5.0)]
    path = tmp_path / name
    with pytest.warns(FormatWarning, match="has no field for eligible times: 1 job was held"):
        export_result(simulate(jobs, 2), path)
    if name.endswith("swf"):
        assert "; Note: SWF has no field for eligible times: 1 job was held" in path.read_text()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        export_result(simulate(jobs[::2], 2), path)
        export_result(simulate(jobs, 2), tmp_path / "out.json")


def test_a_command_says_in_one_line_that_holds_are_lost(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table, out = tmp_path / "table.csv", tmp_path / "out"
    write_job_table([rigid(1, 0, 2, 60, eligible=90.0)], table)
    assert main(["run", str(table), "--nodes", "2", "--mechanism", "baseline", "--events", "-o", str(out)]) == 0
    capsys.readouterr()
    assert main(["export", str(out), "-o", str(tmp_path / "a.swf")]) == 0
    (line,) = capsys.readouterr().err.splitlines()
    assert line == (
        f"holdfast export: warning: {tmp_path / 'a.swf'}: SWF has no field for eligible times: 1 job was held after "
        "its submit, which counts as waiting here"
    )


def rows_of(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def nodes_of(text: str) -> list[int]:
    """Node numbers, from the form "0-3 7"."""
    found: list[int] = []
    for part in text.split():
        low, _, high = part.partition("-")
        found += range(int(low), int(high or low) + 1)
    return found


@small
@given(data=st.data(), table=tables, mechanism=mechanisms)
def test_batsim_lines_are_what_batsim_says_of_them(
    tmp_path: Path, data: st.DataObject, table: Mix, mechanism: str
) -> None:
    outages = data.draw(outages_for(table.jobs, table.nodes)) if data.draw(st.booleans()) else []
    result = simulate(table.jobs, table.nodes, mechanism, plans=table.plans, outages=outages)
    if not result.entries:
        return
    path = tmp_path / "out_jobs.csv"
    export_result(result, path)
    assert path.read_text().partition("\n")[0] == ",".join(COLUMNS)
    rejected = [row for row in rows_of(path) if row["final_state"] == "REJECTED"]
    rows = [row for row in rows_of(path) if row["final_state"] != "REJECTED"]
    ticks = [{key: to_ticks(float(row[key])) for key in COLUMNS if key.endswith("_time")} for row in rows]
    on_node: dict[int, list[tuple[int, int]]] = defaultdict(list)
    steps: Counter[int] = Counter()
    last: dict[str, tuple[int, int]] = {}
    for row, time in zip(rows, ticks, strict=True):
        start, end, submit = time["starting_time"], time["finish_time"], time["submission_time"]
        assert submit <= start < end
        assert time["execution_time"] == end - start
        assert time["waiting_time"] == start - submit
        assert time["turnaround_time"] == end - submit
        assert float(row["stretch"]) == pytest.approx((end - submit) / (end - start), abs=1e-6)
        job_id, _, number = row["job_id"].partition("#")
        # Parts are numbered, and each is submitted when the one before is over.
        assert int(number or 0) == (last[job_id][0] + 1 if job_id in last else 0)
        if job_id in last:
            assert submit == last[job_id][1]
            assert json.loads(row["metadata"]) == {"parent_job": job_id, "nb_resubmit": int(number)}
        else:
            assert not row["metadata"]
        last[job_id] = int(number or 0), end
        nodes = nodes_of(row["allocated_resources"])
        assert nodes == sorted(set(nodes))
        for node in nodes:
            on_node[node].append((start - result.origin, end - result.origin))
        steps[start - result.origin] += len(nodes)
        steps[end - result.origin] -= len(nodes)
    for node, taken in on_node.items():
        assert 0 <= node < table.nodes
        assert all(before[1] <= after[0] for before, after in pairwise(sorted(taken)))
    for sample, after in pairwise(result.samples):
        if sample[0] < after[0]:
            assert sum(change for time, change in steps.items() if time <= sample[0]) == sample[1]
    final = {row["job_id"].partition("#")[0]: row for row in [*rows, *rejected]}
    # What ended before the replay began, or as soon as it did, was never on nodes.
    opened = (result.begin or result.origin) - result.origin
    runs = runs_from_entries(result)
    ever = {str(job) for job in runs if any(end > max(start, opened) for own in runs[job] for start, end, _ in own)}
    assert {row["job_id"] for row in rejected} == {str(r.job_id) for r in result.records if r.submit is not None} - ever
    for record in result.records:
        assert (str(record.job_id) in final) == (record.submit is not None)
        if record.submit is None:
            continue
        row = final[str(record.job_id)]
        assert (row["profile"], int(row["requested_number_of_resources"])) == (record.type, record.nodes)
        if record.status == "cancelled":
            assert row["final_state"] in ("REJECTED", "COMPLETED_KILLED") or row["profile"] == "stochastic"
            assert row["success"] == "0"
        else:
            assert to_ticks(float(row["finish_time"])) == record.end
            assert (row["success"], row["final_state"]) == ("1", "COMPLETED_SUCCESSFULLY")


def test_batsim_states(tmp_path: Path) -> None:
    jobs = [rigid(1, 0, 4, 60, killed=True), rigid(2, 0, 4, 60, 90), on_demand(3, 70, 4, 10)]
    export_result(simulate(jobs, 4, "N-PAA"), tmp_path / "jobs.csv")
    states = [
        (row["job_id"], row["success"], row["final_state"], row["requested_time"])
        for row in rows_of(tmp_path / "jobs.csv")
    ]
    assert states == [
        ("1", "0", "COMPLETED_WALLTIME_REACHED", "60"),
        ("2", "0", "COMPLETED_KILLED", "90"),
        ("2#1", "1", "COMPLETED_SUCCESSFULLY", "90"),
        ("3", "1", "COMPLETED_SUCCESSFULLY", "10"),
    ]


def test_evalys_agrees(result: Result, tmp_path: Path) -> None:
    export_result(result, tmp_path / "jobs.csv")
    reading = stored_reading(tmp_path / "jobs.csv", 16)
    # Utilisation: the load of evalys after each instant is the number of busy nodes.
    load = {to_ticks(time) - result.origin: nodes for time, nodes in reading["load"]}
    course = {sample[0]: sample[1] for sample in result.samples}
    busy = area = before = 0
    for time in sorted({*load, *course}):
        area += busy * (time - before)
        busy, before = load.get(time, busy), time
        assert course.get(time, busy) == busy
    occupied = sum(result.accounting) - result.accounting.idle - result.accounting.held
    assert area == occupied
    assert reading["mean"] * (max(load) - min(load)) == pytest.approx(occupied, rel=1e-12)
    # Gantt: the rectangles that evalys draws are where our spans are, job by job and node by node.
    drawn: dict[tuple[int, int], list[tuple[int, int]]] = defaultdict(list)
    for name, left, width, low, height in reading["bars"]:
        start = to_ticks(left)
        for node in range(low, low + height):
            drawn[int(name.partition("#")[0]), node].append((start, start + to_ticks(width)))
    placed: dict[tuple[int, int], list[tuple[int, int]]] = defaultdict(list)
    for span in place_nodes(result):
        for node in nodes_of(format_ranges(span.nodes)) if span.kind != HELD else ():
            placed[span.job_id, node].append((span.start + result.origin, span.end + result.origin))
    assert {key: join_spans(spans) for key, spans in drawn.items()} == {
        key: join_spans(spans) for key, spans in placed.items()
    }


def test_what_a_grid_makes_nothing_of_is_left_out(tmp_path: Path) -> None:
    jobs = [malleable(1, 0, 4, 10, min_nodes=2), on_demand(2, 5, 2, 0.004), rigid(3, 0.6, 2, 7)]
    export_result(simulate(jobs, 6, "N-SPAA"), tmp_path / "exact.csv", "batsim")
    export_result(simulate(jobs, 6, "N-SPAA"), tmp_path / "jobs.csv", "batsim grid=1")
    columns = ("job_id", "submission_time", "starting_time", "finish_time", "final_state", "allocated_resources")
    exact, rounded = (
        [tuple(row[column] for column in columns) for row in rows_of(tmp_path / name)]
        for name in ("exact.csv", "jobs.csv")
    )
    assert exact == [
        ("1", "0", "0", "5", "COMPLETED_KILLED", "0-3"),
        ("1#1", "5", "5", "5.004", "COMPLETED_KILLED", "0-1"),
        ("1#2", "5.004", "5.004", "10.002", "COMPLETED_SUCCESSFULLY", "0-3"),
        ("2", "5", "5", "5.004", "COMPLETED_SUCCESSFULLY", "2-3"),
        ("3", "0.6", "0.6", "7.6", "COMPLETED_SUCCESSFULLY", "4-5"),
    ]
    assert rounded == [
        ("1", "0", "0", "5", "COMPLETED_KILLED", "0-3"),
        ("1#1", "5", "5", "10", "COMPLETED_SUCCESSFULLY", "0-3"),
        ("3", "1", "1", "8", "COMPLETED_SUCCESSFULLY", "4-5"),
    ]
    # Where nothing is left of the last part, the one before has its end.
    jobs = [malleable(1, 0, 4, 10, min_nodes=2), on_demand(2, 9.8, 2, 0.004)]
    export_result(simulate(jobs, 4, "N-SPAA"), tmp_path / "jobs.csv", "batsim grid=1")
    assert [(row["job_id"], row["finish_time"], row["success"]) for row in rows_of(tmp_path / "jobs.csv")] == [
        ("1", "10", "1")
    ]
    with pytest.raises(InputError, match="grid must be 0 or a power of two up to 64, not 3"):
        EXPORTS["batsim grid=3"]


@pytest.mark.system
def test_on_a_grid_of_times_evalys_needs_no_rounding(week: Result, tmp_path: Path) -> None:
    export_result(week, tmp_path / "jobs.csv", "batsim grid=64")
    export_result(week, tmp_path / "exact.csv", "batsim")
    reading = stored_reading(tmp_path / "jobs.csv", week.nodes)
    assert reading["highest"] == max(sample[1] for sample in week.samples)
    for column in ("starting_time", "finish_time"):
        exact, rounded = (
            [float(row[column]) for row in rows_of(tmp_path / f"{name}.csv")] for name in ("exact", "jobs")
        )
        assert rounded == [round(time * 64) / 64 for time in exact]
    # What happened in one instant happens in one instant: no more of them than there were.
    assert reading["instants"] <= len({sample[0] for sample in week.samples})


def join_spans(spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Ascending, and those that touch made one."""
    found: list[tuple[int, int]] = []
    for start, end in sorted(spans):
        if found and found[-1][1] == start:
            found[-1] = found[-1][0], end
        else:
            found.append((start, end))
    return found


# Perfetto: the Trace Event Format, by its definition.

#: What each phase needs beside a name, a phase and a process; those that are not listed are not used.
PHASES = {
    "X": {"tid": int, "ts": (int, float), "dur": (int, float)},
    "i": {"tid": int, "ts": (int, float), "s": str},
    "C": {"ts": (int, float), "args": dict},
    "M": {"args": dict},
}
METADATA = {
    "process_name": ("name", str),
    "process_labels": ("labels", str),
    "process_sort_index": ("sort_index", int),
    "thread_name": ("name", str),
    "thread_sort_index": ("sort_index", int),
}


def faults_of(document: Any) -> list[str]:
    """What in a document is not the Trace Event Format."""
    if not isinstance(document, dict) or not isinstance(document.get("traceEvents"), list):
        return ["no object with traceEvents"]
    faults = [] if document.get("displayTimeUnit", "ms") in ("ms", "ns") else ["displayTimeUnit"]
    threads: dict[tuple[int, int], list[tuple[float, float]]] = defaultdict(list)
    for number, event in enumerate(document["traceEvents"]):
        phase = event.get("ph")
        if phase not in PHASES:
            faults.append(f"{number}: phase {phase!r}")
            continue
        needed = {"name": str, "pid": int, **PHASES[phase]}
        wrong = [key for key, kind in needed.items() if not isinstance(event.get(key), kind) or event[key] is True]
        faults += [f"{number}: {key} is {event.get(key)!r}" for key in wrong]
        if wrong:
            continue
        faults += [f"{number}: {key} is negative" for key in ("ts", "dur") if event.get(key, 0) < 0]
        if not isinstance(event.get("args", {}), dict) or not isinstance(event.get("cat", ""), str):
            faults.append(f"{number}: args or cat")
        if phase == "i" and event["s"] not in ("g", "p", "t"):
            faults.append(f"{number}: scope {event['s']!r}")
        if phase == "C" and not (
            event["args"] and all(type(value) in (int, float) for value in event["args"].values())
        ):
            faults.append(f"{number}: a counter counts numbers")
        if phase == "M":
            key, kind = METADATA.get(event["name"], ("", object))
            if not key or type(event["args"].get(key)) is not kind:
                faults.append(f"{number}: metadata {event['name']}")
        if phase == "X":
            threads[event["pid"], event["tid"]].append((event["ts"], event["dur"]))
    if len({tid for _, tid in threads}) < len(threads):
        faults.append("two processes share the number of a thread")
    for where, spans in threads.items():
        faults += [f"{where}: {fault}" for fault in crossings(spans)]
    return faults


def crossings(spans: list[tuple[float, float]]) -> list[str]:
    """Events of one thread must nest: whoever begins within another ends within it. They stand in order of time."""
    faults: list[str] = []
    ends: list[float] = []
    for start, duration in spans:
        while ends and ends[-1] <= start:
            ends.pop()
        if ends and start + duration > ends[-1]:
            faults.append(f"{start} + {duration} crosses the end {ends[-1]}")
        ends.append(start + duration)
    starts = [start for start, _ in spans]
    return faults if starts == sorted(starts) else [*faults, "not in the order of time"]


def test_the_validator_finds_faults() -> None:
    event = {"name": "a", "ph": "X", "pid": 1, "tid": 1, "ts": 0, "dur": 5}

    def faults(*events: dict[str, Any]) -> int:
        return len(faults_of({"traceEvents": list(events)}))

    assert faults_of([event])
    assert not faults(event, {**event, "ts": 1, "dur": 4}, {**event, "ts": 5})
    assert faults(event, {**event, "ts": 1}) == 1
    assert faults(event, {**event, "pid": 2}) == 1
    assert faults({**event, "ts": 9}, event) == 1
    for key, value in (("ph", "Q"), ("dur", None), ("dur", -1), ("ts", "0"), ("tid", None), ("name", 3), ("args", [])):
        assert faults({**event, key: value}) == 1, key
    assert faults({**event, "ph": "i"}) == 1
    assert faults({**event, "ph": "i", "s": "x"}) == 1
    assert not faults({**event, "ph": "i", "s": "t"})
    assert faults({**event, "ph": "C", "args": {}}) == 1
    assert faults({**event, "ph": "C", "args": {"value": "1"}}) == 1
    assert faults({**event, "ph": "M", "args": {"name": "x"}}) == 1
    assert not faults({**event, "ph": "M", "name": "thread_name", "args": {"name": "x"}})


@small
@given(data=st.data(), table=tables, mechanism=mechanisms)
def test_perfetto_traces_are_legal_and_complete(
    tmp_path: Path, data: st.DataObject, table: Mix, mechanism: str
) -> None:
    outages = data.draw(outages_for(table.jobs, table.nodes)) if data.draw(st.booleans()) else []
    result = simulate(table.jobs, table.nodes, mechanism, plans=table.plans, outages=outages)
    if not result.entries:
        return
    export_result(result, tmp_path / "trace.json")
    document = json.loads((tmp_path / "trace.json").read_text())
    assert faults_of(document) == []
    events = document["traceEvents"]
    names = {event["pid"]: event["args"]["name"] for event in events if event["name"] == "process_name"}
    assert {event["pid"] for event in events} == set(names)
    threads = {(event["pid"], event["tid"]) for event in events if event["name"] == "thread_name"}
    assert {(event["pid"], event["tid"]) for event in events if event["ph"] in "Xi"} <= threads
    # A complete event for each run, in the process of its type.
    runs = runs_from_entries(result)
    kinds = {record.job_id: record.type for record in result.records}
    found = Counter(
        (event["args"]["job"], event["ts"], event["ts"] + event["dur"], names[event["pid"]])
        for event in events
        if event["ph"] == "X" and event["cat"] == "run" and event["name"].startswith("job ")
    )
    assert found == Counter(
        (job_id, run[0][0], run[-1][1], f"{kinds[job_id]} jobs") for job_id, own in runs.items() for run in own
    )
    # Counters: what they show at the end of each instant is the sample.
    shown: dict[str, int] = {}
    counted = iter([event for event in events if event["ph"] == "C"])
    event = next(counted, None)
    last = {sample[0]: sample for sample in result.samples}
    down = dict(result.down)
    out = 0
    for time in sorted(last):
        while event is not None and event["ts"] <= time:
            shown[event["name"]] = event["args"]["value"]
            event = next(counted, None)
        _, busy, held, waiting, nodes = last[time]
        out = down.get(time, out)
        expected = {
            "busy nodes": busy, "held nodes": held, "idle nodes": table.nodes - busy - held - out,
            "waiting jobs": waiting, "waiting nodes": nodes,
        }  # fmt: skip
        assert {name: shown[name] for name in expected} == expected
        assert shown.get("down nodes", 0) == out
    assert event is None
    # Holders: as much node-time as in the placement.
    spans = place_nodes(result)
    for kind in (HELD, DOWN):
        outer = [
            event for event in events if event["ph"] == "X" and event["cat"] == kind and " node" not in event["name"]
        ]
        total = sum(span.end - span.start for span in spans if span.kind == kind)
        assert sum(event["dur"] for event in outer) == total
    instants = Counter(event["name"].split()[0] for event in events if event["ph"] == "i")
    logged = Counter(entry.event for entry in result.entries if kinds.get(entry.job_id) is JobType.ON_DEMAND)
    assert instants["preempted"] == sum(entry.event == "preempt" for entry in result.entries)
    assert instants["arrival"] == logged["submit"]
    assert all(instants[name] == logged[name] for name in ("notice", "time-out", "wait", "gather", "withdraw"))
    assert instants["withdrawn"] == sum(entry.event == "cancel" and entry.before > 0 for entry in result.entries)


def test_a_resized_and_warned_run_tells_of_it(tmp_path: Path) -> None:
    jobs = [malleable(1, 0, 8, 600, min_nodes=4), on_demand(2, 60, 3, 60), on_demand(3, 200, 8, 60)]
    export_result(simulate(jobs, 8, "N-SPAA"), tmp_path / "trace.json")
    events = json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    slices = [(event["name"], event["ts"] // SECOND, event["dur"] // SECOND) for event in events if event["ph"] == "X"]
    assert slices[:6] == [
        ("job 1", 0, 320),
        ("8 nodes", 0, 60),
        ("5 nodes", 60, 60),
        ("job 2", 60, 60),
        ("8 nodes", 120, 80),
        ("warning", 200, 120),
    ]
    (preempted,) = [event for event in events if event["name"] == "preempted"]
    assert (preempted["ts"], preempted["args"]["cause"]) == (320 * SECOND, "warning over")
    (warning,) = [event for event in events if event["name"] == "warning"]
    assert warning["args"] == {"nodes": 8, "ranges": "0-7", "cause": "for 3"}


# Parquet.


def test_parquet_tables_are_those_of_the_result(result: Result, tmp_path: Path) -> None:
    pd = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow", reason="pyarrow is not installed (pip install 'holdfast[parquet]')")
    summary = export_result(result, tmp_path / "out", "parquet")
    tables = {
        name: pd.read_parquet(tmp_path / "out" / f"{name}.parquet") for name in ("jobs", "events", "timeline", "nodes")
    }
    words = ("jobs", "events", "instants", "stays on nodes")
    assert summary == ", ".join(f"{len(table):,} {what}" for table, what in zip(tables.values(), words, strict=True))
    jobs = result.jobs
    for name in (
        "job_id",
        "type",
        "submit",
        "start",
        "end",
        "nodes",
        "turnaround",
        "wait",
        "status",
        "lost_node_seconds",
    ):
        assert tables["jobs"][name].astype(object).where(tables["jobs"][name].notna(), None).tolist() == (
            jobs[name].astype(object).where(jobs[name].notna(), None).tolist()
        ), name
    assert tables["jobs"]["walltime"].tolist() == [job.walltime for job in JOBS]
    assert tables["jobs"]["min_nodes"].isna().sum() == 6
    for name, frame in (("events", result.events), ("timeline", result.timeline())):
        assert list(tables[name]) == list(frame)
        assert tables[name].to_numpy().tolist() == frame.to_numpy().tolist()
    assert tables["nodes"]["ranges"].tolist() == [format_ranges(span.nodes) for span in place_nodes(result)]
    assert tables["nodes"]["nodes"].tolist() == [size(span.nodes) for span in place_nodes(result)]


def test_parquet_counts_no_node_that_is_down_as_idle(tmp_path: Path) -> None:
    """A job on 4 of 10 nodes until 100; 3 nodes are in maintenance from 20 to 60."""
    pd = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow", reason="pyarrow is not installed (pip install 'holdfast[parquet]')")
    away = [Outage(OutageKind.MAINTENANCE, 20, 60, 3)]
    export_result(simulate([rigid(1, 0, 4, 100)], 10, outages=away), tmp_path / "out", "parquet")
    timeline = pd.read_parquet(tmp_path / "out" / "timeline.parquet")
    assert timeline[["time", "busy", "idle", "down"]].to_numpy().tolist() == [
        [0, 4, 6, 0],
        [20, 4, 3, 3],
        [60, 4, 6, 0],
        [100, 0, 10, 0],
    ]


def test_parquet_knows_no_wait_of_a_withdrawn_job(tmp_path: Path) -> None:
    pd = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow", reason="pyarrow is not installed (pip install 'holdfast[parquet]')")
    jobs = [rigid(1, 0, 4, 100), rigid(2, 50, 3, 200, cancelled_at=180.0)]
    export_result(simulate(jobs, 10), tmp_path / "out", "parquet")
    table = pd.read_parquet(tmp_path / "out" / "jobs.parquet")
    assert table[["start", "wait", "turnaround"]].iloc[0].tolist() == [0, 0, 100]
    assert table["wait"].isna().tolist() == table["turnaround"].isna().tolist() == [False, True]


def test_parquet_needs_pyarrow(result: Result, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "pyarrow", None)
    with pytest.raises(InputError, match=r'where pyarrow is installed \(pip install "holdfast\[parquet\]"\)'):
        export_result(result, tmp_path / "out", "parquet")
    assert not (tmp_path / "out").exists()


# All of them, and the command.


@pytest.mark.parametrize("name", list(EXPORTS))
def test_same_result_same_bytes(name: str, result: Result, tmp_path: Path) -> None:
    paths = [tmp_path / "one", tmp_path / "other"]
    for path in paths:
        export_result(simulate(JOBS, 16, result.mechanism), path, name)
    files = [sorted(path.rglob("*")) if path.is_dir() else [path] for path in paths]
    assert [file.read_bytes() for file in files[0]] == [file.read_bytes() for file in files[1]]


@pytest.mark.parametrize("name", sorted({*EXPORTS} - {"swf"}))
def test_an_event_log_is_needed(name: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no event log"):
        export_result(simulate(JOBS, 16, events=False), tmp_path / "out", name)
    assert not list(tmp_path.iterdir())


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_job_table(JOBS, tmp_path / "table.csv")
    out = tmp_path / "out"
    words = ["run", str(tmp_path / "table.csv"), "-o", str(out), "--nodes", "16"]
    assert main([*words, "--mechanism", "baseline,CUP-SPAA", "--events"]) == 0
    capsys.readouterr()
    assert main(["export", str(out), "-o", str(tmp_path / "t.json.gz"), "--mechanism", "CUP-SPAA"]) == 0
    assert f"of CUP-SPAA written to {tmp_path / 't.json.gz'}" in capsys.readouterr().out
    document = json.loads(gzip.decompress((tmp_path / "t.json.gz").read_bytes()))
    assert document["otherData"]["mechanism"] == "CUP-SPAA"
    export_result(simulate(JOBS, 16, "CUP-SPAA"), tmp_path / "same.json")
    assert json.loads((tmp_path / "same.json").read_text()) == document

    def refusal(*words: str) -> str:
        before = sorted(tmp_path.iterdir())
        assert main(["export", *words]) == 2
        assert sorted(tmp_path.iterdir()) == before
        (line,) = capsys.readouterr().err.splitlines()
        return line

    here = ["--mechanism", "baseline"]
    reseal(out, epoch=1_600_000_000.0)
    assert main(["export", str(out), "-o", str(tmp_path / "t.swf"), *here]) == 0
    assert read_swf(tmp_path / "t.swf").header["UnixStartTime"] == "1600000000"
    capsys.readouterr()
    assert "choose one with --mechanism" in refusal(str(out), "-o", str(tmp_path / "x.swf"))
    assert "name the format with --format, one of swf, batsim" in refusal(
        str(out), "-o", str(tmp_path / "x.txt"), *here
    )
    unknown = refusal(str(out), "-o", str(tmp_path / "x"), "--format", "swff", *here)
    assert "unknown export format 'swff': did you mean swf?" in unknown
    assert "is not a directory" in refusal(str(out), "-o", str(tmp_path / "no" / "x.swf"), *here)
    assert "must be a directory" in refusal(str(out), "-o", str(tmp_path / "x.parquet"), *here)
    (out / "events-baseline.csv").unlink()
    assert "events-baseline.csv: is missing" in refusal(str(out), "-o", str(tmp_path / "x.swf"), *here)
    reseal(out)
    assert "'holdfast run --events' writes: run it again" in refusal(str(out), "-o", str(tmp_path / "x.csv"), *here)


# Real data.


@pytest.fixture(scope="module")
def week() -> Result:
    """The first week of Theta 2022, under the mechanism that uses everything."""
    trace = read_swf(trace_file("theta_2022.swf.gz")).on_machine(4392)
    first = min(job.submit for job in trace.jobs)
    kept = tuple(job for job in trace.jobs if job.submit < first + 7 * 86400)
    jobs = list(assign(replace(trace, jobs=kept), Assignment(group_by="campaign"), seed=1))
    return simulate(jobs, 4392, "CUP-SPAA")


@pytest.mark.system
def test_a_week_of_theta(week: Result, tmp_path: Path) -> None:
    result = week
    for name, path in (("swf", "week.swf"), ("batsim", "week.csv"), ("perfetto", "week.json")):
        export_result(result, tmp_path / path, name)
    came = [record for record in result.records if record.submit is not None]
    assert len(read_swf(tmp_path / "week.swf").jobs) == len(came) > 300
    assert faults_of(json.loads((tmp_path / "week.json").read_text())) == []
    rows = rows_of(tmp_path / "week.csv")
    node_ticks = sum(to_ticks(float(row["execution_time"])) * len(nodes_of(row["allocated_resources"])) for row in rows)
    accounting = result.accounting
    assert node_ticks == sum(accounting) - accounting.held - accounting.idle - accounting.down
    assert any("#" in row["job_id"] for row in rows)
