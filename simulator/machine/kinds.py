"""Kinds of jobs: which state a job of each type has, and which run."""

from __future__ import annotations

from simulator.machine.holders import Run
from simulator.machine.jobstate import FixedJob, JobState, MalleableJob
from simulator.machine.run import FixedRun, MalleableRun
from simulator.machine.stochastic import ReservedRun, StochasticJob
from simulator.options import Options
from workloads.table.job import MALLEABLE, RIGID, STOCHASTIC, Job

__all__ = ["begin_run", "job_state"]


def job_state(job: Job, row: int, rank: int, origin: int, options: Options, *, baseline: bool) -> JobState:
    """The state of a job before anything has happened.

    Parameters
    ----------
    job
        A valid row of the job table.
    row, rank
        Its position in the table, and in the order of job ids.
    origin
        Ticks of the table's clock at which the simulated clock stands at 0.
    options
        How the machine is operated.
    baseline
        Whether on-demand and malleable jobs are rigid, too, and all of these at their trace runtime and walltime
        (docs/model.md, "Readings that are not parameters"). Stochastic jobs are what they are under every mechanism.
    """
    if job.type is STOCHASTIC:
        return StochasticJob(job, row, rank, origin, options)
    if baseline:
        return FixedJob(job, RIGID, row, rank, origin, baseline=True)
    if job.type is MALLEABLE:
        return MalleableJob(job, row, rank, origin)
    return FixedJob(job, job.type, row, rank, origin, baseline=False)


def begin_run(job: JobState, now: int) -> Run:
    """A run of that job, still without nodes."""
    if isinstance(job, FixedJob):
        return FixedRun(job, now)
    if isinstance(job, MalleableJob):
        return MalleableRun(job, now)
    if isinstance(job, StochasticJob):
        return ReservedRun(job, now)
    raise TypeError(f"{job!r} is no job that can run")
