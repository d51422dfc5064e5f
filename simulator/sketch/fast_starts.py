"""Start times of rigid jobs from a given state, under EASY or without backfilling, and nothing else.

A forecast simulates one state hundreds of times and needs only start times. A full simulation spends most of its time
on accounts, events and samples, which are omitted here. Every job starts when it starts in the full simulation; tests
compare the two.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from policies.backfilling import BACKFILLING, Easy, Strict
from policies.kernels.compiled_or_plain import run
from policies.kernels.replay_loop import KINDS, MORE, STUCK, replay
from policies.order import ORDERS, fcfs
from policies.port import TOLERANCE
from policies.shadow_time import NEVER
from simulator.options import Options
from workloads.ground.errors import InvariantError

__all__ = ["PresentJob", "Sketch", "can_sketch"]

Ints = npt.NDArray[np.int64]

#: Orders that look at a job's request and submit alone.
_STATIC = frozenset({"fcfs", "sjf", "ljf", "smallest", "largest", "saf", "laf", "f1", "f2", "f3", "f4"})
#: Pairs of a waiting job and any other that cost a simulation as much as an inner step costs a planner.
_LOOKS = 8


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
    simulations
        How many are expected: for many large ones compiled code is loaded.
    """

    def __init__(
        self, jobs: Sequence[PresentJob], nodes: int, begin: int, options: Options, simulations: int = 1
    ) -> None:
        self._begin = begin
        self._backfills = not isinstance(BACKFILLING[options.backfilling], Strict)
        #: Submits, nodes and walltimes, shape (3, jobs).
        self._requests = np.array([job[:3] for job in jobs], dtype=np.int64).reshape(-1, 3).T
        self._running = np.array([place for place, job in enumerate(jobs) if job.start is not None], dtype=np.int64)
        self._started = np.array([job.start for job in jobs if job.start is not None], dtype=np.int64)
        waiting = [place for place, job in enumerate(jobs) if job.start is None]
        self._free = nodes - int(self._requests[1, self._running].sum())
        key: Callable[[Any, int], Any] = ORDERS[options.order].key
        self._key = key
        self._queue = sorted((key(jobs[place], jobs[place].submit), place) for place in waiting)
        self._places = np.array([place for _, place in self._queue], dtype=np.int64)
        #: How many of the jobs to come were submitted in the longest simulation so far.
        self._likely = 0
        #: What they are expected to cost; counted in the process that simulates.
        self._steps = simulations * len(waiting) * len(jobs) // _LOOKS

    def starts(
        self,
        runtimes: Ints,
        coming: Iterable[Ints],
        awaited: Collection[int],
        tried: Sequence[int] = (),
    ) -> tuple[Ints, list[tuple[int, bool]]]:
        """Simulate until certain jobs have started.

        Parameters
        ----------
        runtimes
            Runtimes of the jobs, shape (jobs,) [ticks]; that of a waiting one is at most its walltime.
        coming
            The jobs that are submitted later, by submit, in pieces of any size: submits, nodes, walltimes and runtimes,
            shape (4, jobs of the piece). Few more are taken than needed.
        awaited
            Places of waiting jobs in the sequence of jobs.
        tried
            Walltimes that the only awaited job is tried with, ascending [ticks]; the job's own is not looked at. The
            order must not look at it either. None given: the job has its own.

        Returns
        -------
        tuple
            The start of each awaited job, by place, shape (jobs,); other values mean nothing. And start and whether it
            was backfilled for each of the walltimes tried.

        Raises
        ------
        InvariantError
            If an awaited job can never start.
        """
        # Without backfilling nobody passes those who wait, if they stand in the order of their submits.
        pieces = iter(coming if self._backfills or self._key is not fcfs else ())
        later = np.empty((4, 0), dtype=np.int64)
        wanted = self._likely
        while True:
            later, complete = _more(later, pieces, wanted)
            ending, starts, found = self._replay(runtimes, later, complete, awaited, tried)
            if ending == STUCK:
                raise InvariantError("some jobs can never start")
            if ending != MORE:
                self._likely = max(self._likely, ending)
                return starts, found
            wanted = later.shape[1] + 1

    def _replay(
        self, runtimes: Ints, later: Ints, complete: bool, awaited: Collection[int], tried: Sequence[int]
    ) -> tuple[int, Ints, list[tuple[int, bool]]]:
        """What the loop returns, the starts, and those of the walltimes tried."""
        present, running = len(runtimes), self._running
        submits, nodes, walltimes = np.concatenate((self._requests, later[:3]), axis=1)
        runtimes = np.concatenate((runtimes, later[3]))
        count = len(nodes)
        flags = np.zeros(count, dtype=np.int64)
        flags[list(awaited)] = 1
        on_trial = -1
        if tried:
            (on_trial,) = awaited
            walltimes[on_trial] = tried[0]
        # Of runs in the course of the simulation: ends, limits, and their places by both.
        ends, limits, by_end, by_limit = np.zeros((4, count), dtype=np.int64)
        ends[running] = self._started + runtimes[running]
        limits[running] = self._started + np.maximum(walltimes[running], runtimes[running])
        by_end[: len(running)] = running[np.argsort(-ends[running], kind="stable")]
        by_limit[: len(running)] = running[np.argsort(limits[running], kind="stable")]

        steps, self._steps = self._steps, 0
        starts, found, how = (np.zeros(size, dtype=np.int64) for size in (count, len(tried), len(tried)))
        after, before = np.zeros((2, count + 1), dtype=np.int64)
        unused = np.zeros(0, dtype=np.int64)
        ending = run(
            replay, KINDS, steps, count=count, present=present, submits=submits, nodes=nodes, walltimes=walltimes,
            runtimes=runtimes, ranks=self._ranks(later), awaited=flags, waiting=len(self._places), queue=self._places,
            begin=self._begin, free=self._free, tolerance=TOLERANCE, never=NEVER, depth=int(self._backfills),
            complete=complete, on_trial=on_trial, choices=len(tried), tried=np.array(tried, dtype=np.int64),
            ends=ends, limits=limits, by_end=by_end, by_limit=by_limit, runs=len(running), starts=starts,
            after=after, before=before, found=found, how=how, order=unused, times=unused, levels=unused,
            bounds=unused, begun=unused, sizes=unused, planned=unused,
        )  # fmt: skip
        trials = [(int(at), bool(backfilled)) for at, backfilled in zip(found, how, strict=True)]
        return ending, starts[:present], trials

    def _ranks(self, later: Ints) -> Ints:
        """Places in the order of the queue, of waiting and later jobs; others have none."""
        present, count = self._requests.shape[1], later.shape[1]
        ranks = np.zeros(present + count, dtype=np.int64)
        order = self._places
        if self._key is fcfs:
            # Who comes later stands behind.
            order = np.concatenate((order, np.arange(present, present + count)))
        elif count:
            jobs = (PresentJob(*job) for job in zip(*later[:3].tolist(), strict=True))
            keys = [(self._key(job, job.submit), place) for place, job in enumerate(jobs, start=present)]
            order = np.array([place for _, place in sorted(self._queue + keys)], dtype=np.int64)
        ranks[order] = np.arange(len(order))
        return ranks


def _more(later: Ints, pieces: Iterator[Ints], wanted: int) -> tuple[Ints, bool]:
    """At least so many jobs to come, and whether they are all."""
    taken = [later]
    while sum(piece.shape[1] for piece in taken) < wanted:
        piece = next(pieces, None)
        if piece is None:
            return np.concatenate(taken, axis=1), True
        taken.append(piece)
    return np.concatenate(taken, axis=1), False
