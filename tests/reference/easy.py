"""FCFS with EASY backfilling, twice: once fast enough for a year of a real machine, once as plain as it gets.

The rule, after Mu'alem & Feitelson, IEEE TPDS 12(6), 2001:

1. A job has a submit, nodes, a walltime and a runtime. Nodes are those requested (SWF field 8), else those used (field
   5); the walltime is that requested (field 9), else the runtime; the runtime is at most the walltime. Left out and
   counted are jobs without nodes or runtime, or with more nodes than the machine.
2. The queue is in the order of submits, ties in trace order. A job that is eligible after its submit arrives when it is
   eligible, at its place in that order.
3. At each instant: all completions, then all arrivals, then one pass.
4. A pass starts (a) the first in the queue while it fits the free nodes. (b) The first that does not fit has a shadow
   time: the earliest at which enough nodes are free if running jobs end by their walltimes; extra nodes are those free
   then beyond its own. (c) Each other job, in order, starts if it fits the free nodes, and either ends by the shadow
   time or fits the extra nodes, which then are fewer by its own.
5. The shadow time is computed anew in every pass.

Both implementations follow it and share no code, neither with each other nor with the simulator. Times may be integer
or float seconds (or ticks): they are only added and compared.
"""

from __future__ import annotations

import gzip
import heapq
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

__all__ = ["SwfJobs", "load_swf", "replay_easy", "replay_easy_naive"]


class SwfJobs(NamedTuple):
    """The columns of a trace after rule 1, in trace order."""

    job_id: list[int]
    submit: list[float]
    nodes: list[int]
    walltime: list[float]
    runtime: list[float]
    left_out: dict[str, int]


def load_swf(path: str | Path, machine: int) -> SwfJobs:
    """Read an SWF file by rule 1.

    Parameters
    ----------
    path
        The file, ``.gz`` or not.
    machine
        Its number of nodes N: larger jobs are left out.

    Returns
    -------
    SwfJobs
        The jobs kept [s, nodes] and the number of those left out by reason.
    """
    opener = gzip.open if str(path).endswith(".gz") else open
    jobs = SwfJobs([], [], [], [], [], {"nodes": 0, "machine": 0, "runtime": 0})
    with opener(path, "rt", encoding="latin-1") as lines:
        for line in lines:
            fields = line.split()
            if not fields or fields[0].startswith(";"):
                continue
            # "nodes = requested (SWF field 8 if > 0, else field 5); walltime = SWF field 9 if > 0, else the runtime;
            # runtime = min(runtime, walltime)"
            runtime = float(fields[3])
            nodes = int(fields[7]) if int(fields[7]) > 0 else int(fields[4])
            walltime = float(fields[8]) if float(fields[8]) > 0 else runtime
            # "Left out, counted and reported: nodes <= 0, nodes > N, runtime <= 0."
            if nodes <= 0:
                jobs.left_out["nodes"] += 1
            elif nodes > machine:
                jobs.left_out["machine"] += 1
            elif runtime <= 0:
                jobs.left_out["runtime"] += 1
            else:
                jobs.job_id.append(int(fields[0]))
                jobs.submit.append(float(fields[1]))
                jobs.nodes.append(nodes)
                jobs.walltime.append(walltime)
                jobs.runtime.append(min(runtime, walltime))
    return jobs


