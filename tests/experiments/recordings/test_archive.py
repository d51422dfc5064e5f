"""What a run has left in a directory is what it was in memory, and what is not that is refused in a sentence."""

from __future__ import annotations

import shutil
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest

from holdfast.experiments.cli import main
from holdfast.experiments.recordings.archive import _within_calendar, read_recording
from holdfast.experiments.recordings.run_file import open_run
from holdfast.experiments.tables import write_csv
from holdfast.policies.planning.plan_book import Planner
from holdfast.simulator import Result, simulate
from holdfast.simulator.results.recording import has_down_nodes, job_reservations, requested_walltime, require_events
from holdfast.simulator.results.records import JobRecord, Records
from holdfast.simulator.results.reservations import stochastic_rows
from holdfast.simulator.results.schema import JOBS as JOBS_TABLE
from holdfast.workloads.ground.errors import InputError
from holdfast.workloads.ground.units import SECOND
from holdfast.workloads.logs.swf import write_swf
from holdfast.workloads.logs.trace import Trace, TraceJob
from holdfast.workloads.outages.file import write_outages
from holdfast.workloads.outages.outage import Outage, OutageKind
from holdfast.workloads.table.job import Job, JobType
from holdfast.workloads.table.job_table import read_job_table, write_job_table
from tests.support.jobs import malleable, on_demand, reseal, rigid, stochastic

JOBS = [
    rigid(1, 1000.5, 6, 7200, 9000, setup=300, interval=1500, cost=60),
    malleable(2, 1060, 6, 9000, 12000, min_nodes=2, setup=120, user="ann", project="physics"),
    malleable(3, 1120, 4, 5400, 6000.25, min_nodes=2, setup=120),
    rigid(4, 1900, 8, 3600, 4000, setup=200, trace_runtime=3500, trace_walltime=3900),
    on_demand(5, 5200, 10, 1800, 2400, notice=3700, estimated=5200),
    on_demand(6, 10000, 4, 1500, 2000),
    on_demand(7, None, 2, 100, notice=900, estimated=1500),
    rigid(8, 2800, 2, 1500, killed=True),
]
#: Windows: start, end [s], nodes.
AWAY = ((3000.0, 4000.0, 5), (4000.0, 4500.0, 5), (1e6, 2e6, 3))


def run(tmp_path: Path, jobs: list[Job], *words: str) -> Path:
    write_job_table(jobs, tmp_path / "table.csv")
    assert (
        main(["run", str(tmp_path / "table.csv"), "-o", str(tmp_path / "out"), "--nodes", "16", "--force", *words]) == 0
    )
    return tmp_path / "out"


def stored_fields(result: Result) -> dict[str, Any]:
    """What a directory tells of a result, too."""
    measured = ("booked", "losses", "latencies", "engine_seconds", "planning_seconds", "withdrawn", "malleable_setup")
    found = {item.name: getattr(result, item.name) for item in fields(result)}
    found["stochastic"] = [course._replace(known_plan=None) for course in result.stochastic]
    return {name: value for name, value in found.items() if name not in ("epoch", "trusted", "outages", *measured)}


@pytest.mark.parametrize("mechanism", ["baseline", "CUP-SPAA"])
def test_a_directory_is_read_back_as_it_was_in_memory(tmp_path: Path, mechanism: str) -> None:
    lively = [replace(job, running_since=job.submit) if job.job_id == 1 else job for job in JOBS]
    away = ["--outages", str(tmp_path / "outages.csv")]
    for jobs, words in ((JOBS, []), ([*lively, replace(rigid(9, 2900, 2, 500), cancelled_at=2950.0)], away)):
        outages = [Outage(OutageKind.MAINTENANCE, start, end, nodes) for start, end, nodes in AWAY if words]
        write_outages(outages, tmp_path / "outages.csv")
        place = run(tmp_path, jobs, "--mechanism", "all", "--events", *words)
        table = read_job_table(tmp_path / "table.csv").jobs
        result = simulate(table, 16, mechanism, decisions=True, outages=outages)
        found = read_recording(place, mechanism, decisions=True)
        assert stored_fields(found) == stored_fields(result)
        assert has_down_nodes(found) == has_down_nodes(result) == bool(words)
        without = stored_fields(simulate(table, 16, mechanism, events=False, engine="simpy"))
        without |= {"samples": [], "down": [], "options": result.options}
        assert stored_fields(read_recording(place, mechanism, events=False)) | {"records": 0} == without | {
            "records": 0
        }
    with pytest.raises(InputError, match="a result that was read back has no metrics"):
        found.summary()
    assert found.timeline().equals(result.timeline())
    assert found.events.equals(result.events)
    assert found.jobs.attrs["units"]["lost_node_seconds"] == "node-s"


