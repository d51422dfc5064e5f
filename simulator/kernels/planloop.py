"""A replay of rigid jobs under a rule with several reservations that keeps nothing but starts.

One plain source, as :mod:`simulator.kernels.easyloop`; each pass is :func:`policies.planpass.plan_pass`.
"""

from __future__ import annotations

from policies.planpass import plan_pass

__all__ = ["KINDS", "replay_planned"]

#: What the arguments of :func:`replay_planned` are (:func:`simulator.kernels.running.runner`).
KINDS = "naaaaannaaaaaaaaaaaaaaaaaaa"


def replay_planned(  # type: ignore[no-untyped-def] # compiled: types are numba's to infer, from lists and arrays alike
    count, submits, nodes, walltimes, runtimes, ranks, free, depth, ends, limits, by_end, by_limit,
    times, levels, base_times, base_levels, next_times, next_levels,
    kept_rows, kept_at, bounds, releases, order, begun, rows, starts, state,
):  # fmt: skip
    """Simulate until all jobs have started.

    There are ``count`` jobs, ordered by submit and numbered in ``rows``; ``ranks`` are their places in the order of the
    queue. ``depth`` is how many waiting jobs hold a reservation; 0: all of them. ``starts`` gets their starts.

    The others are buffers: ``ends``, ``limits`` (ends of walltimes), ``by_end``, ``by_limit``, ``kept_rows``,
    ``kept_at``, ``order`` and ``begun`` have ``count`` places, ``releases`` three times as many, profiles twice as many
    and eight, ``bounds`` and ``state`` are as of a pass, at first all zeros.
    """
    never = 1 << 62
    # No waiting job needs fewer nodes.
    smallest = never
    waiting = 0
    coming = 0
    runs = 0
    while coming < count or runs > 0:
        now = never
        if coming < count:
            now = submits[coming]
        if runs > 0 and ends[by_end[runs - 1]] < now:
            now = ends[by_end[runs - 1]]
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
        # Jobs are submitted.
        while coming < count and submits[coming] <= now:
            low = 0
            high = waiting
            while low < high:
                middle = (low + high) // 2
                if ranks[order[middle]] < ranks[coming]:
                    low = middle + 1
                else:
                    high = middle
            for place in range(waiting, low, -1):
                order[place] = order[place - 1]
            order[low] = coming
            waiting += 1
            if nodes[coming] < smallest:
                smallest = nodes[coming]
            coming += 1
        if waiting == 0 or smallest > free:
            continue
        for place in range(runs):
            job = by_limit[place]
            releases[3 * place] = limits[job]
            releases[3 * place + 2] = nodes[job]
        reserving = depth
        if depth == 0:
            reserving = waiting
        plan_pass(  # type: ignore[no-untyped-call] # as above
            runs, releases, nodes, walltimes, rows, waiting, order, times, levels, base_times, base_levels,
            next_times, next_levels, kept_rows, kept_at, bounds, begun, state, now, free, depth == 0, False, reserving,
        )  # fmt: skip
        if state[3] == 0:
            continue
        # Jobs start, and leave the queue.
        following = 0
        left = 0
        smallest = never
        for place in range(waiting):
            job = order[place]
            if following == state[3] or begun[following] != place:
                order[left] = job
                left += 1
                if nodes[job] < smallest:
                    smallest = nodes[job]
                continue
            following += 1
            starts[job] = now
            free -= nodes[job]
            ends[job] = now + runtimes[job]
            limits[job] = now + walltimes[job]
            other = runs
            while other > 0 and ends[by_end[other - 1]] < ends[job]:
                by_end[other] = by_end[other - 1]
                other -= 1
            by_end[other] = job
            other = runs
            while other > 0 and limits[by_limit[other - 1]] > limits[job]:
                by_limit[other] = by_limit[other - 1]
                other -= 1
            by_limit[other] = job
            runs += 1
        waiting = left
