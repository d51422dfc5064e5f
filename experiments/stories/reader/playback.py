"""Playback of the event log, once from its first entry to its last.

What the log does not say of a run (when its walltime would be over, what a preemption costs it, what it has secured)
follows from the job table by the simulator's own job states, which are led through the log here; nothing is decided
again.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import copy
from itertools import groupby

from holdfast.experiments.stories.facts.service import Gain
from holdfast.experiments.stories.reader.held_nodes import HeldNodes
from holdfast.experiments.stories.reader.job_states import Booking, Instant, JobHistory, QueueStay, ReplayedRun
from holdfast.experiments.stories.reader.queue_position import ReplayedQueue
from holdfast.policies.mechanism import BASELINE
from holdfast.simulator.machine.actual_outcomes import COMPLETED, SAVED
from holdfast.simulator.machine.decisions import Decision
from holdfast.simulator.machine.event_log import Entry
from holdfast.simulator.machine.job_factory import begin_run, job_states
from holdfast.simulator.machine.job_state import JobState
from holdfast.simulator.machine.node_accounts import Run
from holdfast.simulator.machine.node_use import Usage
from holdfast.simulator.machine.run import is_malleable
from holdfast.simulator.machine.stochastic import ReservationRecord
from holdfast.simulator.results.recording import Recording, all_reservations
from holdfast.simulator.services.starting_state import early_run
from holdfast.workloads.ground.units import to_ticks
from holdfast.workloads.table.job import JobType

__all__ = ["Playback"]


class Playback:
    """One simulation, played again.

    Parameters
    ----------
    recording
        Recording of a simulation, with its event log.
    draws
        Nodes that tenants have borrowed; None: not recorded.

    Attributes
    ----------
    lives
        By job id, in the order of the job table.
    runs
        All runs, by the place of their start in the log.
    instants
        One after the other.
    """

    def __init__(self, recording: Recording, draws: Sequence[Decision] | None) -> None:
        self.lives = {job.job_id: JobHistory(job) for job in recording.table}
        self.runs: dict[int, ReplayedRun] = {}
        self.instants: list[Instant] = []
        self._recording = recording
        self._baseline = recording.mechanism == BASELINE
        self._has_draws = draws is not None
        self._standing = ReplayedQueue(recording.order, recording.nodes)
        if recording.prior is not None and recording.prior.usage is not None and recording.opened is not None:
            self._standing.inherit(recording.prior.usage, recording.opened - recording.origin, recording.origin)
        self._running: dict[int, tuple[ReplayedRun, Run | None]] = {}
        self._waiting: dict[int, QueueStay] = {}
        # The last holder that gave up nodes in this instant, and how many go back to which lender.
        self._giver: tuple[str, int | None] = ("unknown", None)
        self._due: dict[int, int] = {}
        self._holdings = HeldNodes()
        states = job_states(recording.table, recording.origin, recording.options, baseline=self._baseline)
        self._states: dict[int, JobState] = {state.job_id: state for state in states}
        asked: dict[int, list[ReservationRecord]] = defaultdict(list)
        for item in all_reservations(recording):
            asked[item.job_id].append(item)
        self._asked: dict[int, Iterator[ReservationRecord]] = {job_id: iter(items) for job_id, items in asked.items()}
        self._ending: dict[int, ReservationRecord] = {}
        self._draws: defaultdict[tuple[int, int], dict[int, int]] = defaultdict(dict)
        for draw in draws or ():
            if draw.job_id is not None and draw.other is not None:
                self._draws[draw.job_id, draw.time][draw.other] = draw.nodes or 0
        self._read()

    def serves_on_demand(self, job_id: int) -> bool:
        """Whether it is an on-demand job, and the mechanism treats it as one."""
        return not self._baseline and self.lives[job_id].job.type is JobType.ON_DEMAND

    def _read(self) -> None:
        machine = {time: (busy, held) for time, busy, held, *_ in self._recording.samples}
        for time, entries in groupby(enumerate(self._recording.entries), key=lambda item: item[1].time):
            came: list[QueueStay] = []
            first: int | None = None
            self._giver = ("unknown", None)
            self._due.clear()
            for place, entry in entries:
                first = place if first is None else first
                if entry.job_id in self.lives:
                    stay = self._replay_entry(place, entry)
                    if stay is not None:
                        came.append(stay)
                else:
                    self._holdings.outage(entry)
                    self._giver = ("outage", entry.job_id)
            busy, held = machine[time]
            queue = self._standing.in_order(time)
            head = queue[0] if queue else None
            # Without recorded loans to tenants the holders of idle nodes are not known.
            holders = self._holdings.holders(held) if self._has_draws else ()
            self.instants.append(Instant(time, first or 0, busy, held, self._holdings.down, head, holders))
            for stay in came:
                if stay.until is None:
                    before = self._standing.before(stay, time)
                    stay.ahead = tuple(other.job_id for other in before)
                    stay.ahead_nodes = sum(other.job.nodes for other in before)

    def _replay_entry(self, place: int, entry: Entry) -> QueueStay | None:
        """One entry; returns the stay that it begins."""
        job_id, event = entry.job_id, entry.event
        life = self.lives[job_id]
        if event in ("hold", "submit") and life.job.preceding is not None:
            # It was submitted when that job had ended, whatever the table says.
            state = self._states[job_id]
            state.eligible = entry.time
            if entry.cause != "eligible":
                state.submit = entry.time
        if event == "submit" and not self.serves_on_demand(job_id):
            return self._enter(place, entry, "next" if life.stays or life.runs else "submit")
        if event in ("requeue", "wait"):
            self._holdings.leave_queue(job_id)
            return self._enter(place, entry, event)
        if event == "submit":
            life.arrival = entry.time
            self._close(life, entry.time, "arrived")
        elif event == "start":
            self._start(place, entry, life)
        elif event in _RUN_EVENTS and job_id in self._running:
            _RUN_EVENTS[event](self, place, entry)
        elif event in ("notice", "reserve"):
            self._reserve(entry, life)
        elif event in ("time-out", "withdraw") and life.booking is not None:
            self._close(life, entry.time, event)
        elif event == "gather":
            # After a failure it may have waited until now.
            self._leave(job_id, entry.time)
            life.gathered.append(place)
            self._holdings.gather(job_id)
        else:
            if event == "cancel":
                self._leave(job_id, entry.time)
                self._holdings.leave_queue(job_id)
            life.others.append(place)
        return None

    def _reserve(self, entry: Entry, life: JobHistory) -> None:
        """A notice opens a reservation, or the nodes of a reservation change."""
        if entry.event == "notice":
            life.booking = Booking(entry.time)
            self._holdings.open(entry.job_id, life.booking)
            self._giver = ("free", None)
        elif life.booking is not None:
            self._change_reservation(entry, life.booking)
        else:
            self._holdings.keep(entry.job_id, entry.after)

    def _change_reservation(self, entry: Entry, booking: Booking) -> None:
        """Nodes come to a reservation, come back to it from a tenant, or are taken from it."""
        returned = self._due.pop(entry.job_id, 0)
        if entry.after < entry.before:
            booking.gains.append(Gain(entry.time, entry.after - entry.before, entry.after, "taken", None, entry.cause))
        elif not returned:
            # Without recorded loans, nodes that a tenant gives back lead to no new total.
            gained = entry.after - (entry.before if self._has_draws else booking.total)
            if gained > 0:
                booking.gains.append(Gain(entry.time, gained, entry.after, *self._giver, entry.cause))
        booking.total = entry.after

    def _close(self, life: JobHistory, now: int, ending: str) -> None:
        if life.booking is not None and life.booking.until is None:
            life.booking.until, life.booking.ending = now, ending
            self._holdings.close(life.job.job_id)
            self._giver = ("left over", life.job.job_id)

    def _enter(self, place: int, entry: Entry, why: str) -> QueueStay | None:
        state = self._states[entry.job_id]
        if entry.job_id in self._waiting:
            return None
        if state.job.type is JobType.STOCHASTIC:
            self._ask(state, entry, why)
        # A copy: it stays what it is while it waits.
        urgent = self.serves_on_demand(entry.job_id)
        stay = QueueStay(copy(state), place, entry.time, why, urgent, cause=entry.cause)
        self._waiting[entry.job_id] = stay
        self.lives[entry.job_id].stays.append(stay)
        self._standing.add(stay, entry.time)
        return stay

    def _leave(self, job_id: int, now: int) -> QueueStay | None:
        """A job leaves the queue, if it is there."""
        stay = self._waiting.pop(job_id, None)
        if stay is not None:
            self._standing.remove(stay)
            stay.until = now
        return stay

    def _ask(self, state: JobState, entry: Entry, why: str) -> None:
        """A stochastic job asks for a reservation, or again for one that was preempted."""
        record = next(self._asked.get(entry.job_id, iter(())), None)
        if record is not None:
            self._ending[entry.job_id] = record
            state.walltime = record.length
        if why == "next":
            state.submit = state.eligible = entry.time

    def _start(self, place: int, entry: Entry, life: JobHistory) -> None:
        waiting = self._waiting.get(entry.job_id)
        if waiting is not None:
            for other in self._standing.before(waiting, entry.time):
                other.passed_by.append(place)
        stay = self._leave(entry.job_id, entry.time)
        replayed = ReplayedRun(entry.job_id, place, entry.time, entry.cause, stay, [(entry.time, entry.after)])
        replayed.draws = self._draws.get((entry.job_id, entry.time), {})
        self._holdings.lend(replayed.draws)
        self._holdings.leave_queue(entry.job_id)
        state = self._states[entry.job_id]
        run: Run | None = None
        if state.job.type is JobType.STOCHASTIC:
            replayed.expected_end = entry.time + state.walltime
        else:
            run = self._begin(state, entry)
            run.nodes = entry.after
            run.begin()
            replayed.expected_end = run.expected_end
        self._standing.occupy(state, entry.after, entry.time)
        self._running[entry.job_id] = replayed, run
        self.runs[place] = replayed
        life.runs.append(replayed)

    def _begin(self, state: JobState, entry: Entry) -> Run:
        since = state.job.running_since
        if entry.cause != "runs already" or since is None:
            return begin_run(state, entry.time)
        began = to_ticks(since) - self._recording.origin
        return early_run(state, began, entry.time)

    def _resize(self, place: int, entry: Entry) -> None:
        replayed, run = self._running[entry.job_id]
        replayed.changes.append(place)
        replayed.sizes.append((entry.time, entry.after))
        if replayed.stopped is not None:
            # Nodes that fail under a warning have been under it until now.
            replayed.lost_to_warning += (entry.before - entry.after) * (entry.time - replayed.stopped)
        elif is_malleable(run):
            run.settle(entry.time)
            run.nodes = entry.after
            run.update_ends(entry.time)
            replayed.expected_end = run.expected_end
        self._standing.occupy(self._states[entry.job_id], entry.after, entry.time)

    def _stop(self, place: int, entry: Entry) -> None:
        """A preemption begins: what it costs, and what is secured."""
        replayed, run = self._running[entry.job_id]
        replayed.stopped, replayed.stop_place = entry.time, place
        if run is None:
            replayed.lost = entry.before * (entry.time - replayed.since)
            return
        usage, job = Usage(), run.job
        dumps = job.dumps
        run.stop(entry.time, usage)
        replayed.lost = usage.lost
        if job.type is not JobType.MALLEABLE:
            replayed.checkpoints = dumps - job.dumps
            replayed.secured = replayed.checkpoints * job.interval

    def _end(self, place: int, entry: Entry) -> None:
        replayed, run = self._running[entry.job_id]
        if replayed.stopped is not None:
            replayed.lost_to_warning += entry.before * (entry.time - replayed.stopped)
        elif entry.event == "preempt":
            self._stop(place, entry)
        elif entry.event == "cancel":
            # What it has done is of no use, but it is not lost to a preemption.
            pass
        elif run is None:
            record = self._ending.get(entry.job_id)
            if record is not None and record.ending not in (COMPLETED, SAVED):
                replayed.lost = entry.before * (entry.time - replayed.since)
        elif run.type is not JobType.MALLEABLE:
            replayed.checkpoints = run.job.dumps
        self._holdings.take_back(replayed.draws)
        # Where the reservation is no longer open they go elsewhere, unless its job arrives in this instant.
        self._due.update(replayed.draws)
        self._standing.occupy(self._states[entry.job_id], 0, entry.time)
        replayed.sizes.append((entry.time, 0))
        replayed.until, replayed.end_place, replayed.ending = entry.time, place, entry.event
        self._giver = ("preempted" if entry.event == "preempt" else "ended", entry.job_id)
        del self._running[entry.job_id]


#: Events of a run, and what each changes.
_RUN_EVENTS: Mapping[str, Callable[[Playback, int, Entry], None]] = {
    "shrink": Playback._resize,
    "expand": Playback._resize,
    "warn": Playback._stop,
    **dict.fromkeys(("complete", "kill", "expire", "preempt", "cancel"), Playback._end),
}
