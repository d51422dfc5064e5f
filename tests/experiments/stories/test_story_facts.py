"""The facts of stories, against a plain reading of the log and against laws, on random tables."""

from __future__ import annotations

import json
from collections import defaultdict

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from holdfast.experiments.stories.facts.lifetime import Facts
from holdfast.experiments.stories.reader.causes import parse_cause
from holdfast.experiments.stories.reader.timeline import Timeline
from holdfast.experiments.stories.reader.wait_segments import WaitParts
from holdfast.experiments.stories.story import Stories
from holdfast.policies.order import ORDERS
from holdfast.simulator import Result, simulate
from holdfast.workloads.table.job import JobType
from tests.reference.hybrid import MECHANISMS
from tests.reference.stories import KEYS, plain_waits
from tests.strategies.lives import lively_mixes
from tests.strategies.mixes import Mix, mixes
from tests.strategies.outages import outages_for
from tests.strategies.tables import Table, job_tables
from tests.support.jobs import malleable, on_demand, rigid

every_mechanism = pytest.mark.parametrize("mechanism", ["baseline", *MECHANISMS])
options = st.fixed_dictionaries(
    {
        "order": st.sampled_from(["fcfs", *KEYS]),
        "tenants": st.sampled_from(["any", "any", "fits"]),
        "backfill_length": st.sampled_from(["walltime", "walltime", "runtime"]),
        "passes": st.sampled_from(["instant", "instant", "event"]),
    }
)


def all_facts(result: Result) -> dict[int, Facts]:
    # Nobody came: there is nothing to tell.
    assume(result.entries)
    stories = Stories(result)
    return {job.job_id: stories.story(job.job_id).facts for job in result.table}


@every_mechanism
@settings(max_examples=40, deadline=None)
@given(table=job_tables(), chosen=options)
def test_waits_are_those_of_a_plain_reading(mechanism: str, table: Table, chosen: dict[str, str]) -> None:
    result = simulate(table.jobs, table.nodes, mechanism, decisions=True, **chosen)
    expected = plain_waits(result, chosen["order"])
    for job_id, facts in all_facts(result).items():
        plain = expected[job_id]
        assert len(facts.waits) == len(plain)
        for wait, other in zip(facts.waits, plain, strict=True):
            assert (wait.since, wait.until) == (other.since + result.origin, other.until + result.origin)
            if wait.until > wait.since:
                assert sorted(wait.ahead) == other.ahead
                asked = {job.job_id: job.nodes for job in table.jobs}
                assert wait.ahead_nodes == sum(asked[ahead] for ahead in other.ahead)
            assert [(item.job_id, item.nodes) for item in wait.passed_by] == other.passed_by
            assert sum(item.until - item.since for item in wait.first) == other.first
            assert {part.kind: part.ticks for part in wait.parts} == other.parts
            assert sum(part.ticks for part in wait.parts) == wait.until - wait.since
            full = sum(part.ticks for part in wait.parts if part.kind == "full")
            assert sum(item.node_ticks for item in wait.occupancy) == full * table.nodes
            assert all(item.node_ticks > 0 for item in wait.occupancy)
            # EASY starts the first job if it fits, but those before it may become tenants when the pass is over.
            tenants = {entry.job_id for entry in result.entries if entry.cause == "tenant"}
            for part in wait.parts:
                if part.kind == "first":
                    assert part.jobs and tenants - {job_id} >= {*part.jobs}


@every_mechanism
@settings(max_examples=40, deadline=None)
@given(table=job_tables(), chosen=options)
def test_losses_runs_and_records_agree(mechanism: str, table: Table, chosen: dict[str, str]) -> None:
    result = simulate(table.jobs, table.nodes, mechanism, decisions=True, **chosen)
    facts = all_facts(result)
    for record in result.records:
        story = facts[record.job_id]
        stops = [run.stop for run in story.runs if run.stop is not None]
        assert sum(stop.lost + stop.lost_to_warning for stop in stops) == record.lost
        assert len(stops) == record.preemptions
        made_room = [item for run in story.runs for item in run.resizes if item.cause.kind == "made room"]
        assert len(made_room) == record.shrinks
        assert not story.others
        if record.end is not None:
            assert story.runs[0].start == record.start
            assert story.runs[-1].end == record.end
            waited = [wait for wait in story.waits if wait.until <= (record.start or 0)]
            gathered = sum(item.until - item.since for item in story.on_demand.gatherings) if story.on_demand else 0
            assert sum(wait.until - wait.since for wait in waited) + gathered == story.wait
        for run in story.runs:
            stop = run.stop
            if stop is not None and stop.cause.kind == "made room":
                assert stop.overhead is not None
                # Both arrival strategies take those that lose least.
                assert stop.spared_overhead is None or stop.overhead <= stop.spared_overhead
                # The overhead goes by the size now, what is lost of a setup by those that the job had meanwhile.
                assert stop.lost <= stop.overhead or run.resizes


