"""Parts of a wait by their reason, and the use of the nodes in them.

Each instant of a wait belongs to a part of one kind, so that the parts sum to the wait, to the tick.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from functools import cached_property

import numpy as np

from holdfast.experiments.stories.facts.queueing import Occupancy, PartOfWait
from holdfast.experiments.stories.reader.job_states import QueueStay
from holdfast.experiments.stories.reader.timeline import Timeline
from holdfast.simulator.results.integrals import integral

__all__ = ["WaitParts"]

#: Kinds of jobs that have nodes, in the order of the sentences.
_OCCUPANTS = ("before", "ahead", "on-demand", "passed")


class WaitParts:
    """Divides waits.

    Parameters
    ----------
    timeline
        What happened.
    """

    def __init__(self, timeline: Timeline) -> None:
        self._timeline = timeline
        instants = timeline.instants
        self._times = np.array([instant.time for instant in instants], dtype=np.int64)
        self._idle = np.array([timeline.machine - item.busy - item.down for item in instants], dtype=np.int64)
        self._down = np.array([instant.down for instant in instants], dtype=np.int64)
        self._held = np.array([instant.held for instant in instants], dtype=np.int64)

    def parts(self, stay: QueueStay) -> tuple[PartOfWait, ...]:
        """The parts of a stay, longest first."""
        first, last = self._span(stay)
        kinds = self._kinds(stay, first, last)
        lengths = np.diff(self._times[first : last + 1]).tolist()
        ticks: dict[str, int] = defaultdict(int)
        others: dict[str, dict[int, int]] = defaultdict(lambda: defaultdict(int))
        for place, kind, length in zip(range(first, last), kinds, lengths, strict=True):
            ticks[kind] += length
            if kind == "turn":
                head = self._timeline.instants[place].head
                if head is not None:
                    others[kind][head.job_id] += length
            elif kind == "held":
                for job_id in self._timeline.instants[place].holders:
                    others[kind][job_id] += length
            elif kind == "first":
                for job_id in self._tenants_before(stay, self._times[place]):
                    others[kind][job_id] += length
        lives, outages = self._timeline.lives, self._timeline.outages
        found = []
        for kind in sorted(ticks, key=lambda kind: (-ticks[kind], kind)):
            ids = _longest_first(others[kind])
            jobs = tuple(item for item in ids if item in lives)
            found.append(PartOfWait(kind, ticks[kind], jobs, tuple(outages[item] for item in ids if item not in lives)))
        return tuple(found)

    def occupancy(self, stay: QueueStay) -> tuple[Occupancy, ...]:
        """Use of the machine while fewer nodes were idle than the job needs; empty if that never was so."""
        first, last = self._span(stay)
        lengths = np.diff(self._times[first : last + 1])
        full = np.where(np.array(self._kinds(stay, first, last)) == "full", lengths, 0) if last > first else lengths
        if not full.sum():
            return ()
        elapsed = np.concatenate([[0], np.cumsum(full)])
        begins, ends, nodes, places = self._segments
        chosen = np.flatnonzero((begins < last) & (ends > first))
        spans = elapsed[np.clip(ends[chosen], first, last) - first]
        spans -= elapsed[np.clip(begins[chosen], first, last) - first]
        passing = set(stay.passed_by)
        totals: dict[str, dict[int, int]] = {kind: defaultdict(int) for kind in _OCCUPANTS}
        # Node-ticks as Python's integers: a year of a large machine is more than 64 bits hold.
        for place, span, count in zip(places[chosen].tolist(), spans.tolist(), nodes[chosen].tolist(), strict=True):
            amount = span * count
            if amount:
                replayed = self._timeline.runs[place]
                totals[self._kind(stay, place, replayed.job_id, place in passing)][replayed.job_id] += amount
        down = integral(self._down[first:last], full)
        idle = self._timeline.machine * int(full.sum()) - sum(sum(jobs.values()) for jobs in totals.values()) - down
        found = [Occupancy(kind, sum(jobs.values()), _longest_first(jobs)) for kind, jobs in totals.items() if jobs]
        rest = [Occupancy("down", down, ()), Occupancy("idle", idle, ())]
        return (*found, *(item for item in rest if item.node_ticks))

    def free_at(self, time: int) -> int:
        """Free nodes once the instant is over."""
        instant = self._timeline.instant(time)
        return self._timeline.machine - instant.busy - instant.held - instant.down

    def _span(self, stay: QueueStay) -> tuple[int, int]:
        """Its first instant, and that in which it left."""
        until = self._times[-1] if stay.until is None else stay.until
        first, last = np.searchsorted(self._times, [stay.since, until]).tolist()
        return first, last

    def _kinds(self, stay: QueueStay, first: int, last: int) -> list[str]:
        needs = stay.job.min_nodes
        kinds = []
        for place, idle, held in zip(
            range(first, last), self._idle[first:last].tolist(), self._held[first:last].tolist(), strict=True
        ):
            if idle < needs:
                kinds.append("full")
            elif idle - held < needs:
                kinds.append("held")
            else:
                kinds.append("first" if self._timeline.instants[place].head is stay else "turn")
        return kinds

    def _tenants_before(self, stay: QueueStay, time: int) -> list[int]:
        """Jobs that stood before it in the pass of an instant, and started as tenants when that pass was over."""
        runs = self._timeline.runs
        places = [place for place in self._timeline.places_at(time) if place in runs]
        return [
            runs[place].job_id
            for place in places
            if runs[place].cause == "tenant" and place > stay.place and place not in stay.passed_by
        ]

    def _kind(self, stay: QueueStay, place: int, job_id: int, passed: bool) -> str:
        if passed:
            return "passed"
        if place < stay.place:
            return "before"
        replayed = self._timeline.runs[place]
        came = self._timeline.serves_on_demand(job_id) and replayed.stay is None
        return "on-demand" if came else "ahead"

    @cached_property
    def _segments(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """First and last instant, nodes, and the place of the start, of all runs."""
        rows = []
        for place, replayed in self._timeline.runs.items():
            for (since, nodes), (until, _) in zip(replayed.sizes, replayed.sizes[1:], strict=False):
                if until > since:
                    rows.append((since, until, nodes, place))
        table = np.array(rows, dtype=np.int64).reshape(-1, 4)
        return (
            np.searchsorted(self._times, table[:, 0]),
            np.searchsorted(self._times, table[:, 1]),
            table[:, 2],
            table[:, 3],
        )


def _longest_first(amounts: Mapping[int, int]) -> tuple[int, ...]:
    """The ids by their amounts, the largest first."""
    return tuple(sorted(amounts, key=lambda item: (-amounts[item], item)))
