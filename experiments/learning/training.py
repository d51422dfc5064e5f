"""Training: a small network learns by the cross-entropy method which waiting job goes first.

Source: R. Rubinstein, "The cross-entropy method for combinatorial and continuous optimization", Methodology and
Computing in Applied Probability 1 (1999); a search over the weights that needs no gradients and no learning library.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from experiments.learning.episodes import Slices
from experiments.statistics import interval, paired
from policies.orders.network import FEATURES, ScoringNetwork
from simulator import simulate
from simulator.results.metrics import summarize
from workloads.ground.errors import ParameterError
from workloads.ground.numbers import is_whole
from workloads.ground.streams import stream
from workloads.table.job import Job, JobType

if TYPE_CHECKING:
    from experiments.learning.jobchoice import JobChoice

__all__ = ["compare_orders", "play", "train"]


def play(environment: JobChoice, network: ScoringNetwork, number: int) -> float:
    """The reward of an episode in which the network chooses.

    Parameters
    ----------
    environment
        The environment.
    network
        Scores the jobs that are shown; the highest score goes first.
    number
        Of the slice.
    """
    seen, told = environment.reset(options={"slice": number})
    reward, over = 0.0, False
    while not over:
        scores = network.scores(seen[:, : len(FEATURES)])
        place = int(np.argmax(np.where(told["action_mask"], scores, -np.inf)))
        seen, gained, over, _, told = environment.step(place)
        reward += float(gained)
    return reward


def train(
    environment: JobChoice,
    *,
    generations: int = 12,
    population: int = 24,
    elite: int = 6,
    episodes: int = 4,
    hidden: int = 8,
    seed: int = 0,
    progress: Callable[[int, float], None] | None = None,
) -> ScoringNetwork:
    """Learn a network by the cross-entropy method.

    Parameters
    ----------
    environment
        The environment.
    generations
        Rounds.
    population
        Networks tried in a round, drawn from a normal distribution of the weights.
    elite
        So many best ones of a round give mean and standard deviation of the next.
    episodes
        Slices on which all networks of a round are tried, drawn anew in each.
    hidden
        Width of the hidden layer.
    seed
        Of all random choices.
    progress
        Told the number of each round and the mean reward of its elite.

    Returns
    -------
    ScoringNetwork
        The mean of the last elite.

    Raises
    ------
    ParameterError
        If a number is not legal.
    """
    numbers = {"generations": generations, "population": population, "episodes": episodes, "hidden": hidden}
    for name, number in numbers.items():
        if not is_whole(number, 1):
            raise ParameterError(name, "a whole number of at least 1", number)
    if not (is_whole(elite, 2) and elite <= population):
        raise ParameterError("elite", f"a whole number from 2 to the population, {population}", elite)
    rng = stream(seed, "learning")
    width = (len(FEATURES) + 2) * hidden
    mean, spread = np.zeros(width), np.ones(width)
    for generation in range(generations):
        slices = [int(rng.integers(environment.episodes.count)) for _ in range(episodes)]
        tried = mean + spread * rng.standard_normal((population, width))
        rewards = [
            float(np.mean([play(environment, ScoringNetwork.of(weights), number) for number in slices]))
            for weights in tried
        ]
        best = np.argsort(rewards, kind="stable")[-elite:]
        # A floor keeps the search from settling on the slices of one round.
        mean, spread = tried[best].mean(axis=0), tried[best].std(axis=0) + 0.05
        if progress is not None:
            progress(generation, float(np.mean([rewards[place] for place in best])))
    return ScoringNetwork.of(mean)


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
    """Queue orders on the same slices of a trace, which nothing was learned on.

    Parameters
    ----------
    jobs, nodes, length
        As of :class:`~experiments.learning.jobchoice.JobChoice`.
    orders
        Names, ``learned model=FILE.npz`` among them; the first is what the others are compared with.
    slices
        Numbers of slices, two or more; none given: ten that begin at equal distances.
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
    chosen = list(slices) or np.linspace(0, pieces.count - 1, min(10, pieces.count)).astype(int).tolist()
    if len(chosen) < 2:
        raise ParameterError("slices", "two or more", chosen)
    values = {
        order: [
            float(
                summarize(simulate(pieces[number], nodes, order=order, backfilling=backfilling, events=False))[metric]
            )
            for number in chosen
        ]
        for order in orders
    }
    rows = []
    for order, own in values.items():
        mean = interval(own)
        row: dict[str, Any] = {"order": order, "mean": mean.mean, "low": mean.low, "high": mean.high}
        apart = paired(own, values[orders[0]]) if order != orders[0] else None
        names = ("difference", "difference_low", "difference_high")
        found = (None, None, None) if apart is None else (apart.mean, apart.low, apart.high)
        rows.append(row | dict(zip(names, found, strict=True)))
    return rows
