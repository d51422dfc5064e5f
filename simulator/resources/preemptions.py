"""Runs that an outage ends before their time: they lose their work, and the jobs wait again in their former order.

Loops over whole numbers, which run compiled or as plain Python. Names are those of
:func:`holdfast.simulator.resources.resource_loop.replay_resources`.
"""

from __future__ import annotations

from holdfast.simulator.resources.loop_state import ARRIVED, LEAVING, PAST, RUNS
from holdfast.simulator.resources.wait_causes import CAUSES

__all__ = ["PAST_RUN", "enqueue", "expect_cancellation", "keep_past_run", "remove_run"]

#: Numbers that are kept of a preempted run: job, start, end, first entry of nodes, number of nodes, option.
PAST_RUN = 6


def enqueue(job, top, ranks, after, before, linked, arrived, state):  # type: ignore[no-untyped-def] # compiled
    """Put a job into the queue by its rank."""
    arrived[state[ARRIVED]] = job
    state[ARRIVED] += 1
    linked[job] = 1
    last = before[top]
    while last != top and ranks[last] > ranks[job]:
        last = before[last]
    following = after[last]
    after[last] = job
    before[job] = last
    after[job] = following
    before[following] = job


def remove_run(spot, by_end, by_limit, state):  # type: ignore[no-untyped-def] # compiled
    """Take the run at a place of ``by_end`` out of both lists of runs."""
    job = by_end[spot]
    state[RUNS] -= 1
    runs = state[RUNS]
    while spot < runs:
        by_end[spot] = by_end[spot + 1]
        spot += 1
    spot = 0 * job
    while by_limit[spot] != job:
        spot += 1
    while spot < runs:
        by_limit[spot] = by_limit[spot + 1]
        spot += 1


def keep_past_run(  # type: ignore[no-untyped-def] # compiled
    job, now, starts, option_of, taken_first, taken_count, causes, past, state,
):  # fmt: skip
    """Write down a run that ends now before its time; the job has no nodes and no reason to wait yet."""
    at = state[PAST] * PAST_RUN
    past[at] = job
    past[at + 1] = starts[job]
    past[at + 2] = now
    past[at + 3] = taken_first[job]
    past[at + 4] = taken_count[job]
    past[at + 5] = option_of[job]
    state[PAST] += 1
    taken_count[job] = 0
    causes[job * CAUSES] = -1


def expect_cancellation(job, cancels, leaving, state):  # type: ignore[no-untyped-def] # compiled
    """Put a job that waits again among those that will be cancelled, unless it is still there."""
    for spot in range(state[LEAVING]):
        if leaving[spot] == job:
            return
    spot = state[LEAVING]
    while spot > 0 and cancels[leaving[spot - 1]] < cancels[job]:
        leaving[spot] = leaving[spot - 1]
        spot -= 1
    leaving[spot] = job
    state[LEAVING] += 1


#: They are called from several places, or once (:func:`holdfast.workloads.ground.compilation.assembly`).
enqueue.stands_alone = True  # type: ignore[attr-defined]
remove_run.stands_alone = True  # type: ignore[attr-defined]
keep_past_run.stands_alone = True  # type: ignore[attr-defined]
expect_cancellation.stands_alone = True  # type: ignore[attr-defined]
