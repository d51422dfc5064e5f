"""A plain reading of EASY with windows: rigid jobs, whole seconds, the free nodes of every second in a list."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

__all__ = ["Batch", "Closed", "replay"]


class Batch(NamedTuple):
    """A rigid job; seconds."""

    job_id: int
    submit: int
    nodes: int
    walltime: int
    runtime: int


class Closed(NamedTuple):
    """Nodes that are away from ``start`` until before ``end``; known from the beginning."""

    start: int
    end: int
    nodes: int


def replay(jobs: list[Batch], machine: int, windows: list[Closed]) -> dict[int, int]:
    """Start of each job, by its id.

    Every second there is a pass: jobs start in order of submit (ties in the order of the list) while they fit now and
    until their walltimes are over; the first that does not gets the first time at which it does; the others start if
    they fit beside it.
    """
    horizon = max(job.submit for job in jobs) + sum(job.walltime for job in jobs) + 1
    horizon += max((window.end for window in windows), default=0)
    closed = np.zeros(2 * horizon, dtype=int)
    for window in windows:
        closed[window.start : window.end] += window.nodes
    starts: dict[int, int] = {}
    queue = sorted(jobs, key=lambda job: job.submit)
    running: list[Batch] = []
    for now in range(horizon):
        running = [job for job in running if starts[job.job_id] + job.runtime > now]
        waiting = [job for job in queue if job.submit <= now and job.job_id not in starts]
        if not waiting:
            continue
        free = machine - closed
        for job in running:
            free[now : starts[job.job_id] + job.walltime] -= job.nodes
        promised = False
        for job in waiting:
            if (free[now : now + job.walltime] >= job.nodes).all():
                starts[job.job_id] = now
                running.append(job)
                free[now : now + job.walltime] -= job.nodes
            elif not promised:
                promised = True
                at = next(at for at in range(now, horizon) if (free[at : at + job.walltime] >= job.nodes).all())
                free[at : at + job.walltime] -= job.nodes
    return starts
