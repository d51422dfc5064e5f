"""Likeness: how much the runtimes of jobs that are on a machine at once are correlated, by past states.

At some past times the jobs that waited or ran are compared with the distributions that were known of them then: each
has a normal score. If runtimes are independent, products of the scores of two jobs are 0 on average. They are more
where jobs are copies of each other, or where the machine's users do something else than before.

Source: docs/forecast.md.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator
from typing import NamedTuple

from experiments.forecast.runs import Group, PastRun, Runs, request_of

__all__ = ["INDEPENDENT", "Likeness", "likeness_of", "parties_of"]

#: A past state is taken at every so manieth run, and the last so many of them count.
_EVERY, _STATES = 40, 100
#: So many jobs of one state are compared at most.
_MOST = 40
#: No two jobs are taken to be more alike.
_LARGEST = 0.9


class Likeness(NamedTuple):
    """Normal scores of runtimes: their mean and spread, and their correlations.

    Attributes
    ----------
    anyone
        Correlation between jobs of different users.
    user
        Between jobs of one user with different requests; at least that of different users.
    request
        Between jobs of one user, walltime and size class; at least that of one user.
    mean, spread
        Mean and standard deviation; 0 and 1, if distributions of past runs tell what jobs to come do.
    """

    anyone: float
    user: float
    request: float
    mean: float = 0.0
    spread: float = 1.0


#: Runtimes have nothing in common.
INDEPENDENT = Likeness(0.0, 0.0, 0.0)


def parties_of(user: str, walltime: float, nodes: int) -> tuple[Group, Group]:
    """Whose jobs a job resembles: those of its user, and those of its user with the same request.

    Where users are not named, jobs with the same walltime and nodes are taken for those of one.
    """
    if user:
        return ("user", user), request_of(user, walltime, nodes)
    return ("request", walltime, nodes), ("request", walltime, nodes)


def likeness_of(runs: Runs, least: int = 10) -> Likeness:
    """Estimate the correlations from the past states of the last runs.

    Parameters
    ----------
    runs
        Completed runs.
    least
        Fewest runs of a group that tells of a job.

    Returns
    -------
    Likeness
        Every job of a state counts the same, and so does every other job that it is compared with. Without known times
        runtimes are independent.
    """
    states = list(_states(runs, least))
    if not states:
        return INDEPENDENT
    means = [sum(score for _, score in state) / len(state) for state in states]
    mean = sum(means) / len(means)
    products, pairs, squares = [0.0, 0.0, 0.0], [0.0, 0.0, 0.0], 0.0
    for state in states:
        known = [(run, score - mean) for run, score in state]
        for place, (product, count) in enumerate(_within(known)):
            products[place] += product / len(known)
            pairs[place] += count / len(known)
        squares += sum(score * score for _, score in known) / len(known)
    variance = squares / len(states)
    if not variance:
        return INDEPENDENT
    found: list[float] = []
    floor = 0.0
    for product, count in zip(products, pairs, strict=True):
        floor = max(floor, min(_LARGEST, product / count / variance if count else 0.0))
        found.append(floor)
    anyone, user, request = found
    return Likeness(anyone, user, request, mean, math.sqrt(variance))


def _states(runs: Runs, least: int) -> Iterator[list[tuple[PastRun, float]]]:
    """The past states with two runs or more, each with its runs and their scores."""
    last = (runs.timed() - 1) // _EVERY
    for number in range(max(0, last - _STATES + 1), last + 1):
        at = runs.run(number * _EVERY).submit or 0.0
        there = runs.there(at)
        chosen = there[:: math.ceil(len(there) / _MOST) or 1]
        scores = [(runs.run(one), runs.score(one, at, least)) for one in chosen]
        known = [(run, score) for run, score in scores if not math.isnan(score)]
        if len(known) > 1:
            yield known


def _within(known: list[tuple[PastRun, float]]) -> list[tuple[float, float]]:
    """Sums of products, and numbers of pairs: of different users, of one with different requests, of one request."""
    users: dict[Group, list[float]] = defaultdict(list)
    requests: dict[tuple[Group, Group], list[float]] = defaultdict(list)
    for run, score in known:
        user, request = parties_of(run.user, run.walltime, run.nodes)
        users[user].append(score)
        requests[user, request].append(score)
    sets = [[[score for _, score in known]], users.values(), requests.values(), [[score] for _, score in known]]
    sums = [(sum(sum(scores) ** 2 for scores in parts), sum(len(scores) ** 2 for scores in parts)) for parts in sets]
    return [(sums[place][0] - sums[place + 1][0], sums[place][1] - sums[place + 1][1]) for place in range(3)]
