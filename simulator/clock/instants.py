"""Instants: events at an exact tick, the order within one, and the scheduling pass at its end.

The scheduler is not a process, nor an event: when no event of an instant is left, the clock runs one pass; none where
nothing could start. Source: docs/model.md, parameter ``passes``.
"""

from __future__ import annotations

from collections.abc import Callable
from heapq import heappop, heappush
from time import perf_counter
from typing import Any

import simpy
from simpy.core import EmptySchedule, StopSimulation

from simulator.clock.scheduling import Scheduler
from simulator.machine.eventlog import Sample
from simulator.machine.system import System

__all__ = ["ARRIVAL", "CANCELLATION", "NOTICE", "OUTAGE", "PLAN", "RELEASE", "REQUEUE", "Instants", "Moment"]

#: The order within an instant; plain integers, because each event multiplies one. Completions come
#: first, requeues before cancellations, and scheduling last of all.
#: In each turn of an outage what ends comes before what begins.
RELEASE, REQUEUE, CANCELLATION, OUTAGE, PLAN, NOTICE, ARRIVAL = range(1, 8)


class Moment(simpy.Event):
    """An event at an exact tick, with its place in the order of that instant.

    As a ``simpy.Timeout``, which would do but for its fixed priority, it has happened when it is made; what is the same
    for all is not set for each, because this is the constructor that a replay calls most.

    Attributes
    ----------
    subject
        The job that arrives, or the run that ends.
    """

    _ok = True
    _value = None
    subject: Any = None

    def __init__(self, env: Clock, at: int, priority: int, happen: Callable[[Any], None] | None = None) -> None:
        self.env = env
        self.callbacks = [] if happen is None else [happen]
        heappush(env._queue, (at, priority, next(env._eid), self))  # type: ignore[misc]  # any whole number


class Clock(simpy.Environment):
    """SimPy's environment, which does something when no event of an instant is left.

    Attributes
    ----------
    instant_over
        What is done then, once; None: nothing.
    """

    instant_over: Callable[[], None] | None = None

    def step(self) -> None:
        """The next event, or the end of an instant; otherwise as ``simpy.Environment.step``."""
        queue = self._queue
        if self.instant_over is not None and (not queue or queue[0][0] != self._now):
            over, self.instant_over = self.instant_over, None
            over()
            return
        try:
            self._now, _, _, event = heappop(queue)
        except IndexError:
            raise EmptySchedule from None
        callbacks, event.callbacks = event.callbacks, None  # type: ignore[assignment]  # as SimPy has it
        try:
            for callback in callbacks:
                callback(event)
        except StopSimulation:
            event.callbacks = callbacks[callbacks.index(callback) + 1 :]
            self.schedule(event, -1)  # type: ignore[arg-type]  # before all others
            raise
        if not event._ok and not hasattr(event, "_defused"):
            raise event._value


class Instants:
    """One instant after the other.

    Parameters
    ----------
    system
        The machine, whose ``now`` is set here.
    scheduler
        Scheduling that runs the passes.
    begin
        Where the clock stands at first.
    ranks
        More than the ranks of all jobs, so that a turn and a rank make one priority, and at least 2: SimPy has two
        priorities of its own.
    pass_per_event
        Whether each event is followed by a pass of its own.

    Attributes
    ----------
    env
        SimPy's.
    ranks
        As given.
    latencies
        Wall-clock seconds of each decision with its scheduling pass.
    samples
        The machine at the end of each instant.
    """

    def __init__(self, system: System, scheduler: Scheduler, *, begin: int, ranks: int, pass_per_event: bool) -> None:
        self.env = Clock(begin)
        self._system = system
        # At hand, because a replay calls little else.
        self._may_start, self._collect = scheduler.may_start, scheduler.collect
        self._schedule, self._end_instant = scheduler.pass_once, scheduler.end_instant
        self.ranks = ranks
        self._pass_per_event = pass_per_event
        # Most replays have neither outages nor a recorder of decisions: a call per event would be slow.
        self._collecting, self._explaining = scheduler.has_outages, system.decisions.enabled
        self._pass_due = False
        self._spent = 0.0
        self.latencies: list[float] = []
        self.samples: list[Sample] = []

    def moment(self, at: int, turn: int, rank: int, happen: Callable[[Any], None] | None = None) -> Moment:
        """An event at that time, in its place among those of the instant."""
        return Moment(self.env, at, turn * self.ranks + rank, happen)

    def at(self, at: int, turn: int, rank: int, happen: Callable[[], bool]) -> None:
        """Let something happen at that time; if it says that it was void, it causes no pass."""

        def occur(_: simpy.Event) -> None:
            began = self.enter()
            self.leave(began, passing=happen())

        self.moment(at, turn, rank, occur)

    def enter(self) -> float:
        """An event happens: the instant before, if there was one, is complete."""
        now: int = self.env._now  # type: ignore[assignment]  # all delays are integers, so it is one too
        system = self._system
        if now != system.now:
            if self._explaining:
                self.sample()
            else:
                # As there, which is a call more for each instant.
                waiting = system.waiting
                _, held, busy, _ = system.cluster.totals
                self.samples.append((system.now, busy, held, waiting.jobs, waiting.nodes))
            system.now = now
        return perf_counter()

    def leave(self, began: float, *, passing: bool = True) -> None:
        """An event has happened; unless it was void, a pass follows where anything could start."""
        if not passing:
            return
        if self._collecting:
            self._collect()
        spent = perf_counter() - began
        if self._pass_due:
            self._spent += spent
        elif not self._may_start():
            self.latencies.append(spent)
        else:
            self._spent = spent
            if self._pass_per_event:
                self._pass()
            else:
                self._pass_due = True
                self.env.instant_over = self._pass

    def sample(self) -> None:
        """Note the machine as the instant has left it."""
        system = self._system
        waiting = system.waiting
        _, held, busy, _ = system.cluster.totals
        self.samples.append((system.now, busy, held, waiting.jobs, waiting.nodes))
        if self._explaining:
            self._end_instant()

    def _pass(self) -> None:
        """One scheduling pass."""
        began = perf_counter()
        self._pass_due = False
        self._schedule()
        self.latencies.append(self._spent + perf_counter() - began)
