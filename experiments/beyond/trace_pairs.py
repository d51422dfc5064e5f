"""Pairs of a real trace and generated ones of the same length, load and machine."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from holdfast.workloads.ground.errors import ParameterError
from holdfast.workloads.ground.files import file_sha256
from holdfast.workloads.hybrid.groups import group_jobs
from holdfast.workloads.logs.machine_size import with_assumed_size
from holdfast.workloads.logs.readers import read_trace
from holdfast.workloads.logs.swf import write_swf
from holdfast.workloads.logs.trace import Trace
from holdfast.workloads.theta.generator import generate
from holdfast.workloads.theta.year import ThetaYear

__all__ = ["TraceSource", "cut", "describe_trace", "find_source", "generate_like", "read_log", "write_trace"]


@dataclass(frozen=True)
class TraceSource:
    """A trace for an evaluation.

    Attributes
    ----------
    trace
        Its jobs; the size of the machine is known.
    path
        Where it is.
    real
        Whether it is a log rather than a generated stand-in.
    """

    trace: Trace
    path: Path
    real: bool


def find_source(path: str, nodes: int, most: int, stand_in: Trace, directory: Path) -> TraceSource:
    """The trace of that file, or the stand-in if there is no file.

    Parameters
    ----------
    path
        Path of a log; empty: none.
    nodes
        Size of its machine where its header does not say it; 0: unknown.
    most
        Number of jobs taken from its beginning; 0: all.
    stand_in
        Function that makes the stand-in.
    directory
        Where traces are written that are not a file yet.

    Raises
    ------
    InputError
        If the file cannot be read, or the size of the machine is not known.
    """
    if not path:
        return TraceSource(stand_in, write_trace(stand_in, directory / "stand-in.swf"), real=False)
    trace = read_trace(path)
    size = trace.nodes or nodes
    if not size:
        raise ParameterError("nodes", f"given, because {path} does not record the size of its machine", nodes)
    trace = trace.on_machine(size)
    if most and most < len(trace.jobs):
        trace = cut(trace, most)
        return TraceSource(
            trace, write_trace(trace, directory / f"first-{most}-of-{file_sha256(path)[:12]}.swf"), real=True
        )
    return TraceSource(trace, Path(path).resolve(), real=True)


def read_log(path: str, most: int) -> Trace:
    """A log on its machine, with an assumed size if none is recorded; only its first ``most`` jobs, 0: all."""
    trace = with_assumed_size(read_trace(path))
    trace = trace.on_machine(trace.nodes or 0)
    return cut(trace, most) if most else trace


def cut(trace: Trace, most: int) -> Trace:
    """The first ``most`` jobs by submit."""
    first = np.argsort(trace.jobs.column("submit"), kind="stable")[:most]
    return replace(trace, jobs=trace.jobs.select(first))


def write_trace(trace: Trace, path: Path) -> Path:
    """Write a trace and return its path."""
    path.parent.mkdir(parents=True, exist_ok=True)
    write_swf(trace, path)
    return path


def _span(trace: Trace) -> float:
    submits = [job.submit for job in trace.jobs]
    return max(submits) - min(submits)


def _work(trace: Trace) -> float:
    """Mean node-hours of a job, with runtimes capped at the walltime."""
    return sum(job.nodes * min(job.runtime, job.walltime) for job in trace.jobs) / 3600.0 / len(trace.jobs)


def generate_like(trace: Trace, seed: int) -> Trace:
    """A generated trace with the length, the offered load and the machine of another.

    It also has as many jobs, unless the generator's requests cannot hold the mean work per job; then it has more or
    fewer.

    Parameters
    ----------
    trace
        The other, on a known machine.
    seed
        Seed of the generator.
    """
    load, jobs = _load(trace), len(trace.jobs)
    found: list[tuple[float, Trace]] = []
    for _ in range(_ROUNDS):
        made = _generate(trace, jobs, _work(trace), seed)
        ratio = load / _load(made)
        found.append((abs(ratio - 1.0), made))
        if found[-1][0] < _CLOSE:
            break
        jobs = max(2, round(ratio * jobs))
    return min(found, key=lambda pair: pair[0])[1]


#: Tolerance of the load, and the number of attempts.
_CLOSE, _ROUNDS = 0.01, 6


def _load(trace: Trace) -> float:
    """Requested work as a share of the machine's capacity."""
    return _work(trace) * 3600.0 * len(trace.jobs) / ((trace.nodes or 0) * _span(trace))


def _generate(trace: Trace, jobs: int, work: float, seed: int) -> Trace:
    intensity = max(1, round(jobs * ThetaYear().year / _span(trace)))
    return generate(ThetaYear(jobs=jobs, jobs_per_year=intensity, nodes=trace.nodes or 0, work_per_job=work), seed)


def describe_trace(trace: Trace, group_by: str) -> dict[str, Any]:
    """Jobs, nodes, length [days], offered load, and how many groups share a type."""
    groups: Sequence[int] = group_jobs(trace, group_by)
    return {
        "jobs": len(trace.jobs),
        "nodes": trace.nodes or 0,
        "days": _span(trace) / 86400.0,
        "load": _load(trace),
        "groups": len(set(groups)),
    }
