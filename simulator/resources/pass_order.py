"""The order of the waiting jobs at each pass of a replay, where it changes with time, usage or dependencies."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from holdfast.simulator.resources.loop_state import ARRIVED, DONE, ENDED, NOW, PAST, PAUSED
from holdfast.simulator.resources.preemptions import PAST_RUN
from holdfast.simulator.resources.replay_columns import ReplayColumns

__all__ = ["MovingTimes", "sort_at_each_pass"]


class MovingTimes(NamedTuple):
    """Arrays that the loop changes.

    Attributes
    ----------
    submits, arrivals, ends
        Times of each job.
    gone
        When a job was cancelled while it waited.
    arrived
        The jobs that came, also again after a preemption.
    past
        The runs that were preempted.
    """

    submits: Any
    arrivals: Any
    ends: Any
    gone: Any
    arrived: Any
    past: Any


def sort_at_each_pass(
    columns: ReplayColumns,
    proceed: Callable[[], None],
    order: list[int],
    after: Any,
    before: Any,
    taken_count: Any,
    moving: MovingTimes,
    state: Any,
) -> None:
    """Take the loop from pass to pass, and put the waiting jobs into the order of each."""
    # A replay that found no room begins again.
    queue = columns.queue.fresh()
    top, came = len(order), 0
    waiting: list[int] = []  # rows of the table
    places = {job: place for place, job in enumerate(order)}
    past = preempted = 0
    running: dict[int, int] = {}  # the end that was expected at the start
    while state[ENDED] == PAUSED:
        now, coming = int(state[NOW]) - columns.origin, int(state[ARRIVED])
        still = []
        again = set[int]()
        for run in range(preempted, int(state[PAST])):
            place, start, end = map(int, moving.past[run * PAST_RUN : run * PAST_RUN + 3])
            job = order[place]
            if job in running:
                queue.stop(job, end - columns.origin, running[job])
            else:
                queue.start(job, start - columns.origin, end - columns.origin)
                again.add(job)
        preempted = int(state[PAST])
        for job in waiting:
            place = places[job]
            if job in again:
                continue
            if taken_count[place]:
                running[job] = int(moving.ends[place]) - columns.origin
                queue.start(job, past, running[job])
            elif moving.gone[place] < 0:
                still.append(job)
        for place in map(int, moving.arrived[came:coming]):
            job = order[place]
            still.append(job)
            running.pop(job, None)
            if columns.preceding[job] >= 0:
                times = moving.submits[place], moving.arrivals[place]
                queue.submit(job, *(int(time) - columns.origin for time in times))
        waiting = queue.sort(still, now)
        came, past = coming, now
        last = top
        for job in waiting:
            after[last] = places[job]
            before[places[job]] = last
            last = places[job]
        after[last] = top
        before[top] = last
        state[ENDED] = DONE
        proceed()
