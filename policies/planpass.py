"""A pass that plans reservations, in loops over arrays of whole numbers: compiled by numba where many jobs wait.

It makes the plan of :func:`policies.reserving.plan_queue` for jobs of one size each, without windows; what it may keep
of the former plan is said in :mod:`policies.keeping`. Uncompiled it gives the same results, slowly.
"""

from __future__ import annotations

__all__ = ["BOUNDS", "plan_pass"]

#: So many of the places that were found are remembered, to begin the next searches there.
BOUNDS = 32


def plan_pass(  # type: ignore[no-untyped-def] # compiled: types are numba's to infer
    runs, releases, nodes, walltimes, rows, count, order, times, levels, base_times, base_levels,
    next_times, next_levels, kept_rows, kept_at, bounds, starts, state, now, free, keep, full, depth,
):  # fmt: skip
    """One pass.

    ``releases`` are triples of time, tie-break and nodes, one for each of the ``runs``. ``nodes``, ``walltimes`` and
    ``rows`` are those of the jobs, ``order`` says where the first, second, ... of the ``count`` waiting ones stands.
    ``times`` and ``levels`` are the profile beside all reservations, ``base_times`` and ``base_levels`` that of the
    running jobs alone, ``next_times`` and ``next_levels`` room for the next one. ``kept_rows`` and ``kept_at`` hold the
    planned jobs and their times; -1: none, as ``depth`` is used up. ``bounds`` remembers searches, three numbers each.
    ``starts`` gets the places of the jobs that start. ``state`` holds the number of steps of the profile, of planned
    jobs, of steps of the base, and of starts; whether the former plan was kept; and whether the plan may not be kept,
    because an end is too close to a start. ``keep`` allows to go on with the former plan; ``full`` asks for the plan of
    all jobs, not only as far as it matters to the starts.
    """
    never = 1 << 62
    # The profile of what runs, now.
    fresh = 1
    next_times[0] = now
    next_levels[0] = free
    level = free
    for k in range(0, 3 * runs, 3):
        level += releases[k + 2]
        if releases[k] > next_times[fresh - 1]:
            next_times[fresh] = releases[k]
            fresh += 1
        next_levels[fresh - 1] = level
    steps = state[0]
    planned = state[1]
    base_steps = state[2]

    # Has everything happened as planned?
    close = state[5]
    keep = keep and 0 < planned <= count and not close
    if keep:
        skipped = 0
        while skipped + 1 < base_steps and base_times[skipped + 1] <= now:
            skipped += 1
        keep = base_steps - skipped == fresh
        for k in range(fresh):
            if not keep:
                break
            keep = base_levels[skipped + k] == next_levels[k] and (k == 0 or base_times[skipped + k] == next_times[k])
        for k in range(planned):
            if not keep:
                break
            job = order[k]
            # A walltime of one tick is planned as two (Profile.reserve).
            keep = kept_rows[k] == rows[job] and kept_at[k] >= now and (kept_at[k] > now or walltimes[job] > 1)
    for k in range(fresh):
        base_times[k] = next_times[k]
        base_levels[k] = next_levels[k]
    base_steps = fresh
    began_with = free
    if keep:
        skipped = 0
        while skipped + 1 < steps and times[skipped + 1] <= now:
            skipped += 1
        steps -= skipped
        for k in range(steps):
            times[k] = times[k + skipped]
            levels[k] = levels[k + skipped]
        times[0] = now

    # Phases: 0 starts what was planned for now, 1 starts the first jobs while they fit, 2 plans the others.
    found = 0
    former = planned
    planned = 0
    place = 0
    last = count - 1
    phase = 0
    head = -1
    anew = not keep
    kept = 1
    while True:
        if anew:
            # From the beginning, beside what runs.
            anew = False
            for k in range(fresh):
                times[k] = base_times[k] = next_times[k]
                levels[k] = base_levels[k] = next_levels[k]
            steps = base_steps = fresh
            for k in range(BOUNDS):
                bounds[3 * k] = never
            free = began_with
            found = planned = place = former = 0
            phase = 1
            kept = close = 0
        begins = False
        start = end = 0
        if phase == 0:
            if place == former:
                phase = 2
                continue
            job = order[place]
            size = nodes[job]
            if kept_at[place] == now:
                if size > free or size > levels[0]:
                    anew = True
                    continue
                begins = True
                # The rest of it stands in the profile already.
                start = now
                end = now + 1
            else:
                if head < 0:
                    head = place
                    if size <= free:
                        anew = True
                        continue
                kept_rows[planned] = kept_rows[place]
                kept_at[planned] = kept_at[place]
                planned += 1
        elif phase == 1:
            if place == count:
                break
            job = order[place]
            size = nodes[job]
            if size > free:
                phase = 2
                head = place
                continue
            begins = True
            start = now
            end = now + walltimes[job]
        else:
            # No job behind the last one that may still start need be planned.
            if not full:
                while last >= place:
                    job = order[last]
                    size = nodes[job]
                    if size <= free and last != head:
                        until = now + walltimes[job]
                        k = 0
                        while k < steps and times[k] < until and levels[k] >= size:
                            k += 1
                        if levels[0] >= size and (k == steps or times[k] >= until):
                            break
                    last -= 1
            if place > last or place >= count:
                break
            job = order[place]
            size = nodes[job]
            if size <= free and place != head:
                until = now + walltimes[job]
                k = 0
                while k < steps and times[k] < until and levels[k] >= size:
                    k += 1
                begins = levels[0] >= size and (k == steps or times[k] >= until)
            if begins:
                start = now
                end = now + walltimes[job]
            else:
                at = -1
                if depth > 0:
                    depth -= 1
                    # Nothing as large and as long fits before the places that were found for others.
                    length = walltimes[job]
                    at = 0
                    slot = -1
                    for k in range(BOUNDS):
                        if bounds[3 * k] <= size:
                            if bounds[3 * k + 1] <= length and bounds[3 * k + 2] > at:
                                at = bounds[3 * k + 2]
                            if bounds[3 * k] == size:
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
                    while k < steps:
                        if levels[k] < size:
                            k += 1
                            continue
                        at = times[k]
                        until = at + length
                        k += 1
                        while k < steps and times[k] < until and levels[k] >= size:
                            k += 1
                        if k == steps or times[k] >= until:
                            break
                        at = never
                    if slot < 0:
                        slot = place % BOUNDS
                    bounds[3 * slot] = size
                    bounds[3 * slot + 1] = length
                    bounds[3 * slot + 2] = at
                    if at < never:
                        start = at + 1
                        end = at + max(length, 2)
                kept_rows[planned] = rows[job]
                kept_at[planned] = at
                planned += 1
        if begins:
            starts[found] = place
            found += 1
            free -= size
            # Into the profile of what runs.
            for which in range(2):
                at = now if which == 0 else now + walltimes[job]
                low = 0
                high = base_steps
                while low < high:
                    middle = (low + high) // 2
                    if base_times[middle] <= at:
                        low = middle + 1
                    else:
                        high = middle
                if base_times[low - 1] != at:
                    for k in range(base_steps, low, -1):
                        base_times[k] = base_times[k - 1]
                        base_levels[k] = base_levels[k - 1]
                    base_times[low] = at
                    base_levels[low] = base_levels[low - 1]
                    base_steps += 1
                    low += 1
                if which == 1:
                    for k in range(low - 1):
                        base_levels[k] -= size
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
                elif which == 0 and not begins and levels[low - 1] > levels[low - 2]:
                    close = 1
                # A reservation leaves its first tick to others, of which it counts on those that end with that tick.
                # If they start, it moves; a plan with such ends is not kept.
                if which == 1 and phase > 0 and low > 1 and times[low - 2] == at - 1:
                    close = 1
                if which == 0:
                    first = low - 1
                else:
                    for k in range(first, low - 1):
                        levels[k] -= size
        place += 1
    state[0] = steps
    state[1] = planned
    state[2] = base_steps
    state[3] = found
    state[4] = kept
    state[5] = close
