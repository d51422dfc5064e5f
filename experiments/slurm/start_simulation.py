"""Starts of a replay's jobs under a rule, where limits, dependencies or completing nodes decide as well.

:func:`simulator.simulation.simulate` knows none of these. This loop makes a pass of the rule at each event, as
:mod:`experiments.slurm.decision_points` does, but in its own state instead of Slurm's.
"""

from __future__ import annotations

from dataclasses import replace
from heapq import heappop, heappush

from experiments.slurm.decision_points import find_starts, queue_in_order
from experiments.slurm.recorded_replay import Replay, ReplayedJob
from policies.backfilling import Backfilling
from policies.order import Order

__all__ = ["needs_own_loop", "simulate_starts"]

#: Kinds of events in their order within an instant.
_RELEASE, _END, _LEAVE, _ARRIVE = range(4)
#: A job that became eligible within this time of the end of those before it waited for nothing else [s].
_PROMPT = 60.0


def needs_own_loop(replay: Replay) -> bool:
    """Whether limits, dependencies or completing nodes decide about starts."""
    return replay.limits.any or any(job.after or job.completing for job in replay.jobs)


def simulate_starts(replay: Replay, rule: Backfilling, order: Order | None = None) -> dict[int, float]:
    """Simulate the starts of the jobs.

    A task of a throttled array is in the queue with the first of its array. A job that became eligible at the end of
    the jobs that it depended on does so in the simulation.

    Parameters
    ----------
    replay
        What Slurm did; runtimes, times of nodes to complete and cancellations are as recorded.
    rule
        The backfilling rule.
    order
        Order of the queue; None: by submit.

    Returns
    -------
    dict of int to float
        Start of each job that ran [s].
    """
    ran = {job.job_id: job for job in replay.jobs}
    rank = {job.job_id: place for place, job in enumerate(sorted((*replay.jobs, *replay.cancelled), key=_turn))}
    followers, open_ends = _dependencies(replay)
    arrivals = _arrivals(replay)
    events: list[tuple[float, int, int]] = []
    for job in replay.jobs:
        if not open_ends.get(job.job_id):
            heappush(events, (arrivals[job.job_id], _ARRIVE, job.job_id))
    leaving = {job.job_id: job for job in replay.cancelled}
    for job in replay.cancelled:
        heappush(events, (job.queued, _ARRIVE, job.job_id))
        heappush(events, (job.end, _LEAVE, job.job_id))
    queue: dict[int, ReplayedJob] = {}
    holding: dict[int, ReplayedJob] = {}
    past: list[ReplayedJob] = []
    places: dict[int, int] = {}
    ends: dict[int, float] = {}
    starts: dict[int, float] = {}
    while events:
        now = events[0][0]
        while events and events[0][0] == now:
            _, kind, number = heappop(events)
            if kind == _ARRIVE:
                queue[number] = ran[number] if number in ran else leaving[number]
            elif kind == _LEAVE and number in queue:
                del queue[number]
            elif kind in (_RELEASE, _LEAVE):
                past += [holding.pop(number)] if number in holding else []
            else:
                ends[number] = now
                for follower in followers.get(number, ()):
                    open_ends[follower].discard(number)
                    if not open_ends[follower]:
                        at = _eligible(ran[follower], ran, max(ends[job] for job in ran[follower].after))
                        heappush(events, (max(now, at), _ARRIVE, follower))
        waiting = sorted(queue.values(), key=lambda job: rank[job.job_id])
        if not waiting:
            continue
        running = list(holding.values())
        if order is not None:
            waiting = queue_in_order(order, now, waiting, [*past, *running], replay.nodes)
        found, places = find_starts(rule, now, waiting, running, replay, places)
        for number in found:
            job = queue.pop(number)
            if number in leaving:
                holding[number] = replace(job, start=now, end=now + job.walltime, place=0)
                continue
            starts[number] = now
            holding[number] = begun = replace(job, start=now, end=now + min(job.end - job.start, job.walltime), place=0)
            heappush(events, (begun.end, _END, number))
            heappush(events, (begun.released, _RELEASE, number))
    return starts


def _turn(job: ReplayedJob) -> tuple[float, int]:
    return job.submit, job.job_id


def _arrivals(replay: Replay) -> dict[int, float]:
    """When each job is in the queue [s]; a task of a throttled array with the first of its array."""
    first: dict[int, float] = {}
    for job in replay.jobs:
        if job.array in replay.limits.throttles:
            first[job.array] = min(job.queued, first.get(job.array, job.queued))
    return {job.job_id: first.get(job.array, job.queued) for job in replay.jobs}


def _dependencies(replay: Replay) -> tuple[dict[int, list[int]], dict[int, set[int]]]:
    """The jobs that wait for each job, and the jobs that each of them still waits for."""
    ran = {job.job_id for job in replay.jobs}
    followers: dict[int, list[int]] = {}
    awaited: dict[int, set[int]] = {}
    for job in replay.jobs:
        before = {number for number in job.after if number in ran}
        if before and len(before) == len(set(job.after)):
            awaited[job.job_id] = before
            for number in before:
                followers.setdefault(number, []).append(job.job_id)
    return followers, awaited


def _eligible(job: ReplayedJob, ran: dict[int, ReplayedJob], ended: float) -> float:
    """When a job is eligible whose dependencies end at a time [s]."""
    # Slurm tests dependencies in the pass that the end of a job leads to.
    if 0 <= job.queued - max(ran[number].end for number in job.after) <= _PROMPT:
        return ended
    return max(job.queued, ended)
