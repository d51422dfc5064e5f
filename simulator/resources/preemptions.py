"""Runs that an outage ends before their time: they lose their work, and the jobs wait again in their former order.

Loops over whole numbers, which run compiled or as plain Python.
"""

from __future__ import annotations

from typing import Any

from holdfast.policies.kernels.waiting_ring import link
from holdfast.simulator.resources.loop_arguments import Lives, LoopRecords, Runs, WaitingRing
from holdfast.simulator.resources.loop_state import ARRIVED, LEAVING, PAST, RUNNING
from holdfast.simulator.resources.wait_causes import CAUSES

__all__ = ["PAST_RUN", "enqueue", "expect_cancellation", "keep_past_run", "remove_run"]

#: Numbers that are kept of a preempted run: job, start, end, first entry of nodes, number of nodes, option.
PAST_RUN = 6


def enqueue(job: Any, top: Any, ranks: Any, queue: WaitingRing, state: Any) -> None:
    """Put a job into the queue by its rank."""
    queue.arrived[state[ARRIVED]] = job
    state[ARRIVED] += 1
    queue.linked[job] = 1
    link(job, top, ranks, queue.after, queue.before)


def remove_run(spot: Any, runs: Runs, state: Any) -> None:
    """Take the run at a place of ``by_end`` out of both lists of runs."""
    by_end = runs.by_end
    by_limit = runs.by_limit
    job = by_end[spot]
    state[RUNNING] -= 1
    total = state[RUNNING]
    while spot < total:
        by_end[spot] = by_end[spot + 1]
        spot += 1
    spot = 0
    while by_limit[spot] != job:
        spot += 1
    while spot < total:
        by_limit[spot] = by_limit[spot + 1]
        spot += 1


def keep_past_run(job: Any, now: Any, runs: Runs, causes: Any, records: LoopRecords) -> None:
    """Write down a run that ends now before its time; the job has no nodes and no reason to wait yet."""
    past = records.past
    at = records.state[PAST] * PAST_RUN
    past[at] = job
    past[at + 1] = runs.starts[job]
    past[at + 2] = now
    past[at + 3] = runs.first[job]
    past[at + 4] = runs.size[job]
    past[at + 5] = runs.option[job]
    records.state[PAST] += 1
    runs.size[job] = 0
    causes[job * CAUSES] = -1


def expect_cancellation(job: Any, lives: Lives, state: Any) -> None:
    """Put a job that waits again among those that will be cancelled, unless it is still there."""
    cancels = lives.cancels
    leaving = lives.leaving
    for spot in range(state[LEAVING]):
        if leaving[spot] == job:
            return
    spot = state[LEAVING]
    while spot > 0 and cancels[leaving[spot - 1]] < cancels[job]:
        leaving[spot] = leaving[spot - 1]
        spot -= 1
    leaving[spot] = job
    state[LEAVING] += 1
