"""The timeline: a simulation played again from its event log, and what can be looked up in it."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Sequence
from functools import cached_property

from holdfast.experiments.stories.reader.job_states import Booking, Instant, ReplayedRun
from holdfast.experiments.stories.reader.playback import Playback
from holdfast.simulator.machine.decisions import Decision
from holdfast.simulator.results.recording import Recording, require_events
from holdfast.workloads.ground.units import to_ticks

__all__ = ["Timeline"]


class Timeline:
    """A simulation, played again from its event log.

    Parameters
    ----------
    recording
        Recording of a simulation, with its event log.
    decisions
        Decisions that were recorded beside it; None: none.

    Attributes
    ----------
    entries
        The event log.
    lives, runs, instants
        As in :class:`holdfast.experiments.stories.reader.playback.Playback`.
    decisions
        By kind; empty where they were not recorded.
    has_decisions
        Whether decisions were recorded.
    outages
        Names of outages in the log, by their negative numbers.

    Raises
    ------
    InputError
        If there is no event log.
    """

    def __init__(self, recording: Recording, decisions: Sequence[Decision] | None = None) -> None:
        self.recording = require_events(recording)
        self.entries = recording.entries
        self.has_decisions = decisions is not None
        self.decisions: dict[str, list[Decision]] = defaultdict(list)
        for decision in decisions or ():
            self.decisions[decision.decision].append(decision)
        played = Playback(recording, self.decisions["draw"] if self.has_decisions else None)
        self.lives, self.runs, self.instants = played.lives, played.runs, played.instants
        self.serves_on_demand = played.serves_on_demand
        self.outages = {entry.job_id: entry.cause for entry in self.entries if entry.job_id not in self.lives}

    @property
    def machine(self) -> int:
        """Nodes of the machine."""
        return self.recording.nodes

    @cached_property
    def times(self) -> list[int]:
        """Times of the instants."""
        return [instant.time for instant in self.instants]

    def instant(self, time: int) -> Instant:
        """The machine once that instant is over."""
        return self.instants[bisect_right(self.times, time) - 1]

    def between(self, since: int, until: int) -> list[Instant]:
        """The instants from ``since`` on, before ``until``."""
        return self.instants[bisect_left(self.times, since) : bisect_left(self.times, until)]

    def places_at(self, time: int) -> range:
        """Places of the entries of an instant."""
        at = bisect_left(self.times, time)
        if at == len(self.times) or self.times[at] != time:
            return range(0)
        following = self.instants[at + 1].place if at + 1 < len(self.instants) else len(self.entries)
        return range(self.instants[at].place, following)

    def stop_at(self, place: int) -> ReplayedRun | None:
        """The run that is warned or preempted at that place of the log."""
        return self._stopped.get(place)

    def early(self, place: int) -> int:
        """By how much the run that ends there ended before its walltime was over."""
        return self._ended[place].early if place in self._ended else 0

    def borrowed_nodes(self, job_id: int, lender: int, time: int) -> int | None:
        """Nodes that a run which is stopped at that time had borrowed of a reservation; None: not known."""
        found = [replayed.draws.get(lender) for replayed in self.lives[job_id].runs if replayed.stopped == time]
        return found[0] if found else None

    def overdue_at(self, time: int) -> list[int]:
        """On-demand jobs that nodes are reserved for, and that should have come by then."""
        return [job_id for job_id, due, booking in self._bookings if due < time and booking.open_at(time)]

    def ticks(self, seconds: float) -> int:
        """A time of the job table on the simulated clock."""
        return to_ticks(seconds) - self.recording.origin

    @cached_property
    def _stopped(self) -> dict[int, ReplayedRun]:
        return {replayed.stop_place: replayed for replayed in self.runs.values() if replayed.stop_place is not None}

    @cached_property
    def _ended(self) -> dict[int, ReplayedRun]:
        return {replayed.end_place: replayed for replayed in self.runs.values() if replayed.end_place is not None}

    @cached_property
    def _bookings(self) -> list[tuple[int, int, Booking]]:
        return [
            (job_id, self.ticks(life.job.estimated_arrival), life.booking)
            for job_id, life in self.lives.items()
            if life.booking is not None and life.job.estimated_arrival is not None
        ]
