"""Jobs that a machine cannot hold by its size: they are left out of a state, and named.

Logs have such moments: starts and ends are rounded, machines shrink and grow, and the size of a machine may be
estimated from a past that did not fill it. Source: docs/forecast.md, "The state".
"""

from __future__ import annotations

from collections.abc import Sequence

from holdfast.experiments.forecast.seen_job import SeenJob
from holdfast.workloads.ground.job_ids import job_id_text

__all__ = ["describe_excluded_jobs", "fit_machine"]

#: Number of jobs that a sentence names.
_NAMED = 5


def fit_machine(jobs: Sequence[SeenJob], nodes: int) -> tuple[tuple[SeenJob, ...], tuple[SeenJob, ...]]:
    """Divide the jobs of a state into those that a machine can hold, and the others.

    Parameters
    ----------
    jobs
        Running and waiting jobs.
    nodes
        Size of the machine.

    Returns
    -------
    tuple
        The jobs that remain, and those left out, each in the given order: jobs larger than the machine, and running
        jobs until the others fit, in the order of the ends of their walltimes: a job that has ended, although the log
        says otherwise, is most likely one of these.
    """
    out = {place for place, job in enumerate(jobs) if job.nodes > nodes}
    running = sorted(
        (job.start + job.walltime, place)
        for place, job in enumerate(jobs)
        if job.start is not None and place not in out
    )
    over = sum(jobs[place].nodes for _, place in running) - nodes
    for _, place in running:
        if over <= 0:
            break
        out.add(place)
        over -= jobs[place].nodes
    kept = tuple(job for place, job in enumerate(jobs) if place not in out)
    return kept, tuple(job for place, job in enumerate(jobs) if place in out)


def describe_excluded_jobs(jobs: Sequence[SeenJob], nodes: int, unit: str) -> str:
    """A sentence that names jobs that are left out, with the size of the machine and the unit of sizes."""
    names = [
        f"{job_id_text(job.job_id)} ({job.nodes:,} {unit if job.nodes > 1 else unit.removesuffix('s')})"
        for job in jobs[:_NAMED]
    ]
    more = f" and {len(jobs) - _NAMED:,} more" if len(jobs) > _NAMED else ""
    count = "1 job is" if len(jobs) == 1 else f"{len(jobs):,} jobs are"
    return (
        f"{count} left out, because the jobs of this time need more than the {nodes:,} "
        f"{unit if nodes > 1 else unit.removesuffix('s')} of the machine: {', '.join(names)}{more}"
    )
