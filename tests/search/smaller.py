"""Smaller cases: what can be left out while the fault stays is left out."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from holdfast.workloads.table.job import Job
from tests.search.cases import Case

__all__ = ["smallest"]

#: What a job can do without.
_PLAIN = {
    "cancelled_at": None,
    "think_time": None,
    "preceding": None,
    "running_since": None,
    "eligible": None,
    "checkpoint_interval": None,
    "checkpoint_cost": 0.0,
    "setup": 0.0,
    "trace_runtime": None,
    "trace_walltime": None,
    "user": "",
    "project": "",
}


def smallest(case: Case, fails: Callable[[Case], bool], most: int = 2000) -> Case:
    """The smallest case that is found in so many tries and still fails."""
    tries = 0
    again = True
    while again and tries < most:
        again = False
        for smaller in _smaller(case):
            tries += 1
            if tries >= most:
                break
            try:
                if not fails(smaller):
                    continue
            except Exception:
                continue
            case, again = smaller, True
            break
    return case


def _smaller(case: Case) -> Iterator[Case]:
    if case.failures is not None:
        yield replace(case, failures=None)
    for place in range(len(case.jobs)):
        gone = case.jobs[place].job_id
        jobs = tuple(_without(job, gone) for job in case.jobs[:place] + case.jobs[place + 1 :])
        outages = [replace(item, jobs=tuple(one for one in item.jobs if one != gone)) for item in case.outages]
        if jobs:
            yield replace(case, jobs=jobs, outages=tuple(outages))
    for place in range(len(case.outages)):
        yield replace(case, outages=case.outages[:place] + case.outages[place + 1 :])
    for name in case.options:
        yield replace(case, options={key: value for key, value in case.options.items() if key != name})
    for place, job in enumerate(case.jobs):
        for name, value in _PLAIN.items():
            if getattr(job, name) != value:
                yield _with(case, place, replace(job, **{name: value}))
        if job.walltime > job.runtime and not job.application:
            yield _with(case, place, replace(job, walltime=job.runtime))
        if job.min_nodes is None and job.nodes > 1:
            yield _with(case, place, replace(job, nodes=job.nodes // 2))
    if case.nodes > max(job.nodes for job in case.jobs):
        yield replace(case, nodes=case.nodes - 1)


def _without(job: Job, gone: int) -> Job:
    return replace(job, preceding=None, think_time=None) if job.preceding == gone else job


def _with(case: Case, place: int, job: Job) -> Case:
    return replace(case, jobs=(*case.jobs[:place], job, *case.jobs[place + 1 :]))
