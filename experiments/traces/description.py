"""Summary of a trace in words and numbers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from holdfast.workloads.ground.errors import TraceError
from holdfast.workloads.ground.wording import count_text
from holdfast.workloads.logs.clock import LogClock
from holdfast.workloads.logs.machine_size import ASSUMED
from holdfast.workloads.logs.starting_state import find_starting_state, is_cut
from holdfast.workloads.logs.trace import Trace
from holdfast.workloads.table.job import Job, JobType
from holdfast.workloads.table.jobs import Jobs

__all__ = ["Description", "composition", "describe", "describe_reading", "life_of_trace", "list_counts", "need_jobs"]

_DAY = 86400.0


def describe_reading(trace: Trace) -> str:
    """Describe the reading of a trace: number of jobs, jobs left out, remarks on unusual data, and assumptions.

    Examples
    --------
    >>> from holdfast.workloads.logs.trace import TraceJob
    >>> jobs = (TraceJob(1, 0.0, 128, 60.0, 60.0),)
    >>> remarks = {"killed at its walltime": 1}
    >>> print(describe_reading(Trace(jobs, nodes=256, excluded={"no runtime": 1200}, remarks=remarks)))
    1 job on 256 nodes; left out: 1,200 (1,200 no runtime)
    noted: 1 killed at its walltime
    """
    count = len(trace.jobs)
    text = count_text(count, "jobs")
    if trace.nodes is not None:
        text += f" on {count_text(trace.nodes, trace.unit)}"
    if any(trace.excluded.values()):
        text += f"; left out: {sum(trace.excluded.values()):,} ({list_counts(trace.excluded)})"
    if any(trace.remarks.values()):
        # Remarks are counted as the log is read, before it is cut.
        where = " in the whole log" if is_cut(trace) else ""
        text += f"\nnoted{where}: {list_counts(trace.remarks)}"
    if ASSUMED in trace.header:
        text += f"\nassumed: {trace.header[ASSUMED]}"
    return text


def need_jobs(trace: Trace, path: str | Path) -> None:
    """Refuse a trace without jobs.

    Raises
    ------
    TraceError
        If no job is left; the message names the file, and the numbers of jobs left out by reason.
    """
    if not trace.jobs:
        size = f" on {count_text(trace.nodes, trace.unit)}" if trace.nodes is not None else ""
        why = f" ({list_counts(trace.excluded)})" if any(trace.excluded.values()) else ""
        raise TraceError(path, None, f"no job is left to simulate{size}{why}")


def life_of_trace(trace: Trace) -> list[str]:
    """Describe the starting state of a trace and its cancelled jobs, one line each.

    Examples
    --------
    >>> from holdfast.workloads.logs.trace import TraceJob
    >>> ran = TraceJob(1, 0.0, 128, 600.0, 900.0, running_since=60.0)
    >>> life_of_trace(Trace((ran, TraceJob(2, 30.0, 64, 60.0, 60.0)), nodes=256))
    ['starting state at 60 s: 1 job runs on 128 of 256 nodes, 1 waits']
    """
    lines = []
    state = find_starting_state(trace.jobs)
    if state is not None:
        machine = "" if trace.nodes is None else f" of {trace.nodes:,}"
        running = count_text(state.running, "jobs", "run")
        waiting = f"{state.waiting:,} wait{'s' if state.waiting == 1 else ''}"
        size = f"{state.nodes:,}{machine} {trace.unit}"
        clock = LogClock.of_trace(trace)
        begin = f"{state.begin:.15g} s" if clock.epoch is None else clock.show(state.begin, seconds=True)
        lines.append(f"starting state at {begin}: {running} on {size}, {waiting}")
    withdrawn = int((~np.isnan(trace.jobs.column("cancelled_at"))).sum())
    if withdrawn:
        lines.append(f"withdrawn by their users before they started, and kept: {withdrawn:,}")
    return lines


def composition(jobs: Sequence[Job], unit: str = "nodes", spot: int = 0) -> str:
    """Describe the types of a job table, with the undisturbed work of each, in one line.

    Parameters
    ----------
    jobs
        A job table; jobs that never arrive have no work.
    unit
        Unit of sizes: ``nodes`` or ``processors``.
    spot
        Number of the rigid jobs that the log calls spot or preemptible.

    Examples
    --------
    >>> one, two = Job(1, JobType.RIGID, 0.0, 128, 3600.0, 3600.0), Job(2, JobType.ON_DEMAND, 0.0, 64, 1800.0, 3600.0)
    >>> composition([one, two])
    'types: rigid 1 job, 128 node-hours (80 %); on-demand 1 job, 32 node-hours (20 %)'
    """
    table = Jobs.of(jobs)
    kinds, came = table.column("type"), ~np.isnan(table.column("submit"))
    hours = np.where(came, table.column("nodes") * table.column("runtime") / 3600, 0.0)
    counts, work = np.bincount(kinds, minlength=len(JobType)), np.bincount(kinds, hours, len(JobType))
    total = work.sum()
    parts = []
    for kind, count, done in zip(JobType, counts.tolist(), work.tolist(), strict=True):
        if count:
            part = f" ({100 * done / total:.0f} %)" if total else ""
            jobs_of = count_text(count, "jobs")
            if spot and kind is JobType.RIGID:
                jobs_of += f" ({spot:,} of them spot or preemptible, without checkpoints)"
            parts.append(f"{kind.value} {jobs_of}, {done:,.0f} {unit.removesuffix('s')}-hours{part}")
    return f"types: {'; '.join(parts)}"


def list_counts(counts: Mapping[str, int]) -> str:
    """Format counts by kind as a list."""
    return ", ".join(f"{count:,} {what}" for what, count in counts.items() if count)


@dataclass(frozen=True)
class Description:
    """Numbers that describe a trace on a machine.

    Attributes
    ----------
    days
        From the first to the last submit.
    load
        Node-seconds of the runtimes over nodes x span; NaN if all jobs arrive at once.
    sizes
        (nodes, share of jobs, share of node-hours) of the most frequent sizes.
    requests
        (walltime [s], share of jobs) of the most frequent walltimes.
    nodes, walltime, runtime
        Quantiles (5, 25, 50, 75, 95 %) of size, walltime [s] and runtime [s].
    used
        Mean and the same quantiles of runtime / walltime.
    at_limit
        Share of jobs killed at their walltime.
    users, projects
        Number of users and projects; 0 if unknown.
    """

    days: float
    load: float
    sizes: Sequence[tuple[int, float, float]]
    requests: Sequence[tuple[float, float]]
    nodes: Sequence[float]
    walltime: Sequence[float]
    runtime: Sequence[float]
    used: Sequence[float]
    at_limit: float
    users: int
    projects: int


def describe(trace: Trace, nodes: int, most: int = 5) -> Description:
    """Describe a trace with at least one job.

    Parameters
    ----------
    trace
        The jobs.
    nodes
        Size of the machine.
    most
        Number of most frequent sizes and walltimes to list.
    """
    jobs = trace.jobs
    submit, size, walltime, runtime = map(jobs.column, ("submit", "nodes", "walltime", "runtime"))
    work = size * runtime
    span = float(np.ptp(submit))
    sizes, places = np.unique(size, return_inverse=True)
    work_by_size = dict(zip(sizes.tolist(), np.bincount(places, work).tolist(), strict=True))
    count = len(jobs)
    ratio = runtime / walltime
    return Description(
        days=span / _DAY,
        load=float(work.sum() / (nodes * span)) if span else float("nan"),
        sizes=[
            (value, frequency / count, work_by_size[value] / float(work.sum()))
            for value, frequency in Counter(size.tolist()).most_common(most)
        ],
        requests=[(value, frequency / count) for value, frequency in Counter(walltime.tolist()).most_common(most)],
        nodes=_quantiles(size),
        walltime=_quantiles(walltime),
        runtime=_quantiles(runtime),
        used=[float(ratio.mean()), *_quantiles(ratio)],
        at_limit=int(jobs.column("killed").sum()) / count,
        users=len({*jobs.texts("user")} - {""}),
        projects=len({*jobs.texts("project")} - {""}),
    )


def _quantiles(values: np.ndarray) -> list[float]:
    return [float(value) for value in np.percentile(values, (5, 25, 50, 75, 95))]
