"""With withdrawals, dependencies and a starting state the simulator keeps its laws, as the event log alone tells."""

from __future__ import annotations

from collections import defaultdict

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.experiments.placement.spans import HELD, place_nodes
from holdfast.experiments.timelines.machine_table import machine_rows
from holdfast.simulator import Result, simulate
from holdfast.simulator.machine.event_log import Entry
from holdfast.simulator.results.metrics import summarize, summarize_types
from holdfast.simulator.results.reservations import stochastic_rows
from holdfast.simulator.results.schema import JOBS
from holdfast.workloads.ground.units import SECOND, to_ticks
from holdfast.workloads.table.job import Job, JobType
from tests.reference.hybrid import MECHANISMS
from tests.strategies.lives import lively_mixes, random_lively_mix
from tests.strategies.mixes import Mix

#: Events that change how many nodes a job occupies (a warning does not), and those after which it has none.
CHANGES = ("start", "shrink", "expand", "warn", "preempt", "expire", "complete", "kill", "cancel")
LAST = ("complete", "kill", "cancel")

every_mechanism = pytest.mark.parametrize("mechanism", ["baseline", *MECHANISMS])
options = st.fixed_dictionaries(
    {
        "tenants": st.sampled_from(["any", "any", "fits", "none"]),
        "backfill_length": st.sampled_from(["walltime", "walltime", "runtime"]),
        "passes": st.sampled_from(["instant", "instant", "event"]),
    }
)


def replay_mix(mix: Mix, mechanism: str, **chosen: str) -> Result:
    return simulate(mix.jobs, mix.nodes, mechanism, plans=mix.plans, **chosen)


def check_laws(mix: Mix, result: Result) -> None:
    nodes, origin = mix.nodes, result.origin
    by_id = {job.job_id: job for job in mix.jobs}
    events: dict[int, list[Entry]] = defaultdict(list)
    for entry in result.entries:
        events[entry.job_id].append(entry)
    assert [entry.time for entry in result.entries] == sorted(entry.time for entry in result.entries)

    begin = max((to_ticks(job.running_since) for job in mix.jobs if job.running_since is not None), default=None)
    assert result.begin == begin

    # Node conservation, and the busy node-time, by sums that the simulator does not keep.
    used = since = busy = 0
    for entry in result.entries:
        if entry.event in CHANGES:
            busy += used * (entry.time - since)
            since = entry.time
            used += entry.after - entry.before
            assert 0 <= used <= nodes
    assert used == 0
    account = result.accounting
    assert busy == account.compute + account.setup + account.checkpoint + account.lost + account.warning
    assert min(account) >= 0

    first = {job_id: seen[0].time for job_id, seen in _only(events, "submit").items()}
    last = {job_id: seen[-1] for job_id, seen in _only(events, *LAST).items()}
    for record in result.records:
        job = by_id[record.job_id]
        held = 0
        for entry in events[job.job_id]:
            if entry.event in CHANGES:
                assert entry.before == held, "nodes appear or vanish between two events"
                held = entry.after
        if job.submit is None:
            assert record.status == ("no_show" if job.cancelled_at is None else "cancelled")
            assert job.job_id not in last
            assert (record.submit, record.start, record.end) == (None, None, None)
            continue
        check_job(job, record.status, events[job.job_id], origin)
        assert last[job.job_id].time + origin == record.end
        assert record.submit is not None
        if job.running_since is not None:
            start = next(entry for entry in events[job.job_id] if entry.event == "start")
            assert (start.time + origin, start.after) == (begin, job.nodes)
            assert (record.submit, record.start) == (to_ticks(job.submit), to_ticks(job.running_since))
        elif job.preceding is None:
            assert record.submit == to_ticks(job.submit)
            assert first[job.job_id] + origin == max(record.submit, begin or 0)
        else:
            assert first[job.job_id] + origin == record.submit
            over = last[job.preceding].time + origin
            think = job.think_time
            expected = max(over, to_ticks(job.submit)) if think is None else over + to_ticks(think)
            assert record.submit == expected
        check_withdrawal(job, record.submit, last[job.job_id], origin)

    # The accounting is complete from the beginning on.
    came = [record for record in result.records if record.submit is not None]
    if came:
        opened = min(record.submit or 0 for record in came) if begin is None else begin
        assert sum(account) == nodes * (max(record.end or 0 for record in came) - opened)
        assert sum(record.lost for record in came) == account.lost + account.warning