def test_what_comes_back_is_of_the_loan_that_still_stands() -> None:
    """Job 6 lends 2 nodes by a plan at 100. The reservation times out at 700, which voids that; at the arrival, at 750,
    it lends 4, and these come back."""
    jobs = [
        malleable(6, 0, 6, 2000, min_nodes=2),
        rigid(2, 230, 5, 2000),
        rigid(8, 800, 4, 120),
        on_demand(7, 750, 5, 50, notice=100, estimated=100),
    ]
    result = simulate(jobs, 9, "CUP-PAA", decisions=True)
    assert [(loan.nodes, loan.returned) for loan in Stories(result).story(6).facts.loans] == [(2, 0), (4, 4)]


@every_mechanism
@settings(max_examples=40, deadline=None)
@given(table=job_tables(), chosen=options)
def test_loans_are_what_the_log_moves(mechanism: str, table: Table, chosen: dict[str, str]) -> None:
    result = simulate(table.jobs, table.nodes, mechanism, decisions=True, **chosen)
    facts = all_facts(result)
    shrunk: dict[tuple[int, int], int] = defaultdict(int)
    grown: dict[tuple[int, int], int] = defaultdict(int)
    for entry in result.entries:
        cause = parse_cause(entry.cause)
        if entry.event == "shrink" and cause.job_id is not None:
            shrunk[entry.job_id, cause.job_id] += entry.before - entry.after
        if cause.kind == "returned" and cause.job_id is not None:
            grown[entry.job_id, cause.job_id] += entry.after - entry.before if entry.event == "expand" else 0
    lent: dict[tuple[int, int], int] = defaultdict(int)
    returned: dict[tuple[int, int], int] = defaultdict(int)
    for job_id, story in facts.items():
        for loan in story.loans:
            assert 0 <= loan.returned <= loan.nodes
            lent[job_id, loan.borrower] += loan.nodes
            returned[job_id, loan.borrower] += loan.returned
        for run in story.runs:
            if run.cause.kind == "returned":
                assert run.returned <= run.nodes
                assert run.cause.job_id is not None
                returned[job_id, run.cause.job_id] -= run.returned
    # What came back, came by an expansion or (taken off above) by a start.
    assert {pair: nodes for pair, nodes in returned.items() if nodes} == {p: n for p, n in grown.items() if n}
    assert all(lent[pair] >= nodes for pair, nodes in shrunk.items())
    for job_id, story in facts.items():
        if story.on_demand is not None:
            there = {helper.job_id for helper in story.on_demand.helpers if helper.how != "tenant" and helper.nodes}
            assert there == {lender for (lender, borrower), nodes in lent.items() if borrower == job_id and nodes}
            gained = sum(item.nodes for item in story.on_demand.reserved)
            assert 0 <= gained <= story.nodes
            assert story.on_demand.own in (0, gained)


@settings(max_examples=40, deadline=None)
@given(table=job_tables(), mechanism=st.sampled_from(["baseline", *MECHANISMS]), order=st.sampled_from(sorted(ORDERS)))
def test_whoever_easy_promises_a_start_stands_first(table: Table, mechanism: str, order: str) -> None:
    """The queue is played again in every order, those that see the machine included."""
    result = simulate(table.jobs, table.nodes, mechanism, decisions=True, order=order)
    for story in all_facts(result).values():
        for wait in story.waits:
            heads = [(item.since, item.until) for item in wait.first]
            spans = [
                (promise.time, following.time)
                for promise, following in zip(wait.promises, wait.promises[1:], strict=False)
                if promise.at is not None
            ]
            if wait.promises and wait.promises[-1].at is not None:
                spans.append((wait.promises[-1].time, wait.until))
            for since, until in spans:
                assert any(start <= since and until <= end for start, end in heads)
            # Nobody stands first without a promise: in these tables the nodes come back some day.
            assert sum(until - since for since, until in heads) == sum(until - since for since, until in spans)


