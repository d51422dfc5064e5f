"""A pass over jobs of several sizes, in loops over arrays of whole numbers: compiled by numba where many jobs wait.

It plans what :func:`policies.reserving.plan_queue` plans, jobs of one size among them, on any profile. Uncompiled it
gives the same results, slowly.
"""

from __future__ import annotations

from typing import Any

__all__ = ["BOUNDS", "plan_sizes"]

#: So many of the places that were found are remembered, to begin the next searches there.
BOUNDS = 32


def plan_sizes(  # type: ignore[no-untyped-def] # compiled: types are numba's to infer
    least, nodes, walltimes, setups, works, times, levels, bounds, starts, sizes, state,
    now, free, heads, depth, largest,
):  # fmt: skip
    """The jobs that start behind the first ones, which do already.

    ``least``, ``nodes``, ``walltimes``, ``setups`` and ``works`` are those of all jobs, first to last: smallest and
    largest size, walltime at the largest, and at other sizes the setup and the node-ticks behind it. ``times`` and
    ``levels`` are the profile, with room for two steps a job, ``bounds`` room for what the searches remember.
    ``starts`` and ``sizes`` get the places and sizes of the jobs that start. ``state`` holds the number of steps of the
    profile, and gets that of the starts. ``heads`` is how many jobs start already, ``free`` what they leave, ``depth``
    how many of the others hold a reservation, and ``largest`` whether for the largest size at which they can start
    first of all, or for their least.
    """
    never = 1 << 62
    count = len(least)
    steps = state[0]
    found = 0
    for k in range(BOUNDS):
        bounds[k, 0] = never

    def limit(job: Any, size: Any) -> Any:
        if size == nodes[job]:
            return walltimes[job]
        ticks = works[job] // size
        rest = works[job] - ticks * size
        if 2 * rest > size or (2 * rest == size and ticks % 2 == 1):
            ticks += 1
        return setups[job] + ticks

    def fitting(job: Any, size: Any, place: Any, steps: Any) -> Any:
        # The largest size at which a job can run through from a step on; 0 if there is none.
        if levels[place] < size:
            size = levels[place]
        while size >= least[job]:
            end = times[place] + limit(job, size)
            room = levels[place]
            k = place + 1
            while k < steps and times[k] < end and room >= least[job]:
                if levels[k] < room:
                    room = levels[k]
                k += 1
            if room >= size:
                return size
            # Smaller, it runs longer, and what it then reaches leaves it no more than this.
            size = room
        return 0

    last = count - 1
    while last > heads and least[last] > free:
        last -= 1
    place = heads
    while heads < last and place <= last:
        size = 0
        start = 0
        end = 0
        if place > heads and least[place] <= free:
            size = fitting(place, min(nodes[place], free), 0, steps)
        if size > 0:
            starts[found] = place
            sizes[found] = size
            found += 1
            free -= size
            start = now
            end = now + limit(place, size)
        elif depth > 0:
            depth -= 1
            several = largest and least[place] < nodes[place]
            size = least[place]
            # Any of its sizes needs at least so many nodes for at least so long.
            shortest = walltimes[place] if several else limit(place, size)
            at = now
            slot = -1
            for k in range(BOUNDS):
                if bounds[k, 0] <= size:
                    if bounds[k, 1] <= shortest and bounds[k, 2] > at:
                        at = bounds[k, 2]
                    if bounds[k, 0] == size:
                        slot = k
            k = 0
            if at > now:
                low = 0
                high = steps
                while low < high:
                    middle = (low + high) // 2
                    if times[middle] < at:
                        low = middle + 1
                    else:
                        high = middle
                k = low
            at = never
            if several:
                # A larger one runs shorter and may fit where none of the smaller ones does, so every step is tried.
                while k < steps:
                    if levels[k] >= size:
                        whole = fitting(place, nodes[place], k, steps)
                        if whole > 0:
                            at = times[k]
                            size = whole
                            break
                    k += 1
            else:
                while k < steps:
                    if levels[k] < size:
                        k += 1
                        continue
                    at = times[k]
                    until = at + shortest
                    k += 1
                    while k < steps and times[k] < until and levels[k] >= size:
                        k += 1
                    if k == steps or times[k] >= until:
                        break
                    at = never
            if slot < 0:
                slot = place % BOUNDS
            bounds[slot, 0] = least[place]
            bounds[slot, 1] = limit(place, least[place])
            bounds[slot, 2] = at
            if at < never:
                start = at + 1
                end = at + max(limit(place, size), 2)
        if start < end:
            first = 0
            for which in range(2):
                at = start if which == 0 else end
                low = 0
                high = steps
                while low < high:
                    middle = (low + high) // 2
                    if times[middle] <= at:
                        low = middle + 1
                    else:
                        high = middle
                if times[low - 1] != at:
                    for k in range(steps, low, -1):
                        times[k] = times[k - 1]
                        levels[k] = levels[k - 1]
                    times[low] = at
                    levels[low] = levels[low - 1]
                    steps += 1
                    low += 1
                if which == 0:
                    first = low - 1
                else:
                    for k in range(first, low - 1):
                        levels[k] -= size
        # No job behind the last one that may still start need be planned.
        while last > place and (least[last] > free or fitting(last, min(nodes[last], free), 0, steps) == 0):
            last -= 1
        place += 1
    state[0] = steps
    state[1] = found
