"""Environments of Gymnasium over the engine: which waiting job goes first.

The task is that of RLScheduler (Zhang et al., "RLScheduler: an automated HPC batch job scheduler using reinforcement
learning", SC 2020), on the simulator that everything else here runs on, stopped at each choice.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import log10
from typing import Any, SupportsFloat

import numpy as np
import numpy.typing as npt

from experiments.learning.slices import Slices
from simulator import Result, simulate
from simulator.results.catalogue import Group, columns
from simulator.results.catalogue import metric as metric_of
from simulator.results.metrics import summarize
from simulator.stepping import SteppedSimulation
from workloads.ground.errors import InputError, InvariantError, ParameterError, UnknownNameError
from workloads.ground.numbers import is_whole
from workloads.ground.quantities import Better, Metric
from workloads.ground.units import SECOND, to_ticks
from workloads.table.job import Job

try:
    import gymnasium
    from gymnasium import spaces
except ModuleNotFoundError:
    raise InputError("environments need the package gymnasium: install it with 'pip install holdfast[learn]'") from None

__all__ = ["COLUMNS", "JobChoice"]

#: Columns of an observation.
COLUMNS = ("wait", "walltime", "nodes", "log_nodes", "fits", "free", "queue")
_LARGEST = 2.5

Observation = npt.NDArray[np.float32]


class JobChoice(gymnasium.Env[Observation, np.int64]):
    """Choose the waiting job that goes first.

    A choice is due in each scheduling pass in which two or more jobs wait and one of them fits. The chosen job starts
    if it fits, and the next choice follows in the same instant; else it is the first of the queue until the next pass,
    and with ``backfilling="easy"`` jobs that do not delay it may start before it. An agent that always takes 0 gives
    the schedule of FCFS, to the byte.

    Parameters
    ----------
    jobs
        Rigid jobs of a trace, as :func:`holdfast.as_rigid` makes them.
    nodes
        Size of the machine.
    first
        So many waiting jobs are shown and can be chosen, the first ones by submit (K of RLScheduler).
    length
        Jobs of an episode: a slice of consecutive jobs, which begins on an empty machine.
    metric
        Column of the summary that is the reward: less it where less is better.
    against
        A queue order: the reward is what the schedule is better than that of this order on the same slice; empty: the
        metric itself.
    backfilling
        ``easy`` or ``none``.

    Attributes
    ----------
    action_space
        ``Discrete(first)``: the place of a shown job. A place without a job stands for the last shown one;
        :meth:`action_masks` tells which have one.
    observation_space
        ``Box(0, 2.5, (first, 7))``: a row for each shown job, zeros where there is none. Columns: ``wait`` and
        ``walltime`` [log10(1 + s) / 6], ``nodes`` [share of the machine], ``log_nodes`` [log(nodes) / log(machine)],
        ``fits`` [1: it can start now], ``free`` [share of the machine], ``queue`` [log10(1 + waiting jobs) / 6].

    Notes
    -----
    The reward is 0 but in the last step, when all jobs are submitted and chosen; the episode then terminates. ``info``
    of that step holds the ``result``.

    ``reset(seed=...)`` draws the slice; ``options={"slice": 12}`` names it, so that policies can be compared on the
    same ones. A slice in which nothing is to be chosen is passed over for the next.
    """

    metadata: dict[str, Any] = {"render_modes": []}  # noqa: RUF012  # as Gymnasium declares it

    def __init__(
        self,
        jobs: Sequence[Job],
        nodes: int,
        *,
        first: int = 128,
        length: int = 256,
        metric: str = "bounded_slowdown",
        against: str = "",
        backfilling: str = "easy",
    ) -> None:
        if not is_whole(first, 2):
            raise ParameterError("first", "a whole number of jobs, at least 2", first)
        self.slices = Slices(jobs, length)
        self.nodes = nodes
        self._first = first
        self._metric = _metric(metric)
        self._against = against
        self._backfilling = backfilling
        self._simulation: SteppedSimulation | None = None
        self._jobs: list[Job] = []
        self._places: dict[int, int] = {}
        self._submits = self._sizes = np.empty(0, np.int64)
        self._requests = np.empty((0, 3))
        self.action_space = spaces.Discrete(first)
        self.observation_space = spaces.Box(0.0, _LARGEST, (first, len(COLUMNS)), np.float32)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """Begin an episode.

        Parameters
        ----------
        seed
            Of the slices that are drawn from now on.
        options
            ``slice``: number of the slice, from 0 to ``slices.count - 1``.
        """
        super().reset(seed=seed)
        number = self.slices.draw(self.np_random) if not options else options["slice"]
        for _ in range(self.slices.count):
            self._jobs = self.slices[number]
            self._simulation = SteppedSimulation(self._jobs, self.nodes, backfilling=self._backfilling)
            if self._simulation.asks:
                self._describe()
                return self._observed(), {"slice": number, "action_mask": self.action_masks()}
            number = (number + 1) % self.slices.count
        raise InputError("nothing is to be chosen in any slice: the jobs never wait for each other")

    def step(self, action: np.int64 | int) -> tuple[Observation, SupportsFloat, bool, bool, dict[str, Any]]:
        """Choose the job at a place; go on to the next choice."""
        simulation = self._running()
        if not 0 <= action < self._first:
            raise ParameterError("action", f"a whole number from 0 to {self._first - 1}", action)
        simulation.choose(min(int(action), self._shown() - 1))
        if simulation.asks:
            return self._observed(), 0.0, False, False, {"action_mask": self.action_masks()}
        result = simulation.result()
        last = np.zeros((self._first, len(COLUMNS)), np.float32)
        info = {"result": result, "action_mask": np.zeros(self._first, bool)}
        return last, self._reward(result), True, False, info

    def action_masks(self) -> npt.NDArray[np.bool_]:
        """Which places have a job, shape (first,)."""
        masks: npt.NDArray[np.bool_] = np.arange(self._first) < self._shown()
        return masks

    def _running(self) -> SteppedSimulation:
        if self._simulation is None or not self._simulation.asks:
            raise InvariantError("no episode runs: call reset")
        return self._simulation

    def _shown(self) -> int:
        return min(self._first, len(self._running().queue))

    def _observed(self) -> Observation:
        simulation = self._running()
        view, queue = simulation.view, simulation.queue
        shown = [self._places[job.job_id] for job in queue[: self._first]]
        seen = np.zeros((self._first, len(COLUMNS)), np.float32)
        rows = seen[: len(shown)]
        rows[:, 1:4] = self._requests[shown]
        rows[:, 0] = np.log10(1.0 + (view.now - self._submits[shown]) / SECOND) / 6.0
        rows[:, 4] = self._sizes[shown] <= view.free
        rows[:, 5] = view.free / view.nodes
        rows[:, 6] = log10(1.0 + len(queue)) / 6.0
        return np.minimum(seen, _LARGEST, out=seen)

    def _describe(self) -> None:
        """Note what does not change of the jobs of the episode."""
        self._places = {job.job_id: place for place, job in enumerate(self._jobs)}
        self._submits = np.array([to_ticks(job.submit or 0.0) for job in self._jobs])
        self._sizes = np.array([job.nodes for job in self._jobs])
        self._requests = np.column_stack(
            [
                np.log10(1.0 + np.array([job.walltime for job in self._jobs])) / 6.0,
                self._sizes / self.nodes,
                np.log10(self._sizes) / (log10(self.nodes) or 1.0),
            ]
        )

    def _reward(self, result: Result) -> float:
        own = self._value(result)
        if not self._against:
            return own
        other = simulate(self._jobs, self.nodes, order=self._against, backfilling=self._backfilling, events=False)
        return own - self._value(other)

    def _value(self, result: Result) -> float:
        sign = 1.0 if self._metric.better is Better.MORE else -1.0
        return sign * float(summarize(result)[self._metric.name])


def _metric(name: str) -> Metric:
    judged = [item for item in columns(Group.SUMMARY) if metric_of(item).better is not Better.NEITHER]
    if name not in judged:
        raise UnknownNameError("metric", name, judged)
    return metric_of(name)