@every_mechanism
@settings(max_examples=25, deadline=None)
@given(table=job_tables())
def test_every_story_fits_into_80_columns(mechanism: str, table: Table) -> None:
    result = simulate(table.jobs, table.nodes, mechanism, decisions=True)
    assume(result.entries)
    without = Stories(simulate(table.jobs, table.nodes, mechanism))
    stories = Stories(result)
    for job in table.jobs:
        story = stories.story(job.job_id)
        for text in (str(story), story.at_length(), str(without.story(job.job_id))):
            lines = text.splitlines()
            assert max(map(len, lines)) <= 80
            assert lines[0].startswith(f"Job {job.job_id} (")
            assert "None" not in text
            assert "\N{NO-BREAK SPACE}" not in text
        json.dumps(story.as_json(), allow_nan=False)


@settings(max_examples=25, deadline=None)
@given(table=job_tables(), mechanism=st.sampled_from(MECHANISMS))
def test_nodes_are_held_for_somebody(table: Table, mechanism: str) -> None:
    result = simulate(table.jobs, table.nodes, mechanism, decisions=True)
    assume(result.entries)
    timeline = Timeline(result, result.decisions)
    held = {time: held for time, _, held, _, _ in result.samples}
    on_demand = {job.job_id for job in table.jobs if job.type is JobType.ON_DEMAND}
    for instant in timeline.instants:
        assert bool(instant.holders) == bool(held[instant.time])
        assert set(instant.holders) <= on_demand
    assert all(WaitParts(timeline).free_at(instant.time) >= 0 for instant in timeline.instants)


@settings(max_examples=40, deadline=None)
@given(mix=mixes(), mechanism=st.sampled_from(["baseline", *MECHANISMS]), mode=st.sampled_from(["absorbed", "strict"]))
def test_reservations_of_stochastic_jobs_are_in_the_story_one_by_one(mix: Mix, mechanism: str, mode: str) -> None:
    varied = {"checkpoint_mode": mode, "checkpoint_variation": 0.25}
    result = simulate(mix.jobs, mix.nodes, mechanism, decisions=True, plans=mix.plans, **varied)
    facts = all_facts(result)
    courses = {course.job_id: course.reservations for course in result.stochastic}
    for record in result.records:
        story = facts[record.job_id]
        lost = sum(run.stop.lost + run.stop.lost_to_warning if run.stop else run.lost for run in story.runs)
        assert lost == record.lost
        if record.job_id in courses:
            runs = [(run.start, run.end, run.slot.ending if run.slot else "") for run in story.runs]
            assert runs == [(item.start, item.end, item.ending) for item in courses[record.job_id]]
            waits = [(wait.since, wait.until) for wait in story.waits]
            assert [until for _, until in waits] == [item.start for item in courses[record.job_id]]
        for wait in story.waits:
            assert sum(part.ticks for part in wait.parts) == wait.until - wait.since


@every_mechanism
@settings(max_examples=25, deadline=None)
@given(data=st.data(), mix=lively_mixes(), order=st.sampled_from(["fcfs", "sjf", "wfp3", "fairshare"]))
def test_outages_withdrawals_dependencies_and_starting_states_are_in_the_story(
    mechanism: str, data: st.DataObject, mix: Mix, order: str
) -> None:
    away = data.draw(outages_for(mix.jobs, mix.nodes))
    result = simulate(mix.jobs, mix.nodes, mechanism, decisions=True, plans=mix.plans, outages=away, order=order)
    assume(result.entries)
    stories = Stories(result)
    for record in result.records:
        story = stories.story(record.job_id)
        facts = story.facts
        lost = sum(run.stop.lost + run.stop.lost_to_warning if run.stop else run.lost for run in facts.runs)
        assert lost == record.lost
        assert sum(run.stop is not None for run in facts.runs) == record.preemptions
        for wait in facts.waits:
            assert sum(part.ticks for part in wait.parts) == wait.until - wait.since
            full = sum(part.ticks for part in wait.parts if part.kind == "full")
            assert sum(item.node_ticks for item in wait.occupancy) == full * mix.nodes
            assert all(item.node_ticks > 0 for item in wait.occupancy)
            assert wait.free >= 0
        assert {other.event for other in facts.others} <= {"cancel"}
        assert all(len(line) <= 80 for line in str(story).splitlines())
        assert "None" not in str(story)
        json.dumps(story.as_json(), allow_nan=False)
