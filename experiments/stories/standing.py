"""Standing: who stands before whom, as the queue order says."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Sequence
from operator import attrgetter

from experiments.stories.lives import Spell
from policies.order import Order

__all__ = ["Standing"]

_RANK = attrgetter("rank")


class Standing:
    """The queue, played again.

    Parameters
    ----------
    order
        The queue order of all but waiting on-demand jobs, which stand first, by arrival.
    """

    def __init__(self, order: Order) -> None:
        self._order = order
        self._spells: list[Spell] = []
        self._sorted_at: int | None = None

    def add(self, spell: Spell, now: int) -> None:
        """A job comes."""
        if self._order.static:
            spell.rank = self._rank(spell, now)
            insort(self._spells, spell, key=_RANK)
        else:
            self._spells.append(spell)
            self._sorted_at = None

    def remove(self, spell: Spell) -> None:
        """A job leaves."""
        place = bisect_left(self._spells, spell.rank, key=_RANK) if self._order.static else self._spells.index(spell)
        del self._spells[place]

    def in_order(self, now: int) -> Sequence[Spell]:
        """Who waits, first to last."""
        if not self._order.static and self._sorted_at != now:
            for spell in self._spells:
                spell.rank = self._rank(spell, now)
            self._spells.sort(key=_RANK)
            self._sorted_at = now
        return self._spells

    def before(self, spell: Spell, now: int) -> Sequence[Spell]:
        """Who stands before a job that waits."""
        queue = self.in_order(now)
        return queue[: bisect_left(queue, spell.rank, key=_RANK)]

    def _rank(self, spell: Spell, now: int) -> tuple[object, ...]:
        job = spell.job
        return (0, job.submit, job.row) if spell.urgent else (1, self._order.key(job, now), job.row)
