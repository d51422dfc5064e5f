"""The event loop: events at exact ticks, their order within an instant, and the scheduling pass that ends the instant.

Arrivals with a known time are sorted in advance and merged with SimPy's queue, which holds all other events; an event
for each arrival would take about 5 % of a replay. The scheduler is neither a process nor an event: when no event of an
instant is left, the loop runs one pass, unless no job could start. Source: docs/model.md, parameter ``passes``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from heapq import heappop, heappush
from itertools import count
from math import inf
from time import perf_counter
from typing import Any

import simpy
from simpy.core import EmptySchedule
from simpy.events import NORMAL

from holdfast.simulator.clock.scheduling import Scheduler
from holdfast.simulator.machine.cluster import Kind
from holdfast.simulator.machine.event_log import Sample
from holdfast.simulator.machine.system import System

__all__ = ["ARRIVAL", "CANCELLATION", "NOTICE", "OUTAGE", "PLAN", "RELEASE", "REQUEUE", "Instants", "Moment"]

#: Turns: the order within an instant. They are plain integers, because each event multiplies one. Completions come
#: first, requeues before cancellations, and scheduling last. Among outages, ends come before begins.
RELEASE, REQUEUE, CANCELLATION, OUTAGE, PLAN, NOTICE, ARRIVAL = range(1, 8)

_FREE, _HELD, _BUSY = Kind.FREE, Kind.HELD, Kind.BUSY

#: An arrival: its time, its place in the order of that instant, and the job.
Arrival = tuple[float, int, Any]
#: A time after all arrivals and events.
_NONE: Arrival = (inf, 0, None)


class Moment(simpy.Event):
    """An event at an exact tick, with its place in the order of that instant.

    It corresponds to a ``simpy.Timeout``, but with its own priority. Its constructor sets only what the loop reads,
    because a replay calls no other one as often; no process waits for it.

    Attributes
    ----------
    subject
        The run that ends, or the job that arrives.
    """

    def __init__(
        self, env: Instants, at: int, priority: int, happen: Callable[[Any], None] | None, subject: Any = None
    ) -> None:
        self.env = env
        self.callbacks = [] if happen is None else [happen]
        self.subject = subject
        env.schedule(self, priority, at - env.clock)

    def cancel(self) -> None:
        """Turn the event into a no-op."""
        self.callbacks.clear()


class Instants(simpy.Environment):
    """A SimPy environment that runs a scheduling pass when no event of an instant is left.

    It keeps its own event queue behind SimPy's public ``schedule``, because it merges events with arrivals.

    Parameters
    ----------
    system
        The machine; the loop sets its ``now``.
    scheduler
        Scheduling that runs the passes.
    begin
        Initial time.
    ranks
        A number above the ranks of all jobs, so that turn and rank combine to one priority; at least 2, because SimPy
        has two priorities of its own.
    pass_per_event
        Whether each event is followed by a pass of its own.

    Attributes
    ----------
    ranks
        As given.
    clock
        The present time [ticks].
    void
        Whether the present event has changed nothing, so that it neither counts as a decision nor causes a pass.
    began
        Wall-clock time at which the present event began [s], moved forward by time that does not count as a decision.
    latencies
        Wall-clock seconds of each decision with its scheduling pass.
    samples
        The machine at the end of each instant.
    """

    def __init__(self, system: System, scheduler: Scheduler, *, begin: int, ranks: int, pass_per_event: bool) -> None:
        super().__init__(begin)
        self.clock = begin
        self._events: list[tuple[int, int, int, simpy.Event]] = []
        self._number = count()
        self._system = system
        self._scheduler = scheduler
        self.ranks = ranks
        self._pass_per_event = pass_per_event
        # Most replays have neither outages nor a recorder of decisions, so that a call per event would be wasted.
        self._collecting, self._explaining = scheduler.has_outages, system.decisions.enabled
        self.void = self._halted = self._pass_due = False
        self.began = self._over = self._spent = 0.0
        self.latencies: list[float] = []
        self.samples: list[Sample] = []
        self._arrivals: Iterator[Arrival] = iter(())
        self._next = _NONE
        self._arrive: list[Callable[[Any], None]] = []

    @property
    def now(self) -> int:
        """The present time [ticks]."""
        return self.clock

    def schedule(self, event: simpy.Event, priority: int = NORMAL, delay: int = 0) -> None:  # type: ignore[override]
        """Schedule an event after a delay [ticks], in its place in the order of that instant."""
        heappush(self._events, (self.clock + delay, priority, next(self._number), event))

    def feed(self, arrivals: Iterator[Arrival], arrive: Callable[[Any], None]) -> None:
        """Register the arrivals, sorted by time and place."""
        self._arrivals, self._arrive = arrivals, [arrive]
        self._next = next(arrivals, _NONE)

    def moment(
        self, at: int, turn: int, rank: int, happen: Callable[[Any], None] | None = None, subject: Any = None
    ) -> Moment:
        """Schedule and return an event at a time, in its place within the instant."""
        return Moment(self, at, turn * self.ranks + rank, happen, subject)

    def at(self, at: int, turn: int, rank: int, happen: Callable[[], bool]) -> None:
        """Schedule a call at a time; if it returns that it was void, it causes no pass."""

        def occur(_: Moment) -> None:
            self.void = not happen()

        self.moment(at, turn, rank, occur)

    def follow(self, moments: Iterator[Moment]) -> None:
        """Run a generator: what stands behind each moment that it yields happens then."""
        moment = next(moments, None)
        if moment is not None:
            moment.callbacks.append(partial(self._go_on, moments))

    def _go_on(self, moments: Iterator[Moment], _: Moment) -> None:
        self.follow(moments)

    def close(self) -> None:
        """Discard all pending events."""
        self._events.clear()
        self._arrive.clear()

    def halt(self) -> None:
        """Stop the clock after the present event, or pass."""
        self._halted = True

    def run(self, until: None = None) -> None:  # type: ignore[override]  # it runs until it is halted
        """Process events and arrivals one by one until the clock is halted.

        As ``simpy.Environment.run``, with the work of ``step`` in one loop. Measured in processor time: Theta 2022
        takes 0.54 s so, and 0.57 s with a step for each event; with a mechanism there is no difference.

        Raises
        ------
        simpy.core.EmptySchedule
            If no event is left.
        """
        events, system, scheduler = self._events, self._system, self._scheduler
        waiting, totals, grows, pass_once = system.waiting, system.cluster.totals, scheduler.grows, scheduler.pass_once
        sizes = waiting.sizes
        samples, latencies = self.samples, self.latencies
        arrivals, arrival, arrive = self._arrivals, self._next, self._arrive
        now: int
        event: Any
        self._halted = False
        while not self._halted:
            if self._pass_due and arrival[0] != self.clock and (not events or events[0][0] != self.clock):
                # The last event is just over.
                self._pass_due = False
                pass_once()
                latencies.append(self._spent + perf_counter() - self._over)
                continue
            if not events or arrival < events[0]:
                if arrival is _NONE:
                    raise EmptySchedule
                now, _, event = arrival  # type: ignore[assignment]  # all times are whole numbers
                callbacks, self.clock = arrive, now
                self._next = arrival = next(arrivals, _NONE)
            else:
                now, _, _, event = heappop(events)
                callbacks, event.callbacks = event.callbacks, None  # as SimPy has it
                self.clock = now
                if not callbacks:
                    continue
            if now != system.now:
                # The previous instant, if there was one, is complete.
                if self._explaining:
                    self.sample()
                else:
                    # As there, which is a call more for each instant.
                    samples.append((system.now, totals[_BUSY], totals[_HELD], waiting.jobs, waiting.nodes))
                system.now = now
            self.void = False
            self.began = perf_counter()
            for callback in callbacks:
                callback(event)
            if self.void:
                continue
            if self._collecting:
                scheduler.collect()
            self._over = over = perf_counter()
            if self._pass_due:
                self._spent += over - self.began
            elif not (
                # Most instants end here: no rule needs to look at the queue if no job waits, or if the smallest one
                # needs more nodes than are free or held (held nodes may be idle reserved ones).
                (waiting.jobs and totals[_FREE] + totals[_HELD] >= (sizes.least or sizes.smallest()))
                or (grows and totals[_FREE])
            ):
                latencies.append(over - self.began)
            elif self._pass_per_event or not (self._halted or arrival[0] == now or (events and events[0][0] == now)):
                # The usual case: no other event of the instant is left.
                pass_once()
                latencies.append(perf_counter() - self.began)
            else:
                self._spent, self._pass_due = over - self.began, True

    def sample(self) -> None:
        """Record the state of the machine at the end of the instant."""
        system = self._system
        waiting = system.waiting
        _, held, busy, _ = system.cluster.totals
        self.samples.append((system.now, busy, held, waiting.jobs, waiting.nodes))
        if self._explaining:
            self._scheduler.end_instant()
