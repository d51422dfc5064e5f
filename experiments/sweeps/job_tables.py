"""The job tables of a sweep's runs: each process makes a table once for neighbouring runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from holdfast.experiments.sweeps.grid import GeneratedYear, Log
from holdfast.experiments.traces.description import need_jobs
from holdfast.simulator.results.integrals import integral
from holdfast.simulator.simulation import checked_table
from holdfast.workloads.ground.errors import TraceError
from holdfast.workloads.ground.files import file_sha256
from holdfast.workloads.ground.units import SECOND
from holdfast.workloads.hybrid.assignment import Assignment, as_rigid, assign
from holdfast.workloads.hybrid.type_balance import imbalance
from holdfast.workloads.logs.one_pool import caveats
from holdfast.workloads.logs.readers import read_trace
from holdfast.workloads.logs.trace import Trace
from holdfast.workloads.machines.machine_file import read_machine
from holdfast.workloads.machines.machine_workload import MachineWorkload
from holdfast.workloads.requests.fitted_trace import fit_log_to_machine
from holdfast.workloads.requests.log_requests import read_requests
from holdfast.workloads.table.job import Job, JobType
from holdfast.workloads.table.jobs import Jobs
from holdfast.workloads.theta.generator import generate

__all__ = ["HOUR", "imbalance_warning", "job_table", "log_caveats", "machine_requests"]

HOUR = 3600.0
_WEEK = 7 * 24 * 3600 * SECOND


# Each process keeps the last two workloads, because neighbours in the grid share them.


@lru_cache(maxsize=2)
def job_table(
    workload: GeneratedYear | Log, assignment: Assignment, seed: int
) -> tuple[Sequence[Job], int, Sequence[Mapping[str, Any]]]:
    """The jobs of a run, the size of its machine, and what arrives in each week.

    Returns
    -------
    tuple
        Jobs; nodes; a row for each week from the first submit and each type: jobs that come, and their
        node-hours undisturbed.

    Raises
    ------
    InputError
        If the trace cannot be read, has changed, or does not fit the assignment.
    """
    trace = _trace(workload)
    if isinstance(workload, Log) and workload.machine is not None and not workload.typed:
        jobs = checked_table(as_rigid(trace), trace.nodes or 0)
        return jobs, trace.nodes or 0, _weeks(Jobs.of(jobs))
    # Checked here, and not before each simulation of it.
    jobs = checked_table(assign(trace, assignment, seed=seed), trace.nodes or 0)
    return jobs, trace.nodes or 0, _weeks(Jobs.of(jobs))


@lru_cache(maxsize=2)
def log_caveats(workload: GeneratedYear | Log) -> tuple[str, ...]:
    """Features of the log that one pool of equal nodes does not model; none of a generated year."""
    if isinstance(workload, GeneratedYear) or workload.machine is not None:
        return ()
    return caveats(_log(workload), workload.nodes)


def machine_requests(workload: Log) -> MachineWorkload | None:
    """The machine of a log, and the requests of its jobs; None: one pool of equal nodes."""
    return None if workload.machine is None else _fit_to_machine(workload)[1]


@lru_cache(maxsize=2)
def _fit_to_machine(workload: Log) -> tuple[Trace, MachineWorkload]:
    """The jobs of a log that its machine can run, and their requests."""
    machine = str(workload.machine)
    for path, digest in ((workload.path, workload.sha256), (machine, workload.machine_sha256)):
        if file_sha256(path) != digest:
            raise TraceError(path, None, "has changed since the sweep began")
    log = read_requests(
        workload.path,
        columns=workload.columns,
        lenient=workload.lenient,
        where=workload.where,
        format=workload.format,
    )
    return fit_log_to_machine(log, read_machine(machine), placement=workload.placement or "pack")


@lru_cache(maxsize=2)
def imbalance_warning(workload: GeneratedYear | Log, assignment: Assignment, seed: int) -> str:
    """The warning of :func:`holdfast.workloads.hybrid.type_balance.imbalance` about a job table; empty: none."""
    return imbalance(_trace(workload), job_table(workload, assignment, seed)[0], assignment)


@lru_cache(maxsize=2)
def _trace(workload: GeneratedYear | Log) -> Trace:
    if isinstance(workload, GeneratedYear):
        return generate(workload.year, workload.seed)
    if workload.machine is not None:
        trace = _fit_to_machine(workload)[0]
        need_jobs(trace, workload.label)
        return trace
    trace = _log(workload)
    nodes = workload.nodes if workload.nodes is not None else trace.nodes
    if nodes is None:
        raise TraceError(workload.label, None, "does not record the size of the machine; give workload.nodes")
    trace = trace.on_machine(nodes)
    need_jobs(trace, workload.label)
    return trace


@lru_cache(maxsize=2)
def _log(workload: Log) -> Trace:
    """Read a log."""
    if file_sha256(workload.path) != workload.sha256:
        raise TraceError(workload.label, None, "has changed since the sweep began")
    return read_trace(
        workload.path,
        format=workload.format,
        lenient=workload.lenient,
        procs_per_node=workload.procs_per_node,
        where=workload.where,
        unit=workload.unit,
        columns=workload.columns,
    )


def _weeks(table: Jobs) -> list[dict[str, Any]]:
    """Jobs that are submitted in each week from the first submit, by type, and their undisturbed node-hours."""
    jobs = table.select(~np.isnan(table.column("submit")))
    if not len(jobs):
        return []
    submit, nodes, runtime = jobs.ticks("submit"), jobs.column("nodes"), jobs.ticks("runtime")
    week = (submit - submit.min()) // _WEEK
    kinds = [kind for kind in JobType if kind is not JobType.STOCHASTIC or table.are(kind).any()]
    types = [(kind, jobs.are(kind)) for kind in kinds]
    rows = []
    for number in range(int(week.max()) + 1):
        own = week == number
        for kind, are in types:
            chosen = own & are
            work = integral(nodes[chosen], runtime[chosen])
            rows.append(
                {
                    "week": number + 1,
                    "type": str(kind),
                    "jobs": int(chosen.sum()),
                    "node_hours": work / (HOUR * SECOND),
                }
            )
    return rows
