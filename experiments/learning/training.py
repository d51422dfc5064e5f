"""Training of a small network by the cross-entropy method.

Source: R. Rubinstein, "The cross-entropy method for combinatorial and continuous optimization", Methodology and
Computing in Applied Probability 1 (1999); a search over the weights that needs no gradients and no learning library.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from holdfast.experiments.learning.episodes import Slices
from holdfast.experiments.statistics import interval, paired_interval
from holdfast.policies.score_network import ScoringNetwork
from holdfast.simulator import simulate
from holdfast.simulator.results.metrics import summarize
from holdfast.workloads.ground.errors import ParameterError
from holdfast.workloads.ground.numbers import is_whole
from holdfast.workloads.ground.random_streams import stream
from holdfast.workloads.table.job import Job, JobType

if TYPE_CHECKING:
    from gymnasium.vector import AsyncVectorEnv

    from holdfast.experiments.learning.environment import Environment

__all__ = ["compare", "compare_orders", "train"]


def train(
    environment: Environment[Any],
    *,
    generations: int = 12,
    population: int = 24,
    elite: int = 6,
    episodes: int = 4,
    hidden: int = 8,
    seed: int = 0,
    workers: int = 1,
    progress: Callable[[int, float], None] | None = None,
) -> ScoringNetwork:
    """Train a network by the cross-entropy method.

    Parameters
    ----------
    environment
        The environment.
    generations
        Rounds.
    population
        Number of networks in a round, with weights drawn from a normal distribution.
    elite
        Number of best networks of a round, which give mean and standard deviation of the next.
    episodes
        Number of slices on which all networks of a round are evaluated, drawn anew in each round.
    hidden
        Width of the hidden layer.
    seed
        Seed of all random choices.
    workers
        Number of processes, each with a separate environment; the result does not depend on it.
    progress
        Called with the number of each round and the mean reward of its elite.

    Returns
    -------
    ScoringNetwork
        The mean of the last elite.

    Raises
    ------
    ParameterError
        If a number is not legal.
    """
    numbers = {
        **{"generations": generations, "population": population, "episodes": episodes, "hidden": hidden},
        "workers": workers,
    }
    for name, number in numbers.items():
        if not is_whole(number, 1):
            raise ParameterError(name, "a whole number of at least 1", number)
    if not (is_whole(elite, 2) and elite <= population):
        raise ParameterError("elite", f"a whole number from 2 to the population, {population}", elite)
    rng = stream(seed, "learning")
    features = len(environment.scored)
    width = (features + 2) * hidden
    mean, spread = np.zeros(width), np.ones(width)
    with _Players(environment, workers) as players:
        for generation in range(generations):
            numbers_drawn = [int(rng.integers(environment.episodes.count)) for _ in range(episodes)]
            tried = mean + spread * rng.standard_normal((population, width))
            networks = [ScoringNetwork.of(weights, features, environment.answers) for weights in tried]
            rewards = players.rewards(networks, numbers_drawn)
            best = np.argsort(rewards, kind="stable")[-elite:]
            # A lower limit keeps the search from overfitting the slices of one round.
            mean, spread = tried[best].mean(axis=0), tried[best].std(axis=0) + 0.05
            if progress is not None:
                progress(generation, float(np.mean([rewards[place] for place in best])))
    return ScoringNetwork.of(mean, features, environment.answers)


class _Players:
    """Environments in which networks play whole episodes, in this process or in others."""

    def __init__(self, environment: Environment[Any], workers: int) -> None:
        self._environment = environment
        self._workers = workers
        self._vector: AsyncVectorEnv | None = None

    def __enter__(self) -> Self:
        if self._workers > 1:
            from holdfast.experiments.learning.vector import vector

            self._vector = vector(self._environment, self._workers)  # type: ignore[assignment]
        return self

    def __exit__(self, *_: object) -> None:
        if self._vector is not None:
            self._vector.close()

    def rewards(self, networks: Sequence[ScoringNetwork], numbers: Sequence[int]) -> list[float]:
        """Mean reward of each network over some episodes."""
        games = [(network, number) for network in networks for number in numbers]
        if self._vector is None:
            gained = self._environment.play_all(games)
        else:
            # Environments take the episodes in turn; the order does not affect rewards.
            shares = [games[place :: self._workers] for place in range(self._workers)]
            self._vector.set_attr("share", shares)
            gained = [0.0] * len(games)
            for place, found in enumerate(self._vector.call("play_share")):
                gained[place :: self._workers] = found
        return [float(np.mean(part)) for part in np.reshape(gained, (len(networks), len(numbers)))]


def compare_orders(
    jobs: Sequence[Job],
    nodes: int,
    orders: Sequence[str],
    *,
    length: int = 256,
    slices: Sequence[int] = (),
    metric: str = "bounded_slowdown",
    backfilling: str = "easy",
) -> list[dict[str, Any]]:
    """Compare queue orders on the same slices of a trace, which training did not use.

    Parameters
    ----------
    jobs, nodes, length
        As of :class:`~holdfast.experiments.learning.job_choice.JobChoice`.
    orders
        Names, such as ``learned model=FILE.npz``; the first is the reference of the differences.
    slices
        Numbers of slices, two or more; by default ten that begin at equal distances.
    metric
        Column of the summary.
    backfilling
        Backfilling rule.

    Returns
    -------
    list of dict
        A row for each order: ``order``, the ``mean`` of the metric over the slices with the 95 % interval ``low`` and
        ``high``, and ``difference`` from the first order with ``difference_low`` and ``difference_high``.
    """
    pieces = Slices(jobs, length, nodes, (JobType.RIGID,))
    chosen = _select_slices(slices, pieces.count)
    values = {
        order: [
            float(
                summarize(simulate(pieces[number], nodes, order=order, backfilling=backfilling, events=False))[metric]
            )
            for number in chosen
        ]
        for order in orders
    }
    return _rows("order", values)


#: An agent: a constant answer, a network, or a function of observation and mask.
Agent = int | ScoringNetwork | Callable[[Any, Any], int]


def compare(
    environment: Environment[Any], agents: Mapping[str, Agent], *, slices: Sequence[int] = ()
) -> list[dict[str, Any]]:
    """Compare agents in the same episodes of an environment.

    Parameters
    ----------
    environment
        The environment.
    agents
        Agents by name: a constant answer, a network, or a function from an observation and its mask to an answer. The
        first is the reference of the differences.
    slices
        Numbers of episodes, two or more; by default ten at equal distances.

    Returns
    -------
    list of dict
        A row for each agent: ``agent``, the ``mean`` reward over the episodes with the 95 % interval ``low`` and
        ``high``, and ``difference`` from the first agent with ``difference_low`` and ``difference_high``.
    """
    chosen = _select_slices(slices, environment.episodes.count)
    return _rows(
        "agent",
        {name: [environment.episode_reward(agent, number) for number in chosen] for name, agent in agents.items()},
    )


def _select_slices(slices: Sequence[int], count: int) -> list[int]:
    chosen = list(slices) or np.linspace(0, count - 1, min(10, count)).astype(int).tolist()
    if len(chosen) < 2:
        raise ParameterError("slices", "two or more", chosen)
    return chosen


def _rows(kind: str, values: Mapping[str, Sequence[float]]) -> list[dict[str, Any]]:
    """Means with intervals, and paired differences from the first."""
    base = next(iter(values))
    rows = []
    for name, own in values.items():
        mean = interval(own)
        row: dict[str, Any] = {kind: name, "mean": mean.mean, "low": mean.low, "high": mean.high}
        apart = paired_interval(own, values[base]) if name != base else None
        found = (None, None, None) if apart is None else (apart.mean, apart.low, apart.high)
        rows.append(row | dict(zip(("difference", "difference_low", "difference_high"), found, strict=True)))
    return rows
