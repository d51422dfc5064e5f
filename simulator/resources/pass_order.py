"""The order of the waiting jobs at each pass of a replay, where it changes with time, usage or dependencies."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from simulator.resources.loop_state import ARRIVED, DONE, ENDED, NOW, PAUSED
from simulator.resources.replay_columns import ReplayColumns

__all__ = ["MovingTimes", "sort_at_each_pass"]


class MovingTimes(NamedTuple):
    """Arrays that the loop changes: submits, arrivals, ends, cancellations before a start, and the jobs that came."""

    submits: Any
    arrivals: Any
    ends: Any
    gone: Any
    arrived: Any


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
    past = 0
    while state[ENDED] == PAUSED:
        now, coming = int(state[NOW]) - columns.origin, int(state[ARRIVED])
        still = []
        for job in waiting:
            place = places[job]
            if taken_count[place]:
                queue.start(job, past, int(moving.ends[place]) - columns.origin)
            elif moving.gone[place] < 0:
                still.append(job)
        for place in map(int, moving.arrived[came:coming]):
            job = order[place]
            still.append(job)
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
