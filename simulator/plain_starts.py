"""Start times of rigid jobs without mechanisms, under any order and rule that a compiled loop supports."""

from __future__ import annotations

from functools import cached_property
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from holdfast.policies.backfilling import BACKFILLING, Conservative, Easy, Strict
from holdfast.policies.kernels.compiled_or_plain import run
from holdfast.policies.kernels.plan_pass import BOUNDS, Plan
from holdfast.policies.kernels.queue_keys import LATEST, Formula, LinkedQueue, MovingKeys
from holdfast.policies.kernels.replay_loop import Beginning, ReplayJobs, ReplayRule, Runs, Trial, replay
from holdfast.policies.order import ORDERS
from holdfast.policies.port import TOLERANCE
from holdfast.policies.shadow_time import NEVER
from holdfast.simulator.options import Options
from holdfast.simulator.static_orders import STATIC_ORDERS, queue_sequence
from holdfast.workloads.ground.errors import InvariantError

__all__ = ["PlainJobs", "PlainStarts", "obstacle"]

Ints = npt.NDArray[np.int64]

#: Cost of a job under a rule with several reservations, in jobs under EASY.
_LOOKS = 10
#: The sum of two times below this limit does not overflow.
_LATEST = 1 << 61


class PlainJobs(NamedTuple):
    """Rigid jobs that arrive, in the order of the input.

    Attributes
    ----------
    submit, eligible
        Submits, and times at which jobs enter the queue; ticks of the simulated clock, shape (n,).
    nodes
        Shape (n,).
    runtime, walltime
        Ticks, shape (n,).
    """

    submit: Ints
    eligible: Ints
    nodes: Ints
    runtime: Ints
    walltime: Ints

    @property
    def obstacle(self) -> str:
        """Reason why loops over 64-bit integers cannot replay these jobs; empty: they can."""
        if not len(self.submit):
            return "a job must arrive"
        if int(self.runtime.min()) < 1 or bool((self.runtime > self.walltime).any()):
            return "each job must run for a microsecond or more, and at most for its walltime"
        if int(self.eligible.max()) + int(self.walltime.max()) * (len(self.submit) + 1) >= _LATEST:
            return "the walltimes of all jobs in a row must end within 70,000 years"
        return ""


def obstacle(options: Options) -> str:
    """Reason why a replay with these options is not plain; empty: it is.

    >>> obstacle(Options(passes="event"))
    'passes must be instant'
    """
    rule = BACKFILLING[options.backfilling]
    if options.order not in STATIC_ORDERS and _formula(options.order, _NONE, _NONE, 1) is None:
        names = ", ".join(sorted(STATIC_ORDERS | {"alcf", "unicep", "wfp3"}))
        return f"order must be one of {names}, or multifactor without fair share and QOS"
    if not (type(rule) in (Strict, Conservative) or (type(rule) is Easy and rule.length == "walltime")):
        return "backfilling must be easy by walltimes, conservative or none"
    for name, legal in (("passes", "instant"), ("backfill_length", "walltime"), ("expansion", "none")):
        if getattr(options, name) != legal:
            return f"{name} must be {legal}"
    return ""


_NONE = np.zeros(0, np.int64)
_NO_FORMULA = MovingKeys(0, np.zeros(0), np.zeros(0), 0.0, 0.0, 0.0, _NONE, np.zeros(0))


class PlainStarts:
    """Starts of the same jobs under any order and rule.

    The jobs by arrival, and their places in each static order, are computed once for all replays of these jobs: half of
    the time of a replay of 500 jobs.

    Parameters
    ----------
    jobs
        Jobs without an obstacle.
    """

    def __init__(self, jobs: PlainJobs) -> None:
        self._jobs = jobs
        self._known: dict[str, Ints] = {}

    @cached_property
    def _arrival(self) -> Ints:
        """The jobs by arrival; ties are broken by the row."""
        return np.argsort(self._jobs.eligible, kind="stable")

    @cached_property
    def _by_arrival(self) -> tuple[Ints, Ints, Ints, Ints]:
        """Arrivals, nodes, walltimes and runtimes."""
        jobs, arrival = self._jobs, self._arrival
        return jobs.eligible[arrival], jobs.nodes[arrival], jobs.walltime[arrival], jobs.runtime[arrival]

    def under(self, options: Options, nodes: int) -> Ints | str:
        """Start of each job on a machine of ``nodes`` nodes [ticks of the simulated clock], shape (n,).

        Where its order cannot compute with their times, it is the reason.
        """
        _, sizes, walltimes, _ = self._by_arrival
        count = len(sizes)
        formula = _formula(options.order, sizes, walltimes, nodes)
        places = self._places(options.order if formula is None else "fcfs" if formula.by_submit else "")
        rule = BACKFILLING[options.backfilling]
        depth = rule.depth if isinstance(rule, Easy) else count if isinstance(rule, Conservative) else 0
        found = np.empty(count, np.int64)
        found[self._arrival] = self._replay_loop(nodes, depth, places, formula)
        if formula is not None and int((found + self._jobs.runtime).max()) >= LATEST:
            return "under an order that changes with time, the jobs must end within 285 years"
        return found

    def _replay_loop(self, nodes: int, depth: int, places: Ints, formula: Formula | None) -> Ints:
        """Starts of the jobs by arrival, if ``depth`` waiting jobs hold reservations."""
        count = len(places)
        planning = count if depth > 1 else 0
        awaited = np.ones(count, np.int64)
        ends, limits, by_end, by_limit, starts = np.zeros((5, count), np.int64)
        after, before = np.zeros((2, count + 1), np.int64)
        times, levels = np.zeros((2, 2 * planning + 8), np.int64)
        begun, given, planned = np.zeros((3, planning), np.int64)
        moving, ranks = _NO_FORMULA, places
        if formula is not None:
            moving = MovingKeys(*formula[:3], *formula.parameters, places, np.zeros(count))
            ranks = places + count
        ending = run(
            replay,
            _LOOKS * count if planning or formula else count,
            jobs=ReplayJobs(count, 0, *self._by_arrival, ranks, awaited, starts),
            beginning=Beginning(0, nodes, 0, _NONE, 0),
            rule=ReplayRule(depth, complete=True, tolerance=TOLERANCE, never=NEVER),
            trial=Trial(-1, 0, _NONE, _NONE, _NONE, _NONE),
            running=Runs(ends, limits, by_end, by_limit),
            linked=LinkedQueue(after, before, np.zeros(count if planning or formula else 0, np.int64)),
            moving=moving,
            arrays=Plan(times, levels, np.zeros(3 * BOUNDS, np.int64), begun, given, planned),
        )
        if ending < 0:
            raise InvariantError("some jobs can never start")
        return starts

    def _places(self, order: str) -> Ints:
        """Place of each job by arrival in an order that does not change, empty: by row."""
        if not order:
            return self._arrival
        if order not in self._known:
            jobs = self._jobs
            sequence = queue_sequence(order, jobs.submit, jobs.nodes, jobs.walltime)
            places = np.empty(len(sequence), np.int64)
            places[sequence] = np.arange(len(sequence))
            self._known[order] = places[self._arrival]
        return self._known[order]


def _formula(order: str, sizes: Ints, walltimes: Ints, nodes: int) -> Formula | None:
    """The formula of an order that changes with time, of jobs on a machine of ``nodes`` nodes; None: it has none."""
    make = ORDERS[order].formula
    return None if make is None else make(sizes, walltimes, nodes)
