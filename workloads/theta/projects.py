"""Projects and users of generated jobs, and the project of each campaign.

Campaigns are sorted by a key that depends on their job shape, and each project owns a contiguous range of keys; thus
jobs of a project resemble each other. The length of the range changes from month to month.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from holdfast.workloads.theta.year import ThetaYear

__all__ = ["draw_projects", "draw_users"]

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

_MONTH = 365 * 86400.0 / 12
#: Numbers of users of a project: median 1, at most 10, with their shares (2018).
_USERS = ((1, 0.57), (2, 0.26), (3, 0.07), (4, 0.035), (5, 0.02), (6, 0.015), (8, 0.015), (10, 0.015))


def draw_projects(parameters: ThetaYear, shape: Ints, start: Floats, counts: Ints, rng: np.random.Generator) -> Ints:
    """Project of each campaign.

    Parameters
    ----------
    parameters
        Parameters of the year.
    shape
        Number that identifies the job shape of each campaign (size and request), shape (k,).
    start
        Submit time of each campaign [s], shape (k,).
    counts
        Number of jobs of each campaign, shape (k,).
    rng
        Generator of random numbers.

    Returns
    -------
    ndarray of int, shape (k,)
        Projects, numbered from 0; all of them occur in a trace of a year or more.
    """
    count = parameters.projects
    _, cell = np.unique(shape, return_inverse=True)
    cells = rng.random(int(cell.max()) + 1)
    # Campaigns of equal shape get neighbouring keys; different shapes are in random order.
    key = cells[cell] + 1e-3 * rng.random(len(shape))
    stray = rng.random(len(shape)) < parameters.stray_share
    key = np.where(stray, rng.random(len(shape)), key)
    month = np.minimum(start // _MONTH, math.ceil(parameters.span / _MONTH) - 1).astype(np.int64)
    owner = np.empty(len(shape), dtype=np.int64)
    base = rng.standard_normal(count)
    # Every month has the same shares by rank; the projects that hold the ranks change.
    weights = (np.arange(count) + parameters.rank_offset) ** -parameters.rank_exponent
    lasting, passing = math.sqrt(parameters.project_memory), math.sqrt(1 - parameters.project_memory)
    for number in range(int(month.max()) + 1):
        activity = lasting * base + passing * rng.standard_normal(count)
        weight = np.empty(count)
        weight[np.argsort(-activity, kind="stable")] = weights
        members = np.flatnonzero(month == number)
        members = members[np.argsort(key[members], kind="stable")]
        jobs = np.cumsum(counts[members]) - counts[members] / 2
        total = counts[members].sum()
        owner[members] = np.minimum(np.searchsorted(np.cumsum(weight) / weight.sum() * total, jobs), count - 1)
    return _fill_empty_projects(parameters, owner, counts, rng)


def _fill_empty_projects(parameters: ThetaYear, owner: Ints, counts: Ints, rng: np.random.Generator) -> Ints:
    """Move one small campaign to each project without any, because ``projects`` counts projects with jobs."""
    expected = min(parameters.projects, round(parameters.projects * parameters.jobs / parameters.jobs_per_year))
    missing = np.setdiff1d(np.arange(parameters.projects), owner)
    missing = missing[: max(0, expected - (parameters.projects - len(missing)))]
    held = np.bincount(owner, minlength=parameters.projects)
    spare = np.flatnonzero((held[owner] > 5) & (counts <= 3))
    owner = owner.copy()
    chosen = rng.choice(spare, size=min(len(missing), len(spare)), replace=False)
    owner[chosen] = missing[: len(chosen)]
    return owner


def draw_users(parameters: ThetaYear, owner: Ints, rng: np.random.Generator) -> Ints:
    """User of each campaign, numbered from 0 over all projects; larger projects tend to have more users.

    Parameters
    ----------
    parameters
        Parameters of the year.
    owner
        Project of each campaign, shape (k,).
    rng
        Generator of random numbers.

    Returns
    -------
    ndarray of int, shape (k,)
        User of each campaign.
    """
    held = np.bincount(owner, minlength=parameters.projects)
    rank = np.empty(parameters.projects)
    rank[np.argsort(np.log1p(held) + rng.standard_normal(parameters.projects), kind="stable")] = np.arange(
        parameters.projects
    )
    edges = np.cumsum([share for _, share in _USERS])
    place = np.minimum(np.searchsorted(edges, (rank + 0.5) / parameters.projects), len(_USERS) - 1)
    users = np.array([number for number, _ in _USERS])[place]
    first = np.concatenate(([0], np.cumsum(users)))[:-1]
    # The square of a uniform number favours small values: the first user of a project submits most.
    return (first[owner] + np.floor(users[owner] * rng.random(len(owner)) ** 2)).astype(np.int64)
