"""One planning pass: each job starts, if it delays no reservation, or gets a reservation.

The pass computes the plan of :func:`holdfast.policies.reservation_depth.plan_queue` for many jobs in arrays, as machine
code.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from holdfast.policies.kernels.timeline import earliest, put_back, reach, room, take

__all__ = ["BOUNDS", "PassRule", "Plan", "Releases", "WaitingJobs", "plan", "plan_pass"]

Ints = npt.NDArray[np.int64]

#: Number of stored positions from which later searches begin. They halve the time of conservative backfilling while
#: thousands of jobs wait (20,000 jobs at a load of 1.3: 0.9 s with them, 2.2 s without).
BOUNDS = 32


class WaitingJobs(NamedTuple):
    """The queue.

    Attributes
    ----------
    total, heads
        Number of jobs; the first ``heads`` of them have already started.
    order
        Index of the first, second, ... job in the other arrays.
    least, nodes
        Smallest and largest size of each job.
    walltimes
        Walltimes at the largest size.
    setups, works
        For other sizes the setup, and the node-ticks of the rest of the walltime.
    """

    total: int
    heads: int
    order: Ints
    least: Ints
    nodes: Ints
    walltimes: Ints
    setups: Ints
    works: Ints


class PassRule(NamedTuple):
    """The instant and the rule of a pass.

    Attributes
    ----------
    now, free
        Its time, and the nodes that the heads leave.
    depth
        Number of jobs that get a reservation, beside those that start.
    largest
        Whether a reservation has the largest size at the earliest start, or the minimum.
    complete
        Whether all jobs are planned; else planning ends when no later job can start.
    never
        Later than every time.
    """

    now: int
    free: int
    depth: int
    largest: int
    complete: int
    never: int


class Plan(NamedTuple):
    """The arrays that a plan is made in.

    Attributes
    ----------
    times, levels
        The profile (:mod:`holdfast.policies.kernels.timeline`), with room for two more steps per job.
    bounds
        Buffer for three times :data:`BOUNDS` numbers.
    begun
        Gets the positions in the queue of jobs that start now.
    sizes
        Gets the size of each job.
    planned
        Gets its planned start: ``never`` if there is none, -1 without a reservation.
    """

    times: Ints
    levels: Ints
    bounds: Ints
    begun: Ints
    sizes: Ints
    planned: Ints


class Releases(NamedTuple):
    """What becomes free, and what windows take.

    Attributes
    ----------
    runs, releases
        Number of triples of time, tie-break and nodes, and these in ascending order.
    windows, windowed
        Number of triples of start, end and nodes, and these.
    tolerance
        Nodes released within this time after the start of a window count as available for it.
    """

    runs: int
    releases: Ints
    windows: int
    windowed: Ints
    tolerance: int


def limit(jobs: WaitingJobs, job: Any, size: Any) -> Any:
    """Walltime at a size, rounded half to even like in :func:`holdfast.simulator.machine.job_state.divide`."""
    if size == jobs.nodes[job]:
        return jobs.walltimes[job]
    work = jobs.works[job]
    ticks = work // size
    rest = work - ticks * size
    if 2 * rest > size or (2 * rest == size and ticks % 2 == 1):
        ticks += 1
    return jobs.setups[job] + ticks


def largest_size(jobs: WaitingJobs, job: Any, size: Any, times: Any, levels: Any, steps: Any, k: Any) -> Any:
    """The largest size up to ``size`` at which a job can run to its walltime from step ``k`` on; 0: there is none."""
    least = jobs.least[job]
    if levels[k] < size:
        size = levels[k]
    while size >= least:
        left = room(times, levels, steps, k, times[k] + limit(jobs, job, size), least)
        if left >= size:
            return size
        # A smaller job runs longer, and the longer interval has at most this number of nodes.
        size = left
    return 0


def plan(jobs: WaitingJobs, steps: Any, rule: PassRule, arrays: Plan) -> Any:
    """Plan the jobs after those that start in queue order, and return the number of jobs that start.

    The profile has ``steps`` steps, with the runs of the heads.
    """
    count, heads, order, least, nodes, walltimes, _, _ = jobs
    now, free, depth, largest, complete, never = rule
    times, levels, bounds, begun, sizes, planned = arrays
    found = 0
    for k in range(BOUNDS):
        bounds[3 * k] = never
    last = count - 1
    for place in range(heads, count):
        if not complete:
            # Jobs behind the last one that may still start need no plan.
            while last > heads and last >= place:
                job = order[last]
                if least[job] <= free and (largest_size(jobs, job, min(nodes[job], free), times, levels, steps, 0) > 0):
                    break
                last -= 1
            if last <= heads or place > last:
                break
        job = order[place]
        size = 0
        # The first job is known not to fit.
        if place > heads and least[job] <= free:
            size = largest_size(jobs, job, min(nodes[job], free), times, levels, steps, 0)
        if size > 0:
            begun[found] = place
            found += 1
            sizes[place] = size
            planned[place] = now
            free -= size
            length = limit(jobs, job, size)
            steps = take(times, levels, steps, now, now + length, size)
            continue
        planned[place] = -1
        if depth == 0:
            continue
        depth -= 1
        size = least[job]
        several = largest and size < nodes[job]
        # Lower bounds of the nodes and the walltime of the job over all of its sizes.
        longest = limit(jobs, job, size)
        length = longest
        if several:
            length = walltimes[job]
        # The plan only takes nodes: a job of at least this size and length cannot fit before a stored position.
        at = now
        slot = place % BOUNDS
        for k in range(BOUNDS):
            if bounds[3 * k] <= size:
                if bounds[3 * k + 1] <= length and bounds[3 * k + 2] > at:
                    at = bounds[3 * k + 2]
                if bounds[3 * k] == size:
                    slot = k
        k = reach(times, steps, at - 1)
        at = never
        if several:
            # A larger size runs shorter and may fit where no smaller size does, so every step is tried.
            while k < steps:
                if levels[k] >= least[job]:
                    size = largest_size(jobs, job, nodes[job], times, levels, steps, k)
                    if size > 0:
                        at = times[k]
                        break
                k += 1
            if k == steps:
                size = least[job]
        else:
            k = earliest(times, levels, steps, k, size, length)
            if k < steps:
                at = times[k]
        bounds[3 * slot] = least[job]
        bounds[3 * slot + 1] = longest
        bounds[3 * slot + 2] = at
        sizes[place] = size
        planned[place] = at
        if at < never:
            length = limit(jobs, job, size)
            # Like in Profile.reserve, nodes released within a tick of the start count as available.
            steps = take(times, levels, steps, at + 1, at + max(length, 2), size)
    return found


def plan_pass(jobs: WaitingJobs, given: Releases, rule: PassRule, arrays: Plan) -> int:
    """Like :func:`plan`, on the profile of these releases and windows."""
    times, levels = arrays.times, arrays.levels
    steps = 1
    times[0] = rule.now
    levels[0] = rule.free
    for k in range(0, 3 * given.runs, 3):
        steps = put_back(times, levels, steps, given.releases[k], given.releases[k + 2])
    for k in range(0, 3 * given.windows, 3):
        start = max(rule.now, given.windowed[k] + given.tolerance)
        steps = take(times, levels, steps, start, given.windowed[k + 1], given.windowed[k + 2])
    found: int = plan(jobs, steps, rule, arrays)
    return found
