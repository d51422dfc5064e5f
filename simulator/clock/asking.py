"""Asking: a scheduler whose driver chooses, pass by pass, which waiting job goes first."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from policies.port import WaitingJob
from simulator.clock.scheduling import Scheduler
from simulator.machine.system import System

__all__ = ["AskingScheduler"]


class _Led:
    """The system with another queue."""

    def __init__(self, system: System, queue: Sequence[WaitingJob]) -> None:
        self._system = system
        self.queue = queue

    def __getattr__(self, name: str) -> Any:
        return getattr(self._system, name)


class AskingScheduler(Scheduler):
    """A scheduler that asks which job goes first wherever two or more wait and one of them fits.

    The chosen job starts if it fits, and the question is asked again; else it is the first of the queue for this pass,
    and the backfilling rule goes on from there. Who always chooses the first job gets the passes of a
    :class:`~simulator.clock.scheduling.Scheduler`.

    Attributes
    ----------
    asking
        Whether a pass waits for an answer.
    on_ask
        Called when a pass begins to wait.
    """

    asking = False

    def __init__(self, *arguments: Any, on_ask: Callable[[], None]) -> None:
        super().__init__(*arguments)
        self.on_ask = on_ask

    def pass_once(self) -> None:
        if self._undecided():
            self.asking = True
            self.on_ask()
        else:
            super().pass_once()

    def answer(self, place: int) -> None:
        """Go on with a pass: the job at this place of the queue goes first."""
        system, pool = self._system, self._system.cluster.pool
        queue = system.queue
        job = queue[place]
        fits = job.min_nodes <= pool.nodes
        view: Any = _Led(system, (job,) if fits else (job, *queue[:place], *queue[place + 1 :]))
        for start in self._backfill(view):
            system.start(self._known(start, pool.nodes, self._rule), ((pool, start.nodes),), start.cause)
        self.asking = False
        if fits:
            self.pass_once()

    def _undecided(self) -> bool:
        waiting = self._system.waiting
        return waiting.jobs > 1 and self._system.free >= waiting.smallest()
