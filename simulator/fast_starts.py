"""Start times of rigid jobs from a given state, under EASY or without backfilling, and nothing else.

A forecast simulates one state hundreds of times and needs only start times. A full simulation spends most of its time
on accounts, events and samples, which are omitted here. Every job starts when it starts in the full simulation; tests
compare the two.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from holdfast.policies.backfilling import BACKFILLING, Easy, Strict
from holdfast.policies.kernels.compiled_or_plain import run
from holdfast.policies.kernels.plan_pass import Plan
from holdfast.policies.kernels.queue_keys import LinkedQueue, MovingKeys
from holdfast.policies.kernels.replay_loop import MORE, STUCK, Beginning, ReplayJobs, ReplayRule, Runs, Trial, replay
from holdfast.policies.port import TOLERANCE
from holdfast.policies.shadow_time import NEVER
from holdfast.simulator.options import Options
from holdfast.simulator.static_orders import STATIC_ORDERS, queue_sequence
from holdfast.workloads.ground.errors import InvariantError

__all__ = ["FastStarts", "PresentJob", "has_fast_starts"]

Ints = npt.NDArray[np.int64]

#: Number of pairs of a waiting job and any other that takes as long as an inner step of a planner.
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
        Start time; None: it waits.
    """

    submit: int
    nodes: int
    walltime: int
    start: int | None = None


def has_fast_starts(options: Options) -> bool:
    """Whether :class:`FastStarts` gives the start times of a full simulation with these options and without outages."""
    if options.order not in STATIC_ORDERS or options.passes != "instant" or options.backfill_length != "walltime":
        return False
    rule = BACKFILLING[options.backfilling]
    return isinstance(rule, Strict) or (isinstance(rule, Easy) and rule.depth == 1)


class FastStarts:
    """Simulations from one state that yield only start times.

    Parameters
    ----------
    jobs
        Running and waiting jobs; ties in the queue order are broken by position.
    nodes
        Size of the machine.
    begin
        Time of the state [ticks of the simulated clock].
    options
        Order and backfilling rule.
    simulations
        Expected number of simulations: for many large ones, compiled code is loaded.
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
        self._waiting = np.array([place for place, job in enumerate(jobs) if job.start is None], dtype=np.int64)
        self._free = nodes - int(self._requests[1, self._running].sum())
        self._order = options.order
        self._places = self._waiting[queue_sequence(self._order, *self._requests[:, self._waiting])]
        #: Largest number of future jobs that were submitted in a simulation so far.
        self._likely = 0
        #: Expected cost of the simulations; counted in the process that simulates.
        self._steps = simulations * len(self._waiting) * len(jobs) // _LOOKS

    def starts(
        self,
        runtimes: Ints,
        coming: Iterable[Ints],
        awaited: Collection[int],
        tried: Sequence[int] = (),
    ) -> tuple[Ints, list[tuple[int, bool]]]:
        """Simulate until selected jobs have started.

        Parameters
        ----------
        runtimes
            Runtimes of the jobs, shape (jobs,) [ticks]; waiting jobs: at most the walltime.
        coming
            Jobs that are submitted later, sorted by submit, in pieces of any size: submits, nodes, walltimes and
            runtimes, shape (4, jobs of the piece). The iterator is consumed little further than needed.
        awaited
            Indices of the selected waiting jobs in the sequence of jobs.
        tried
            Walltimes to try for the single awaited job, ascending [ticks]; its own is ignored, and the order must not
            depend on it. Empty: the job's own walltime.

        Returns
        -------
        tuple
            Starts, shape (jobs,), valid for the awaited jobs; and for each tried walltime the start, and whether the
            job was backfilled.

        Raises
        ------
        InvariantError
            If an awaited job can never start.
        """
        # Without backfilling, and in the order of submits, no later job passes a waiting one.
        pieces = iter(coming if self._backfills or self._order != "fcfs" else ())
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
        """Run the loop; returns its result, the starts, and the starts for the tried walltimes."""
        present, running = len(runtimes), self._running
        # Where pieces are in columns, so is what NumPy puts together, and a compiled loop takes whole rows.
        submits, nodes, walltimes = np.ascontiguousarray(np.concatenate((self._requests, later[:3]), axis=1))
        runtimes = np.concatenate((runtimes, later[3]))
        count = len(nodes)
        flags = np.zeros(count, dtype=np.int64)
        flags[list(awaited)] = 1
        on_trial = -1
        if tried:
            (on_trial,) = awaited
            walltimes[on_trial] = tried[0]
        # Working arrays for runs: ends, limits, and their order by both.
        ends, limits, by_end, by_limit = np.zeros((4, count), dtype=np.int64)
        ends[running] = self._started + runtimes[running]
        limits[running] = self._started + np.maximum(walltimes[running], runtimes[running])
        by_end[: len(running)] = running[np.argsort(-ends[running], kind="stable")]
        by_limit[: len(running)] = running[np.argsort(limits[running], kind="stable")]

        steps, self._steps = self._steps, 0
        starts, found, how = (np.zeros(size, dtype=np.int64) for size in (count, len(tried), len(tried)))
        after, before = np.zeros((2, count + 1), dtype=np.int64)
        unused, none = np.zeros(0, dtype=np.int64), np.zeros(0)
        ending = run(
            replay,
            steps,
            jobs=ReplayJobs(count, present, submits, nodes, walltimes, runtimes, self._ranks(later), flags, starts),
            beginning=Beginning(self._begin, self._free, len(self._places), self._places, len(running)),
            rule=ReplayRule(int(self._backfills), complete, TOLERANCE, NEVER),
            trial=Trial(on_trial, len(tried), np.array(tried, dtype=np.int64), found, how, np.zeros(1, np.int64)),
            running=Runs(ends, limits, by_end, by_limit),
            linked=LinkedQueue(after, before, unused),
            moving=MovingKeys(0, none, none, 0.0, 0.0, 0.0, unused, none),
            arrays=Plan(unused, unused, unused, unused, unused, unused),
        )
        trials = [(int(at), bool(backfilled)) for at, backfilled in zip(found, how, strict=True)]
        return ending, starts[:present], trials

    def _ranks(self, later: Ints) -> Ints:
        """Queue ranks of waiting and later jobs; other jobs have none."""
        present, count = self._requests.shape[1], later.shape[1]
        ranks = np.zeros(present + count, dtype=np.int64)
        order = self._places
        if self._order == "fcfs":
            # Later jobs rank behind.
            order = np.concatenate((order, np.arange(present, present + count)))
        elif count:
            places = np.concatenate((self._waiting, np.arange(present, present + count)))
            requests = np.concatenate((self._requests[:, self._waiting], later[:3]), axis=1)
            order = places[queue_sequence(self._order, *requests)]
        ranks[order] = np.arange(len(order))
        return ranks


def _more(later: Ints, pieces: Iterator[Ints], wanted: int) -> tuple[Ints, bool]:
    """Extend ``later`` to at least ``wanted`` jobs; returns it, and whether these are all jobs."""
    taken = [later]
    while sum(piece.shape[1] for piece in taken) < wanted:
        piece = next(pieces, None)
        if piece is None:
            return np.concatenate(taken, axis=1), True
        taken.append(piece)
    return np.concatenate(taken, axis=1), False
