"""Gymnasium environment over the simulation engine, common to all kinds of decisions: episodes, masks and rewards."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Collection, Sequence
from typing import Any, Generic, SupportsFloat, TypeVar

import numpy as np
import numpy.typing as npt

from holdfast.experiments.learning.episodes import make_episodes
from holdfast.policies.score_network import ScoringNetwork
from holdfast.simulator import Result
from holdfast.simulator.results.catalogue import Group, columns
from holdfast.simulator.results.catalogue import metric as metric_of
from holdfast.simulator.results.metrics import summarize
from holdfast.simulator.stepping.base import Stepped
from holdfast.workloads.ground.columns import Better, Metric
from holdfast.workloads.ground.errors import (
    InputError,
    InvariantError,
    MissingPackageError,
    ParameterError,
    UnknownNameError,
    installation,
)
from holdfast.workloads.table.job import Job, JobType

try:
    import gymnasium
    from gymnasium import spaces
except ModuleNotFoundError:
    raise MissingPackageError(
        f"environments need the package gymnasium; install it with {installation('learn')}"
    ) from None

__all__ = ["Environment", "Jobs"]

Observation = npt.NDArray[np.float32]
Mask = npt.NDArray[np.bool_]

#: A job table to cut into episodes, or a function from a seed to a job table.
Jobs = Sequence[Job] | Callable[[int], Sequence[Job]]

#: Number of cached reference schedules.
_KEPT = 256
#: Largest number of consecutive episodes without a decision that are skipped.
_TRIES = 256

#: A job table on which settings are tried; nothing is to decide there.
_TRIAL = (Job(1, JobType.RIGID, submit=0.0, nodes=1, runtime=1.0, walltime=1.0),)

S = TypeVar("S", bound=Stepped)


class Environment(gymnasium.Env[Observation, np.int64], Generic[S]):
    """Base class of the environments; an observation has a row for each possible answer.

    Parameters
    ----------
    jobs, nodes, length
        Episodes and the machine.
    types
        Types of jobs that may occur.
    metric, against
        The reward.
    answers
        Number of answers.
    features
        Names of the columns of an observation.
    largest
        Largest value of an observation.
    """

    metadata: dict[str, Any] = {"render_modes": []}  # noqa: RUF012  # as Gymnasium declares it

    #: Names of the columns that a network uses to score answers.
    scored: tuple[str, ...]
    #: What an episode lacks in which nothing is to decide.
    needed: str

    def __init__(
        self,
        jobs: Jobs,
        nodes: int,
        *,
        length: int,
        types: Collection[JobType],
        metric: str,
        against: str,
        answers: int,
        features: Sequence[str],
        largest: float,
    ) -> None:
        self.nodes = nodes
        self.episodes = make_episodes(jobs, length, nodes, types)
        self._metric = _metric(metric)
        self._against = against
        self._beside: dict[int, float] = {}
        self._answers = answers
        self._width = len(features)
        self._number = 0
        #: Names of the answers, where they have any.
        self.answers: tuple[str, ...] = ()
        #: Networks, with the numbers of the episodes that they play in this process.
        self.share: list[tuple[ScoringNetwork, int]] = []
        self._simulation: S | None = None
        self.action_space = spaces.Discrete(answers)
        self.observation_space = spaces.Box(0.0, largest, (answers, self._width), np.float32)

    def __getstate__(self) -> dict[str, Any]:
        """A pickled copy has the same episodes but no running one."""
        return {**self.__dict__, "_simulation": None, "_beside": {}, "_np_random": None, "_np_random_seed": None}

    def _check_settings(self) -> None:
        """Refuse a name or an option with which no episode could begin, before the first one does.

        Raises
        ------
        InputError
            With the reason.
        """
        self._start(_TRIAL)
        if self._against:
            self._simulate_baseline(_TRIAL, self._against)

    # Methods that subclasses implement.

    @abstractmethod
    def _start(self, jobs: Sequence[Job]) -> S:
        """The simulation of an episode, at its first decision."""

    @abstractmethod
    def _observe(self) -> Observation:
        """The observation while a decision is due."""

    @abstractmethod
    def _answer(self, simulation: S, action: int) -> None:
        """Apply an answer."""

    @abstractmethod
    def _simulate_baseline(self, jobs: Sequence[Job], name: str) -> Result:
        """The schedule that rewards are measured against."""

    @abstractmethod
    def action_masks(self) -> Mask:
        """Mask of the legal answers, shape (answers,)."""

    # Interface of Gymnasium.

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """Begin an episode.

        Parameters
        ----------
        seed
            Seed of the episodes drawn from now on.
        options
            ``slice``: number of the episode, from 0 to ``episodes.count - 1``.
        """
        super().reset(seed=seed)
        count, stride = self.episodes.count, self.episodes.stride
        number = int(self.np_random.integers(count)) if not options else options["slice"]
        for _ in range(min(-(-count // stride), _TRIES)):
            simulation = self._start(self.episodes[number])
            if simulation.asks:
                self._simulation, self._number = simulation, number
                return self._observe(), {"slice": number, "action_mask": self.action_masks()}
            number = (number + stride) % count
        raise InputError(f"there is nothing to decide in any of these episodes, without {self.needed}")

    def episode_reward(self, agent: int | ScoringNetwork | Callable[[Observation, Mask], int], number: int) -> float:
        """The reward of an episode.

        Parameters
        ----------
        agent
            An answer that is always given; a network; the legal answer with its highest score is taken; or a
            function of an observation and its mask.
        number
            Of the episode.
        """
        scored = len(self.scored)
        seen, info = self.reset(options={"slice": number})
        reward, over = 0.0, False
        while not over:
            if isinstance(agent, ScoringNetwork):
                scores = agent.scores(seen[:, :scored])
                action = int(np.argmax(np.where(info["action_mask"], scores, -np.inf)))
            else:
                action = agent(seen, info["action_mask"]) if callable(agent) else agent
            seen, gained, over, _, info = self.step(action)
            reward += float(gained)
        return reward

    def play_all(self, games: Sequence[tuple[ScoringNetwork, int]]) -> list[float]:
        """Rewards of networks in episodes."""
        return [self.episode_reward(network, number) for network, number in games]

    def play_share(self) -> list[float]:
        """Rewards of the episodes in ``share``, which the trainer sets to distribute them over environments."""
        return self.play_all(self.share)

    def step(self, action: np.int64 | int) -> tuple[Observation, SupportsFloat, bool, bool, dict[str, Any]]:
        """Apply an answer and advance to the next decision."""
        simulation = self._active_simulation()
        if not 0 <= action < self._answers:
            raise ParameterError("action", f"a whole number from 0 to {self._answers - 1}", action)
        self._answer(simulation, int(action))
        if simulation.asks:
            return self._observe(), 0.0, False, False, {"action_mask": self.action_masks()}
        result = simulation.result()
        info = {"result": result, "action_mask": np.zeros(self._answers, bool)}
        return self._blank(), self._reward(result), True, False, info

    def _active_simulation(self) -> S:
        simulation = self._simulation
        if simulation is None or not simulation.asks:
            raise InvariantError("no episode runs: call reset")
        return simulation

    def _blank(self) -> Observation:
        return np.zeros((self._answers, self._width), np.float32)

    def _reward(self, result: Result) -> float:
        own = self._value(result)
        if not self._against:
            return own
        if self._number not in self._beside:
            if len(self._beside) >= _KEPT:
                self._beside.clear()
            other = self._simulate_baseline(self.episodes[self._number], self._against)
            self._beside[self._number] = self._value(other)
        return own - self._beside[self._number]

    def _value(self, result: Result) -> float:
        sign = 1.0 if self._metric.better is Better.MORE else -1.0
        return sign * float(summarize(result)[self._metric.name])


def _metric(name: str) -> Metric:
    judged = [item for item in columns(Group.SUMMARY) if metric_of(item).better is not Better.NEITHER]
    if name not in judged:
        raise UnknownNameError("metric", name, judged)
    return metric_of(name)
