"""The memory profile of a stochastic job: the memory that it needs over time, as one cell of the job table."""

from __future__ import annotations

import math

from holdfast.workloads.ground.numbers import decimal

__all__ = ["memory_profile"]


def memory_profile(text: str) -> list[tuple[float, float]]:
    """Parse the memory profile of a job.

    Parameters
    ----------
    text
        ``SECONDS:GB`` for each task, separated by blanks.

    Returns
    -------
    list of (float, float)
        Duration [s] and memory [GB] of each task.

    Raises
    ------
    ValueError
        If the text is not a profile; the message states the legal form.

    Examples
    --------
    >>> memory_profile("255:3.5 871:10")
    [(255.0, 3.5), (871.0, 10.0)]
    """
    legal = "SECONDS:GB for each task, separated by blanks, both finite and >= 0"
    tasks = []
    for word in text.split():
        seconds, _, gigabytes = word.partition(":")
        try:
            task = (decimal(seconds), decimal(gigabytes))
        except ValueError:
            raise ValueError(legal) from None
        if not all(math.isfinite(value) and value >= 0 for value in task):
            raise ValueError(legal)
        tasks.append(task)
    if not tasks:
        raise ValueError(legal)
    return tasks
