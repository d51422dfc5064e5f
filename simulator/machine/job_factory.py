"""Factory of job states and runs for each type of job."""

from __future__ import annotations

from collections.abc import Sequence

from holdfast.simulator.machine.job_state import JobState
from holdfast.simulator.machine.node_accounts import Run
from holdfast.simulator.machine.run import JobRun
from holdfast.simulator.machine.stochastic import ReservedRun, StochasticJob
from holdfast.simulator.options import Options
from holdfast.workloads.ground.ticks import list_in_ticks
from holdfast.workloads.table.job import MALLEABLE, RIGID, STOCHASTIC, Job

__all__ = ["begin_run", "job_state", "job_states"]


def job_state(job: Job, row: int, rank: int, origin: int, options: Options, *, baseline: bool) -> JobState:
    """Initial state of a job.

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
    [submit], [runtime], [walltime] = _columns([job], baseline=baseline)
    return _state(job, row, rank, origin, options, submit, runtime, walltime, baseline=baseline)


def job_states(table: Sequence[Job], origin: int, options: Options, *, baseline: bool) -> list[JobState]:
    """Initial states of all jobs of a table, as from :func:`job_state`."""
    ids = [job.job_id for job in table]
    ranks = [0] * len(ids)
    for rank, row in enumerate(sorted(range(len(ids)), key=ids.__getitem__)):
        ranks[row] = rank
    # Times are converted for all jobs at once: one by one, this takes as long as the rest of a state.
    columns = _columns(table, baseline=baseline)
    return [
        _state(job, row, rank, origin, options, submit, runtime, walltime, baseline=baseline)
        for row, (job, rank, submit, runtime, walltime) in enumerate(zip(table, ranks, *columns, strict=True))
    ]


def _columns(table: Sequence[Job], *, baseline: bool) -> tuple[list[int], list[int], list[int]]:
    """Submit, runtime and walltime of each job on the table's clock [ticks]; the submit of a no-show is -1."""
    submits = [-1.0 if job.submit is None else job.submit for job in table]
    if baseline:
        runtimes = [job.runtime if job.trace_runtime is None else job.trace_runtime for job in table]
        walltimes = [job.walltime if job.trace_walltime is None else job.trace_walltime for job in table]
    else:
        runtimes, walltimes = [job.runtime for job in table], [job.walltime for job in table]
    return list_in_ticks(submits), list_in_ticks(runtimes), list_in_ticks(walltimes)


def _state(
    job: Job,
    row: int,
    rank: int,
    origin: int,
    options: Options,
    submit: int,
    runtime: int,
    walltime: int,
    *,
    baseline: bool,
) -> JobState:
    """Initial state of a job from times in ticks."""
    kind = job.type
    if job.submit is not None:
        submit -= origin
    if kind is STOCHASTIC:
        return StochasticJob(job, row, rank, origin, submit, options)
    state = JobState(job, RIGID if baseline else kind, row, rank, origin, submit, runtime, walltime)
    if not baseline:
        if kind is RIGID:
            state.take_overheads()
        elif kind is MALLEABLE:
            state.take_any_size(options.malleable_start, options.malleable_resume)
    return state


def begin_run(job: JobState, now: int) -> Run:
    """Create a run of a job, still without nodes."""
    return ReservedRun(job, now) if isinstance(job, StochasticJob) else JobRun(job, now)
