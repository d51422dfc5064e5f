"""Validation of single jobs and of lists of jobs.

The reader of the job table and the simulator call the same function, so jobs from a file and jobs made in Python obey
the same rules.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from numbers import Integral

import numpy as np
from numpy.typing import NDArray

from holdfast.workloads.ground.errors import InputError, format_value
from holdfast.workloads.ground.text_cells import LARGEST_WHOLE
from holdfast.workloads.ground.units import COSTS, DURATIONS, LARGEST_SIZE, LARGEST_TIME, SHORTEST_TIME, TIMES
from holdfast.workloads.table.job import Job, JobType
from holdfast.workloads.table.job_lifecycle import broken_life, cross_job_violation, has_life
from holdfast.workloads.table.jobs import Jobs
from holdfast.workloads.table.memory_profile import memory_profile

__all__ = ["Fault", "check_jobs", "first_fault"]

#: Times within a tick of the simulated clock are equal [s]; the margin covers the rounding of large floats.
_TICK = 1.5e-6

#: Columns of the life cycle, except the job id ``preceding``.
_LIFE = ("cancelled_at", "think_time", "running_since", "eligible")
#: Fields that only stochastic jobs have.
_OF_STOCHASTIC = ("application", "true_runtime", "plan", "restart_cost", "memory_profile")


@dataclass(frozen=True, slots=True)
class Fault:
    """A violation of a rule by a job in a list.

    Attributes
    ----------
    index
        Index of the job in the list.
    field
        Name of the field, as in the job table.
    sentence
        Message with the job, the field, the legal values and the value.
    """

    index: int
    field: str
    sentence: str


def check_jobs(jobs: Sequence[Job], nodes: int | None = None, *, where: str = "") -> None:
    """Reject jobs that break a rule of the job table.

    Parameters
    ----------
    jobs
        A workload.
    nodes
        Number of nodes of the machine; None: not checked.
    where
        Origin of the jobs, for the message.

    Raises
    ------
    InputError
        If a job breaks a rule; names the id of the first such job, the field, the legal values and the value.

    Examples
    --------
    >>> check_jobs([Job(7, JobType.RIGID, 0.0, 128, 3600.0, 1800.0)])
    Traceback (most recent call last):
    holdfast.workloads.ground.errors.InputError: runtime of job 7 must be at most its walltime of 1800.0 s, not 3600.0
    """
    fault = first_fault(jobs, nodes)
    if fault is not None:
        raise InputError(f"{where}: {fault.sentence}" if where else fault.sentence)


def first_fault(jobs: Sequence[Job], nodes: int | None = None) -> Fault | None:
    """The first violation of a rule of the job table, or None; see :func:`check_jobs`."""
    most = math.inf if nodes is None else nodes
    lively = False
    for index, job in _doubtful_rows(jobs, most):
        try:
            broken = _broken_rule(job, most)
            if broken is None and has_life(job):
                lively = True
                broken = broken_life(job)
        except (TypeError, AttributeError) as error:
            name = getattr(job, "job_id", f"number {index + 1}")
            return Fault(index, "", f"job {name} holds a value of the wrong kind ({error})")
        if broken is not None:
            field, legal = broken
            received = getattr(job, field)
            received = (
                "missing"
                if received is None
                else format_value(received.value if isinstance(received, JobType) else received)
            )
            return Fault(index, field, f"{field} of job {format_value(job.job_id)} must be {legal}, not {received}")
    fault = _find_duplicate_id(jobs)
    if fault is None and lively:
        together = cross_job_violation(jobs, nodes)
        return None if together is None else Fault(*together)
    return fault


def _doubtful_rows(jobs: Sequence[Job], most: float) -> Iterable[tuple[int, Job]]:
    """Jobs that may break a rule, with their indices; jobs in columns that certainly obey all rules are skipped."""
    if not (isinstance(jobs, Jobs) and jobs.is_columns):
        return enumerate(jobs)
    places = np.flatnonzero(~_legal_rows(jobs, most))
    return zip(places.tolist(), jobs.select(places), strict=True)


def _legal_rows(jobs: Jobs, most: float) -> NDArray[np.bool_]:
    """Mask of the jobs that certainly obey all rules, computed by columns, shape (n,).

    Stochastic jobs and jobs with life-cycle columns are left to :func:`_broken_rule`.
    """
    if jobs.has("preceding") or jobs.has("restart_cost"):
        return np.zeros(len(jobs), np.bool_)
    legal = ~jobs.are(JobType.STOCHASTIC)
    for name in (*_LIFE, "true_runtime"):
        if name in jobs.columns:
            legal &= np.isnan(jobs.column(name))
    for name in ("application", "plan", "memory_profile"):
        if name in jobs.columns:
            is_empty = np.array([not text for text in jobs.names])
            legal &= is_empty[jobs.column(name)]
    nodes = jobs.column("nodes")
    legal &= (nodes >= 1) & (nodes <= min(LARGEST_SIZE, most))
    return legal & _legal_durations(jobs) & _legal_min_nodes(jobs) & _legal_submits(jobs)


def _legal_durations(jobs: Jobs) -> NDArray[np.bool_]:
    runtime, walltime = jobs.column("runtime"), jobs.column("walltime")
    setup, cost = jobs.column("setup"), jobs.column("checkpoint_cost")
    legal = _long(walltime) & _long(runtime) & (runtime <= walltime + _TICK)
    legal &= (setup >= 0) & (setup <= LARGEST_TIME) & (setup <= runtime + _TICK)
    legal &= (cost >= 0) & (cost <= LARGEST_TIME)
    if "trace_runtime" in jobs.columns or "trace_walltime" in jobs.columns:
        trace_runtime, trace_walltime = jobs.column("trace_runtime"), jobs.column("trace_walltime")
        trace_runtime = np.where(np.isnan(trace_runtime), runtime, trace_runtime)
        trace_walltime = np.where(np.isnan(trace_walltime), walltime, trace_walltime)
        legal &= _long(trace_runtime) & _long(trace_walltime) & (trace_runtime <= trace_walltime + _TICK)
    if "checkpoint_interval" in jobs.columns:
        interval = jobs.column("checkpoint_interval")
        legal &= np.isnan(interval) | (jobs.are(JobType.RIGID) & _long(interval))
    return legal


def _legal_min_nodes(jobs: Jobs) -> NDArray[np.bool_]:
    malleable = jobs.are(JobType.MALLEABLE)
    if "min_nodes" not in jobs.columns:
        return ~malleable
    nodes = jobs.column("nodes")
    min_nodes = np.array([-1 if value is None else value for value in jobs.column("min_nodes").tolist()])
    missing = min_nodes == -1
    return np.where(malleable, (min_nodes >= 1) & (min_nodes <= nodes), missing | (min_nodes == nodes))


def _legal_submits(jobs: Jobs) -> NDArray[np.bool_]:
    """Mask of the legal submits and notices; an on-demand job, the only one with a notice, has no setup."""
    submit, on_demand = jobs.column("submit"), jobs.are(JobType.ON_DEMAND)
    legal_submit = (submit >= 0) & (submit <= LARGEST_TIME)
    without_setup = jobs.column("setup") == 0
    if not ("notice" in jobs.columns or "estimated_arrival" in jobs.columns):
        legal: NDArray[np.bool_] = legal_submit & (~on_demand | without_setup)
        return legal
    notice, estimated = jobs.column("notice"), jobs.column("estimated_arrival")
    never_arrives = np.isnan(submit)
    announced = (np.abs(notice) <= LARGEST_TIME) & (np.abs(estimated) <= LARGEST_TIME) & (notice <= estimated + _TICK)
    announced &= never_arrives | ((np.abs(submit) <= LARGEST_TIME) & (notice <= submit + _TICK))
    unannounced = np.isnan(notice) & np.isnan(estimated) & legal_submit
    return np.where(on_demand, without_setup & (unannounced | announced), unannounced)


def _long(times: NDArray[np.float64]) -> NDArray[np.bool_]:
    long: NDArray[np.bool_] = (times > SHORTEST_TIME) & (times <= LARGEST_TIME)
    return long


def _find_duplicate_id(jobs: Sequence[Job]) -> Fault | None:
    ids = np.sort(jobs.column("job_id")) if isinstance(jobs, Jobs) and jobs.is_columns else None
    if len({job.job_id for job in jobs}) == len(jobs) if ids is None else not (ids[1:] == ids[:-1]).any():
        return None
    seen: set[int] = set()
    for index, job in enumerate(jobs):
        if job.job_id in seen:
            return Fault(index, "job_id", f"job_id of job {job.job_id} must be unique, but an earlier job has it too")
        seen.add(job.job_id)
    return None


def _is_whole(value: object) -> bool:
    return isinstance(value, Integral)


def _broken_rule(job: Job, most: float) -> tuple[str, str] | None:
    """Field and rule that the job breaks. Comparisons are written so that NaN fails them."""
    job_id = job.job_id
    if type(job.type) is not JobType:
        return "type", "a JobType"
    if type(job_id) is not int and not _is_whole(job_id):
        return "job_id", "a whole number"
    if not -LARGEST_WHOLE - 1 <= job_id <= LARGEST_WHOLE:
        return "job_id", f"a whole number up to {LARGEST_WHOLE:,}"
    return (
        _broken_size(job, most)
        or _broken_times(job)
        or _broken_trace_times(job)
        or _broken_min_nodes(job)
        or _broken_checkpoints(job)
        or _broken_stochastic(job)
        or _broken_arrival(job)
    )


def _broken_size(job: Job, most: float) -> tuple[str, str] | None:
    size = job.nodes
    if type(size) is not int and not _is_whole(size):
        return "nodes", "a whole number"
    if size < 1:
        return "nodes", "at least 1"
    if size > LARGEST_SIZE:
        return "nodes", f"at most {LARGEST_SIZE:,}"
    if size > most:
        return "nodes", f"at most the {most:,} nodes of the machine"
    return None


def _broken_times(job: Job) -> tuple[str, str] | None:
    runtime, walltime, setup = job.runtime, job.walltime, job.setup
    if not SHORTEST_TIME < walltime <= LARGEST_TIME:
        return "walltime", DURATIONS
    if not SHORTEST_TIME < runtime <= LARGEST_TIME:
        return "runtime", DURATIONS
    if runtime > walltime + _TICK:
        return "runtime", f"at most its walltime of {walltime} s"
    if not 0 <= setup <= LARGEST_TIME:
        return "setup", COSTS
    if setup > runtime + _TICK:
        return "setup", f"at most its runtime of {runtime} s"
    return None


def _broken_trace_times(job: Job) -> tuple[str, str] | None:
    if job.trace_runtime is None and job.trace_walltime is None:
        return None
    walltime = job.walltime if job.trace_walltime is None else job.trace_walltime
    if not SHORTEST_TIME < walltime <= LARGEST_TIME:
        return "trace_walltime", f"{DURATIONS}, or missing"
    runtime = job.runtime if job.trace_runtime is None else job.trace_runtime
    if not SHORTEST_TIME < runtime <= LARGEST_TIME:
        return "trace_runtime", f"{DURATIONS}, or missing"
    if runtime <= walltime + _TICK:
        return None
    if job.trace_runtime is None:
        return "trace_walltime", f"at least the trace's runtime of {runtime} s"
    return "trace_runtime", f"at most the trace's walltime of {walltime} s"


def _broken_min_nodes(job: Job) -> tuple[str, str] | None:
    smallest, size = job.min_nodes, job.nodes
    if job.type is not JobType.MALLEABLE:
        if smallest is not None and smallest != size:
            return "min_nodes", f"missing or its {size} nodes for a job that is not malleable"
    elif smallest is None or (type(smallest) is not int and not _is_whole(smallest)):
        return "min_nodes", "a whole number of nodes for a malleable job"
    elif not 1 <= smallest <= size:
        return "min_nodes", f"between 1 and its {size} nodes"
    return None


def _broken_checkpoints(job: Job) -> tuple[str, str] | None:
    interval = job.checkpoint_interval
    if not 0 <= job.checkpoint_cost <= LARGEST_TIME:
        return "checkpoint_cost", COSTS
    if interval is not None and job.type is not JobType.RIGID:
        return "checkpoint_interval", "missing for a job that is not rigid"
    if interval is not None and not SHORTEST_TIME < interval <= LARGEST_TIME:
        return "checkpoint_interval", f"{DURATIONS}, or missing"
    return None


def _broken_stochastic(job: Job) -> tuple[str, str] | None:
    """Rules of the fields of stochastic jobs, which no other job has."""
    if job.type is not JobType.STOCHASTIC:
        if job.application or job.true_runtime is not None or job.plan or job.restart_cost or job.memory_profile:
            # A true runtime of 0 is given, although it is false in Python.
            field = next((name for name in _OF_STOCHASTIC if getattr(job, name)), "true_runtime")
            return field, f"missing for a {job.type.value} job"
        return None
    if not job.plan.strip():
        return "plan", "a planning strategy or the name of a plan for a stochastic job"
    if not job.application:
        return "application", "given for a stochastic job"
    if job.setup != 0:
        return "setup", "0 for a stochastic job, which has restarts instead"
    if not 0 <= job.restart_cost <= LARGEST_TIME:
        return "restart_cost", COSTS
    if job.true_runtime is not None and not SHORTEST_TIME < job.true_runtime <= LARGEST_TIME:
        return "true_runtime", f"{DURATIONS}, or missing"
    return _broken_profile(job) if job.memory_profile else None


def _broken_profile(job: Job) -> tuple[str, str] | None:
    try:
        total = sum(seconds for seconds, _ in memory_profile(job.memory_profile))
    except ValueError as error:
        return "memory_profile", str(error)
    runtime = job.runtime if job.true_runtime is None else job.true_runtime
    # Each of the durations may have been rounded to a tick.
    if abs(total - runtime) > _TICK * (1 + job.memory_profile.count(":")):
        return "memory_profile", f"as long as its true runtime of {runtime} s"
    return None


def _broken_arrival(job: Job) -> tuple[str, str] | None:
    submit, notice, estimated = job.submit, job.notice, job.estimated_arrival
    if job.type is JobType.ON_DEMAND:
        if job.setup != 0:
            return "setup", "0 for an on-demand job"
    elif notice is not None or estimated is not None:
        return "estimated_arrival" if notice is None else "notice", f"missing for a {job.type.value} job"
    if notice is not None:
        return _broken_notice(notice, estimated, submit)
    if estimated is not None:
        return "notice", "given, because there is an estimated_arrival"
    if submit is None or not 0 <= submit <= LARGEST_TIME:
        return "submit", COSTS
    return None


def _broken_notice(notice: float, estimated: float | None, submit: float | None) -> tuple[str, str] | None:
    # A job at the start of a trace may have its notice, or arrive early, before time 0.
    if not -LARGEST_TIME <= notice <= LARGEST_TIME:
        return "notice", f"{TIMES}, or missing"
    if estimated is None:
        return "estimated_arrival", "given, because there is a notice"
    if not -LARGEST_TIME <= estimated <= LARGEST_TIME:
        return "estimated_arrival", TIMES
    if notice > estimated + _TICK:
        return "notice", f"at most the estimated_arrival of {estimated} s"
    if submit is not None and not -LARGEST_TIME <= submit <= LARGEST_TIME:
        return "submit", f"{TIMES}, or missing for a job that never arrives"
    if submit is not None and notice > submit + _TICK:
        return "notice", f"at most the submit of {submit} s"
    return None
