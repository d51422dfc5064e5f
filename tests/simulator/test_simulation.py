"""The simulator is true to laws that need no second implementation."""

from __future__ import annotations

import gc
from collections import defaultdict
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.simulator import Result, simulate
from holdfast.simulator.results.schema import JOBS, job_schema
from holdfast.workloads.ground.units import to_ticks
from holdfast.workloads.table.job import Job, JobType
from tests.reference.hybrid import MECHANISMS
from tests.strategies.tables import Table, crowded_job_table, job_tables
from tests.support.jobs import malleable, on_demand

#: Events that change how many nodes a job occupies (a warning does not).
CHANGES = ("start", "shrink", "expand", "warn", "preempt", "complete", "kill")

every_mechanism = pytest.mark.parametrize(
    "mechanism", [*MECHANISMS, "CUP-KNAPSACK", "N-SKNAPSACK", "WEIGH-PAA", "WEIGH price=0-SKNAPSACK"]
)
options = st.fixed_dictionaries(
    {
        "tenants": st.sampled_from(["any", "any", "fits", "none"]),
        "backfill_length": st.sampled_from(["walltime", "walltime", "runtime"]),
        "passes": st.sampled_from(["instant", "instant", "event"]),
        "expansion": st.sampled_from(["none", "none", "greedy", "even"]),
    }
)


def sizes_over_time(result: Result) -> dict[int, list[tuple[int, int, str]]]:
    """From the event log alone: (time, nodes, event) of each change of a job's nodes."""
    sizes: dict[int, list[tuple[int, int, str]]] = defaultdict(list)
    for entry in result.entries:
        if entry.event in CHANGES:
            held = sizes[entry.job_id][-1][1] if sizes[entry.job_id] else 0
            assert entry.before == held, "nodes appear or vanish between two events"
            sizes[entry.job_id].append((entry.time, entry.after, entry.event))
    return sizes


