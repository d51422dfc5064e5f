"""Environment in which an agent chooses the waiting job to start next.

The task is that of RLScheduler (Zhang et al., "RLScheduler: an automated HPC batch job scheduler using reinforcement
learning", SC 2020), on the simulator that everything else here runs on, stopped at each choice.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import log10
from typing import Any

import numpy as np

from holdfast.experiments.learning.environment import Environment, Jobs, Mask, Observation
from holdfast.policies.orders.learned_score import FEATURES
from holdfast.simulator import Result, simulate
from holdfast.simulator.stepping.jobs import SteppedSimulation
from holdfast.workloads.ground.errors import ParameterError
from holdfast.workloads.ground.numbers import is_whole
from holdfast.workloads.ground.object_code import object_code
from holdfast.workloads.ground.units import SECOND, to_ticks
from holdfast.workloads.table.job import Job, JobType

__all__ = ["COLUMNS", "JobChoice"]

#: Columns of an observation.
COLUMNS = (*FEATURES, "fits", "free", "queue")
#: Largest value of an observation: no time exceeds 2^63 microseconds.
_LARGEST = 2.5


def show(  # type: ignore[no-untyped-def] # compiled: types are numba's to infer
    count, rows, submits, lasting, now, free, free_share, queue, columns, seen
):
    """Fill an observation.

    Parameters
    ----------
    count, rows
        Indices of the shown jobs, in the order of the queue.
    submits, lasting
        Submits [s] and constant columns of all jobs of the episode, job by job, with the size in the column for whether
        it fits.
    now
        The time [s].
    free, free_share, queue
        Free nodes, and the columns of that name.
    columns, seen
        Number of columns, and zeros for them, row by row.
    """
    for place in range(count):
        job = rows[place]
        here = place * columns
        there = job * columns
        seen[here] = log10(now + 1.0 - submits[job]) / 6.0
        for column in range(1, 4):
            seen[here + column] = lasting[there + column]
        seen[here + 4] = 1.0 if lasting[there + 4] <= free else 0.0
        seen[here + 5] = free_share
        seen[here + 6] = queue


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
    needed = "two jobs that wait at once"

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
        #: Submits, constant columns and the observation of :func:`show`, and as what it takes them.
        self._buffers: list[np.ndarray] = []
        self._given: list[Any] = []
        self._show: Callable[..., Any] = show
        # Masks are slices of this array.
        self._line = np.repeat([True, False], first)
        self._check_settings()

    def __getstate__(self) -> dict[str, Any]:
        """Machine code and addresses are of this process alone; each episode begins with new ones."""
        return {**super().__getstate__(), "_show": show, "_given": []}

    def action_masks(self) -> Mask:
        """Mask of the places with a job, shape (first,)."""
        shown = min(self._first, self._active_simulation().waiting)
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
        simulation = self._active_simulation()
        view = simulation.view
        free, rows = view.free, simulation.rows(self._first)
        shares = free / self.nodes, log10(1.0 + simulation.waiting) / 6.0
        submits, lasting, seen = self._given
        self._buffers[-1].fill(0.0)
        self._show(
            len(rows), rows if self._show is show else rows.ctypes.data, submits, lasting, view.now / SECOND, free,
            *shares, len(COLUMNS), seen,
        )  # fmt: skip
        return self._buffers[-1].astype(np.float32).reshape(self._shape)

    def _describe(self, jobs: Sequence[Job], origin: int) -> None:
        """Precompute the constant data of the episode's jobs: submits [s], and a row for each, with the size for
        whether it fits.
        """
        sizes = np.array([job.nodes for job in jobs], dtype=float)
        submits = np.array([(to_ticks(job.submit or 0.0) - origin) / SECOND for job in jobs])
        lasting = np.zeros((len(jobs), len(COLUMNS)))
        lasting[:, 1] = np.log10(1.0 + np.array([job.walltime for job in jobs])) / 6.0
        lasting[:, 2] = sizes / self.nodes
        lasting[:, 3] = np.log10(sizes) / (log10(self.nodes) or 1.0)
        lasting[:, 4] = sizes
        self._buffers = [submits, lasting.ravel(), np.empty(self._first * len(COLUMNS))]
        # Compiled, because eight numpy calls took a fifth of a step. It takes addresses of arrays in less time.
        code = object_code(show, "naffdnddnf")
        self._show = code or show
        self._given = [array.ctypes.data for array in self._buffers] if code else self._buffers

    def _simulate_baseline(self, jobs: Sequence[Job], name: str) -> Result:
        return simulate(jobs, self.nodes, order=name, backfilling=self._backfilling, events=False)
