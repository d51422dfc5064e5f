"""Sentences on a time in the queue."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from itertools import pairwise

from holdfast.experiments.stories.facts.lifetime import Facts
from holdfast.experiments.stories.facts.queueing import InstantEvent, Occupancy, PartOfWait, Promise, Wait
from holdfast.experiments.stories.writer.phrases import Clock, count, duration, jobs, join_items, percent, wrap
from holdfast.workloads.ground.job_ids import job_id_text
from holdfast.workloads.ground.units import SECOND

__all__ = ["LITTLE", "compare_promises", "first_promise", "head_sentences", "section"]

#: Moves of a promise that are listed for one wait, at its beginning and at its end.
_MOVES = 2
#: A wait below this needs no explanation [ticks].
LITTLE = 60 * SECOND

_EVENT_VERBS = {
    "ended": "ended",
    "timed out": "had not arrived in time",
    "shrunk": "shrank",
    "warned": "was warned",
    "preempted": "was preempted",
    "notice": "gave notice",
    "arrived": "arrived",
    "waits": "arrived and had to wait",
    "expanded": "expanded",
    "resumed": "resumed",
    "requeued": "was queued again",
    "submitted": "was submitted",
    "eligible": "became eligible",
    "tenant": "became a tenant of reserved nodes",
    "started": "started",
    "overdue": "was overdue",
}


def head_sentences(wait: Wait, clock: Clock, most: int | None) -> Iterator[tuple[int, str]]:
    """Sentences on its times at the head of the queue, and on promised starts."""
    promised = {promise.time: promise for promise in wait.promises}
    mentioned = set()
    for number, interval in enumerate(wait.first):
        promise = promised.get(interval.since)
        if promise is not None and promise.at is not None:
            mentioned.add(promise.time)
        if interval.since > wait.since:
            again = " again" if number else ""
            yield interval.since, f"It was now first in the queue{again}{_promise_clause(promise, clock)}."
        if interval.by is not None:
            yield interval.until, f"Job {interval.by} moved ahead of it."
            mentioned.add(interval.until)
    moves = [promise for promise in wait.promises if promise.time not in mentioned]
    shown = moves if most is None or len(moves) <= 2 * _MOVES + 1 else [*moves[:_MOVES], *moves[-_MOVES:]]
    before = {promise.time: previous for previous, promise in pairwise(wait.promises)}
    for promise in moves:
        if promise in shown:
            yield promise.time, _move(promise, before.get(promise.time), clock, most)
        elif promise is moves[_MOVES]:
            hidden = moves[_MOVES:-_MOVES]
            times = [item.at for item in hidden if item.at is not None]
            span = (
                f", between {clock.at(min(times), promise.time)} and {clock.at(max(times), promise.time)}"
                if times
                else ""
            )
            yield (
                promise.time,
                f"Until {clock.at(hidden[-1].time, promise.time)} the promise moved {len(hidden)} more times{span}.",
            )


def first_promise(wait: Wait, clock: Clock) -> str:
    """Clause on the start that was promised at its submit."""
    return _promise_clause(next((item for item in wait.promises if item.time == wait.since), None), clock)


def _promise_clause(promise: Promise | None, clock: Clock) -> str:
    if promise is None or promise.at is None:
        return ""
    return f", and it was promised a start by {clock.at(promise.at, promise.time)}"


def _move(promise: Promise, before: Promise | None, clock: Clock, most: int | None) -> str:
    why = _when(promise.when, most)
    if promise.at is None:
        return f"{why or 'Now'} it was no longer promised a start."
    if before is None or before.at is None:
        return f"It was promised a start by {clock.at(promise.at, promise.time)}."
    change = promise.at - before.at
    how = f"{duration(abs(change))} {'earlier' if change < 0 else 'later'}"
    return f"{why or 'Then'} the promise moved to {clock.at(promise.at, promise.time)}, {how}."


def _when(events: tuple[InstantEvent, ...], most: int | None) -> str:
    if not events:
        return ""
    if len(events) == 1 and events[0].kind == "ended early":
        return f"When job {job_id_text(events[0].job_id)} ended {duration(events[0].by)} before its walltime,"
    groups: dict[str, list[int]] = defaultdict(list)
    clauses = [item.kind for item in events if item.job_id < 0]
    for item in events:
        if item.job_id >= 0:
            groups[item.kind].append(item.job_id)
    for kind, ids in groups.items():
        verb = {"ended early": "ended before their walltimes", "came early": "arrived before the announced time"}.get(
            kind
        )
        if verb is None or (kind == "ended early" and len(ids) == 1):
            verb = (
                "ended before its walltime"
                if kind == "ended early"
                else _EVENT_VERBS.get(kind, f"had the event {kind}")
            )
        clauses.append(f"{jobs(ids, most)} {verb if len(ids) == 1 else verb.replace('was ', 'were ')}")
    return f"When {join_items(clauses, None)},"


def compare_promises(wait: Wait) -> str:
    """Clause that compares the start with the first promise."""
    times = [promise.at for promise in wait.promises if promise.at is not None]
    if not times or wait.until == wait.since:
        return ""
    late = wait.until - times[0]
    if abs(late) <= 1:
        return ", as it was first promised"
    return f", {duration(abs(late))} {'later' if late > 0 else 'earlier'} than first promised"


def section(wait: Wait, facts: Facts, clock: Clock, most: int | None, unit: str) -> list[str]:
    """Lines that explain a wait; none if it needs no explanation."""
    found = reasons(wait, facts, clock, most)
    if not found:
        return []
    (_, heading), *rest = found
    width = max((len(spent) for spent, _ in rest), default=0)
    lines = [heading]
    for spent, text in rest:
        margin = f"  {spent:>{width}}  " if spent else "  "
        lines += wrap(text, margin, " " * len(margin), unit=unit)
    return lines


def reasons(wait: Wait, facts: Facts, clock: Clock, most: int | None) -> list[tuple[str, str]]:
    """Pairs that explain a wait: a heading, a duration with its reason each, and the jobs that passed; may be empty."""
    length = wait.until - wait.since
    if length < LITTLE:
        return []
    which = {
        "submit": f"Why it waited {duration(length)}:",
        "requeue": f"Why it waited {duration(length)} again, from {clock.at(wait.since)} on:",
        "next": f"Why it waited {duration(length)}, from {clock.at(wait.since)} on:",
        "wait": f"Why it waited {duration(length)} in the queue:",
    }.get(wait.why, f"Why it waited {duration(length)}:")
    pairs = [("", which)]
    for part in wait.parts:
        text = _part(part, wait, facts, most)
        if part.kind == "full":
            text += _occupancy_sentence(wait.occupancy, part.ticks * facts.machine, most)
        pairs.append((duration(part.ticks), text))
    passing = _passing_sentence(wait, most)
    return [*pairs, ("", passing)] if passing else pairs


def _part(part: PartOfWait, wait: Wait, facts: Facts, most: int | None) -> str:
    need = f"{count(wait.needs, 'node')} {'was' if wait.needs == 1 else 'were'}"
    if part.kind == "full":
        return "No node was idle." if wait.needs == 1 else f"Fewer than {need} idle."
    if part.kind == "held":
        holders = f" for on-demand {jobs(part.jobs, most)}" if part.jobs else " for others"
        if part.outages:
            holders = f" for {join_items([*([holders[5:]] if part.jobs else []), *part.outages], most)}"
        return f"At least {need} idle, but too many of them were held{holders}."
    if part.kind == "first":
        if part.jobs:
            # Reserved nodes are lent when the pass is over.
            over = "stood before it until the scheduling pass was over, and then started on reserved nodes"
            return f"At least {need} free, but {jobs(part.jobs, most)} {over}."
        stood = f"At least {need} free and it was first in the queue"
        if facts.backfilling == "easy" and facts.windows:
            return f"{stood}, but an announced outage needed nodes."
        return f"{stood}, but the rule ({facts.backfilling}) did not start it."
    holders = jobs(part.jobs, most)
    verb, start = ("was", "its start") if len(part.jobs) == 1 else ("were in turn", "their starts")
    turn = f"At least {need} free, but {holders} {verb} first in the queue, and"
    if facts.backfilling == "easy" and not facts.windows:
        return f"{turn} this job could have delayed {start}."
    return f"{turn} the rule ({facts.backfilling}) let this job wait."


def _occupancy_sentence(occupancy: tuple[Occupancy, ...], whole: int, most: int | None) -> str:
    """Sentence on the use of the machine in that time."""
    clauses: list[str] = []
    for item in sorted(occupancy, key=lambda item: -item.node_ticks):
        share = percent(item.node_ticks, whole) + (" of the machine" if not clauses else "")
        if item.kind in ("idle", "down"):
            clauses.append(f"{share} was {'idle' if item.kind == 'idle' else 'out of service'}")
            continue
        what = {
            "before": "jobs that had started before it was queued",
            "ahead": "jobs ahead of it in the queue",
            "on-demand": "on-demand jobs that started meanwhile",
            "passed": "jobs behind it in the queue",
        }[item.kind]
        names = join_items([job_id_text(job_id) for job_id in item.jobs], most)
        clauses.append(f"{share} ran {what} ({names})")
    return f" {'; '.join(clauses)}."


def _passing_sentence(wait: Wait, most: int | None) -> str:
    """Sentence on the jobs from behind it that started first."""
    groups: dict[str, dict[int, list[int]]] = defaultdict(lambda: defaultdict(list))
    for item in wait.passed_by:
        groups[item.how][item.job_id].append(item.nodes)
    clauses = []
    for how, starts in groups.items():
        one = len(starts) == 1
        verb = {
            "backfilled": f"{'was' if one else 'were'} backfilled ahead of it",
            "tenant": f"started ahead of it as {'a tenant' if one else 'tenants'} of reserved nodes",
            "returned": "resumed ahead of it on nodes that were given back",
        }.get(how, f"started ahead of it ({how})")
        names: list[str] = []
        for job_id, sizes in starts.items():
            unit = "" if names else " node" if sizes == [1] else " nodes"
            names.append(f"{job_id_text(job_id)} ({join_items([str(size) for size in sizes], most)}{unit})")
        clauses.append(f"{count(len(starts), 'job')} {verb}: {join_items(names, most)}")
    return "; ".join(clauses) + "." if clauses else ""