def check_job(job: Job, status: str, seen: list[Entry], origin: int) -> None:
    """One end, and nothing after it; legal sizes; nothing that its type forbids."""
    ends = [entry for entry in seen if entry.event in LAST]
    assert len(ends) == 1
    after = seen[seen.index(ends[0]) + 1 :]
    assert not [entry for entry in after if entry.event not in ("reserve", "withdraw", "time-out")]
    assert {"complete": "completed", "kill": "killed", "cancel": "cancelled"}[ends[0].event] == status
    starts = [entry for entry in seen if entry.event in ("start", "shrink", "expand")]
    least = job.min_nodes if job.type is JobType.MALLEABLE and job.min_nodes is not None else job.nodes
    assert all(least <= entry.after <= job.nodes for entry in starts)
    if status != "cancelled":
        assert starts


def check_withdrawal(job: Job, submit: int, end: Entry, origin: int) -> None:
    """Withdrawn exactly when its user's patience is over, or done by then: a completion wins."""
    if job.cancelled_at is None:
        assert end.event != "cancel"
        return
    assert job.submit is not None
    due = submit + to_ticks(job.cancelled_at) - to_ticks(job.submit)
    if end.event == "cancel":
        assert end.time + origin == due
    else:
        assert end.time + origin <= due


def _only(events: dict[int, list[Entry]], *names: str) -> dict[int, list[Entry]]:
    chosen = {job_id: [entry for entry in seen if entry.event in names] for job_id, seen in events.items()}
    return {job_id: seen for job_id, seen in chosen.items() if seen}


@every_mechanism
@settings(max_examples=50)
@given(mix=lively_mixes(), chosen=options)
def test_laws(mechanism: str, mix: Mix, chosen: dict[str, str]) -> None:
    check_laws(mix, replay_mix(mix, mechanism, **chosen))


@pytest.mark.system
@every_mechanism
def test_laws_on_many_tables(mechanism: str) -> None:
    seen: dict[str, int] = defaultdict(int)
    for seed in range(120):
        mix = random_lively_mix(seed, max_jobs=24)
        result = replay_mix(mix, mechanism)
        check_laws(mix, result)
        for entry in result.entries:
            if entry.event in ("cancel", "withdraw"):
                seen[f"{entry.event} {entry.cause}"] += 1
    # What the tables are for really happens in them.
    assert seen["cancel waits"] > 50
    assert seen["cancel runs"] > 50


def test_what_measures_and_draws_them_can() -> None:
    """Summaries count everybody once, and nodes by number are those of the log."""
    for seed in range(60):
        mix = random_lively_mix(seed, max_jobs=24)
        result = replay_mix(mix, ("baseline", *MECHANISMS)[seed % 7])
        summary = summarize(result)
        begin = result.begin or 0
        measured = [record for record in result.records if record.submit is not None and record.submit >= begin]
        assert int(summary["jobs"]) + int(summary.get("cancelled_jobs", 0)) == len(measured)
        assert summarize_types(result)[0]["jobs"] == summary["jobs"]
        rows = list(JOBS.rows(result))
        waits = [row["wait"] for row, record in zip(rows, result.records, strict=True) if record in measured]
        known = [float(str(wait)) / 3600 for wait in waits if wait is not None]
        assert len(known) == summary["jobs"]
        if known:
            assert summary["wait_h"] == pytest.approx(sum(known) / len(known))
        assert len(list(stochastic_rows(result))) == len(result.stochastic)
        if result.opened is None:
            continue
        # The course of the machine begins with the replay, and its busy part is what the accounting says.
        course = machine_rows([result])
        assert course[0]["start_s"] == 0
        busy = sum(row["busy_percent"] * (row["end_s"] - row["start_s"]) for row in course)
        account = result.accounting
        spent = account.compute + account.setup + account.checkpoint + account.lost + account.warning
        assert busy / 100 * mix.nodes == pytest.approx(spent / SECOND, abs=1e-3)
        sums = {HELD: 0, "busy": 0}
        first = result.opened - result.origin
        for span in place_nodes(result):
            ticks = max(0, span.end - max(first, span.start))
            sums[HELD if span.kind == HELD else "busy"] += ticks * sum(high - low for low, high in span.nodes)
        assert sums == {HELD: account.held, "busy": spent}


@pytest.mark.slow
@pytest.mark.parametrize("passes", ["instant", "event"])
@every_mechanism
def test_laws_in_bulk(mechanism: str, passes: str) -> None:
    for seed in range(1000):
        mix = random_lively_mix(seed, max_jobs=40)
        check_laws(mix, replay_mix(mix, mechanism, passes=passes))
