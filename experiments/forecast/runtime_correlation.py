"""Estimation of the correlation between runtimes of jobs that are in the system together, from past states.

At selected past times, the runtimes of the jobs then waiting or running are compared with the distributions known at
that time. The quantile levels of these runtimes show how much wider the distributions must be, since they are estimated
from few runs. The correlation between jobs of one user is that of their normal scores. The correlation between jobs of
different users is chosen so that the variance of the total work in a state equals the observed variance, because waits
depend on the total work.

Source: docs/forecast.md.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

from holdfast.experiments.forecast.completed_runs import Compared, Group, PastRun, Runs, request_group

__all__ = ["INDEPENDENT", "RuntimeCorrelation", "estimate_correlation", "similar_groups"]

#: Distance between past states, in runs, and number of past states used.
_EVERY, _STATES = 100, 160
#: Prior for the correlation between users, which a short past does not determine: number of states, correlation.
_PRIOR_STATES, _PRIOR = 30, 0.05
#: Largest number of compared jobs; with large queues fewer states are used.
_MOST = 20_000
#: Upper limit of a correlation.
_LARGEST = 0.9
#: Upper limit of the standard deviation of scores.
_WIDEST = 3.0
_HALVINGS = 20
#: Mean of the absolute value of a standard normal variable.
_USUAL = math.sqrt(2.0 / math.pi)

#: A past state: its runs compared with the distributions known then.
State = Sequence[tuple[PastRun, Compared]]


class RuntimeCorrelation(NamedTuple):
    """Normal scores of runtimes: their correlations, their mean and their standard deviation.

    Attributes
    ----------
    anyone
        Correlation between jobs of different users.
    user
        Correlation between jobs of one user with different requests; at least that of different users.
    request
        Correlation between jobs of one user, walltime and size class; at least that of one user.
    mean
        Mean of the scores; above 0 if jobs run longer than the past runs in their distributions.
    spread
        Standard deviation of the scores; above 1 if runtimes vary more than those of the past runs.
    """

    anyone: float
    user: float
    request: float
    mean: float = 0.0
    spread: float = 1.0


#: Independent runtimes.
INDEPENDENT = RuntimeCorrelation(0.0, 0.0, 0.0)


@lru_cache(maxsize=1 << 16)  # past states ask for the same runs again and again
def similar_groups(user: str, walltime: float, nodes: int) -> tuple[Group, Group]:
    """Groups of similar jobs: those of the same user, and those of the same user and request.

    Without user names, jobs with the same walltime and nodes count as those of one user.
    """
    if user:
        return ("user", user), request_group(user, walltime, nodes)
    return ("request", walltime, nodes), ("request", walltime, nodes)


def estimate_correlation(runs: Runs, least: int = 10) -> RuntimeCorrelation:
    """Estimate the correlations from the past states of the last runs.

    Parameters
    ----------
    runs
        Completed runs.
    least
        Fewest runs of a group to be used.

    Returns
    -------
    RuntimeCorrelation
        The estimates; without known times, runtimes are independent.
    """
    states = list(_states(runs, least))
    if not states:
        return INDEPENDENT
    centre = _mean(states, lambda seen: seen.score)
    square = _mean(states, lambda seen: (seen.score - centre) ** 2)
    if not square:
        return INDEPENDENT
    # The level of a normal variable with standard deviation s has the mean distance arctan(s) / pi from one half.
    spread = min(_WIDEST, math.tan(math.pi * _mean(states, lambda seen: seen.apart)))
    user, request = _of_one_user(states, centre, square)
    mean = _shift(states)
    found = _of_anyone(states, mean, spread, user, request)
    anyone = (len(states) * found + _PRIOR_STATES * _PRIOR) / (len(states) + _PRIOR_STATES)
    return RuntimeCorrelation(anyone, max(anyone, user), max(anyone, request), mean, spread)


def _states(runs: Runs, least: int) -> Iterator[State]:
    """The past states with two runs or more, the last one first."""
    last = (runs.timed_count() - 1) // _EVERY
    compared = 0
    for number in range(last, max(-1, last - _STATES), -1):
        at = runs.run(number * _EVERY).submit or 0.0
        found = [(runs.run(one), runs.compare_run(one, at, least)) for one in runs.there(at)]
        known = [(run, seen) for run, seen in found if seen is not None]
        if len(known) > 1:
            yield known
        compared += len(found)
        if compared >= _MOST:
            return


def _mean(states: Sequence[State], of: Callable[[Compared], float]) -> float:
    """Mean over states with equal weights."""
    return sum(sum(of(seen) for _, seen in state) / len(state) for state in states) / len(states)


def _shift(states: Sequence[State]) -> float:
    """Mean standardised excess of the states' work over its expectation."""
    found = []
    for state in states:
        deviation = sum(seen.deviation for _, seen in state)
        if deviation:
            found.append(sum(seen.residual for _, seen in state) / deviation)
    return sum(found) / len(found) if found else 0.0


def _of_one_user(states: Sequence[State], centre: float, square: float) -> tuple[float, float]:
    """Correlations of the scores of one user's jobs, with different requests and with the same one."""
    products, pairs = [0.0, 0.0, 0.0], [0.0, 0.0, 0.0]
    for state in states:
        sums = _pairs(state, lambda seen: seen.score - centre)
        counts = _pairs(state, lambda seen: 1.0)
        for place in range(3):
            # Jobs have equal weights, and so do the jobs that each is compared with.
            products[place] += sums[place] / len(state)
            pairs[place] += counts[place] / len(state)
    found = [
        min(_LARGEST, max(0.0, product / count / square)) if count else 0.0
        for product, count in zip(products, pairs, strict=True)
    ]
    return found[1], max(found[1:])


def _of_anyone(states: Sequence[State], mean: float, spread: float, user: float, request: float) -> float:
    """The correlation for which the mean deviation of the states' work equals the observed one.

    Absolute deviations are used, because a few states would dominate squares; states are weighted by their jobs.
    """
    # Growth of the deviation of shares, uniform in (0, 1), with the spread of scores: runtimes end at the walltime.
    wider = math.sqrt(spread)
    sums = []
    for state in states:
        over = sum(seen.residual - mean * seen.deviation for _, seen in state)
        alone = sum((wider * seen.deviation) ** 2 for _, seen in state)
        if alone:
            sums.append((len(state), abs(over), alone, *_pairs(state, lambda seen: wider * seen.deviation)))

    def excess(anyone: float) -> float:
        return sum(
            jobs * (over / math.sqrt(alone + anyone * others + max(anyone, user) * own + max(anyone, request) * same))
            - jobs * _USUAL
            for jobs, over, alone, others, own, same in sums
        )

    low, high = 0.0, _LARGEST
    if excess(low) <= 0:
        return low
    for _ in range(_HALVINGS):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if excess(middle) > 0 else (low, middle)
    return high


def _pairs(state: State, of: Callable[[Compared], float]) -> tuple[float, float, float]:
    """Sums of products over pairs of jobs: different users, one user with different requests, one request."""
    users: dict[Group, float] = defaultdict(float)
    requests: dict[tuple[Group, Group], float] = defaultdict(float)
    squares = 0.0
    for run, seen in state:
        user, request = similar_groups(run.user, run.walltime, run.nodes)
        value = of(seen)
        users[user] += value
        requests[user, request] += value
        squares += value * value
    all_of_them = sum(users.values()) ** 2
    by_user, by_request = (sum(value * value for value in sums.values()) for sums in (users, requests))
    return all_of_them - by_user, by_user - by_request, by_request - squares
