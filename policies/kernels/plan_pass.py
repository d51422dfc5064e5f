"""One planning pass: each job starts, if it delays no reservation, or gets a reservation.

The pass computes the plan of :func:`policies.reservation_depth.plan_queue` for many jobs in arrays, as machine code.
"""

from __future__ import annotations

from typing import Any

from policies.kernels.timeline import earliest, put_back, reach, room, take

__all__ = ["BOUNDS", "KINDS", "plan", "plan_pass"]

#: Number of stored positions from which later searches begin. They halve the time of conservative backfilling while
#: thousands of jobs wait (20,000 jobs at a load of 1.3: 0.9 s with them, 2.2 s without).
BOUNDS = 32
#: Kinds of the arguments of :func:`plan_pass` (:func:`workloads.ground.object_code.object_code`).
KINDS = "nnaaaaaananaaannnnnnnaaaa"


def limit(nodes: Any, walltime: Any, setup: Any, work: Any, size: Any) -> Any:
    """Walltime at a size, rounded half to even like in :func:`simulator.machine.job_state.divide`."""
    if size == nodes:
        return walltime
    ticks = work // size
    rest = work - ticks * size
    if 2 * rest > size or (2 * rest == size and ticks % 2 == 1):
        ticks += 1
    return setup + ticks


def largest_size(
    least: Any, nodes: Any, walltime: Any, setup: Any, work: Any, size: Any, times: Any, levels: Any, steps: Any, k: Any
) -> Any:
    """The largest size up to ``size`` at which a job can run to its walltime from step ``k`` on; 0: there is none."""
    if levels[k] < size:
        size = levels[k]
    while size >= least:
        left = room(times, levels, steps, k, times[k] + limit(nodes, walltime, setup, work, size), least)
        if left >= size:
            return size
        # A smaller job runs longer, and the longer interval has at most this number of nodes.
        size = left
    return 0


def plan(  # type: ignore[no-untyped-def] # compiled: types are numba's to infer, from lists and arrays alike
    count, heads, order, least, nodes, walltimes, setups, works, steps, times, levels,
    now, free, depth, largest, complete, never, bounds, begun, sizes, planned,
):  # fmt: skip
    """Plan the jobs after those that start in queue order, and return the number of jobs that start.

    ``order`` has the index of the first, second, ... of ``count`` jobs in the arrays of jobs: smallest and largest
    size, walltime at the largest size, and for other sizes the setup and the node-ticks of the rest of the walltime.
    The first ``heads`` jobs have already started, and leave ``free`` nodes. ``times`` and ``levels`` are the profile
    with them, with ``steps`` steps and room for two more steps per job. ``depth`` is the number of other jobs that get
    a reservation. ``largest`` selects the size of a reservation: the largest size at the earliest start, or the
    minimum.

    Outputs: ``begun`` has the positions in the queue of jobs that start now, ``sizes`` the size of each job, and
    ``planned`` its planned start: ``never`` if there is none, -1 without a reservation. Unless ``complete``, planning
    ends when no later job can start. ``bounds`` is a buffer for three times ``BOUNDS`` numbers.
    """
    found = 0
    for k in range(BOUNDS):
        bounds[3 * k] = never
    last = count - 1
    for place in range(heads, count):
        if not complete:
            # Jobs behind the last one that may still start need no plan.
            while last > heads and last >= place:
                job = order[last]
                if least[job] <= free and (
                    largest_size(
                        least[job], nodes[job], walltimes[job], setups[job], works[job], min(nodes[job], free),
                        times, levels, steps, 0,
                    ) > 0
                ):  # fmt: skip
                    break
                last -= 1
            if last <= heads or place > last:
                break
        job = order[place]
        size = 0
        # The first job is known not to fit.
        if place > heads and least[job] <= free:
            size = largest_size(
                least[job], nodes[job], walltimes[job], setups[job], works[job], min(nodes[job], free),
                times, levels, steps, 0,
            )  # fmt: skip
        if size > 0:
            begun[found] = place
            found += 1
            sizes[place] = size
            planned[place] = now
            free -= size
            length = limit(nodes[job], walltimes[job], setups[job], works[job], size)
            steps = take(times, levels, steps, now, now + length, size)
            continue
        planned[place] = -1
        if depth == 0:
            continue
        depth -= 1
        size = least[job]
        several = largest and size < nodes[job]
        # Lower bounds of the nodes and the walltime of the job over all of its sizes.
        longest = limit(nodes[job], walltimes[job], setups[job], works[job], size)
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
                    size = largest_size(
                        least[job], nodes[job], walltimes[job], setups[job], works[job], nodes[job],
                        times, levels, steps, k,
                    )  # fmt: skip
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
            length = limit(nodes[job], walltimes[job], setups[job], works[job], size)
            # Like in Profile.reserve, nodes released within a tick of the start count as available.
            steps = take(times, levels, steps, at + 1, at + max(length, 2), size)
    return found


def plan_pass(  # type: ignore[no-untyped-def] # as above
    count, heads, order, least, nodes, walltimes, setups, works, runs, releases, windows, windowed, times, levels,
    now, free, depth, largest, complete, never, tolerance, bounds, begun, sizes, planned,
):  # fmt: skip
    """Like :func:`plan`, on the profile of ``runs`` releases and ``windows`` windows.

    ``releases`` has triples of time, tie-break and nodes in ascending order, ``windowed`` triples of start, end and
    nodes.
    """
    steps = 1
    times[0] = now
    levels[0] = free
    for k in range(0, 3 * runs, 3):
        steps = put_back(times, levels, steps, releases[k], releases[k + 2])
    for k in range(0, 3 * windows, 3):
        start = max(now, windowed[k] + tolerance)
        steps = take(times, levels, steps, start, windowed[k + 1], windowed[k + 2])
    return plan(  # type: ignore[no-untyped-call] # as above
        count, heads, order, least, nodes, walltimes, setups, works, steps, times, levels, now, free,
        depth, largest, complete, never, bounds, begun, sizes, planned,
    )  # fmt: skip
