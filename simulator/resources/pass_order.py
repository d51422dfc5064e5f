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
    state = given.records.state
    waiting = _WaitingJobs(columns, given)
    while state[ENDED] == PAUSED:
        waiting.sort()
        state[ENDED] = DONE
        proceed()


class _WaitingJobs:
    """The waiting jobs of a replay, by their rows; times count from the first submit."""

    def __init__(self, columns: ReplayColumns, given: LoopArguments) -> None:
        self._columns, self._origin = columns, columns.origin
        self._runs, self._lives, self._ring, self._records = given.runs, given.lives, given.queue, given.records
        # A replay that found no room begins again.
        self._queue = columns.queue.fresh()
        self._rows = columns.arrival.tolist()
        self._places = {job: place for place, job in enumerate(self._rows)}
        self._waiting: list[int] = []
        #: The end of each running job that was expected at its start.
        self._ends: dict[int, int] = {}
        self._last_pass = self._arrived = self._preempted = 0

    def sort(self) -> None:
        """Put the waiting jobs into the order of the present pass."""
        now = int(self._records.state[NOW]) - self._origin
        restarted = self._note_preemptions()
        waiting = self._note_starts(restarted)
        waiting += self._note_arrivals()
        self._waiting = self._queue.sort(waiting, now)
        self._last_pass = now
        self._link()

    def _note_preemptions(self) -> set[int]:
        """Note runs that ended before their time; returns jobs that had also started since the last pass."""
        restarted = set[int]()
        count = int(self._records.state[PAST])
        for run in range(self._preempted, count):
            place, start, end = map(int, self._records.past[run * PAST_RUN : run * PAST_RUN + 3])
            job = self._rows[place]
            if job in self._ends:
                self._queue.stop(job, end - self._origin, self._ends[job])
            else:
                self._queue.start(job, start - self._origin, end - self._origin)
                restarted.add(job)
        self._preempted = count
        return restarted

    def _note_starts(self, restarted: set[int]) -> list[int]:
        """Note jobs that the last pass started; returns those that wait on."""
        waiting = []
        places, sizes, gone = self._places, self._runs.size, self._lives.gone
        for job in self._waiting:
            place = places[job]
            if job in restarted:
                continue
            if sizes[place]:
                self._ends[job] = int(self._runs.ends[place]) - self._origin
                self._queue.start(job, self._last_pass, self._ends[job])
            elif gone[place] < 0:
                waiting.append(job)
        return waiting

    def _note_arrivals(self) -> list[int]:
        """Jobs that have come since the last pass, for the first time or again."""
        lives, count = self._lives, int(self._records.state[ARRIVED])
        jobs = [self._rows[place] for place in self._ring.arrived[self._arrived : count]]
        self._arrived = count
        for job in jobs:
            self._ends.pop(job, None)
            if self._columns.preceding[job] >= 0:
                place = self._places[job]
                times = lives.submits[place], lives.arrivals[place]
                self._queue.submit(job, *(int(time) - self._origin for time in times))
        return jobs

    def _link(self) -> None:
        """Write the order into the ring that the loop reads."""
        after, before, places = self._ring.after, self._ring.before, self._places
        last = top = len(self._rows)
        for job in self._waiting:
            place = places[job]
            after[last] = place
            before[place] = last
            last = place
        after[last] = top
        before[top] = last
