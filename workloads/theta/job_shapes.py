"""Sizes, requested walltimes and runtimes of generated jobs.

Quantiles are drawn by *stratified sampling*: a random order of the jobs, cut at the cumulative shares of a table. Every
seed thus has the distribution of the table to within one campaign, and years differ in their order but not in their
work.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from workloads.theta.year import FAVOURITE_SIZES, OTHER_SIZES, REQUESTS, ThetaYear

__all__ = ["draw_requests", "draw_runtimes", "draw_sizes"]

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

#: Capability jobs: from here on a job may ask for a day.
_LARGE = 802


def _quantiles(order: Floats, counts: Ints) -> Floats:
    """Place of each unit of ``counts`` jobs in the jobs sorted by ``order``, as a number in (0, 1)."""
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
        Draws.

    Returns
    -------
    ndarray of int, shape (u,)
        Nodes, at most those of the machine.
    """
    table = [(nodes, nodes, weight) for nodes, weight in FAVOURITE_SIZES] + list(OTHER_SIZES)
    table.sort()
    weights = np.array([weight for _, _, weight in table])
    order = rng.random(len(counts))
    # Long campaigns keep to the lower sizes: no campaign has fifty jobs of half the machine.
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
        Size of each unit and its jobs, shape (u,).
    rng
        Draws.

    Returns
    -------
    ndarray of int, shape (u,)
        Seconds, at most what the bracket of the size allows.
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
    """Runtimes of jobs [s]: early failures, jobs that end on their own, jobs at the limit.

    Parameters
    ----------
    parameters
        Parameters of the year.
    nodes, requests, campaign
        Nodes of each job, shape (n,).
    rng
        Draws.

    Returns
    -------
    ndarray of int, shape (n,)
        Seconds, between 1 and the request; the total work is ``work_per_job`` for each job.
    """
    together = rng.standard_normal(int(campaign.max()) + 1)[campaign]
    alone = rng.standard_normal(len(nodes))
    score = np.sqrt(parameters.resemblance) * together + np.sqrt(1 - parameters.resemblance) * alone
    u = np.empty(len(nodes))
    # Ranked apart for small and large jobs: the few that carry most of the work have the whole distribution too.
    for members in (nodes < 256, (nodes >= 256) & (nodes < _LARGE), nodes >= _LARGE):
        u[members] = _ranks(score[members])
    short_edge = parameters.short_share
    limit_edge = 1 - parameters.limit_share
    near_edge = limit_edge - parameters.near_share
    runtime = requests.astype(float)
    near = (u >= near_edge) & (u < limit_edge)
    runtime[near] *= 0.9 + 0.09 * (u[near] - near_edge) / max(parameters.near_share, 1e-12)
    short = u < short_edge
    # Early failures: log-uniform from 20 s, many at their batch system's start-up time of a minute or two.
    runtime[short] = 20 * (parameters.short_limit / 20) ** np.sqrt(u[short] / max(short_edge, 1e-12))
    middle = (u >= short_edge) & (u < near_edge)
    share = (u[middle] - short_edge) / max(near_edge - short_edge, 1e-12)
    target = parameters.work_per_job * 3600.0 * len(nodes)
    fixed = float(np.dot(runtime[~middle], nodes[~middle]))
    runtime[middle] = _scaled_middle(share, requests[middle], nodes[middle], target - fixed, parameters.middle_shape)
    return np.asarray(np.clip(np.rint(runtime), 1, requests), dtype=np.int64)


def _ranks(values: Floats) -> Floats:
    ranks = np.empty(len(values))
    ranks[np.argsort(values, kind="stable")] = np.arange(len(values)) + 0.5
    return np.asarray(ranks / max(1, len(values)))


def _scaled_middle(share: Floats, requests: Ints, nodes: Ints, work: float, shape: float) -> Floats:
    """Runtimes ``request * 0.9 * share ** g`` with the exponent g that makes their work what is left of the total.

    The exponent is sought between a fifth and five times ``shape``; a trace of a few jobs may miss its total.
    """
    full = 0.9 * requests.astype(float)
    low, high = shape / 5, shape * 5
    for _ in range(50):
        exponent = (low + high) / 2
        if np.dot(full * share**exponent, nodes) > work:
            low = exponent
        else:
            high = exponent
    return np.asarray(full * share**high)
