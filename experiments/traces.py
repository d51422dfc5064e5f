"""What a trace is, in words and numbers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from workloads.trace import Trace

__all__ = ["Description", "describe", "left_out"]

_DAY = 86400.0


def left_out(trace: Trace) -> str:
    """How many jobs were read, what was left out and why, and what was read all the same."""
    lines = [f"{len(trace.jobs):,} jobs of {trace.source}"]
    if trace.excluded:
        lines.append(f"  left out: {_counted(trace.excluded)}")
    if trace.remarks:
        lines.append(f"  remarks:  {_counted(trace.remarks)}")
    return "\n".join(lines)


def _counted(counts: Mapping[str, int]) -> str:
    return "; ".join(f"{reason}: {count:,}" for reason, count in counts.items())


@dataclass(frozen=True)
class Description:
    """Numbers that describe a trace on a machine.

    Attributes
    ----------
    days
        From the first to the last submit.
    load
        Node-seconds asked for by the runtimes, over nodes x span; NaN if all jobs come at once.
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
        How many there are; 0 if unknown.
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
        How many of the most frequent sizes and walltimes are named.
    """
    submit = np.array([job.submit for job in trace.jobs])
    size = np.array([job.nodes for job in trace.jobs], dtype=float)
    walltime = np.array([job.walltime for job in trace.jobs])
    runtime = np.array([job.runtime for job in trace.jobs])
    work = size * runtime
    span = float(np.ptp(submit))
    work_by_size: Counter[int] = Counter()
    for job in trace.jobs:
        work_by_size[job.nodes] += job.nodes * job.runtime  # type: ignore[assignment]  # a float serves as well
    count = len(trace.jobs)
    ratio = runtime / walltime
    return Description(
        days=span / _DAY,
        load=float(work.sum() / (nodes * span)) if span else float("nan"),
        sizes=[
            (value, jobs / count, work_by_size[value] / float(work.sum()))
            for value, jobs in Counter(job.nodes for job in trace.jobs).most_common(most)
        ],
        requests=[(value, jobs / count) for value, jobs in Counter(walltime.tolist()).most_common(most)],
        nodes=_quantiles(size),
        walltime=_quantiles(walltime),
        runtime=_quantiles(runtime),
        used=[float(ratio.mean()), *_quantiles(ratio)],
        at_limit=sum(job.killed for job in trace.jobs) / count,
        users=len({job.user for job in trace.jobs} - {""}),
        projects=len({job.project for job in trace.jobs} - {""}),
    )


def _quantiles(values: np.ndarray) -> list[float]:
    return [float(value) for value in np.percentile(values, (5, 25, 50, 75, 95))]
