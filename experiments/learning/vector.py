"""Vectorised environments: several copies of one environment that step together."""

from __future__ import annotations

from copy import copy
from functools import partial
from typing import Any

from gymnasium.vector import AsyncVectorEnv, SyncVectorEnv

from holdfast.experiments.learning.environment import Environment
from holdfast.workloads.ground.numbers import check_whole

__all__ = ["vector"]


def vector(environment: Environment[Any], count: int, *, processes: bool = True) -> AsyncVectorEnv | SyncVectorEnv:
    """Make a Gymnasium vector environment from copies of an environment.

    Parameters
    ----------
    environment
        The environment to copy, which is not modified.
    count
        Number of copies, >= 1.
    processes
        Whether each copy runs in a separate process; otherwise all run in this one, one after the other.

    Returns
    -------
    gymnasium.vector.VectorEnv
        The same steps either way. ``reset(seed=s)`` gives copy i the seed s + i. The masks are
        ``infos["action_mask"]``, shape (count, answers).

    Raises
    ------
    ParameterError
        If the count is not legal.

    Examples
    --------
    >>> from holdfast.experiments.learning.job_choice import JobChoice
    >>> from holdfast.workloads.table.job import Job, JobType
    >>> jobs = [Job(i, JobType.RIGID, 0.0, 2, 60.0 * i, 3600.0) for i in range(1, 9)]
    >>> environments = vector(JobChoice(jobs, 4, first=4, length=6), 3, processes=False)
    >>> environments.reset(seed=1)[0].shape
    (3, 4, 7)
    """
    check_whole("count", count, 1, "a whole number of environments, at least 1")
    makers = [partial(copy, environment)] * count
    return AsyncVectorEnv(makers) if processes else SyncVectorEnv(makers)
