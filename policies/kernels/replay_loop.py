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
from holdfast.policies.kernels.waiting_ring import link, unlink

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
    tried
        Buffer: the number of walltimes that have a start, shape (1,).
    """

    job: int
    choices: int
    walltimes: Ints
    starts: Ints
    backfilled: Ints
    tried: Ints


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


def start(job: Any, now: Any, runs: Any, jobs: ReplayJobs, running: Runs, linked: LinkedQueue) -> Any:
    """Start a job from the queue beside ``runs`` others; returns their number with it."""
    jobs.starts[job] = now
    running.ends[job] = now + jobs.runtimes[job]
    running.limits[job] = now + jobs.walltimes[job]
    begin_run(job, runs, running)
    unlink(job, linked.after, linked.before)
    return runs + 1


def has_next_walltime(trial: Trial, now: Any, backfilled: Any, walltimes: Any) -> Any:
    """Note that the job of a trial can start now with its present walltime; returns whether it has another one then."""
    number = trial.tried[0]
    trial.starts[number] = now
    trial.backfilled[number] = backfilled
    trial.tried[0] = number + 1
    if number + 1 == trial.choices:
        return 0
    walltimes[trial.job] = trial.walltimes[number + 1]
    return 1


def reserve_head(needed: Any, free: Any, runs: Any, nodes: Any, tolerance: Any, running: Runs) -> Any:
    """Shadow time of a head that needs more nodes than are free, and extra nodes then; -1: it can never start."""
    limits, by_limit = running.limits, running.by_limit
    shadow = 0
    reached = free
    place = 0
    while reached < needed and place < runs:
        shadow = limits[by_limit[place]]
        reached += nodes[by_limit[place]]
        place += 1
    if reached < needed:
        return shadow, -1
    # All nodes released at the shadow time itself count.
    while place < runs and limits[by_limit[place]] <= shadow + tolerance:
        reached += nodes[by_limit[place]]
        place += 1
    return shadow, reached - needed


#: How a job fits beside a reservation: not at all; it ends by the shadow time; it takes extra nodes.
UNFIT, BEFORE, BESIDE = 0, 1, 2


def fit_beside(job: Any, now: Any, free: Any, latest: Any, extra: Any, jobs: ReplayJobs, trial: Trial) -> Any:
    """How a job fits beside a reservation, if it must end at ``latest`` or take at most ``extra`` nodes."""
    nodes = jobs.nodes[job]
    if nodes > free:
        return UNFIT
    while True:
        fit = BEFORE
        if now + jobs.walltimes[job] > latest:
            fit = BESIDE
            if nodes > extra:
                return UNFIT
        if job != trial.job or has_next_walltime(trial, now, 1, jobs.walltimes) == 0:
            return fit


def next_submission(first: Any, end: Any, rank: Any, free: Any, jobs: ReplayJobs) -> Any:
    """The job after a rank among those from ``first`` to before ``end`` that fit into free nodes; -1: there is none."""
    found = -1
    for job in range(first, end):
        if jobs.nodes[job] <= free and jobs.ranks[job] > rank and (found < 0 or jobs.ranks[job] < jobs.ranks[found]):
            found = job
    return found


def plan_starts(
    waiting: Any, order: Any, now: Any, free: Any, runs: Any, jobs: ReplayJobs, rule: ReplayRule, running: Runs,
    arrays: Plan,
) -> Any:  # fmt: skip
    """Plan the waiting jobs, in order, beside the runs; ``arrays.begun`` gets the places of those that start now.

    Returns their number.
    """
    nodes = jobs.nodes
    steps = 1
    arrays.times[0] = now
    arrays.levels[0] = free
    for place in range(runs):
        job = running.by_limit[place]
        steps = put_back(arrays.times, arrays.levels, steps, running.limits[job], nodes[job])
    # Setup and work are not used, because each job has only one size.
    queued = WaitingJobs(waiting, 0, order, nodes, nodes, jobs.walltimes, nodes, nodes)
    return plan(queued, steps, PassRule(now, free, rule.depth, 0, 0, rule.never), arrays)


def link_queue(waiting: Any, queue: Any, jobs: ReplayJobs, linked: LinkedQueue, never: Any) -> Any:
    """Link the waiting jobs in queue order; returns the least nodes that one needs, ``never`` if none waits."""
    top = jobs.total
    smallest = never
    last = top
    for place in range(waiting):
        job = queue[place]
        linked.after[last] = job
        linked.before[job] = last
        last = job
        if jobs.nodes[job] < smallest:
            smallest = jobs.nodes[job]
    linked.after[last] = top
    linked.before[top] = last
    return smallest


def awaited_jobs(waiting: Any, queue: Any, jobs: ReplayJobs) -> Any:
    """Number of awaited jobs that wait or are submitted later."""
    awaited = 0
    for place in range(waiting):
        awaited += jobs.awaited[queue[place]]
    for job in range(jobs.present, jobs.total):
        awaited += jobs.awaited[job]
    return awaited


def replay(
    jobs: ReplayJobs, beginning: Beginning, rule: ReplayRule, trial: Trial, running: Runs, linked: LinkedQueue,
    moving: MovingKeys, arrays: Plan,
) -> int:  # fmt: skip
    """Simulate until the awaited jobs have started; returns the number of future jobs submitted by then.

    The arrays of ``linked``, except its order, are buffers; so are that order and ``arrays``, which are used if the
    order of the queue changes with time or the depth is greater than 1.
    """
    count, present, submits, nodes, _, _, ranks, awaited, _ = jobs
    now, free, waiting, queue, runs = beginning
    depth, complete, tolerance, never = rule
    ends, by_end = running.ends, running.by_end
    after, before, order = linked
    top = count
    # No waiting job needs fewer nodes.
    smallest = link_queue(waiting, queue, jobs, linked, never)
    left = awaited_jobs(waiting, queue, jobs)
    coming = present
    head = top
    shadow = 0
    extra = -1  # not known
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
            link(coming, top, ranks, after, before)
            if nodes[coming] < smallest:
                smallest = nodes[coming]
            coming += 1
        if coming == count and complete == 0:
            return MORE

        # No other order lets a job start that needs more nodes than are free.
        if moving.kind > 0 and smallest <= free and after[top] != top:
            sort_queue(now, top, linked, ranks, submits, moving)

        if released or after[top] != head or (depth > 1 and smallest <= free):
            # The first jobs start while they fit.
            head = after[top]
            while head != top and nodes[head] <= free:
                while head == trial.job and has_next_walltime(trial, now, 0, jobs.walltimes) == 1:
                    pass
                runs = start(head, now, runs, jobs, running, linked)
                free -= nodes[head]
                left -= awaited[head]
                head = after[top]
            extra = -1
            if head != top and depth == 1 and smallest <= free:
                # Others start beside the reservation of the head.
                shadow, extra = reserve_head(nodes[head], free, runs, nodes, tolerance, running)
                if extra < 0:
                    return STUCK
                least = never
                job = head
                while job != top and smallest <= free:
                    following = after[job]
                    fit = fit_beside(job, now, free, shadow + tolerance, extra, jobs, trial)
                    if fit == UNFIT:
                        if nodes[job] < least:
                            least = nodes[job]
                    else:
                        runs = start(job, now, runs, jobs, running, linked)
                        free -= nodes[job]
                        left -= awaited[job]
                        if fit == BESIDE:
                            extra -= nodes[job]
                    job = following
                if job == top:
                    smallest = least
            elif head != top and depth > 1 and smallest <= free:
                # Others start where no reservation is delayed.
                waiting = 0
                smallest = never
                job = head
                while job != top:
                    order[waiting] = job
                    waiting += 1
                    if nodes[job] < smallest:
                        smallest = nodes[job]
                    job = after[job]
                chosen = plan_starts(waiting, order, now, free, runs, jobs, rule, running, arrays)
                for place in range(chosen):
                    job = order[arrays.begun[place]]
                    runs = start(job, now, runs, jobs, running, linked)
                    free -= nodes[job]
                    left -= awaited[job]
        elif depth == 1 and head != top:
            # Nothing has become free, and the time until the head starts has only become shorter: of the others, only
            # jobs submitted now can start.
            job = next_submission(new, coming, -1, free, jobs)
            if job >= 0 and extra < 0:
                shadow, extra = reserve_head(nodes[head], free, runs, nodes, tolerance, running)
                if extra < 0:
                    return STUCK
            while job >= 0:
                fit = fit_beside(job, now, free, shadow + tolerance, extra, jobs, trial)
                if fit != UNFIT:
                    runs = start(job, now, runs, jobs, running, linked)
                    free -= nodes[job]
                    left -= awaited[job]
                    if fit == BESIDE:
                        extra -= nodes[job]
                job = next_submission(new, coming, ranks[job], free, jobs)
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