def replay_easy(
    submit: Sequence[float],
    nodes: Sequence[int],
    walltime: Sequence[float],
    runtime: Sequence[float],
    machine: int,
    *,
    backfill_length: str = "walltime",
    passes: str = "instant",
    tolerance: float = 0,
    priority: Callable[[int, float], Any] | None = None,
    eligible: Sequence[float] | None = None,
) -> list[float]:
    """Start times under FCFS with EASY backfilling.

    Parameters
    ----------
    submit, nodes, walltime, runtime
        One entry a job, in trace order; nodes in [1, machine].
    machine
        Nodes of the machine.
    backfill_length
        ``"walltime"``, or ``"runtime"``: candidates are judged by their true runtime.
    passes
        ``"instant"``, or ``"event"``: a pass after every single event.
    tolerance
        How much later a walltime may end and still count as ending at the same instant.
    priority
        Of a job at a time: the queue is sorted by it before each pass, ties in trace order; None: by submit.
    eligible
        When each job arrives, not before its submit; None: at its submit.

    Returns
    -------
    list
        The start of each job, in trace order.
    """
    count = len(submit)
    run_for = [min(r, w) for r, w in zip(runtime, walltime, strict=True)]  # rule 1: killed at its walltime
    judged_by = walltime if backfill_length == "walltime" else run_for
    by_event = passes == "event"
    came = submit if eligible is None else eligible
    arrivals = sorted(range(count), key=lambda job: came[job])  # rule 2; the sort is stable: ties in trace order
    next_arrival = 0
    start: list[float] = [0] * count
    free = machine
    queue: list[int] = []
    ends: list[tuple[float, int]] = []  # heap of the true ends of running jobs
    running: set[int] = set()

    while ends or next_arrival < count:
        # Rule 3: all completions, then all arrivals, then one scheduling pass.
        now = min(
            ends[0][0] if ends else came[arrivals[next_arrival]],
            came[arrivals[next_arrival]] if next_arrival < count else ends[0][0],
        )
        one_done = False
        while ends and ends[0][0] == now and not (by_event and one_done):
            job = heapq.heappop(ends)[1]
            free += nodes[job]
            running.remove(job)
            one_done = True
        while next_arrival < count and came[arrivals[next_arrival]] == now and not (by_event and one_done):
            queue.append(arrivals[next_arrival])
            next_arrival += 1
            one_done = True

        if eligible is not None:
            queue.sort(key=lambda job: (submit[job], job))
        if priority is not None:
            queue.sort(key=lambda job, now=now: (priority(job, now), job))  # type: ignore[misc]

        # Rule 4a: start queue heads while they fit in the free nodes.
        heads = 0
        while heads < len(queue) and nodes[queue[heads]] <= free:
            job = queue[heads]
            heads += 1
            free -= nodes[job]
            start[job] = now
            heapq.heappush(ends, (now + run_for[job], job))
            running.add(job)
        del queue[:heads]
        if not queue:
            continue

        # Rule 4b: the shadow time of the head, and the nodes extra to it then.
        needed = nodes[queue[0]]
        available = free
        shadow: float | None = None
        for release, job in sorted((start[job] + walltime[job], job) for job in running):
            if shadow is not None and release > shadow + tolerance:
                break
            available += nodes[job]
            if shadow is None and available >= needed:
                shadow = release
        assert shadow is not None
        extra = available - needed

        # Rule 4c: each other queued job in order.
        for job in queue[1:]:
            size = nodes[job]
            if size > free:
                continue
            if now + judged_by[job] > shadow + tolerance:
                if size > extra:
                    continue
                extra -= size
            free -= size
            start[job] = now
            heapq.heappush(ends, (now + run_for[job], job))
            running.add(job)
        queue = [job for job in queue if job not in running]
        # Rule 5 holds by itself: nothing of the shadow time is kept.
    return start


def replay_easy_naive(
    submit: Sequence[float],
    nodes: Sequence[int],
    walltime: Sequence[float],
    runtime: Sequence[float],
    machine: int,
    *,
    backfill_length: str = "walltime",
    passes: str = "instant",
    priority: Callable[[int, float, Mapping[int, float]], Any] | None = None,
    eligible: Sequence[float] | None = None,
) -> list[float]:
    """The same as :func:`replay_easy`, recomputing everything from the start times at each pass.

    A priority is also given the starts until then.
    """
    jobs = sorted(range(len(submit)), key=lambda job: (submit[job], job))
    length = [min(runtime[job], walltime[job]) for job in range(len(submit))]
    judged_by = length if backfill_length == "runtime" else walltime
    start: dict[int, float] = {}
    arrival = {job: max(submit[job], submit[job] if eligible is None else eligible[job]) for job in jobs}
    events = [(arrival[job], 1, job) for job in jobs]  # (time, class: 0 completion, 1 arrival, job)
    done: set[tuple[float, int, int]] = set()
    while len(done) < 2 * len(jobs):
        now, *_ = first = min(event for event in events if event not in done)
        done |= {first} if passes == "event" else {event for event in events if event[0] == now}
        waiting = [job for job in jobs if (arrival[job], 1, job) in done and job not in start]
        if priority is not None:
            waiting.sort(key=lambda job, now=now: (priority(job, now, start), job))  # type: ignore[misc]
        running = [job for job in start if (start[job] + length[job], 0, job) not in done]
        free = machine - sum(nodes[job] for job in running)
        chosen = []
        while waiting and nodes[waiting[0]] <= free:
            free -= nodes[waiting[0]]
            chosen.append(waiting.pop(0))
        if waiting:
            end = {job: now + walltime[job] for job in chosen} | {job: start[job] + walltime[job] for job in running}
            released = {time: free + sum(nodes[job] for job in end if end[job] <= time) for time in end.values()}
            shadow = min(time for time in released if released[time] >= nodes[waiting[0]])
            extra = released[shadow] - nodes[waiting[0]]
            for job in waiting[1:]:
                in_time = now + judged_by[job] <= shadow
                if nodes[job] <= free and (in_time or nodes[job] <= extra):
                    extra -= 0 if in_time else nodes[job]
                    free -= nodes[job]
                    chosen.append(job)
        start |= dict.fromkeys(chosen, now)
        events += [(now + length[job], 0, job) for job in chosen]
    return [start[job] for job in range(len(submit))]