def test_stochastic_jobs_come_with_their_reservations(tmp_path: Path) -> None:
    jobs = [*JOBS, stochastic(9, 1100, 3, 4000.0, "masi", walltime=3000)]
    place = run(tmp_path, jobs, "--mechanism", "CUA-PAA", "--events")
    table = read_job_table(tmp_path / "table.csv").jobs
    found, expected = read_recording(place), simulate(table, 16, "CUA-PAA", planner=Planner())
    assert len(expected.reservations) > 1
    assert stored_fields(found) == stored_fields(expected)
    assert job_reservations(found, 9) == expected.stochastic[0].reservations
    with pytest.raises(InputError, match="has no plans"):
        list(stochastic_rows(found))


def test_the_jobs_of_a_trace_are_kept_or_made_again(tmp_path: Path) -> None:
    trace = Trace(tuple(TraceJob(number, 10.0 * number, 2, 30.0, 40.0) for number in range(1, 9)), nodes=4)
    write_swf(trace, tmp_path / "trace.swf")
    for words in (["--mechanism", "baseline"], ["--mechanism", "N-PAA"]):
        out = tmp_path / "-".join(words[1:])
        for events in ([], ["--events"]):
            assert main(["run", str(tmp_path / "trace.swf"), "-o", str(out), "--force", *words, *events]) == 0
            found = read_recording(out, events=bool(events))
            assert [job.job_id for job in found.table] == list(range(1, 9))
            assert found.nodes == 4
        # With the event log, a directory needs nothing else.
        (tmp_path / "trace.swf").rename(tmp_path / "elsewhere.swf")
        assert read_recording(out) == found
        (tmp_path / "elsewhere.swf").rename(tmp_path / "trace.swf")
    out = tmp_path / "baseline"
    for changed in ({"format": 3}, {"procs_per_node": [1]}):
        reseal(out, input=open_run(out).content["input"] | changed, job_table=None)
        with pytest.raises(InputError, match="must say with format and procs_per_node how the trace was read"):
            read_recording(out)


def test_an_input_in_the_directory_stays_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    table = tmp_path / "out" / "jobs.csv"
    table.write_text("job_id,type,submit,nodes,runtime,walltime\n1,rigid,0,1,60,60.000\n")
    before = table.read_bytes()
    words = ["--nodes", "2", "--mechanism", "baseline", "--events"]
    assert main(["run", str(table), "-o", str(tmp_path / "out"), *words]) == 0
    assert table.read_bytes() == before
    assert read_recording(tmp_path / "out").records[0].end == 60_000_000


