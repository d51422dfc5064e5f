"""A replay of rigid jobs that records only start times.

The rules are those of :mod:`holdfast.policies.backfilling`. Source: Mu'alem and Feitelson, IEEE TPDS 12(6), 2001.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from holdfast.policies.kernels.plan_pass import PassRule, Plan, WaitingJobs, plan
from holdfast.policies.kernels.queue_keys import LinkedQueue, MovingKeys, sort_queue
from holdfast.policies.kernels.timeline import put_back

__all__ = ["MORE", "STUCK", "Beginning", "ReplayJobs", "ReplayRule", "Runs", "Trial", "replay"]

Ints = npt.NDArray[np.int64]

#: Results of an incomplete replay: it needs more future jobs (MORE); some jobs can never start (STUCK).
MORE, STUCK = -1, -2


class ReplayJobs(NamedTuple):
    """Numbered jobs: those before ``present`` run or wait, the others are submitted later, in this order.

    Attributes
    ----------
    total, present
        Number of all jobs, and of those that run or wait.
    submits, nodes, walltimes, runtimes
        Shape (total,).
    ranks
        Positions in queue order; with :class:`~holdfast.policies.kernels.queue_keys.MovingKeys` above those of all
        waiting jobs.
    awaited
        1 for jobs that are awaited.
    starts
        Gets the starts of the jobs that do not run yet.
    """

    total: int
    present: int
    submits: Ints
    nodes: Ints
    walltimes: Ints
    runtimes: Ints
    ranks: Ints
    awaited: Ints
    starts: Ints


class Beginning(NamedTuple):
    """The machine at first.

    Attributes
    ----------
    now, free
        The time, and the free nodes.
    waiting, queue
        Number of waiting jobs, and these in queue order.
    running
        Number of runs.
    """

    now: int
    free: int
    waiting: int
    queue: Ints
    running: int


class ReplayRule(NamedTuple):
    """The rule.

    Attributes
    ----------
    depth
        Number of waiting jobs with a reservation: 0 without backfilling, 1 under EASY, that of
        the jobs if all have one.
    complete
        Whether there are no further future jobs.
    tolerance
        Nodes that are released within this time count as released at once.
    never
        Later than every time.
    """

    depth: int
    complete: int
    tolerance: int
    never: int


class Trial(NamedTuple):
    """Walltimes that are tried for one job; ``depth`` is then at most 1.

    Attributes
    ----------
    job
        The job; -1: none.
    choices, walltimes
        Number of walltimes, and these, its own first.
    starts, backfilled
        Get its start for each, and 1 for each that is backfilled.
    """

    job: int
    choices: int
    walltimes: Ints
    starts: Ints
    backfilled: Ints


class Runs(NamedTuple):
    """Running jobs.

    Attributes
    ----------
    ends, limits
        Ends, and ends of the walltimes, of the jobs that run, shape (total,).
    by_end, by_limit
        These jobs by descending end and by ascending limit, shape (total,).
    """

    ends: Ints
    limits: Ints
    by_end: Ints
    by_limit: Ints


def end_run(runs: Any, jobs: Runs) -> Any:
    """Remove the run that ends first from the order of limits; ``runs`` runs remain."""
    _, limits, by_end, by_limit = jobs
    job = by_end[runs]
    low = 0
    high = runs
    while low < high:
        middle = (low + high) // 2
        if limits[by_limit[middle]] < limits[job]:
            low = middle + 1
        else:
            high = middle
    while by_limit[low] != job:
        low += 1
    for place in range(low, runs):
        by_limit[place] = by_limit[place + 1]
    return job


def begin_run(job: Any, runs: Any, jobs: Runs) -> None:
    """Insert a run with known end and limit into the orders of ``runs`` others."""
    ends, limits, by_end, by_limit = jobs
    place = runs
    while place > 0 and ends[by_end[place - 1]] < ends[job]:
        by_end[place] = by_end[place - 1]
        place -= 1
    by_end[place] = job
    place = runs
    while place > 0 and limits[by_limit[place - 1]] > limits[job]:
        by_limit[place] = by_limit[place - 1]
        place -= 1
    by_limit[place] = job


def unlink(job: Any, after: Any, before: Any) -> None:
    """Remove a job from the queue."""
    following = after[job]
    after[before[job]] = following
    before[following] = before[job]


def replay(
    jobs: ReplayJobs, beginning: Beginning, rule: ReplayRule, trial: Trial, running: Runs, linked: LinkedQueue,
    moving: MovingKeys, arrays: Plan,
) -> int:  # fmt: skip
    """Simulate until the awaited jobs have started; returns the number of future jobs submitted by then.

    The arrays of ``linked``, except its order, are buffers; so are that order and ``arrays``, which are used if the
    order of the queue changes with time or the depth is greater than 1.
    """
    count, present, submits, nodes, walltimes, runtimes, ranks, awaited, starts = jobs
    now, free, waiting, queue, runs = beginning
    depth, complete, tolerance, never = rule
    ends, limits, by_end, by_limit = running
    after, before, order = linked
    times, levels, begun = arrays.times, arrays.levels, arrays.begun
    top = count
    left = 0
    trials = 0
    # No waiting job needs fewer nodes.
    smallest = never
    last = top
    for place in range(waiting):
        job = queue[place]
        after[last] = job
        before[job] = last
        last = job
        left += awaited[job]
        if nodes[job] < smallest:
            smallest = nodes[job]
    after[last] = top
    before[top] = last
    for job in range(present, count):
        left += awaited[job]

    coming = present
    head = top
    shadow = 0
    extra = -1
    released = True  # in the first instant every job may start
    while True:
        # Complete the runs that have ended.
        while runs > 0 and ends[by_end[runs - 1]] <= now:
            runs -= 1
            job = end_run(runs, running)
            free += nodes[job]
            released = True
        # Submit jobs.
        new = coming
        while coming < count and submits[coming] <= now:
            last = before[top]
            while last != top and ranks[last] > ranks[coming]:
                last = before[last]
            following = after[last]
            after[last] = coming
            before[coming] = last
            after[coming] = following
            before[following] = coming
            if nodes[coming] < smallest:
                smallest = nodes[coming]
            coming += 1
        if coming == count and complete == 0:
            return MORE

        # No other order lets a job start that needs more nodes than are free.
        if moving.kind > 0 and smallest <= free and after[top] != top:
            sort_queue(now, top, linked, ranks, submits, moving)

        # Which jobs may start: 0 none, 1 the first while it fits, 2 the new ones that fit beside the first, 3 all that
        # do, 4 those of a plan. In an instant without completions only those submitted in it can start beside one
        # reservation, unless one of them goes first: the others had their chance when nodes became free, and the time
        # until the head's start has only become shorter.
        phase = 0
        if released or after[top] != head or (depth > 1 and smallest <= free):
            phase = 1
        elif depth == 1 and head != top:
            for job in range(new, coming):
                if nodes[job] <= free:
                    phase = 2
        looks = phase == 2 and extra < 0
        rank = -1
        following = top
        least = never
        chosen = 0
        next_chosen = 0
        while phase > 0:
            job = after[top]
            if phase == 1 and (job == top or nodes[job] > free):
                head = job
                extra = -1
                if job == top or depth == 0 or smallest > free:
                    break
                if depth == 1:
                    phase = 3
                    following = job
                    looks = True
                else:
                    phase = 4
                    steps = 1
                    times[0] = now
                    levels[0] = free
                    for place in range(runs):
                        job = by_limit[place]
                        steps = put_back(times, levels, steps, limits[job], nodes[job])
                    waiting = 0
                    smallest = never
                    job = after[top]
                    while job != top:
                        order[waiting] = job
                        waiting += 1
                        if nodes[job] < smallest:
                            smallest = nodes[job]
                        job = after[job]
                    # Setup and work are not used, because each job has only one size.
                    queued = WaitingJobs(waiting, 0, order, nodes, nodes, walltimes, nodes, nodes)
                    chosen = plan(queued, steps, PassRule(now, free, depth, 0, 0, never), arrays)
            if looks:
                # Shadow time of the head, and extra nodes at that time.
                looks = False
                reached = free
                place = 0
                while reached < nodes[head] and place < runs:
                    shadow = limits[by_limit[place]]
                    reached += nodes[by_limit[place]]
                    place += 1
                if reached < nodes[head]:
                    return STUCK
                # All nodes released at the shadow time itself count.
                while place < runs and limits[by_limit[place]] <= shadow + tolerance:
                    reached += nodes[by_limit[place]]
                    place += 1
                extra = reached - nodes[head]
            if phase == 2:
                # The next of the new jobs in the order of the queue.
                job = top
                for other in range(new, coming):
                    if ranks[other] > rank and (job == top or ranks[other] < ranks[job]):
                        job = other
                if job == top:
                    break
                rank = ranks[job]
            elif phase == 3:
                job = following
                if job == top:
                    smallest = least
                    break
                following = after[job]
            elif phase == 4:
                if next_chosen == chosen:
                    break
                job = order[begun[next_chosen]]
                next_chosen += 1
            fits = nodes[job] <= free
            beyond = False
            while fits:
                # A job may start beside the head if it ends by the shadow time, or needs at most the extra nodes.
                beyond = phase > 1 and depth == 1 and now + walltimes[job] > shadow + tolerance
                if beyond and nodes[job] > extra:
                    fits = False
                elif job != trial.job:
                    break
                else:
                    trial.starts[trials] = now
                    trial.backfilled[trials] = 0 if phase == 1 else 1
                    trials += 1
                    if trials == trial.choices:
                        break
                    walltimes[job] = trial.walltimes[trials]
            if not fits:
                if nodes[job] < least:
                    least = nodes[job]
                continue
            starts[job] = now
            left -= awaited[job]
            unlink(job, after, before)
            free -= nodes[job]
            if beyond:
                extra -= nodes[job]
            ends[job] = now + runtimes[job]
            limits[job] = now + walltimes[job]
            begin_run(job, runs, running)
            runs += 1
            if (phase == 2 or phase == 3) and smallest > free:
                break
        if left == 0:
            return coming - present
        # The next instant.
        now = never
        if coming < count:
            now = submits[coming]
        if runs > 0 and ends[by_end[runs - 1]] < now:
            now = ends[by_end[runs - 1]]
        released = False
        if now == never:
            return STUCK
