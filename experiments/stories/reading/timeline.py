"""The chronicle: a simulation played again from its event log, and what can be looked up in it."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Sequence
from functools import cached_property

from experiments.stories.reading.job_states import Booking, Instant, Stint
from experiments.stories.reading.playback import Playback
from simulator.machine.decisions import Decision
from simulator.results.recording import Recording, require_events
from workloads.ground.units import to_ticks

__all__ = ["Chronicle"]


class Chronicle:
    """What happened.

    Parameters
    ----------
    recording
        Recording of a simulation, with its event log.
    decisions
        What was recorded beside it; None: nothing.

    Attributes
    ----------
    entries
        The event log.
    lives, stints, instants
        As in :class:`experiments.stories.reading.playback.Playback`.
    decisions
        By kind; empty where they were not recorded.
    told
        Whether decisions were recorded.
    outages
        What the log calls them, by their negative numbers.

    Raises
    ------
    InputError
        If there is no event log.
    """

    def __init__(self, recording: Recording, decisions: Sequence[Decision] | None = None) -> None:
        self.recording = require_events(recording)
        self.entries = recording.entries
        self.told = decisions is not None
        self.decisions: dict[str, list[Decision]] = defaultdict(list)
        for decision in decisions or ():
            self.decisions[decision.decision].append(decision)
        played = Playback(recording, self.decisions["draw"] if self.told else None)
        self.lives, self.stints, self.instants = played.lives, played.stints, played.instants
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

    def stop_at(self, place: int) -> Stint | None:
        """The run that is warned or preempted at that place of the log."""
        return self._stopped.get(place)

    def early(self, place: int) -> int:
        """By how much the run that ends there ended before its walltime was over."""
        return self._ended[place].early if place in self._ended else 0

    def count_borrowed(self, job_id: int, lender: int, time: int) -> int | None:
        """Nodes that a run which is stopped at that time had borrowed of a reservation; None: not known."""
        found = [stint.draws.get(lender) for stint in self.lives[job_id].stints if stint.stopped == time]
        return found[0] if found else None

    def overdue_at(self, time: int) -> list[int]:
        """On-demand jobs that nodes are reserved for, and that should have come by then."""
        return [job_id for job_id, due, booking in self._bookings if due < time and booking.open_at(time)]

    def ticks(self, seconds: float) -> int:
        """A time of the job table on the simulated clock."""
        return to_ticks(seconds) - self.recording.origin

    @cached_property
    def _stopped(self) -> dict[int, Stint]:
        return {stint.stop_place: stint for stint in self.stints.values() if stint.stop_place is not None}

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
