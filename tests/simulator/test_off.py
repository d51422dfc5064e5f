"""A feature that is given and never comes into play changes nothing: cancellations, dependencies, starting states,
outages and failures, each against the same table without it."""

from __future__ import annotations

import csv
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from holdfast.experiments.cli import main
from holdfast.simulator import Result, simulate
from holdfast.workloads.outages.failures import FailureRate
from holdfast.workloads.outages.outage import Outage, OutageKind
from holdfast.workloads.table.job import Job
from holdfast.workloads.table.job_table import read_job_table, write_job_table
from tests.places import GOLDEN
from tests.reference.hybrid import MECHANISMS
from tests.strategies.mixes import Mix, random_mix
from tests.support.jobs import rigid
from tests.support.seeds import in_parts

TABLES = in_parts(range(16), 5)
#: A job that has ended long before the others come, and those that come at this time at the earliest [s].
EARLY = rigid(1000, 0, 1, 10)
LATER = 1e6
_FOLLOWS = f"after {EARLY.job_id}"
#: After the end of every simulation [s].
NEVER = 1e10
_CHOICES: tuple[dict[str, Any], ...] = ({}, {"passes": "event"}, {"tenants": "fits", "backfill_length": "runtime"})
SMALL = GOLDEN / "small.csv"


def table_of(seed: int) -> Mix:
    """Every kind of job after one that has long ended."""
    mix = random_mix(seed, max_jobs=24)
    times = ("submit", "notice", "estimated_arrival")
    later = [
        replace(job, **{name: getattr(job, name) + LATER for name in times if getattr(job, name) is not None})
        for job in mix.jobs
    ]
    return mix._replace(jobs=[EARLY, *later])


def each(change: Callable[[Job], Job]) -> Callable[[Mix], dict[str, Any]]:
    return lambda mix: {"jobs": [change(job) for job in mix.jobs]}


def follows(job: Job) -> Job:
    """Depends on the early job, where a job can."""
    return job if job.notice is not None or job is EARLY else replace(job, preceding=EARLY.job_id)


def load_outages(mix: Mix) -> dict[str, Any]:
    ids = tuple(job.job_id for job in mix.jobs)
    return {
        "outages": [
            Outage(OutageKind.MAINTENANCE, NEVER, NEVER + 10, mix.nodes),
            Outage(OutageKind.FAILURE, NEVER, NEVER + 10, mix.nodes, place=0.0),
            Outage(OutageKind.RESERVATION, NEVER + 20, NEVER + 30, mix.nodes, jobs=ids),
        ]
    }


IDLE: dict[str, Callable[[Mix], dict[str, Any]]] = {
    "cancelled after the end": each(lambda job: job if job.submit is None else replace(job, cancelled_at=NEVER)),
    "after a job that has ended": each(follows),
    "outages after the end": load_outages,
    "failures in thousands of years": lambda mix: {"failures": FailureRate(1e12, seed=1)},
}


def result_contents(result: Result) -> tuple[object, ...]:
    """All that a result says, but for wall-clock times, and that a submit follows the early job."""
    entries = [entry._replace(cause="") if entry.cause == _FOLLOWS else entry for entry in result.entries]
    return (
        result.records,
        entries,
        [*result.samples],
        result.accounting,
        [*result.losses],
        result.origin,
        result.malleable_setup,
        [(item.job_id, item.reservations) for item in result.stochastic],
    )


@pytest.mark.parametrize("seeds", TABLES)
@pytest.mark.parametrize("mechanism", ["baseline", *MECHANISMS])
def test_what_never_comes_into_play_changes_nothing(mechanism: str, seeds: range) -> None:
    for seed in seeds:
        mix = table_of(seed)
        given: dict[str, Any] = {"jobs": mix.jobs, "nodes": mix.nodes, "mechanism": mechanism, "plans": mix.plans}
        given |= _CHOICES[seed % 3]
        plain = result_contents(simulate(**given))
        for name, change in IDLE.items():
            assert result_contents(simulate(**{**given, **change(mix)})) == plain, (name, seed)


@pytest.mark.parametrize("seeds", TABLES)
@pytest.mark.parametrize("mechanism", ["baseline", *MECHANISMS])
def test_a_job_that_runs_already_when_it_would_start(mechanism: str, seeds: range) -> None:
    # The early job is the first event and starts at once: to run since then says the same.
    running = replace(EARLY, running_since=EARLY.submit)
    for seed in seeds:
        mix = table_of(seed)
        options: dict[str, Any] = {"mechanism": mechanism, "plans": mix.plans, **_CHOICES[seed % 3]}
        plain = simulate(mix.jobs, mix.nodes, **options)
        early = simulate([running, *mix.jobs[1:]], mix.nodes, **options)
        assert early.records == plain.records
        assert early.accounting == plain.accounting
        assert [*early.samples] == [*plain.samples]
        others = [[entry for entry in result.entries if entry.job_id != EARLY.job_id] for result in (early, plain)]
        assert others[0] == others[1]


def write_tables(directory: Path, *arguments: str) -> dict[str, list[dict[str, str]]]:
    """The tables of a run without their wall-clock times."""
    common = ["-o", str(directory), "--nodes", "16", "--mechanism", "baseline,CUP-SPAA", "--events"]
    assert main(["run", *arguments, *common]) == 0
    tables = {}
    for path in directory.glob("*.csv"):
        with path.open(newline="") as file:
            tables[path.name] = [
                {name: value for name, value in row.items() if "decision_ms" not in name and "_seconds" not in name}
                for row in csv.DictReader(file)
            ]
    return tables


def test_no_file_speaks_of_a_feature_that_is_off(tmp_path: Path) -> None:
    plain = write_tables(tmp_path / "plain", str(SMALL))
    # Columns without a value are off.
    empty = tmp_path / "empty.csv"
    first, *others = SMALL.read_text().splitlines()
    columns = ",cancelled_at,preceding,think_time,running_since"
    empty.write_text("\n".join([first + columns, *(line + ",,,," for line in others)]) + "\n")
    assert write_tables(tmp_path / "empty", str(empty)) == plain
    # On and idle they add columns and files, and change no value of the others.
    jobs = [replace(job, cancelled_at=NEVER) if job.submit is not None else job for job in read_job_table(SMALL).jobs]
    write_job_table(jobs, tmp_path / "late.csv")
    (tmp_path / "outages.csv").write_text(f"kind,start,end,nodes\nfailure,{NEVER},{NEVER + 9},1\n")
    idle = write_tables(tmp_path / "idle", str(tmp_path / "late.csv"), "--outages", str(tmp_path / "outages.csv"))
    added = {"jobs.csv": {"cancelled_at"}, "summary.csv": {"down_node_hours", "cancelled_jobs"}}
    assert set(idle) == {*plain, "outages.csv"}
    for name, rows in plain.items():
        assert [{column: row[column] for column in rows[0]} for row in idle[name]] == rows, name
        assert added.get(name, set()) <= set(idle[name][0]) - set(rows[0]), name
