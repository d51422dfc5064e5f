"""A replay of rigid jobs under EASY or without backfilling that keeps nothing but starts: loops over whole numbers.

One plain source, which is compiled where there is much to simulate (:func:`simulator.kernels.running.runner`). Source
of the rule: Mu'alem and Feitelson, IEEE TPDS 12(6), 2001; as in :class:`policies.backfilling.Easy`.
"""

from __future__ import annotations

__all__ = ["DONE", "KINDS", "MORE", "STUCK", "replay"]

#: How a replay ended: all awaited jobs have started; it needs more of the jobs to come; some jobs can never start.
DONE, MORE, STUCK = 0, 1, 2
#: What the arguments of :func:`replay` are (:func:`simulator.kernels.running.runner`).
KINDS = "nnaaaaaanannnnnnnaaaaanaaaaaa"


def replay(  # type: ignore[no-untyped-def] # compiled: types are numba's to infer, from lists and arrays alike
    count, present, submits, nodes, walltimes, runtimes, ranks, awaited, waiting, queue, begin, free, tolerance,
    backfills, complete, on_trial, choices, tried, ends, limits, by_end, by_limit, runs, starts, after, before, found,
    how, state,
):  # fmt: skip
    """Simulate until the awaited jobs have started.

    There are ``count`` jobs. They are numbered: those before ``present`` run or wait, the others are submitted later,
    ordered by submit. ``ranks`` are their places in the order of the queue, ``awaited`` is 1 for those that are waited
    for, and ``queue`` holds the ``waiting`` ones in their order. ``complete`` tells that no other jobs come. With the
    job ``on_trial`` (-1: none) each of the ``choices`` walltimes ``tried`` is tried, the first of which it has:
    ``found`` gets the starts, and ``how`` 1 for each that is backfilled.

    ``ends`` and ``limits`` (ends of walltimes) are given for the running jobs, whose number is ``runs``; ``by_end``
    holds these, the last end first, and ``by_limit`` the first limit first. ``starts`` gets the starts of the others.
    ``after`` and ``before`` are buffers for the links of the queue, with a place more for both of its ends. ``state``
    gets how it ended, and how many of the later jobs were submitted by then.
    """
    never = 1 << 62
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

    now = begin
    coming = present
    head = top
    shadow = 0
    extra = -1
    released = True  # in the first instant every job may start
    while True:
        # Runs end.
        while runs > 0 and ends[by_end[runs - 1]] <= now:
            runs -= 1
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
            free += nodes[job]
            released = True
        # Jobs are submitted.
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
        if coming == count and not complete:
            state[0] = MORE
            return

        # Which jobs may start: 0 none, 1 the first while it fits, 2 the new ones that fit beside the first, 3 all that
        # do. In an instant without completions only those submitted in it can start, unless one of them goes first: the
        # others had their chance when nodes became free, and the time until the head's start has only become shorter.
        phase = 0
        if released or after[top] != head:
            phase = 1
        elif backfills and head != top:
            for job in range(new, coming):
                if nodes[job] <= free:
                    phase = 2
        looks = phase == 2 and extra < 0
        rank = -1
        following = top
        least = never
        while phase > 0:
            job = after[top]
            if phase == 1 and (job == top or nodes[job] > free):
                head = job
                extra = -1
                if job == top or not backfills or smallest > free:
                    break
                phase = 3
                following = job
                looks = True
            if looks:
                # When the head finds its nodes, and how many are left over then.
                looks = False
                reached = free
                place = 0
                while reached < nodes[head] and place < runs:
                    shadow = limits[by_limit[place]]
                    reached += nodes[by_limit[place]]
                    place += 1
                if reached < nodes[head]:
                    state[0] = STUCK
                    return
                # All nodes that come back at the shadow time itself count.
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
            fits = nodes[job] <= free
            beyond = False
            while fits:
                # Beside the head those may start that end by its start, or need no more than the extra nodes.
                beyond = phase > 1 and now + walltimes[job] > shadow + tolerance
                if beyond and nodes[job] > extra:
                    fits = False
                elif job != on_trial:
                    break
                else:
                    found[trials] = now
                    how[trials] = 0 if phase == 1 else 1
                    trials += 1
                    if trials == choices:
                        break
                    walltimes[job] = tried[trials]
            if not fits:
                if nodes[job] < least:
                    least = nodes[job]
                continue
            starts[job] = now
            left -= awaited[job]
            place = after[job]
            after[before[job]] = place
            before[place] = before[job]
            free -= nodes[job]
            if beyond:
                extra -= nodes[job]
            ends[job] = now + runtimes[job]
            limits[job] = now + walltimes[job]
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
            runs += 1
            if phase > 1 and smallest > free:
                break
        if left == 0:
            state[0] = DONE
            state[1] = coming - present
            return
        # The next instant.
        now = never
        if coming < count:
            now = submits[coming]
        if runs > 0 and ends[by_end[runs - 1]] < now:
            now = ends[by_end[runs - 1]]
        released = False
        if now == never:
            state[0] = STUCK
            return