def test_what_does_not_belong_together_is_refused(tmp_path: Path) -> None:
    place = run(tmp_path, JOBS, "--mechanism", "baseline,N-PAA", "--events")

    def refusal(*, mechanism: str | None = "N-PAA", events: bool = True) -> str:
        with pytest.raises(InputError) as caught:
            read_recording(place, mechanism, events=events)
        shutil.rmtree(place)
        shutil.copytree(tmp_path / "kept", place)
        return str(caught.value)

    shutil.copytree(place, tmp_path / "kept")
    assert "choose one with --mechanism" in refusal(mechanism=None)
    assert "not of CUP-PAA" in refusal(mechanism="CUP-PAA")
    (place / "events-N-PAA.csv").unlink()
    assert "events-N-PAA.csv: is missing (run.json names its SHA-256)" in refusal()
    for name, sentence in (
        ("events-N-PAA.csv", "has no events-N-PAA.csv, which 'holdfast run --events' writes"),
        ("timeline-N-PAA.csv", "has no timeline-N-PAA.csv, which 'holdfast run --events' writes"),
        ("jobs.csv", "has no jobs.csv, the simulated job table"),
    ):
        (place / name).unlink()
        reseal(place)
        assert sentence in refusal()
    shutil.copy(place / "events-baseline.csv", place / "events-N-PAA.csv")
    reseal(place)
    assert "is not the event log of jobs-N-PAA.csv" in refusal()
    write_job_table(JOBS[1:], place / "jobs.csv")
    reseal(place)
    assert "jobs-N-PAA.csv:2: job 1 is not among the jobs" in refusal()
    write_job_table(JOBS[::-1], place / "jobs.csv")
    reseal(place)
    assert "in the same order" in refusal()
    for key, value, sentence in (
        ("nodes", None, "positive number of nodes"),
        ("options", 3, "must name the options of the simulation by their names under 'options'"),
        ("options", {"order": 3}, "order must be a name"),
        ("epoch", "monday", "epoch must be a number of seconds since 1970, or null"),
        ("mechanisms", [], "must name input and mechanisms"),
    ):
        reseal(place, **{key: value})
        found = refusal()
        assert sentence in found
        assert "run.json" in found
    lines = (place / "events-N-PAA.csv").read_text().splitlines(keepends=True)
    (place / "events-N-PAA.csv").write_text("".join([*lines[:3], "soon,start,1,0,6,\n", *lines[4:]]))
    reseal(place)
    assert "events-N-PAA.csv:4: time must be a finite number, not 'soon'" in refusal()
    (place / "run.json").unlink()
    assert "there is no run.json" in refusal()
    shutil.rmtree(tmp_path / "kept")
    with pytest.raises(InputError) as caught:
        read_recording(tmp_path / "kept")
    assert str(caught.value) == f"{tmp_path / 'kept'}: no such file or directory"


def test_what_a_recording_looks_up() -> None:
    result = simulate(JOBS, 16)
    with pytest.raises(InputError, match="no event log"):
        require_events(simulate(JOBS, 16, events=False))
    assert require_events(result) is result
    assert result.job[2].project == "physics"
    assert requested_walltime(result, JOBS[3]) == 3900_000_000
    assert requested_walltime(simulate(JOBS, 16, "N-PAA"), JOBS[3]) == 4000_000_000


def test_losses_beyond_what_floats_hold_are_read_exactly(tmp_path: Path) -> None:
    place = run(tmp_path, JOBS, "--mechanism", "N-PAA", "--events")
    lost = 2**53 + 1
    result = simulate(read_job_table(tmp_path / "table.csv").jobs, 16, "N-PAA")
    records = [result.records[0]._replace(lost=lost), *result.records[1:]]
    write_csv(place / "jobs-N-PAA.csv", JOBS_TABLE.rows(replace(result, records=records)), JOBS_TABLE.names)
    reseal(place)
    assert "9007199254.740993" in (place / "jobs-N-PAA.csv").read_text()
    assert read_recording(place).records[0].lost == lost


@pytest.mark.parametrize(("epoch", "dated"), [(0.0, True), (1.6e9, True), (1e12, False), (-1e12, False), (None, False)])
def test_a_result_beyond_the_calendar_has_no_dates(epoch: float | None, dated: bool) -> None:
    record = JobRecord(1, JobType.RIGID, 0, 5 * SECOND, 9 * SECOND, 1, 0, 0, 0, "completed", 0)
    assert _within_calendar(epoch, Records.of([record])) == (epoch if dated else None)
    assert _within_calendar(0.0, Records.of([record._replace(end=300_000_000_000 * SECOND)])) is None
