"""Slices: pieces of a job table, one of which is an episode."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from workloads.ground.errors import InputError, ParameterError
from workloads.ground.numbers import is_whole
from workloads.table.job import Job, JobType

__all__ = ["Slices"]


class Slices:
    """Runs of consecutive jobs.

    Parameters
    ----------
    jobs
        Rigid jobs.
    length
        Jobs of a slice, >= 2.

    Raises
    ------
    InputError
        If a job is not rigid, or there are fewer than ``length``.
    """

    def __init__(self, jobs: Sequence[Job], length: int) -> None:
        if not is_whole(length, 2):
            raise ParameterError("length", "a whole number of jobs, at least 2", length)
        if any(job.type is not JobType.RIGID or job.submit is None for job in jobs):
            raise InputError("jobs to learn on must be rigid: prepare the trace with as_rigid")
        if len(jobs) < length:
            raise ParameterError("length", f"at most {len(jobs):,}, the jobs that there are", length)
        self._jobs = sorted(jobs, key=lambda job: (job.submit or 0.0, job.job_id))
        self.length = length
        #: How many slices there are; each begins with another job.
        self.count = len(jobs) - length + 1

    def draw(self, rng: np.random.Generator) -> int:
        """The number of a random slice."""
        return int(rng.integers(self.count))

    def __getitem__(self, number: int) -> list[Job]:
        """The jobs of a slice; the first is submitted at 0."""
        if not (is_whole(number, 0) and number < self.count):
            raise ParameterError("slice", f"a whole number from 0 to {self.count - 1:,}", number)
        piece = self._jobs[number : number + self.length]
        first = piece[0].submit or 0.0
        return [replace(job, submit=(job.submit or 0.0) - first) for job in piece]
