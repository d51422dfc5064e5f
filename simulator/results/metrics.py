"""Metrics of a simulation, and its summaries.

Source: docs/model.md, "Metrics"; Fan et al., IPDPS 2022, section IV-D.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from holdfast.simulator.results.job_metrics import JOB_METRICS, share
from holdfast.simulator.results.measured_simulation import MeasuredSimulation, MeasuredWindow, measure_together
from holdfast.simulator.results.metric_groups import (
    ALL_JOBS,
    FAN,
    HOUR,
    HOURS,
    LESS,
    MILLISECONDS,
    MODEL,
    MORE,
    NEITHER,
    NODE_HOURS,
    SECONDS,
    SHARE,
    evaluate,
    preemption_metric,
    turnaround_metric,
)
from holdfast.simulator.results.overtaking import starvation_count
from holdfast.simulator.results.recording import NO_METRICS, Recording
from holdfast.simulator.results.reservations import STOCHASTIC_METRICS, StochasticJobs
from holdfast.workloads.ground.columns import Metric
from holdfast.workloads.ground.errors import InputError
from holdfast.workloads.table.job import JobType

__all__ = [
    "CANCELLATION_METRICS",
    "OUTAGE_METRICS",
    "SUMMARY_METRICS",
    "joint_summaries",
    "summarize",
    "summarize_types",
]

_OUTAGES = "model.md, Outages"
_LIFE = "model.md, Life of jobs"

_Measure = Callable[[MeasuredSimulation], float]


def _metric(name: str, title: str, of: str, definition: str, measure: _Measure, **changes: object) -> Metric:
    described = {"better": LESS, "source": MODEL, **changes}
    return Metric(name, title=title, of=of, definition=definition, measure=measure, **described)  # type: ignore[arg-type]


def _over_all_jobs(name: str) -> Metric:
    """The metric of that name of :data:`JOB_METRICS`, over all measured jobs."""
    (found,) = (item for item in JOB_METRICS if item.name == name)
    return replace(found, measure=lambda run: run.jobs.metrics[name])


def _over_type(kind: JobType, name: str) -> _Measure:
    """The metric of that name of :data:`JOB_METRICS`, over the measured jobs of a type."""
    return lambda run: run.types[kind].metrics[name]


#: Metrics of every simulation, in the order of the columns; functions of a
#: :class:`~holdfast.simulator.results.measured_simulation.MeasuredSimulation`.
SUMMARY_METRICS = (
    _over_all_jobs("jobs"),
    _over_all_jobs("turnaround_h"),
    *(
        turnaround_metric(f"turnaround_{kind.replace('-', '_')}_h", f"{kind} jobs", _over_type(kind, "turnaround_h"))
        for kind in (JobType.RIGID, JobType.MALLEABLE, JobType.ON_DEMAND)
    ),
    _over_all_jobs("wait_h"),
    _over_all_jobs("bounded_slowdown"),
    _metric("instant_start_ratio", "started instantly", "on-demand jobs",
            "Share of the on-demand jobs that start within the tolerance (default: the warning) of their arrival.",
            lambda run: share(run.on_demand.wait <= run.tolerance), better=MORE, source=FAN, **SHARE),
    _metric("instant_start_ratio_strict", "started at once, 0 s", "on-demand jobs",
            "Share of the on-demand jobs that start at their arrival.",
            lambda run: share(run.on_demand.wait <= 0), better=MORE, source=FAN, **SHARE),
    preemption_metric("preemption_ratio_rigid", "rigid jobs", _over_type(JobType.RIGID, "preemption_ratio")),
    preemption_metric("preemption_ratio_malleable", "malleable jobs",
                      _over_type(JobType.MALLEABLE, "preemption_ratio")),
    replace(_over_all_jobs("shrink_ratio"), measure=_over_type(JobType.MALLEABLE, "shrink_ratio")),
    _over_all_jobs("wait_median_h"),
    _over_all_jobs("wait_p95_h"),
    _over_all_jobs("wait_p99_h"),
    _over_all_jobs("wait_max_h"),
    _metric("starved", "starved", ALL_JOBS,
            "Jobs that started more than a week after the first start of a job that entered the queue later.",
            lambda run: starvation_count(run.records), source=MODEL),
    _metric("makespan_h", "makespan", ALL_JOBS, "Time from the first submit to the last completion.",
            lambda run: run.machine.elapsed / HOUR, **HOURS),
    _metric("utilization", "utilisation", "machine",
            "Node-seconds occupied less those lost, over N times the time from the first submit to the last "
            "completion.", lambda run: run.machine.utilization, better=MORE, source=FAN, **SHARE),
    _metric("utilization_to_last_submit", "utilisation until the last submit", "machine",
            "The same from the first to the last submit: what happens after it, until the last job has ended, does "
            "not count. A loss counts at its preemption.",
            lambda run: run.utilization_to_last_submit(), better=MORE, **SHARE),
    _metric("lost_node_hours", "lost", "machine",
            "Node-hours of setups that were preempted, of unsaved compute, of partial checkpoints and of warnings.",
            lambda run: run.machine.lost / HOUR, **NODE_HOURS),
    _metric("decision_ms_p99", "decision, 99th percentile", "scheduler",
            "99th percentile of the wall-clock time of a decision with its scheduling pass.",
            lambda run: run.latencies.quantile(0.99), source=FAN, **MILLISECONDS),
    _metric("decision_ms_max", "longest decision", "scheduler",
            "Longest wall-clock time of a decision with its scheduling pass.",
            lambda run: run.latencies.most, source=FAN, **MILLISECONDS),
    _metric("engine_seconds", "engine", "simulator", "Wall-clock time of the simulation.",
            lambda run: run.result.engine_seconds, **SECONDS),
)  # fmt: skip

#: Metrics of a simulation with outages.
OUTAGE_METRICS = (
    _metric("down_node_hours", "down", "machine", "Node-hours during which nodes were down.",
            lambda run: run.down / HOUR, source=_OUTAGES, **NODE_HOURS),
    _metric("utilization_available", "utilisation of the nodes that were up", "machine",
            "The utilisation over the node-time that was not down.",
            lambda run: run.available_utilization(), better=MORE, source=_OUTAGES, **SHARE),
)  # fmt: skip

#: Metrics of a simulation that may cancel jobs.
CANCELLATION_METRICS = (
    _metric("cancelled_jobs", "cancelled", ALL_JOBS, "Jobs that were cancelled.",
            lambda run: int(np.count_nonzero(run.chosen.have("cancelled"))), better=NEITHER, source=_LIFE),
    _metric("cancelled_started", "cancelled after their start", ALL_JOBS, "Cancelled jobs that had started.",
            lambda run: int(np.count_nonzero(run.chosen.have("cancelled") & run.chosen.started)),
            better=NEITHER, source=_LIFE),
    # Unlike the counts, these are those of the whole simulation.
    _metric("cancelled_node_hours", "cancelled", ALL_JOBS, "Node-hours of the runs that a cancellation ended.",
            lambda run: (run.result.withdrawn or 0) / HOUR, better=NEITHER, source=_LIFE, **NODE_HOURS),
)  # fmt: skip


def summarize(
    result: Recording, *, instant_tolerance: float | None = None, window: MeasuredWindow | None = None
) -> dict[str, Any]:
    """The summary of one simulation.

    Parameters
    ----------
    result
        Result of :func:`holdfast.simulator.simulation.simulate`.
    instant_tolerance
        How late an on-demand job may start and still count as started instantly [s]; None: the warning of the run.
    window
        What is measured; default everything.

    Returns
    -------
    dict
        ``mechanism`` and the values of :data:`SUMMARY_METRICS`; of a simulation with outages also those of
        :data:`OUTAGE_METRICS`, with stochastic jobs those of
        :data:`~holdfast.simulator.results.reservations.STOCHASTIC_METRICS`, and with cancellations those of
        :data:`CANCELLATION_METRICS`. A mean or ratio over no jobs is NaN.

    Raises
    ------
    InputError
        If the result was read back from a directory, or the window leaves no job.
    """
    return _summary(MeasuredSimulation(result, window or MeasuredWindow(), instant_tolerance))


def joint_summaries(
    results: Sequence[Recording], *, instant_tolerance: float | None = None, window: MeasuredWindow | None = None
) -> list[tuple[dict[str, Any], list[dict[str, Any]]]]:
    """The results of :func:`summarize` and :func:`summarize_types` for each simulation, in less time than these take.

    Parameters are those of :func:`summarize`.
    """
    measured = measure_together(results, window or MeasuredWindow(), instant_tolerance)
    return [(_summary(run), _types(run)) for run in measured]


def summarize_types(result: Recording, *, window: MeasuredWindow | None = None) -> list[dict[str, Any]]:
    """A row for all jobs and one for each type, with the values of
    :data:`~holdfast.simulator.results.job_metrics.JOB_METRICS`.

    Stochastic jobs have a row where there are any.
    """
    return _types(MeasuredSimulation(result, window or MeasuredWindow()))


def _summary(measured: MeasuredSimulation) -> dict[str, Any]:
    result = measured.result
    if result.booked is None:
        raise InputError(NO_METRICS)
    summary = {"mechanism": result.mechanism, **evaluate(SUMMARY_METRICS, measured)}
    if result.outages:
        summary |= evaluate(OUTAGE_METRICS, measured)
    if result.stochastic:
        summary |= evaluate(STOCHASTIC_METRICS, StochasticJobs(result, measured.records))
    if result.withdrawn is not None:
        summary |= evaluate(CANCELLATION_METRICS, measured)
    return summary


def _types(measured: MeasuredSimulation) -> list[dict[str, Any]]:
    result = measured.result
    kinds = [kind for kind in JobType if kind is not JobType.STOCHASTIC or result.stochastic]
    groups = {"all": measured.jobs, **{str(kind): measured.types[kind] for kind in kinds}}
    return [{"mechanism": result.mechanism, "type": name, **jobs.metrics} for name, jobs in groups.items()]
