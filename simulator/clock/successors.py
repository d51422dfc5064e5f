"""Successors: jobs that are submitted once another one has terminated.

Source: Standard Workload Format 2.2, fields 17 and 18; docs/model.md.
"""

from __future__ import annotations

from collections.abc import Sequence

from simulator.machine.jobstate import JobState
from workloads.ground.units import to_ticks

__all__ = ["move_submit", "successors_of"]


def successors_of(jobs: Sequence[JobState]) -> dict[int, list[JobState]]:
    """For each job on which any depends those that do, in the order of the input."""
    successors: dict[int, list[JobState]] = {}
    for job in jobs:
        if job.job.preceding is not None:
            successors.setdefault(job.job.preceding, []).append(job)
    return successors


def move_submit(job: JobState, now: int) -> int:
    """Submit a job whose preceding one terminates now; returns when that is.

    With a think time that is so long from now, whatever the log says; without one when the log says, or now if that is
    later.
    """
    think = job.job.think_time
    at = max(now, job.submit) if think is None else now + to_ticks(think)
    job.submit = job.first_submit = job.estimated_arrival = at
    return at
