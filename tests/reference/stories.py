"""A plain reading of the event log: what a story should say of waits, taken from records, samples and entries alone.

It keeps no states and draws no conclusions from the job table but sizes and submits, so that it knows only the orders
whose keys follow from those.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from itertools import pairwise
from typing import NamedTuple

from holdfast.simulator import Result
from holdfast.workloads.table.job import Job, JobType

__all__ = ["KEYS", "PlainWait", "plain_waits"]

#: Orders by a key that never changes: of (first submit, size).
KEYS: dict[str, Callable[[int, int], tuple[int, int]]] = {
    "fcfs": lambda submit, nodes: (submit, 0),
    "smallest": lambda submit, nodes: (nodes, submit),
    "largest": lambda submit, nodes: (-nodes, submit),
}


class PlainWait(NamedTuple):
    """A time in the queue; places are those of the log."""

    since: int
    until: int
    ahead: list[int]
    passed_by: list[tuple[int, int]]
    first: int
    parts: dict[str, int]


def plain_waits(result: Result, order: str) -> dict[int, list[PlainWait]]:
    """The waits of all jobs, counted entry by entry and instant by instant."""
    jobs = {job.job_id: job for job in result.table}
    rows = {job.job_id: row for row, job in enumerate(result.table)}
    submits = {record.job_id: record.submit for record in result.records}

    def on_demand(job: Job) -> bool:
        return result.mechanism != "baseline" and job.type is JobType.ON_DEMAND

    def rank(job_id: int) -> tuple[int, tuple[int, int], int]:
        submit = submits[job_id]
        assert submit is not None
        if on_demand(jobs[job_id]):
            return 0, (submit, 0), rows[job_id]
        return 1, KEYS[order](submit, jobs[job_id].nodes), rows[job_id]

    # (place, time) of when each job came to the queue and left it.
    stays: dict[int, list[list[tuple[int, int]]]] = defaultdict(list)
    starts: list[tuple[int, int, int]] = []
    waiting: set[int] = set()
    for place, entry in enumerate(result.entries):
        comes = entry.event in ("requeue", "wait") or (entry.event == "submit" and not on_demand(jobs[entry.job_id]))
        if comes:
            waiting.add(entry.job_id)
            stays[entry.job_id].append([(place, entry.time)])
        elif entry.event == "start" and entry.job_id in waiting:
            waiting.remove(entry.job_id)
            stays[entry.job_id][-1].append((place, entry.time))
            starts.append((place, entry.job_id, entry.after))
    assert not waiting
    found: dict[int, list[PlainWait]] = defaultdict(list)
    for job_id, spans in stays.items():
        job = jobs[job_id]
        least = job.min_nodes if job.type is JobType.MALLEABLE and result.mechanism != "baseline" else job.nodes
        assert least is not None
        for (place, since), (end, until) in spans:
            passed = [(other, nodes) for at, other, nodes in starts if place < at < end and rank(other) > rank(job_id)]
            parts: dict[str, int] = defaultdict(int)
            first = 0
            samples = [*result.samples, (until, 0, 0, 0, 0)]
            for (time, busy, held, _, _), (following, *_) in pairwise(samples):
                if not since <= time < until:
                    continue
                length = min(following, until) - time
                before = [
                    other
                    for other, others in stays.items()
                    for (_, came), (_, left) in others
                    if came <= time < left and rank(other) < rank(job_id)
                ]
                first += 0 if before else length
                idle = result.nodes - busy
                kind = "full" if idle < least else "held" if idle - held < least else "turn" if before else "first"
                parts[kind] += length
            ahead = [
                other
                for other, others in stays.items()
                for (_, came), (_, left) in others
                if came <= since < left and rank(other) < rank(job_id)
            ]
            found[job_id].append(PlainWait(since, until, sorted(ahead), passed, first, dict(parts)))
    return found
