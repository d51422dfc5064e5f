"""Episodes: job tables for environments, cut from one table or generated from a seed."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from typing import Protocol

from workloads.ground.errors import InputError, ParameterError
from workloads.ground.numbers import is_whole
from workloads.table.job import Job, JobType
from workloads.table.validation import check_jobs

__all__ = ["Episodes", "Made", "Slices", "make_episodes"]

#: Episodes that are made from a seed have numbers below that.
_SEEDS = 2**31


class Episodes(Protocol):
    """Job tables by number.

    Attributes
    ----------
    count
        How many there are.
    stride
        Distance between numbers of slices that share no job.
    """

    count: int
    stride: int

    def __getitem__(self, number: int) -> Sequence[Job]:
        """The jobs of an episode, which are legal."""


class Slices:
    """Runs of consecutive jobs.

    Parameters
    ----------
    jobs
        Jobs; their times stay as they are.
    length
        Jobs of a slice, >= 2.
    nodes
        Size of the machine.
    types
        Types of jobs that may occur.

    Raises
    ------
    InputError
        If a job is not legal or of another type, or there are fewer than ``length``.
    """

    def __init__(self, jobs: Sequence[Job], length: int, nodes: int, types: Collection[JobType]) -> None:
        if not is_whole(length, 2):
            raise ParameterError("length", "a whole number of jobs, at least 2", length)
        if len(jobs) < length:
            raise ParameterError("length", f"at most {len(jobs):,}, the jobs that there are", length)
        _check(jobs, nodes, types)
        self._jobs = sorted(jobs, key=lambda job: (_comes(job), job.job_id))
        self._depending = any(job.preceding is not None for job in jobs)
        self.length = self.stride = length
        #: How many slices there are; each begins with another job.
        self.count = len(jobs) - length + 1

    def __getitem__(self, number: int) -> Sequence[Job]:
        """The jobs of a slice; a job that depends on one outside of it depends on none."""
        _check_number(number, self.count)
        piece = self._jobs[number : number + self.length]
        if not self._depending:
            return piece
        inside = {job.job_id for job in piece}
        return [job if job.preceding in inside else replace(job, preceding=None, think_time=None) for job in piece]


class Made:
    """Job tables that a function makes, such as generated years: the number of an episode is the seed.

    Parameters
    ----------
    make
        From a seed to jobs.
    nodes, types
        As of :class:`Slices`.
    """

    def __init__(self, make: Callable[[int], Sequence[Job]], nodes: int, types: Collection[JobType]) -> None:
        self._make = make
        self._nodes = nodes
        self._types = types
        self.count = _SEEDS
        self.stride = 1

    def __getitem__(self, number: int) -> Sequence[Job]:
        """The jobs of that seed."""
        _check_number(number, self.count)
        jobs = list(self._make(number))
        _check(jobs, self._nodes, self._types)
        return jobs


def make_episodes(
    jobs: Sequence[Job] | Callable[[int], Sequence[Job]], length: int, nodes: int, types: Collection[JobType]
) -> Episodes:
    """Slices of jobs, or what a function makes from a seed."""
    return Made(jobs, nodes, types) if callable(jobs) else Slices(jobs, length, nodes, types)


def _comes(job: Job) -> float:
    """When a job comes to the machine; a no-show when it was announced for."""
    times = (job.submit, job.estimated_arrival, job.running_since)
    return next((time for time in times if time is not None), 0.0)


def _check(jobs: Sequence[Job], nodes: int, types: Collection[JobType]) -> None:
    if not jobs:
        raise InputError("there are no jobs to learn on")
    for job in jobs:
        if job.type not in types:
            legal = " or ".join(kind.value for kind in JobType if kind in types)
            hint = ": prepare the trace with as_rigid" if set(types) == {JobType.RIGID} else ""
            raise InputError(f"jobs to learn on must be {legal}, and job {job.job_id} is {job.type.value}{hint}")
        if job.running_since is not None:
            raise InputError(f"an episode begins on an empty machine, and job {job.job_id} runs already")
    check_jobs(jobs, nodes=nodes)


def _check_number(number: int, count: int) -> None:
    if not (is_whole(number, 0) and number < count):
        raise ParameterError("slice", f"a whole number from 0 to {count - 1:,}", number)
