"""A sketch: rigid jobs from a given state on, under EASY or without backfilling, as fast as plain Python can.

A forecast simulates one state hundreds of times and asks only for starts. What a full simulation keeps beside them
(accounts, events, samples) costs it most of its time. A sketch starts every job when the full simulation does; the
tests compare them. Two laws of EASY save most of the passes:

* In an instant without completions only the jobs that were submitted in it can start, unless one of them goes first:
  the others had their chance when nodes became free, and the time until the head's start has only become shorter.
* Whether a job may be backfilled depends on the nodes that it needs: only jobs that fit are looked at, by size.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import NamedTuple

from policies.backfilling import BACKFILLING, Easy, Strict
from policies.order import ORDERS
from simulator.options import Options
from simulator.sketch.lines import Lines, SketchedJob
from simulator.sketch.replay import SketchReplay

__all__ = ["PresentJob", "Sketch", "can_sketch"]

#: Orders that look at a job's request and submit alone.
_STATIC = frozenset({"fcfs", "sjf", "ljf", "smallest", "largest", "saf", "laf", "f1", "f2", "f3", "f4"})


class PresentJob(NamedTuple):
    """A job; times in ticks of the simulated clock.

    Attributes
    ----------
    submit
        Submit time.
    nodes
        Nodes.
    walltime
        Requested walltime.
    start
        When it started; None: it has not.
    """

    submit: int
    nodes: int
    walltime: int
    start: int | None = None


def can_sketch(options: Options) -> bool:
    """Whether a sketch starts jobs as a full simulation with these options does, without outages."""
    if options.order not in _STATIC or options.passes != "instant" or options.backfill_length != "walltime":
        return False
    rule = BACKFILLING[options.backfilling]
    return isinstance(rule, Strict) or (isinstance(rule, Easy) and rule.depth == 1)


class Sketch:
    """Simulations from one state.

    Parameters
    ----------
    jobs
        The running and the waiting jobs. Where two are equal in the order of the queue, the first one goes first.
    nodes
        Size of the machine.
    begin
        Time of the state [ticks of the simulated clock].
    options
        Order and backfilling rule.
    """

    def __init__(self, jobs: Sequence[PresentJob], nodes: int, begin: int, options: Options) -> None:
        self._begin = begin
        self._backfills = not isinstance(BACKFILLING[options.backfilling], Strict)
        self._count = len(jobs)
        self._running = [(place, job, job.start) for place, job in enumerate(jobs) if job.start is not None]
        self._waiting = [
            SketchedJob(place, job.submit, job.nodes, job.walltime, 0)
            for place, job in enumerate(jobs)
            if job.start is None
        ]
        self._free = nodes - sum(job.nodes for _, job, _ in self._running)
        self._queue = Lines(ORDERS[options.order].key)
        for waiting in self._waiting:
            self._queue.join(waiting)

    def starts(
        self,
        runtimes: Sequence[int],
        coming: Iterable[tuple[int, int, int, int]],
        awaited: Collection[int],
        tried: Sequence[int] = (),
    ) -> tuple[dict[int, int], list[tuple[int, bool]]]:
        """Simulate until certain jobs have started.

        Parameters
        ----------
        runtimes
            Runtimes of the jobs [ticks]; that of a waiting one is at most its walltime.
        coming
            Submit, nodes, walltime and runtime of the jobs that are submitted later, by submit; no more are taken than
            needed.
        awaited
            Places of waiting jobs in the sequence of jobs.
        tried
            Walltimes that the only awaited job is tried with, ascending [ticks]; the job's own is not looked at. The
            order must not look at it either. None given: the job has its own.

        Returns
        -------
        tuple
            The starts of the jobs that have started by then, by place; and start and whether it was backfilled for each
            of the walltimes tried.
        """
        for waiting in self._waiting:
            waiting.runtime = runtimes[waiting.place]
        runs = [
            (start + runtimes[place], start + max(job.walltime, runtimes[place]), job.nodes)
            for place, job, start in self._running
        ]
        replay = SketchReplay(self._begin, self._free, runs, self._queue.copy(), set(awaited), self._backfills)
        if not tried:
            replay.run(iter(coming), self._count)
            return replay.starts, []
        job = next(waiting for waiting in self._waiting if waiting.place in awaited)
        own = job.walltime
        replay.try_out(job, tried)
        replay.run(iter(coming), self._count)
        job.walltime = own
        return replay.starts, replay.found
