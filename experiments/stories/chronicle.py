"""The chronicle: the event log, read once from its first entry to its last.

What the log does not say of a run (when its walltime would be over, what a preemption costs it, what it has secured)
follows from the job table by the simulator's own job states, which are led through the log here; nothing is decided
again.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterator, Sequence
from copy import copy
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby

from experiments.recording import Recording
from experiments.stories.lives import Booking, Gain, Life, Spell, Stint
from experiments.stories.standing import Standing
from policies.mechanism import BASELINE
from policies.order import ORDERS
from simulator.decisions import Decision
from simulator.eventlog import Entry
from simulator.holders import Run
from simulator.jobstate import FixedJob, JobState
from simulator.kinds import begin_run, job_state
from simulator.run import MalleableRun
from simulator.stochastic import COMPLETED, SAVED, ReservationRecord
from simulator.usage import Usage
from workloads.job import JobType
from workloads.units import to_ticks

__all__ = ["Chronicle", "Instant"]

#: What ends a stint.
_ENDS = ("complete", "kill", "expire", "preempt")


@dataclass(frozen=True, slots=True)
class Instant:
    """The machine when an instant is over.

    Attributes
    ----------
    time
        Of the simulated clock.
    place
        Of its first entry in the log.
    busy, held
        Nodes.
    head
        Who stands first in the queue.
    holders
        On-demand jobs that nodes are held for.
    """

    time: int
    place: int
    busy: int
    held: int
    head: Spell | None
    holders: tuple[int, ...] = ()


class Chronicle:
    """One simulation, played again from its event log.

    Parameters
    ----------
    recording
        Of a simulation, with its event log.
    decisions
        What was recorded beside it; None: nothing.

    Attributes
    ----------
    entries
        The event log.
    lives
        By job id, in the order of the job table.
    stints
        All of them, by the place of their start in the log.
    instants
        One after the other.
    decisions
        By kind; empty where they were not recorded.
    told
        Whether decisions were recorded.

    Raises
    ------
    InputError
        If there is no event log.
    """

    def __init__(self, recording: Recording, decisions: Sequence[Decision] | None = None) -> None:
        self.recording = recording.with_events()
        self.entries = recording.entries
        self.options = recording.options
        self.told = decisions is not None
        self.decisions: dict[str, list[Decision]] = defaultdict(list)
        for decision in decisions or ():
            self.decisions[decision.decision].append(decision)
        self.lives = {job.job_id: Life(job) for job in recording.jobs}
        self.stints: dict[int, Stint] = {}
        self.instants: list[Instant] = []
        self._baseline = recording.mechanism == BASELINE
        self._standing = Standing(ORDERS[recording.options.order])
        self._states: dict[int, JobState] = {}
        self._runs: dict[int, tuple[Stint, Run | None]] = {}
        self._waiting: dict[int, Spell] = {}
        self._reservations: dict[int, Iterator[ReservationRecord]] = {}
        self._ending: dict[int, ReservationRecord] = {}
        self._giver: tuple[str, int | None] = ("unknown", None)
        self._open: dict[int, Booking] = {}
        self._borrowed: defaultdict[int, int] = defaultdict(int)
        self._gathering: dict[int, None] = {}
        self._draws: defaultdict[tuple[int, int], dict[int, int]] = defaultdict(dict)
        self._began(recording)
        self._read()

    def life(self, job_id: int) -> Life:
        """What the log says of that job."""
        return self.lives[job_id]

    def served_on_demand(self, job_id: int) -> bool:
        """Whether it is an on-demand job, and the mechanism treats it as one."""
        return not self._baseline and self.lives[job_id].job.type is JobType.ON_DEMAND

    @cached_property
    def times(self) -> list[int]:
        """Of the instants."""
        return [instant.time for instant in self.instants]

    def instant(self, time: int) -> Instant:
        """The machine once that instant is over."""
        return self.instants[bisect_right(self.times, time) - 1]

    def places_at(self, time: int) -> range:
        """Of the entries of an instant."""
        at = bisect_left(self.times, time)
        following = self.instants[at + 1].place if at + 1 < len(self.instants) else len(self.entries)
        return range(self.instants[at].place, following)

    def between(self, since: int, until: int) -> list[Instant]:
        """The instants from ``since`` on, before ``until``."""
        return self.instants[bisect_left(self.times, since) : bisect_left(self.times, until)]

    def stopped_at(self, place: int) -> Stint | None:
        """The run that is warned or preempted at that place of the log."""
        return self._stopped.get(place)

    def borrowed(self, job_id: int, lender: int, time: int) -> int | None:
        """Nodes that a run which is stopped at that time had borrowed of a reservation; None: not known."""
        found = [stint.draws.get(lender) for stint in self.lives[job_id].stints if stint.stopped == time]
        return found[0] if found else None

    @cached_property
    def _stopped(self) -> dict[int, Stint]:
        return {stint.stop_place: stint for stint in self.stints.values() if stint.stop_place is not None}

    def overdue_at(self, time: int) -> list[int]:
        """On-demand jobs that nodes are reserved for, and that should have come by then."""
        return [job_id for job_id, due, booking in self._bookings if due < time and booking.open_at(time)]

    def early(self, place: int) -> int:
        """By how much the run that ends there ended before its walltime was over."""
        return self._ended[place].early if place in self._ended else 0

    @cached_property
    def _ended(self) -> dict[int, Stint]:
        return {stint.end_place: stint for stint in self.stints.values() if stint.end_place is not None}

    @cached_property
    def _bookings(self) -> list[tuple[int, int, Booking]]:
        return [
            (job_id, self.ticks(life.job.estimated_arrival), life.booking)
            for job_id, life in self.lives.items()
            if life.booking is not None and life.job.estimated_arrival is not None
        ]

    def _began(self, recording: Recording) -> None:
        ranks = {job_id: rank for rank, job_id in enumerate(sorted(self.lives))}
        for row, job in enumerate(recording.jobs):
            self._states[job.job_id] = job_state(
                job, row, ranks[job.job_id], recording.origin, recording.options, baseline=self._baseline
            )
        by_job: dict[int, list[ReservationRecord]] = defaultdict(list)
        for item in recording.reservations:
            by_job[item.job_id].append(item)
        self._reservations = {job_id: iter(items) for job_id, items in by_job.items()}
        for draw in self.decisions["draw"]:
            if draw.job_id is not None and draw.other is not None:
                self._draws[draw.job_id, draw.time][draw.other] = draw.nodes or 0

    def _read(self) -> None:
        machine = {time: (busy, held) for time, busy, held, *_ in self.recording.samples}
        for time, entries in groupby(enumerate(self.entries), key=lambda item: item[1].time):
            came: list[Spell] = []
            first: int | None = None
            self._giver = ("unknown", None)
            for place, entry in entries:
                first = place if first is None else first
                spell = self._happen(place, entry)
                if spell is not None:
                    came.append(spell)
            busy, held = machine[time]
            queue = self._standing.in_order(time)
            head = queue[0] if queue else None
            self.instants.append(Instant(time, first or 0, busy, held, head, self._holders(held)))
            for spell in came:
                if spell.until is None:
                    before = self._standing.before(spell, time)
                    spell.ahead = tuple(other.job_id for other in before)
                    spell.ahead_nodes = sum(other.job.nodes for other in before)

    def _holders(self, held: int) -> tuple[int, ...]:
        """On-demand jobs that these nodes are held for; none where it is not known who has lent his to tenants."""
        if not held or not self.told:
            return ()
        idle = {job_id: booking.total - self._borrowed[job_id] for job_id, booking in self._open.items()}
        found = [job_id for job_id, nodes in idle.items() if nodes]
        # What is not reserved is with those who have come and wait for the rest.
        return tuple(sorted(found if sum(idle.values()) == held else [*found, *self._gathering]))

    def _happen(self, place: int, entry: Entry) -> Spell | None:
        """One entry; returns the spell that it begins."""
        job_id, event = entry.job_id, entry.event
        life = self.lives.get(job_id)
        if life is None:
            return None
        life.places.append(place)
        if event == "submit" and not self.served_on_demand(job_id):
            return self._enter(place, entry, "next" if life.spells or life.stints else "submit")
        if event == "submit":
            life.arrival = entry.time
            self._close(life, entry.time, "arrived")
        elif event in ("requeue", "wait"):
            return self._enter(place, entry, event)
        elif event == "start":
            self._start(place, entry, life)
        elif event in ("shrink", "expand"):
            self._resize(place, entry)
        elif event == "warn":
            self._stop(place, entry)
        elif event in _ENDS:
            self._end(place, entry)
        elif event == "notice":
            life.booking = self._open[job_id] = Booking(entry.time)
            self._borrowed[job_id] = 0
            self._giver = ("free", None)
        elif event == "reserve" and life.booking is not None:
            gained = entry.after - life.booking.total
            # Else a tenant has given back what it had borrowed.
            if gained > 0:
                life.booking.gains.append(Gain(entry.time, gained, entry.after, *self._giver))
        elif event == "time-out":
            self._close(life, entry.time, "time-out")
            self._giver = ("left over", job_id)
        elif event == "gather":
            life.gathered = place
            self._gathering[job_id] = None
        else:
            life.others.append(place)
        return None

    def _close(self, life: Life, now: int, ending: str) -> None:
        if life.booking is not None and life.booking.until is None:
            life.booking.until, life.booking.ending = now, ending
            del self._open[life.job.job_id]
            self._giver = ("left over", life.job.job_id)

    def _enter(self, place: int, entry: Entry, why: str) -> Spell | None:
        state = self._states[entry.job_id]
        if entry.job_id in self._waiting:
            return None
        if state.job.type is JobType.STOCHASTIC:
            self._ask(state, entry, why)
        # A copy: it stays what it is while it waits.
        urgent = self.served_on_demand(entry.job_id)
        spell = Spell(copy(state), place, entry.time, why, urgent)
        self._waiting[entry.job_id] = spell
        self.lives[entry.job_id].spells.append(spell)
        self._standing.add(spell, entry.time)
        return spell

    def _ask(self, state: JobState, entry: Entry, why: str) -> None:
        """A stochastic job asks for a reservation, or again for one that was preempted."""
        record = next(self._reservations.get(entry.job_id, iter(())), None)
        if record is not None:
            self._ending[entry.job_id] = record
            state.walltime = record.length
        if why != "requeue":
            state.submit = entry.time

    def _start(self, place: int, entry: Entry, life: Life) -> None:
        spell = self._waiting.pop(entry.job_id, None)
        if spell is not None:
            for other in self._standing.before(spell, entry.time):
                other.passed_by.append(place)
            self._standing.remove(spell)
            spell.until = entry.time
        stint = Stint(entry.job_id, place, entry.time, entry.cause, spell, [(entry.time, entry.after)])
        stint.draws = self._draws.get((entry.job_id, entry.time), {})
        for lender, nodes in stint.draws.items():
            self._borrowed[lender] += nodes
        self._gathering.pop(entry.job_id, None)
        state = self._states[entry.job_id]
        run: Run | None = None
        if state.job.type is JobType.STOCHASTIC:
            stint.expected_end = entry.time + state.walltime
        else:
            run = begin_run(state, entry.time)
            run.nodes = entry.after
            run.begin()
            stint.expected_end = run.expected_end
        self._runs[entry.job_id] = stint, run
        self.stints[place] = stint
        life.stints.append(stint)

    def _resize(self, place: int, entry: Entry) -> None:
        stint, run = self._runs.get(entry.job_id, (None, None))
        if stint is None:
            self.lives[entry.job_id].others.append(place)
            return
        stint.changes.append(place)
        stint.sizes.append((entry.time, entry.after))
        if isinstance(run, MalleableRun):
            run.settle(entry.time)
            run.nodes = entry.after
            run.resized(entry.time)
            stint.expected_end = run.expected_end

    def _stop(self, place: int, entry: Entry) -> None:
        """A preemption begins: what it costs, and what is secured."""
        stint, run = self._runs.get(entry.job_id, (None, None))
        if stint is None:
            self.lives[entry.job_id].others.append(place)
            return
        stint.stopped, stint.stop_place = entry.time, place
        if run is None:
            stint.lost = entry.before * (entry.time - stint.since)
            return
        usage, job = Usage(), run.job
        dumps = job.dumps if isinstance(job, FixedJob) else 0
        run.stop(entry.time, usage)
        stint.lost = usage.lost
        if isinstance(job, FixedJob):
            stint.checkpoints = dumps - job.dumps
            stint.secured = stint.checkpoints * job.interval

    def _end(self, place: int, entry: Entry) -> None:
        stint, run = self._runs.get(entry.job_id, (None, None))
        if stint is None:
            self.lives[entry.job_id].others.append(place)
            return
        if entry.event == "preempt" and stint.stopped is None:
            self._stop(place, entry)
        elif entry.event == "preempt":
            stint.lost_to_warning = entry.before * (entry.time - (stint.stopped or 0))
        elif run is None:
            record = self._ending.get(entry.job_id)
            if record is not None and record.ending not in (COMPLETED, SAVED):
                stint.lost = entry.before * (entry.time - stint.since)
        elif isinstance(run.job, FixedJob):
            stint.checkpoints = run.job.dumps
        for other, nodes in stint.draws.items():
            if other in self._open:
                self._borrowed[other] -= nodes
        stint.sizes.append((entry.time, 0))
        stint.until, stint.end_place, stint.ending = entry.time, place, entry.event
        self._giver = ("preempted" if entry.event == "preempt" else "ended", entry.job_id)
        del self._runs[entry.job_id]

    @cached_property
    def machine(self) -> int:
        """Nodes of the machine."""
        return self.recording.nodes

    def ticks(self, seconds: float) -> int:
        """A time of the job table on the simulated clock."""
        return to_ticks(seconds) - self.recording.origin