@every_mechanism
@settings(max_examples=50)
@given(
    table=job_tables(), chosen=options, backfilling=st.sampled_from(["easy", "easy depth=3", "conservative", "none"])
)
def test_laws(mechanism: str, table: Table, chosen: dict[str, str], backfilling: str) -> None:
    if chosen["backfill_length"] == "walltime" or backfilling.startswith("easy"):
        chosen = {**chosen, "backfilling": backfilling}
    result = simulate(table.jobs, table.nodes, mechanism, **chosen)
    sizes = sizes_over_time(result)
    by_id = {job.job_id: job for job in table.jobs}
    assert [record.job_id for record in result.records] == [job.job_id for job in table.jobs]

    # Node conservation, by a sum that the simulator does not keep.
    used = 0
    for entry in result.entries:
        if entry.event in CHANGES:
            used += entry.after - entry.before
            assert 0 <= used <= table.nodes
    assert used == 0

    for record in result.records:
        job, steps = by_id[record.job_id], sizes[record.job_id]
        if job.submit is None:
            assert record.status == "no_show"
            assert not steps
            continue
        assert record.start is not None
        assert record.end is not None
        assert to_ticks(job.submit) <= record.start <= record.end
        assert steps[-1][2] in ("complete", "kill")
        assert steps[-1][0] + result.origin == record.end
        running = [nodes for _, nodes, event in steps if event not in ("preempt", "complete", "kill")]
        if job.type is JobType.MALLEABLE:
            assert all((job.min_nodes or job.nodes) <= nodes <= job.nodes for nodes in running)
        else:
            assert set(running) == {job.nodes}
            assert record.shrinks == 0
        if job.type is JobType.ON_DEMAND:
            assert record.preemptions == 0
            assert record.end - record.start == to_ticks(job.runtime)
        if not record.preemptions and not record.shrinks and set(running) == {job.nodes}:
            assert record.end - record.start == to_ticks(job.runtime), "undisturbed: exactly its trace runtime"

    # Work is done exactly once: what is computed is what was asked for, but for the rounding of malleable ends.
    asked = rounding = 0
    for job in table.jobs:
        if job.submit is None:
            continue
        runtime, setup = to_ticks(job.runtime), to_ticks(job.setup) if job.type is not JobType.ON_DEMAND else 0
        if job.type is JobType.RIGID and job.checkpoint_interval is not None:
            period = to_ticks(job.checkpoint_interval) + to_ticks(job.checkpoint_cost)
            dumps = max(0, -(-(runtime - setup) // period) - 1)
            runtime -= dumps * to_ticks(job.checkpoint_cost)
        asked += (runtime - setup) * job.nodes
        rounding += job.nodes if job.type is JobType.MALLEABLE else 0
    assert abs(result.accounting.compute - asked) <= rounding

    # The accounting is complete.
    came = [record for record in result.records if record.submit is not None]
    if came:
        elapsed = max(record.end or 0 for record in came) - min(record.submit or 0 for record in came)
        assert sum(result.accounting) == table.nodes * elapsed
        assert sum(record.lost for record in came) == result.accounting.lost + result.accounting.warning


@every_mechanism
@settings(max_examples=25)
@given(table=job_tables(types=(JobType.RIGID,)))
def test_rigid_jobs_alone_equal_the_baseline(mechanism: str, table: Table) -> None:
    jobs = [replace(job, trace_runtime=None, trace_walltime=None) for job in table.jobs]
    baseline = simulate(jobs, table.nodes)
    assert simulate(jobs, table.nodes, mechanism).records == baseline.records


@settings(max_examples=50)
@given(table=job_tables(), mechanism=st.sampled_from(["baseline", *MECHANISMS]), offset=st.integers(1, 2_000_000_000))
def test_the_date_changes_nothing(table: Table, mechanism: str, offset: int) -> None:
    # Whole microseconds, so that the shifted table holds the same times.
    def at(time: float | None, shift: float) -> float | None:
        return None if time is None else round(time, 3) + shift

    def shift_job(job: Job, shift: float) -> Job:
        return replace(
            job,
            submit=at(job.submit, shift),
            notice=at(job.notice, shift),
            estimated_arrival=at(job.estimated_arrival, shift),
        )

    here = simulate([shift_job(job, 0) for job in table.jobs], table.nodes, mechanism)
    there = simulate([shift_job(job, offset) for job in table.jobs], table.nodes, mechanism)
    assert here.entries == there.entries
    assert here.samples == there.samples


@settings(max_examples=50)
@given(table=job_tables(), mechanism=st.sampled_from(["baseline", *MECHANISMS]))
def test_the_same_table_gives_the_same_result(table: Table, mechanism: str) -> None:
    first, second = (simulate(table.jobs, table.nodes, mechanism) for _ in range(2))
    assert first.records == second.records
    assert first.entries == second.entries
    assert first.accounting == second.accounting
    assert simulate(table.jobs, table.nodes, mechanism, events=False).records == first.records


@settings(max_examples=50)
@given(table=job_tables(types=(JobType.RIGID,)), swap=st.randoms(use_true_random=False))
def test_the_order_of_rows_decides_ties_and_nothing_else(table: Table, swap: Any) -> None:
    """Rows may be shuffled as long as those of equal submit keep their order."""
    ranked = list(table.jobs)
    swap.shuffle(ranked)
    order: dict[float | None, list[Job]] = defaultdict(list)
    for job in table.jobs:
        order[job.submit].append(job)
    shuffled = [order[job.submit].pop(0) for job in ranked]
    here = {record.job_id: record for record in simulate(table.jobs, table.nodes).records}
    there = {record.job_id: record for record in simulate(shuffled, table.nodes).records}
    assert here == there


@settings(max_examples=50)
@given(table=job_tables(types=(JobType.RIGID,)))
def test_exact_walltimes_start_each_blocked_head_at_its_first_shadow_time(table: Table) -> None:
    """With walltime = runtime nothing ends early, so that EASY never moves the promise made to a head.

    The promise is recomputed here from the records alone: at the instant at which a job becomes head of the queue, the
    earliest time at which the jobs then running leave enough nodes.
    """
    jobs = [
        replace(job, walltime=job.runtime, trace_runtime=None, trace_walltime=None, checkpoint_interval=None)
        for job in table.jobs
    ]
    records = simulate(jobs, table.nodes).records
    queue = sorted(range(len(records)), key=lambda row: (records[row].submit or 0, row))
    for place, row in enumerate(queue):
        head = records[row]
        assert head.submit is not None
        assert head.start is not None
        # It is head once it is there and all before it have started.
        since = max([head.submit, *(records[ahead].start or 0 for ahead in queue[:place])])
        if head.start <= since:
            continue
        running = [other for other in records if other is not head and (other.start or 0) <= since < (other.end or 0)]
        free = table.nodes - sum(other.nodes for other in running)
        promise = since
        for other in sorted(running, key=lambda item: item.end or 0):
            if free >= head.nodes:
                break
            free += other.nodes
            promise = other.end or 0
        assert abs(head.start - promise) <= 1


def test_an_instant_start_is_one_within_the_warning() -> None:
    """Job 2 comes at 100 and starts when job 1 has left its nodes, ten minutes later."""
    jobs = [malleable(1, 0, 10, 10000, min_nodes=2), on_demand(2, 100, 10, 500)]
    result = simulate(jobs, 10, "N-PAA", warning=600)
    assert result.summary()["instant_start_ratio"] == 1
    assert result.summary(instant_tolerance=120)["instant_start_ratio"] == 0
    assert [row["instant"] for row in JOBS.rows(result)] == [None, 1]
    assert [row["instant"] for row in job_schema(599).rows(result)] == [None, 0]


@pytest.mark.parametrize("mechanism", ["baseline", *MECHANISMS])
def test_a_simulation_leaves_nothing_to_the_collector(mechanism: str) -> None:
    """What is made of circles stays in memory until the collector has looked through everything."""
    gc.collect()
    gc.disable()
    gc.set_debug(gc.DEBUG_SAVEALL)
    try:
        for seed in range(2):
            table = crowded_job_table(seed)
            simulate(table.jobs, table.nodes, mechanism)
        gc.collect()
        left = [type(item).__name__ for item in gc.garbage if type(item).__module__.startswith("holdfast.simulator.")]
    finally:
        gc.set_debug(0)
        gc.garbage.clear()
        gc.enable()
    assert left == []
