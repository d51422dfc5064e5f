"""Environment in which an agent chooses the waiting job to start next.

The task is that of RLScheduler (Zhang et al., "RLScheduler: an automated HPC batch job scheduler using reinforcement
learning", SC 2020), on the simulator that everything else here runs on, stopped at each choice.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import log10

import numpy as np

from experiments.learning.environment import Environment, Jobs, Mask, Observation
from policies.orders.learned_score import FEATURES
from policies.planning.kernel import COMPILE_FROM, runner
from simulator import Result, simulate
from simulator.stepping.jobs import SteppedSimulation
from workloads.ground.errors import ParameterError
from workloads.ground.numbers import is_whole
from workloads.ground.units import SECOND, to_ticks
from workloads.table.job import Job, JobType

__all__ = ["COLUMNS", "JobChoice"]

#: Columns of an observation.
COLUMNS = (*FEATURES, "fits", "free", "queue")
#: Largest value of an observation: no time exceeds 2^63 microseconds.
_LARGEST = 2.5


def show(  # type: ignore[no-untyped-def] # compiled: types are numba's to infer
    seen, rows, submits, lasting, now, free, free_share, queue
):
    """Fill an observation.

    Parameters
    ----------
    seen
        Zeros, shape (first, columns).
    rows
        Indices of the shown jobs, in the order of the queue.
    submits, lasting
        Submits [s] and constant columns of all jobs of the episode, with the size in the column for whether it fits.
    now
        The time [s].
    free, free_share, queue
        Free nodes, and the columns of that name.
    """
    for place in range(len(rows)):
        row = rows[place]
        seen[place, 0] = log10(now + 1.0 - submits[row]) / 6.0
        for column in range(1, 4):
            seen[place, column] = lasting[row, column]
        seen[place, 4] = 1.0 if lasting[row, 4] <= free else 0.0
        seen[place, 5] = free_share
        seen[place, 6] = queue


class JobChoice(Environment[SteppedSimulation]):
    """Environment that chooses the next waiting job.

    A choice is due in each scheduling pass in which two or more jobs wait and one of them fits. The chosen job starts
    if it fits, and the next choice follows in the same instant; else it is the first of the queue until the next pass,
    and with ``backfilling="easy"`` jobs that do not delay it may start before it. An agent that always takes 0 gives
    the schedule of FCFS, to the byte.

    Parameters
    ----------
    jobs
        Rigid jobs of a trace, as :func:`holdfast.as_rigid` makes them, of which slices are played; or a function that
        makes the jobs of an episode from its number, such as a generated year from a seed.
    nodes
        Size of the machine.
    first
        Number of waiting jobs that are shown and can be chosen, the first ones by submit (K of RLScheduler).
    length
        Jobs of an episode: a slice of consecutive jobs, which begins on an empty machine. Jobs that a function makes
        are one episode, however many there are.
    metric
        Column of the summary that is the reward: less it where less is better.
    against
        A queue order: the reward is what the schedule is better than that of this order on the same jobs; empty: the
        metric itself.
    backfilling
        ``easy`` or ``none``.
    events
        Whether the ``result`` of an episode has an event log.

    Attributes
    ----------
    action_space
        ``Discrete(first)``: the place of a shown job. A place without a job stands for the last shown one;
        :meth:`action_masks` marks those that have one.
    observation_space
        ``Box(0, 2.5, (first, 7))``: a row for each shown job, zeros where there is none. Columns: ``wait`` and
        ``walltime`` [log10(1 + s) / 6], ``nodes`` [share of the machine], ``log_nodes`` [log(nodes) / log(machine)],
        ``fits`` [1: it can start now], ``free`` [share of the machine], ``queue`` [log10(1 + waiting jobs) / 6].
    episodes
        The jobs of each episode, by number: ``len`` of them is ``episodes.count``.

    Notes
    -----
    The reward is 0 but in the last step, when all jobs are submitted and chosen; the episode then terminates. ``info``
    of that step holds the ``result``.

    ``reset(seed=...)`` draws the episode; ``options={"slice": 12}`` names it, so that policies can be compared on the
    same ones. An episode in which nothing is to be chosen is passed over for the next that
    has no job in common with it.
    """

    scored = FEATURES

    def __init__(
        self,
        jobs: Jobs,
        nodes: int,
        *,
        first: int = 128,
        length: int = 256,
        metric: str = "bounded_slowdown",
        against: str = "",
        backfilling: str = "easy",
        events: bool = False,
    ) -> None:
        if not is_whole(first, 2):
            raise ParameterError("first", "a whole number of jobs, at least 2", first)
        super().__init__(
            jobs,
            nodes,
            length=length,
            types=(JobType.RIGID,),
            metric=metric,
            against=against,
            answers=first,
            features=COLUMNS,
            largest=_LARGEST,
        )
        self._first = first
        self._shape = (first, len(COLUMNS))
        self._backfilling = backfilling
        self._events = events
        self._lasting = np.empty((0, len(COLUMNS)))
        self._submits = np.empty(0)
        # Compiled, because eight numpy calls took a fifth of a step.
        self._show = runner(show, COMPILE_FROM)[0]
        # Masks are slices of this array.
        self._line = np.repeat([True, False], first)

    def action_masks(self) -> Mask:
        """Mask of the places with a job, shape (first,)."""
        shown = min(self._first, self._running().waiting)
        return self._line[self._first - shown : 2 * self._first - shown].copy()

    def _start(self, jobs: Sequence[Job]) -> SteppedSimulation:
        simulation = SteppedSimulation(
            jobs, self.nodes, events=self._events, checked=True, backfilling=self._backfilling
        )
        if simulation.asks:
            self._describe(jobs, simulation.origin)
        return simulation

    def _answer(self, simulation: SteppedSimulation, action: int) -> None:
        simulation.choose(min(action, simulation.waiting - 1))

    def _observe(self) -> Observation:
        simulation = self._running()
        view = simulation.view
        free, seen = view.free, np.zeros(self._shape, np.float32)
        shares = free / self.nodes, log10(1.0 + simulation.waiting) / 6.0
        self._show(seen, simulation.rows(self._first), self._submits, self._lasting, view.now / SECOND, free, *shares)
        return seen

    def _describe(self, jobs: Sequence[Job], origin: int) -> None:
        """Precompute the constant data of the episode's jobs: submits [s], and a row for each, with the size for
        whether it fits.
        """
        sizes = np.array([job.nodes for job in jobs], dtype=float)
        self._submits = np.array([(to_ticks(job.submit or 0.0) - origin) / SECOND for job in jobs])
        lasting = self._lasting = np.zeros((len(jobs), len(COLUMNS)))
        lasting[:, 1] = np.log10(1.0 + np.array([job.walltime for job in jobs])) / 6.0
        lasting[:, 2] = sizes / self.nodes
        lasting[:, 3] = np.log10(sizes) / (log10(self.nodes) or 1.0)
        lasting[:, 4] = sizes

    def _simulate_baseline(self, jobs: Sequence[Job], name: str) -> Result:
        return simulate(jobs, self.nodes, order=name, backfilling=self._backfilling, events=False)
