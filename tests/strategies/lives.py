"""Random job tables in which jobs are withdrawn, depend on each other, and run already: those of the other strategies
with columns of :mod:`holdfast.workloads.table.job_lifecycle`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from hypothesis import strategies as st

from holdfast.workloads.table.job import Job, JobType
from tests.strategies.mixes import Mix, mixes, random_mix
from tests.strategies.tables import HYBRID

__all__ = ["lively", "lively_mixes", "random_lively_mix"]

Pick = Callable[[int, int], int]

_UNIT = 20.0


def lively(pick: Pick, mix: Mix, *, state: bool = True, cancelled: bool = True, held: bool = False) -> Mix:
    """The table with a life.

    Parameters
    ----------
    pick
        Picks an integer from a range.
    mix
        The table.
    state, cancelled, held
        Whether jobs may run already, be withdrawn, and be eligible after their submit.
    """
    jobs = _with_state(pick, mix.jobs, mix.nodes) if state and pick(0, 1) else list(mix.jobs)
    begin = max((job.running_since for job in jobs if job.running_since is not None), default=-np.inf)
    placed: list[Job] = []
    for job in jobs:
        if cancelled and pick(0, 2) == 0:
            since = job.submit if job.submit is not None else job.notice
            assert since is not None
            job = replace(job, cancelled_at=max(since + _UNIT * pick(0, 60), float(begin)))
        before = [other for other in placed if other.submit is not None]
        if before and job.notice is None and job.running_since is None and job.submit is not None and pick(0, 2) == 0:
            think = None if pick(0, 2) == 0 else _UNIT * pick(0, 9)
            chosen = before[pick(0, len(before) - 1)]
            job = replace(job, preceding=chosen.job_id, think_time=think)
        if held and job.notice is None and job.submit is not None and job.running_since is None and pick(0, 1):
            # Before the submit it says nothing.
            job = replace(job, eligible=max(0.0, job.submit + _UNIT * pick(-5, 60)))
        placed.append(job)
    return mix._replace(jobs=placed)


def _with_state(pick: Pick, jobs: list[Job], nodes: int) -> list[Job]:
    """Some jobs run at a time in the middle of the submits."""
    latest = max(job.submit or 0.0 for job in jobs)
    longest = max(job.runtime for job in jobs)
    begin = longest + latest * pick(0, 4) / 4
    free = nodes
    chosen = []
    for job in jobs:
        job = replace(
            job,
            submit=None if job.submit is None else job.submit + longest,
            notice=None if job.notice is None else job.notice + longest,
            estimated_arrival=None if job.estimated_arrival is None else job.estimated_arrival + longest,
        )
        runtime = min(job.runtime, job.trace_runtime or job.runtime)
        if job.type is not JobType.STOCHASTIC and job.notice is None and job.nodes <= free and pick(0, 2) == 0:
            free -= job.nodes
            since = begin - runtime * pick(0, 15) / 16
            job = replace(job, submit=max(0.0, since - _UNIT * pick(0, 20)), running_since=since)
        chosen.append(job)
    return chosen


@st.composite
def lively_mixes(
    draw: st.DrawFn,
    *,
    max_jobs: int = 12,
    types: tuple[JobType, ...] = HYBRID,
    state: bool = True,
    cancelled: bool = True,
    held: bool = False,
) -> Mix:
    """Small random tables of every kind of job with a life; parameters as for :func:`lively` and ``mixes``."""
    mix = draw(mixes(max_jobs=max_jobs, types=types))
    return lively(lambda low, high: draw(st.integers(low, high)), mix, state=state, cancelled=cancelled, held=held)


def random_lively_mix(seed: int, *, max_jobs: int = 12, types: tuple[JobType, ...] = HYBRID) -> Mix:
    """The same from a seed, for bulk runs."""
    rng = np.random.default_rng([seed, 2])
    return lively(lambda low, high: int(rng.integers(low, high + 1)), random_mix(seed, max_jobs=max_jobs, types=types))
