"""The running jobs of a replay, by their end (the latest first) and by the end of their walltime (the earliest first).

Loops over whole numbers, which run compiled or as plain Python.
"""

from __future__ import annotations

__all__ = ["insert_run", "remove_last_run"]


def insert_run(job, runs, by_end, ends, by_limit, limits):  # type: ignore[no-untyped-def] # compiled
    """Put a job behind those with the same times into both lists of ``runs`` jobs."""
    spot = runs
    while spot > 0 and ends[by_end[spot - 1]] < ends[job]:
        by_end[spot] = by_end[spot - 1]
        spot -= 1
    by_end[spot] = job
    spot = runs
    while spot > 0 and limits[by_limit[spot - 1]] > limits[job]:
        by_limit[spot] = by_limit[spot - 1]
        spot -= 1
    by_limit[spot] = job


def remove_last_run(runs, by_end, by_limit):  # type: ignore[no-untyped-def] # compiled
    """Take the job that ends first out of both lists of ``runs`` jobs, and return it."""
    job = by_end[runs - 1]
    spot = 0
    while by_limit[spot] != job:
        spot += 1
    while spot < runs - 1:
        by_limit[spot] = by_limit[spot + 1]
        spot += 1
    return job
