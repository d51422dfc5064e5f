"""The simulator equals a plain reading of withdrawals, dependencies and starting states, and itself told otherwise."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from holdfast.simulator import Result, simulate
from holdfast.workloads.ground.units import SECOND, to_ticks
from holdfast.workloads.hybrid.assignment import as_rigid
from holdfast.workloads.logs.starting_state import starting_state
from holdfast.workloads.logs.trace import Trace, TraceJob
from holdfast.workloads.table.job import Job, JobType
from holdfast.workloads.table.validation import check_jobs
from tests.reference.hybrid import MECHANISMS
from tests.reference.life import Plain, replay_life
from tests.simulator.test_life_laws import every_mechanism, replay_mix
from tests.strategies.lives import lively, lively_mixes
from tests.strategies.mixes import Mix
from tests.strategies.tables import Table, job_tables

rigid_tables = job_tables(types=(JobType.RIGID,), max_jobs=16)


def ticks(seconds: float | None) -> int | None:
    return None if seconds is None else to_ticks(seconds)


def plain(jobs: list[Job]) -> list[Plain]:
    places = {job.job_id: place for place, job in enumerate(jobs)}
    rows = []
    for job in jobs:
        assert job.submit is not None
        submit = to_ticks(job.submit)
        rows.append(
            Plain(
                submit,
                job.nodes,
                to_ticks(job.walltime),
                to_ticks(job.runtime),
                None if job.cancelled_at is None else to_ticks(job.cancelled_at) - submit,
                None if job.preceding is None else places[job.preceding],
                ticks(job.think_time),
                ticks(job.running_since),
            )
        )
    return rows


@settings(max_examples=150)
@given(table=rigid_tables, data=st.data())
def test_the_baseline_equals_a_plain_reading(table: Table, data: st.DataObject) -> None:
    jobs = [replace(job, trace_runtime=None, trace_walltime=None) for job in table.jobs]
    # Whole seconds: a tick of tolerance in the shadow time is not what is tested here.
    jobs = [
        replace(job, submit=float(round(job.submit or 0)), runtime=float(round(job.runtime)), setup=0.0) for job in jobs
    ]
    jobs = [replace(job, walltime=float(max(round(job.walltime), job.runtime))) for job in jobs]
    mix = lively(lambda low, high: data.draw(st.integers(low, high)), Mix(jobs, table.nodes, {}))
    result = simulate(mix.jobs, mix.nodes)
    for record, seen in zip(result.records, replay_life(plain(mix.jobs), mix.nodes), strict=True):
        ours = (record.submit, record.start, record.end, record.status == "cancelled")
        assert ours == (seen.submit, seen.start, seen.end, seen.gone), f"job {record.job_id}"


@every_mechanism
@settings(max_examples=40)
@given(mix=lively_mixes(state=False))
def test_a_dependency_is_the_submit_that_follows_from_it(mechanism: str, mix: Mix) -> None:
    """Told when each job was submitted, the simulator without dependencies does the same."""
    result = replay_mix(mix, mechanism)
    submits = {record.job_id: record.submit for record in result.records}
    independent = []
    for job in mix.jobs:
        if job.preceding is not None:
            submit = submits[job.job_id]
            assert submit is not None
            assert job.submit is not None
            moved = submit / SECOND
            job = replace(
                job,
                submit=moved,
                preceding=None,
                think_time=None,
                cancelled_at=None if job.cancelled_at is None else moved + (job.cancelled_at - job.submit),
            )
        independent.append(job)
    # A job withdrawn as soon as it is submitted releases another in the middle of an instant.
    assume(all(job.cancelled_at is None or job.cancelled_at != job.submit for job in independent))
    again = simulate(independent, mix.nodes, mechanism, plans=mix.plans)
    assert again.records == result.records
    assert again.accounting == result.accounting
    assert [entry[:5] for entry in again.entries] == [
        (entry.time + result.origin - again.origin, *entry[1:5]) for entry in result.entries
    ]


@every_mechanism
@settings(max_examples=25)
@given(mix=lively_mixes(cancelled=False))
def test_a_withdrawal_after_the_end_is_none(mechanism: str, mix: Mix) -> None:
    result = replay_mix(mix, mechanism)
    patience = max((record.end or 0) for record in result.records) / SECOND + 1
    late = [replace(job, cancelled_at=job.submit + patience) if job.submit is not None else job for job in mix.jobs]
    again = simulate(late, mix.nodes, mechanism, plans=mix.plans)
    assert (again.records, again.entries, again.accounting) == (result.records, result.entries, result.accounting)
    assert (again.withdrawn, result.withdrawn) == (0 if late != mix.jobs else None, None)


def as_log(result: Result, table: Table) -> Trace:
    """What a log of a simulation would say."""
    jobs = []
    for job, record in zip(table.jobs, result.records, strict=True):
        assert record.submit is not None
        assert record.start is not None
        wait = (record.start - record.submit) / SECOND
        assert job.submit is not None
        jobs.append(TraceJob(job.job_id, job.submit, job.nodes, job.runtime, job.walltime, wait=wait))
    return Trace(tuple(jobs), table.nodes, "simulated")


@settings(max_examples=100)
@given(table=rigid_tables, share=st.floats(0, 1))
def test_a_simulated_log_cut_anywhere_goes_on_as_it_did(table: Table, share: float) -> None:
    """EASY keeps nothing from one pass to the next: the running and waiting jobs are its whole state."""
    jobs = [
        replace(job, trace_runtime=None, trace_walltime=None, submit=float(round(job.submit or 0)))
        for job in table.jobs
    ]
    jobs = [replace(job, runtime=float(-(-job.runtime // 1)), walltime=float(-(-job.walltime // 1))) for job in jobs]
    whole = simulate(jobs, table.nodes)
    log = as_log(whole, Table(jobs, table.nodes))
    first = min(job.submit for job in log.jobs)
    starts = sorted((record.start or 0) / SECOND for record in whole.records)
    at = starts[round(share * (len(starts) - 1))]
    cut = starting_state(log, at - first)
    rows = as_rigid(cut)
    check_jobs(rows, table.nodes)
    result = simulate(rows, table.nodes)
    assert result.begin == to_ticks(at)
    before = {record.job_id: record for record in whole.records}
    assert {record.job_id for record in result.records} == {
        record.job_id for record in whole.records if (record.end or 0) > to_ticks(at)
    }
    for record in result.records:
        old = before[record.job_id]
        assert (record.submit, record.start, record.end) == (old.submit, old.start, old.end)


@pytest.mark.parametrize("mechanism", MECHANISMS)
@settings(max_examples=25)
@given(table=rigid_tables, share=st.floats(0, 1))
def test_a_state_of_rigid_jobs_is_the_same_under_every_mechanism(mechanism: str, table: Table, share: float) -> None:
    jobs = [replace(job, trace_runtime=None, trace_walltime=None, checkpoint_interval=None) for job in table.jobs]
    jobs = [replace(job, submit=float(round(job.submit or 0)), setup=0.0) for job in jobs]
    log = as_log(simulate(jobs, table.nodes), Table(jobs, table.nodes))
    first, last = min(job.submit for job in log.jobs), max(job.submit for job in log.jobs)
    rows = as_rigid(starting_state(log, share * (last - first)))
    one, other = simulate(rows, table.nodes), simulate(rows, table.nodes, mechanism)
    assert (one.records, one.entries, one.accounting) == (other.records, other.entries, other.accounting)
