"""The checker: laws that every result keeps, by the event log, the samples and the job rows alone."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterator
from itertools import pairwise

from holdfast.simulator import Result
from holdfast.simulator.results.metrics import summarize
from holdfast.simulator.results.recording import down_at_samples
from holdfast.simulator.results.reservations import stochastic_rows
from holdfast.simulator.results.schema import JOBS, RESERVATIONS
from holdfast.workloads.ground.units import to_ticks
from holdfast.workloads.outages.outage import OutageKind
from holdfast.workloads.table.job import Job, JobType
from tests.search.cases import Case
from tests.search.replays import ENDS, Stint, node_tick_uses, stints_of

__all__ = ["broken_laws"]

_CHANGES = ("start", "shrink", "expand", "warn", *ENDS)
#: What may happen to a job before it is eligible.
_WHILE_HELD = ("hold", "cancel", "notice", "reserve", "time-out", "withdraw")
#: Metrics that are a share of the machine or of the jobs.
_SHARES = (
    *("utilization", "utilization_available", "work_utilization", "instant_start_ratio"),
    *("instant_start_ratio_strict", "preemption_ratio_rigid", "preemption_ratio_malleable", "shrink_ratio"),
)


def broken_laws(case: Case, result: Result, *, measured: bool = True) -> list[str]:
    """A sentence for each law that the result breaks; ``measured``: the metrics, which take longest, are looked at."""
    jobs = {job.job_id: job for job in case.jobs}
    stints = stints_of(result, jobs)
    return [
        *_nodes(case, result),
        *_lives(case, result, jobs, stints),
        *_account(case, result, jobs, stints),
        *_queue(case, result, jobs),
        *_holds(result, jobs),
        *(_measures(case, result) if measured else ()),
    ]


def _nodes(case: Case, result: Result) -> Iterator[str]:
    """Nodes are conserved: nobody has a node twice, none appear or vanish."""
    held: dict[int, int] = defaultdict(int)
    sizes: dict[int, tuple[int, int]] = {}
    last = busy = down = 0
    for entry in result.entries:
        if entry.time < last:
            yield f"the log goes back from {last} to {entry.time}"
        last = entry.time
        outage = case.outages[-entry.job_id - 1] if 0 < -entry.job_id <= len(case.outages) else None
        booking = outage is not None and outage.kind is OutageKind.RESERVATION
        if entry.event not in (_CHANGES if entry.job_id > 0 else ("down", "up")) or booking:
            continue
        if entry.event == "cancel" and not entry.before:
            continue
        if entry.before != held[entry.job_id]:
            yield f"{entry} where it has {held[entry.job_id]} nodes"
        held[entry.job_id] = entry.after
        change = entry.after - entry.before
        busy, down = (busy + change, down) if entry.job_id > 0 else (busy, down + change)
        if entry.after < 0 or busy + down > case.nodes:
            yield f"after {entry} {busy} nodes are busy and {down} down of {case.nodes}"
        sizes[entry.time] = busy, down
    if any(nodes for holder, nodes in held.items() if holder > 0):
        yield f"jobs keep nodes: {dict(held)}"
    busy = down = 0
    downs = down_at_samples(result) if result.down else [0] * len(result.samples)
    for (time, at_work, kept, _, _), away in zip(result.samples, downs, strict=True):
        busy, down = sizes.get(time, (busy, down))
        if (busy, down) != (at_work, away) or min(at_work, kept, away) < 0 or at_work + kept + away > case.nodes:
            yield f"sample at {time}: {at_work} busy, {kept} held, {away} down; by the log {busy} busy, {down} down"


def _lives(case: Case, result: Result, jobs: dict[int, Job], stints: dict[int, list[Stint]]) -> Iterator[str]:
    """Every job ends as it may, once, not before its time."""
    records = {record.job_id: record for record in result.records}
    events: dict[int, Counter[str]] = defaultdict(Counter)
    for entry in result.entries:
        events[entry.job_id][entry.event] += 1
    begin = result.begin if result.begin is not None else -math.inf
    if [record.job_id for record in result.records] != [job.job_id for job in case.jobs]:
        yield "the records are not those of the table"
        return
    for job_id, record in records.items():
        job, runs, name = jobs[job_id], stints.get(job_id, []), f"job {job_id} ({jobs[job_id].type})"
        if any(not run.ending for run in runs):
            yield f"{name} never gives its nodes back"
        # Where the baseline ignores notices a no-show is one all the same.
        if job.submit is None:
            if runs or record.end is not None or record.status not in ("no_show", "cancelled"):
                yield f"{name} never arrives: {record}"
            continue
        if record.submit is None or record.end is None:
            yield f"{name} never ends: {record}"
            continue
        ends = [run.ending for run in runs]
        good = sum(end in ("complete", "kill") for end in ends)
        legal = {"completed": "complete", "killed": "kill", "cancelled": "cancel"}.get(record.status)
        if legal is None or (record.status != "cancelled" and (good != 1 or ends[-1] != legal)):
            yield f"{name} is {record.status} after {ends}"
        if record.status == "cancelled" and (good or events[job_id]["cancel"] != 1):
            yield f"{name} is cancelled after {ends}"
        if runs and (record.start != runs[0].start + result.origin or record.start < record.submit):
            yield f"{name} is submitted at {record.submit} and starts at {record.start}"
        last = runs[-1].end + result.origin if runs else record.end
        if record.end != last and record.status != "cancelled":
            yield f"{name} ends at {record.end}, its last run at {last}"
        yield from _submit_problems(job, record.submit, records, name)
        if job.cancelled_at is not None:
            patience = max(0, to_ticks(job.cancelled_at) - to_ticks(job.submit))
            until = max(record.submit + patience, begin)
            if record.end > until or (record.status == "cancelled") != (record.end == until and not good):
                yield f"{name} has patience until {until} and is {record.status} at {record.end}"
        preempted = sum(run.warned is not None or run.ending == "preempt" for run in runs)
        if record.preemptions != preempted:
            yield f"{name} counts {record.preemptions} of {preempted} preemptions"
        if _is_served(case, job) and preempted and not (case.outages or case.failures):
            yield f"{name} is preempted"
        if events[job_id]["requeue"] > preempted:
            yield f"{name} is queued again {events[job_id]['requeue']} times after {preempted} preemptions"


def _submit_problems(job: Job, submit: int, records: dict[int, object], name: str) -> Iterator[str]:
    """When the table says, or after the job that it depends on."""
    assert job.submit is not None
    expected = to_ticks(job.submit)
    if job.preceding is not None:
        over = records[job.preceding].end  # type: ignore[attr-defined]
        expected = max(expected, over) if job.think_time is None else over + to_ticks(job.think_time)
    if submit != expected:
        yield f"{name} is submitted at {submit}, not at {expected}"


def _account(case: Case, result: Result, jobs: dict[int, Job], stints: dict[int, list[Stint]]) -> Iterator[str]:
    """All node-time is booked, to the tick, as what it was; work is done once."""
    came = [record for record in result.records if record.end is not None]
    opened = result.opened
    if not came or opened is None:
        return
    elapsed = max(record.end or 0 for record in came) - opened
    accounting, uses = result.accounting, Counter(dict.fromkeys(result.accounting._fields, 0))
    courses = {course.job_id: course.reservations for course in result.stochastic}
    for record in came:
        job, lost, occupied = jobs[record.job_id], 0, 0
        runs = [run for run in stints.get(record.job_id, []) if run.ending]
        ended = record.status in ("completed", "killed")
        baseline = case.mechanism == "baseline"
        for found in node_tick_uses(job, runs, courses.get(job.job_id, ()), baseline=baseline, strict=ended):
            if isinstance(found, str):
                yield f"job {job.job_id} ({job.type}) {found}"
                continue
            use, amount = found
            uses[use] += amount
            occupied += amount
            lost += amount if use in ("lost", "warning") else 0
            if amount < 0:
                yield f"job {job.job_id} has {amount} node-ticks of {use}"
        if occupied != sum(run.node_ticks() for run in runs):
            yield f"job {job.job_id}: {occupied} node-ticks of {sum(run.node_ticks() for run in runs)} are known"
        if lost != record.lost:
            yield f"job {job.job_id} has lost {lost} and not {record.lost} node-ticks"
    first, last = opened - result.origin, opened - result.origin + elapsed
    # Python's integers: node-ticks of large machines exceed 64 bits.
    downs = list(map(int, down_at_samples(result))) if result.down else [0] * len(result.samples)
    for index, (time, _, held, _, _) in enumerate(result.samples):
        until = result.samples[index + 1][0] if index + 1 < len(result.samples) else last
        span = max(0, min(until, last) - max(time, first))
        uses["held"] += held * span
        uses["down"] += downs[index] * span
    uses["idle"] = case.nodes * elapsed - sum(uses.values())
    if uses["idle"] < 0 or sum(accounting) != case.nodes * elapsed or dict(uses) != accounting._asdict():
        yield f"the accounting is {accounting}, by the log {dict(uses)}"


def _queue(case: Case, result: Result, jobs: dict[int, Job]) -> Iterator[str]:
    """Nobody waits while any job of the queue could start: whatever the order, the first would."""
    if any(outage.kind is not OutageKind.FAILURE for outage in case.outages):
        return
    # Sizes at which any job would start as the first of the queue.
    sizes = ("malleable_start", "requested"), ("malleable_resume", "former"), ("malleable_head", "requested")
    whole = case.mechanism == "baseline" or any(case.options.get(name) == value for name, value in sizes)
    smallest = {job_id: job.nodes if whole else job.min_nodes or job.nodes for job_id, job in jobs.items()}
    waiting: set[int] = set()
    last, tenant = -1, -1
    downs = down_at_samples(result) if result.down else [0] * len(result.samples)
    used = {sample[0]: sample[1] + sample[2] + down for sample, down in zip(result.samples, downs, strict=True)}
    for entry in [*result.entries, None]:
        now = entry.time if entry is not None else math.inf
        # A tenant may be the first in the queue, who starts once the pass over all others is done.
        if now != last and waiting and last in used and tenant != last:
            free = case.nodes - used[last]
            if free >= max(smallest[job_id] for job_id in waiting):
                yield f"at {last} jobs {sorted(waiting)} wait while {free} nodes are free"
                return
        if entry is None:
            return
        last = entry.time
        event, job_id = entry.event, entry.job_id
        tenant = now if entry.cause == "tenant" else tenant
        if job_id < 0:
            continue
        if event in ("requeue", "wait") or (event == "submit" and not _is_served(case, jobs[job_id])):
            waiting.add(job_id)
        elif event in ("start", "gather", "cancel"):
            waiting.discard(job_id)


def _holds(result: Result, jobs: dict[int, Job]) -> Iterator[str]:
    """A job that is not eligible at its submit is held until it is, once, and neither waits nor runs before."""
    events: dict[int, list[tuple[str, int]]] = defaultdict(list)
    for entry in result.entries:
        events[entry.job_id].append((entry.event, entry.time + result.origin))
    begin = result.begin if result.begin is not None else -math.inf
    for record in result.records:
        job, submit = jobs[record.job_id], record.submit
        # A job that runs already was eligible.
        if submit is None or job.submit is None or job.running_since is not None:
            continue
        until, name = submit, f"job {record.job_id} ({job.type})"
        if job.eligible is not None and job.eligible > job.submit:
            until = max(submit, to_ticks(job.eligible))
        if (submit if record.eligible is None else record.eligible) != until:
            yield f"{name} is eligible at {until}, and by its row at {record.eligible}"
        seen = events[record.job_id]
        # Cancellations of an instant come first: a job that is cancelled when it becomes eligible is never queued.
        over = record.end is not None and record.status == "cancelled" and not record.start and record.end <= until
        held = [("hold", max(submit, begin))] if until > max(submit, begin) else []
        holds, submits = ([item for item in seen if item[0] == event] for event in ("hold", "submit"))
        if holds != held:
            yield f"{name} is held by the log: {holds}, not {held}"
        entered = [] if over and held else [("submit", max(until, begin))]
        if submits[:1] != entered:
            yield f"{name} enters the queue by the log: {submits}, not {entered}"
        early = [item for item in seen if item[1] < until and item[0] not in _WHILE_HELD]
        if early:
            yield f"{name} is eligible at {until}, and before: {early}"


def _is_served(case: Case, job: Job) -> bool:
    return job.type is JobType.ON_DEMAND and case.mechanism != "baseline"


def _measures(case: Case, result: Result) -> Iterator[str]:
    """Metrics are finite, or NaN where there is nothing to measure; shares are from 0 to 1."""
    summary = summarize(result)
    records = [record for record in result.records if record.end is not None]
    for name, value in summary.items():
        if not isinstance(value, str) and math.isinf(value):
            yield f"{name} is {value}"
        if name in _SHARES and not (math.isnan(float(value)) or -1e-12 <= float(value) <= 1 + 1e-9):
            yield f"{name} is {value}"
    if records and result.opened is not None:
        elapsed = max(record.end or 0 for record in records) - result.opened
        # The summary reads it off the books; samples and losses are noted apart from them.
        occupied = sum(busy * (until[0] - time) for (time, busy, *_), until in pairwise(result.samples))
        lost = sum(node_ticks for _, node_ticks in result.losses)
        exact = (occupied - lost) / (case.nodes * elapsed) if elapsed else math.nan
        if not math.isclose(float(summary["utilization"]), exact, abs_tol=1e-9) and elapsed:
            yield f"utilization is {summary['utilization']}, by the samples and losses {exact}"
    rows = [*JOBS.rows(result), *stochastic_rows(result), *RESERVATIONS.rows(result)]
    for row in rows:
        for name, value in row.items():
            if isinstance(value, float) and math.isinf(value):
                yield f"{name} is {value} in {row}"
