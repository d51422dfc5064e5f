"""Sizes, requested walltimes and runtimes of generated jobs.

Quantiles are drawn by *stratified sampling*: the jobs are put in a random order, which is cut at the cumulative shares
of a table. Every seed thus has the distribution of the table to within one campaign; years differ in the order of
their jobs and not in their work.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from holdfast.workloads.theta.year import FAVOURITE_SIZES, OTHER_SIZES, REQUESTS, ThetaYear

__all__ = ["draw_requests", "draw_runtimes", "draw_sizes"]

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

#: Size of the smallest capability jobs [nodes]; their walltime may be up to a day.
_LARGE = 802


def _quantiles(order: Floats, counts: Ints) -> Floats:
    """Quantile in (0, 1) of the middle job of each unit of ``counts`` jobs, with units sorted by ``order``."""
    sorted_units = np.argsort(order, kind="stable")
    ends = np.cumsum(counts[sorted_units])
    result = np.empty(len(counts))
    result[sorted_units] = (ends - counts[sorted_units] / 2) / max(1, ends[-1] if len(ends) else 1)
    return result


def draw_sizes(parameters: ThetaYear, counts: Ints, campaign_jobs: Ints, rng: np.random.Generator) -> Ints:
    """Sizes of units of equal jobs.

    Parameters
    ----------
    parameters
        Parameters of the year.
    counts
        Jobs of each unit, shape (u,).
    campaign_jobs
        Jobs of the campaign that each unit belongs to, shape (u,).
    rng
        Generator of random numbers.

    Returns
    -------
    ndarray of int, shape (u,)
        Nodes, at most those of the machine.
    """
    table = [(nodes, nodes, weight) for nodes, weight in FAVOURITE_SIZES] + list(OTHER_SIZES)
    table.sort()
    weights = np.array([weight for _, _, weight in table])
    order = rng.random(len(counts))
    # Long campaigns get smaller sizes, because no campaign has fifty jobs of half the machine.
    order = np.where(campaign_jobs > parameters.large_campaign, 0.9 * order, order)
    place = np.searchsorted(np.cumsum(weights) / weights.sum(), _quantiles(order, counts), side="right")
    place = np.minimum(place, len(table) - 1)
    low = np.array([row[0] for row in table])[place]
    high = np.array([row[1] for row in table])[place]
    between = np.exp(np.log(low) + rng.random(len(counts)) * np.log((high + 1) / low)).astype(np.int64)
    # Half of the sizes between the favourites are multiples of 8.
    between = np.where((rng.random(len(counts)) < 0.5) & (low < high), np.maximum(low, between // 8 * 8), between)
    return np.asarray(np.minimum(np.clip(between, low, high), parameters.nodes), dtype=np.int64)


def draw_requests(parameters: ThetaYear, nodes: Ints, counts: Ints, rng: np.random.Generator) -> Ints:
    """Walltime requests of units of equal jobs [s], multiples of 60.

    Parameters
    ----------
    parameters
        Parameters of the year.
    nodes, counts
        Nodes of the jobs of each unit, and number of its jobs, shape (u,).
    rng
        Generator of random numbers.

    Returns
    -------
    ndarray of int, shape (u,)
        Walltimes [s], at most the longest request of the bracket of the size.
    """
    minutes = np.zeros(len(nodes), dtype=np.int64)
    order, spread = rng.random(len(nodes)), rng.random(len(nodes))
    bounds = [bracket[0] for bracket in REQUESTS[1:]]
    bracket_of = np.searchsorted(bounds, nodes, side="right")
    for number, (_, longest, favourites) in enumerate(REQUESTS):
        members = np.flatnonzero(bracket_of == number)
        edges = np.cumsum([weight for _, weight in favourites])
        place = np.searchsorted(edges, _quantiles(order[members], counts[members]), side="right")
        other = parameters.shortest_request * (longest / parameters.shortest_request) ** spread[members]
        values = np.append([float(value) for value, _ in favourites], 0.0)[place]
        minutes[members] = np.where(place < len(favourites), values, np.floor(other / 5) * 5)
    return minutes * 60


def draw_runtimes(parameters: ThetaYear, nodes: Ints, requests: Ints, campaign: Ints, rng: np.random.Generator) -> Ints:
    """Runtimes of jobs [s]: early failures, jobs that end before their walltime, and jobs that reach it.

    Parameters
    ----------
    parameters
        Parameters of the year.
    nodes, requests, campaign
        Nodes, walltime request [s] and campaign of each job, shape (n,).
    rng
        Generator of random numbers.

    Returns
    -------
    ndarray of int, shape (n,)
        Runtimes [s], between 1 and the request; mean work of a job is ``work_per_job``.
    """
    together = rng.standard_normal(int(campaign.max()) + 1)[campaign]
    alone = rng.standard_normal(len(nodes))
    score = np.sqrt(parameters.resemblance) * together + np.sqrt(1 - parameters.resemblance) * alone
    u = np.empty(len(nodes))
    # Small and large jobs are ranked separately, so that the few large jobs, which have most of the work, follow the
    # whole distribution too.
    for members in (nodes < 256, (nodes >= 256) & (nodes < _LARGE), nodes >= _LARGE):
        u[members] = _ranks(score[members])
    short_edge = parameters.short_share
    limit_edge = 1 - parameters.limit_share
    near_edge = limit_edge - parameters.near_share
    runtime = requests.astype(float)
    near = (u >= near_edge) & (u < limit_edge)
    runtime[near] *= 0.9 + 0.09 * (u[near] - near_edge) / max(parameters.near_share, 1e-12)
    short = u < short_edge
    # Early failures: log-uniform from 20 s; many fail after the start-up time of a minute or two.
    runtime[short] = 20 * (parameters.short_limit / 20) ** np.sqrt(u[short] / max(short_edge, 1e-12))
    middle = (u >= short_edge) & (u < near_edge)
    share = (u[middle] - short_edge) / max(near_edge - short_edge, 1e-12)
    target = parameters.work_per_job * 3600.0 * len(nodes)
    fixed = float((runtime[~middle] * nodes[~middle]).sum())
    runtime[middle] = _scaled_middle(share, requests[middle], nodes[middle], target - fixed, parameters.middle_shape)
    return np.asarray(np.clip(np.rint(runtime), 1, requests), dtype=np.int64)


def _ranks(values: Floats) -> Floats:
    ranks = np.empty(len(values))
    ranks[np.argsort(values, kind="stable")] = np.arange(len(values)) + 0.5
    return np.asarray(ranks / max(1, len(values)))


def _scaled_middle(share: Floats, requests: Ints, nodes: Ints, work: float, shape: float) -> Floats:
    """Runtimes ``request * 0.9 * share ** g`` with the exponent g for which their work is ``work``.

    The search covers exponents from a fifth to five times ``shape``; a trace of a few jobs may miss its total.
    """
    full = 0.9 * requests.astype(float)
    # No np.dot: its rounding depends on the number of threads.
    low, high = shape / 5, shape * 5
    for _ in range(50):
        exponent = (low + high) / 2
        if (full * share**exponent * nodes).sum() > work:
            low = exponent
        else:
            high = exponent
    return np.asarray(full * share**high)
