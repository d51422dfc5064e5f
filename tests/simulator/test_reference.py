"""The oracles themselves: do the fast and the naive one agree, and do they keep the laws of the model?"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import fields, replace
from itertools import accumulate

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.workloads.ground.units import to_seconds, to_ticks
from holdfast.workloads.table.job import JobType
from tests.reference.easy import replay_easy, replay_easy_naive
from tests.reference.hybrid import MECHANISMS, replay
from tests.strategies.tables import Table, job_tables, random_job_table
from tests.support.jobs import outcomes
from tests.support.seeds import in_parts

#: What happens in a replay, by the names of its log.
RULES = ("warn", "vacate", "preempt", "time-out", "plan", "drop", "wait", "hold", "resize", "notice")

# (submit, nodes, walltime, runtime) on a coarse grid, so that ties and events at one instant are the rule.
easy_jobs = st.lists(
    st.tuples(st.integers(0, 12), st.integers(1, 8), st.integers(1, 8), st.integers(1, 8)), min_size=1, max_size=14
)


@pytest.mark.parametrize("passes", ["instant", "event"])
@pytest.mark.parametrize("backfill_length", ["walltime", "runtime"])
@given(jobs=easy_jobs, machine=st.integers(8, 12))
def test_fast_and_naive_easy_agree(
    jobs: list[tuple[int, int, int, int]], machine: int, backfill_length: str, passes: str
) -> None:
    submit, nodes, walltime, runtime = (list(column) for column in zip(*jobs, strict=True))
    options = {"backfill_length": backfill_length, "passes": passes}
    fast = replay_easy(submit, nodes, walltime, runtime, machine, **options)
    assert fast == replay_easy_naive(submit, nodes, walltime, runtime, machine, **options)


@given(jobs=easy_jobs, machine=st.integers(8, 12), offset=st.integers(1, 1000))
def test_easy_does_not_know_the_date(jobs: list[tuple[int, int, int, int]], machine: int, offset: int) -> None:
    submit, nodes, walltime, runtime = (list(column) for column in zip(*jobs, strict=True))
    start = replay_easy(submit, nodes, walltime, runtime, machine)
    later = replay_easy([time + offset for time in submit], nodes, walltime, runtime, machine)
    assert later == [time + offset for time in start]


def test_easy_by_hand() -> None:
    """Rule 4 on ten nodes.

    ::

        A 6 nodes  0..10
        B 8 nodes  head, shadow time 10, extra 2
        C 4 nodes  walltime 10: ends at the shadow time, starts at 0
        D 2 nodes  walltime 50: would be extra, but nothing is free
    """
    assert replay_easy([0, 0, 0, 0], [6, 8, 4, 2], [10, 5, 10, 50], [10, 5, 10, 50], 10) == [0, 10, 0, 10]


# --- hybrid.py -------------------------------------------------------------------------------------------------------


def check_laws(table: Table, mechanism: str, **options: str) -> None:
    """Every job ends, no node is used twice, and the accounting is complete."""
    replayed = replay(table.jobs, table.nodes, mechanism, **options)
    levels: dict[int, int] = defaultdict(int)
    for job in table.jobs:
        outcome = replayed[job.job_id]
        if job.submit is None:
            assert outcome.segments == []
            continue
        assert outcome.start is not None and outcome.end is not None
        assert outcome.start >= to_seconds(to_ticks(job.submit))
        # With a pass after each event, the next event of the instant may preempt a run that has only just begun.
        assert outcome.segments[0][0] == outcome.start or options.get("passes") == "event"
        assert outcome.segments[-1][1] == outcome.end
        for begin, end, nodes in outcome.segments:
            smallest = job.min_nodes if mechanism != "baseline" and job.type == JobType.MALLEABLE else job.nodes
            assert begin < end and (smallest or 1) <= nodes <= job.nodes
            levels[to_ticks(begin)] += nodes
            levels[to_ticks(end)] -= nodes
    used = list(accumulate(levels[time] for time in sorted(levels)))
    assert all(0 <= nodes <= table.nodes for nodes in used)
    assert replayed.totals.accounted == table.nodes * replayed.totals.elapsed
    shares = [getattr(replayed.totals, share.name) for share in fields(replayed.totals)]
    assert min(shares) >= 0
    lost = sum(to_ticks(outcome.lost_node_seconds) for outcome in replayed.values())
    assert lost == replayed.totals.lost + replayed.totals.warning


ALL_MECHANISMS = ["baseline", *MECHANISMS]


@pytest.mark.parametrize("mechanism", ALL_MECHANISMS)
@given(table=job_tables())
@settings(max_examples=40, deadline=None)
def test_hybrid_keeps_the_laws(table: Table, mechanism: str) -> None:
    check_laws(table, mechanism)


@pytest.mark.parametrize("seeds", in_parts(range(60), 20))
@pytest.mark.parametrize("tenants", ["any", "fits", "none"])
@pytest.mark.parametrize("mechanism", ALL_MECHANISMS)
def test_hybrid_keeps_the_laws_in_bulk(mechanism: str, tenants: str, seeds: range) -> None:
    for seed in seeds:
        check_laws(random_job_table(seed), mechanism, tenants=tenants)


@pytest.mark.slow
@pytest.mark.parametrize("passes", ["instant", "event"])
@pytest.mark.parametrize("tenants", ["any", "fits", "none"])
@pytest.mark.parametrize("mechanism", ALL_MECHANISMS)
def test_hybrid_keeps_the_laws_in_great_bulk(mechanism: str, tenants: str, passes: str) -> None:
    for seed in range(500):
        check_laws(random_job_table(seed, max_jobs=40), mechanism, tenants=tenants, passes=passes)


@pytest.mark.parametrize("passes", ["instant", "event"])
@pytest.mark.parametrize("backfill_length", ["walltime", "runtime"])
@given(table=job_tables())
@settings(max_examples=40, deadline=None)
def test_baseline_is_easy(table: Table, backfill_length: str, passes: str) -> None:
    """Section 3: all rigid, at trace runtime and walltime, in plain EASY."""
    # Ids in row order: easy.py takes events of one instant by row, hybrid.py by id.
    jobs = [replace(job, job_id=row) for row, job in enumerate(table.jobs)]
    there = [job for job in jobs if job.submit is not None]
    starts = replay_easy(
        [to_ticks(job.submit or 0) for job in there],
        [job.nodes for job in there],
        [to_ticks(job.trace_walltime or job.walltime) for job in there],
        [to_ticks(job.trace_runtime or job.runtime) for job in there],
        table.nodes,
        backfill_length=backfill_length,
        passes=passes,
        tolerance=1,
    )
    replayed = replay(jobs, table.nodes, "baseline", backfill_length=backfill_length, passes=passes)
    assert {job.job_id: replayed[job.job_id].start for job in there} == {
        job.job_id: to_seconds(int(start)) for job, start in zip(there, starts, strict=True)
    }


@given(table=job_tables(types=(JobType.RIGID,)), tenants=st.sampled_from(["any", "fits", "none"]))
@settings(max_examples=40, deadline=None)
def test_rigid_jobs_alone_know_no_mechanism(table: Table, tenants: str) -> None:
    jobs = [replace(job, trace_runtime=None, trace_walltime=None) for job in table.jobs]
    baseline = outcomes(jobs, table.nodes, "baseline")
    for mechanism in MECHANISMS:
        assert outcomes(jobs, table.nodes, mechanism, tenants=tenants) == baseline


def test_random_tables_use_every_rule() -> None:
    """The generator would be useless if plans, warnings or time-outs did not come about."""
    happened: Counter[str] = Counter()
    for seed in range(300):
        table = random_job_table(seed)
        for mechanism in ("CUP-PAA", "CUA-SPAA"):
            happened.update({what for _, what, _, _ in replay(table.jobs, table.nodes, mechanism).log})
    rare = {what: happened[what] for what in RULES if happened[what] < 5}
    assert not rare
