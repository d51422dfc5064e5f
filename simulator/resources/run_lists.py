"""The running jobs of a replay in two sorted lists: by end, latest first, and by end of walltime, earliest first.

Loops over whole numbers, which run compiled or as plain Python.
"""

from __future__ import annotations

from typing import Any

from holdfast.simulator.resources.loop_arguments import Runs

__all__ = ["insert_run", "remove_last_run"]


def insert_run(job: Any, total: Any, runs: Runs) -> None:
    """Put a job behind those with the same times into both lists of ``total`` jobs."""
    by_end = runs.by_end
    by_limit = runs.by_limit
    ends = runs.ends
    limits = runs.limits
    spot = total
    while spot > 0 and ends[by_end[spot - 1]] < ends[job]:
        by_end[spot] = by_end[spot - 1]
        spot -= 1
    by_end[spot] = job
    spot = total
    while spot > 0 and limits[by_limit[spot - 1]] > limits[job]:
        by_limit[spot] = by_limit[spot - 1]
        spot -= 1
    by_limit[spot] = job


def remove_last_run(total: Any, runs: Runs) -> Any:
    """Take the job that ends first out of both lists of ``total`` jobs, and return it."""
    by_limit = runs.by_limit
    job = runs.by_end[total - 1]
    spot = 0
    while by_limit[spot] != job:
        spot += 1
    while spot < total - 1:
        by_limit[spot] = by_limit[spot + 1]
        spot += 1
    return job
