"""Waits taken apart: what each part of a wait was waited for, and who had the nodes meanwhile.

The parts of a wait are the instants in it, each of one kind, so that they sum to it to the tick.
"""

from __future__ import annotations

from collections import defaultdict
from functools import cached_property
from typing import NamedTuple

import numpy as np

from experiments.stories.reading.chronicle import Chronicle
from experiments.stories.reading.lives import Spell
from simulator.results.integrals import integral

__all__ = ["Occupants", "Part", "Waits"]

#: Kinds of occupants, in the order in which they are told.
OCCUPANTS = ("before", "ahead", "on-demand", "passed", "down", "idle")


class Part(NamedTuple):
    """A part of a wait.

    Attributes
    ----------
    kind
        ``full``: fewer nodes than it needs were idle; ``held``: enough were, but too many of them were held for
        on-demand jobs; ``turn``: enough were free, and another job stood first; ``first``: enough were free, and it
        stood first itself.
    ticks
        How long, all in all.
    others
        Whom the nodes were held for (outages by their negative numbers), or who stood first; longest first.
    """

    kind: str
    ticks: int
    others: tuple[int, ...]


class Occupants(NamedTuple):
    """Who had the machine while fewer nodes than needed were idle.

    Attributes
    ----------
    kind
        ``before``: runs that had begun before it came; ``ahead``: jobs from before it in the queue; ``on-demand``:
        such jobs that did not wait in the queue; ``passed``: jobs from behind it; ``down``: nodes out of service;
        ``idle``: nobody, too few to be of use.
    node_ticks
        Of the machine in that time; those of all kinds sum to it.
    jobs
        Who, most node-ticks first.
    """

    kind: str
    node_ticks: int
    jobs: tuple[int, ...]


class Waits:
    """Takes waits apart.

    Parameters
    ----------
    chronicle
        What happened.
    """

    def __init__(self, chronicle: Chronicle) -> None:
        self._chronicle = chronicle
        instants = chronicle.instants
        self._times = np.array([instant.time for instant in instants], dtype=np.int64)
        self._idle = np.array([chronicle.machine - item.busy - item.down for item in instants], dtype=np.int64)
        self._down = np.array([instant.down for instant in instants], dtype=np.int64)
        self._held = np.array([instant.held for instant in instants], dtype=np.int64)

    def parts(self, spell: Spell) -> list[Part]:
        """The parts of a spell, longest first."""
        first, last = self._span(spell)
        kinds = self._kinds(spell, first, last)
        lengths = np.diff(self._times[first : last + 1]).tolist()
        ticks: dict[str, int] = defaultdict(int)
        others: dict[str, dict[int, int]] = defaultdict(lambda: defaultdict(int))
        for place, kind, length in zip(range(first, last), kinds, lengths, strict=True):
            ticks[kind] += length
            if kind == "turn":
                head = self._chronicle.instants[place].head
                if head is not None:
                    others[kind][head.job_id] += length
            elif kind == "held":
                for job_id in self._chronicle.instants[place].holders:
                    others[kind][job_id] += length
        return [
            Part(kind, ticks[kind], tuple(sorted(others[kind], key=lambda job_id: (-others[kind][job_id], job_id))))
            for kind in sorted(ticks, key=lambda kind: (-ticks[kind], kind))
        ]

    def occupants(self, spell: Spell) -> list[Occupants]:
        """Who had the machine while fewer nodes were idle than the job needs; none if that never was so."""
        first, last = self._span(spell)
        lengths = np.diff(self._times[first : last + 1])
        full = np.where(np.array(self._kinds(spell, first, last)) == "full", lengths, 0) if last > first else lengths
        if not full.sum():
            return []
        elapsed = np.concatenate([[0], np.cumsum(full)])
        begins, ends, nodes, places = self._segments
        chosen = np.flatnonzero((begins < last) & (ends > first))
        spans = elapsed[np.clip(ends[chosen], first, last) - first]
        spans -= elapsed[np.clip(begins[chosen], first, last) - first]
        passing = set(spell.passed_by)
        totals: dict[str, dict[int, int]] = {kind: defaultdict(int) for kind in OCCUPANTS}
        # Node-ticks as Python's integers: a year of a large machine is more than 64 bits hold.
        for place, span, count in zip(places[chosen].tolist(), spans.tolist(), nodes[chosen].tolist(), strict=True):
            amount = span * count
            if amount:
                stint = self._chronicle.stints[place]
                totals[self._kind(spell, place, stint.job_id, place in passing)][stint.job_id] += amount
        down = integral(self._down[first:last], full)
        idle = self._chronicle.machine * int(full.sum()) - sum(sum(jobs.values()) for jobs in totals.values()) - down
        found = [
            Occupants(kind, sum(jobs.values()), tuple(sorted(jobs, key=lambda job_id: (-jobs[job_id], job_id))))
            for kind, jobs in totals.items()
            if jobs
        ]
        rest = [Occupants("down", down, ()), Occupants("idle", idle, ())]
        return [*found, *(item for item in rest if item.node_ticks)]

    def free_at(self, time: int) -> int:
        """Free nodes once the instant is over."""
        instant = self._chronicle.instant(time)
        return self._chronicle.machine - instant.busy - instant.held - instant.down

    def _span(self, spell: Spell) -> tuple[int, int]:
        """Its first instant, and that in which it left."""
        until = self._times[-1] if spell.until is None else spell.until
        first, last = np.searchsorted(self._times, [spell.since, until]).tolist()
        return first, last

    def _kinds(self, spell: Spell, first: int, last: int) -> list[str]:
        needs = spell.job.min_nodes
        kinds = []
        for place, idle, held in zip(
            range(first, last), self._idle[first:last].tolist(), self._held[first:last].tolist(), strict=True
        ):
            if idle < needs:
                kinds.append("full")
            elif idle - held < needs:
                kinds.append("held")
            else:
                kinds.append("first" if self._chronicle.instants[place].head is spell else "turn")
        return kinds

    def _kind(self, spell: Spell, place: int, job_id: int, passed: bool) -> str:
        if passed:
            return "passed"
        if place < spell.place:
            return "before"
        stint = self._chronicle.stints[place]
        came = self._chronicle.served_on_demand(job_id) and stint.spell is None
        return "on-demand" if came else "ahead"

    @cached_property
    def _segments(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Of all runs: first and last instant, nodes, and the place of the start."""
        rows = []
        for place, stint in self._chronicle.stints.items():
            for (since, nodes), (until, _) in zip(stint.sizes, stint.sizes[1:], strict=False):
                if until > since:
                    rows.append((since, until, nodes, place))
        table = np.array(rows, dtype=np.int64).reshape(-1, 4)
        return (
            np.searchsorted(self._times, table[:, 0]),
            np.searchsorted(self._times, table[:, 1]),
            table[:, 2],
            table[:, 3],
        )
