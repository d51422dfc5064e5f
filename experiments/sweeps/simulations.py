"""Execution of one run of a sweep, in any process."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import inf
from time import perf_counter
from typing import Any

import numpy as np

from holdfast.experiments.sweeps.delays import count_delays
from holdfast.experiments.sweeps.fingerprint import model_fingerprint
from holdfast.experiments.sweeps.grid import GeneratedYear, Log, RunConfiguration
from holdfast.experiments.sweeps.plugins import find_sources
from holdfast.experiments.traces.description import need_jobs
from holdfast.policies.mechanism import BASELINE
from holdfast.simulator.results.catalogue import WALL_CLOCK
from holdfast.simulator.results.integrals import integral
from holdfast.simulator.results.metrics import summaries
from holdfast.simulator.results.order_statistics import Ranked
from holdfast.simulator.simulation import checked_table, pause_collector, simulate_table
from holdfast.workloads.ground.errors import HoldfastError, InputError, TraceError, error_sentence
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

__all__ = ["RunOutcome", "job_table", "simulate_run"]

_HOUR = 3600.0
_WEEK = 7 * 24 * 3600 * SECOND


@dataclass(frozen=True)
class RunOutcome:
    """Outcome of a run.

    Attributes
    ----------
    key
        Key of the run.
    measured
        What the run has shown, a function of its configuration alone: ``nodes``, ``summary``, ``types``,
        ``accounting`` [node-hours] and ``weeks``; the summary has the counts of ``delays``, too. Where one draw has
        decided what the workload is, ``lopsided``, a sentence; where the log has what one pool of nodes does not model,
        ``caveats``, sentences. Empty if it failed.
    timings
        Wall-clock times.
    error
        One-sentence reason of a failure; empty on success.
    trace
        Traceback, if the failure was a defect rather than bad input.
    """

    key: str
    measured: Mapping[str, Any]
    timings: Mapping[str, Any]
    error: str = ""
    trace: str = ""


def simulate_run(run: RunConfiguration) -> RunOutcome:
    """Carry out one run; a failure is an outcome too.

    Parameters
    ----------
    run
        Which one. Consecutive runs of one workload, and of one job table, are cheaper.
    """
    try:
        # All objects of a run are freed at its end, so garbage collection would only cost time.
        with pause_collector():
            return _simulate(run)
    except InputError as error:
        return RunOutcome(run.key, {}, {}, str(error))
    except Exception as error:  # the other runs continue after any error, which is recorded
        return RunOutcome(run.key, {}, {}, error_sentence(error), traceback.format_exc())


def _simulate(run: RunConfiguration) -> RunOutcome:
    if run.model != model_fingerprint():
        raise HoldfastError(
            f"the worker's Holdfast has the fingerprint {model_fingerprint()}, but the sweep needs "
            f"{run.model}: install the same version on the workers"
        )
    if run.plugins:
        log = run.workload
        here = find_sources(run.mechanism, run.options, run.assignment, log.format if isinstance(log, Log) else None)
        if here != run.plugins:
            names = ", ".join(name for name, _ in run.plugins)
            raise HoldfastError(f"the sources of {names} have changed since the sweep began")
    began = perf_counter()
    jobs, nodes, weeks = job_table(run.workload, run.assignment, run.assignment_seed)
    prepared = perf_counter()
    on_machine = None if isinstance(run.workload, GeneratedYear) else _requests(run.workload)
    result = simulate_table(jobs, nodes, run.mechanism, events=False, on_machine=on_machine, settings=run.options)
    how = run.measurement
    summary, types = summaries(result, instant_tolerance=how.instant_tolerance, window=how.window)
    tolerance = run.options.warning if how.instant_tolerance is None else how.instant_tolerance
    clock = {name: summary.pop(name, None) for name in WALL_CLOCK}
    measured = {
        "nodes": nodes,
        "summary": _without(summary, "mechanism") | count_delays(result.records, nodes, tolerance, run.options.warning),
        "types": [_without(row, "mechanism") for row in types],
        "accounting": {name: ticks / (_HOUR * SECOND) for name, ticks in result.accounting.by_state().items()},
        "weeks": weeks,
    }
    lopsided = (
        "" if run.mechanism == BASELINE else _imbalance_warning(run.workload, run.assignment, run.assignment_seed)
    )
    if lopsided:
        measured["lopsided"] = lopsided
    found = _caveats(run.workload)
    if found:
        measured["caveats"] = list(found)
    timings = {
        "decision_ms_p50": Ranked(result.latencies).median * 1e3,
        **clock,
        "prepare_seconds": prepared - began,
        "run_seconds": perf_counter() - began,
        "worker_peak_mib": _PEAK.mib(),
    }
    return RunOutcome(run.key, measured, timings)


def _without(row: Mapping[str, Any], name: str) -> dict[str, Any]:
    return {key: value for key, value in row.items() if key != name}


class _PeakMemory:
    """Peak memory of this process.

    The system is asked at most once a second: where it answers slowly, asking after each run took a sixth of a sweep
    of short runs (900 runs of 500 jobs, 0.5 ms each).
    """

    def __init__(self) -> None:
        self._asked = -inf
        self._mib: float | None = None

    def mib(self) -> float | None:
        """Peak up to the last second [MiB]; None if the system does not report it."""
        now = perf_counter()
        if now - self._asked >= 1.0:
            self._asked, self._mib = now, _peak_mib()
        return self._mib


def _peak_mib() -> float | None:
    try:
        import resource
    except ImportError:
        return None
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1024 * 1024 if sys.platform == "darwin" else 1024)


_PEAK = _PeakMemory()


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
def _caveats(workload: GeneratedYear | Log) -> tuple[str, ...]:
    if isinstance(workload, GeneratedYear) or workload.machine is not None:
        return ()
    return caveats(_log(workload), workload.nodes)


def _requests(workload: Log) -> MachineWorkload | None:
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
def _imbalance_warning(workload: GeneratedYear | Log, assignment: Assignment, seed: int) -> str:
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
                    "node_hours": work / (_HOUR * SECOND),
                }
            )
    return rows
