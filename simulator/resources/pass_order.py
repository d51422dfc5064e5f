"""The order of the waiting jobs at each pass of a replay, where it changes with time, usage or dependencies."""

from __future__ import annotations

from collections.abc import Callable

from holdfast.simulator.resources.loop_arguments import LoopArguments
from holdfast.simulator.resources.loop_state import ARRIVED, DONE, ENDED, NOW, PAST, PAUSED
from holdfast.simulator.resources.preemptions import PAST_RUN
from holdfast.simulator.resources.replay_columns import ReplayColumns

__all__ = ["sort_at_each_pass"]


def sort_at_each_pass(columns: ReplayColumns, proceed: Callable[[], None], given: LoopArguments) -> None:
    """Take the loop from pass to pass, and put the waiting jobs into the order of each."""
    runs, lives, records = given.runs, given.lives, given.records
    state, past_runs = records.state, records.past
    after, before, arrived = given.queue.after, given.queue.before, given.queue.arrived
    # A replay that found no room begins again.
    queue = columns.queue.fresh()
    order = columns.arrival.tolist()
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
            place, start, end = map(int, past_runs[run * PAST_RUN : run * PAST_RUN + 3])
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
            if runs.size[place]:
                running[job] = int(runs.ends[place]) - columns.origin
                queue.start(job, past, running[job])
            elif lives.gone[place] < 0:
                still.append(job)
        for place in map(int, arrived[came:coming]):
            job = order[place]
            still.append(job)
            running.pop(job, None)
            if columns.preceding[job] >= 0:
                times = lives.submits[place], lives.arrivals[place]
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
