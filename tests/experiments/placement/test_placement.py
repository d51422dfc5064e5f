"""Which nodes each job had: an assignment of single nodes, by brute force, must agree with the ranges."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from itertools import groupby, pairwise

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from holdfast.experiments.placement.holdings import Holdings
from holdfast.experiments.placement.ranges import (
    Ranges,
    best_fit,
    common,
    format_ranges,
    highest,
    lowest,
    size,
    union,
    without,
)
from holdfast.experiments.placement.spans import DOWN, HELD, RUN, WARNED, Span, place_nodes
from holdfast.policies.mechanism import BASELINE, MECHANISMS
from holdfast.simulator import Result, simulate
from holdfast.simulator.results.records import JobRecord
from holdfast.workloads.ground.errors import InputError, InvariantError
from holdfast.workloads.ground.units import SECOND
from holdfast.workloads.outages.outage import Outage, OutageKind
from holdfast.workloads.table.job import JobType
from tests.strategies.lives import lively_mixes
from tests.strategies.mixes import Mix
from tests.strategies.outages import outages_for
from tests.strategies.tables import HYBRID, Table, job_tables
from tests.support.jobs import malleable, on_demand, rigid

NAMES = [BASELINE, *(mechanism.name for mechanism in MECHANISMS)]
SETS = st.sets(st.integers(0, 30))
CHANGES = ("start", "shrink", "expand")
ENDS = ("preempt", "expire", "complete", "kill", "cancel")


def spans_in_seconds(result: Result) -> list[tuple[str, int, int, int, Ranges]]:
    """The spans in seconds."""
    return [
        (span.kind, span.job_id, span.start // SECOND, span.end // SECOND, span.nodes) for span in place_nodes(result)
    ]


def numbers(ranges: Ranges) -> list[int]:
    return [node for low, high in ranges for node in range(low, high)]


def cells(spans: list[Span]) -> dict[int, list[tuple[int, int]]]:
    """(start, end) of what occupies each node."""
    of_node: dict[int, list[tuple[int, int]]] = defaultdict(list)
    for span in spans:
        for node in numbers(span.nodes):
            of_node[node].append((span.start, span.end))
    return of_node


def steps_from_entries(result: Result) -> dict[int, list[tuple[int, int, int]]]:
    """(start, end, nodes) of each job by its entries alone, neighbours of equal size made one."""
    now: dict[int, tuple[int, int]] = {}
    steps: dict[int, list[tuple[int, int, int]]] = defaultdict(list)
    for entry in result.entries:
        if entry.event in (*CHANGES, *ENDS):
            since, nodes = now.pop(entry.job_id, (entry.time, 0))
            if nodes and entry.time > since:
                steps[entry.job_id].append((since, entry.time, nodes))
            if entry.event in CHANGES:
                now[entry.job_id] = entry.time, entry.after
    assert not now
    return merge_steps(steps)


def merge_steps(steps: dict[int, list[tuple[int, int, int]]]) -> dict[int, list[tuple[int, int, int]]]:
    found: dict[int, list[tuple[int, int, int]]] = {}
    for job_id, parts in steps.items():
        found[job_id] = []
        for start, end, nodes in sorted(parts):
            if found[job_id] and found[job_id][-1][1:] == (start, nodes):
                start = found[job_id].pop()[0]
            found[job_id].append((start, end, nodes))
    return found


@given(
    job_tables(max_jobs=20), st.sampled_from(NAMES), st.sampled_from(["any", "fits", "none"]),
    st.sampled_from(["instant", "event"]), st.sampled_from(["none", "greedy", "even"]),
)  # fmt: skip
@settings(max_examples=150, deadline=None)
def test_everyone_has_nodes_of_their_own(
    table: Table, mechanism: str, tenants: str, passes: str, expansion: str
) -> None:
    result = simulate(table.jobs, table.nodes, mechanism, tenants=tenants, passes=passes, expansion=expansion)
    assume(result.entries)
    spans = place_nodes(result)
    holds(result, spans)
    # A run ends once, as the log says; one that lasted no time has no span.
    ends = [(entry.time, entry.job_id, entry.event) for entry in result.entries if entry.event in ENDS]
    ended = [(span.end, span.job_id, span.ending) for span in spans if span.ending]
    assert set(ended) <= set(ends)
    assert len(ended) == len({(span.job_id, span.number) for span in spans if span.kind != HELD})
    assert {span.kind for span in spans} <= {RUN, WARNED, HELD}
    assert all((span.number == 0) == (span.kind == HELD) for span in spans)


def ranges_of(nodes: Iterable[int]) -> Ranges:
    """Ascending numbers as ranges."""
    found: list[tuple[int, int]] = []
    for node in nodes:
        low = found.pop()[0] if found and found[-1][1] == node else node
        found.append((low, node + 1))
    return tuple(found)


def holds(result: Result, spans: list[Span]) -> None:
    """The promises of the placement, whatever happened."""
    assert [span.end for span in spans] == sorted(span.end for span in spans)
    assert all(span.start < span.end and span.nodes == ranges_of(numbers(span.nodes)) for span in spans)
    for node, taken in cells(spans).items():
        assert 0 <= node < result.nodes
        taken.sort()
        assert all(before[1] <= after[0] for before, after in pairwise(taken))
    # Runs have as many nodes as the log says, always.
    steps: dict[int, list[tuple[int, int, int]]] = defaultdict(list)
    for span in spans:
        if span.kind in (RUN, WARNED):
            steps[span.job_id].append((span.start, span.end, size(span.nodes)))
    assert merge_steps(steps) == steps_from_entries(result)
    # As many are held as the engine counted, between any two instants.
    for before, after in pairwise(result.samples):
        if before[0] < after[0]:
            here = [span for span in spans if span.start <= before[0] < span.end]
            assert all(span.end >= after[0] for span in here)
            assert sum(size(span.nodes) for span in here if span.kind == HELD) == before[2]
            assert sum(size(span.nodes) for span in here if span.kind in (RUN, WARNED)) == before[1]


@given(data=st.data(), mix=lively_mixes(max_jobs=16), mechanism=st.sampled_from(NAMES))
@settings(max_examples=200, deadline=None)
def test_whatever_happens_nodes_have_one_holder(data: st.DataObject, mix: Mix, mechanism: str) -> None:
    """Outages, withdrawals, dependencies, jobs that run already, reservations of stochastic jobs."""
    outages = data.draw(outages_for(mix.jobs, mix.nodes)) if data.draw(st.booleans()) else []
    result = simulate(mix.jobs, mix.nodes, mechanism, plans=mix.plans, outages=outages)
    assume(result.entries)
    spans = place_nodes(result)
    holds(result, spans)
    if not result.down:
        assert not any(span.kind == DOWN for span in spans)
        return
    ends = [*(time for time, _ in result.down[1:]), result.entries[-1].time]
    for (start, down), end in zip(result.down, ends, strict=True):
        if start < end:
            here = [span for span in spans if span.kind == DOWN and span.start <= start < span.end]
            assert sum(size(span.nodes) for span in here) == down


def by_hand(result: Result) -> dict[tuple[int, int, int], list[int]]:
    """First fit on an array of single nodes; on-demand jobs from above. Nodes of each job between its entries."""
    types = {record.job_id: record.type for record in result.records}
    owner = [0] * result.nodes
    since: dict[int, int] = {}
    found: dict[tuple[int, int, int], list[int]] = {}
    for entry in result.entries:
        job_id, now = entry.job_id, entry.time
        mine = [node for node in range(result.nodes) if owner[node] == job_id]
        if entry.event not in (*CHANGES, *ENDS):
            continue
        if mine and now > since[job_id]:
            found[job_id, since[job_id], now] = mine
        since[job_id] = now
        if entry.event in ENDS:
            gone, wanted = mine, 0
        else:
            gone, wanted = mine[entry.after :], entry.after - len(mine)
        for node in gone:
            owner[node] = 0
        if wanted > 0:
            order = list(range(result.nodes))
            if types[job_id] is JobType.ON_DEMAND:
                order.reverse()
            gaps = [[*nodes] for free, nodes in groupby(order, key=lambda node: not owner[node]) if free]
            enough = [gap for gap in gaps if len(gap) >= wanted]
            # Of gaps of one width the first.
            taken = (
                min(enough, key=len)
                if enough
                else [node for gap in sorted(gaps, key=lambda gap: -len(gap)) for node in gap]
            )
            for node in taken[:wanted]:
                owner[node] = job_id
    return found


@given(job_tables(max_jobs=20), st.sampled_from([BASELINE, "N-PAA", "N-SPAA"]), st.sampled_from(["none", "even"]))
@settings(max_examples=150, deadline=None)
def test_best_fit_is_that_of_single_nodes(table: Table, mechanism: str, expansion: str) -> None:
    result = simulate(table.jobs, table.nodes, mechanism, expansion=expansion)
    assume(result.entries)
    spans = place_nodes(result)
    assume(not any(span.kind == HELD for span in spans))
    found = by_hand(result)
    whole = {(span.job_id, span.start, span.end): numbers(span.nodes) for span in spans}
    # A warning cuts a span in two, of the same nodes.
    for (job_id, start, end), nodes in found.items():
        parts = [
            mine
            for (job, begin, stop), mine in whole.items()
            if job == job_id and start <= begin and stop <= end and stop > begin
        ]
        assert parts
        assert all(mine == nodes for mine in parts)


@given(job_tables(max_jobs=12, types=HYBRID), st.sampled_from(NAMES))
@settings(max_examples=50, deadline=None)
def test_node_time_is_that_of_the_accounting(table: Table, mechanism: str) -> None:
    result = simulate(table.jobs, table.nodes, mechanism)
    assume(any(record.end is not None for record in result.records))
    sums = {HELD: 0, RUN: 0, WARNED: 0}
    first = min(record.submit for record in result.records if record.submit is not None) - result.origin
    for span in place_nodes(result):
        sums[span.kind] += (span.end - max(first, span.start)) * size(span.nodes) if span.end > first else 0
    accounting = result.accounting
    assert sums[HELD] == accounting.held
    assert sums[RUN] + sums[WARNED] == sum(accounting) - accounting.held - accounting.idle


def test_a_tenant_runs_on_held_nodes_and_gives_them_back() -> None:
    jobs = [
        rigid(1, 0, 6, 600),
        on_demand(2, 900, 4, 300, notice=100, estimated=900),
        rigid(3, 200, 3, 120),  # nothing is free
    ]
    assert spans_in_seconds(simulate(jobs, 10, "CUA-PAA")) == [
        (HELD, 2, 100, 200, ((6, 10),)),
        (RUN, 3, 200, 320, ((6, 9),)),
        (HELD, 2, 200, 320, ((9, 10),)),
        (RUN, 1, 0, 600, ((0, 6),)),
        (HELD, 2, 320, 900, ((6, 10),)),
        (RUN, 2, 900, 1200, ((6, 10),)),
    ]


def test_a_reservation_takes_the_same_nodes_back() -> None:
    jobs = [
        rigid(1, 0, 4, 1000),
        on_demand(9, 0, 2, 300),  # leaves the highest nodes at 300
        on_demand(2, 900, 4, 100, notice=100, estimated=900),
        rigid(3, 200, 2, 120),
    ]
    assert spans_in_seconds(simulate(jobs, 10, "CUA-PAA")) == [
        (HELD, 2, 100, 200, ((4, 8),)),
        (RUN, 9, 0, 300, ((8, 10),)),
        (RUN, 3, 200, 320, ((4, 6),)),
        (HELD, 2, 200, 320, ((6, 8),)),
        (HELD, 2, 320, 900, ((4, 8),)),
        (RUN, 1, 0, 1000, ((0, 4),)),
        (RUN, 2, 900, 1000, ((4, 8),)),
    ]


def test_a_tenant_draws_from_the_latest_notice_first() -> None:
    jobs = [
        rigid(1, 0, 4, 1000),
        on_demand(2, 900, 2, 100, notice=100, estimated=900),
        on_demand(5, 900, 2, 100, notice=150, estimated=900),
        rigid(3, 160, 2, 120),
    ]
    assert spans_in_seconds(simulate(jobs, 8, "CUA-PAA")) == [
        (HELD, 5, 150, 160, ((4, 6),)),
        (RUN, 3, 160, 280, ((4, 6),)),
        (HELD, 2, 100, 900, ((6, 8),)),
        (HELD, 5, 280, 900, ((4, 6),)),
        (RUN, 1, 0, 1000, ((0, 4),)),
        (RUN, 2, 900, 1000, ((6, 8),)),
        (RUN, 5, 900, 1000, ((4, 6),)),
    ]


def test_a_run_that_is_resized_as_it_ends_has_ended() -> None:
    """At 100 the on-demand job ends, and the other one both gets its nodes back and completes."""
    jobs = [malleable(2, 0, 4, 75, min_nodes=2), on_demand(1, 50, 2, 50)]
    result = simulate(jobs, 4, "N-SPAA")
    assert [entry.event for entry in result.entries if entry.time == 100 * SECOND] == ["complete", "expand", "complete"]
    assert [(span.job_id, span.end // SECOND, span.nodes, span.ending) for span in place_nodes(result)] == [
        (2, 50, ((0, 4),), ""),
        (1, 100, ((2, 4),), "complete"),
        (2, 100, ((0, 2),), "complete"),
    ]


def test_what_a_victim_gives_to_a_waiting_arrival_is_held() -> None:
    """Job 1 is warned by the plan, job 2 at the arrival, which is early; at 400 the nodes of the first are there."""
    jobs = [
        malleable(1, 0, 4, 1000, min_nodes=2),
        malleable(2, 0, 4, 385, 390, min_nodes=2),
        on_demand(3, 340, 8, 100, notice=100, estimated=400),
    ]
    assert spans_in_seconds(simulate(jobs, 8, "CUP-PAA")) == [
        (RUN, 1, 0, 280, ((0, 4),)),
        (RUN, 2, 0, 340, ((4, 8),)),
        (WARNED, 1, 280, 400, ((0, 4),)),
        (WARNED, 2, 340, 460, ((4, 8),)),
        (HELD, 3, 400, 460, ((0, 4),)),
        (RUN, 3, 460, 560, ((0, 8),)),
        (RUN, 2, 560, 605, ((4, 8),)),
        (RUN, 1, 560, 1280, ((0, 4),)),
    ]


def test_held_nodes_go_to_arrived_jobs_first_then_by_notice_and_are_taken_from_the_latest() -> None:
    """Where the log does not say whose held nodes are more or fewer: three jobs of 4 nodes, of which 2 has arrived."""
    records = {job: JobRecord(job, JobType.ON_DEMAND, 0, None, None, 4, 9, 0, 0, "", 0) for job in (1, 2, 3)}
    machine = Holdings(12, records)
    for job in records:
        machine.hold((HELD, job), (), 0)
    machine.gathering[2] = None

    def have(held: int, now: int) -> list[int]:
        machine.settle(held, now)
        return [size(machine.of((HELD, job))) for job in records]

    assert have(3, 1) == [0, 3, 0]
    assert have(9, 2) == [4, 4, 1]
    assert have(6, 3) == [4, 2, 0]
    machine.gathering = {3: None, 2: None}
    assert have(11, 4) == [4, 3, 4]


def test_a_shrunk_run_gives_up_its_highest_nodes_and_gets_nodes_back() -> None:
    jobs = [malleable(1, 0, 8, 600, min_nodes=4), on_demand(2, 60, 3, 60)]
    spans = place_nodes(simulate(jobs, 8, "N-SPAA"))
    assert [(span.job_id, span.number, span.start // SECOND, span.end // SECOND, span.nodes) for span in spans[:3]] == [
        (1, 1, 0, 60, ((0, 8),)),
        (2, 1, 60, 120, ((5, 8),)),
        (1, 1, 60, 120, ((0, 5),)),
    ]
    assert (spans[3].job_id, spans[3].nodes, spans[3].ending) == (1, ((0, 8),), "complete")


def test_a_booked_job_runs_on_the_nodes_that_are_set_aside() -> None:
    outages = [
        Outage(OutageKind.RESERVATION, 100, 400, 4, jobs=(2,), name="tests"),
        Outage(OutageKind.MAINTENANCE, 300, 500, 2),
    ]
    result = simulate([rigid(1, 0, 3, 1000), rigid(2, 50, 3, 200)], 10, outages=outages)
    assert spans_in_seconds(result) == [
        (RUN, 2, 50, 250, ((3, 6),)),
        (HELD, -1, 100, 400, ((6, 10),)),
        (DOWN, -2, 300, 500, ((4, 6),)),
        (RUN, 1, 0, 1000, ((0, 3),)),
    ]
    # Nothing else is free for job 2.
    result = simulate([rigid(1, 0, 3, 1000), rigid(4, 0, 4, 100), rigid(2, 50, 3, 200)], 7, outages=outages[:1])
    assert spans_in_seconds(result) == [
        (RUN, 4, 0, 100, ((3, 7),)),
        (RUN, 2, 100, 300, ((3, 6),)),
        (HELD, -1, 100, 300, ((6, 7),)),
        (HELD, -1, 300, 400, ((3, 7),)),
        (RUN, 1, 0, 1000, ((0, 3),)),
    ]


def test_a_log_is_needed() -> None:
    with pytest.raises(InputError, match="no event log"):
        place_nodes(simulate([rigid(1, 0, 1, 1)], 1, events=False))


@given(SETS, SETS)
def test_ranges_are_sets(one: set[int], other: set[int]) -> None:
    left, right = ranges_of(sorted(one)), ranges_of(sorted(other))
    assert numbers(left) == sorted(one)
    assert size(left) == len(one)
    assert without(left, right) == ranges_of(sorted(one - other))
    assert common(left, right) == ranges_of(sorted(one & other))
    assert union(left, without(right, left)) == ranges_of(sorted(one | other))
    assert all(before[1] < after[0] for before, after in pairwise(left))


@given(SETS, st.integers(0, 31), st.booleans())
def test_best_fit_takes_the_narrowest_gap_or_the_widest_ones(nodes: set[int], count: int, from_top: bool) -> None:
    there = ranges_of(sorted(nodes))
    if count > len(nodes):
        with pytest.raises(InvariantError):
            best_fit(there, count, from_top=from_top)
        return
    taken = best_fit(there, count, from_top=from_top)
    assert size(taken) == count
    assert set(numbers(taken)) <= nodes
    widths = sorted(high - low for low, high in there)
    enough = [width for width in widths if width >= count]
    if count and enough:
        ((low, high),) = taken
        ends = [gap[from_top] for gap in there if gap[1] - gap[0] == enough[0]]
        assert (low, high)[from_top] == (max(ends) if from_top else min(ends))
    elif count:
        # As few pieces as can be.
        assert sum(widths[len(widths) - len(taken) + 1 :]) < count <= sum(widths[len(widths) - len(taken) :])
    assert numbers(lowest(there, count)) == sorted(nodes)[:count]
    assert numbers(highest(there, count)) == sorted(nodes)[len(nodes) - count :]


def test_text_of_ranges_is_that_of_batsim() -> None:
    assert format_ranges(((0, 4), (7, 8), (10, 12))) == "0-3 7 10-11"
