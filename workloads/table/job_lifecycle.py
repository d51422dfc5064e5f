"""Validation of the life cycle of jobs in a job table: cancellations, dependencies and the starting state.

:mod:`holdfast.workloads.table.validation` calls these checks only if a job has such a column.
"""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral

import numpy as np

from holdfast.workloads.ground.units import COSTS, LARGEST_TIME
from holdfast.workloads.table.job import Job, JobType
from holdfast.workloads.table.jobs import Jobs

__all__ = ["broken_life", "cross_job_violation", "has_life", "replay_start"]

#: Times within a tick of the simulated clock are equal [s].
_TICK = 1.5e-6


def has_life(job: Job) -> bool:
    """Whether a job has a cancellation, a dependency or a hold, or runs at the start of the replay."""
    return (
        job.cancelled_at is not None
        or job.preceding is not None
        or job.think_time is not None
        or job.running_since is not None
        or job.eligible is not None
    )


def replay_start(jobs: Sequence[Job]) -> float | None:
    """Start of the replay [s]: the latest start of a running job; None: the first submit."""
    if isinstance(jobs, Jobs) and jobs.is_columns:
        return float(np.nanmax(jobs.column("running_since"))) if jobs.has("running_since") else None
    return max((job.running_since for job in jobs if job.running_since is not None), default=None)


def broken_life(job: Job) -> tuple[str, str] | None:
    """Field and rule that a job breaks by itself. Comparisons are written so that NaN fails them."""
    return _broken_cancellation(job) or _broken_predecessor(job) or _broken_run(job) or _broken_eligible(job)


def _broken_cancellation(job: Job) -> tuple[str, str] | None:
    if job.cancelled_at is None:
        return None
    # If the job never arrives, the cancellation withdraws its notice.
    name, since = ("submit", job.submit) if job.submit is not None else ("notice", job.notice)
    if since is None or not since - _TICK <= job.cancelled_at <= LARGEST_TIME:
        return "cancelled_at", f"missing, or from its {name} of {since} s to {LARGEST_TIME:,.0f} s"
    return None


def _broken_predecessor(job: Job) -> tuple[str, str] | None:
    if job.preceding is None:
        return None if job.think_time is None else ("think_time", "missing for a job without a preceding one")
    if not _is_whole(job.preceding):
        return "preceding", "a whole number, or missing"
    if job.notice is not None:
        return "preceding", "missing for a job with a notice, which says when it arrives"
    if job.running_since is not None:
        return "preceding", "missing for a job that runs already"
    if job.think_time is not None and not 0 <= job.think_time <= LARGEST_TIME:
        return "think_time", f"{COSTS}, or missing"
    return None


def _broken_run(job: Job) -> tuple[str, str] | None:
    """Rules of a job that runs when the replay begins."""
    if job.running_since is None:
        return None
    if job.type is JobType.STOCHASTIC:
        return "running_since", "missing for a stochastic job, because its reservations so far are unknown"
    if job.notice is not None:
        return "running_since", "missing for a job with a notice, which has not arrived"
    if job.submit is None or not job.submit - _TICK <= job.running_since <= LARGEST_TIME:
        return "running_since", f"missing, or from its submit of {job.submit} s to {LARGEST_TIME:,.0f} s"
    return None


def _broken_eligible(job: Job) -> tuple[str, str] | None:
    if job.eligible is None:
        return None
    if job.notice is not None:
        return "eligible", "missing for a job with a notice, which says when it arrives"
    if not 0 <= job.eligible <= LARGEST_TIME:
        return "eligible", f"{COSTS}, or missing"
    if job.running_since is not None and job.running_since < job.eligible - _TICK:
        return "eligible", f"missing, or at most its running_since of {job.running_since} s"
    return None


def _is_whole(value: object) -> bool:
    return isinstance(value, Integral)


def cross_job_violation(jobs: Sequence[Job], nodes: int | None) -> tuple[int, str, str] | None:
    """The first violation of a rule about several jobs: index of a job, field and sentence.

    Parameters
    ----------
    jobs
        Jobs that are legal by themselves, with unique ids.
    nodes
        Number of nodes of the machine; None: not checked.
    """
    return _broken_dependency(jobs) or _broken_start(jobs, nodes)


def _broken_dependency(jobs: Sequence[Job]) -> tuple[int, str, str] | None:
    places = {job.job_id: index for index, job in enumerate(jobs)}

    def refusal(index: int, legal: str) -> tuple[int, str, str]:
        job = jobs[index]
        return index, "preceding", f"preceding of job {job.job_id} must be {legal}, not {job.preceding}"

    #: Jobs that are known to be in no cycle of dependencies.
    sound: set[int] = set()
    for index, job in enumerate(jobs):
        if job.preceding is None:
            continue
        place = places.get(job.preceding)
        if place is None:
            return refusal(index, "a job of the table")
        if jobs[place].submit is None:
            return refusal(index, "a job that arrives")
        path: list[int] = []
        here: int | None = index
        while here is not None and here not in sound:
            sound.add(here)
            path.append(here)
            before = jobs[here].preceding
            here = None if before is None else places.get(before)
        if here is not None and here in path:
            return refusal(here, "a job that does not itself wait for this one")
    return None


def _broken_start(jobs: Sequence[Job], nodes: int | None) -> tuple[int, str, str] | None:
    begin = replay_start(jobs)
    if begin is None:
        return None
    used, last = 0, 0
    for index, job in enumerate(jobs):
        if job.running_since is not None:
            used, last = used + job.nodes, index
            # The baseline uses the times of the trace.
            runtime = job.runtime if job.trace_runtime is None else min(job.runtime, job.trace_runtime)
            if job.running_since + runtime < begin + _TICK:
                legal = f"later than {begin - runtime} s, for the replay begins at {begin} s and it has to run then"
                received = job.running_since
                return index, "running_since", f"running_since of job {job.job_id} must be {legal}, not {received}"
        if job.cancelled_at is not None and job.submit is not None and job.cancelled_at < begin - _TICK:
            legal = f"at least {begin} s, where the replay begins"
            return index, "cancelled_at", f"cancelled_at of job {job.job_id} must be {legal}, not {job.cancelled_at}"
    if nodes is not None and used > nodes:
        sentence = (
            f"the jobs that run already at {begin} s need {used:,} nodes, and must need at most the {nodes:,} nodes "
            "of the machine"
        )
        return last, "running_since", sentence
    return None
